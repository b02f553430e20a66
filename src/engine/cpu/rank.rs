//! The particles of one domain among others; see [`crate::engine::domain`].
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

use super::chunk::{CHUNK, Chunk};
use super::engine::CpuEngine;
use super::expected_sites::Outlook;
use super::gather::{STRIDE, Sites};
use super::processor::Processor;
use super::stepper::{MultiRank, Stepper};
use crate::arithmetic::Real;
use crate::engine::barostat::PairSums;
use crate::engine::domain::{Communicator, Domain, Part, RankEngine, Start};
use crate::engine::precision::{Policy, in_precision};
use crate::engine::swaps::SwapRound;
use crate::engine::thermostats::{begin_step, end_step, kicks_at_end, scale_velocities};
use crate::engine::{EngineError, EngineReport, StageContext, Thermodynamics, skin};
use crate::integrator::ThermostatState;
use crate::plan::Plan;
use crate::system::SimulationBox;

/// The engine of a rank of a plan on CPUs, holding some of the particles of a state. Collective.
///
/// # Errors
/// If its threads cannot be started, or the box is too small for this number of ranks; all ranks fail together.
pub fn create_on_rank(
    plan: &Plan,
    start: &Start,
    part: &Part,
    ranks: Arc<dyn Communicator>,
) -> Result<Box<dyn RankEngine>, EngineError> {
    Ok(in_precision!(plan.run.precision, |P| {
        Box::new(CpuEngine::<P, MultiRank>::on_rank(plan, start, part, ranks)?)
    }))
}

/// What the steps since the last verification have changed, as it was before them.
struct Saved<P: Policy> {
    step: u64,
    tilt: f64,
    chunks: Vec<Moving<P>>,
    thermostat: ThermostatState,
    /// Half steps of a thermostat.
    heats: usize,
}

struct Moving<P: Policy> {
    position: [Vec<P::Coordinate>; 3],
    image: [Vec<i32>; 3],
    velocity: [Vec<P::Velocity>; 3],
    force: [Vec<P::Force>; 3],
}

/// Threads of a rank: its share of the cores that it and others of its host are bound to. Collective.
pub fn threads_of_rank(communicator: &dyn Communicator) -> usize {
    let read = |file| std::fs::read_to_string(file).unwrap_or_default();
    let status = read("/proc/self/status");
    let bound_to = status.lines().find(|line| line.starts_with("Cpus_allowed_list"));
    let cores = format!("{} {}", read("/proc/sys/kernel/hostname"), bound_to.unwrap_or_default());
    let allowed = std::thread::available_parallelism().map_or(1, usize::from);
    (allowed / communicator.place_among(&cores).1).max(1)
}

impl<P: Policy> CpuEngine<P, MultiRank> {
    /// The engine of a rank with some of the particles of a state. Collective.
    pub fn on_rank(
        plan: &Plan,
        start: &Start,
        part: &Part,
        communicator: Arc<dyn Communicator>,
    ) -> Result<Self, EngineError> {
        let skin = skin::on_cpus(plan);
        let total = plan.system.particle_count();
        let reach = plan.reach(skin);
        let threads = plan.run.threads.unwrap_or_else(|| threads_of_rank(&*communicator));
        let mut domain = Domain::new(communicator, start, total, reach)?;
        let bounds = std::array::from_fn(|axis| domain.grid().bounds(domain.rank(), axis));
        let processor = domain.all_or_none(start.step, Processor::new(threads))?;
        let stepper = MultiRank { domain, stepping: [0; 2], repeated: 0 };
        let mut engine = Self::empty(plan, start, skin, processor, bounds, stepper);
        engine.check_tilt()?;
        if start.takes_tilts {
            engine.neighbor_lists.widen(&start.simulation_box, total);
        }
        engine.state.load(Chunk::all_of(part));
        engine.parallel(|engine| engine.make_all_anew())?;
        Ok(engine)
    }

