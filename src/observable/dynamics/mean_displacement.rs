use super::correlation::Correlation;
use super::evaluation::ParticleSum;
use super::kernel_sum::{KernelSum, KernelTerm, Results};
use super::pair_chunk::PairChunk;
use super::registry::Definition;
use super::source::Source;
use super::terms::{ParticleTerms, Terms};
use crate::plan::DynamicObservable;

/// `<|r_i(t) - r_i(0)|>` over the particles of a species (length): the distance, whose mean over runs from one configuration
/// is the propensity of a particle (Widmer-Cooper, Harrowell & Fynewever, Phys. Rev. Lett. 93, 135701 (2004); as distance
/// Bapst et al., Nat. Phys. 16, 448 (2020)). Particles that have left count less than in the mean square displacement.
///
/// Of Gaussian displacements with the mean square `s` it is `sqrt(8 s / (3 pi))` in three dimensions, `sqrt(pi s) / 2` in
/// two; less where few particles move far.
pub struct MeanDisplacement;

pub(super) static DEFINITION: Definition =
    Definition { source: &SOURCE, correlation: |_, _| Box::new(MeanDisplacement) };

static SOURCE: Source =
    Source::of_positions("distances moved", |_, _| Ok(Terms::of_particles(DistanceMoved)));

impl Correlation for MeanDisplacement {
    fn kind(&self) -> DynamicObservable {
        DynamicObservable::MeanDisplacement
    }

    fn formula(&self) -> String {
        "<|r_i(t) - r_i(0)|>".into()
    }
}

/// `|dr|`.
struct DistanceMoved;

impl ParticleTerms for DistanceMoved {
    fn add(&self, chunk: &mut PairChunk, sums: &mut [f64]) {
        sums[0] += chunk.sum(|i| chunk.squared_displacement(i).sqrt());
    }

    fn particle_sum(&self) -> Option<ParticleSum> {
        Some(ParticleSum::Kernel(KernelSum {
            name: "distances moved",
            term: KernelTerm::Distances,
            results: Results::Sums(1),
            add: "sum[0] = add(sum[0], square_root(r2));",
            add_at_lag_zero: "",
            constants: Vec::new(),
        }))
    }
}
