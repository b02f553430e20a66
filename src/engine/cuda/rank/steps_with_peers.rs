//! Steps that the GPUs of neighbors take by themselves, many in a launch.
use super::halo::Report;
use super::kernels::{PeerLaunch, Present};
use super::multi_rank::{MultiRank, Rebuilding};
use super::rebuild_with_peers::At;
use crate::engine::EngineError;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::geometry::Geometry;
use crate::engine::cuda::launch::Grid;
use crate::engine::cuda::thermostat::{Kind, Thermostat};
use crate::plan;

/// Of `PeerLaunch::looks_after`: not in this launch.
const NEVER: u32 = u32::MAX;

/// How steps with the present lists end.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// After the last one; with `drifts` begins the one after it, up to its drift.
    Last { drifts: bool },
    /// With the drift to the first step, from one on, for which the lists are not good; if there is none, after the last one.
    Lists { from: u64 },
}

/// Steps that the GPUs have taken by themselves.
pub struct Taken {
    pub report: Report,
    /// They end with the drift of another step.
    pub drifted: bool,
    /// It was launched after them.
    pub rebuilding: Option<Rebuilding>,
}

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// What acts on the velocities within a launch, if the GPUs take steps by themselves: where kernels reach the
    /// neighbors' memory; for sums over the system in each step all ranks must be neighbors. Those that a flow without a
    /// thermostat needs are the host's.
    pub(super) fn peer_kind(&self) -> Option<Kind> {
        if self.shares_residue() {
            return None;
        }
        let all_are_neighbors = self.agrees();
        let kind = match self.stage.thermostat.map(|thermostat| thermostat.kind) {
            // Collisions come between launches.
            None | Some(plan::Thermostat::Andersen { .. }) => Kind::None,
            Some(plan::Thermostat::Langevin { .. } | plan::Thermostat::Brownian { .. }) => {
                Kind::Langevin
            }
            Some(plan::Thermostat::NoseHoover { .. }) if all_are_neighbors => Kind::NoseHoover,
            Some(plan::Thermostat::Bussi { .. } | plan::Thermostat::Isokinetic)
                if all_are_neighbors =>
            {
                Kind::Bussi
            }
            Some(_) => return None,
        };
        self.stepper.writes_to_peers.then_some(kind)
    }

    /// Whether the GPUs can find out within a launch when lists are no longer good.
    pub(super) fn looks_at_lists(&self) -> bool {
        self.agrees() && self.peer_kind().is_some()
    }

    /// Steps in one launch, in which the GPUs send each other the sites of ghosts. Returns what was found, or nothing if the
    /// rebuilding before has failed: no step was taken then.
    pub(super) fn steps_with_peers(
        &mut self,
        stop: u64,
        end: End,
        kind: Kind,
    ) -> Result<Option<Taken>, EngineError> {
        let degrees = self.degrees_of_freedom();
        let (seed, timestep) = (self.plan.system.random_key(), self.plan.run.timestep);
        let of_all = matches!(kind, Kind::NoseHoover | Kind::Bussi);
        let (_, thermostat) =
            Thermostat::new(&self.stage, seed, timestep, degrees, self.state.species());
        let (steps, present) = (stop - self.state.step, self.stepper.present);
        if of_all {
            self.stepper.launches += 1;
        }
        let (drifts, looks_after) = match end {
            End::Last { drifts } => (drifts, NEVER),
            // The drift to a step is behind those before it.
            End::Lists { from } => (false, from.saturating_sub(self.state.step + 1) as u32),
        };
        // What a thermostat has left is read before what comes next.
        let rebuilds = u64::from(looks_after) < steps && kind == Kind::None;
        let asked = self.stepper.reports.ask();
        let launch = PeerLaunch {
            of_step: self.flow_of_launch(),
            first_step: self.state.step,
            sequence: self.stepper.sequence,
            steps: steps as u32,
            present: present.of_launch(),
            drifts: drifts.into(),
            names: u32::from(self.stepper.unnamed),
            number: self.stepper.launches,
            report: asked.number,
            looks_after,
            rebuilds: rebuilds.into(),
        };
        tracing::trace!("{launch:?}");
        let Geometry { kernel, blocks, threads } = self.geometry(kind);
        let kernel = self.stepper.kernels.with_peers(kernel);
        if of_all {
            self.state.lend_thermostat(&self.thermostat)?;
        }
        self.device.kernels().launch(
            kernel,
            Grid::cooperative(blocks, threads),
            (launch, thermostat),
        )?;
        if let Some(rebuilding) = self.stepper.under_way.take()
            && !self.complete(rebuilding)?
        {
            self.take_report(asked)?;
            return Ok(None);
        }
        let rebuilding =
            if rebuilds { Some(self.rebuild_with_peers(At::EndOfSteps)?) } else { None };
        let tilt = self.state.simulation_box().tilt();
        let report = self.take_report(asked)?;
        let (steps, drifted) = (u64::from(report.control.steps), report.control.drifted != 0);
        self.stepper.times.stepped(&report);
        if of_all {
            self.read_control()?;
            self.state.control.give_back(&mut self.thermostat, drifted);
        } else {
            // The particles are in the other copy; each drift writes the other copy of the sites.
            self.state.control.copy ^= 1;
            self.state.control.site_copy ^= ((steps + u64::from(drifted)) & 1) as u32;
        }
        self.state.step += steps;
        self.state.take_tilt(tilt);
        self.take_drifts(steps);
        if matches!(kind, Kind::Langevin | Kind::Bussi) {
            // Of the present step, which may have been begun before, and of those after it.
            self.stepper.heats = 1 + steps as usize + usize::from(drifted);
        }
        let multi_rank = &mut self.stepper;
        (multi_rank.present, multi_rank.unnamed) = (Present::Forces, false);
        // Where the ranks look, sites are sent before.
        let sent = steps + u64::from(drifted && looks_after != NEVER);
        multi_rank.sequence +=
            sent + u64::from(present.of_launch() == Present::OwnSites.of_launch());
        Ok(Some(Taken { report, drifted, rebuilding }))
    }

    /// A rebuilding in the present step is under way; steps are to be launched after it.
    pub(super) fn expect_rebuilding(&mut self, rebuilding: Rebuilding) {
        self.expect_lists();
        let present = self.present_with_lists();
        let multi_rank = &mut self.stepper;
        (multi_rank.under_way, multi_rank.present) = (Some(rebuilding), present);
    }

    /// A rebuilding was launched after steps that have ended elsewhere: it does nothing.
    pub(super) fn forget(&mut self, rebuilding: Option<Rebuilding>) -> Result<(), EngineError> {
        if rebuilding.is_none() {
            return Ok(());
        }
        tracing::trace!("step {}: the rebuilding after is left out", self.state.step);
        self.stepper.buffers.halt.clear(size_of::<u32>())
    }
}
