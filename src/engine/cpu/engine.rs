//! What engines of whole systems and of ranks have in common: their parts.
use super::chunk::Chunk;
use super::force_field::ForceField;
use super::neighbor_lists::NeighborLists;
use super::piston;
use super::processor::Processor;
use super::shear::Flow;
use super::state::State;
use super::stepper::{SingleRank, Stepper};
use crate::arithmetic::random::Purpose;
use crate::engine::domain::Start;
use crate::engine::precision::Policy;
use crate::engine::report::{DeviceReport, EngineReport, Execution, Hardware};
use crate::engine::thermostats::draw_velocities;
use crate::engine::{EngineError, StageContext};
use crate::integrator::ThermostatState;
use crate::plan::Plan;

/// Particles in one precision: all of a system ([`SingleRank`]), or those of a rank's domain
/// ([`MultiRank`](super::stepper::MultiRank)).
pub struct CpuEngine<P: Policy, S = SingleRank> {
    /// Its box is the present one.
    pub(super) plan: Plan,
    pub(super) processor: Processor,
    pub(super) force_field: ForceField<P>,
    pub(super) state: State<P>,
    pub(super) neighbor_lists: NeighborLists<P>,
    /// Who takes the steps.
    pub(super) stepper: S,
    pub(super) stage: StageContext,
    pub(super) flow: Flow,
    pub(super) piston: piston::Kept,
    /// What the thermostat remembers.
    pub(super) thermostat: ThermostatState,
}

impl<P: Policy, S: Stepper> CpuEngine<P, S> {
    /// An engine without particles, for a part of the box with these bounds as fractions of the edges.
    pub(super) fn empty(
        plan: &Plan,
        start: &Start,
        skin: f64,
        processor: Processor,
        bounds: [[f64; 2]; 3],
        stepper: S,
    ) -> Self {
        let state = State::new(plan, start);
        let set = processor.instruction_set();
        let mut plan = plan.clone();
        plan.system.simulation_box = start.simulation_box;
        CpuEngine {
            force_field: ForceField::new(state.policy(), &plan.potential, set),
            neighbor_lists: NeighborLists::new(&plan, start, skin, bounds),
            state,
            processor,
            stepper,
            stage: StageContext::none(start.step),
            flow: Flow::default(),
            piston: piston::Kept::default(),
            thermostat: start.thermostat.clone(),
            plan,
        }
    }

    /// Runs work on this engine's threads.
    pub(super) fn parallel<T: Send>(&mut self, work: impl FnOnce(&mut Self) -> T + Send) -> T {
        let processor = self.processor.clone();
        processor.install(|| work(self))
    }

    /// Forces of all particles in the chunks that are `wanted`, with `kick` followed by `v += F dt/2m`.
    pub(super) fn compute_forces(
        &mut self,
        kick: bool,
        wanted: &(dyn Fn(&Chunk<P>) -> bool + Sync),
    ) -> Result<(), EngineError> {
        let too_close = self.force_field.compute(&mut self.state, kick, wanted);
        if too_close { Err(self.find_too_close()) } else { Ok(()) }
    }

    /// Particles of the whole system.
    pub(super) fn particle_count(&self) -> usize {
        self.plan.system.particle_count()
    }

    /// What both kinds of engines report.
    pub(super) fn common_report(&self) -> EngineReport {
        let (state, lists) = (&self.state, &self.neighbor_lists);
        let entries: usize = state.chunks.iter().map(|chunk| chunk.neighbors.entries()).sum();
        EngineReport {
            hardware: Hardware::of("cpu", DeviceReport::Processor(self.processor.report())),
            precision: P::PRECISION,
            execution: Execution {
                skin: lists.skin(),
                sort_interval: lists.sort_interval(),
                list_entries_per_particle: entries as f64 / state.count().max(1) as f64,
                list_rebuilds: lists.rebuilds(),
                effective_timestep: state.policy().effective_timestep(),
                ..Execution::default()
            },
        }
    }

    pub(super) fn enter_stage(&mut self, stage: &StageContext) {
        self.stage = stage.clone();
        self.piston.forget_virial();
        self.stage.prepare(&mut self.thermostat, self.state.step);
    }

    /// Draws first velocities.
    pub(super) fn draw_first_velocities(
        &mut self,
        temperature: f64,
        exactly: bool,
    ) -> Result<(), EngineError> {
        self.parallel(|engine| {
            draw_velocities(engine, temperature, exactly, Purpose::InitialVelocity)
        })
    }
}
