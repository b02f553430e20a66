use super::correlation::Correlation;
use super::evaluation::ParticleSum;
use super::kernel_sum::{KernelSum, KernelTerm, Results};
use super::pair_chunk::PairChunk;
use super::registry::Definition;
use super::source::{Held, Source};
use super::terms::{ParticleTerms, Terms};
use crate::plan::DynamicObservable;

/// `<v_i(t) . v_i(0)>` over the particles of a species (velocity squared): the full scalar product, neither
/// divided by the dimension nor normalised; at lag zero it is `D k_B T / m`.
pub struct VelocityAutocorrelation;

pub(super) static DEFINITION: Definition =
    Definition { source: &SOURCE, correlation: |_, _| Box::new(VelocityAutocorrelation) };

static SOURCE: Source = Source {
    samples: Held::Velocities,
    ..Source::of_positions("velocity product", |_, _| Ok(Terms::of_particles(VelocityProduct)))
};

impl Correlation for VelocityAutocorrelation {
    fn kind(&self) -> DynamicObservable {
        DynamicObservable::VelocityAutocorrelation
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
        Some(ParticleSum::Kernel(KernelSum {
            name: "velocity product",
            term: KernelTerm::VelocityProduct,
            results: Results::Sums(1),
            add: PRODUCT,
            add_at_lag_zero: SQUARE,
            constants: Vec::new(),
        }))
    }
}

const PRODUCT: &str = "\
float product = sum[0];
#pragma unroll
for (int axis = 0; axis < DIMENSION; ++axis) {
    float before = float_from_bits(origin[SAMPLED_WORDS * axis + 2]);
    float after = float_from_bits(later[SAMPLED_WORDS * axis + 2]);
#if REMOVE_DRIFT
    before = sub(before, drift.velocity[0][axis]);
    after = sub(after, drift.velocity[1][axis]);
#endif
    product = fused(before, after, product);
}
sum[0] = product;";

const SQUARE: &str = "\
float product = sum[0];
#pragma unroll
for (int axis = 0; axis < DIMENSION; ++axis) {
    float velocity = float_from_bits(origin[SAMPLED_WORDS * axis + 2]);
#if REMOVE_DRIFT
    velocity = sub(velocity, drift.velocity[0][axis]);
#endif
    product = fused(velocity, velocity, product);
}
sum[0] = product;";
