//! What is wrong with a state, found after a loop over all particles has seen that something is.
use super::CpuEngine;
use super::chunk::CHUNK;
use super::kernels::ClosePair;
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
            Err(error) => self.stepper.note(self.step, error).map(|()| T::default()),
            result => result,
        }
    }

    pub(super) fn out_of_range(&self, quantity: &'static str, particle: u32) -> EngineError {
        EngineError::OutOfRange { step: self.step, quantity, particle }
    }

    pub(super) fn find_runaway(&self) -> EngineError {
        let dimension = self.simulation_box.dimension();
        for chunk in &self.chunks {
            for i in 0..chunk.len() {
                if (0..dimension).any(|axis| self.policy.is_runaway(chunk.velocity[axis][i], axis))
                {
                    return EngineError::Runaway {
                        step: self.step,
                        particle: chunk.id[i],
                        position: std::array::from_fn(|axis| {
                            self.policy.coordinate_to_f64(chunk.position[axis][i], axis)
                        }),
                        velocity: std::array::from_fn(|axis| {
                            self.policy.velocity_to_f64(chunk.velocity[axis][i], axis)
                        }),
                    };
                }
            }
        }
        unreachable!("a runaway particle was seen")
    }

    pub(super) fn find_too_close(&self) -> EngineError {
        let own = self.own_count();
        let id = |place: usize| match place.checked_sub(own) {
            Some(ghost) => self.stepper.ghosts().0[ghost],
            None => self.chunks[place / CHUNK].id[place % CHUNK],
        };
        for index in 0..self.chunks.len() {
            let found = self.kernels.find_too_close(&self.policy, &self.targets(index));
            if let Some(ClosePair { places: [first, second], distance, inner_maximum }) = found {
                return EngineError::TooClose {
                    step: self.step,
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
