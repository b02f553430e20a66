//! Steps of a domain among others: the algorithm of [`crate::engine::cpu`]'s ranks with kernels for its loops.
use std::time::Instant;

use super::halo::Agreed;
use super::kernels::{Present, Region};
use super::multi_rank::MultiRank;
use super::rebuild_with_peers::At;
use super::steps_with_peers::{End, Taken};
use crate::engine::EngineError;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::domain::LONGEST;
use crate::engine::thermostats::{
    acts_in, begin_step, begin_step_of_kernels, end_step, kicks_at_end,
};
use crate::integrator::ThermostatState;

/// What the host remembers from before some steps; the GPU keeps the particles.
struct Saved {
    step: u64,
    tilt: f64,
    thermostat: ThermostatState,
    /// Half steps of a thermostat.
    heats: usize,
    /// What was there of the step.
    present: Present,
    /// The copy of the particles that was valid.
    copy: u32,
}

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// Takes steps, with all ranks.
    ///
    /// # Errors
    /// Those that all ranks meet together. An error of this GPU alone ends all ranks.
    pub(in crate::engine::cuda) fn advance_multi_rank(
        &mut self,
        steps: u64,
    ) -> Result<(), EngineError> {
        let start = Instant::now();
        let waited = self.stepper.domain.waited();
        // What has come between is not part of the steps.
        self.stepper.times.interrupt();
        let result = match self.has_piston() {
            true => self.steps_with_piston(steps),
            false => self.advance_to(self.state.step + steps),
        };
        let multi_rank = &mut self.stepper;
        multi_rank.stepping[0] += start.elapsed().as_nanos() as i64;
        multi_rank.stepping[1] += multi_rank.domain.waited() - waited;
        self.or_end_all(result)
    }

    fn advance_to(&mut self, end: u64) -> Result<(), EngineError> {
        let mut verified = true;
        while self.state.step < end || !verified {
            let step = self.state.step;
            let multi_rank = &self.stepper;
            let schedule = &multi_rank.domain.schedule;
            // What was begun is completed first.
            let rebuilds = match multi_rank.present {
                Present::Forces => {
                    step < end && (schedule.rebuilds_in(step + 1) || self.flips_in_next_step())
                }
                Present::OwnSites => schedule.rebuilds_in(step),
                Present::AllSites | Present::OwnSitesWithLists => false,
            };
            let begun = multi_rank.present != Present::Forces;
            if rebuilds {
                self.rebuilding_step()?;
                verified = false;
            } else if !begun && self.peer_kind().is_some() && self.collides_in(step + 1) {
                self.begin_collision()?;
                verified = false;
            } else {
                let looks = self.looks_at_lists() && !schedule.is_set();
                let row = if looks { step + LONGEST } else { schedule.verify_at(step) };
                let before_flip = step + self.steps_to_flip(row.min(end).saturating_sub(step) + 1);
                let mut stop = row.min(end).min(before_flip);
                if self.peer_kind().is_some() {
                    // Particles collide within a step, which the host begins.
                    let collision = self.next_collision(step + 1);
                    stop = collision.map_or(stop, |collision| stop.min(collision - 1));
                }
                let row_ends = if looks {
                    End::Lists { from: schedule.look_from() }
                } else {
                    // The lists are probably to be rebuilt after this.
                    let drifts = stop < end.min(before_flip)
                        && schedule.compares_at(stop)
                        && self.peer_kind().is_some()
                        && !self.collides_in(stop + 1);
                    End::Last { drifts }
                };
                self.steps_to(stop, row_ends)?;
                verified = self.stepper.present == Present::Forces;
            }
        }
        Ok(())
    }

    /// Takes steps with the present lists, and verifies that these were good; else goes back to where it began, with
    /// the lists to be rebuilt at the right step.
    fn steps_to(&mut self, stop: u64, end: End) -> Result<(), EngineError> {
        let saved = Saved {
            step: self.state.step,
            tilt: self.state.simulation_box().tilt(),
            thermostat: self.thermostat.clone(),
            heats: self.stepper.domain.heat.len(),
            present: self.stepper.present,
            copy: self.state.control.copy,
        };
        // That before the drift may have been given.
        self.clear_heat(usize::from(saved.present.has_new_lists()))?;
        let mut taken = None;
        if self.state.step < stop || saved.present != Present::Forces {
            match self.peer_kind() {
                Some(kind) => {
                    taken = self.steps_with_peers(stop, end, kind)?;
                    if taken.is_none() {
                        self.rebuild_again()?;
                        return self.steps_to(stop, end);
                    }
                }
                None => self.steps_of_host(stop)?,
            }
        }
        let stop = self.state.step;
        self.collect_heat()?;
        let (report, drifted, rebuilding_behind) = match taken {
            Some(Taken { report, drifted, rebuilding }) => (Some(report), drifted, rebuilding),
            None => (None, false, None),
        };
        let mut moved2 = report.map_or(0, |report| report.control.moved2);
        if report.is_none() {
            moved2 = self.note_findings()?.moved2;
        }
        let agrees = self.agrees();
        let domain = &mut self.stepper.domain;
        let verdict = match report.map(|report| report.agreed) {
            Some(Agreed { needs_rebuild, fault, moved2, .. }) if agrees => {
                domain.verdict(needs_rebuild, fault, f64::from_bits(moved2))
            }
            _ => domain.verify(f64::from_bits(moved2)),
        };
        if let Some(needs_rebuild) = verdict.needs_rebuild
            && needs_rebuild <= stop
            && verdict.fault.is_none()
        {
            self.forget(rebuilding_behind)?;
            self.go_back(saved)?;
            self.stepper.domain.schedule.needs_rebuild(needs_rebuild);
            return Ok(());
        }
        if let Some((_, error)) = verdict.fault {
            return Err(error);
        }
        for heat in self.stepper.domain.take_heat() {
            self.thermostat.heat += heat;
        }
        let share = self.share_used(verdict.moved2);
        let schedule = &mut self.stepper.domain.schedule;
        match end {
            End::Last { .. } => schedule.compared(stop, share),
            End::Lists { .. } => schedule.good_until(stop),
        }
        if !drifted {
            return self.forget(rebuilding_behind);
        }
        if verdict.needs_rebuild.is_some() && !schedule.rebuilds_in(stop + 1) {
            schedule.needs_rebuild(stop + 1);
        }
        self.state.step += 1;
        self.take_drifts(1);
        self.stepper.present = Present::OwnSites;
        if let Some(rebuilding) = rebuilding_behind {
            self.expect_rebuilding(rebuilding);
        }
        Ok(())
    }

    fn go_back(&mut self, saved: Saved) -> Result<(), EngineError> {
        tracing::debug!(
            "lists were too old before step {}: back to {}",
            self.state.step,
            saved.step
        );
        self.stepper.repeated += self.state.step - saved.step;
        self.state.step = saved.step;
        self.state.take_tilt(saved.tilt);
        self.thermostat = saved.thermostat;
        let domain = &mut self.stepper.domain;
        domain.heat.truncate(saved.heats);
        domain.forget_after(saved.step);
        self.set_changed_halo()?;
        if self.state.control.copy == saved.copy {
            // The host led: what was saved is in the other copy.
            self.state.write_control()?;
            self.over_particles(self.stepper.kernels.restore_particles, ())?;
        } else {
            self.state.control.copy = saved.copy;
            self.state.write_control()?;
            self.over_particles(self.stepper.kernels.renew_sites, ())?;
        }
        self.exchange_sites(None)?;
        self.stepper.present = match saved.present {
            Present::Forces => {
                self.forces(Region::Everywhere, false)?;
                Present::Forces
            }
            _ => Present::AllSites,
        };
        // Neighbors may rebuild at once, and write their next messages over those that are read here.
        self.device.wait()?;
        self.stepper.domain.largest([0]);
        Ok(())
    }

    /// Begins a step in which particles collide with a thermostat, up to its drift; its forces and second kick are left to
    /// the GPUs.
    fn begin_collision(&mut self) -> Result<(), EngineError> {
        self.set_changed_halo()?;
        begin_step(self)?;
        self.over_particles(self.stepper.kernels.find_maximum_displacement, ())?;
        let moved2 = self.note_findings()?.moved2;
        let verdict = self.stepper.domain.verify(f64::from_bits(moved2));
        if let Some((_, error)) = verdict.fault {
            return Err(error);
        }
        let step = self.state.step;
        let schedule = &mut self.stepper.domain.schedule;
        if verdict.needs_rebuild.is_some() && !schedule.rebuilds_in(step) {
            schedule.needs_rebuild(step);
        }
        self.stepper.present = Present::OwnSites;
        Ok(())
    }

    /// A step in which the lists are rebuilt. Where the GPUs take steps by themselves, its forces and second kick are
    /// left to these.
    fn rebuilding_step(&mut self) -> Result<(), EngineError> {
        self.clear_heat(0)?;
        let drifts = self.stepper.present == Present::Forces;
        // Where a thermostat acts, or a drift waits for a sum, the host leads; else the first kernel of the rebuilding drifts.
        let acts = acts_in(&self.stage, self.state.step + 1, self.plan.run.timestep)
            || self.shares_residue();
        let drifts_there = drifts && self.stepper.writes_to_peers && !acts;
        if drifts_there {
            self.state.step += 1;
        } else if drifts && self.peer_kind().is_some() {
            begin_step_of_kernels(self)?;
        } else if drifts {
            begin_step(self)?;
        }
        let step = self.state.step;
        tracing::trace!("rebuilding in step {step}");
        if self.stepper.writes_to_peers {
            let at = if drifts_there { At::Drift } else { At::Sites };
            let rebuilding = self.rebuild_with_peers(at)?;
            if self.agrees() && self.peer_kind().is_some() {
                self.expect_rebuilding(rebuilding);
                return Ok(());
            }
            self.expect_lists();
            if !self.complete(rebuilding)? {
                self.rebuild_again()?;
            }
        } else {
            let ahead = self.steps_ahead();
            self.migrate(ahead)?;
            self.rebuild_with_ghosts(ahead)?;
        }
        if self.peer_kind().is_some() {
            self.stepper.present = self.present_with_lists();
            return Ok(());
        }
        self.set_changed_halo()?;
        self.exchange_sites(None)?;
        self.forces(Region::Everywhere, !kicks_at_end(&self.stage))?;
        end_step(self)?;
        self.collect_heat()?;
        self.note_findings().map(drop)
    }
}
