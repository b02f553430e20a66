//! What runs from one configuration tell of its particles.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BondPlan;

/// Propensities of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PropensityPlan {
    /// Steps of the stage that particles are looked at after, ascending.
    pub steps: Vec<u64>,
    pub observables: Vec<PropensityObservable>,
    /// Of the self-intermediate scattering function.
    pub wavenumber: Option<f64>,
    /// Of the self overlap.
    pub overlap_length: Option<f64>,
    /// Of bond breaking.
    pub bonds: Option<BondPlan>,
}

/// A number that each particle has after a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PropensityObservable {
    /// `|r_i(t) - r_i(0)|`, the distance moved.
    Displacement,
    /// `|r_i(t) - r_i(0)|^2`.
    SquareDisplacement,
    /// 1 if the particle has moved less than `overlap_length`, else 0.
    SelfOverlap,
    /// `cos q [x_i(t) - x_i(0)]`, mean over the axes, at `wavenumber`.
    SelfIntermediateScatteringFunction,
    /// `n_i(t) / n_i(0)`, share of the neighbors within `bond_radius` that are still within `bond_breaking_radius`.
    BondBreaking,
}

impl PropensityObservable {
    /// The word of a configuration.
    pub fn word(self) -> &'static str {
        match self {
            PropensityObservable::Displacement => "displacement",
            PropensityObservable::SquareDisplacement => "square-displacement",
            PropensityObservable::SelfOverlap => "self-overlap",
            PropensityObservable::SelfIntermediateScatteringFunction => {
                "self-intermediate-scattering-function"
            }
            PropensityObservable::BondBreaking => "bond-breaking",
        }
    }

    /// Of its group in results files.
    pub fn group_name(self) -> String {
        self.word().replace('-', "_")
    }

    /// Units of its value and of its square; empty for a pure number.
    pub fn units(self) -> [&'static str; 2] {
        match self {
            PropensityObservable::Displacement => ["sigma", "sigma2"],
            PropensityObservable::SquareDisplacement => ["sigma2", "sigma4"],
            _ => ["", ""],
        }
    }
}

impl PropensityPlan {
    /// What an observable is, with its formula and its parameters.
    pub fn formula(&self, observable: PropensityObservable) -> String {
        let number = |value: Option<f64>| value.unwrap_or(f64::NAN);
        match observable {
            PropensityObservable::Displacement => "|r_i(t) - r_i(0)|".into(),
            PropensityObservable::SquareDisplacement => "|r_i(t) - r_i(0)|^2".into(),
            PropensityObservable::SelfOverlap => {
                let length = number(self.overlap_length);
                format!("theta(a - |r_i(t) - r_i(0)|), a = {length}")
            }
            PropensityObservable::SelfIntermediateScatteringFunction => {
                let wavenumber = number(self.wavenumber);
                format!("cos q [x_i(t) - x_i(0)], mean over the axes x, q = {wavenumber}")
            }
            PropensityObservable::BondBreaking => {
                let [radius, breaking] = [
                    self.bonds.map(|bonds| bonds.radius),
                    self.bonds.map(|bonds| bonds.breaking_radius),
                ]
                .map(number);
                format!(
                    "n_i(t) / n_i(0), n_i(0): number of j with |r_j(0) - r_i(0)| < A1, n_i(t): number of these with \
                     |r_j(t) - r_i(t)| < A2, 1 where n_i(0) = 0, A1 = {radius}, A2 = {breaking}"
                )
            }
        }
    }
}
