//! Trials to change the volume on which the GPU decides, while the host launches the steps that follow.
//!
//! Where lists and cells stay as they are in both boxes, the next steps are launched alike whether a trial is accepted or not. So the block that
//! is the last to be done with the sums in the other box decides, in the arithmetic of the CPU, and leaves the control for the next steps. A
//! kernel behind it multiplies the velocities, or takes the constants of the box back. The host learns the sums by a letter, decides by them,
//! too, and compares.
use crate::engine::EngineError;
use crate::engine::barostat::{PairSums, Proposal, VolumeTrial, is_rejection};
use crate::engine::cuda::buffers::{System, status};
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::declare::{Plain, Pointer};
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::mailbox::{Asked, ControlAndSums};
use crate::engine::cuda::measure::{Factors, VolumeDecision, WordsToCopy};
use crate::engine::cuda::page_locked::PageLocked;
use crate::engine::cuda::single_rank::SingleRank;
use crate::engine::cuda::single_rank::run::SUMS_OF_TRIAL;
use crate::engine::cuda::velocities::pair_sums_of;
use crate::engine::cuda::volumes::coordinates_are_fractions;
use crate::engine::state::velocity_factors;

/// A trial that has been launched.
pub(super) struct Undecided {
    trial: VolumeTrial,
    proposal: Proposal,
    /// In the present box.
    sums: PairSums,
    /// For the sums in the other box.
    asked: Asked,
    /// Constants of the present box.
    before: Vec<u8>,
    /// With the limits of lists in the other box.
    system: System,
}

impl<P: DevicePolicy> CudaEngine<P, SingleRank> {
    /// Launches the trial that follows the present step, of the sums over pairs there. Returns whether there is one that can be left undecided:
    /// then steps are launched next.
    pub(super) fn begin_undecided_trial(&mut self, sums: PairSums) -> Result<bool, EngineError> {
        let Some(trial) = self.volume_trial_after(self.state.step) else { return Ok(false) };
        if !coordinates_are_fractions::<P>() || self.stepper.sampling.is_some() {
            return Ok(false);
        }
        self.note_box_of_lists();
        let proposal = trial.propose(&sums, self.state.simulation_box());
        let stays = |proposal: &Proposal| {
            self.neighbor_list.stay_in(&proposal.to) && self.has_program_for(&proposal.to)
        };
        let Some(proposal) = proposal.filter(stays) else { return Ok(false) };
        let before = self.exchange_box(proposal.to)?;
        let asked = self.sum_pairs_and_decide(trial.decision(&proposal, &sums).into())?;
        self.neighbor_list.keep_in(proposal.to);
        let system = self.system();
        self.settle(&proposal, &before, system)?;
        self.stepper.undecided = Some(Undecided { trial, proposal, sums, asked, before, system });
        Ok(true)
    }

    fn sum_pairs_and_decide(&mut self, decision: VolumeDecision) -> Result<Asked, EngineError> {
        self.lend_thermostat()?;
        let mailbox = self.device.mailbox().expect("the system is alone");
        let (all, accepted) = (mailbox.sums(0), mailbox.accepted());
        let of_trial = all.add(SUMS_OF_TRIAL);
        let kernel = self.device.measure().measure_pairs_and_decide;
        mailbox.ask(|letter| {
            let arguments = (of_trial, letter, decision, self.state.control, all, accepted);
            self.device.launch_over(self.threads_over_pairs(), kernel, arguments)
        })
    }

    /// Launches what follows from the decision.
    fn settle(
        &mut self,
        proposal: &Proposal,
        before: &[u8],
        system: System,
    ) -> Result<(), EngineError> {
        let memory = match self.stepper.before_trial.take() {
            Some(memory) if memory.size() >= before.len() => memory,
            _ => PageLocked::new(self.device.session(), before.len())?,
        };
        // SAFETY: it is as long, and no kernel reads it: a launch that came behind the last one has been waited for.
        unsafe { memory.pointer().copy_from_nonoverlapping(before.as_ptr(), before.len()) };
        let kernels = self.device.kernels();
        let constants_before = WordsToCopy {
            // The GPU sees page-locked memory at the addresses of the host.
            from: Pointer::at(memory.pointer().addr() as u64),
            to: kernels.place_of("box_constants")?,
            count: (before.len() / size_of::<u32>()) as u64,
        };
        self.stepper.before_trial = Some(memory);
        let accepted = self.device.mailbox().expect("the system is alone").accepted().to_const();
        let factors = Factors { x: velocity_factors(&proposal.from, &proposal.to) };
        let arguments = (accepted, factors, system, kernels.place_of("system")?, constants_before);
        self.over_particles(self.device.measure().settle_volume, arguments)
    }

    /// Waits for the decision on a trial, if one has been launched, and follows it.
    pub(super) fn end_undecided_trial(&mut self) -> Result<(), EngineError> {
        let Some(undecided) = self.stepper.undecided.take() else { return Ok(()) };
        let Undecided { trial, proposal, sums: before, asked, before: constants, system } =
            undecided;
        let mailbox = self.device.mailbox().expect("the system is alone");
        let ControlAndSums { control, sums, accepted } = mailbox.receive(asked)?;
        let after = match control.status {
            status::DONE => Some(pair_sums_of(&sums[SUMS_OF_TRIAL..])),
            fault => {
                let error = self.state.range_error(fault, control.culprit);
                if !is_rejection(&error) {
                    return Err(error);
                }
                None
            }
        };
        let taken = after.filter(|after| trial.accepts(&proposal, &before, after));
        if taken.is_some() != (accepted != 0) {
            return Err(EngineError::Cuda {
                what: "decide on a trial of the volume".into(),
                message: format!("step {}: the CPU decides otherwise", self.state.step),
            });
        }
        let kernels = self.device.kernels();
        if taken.is_some() {
            kernels.note("system", system.bytes())?;
        } else {
            kernels.note("box_constants", &constants)?;
            self.return_to_box(proposal.from);
        }
        self.thermostat.count_volume_trial(taken.map(|after| after[0] - before[0]));
        Ok(())
    }
}
