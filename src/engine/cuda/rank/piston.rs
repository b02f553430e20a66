//! Steps under a piston of a system on several GPUs, in `fixed-point` (`kernels/md/piston.cuh`).
//!
//! All ranks move the same piston by the sums of all, for which they meet twice in a step: after the drift, when they also agree on lists
//! to be made anew, and after the forces. Domains are the same parts of the box, whatever its edges ([`fit_to_box`](CudaEngine::fit_to_box)),
//! and ghosts are all that the lists need, in each box that these are good for.
use super::multi_rank::MultiRank;
use crate::engine::EngineError;
use crate::engine::cuda::buffers::{Control, SplitSum, status};
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::declare::Pointer;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::mailbox::MOST_SUMS;
use crate::engine::cuda::measure::piston_sums::PISTON_SUMS;
use crate::engine::cuda::piston::{EndOfStep, PistonKernels, Summed, exact};
use crate::engine::precision::ExactSum;

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// At the start of a stage: without a piston lists must be of the present box.
    ///
    /// # Errors
    /// Those that all ranks meet together. So below.
    pub(super) fn enter_piston(&mut self) -> Result<(), EngineError> {
        let has_piston = self.has_piston();
        self.neighbor_list.set_under_barostat(has_piston);
        match !has_piston && self.neighbor_list.forget_box() {
            true => self.make_all_anew(),
            false => Ok(()),
        }
    }

    /// Takes steps under the piston.
    pub(super) fn steps_with_piston(&mut self, steps: u64) -> Result<(), EngineError> {
        self.set_changed_halo()?;
        self.note_box_of_lists();
        // In each step all ranks look at the lists.
        self.stepper.domain.clear_needs_rebuild();
        let mut before = self.begin_under_piston()?;
        for step in 1..=steps {
            before = self.step_under_piston(before, step == steps)?;
        }
        self.set_system()
    }

    fn kernels_of_piston(&self) -> PistonKernels {
        self.stepper.piston.expect("the plan has a piston")
    }

    /// Half a kick, and what a first step begins with.
    fn begin_under_piston(&mut self) -> Result<EndOfStep, EngineError> {
        let kick = self.kernels_of_piston().kick_under_piston;
        let sums = self.sums_of_ranks::<MOST_SUMS>(|engine, sums| {
            let pairs = sums.add(PISTON_SUMS as usize);
            engine.sum_pairs(pairs)?;
            engine.over_particles(kick, (sums,))
        })?;
        Ok(EndOfStep::before_first(&sums))
    }

    /// A step from half a kick on; unless it is the `last` one, with half a kick of the next.
    fn step_under_piston(
        &mut self,
        before: EndOfStep,
        last: bool,
    ) -> Result<EndOfStep, EngineError> {
        let PistonKernels { drift_under_piston, forces_under_piston, .. } =
            self.kernels_of_piston();
        let (of_step, moves) = self.begin_step_under_piston(before)?;
        self.state.step += 1;
        let drift = self.take_grown(&moves)?;
        let sums = self.sums_of_ranks::<{ PISTON_SUMS as usize }>(|engine, sums| {
            engine.over_particles(drift_under_piston, (sums, drift))
        })?;
        let summed = Summed::of(&sums);
        if summed.needs_rebuild {
            let ahead = self.steps_ahead();
            self.migrate(ahead)?;
            self.rebuild_with_ghosts(ahead)?;
            self.note_box_of_lists();
        }
        self.exchange_sites(None)?;
        let kicks = if last { 1 } else { 2 };
        let sums = self.sums_of_ranks::<{ PISTON_SUMS as usize }>(|engine, sums| {
            engine.over_lanes(forces_under_piston, (sums, kicks, 0))
        })?;
        let end = EndOfStep::of(&sums);
        self.end_step_under_piston(&of_step, summed, end);
        Ok(end)
    }

    /// Sums over all ranks that kernels make, which are launched with the address of the first; errors that they have met, too.
    fn sums_of_ranks<const COUNT: usize>(
        &mut self,
        launch: impl FnOnce(&Self, Pointer<SplitSum>) -> Result<(), EngineError>,
    ) -> Result<[ExactSum; COUNT], EngineError> {
        let (sums, control) = self.device.sums_of::<COUNT>(|sums| launch(self, sums))?;
        // The host counts them.
        let rebuilds = self.state.control.rebuilds;
        self.state.control = Control { rebuilds, ..control };
        let here = match control.status {
            status::DONE => Ok(exact(&sums)),
            _ => {
                let step = self.state.step;
                let error = self.error_at(step);
                self.stepper.domain.note_fault(step, error);
                Err(control.culprit)
            }
        };
        match self.stepper.domain.combine(here) {
            Ok(sums) => Ok(sums),
            Err(_) => Err(self.verify_now().expect_err("a rank has noted it")),
        }
    }
}
