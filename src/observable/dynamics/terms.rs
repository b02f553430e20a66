//! What one time origin contributes: sums that several observables share.
use super::bond_breaking::{self, BondsKept};
use super::cage::CageRelative;
use super::coherent_intermediate_scattering_function::DensityProduct;
use super::collective_overlap::PlacesTaken;
use super::correlation::Part;
use super::displacement_moments::DisplacementMoments;
use super::evaluation::ParticleSum;
use super::pair_chunk::{Frame, PairChunk, Search};
use super::self_intermediate_scattering_function::SelfScattering;
use super::self_overlap::WithinDistance;
use super::self_van_hove_function::DisplacementHistogram;
use super::stress_correlator;
use super::velocity_autocorrelation::VelocityProduct;
use crate::observable::sample::{Contents, Sample};
use crate::observable::wavevectors::{self, WaveVectorShell};
use crate::observable::{ObservableError, SampleContext};
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
    /// Products of the shear stress and its integral; see [`stress_correlator`].
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

/// What terms depend on beside the lag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rows<'a> {
    /// Nothing.
    One,
    /// The wave number.
    Shells(&'a [WaveVectorShell]),
    /// The distance: centres of the bins.
    Distances(&'a [f64]),
}

impl Rows<'_> {
    pub fn count(&self) -> usize {
        match self {
            Rows::One => 1,
            Rows::Shells(shells) => shells.len(),
            Rows::Distances(distances) => distances.len(),
        }
    }

    /// Wave vectors of all shells, one of each `q`, `-q`.
    pub fn wave_vectors(&self) -> Vec<[i32; 3]> {
        match self {
            Rows::Shells(shells) => {
                shells.iter().flat_map(|shell| shell.lattice_vectors()).collect()
            }
            Rows::One | Rows::Distances(_) => Vec::new(),
        }
    }

    /// Number of wave vectors in every row; 1 where there are none.
    pub fn vectors(&self) -> Vec<u64> {
        match self {
            Rows::Shells(shells) => shells.iter().map(WaveVectorShell::count).collect(),
            Rows::One | Rows::Distances(_) => vec![1; self.count()],
        }
    }
}

/// Sums over particles; their mean over the particles of a part are the terms.
pub trait ParticleTerms: Send + Sync {
    fn rows(&self) -> Rows<'_> {
        Rows::One
    }

    /// Terms of every row.
    fn terms(&self) -> usize {
        1
    }

    /// Length of the sums that [`add`](Self::add) adds to.
    fn width(&self) -> usize {
        self.terms() * self.rows().count()
    }

    /// Adds the sums over the particles of `chunk` to `sums`: for every row all terms.
    fn add(&self, chunk: &mut PairChunk, sums: &mut [f64]);

    /// The same for an engine that evaluates it where the particles are, if one may.
    fn particle_sum(&self) -> Option<ParticleSum> {
        None
    }
}

/// Terms that are functions of two samples as wholes.
pub trait SampleTerms: Send + Sync {
    fn rows(&self) -> Rows<'_> {
        Rows::One
    }

    /// Terms of every row.
    fn terms(&self) -> usize {
        1
    }

    /// Writes for every row all terms of one part.
    fn evaluate(&self, origin: &Sample, later: &Sample, part: Part, terms: &mut [f64]);
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
pub(super) fn build(
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
