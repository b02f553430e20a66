//! An engine's part of a correlation on the host, plainly, for tests.
use std::f64::consts::TAU;
use std::sync::Arc;

use super::density_modes::DensityModes;
use super::dynamics::blocking::{BlockingScheme, Due};
use super::dynamics::bond_breaking::{share_kept, sum_of_shares};
use super::dynamics::evaluation::{
    BondOrderEvaluation, Evaluated, EvaluatedPairs, Evaluation, Offloaded, ParticleSum,
    SampledBondOrder, SampledDensities, SampledStress, SampledStructure, StructureEvaluation,
    groups,
};
use super::dynamics::kernel_sum::Results;
use super::dynamics::sampled::{HeldSamples, SampledParticles, WORDS};
use super::particle_order::ParticleOrder;
use super::sample::{CenterOfMass, Contents, Sample};
use super::shear_stress::Macroscopic;
use super::structure::BondOrientationalOrder;
use super::{SampleContext, species_pairs};
use crate::plan::{BondOrderPlan, BondPlan};
use crate::system::Snapshot;

/// What an engine does for a correlation.
pub enum HostEvaluator {
    Pairs(PairEvaluator),
    Densities { every: u64, samples: u64, modes: DensityModes, remove_drift: bool },
    Stress { every: u64, samples: u64 },
    Structure { evaluation: StructureEvaluation, samples: u64 },
    BondOrder { evaluation: BondOrderEvaluation, samples: u64 },
}

impl HostEvaluator {
    pub fn new(offloaded: Offloaded) -> Self {
        match offloaded {
            Offloaded::Pairs(evaluation, samples) => {
                HostEvaluator::Pairs(PairEvaluator::new(evaluation, samples))
            }
            Offloaded::Densities(evaluation, samples) => HostEvaluator::Densities {
                every: evaluation.every,
                samples,
                modes: DensityModes::new(&evaluation.simulation_box, evaluation.vectors),
                remove_drift: evaluation.remove_drift,
            },
            Offloaded::Stress(evaluation, samples) => {
                HostEvaluator::Stress { every: evaluation.every, samples }
            }
            Offloaded::Structure(evaluation, samples) => {
                HostEvaluator::Structure { evaluation, samples }
            }
            Offloaded::BondOrder(evaluation, samples) => {
                HostEvaluator::BondOrder { evaluation, samples }
            }
        }
    }

    pub fn every(&self) -> u64 {
        match self {
            HostEvaluator::Pairs(pairs) => pairs.evaluation.every,
            HostEvaluator::Densities { every, .. } | HostEvaluator::Stress { every, .. } => *every,
            HostEvaluator::Structure { evaluation, .. } => evaluation.densities.every,
            HostEvaluator::BondOrder { evaluation, .. } => evaluation.every,
        }
    }

    pub fn samples(&self) -> u64 {
        match self {
            HostEvaluator::Pairs(pairs) => pairs.scheme.samples(),
            HostEvaluator::Densities { samples, .. }
            | HostEvaluator::Stress { samples, .. }
            | HostEvaluator::Structure { samples, .. }
            | HostEvaluator::BondOrder { samples, .. } => *samples,
        }
    }

    pub fn sample(
        &mut self,
        snapshot: &Snapshot,
        context: &SampleContext,
        macroscopic: &Macroscopic,
    ) -> Evaluated {
        match self {
            HostEvaluator::Pairs(pairs) => Evaluated::Pairs(pairs.sample(snapshot, context)),
            HostEvaluator::Densities { samples, modes, remove_drift, .. } => {
                *samples += 1;
                let order = ParticleOrder::new(context).unwrap();
                let densities = modes.densities(snapshot, &order);
                let center = remove_drift.then(|| {
                    let CenterOfMass { position, velocity } = CenterOfMass::new(snapshot, context);
                    [position, velocity]
                });
                let step = snapshot.step;
                Evaluated::Densities(vec![SampledDensities { step, densities, center }])
            }
            HostEvaluator::Stress { samples, .. } => {
                *samples += 1;
                let sample = SampledStress { step: snapshot.step, macroscopic: *macroscopic };
                Evaluated::Stress(vec![sample])
            }
            HostEvaluator::Structure { evaluation, samples } => {
                *samples += 1;
                let StructureEvaluation { bins, bin_width, densities } = evaluation;
                let vectors = densities.vectors.clone();
                let modes = DensityModes::new(&context.simulation_box, vectors);
                Evaluated::Structure(vec![SampledStructure {
                    step: snapshot.step,
                    pairs: pairs_by_distance(snapshot, context, *bins, *bin_width),
                    densities: modes.densities(snapshot, &ParticleOrder::new(context).unwrap()),
                }])
            }
            HostEvaluator::BondOrder { evaluation, samples } => {
                *samples += 1;
                let plan = BondOrderPlan { every: evaluation.every, radius: evaluation.radius };
                let order = BondOrientationalOrder::new(&plan, context).unwrap().evaluate(snapshot);
                Evaluated::BondOrder(vec![SampledBondOrder { step: snapshot.step, order }])
            }
        }
    }

