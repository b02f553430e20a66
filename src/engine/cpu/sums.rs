//! Sums over the particles of the whole system: of all chunks, and of all ranks where there are several.
use rayon::prelude::*;

use super::bodies;
use super::chunk::Chunk;
use super::engine::CpuEngine;
use super::stepper::Stepper;
use crate::engine::precision::{ExactSum, Policy};
use crate::engine::{EngineError, SystemSums, Thermodynamics};

/// Sums over two parts of the system; the error is the id of a particle whose term does not fit.
fn merged<const N: usize>(
    a: Result<[ExactSum; N], u32>,
    b: Result<[ExactSum; N], u32>,
) -> Result<[ExactSum; N], u32> {
    let (mut a, b) = (a?, b?);
    a.iter_mut().zip(b).for_each(|(a, b)| a.merge(b));
    Ok(a)
}

impl<P: Policy, S: Stepper> CpuEngine<P, S> {
    /// Sums over all particles of `m v_a v_b` for ab = xx, yy, zz, xy, xz, yz.
    pub(super) fn kinetic_tensor(&self) -> Result<[f64; 6], EngineError> {
        Ok(self.kinetic_sums()?.map(ExactSum::value))
    }

    pub(super) fn kinetic_sums(&self) -> Result<[ExactSum; 6], EngineError> {
        let masses: Vec<f64> = self.state.species().iter().map(|species| species.mass).collect();
        let dimension = self.state.dimension();
        let sums = self
            .state
            .chunks
            .par_iter()
            .map(|chunk| bodies::kinetic_tensor(self.state.policy(), chunk, &masses, dimension))
            .reduce(|| Ok([ExactSum::default(); 6]), merged);
        self.combined("the kinetic energy", sums)
    }

    /// Sum over all particles of `m (F dt/2m)^2`.
    fn kicks(&self) -> Result<f64, EngineError> {
        let (state, half) = (&self.state, 0.5 * self.state.timestep());
        let of_chunk = |chunk: &Chunk<P>| {
            let mut sum = ExactSum::default();
            for i in 0..chunk.len() {
                let mass = state.species()[chunk.species[i] as usize].mass;
                for axis in 0..state.dimension() {
                    let force = state.policy().force_to_f64(chunk.force[axis][i], axis);
                    let kick = half * force / mass;
                    sum.add(mass * (kick * kick)).ok_or(chunk.id[i])?;
                }
            }
            Ok([sum])
        };
        let sums = state.chunks.par_iter().map(of_chunk);
        let sums = sums.reduce(|| Ok([ExactSum::default(); 1]), merged);
        Ok(self.combined("the kinetic energy", sums)?[0].value())
    }

    /// Potential energy of the whole system and virial `sum_pairs r_a F_b` in the same order.
    pub(super) fn energy_and_virial(&self) -> Result<[f64; 7], EngineError> {
        let sums = (0..self.state.chunks.len())
            .into_par_iter()
            .map(|index| {
                let mut sums = [ExactSum::default(); 7];
                let targets = self.state.targets(index);
                let particles = self.force_field.energies(self.state.policy(), &targets);
                for (local, particle) in particles.iter().enumerate() {
                    for (sum, term) in sums.iter_mut().zip(particle) {
                        sum.add(*term).ok_or(self.state.chunks[index].id[local])?;
                    }
                }
                Ok(sums)
            })
            .reduce(|| Ok([ExactSum::default(); 7]), merged);
        let sums = self.combined("the potential energy", sums)?;
        // Each pair was counted with both of its particles.
        Ok(sums.map(|sum| 0.5 * sum.value()))
    }

    /// Total momentum over total mass.
    pub(super) fn momentum_over_mass(&self) -> Result<[f64; 3], EngineError> {
        let dimension = self.state.dimension();
        let sums = self
            .state
            .chunks
            .par_iter()
            .map(|chunk| {
                let mut sums = [ExactSum::default(); 3];
                for i in 0..chunk.len() {
                    let mass = self.state.species()[chunk.species[i] as usize].mass;
                    let v = bodies::velocity(self.state.policy(), chunk, i, dimension);
                    for (sum, v) in sums.iter_mut().zip(v) {
                        sum.add(mass * v).ok_or(chunk.id[i])?;
                    }
                }
                Ok(sums)
            })
            .reduce(|| Ok([ExactSum::default(); 3]), merged);
        let sums = self.combined("the momentum", sums)?;
        let mass: f64 = self.state.species().iter().map(|s| s.mass * s.count as f64).sum();
        Ok(sums.map(|sum| sum.value() / mass))
    }

    pub(super) fn measure(&self) -> Result<Thermodynamics, EngineError> {
        let kinetic = self.kinetic_tensor()?;
        let [potential, virial @ ..] = self.energy_and_virial()?;
        let center_of_mass_velocity = self.momentum_over_mass()?;
        let kicks = self.kicks()?;
        let sums = SystemSums { kinetic, kicks, potential, virial, center_of_mass_velocity };
        Ok(Thermodynamics::new(
            self.state.step,
            &sums,
            self.particle_count(),
            self.state.simulation_box(),
            &self.stage,
            &self.thermostat,
        ))
    }

    /// Sums over all particles of the system from those over the particles here.
    fn combined<const K: usize>(
        &self,
        quantity: &'static str,
        here: Result<[ExactSum; K], u32>,
    ) -> Result<[ExactSum; K], EngineError> {
        self.stepper.combine(here).map_err(|particle| self.state.out_of_range(quantity, particle))
    }
}
