//! Tilted boxes and shear on this processor: the SLLOD equations, with the box sheared as the flow goes.
//!
//! `r' = v + rate y e_x`, `v' = F/m - rate v_y e_x`, where `v` is the velocity beside the flow (Evans & Morriss, Statistical
//! Mechanics of Nonequilibrium Liquids, 6.3). Coordinates are skewed as the box is ([`Policy`]), so that the flow leaves them as
//! they are: a step moves the tilt of the box by one number, and particles by their own velocities alone. The operators of
//! a step are those of Pan, Ely, McCabe & Isbister, J. Chem. Phys. 122, 094114 (2005), without their thermostat: kicks by
//! forces, and between them a drift with half of the shear's coupling on either side of it.
//!
//! In fixed point a step is exact and runs back to the bit where velocities are turned round and the rate is: products
//! are rounded oddly. Without a thermostat, whose rounding is as large, all particles share what rounding leaves of the total
//! momentum along x, where masses are equal.
use rayon::prelude::*;

use super::bodies::Parts;
use super::chunk::Chunk;
use super::engine::CpuEngine;
use super::stepper::Stepper;
use super::tilted::TiltedDrift;
use crate::engine::precision::Policy;
use crate::engine::residue::Residue;
use crate::engine::tilt::check_tilt;
use crate::engine::{EngineError, StageContext};
use crate::plan::{ShearPlan, TiltGrowth};

/// What an engine knows of the flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flow {
    /// `None`: at rest.
    growth: Option<TiltGrowth>,
}

impl Flow {
    pub fn is_at_rest(&self) -> bool {
        self.growth.is_none()
    }

    /// Growth of the tilt in a quarter of the step that follows the first ones of a stage.
    fn quarter(&self, steps: u64) -> f64 {
        self.growth.map_or(0.0, |growth| growth.in_quarter(steps))
    }
}

impl<P: Policy> CpuEngine<P> {
    /// Takes the flow of a stage.
    ///
    /// # Errors
    /// If the box is too narrow for it.
    pub(super) fn enter_flow(&mut self, stage: &StageContext) -> Result<(), EngineError> {
        self.take_flow(stage)?;
        let particles = self.particle_count();
        if !self.flow.is_at_rest()
            && self.neighbor_lists.widen(self.state.simulation_box(), particles)
        {
            self.parallel(|engine| engine.rebuild());
        }
        Ok(())
    }
}

impl<P: Policy, S: Stepper> CpuEngine<P, S> {
    /// Takes the flow of a stage, for which lists and domains have room.
    ///
    /// # Errors
    /// If the box is too narrow for it.
    pub(super) fn take_flow(&mut self, stage: &StageContext) -> Result<(), EngineError> {
        let timestep = self.plan.run.timestep;
        let growth = |shear: ShearPlan| shear.growth(self.state.simulation_box(), timestep);
        self.flow = Flow { growth: stage.shear.map(growth) };
        self.check_tilt()
    }

    /// Whether the drift of the coming step ends with a flip of the box.
    pub(super) fn flips_in_next_step(&self) -> bool {
        let steps = self.state.step - self.stage.first_step;
        (self.state.policy().slope().tilt + 4.0 * self.flow.quarter(steps)).abs() > 0.5
    }

    /// Gives the box a tilt of up to 1/2, in which skewed coordinates stay as they are.
    pub(super) fn set_tilt(&mut self, tilt: f64) {
        self.state.set_tilt(tilt);
        self.plan.system.simulation_box = *self.state.simulation_box();
    }

    /// Whether drifts are those of a tilted box, or lists are.
    pub(super) fn is_tilted(&self) -> bool {
        !self.flow.is_at_rest()
            || self.state.policy().slope().tilt != 0.0
            || self.neighbor_lists.tilt() != 0.0
    }

    /// # Errors
    /// If the box is too narrow for its tilts.
    pub(super) fn check_tilt(&self) -> Result<(), EngineError> {
        let reach = self.plan.reach(self.neighbor_lists.skin());
        check_tilt(self.state.simulation_box(), !self.flow.is_at_rest(), reach)
    }

    /// Moves all particles in a tilted box, by half of their way if it is one of two halves; returns whether the lists must be
    /// rebuilt, and whether a velocity has run away.
    pub(super) fn drift_in_tilted_box(
        &mut self,
        Parts { kick, second_half: is_half }: Parts,
    ) -> (bool, bool) {
        let set = self.processor.instruction_set();
        if kick {
            self.state.kick(set);
        }
        // The step has been counted.
        let quarter =
            self.flow.quarter((self.state.step - 1).saturating_sub(self.stage.first_step));
        let growth = if is_half { quarter } else { 2.0 * quarter };
        let tilt = self.state.policy().slope().tilt + growth;
        let drift = TiltedDrift {
            dimension: self.state.dimension(),
            half: is_half,
            tilt,
            growth,
            residue: if growth == 0.0 { Residue::default() } else { self.residue(growth) },
        };
        if growth != 0.0 {
            self.state.set_tilt(tilt + growth);
        }
        let limit2 = self.neighbor_lists.limit2_in_flow(self.state.policy().slope());
        self.state.drift_in_tilted_box(set, &drift, limit2)
    }

    /// Flips the box where its tilt is beyond 1/2, at the end of a drift; returns whether it did, and lists must be rebuilt.
    pub(super) fn flip_where_due(&mut self) -> bool {
        let tilt = self.state.policy().slope().tilt;
        let flips = tilt.abs() > 0.5;
        if flips {
            self.state.flip(if tilt > 0.0 { 1 } else { -1 });
        }
        self.plan.system.simulation_box = *self.state.simulation_box();
        flips
    }

    /// What rounding would leave of the momentum along x when all velocities along it lose `growth` of those along y, in units
    /// of the last digit; nothing where velocities are no integers, masses differ, or a thermostat acts.
    fn residue(&self, growth: f64) -> Residue {
        let has_units = P::exact_sum(std::iter::empty()).is_some();
        if !has_units || !self.stage.keeps_momentum_in_flow(self.state.species()) {
            return Residue::default();
        }
        let policy = self.state.policy();
        let lost = |&vy: &P::Velocity| policy.skewed_velocity(P::Velocity::default(), vy, growth);
        let sums = |chunk: &Chunk<P>| {
            let lost = P::exact_sum(chunk.velocity[1].iter().map(lost))?;
            Some((lost, P::exact_sum(chunk.velocity[1].iter().copied())?))
        };
        let all = self.state.chunks.par_iter().map(sums);
        let all = all.reduce(|| Some((0, 0)), |a, b| Some((a?.0 + b?.0, a?.1 + b?.1)));
        let Some((lost, momentum)) = all else { return Residue::default() };
        let [lost, momentum] = self.stepper.combine_units([lost, momentum]);
        Residue::of_losses(lost, momentum, growth, self.particle_count())
    }
}