    /// Domains, lists and forces of the present positions, between steps.
    fn make_all_anew(&mut self) -> Result<(), EngineError> {
        self.rebuild(Outlook::NONE)?;
        let done = self.compute_forces(false, &|_| true);
        self.unless_noted(done)?;
        self.verify_now()
    }

    /// Takes steps, with all ranks.
    pub(super) fn advance_multi_rank(&mut self, steps: u64) -> Result<(), EngineError> {
        let start = Instant::now();
        let waited = self.stepper.domain.waited();
        let result = self.parallel(|engine| {
            if engine.has_piston() {
                return engine.steps_with_piston(steps);
            }
            let end = engine.state.step + steps;
            let mut verified = true;
            while engine.state.step < end || !verified {
                let step = engine.state.step;
                if step < end && engine.rebuilds_in_next_step() {
                    engine.rebuilding_step()?;
                    verified = false;
                } else {
                    let stop = engine.stepper.domain.schedule.verify_at(step).min(end);
                    engine.steps_to(stop)?;
                    verified = true;
                }
            }
            Ok(())
        });
        self.stepper.stepping[0] += start.elapsed().as_nanos() as i64;
        self.stepper.stepping[1] += self.stepper.domain.waited() - waited;
        result
    }

    /// Steps in which a piston moves the box. All ranks meet in each of them for its sums, and so agree at once on lists to be rebuilt.
    fn steps_with_piston(&mut self, steps: u64) -> Result<(), EngineError> {
        for _ in 0..steps {
            let (of_step, needs_rebuild) = self.begin_under_piston()?;
            if self.stepper.domain.largest_unless_fault(needs_rebuild.into())? > 0 {
                self.stepper.domain.set_box(self.state.simulation_box(), self.state.step)?;
                self.neighbor_lists.fit_cells(self.state.simulation_box());
                self.rebuild(self.outlook())?;
            }
            self.forces_with_ghosts(true)?;
            self.end_under_piston(&of_step)?;
            self.verify_now()?;
        }
        // Lists were made in another box than steps without a piston foresee.
        self.stepper.domain.schedule.needs_rebuild(self.state.step + 1);
        Ok(())
    }

    /// Whether the lists are to be rebuilt in the coming step, or the box is flipped in it: particles then change domains.
    fn rebuilds_in_next_step(&self) -> bool {
        let next = self.state.step + 1;
        self.stepper.domain.schedule.rebuilds_in(next) || self.flips_in_next_step()
    }

    /// Takes steps with the present lists, up to one or to a flip of the box, and verifies that these were good; else goes back
    /// to where it began, with the lists to be rebuilt at the right step.
    fn steps_to(&mut self, stop: u64) -> Result<(), EngineError> {
        let saved = self.saved();
        while self.state.step < stop && !self.flips_in_next_step() {
            if let Err(error) = self.step_with_ghosts() {
                // All ranks have met it.
                let step = self.state.step;
                self.stepper.domain.note_fault(step, error);
                break;
            }
        }
        let moved2 = self.maximum_displacement2();
        let verdict = self.stepper.domain.verify(moved2);
        if let Some(needs_rebuild) = verdict.needs_rebuild
            && verdict.fault.is_none()
        {
            self.go_back(saved);
            self.stepper.domain.schedule.needs_rebuild(needs_rebuild);
            return Ok(());
        }
        if let Some((_, error)) = verdict.fault {
            return Err(error);
        }
        for heat in self.stepper.domain.take_heat() {
            self.thermostat.heat += heat;
        }
        let used = self.neighbor_lists.share_used(verdict.moved2, self.state.policy().slope());
        self.stepper.domain.schedule.compared(self.state.step, used);
        Ok(())
    }

    /// Whether no rank has met an error, outside of steps.
    fn verify_now(&mut self) -> Result<(), EngineError> {
        self.stepper.domain.verify(0.0).fault.map_or(Ok(()), |(_, error)| Err(error))
    }

