//! Fits of transport and relaxation, with errors.
//!
//! All fits are weighted least squares: `chi^2 = sum_k ((y_k - f(x_k)) / sigma_k)^2` is least, with the
//! standard errors `sigma_k` of the points. Errors of the parameters are the roots of the diagonal of
//! `(J^T J)^-1`, `J_ki = (df/dp_i) / sigma_k` at the minimum. Where the points have no errors they count
//! equally and the covariance is scaled by `chi^2` per degree of freedom.
//!
//! This is right for independent points. Points of one correlation function rest on the same trajectory
//! and are correlated, and `chi^2` per degree of freedom is below one. Their covariance goes into the errors: that of
//! a random walk's displacements, also for the decay of F_s, and that of Green-Kubo integrals. With several
//! independent runs [`mod@crate::analyze`] adds a jackknife over the runs, which does not depend on how points are correlated.
mod covariance;
mod crossing;
mod decay;
mod diffusion;
mod green_kubo;
mod least_squares;
mod line;
mod plateau;
mod points;
#[cfg(test)]
pub(crate) mod synthetic;
mod temperature;

pub use crossing::{Crossing, time_of_decay};
pub use decay::{StretchedExponential, decay_window, final_decay, stretched_exponential};
pub use diffusion::{Diffusion, diffusion, diffusion_between, diffusive_window};
pub use green_kubo::{GreenKubo, NoGreenKubo, green_kubo, green_kubo_to};
pub use least_squares::{Fit, least_squares};
pub use line::{Line, line};
pub use plateau::{NoPlateau, Plateau, plateau};
pub use points::Points;
pub use temperature::{AtTemperature, ModeCoupling, Vft, mode_coupling, vogel_fulcher_tammann};

use serde::Serialize;

/// A value and its standard error; the error is NaN if not known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// One standard deviation.
    pub error: f64,
}

impl Estimate {
    /// `exp` of a value: the relative error is the error of the logarithm.
    fn exp(logarithm: f64, error: f64) -> Self {
        Estimate { value: logarithm.exp(), error: logarithm.exp() * error }
    }
}

/// Pulls `(found - true) / error` of repeated synthetic measurements, for the tests of all fits.
#[cfg(test)]
pub(crate) mod pulls {
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    use super::Estimate;

    #[derive(Default)]
    pub struct Pulls(Vec<f64>);

    impl Pulls {
        pub fn add(&mut self, found: Estimate, expected: f64) {
            self.0.push((found.value - expected) / found.error);
        }

        pub fn count(&self) -> usize {
            self.0.len()
        }

        pub fn mean_square(&self) -> f64 {
            self.0.iter().map(|pull| pull * pull).sum::<f64>() / self.0.len() as f64
        }

        /// Root mean square between 0.85 and 1.15; it is uncertain by `(2 n)^(-1/2)` of `n` values.
        pub fn are_calibrated(&self, name: &str) {
            let rms = self.mean_square().sqrt();
            assert!((0.85..1.15).contains(&rms), "{name}: rms {rms} of {}", self.0.len());
        }

        /// Their squares follow the chi-squared distribution: a test of level 2e-3.
        pub fn have_unit_variance(&self, name: &str) {
            let count = self.0.len() as f64;
            let below = ChiSquared::new(count).unwrap().cdf(self.mean_square() * count);
            let mean_square = self.mean_square();
            assert!(
                (1e-3..0.999).contains(&below),
                "{name}: <pull^2> = {mean_square} of {count}, p = {below}"
            );
        }
    }
}
