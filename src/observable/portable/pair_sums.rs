//! Sums over particles of what pairs of samples give. Mirrors `kernels/observable/correlate.cu`.
use rayon::prelude::*;

use super::lanes::{LANES, Lanes, sum_in_lanes, sum_over_lanes};
use super::particles::{Columns, Particles};
use super::scattering::Scattering;
use crate::observable::dynamics::evaluation::{Evaluation, SampleGroup};
use crate::observable::dynamics::kernel_sum::{
    CHUNK, Column, KernelSum, KernelTerm, Results, columns,
};
use crate::observable::vectors::{InnerLoop, on_widest_registers};

/// What is summed for each particle, and where the sums begin.
struct Term {
    kind: Kind,
    first: usize,
}

enum Kind {
    DisplacementMoments,
    Distances,
    VelocityProduct,
    /// Inverse of the width of the bins.
    DisplacementHistogram(f32),
    /// Square of the length.
    SelfOverlap(f32),
    SelfScattering(Scattering),
}

/// Sums of a correlation.
pub struct PairSums {
    particles: Particles,
    terms: Vec<Term>,
    /// Sums without the counts, and counts.
    width: usize,
    bins: usize,
    columns: Vec<Column>,
    remove_drift: bool,
}

/// What the centre of mass does between two samples.
#[derive(Clone, Copy, Default)]
struct Drift {
    length: [f32; 3],
    turns: [u32; 3],
    velocity: [[f32; 3]; 2],
}

/// Length of an edge, and of `2^-32` of it.
#[derive(Clone, Copy)]
struct Edge {
    length: f32,
    unit: f32,
}

impl PairSums {
    /// `remove_drift`: relative to the centre of mass.
    pub fn new(evaluation: &Evaluation, remove_drift: bool) -> Self {
        let (mut terms, mut width, mut bins) = (Vec::new(), 0, 0);
        for (_, sum) in evaluation.kernel_sums() {
            terms.push(Term { kind: kind_of(sum), first: width });
            match &sum.results {
                Results::Counts(each) => bins = each.len(),
                results => width += results.count(),
            }
        }
        PairSums {
            particles: Particles::of_pairs(evaluation),
            terms,
            width,
            bins,
            columns: columns(evaluation),
            remove_drift,
        }
    }

