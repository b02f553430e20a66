//! Steps under a piston on a GPU, in `fixed-point` (`kernels/md/piston.cuh`).
//!
//! The host leads them ([`PistonStep`]). In a step two kernels are launched, the drift in a box that has grown and forces with the virial, and the
//! host waits once, for all sums. The second half a kick of a step and the first one of the next are taken by the same kernel.
//! Lists serve in the boxes of steps as in those of trials; where they do not, the second kernel leaves all as it is, lists are made
//! anew, and it is launched again.
use super::advance::LaunchSamples;
use super::buffers::{SplitSum, status};
use super::constants::DevicePolicy;
use super::declare::Pointer;
use super::engine::CudaEngine;
use super::launch::kernels;
use super::mailbox::{ControlAndSums, MOST_SUMS, Mailbox};
use super::measure::PistonDrift;
use super::measure::piston_sums::*;
use super::single_rank::SingleRank;
use crate::engine::EngineError;
use crate::engine::piston::{Moves, PistonStep};
use crate::engine::precision::ExactSum;
use crate::plan::Coupling;

kernels! {
    /// The kernels of a system alone.
    pub struct PistonKernels {
        kick_under_piston(Pointer<SplitSum>);
        drift_under_piston(Pointer<SplitSum>, PistonDrift);
        forces_under_piston(Pointer<SplitSum>, u32, u32);
    }
}

/// Macros of programs whose boxes these pistons move.
pub fn macros(pistons: Option<Coupling>) -> Vec<(&'static str, String)> {
    if pistons.is_none() {
        return Vec::new();
    }
    // Of boxes of any size, and of any shape where edges move by themselves.
    let mut macros = vec![("PISTON", "1".to_owned()), ("SATURATING", "0".to_owned())];
    if pistons == Some(Coupling::Anisotropic) {
        macros.push(("CUBIC", "0".to_owned()));
    }
    macros
}

/// What the sums of a step amount to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summed {
    kinetic2: [f64; 3],
    pub needs_rebuild: bool,
}

/// What the sums at the end of a step amount to, along each axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndOfStep {
    pub virial: [f64; 3],
    /// After half a kick of the next step, if it was taken.
    pub next_kinetic2: [f64; 3],
}

/// Sums of a step under a piston, over a whole system.
pub(super) type Sums = [ExactSum];

/// Those that a GPU has made.
pub(super) fn exact<const COUNT: usize>(sums: &[SplitSum; COUNT]) -> [ExactSum; COUNT] {
    std::array::from_fn(|k| ExactSum::from_units(sums[k].units()))
}

/// Values of three sums from one on.
fn along(sums: &Sums, first: u32) -> [f64; 3] {
    std::array::from_fn(|axis| sums[first as usize + axis].value())
}

impl Summed {
    pub fn of(sums: &Sums) -> Self {
        Summed {
            kinetic2: along(sums, PISTON_KINETIC),
            needs_rebuild: sums[PISTON_REBUILDS as usize].to_units() != 0,
        }
    }
}

impl EndOfStep {
    pub fn of(sums: &Sums) -> Self {
        let virial = along(sums, PISTON_VIRIAL).map(|of_both| 0.5 * of_both);
        EndOfStep { virial, next_kinetic2: along(sums, PISTON_NEXT_KINETIC) }
    }

    /// Before a first step, of sums of `measure_pairs` behind the others: energy and virial.
    pub fn before_first(sums: &Sums) -> Self {
        let virial = along(sums, PISTON_SUMS + 1).map(|of_both| 0.5 * of_both);
        EndOfStep { virial, next_kinetic2: along(sums, PISTON_NEXT_KINETIC) }
    }
}

impl<P: DevicePolicy> CudaEngine<P, SingleRank> {
    /// Takes steps under the piston; `rebuild`: lists and forces are to be made anew before.
    pub(super) fn run_with_piston(&mut self, steps: u64, rebuild: bool) -> Result<(), EngineError> {
        if rebuild {
            self.run(0, true, false, LaunchSamples::NONE)?;
        }
        self.note_box_of_lists();
        self.stepper.pair_sums = None;
        let mut before = self.begin_under_piston()?;
        for step in 1..=steps {
            before = self.step_under_piston(before, step == steps)?;
        }
        self.set_system()
    }

    fn mailbox(&self) -> &Mailbox {
        self.device.mailbox().expect("the system is alone")
    }

    fn piston_kernels_of_run(&self) -> PistonKernels {
        self.stepper.piston.expect("the plan has a piston")
    }

