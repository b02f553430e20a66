//! What is wrong with a state, found after a loop over all particles has seen that something is.
use super::chunk::CHUNK;
use super::engine::CpuEngine;
use super::force_term::ClosePair;
use super::stepper::Stepper;
use crate::engine::EngineError;
use crate::engine::precision::Policy;

impl<P: Policy, S: Stepper> CpuEngine<P, S> {
    /// An error here; where there are other ranks it is kept until all can agree on it.
    pub(super) fn unless_noted<T: Default>(
        &mut self,
        result: Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        match result {
            Err(error) => self.stepper.note(self.state.step, error).map(|()| T::default()),
            result => result,
        }
    }

    pub(super) fn find_too_close(&self) -> EngineError {
        let own = self.state.count();
        let id = |place: usize| match place.checked_sub(own) {
            Some(ghost) => self.stepper.ghosts().0[ghost],
            None => self.state.chunks[place / CHUNK].id[place % CHUNK],
        };
        for index in 0..self.state.chunks.len() {
            let found =
                self.force_field.find_too_close(self.state.policy(), &self.state.targets(index));
            if let Some(ClosePair { places: [first, second], distance, inner_maximum }) = found {
                return EngineError::TooClose {
                    step: self.state.step,
                    first: id(first).min(id(second)),
                    second: id(first).max(id(second)),
                    distance,
                    inner_maximum,
                    precision: P::PRECISION.name(),
                };
            }
        }
        unreachable!("a pair too close was seen")
    }
}
