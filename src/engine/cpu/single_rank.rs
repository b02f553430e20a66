//! A whole system on this processor.
use super::chunk::{CHUNK, Chunk};
use super::engine::CpuEngine;
use super::expected_sites::Outlook;
use super::processor::Processor;
use super::stepper::{SingleRank, Stepper};
use super::volumes::Trying;
use crate::engine::barostat::take_trial;
use crate::engine::cells::WHOLE;
use crate::engine::domain::{Part, Start};
use crate::engine::precision::Policy;
use crate::engine::report::EngineReport;
use crate::engine::thermostats::{begin_step, end_step, kicks_at_end, scale_velocities};
use crate::engine::{
    Engine, EngineError, ExactState, MemoryLayout, Pending, PendingSnapshot, PendingState,
    StageContext, Thermodynamics, skin,
};
use crate::plan::Plan;
use crate::system::{SimulationBox, Snapshot};

impl<P: Policy> CpuEngine<P> {
    pub fn new(plan: &Plan, state: &ExactState) -> Result<Self, EngineError> {
        Self::on(Processor::new(plan.run.threads.unwrap_or(0))?, plan, state)
    }

    /// On given threads.
    pub fn on(processor: Processor, plan: &Plan, state: &ExactState) -> Result<Self, EngineError> {
        let expected = plan.system.particle_count();
        if state.position.len() != expected {
            return Err(EngineError::ParticleCount { found: state.position.len(), expected });
        }
        state.check_diameters(plan)?;
        assert_eq!(state.precision, P::PRECISION, "the state is converted before");
        // A GPU's skin would be slow here.
        let layout = state.memory.as_ref().filter(|memory| memory.threads_per_particle.is_none());
        let skin = plan.run.skin.or(layout.map(|memory| memory.skin));
        let skin = skin.unwrap_or_else(|| skin::on_cpus(plan));
        let start = Start::of_state(plan, state);
        let mut engine = Self::empty(plan, &start, skin, processor, WHOLE, SingleRank);
        // A layout made with another skin would not give its bits anyway.
        let layout = layout.filter(|memory| memory.skin == skin);
        engine.check_tilt()?;
        engine.load(state, layout);
        engine.parallel(|engine| {
            match layout {
                Some(memory) => engine.restore_lists(memory),
                None => engine.rebuild(),
            }
            engine.compute_forces(false, &|_| true)
        })?;
        Ok(engine)
    }

    pub(super) fn load(&mut self, state: &ExactState, layout: Option<&MemoryLayout>) {
        let ids: Vec<u32> = match layout {
            Some(memory) => memory.order.clone(),
            None => (0..state.position.len() as u32).collect(),
        };
        let chunk = |ids| Chunk::all_of(&Part::of_state(state, ids));
        self.state.load(ids.chunks(CHUNK).flat_map(chunk).collect());
    }

    /// Sorts particles in memory where it is due, and builds the lists anew, around present sites.
    pub(super) fn rebuild(&mut self) {
        self.rebuild_with(Outlook::NONE);
    }

    /// The same in a step: velocities and the forces of the pass before say where particles are expected.
    pub(super) fn rebuild_in_step(&mut self) {
        self.rebuild_with(self.outlook());
    }

    fn rebuild_with(&mut self, outlook: Outlook) {
        let set = self.processor.instruction_set();
        self.neighbor_lists.rebuild(set, &mut self.state, self.stepper.ghosts(), outlook);
    }

    /// The lists of a checkpoint: made around the sites of their last building.
    fn restore_lists(&mut self, memory: &MemoryLayout) {
        let set = self.processor.instruction_set();
        self.neighbor_lists.restore(set, &mut self.state, self.stepper.ghosts(), memory);
    }

