//! Shear on a GPU (`kernels/md/flow.cuh`): what a launch must know of the flow of a stage.
use super::advance::{LaunchFlow, LaunchSamples};
use super::constants::DevicePolicy;
use super::engine::CudaEngine;
use super::neighbor_lists::ListShape;
use super::single_rank::SingleRank;
use crate::engine::EngineError;
use crate::engine::tilt::{check_tilt, largest_reach};
use crate::plan::{ShearPlan, TiltGrowth};

impl<P: DevicePolicy, S> CudaEngine<P, S> {
    /// How the tilt grows in the steps of the stage.
    pub(super) fn tilt_growth(&self) -> TiltGrowth {
        let growth =
            |shear: ShearPlan| shear.growth(self.state.simulation_box(), self.plan.run.timestep);
        self.stage.shear.map(growth).unwrap_or_default()
    }

    /// For a launch that begins with the drift from a step on.
    pub(super) fn flow_from(&self, step: u64) -> LaunchFlow {
        let TiltGrowth { quarter, amplitude, period } = self.tilt_growth();
        let steps = step.saturating_sub(self.stage.first_step);
        let flows = self.stage.shear.is_some().into();
        LaunchFlow { flows, unused: 0, quarter, amplitude, period, phase: steps % period.max(1) }
    }

    /// Whether particles share what rounding leaves of the momentum in a drift.
    pub(super) fn shares_residue(&self) -> bool {
        P::exact_sum(std::iter::empty()).is_some()
            && self.stage.keeps_momentum_in_flow(self.state.species())
    }

    /// Whether kernels and lists are those of boxes with a tilt.
    pub(super) fn is_for_tilts(&self) -> bool {
        self.neighbor_list.shape().for_tilts
    }

    fn has_tilts(&self) -> bool {
        self.stage.shear.is_some() || self.state.simulation_box().is_tilted()
    }

    /// # Errors
    /// If the box is too narrow for its tilts.
    ///
    /// # Panics
    /// If the kernels are those of boxes without a tilt.
    pub(super) fn check_tilt(&self) -> Result<(), EngineError> {
        assert!(self.is_for_tilts() || !self.has_tilts(), "the plan of many systems has the shear");
        let reach = self.plan.reach(self.neighbor_list.shape().skin);
        check_tilt(self.state.simulation_box(), self.stage.shear.is_some(), reach)
    }
}

impl<P: DevicePolicy> CudaEngine<P, SingleRank> {
    /// Takes kernels and lists for the tilts of a stage that has begun. Those of boxes without any are faster.
    ///
    /// # Errors
    /// If the box is too narrow, or the kernels cannot be compiled.
    pub(super) fn enter_flow(&mut self) -> Result<(), EngineError> {
        let for_tilts = self.has_tilts();
        let shape = self.neighbor_list.shape();
        let room =
            largest_reach(self.state.simulation_box()) - self.plan.potential.largest_cutoff();
        if for_tilts && self.plan.run.skin.is_none() && room > 0.0 && shape.skin > room {
            // Lists of the present box reach too far for one with tilts.
            self.neighbor_list.set_shape(ListShape { skin: room, ..shape })?;
            self.set_system()?;
            self.run(0, true, false, LaunchSamples::NONE)?;
        }
        if for_tilts != self.is_for_tilts() {
            let state = self.read_state()?;
            self.replace(&state, state.memory.as_ref(), for_tilts)?;
        }
        self.check_tilt()
    }
}
