//! Shear of a domain among others (`kernels/domain/flow.cuh`). The host knows the tilt after each drift, and when the box is flipped:
//! lists are rebuilt in that step, as particles change domains.
use super::kernels::FlowOfStep;
use super::multi_rank::MultiRank;
use crate::engine::EngineError;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::precision::ExactSum;
use crate::engine::residue::Residue;

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// The flow from the present step on, without a residue.
    pub(super) fn flow_of_launch(&self) -> FlowOfStep {
        FlowOfStep { flow: self.flow_from(self.state.step), ..FlowOfStep::default() }
    }

    /// That of the drift to the present step, which has been counted.
    pub(super) fn flow_of_drift(&self) -> FlowOfStep {
        FlowOfStep {
            flow: self.flow_from(self.state.step.saturating_sub(1)),
            ..FlowOfStep::default()
        }
    }

    /// The same with the residue, after the first kick of the step. Collective.
    pub(super) fn flow_of_drift_with_residue(&self) -> Result<FlowOfStep, EngineError> {
        let growth = 0.5 * self.growth_in(self.state.step - 1);
        let kernel = self.stepper.kernels.sum_losses;
        let sums = self.sums_of(|sums| self.over_particles(kernel, (sums, growth)))?;
        let [lost, momentum] = sums.map(ExactSum::to_units);
        let count = self.particle_count();
        let Residue { sign, share, rest } = Residue::of_losses(lost, momentum, growth, count);
        Ok(FlowOfStep { sign, share, rest, ..self.flow_of_drift() })
    }

    /// Growth of the tilt in the step that follows one of the run.
    fn growth_in(&self, step: u64) -> f64 {
        4.0 * self.tilt_growth().in_quarter(step.saturating_sub(self.stage.first_step))
    }

    /// Whether the box is flipped in the coming step.
    pub(super) fn flips_in_next_step(&self) -> bool {
        self.steps_to_flip(1) == 0
    }

    /// Steps up to the one in which the box is flipped, or to `most`.
    pub(super) fn steps_to_flip(&self, most: u64) -> u64 {
        let (step, mut tilt) = (self.state.step, self.state.simulation_box().tilt());
        let flips = |steps: &u64| {
            tilt += self.growth_in(step + steps);
            tilt.abs() > 0.5
        };
        if self.stage.shear.is_some() { (0..most).find(flips).unwrap_or(most) } else { most }
    }

    /// The box after the drifts to the present step on the GPU, the last of which may have flipped it.
    pub(super) fn take_drifts(&mut self, drifts: u64) {
        if self.stage.shear.is_none() {
            return;
        }
        let steps = self.state.step - drifts..self.state.step;
        let growth: f64 = steps.map(|step| self.growth_in(step)).sum();
        let tilt = self.state.simulation_box().tilt() + growth;
        let turns = i8::from(tilt > 0.5) - i8::from(tilt < -0.5);
        self.state.take_tilt(tilt - f64::from(turns));
    }

    /// The same after one that the host has led: other kernels are to know it.
    pub(super) fn end_drift_in_flow(&mut self) -> Result<(), EngineError> {
        if self.stage.shear.is_none() {
            return Ok(());
        }
        self.take_drifts(1);
        let tilt = self.state.simulation_box().tilt();
        self.over(1, self.stepper.kernels.set_tilt, (tilt,))
    }

    /// Share of what the lists allow that is used up when the furthest particle has moved this far (squared), the rest of it by
    /// the flow since they were made.
    pub(super) fn share_used(&self, moved2: f64) -> f64 {
        let (system, simulation_box) = (self.system(), self.state.simulation_box());
        let growth = simulation_box.tilt() - self.state.control.lists_made_at;
        let by_flow = 0.5 * (growth * system.aspect).abs() * system.limit_of_reach;
        (moved2.sqrt() + by_flow.min(system.limit)) / system.limit
    }
}
