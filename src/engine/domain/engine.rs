use std::sync::Arc;

use super::create::rank_engine;
use super::ranks::Order;
use super::volumes::Trying;
use super::{Communicator, DomainGrid, Part, RankEngine, Ranks, Start};
use crate::engine::barostat::take_trial;
use crate::engine::cpu;
use crate::engine::precision::{Double, DoubleSingles, FixedPoint, Policy, Single};
use crate::engine::report::{EngineReport, RanksReport};
use crate::engine::skin::{self, Processor};
use crate::engine::{
    Engine, EngineError, ExactState, Pending, PendingSnapshot, PendingState, StageContext,
    Thermodynamics,
};
use crate::integrator::ThermostatState;
use crate::plan::{CheckpointPlan, Plan, Precision, RunPlan};
use crate::system::{SimulationBox, Snapshot, Species};

/// A system on several ranks, led by this one: every verb is an order to all of them.
pub struct DomainEngine {
    pub(super) ranks: Ranks,
    /// Its box has the present edges.
    pub(super) plan: Plan,
    pub(super) stage: Option<StageContext>,
    /// Takes swap trials, where the stage has some.
    processor: Option<cpu::Processor>,
    pub(super) own: Box<dyn RankEngine>,
    grid: DomainGrid,
    /// Domains are those of a box that has a tilt, or will have one.
    takes_tilts: bool,
    /// What is the same for all states of the run; no particles.
    empty: ExactState,
    particles: usize,
    species: Vec<Species>,
}

impl DomainEngine {
    /// Hands out the particles of a state.
    ///
    /// # Errors
    /// If there is only one rank's room in the box, or the state does not fit the precision.
    ///
    /// # Panics
    /// If rank 0 is alone.
    pub fn new(plan: &Plan, state: &ExactState, ranks: &Ranks) -> Result<Self, EngineError> {
        Self::for_tilts(plan.takes_tilts(&state.simulation_box), plan, state, ranks)
    }

    /// The same with domains for a box that takes tilts, or does not.
    fn for_tilts(
        takes_tilts: bool,
        plan: &Plan,
        state: &ExactState,
        ranks: &Ranks,
    ) -> Result<Self, EngineError> {
        let expected = plan.system.particle_count();
        if state.position.len() != expected {
            return Err(EngineError::ParticleCount { found: state.position.len(), expected });
        }
        state.check_diameters(plan)?;
        let communicator = ranks.communicator().expect("several ranks");
        let processor = Processor::of(plan.run.engine);
        let (simulation_box, count) = (&state.simulation_box, ranks.count());
        let shared = skin::Shared { plan, simulation_box, takes_tilts, ranks: count, processor };
        let (grid, _) = shared.domains()?;
        let start = Start { takes_tilts, ..Start::of_state(plan, state) };
        // What engines do not read may hold infinities, which an order cannot.
        let of_engines = Plan {
            stages: Vec::new(),
            checkpoint: CheckpointPlan { minutes: 0.0 },
            run: RunPlan { skin: Some(shared.skin()), ..plan.run.clone() },
            ..plan.clone()
        };
        ranks.order(&Order::Create(Box::new(of_engines.clone()), start.clone()));
        let ids_of = ids_of_ranks(plan, state, &grid);
        for (rank, ids) in ids_of.iter().enumerate().skip(1) {
            communicator.send(rank, &Part::of_state(state, ids).to_bytes());
        }
        let part = Part::of_state(state, &ids_of[0]);
        let own = rank_engine(&of_engines, &start, &part, Arc::clone(communicator))?;
        let empty = ExactState {
            species_of: Vec::new(),
            diameter: state.diameter.clone(),
            position: Vec::new(),
            image: Vec::new(),
            velocity: Vec::new(),
            memory: None,
            precision: state.precision,
            simulation_box: state.simulation_box,
            timestep: plan.run.flight(),
            step: state.step,
            thermostat: ThermostatState::default(),
        };
        let species = plan.system.species.clone();
        let (ranks, plan) = (ranks.clone(), plan.clone());
        Ok(DomainEngine {
            ranks,
            plan,
            stage: None,
            processor: None,
            own,
            grid,
            takes_tilts,
            empty,
            particles: expected,
            species,
        })
    }

    fn communicator(&self) -> &dyn Communicator {
        self.ranks.communicator().expect("several ranks").as_ref()
    }

