//! Time correlations: what they are ([`Correlation`], one file each), what they are made of ([`terms`]), and how
//! samples are kept and paired ([`blocking`], [`Correlations`]).
//!
//! An observable is one module. It states where its terms come from ([`source::Source`]: what they need, their sums on the
//! host, the text of their kernel) and what it makes of them ([`Correlation`]), and is listed below in `observables!`; its
//! words, unit, axes and figure are a line in `observables/src/dynamics.rs`. Configuration, plans, engines, files and figures
//! read these.
pub mod affine;
pub mod blocking;
pub mod bond_breaking;
pub mod cage;
pub(super) mod cages;
pub mod coherent_intermediate_scattering_function;
pub mod collective_overlap;
pub mod correlation;
mod correlations;
mod displacement_moments;
pub mod distinct_van_hove_function;
pub mod evaluation;
pub mod evaluator;
pub mod four_point_structure_factor;
pub mod frames;
pub mod kernel_sum;
pub mod mean_displacement;
pub mod mean_quartic_displacement;
pub mod mean_square_displacement;
pub mod non_gaussian_parameter;
pub mod pair_chunk;
pub mod part;
pub mod registry;
pub mod sampled;
pub mod self_intermediate_scattering_function;
pub mod self_overlap;
pub mod self_van_hove_function;
pub mod source;
pub mod stress_autocorrelation;
pub mod stress_correlator;
pub mod susceptibility;
pub mod terms;
pub mod velocity_autocorrelation;

pub use correlation::Correlation;
pub use correlations::Correlations;
pub use part::Part;

registry::observables! {
    MeanSquareDisplacement => mean_square_displacement::DEFINITION;
    MeanQuarticDisplacement => mean_quartic_displacement::DEFINITION;
    NonGaussianParameter => non_gaussian_parameter::DEFINITION;
    VelocityAutocorrelation => velocity_autocorrelation::DEFINITION;
    SelfIntermediateScatteringFunction => self_intermediate_scattering_function::DEFINITION;
    SelfOverlap => self_overlap::DEFINITION;
    SelfOverlapSusceptibility => self_overlap::SUSCEPTIBILITY;
    SelfScatteringSusceptibility => self_intermediate_scattering_function::SUSCEPTIBILITY;
    CollectiveOverlap => collective_overlap::DEFINITION;
    CollectiveOverlapSusceptibility => collective_overlap::SUSCEPTIBILITY;
    CoherentIntermediateScatteringFunction => coherent_intermediate_scattering_function::DEFINITION;
    SelfVanHoveFunction => self_van_hove_function::DEFINITION;
    StressAutocorrelation => stress_autocorrelation::DEFINITION;
    ShearViscosity => stress_autocorrelation::VISCOSITY;
    CageRelativeMeanSquareDisplacement => mean_square_displacement::IN_CAGE;
    CageRelativeSelfIntermediateScatteringFunction => self_intermediate_scattering_function::IN_CAGE;
    CageRelativeSelfOverlap => self_overlap::IN_CAGE;
    BondBreaking => bond_breaking::DEFINITION;
    BondBreakingSusceptibility => bond_breaking::SUSCEPTIBILITY;
    MeanDisplacement => mean_displacement::DEFINITION;
    FourPointStructureFactor => four_point_structure_factor::DEFINITION;
    DistinctVanHoveFunction => distinct_van_hove_function::DEFINITION;
}
