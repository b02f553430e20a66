use std::collections::BTreeMap;
use std::fmt::{self, Display};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Integer, Number, OrPlain, PlainOr, Table, Written};
use crate::potential::LARGEST_EXPONENT;

/// Pair potential, its truncation and its parameters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Potential {
    /// Form of the pair potential, the same for all pairs of species.
    pub kind: Written<PotentialKind>,
    /// Exponent of the repulsion of `mie`, greater than `n`.
    #[schemars(extend("minimum" = 2, "maximum" = LARGEST_EXPONENT))]
    pub m: Option<Written<Integer>>,
    /// Exponent of the attraction of `mie`, or of `inverse-power`.
    #[schemars(extend("minimum" = 1, "maximum" = LARGEST_EXPONENT))]
    pub n: Option<Written<Integer>>,
    /// Inverse screening length of `yukawa`, for all pairs that do not give their own.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub kappa: Option<Written<Number>>,
    /// Distance at which the potential ends, in units of each pair's sigma. Exactly one of `cutoff`
    /// and `cutoff_absolute` is given, here or for every pair; none with `wca` and
    /// `harmonic-spheres`, which bring their own.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub cutoff: Option<Written<Number>>,
    /// Distance at which the potential ends, the same for all pairs.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub cutoff_absolute: Option<Written<Number>>,
    /// How the potential ends at the cutoff: a word, or a table where there is more to say. Must be
    /// given, except with `wca` (`shifted`) and `harmonic-spheres` (`sharp`; it ends at zero by itself).
    pub truncation: Option<Written<PlainOr<TruncationKind, Truncation>>>,
    /// Parameters of every pair of species, under the two names one after the other (`AB`), or with
    /// a hyphen between them (`big-small`). The order of the two does not matter.
    pub pairs: Table<BTreeMap<String, Table<Pair>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PotentialKind {
    /// `4 epsilon [(sigma/r)^12 - (sigma/r)^6]`.
    LennardJones,
    /// `C epsilon [(sigma/r)^m - (sigma/r)^n]`, `C = m/(m-n) (m/n)^(n/(m-n))`.
    Mie,
    /// `epsilon (sigma/r)^n`.
    InversePower,
    /// Lennard-Jones, cut at its minimum `2^(1/6) sigma` and shifted to zero there.
    Wca,
    /// `epsilon/2 (1 - r/sigma)^2` for `r < sigma`.
    HarmonicSpheres,
    /// `epsilon (sigma/r) exp(-kappa (r - sigma))`.
    Yukawa,
    /// `epsilon exp(-(r/sigma)^2)`.
    GaussianCore,
}

impl Display for PotentialKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PotentialKind::LennardJones => "lennard-jones",
            PotentialKind::Mie => "mie",
            PotentialKind::InversePower => "inverse-power",
            PotentialKind::Wca => "wca",
            PotentialKind::HarmonicSpheres => "harmonic-spheres",
            PotentialKind::Yukawa => "yukawa",
            PotentialKind::GaussianCore => "gaussian-core",
        })
    }
}

/// How the potential ends at the cutoff.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Truncation {
    /// How the potential ends at the cutoff `r_c`.
    pub kind: Written<TruncationKind>,
    /// Width `h` of `smooth`, in units of each pair's sigma; the smaller, the nearer to `shifted`. Pairs should take several
    /// steps to cross it (`timestep` times sqrt(2 T / m) each): over a width that they cross in one, energy is conserved less
    /// well than with `shifted`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub width: Option<Written<Number>>,
}

impl OrPlain for Truncation {
    const EXPECTED: &'static str =
        "\"sharp\", \"shifted\", \"force-shifted\" or a table with kind and width";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TruncationKind {
    /// `U(r)`: jumps at the cutoff; energy is not conserved.
    Sharp,
    /// `U(r) - U(r_c)`.
    Shifted,
    /// `U(r) - U(r_c) - (r - r_c) U'(r_c)`.
    ForceShifted,
    /// `[U(r) - U(r_c)] g((r - r_c)/(h sigma))`, `g(x) = x^4/(1 + x^4)`: two continuous derivatives. Where pair forces are
    /// in 32 bits (all but `double`), a function near it whose derivative the force is to the last bit. It differs by up to
    /// `(h sigma/r_c)^2/4` of itself, a width before the cutoff: that is what energies of potentials differ by that end near
    /// their energies, 2e-4 (`wca`) and up to 6e-4 (`harmonic-spheres`) at `h` = 0.05, ten times and four times as much at
    /// 0.1. Others are small there: energies of Lennard-Jones and inverse-power liquids at a cutoff of 2.5 sigma differ by
    /// 1e-6 (0.05) or 1e-5 (0.1), those of `inverse-power` at 1.5 sigma by 1e-5 or 2e-4. `supercool check` gives the largest
    /// difference of every pair.
    Smooth,
}

/// Parameters of a pair of species, here of A and B.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// Energy of the pair. The largest is between 1e-9 and 1e6, in `fixed-point` between 1e-6 and 1e5.
    #[schemars(extend("minimum" = 0))]
    pub epsilon: Written<Number>,
    /// Length of the pair: between 0.01 and 100, but in `double`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub sigma: Written<Number>,
    /// Cutoff of this pair in units of its sigma, in place of the potential's.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub cutoff: Option<Written<Number>>,
    /// Cutoff of this pair as a distance, in place of the potential's.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub cutoff_absolute: Option<Written<Number>>,
    /// Inverse screening length of this pair (`yukawa`), in place of the potential's.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub kappa: Option<Written<Number>>,
}
