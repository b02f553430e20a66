//! What makes an estimate one that cannot be taken as it stands.
use serde::Serialize;

/// Says in tables, CSV and JSON what a reader or a script must know of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    /// The mean-square displacement is not linear in time over the fitted range: there is no `D`.
    NotDiffusive,
    /// `chi^2` per degree of freedom is above 3: points are further from the curve than their errors explain.
    PoorFit,
    /// The Green-Kubo integral has not come to a plateau before noise rules, or cannot be seen to: there is no `eta`.
    NotDecayed,
    /// The halves of the stage differ in energy: it ages, or has not come to rest.
    NotStationary,
    /// More than 1 % of it is motion of the centre of mass, which a Langevin thermostat drives.
    CenterOfMassMotion,
    /// The stage is shorter than its relaxation time.
    ShorterThanTau,
    /// The stage is shorter than ten relaxation times.
    #[serde(rename = "shorter-than-10-tau")]
    ShorterThanTenTau,
}

impl Flag {
    /// As in CSV and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Flag::NotDiffusive => "not-diffusive",
            Flag::PoorFit => "poor-fit",
            Flag::NotDecayed => "not-decayed",
            Flag::NotStationary => "not-stationary",
            Flag::CenterOfMassMotion => "center-of-mass-motion",
            Flag::ShorterThanTau => "shorter-than-tau",
            Flag::ShorterThanTenTau => "shorter-than-10-tau",
        }
    }

    /// Whether what was measured says nothing of equilibrium, and has no place in a law over temperatures.
    pub fn is_out_of_equilibrium(self) -> bool {
        matches!(self, Flag::NotStationary | Flag::ShorterThanTau)
    }
}

/// Their names, with a space between.
pub(super) fn names(flags: &[Flag]) -> String {
    flags.iter().map(|flag| flag.name()).collect::<Vec<_>>().join(" ")
}

/// Points further from a curve than their errors explain.
pub(super) fn poor(reduced_chi_squared: f64) -> Vec<Flag> {
    if reduced_chi_squared > 3.0 { vec![Flag::PoorFit] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_same_names() {
        for flag in [
            Flag::NotDiffusive,
            Flag::PoorFit,
            Flag::NotDecayed,
            Flag::NotStationary,
            Flag::CenterOfMassMotion,
            Flag::ShorterThanTau,
            Flag::ShorterThanTenTau,
        ] {
            assert_eq!(serde_json::to_value(flag).unwrap(), flag.name());
        }
    }
}
