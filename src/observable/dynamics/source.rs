//! Which terms an observable is made from, what they need, who evaluates them, and what samples hold for them.
use std::fmt;

use super::evaluator::Evaluator;
use super::terms::Terms;
use crate::observable::sample::Contents;
use crate::observable::{ObservableError, SampleContext};
use crate::plan::{CorrelationPlan, DynamicObservable};

/// Terms that observables are made from; those of one source share them.
pub struct Source {
    pub name: &'static str,
    /// Keys of the configuration that it reads.
    pub needs: &'static [Need],
    pub samples: Held,
    pub evaluator: Evaluator,
    /// Names of the constants that the text of its kernel reads.
    pub constants: &'static [&'static str],
    pub(super) terms: fn(&CorrelationPlan, &SampleContext) -> Result<Terms, ObservableError>,
}

/// What terms take of a stage beside samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// `wavenumbers`.
    Wavenumbers,
    /// `overlap_length`.
    OverlapLength,
    /// The same below half the shortest edge, and with no more pairs than can be counted.
    OverlapLengthOfPairs,
    /// `cage_radius`.
    CageRadius,
    /// `bond_radius` and `bond_breaking_radius`.
    Bonds,
    /// `van_hove`.
    Bins,
    /// The same with a largest distance up to half the shortest edge.
    BinsOfPairs,
}

impl Need {
    /// Whether an observable has this need.
    pub fn is_of(self, observable: DynamicObservable) -> bool {
        Source::of(observable).needs.contains(&self)
    }

    /// The first observable that has it.
    pub fn example(self) -> DynamicObservable {
        let first = DynamicObservable::ALL.into_iter().find(|&observable| self.is_of(observable));
        first.expect("no need without an observable")
    }
}

/// What a sample holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    Positions,
    Velocities,
    /// Density modes.
    Modes,
    Nothing,
}

impl Source {
    /// Where the terms of an observable come from.
    pub fn of(observable: DynamicObservable) -> &'static Source {
        super::definition(observable).source
    }

    /// What each particle gives by itself, from positions.
    pub(super) const fn of_positions(
        name: &'static str,
        terms: fn(&CorrelationPlan, &SampleContext) -> Result<Terms, ObservableError>,
    ) -> Source {
        Source {
            name,
            needs: &[],
            samples: Held::Positions,
            evaluator: Evaluator::Particles,
            constants: &[],
            terms,
        }
    }

    /// Whether displacements are relative to cages.
    pub fn is_in_cages(&self) -> bool {
        self.evaluator == Evaluator::Cages
    }

    /// Whether it is made of the stress tensor.
    pub fn is_of_stress(&self) -> bool {
        self.evaluator == Evaluator::Stress
    }
}

/// Whether an observable compares places of the same particle at different times.
pub fn follows_particles(observable: DynamicObservable) -> bool {
    let evaluator = Source::of(observable).evaluator;
    matches!(
        evaluator,
        Evaluator::Particles | Evaluator::Cages | Evaluator::Bonds | Evaluator::Host
    )
}

/// Whether an observable is made of what each particle does by itself.
pub fn is_of_single_particles(observable: DynamicObservable) -> bool {
    Source::of(observable).evaluator == Evaluator::Particles
}

/// Whether an observable is made of modes of the density, whose wave vectors have to fit the box as it is.
pub fn is_of_modes(observable: DynamicObservable) -> bool {
    let source = Source::of(observable);
    let has_vectors = source.needs.contains(&Need::Wavenumbers);
    has_vectors && matches!(source.evaluator, Evaluator::Densities | Evaluator::Host)
}

/// Whether an observable is made of the stress tensor.
pub fn is_of_stress(observable: DynamicObservable) -> bool {
    Source::of(observable).is_of_stress()
}

impl PartialEq for Source {
    fn eq(&self, other: &Source) -> bool {
        std::ptr::eq(self, other)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The correlation in parts that an engine may evaluate, one for each [`Evaluator`] that there is something for.
pub fn for_engines(plan: &CorrelationPlan) -> Vec<CorrelationPlan> {
    Evaluator::ALL
        .into_iter()
        .map(|evaluator| {
            let is_of = |kind: &DynamicObservable| Source::of(*kind).evaluator == evaluator;
            let observables = plan.observables.iter().copied().filter(is_of).collect();
            // The stress is that of the laboratory; distances between particles are the same in any frame.
            let without_drift = matches!(evaluator, Evaluator::Stress | Evaluator::Bonds);
            let remove_drift = plan.remove_drift && !without_drift;
            CorrelationPlan { observables, remove_drift, ..plan.clone() }
        })
        .filter(|plan| !plan.observables.is_empty())
        .collect()
}

/// Whether an engine takes samples of all particles for a part of [`for_engines`]: how many the blocks hold. Those from given time
/// origins are few, and are taken of snapshots.
pub fn takes_samples_of_engine(plan: &CorrelationPlan) -> Option<usize> {
    if !plan.origins.is_empty() {
        return None;
    }
    match Source::of(*plan.observables.first()?).evaluator {
        Evaluator::Densities => Some(0),
        Evaluator::Stress | Evaluator::Host => None,
        _ => Some(samples_of_particles(plan)),
    }
}

/// Samples of all particles that the blocks of a part of [`for_engines`] hold, here or in an engine.
pub fn samples_of_particles(plan: &CorrelationPlan) -> usize {
    let held = |kind: &DynamicObservable| Source::of(*kind).samples;
    match plan.observables.first().map(held) {
        Some(Held::Positions | Held::Velocities) => plan.levels * (plan.block_size - 1),
        Some(Held::Modes | Held::Nothing) | None => 0,
    }
}

/// Whether terms need where particles are, beside where they have moved: in a flow, what it has carried them.
pub(super) fn needs_places(source: &Source) -> bool {
    matches!(source.evaluator, Evaluator::Cages | Evaluator::Bonds)
}

/// Memory of one sample in bytes; shells of wave vectors count as full.
pub fn sample_bytes(
    plan: &CorrelationPlan,
    particles: usize,
    species: usize,
    in_flow: bool,
) -> usize {
    let modes = plan.wavenumbers.len() * plan.vectors_per_shell;
    let carried = in_flow && plan.observables.iter().any(|&of| needs_places(Source::of(of)));
    let whole = Contents { center_of_mass: plan.remove_drift, carried, ..Contents::default() };
    plan.observables
        .iter()
        .map(|&kind| contents(Source::of(kind), modes))
        .fold(whole, Contents::and)
        .bytes(particles, species)
}

/// What samples have to hold for the terms of a source; `modes`: its wave vectors.
pub(super) fn contents(source: &Source, modes: usize) -> Contents {
    let nothing = Contents::default();
    match source.samples {
        Held::Positions => Contents { positions: true, ..nothing },
        Held::Velocities => Contents { velocities: true, ..nothing },
        Held::Modes => Contents { modes, ..nothing },
        Held::Nothing => nothing,
    }
}
