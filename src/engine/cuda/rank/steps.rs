//! Steps of a domain among others: the algorithm of [`crate::engine::cpu`]'s ranks with kernels for its loops.
use std::time::Instant;

use super::rebuild_with_peers::Rebuilding;
use super::report::{Agreed, Asked, Report};
use super::rim::{HALF_STEPS, RimControl};
use super::{Present, argument};
use crate::arithmetic::random::Purpose;
use crate::engine::EngineError;
use crate::engine::cuda::buffers::{SplitSum, status};
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::thermostat::{Geometry, Kind, Thermostat};
use crate::engine::domain::LONGEST;
use crate::engine::precision::ExactSum;
use crate::integrator::{ThermostatState, andersen, bussi};
use crate::plan;

/// Tiles that a force kernel works on; the values of `Region` in `kernels/domain/rim.cuh`.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Region {
    Interior = 0,
    Boundary = 1,
    Everywhere = 2,
}

/// Argument of the kernels that take steps with peers. Mirrors `PeerLaunch` in `kernels/domain/advance.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct PeerLaunch {
    first_step: u64,
    sequence: u64,
    steps: u32,
    present: u32,
    drifts: u32,
    names: u32,
    number: u32,
    report: u32,
    looks_after: u32,
    rebuilds: u32,
}

/// Of `PeerLaunch::looks_after`: not in this launch.
const NEVER: u32 = u32::MAX;

/// How steps with the present lists end.
#[derive(Clone, Copy, Debug)]
enum End {
    /// After the last one; with `drifts` begins the one after it, up to its drift.
    Last { drifts: bool },
    /// With the drift to the first step, from one on, for which the lists are not good; if there is none, after the last one.
    Lists { from: u64 },
}

/// Steps that the cards have taken by themselves.
struct Taken {
    report: Report,
    /// They end with the drift of another step.
    drifted: bool,
    /// It was launched behind them.
    rebuilding: Option<Rebuilding>,
}

/// What the host remembers from before some steps; the card keeps the particles.
struct Saved {
    step: u64,
    thermostat: ThermostatState,
    /// Half steps of a bath.
    heats: usize,
    /// What was there of the step.
    present: Present,
    /// The copy of the particles that was valid.
    copy: u32,
}

impl<P: DevicePolicy> CudaEngine<P> {
    /// Takes steps, with all ranks.
    ///
    /// # Errors
    /// Those that all ranks meet together. An error of this card alone ends all ranks.
    pub(in crate::engine::cuda) fn advance_with_others(
        &mut self,
        steps: u64,
    ) -> Result<(), EngineError> {
        let start = Instant::now();
        // What has come between is not part of the steps.
        self.with_others_mut().times.interrupt();
        let result = self.advance_to(self.step + steps);
        self.with_others_mut().stepping += start.elapsed().as_nanos() as i64;
        self.or_end_all(result)
    }

    fn advance_to(&mut self, end: u64) -> Result<(), EngineError> {
        let mut verified = true;
        while self.step < end || !verified {
            let step = self.step;
            let with_others = self.with_others();
            let schedule = &with_others.domain.schedule;
            // What was begun is completed first.
            let rebuilds = match with_others.present {
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
                    let next = step + u64::from(with_others.present == Present::Forces);
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
                verified = self.with_others().present == Present::Forces;
            }
        }
        Ok(())
    }

    /// Whether the cards can find out within a launch when lists are no longer good.
    fn looks_at_lists(&self) -> bool {
        self.agrees() && self.peer_kind().is_some()
    }

