use schemars::JsonSchema;
use serde::Deserialize;

use super::{Integer, Number, NumberOrList, Written};
use crate::config::defaults;

/// Athermal quasi-static strain: the box is strained in steps, and after each the particles are brought to the minimum of the potential
/// energy. The stage begins with the minimum below the state of the one before. It has no `steps`: those of strain count as its steps, of
/// which `observe.trajectory` is an interval, and each counts as a timestep in the times of frames.
///
/// Curves go to `/strain` of `STAGE.h5`: potential energy, stress tensor and pressure (without kinetic part), the stress of the strain,
/// residual force, iterations and largest non-affine displacement at each point, and the plastic events.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Strain {
    /// How the box changes.
    pub mode: Written<StrainMode>,
    /// With `mode = "compression"`: the only edge that changes. All edges change alike if not given.
    pub axis: Option<Written<StrainAxis>>,
    /// Strain of a step, at most 0.01.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 0.01))]
    pub step: Written<Number>,
    /// Strain at the end of the stage, or a list of strains at which it turns: `[0.1, -0.1, 0.0]` is a cycle. Whole multiples of the
    /// step, from -2 to 2; the stage begins at 0.
    pub to: Written<NumberOrList>,
    /// The step is halved at plastic events until they lie between strains that are no further apart than this. They are not timed
    /// beyond the step if not given.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub halve_to: Option<Written<Number>>,
    /// A step is a plastic event if the energy per particle comes out lower than the elastic `V s de / N` by more than this, `s` being the
    /// stress of the strain `e` before the step. Ten times the square of the step if not given: elastic terms of second order are
    /// smaller where moduli over the density are below 20.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub event_threshold: Option<Written<Number>>,
    /// A descent ends when the force on every particle is smaller.
    #[schemars(extend("exclusiveMinimum" = 0, "default" = defaults::FORCE_TOLERANCE))]
    pub force_tolerance: Option<Written<Number>>,
    /// It ends, with a warning, after this number of iterations in any case.
    #[schemars(extend("minimum" = 1, "default" = defaults::MAXIMUM_ITERATIONS))]
    pub maximum_iterations: Option<Written<Integer>>,
    /// First time step of a descent, which grows up to ten times; half of the run's timestep if not given.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub timestep: Option<Written<Number>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StrainMode {
    /// At constant volume: `L_x exp(e)` and `L_y exp(-e)` at strain `e` (logarithmic); its stress is `s_xx - s_yy`, four times the shear
    /// modulus of an isotropic solid times `e`.
    PureShear,
    /// The box is tilted, `x = x(0) + e y`, and flipped where the tilt is beyond half of its edge; its stress is `s_xy`. It adds to a tilt
    /// that the box has.
    SimpleShear,
    /// The volume is `V exp(-e)`, the density `rho exp(e)`; its stress is the pressure, with `axis` `-s_aa`.
    Compression,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StrainAxis {
    X,
    Y,
    Z,
}
