//! Velocities of the CPU engine's particles, as thermostats change them.
use rayon::prelude::*;

use super::bodies::LangevinHalfStep;
use super::chunk::Chunk;
use super::engine::CpuEngine;
use super::kernels;
use super::stepper::Stepper;
use crate::arithmetic::random::{Purpose, normals3};
use crate::engine::EngineError;
use crate::engine::precision::{ExactSum, Policy};
use crate::engine::thermostats::{Context, Velocities, half_step};
use crate::integrator::ThermostatState;
use crate::integrator::langevin::OrnsteinUhlenbeck;
use crate::system::Species;

impl<P: Policy, S: Stepper> CpuEngine<P, S> {
    /// What the stage's thermostat does before a step's drift (0) and at its end (1).
    pub(super) fn thermostat_half(&mut self, half: u64) -> Result<(), EngineError> {
        half_step(self, half, |engine, friction, temperature| {
            engine.langevin_half_step(friction, temperature, half)
        })
    }

    fn langevin_half_step(
        &mut self,
        friction: f64,
        temperature: f64,
        half: u64,
    ) -> Result<(), EngineError> {
        let ornstein_uhlenbeck =
            OrnsteinUhlenbeck::half_step(friction, temperature, self.state.timestep());
        // The step after the drift counts as the next one: each half has numbers of its own.
        let draw = 2 * self.state.step + half;
        let masses: Vec<f64> = self.state.species().iter().map(|species| species.mass).collect();
        let seed = self.plan.system.random_key();
        let half_step = LangevinHalfStep { ornstein_uhlenbeck, masses: &masses, seed, draw };
        let (dimension, set) = (self.state.dimension(), self.processor.instruction_set());
        let (policy, chunks, _) = self.state.split();
        let heat = chunks
            .par_iter_mut()
            .map(|chunk| kernels::langevin(set, policy, chunk, &half_step, dimension))
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

impl<P: Policy, S: Stepper> Velocities for CpuEngine<P, S> {
    fn context(&self) -> Context {
        Context {
            step: self.state.step,
            stage: self.stage.clone(),
            timestep: self.state.timestep(),
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
        let dimension = self.state.dimension();
        self.change_velocities(|chunk, i| {
            for axis in 0..dimension {
                let velocity = &mut chunk.velocity[axis][i];
                *velocity = P::scale(*velocity, factor)?;
            }
            Some(())
        })
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
            *total = self.stepper.combine_units(here);
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
