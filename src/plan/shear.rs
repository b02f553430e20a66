//! Shear, at a constant rate or back and forth.
use serde::{Deserialize, Serialize};

use super::{DynamicObservable, Plan, StagePlan};
use crate::arithmetic::elementary::sin_cos_2pi;
use crate::system::{SimulationBox, TILT_QUANTUM, round_tilt};

/// The flow `rate y` along x: the tilt of the box grows by `rate dt L_y / L_x` in a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ShearPlan {
    Steady {
        /// Strain per time.
        rate: f64,
    },
    /// The strain is `amplitude sin(2 pi t / period)`, `t` since the start of the stage.
    Oscillatory { amplitude: f64, period: f64 },
}

/// How the tilt grows in an engine, in the steps of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TiltGrowth {
    /// In a quarter of each step, a multiple of [`TILT_QUANTUM`]. That rounds the rate, by `2^-52 / (dt rate)` of itself in a cube.
    pub quarter: f64,
    /// A fourth of the largest tilt of an oscillation.
    pub amplitude: f64,
    /// Steps of an oscillation; 0 of a steady flow.
    pub period: u64,
}

impl TiltGrowth {
    /// A fourth of the tilt that an oscillation adds in the first steps of a stage.
    fn of_oscillation(&self, steps: u64) -> f64 {
        let phase = (steps % self.period) as f64 / self.period as f64;
        round_tilt(self.amplitude * sin_cos_2pi(phase).0)
    }

    /// In a quarter of the step that follows the first ones of a stage.
    pub fn in_quarter(&self, steps: u64) -> f64 {
        match self.period {
            0 => self.quarter,
            _ => self.of_oscillation(steps + 1) - self.of_oscillation(steps),
        }
    }

    /// In the first steps of a stage, in units of [`TILT_QUANTUM`].
    fn units(&self, steps: u64) -> i128 {
        let units = |tilt: f64| (tilt / TILT_QUANTUM) as i128;
        match self.period {
            0 => 4 * units(self.quarter) * i128::from(steps),
            _ => 4 * units(self.of_oscillation(steps)),
        }
    }
}

/// The box in the course of a stage.
#[derive(Clone, Copy, Debug)]
pub struct BoxCourse {
    from: SimulationBox,
    shear: Option<ShearPlan>,
    timestep: f64,
    first_step: u64,
    /// Other boxes have been [given](Self::set).
    given: bool,
    /// By a strain, or there from the start.
    tilts: bool,
}

impl BoxCourse {
    /// Of a stage of a plan as it is there ([`Plan::at_stage`]).
    pub fn new(plan: &Plan, stage: &str) -> Self {
        let number = plan.stages.iter().position(|of| of.name == stage);
        let from = plan.system.simulation_box;
        let strain = number.and_then(|number| plan.stages[number].strain.as_ref());
        BoxCourse {
            from,
            tilts: strain.map_or(from.is_tilted(), |strain| strain.may_tilt(&from)),
            shear: number.and_then(|number| plan.stages[number].shear),
            timestep: plan.run.timestep,
            first_step: number.map_or(0, |number| plan.first_step(number)),
            given: false,
        }
    }

    /// It is this one from now on.
    pub fn set(&mut self, simulation_box: &SimulationBox) {
        (self.from, self.given) = (*simulation_box, true);
    }

    /// Whether it is not the same all the time.
    pub fn changes(&self) -> bool {
        self.shear.is_some() || self.given
    }

    /// After a step of the run.
    pub fn at(&self, step: u64) -> SimulationBox {
        let steps = step.saturating_sub(self.first_step);
        self.shear.map_or(self.from, |shear| shear.box_after(&self.from, self.timestep, steps))
    }

    /// Whether it has a tilt at some time.
    pub fn may_tilt(&self) -> bool {
        self.shear.is_some() || self.tilts
    }
}

impl Plan {
    /// Numbers of the stages in which the box may have a tilt: flows, strains, and those that begin with one.
    pub fn tilted_stages(&self) -> Vec<usize> {
        let mut simulation_box = self.system.simulation_box;
        let mut tilted = Vec::new();
        for (number, stage) in self.stages.iter().enumerate() {
            let tilts = stage.strain.as_ref().is_some_and(|of| of.may_tilt(&simulation_box));
            if stage.shear.is_some() || tilts || simulation_box.is_tilted() {
                tilted.push(number);
            }
            simulation_box = self.box_after_stage(number, &simulation_box);
        }
        tilted
    }
}

/// What a stage does or samples that a box with a tilt, or a flow, does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotInTiltedBox {
    pub what: String,
    /// What would be right.
    pub help: &'static str,
    /// In a flow only.
    pub in_flow: bool,
}

impl StagePlan {
    /// What the stage has that its box does not allow, if that has a tilt.
    pub fn not_in_tilted_box(&self) -> Option<NotInTiltedBox> {
        let observe = &self.observe;
        [
            (self.rescale.is_some(), "a change of the edges"),
            (self.barostat.is_some(), "constant pressure"),
            (self.propensity.is_some(), "a propensity"),
            (observe.configurational_temperature.is_some(), "the configurational temperature"),
        ]
        .into_iter()
        .find(|(has, _)| *has)
        .map(|(_, what)| NotInTiltedBox {
            what: what.to_owned(),
            help: "make it a stage before the tilt",
            in_flow: false,
        })
        .or_else(|| self.not_in_flow())
    }

