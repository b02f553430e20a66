//! Thermostats on the particles of the CPU engine.
use rayon::prelude::*;

use super::bodies::LangevinHalfStep;
use super::chunk::Chunk;
use super::{CpuEngine, kernels};
use crate::arithmetic::random::{Purpose, normals3};
use crate::engine::EngineError;
use crate::engine::precision::{ExactSum, Policy};
use crate::integrator::NoseHooverChain;
use crate::integrator::langevin::OrnsteinUhlenbeck;
use crate::integrator::{andersen, bussi};
use crate::plan::{Thermostat, ThermostatPlan};

impl<P: Policy> CpuEngine<P> {
    pub(super) fn thermostat_before_step(&mut self) -> Result<(), EngineError> {
        let Some(thermostat) = self.stage.thermostat else { return Ok(()) };
        match thermostat.kind {
            Thermostat::NoseHoover { .. } => {
                let chain = self.stage.chain(self.step, self.degrees_of_freedom());
                self.chain_half_step(&chain.expect("a chain"))
            }
            Thermostat::Langevin { friction } => self.langevin_half_step(&thermostat, friction, 0),
            Thermostat::Andersen { .. } | Thermostat::Bussi { .. } => Ok(()),
        }
    }

    pub(super) fn thermostat_after_step(&mut self) -> Result<(), EngineError> {
        let Some(thermostat) = self.stage.thermostat else { return Ok(()) };
        let temperature = self.stage.target_temperature(&thermostat, self.step);
        match thermostat.kind {
            Thermostat::NoseHoover { .. } => {
                let (step, degrees) = (self.step, self.degrees_of_freedom());
                let chain = self.stage.chain_after(step, degrees, &mut self.thermostat);
                self.chain_half_step(&chain.expect("a chain"))
            }
            Thermostat::Langevin { friction } => self.langevin_half_step(&thermostat, friction, 1),
            Thermostat::Andersen { rate, exact } => {
                let interval = andersen::interval(rate, self.nominal_timestep);
                if (self.step - self.stage.first_step).is_multiple_of(interval) {
                    let purpose = Purpose::AndersenVelocity;
                    self.draw_boltzmann_velocities(temperature, exact, purpose)?;
                }
                Ok(())
            }
            Thermostat::Bussi { time } => {
                let kinetic2 = self.kinetic2()?;
                let factor = bussi::factor(
                    kinetic2,
                    self.degrees_of_freedom(),
                    temperature,
                    time,
                    self.nominal_timestep,
                    self.seed,
                    self.step,
                );
                self.scale_all(factor)?;
                self.thermostat.heat += 0.5 * kinetic2 * (factor * factor - 1.0);
                Ok(())
            }
        }
    }

    fn chain_half_step(&mut self, chain: &NoseHooverChain) -> Result<(), EngineError> {
        let kinetic2 = self.kinetic2()?;
        let factor = chain.half_step(&mut self.thermostat, kinetic2, self.nominal_timestep);
        self.scale_all(factor)
    }

    fn langevin_half_step(
        &mut self,
        thermostat: &ThermostatPlan,
        friction: f64,
        half: u64,
    ) -> Result<(), EngineError> {
        let temperature = self.stage.target_temperature(thermostat, self.step);
        let ornstein_uhlenbeck =
            OrnsteinUhlenbeck::half_step(friction, temperature, self.nominal_timestep);
        // The step after the drift counts as the next one: each half has numbers of its own.
        let draw = 2 * self.step + half;
        let masses: Vec<f64> = self.species.iter().map(|species| species.mass).collect();
        let half_step =
            LangevinHalfStep { ornstein_uhlenbeck, masses: &masses, seed: self.seed, draw };
        let dimension = self.simulation_box.dimension();
        let (policy, set) = (&self.policy, self.set);
        let heat = self
            .chunks
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
            .map_err(|particle| self.out_of_range("the velocity", particle));
        let heat = self.unless_noted(heat)?;
        match &mut self.domain {
            // Heat is needed less often than it is given.
            Some(domain) => domain.heat.push(heat),
            None => self.thermostat.heat += heat.value(),
        }
        Ok(())
    }