    pub fn finish(&mut self) -> Evaluated {
        match self {
            HostEvaluator::Pairs(pairs) => {
                let due = pairs.scheme.finish();
                Evaluated::Pairs(pairs.evaluate(&due))
            }
            HostEvaluator::Densities { .. } => Evaluated::Densities(Vec::new()),
            HostEvaluator::Stress { .. } => Evaluated::Stress(Vec::new()),
            HostEvaluator::Structure { .. } => Evaluated::Structure(Vec::new()),
            HostEvaluator::BondOrder { .. } => Evaluated::BondOrder(Vec::new()),
        }
    }

    pub fn held(&self) -> Option<HeldSamples> {
        match self {
            HostEvaluator::Pairs(pairs) => Some(pairs.held()),
            _ => None,
        }
    }
}

/// Pairs of particles, by pair of species, bin.
fn pairs_by_distance(
    snapshot: &Snapshot,
    context: &SampleContext,
    bins: usize,
    bin_width: f64,
) -> Vec<Vec<u64>> {
    let edges = context.simulation_box.padded_edges();
    let species = context.species.len();
    let mut counts = vec![vec![0; bins]; species_pairs(species).len()];
    for (i, r) in snapshot.position.iter().enumerate() {
        for (j, other) in snapshot.position.iter().enumerate().skip(i + 1) {
            let squared = |k: usize| {
                let d = other[k] - r[k];
                (d - edges[k] * (d / edges[k]).round()).powi(2)
            };
            let bin = ((0..3).map(squared).sum::<f64>().sqrt() / bin_width) as usize;
            let [a, b] = [i, j].map(|id| usize::from(context.species_of[id]));
            let pair = a.min(b) * species - a.min(b) * (a.min(b) + 1) / 2 + a.max(b);
            if let Some(count) = counts[pair].get_mut(bin) {
                *count += 1;
            }
        }
    }
    counts
}

pub struct PairEvaluator {
    evaluation: Evaluation,
    first_step: Option<u64>,
    scheme: BlockingScheme<SampledParticles>,
}

impl PairEvaluator {
    fn new(evaluation: Evaluation, samples: HeldSamples) -> Self {
        let mut scheme = BlockingScheme::new(evaluation.blocks);
        if samples.samples > 0 {
            assert!(scheme.restore(samples.samples, &samples.entries, &samples.held));
        }
        PairEvaluator { evaluation, first_step: samples.first_step, scheme }
    }

    fn sample(&mut self, snapshot: &Snapshot, context: &SampleContext) -> EvaluatedPairs {
        self.first_step.get_or_insert(snapshot.step);
        let contents = Contents {
            positions: true,
            velocities: true,
            center_of_mass: self.evaluation.remove_drift,
            ..Contents::default()
        };
        let order = ParticleOrder::new(context).unwrap();
        let sample = Sample::new(snapshot, &order, context, &contents, None);
        let due = self.scheme.push(SampledParticles::new(&sample, &context.simulation_box));
        self.evaluate(&due)
    }

    fn held(&self) -> HeldSamples {
        HeldSamples {
            samples: self.scheme.samples(),
            first_step: self.first_step,
            entries: self.scheme.entries(),
            held: self.scheme.held(),
        }
    }

