//! Time correlations: what they are ([`Correlation`], one file each), what they are made of ([`terms`]), and how
//! samples are kept and paired ([`blocking`], [`Correlations`]).
pub mod blocking;
pub mod bond_breaking;
pub mod cage;
mod cages;
pub mod coherent_intermediate_scattering_function;
pub mod collective_overlap;
pub mod correlation;
mod correlations;
mod displacement_moments;
pub mod evaluation;
pub mod mean_quartic_displacement;
pub mod mean_square_displacement;
pub mod non_gaussian_parameter;
pub mod pair_chunk;
mod registry;
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

pub use correlation::{Correlation, Part};
pub use correlations::Correlations;
