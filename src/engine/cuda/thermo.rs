//! Measurements, and changes of all velocities, between launches.
use std::ffi::c_void;

use super::buffers::{Control, SplitSum, status};
use super::constants::DevicePolicy;
use super::engine::CudaEngine;
use crate::arithmetic::random::Purpose;
use crate::engine::{EngineError, Thermodynamics};
use crate::integrator::NoseHooverChain;
use crate::plan;

const THREADS: u32 = 256;

impl<P: DevicePolicy> CudaEngine<P> {
    /// Launches an ordinary kernel over all particles; with its arguments.
    fn over_particles(&self, name: &str, arguments: &[*const c_void]) -> Result<(), EngineError> {
        let blocks = (self.particle_count() as u32).div_ceil(THREADS);
        let most = 8 * self.session.card.multiprocessors;
        let kernel = self.kernels.kernel(name)?;
        // SAFETY: the callers give the arguments that measure.cu names; the buffers have room for
        // `count` particles.
        unsafe { self.kernels.launch(kernel, blocks.min(most), THREADS, false, arguments) }
    }

    /// Sums that a kernel makes.
    fn sums<const COUNT: usize>(&self, name: &str) -> Result<[SplitSum; COUNT], EngineError> {
        self.buffers.sums.write(&[SplitSum::default(); COUNT])?;
        let pointer = self.buffers.sums.pointer();
        self.over_particles(name, &[(&raw const pointer).cast()])?;
        let sums = self.buffers.sums.read::<SplitSum>(COUNT)?;
        self.check_ranges()?;
        Ok(std::array::from_fn(|k| sums[k]))
    }

    /// # Errors
    /// If a number of the last kernel did not fit.
    fn check_ranges(&self) -> Result<(), EngineError> {
        let control = self.buffers.control.read::<Control>(1)?[0];
        if control.status == status::DONE {
            return Ok(());
        }
        Err(self.range_error(control.status, control.culprit))
    }

    pub(super) fn range_error(&self, status: u32, particle: u32) -> EngineError {
        let quantity = if status == status::VELOCITY_RANGE { "the velocity" } else { "the energy" };
        EngineError::OutOfRange { step: self.step, quantity, particle }
    }

    /// Twice the kinetic energy of the whole system.
    pub(super) fn kinetic2(&self) -> Result<f64, EngineError> {
        let sums = self.sums::<9>("measure_velocities")?;
        Ok(sums[0].value() + sums[1].value() + sums[2].value())
    }

    pub(super) fn scale_all(&self, factor: f64) -> Result<(), EngineError> {
        self.over_particles("scale_velocities", &[(&raw const factor).cast()])?;
        self.check_ranges()
    }

    pub(super) fn reverse_all(&self) -> Result<(), EngineError> {
        self.over_particles("reverse_velocities", &[])?;
        self.session.wait()
    }

    fn total_mass(&self) -> f64 {
        self.species.iter().map(|s| s.mass * s.count as f64).sum()
    }

    /// Boltzmann velocities with zero total momentum; `exactly` scales them to the temperature.
    pub(super) fn draw_boltzmann_velocities(
        &mut self,
        temperature: f64,
        exactly: bool,
        purpose: Purpose,
    ) -> Result<(), EngineError> {
        let before = self.kinetic2()?;
        let (seed, step, purpose) = (self.plan.system.seed, self.step, purpose as u32);
        let arguments = [
            (&raw const seed).cast(),
            (&raw const step).cast(),
            (&raw const purpose).cast(),
            (&raw const temperature).cast(),
        ];
        self.over_particles("draw_velocities", &arguments)?;
        self.check_ranges()?;
        self.remove_center_of_mass_velocity()?;
        if exactly && self.particle_count() > 1 {
            let dimension = self.simulation_box.dimension() as f64;
            let degrees = dimension * (self.particle_count() - 1) as f64;
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
    fn remove_center_of_mass_velocity(&self) -> Result<(), EngineError> {
        let sums = self.sums::<9>("measure_velocities")?;
        let mass = self.total_mass();
        let center: [f64; 3] = std::array::from_fn(|axis| sums[6 + axis].value() / mass);
        self.over_particles("shift_velocities", &[(&raw const center).cast()])?;
        self.check_ranges()?;
        let equal_masses = self.species.windows(2).all(|pair| pair[0].mass == pair[1].mass);
        let integers = P::exact_sum(std::iter::empty()).is_some();
        if !(equal_masses && integers) {
            return Ok(());
        }
        // The same for all, and one unit more for the first ids.
        #[repr(C)]
        struct Shares {
            share: [i64; 3],
            rest: [u64; 3],
        }
        let count = self.particle_count() as i128;
        let totals = self.sums::<3>("sum_units")?.map(SplitSum::units);
        let shares = Shares {
            share: totals.map(|total| total.div_euclid(count) as i64),
            rest: totals.map(|total| total.rem_euclid(count) as u64),
        };
        self.over_particles("subtract_units", &[(&raw const shares).cast()])
    }

    pub(super) fn measure(&self) -> Result<Thermodynamics, EngineError> {
        let count = self.particle_count() as f64;
        let dimension = self.simulation_box.dimension();
        let volume = self.simulation_box.volume();
        let velocities = self.sums::<9>("measure_velocities")?.map(SplitSum::value);
        let kinetic = &velocities[..6];
        // Each pair was counted with both of its particles.
        let pairs = self.sums::<7>("measure_pairs")?.map(|sum| 0.5 * sum.value());
        let (potential, virial) = (pairs[0], &pairs[1..]);
        let kinetic2 = kinetic[0] + kinetic[1] + kinetic[2];
        let trace = virial[0] + virial[1] + virial[2];
        let mut stress = [[0.0; 3]; 3];
        for (at, (a, b)) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].into_iter().enumerate()
        {
            stress[a][b] = -(kinetic[at] + virial[at]) / volume;
            stress[b][a] = stress[a][b];
        }
        let mass = self.total_mass();
        Ok(Thermodynamics {
            step: self.step,
            potential_energy: potential / count,
            kinetic_energy: 0.5 * kinetic2 / count,
            temperature: kinetic2 / self.degrees_of_freedom() as f64,
            pressure: (kinetic2 + trace) / (dimension as f64 * volume),
            stress,
            center_of_mass_velocity: std::array::from_fn(|axis| velocities[6 + axis] / mass),
            conserved_energy: (potential + 0.5 * kinetic2 + self.chain_energy()
                - self.thermostat.heat)
                / count,
        })
    }

    fn chain_energy(&self) -> f64 {
        let Some(thermostat) = self.stage.thermostat else { return 0.0 };
        let plan::Thermostat::NoseHoover { period, .. } = thermostat.kind else { return 0.0 };
        let since = self.step - self.stage.first_step;
        NoseHooverChain {
            degrees_of_freedom: self.degrees_of_freedom() as f64,
            temperature: thermostat.temperature.at(since, self.stage.steps),
            period,
        }
        .energy(&self.thermostat)
    }

    /// Places of the ids of a pair too close, found anew.
    pub(super) fn closest_pair(&self) -> Result<(u32, u32), EngineError> {
        let mut control = self.control;
        control.closest_pair = u64::MAX;
        self.buffers.control.write(&[control])?;
        self.over_particles("find_too_close", &[])?;
        let pair = self.buffers.control.read::<Control>(1)?[0].closest_pair;
        Ok(((pair >> 32) as u32, pair as u32))
    }
}
