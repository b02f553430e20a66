//! Rebuilding by kernels that write into the neighbours' memory (`kernels/domain/rebuild.cu`): the host launches them, and
//! the steps behind them, and hears meanwhile what has become of it.
use super::argument;
use super::report::Asked;
use super::rim::{RimControl, Starts};
use crate::engine::EngineError;
use crate::engine::cuda::buffers::System;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;

/// Blocks of the kernel that takes particles that come: few do.
const ENTERING_BLOCKS: u32 = 16;

/// A rebuilding that was launched. If it is behind steps that end elsewhere, it does nothing, and is forgotten.
#[derive(Clone, Copy, Debug)]
pub struct Rebuilding {
    asked: Asked,
}

impl<P: DevicePolicy> CudaEngine<P> {
    /// Launches migration, ghosts and lists at a step, after its kick and drift, if it still `drifts`.
    ///
    /// # Errors
    /// If the card is lost.
    pub(super) fn rebuild_with_peers(&mut self, drifts: bool) -> Result<Rebuilding, EngineError> {
        let (step, drifts) = (self.step, u32::from(drifts));
        let with_others = self.with_others_mut();
        with_others.rebuilt_with_peers += 1;
        let number = with_others.rebuilt_with_peers;
        let arguments = [argument(&step), argument(&number), argument(&drifts)];
        self.over_particles("leave_with_peers", &arguments)?;
        self.over(ENTERING_BLOCKS * 256, "enter_with_peers", &[argument(&number)])?;
        let count = self.with_others().buffers.control.pointer()
            + std::mem::offset_of!(RimControl, count) as u64;
        self.kernels.copy_word("system", std::mem::offset_of!(System, count), count)?;
        let asked = self.with_others_mut().reports.ask();
        let arguments = [argument(&number), argument(&asked.number)];
        self.on_all_blocks("list_with_peers", &arguments)?;
        Ok(Rebuilding { asked })
    }

    /// A rebuilding was launched in the present step: what the host knows of the card is as it will be if nothing fails.
    pub(super) fn expect_lists(&mut self) {
        self.control.copy ^= 1;
        self.control.site_copy ^= 1;
        let step = self.step;
        let with_others = self.with_others_mut();
        with_others.unnamed = true;
        with_others.domain.schedule.rebuilt(step);
    }

    /// Waits for the lists; returns whether there was room for everything on all ranks.
    ///
    /// # Errors
    /// Those that all ranks meet together.
    pub(super) fn complete(&mut self, rebuilding: Rebuilding) -> Result<bool, EngineError> {
        let report = self.take_report(rebuilding.asked)?;
        let (agrees, made) = (self.agrees(), report.control);
        let with_others = self.with_others_mut();
        with_others.times.rebuilt(&report);
        // The lists are new.
        let domain = &mut with_others.domain;
        domain.forget_stale();
        let failed = if agrees {
            domain.unless_fault(report.agreed.fault)?;
            report.agreed.failed > 0
        } else {
            domain.largest_unless_fault(made.failed)? > 0
        };
        if failed {
            self.control.copy ^= 1;
            self.control.site_copy ^= 1;
            return Ok(false);
        }
        self.control.rebuilds += 1;
        self.system.count = made.count;
        let with_others = self.with_others_mut();
        let neighbors = with_others.lent_to.len();
        with_others.lent_to.copy_from_slice(&made.lent_to[..neighbors]);
        with_others.ghosts_from.copy_from_slice(&made.ghosts_from[..neighbors]);
        let rim = &mut with_others.rim;
        (rim.extent, rim.lent) = (made.count, made.lent);
        rim.ghosts = with_others.ghosts_from.iter().sum();
        rim.arrivals = Starts::of(&with_others.ghosts_from);
        with_others.rim_changed = true;
        Ok(true)
    }

    /// Something had no room on a rank: from the state after the drift, led by the host, with more memory.
    pub(super) fn rebuild_again(&mut self) -> Result<(), EngineError> {
        tracing::debug!("step {}: rebuilding needs more room", self.step);
        self.with_others().buffers.halt.clear(size_of::<u32>())?;
        self.write_control()?;
        let count = self.system.count;
        self.set_count(count)?;
        self.with_others_mut().rim.extent = count;
        self.with_others().buffers.destination.clear(count as usize)?;
        self.set_rim()?;
        self.over_particles("renew_sites", &[])?;
        self.migrate()?;
        self.rebuild_with_ghosts()
    }
}
