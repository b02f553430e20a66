//! Measurements, and changes of all velocities, between launches.
use std::ffi::c_void;

use super::buffers::{Control, SplitSum, status};
use super::constants::DevicePolicy;
use super::engine::CudaEngine;
use crate::arithmetic::random::Purpose;
use crate::engine::precision::ExactSum;
use crate::engine::{EngineError, SystemSums, Thermodynamics};

const THREADS: u32 = 256;

impl<P: DevicePolicy> CudaEngine<P> {
    /// Launches an ordinary kernel over all particles; with its arguments.
    pub(super) fn over_particles(
        &self,
        name: &str,
        arguments: &[*const c_void],
    ) -> Result<(), EngineError> {
        self.over_threads(self.own_count(), name, arguments)
    }

    /// The same over the lanes of all particles' lists.
    fn over_lanes(&self, name: &str, arguments: &[*const c_void]) -> Result<(), EngineError> {
        self.over_threads(self.own_count() << self.shape.lanes_log2, name, arguments)
    }

    /// The same over at most a number of threads.
    pub(super) fn over_threads(
        &self,
        threads: usize,
        name: &str,
        arguments: &[*const c_void],
    ) -> Result<(), EngineError> {
        let blocks = threads.div_ceil(THREADS as usize).max(1) as u32;
        let most = 8 * self.session.gpu.multiprocessors;
        let kernel = self.kernels.kernel(name)?;
        // SAFETY: the callers give the arguments that the kernel names; the buffers have room for what it goes over.
        unsafe { self.kernels.launch(kernel, blocks.min(most), THREADS, false, arguments) }
    }

    /// Sums that a kernel makes, over all ranks.
    fn sums<const COUNT: usize>(&self, name: &str) -> Result<[ExactSum; COUNT], EngineError> {
        self.sums_of(|sums| self.over_particles(name, &[(&raw const sums).cast()]))
    }

    /// Sums over all ranks that kernels make, which are launched with the address of the first.
    fn sums_of<const COUNT: usize>(
        &self,
        launch: impl FnOnce(u64) -> Result<(), EngineError>,
    ) -> Result<[ExactSum; COUNT], EngineError> {
        self.buffers.sums.clear(COUNT * size_of::<SplitSum>())?;
        launch(self.buffers.sums.pointer())?;
        let sums = self.buffers.sums.read::<SplitSum>(COUNT)?;
        let sums = std::array::from_fn(|k| ExactSum::from_units(sums[k].units()));
        let control = self.buffers.control.read::<Control>(1)?[0];
        let ok = control.status == status::DONE;
        match &self.domain {
            None if ok => Ok(sums),
            None => Err(self.range_error(control.status, control.culprit)),
            Some(multi_rank) => {
                let here = if ok { Ok(sums) } else { Err(control.culprit) };
                let error = |particle| self.range_error(status::KINETIC_RANGE, particle);
                multi_rank.domain.combine(here).map_err(error)
            }
        }
    }

    /// # Errors
    /// If a number of the last kernel did not fit; among other ranks it is found when all compare.
    fn check_ranges(&self) -> Result<(), EngineError> {
        if self.domain.is_some() {
            return Ok(());
        }
        let control = self.buffers.control.read::<Control>(1)?[0];
        if control.status == status::DONE {
            return Ok(());
        }
        Err(self.range_error(control.status, control.culprit))
    }

    pub(super) fn range_error(&self, status: u32, particle: u32) -> EngineError {
        let quantity = match status {
            status::VELOCITY_RANGE => "the velocity",
            status::TOO_CLOSE => "the force",
            _ => "the energy",
        };
        EngineError::OutOfRange { step: self.step, quantity, particle }
    }

    /// Adds the sums of `measure_velocities` and `measure_pairs` to those at these addresses.
    pub(super) fn measure_into(&self, velocities: u64, pairs: u64) -> Result<(), EngineError> {
        self.launch_measuring(velocities, pairs)?;
        self.check_ranges()
    }

    fn launch_measuring(&self, velocities: u64, pairs: u64) -> Result<(), EngineError> {
        self.over_particles("measure_velocities", &[(&raw const velocities).cast()])?;
        self.over_lanes("measure_pairs", &[(&raw const pairs).cast()])
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

    /// The same; returns the kinetic energy that it gives.
    pub(super) fn scale_measured(&self, factor: f64) -> Result<f64, EngineError> {
        let before = self.kinetic2()?;
        self.scale_all(factor)?;
        Ok(0.5 * (self.kinetic2()? - before))
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
        let (seed, step, purpose) = (self.plan.system.random_key(), self.step, purpose as u32);
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
        let totals = self.sums::<3>("sum_units")?.map(ExactSum::to_units);
        let shares = Shares {
            share: totals.map(|total| total.div_euclid(count) as i64),
            rest: totals.map(|total| total.rem_euclid(count) as u64),
        };
        self.over_particles("subtract_units", &[(&raw const shares).cast()])
    }

    pub(super) fn measure(&self) -> Result<Thermodynamics, EngineError> {
        // Nine of the velocities, seven of the pairs.
        let behind = (9 * size_of::<SplitSum>()) as u64;
        let sums = self.sums_of::<16>(|sums| self.launch_measuring(sums, sums + behind))?;
        let [xx, yy, zz, xy, xz, yz, px, py, pz, pairs @ ..] = sums.map(ExactSum::value);
        let momentum = [px, py, pz];
        // Each pair was counted with both of its particles.
        let [potential, virial @ ..] = pairs.map(|sum| 0.5 * sum);
        let mass = self.total_mass();
        let sums = SystemSums {
            kinetic: [xx, yy, zz, xy, xz, yz],
            potential,
            virial,
            center_of_mass_velocity: momentum.map(|momentum| momentum / mass),
        };
        Ok(Thermodynamics::new(
            self.step,
            &sums,
            self.particle_count(),
            &self.simulation_box,
            &self.stage,
            &self.thermostat,
        ))
    }

    /// Ids of a pair that is too close, found anew; `None` if none is any more.
    pub(super) fn closest_pair(&self) -> Result<Option<(u32, u32)>, EngineError> {
        let mut control = self.control;
        control.closest_pair = u64::MAX;
        self.buffers.control.write(&[control])?;
        self.over_particles("find_too_close", &[])?;
        let pair = self.buffers.control.read::<Control>(1)?[0].closest_pair;
        Ok((pair != u64::MAX).then_some(((pair >> 32) as u32, pair as u32)))
    }
}
