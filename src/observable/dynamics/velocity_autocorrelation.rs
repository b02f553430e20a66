use super::correlation::Correlation;
use super::evaluation::ParticleSum;
use super::pair_chunk::PairChunk;
use super::terms::ParticleTerms;
use crate::plan::DynamicObservable;

/// `<v_i(t) . v_i(0)>` over the particles of a species (velocity squared): the full scalar product, neither
/// divided by the dimension nor normalised; at lag zero it is `D k_B T / m`.
pub struct VelocityAutocorrelation;

impl Correlation for VelocityAutocorrelation {
    fn kind(&self) -> DynamicObservable {
        DynamicObservable::VelocityAutocorrelation
    }

    fn unit(&self) -> &'static str {
        "sigma2 tau-2"
    }

    fn formula(&self) -> String {
        "<v_i(t) . v_i(0)>".into()
    }
}

/// `v(t) . v(0)`.
pub struct VelocityProduct;

impl ParticleTerms for VelocityProduct {
    fn add(&self, chunk: &mut PairChunk, sums: &mut [f64]) {
        let [[x0, x], [y0, y], [z0, z]] = [0, 1, 2].map(|axis| chunk.velocities(axis));
        sums[0] += chunk.sum(|i| x0[i] * x[i] + y0[i] * y[i] + z0[i] * z[i]);
    }

    fn particle_sum(&self) -> Option<ParticleSum> {
        Some(ParticleSum::VelocityProduct)
    }
}