    /// What all ranks have sent in answer to an order, this one's bytes first.
    fn collect(&self, own: Vec<u8>) -> Vec<Vec<u8>> {
        let others = 1..self.ranks.count();
        std::iter::once(own).chain(others.map(|rank| self.communicator().receive(rank))).collect()
    }

    /// The present state, of which the particles are still bytes: another thread may put them in their places.
    fn collected(
        &self,
    ) -> Result<impl FnOnce() -> Result<ExactState, EngineError> + Send + use<>, EngineError> {
        self.ranks.order(&Order::Parts);
        let parts = self.collect(self.own.part()?.to_bytes());
        let count = self.particles;
        let mut state = ExactState {
            step: self.own.step(),
            simulation_box: self.simulation_box(),
            thermostat: self.thermostat(),
            ..self.empty.clone()
        };
        Ok(move || {
            state.species_of = vec![0; count];
            state.position = vec![[0; 3]; count];
            state.image = vec![[0; 3]; count];
            state.velocity = vec![[0; 3]; count];
            let mut found = 0;
            for bytes in parts {
                let part = Part::from_bytes(&bytes);
                found += part.count();
                part.write_to(&mut state);
            }
            if found == count {
                Ok(state)
            } else {
                Err(EngineError::ParticleCount { found, expected: count })
            }
        })
    }

    /// Takes another state, in the box that it has: all ranks get their particles anew.
    pub(super) fn replace(&mut self, state: &ExactState) -> Result<(), EngineError> {
        let mut plan = self.plan.clone();
        plan.system.simulation_box = state.simulation_box;
        let stage = self.stage.take();
        let takes_tilts = self.takes_tilts || plan.takes_tilts(&state.simulation_box);
        *self = DomainEngine::for_tilts(takes_tilts, &plan, state, &self.ranks.clone())?;
        stage.map_or(Ok(()), |stage| self.begin_stage(&stage))
    }

    fn thermostat(&self) -> ThermostatState {
        self.own.thermostat().clone()
    }

    /// Takes the trials that follow the present step, if some are due: here, where all particles come together for them.
    fn take_swaps(&mut self) -> Result<(), EngineError> {
        let (key, step) = (self.plan.system.random_key(), self.step());
        let stage = self.stage.as_ref();
        let trials = stage.and_then(|stage| stage.swap_trials(key, step, self.particles));
        let Some(trials) = trials else { return Ok(()) };
        let state = self.export()?;
        let processor = self.processor.as_ref().expect("the stage has trials");
        let round = cpu::take_trials(processor, &self.plan, &state, &trials);
        if !state.diameter.is_empty() {
            self.empty.diameter = round.diameters_after(&state.diameter);
        }
        self.ranks.order(&Order::TakeSwaps(round.clone()));
        self.own.take_swaps(&round)
    }
}

/// Ids of the particles in each rank's domain.
fn ids_of_ranks(plan: &Plan, state: &ExactState, grid: &DomainGrid) -> Vec<Vec<u32>> {
    fn of<P: Policy>(plan: &Plan, state: &ExactState, grid: &DomainGrid) -> Vec<Vec<u32>> {
        let policy = P::new(&state.simulation_box, plan.run.flight(), &plan.system.species);
        let mut ids_of = vec![Vec::new(); grid.total()];
        for (id, position) in state.position.iter().enumerate() {
            let site = std::array::from_fn(|axis| {
                policy.site(P::coordinate_from_bits(position[axis]), axis)
            });
            ids_of[grid.owner(&policy, site)].push(id as u32);
        }
        ids_of
    }
    match state.precision {
        Precision::Single => of::<Single>(plan, state, grid),
        Precision::DoubleSingle => of::<DoubleSingles>(plan, state, grid),
        Precision::Double => of::<Double>(plan, state, grid),
        Precision::FixedPoint => of::<FixedPoint>(plan, state, grid),
    }
}

impl Engine for DomainEngine {
    fn step(&self) -> u64 {
        self.own.step()
    }

