use super::cage::in_cage;
use super::correlation::{Correlation, Places};
use super::evaluation::ParticleSum;
use super::evaluator::Evaluator;
use super::kernel_sum::{KernelSum, KernelTerm, Results};
use super::pair_chunk::{Frame, PairChunk};
use super::part::Part;
use super::registry::Definition;
use super::source::{Need, Source};
use super::susceptibility::Susceptibility;
use super::terms::{ParticleTerms, Rows, Terms};
use crate::observable::cosines::cosine_rows;
use crate::observable::particle_order::LANES;
use crate::observable::vectors::{InnerLoop, on_widest_registers};
use crate::observable::wavevectors::{WaveVectorShell, orbit_size, shells_of};
use crate::observable::{ObservableError, SampleContext};
use crate::plan::{CorrelationPlan, DynamicObservable};
use crate::system::SimulationBox;

/// `F_s(q, t) = <cos(q . [r_i(t) - r_i(0)])>` over the particles of a species and the wave vectors of a
/// shell; in the frame of the cage, see [`CageRelative`](super::cage::CageRelative).
pub struct SelfIntermediateScatteringFunction(pub Frame);

pub(super) static DEFINITION: Definition = Definition {
    source: &SOURCE,
    correlation: |_, _| Box::new(SelfIntermediateScatteringFunction(Frame::Laboratory)),
};

pub(super) static IN_CAGE: Definition = Definition {
    source: &SOURCE_IN_CAGE,
    correlation: |_, _| Box::new(SelfIntermediateScatteringFunction(Frame::Cage)),
};

/// Of `F_s` at each time origin, the mean over particles and over the wave vectors of a shell.
pub(super) static SUSCEPTIBILITY: Definition = Definition {
    source: &SOURCE,
    correlation: |_, _| {
        Box::new(Susceptibility {
            kind: DynamicObservable::SelfScatteringSusceptibility,
            fluctuating: "sum_q sum_i cos(q . [r_i(t) - r_i(0)]) / (n N) over the N particles and the n wave vectors of a \
                          shell, both before it is squared"
                .into(),
            parts: Part::species_and_all,
        })
    },
};

static SOURCE: Source = Source {
    needs: &[Need::Wavenumbers],
    ..Source::of_positions("self scattering", |plan, context| {
        Ok(Terms::of_particles(SelfScattering::of_plan(plan, context)?))
    })
};

static SOURCE_IN_CAGE: Source = Source {
    needs: &[Need::Wavenumbers, Need::CageRadius],
    evaluator: Evaluator::Cages,
    ..Source::of_positions("self scattering in cages", |plan, context| {
        in_cage(SelfScattering::of_plan(plan, context)?, plan, context)
    })
};

impl Correlation for SelfIntermediateScatteringFunction {
    fn kind(&self) -> DynamicObservable {
        match self.0 {
            Frame::Laboratory => DynamicObservable::SelfIntermediateScatteringFunction,
            Frame::Cage => DynamicObservable::CageRelativeSelfIntermediateScatteringFunction,
        }
    }

    fn formula(&self) -> String {
        let displacement = self.0.displacement();
        format!("<cos(q . [{displacement}])>, averaged over the wave vectors of a shell")
    }

    /// Gaussian; beyond 1/e noise rules.
    fn departure(&self) -> Option<fn(f64, &Places) -> f64> {
        match self.0 {
            Frame::Laboratory => Some(|value, places| {
                let &Places { squared_distance, wavenumber, dimension } = places;
                -value.ln() / (wavenumber.powi(2) * squared_distance / (2.0 * dimension)).min(1.0)
            }),
            Frame::Cage => None,
        }
    }
}

/// `cos(q . [r(t) - r(0)])`, averaged over the wave vectors of a shell.
///
/// Shells consist of whole sign orbits of `q = 2 pi n / L`, over which the average is
/// `cos(q_x dx) cos(q_y dy) cos(q_z dz)`: three factors from one table per axis and particle.
pub struct SelfScattering {
    inverse_edges: [f64; 3],
    shells: Vec<WaveVectorShell>,
    /// Integers `n` that occur along each axis, ascending.
    orders: [Vec<u32>; 3],
    /// For each shell: rows of the three tables, and the share of the orbit in the shell.
    terms: Vec<Vec<([usize; 3], f64)>>,
}

impl SelfScattering {
    fn of_plan(plan: &CorrelationPlan, context: &SampleContext) -> Result<Self, ObservableError> {
        Ok(Self::new(&context.simulation_box, shells_of(plan, context)?))
    }

    pub fn new(simulation_box: &SimulationBox, shells: Vec<WaveVectorShell>) -> Self {
        let orders: [Vec<u32>; 3] = std::array::from_fn(|axis| {
            let mut orders: Vec<u32> =
                shells.iter().flat_map(|shell| shell.orbits.iter().map(|n| n[axis])).collect();
            orders.sort_unstable();
            orders.dedup();
            orders
        });
        let row = |axis: usize, n: u32| orders[axis].partition_point(|&order| order < n);
        let term = |n: [u32; 3], total: u64| {
            let rows = std::array::from_fn(|axis| row(axis, n[axis]));
            (rows, orbit_size(n) as f64 / total as f64)
        };
        let terms = shells
            .iter()
            .map(|shell| shell.orbits.iter().map(|&n| term(n, shell.count())).collect())
            .collect();
        SelfScattering {
            inverse_edges: simulation_box.padded_edges().map(f64::recip),
            orders,
            terms,
            shells,
        }
    }