    /// # Errors
    /// Those that all ranks meet together; others are noted.
    fn step_with_ghosts(&mut self) -> Result<(), EngineError> {
        if begin_step(self)? {
            let step = self.state.step;
            self.stepper.domain.note_needs_rebuild(step);
        }
        self.forces_with_ghosts(!kicks_at_end(&self.stage))?;
        end_step(self)
    }

    /// Forces in a step, as ghosts come, with `kick` followed by `v += F dt/2m`.
    ///
    /// # Errors
    /// Those that all ranks meet together; others are noted.
    fn forces_with_ghosts(&mut self, kick: bool) -> Result<(), EngineError> {
        let (own, dimension) = (self.state.count(), self.state.dimension());
        let (policy, chunks, sites) = self.state.split();
        let interior = self.force_field.pass(policy, dimension, kick);
        let domain = &mut self.stepper.domain;
        let mut too_close = false;
        domain.exchange_sites::<P, STRIDE>(sites, own, |sites| {
            too_close = interior.over(chunks, sites, &|chunk| chunk.interior);
        });
        if too_close {
            let error = self.find_too_close();
            self.unless_noted::<()>(Err(error))?;
        }
        let boundary = self.compute_forces(kick, &|chunk| !chunk.interior);
        self.unless_noted(boundary)
    }

    /// A step in which the lists are rebuilt.
    fn rebuilding_step(&mut self) -> Result<(), EngineError> {
        begin_step(self)?;
        self.rebuild(self.outlook())?;
        self.forces_with_ghosts(!kicks_at_end(&self.stage))?;
        end_step(self)
    }

    /// Squared displacement of the furthest particle since the lists were built.
    fn maximum_displacement2(&self) -> f64 {
        let of_chunk = |chunk: &Chunk<P>| {
            chunk.moved2.iter().map(|moved2| moved2.to_f64()).fold(0.0, f64::max)
        };
        self.state.chunks.par_iter().map(of_chunk).reduce(|| 0.0, f64::max)
    }

    fn saved(&self) -> Saved<P> {
        Saved {
            step: self.state.step,
            tilt: self.state.policy().slope().tilt,
            chunks: self
                .state
                .chunks
                .par_iter()
                .map(|chunk| Moving {
                    position: chunk.position.clone(),
                    image: chunk.image.clone(),
                    velocity: chunk.velocity.clone(),
                    force: chunk.force.clone(),
                })
                .collect(),
            thermostat: self.thermostat.clone(),
            heats: self.stepper.domain.heat.len(),
        }
    }

    fn go_back(&mut self, saved: Saved<P>) {
        for (chunk, moving) in self.state.chunks.iter_mut().zip(saved.chunks) {
            chunk.position = moving.position;
            chunk.image = moving.image;
            chunk.velocity = moving.velocity;
            chunk.force = moving.force;
        }
        self.stepper.repeated += self.state.step - saved.step;
        self.state.step = saved.step;
        self.set_tilt(saved.tilt);
        self.thermostat = saved.thermostat;
        let domain = &mut self.stepper.domain;
        domain.heat.truncate(saved.heats);
        domain.forget_after(saved.step);
    }

    /// Hands particles over to the domains in which they are expected, and makes lists around those sites.
    fn rebuild(&mut self, outlook: Outlook) -> Result<(), EngineError> {
        self.migrate(outlook)?;
        self.rebuild_with_ghosts(outlook);
        Ok(())
    }

