//! Which terms an observable is made from, who evaluates them, and what samples hold for them.
use super::pair_chunk::Frame;
use crate::observable::sample::Contents;
use crate::plan::{CorrelationPlan, DynamicObservable};

/// Names the terms that an observable is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `|dr|^2` and `|dr|^4` of particles.
    DisplacementMoments(Frame),
    /// `v(0) . v(t)` of particles.
    VelocityProduct,
    /// `cos(q . dr)` of particles, averaged over shells of wave vectors.
    SelfScattering(Frame),
    /// 1 for particles with `|dr| < a`.
    SelfOverlap(Frame),
    /// Number of places of particles within `a`, for each particle.
    CollectiveOverlap,
    /// Share of the bonds of particles that are not broken.
    BondBreaking,
    /// 1 over its volume for the bin of `|dr|`.
    DisplacementHistogram,
    /// `rho_a(q, t) rho_b(-q, 0)` of pairs of species, averaged over shells of wave vectors.
    DensityProduct,
    /// Products of the shear stress and its integral; see [`stress_correlator`](super::stress_correlator).
    StressProduct,
}

impl Source {
    /// Where the terms of an observable come from.
    pub fn of(kind: DynamicObservable) -> Source {
        use DynamicObservable as D;
        match kind {
            D::MeanSquareDisplacement | D::MeanQuarticDisplacement | D::NonGaussianParameter => {
                Source::DisplacementMoments(Frame::Laboratory)
            }
            D::VelocityAutocorrelation => Source::VelocityProduct,
            D::SelfIntermediateScatteringFunction | D::SelfScatteringSusceptibility => {
                Source::SelfScattering(Frame::Laboratory)
            }
            D::SelfOverlap | D::SelfOverlapSusceptibility => Source::SelfOverlap(Frame::Laboratory),
            D::CollectiveOverlap | D::CollectiveOverlapSusceptibility => Source::CollectiveOverlap,
            D::BondBreaking | D::BondBreakingSusceptibility => Source::BondBreaking,
            D::CoherentIntermediateScatteringFunction => Source::DensityProduct,
            D::SelfVanHoveFunction => Source::DisplacementHistogram,
            D::StressAutocorrelation | D::ShearViscosity => Source::StressProduct,
            D::CageRelativeMeanSquareDisplacement => Source::DisplacementMoments(Frame::Cage),
            D::CageRelativeSelfIntermediateScatteringFunction => {
                Source::SelfScattering(Frame::Cage)
            }
            D::CageRelativeSelfOverlap => Source::SelfOverlap(Frame::Cage),
        }
    }
}

/// How an engine evaluates terms where the particles are; those of one kind together, from samples of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluator {
    /// Sums over particles of what each does by itself.
    Particles,
    /// The same in the frame of the cages.
    Cages,
    /// Numbers of particles near places of others.
    Places,
    /// Neighbors that particles keep.
    Bonds,
    /// Density modes of every sample.
    Densities,
    /// The stress of every sample.
    Stress,
}

impl Evaluator {
    const ALL: [Evaluator; 6] = [
        Evaluator::Particles,
        Evaluator::Cages,
        Evaluator::Places,
        Evaluator::Bonds,
        Evaluator::Densities,
        Evaluator::Stress,
    ];
}

impl Source {
    pub fn evaluator(self) -> Evaluator {
        match self {
            Source::DisplacementMoments(Frame::Laboratory)
            | Source::VelocityProduct
            | Source::SelfScattering(Frame::Laboratory)
            | Source::SelfOverlap(Frame::Laboratory)
            | Source::DisplacementHistogram => Evaluator::Particles,
            Source::DisplacementMoments(Frame::Cage)
            | Source::SelfScattering(Frame::Cage)
            | Source::SelfOverlap(Frame::Cage) => Evaluator::Cages,
            Source::CollectiveOverlap => Evaluator::Places,
            Source::BondBreaking => Evaluator::Bonds,
            Source::DensityProduct => Evaluator::Densities,
            Source::StressProduct => Evaluator::Stress,
        }
    }
}

/// The correlation in parts that an engine may evaluate, one for each [`Evaluator`] that there is something for.
pub fn for_engines(plan: &CorrelationPlan) -> Vec<CorrelationPlan> {
    Evaluator::ALL
        .into_iter()
        .map(|evaluator| {
            let is_of = |kind: &DynamicObservable| Source::of(*kind).evaluator() == evaluator;
            let observables = plan.observables.iter().copied().filter(is_of).collect();
            // The stress is that of the laboratory; distances between particles are the same in any frame.
            let without_drift = matches!(evaluator, Evaluator::Stress | Evaluator::Bonds);
            let remove_drift = plan.remove_drift && !without_drift;
            CorrelationPlan { observables, remove_drift, ..plan.clone() }
        })
        .filter(|plan| !plan.observables.is_empty())
        .collect()
}

/// Whether an engine takes samples of all particles for a part of [`for_engines`]: how many the blocks hold.
pub fn takes_samples_of_engine(plan: &CorrelationPlan) -> Option<usize> {
    match Source::of(*plan.observables.first()?).evaluator() {
        Evaluator::Particles | Evaluator::Cages | Evaluator::Places | Evaluator::Bonds => {
            Some(plan.levels * (plan.block_size - 1))
        }
        Evaluator::Densities => Some(0),
        Evaluator::Stress => None,
    }
}

/// Memory of one sample in bytes; shells of wave vectors count as full.
pub fn sample_bytes(plan: &CorrelationPlan, particles: usize, species: usize) -> usize {
    let modes = plan.wavenumbers.len() * plan.vectors_per_shell;
    plan.observables
        .iter()
        .map(|&kind| contents(Source::of(kind), modes))
        .fold(Contents { center_of_mass: plan.remove_drift, ..Contents::default() }, Contents::and)
        .bytes(particles, species)
}

/// What samples have to hold for the terms of a source; `modes`: its wave vectors.
pub(super) fn contents(source: Source, modes: usize) -> Contents {
    let nothing = Contents::default();
    match source {
        Source::VelocityProduct => Contents { velocities: true, ..nothing },
        Source::DensityProduct => Contents { modes, ..nothing },
        Source::StressProduct => nothing,
        _ => Contents { positions: true, ..nothing },
    }
}