    /// Half a kick, and what a first step begins with.
    fn begin_under_piston(&mut self) -> Result<EndOfStep, EngineError> {
        self.lend_thermostat()?;
        self.mailbox().send(&self.state.control)?;
        let (sums, pairs) = (self.mailbox().sums(0), self.mailbox().sums(PISTON_SUMS as usize));
        self.sum_pairs(pairs)?;
        self.over_particles(self.piston_kernels_of_run().kick_under_piston, (sums,))?;
        Ok(EndOfStep::before_first(&self.received()?))
    }

    /// A step from half a kick on; unless it is the `last` one, with half a kick of the next.
    fn step_under_piston(
        &mut self,
        before: EndOfStep,
        last: bool,
    ) -> Result<EndOfStep, EngineError> {
        let (of_step, moves) = self.begin_step_under_piston(before)?;
        let drift = self.take_grown(&moves)?;
        let kernels = self.piston_kernels_of_run();
        let sums = self.mailbox().sums(0);
        self.mailbox().clear_sums(PISTON_SUMS as usize)?;
        self.over_particles(kernels.drift_under_piston, (sums, drift))?;
        let kicks = if last { 1 } else { 2 };
        self.over_lanes(kernels.forces_under_piston, (sums, kicks, 0))?;
        let mut received = self.received()?;
        let summed = Summed::of(&received);
        if summed.needs_rebuild {
            self.rebuild_under_piston()?;
            self.over_lanes(kernels.forces_under_piston, (sums, kicks, 0))?;
            received = self.received()?;
        }
        let end = EndOfStep::of(&received);
        self.end_step_under_piston(&of_step, summed, end);
        self.state.step += 1;
        Ok(end)
    }

    /// Lists, and cells if these have become too narrow or far too wide, in the box of a step.
    fn rebuild_under_piston(&mut self) -> Result<(), EngineError> {
        self.prepare_rebuild_under_piston()?;
        self.run(0, true, false, LaunchSamples::NONE)?;
        self.note_box_of_lists();
        Ok(())
    }

    pub(super) fn prepare_rebuild_under_piston(&mut self) -> Result<(), EngineError> {
        let simulation_box = *self.state.simulation_box();
        self.neighbor_list.set_box_of_trial(simulation_box, false)?;
        self.set_system()
    }

    /// Waits; the sums that the kernels have left.
    fn received(&mut self) -> Result<[ExactSum; MOST_SUMS], EngineError> {
        let ControlAndSums { control, sums, .. } = self.device.receive()?;
        self.state.control = control;
        match control.status {
            status::DONE => Ok(exact(&sums)),
            _ => Err(self.error()),
        }
    }
}

impl<P: DevicePolicy, S> CudaEngine<P, S> {
    /// Whether a piston moves the box in the stage.
    pub(super) fn has_piston(&self) -> bool {
        self.stage.has_piston()
    }

    /// What the piston does up to the drift of a step, which is counted later.
    ///
    /// # Errors
    /// As [`PistonStep::begin`].
    pub(super) fn begin_step_under_piston(
        &mut self,
        before: EndOfStep,
    ) -> Result<(PistonStep, Moves), EngineError> {
        let (dimension, particles) = (self.state.dimension(), self.particle_count());
        let (step, timestep) = (self.state.step + 1, self.state.timestep());
        let of_step = PistonStep::of(&self.stage, step, dimension, particles, timestep);
        let of_step = of_step.expect("the stage has a piston");
        let EndOfStep { virial, next_kinetic2 } = before;
        let simulation_box = self.state.simulation_box();
        let moves = of_step.begin(&mut self.thermostat, virial, next_kinetic2, simulation_box)?;
        Ok((of_step, moves))
    }

    /// Takes the box after a drift, with all numbers of the particles as they are, and its constants.
    pub(super) fn take_grown(&mut self, moves: &Moves) -> Result<PistonDrift, EngineError> {
        let simulation_box = moves.grown(self.state.simulation_box());
        self.state.set_box(simulation_box);
        self.plan.system.simulation_box = simulation_box;
        self.neighbor_list.keep_in(simulation_box);
        self.device.take_constants_nearby(self.state.policy(), &self.force_field)?;
        let limit2 = self.neighbor_list.limit2();
        Ok(PistonDrift { before: moves.before, after: moves.after, limit2 })
    }

    /// What the piston does after the drift of a step.
    pub(super) fn end_step_under_piston(
        &mut self,
        of_step: &PistonStep,
        summed: Summed,
        end: EndOfStep,
    ) {
        of_step.end(&mut self.thermostat, summed.kinetic2);
        of_step.kick(&mut self.thermostat, end.virial, self.state.simulation_box());
    }
}