    /// Takes steps with the present lists, and verifies that these were good; else goes back to where it began, with
    /// the lists to be rebuilt at the right step.
    fn steps_to(&mut self, stop: u64, end: End) -> Result<(), EngineError> {
        let saved = Saved {
            step: self.step,
            thermostat: self.thermostat.clone(),
            heats: self.with_others().domain.heat.len(),
            present: self.with_others().present,
            copy: self.control.copy,
        };
        let (begin, rebuilding) = (Instant::now(), self.with_others().rebuilding);
        let mut half_steps = 0;
        // That before the drift may have been given.
        self.clear_heat(usize::from(saved.present == Present::AllSites))?;
        let mut taken = None;
        let mut collided = false;
        if self.step < stop || saved.present != Present::Forces {
            match self.peer_kind() {
                Some(kind) => {
                    taken = self.steps_with_peers(stop, end, kind, &mut half_steps)?;
                    if taken.is_none() {
                        self.rebuild_again()?;
                        return self.steps_to(stop, end);
                    }
                    collided = self.collides_at(self.step);
                    if collided {
                        self.thermostat_half(1, &mut half_steps)?;
                    }
                }
                None => self.steps_of_host(stop, &mut half_steps)?,
            }
        }
        let stop = self.step;
        self.collect_heat(half_steps)?;
        let (report, drifted, rebuilding_behind) = match taken {
            Some(Taken { report, drifted, rebuilding }) => (Some(report), drifted, rebuilding),
            None => (None, false, None),
        };
        let mut moved2 = report.map_or(0, |report| report.control.moved2);
        if report.is_none() || collided {
            moved2 = moved2.max(self.note_findings()?.moved2);
        }
        if self.peer_kind().is_some() {
            let with_others = self.with_others_mut();
            with_others.with_peers += begin.elapsed().as_nanos() as i64;
            with_others.with_peers -= with_others.rebuilding - rebuilding;
        }
        let begin = Instant::now();
        let agrees = self.agrees();
        let domain = &mut self.with_others_mut().domain;
        let verdict = match report.map(|report| report.agreed) {
            Some(Agreed { stale, fault, moved2, .. }) if agrees && !collided => {
                domain.verdict(stale, fault, f64::from_bits(moved2))
            }
            _ => domain.verify(f64::from_bits(moved2)),
        };
        self.with_others_mut().comparing += begin.elapsed().as_nanos() as i64;
        if let Some(stale) = verdict.stale
            && stale <= stop
            && verdict.fault.is_none()
        {
            self.forget(rebuilding_behind)?;
            self.go_back(saved)?;
            self.with_others_mut().domain.schedule.stale(stale);
            return Ok(());
        }
        if let Some((_, error)) = verdict.fault {
            return Err(error);
        }
        for heat in self.with_others_mut().domain.take_heat() {
            self.thermostat.heat += heat;
        }
        let share = (verdict.moved2 / self.system.limit2).sqrt();
        let schedule = &mut self.with_others_mut().domain.schedule;
        match end {
            End::Last { .. } => schedule.compared(stop, share),
            End::Lists { .. } => schedule.good_until(stop),
        }
        if !drifted {
            return self.forget(rebuilding_behind);
        }
        if verdict.stale.is_some() && !schedule.rebuilds_in(stop + 1) {
            schedule.stale(stop + 1);
        }
        self.step += 1;
        self.with_others_mut().present = Present::OwnSites;
        if let Some(rebuilding) = rebuilding_behind {
            self.expect_rebuilding(rebuilding);
        }
        Ok(())
    }

    /// A rebuilding in the present step is under way; steps are to be launched behind it.
    fn expect_rebuilding(&mut self, rebuilding: Rebuilding) {
        self.expect_lists();
        let with_others = self.with_others_mut();
        (with_others.under_way, with_others.present) = (Some(rebuilding), Present::AllSites);
    }

    /// A rebuilding was launched behind steps that have ended elsewhere: it does nothing.
    fn forget(&mut self, rebuilding: Option<Rebuilding>) -> Result<(), EngineError> {
        if rebuilding.is_none() {
            return Ok(());
        }
        tracing::trace!("step {}: the rebuilding behind is left out", self.step);
        self.with_others().buffers.halt.clear(size_of::<u32>())
    }

    /// Takes over what the card has found and counted since the last time; it begins anew.
    pub(super) fn note_findings(&mut self) -> Result<RimControl, EngineError> {
        let found = self.rim_control()?;
        self.clear_rim_control()?;
        self.note(found)
    }

