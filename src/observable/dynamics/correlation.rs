//! What a time correlation has to say about itself.
use super::bond_breaking::{self, BondBreaking};
use super::coherent_intermediate_scattering_function::CoherentIntermediateScatteringFunction;
use super::collective_overlap::CollectiveOverlap;
use super::mean_quartic_displacement::MeanQuarticDisplacement;
use super::mean_square_displacement::MeanSquareDisplacement;
use super::non_gaussian_parameter::NonGaussianParameter;
use super::pair_chunk::Frame;
use super::self_intermediate_scattering_function::SelfIntermediateScatteringFunction;
use super::self_overlap::SelfOverlap;
use super::self_van_hove_function::SelfVanHoveFunction;
use super::stress_autocorrelation::{ShearViscosity, StressAutocorrelation};
use super::susceptibility::Susceptibility;
use super::terms::Source;
use super::velocity_autocorrelation::VelocityAutocorrelation;
use crate::observable::{SampleContext, species_pairs};
use crate::plan::{CorrelationPlan, DynamicObservable};

/// What a function of time is averaged over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The particles of a species.
    Species(usize),
    /// Two species, which may be one.
    Pair(usize, usize),
    /// All particles.
    All,
}

impl Part {
    /// Group in the file for all particles. No species can have this name.
    pub const ALL_PARTICLES: &str = "all-particles";

    pub fn name(self, context: &SampleContext) -> String {
        match self {
            Part::Species(index) => context.species[index].name.clone(),
            // With a hyphen, which no name of a species has.
            Part::Pair(a, b) => {
                format!("{}-{}", context.species[a].name, context.species[b].name)
            }
            Part::All => Part::ALL_PARTICLES.to_owned(),
        }
    }

    /// Number of particles.
    pub fn particles(self, context: &SampleContext) -> usize {
        match self {
            Part::Species(index) => context.species[index].count,
            Part::Pair(a, b) if a == b => context.species[a].count,
            Part::Pair(a, b) => context.species[a].count + context.species[b].count,
            Part::All => context.species_of.len(),
        }
    }

    /// The `listed` species and, where these are all of several, all particles together.
    pub fn species_and_sum(species: usize, listed: &[usize]) -> Vec<Part> {
        let is_complete = species > 1 && (0..species).all(|index| listed.contains(&index));
        let all = is_complete.then_some(Part::All);
        Self::of_species(species, listed).chain(all).collect()
    }

    /// The `listed` species, and all particles together.
    pub fn species_and_all(species: usize, listed: &[usize]) -> Vec<Part> {
        Self::of_species(species, listed).chain([Part::All]).collect()
    }

    /// Every unordered pair of the `listed` species, and all particles together.
    pub fn pairs_and_all(species: usize, listed: &[usize]) -> Vec<Part> {
        let pairs = species_pairs(species).into_iter().filter_map(|(a, b)| {
            (listed.contains(&a) && listed.contains(&b)).then_some(Part::Pair(a, b))
        });
        pairs.chain([Part::All]).collect()
    }

    fn of_species(species: usize, listed: &[usize]) -> impl Iterator<Item = Part> {
        (0..species).filter(|index| listed.contains(index)).map(Part::Species)
    }
}

/// A function of the lag time, averaged over time origins.
///
/// Every time origin gives *terms* ([`Source`]): means over the particles of a part, say. From these the
/// observable makes one or two *components*, which are averaged over time origins; the value is a
/// function of these averages.
pub trait Correlation: Send + Sync {
    fn kind(&self) -> DynamicObservable;

    /// Definition, as text for the file.
    fn formula(&self) -> String;

    /// Origins that a value takes.
    fn fewest_origins(&self) -> u64 {
        1
    }

    /// Unit of the value in the notation of H5MD; empty for a pure number.
    fn unit(&self) -> &'static str {
        ""
    }

    /// Where its terms come from.
    fn source(&self) -> Source {
        Source::of(self.kind())
    }

    /// What it is averaged over, in a system of `species` species; averages of single species are made for the
    /// `listed` ones.
    fn parts(&self, species: usize, listed: &[usize]) -> Vec<Part> {
        Part::species_and_sum(species, listed)
    }

    /// Averages over time origins that one value is made of.
    fn components(&self) -> usize {
        1
    }

    /// Whether the value exists at lag zero.
    fn has_lag_zero(&self) -> bool {
        true
    }

    /// Components of one time origin from its terms.
    fn of_origin(&self, terms: &[f64], components: &mut [f64]) {
        components.copy_from_slice(terms);
    }

    /// Value as a function of the averages, and its gradient.
    fn value(&self, _particles: usize, averages: &[f64]) -> (f64, [f64; 2]) {
        (averages[0], [1.0, 0.0])
    }

    /// Number of samples that one time origin counts as; `vectors`: those of the shell.
    fn samples_per_origin(&self, particles: usize, _vectors: u64) -> u64 {
        particles as u64
    }
}

/// The registry: every observable of the plan, in its order.
pub(super) fn build(plan: &CorrelationPlan, context: &SampleContext) -> Vec<Box<dyn Correlation>> {
    let dimension = context.simulation_box.dimension();
    let bonds = bond_breaking::radii(plan);
    let make = |&kind: &DynamicObservable| -> Box<dyn Correlation> {
        match kind {
            DynamicObservable::MeanSquareDisplacement => {
                Box::new(MeanSquareDisplacement(Frame::Laboratory))
            }
            DynamicObservable::CageRelativeMeanSquareDisplacement => {
                Box::new(MeanSquareDisplacement(Frame::Cage))
            }
            DynamicObservable::MeanQuarticDisplacement => Box::new(MeanQuarticDisplacement),
            DynamicObservable::NonGaussianParameter => {
                Box::new(NonGaussianParameter::new(dimension))
            }
            DynamicObservable::VelocityAutocorrelation => Box::new(VelocityAutocorrelation),
            DynamicObservable::SelfIntermediateScatteringFunction => {
                Box::new(SelfIntermediateScatteringFunction(Frame::Laboratory))
            }
            DynamicObservable::CoherentIntermediateScatteringFunction => {
                Box::new(CoherentIntermediateScatteringFunction)
            }
            DynamicObservable::SelfOverlap => {
                Box::new(SelfOverlap::new(Frame::Laboratory, plan.overlap_length))
            }
            DynamicObservable::CageRelativeSelfIntermediateScatteringFunction => {
                Box::new(SelfIntermediateScatteringFunction(Frame::Cage))
            }
            DynamicObservable::CageRelativeSelfOverlap => {
                Box::new(SelfOverlap::new(Frame::Cage, plan.overlap_length))
            }
            DynamicObservable::CollectiveOverlap => {
                Box::new(CollectiveOverlap::new(plan.overlap_length))
            }
            DynamicObservable::SelfVanHoveFunction => Box::new(SelfVanHoveFunction::new(dimension)),
            DynamicObservable::StressAutocorrelation => {
                Box::new(StressAutocorrelation::new(&context.simulation_box))
            }
            DynamicObservable::ShearViscosity => {
                Box::new(ShearViscosity::new(&context.simulation_box))
            }
            DynamicObservable::BondBreaking => Box::new(BondBreaking(bonds)),
            DynamicObservable::SelfOverlapSusceptibility
            | DynamicObservable::CollectiveOverlapSusceptibility
            | DynamicObservable::BondBreakingSusceptibility
            | DynamicObservable::SelfScatteringSusceptibility => {
                Box::new(Susceptibility::new(kind, plan.overlap_length, bonds))
            }
        }
    };
    plan.observables.iter().map(make).collect()
}