    /// Multiplies all velocities.
    pub(super) fn scale_all(&mut self, factor: f64) -> Result<(), EngineError> {
        let dimension = self.simulation_box.dimension();
        self.change_velocities(|chunk, i| {
            for axis in 0..dimension {
                let velocity = &mut chunk.velocity[axis][i];
                *velocity = P::scale(*velocity, factor)?;
            }
            Some(())
        })
    }

    /// Changes the velocity of every particle of a chunk; `None` where it does not fit.
    fn change_velocities(
        &mut self,
        change: impl Fn(&mut Chunk<P>, usize) -> Option<()> + Sync,
    ) -> Result<(), EngineError> {
        let changed = self
            .chunks
            .par_iter_mut()
            .map(|chunk| (0..chunk.len()).try_for_each(|i| change(chunk, i).ok_or(chunk.id[i])))
            .reduce(|| Ok(()), |a, b| a.and(b))
            .map_err(|particle| self.out_of_range("the velocity", particle));
        self.unless_noted(changed)
    }

    /// Boltzmann velocities with zero total momentum; `exactly` scales them to the temperature.
    pub(super) fn draw_boltzmann_velocities(
        &mut self,
        temperature: f64,
        exactly: bool,
        purpose: Purpose,
    ) -> Result<(), EngineError> {
        let before = self.kinetic2()?;
        let dimension = self.simulation_box.dimension();
        let width: Vec<f64> =
            self.species.iter().map(|species| (temperature / species.mass).sqrt()).collect();
        let (policy, seed, step) = (self.policy.clone(), self.seed, self.step);
        self.change_velocities(|chunk, i| {
            let normal = normals3(seed, chunk.id[i], step, purpose);
            for axis in 0..dimension {
                let velocity = width[chunk.species[i] as usize] * normal[axis];
                chunk.velocity[axis][i] = policy.velocity_from_f64(velocity, axis)?;
            }
            Some(())
        })?;
        self.remove_center_of_mass_velocity()?;
        if exactly && self.particle_count() > 1 {
            let degrees = dimension as f64 * (self.particle_count() - 1) as f64;
            let kinetic2 = self.kinetic2()?;
            if kinetic2 > 0.0 {
                self.scale_all((degrees * temperature / kinetic2).sqrt())?;
                self.remove_center_of_mass_velocity()?;
            }
        }
        self.thermostat.heat += 0.5 * (self.kinetic2()? - before);
        Ok(())
    }

    /// Makes the total momentum zero; to the bit where the policy and equal masses allow it.
    fn remove_center_of_mass_velocity(&mut self) -> Result<(), EngineError> {
        let dimension = self.simulation_box.dimension();
        let center = self.center_of_mass_velocity()?;
        let policy = self.policy.clone();
        self.change_velocities(|chunk, i| {
            for axis in 0..dimension {
                let v = policy.velocity_to_f64(chunk.velocity[axis][i], axis);
                chunk.velocity[axis][i] = policy.velocity_from_f64(v - center[axis], axis)?;
            }
            Some(())
        })?;
        let equal_masses = self.species.windows(2).all(|pair| pair[0].mass == pair[1].mass);
        if equal_masses {
            for axis in 0..dimension {
                let velocities =
                    self.chunks.iter().flat_map(|chunk| chunk.velocity[axis].iter().copied());
                let Some(here) = P::exact_sum(velocities) else { return Ok(()) };
                let total = self.domain.as_ref().map_or(here, |domain| domain.sum_units(here));
                // The same for all, and one unit more for the first ids.
                let count = self.particle_count() as i128;
                let (share, rest) = (total.div_euclid(count), total.rem_euclid(count));
                for chunk in &mut self.chunks {
                    for i in 0..chunk.len() {
                        let more = i128::from(i128::from(chunk.id[i]) < rest);
                        let velocity = &mut chunk.velocity[axis][i];
                        *velocity = P::subtract_units(*velocity, (share + more) as i64);
                    }
                }
            }
        }
        Ok(())
    }
}
