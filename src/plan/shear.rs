//! Shear at a constant rate.
use serde::{Deserialize, Serialize};

use super::{Plan, StagePlan};
use crate::system::{SimulationBox, TILT_QUANTUM, round_tilt};

/// The flow `rate y` along x: the tilt of the box grows by `rate dt L_y / L_x` in a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShearPlan {
    /// Strain per time.
    pub rate: f64,
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

impl StagePlan {
    /// What the stage does or samples that is made for boxes without a tilt only.
    pub fn needs_straight_box(&self) -> Option<&'static str> {
        let observe = &self.observe;
        [
            (self.rescale.is_some(), "a change of the density"),
            (self.barostat.is_some(), "constant pressure"),
            (!self.correlations.is_empty(), "what is correlated"),
            (self.propensity.is_some(), "a propensity"),
            (observe.structure.is_some(), "the structure"),
            (observe.bond_order.is_some(), "bond-orientational order"),
            (observe.configurational_temperature.is_some(), "the configurational temperature"),
            (observe.local_order.is_some(), "local order"),
        ]
        .into_iter()
        .find_map(|(is_sampled, what)| is_sampled.then_some(what))
    }
}

impl ShearPlan {
    /// Growth of the tilt in a quarter of a step, a multiple of [`TILT_QUANTUM`]: that rounds the rate, by `2^-52 / (dt rate)` of
    /// itself in a cube.
    pub fn quarter(&self, simulation_box: &SimulationBox, timestep: f64) -> f64 {
        let [x, y, _] = simulation_box.padded_edges();
        round_tilt(0.25 * self.rate * timestep * (y / x))
    }

    /// The box some steps after it was another one: what an engine has after them, to the bit.
    pub fn box_after(&self, from: &SimulationBox, timestep: f64, steps: u64) -> SimulationBox {
        if steps == 0 {
            return *from;
        }
        let units = |tilt: f64| (tilt / TILT_QUANTUM) as i128;
        let (one, growth) = (units(1.0), 4 * units(self.quarter(from, timestep)));
        let total = units(from.tilt()) + growth * i128::from(steps);
        // An engine flips the box beyond 1/2, not at it.
        let mut tilt = total.rem_euclid(one);
        if 2 * tilt > one || (2 * tilt == one && growth < 0) {
            tilt -= one;
        }
        from.with_tilt(tilt as f64 * TILT_QUANTUM)
    }

    /// Strain since the start of a stage, after some steps of it.
    pub fn strain_after(&self, simulation_box: &SimulationBox, timestep: f64, steps: u64) -> f64 {
        let [x, y, _] = simulation_box.padded_edges();
        4.0 * self.quarter(simulation_box, timestep) * (x / y) * steps as f64
    }
}