    fn begin_stage(&mut self, stage: &StageContext) -> Result<(), EngineError> {
        self.processor = match stage.swap {
            // The other ranks wait meanwhile.
            Some(_) => Some(cpu::Processor::new(self.plan.run.threads.unwrap_or(0))?),
            None => None,
        };
        if stage.shear.is_some() && !self.takes_tilts {
            // One that the plan does not have.
            self.takes_tilts = true;
            self.replace(&self.export()?)?;
        }
        self.stage = Some(stage.clone());
        self.ranks.order(&Order::BeginStage(stage.clone()));
        self.own.begin_stage(stage)
    }

    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        let mut left = steps;
        while left > 0 {
            let step = self.step();
            let to_trials = self.stage.as_ref().map_or(left, |stage| stage.steps_to_trials(step));
            let part = left.min(to_trials);
            self.ranks.order(&Order::Advance(part));
            self.own.advance(part)?;
            let has_barostat = self.stage.as_ref().is_some_and(|stage| stage.barostat.is_some());
            if has_barostat {
                self.plan.system.simulation_box = self.own.simulation_box();
            }
            self.take_swaps()?;
            if has_barostat {
                take_trial(&mut Trying { engine: self, before: None })?;
            }
            left -= part;
        }
        Ok(())
    }

    fn thermodynamics(&mut self) -> Result<Thermodynamics, EngineError> {
        self.ranks.order(&Order::Thermodynamics);
        self.own.thermodynamics()
    }

    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        Ok(self.collected()?()?.to_snapshot(&self.species))
    }

    fn begin_snapshot(&mut self) -> Result<PendingSnapshot, EngineError> {
        let (collected, species) = (self.collected()?, self.species.clone());
        Ok(Pending::new(move || Ok(collected()?.to_snapshot(&species))))
    }

    fn begin_export(&mut self) -> Result<PendingState, EngineError> {
        Ok(Pending::new(self.collected()?))
    }

    fn forces(&self) -> Result<Vec<[f64; 3]>, EngineError> {
        self.ranks.order(&Order::Parts);
        let ids: Vec<Vec<u32>> = self
            .collect(self.own.part()?.to_bytes())
            .iter()
            .map(|bytes| Part::from_bytes(bytes).id)
            .collect();
        self.ranks.order(&Order::Forces);
        let own = self.own.part_forces()?;
        let bytes = own.as_flattened().iter().flat_map(|component| component.to_le_bytes());
        let mut all = vec![[0.0; 3]; self.particles];
        for (ids, bytes) in ids.iter().zip(self.collect(bytes.collect())) {
            let components: Vec<f64> =
                bytes.as_chunks::<8>().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
            for (&id, &force) in ids.iter().zip(components.as_chunks::<3>().0) {
                all[id as usize] = force;
            }
        }
        Ok(all)
    }

    fn export(&self) -> Result<ExactState, EngineError> {
        self.collected()?()
    }

    fn draw_velocities(&mut self, temperature: f64, exactly: bool) -> Result<(), EngineError> {
        self.ranks.order(&Order::DrawVelocities(temperature, exactly));
        self.own.draw_velocities(temperature, exactly)
    }

    fn scale_velocities(&mut self, factor: f64) -> Result<(), EngineError> {
        self.ranks.order(&Order::ScaleVelocities(factor));
        self.own.scale_velocities(factor)
    }

    fn reverse_velocities(&mut self) -> Result<(), EngineError> {
        self.ranks.order(&Order::ReverseVelocities);
        self.own.reverse_velocities()
    }

    fn simulation_box(&self) -> SimulationBox {
        self.own.simulation_box()
    }

    /// Domains are those of the new box: all ranks get their particles anew.
    fn set_box(&mut self, simulation_box: SimulationBox) -> Result<(), EngineError> {
        let state = self.export()?.in_box(simulation_box, &self.species);
        let state = state.map_err(|particle| EngineError::velocity_range(self.step(), particle))?;
        self.replace(&state)
    }

    /// That of rank 0, with the ranks and their domains.
    fn report(&self) -> EngineReport {
        self.ranks.order(&Order::Times);
        let mut times = self.own.nanoseconds();
        self.communicator().sum(&mut times);
        let [stepping, waiting] = times.map(|time| time as f64);
        let mut report = self.own.report();
        let communication = self.communicator().name();
        report.hardware.ranks = Some(RanksReport { ranks: self.ranks.count(), communication });
        let domains = &self.grid.count()[..self.simulation_box().dimension()];
        report.execution.domains = Some(domains.to_vec());
        let share = if stepping > 0.0 { waiting / stepping } else { 0.0 };
        report.execution.communication_share = Some(share);
        report
    }
}
