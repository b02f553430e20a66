//! Velocities of the CPU engine's particles, as thermostats change them.
use rayon::prelude::*;

use super::bodies::{Langevin, Parts};
use super::chunk::Chunk;
use super::engine::CpuEngine;
use super::instruction_set::InstructionSet;
use super::kernels;
use super::stepper::Stepper;
use crate::arithmetic::random::{Purpose, normals3};
use crate::engine::EngineError;
use crate::engine::precision::{ExactSum, Policy};
use crate::engine::thermostats::{Context, Steps, Velocities};
use crate::integrator::ThermostatState;
use crate::integrator::langevin::OrnsteinUhlenbeck;
use crate::system::Species;

impl<P: Policy, S: Stepper> CpuEngine<P, S> {
    /// Moves all particles; returns whether the lists must be rebuilt.
    fn drift_all(&mut self, parts: Parts) -> Result<bool, EngineError> {
        let (needs_rebuild, runaway) = if self.is_tilted() {
            self.drift_in_tilted_box(parts)
        } else {
            let (set, limit2) = (self.processor.instruction_set(), self.neighbor_lists.limit2());
            self.state.drift(set, parts, limit2)
        };
        if runaway {
            return self.unless_noted(Err(self.state.find_runaway()));
        }
        let flipped = self.is_tilted() && self.flip_where_due();
        Ok(needs_rebuild | flipped)
    }

    /// Adds up the heat that chunks have taken up, or notes the particle with a number that does not fit.
    fn take_heat(
        &mut self,
        of_chunk: impl Fn(InstructionSet, &P, &mut Chunk<P>) -> Result<ExactSum, u32> + Sync,
    ) -> Result<(), EngineError> {
        let set = self.processor.instruction_set();
        let (policy, chunks, _) = self.state.split();
        let heat = chunks
            .par_iter_mut()
            .map(|chunk| of_chunk(set, policy, chunk))
            .reduce(
                || Ok(ExactSum::default()),
                |a, b| {
                    let mut sum: ExactSum = a?;
                    sum.merge(b?);
                    Ok(sum)
                },
            )
            .map_err(|particle| self.state.out_of_range("the velocity", particle));
        let heat = self.unless_noted(heat)?;
        self.stepper.add_heat(heat, &mut self.thermostat);
        Ok(())
    }

    /// Multiplies all velocities, along each axis.
    pub(super) fn scale_by_axis(&mut self, factors: [f64; 3]) -> Result<(), EngineError> {
        let dimension = self.state.dimension();
        self.change_velocities(|chunk, i| {
            for axis in 0..dimension {
                let velocity = &mut chunk.velocity[axis][i];
                *velocity = P::scale(*velocity, factors[axis])?;
            }
            Some(())
        })
    }

    fn masses(&self) -> Vec<f64> {
        self.state.species().iter().map(|species| species.mass).collect()
    }

    /// Changes the velocity of every particle of a chunk; `None` where it does not fit.
    fn change_velocities(
        &mut self,
        change: impl Fn(&mut Chunk<P>, usize) -> Option<()> + Sync,
    ) -> Result<(), EngineError> {
        let changed = self.state.change_velocities(change);
        let changed = changed.map_err(|particle| self.state.out_of_range("the velocity", particle));
        self.unless_noted(changed)
    }
}

impl<P: Policy, S: Stepper> Steps for CpuEngine<P, S> {
    fn count_step(&mut self) {
        self.state.step += 1;
    }

    fn kick_and_drift(&mut self) -> Result<bool, EngineError> {
        self.drift_all(Parts { kick: true, second_half: false })
    }

    fn kick(&mut self) -> Result<(), EngineError> {
        self.state.kick(self.processor.instruction_set());
        Ok(())
    }

    fn drift(&mut self) -> Result<bool, EngineError> {
        self.drift_all(Parts { kick: false, second_half: false })
    }

    fn half_drift(&mut self) -> Result<(), EngineError> {
        if self.is_tilted() {
            let half = Parts { kick: false, second_half: true };
            let (_, runaway) = self.drift_in_tilted_box(half);
            return match runaway {
                true => self.unless_noted(Err(self.state.find_runaway())),
                false => Ok(()),
            };
        }
        self.state.half_drift(self.processor.instruction_set());
        Ok(())
    }

