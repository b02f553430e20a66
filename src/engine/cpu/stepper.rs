//! Where engines that hold a whole system and those of ranks differ in what both do.
use crate::engine::EngineError;
use crate::engine::domain::Domain;
use crate::engine::precision::ExactSum;
use crate::integrator::ThermostatState;

/// Who takes the steps of the particles here.
pub trait Stepper: Send + Sync {
    /// Ids and species of ghosts, whose sites lie after those of the particles.
    fn ghosts(&self) -> (&[u32], &[u8]);

    /// Sums over the whole system of sums over the particles here; the error is the id of a particle whose term does not fit.
    fn combine<const COUNT: usize>(
        &self,
        here: Result<[ExactSum; COUNT], u32>,
    ) -> Result<[ExactSum; COUNT], u32>;

    /// The same of sums in units of the last digit.
    fn combine_units<const COUNT: usize>(&self, here: [i128; COUNT]) -> [i128; COUNT];

    /// Adds heat that the particles here have taken up.
    fn add_heat(&mut self, heat: ExactSum, memory: &mut ThermostatState);

    /// An error at a step; among other ranks it is kept until all can agree on it.
    ///
    /// # Errors
    /// That error, where there are no others.
    fn note(&mut self, step: u64, error: EngineError) -> Result<(), EngineError>;
}

/// The whole system is here.
pub struct SingleRank;

impl Stepper for SingleRank {
    fn ghosts(&self) -> (&[u32], &[u8]) {
        (&[], &[])
    }

    fn combine<const COUNT: usize>(
        &self,
        here: Result<[ExactSum; COUNT], u32>,
    ) -> Result<[ExactSum; COUNT], u32> {
        here
    }

    fn combine_units<const COUNT: usize>(&self, here: [i128; COUNT]) -> [i128; COUNT] {
        here
    }

    fn add_heat(&mut self, heat: ExactSum, memory: &mut ThermostatState) {
        memory.heat += heat.value();
    }

    fn note(&mut self, _step: u64, error: EngineError) -> Result<(), EngineError> {
        Err(error)
    }
}

/// The particles of a rank's domain are here.
pub struct MultiRank {
    pub domain: Domain,
    /// Nanoseconds in steps, and those of them in which it waited for other ranks.
    pub stepping: [i64; 2],
    /// Steps that were taken again with other lists.
    pub repeated: u64,
}

impl Stepper for MultiRank {
    fn ghosts(&self) -> (&[u32], &[u8]) {
        (&self.domain.ghost_id, &self.domain.ghost_species)
    }

    fn combine<const COUNT: usize>(
        &self,
        here: Result<[ExactSum; COUNT], u32>,
    ) -> Result<[ExactSum; COUNT], u32> {
        self.domain.combine(here)
    }

    fn combine_units<const COUNT: usize>(&self, here: [i128; COUNT]) -> [i128; COUNT] {
        self.domain.sum_units(here)
    }

    fn add_heat(&mut self, heat: ExactSum, _memory: &mut ThermostatState) {
        // Heat is needed less often than it is given.
        self.domain.heat.push(heat);
    }

    fn note(&mut self, step: u64, error: EngineError) -> Result<(), EngineError> {
        self.domain.note_fault(step, error);
        Ok(())
    }
}
