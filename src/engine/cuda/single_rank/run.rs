//! Launches of steps.
use super::{SingleRank, SteppingKernels, has_tagged_sites, staged_bytes};
use crate::engine::EngineError;
use crate::engine::barostat::PairSums;
use crate::engine::cuda::advance::{Launch, LaunchSamples};
use crate::engine::cuda::buffers::{Control, SplitSum, status};
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::geometry::Geometry;
use crate::engine::cuda::launch::Grid;
use crate::engine::cuda::mailbox::{Asked, ControlAndSums, MOST_SUMS};
use crate::engine::cuda::measure::measured::PAIR_SUMS;
use crate::engine::cuda::run_device::Place;
use crate::engine::cuda::thermostat::{Kind, Thermostat};
use crate::engine::cuda::velocities::pair_sums_of;

/// Places of sums over pairs in the mailbox: of the present box, and behind them of a trial's.
pub(super) const SUMS_OF_TRIAL: usize = PAIR_SUMS as usize;

impl<P: DevicePolicy> CudaEngine<P, SingleRank> {
    /// Computes forces and takes steps under the stage's thermostat; lists that are too short are
    /// made anew.
    pub(in crate::engine::cuda) fn run(
        &mut self,
        steps: u64,
        rebuild: bool,
        restore: bool,
        samples: LaunchSamples,
    ) -> Result<(), EngineError> {
        let (kind, thermostat) = self.thermostat_of_launch(steps);
        let launch = Launch {
            rebuild: rebuild.into(),
            restore: restore.into(),
            ..self.launch_of(steps, samples)
        };
        self.launch_steps(kind, &launch, &thermostat)?;
        self.complete(kind, launch, &thermostat)
    }

    /// The same up to a trial to change the volume, with the sums over pairs that it begins with, which come in the same copy; `None`
    /// where they are still to be made.
    pub(in crate::engine::cuda) fn run_to_trial(
        &mut self,
        steps: u64,
        rebuild: bool,
        samples: LaunchSamples,
    ) -> Result<Option<PairSums>, EngineError> {
        let (kind, thermostat) = self.thermostat_of_launch(steps);
        let launch = Launch { rebuild: rebuild.into(), ..self.launch_of(steps, samples) };
        self.begin_launch(kind, &launch, &thermostat)?;
        let asked = self.begin_pair_sums(0)?;
        let sums = self.end_launch(kind, asked)?;
        let are_of_last_step = self.state.control.status == status::DONE;
        self.complete(kind, launch, &thermostat)?;
        Ok(sums.filter(|_| are_of_last_step).map(|sums| pair_sums_of(&sums)))
    }

    /// Sums over pairs in the box of a trial, as the kernels have its constants, after [`run_to_trial`](Self::run_to_trial). While the GPU makes
    /// them, the host sends what the next steps need if the trial is accepted.
    pub(in crate::engine::cuda) fn pair_sums_of_trial(&mut self) -> Result<PairSums, EngineError> {
        let asked = self.begin_pair_sums(SUMS_OF_TRIAL)?.expect("the system is alone");
        self.set_system()?;
        self.lend_thermostat()?;
        let mailbox = self.device.mailbox().expect("the system is alone");
        mailbox.send_ahead(&self.state.control)?;
        let ControlAndSums { control, sums, .. } = mailbox.receive(asked)?;
        match control.status {
            status::DONE => Ok(pair_sums_of(&sums[SUMS_OF_TRIAL..])),
            fault => Err(self.state.range_error(fault, control.culprit)),
        }
    }

    /// Has sums over pairs made behind what was launched, and a letter with them, if the system is alone.
    fn begin_pair_sums(&self, first: usize) -> Result<Option<Asked>, EngineError> {
        let Some(mailbox) = self.device.mailbox() else { return Ok(None) };
        let sums = mailbox.sums(first);
        mailbox.ask(|letter| self.sum_pairs_and_post(sums, letter)).map(Some)
    }

    /// A launch of steps from the present state on.
    pub(in crate::engine::cuda) fn launch_of(&self, steps: u64, samples: LaunchSamples) -> Launch {
        Launch {
            first_step: self.state.step,
            from: 0,
            steps: steps as u32,
            rebuild: 0,
            restore: 0,
            tag: 0,
            shares_residue: self.shares_residue().into(),
            flow: self.flow_from(self.state.step),
            samples: samples.particles,
            stress: samples.stress,
        }
    }