    /// The same particles as they are in a box with other edges; without lists and forces.
    ///
    /// # Errors
    /// The particle whose velocity does not fit.
    pub(super) fn in_box_of(&self, state: Result<ExactState, usize>) -> Result<Self, EngineError> {
        let state =
            state.map_err(|particle| EngineError::velocity_range(self.state.step, particle))?;
        let simulation_box = state.simulation_box;
        let (step, thermostat) = (self.state.step, self.thermostat.clone());
        let diameter = self.state.diameters().to_vec();
        let takes_tilts = self.plan.takes_tilts(&simulation_box);
        let pistons = self.plan.pistons();
        let start = Start { step, simulation_box, takes_tilts, pistons, thermostat, diameter };
        let skin = self.neighbor_lists.skin();
        let mut engine =
            Self::empty(&self.plan, &start, skin, self.processor.clone(), WHOLE, SingleRank);
        engine.stage = self.stage.clone();
        engine.neighbor_lists.set_rebuilds(self.neighbor_lists.rebuilds());
        engine.load(&state, None);
        engine.enter_flow(&self.stage)?;
        Ok(engine)
    }

    fn step_once(&mut self) -> Result<(), EngineError> {
        if begin_step(self)? {
            self.rebuild_in_step();
        }
        self.compute_forces(!kicks_at_end(&self.stage), &|_| true)?;
        end_step(self)
    }
}

impl<P: Policy> Engine for CpuEngine<P> {
    fn step(&self) -> u64 {
        self.state.step
    }

    fn begin_stage(&mut self, stage: &StageContext) -> Result<(), EngineError> {
        self.enter_stage(stage);
        self.enter_flow(stage)
    }

    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        self.parallel(|engine| {
            for _ in 0..steps {
                match engine.has_piston() {
                    true => engine.step_with_piston()?,
                    false => engine.step_once()?,
                }
                let (key, step) = (engine.plan.system.random_key(), engine.state.step);
                let trials = engine.stage.swap_trials(key, step, engine.state.count());
                if let Some(trials) = trials {
                    engine.swap(&trials)?;
                    engine.piston.forget_virial();
                }
                if engine.stage.barostat.is_some() {
                    take_trial(&mut Trying { engine, other: None })?;
                }
            }
            Ok(())
        })
    }

    fn thermodynamics(&mut self) -> Result<Thermodynamics, EngineError> {
        self.parallel(|engine| engine.measure())
    }

    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        Ok(self.copied().snapshot())
    }

    fn begin_snapshot(&mut self) -> Result<PendingSnapshot, EngineError> {
        let copied = self.copied();
        Ok(Pending::new(move || Ok(copied.snapshot())))
    }

    fn begin_export(&mut self) -> Result<PendingState, EngineError> {
        let (copied, layout) = (self.copied(), self.copied_layout());
        Ok(Pending::new(move || Ok(copied.state(&layout))))
    }

    fn forces(&self) -> Result<Vec<[f64; 3]>, EngineError> {
        Ok(self.forces_by_id())
    }

    fn export(&self) -> Result<ExactState, EngineError> {
        Ok(self.copied().state(&self.copied_layout()))
    }

    fn draw_velocities(&mut self, temperature: f64, exactly: bool) -> Result<(), EngineError> {
        self.draw_first_velocities(temperature, exactly)
    }

    fn scale_velocities(&mut self, factor: f64) -> Result<(), EngineError> {
        self.parallel(|engine| scale_velocities(engine, factor))
    }

    fn reverse_velocities(&mut self) -> Result<(), EngineError> {
        self.state.negate_velocities();
        Ok(())
    }

    fn simulation_box(&self) -> SimulationBox {
        *self.state.simulation_box()
    }

    fn set_box(&mut self, simulation_box: SimulationBox) -> Result<(), EngineError> {
        let state = self.export()?.in_box(simulation_box, self.state.species());
        let mut engine = self.in_box_of(state)?;
        engine.parallel(|engine| {
            engine.rebuild();
            engine.compute_forces(false, &|_| true)
        })?;
        *self = engine;
        Ok(())
    }

    fn report(&self) -> EngineReport {
        self.common_report()
    }
}
