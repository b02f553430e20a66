use super::evaluation::ParticleSum;
use super::pair_chunk::PairChunk;
use super::terms::ParticleTerms;

/// `|dr|^2` and `|dr|^4` with `dr = r(t) - r(0)`.
pub struct DisplacementMoments;

impl ParticleTerms for DisplacementMoments {
    fn terms(&self) -> usize {
        2
    }

    fn add(&self, chunk: &mut PairChunk, sums: &mut [f64]) {
        sums[0] += chunk.sum(|i| chunk.squared_displacement(i));
        sums[1] += chunk.sum(|i| chunk.squared_displacement(i).powi(2));
    }

    fn particle_sum(&self) -> Option<ParticleSum> {
        Some(ParticleSum::DisplacementMoments)
    }
}