    /// Sorts the particles, chooses ghosts, and builds the lists. No ghosts are held before; after, their sites are those that lists
    /// are made around, as long as no others have been exchanged.
    fn rebuild_with_ghosts(&mut self, outlook: Outlook) {
        let mut around = self.state.reference();
        if self.neighbor_lists.begin_rebuild() {
            let sorted = self.neighbor_lists.sorted(&self.state, &around, self.stepper.ghosts());
            let old = std::mem::take(&mut self.state.chunks);
            self.state.gather(&sorted.place, &old);
            around = self.state.reference();
        }
        self.choose_ghosts(&mut around);
        self.stepper.domain.schedule.rebuilt(self.state.step, outlook.steps());
        let (set, ghosts) = (self.processor.instruction_set(), self.stepper.ghosts());
        self.state.give_diameters_to_ghosts(&mut around, ghosts.0);
        let own = self.state.count();
        self.state.sites.extend_from_slice(&around[own..]);
        let sorted = self.neighbor_lists.sorted(&self.state, &around, ghosts);
        self.neighbor_lists.build(set, &mut self.state, &around, ghosts, &sorted);
    }

    /// Chooses ghosts by these sites of the particles here, which those of this rank's ghosts are appended to.
    fn choose_ghosts(&mut self, around: &mut Sites<P>) {
        let state = &self.state;
        let (policy, dimension) = (state.policy(), state.dimension());
        let position = |site: &[P::Site; STRIDE]| {
            let along = |axis: usize| policy.site_to_f64(site[axis], axis);
            std::array::from_fn(|axis| if axis < dimension { along(axis) } else { 0.0 })
        };
        let positions: Vec<[f64; 3]> = around.iter().map(position).collect();
        let slope = state.simulation_box().slope();
        let describe = |place: u32| {
            let (chunk, i) = (&state.chunks[place as usize / CHUNK], place as usize % CHUNK);
            (chunk.id[i], chunk.species[i])
        };
        self.stepper.domain.choose_ghosts::<P, STRIDE>(&positions, slope, describe, around);
    }
}

impl<P: Policy> RankEngine for CpuEngine<P, MultiRank> {
    fn step(&self) -> u64 {
        self.state.step
    }

    fn begin_stage(&mut self, stage: &StageContext) -> Result<(), EngineError> {
        self.enter_stage(stage);
        self.take_flow(stage)
    }

    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        self.advance_multi_rank(steps)
    }

    fn thermodynamics(&mut self) -> Result<Thermodynamics, EngineError> {
        self.parallel(|engine| engine.measure())
    }

    fn draw_velocities(&mut self, temperature: f64, exactly: bool) -> Result<(), EngineError> {
        self.draw_first_velocities(temperature, exactly)?;
        self.verify_now()
    }

    fn scale_velocities(&mut self, factor: f64) -> Result<(), EngineError> {
        self.parallel(|engine| scale_velocities(engine, factor))?;
        self.verify_now()
    }

    fn reverse_velocities(&mut self) -> Result<(), EngineError> {
        self.state.negate_velocities();
        Ok(())
    }

    fn take_swaps(&mut self, round: &SwapRound) -> Result<(), EngineError> {
        round.count_in(&mut self.thermostat);
        self.state.take_round(round);
        self.piston.forget_virial();
        self.parallel(|engine| engine.make_all_anew())
    }

    fn pair_sums(&mut self) -> Result<PairSums, EngineError> {
        self.parallel(|engine| engine.energy_and_virial())
    }

    fn count_volume_trial(&mut self, accepted: Option<f64>) {
        self.thermostat.count_volume_trial(accepted);
    }

    fn simulation_box(&self) -> SimulationBox {
        *self.state.simulation_box()
    }

    fn part(&self) -> Result<Part, EngineError> {
        Ok(self.state.part())
    }

    fn part_forces(&self) -> Result<Vec<[f64; 3]>, EngineError> {
        Ok(self.state.forces())
    }

    fn thermostat(&self) -> &ThermostatState {
        &self.thermostat
    }

    fn nanoseconds(&self) -> [i64; 2] {
        self.stepper.stepping
    }

    fn report(&self) -> EngineReport {
        let mut report = self.common_report();
        report.execution.steps_repeated = Some(self.stepper.repeated);
        report
    }
}
