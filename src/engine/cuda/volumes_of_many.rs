//! Trials to change the volumes of many systems on a GPU, all at the same steps: what is summed over pairs, before and in the boxes of the
//! trials, is summed for all of them in one launch.
use super::advance::LaunchSamples;
use super::buffers::status;
use super::constants::DevicePolicy;
use super::engine::CudaEngine;
use super::many_systems::Group;
use super::single_rank::SingleRank;
use super::velocities::pair_sums_of;
use super::volumes::{Before, Remade, Trying, scaled_in_trials};
use crate::engine::EngineError;
use crate::engine::barostat::{PairSums, Proposal, VolumeTrial, Volumes, is_rejection};

impl<P: DevicePolicy> Group<P> {
    /// Takes the trials that follow the present step, if they are due. `rebuild`: of which systems lists are to be made anew, before and
    /// after.
    pub(super) fn take_volume_trials(&mut self, rebuild: &mut [bool]) -> Result<(), EngineError> {
        let trials = self.each(|_, system| Ok(Trying::of(system).volume_trial()))?;
        let Some(trials) = trials.into_iter().collect::<Option<Vec<_>>>() else { return Ok(()) };
        if rebuild.contains(&true) {
            self.run(0, LaunchSamples::NONE, rebuild)?;
            rebuild.fill(false);
        }
        self.each(|_, system| {
            system.note_box_of_lists();
            Ok(())
        })?;
        let mut sums = self.pair_sums()?.into_iter();
        let before = self.each(|_, _| sums.next().expect("those of each system"))?;
        let proposed = self.enter_boxes(&trials, &before, rebuild)?;
        let after = self.pair_sums()?;
        self.decide(&trials, (&before, &after), proposed, rebuild)
    }

    /// Gives each system the box that its trial proposes, if it proposes one.
    fn enter_boxes(
        &mut self,
        trials: &[VolumeTrial],
        before: &[PairSums],
        rebuild: &mut [bool],
    ) -> Result<Vec<Option<Proposed>>, EngineError> {
        let first = self.first;
        self.each(|number, system| {
            let index = number - first;
            let proposal = trials[index].propose(&before[index], system.state.simulation_box());
            let Some(proposal) = proposal else { return Ok(None) };
            let mut trying = Trying::of(system);
            let entered = trying.enter(&proposal);
            let before = trying.before.take();
            rebuild[index] |= trying.remade.rebuild;
            match entered {
                Ok(()) => Ok(Some(Proposed { proposal, fits: true, before })),
                Err(error) if is_rejection(&error) => {
                    Ok(Some(Proposed { proposal, fits: false, before }))
                }
                Err(error) => Err(error),
            }
        })
    }

    fn decide(
        &mut self,
        trials: &[VolumeTrial],
        (before, after): (&[PairSums], &[Result<PairSums, EngineError>]),
        proposed: Vec<Option<Proposed>>,
        rebuild: &mut [bool],
    ) -> Result<(), EngineError> {
        let (first, mut proposed) = (self.first, proposed.into_iter());
        let factors = self.each(|number, system| {
            let index = number - first;
            let proposed = proposed.next().expect("that of each system");
            let remade = Remade { rebuild: rebuild[index], ..Remade::default() };
            let mut trying = Trying { remade, ..Trying::of(system) };
            let Some(Proposed { proposal, fits, before: state }) = proposed else {
                trying.count(None)?;
                system.set_system()?;
                return Ok(None);
            };
            trying.before = state;
            let (before, after) = (&before[index], after[index].as_ref().ok());
            let accepted =
                after.filter(|after| fits && trials[index].accepts(&proposal, before, after));
            trying.decide(&proposal, accepted.is_some())?;
            trying.count(accepted.map(|after| after[0] - before[0]))?;
            let (is_due, factors) = (trying.remade.rebuild, trying.factors);
            rebuild[index] = is_due || system.neighbor_list.are_of_a_wider_box();
            system.set_system()?;
            Ok(factors)
        })?;
        if factors.iter().all(Option::is_none) {
            return Ok(());
        }
        let factors: Vec<_> = factors.into_iter().map(|of| of.unwrap_or([1.0; 3])).collect();
        let particles = self.systems[0].state.count();
        self.members.scale_all(scaled_in_trials::<P>(), particles, &factors)
    }

    /// Sums over pairs of all systems, or that a number of one does not fit.
    fn pair_sums(&mut self) -> Result<Vec<Result<PairSums, EngineError>>, EngineError> {
        let lanes = self.systems.iter().map(|system| system.lanes()).max().unwrap_or(0);
        let sums = self.members.pair_sums_of_all(lanes)?;
        let mut measured = self.members.controls()?.into_iter().zip(sums);
        let of_system = |system: &CudaEngine<P, SingleRank>| {
            let (control, sums) = measured.next().expect("those of each system");
            if control.status != status::DONE {
                return Err(system.state.range_error(control.status, control.culprit));
            }
            Ok(pair_sums_of(&sums))
        };
        Ok(self.systems.iter().map(of_system).collect())
    }
}

/// What a trial proposes to a system, which is there.
struct Proposed {
    proposal: Proposal,
    /// Whether all numbers fit.
    fits: bool,
    before: Option<Before>,
}
