//! Rebuilding by kernels that write into the neighbors' memory (`kernels/domain/rebuild.cu`): the host launches them, and
//! the steps after them, and hears meanwhile what has become of it.
use super::halo::{HaloControl, Starts};
use super::kernels::{NewLists, Present};
use super::multi_rank::{MultiRank, Rebuilding};
use crate::engine::cuda::buffers::System;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::declare::Pointer;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::{EngineError, outlook};
use crate::plan::Thermostat;

/// Where a rebuilding begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// With the kick and the drift to the present step.
    Drift,
    /// After them.
    Sites,
    /// The same in the step that the steps which were launched before have ended with.
    EndOfSteps,
}

/// Blocks of the kernel that takes particles that come: few do.
const ENTERING_BLOCKS: u32 = 16;

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// Launches migration, ghosts and lists at a step.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub(super) fn rebuild_with_peers(&mut self, at: At) -> Result<Rebuilding, EngineError> {
        let drifts = u32::from(at == At::Drift);
        let lists = NewLists {
            made: self.stepper.domain.schedule.built_in(),
            step: self.state.step,
            where_steps_end: u32::from(at == At::EndOfSteps),
            unused: 0,
            damping: self.damping(),
        };
        let multi_rank = &mut self.stepper;
        multi_rank.rebuilt_with_peers += 1;
        let number = multi_rank.rebuilt_with_peers;
        let kernels = self.stepper.kernels;
        let of_drift = self.flow_of_drift();
        self.over_particles(kernels.leave_with_peers, (lists, number, drifts, of_drift))?;
        if drifts == 1 {
            self.end_drift_in_flow()?;
        }
        self.over(ENTERING_BLOCKS * 256, kernels.enter_with_peers, (number,))?;
        let control = self.stepper.buffers.control.address();
        let count = Pointer::at(control + std::mem::offset_of!(HaloControl, count) as u64);
        self.device.kernels().copy_word("system", std::mem::offset_of!(System, count), count)?;
        let asked = self.stepper.reports.ask();
        self.on_all_blocks(kernels.list_with_peers, (number, asked.number))?;
        Ok(Rebuilding { asked })
    }

    /// A rebuilding was launched in the present step: what the host knows of the GPU is as it will be if nothing fails.
    pub(super) fn expect_lists(&mut self) {
        self.state.control.copy ^= 1;
        self.state.control.site_copy ^= 1;
        self.state.control.lists_made_at = self.state.control.tilt;
        let (step, ahead) = (self.state.step, self.steps_ahead());
        let multi_rank = &mut self.stepper;
        multi_rank.unnamed = true;
        multi_rank.domain.schedule.rebuilt(step, ahead);
    }

    /// Waits for the lists; returns whether there was room for everything on all ranks.
    ///
    /// # Errors
    /// Those that all ranks meet together.
    pub(super) fn complete(&mut self, rebuilding: Rebuilding) -> Result<bool, EngineError> {
        let report = self.take_report(rebuilding.asked)?;
        let (agrees, made) = (self.agrees(), report.control);
        let multi_rank = &mut self.stepper;
        multi_rank.times.rebuilt(&report);
        // The lists are new.
        let domain = &mut multi_rank.domain;
        domain.clear_needs_rebuild();
        let failed = if agrees {
            domain.unless_fault(report.agreed.fault)?;
            report.agreed.failed > 0
        } else {
            domain.largest_unless_fault(made.failed)? > 0
        };
        if failed {
            self.state.control.copy ^= 1;
            self.state.control.site_copy ^= 1;
            return Ok(false);
        }
        self.state.control.rebuilds += 1;
        self.state.set_count(made.count);
        let multi_rank = &mut self.stepper;
        let neighbors = multi_rank.send_to.len();
        multi_rank.send_to.copy_from_slice(&made.send_to[..neighbors]);
        multi_rank.ghosts_from.copy_from_slice(&made.ghosts_from[..neighbors]);
        let halo = &mut multi_rank.halo;
        (halo.extent, halo.sent) = (made.count, made.sent);
        halo.ghosts = multi_rank.ghosts_from.iter().sum();
        halo.arrivals = Starts::of(&multi_rank.ghosts_from);
        multi_rank.halo_changed = true;
        Ok(true)
    }

    /// Something had no room on a rank: from the state after the drift, led by the host, with more memory.
    pub(super) fn rebuild_again(&mut self) -> Result<(), EngineError> {
        tracing::debug!("step {}: rebuilding needs more room", self.state.step);
        self.stepper.buffers.halt.clear(size_of::<u32>())?;
        self.rebuild_from_positions()
    }

    /// Domains, lists and forces of the present positions, between steps.
    ///
    /// # Errors
    /// Those that all ranks meet together.
    pub(super) fn make_all_anew(&mut self) -> Result<(), EngineError> {
        self.rebuild_from_positions()?;
        self.forces_everywhere()?;
        self.verify_now()
    }

    /// Migration, ghosts and lists of the present positions, led by the host.
    pub(super) fn rebuild_from_positions(&mut self) -> Result<(), EngineError> {
        self.state.write_control()?;
        let count = self.state.count() as u32;
        self.set_system()?;
        self.stepper.halo.extent = count;
        self.stepper.buffers.destination.clear(count as usize)?;
        self.set_halo()?;
        self.over_particles(self.stepper.kernels.renew_sites, ())?;
        self.migrate(0.0)?;
        self.rebuild_with_ghosts(0.0)
    }

    /// How far lists look ahead that are made in the present step. In tilted boxes they are made around present sites.
    pub(super) fn steps_ahead(&self) -> f64 {
        if self.stepper.takes_tilts {
            return 0.0;
        }
        let life = self.state.step.wrapping_sub(self.stepper.domain.schedule.built_in());
        outlook::steps_ahead(life, self.damping())
    }

    /// What friction leaves of a velocity in a step.
    fn damping(&self) -> f64 {
        let damping = |kind: Thermostat| kind.damping(self.plan.run.timestep);
        self.stage.thermostat.and_then(|thermostat| damping(thermostat.kind)).unwrap_or(1.0)
    }

    /// What is there of a step in which lists have been made.
    pub(super) fn present_with_lists(&self) -> Present {
        if self.stepper.takes_tilts { Present::AllSites } else { Present::OwnSitesWithLists }
    }
}
