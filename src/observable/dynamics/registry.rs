//! Which correlation an observable of the plan is, and which terms a source has.
use super::bond_breaking::{self, BondBreaking, BondsKept};
use super::cage::CageRelative;
use super::coherent_intermediate_scattering_function::{
    CoherentIntermediateScatteringFunction, DensityProduct,
};
use super::collective_overlap::{CollectiveOverlap, PlacesTaken};
use super::correlation::Correlation;
use super::displacement_moments::DisplacementMoments;
use super::mean_quartic_displacement::MeanQuarticDisplacement;
use super::mean_square_displacement::MeanSquareDisplacement;
use super::non_gaussian_parameter::NonGaussianParameter;
use super::pair_chunk::{Frame, Search};
use super::self_intermediate_scattering_function::{
    SelfIntermediateScatteringFunction, SelfScattering,
};
use super::self_overlap::{SelfOverlap, WithinDistance};
use super::self_van_hove_function::{DisplacementHistogram, SelfVanHoveFunction};
use super::source::Source;
use super::stress_autocorrelation::{ShearViscosity, StressAutocorrelation};
use super::stress_correlator;
use super::susceptibility::Susceptibility;
use super::terms::{ParticleTerms, Rows, SampleTerms};
use super::velocity_autocorrelation::{VelocityAutocorrelation, VelocityProduct};
use crate::observable::wavevectors::{self, WaveVectorShell};
use crate::observable::{ObservableError, SampleContext};
use crate::plan::{CorrelationPlan, DynamicObservable};

/// Every observable of the plan, in its order.
pub(super) fn correlations(
    plan: &CorrelationPlan,
    context: &SampleContext,
) -> Vec<Box<dyn Correlation>> {
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

/// How terms are evaluated.
pub(super) enum Terms {
    Particles(Box<dyn ParticleTerms>),
    Samples(Box<dyn SampleTerms>),
    /// From a series of their own.
    Stress,
}

impl Terms {
    pub fn rows(&self) -> Rows<'_> {
        match self {
            Terms::Particles(terms) => terms.rows(),
            Terms::Samples(terms) => terms.rows(),
            Terms::Stress => Rows::One,
        }
    }

    /// Numbers that one time origin gives.
    pub fn width(&self) -> usize {
        match self {
            Terms::Particles(terms) => terms.width(),
            Terms::Samples(terms) => terms.terms() * terms.rows().count(),
            Terms::Stress => stress_correlator::TERMS,
        }
    }
}

/// The terms of one source.
pub(super) fn terms(
    source: Source,
    plan: &CorrelationPlan,
    context: &SampleContext,
) -> Result<Terms, ObservableError> {
    let terms: Box<dyn ParticleTerms> = match source {
        Source::DisplacementMoments(frame) => in_frame(frame, DisplacementMoments, plan, context)?,
        Source::VelocityProduct => Box::new(VelocityProduct),
        Source::SelfScattering(frame) => {
            let terms = SelfScattering::new(&context.simulation_box, shells(plan, context)?);
            in_frame(frame, terms, plan, context)?
        }
        Source::SelfOverlap(frame) => {
            in_frame(frame, WithinDistance::new(plan.overlap_length)?, plan, context)?
        }
        Source::CollectiveOverlap => {
            let shortest_edge = context.simulation_box.shortest_edge();
            Box::new(PlacesTaken::new(plan.overlap_length, shortest_edge)?)
        }
        Source::BondBreaking => {
            let shortest_edge = context.simulation_box.shortest_edge();
            Box::new(BondsKept::new(bond_breaking::radii(plan), shortest_edge)?)
        }
        Source::DisplacementHistogram => {
            Box::new(DisplacementHistogram::new(&plan.van_hove, &context.simulation_box)?)
        }
        Source::DensityProduct => {
            let shells = shells(plan, context)?;
            let particles = context.species_of.len();
            return Ok(Terms::Samples(Box::new(DensityProduct::new(shells, particles))));
        }
        Source::StressProduct => return Ok(Terms::Stress),
    };
    Ok(Terms::Particles(terms))
}

fn in_frame(
    frame: Frame,
    terms: impl ParticleTerms + 'static,
    plan: &CorrelationPlan,
    context: &SampleContext,
) -> Result<Box<dyn ParticleTerms>, ObservableError> {
    Ok(match frame {
        Frame::Laboratory => Box::new(terms),
        Frame::Cage => {
            let radius = plan.cage_radius.unwrap_or(f64::NAN);
            let shortest_edge = context.simulation_box.shortest_edge();
            Box::new(CageRelative::new(terms, radius, shortest_edge)?)
        }
    })
}

/// What has to be known of the particles of a time origin.
pub(super) fn search(sources: impl Iterator<Item = Source>, plan: &CorrelationPlan) -> Search {
    let mut search = Search::default();
    for source in sources {
        match source {
            Source::CollectiveOverlap => search.cells = true,
            Source::BondBreaking => search.bond_radius = plan.bonds.map(|bonds| bonds.radius),
            Source::DisplacementMoments(Frame::Cage)
            | Source::SelfScattering(Frame::Cage)
            | Source::SelfOverlap(Frame::Cage) => search.cage_radius = plan.cage_radius,
            _ => {}
        }
    }
    search
}

fn shells(
    plan: &CorrelationPlan,
    context: &SampleContext,
) -> Result<Vec<WaveVectorShell>, ObservableError> {
    if plan.wavenumbers.is_empty() {
        let expected = "at least one for functions of the wave number";
        return Err(ObservableError::value("correlation.wavenumbers", "[]", expected));
    }
    wavevectors::shells(&context.simulation_box, &plan.wavenumbers, plan.vectors_per_shell)
}
