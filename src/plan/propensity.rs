//! What runs from one configuration tell of its particles.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BondPlan, InherentStructuresPlan};

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
    /// How inherent structures are looked for, where they are compared, too; at the times of the propensities, whatever
    /// interval stands here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherent: Option<InherentStructuresPlan>,
}

/// Between what particles are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum States {
    /// The states of the runs.
    Thermal,
    /// The inherent structures below them.
    Inherent,
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
    pub fn group_name(self, states: States) -> String {
        let name = self.word().replace('-', "_");
        match states {
            States::Thermal => name,
            States::Inherent => format!("inherent_{name}"),
        }
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
    /// What is averaged, in the order of rows and files.
    pub fn averages(&self) -> impl Iterator<Item = (States, PropensityObservable)> {
        let inherent = self.inherent.is_some().then_some(States::Inherent);
        std::iter::once(States::Thermal)
            .chain(inherent)
            .flat_map(|states| self.observables.iter().map(move |&of| (states, of)))
    }

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