    /// What acts on the velocities in a launch of steps.
    pub(in crate::engine::cuda) fn thermostat_of_launch(&self, steps: u64) -> (Kind, Thermostat) {
        let (kind, thermostat) = Thermostat::new(
            &self.stage,
            self.plan.system.random_key(),
            self.plan.run.timestep,
            self.degrees_of_freedom(),
            self.state.species(),
        );
        // The kernel of a chain takes the half step before a first step that does not come.
        (if steps == 0 { Kind::None } else { kind }, thermostat)
    }

    /// After a launch that has ended: takes the steps that are left where lists were too short.
    pub(in crate::engine::cuda) fn complete(
        &mut self,
        kind: Kind,
        mut launch: Launch,
        thermostat: &Thermostat,
    ) -> Result<(), EngineError> {
        loop {
            match self.state.control.status {
                status::DONE => break,
                status::LISTS_FULL => {
                    self.lengthen_lists()?;
                    launch.rebuild = 1;
                    launch.from = self.state.control.steps_done;
                }
                _ => {
                    self.state.step += u64::from(self.state.control.steps_done);
                    return Err(self.error());
                }
            }
            self.launch_steps(kind, &launch, thermostat)?;
        }
        self.state.step += u64::from(launch.steps);
        Ok(())
    }

    fn launch_steps(
        &mut self,
        kind: Kind,
        launch: &Launch,
        thermostat: &Thermostat,
    ) -> Result<(), EngineError> {
        self.begin_launch(kind, launch, thermostat)?;
        self.end_launch(kind, None).map(drop)
    }

    /// Does not wait.
    fn begin_launch(
        &mut self,
        kind: Kind,
        launch: &Launch,
        thermostat: &Thermostat,
    ) -> Result<(), EngineError> {
        if launch.steps > 0 || launch.restore != 0 {
            self.stepper.pair_sums = None;
        }
        if self.stepper.undecided.is_none() {
            self.lend_thermostat()?;
            match self.device.mailbox() {
                Some(mailbox) => mailbox.send(&self.state.control)?,
                None => self.state.write_control()?,
            }
        }
        let is_tagged = has_tagged_sites(&self.plan);
        let tag = if is_tagged { self.stepper.tags(launch.steps) } else { 0 };
        match &self.stepper.kernels {
            SteppingKernels::Alone(kernels) => {
                let Geometry { kernel, blocks, threads } = self.geometry_of_steps(kind);
                let launch = Launch { tag, ..*launch };
                let mut grid = Grid::cooperative(blocks, threads);
                if is_tagged {
                    grid.shared_bytes = staged_bytes(self.particle_count());
                }
                let arguments = (launch, *thermostat);
                self.device.kernels().launch(kernels.get(kernel), grid, arguments)?;
            }
            SteppingKernels::OfMany => {
                let Place { members, system } = self.device.place().expect("one of many");
                let kernel = members.kernel(kind, self.has_single_lanes());
                let threads = members.sharing.threads_for(self.tiles());
                members.launch_one(*system, kernel, threads, launch, thermostat)?;
            }
        }
        self.evaluate_waiting()
    }

    /// Waits, and takes over what the launch has left; returns the sums behind it, if the system is alone. `asked`: for a letter, already.
    fn end_launch(
        &mut self,
        kind: Kind,
        asked: Option<Asked>,
    ) -> Result<Option<[SplitSum; MOST_SUMS]>, EngineError> {
        self.end_undecided_trial()?;
        let (control, sums) = match self.device.mailbox() {
            Some(mailbox) => {
                let asked = asked.map_or_else(|| self.device.ask(), Ok)?;
                let ControlAndSums { control, sums, .. } = mailbox.receive(asked)?;
                (control, Some(sums))
            }
            None => (self.state.read_control()?, None),
        };
        self.take_control(kind, control);
        Ok(sums)
    }

    /// Has the state hold what the thermostat remembers, for a launch.
    pub(in crate::engine::cuda) fn lend_thermostat(&mut self) -> Result<(), EngineError> {
        self.state.control.lend(&self.thermostat)?;
        self.state.control.clear();
        Ok(())
    }

    /// Takes over what a launch has left.
    pub(in crate::engine::cuda) fn take_control(&mut self, kind: Kind, control: Control) {
        self.state.take_control(control);
        self.plan.system.simulation_box = *self.state.simulation_box();
        let done = control.status == status::DONE;
        control.give_back(&mut self.thermostat, !done);
        if kind == Kind::Bussi && done {
            // Of the end of the last step.
            self.thermostat.heat += control.sums[0][0].value();
        }
    }
}
