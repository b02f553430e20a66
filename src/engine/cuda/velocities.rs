//! Measurements, and changes of all velocities, between launches.
use super::buffers::{SplitSum, status};
use super::constants::DevicePolicy;
use super::declare::Pointer;
use super::engine::CudaEngine;
use super::launch::Kernel;
use super::measure::measured::{self, ALL_SUMS, PAIR_SUMS, STRESS_SUMS, VELOCITY_SUMS};
use super::measure::{Factors, Shares, Shift};
use super::stepper::{Fault, Stepper};
use crate::arithmetic::random::Purpose;
use crate::engine::barostat::PairSums;
use crate::engine::precision::ExactSum;
use crate::engine::thermostats::{Context, Velocities};
use crate::engine::{EngineError, SystemSums, Thermodynamics};
use crate::integrator::ThermostatState;
use crate::system::Species;

/// Of a sum in which each pair was counted with both of its particles.
fn of_pairs_once(sum: ExactSum) -> f64 {
    0.5 * sum.value()
}

/// What the first sums of `measure_pairs` amount to, over a whole system.
pub(super) fn pair_sums_of(sums: &[SplitSum]) -> PairSums {
    std::array::from_fn(|k| of_pairs_once(ExactSum::from_units(sums[k].units())))
}

impl<P: DevicePolicy, S: Stepper> CudaEngine<P, S> {
    /// Sums that a kernel makes, over all ranks.
    fn sums<const COUNT: usize>(
        &self,
        kernel: Kernel<(Pointer<SplitSum>,)>,
    ) -> Result<[ExactSum; COUNT], EngineError> {
        self.sums_of(|sums| self.over_particles(kernel, (sums,)))
    }

    /// Sums over all ranks that kernels make, which are launched with the address of the first.
    pub(super) fn sums_of<const COUNT: usize>(
        &self,
        launch: impl FnOnce(Pointer<SplitSum>) -> Result<(), EngineError>,
    ) -> Result<[ExactSum; COUNT], EngineError> {
        let (sums, control) = self.device.sums_of::<COUNT>(launch)?;
        let here = match control.status {
            status::DONE => Ok(sums.map(|sum| ExactSum::from_units(sum.units()))),
            status => Err(Fault { status, particle: control.culprit }),
        };
        let combined = self.stepper.combine(here);
        combined.map_err(|fault| self.state.range_error(fault.status, fault.particle))
    }

    /// Sums over all particles of `m v_a^2`, by axis.
    pub(super) fn kinetic_sums(&self) -> Result<[ExactSum; 3], EngineError> {
        let kernel = self.device.measure().measure_velocities;
        let [xx, yy, zz, ..] = self.sums::<{ VELOCITY_SUMS as usize }>(kernel)?;
        Ok([xx, yy, zz])
    }

    /// # Errors
    /// If a number of the last kernel did not fit; among other ranks it is found when all compare.
    fn check_ranges(&self) -> Result<(), EngineError> {
        if !self.stepper.fails_at_once() {
            return Ok(());
        }
        let control = self.state.read_control()?;
        if control.status == status::DONE {
            return Ok(());
        }
        Err(self.state.range_error(control.status, control.culprit))
    }

    /// Adds the sums of `measure_velocities` and `measure_pairs` to those at these addresses.
    pub(super) fn measure_into(
        &self,
        velocities: Pointer<SplitSum>,
        pairs: Pointer<SplitSum>,
    ) -> Result<(), EngineError> {
        self.launch_measuring(velocities, pairs)?;
        self.check_ranges()
    }

    fn launch_measuring(
        &self,
        velocities: Pointer<SplitSum>,
        pairs: Pointer<SplitSum>,
    ) -> Result<(), EngineError> {
        self.over_particles(self.device.measure().measure_velocities, (velocities,))?;
        self.sum_pairs(pairs)
    }

    /// Multiplies velocities, along each axis; whether they fit is found with the control.
    pub(super) fn scale_by_axis(&self, factor: [f64; 3]) -> Result<(), EngineError> {
        let factors = Factors { x: factor };
        self.over_particles(self.device.measure().scale_velocities, (factors,))
    }

    /// Sums over pairs, as of the present lists: potential energy and virial.
    pub(super) fn pair_sums(&self) -> Result<PairSums, EngineError> {
        let sums = self.sums_of::<{ PAIR_SUMS as usize }>(|sums| self.sum_pairs(sums))?;
        Ok(sums.map(of_pairs_once))
    }

    pub(super) fn reverse_all(&self) -> Result<(), EngineError> {
        self.over_particles(self.device.measure().reverse_velocities, ())?;
        self.device.wait()
    }

    pub(super) fn measure(&self) -> Result<Thermodynamics, EngineError> {
        self.measure_with(None)
    }