    fn evaluate(&self, due: &[Due<SampledParticles>]) -> EvaluatedPairs {
        let mut samples: Vec<Arc<SampledParticles>> = Vec::new();
        for sample in due.iter().flat_map(|due| &due.entries) {
            if !samples.iter().any(|other| Arc::ptr_eq(other, sample)) {
                samples.push(sample.clone());
            }
        }
        let number = |sample: &SampledParticles| {
            samples.iter().position(|other| std::ptr::eq(&**other, sample)).unwrap() as u32
        };
        let lags = self.evaluation.lags;
        let lag_index = |level: usize, entry: usize| {
            self.scheme.lag_index(level, entry).filter(|&index| index < lags)
        };
        let mut evaluated = EvaluatedPairs::default();
        for group in groups(due, number, lag_index, 16) {
            let sample = |place: u32| &*samples[group.samples[place as usize] as usize];
            for pair in &group.pairs {
                evaluated.lags.push(pair.lag);
                evaluated.sums.extend(self.sums(sample(pair.origin), sample(pair.later)));
            }
        }
        evaluated
    }

    /// By species, sum.
    fn sums(&self, origin: &SampledParticles, later: &SampledParticles) -> Vec<f64> {
        let mut sums = Vec::new();
        let in_cages =
            self.evaluation.cage_radius.map(|radius| self.in_cages(origin, later, radius));
        let later = in_cages.as_ref().unwrap_or(later);
        let mut start = 0;
        for species in &self.evaluation.species {
            for sum in &self.evaluation.sums {
                let mut of_sum = vec![0.0; sum.width()];
                for particle in start..start + species.count {
                    self.add(sum, origin, later, particle, &mut of_sum);
                }
                sums.extend(of_sum);
            }
            start += species.count;
        }
        sums
    }

    /// Place without periodic boundaries, in `2^-32` of the edge.
    fn place(&self, sample: &SampledParticles, particle: usize, axis: usize) -> i64 {
        let dimension = self.evaluation.simulation_box.dimension();
        let words = &sample.words[(particle * dimension + axis) * WORDS..][..2];
        i64::from(words[1] as i32) * (1 << 32) + i64::from(words[0])
    }

    /// Whether the nearest image of a particle is within a distance of a place.
    fn is_near(&self, sample: &SampledParticles, other: usize, place: &[i64], radius: f64) -> bool {
        let edges = self.evaluation.simulation_box.padded_edges();
        let squared = |(axis, place): (usize, &i64)| {
            let units = self.place(sample, other, axis).wrapping_sub(*place) as i32;
            (f64::from(units) * edges[axis] / 2f64.powi(32)).powi(2)
        };
        place.iter().enumerate().map(squared).sum::<f64>() < radius * radius
    }

    /// Particles of the origin whose nearest image is within a distance of a place.
    fn near(&self, origin: &SampledParticles, place: &[i64], radius: f64) -> Vec<usize> {
        let is_near = |other: &usize| self.is_near(origin, *other, place, radius);
        (0..self.evaluation.particles()).filter(is_near).collect()
    }

    /// The later sample relative to the mean displacements of the neighbors.
    fn in_cages(
        &self,
        origin: &SampledParticles,
        later: &SampledParticles,
        radius: f64,
    ) -> SampledParticles {
        let dimension = self.evaluation.simulation_box.dimension();
        let moved = |particle: usize, axis: usize| {
            self.place(later, particle, axis) - self.place(origin, particle, axis)
        };
        let mut relative = later.clone();
        for particle in 0..self.evaluation.particles() {
            let place: Vec<i64> =
                (0..dimension).map(|axis| self.place(origin, particle, axis)).collect();
            let mut neighbors = self.near(origin, &place, radius);
            neighbors.retain(|&other| other != particle);
            for axis in 0..dimension {
                let sum: i64 = neighbors.iter().map(|&other| moved(other, axis)).sum();
                let of_cage = match neighbors.len() {
                    0 => self.drift_units(origin, later, axis),
                    count => (sum as f64 / count as f64).round_ties_even() as i64,
                };
                let place = self.place(later, particle, axis) - of_cage;
                let words = &mut relative.words[(particle * dimension + axis) * WORDS..][..2];
                words.copy_from_slice(&[place as u32, (place >> 32) as u32]);
            }
        }
        // Nothing else is to be taken away.
        relative.center = origin.center;
        relative
    }