    /// Functions of a liquid at rest.
    fn not_in_flow(&self) -> Option<NotInTiltedBox> {
        self.shear?;
        let mut observables = self.correlations.iter().flat_map(|of| &of.observables);
        let refused = |&observable: &DynamicObservable| {
            let help = help_in_flow(observable)?;
            Some(NotInTiltedBox { what: observable.word(), help, in_flow: true })
        };
        observables.find_map(refused)
    }
}

/// What to take in a flow in the place of a function that is of a liquid at rest.
fn help_in_flow(observable: DynamicObservable) -> Option<&'static str> {
    match observable {
        DynamicObservable::ShearViscosity => Some(
            "the viscosity of a flow is the mean of s_xy over the rate: observe thermodynamics, of which supercool info gives it",
        ),
        DynamicObservable::StressAutocorrelation => Some(
            "the mean stress of a flow is not zero, and its components differ: observe thermodynamics, which has the stress tensor",
        ),
        DynamicObservable::CollectiveOverlap
        | DynamicObservable::CollectiveOverlapSusceptibility
        | DynamicObservable::DistinctVanHoveFunction => Some(
            "a place in a flow is another one later, so that distances between particles at two times are no isotropic \
             function: observe self-overlap, bond-breaking, or coherent functions across the flow",
        ),
        _ => None,
    }
}

impl ShearPlan {
    pub fn growth(&self, simulation_box: &SimulationBox, timestep: f64) -> TiltGrowth {
        let [x, y, _] = simulation_box.padded_edges();
        match *self {
            ShearPlan::Steady { rate } => TiltGrowth {
                quarter: round_tilt(0.25 * rate * timestep * (y / x)),
                ..TiltGrowth::default()
            },
            ShearPlan::Oscillatory { amplitude, period } => TiltGrowth {
                amplitude: 0.25 * amplitude * (y / x),
                period: ((period / timestep).round() as u64).max(1),
                ..TiltGrowth::default()
            },
        }
    }

    /// The box some steps after it was another one at the start of the stage: what an engine has after them, to the bit.
    pub fn box_after(&self, from: &SimulationBox, timestep: f64, steps: u64) -> SimulationBox {
        if steps == 0 {
            return *from;
        }
        let growth = self.growth(from, timestep);
        let one = (1.0 / TILT_QUANTUM) as i128;
        let total = (from.tilt() / TILT_QUANTUM) as i128 + growth.units(steps);
        // An engine flips the box beyond 1/2, not at it.
        let mut tilt = total.rem_euclid(one);
        let falls = growth.in_quarter(steps - 1) < 0.0;
        if 2 * tilt > one || (2 * tilt == one && falls) {
            tilt -= one;
        }
        from.with_tilt(tilt as f64 * TILT_QUANTUM)
    }

    /// Strain since the start of a stage, after some steps of it.
    pub fn strain_after(&self, simulation_box: &SimulationBox, timestep: f64, steps: u64) -> f64 {
        let [x, y, _] = simulation_box.padded_edges();
        let growth = self.growth(simulation_box, timestep);
        growth.units(steps) as f64 * TILT_QUANTUM * (x / y)
    }

    /// Of a steady flow.
    pub fn rate(&self) -> Option<f64> {
        match *self {
            ShearPlan::Steady { rate } => Some(rate),
            ShearPlan::Oscillatory { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Growths of single steps, flipped as engines do it.
    fn step_by_step(shear: &ShearPlan, from: &SimulationBox, steps: u64) -> SimulationBox {
        let growth = shear.growth(from, 0.01);
        let mut tilt = from.tilt();
        for step in 0..steps {
            tilt += 4.0 * growth.in_quarter(step);
            if tilt.abs() > 0.5 {
                tilt -= tilt.signum();
            }
        }
        from.with_tilt(tilt)
    }

    #[test]
    fn the_box_of_a_flow_is_that_of_its_steps_one_by_one() {
        let from = SimulationBox::new(&[7.0, 9.0, 8.0]).with_tilt(0.21);
        for shear in [
            ShearPlan::Steady { rate: -0.7 },
            ShearPlan::Oscillatory { amplitude: 1.7, period: 2.5 },
            ShearPlan::Oscillatory { amplitude: -0.1, period: 1.23 },
        ] {
            for steps in [0, 1, 62, 125, 250, 1111] {
                let expected = step_by_step(&shear, &from, steps);
                assert_eq!(shear.box_after(&from, 0.01, steps), expected, "{shear:?} {steps}");
            }
        }
    }

    #[test]
    fn an_oscillation_comes_back_and_its_strain_is_a_sine() {
        let from = SimulationBox::new(&[7.0, 9.0, 8.0]);
        let shear = ShearPlan::Oscillatory { amplitude: 0.3, period: 2.0 };
        assert_eq!(shear.box_after(&from, 0.01, 400), from);
        for steps in [0, 50, 100, 137, 150, 275] {
            let strain = shear.strain_after(&from, 0.01, steps);
            let expected = 0.3 * (std::f64::consts::PI * 0.01 * steps as f64).sin();
            assert!((strain - expected).abs() < 1e-14, "{steps}: {strain}");
        }
    }
}