    /// The same of a kernel that reports to the host.
    pub(super) fn take_report(&mut self, asked: Asked) -> Result<Report, EngineError> {
        let report = self.with_others().reports.wait(asked)?;
        self.note(report.control)?;
        Ok(report)
    }

    fn note(&mut self, found: RimControl) -> Result<RimControl, EngineError> {
        if found.lost > 0 {
            let neighbor = self.with_others().domain.neighbors().nth(found.lost as usize - 1);
            return Err(EngineError::Cuda {
                what: "go on".into(),
                message: format!("rank {} sends no ghosts", neighbor.unwrap_or_default()),
            });
        }
        if found.first.fault != u64::MAX {
            self.read_control()?;
            let error = self.error_at(found.first.fault);
            self.with_others_mut().domain.note_fault(found.first.fault, error);
        }
        if found.first.stale != u64::MAX {
            self.with_others_mut().domain.note_stale(found.first.stale);
        }
        Ok(found)
    }

    /// What acts on the velocities within a launch, if the cards take steps by themselves: where kernels reach the
    /// neighbours' memory; for sums over the system in each step all ranks must be neighbours.
    fn peer_kind(&self) -> Option<Kind> {
        let all_are_neighbors = self.agrees();
        let kind = match self.stage.thermostat.map(|thermostat| thermostat.kind) {
            // Collisions come between launches.
            None | Some(plan::Thermostat::Andersen { .. }) => Kind::None,
            Some(plan::Thermostat::Langevin { .. }) => Kind::Langevin,
            Some(plan::Thermostat::NoseHoover { .. }) if all_are_neighbors => Kind::NoseHoover,
            Some(plan::Thermostat::Bussi { .. }) if all_are_neighbors => Kind::Bussi,
            Some(_) => return None,
        };
        self.with_others().writes_to_peers.then_some(kind)
    }

    /// Steps between collisions of an Andersen thermostat.
    fn collision_interval(&self) -> Option<u64> {
        match self.stage.thermostat?.kind {
            plan::Thermostat::Andersen { rate, .. } => {
                Some(andersen::interval(rate, self.plan.run.timestep))
            }
            _ => None,
        }
    }

    /// The first step from one on, at whose end particles collide with a bath.
    fn next_collision(&self, step: u64) -> Option<u64> {
        let first = self.stage.first_step;
        Some(first + (step - first).next_multiple_of(self.collision_interval()?))
    }

    fn collides_at(&self, step: u64) -> bool {
        self.next_collision(step) == Some(step)
    }

