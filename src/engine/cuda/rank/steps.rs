//! Steps of a domain among others: the algorithm of [`crate::engine::cpu`]'s ranks with kernels for its loops.
use std::time::Instant;

use super::halo::Agreed;
use super::kernels::{Present, Region};
use super::multi_rank::MultiRank;
use super::steps_with_peers::{End, Taken};
use crate::engine::EngineError;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::domain::LONGEST;
use crate::integrator::ThermostatState;

/// What the host remembers from before some steps; the GPU keeps the particles.
struct Saved {
    step: u64,
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
        let result = self.advance_to(self.state.step + steps);
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
                Present::Forces => step < end && schedule.rebuilds_in(step + 1),
                Present::OwnSites => schedule.rebuilds_in(step),
                Present::AllSites => false,
            };
            if rebuilds {
                self.rebuilding_step()?;
                verified = false;
            } else {
                let looks = self.looks_at_lists() && !schedule.is_set();
                let row = if looks { step + LONGEST } else { schedule.verify_at(step) };
                let mut stop = row.min(end);
                if self.peer_kind().is_some() {
                    // That of a step that is still to be completed may come first.
                    let next = step + u64::from(multi_rank.present == Present::Forces);
                    stop = self.next_collision(next).map_or(stop, |collision| stop.min(collision));
                }
                let row_ends = if looks {
                    End::Lists { from: schedule.look_from() }
                } else {
                    // The lists are probably to be rebuilt after this.
                    let drifts = stop < end
                        && schedule.compares_at(stop)
                        && self.peer_kind().is_some()
                        && !self.collides_at(stop);
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
            thermostat: self.thermostat.clone(),
            heats: self.stepper.domain.heat.len(),
            present: self.stepper.present,
            copy: self.state.control.copy,
        };
        let mut half_steps = 0;
        // That before the drift may have been given.
        self.clear_heat(usize::from(saved.present == Present::AllSites))?;
        let mut taken = None;
        let mut collided = false;
        if self.state.step < stop || saved.present != Present::Forces {
            match self.peer_kind() {
                Some(kind) => {
                    taken = self.steps_with_peers(stop, end, kind, &mut half_steps)?;
                    if taken.is_none() {
                        self.rebuild_again()?;
                        return self.steps_to(stop, end);
                    }
                    // A launch may end, lists being stale, with no more than the drift of its first step: the collision
                    // of the step before that has been.
                    let completes =
                        self.state.step > saved.step || saved.present != Present::Forces;
                    collided = completes && self.collides_at(self.state.step);
                    if collided {
                        self.thermostat_half(1, &mut half_steps)?;
                    }
                }
                None => self.steps_of_host(stop, &mut half_steps)?,
            }
        }
        let stop = self.state.step;
        self.collect_heat(half_steps)?;
        let (report, drifted, rebuilding_behind) = match taken {
            Some(Taken { report, drifted, rebuilding }) => (Some(report), drifted, rebuilding),
            None => (None, false, None),
        };
        let mut moved2 = report.map_or(0, |report| report.control.moved2);
        if report.is_none() || collided {
            moved2 = moved2.max(self.note_findings()?.moved2);
        }
        let agrees = self.agrees();
        let domain = &mut self.stepper.domain;
        let verdict = match report.map(|report| report.agreed) {
            Some(Agreed { needs_rebuild, fault, moved2, .. }) if agrees && !collided => {
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
        let share = (verdict.moved2 / self.neighbor_list.limit2()).sqrt();
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
            Present::AllSites | Present::OwnSites => Present::AllSites,
        };
        // Neighbors may rebuild at once, and write their next messages over those that are read here.
        self.device.wait()?;
        self.stepper.domain.largest([0]);
        Ok(())
    }

    /// A step in which the lists are rebuilt. Where the GPUs take steps by themselves, its forces and second kick are
    /// left to these.
    fn rebuilding_step(&mut self) -> Result<(), EngineError> {
        let mut half_steps = 0;
        self.clear_heat(0)?;
        let drifts = self.stepper.present == Present::Forces;
        if drifts {
            self.thermostat_half(0, &mut half_steps)?;
            self.state.step += 1;
        }
        let step = self.state.step;
        tracing::trace!("rebuilding in step {step}");
        if self.stepper.writes_to_peers {
            let rebuilding = self.rebuild_with_peers(drifts)?;
            if self.agrees() && self.peer_kind().is_some() {
                self.expect_rebuilding(rebuilding);
                return Ok(());
            }
            self.expect_lists();
            if !self.complete(rebuilding)? {
                self.rebuild_again()?;
            }
        } else {
            self.over_particles(self.stepper.kernels.kick_and_drift, (step,))?;
            self.migrate()?;
            self.rebuild_with_ghosts()?;
        }
        if self.peer_kind().is_some() {
            self.stepper.present = Present::AllSites;
            return Ok(());
        }
        self.forces(Region::Everywhere, true)?;
        self.thermostat_half(1, &mut half_steps)?;
        self.collect_heat(half_steps)?;
        self.note_findings().map(drop)
    }
}
