//! Pair potentials and their truncation: formulas and parameters.
//!
//! All energies and lengths in reduced units; `r` is the distance of a pair, `sigma` and `epsilon`
//! belong to the pair of species. Adding a potential: one file here with the evaluator, one variant
//! of [`PairPotential`] and one line in [`evaluate_exactly`] and in the engine's table of kernels.
mod evaluator;
mod gaussian_core;
mod harmonic_spheres;
mod inverse_powers;
mod jump;
mod lennard_jones;
mod smoothing;
mod truncation;
mod yukawa;

use serde::{Deserialize, Serialize};

use crate::arithmetic::Real;

pub use evaluator::Evaluator;
pub use gaussian_core::GaussianCore;
pub use harmonic_spheres::HarmonicSpheres;
pub use inverse_powers::{InversePowers, LARGEST_EXPONENT, mie_prefactor};
pub use jump::Jumps;
pub use lennard_jones::LennardJones;
pub use smoothing::SmoothingChange;
pub use truncation::{PairUnits, Truncated, TruncationKind, is_reduced};
pub use yukawa::Yukawa;

/// Functional form shared by all pairs of species.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PairPotential {
    /// `4 epsilon [(sigma/r)^12 - (sigma/r)^6]`.
    LennardJones,
    /// `C epsilon [(sigma/r)^m - (sigma/r)^n]` with `C = m/(m-n) (m/n)^(n/(m-n))`, `m > n >= 1`:
    /// the minimum is `-epsilon`.
    Mie { m: u32, n: u32 },
    /// `epsilon (sigma/r)^n`.
    InversePower { n: u32 },
    /// `epsilon/2 (1 - r/sigma)^2` for `r < sigma`.
    HarmonicSpheres,
    /// `epsilon (sigma/r) exp(-kappa (r - sigma))`: `epsilon` is the energy at `r = sigma`.
    Yukawa,
    /// `epsilon exp(-(r/sigma)^2)`.
    GaussianCore,
}

/// How the potential ends at the cutoff `r_c`. Beyond `r_c` energy and force are zero in all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Truncation {
    /// `U(r)`: jumps at the cutoff.
    Sharp,
    /// `U(r) - U(r_c)`.
    Shifted,
    /// `U(r) - U(r_c) - (r - r_c) U'(r_c)`.
    ForceShifted,
    /// `[U(r) - U(r_c)] g((r - r_c) / (width sigma))` with `g(x) = x^4 / (1 + x^4)`
    /// (Colberg & Hoefling 2011, section 4): continuous second derivative.
    Smooth { width: f64 },
}

/// Parameters of one (unordered) pair of species. WCA is Lennard-Jones with `cutoff = 2^(1/6) sigma`
/// and [`Truncation::Shifted`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairParameters {
    pub epsilon: f64,
    pub sigma: f64,
    /// Absolute cutoff distance.
    pub cutoff: f64,
    /// Inverse screening length of the Yukawa potential; zero for others.
    pub kappa: f64,
}

/// The complete definition of the interaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PotentialPlan {
    pub form: PairPotential,
    pub truncation: Truncation,
    /// `pairs[a][b] == pairs[b][a]`, in the order of the species.
    pub pairs: Vec<Vec<PairParameters>>,
}

impl PotentialPlan {
    pub fn largest_cutoff(&self) -> f64 {
        self.pairs.iter().flatten().map(|pair| pair.cutoff).fold(0.0, f64::max)
    }

    pub fn smallest_sigma(&self) -> f64 {
        self.pairs.iter().flatten().map(|pair| pair.sigma).fold(f64::INFINITY, f64::min)
    }
}

/// `U(r)` of the form itself, without truncation.
pub fn bare_energy(form: &PairPotential, pair: &PairParameters, r: f64) -> f64 {
    let endless = PairParameters { cutoff: f64::MAX.sqrt(), ..*pair };
    evaluate_exactly(*form, &Truncation::Sharp, &endless, r).1
}

/// `(-U'(r)/r, U(r))` of the truncated potential at distance `r`, in 64 bits; zero beyond the cutoff. At `r = 0` the force
/// over distance is given as zero, and the energy of a potential with a pole as infinite.
pub fn evaluate_exactly(
    form: PairPotential,
    truncation: &Truncation,
    pair: &PairParameters,
    r: f64,
) -> (f64, f64) {
    fn cut<V: Evaluator<f64>>(
        form: impl Fn(&PairParameters) -> V,
        truncation: &Truncation,
        pair: &PairParameters,
        r: f64,
    ) -> (f64, f64) {
        let truncated = Truncated::new(&form, &form, pair, truncation, PairUnits::default());
        if r * r < f64::COINCIDENT2 {
            return (0.0, truncated.contact_energy().unwrap_or(f64::INFINITY));
        }
        match truncation.kind() {
            TruncationKind::Shifted => {
                truncated.evaluate::<{ TruncationKind::Shifted as usize }>(r * r)
            }
            TruncationKind::ForceShifted => {
                truncated.evaluate::<{ TruncationKind::ForceShifted as usize }>(r * r)
            }
            TruncationKind::Smooth => {
                truncated.evaluate::<{ TruncationKind::Smooth as usize }>(r * r)
            }
        }
    }
    if r >= pair.cutoff {
        return (0.0, 0.0);
    }
    match form {
        PairPotential::LennardJones => cut(LennardJones::new, truncation, pair, r),
        PairPotential::Mie { m, n } => {
            cut(|pair| InversePowers::<f64, true>::mie(pair, m, n), truncation, pair, r)
        }
        PairPotential::InversePower { n } => {
            cut(|pair| InversePowers::<f64, true>::inverse_power(pair, n), truncation, pair, r)
        }
        PairPotential::HarmonicSpheres => cut(HarmonicSpheres::new, truncation, pair, r),
        PairPotential::Yukawa => cut(Yukawa::new, truncation, pair, r),
        PairPotential::GaussianCore => cut(GaussianCore::new, truncation, pair, r),
    }
}