    /// What a rank has in place of a kernel that takes steps.
    pub(in crate::engine::cuda) fn kernel_among_others(
        &self,
        kernel: &'static str,
    ) -> &'static str {
        match (&self.domain, kernel) {
            (None, _) => kernel,
            (Some(with_others), _) if !with_others.writes_to_peers => "forces_of_region",
            (_, "advance_alone") => "advance_with_peers_alone",
            (_, "advance_wide") => "advance_with_peers_wide",
            (_, "advance_langevin") => "advance_with_peers_langevin",
            (_, "advance_global") => "advance_with_peers_global",
            _ => "advance_with_peers",
        }
    }

    /// Steps in one launch, in which the cards send each other the sites of ghosts. Returns what was found, or nothing if the
    /// rebuilding before has failed: no step was taken then.
    fn steps_with_peers(
        &mut self,
        stop: u64,
        end: End,
        kind: Kind,
        half_steps: &mut usize,
    ) -> Result<Option<Taken>, EngineError> {
        let degrees = self.degrees_of_freedom();
        let (seed, timestep) = (self.plan.system.seed, self.plan.run.timestep);
        let of_all = matches!(kind, Kind::NoseHoover | Kind::Bussi);
        let (_, bath) = Thermostat::new(&self.stage, seed, timestep, degrees, &self.species);
        let (steps, present) = (stop - self.step, self.with_others().present);
        if of_all {
            self.with_others_mut().launches += 1;
        }
        let (drifts, looks_after) = match end {
            End::Last { drifts } => (drifts, NEVER),
            // The drift to a step is behind those before it.
            End::Lists { from } => (false, from.saturating_sub(self.step + 1) as u32),
        };
        // What a bath has left is read before what comes next.
        let rebuilds = u64::from(looks_after) < steps && kind == Kind::None;
        let asked = self.with_others_mut().reports.ask();
        let launch = PeerLaunch {
            first_step: self.step,
            sequence: self.with_others().sequence,
            steps: steps as u32,
            present: present as u32,
            drifts: drifts.into(),
            names: u32::from(self.with_others().unnamed),
            number: self.with_others().launches,
            report: asked.number,
            looks_after,
            rebuilds: rebuilds.into(),
        };
        tracing::trace!("{launch:?}");
        let Geometry { kernel, blocks, threads } = self.geometry(kind);
        let kernel = self.kernels.kernel(self.kernel_among_others(kernel))?;
        let arguments = [argument(&launch), argument(&bath)];
        if of_all {
            self.lend_thermostat()?;
        }
        // SAFETY: the arguments are those of kernels/domain/advance.cu; the buffers have room for all places.
        unsafe { self.kernels.launch(kernel, blocks, threads, true, &arguments)? };
        if let Some(rebuilding) = self.with_others_mut().under_way.take()
            && !self.complete(rebuilding)?
        {
            self.take_report(asked)?;
            return Ok(None);
        }
        let rebuilding = if rebuilds { Some(self.rebuild_with_peers(false)?) } else { None };
        let report = self.take_report(asked)?;
        let (steps, drifted) = (u64::from(report.control.steps), report.control.drifted != 0);
        self.with_others_mut().times.stepped(&report);
        if of_all {
            self.read_control()?;
            self.take_thermostat();
        } else {
            // The particles are in the other copy; each drift writes the other copy of the sites.
            self.control.copy ^= 1;
            self.control.site_copy ^= ((steps + u64::from(drifted)) & 1) as u32;
        }
        self.step += steps;
        if kind == Kind::Langevin {
            let completed = usize::from(present != Present::Forces);
            *half_steps += 2 * (steps as usize + completed) + usize::from(drifted);
        }
        let with_others = self.with_others_mut();
        (with_others.present, with_others.unnamed) = (Present::Forces, false);
        // Where the ranks look, sites are lent before.
        let lent = steps + u64::from(drifted && looks_after != NEVER);
        with_others.sequence += lent + u64::from(present == Present::OwnSites);
        Ok(Some(Taken { report, drifted, rebuilding }))
    }

    /// Steps in which the host has the sites of ghosts sent.
    fn steps_of_host(&mut self, stop: u64, half_steps: &mut usize) -> Result<(), EngineError> {
        self.set_changed_rim()?;
        self.over_particles("save_particles", &[])?;
        while self.step < stop {
            self.step_with_ghosts(half_steps)?;
        }
        self.over_particles("find_furthest", &[])
    }

    fn step_with_ghosts(&mut self, half_steps: &mut usize) -> Result<(), EngineError> {
        self.thermostat_half(0, half_steps)?;
        self.step += 1;
        let step = self.step;
        self.over_particles("kick_and_drift", &[argument(&step)])?;
        self.exchange_sites(|engine| engine.forces(Region::Interior, true))?;
        self.forces(Region::Boundary, true)?;
        self.thermostat_half(1, half_steps)
    }

    /// A step in which the lists are rebuilt. Where the cards take steps by themselves, its forces and second kick are
    /// left to these.
    fn rebuilding_step(&mut self) -> Result<(), EngineError> {
        let begin = Instant::now();
        let mut half_steps = 0;
        self.clear_heat(0)?;
        let drifts = self.with_others().present == Present::Forces;
        if drifts {
            self.thermostat_half(0, &mut half_steps)?;
            self.step += 1;
        }
        let step = self.step;
        tracing::trace!("rebuilding in step {step}");
        if self.with_others().writes_to_peers {
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
            self.over_particles("kick_and_drift", &[argument(&step)])?;
            self.migrate()?;
            self.rebuild_with_ghosts()?;
            self.with_others_mut().rebuilding += begin.elapsed().as_nanos() as i64;
        }
        if self.peer_kind().is_some() {
            self.with_others_mut().present = Present::AllSites;
            return Ok(());
        }
        self.forces(Region::Everywhere, true)?;
        self.thermostat_half(1, &mut half_steps)?;
        self.collect_heat(half_steps)?;
        self.note_findings().map(drop)
    }

    /// Makes room for the heat of half steps from a number on.
    fn clear_heat(&self, first: usize) -> Result<(), EngineError> {
        match self.stage.thermostat.map(|thermostat| thermostat.kind) {
            Some(plan::Thermostat::Langevin { .. }) => {
                let bytes = [first, HALF_STEPS].map(|half_step| half_step * size_of::<SplitSum>());
                self.with_others().buffers.heat.fill(bytes[0]..bytes[1], 0)
            }
            _ => Ok(()),
        }
    }

    /// Sends the sites of what is lent, and takes those of ghosts.
    fn exchange_sites(
        &mut self,
        meanwhile: impl FnOnce(&mut Self) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let rim = &self.with_others().rim;
        let (lent, ghosts) = (rim.lent, rim.ghosts);
        self.over(lent, "pack_sites", &[])?;
        let site = self.widths.site * self.widths.site_stride();
        self.exchange(&self.lengths(site), meanwhile)?;
        let half = self.with_others().half;
        self.over(ghosts, "take_sites", &[argument(&half)])
    }

    fn forces(&self, region: Region, kick: bool) -> Result<(), EngineError> {
        let (region, kick, step) = (region as u32, u32::from(kick), self.step);
        let lanes = self.system.count << self.shape.lanes_log2;
        let arguments = [argument(&region), argument(&kick), argument(&step)];
        self.over(lanes, "forces_of_region", &arguments)
    }

    /// Forces of all particles, as they are needed before a first step.
    pub(super) fn forces_everywhere(&mut self) -> Result<(), EngineError> {
        self.write_control()?;
        self.clear_rim_control()?;
        self.forces(Region::Everywhere, false)?;
        self.note_findings().map(drop)
    }

    /// Whether changes of velocities between steps went well on all ranks.
    ///
    /// # Errors
    /// That of a rank where one did not.
    pub(in crate::engine::cuda) fn verify_changes(&mut self) -> Result<(), EngineError> {
        if self.domain.is_none() {
            return Ok(());
        }
        let found = self.read_control();
        self.or_end_all(found)?;
        if self.control.status != status::DONE {
            let error = self.error();
            let step = self.step;
            self.with_others_mut().domain.note_fault(step, error);
        }
        let cleared = self.clear_rim_control();
        self.or_end_all(cleared)?;
        self.verify_now()
    }

    fn go_back(&mut self, saved: Saved) -> Result<(), EngineError> {
        tracing::debug!("lists were too old before step {}: back to {}", self.step, saved.step);
        self.with_others_mut().repeated += self.step - saved.step;
        self.step = saved.step;
        self.thermostat = saved.thermostat;
        let domain = &mut self.with_others_mut().domain;
        domain.heat.truncate(saved.heats);
        domain.forget_after(saved.step);
        self.set_changed_rim()?;
        if self.control.copy == saved.copy {
            // The host led: what was saved is in the other copy.
            self.write_control()?;
            self.over_particles("restore_particles", &[])?;
        } else {
            self.control.copy = saved.copy;
            self.write_control()?;
            self.over_particles("renew_sites", &[])?;
        }
        self.exchange_sites(|_| Ok(()))?;
        self.with_others_mut().present = match saved.present {
            Present::Forces => {
                self.forces(Region::Everywhere, false)?;
                Present::Forces
            }
            Present::AllSites | Present::OwnSites => Present::AllSites,
        };
        // Neighbours may rebuild at once, and write their next messages over those that are read here.
        self.session.wait()?;
        self.with_others_mut().domain.largest([0]);
        Ok(())
    }

    /// What a thermostat does before a step's drift (`half` 0) and at its end (1).
    fn thermostat_half(&mut self, half: u64, half_steps: &mut usize) -> Result<(), EngineError> {
        let Some(thermostat) = self.stage.thermostat else { return Ok(()) };
        let timestep = self.plan.run.timestep;
        match thermostat.kind {
            plan::Thermostat::NoseHoover { .. } => {
                let kinetic2 = self.kinetic2()?;
                let degrees = self.degrees_of_freedom();
                let chain = self.stage.chain(self.step, degrees).expect("a chain");
                let factor = chain.half_step(&mut self.thermostat, kinetic2, timestep);
                self.scale_all(factor)
            }
            plan::Thermostat::Langevin { .. } => {
                let degrees = self.degrees_of_freedom();
                let seed = self.plan.system.seed;
                let (_, bath) =
                    Thermostat::new(&self.stage, seed, timestep, degrees, &self.species);
                let heat = &self.with_others().buffers.heat;
                let to = heat.pointer() + (*half_steps * size_of::<SplitSum>()) as u64;
                *half_steps += 1;
                let step = self.step;
                let arguments = [argument(&bath), argument(&step), argument(&half), argument(&to)];
                self.over_particles("langevin_half_step", &arguments)
            }
            _ if half == 0 => Ok(()),
            plan::Thermostat::Andersen { exact, .. } => {
                if self.collides_at(self.step) {
                    let temperature = self.stage.bath_temperature(&thermostat, self.step);
                    let purpose = Purpose::AndersenVelocity;
                    self.draw_boltzmann_velocities(temperature, exact, purpose)?;
                }
                Ok(())
            }
            plan::Thermostat::Bussi { time } => {
                let kinetic2 = self.kinetic2()?;
                let factor = bussi::factor(
                    kinetic2,
                    self.degrees_of_freedom(),
                    self.stage.bath_temperature(&thermostat, self.step),
                    time,
                    timestep,
                    self.plan.system.seed,
                    self.step,
                );
                self.scale_all(factor)?;
                self.thermostat.heat += 0.5 * kinetic2 * (factor * factor - 1.0);
                Ok(())
            }
        }
    }

    /// Takes over the heat of so many half steps of a bath, until all ranks sum it up.
    fn collect_heat(&mut self, half_steps: usize) -> Result<(), EngineError> {
        if half_steps == 0 {
            return Ok(());
        }
        let sums = self.with_others().buffers.heat.read::<SplitSum>(half_steps)?;
        let heat = sums.into_iter().map(|sum| ExactSum::from_units(sum.units()));
        self.with_others_mut().domain.heat.extend(heat);
        Ok(())
    }

    /// What the card has met at a step.
    fn error_at(&self, step: u64) -> EngineError {
        match (self.control.status, self.error()) {
            (_, EngineError::TooClose { first, second, distance, precision, .. }) => {
                EngineError::TooClose { step, first, second, distance, precision }
            }
            (_, EngineError::Runaway { particle, position, velocity, .. }) => {
                EngineError::Runaway { step, particle, position, velocity }
            }
            (status::DONE, _) => unreachable!("an error was seen"),
            (_, EngineError::OutOfRange { quantity, particle, .. }) => {
                EngineError::OutOfRange { step, quantity, particle }
            }
            (_, error) => error,
        }
    }

    /// Ends all ranks on an error that only this one has met: no rank could go on. Does nothing where there are no others.
    pub(in crate::engine::cuda) fn or_end_all<T>(
        &self,
        result: Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        if let (
            Some(with_others),
            Err(
                error @ (EngineError::Cuda { .. }
                | EngineError::CardLost { .. }
                | EngineError::OutOfDeviceMemory { .. }),
            ),
        ) = (&self.domain, &result)
        {
            tracing::error!("rank {}: {error}", with_others.domain.rank());
            with_others.domain.communicator().abort();
        }
        result
    }
}