    /// The same where the sums over pairs may be known.
    pub(super) fn measure_with(
        &self,
        pairs: Option<PairSums>,
    ) -> Result<Thermodynamics, EngineError> {
        let (timestep, measure) = (self.plan.run.flight(), self.device.measure());
        let sums = self.sums_of::<{ ALL_SUMS as usize }>(|sums| {
            let kicks = sums.add(STRESS_SUMS as usize);
            self.over_particles(measure.measure_kicks, (kicks, timestep))?;
            match pairs {
                None => self.launch_measuring(sums, sums.add(VELOCITY_SUMS as usize)),
                Some(_) => self.over_particles(measure.measure_velocities, (sums,)),
            }
        })?;
        Ok(self.thermodynamics_with(sums, pairs))
    }

    /// What the sums over the system amount to: of `measure_velocities`, `measure_pairs` and `measure_kicks`.
    pub(super) fn thermodynamics_of(
        &self,
        sums: [ExactSum; measured::ALL_SUMS as usize],
    ) -> Thermodynamics {
        self.thermodynamics_with(sums, None)
    }

    /// The same where the sums over pairs may be known.
    fn thermodynamics_with(
        &self,
        sums: [ExactSum; measured::ALL_SUMS as usize],
        pairs: Option<PairSums>,
    ) -> Thermodynamics {
        let [.., kicks] = sums.map(ExactSum::value);
        let [xx, yy, zz, xy, xz, yz, px, py, pz, of_pairs @ .., _] = sums;
        let [xx, yy, zz, xy, xz, yz] = [xx, yy, zz, xy, xz, yz].map(ExactSum::value);
        let momentum = [px, py, pz].map(ExactSum::value);
        let [potential, virial @ ..] = pairs.unwrap_or_else(|| of_pairs.map(of_pairs_once));
        let mass = self.state.total_mass();
        let sums = SystemSums {
            kinetic: [xx, yy, zz, xy, xz, yz],
            kicks,
            potential,
            virial,
            center_of_mass_velocity: momentum.map(|momentum| momentum / mass),
        };
        Thermodynamics::new(
            self.state.step,
            &sums,
            self.particle_count(),
            self.state.simulation_box(),
            &self.stage,
            &self.thermostat,
        )
    }

    /// Ids of a pair that is too close, found anew; `None` if none is any more.
    pub(super) fn closest_pair(&self) -> Result<Option<(u32, u32)>, EngineError> {
        let mut control = self.state.control;
        control.closest_pair = u64::MAX;
        self.state.overwrite_control(control)?;
        self.over_particles(self.device.measure().find_too_close, ())?;
        let pair = self.state.read_control()?.closest_pair;
        Ok((pair != u64::MAX).then_some(((pair >> 32) as u32, pair as u32)))
    }
}

impl<P: DevicePolicy, S: Stepper> Velocities for CudaEngine<P, S> {
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
        let [xx, yy, zz] = self.kinetic_sums()?.map(ExactSum::value);
        Ok(xx + yy + zz)
    }

    fn scale_all(&mut self, factor: f64) -> Result<(), EngineError> {
        self.scale_by_axis([factor; 3])?;
        self.check_ranges()
    }

    fn draw_each(&mut self, temperature: f64, purpose: Purpose) -> Result<(), EngineError> {
        let (seed, step, purpose) =
            (self.plan.system.random_key(), self.state.step, purpose as u32);
        let arguments = (seed, step, purpose, temperature);
        self.over_particles(self.device.measure().draw_velocities, arguments)?;
        self.check_ranges()
    }

    fn center_of_mass_velocity(&self) -> Result<[f64; 3], EngineError> {
        let kernel = self.device.measure().measure_velocities;
        let sums = self.sums::<{ VELOCITY_SUMS as usize }>(kernel)?;
        let mass = self.state.total_mass();
        Ok(std::array::from_fn(|axis| sums[6 + axis].value() / mass))
    }

    fn shift_all(&mut self, by: [f64; 3]) -> Result<(), EngineError> {
        self.over_particles(self.device.measure().shift_velocities, (Shift { x: by },))?;
        self.check_ranges()
    }

    fn total_units(&self) -> Result<Option<[i128; 3]>, EngineError> {
        // Integers have exact sums.
        if P::exact_sum(std::iter::empty()).is_none() {
            return Ok(None);
        }
        let totals = self.sums::<3>(self.device.measure().sum_units)?;
        Ok(Some(totals.map(ExactSum::to_units)))
    }

    fn subtract_units(&mut self, share: [i64; 3], rest: [u64; 3]) -> Result<(), EngineError> {
        self.over_particles(self.device.measure().subtract_units, (Shares { share, rest },))
    }
}