    /// Those of all pairs of a group: by pair, species, wanted sum. `sample` gives the samples of the group by their places in it.
    pub fn of_group<'a>(
        &self,
        group: &SampleGroup,
        sample: impl Fn(usize) -> &'a Columns,
    ) -> Vec<f64> {
        let samples: Vec<&Columns> = (0..group.samples.len()).map(sample).collect();
        let edges = self.particles.simulation_box.padded_edges();
        let drifts: Vec<Drift> = group
            .pairs
            .iter()
            .map(|pair| {
                self.drift(samples[pair.origin as usize], samples[pair.later as usize], edges)
            })
            .collect();
        let chunks = self.particles.chunks(CHUNK);
        let edge = edges.map(|edge| Edge {
            length: edge as f32,
            unit: (edge * (1.0 / 4_294_967_296.0)) as f32,
        });
        let of_chunks: Vec<(Vec<f32>, Vec<u32>)> = chunks
            .par_iter()
            .map(|&(_, start, count)| {
                on_widest_registers(OverChunk {
                    sums: self,
                    samples: &samples,
                    group,
                    drifts: &drifts,
                    edge,
                    start,
                    count,
                })
            })
            .collect();
        let species_count = self.particles.species.len();
        let mut wanted = Vec::with_capacity(group.pairs.len() * species_count * self.columns.len());
        for pair in 0..group.pairs.len() {
            for species in 0..species_count {
                let of_species = || {
                    let all = chunks.iter().zip(&of_chunks);
                    all.filter(|((of, ..), _)| *of == species).map(|(_, of_chunk)| of_chunk)
                };
                wanted.extend(self.columns.iter().map(|column| match *column {
                    Column::Sum(sum) => sum_in_lanes(
                        of_species().map(|(sums, _)| f64::from(sums[pair * self.width + sum])),
                    ),
                    Column::Count(bin, each) => {
                        let counts = of_species().map(|(_, counts)| counts[pair * self.bins + bin]);
                        each * f64::from(counts.sum::<u32>())
                    }
                }));
            }
        }
        wanted
    }

    fn drift(&self, origin: &Columns, later: &Columns, edges: [f64; 3]) -> Drift {
        let mut drift = Drift::default();
        if let (true, Some([from, v_from]), Some([to, v_to])) =
            (self.remove_drift, origin.center, later.center)
        {
            drift.length = std::array::from_fn(|axis| (to[axis] - from[axis]) as f32);
            drift.turns = std::array::from_fn(|axis| match axis < self.particles.dimension() {
                true => origin.drift_in_units(later, axis, edges[axis]) as u32,
                false => 0,
            });
            drift.velocity = [v_from, v_to].map(|v| v.map(|v| v as f32));
        }
        drift
    }

    /// Adds the terms of 32 particles from `first` on, of two samples, lane by lane.
    #[inline(always)]
    fn add(&self, [origin, later]: [&Columns; 2], first: usize, step: &mut Step<'_>) {
        let (dimension, drift) = (self.particles.dimension(), step.drift);
        let mut length = [[0.0_f32; LANES]; 3];
        let mut turns = [[0_u32; LANES]; 3];
        for axis in 0..dimension {
            let Edge { length: edge, unit } = step.edge[axis];
            let lanes = first..first + LANES;
            let from = &origin.fraction[axis][lanes.clone()];
            let to = &later.fraction[axis][lanes.clone()];
            let from_image = &origin.image[axis][lanes.clone()];
            let to_image = &later.image[axis][lanes];
            for lane in 0..LANES {
                let (from, to) = (from[lane], to[lane]);
                let moved = to.wrapping_sub(from);
                let borrow = i32::from(to < from);
                let negative = (moved >> 31) as i32;
                let boxes = to_image[lane].wrapping_sub(from_image[lane]);
                let boxes = boxes.wrapping_sub(borrow).wrapping_add(negative);
                let within = (moved as i32 as f32) * unit;
                length[axis][lane] = (boxes as f32).mul_add(edge, within);
                turns[axis][lane] = moved;
            }
            if self.remove_drift {
                for lane in 0..LANES {
                    length[axis][lane] -= drift.length[axis];
                    turns[axis][lane] = turns[axis][lane].wrapping_sub(drift.turns[axis]);
                }
            }
        }
        let mut r2 = [0.0_f32; LANES];
        for lane in 0..LANES {
            r2[lane] = length[0][lane] * length[0][lane];
        }
        for length in &length[1..dimension] {
            for lane in 0..LANES {
                r2[lane] = length[lane].mul_add(length[lane], r2[lane]);
            }
        }
        for Term { kind, first: place } in &self.terms {
            let sums = &mut step.sums[*place..];
            match kind {
                Kind::DisplacementMoments => {
                    for lane in 0..LANES {
                        sums[0][lane] += r2[lane];
                        sums[1][lane] = r2[lane].mul_add(r2[lane], sums[1][lane]);
                    }
                }
                Kind::Distances => {
                    for lane in 0..LANES {
                        sums[0][lane] += r2[lane].sqrt();
                    }
                }
                Kind::VelocityProduct => {
                    for axis in 0..dimension {
                        let from = &origin.velocity[axis][first..first + LANES];
                        let to = &later.velocity[axis][first..first + LANES];
                        let (of_origin, of_later) =
                            (drift.velocity[0][axis], drift.velocity[1][axis]);
                        for lane in 0..LANES {
                            // Where nothing is taken away these are zero.
                            let (before, after) = (from[lane] - of_origin, to[lane] - of_later);
                            sums[0][lane] = before.mul_add(after, sums[0][lane]);
                        }
                    }
                }
                Kind::DisplacementHistogram(inverse_width) => {
                    for r2 in &r2[..step.present] {
                        let bin = r2.sqrt() * inverse_width;
                        if bin < self.bins as f32 {
                            step.counts[bin as usize] += 1;
                        }
                    }
                }
                Kind::SelfOverlap(squared_length) => {
                    for lane in 0..LANES {
                        sums[0][lane] += if r2[lane] < *squared_length { 1.0 } else { 0.0 };
                    }
                }
                Kind::SelfScattering(scattering) => scattering.add(&turns, step.cosines, sums),
            }
        }
    }

    /// The same for a sample with itself.
    #[inline(always)]
    fn add_at_lag_zero(&self, origin: &Columns, first: usize, step: &mut Step<'_>) {
        for Term { kind, first: place } in &self.terms {
            let sums = &mut step.sums[*place..];
            match kind {
                Kind::DisplacementMoments | Kind::Distances => {}
                Kind::VelocityProduct => {
                    for axis in 0..self.particles.dimension() {
                        let of = &origin.velocity[axis][first..first + LANES];
                        let drift = step.drift.velocity[0][axis];
                        for lane in 0..LANES {
                            let velocity = of[lane] - drift;
                            sums[0][lane] = velocity.mul_add(velocity, sums[0][lane]);
                        }
                    }
                }
                Kind::DisplacementHistogram(_) => step.counts[0] += step.present as u32,
                Kind::SelfOverlap(_) => sums[0].iter_mut().for_each(|sum| *sum += 1.0),
                Kind::SelfScattering(_) => {
                    let shells = step.shells;
                    sums[..shells].iter_mut().flatten().for_each(|sum| *sum += 1.0);
                }
            }
        }
    }
}

