use super::cage::in_cage;
use super::evaluation::ParticleSum;
use super::evaluator::Evaluator;
use super::kernel_sum::{KernelSum, KernelTerm, Results};
use super::pair_chunk::PairChunk;
use super::source::{Need, Source};
use super::terms::{ParticleTerms, Terms};

/// `|dr|^2` and `|dr|^4` with `dr = r(t) - r(0)`.
pub struct DisplacementMoments;

pub(super) static SOURCE: Source = Source::of_positions("displacement moments", |_, _| {
    Ok(Terms::of_particles(DisplacementMoments))
});

pub(super) static IN_CAGE: Source = Source {
    needs: &[Need::CageRadius],
    evaluator: Evaluator::Cages,
    ..Source::of_positions("displacement moments in cages", |plan, context| {
        in_cage(DisplacementMoments, plan, context)
    })
};

impl ParticleTerms for DisplacementMoments {
    fn terms(&self) -> usize {
        2
    }

    fn add(&self, chunk: &mut PairChunk, sums: &mut [f64]) {
        sums[0] += chunk.sum(|i| chunk.squared_displacement(i));
        sums[1] += chunk.sum(|i| chunk.squared_displacement(i).powi(2));
    }

    fn particle_sum(&self) -> Option<ParticleSum> {
        Some(ParticleSum::Kernel(KernelSum {
            name: "displacement moments",
            term: KernelTerm::DisplacementMoments,
            results: Results::Sums(2),
            add: "sum[0] = add(sum[0], r2);\nsum[1] = fused(r2, r2, sum[1]);",
            add_at_lag_zero: "",
            constants: Vec::new(),
        }))
    }
}