    fn end_drift(&mut self) -> Result<bool, EngineError> {
        self.drift_all(Parts { kick: false, second_half: true })
    }

    fn kinetic2_of_half_step(&self) -> Result<f64, EngineError> {
        Ok(ExactSum::value_of_all(&self.kinetic_sums()?[..3]))
    }

    fn scale_and_kick(&mut self, factor: f64) -> Result<(), EngineError> {
        let (masses, dimension) = (self.masses(), self.state.dimension());
        self.take_heat(|set, policy, chunk| {
            kernels::scale_and_kick(set, policy, chunk, factor, &masses, dimension)
        })
    }

    fn friction_and_noise(&mut self, of: &OrnsteinUhlenbeck) -> Result<(), EngineError> {
        let (masses, dimension) = (self.masses(), self.state.dimension());
        let (seed, step) = (self.plan.system.random_key(), self.state.step);
        let langevin = Langevin { of, masses: &masses, seed, step };
        self.take_heat(|set, policy, chunk| {
            kernels::langevin(set, policy, chunk, &langevin, dimension)
        })
    }
}

impl<P: Policy, S: Stepper> Velocities for CpuEngine<P, S> {
    fn context(&self) -> Context {
        Context {
            step: self.state.step,
            stage: self.stage.clone(),
            timestep: self.plan.run.timestep,
            seed: self.plan.system.random_key(),
            dimension: self.state.dimension(),
            particles: self.particle_count(),
        }
    }

    fn species(&self) -> &[Species] {
        self.state.species()
    }

    fn memory(&mut self) -> &mut ThermostatState {
        &mut self.thermostat
    }

    fn kinetic2(&self) -> Result<f64, EngineError> {
        let tensor = self.kinetic_tensor()?;
        Ok(tensor[0] + tensor[1] + tensor[2])
    }

    fn scale_all(&mut self, factor: f64) -> Result<(), EngineError> {
        self.scale_by_axis([factor; 3])
    }

    fn draw_each(&mut self, temperature: f64, purpose: Purpose) -> Result<(), EngineError> {
        let dimension = self.state.dimension();
        let width: Vec<f64> = self
            .state
            .species()
            .iter()
            .map(|species| (temperature / species.mass).sqrt())
            .collect();
        let (policy, seed, step) =
            (self.state.policy().clone(), self.plan.system.random_key(), self.state.step);
        self.change_velocities(|chunk, i| {
            let normal = normals3(seed, chunk.id[i], step, purpose);
            for axis in 0..dimension {
                let velocity = width[chunk.species[i] as usize] * normal[axis];
                chunk.velocity[axis][i] = policy.velocity_from_f64(velocity, axis)?;
            }
            Some(())
        })
    }

    fn center_of_mass_velocity(&self) -> Result<[f64; 3], EngineError> {
        self.momentum_over_mass()
    }

    fn shift_all(&mut self, by: [f64; 3]) -> Result<(), EngineError> {
        let dimension = self.state.dimension();
        let policy = self.state.policy().clone();
        self.change_velocities(|chunk, i| {
            for axis in 0..dimension {
                let v = policy.velocity_to_f64(chunk.velocity[axis][i], axis);
                chunk.velocity[axis][i] = policy.velocity_from_f64(v - by[axis], axis)?;
            }
            Some(())
        })
    }

    fn total_units(&self) -> Result<Option<[i128; 3]>, EngineError> {
        let mut totals = [0; 3];
        for (axis, total) in totals.iter_mut().enumerate().take(self.state.dimension()) {
            let velocities =
                self.state.chunks.iter().flat_map(|chunk| chunk.velocity[axis].iter().copied());
            let Some(here) = P::exact_sum(velocities) else { return Ok(None) };
            [*total] = self.stepper.combine_units([here]);
        }
        Ok(Some(totals))
    }

    fn subtract_units(&mut self, share: [i64; 3], rest: [u64; 3]) -> Result<(), EngineError> {
        let dimension = self.state.dimension();
        for chunk in &mut self.state.chunks {
            for axis in 0..dimension {
                for i in 0..chunk.len() {
                    let more = i64::from(u64::from(chunk.id[i]) < rest[axis]);
                    let velocity = &mut chunk.velocity[axis][i];
                    *velocity = P::subtract_units(*velocity, share[axis] + more);
                }
            }
        }
        Ok(())
    }
}