fn kind_of(sum: &KernelSum) -> Kind {
    let constant = || sum.constants[0].1;
    match (sum.term, &sum.results) {
        (KernelTerm::DisplacementMoments, _) => Kind::DisplacementMoments,
        (KernelTerm::Distances, _) => Kind::Distances,
        (KernelTerm::VelocityProduct, _) => Kind::VelocityProduct,
        (KernelTerm::DisplacementHistogram, _) => Kind::DisplacementHistogram(constant()),
        (KernelTerm::SelfOverlap, _) => Kind::SelfOverlap(constant()),
        (KernelTerm::SelfScattering, Results::Shells(shells)) => {
            Kind::SelfScattering(Scattering::new(shells))
        }
        (term, results) => unreachable!("{term:?} gives {results:?}"),
    }
}

/// Where the terms of some particles of a pair go, and what they depend on.
struct Step<'a> {
    edge: [Edge; 3],
    drift: Drift,
    /// Particles among the lanes: the first ones.
    present: usize,
    shells: usize,
    sums: &'a mut [Lanes],
    counts: &'a mut [u32],
    cosines: &'a mut [Lanes],
}

struct OverChunk<'a> {
    sums: &'a PairSums,
    samples: &'a [&'a Columns],
    group: &'a SampleGroup,
    drifts: &'a [Drift],
    edge: [Edge; 3],
    start: usize,
    count: usize,
}

impl InnerLoop for OverChunk<'_> {
    /// By pair: sums and counts of the chunk.
    type Output = (Vec<f32>, Vec<u32>);

    #[inline(always)]
    fn run(self) -> Self::Output {
        let OverChunk { sums: of, samples, group, drifts, edge, start, count } = self;
        let scattering = of.terms.iter().find_map(|term| match &term.kind {
            Kind::SelfScattering(scattering) => Some(scattering),
            _ => None,
        });
        let mut cosines = scattering.map(Scattering::workspace).unwrap_or_default();
        let mut lanes = vec![[0.0; LANES]; of.width];
        let mut before = lanes.clone();
        let mut all = Vec::with_capacity(group.pairs.len() * of.width);
        let mut all_counts = vec![0; group.pairs.len() * of.bins];
        for (number, (pair, &drift)) in group.pairs.iter().zip(drifts).enumerate() {
            lanes.iter_mut().for_each(|sum| *sum = [0.0; LANES]);
            let counts = &mut all_counts[number * of.bins..][..of.bins];
            for first in (0..count).step_by(LANES) {
                let present = LANES.min(count - first);
                if present < LANES {
                    before.copy_from_slice(&lanes);
                }
                let mut step = Step {
                    edge,
                    drift,
                    present,
                    shells: scattering.map_or(0, Scattering::shells),
                    sums: &mut lanes,
                    counts: &mut *counts,
                    cosines: &mut cosines,
                };
                let [origin, later] =
                    [pair.origin, pair.later].map(|place| samples[place as usize]);
                match pair.origin == pair.later {
                    true => of.add_at_lag_zero(origin, start + first, &mut step),
                    false => of.add([origin, later], start + first, &mut step),
                }
                if present < LANES {
                    // The other lanes have no particle.
                    for (sum, before) in lanes.iter_mut().zip(&before) {
                        sum[present..].copy_from_slice(&before[present..]);
                    }
                }
            }
            all.extend(lanes.iter().map(sum_over_lanes));
        }
        (all, all_counts)
    }
}