    /// What the centre of mass moves, where that is to be taken away.
    fn drift_units(&self, origin: &SampledParticles, later: &SampledParticles, axis: usize) -> i64 {
        let edge = self.evaluation.simulation_box.padded_edges()[axis];
        match (origin.center, later.center) {
            (Some([from, _]), Some([to, _])) => {
                ((to[axis] - from[axis]) / edge * 2f64.powi(32)).round_ties_even() as i64
            }
            _ => 0,
        }
    }

    fn add(
        &self,
        sum: &ParticleSum,
        origin: &SampledParticles,
        later: &SampledParticles,
        particle: usize,
        sums: &mut [f64],
    ) {
        let dimension = self.evaluation.simulation_box.dimension();
        let edges = self.evaluation.simulation_box.padded_edges();
        let drift = |quantity: usize, axis: usize, sample: &SampledParticles| {
            sample.center.map_or(0.0, |center| center[quantity][axis])
        };
        let word = |sample: &SampledParticles, axis: usize, word: usize| {
            sample.words[(particle * dimension + axis) * WORDS + word]
        };
        let along = |axis: usize| {
            let place = |sample: &SampledParticles| {
                i128::from(word(sample, axis, 1) as i32) * (1 << 32)
                    + i128::from(word(sample, axis, 0))
            };
            let moved = (place(later) - place(origin)) as f64 * (edges[axis] / 2f64.powi(32));
            moved - (drift(0, axis, later) - drift(0, axis, origin))
        };
        let moved: Vec<f64> = (0..dimension).map(along).collect();
        let r2: f64 = moved.iter().map(|d| d * d).sum();
        match sum {
            ParticleSum::Kernel(sum) => match (sum.name, &sum.results) {
                ("displacement moments", _) => {
                    sums[0] += r2;
                    sums[1] += r2 * r2;
                }
                ("distances moved", _) => sums[0] += r2.sqrt(),
                ("velocity product", _) => {
                    let velocity = |sample: &SampledParticles, axis| {
                        f64::from(f32::from_bits(word(sample, axis, 2))) - drift(1, axis, sample)
                    };
                    sums[0] += (0..dimension)
                        .map(|axis| velocity(origin, axis) * velocity(later, axis))
                        .sum::<f64>();
                }
                ("displacement histogram", Results::Counts(inverse_volumes)) => {
                    let bin = (r2.sqrt() * f64::from(sum.constants[0].1)) as usize;
                    if let Some(sum) = sums.get_mut(bin) {
                        *sum += inverse_volumes[bin];
                    }
                }
                ("self overlap", _) => {
                    sums[0] += f64::from(u8::from(r2 < f64::from(sum.constants[0].1)));
                }
                ("self scattering", Results::Shells(shells)) => {
                    for (sum, shell) in sums.iter_mut().zip(shells) {
                        let phase = |n: &[i32; 3]| -> f64 {
                            (0..dimension)
                                .map(|k| TAU * f64::from(n[k]) * moved[k] / edges[k])
                                .sum()
                        };
                        let vectors = shell.lattice_vectors();
                        let cosines: f64 = vectors.iter().map(|n| phase(n).cos()).sum();
                        *sum += cosines / vectors.len() as f64;
                    }
                }
                (name, _) => panic!("{name} is not known here"),
            },
            ParticleSum::PlacesTaken(radius) => {
                let place: Vec<i64> = (0..dimension)
                    .map(|axis| {
                        self.place(later, particle, axis) - self.drift_units(origin, later, axis)
                    })
                    .collect();
                sums[0] += self.near(origin, &place, *radius).len() as f64;
            }
            ParticleSum::BondsKept(BondPlan { radius, breaking_radius }) => {
                let [from, to] = [origin, later].map(|sample| -> Vec<i64> {
                    (0..dimension).map(|axis| self.place(sample, particle, axis)).collect()
                });
                let mut bonds = self.near(origin, &from, *radius);
                bonds.retain(|&other| other != particle);
                let is_kept = |other: &&usize| self.is_near(later, **other, &to, *breaking_radius);
                let kept = bonds.iter().filter(is_kept).count();
                sums[0] += sum_of_shares(share_kept(kept as u64, bonds.len() as u64));
            }
        }
    }
}