    #[inline(always)]
    fn add_batches(&self, chunk: &mut PairChunk, sums: &mut [f64]) {
        let [x, y, z] = [0, 1, 2].map(|axis| self.orders[axis].len());
        let mut tables = std::mem::take(&mut chunk.workspace);
        tables.resize(x + y + z, [0.0; LANES]);
        for start in (0..chunk.count()).step_by(LANES) {
            let (table_x, rest) = tables.split_at_mut(x);
            let (table_y, table_z) = rest.split_at_mut(y);
            // Particles that only fill up the chunk have weight zero along the first axis.
            let present = std::array::from_fn(|i| f64::from(start + i < chunk.count()));
            self.fill(chunk, 0, start, &present, table_x);
            self.fill(chunk, 1, start, &[1.0; LANES], table_y);
            self.fill(chunk, 2, start, &[1.0; LANES], table_z);
            for (terms, sum) in self.terms.iter().zip(&mut *sums) {
                let mut lanes = [0.0; LANES];
                for &([x, y, z], share) in terms {
                    let (x, y, z) = (&table_x[x], &table_y[y], &table_z[z]);
                    for i in 0..LANES {
                        lanes[i] += share * x[i] * (y[i] * z[i]);
                    }
                }
                let mut folded = [0.0; 8];
                for part in lanes.chunks_exact(8) {
                    (0..8).for_each(|i| folded[i] += part[i]);
                }
                *sum += folded.iter().sum::<f64>();
            }
        }
        chunk.workspace = tables;
    }

    #[inline(always)]
    fn fill(
        &self,
        chunk: &PairChunk,
        axis: usize,
        start: usize,
        weight: &[f64; LANES],
        table: &mut [[f64; LANES]],
    ) {
        let displacement = &chunk.displacement(axis)[start..start + LANES];
        let u = std::array::from_fn(|i| displacement[i] * self.inverse_edges[axis]);
        cosine_rows(&u, weight, &self.orders[axis], table);
    }
}

struct AddBatches<'a, 'b> {
    terms: &'a SelfScattering,
    chunk: &'a mut PairChunk<'b>,
    sums: &'a mut [f64],
}

impl InnerLoop for AddBatches<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.terms.add_batches(self.chunk, self.sums);
    }
}

impl ParticleTerms for SelfScattering {
    fn rows(&self) -> Rows<'_> {
        Rows::Shells(&self.shells)
    }

    fn add(&self, chunk: &mut PairChunk, sums: &mut [f64]) {
        on_widest_registers(AddBatches { terms: self, chunk, sums });
    }

    fn particle_sum(&self) -> Option<ParticleSum> {
        Some(ParticleSum::Kernel(KernelSum {
            name: "self scattering",
            term: KernelTerm::SelfScattering,
            results: Results::Shells(self.shells.clone()),
            add: "\
u32 turns[3] = {moved[0].turns, moved[1].turns, 0};
#if DIMENSION == 3
turns[2] = moved[2].turns;
#endif
add_scattering(turns, sum);",
            add_at_lag_zero: "\
#pragma unroll
for (int shell = 0; shell < SHELLS; ++shell) sum[shell] = add(sum[shell], 1.0f);",
            constants: Vec::new(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::pair_chunk::{Origin, Search};
    use super::*;
    use crate::observable::particle_order::ParticleOrder;
    use crate::observable::sample::{Contents, Sample};
    use crate::observable::trajectories::{context, random_walk};
    use crate::observable::wavevectors::shells;

    #[test]
    fn registers_of_any_width_give_the_same_bits() {
        let context = context(&[6.0, 7.0, 8.0], &[201], 10);
        let box_ = context.simulation_box;
        let shells = shells(&box_, &[1.0, 7.2, 20.0], 30).unwrap();
        let function = SelfScattering::new(&box_, shells);
        let order = ParticleOrder::new(&context).unwrap();
        let contents = Contents { positions: true, ..Contents::default() };
        let samples: Vec<_> = random_walk(&context, 2, 0.7, 0, 1, 2)
            .iter()
            .map(|snapshot| Sample::new(snapshot, &order, &context, &contents, None))
            .collect();
        let mut chunk = PairChunk::new();
        let origin = Origin::new(&samples[0], Search::default(), &box_);
        chunk.load(&origin, &samples[1], None, 0..201, &box_);
        let (mut widest, mut portable) = ([0.0; 3], [0.0; 3]);
        function.add(&mut chunk, &mut widest);
        function.add_batches(&mut chunk, &mut portable);
        assert_eq!(widest.map(f64::to_bits), portable.map(f64::to_bits));
        assert!(portable[0] > 100.0 && portable[0] < 201.0);
    }
}
