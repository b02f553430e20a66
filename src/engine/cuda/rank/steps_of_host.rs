//! Steps that the host leads: it has the sites of ghosts sent, and thermostats act between kernels.
use super::argument;
use super::halo::HALF_STEPS;
use crate::arithmetic::random::Purpose;
use crate::engine::EngineError;
use crate::engine::cuda::buffers::SplitSum;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::thermostat::Thermostat;
use crate::engine::precision::ExactSum;
use crate::integrator::{andersen, bussi};
use crate::plan;

/// Tiles that a force kernel works on; the values of `Region` in `kernels/domain/halo.cuh`.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Region {
    Interior = 0,
    Boundary = 1,
    Everywhere = 2,
}
impl<P: DevicePolicy> CudaEngine<P> {
    /// Steps in which the host has the sites of ghosts sent.
    pub(super) fn steps_of_host(
        &mut self,
        stop: u64,
        half_steps: &mut usize,
    ) -> Result<(), EngineError> {
        self.set_changed_halo()?;
        self.over_particles("save_particles", &[])?;
        while self.step < stop {
            self.step_with_ghosts(half_steps)?;
        }
        self.over_particles("find_maximum_displacement", &[])
    }

    fn step_with_ghosts(&mut self, half_steps: &mut usize) -> Result<(), EngineError> {
        self.thermostat_half(0, half_steps)?;
        self.step += 1;
        let step = self.step;
        self.over_particles("kick_and_drift", &[argument(&step)])?;
        self.exchange_sites(|engine| engine.forces(Region::Interior, true))?;
        self.forces(Region::Boundary, true)?;
        self.thermostat_half(1, half_steps)
    }

    /// Sends the sites of what is sent, and takes those of ghosts.
    pub(super) fn exchange_sites(
        &mut self,
        meanwhile: impl FnOnce(&mut Self) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let halo = &self.multi_rank().halo;
        let (sent, ghosts) = (halo.sent, halo.ghosts);
        self.over(sent, "pack_sites", &[])?;
        let site = self.element_sizes.site * self.element_sizes.site_stride();
        self.exchange(&self.lengths(site), meanwhile)?;
        let half = self.multi_rank().half;
        self.over(ghosts, "take_sites", &[argument(&half)])
    }

    pub(super) fn forces(&self, region: Region, kick: bool) -> Result<(), EngineError> {
        let (region, kick, step) = (region as u32, u32::from(kick), self.step);
        let lanes = self.system.count << self.shape.lanes_log2;
        let arguments = [argument(&region), argument(&kick), argument(&step)];
        self.over(lanes, "forces_of_region", &arguments)
    }

    /// Forces of all particles, as they are needed before a first step.
    pub(super) fn forces_everywhere(&mut self) -> Result<(), EngineError> {
        self.write_control()?;
        self.clear_halo_control()?;
        self.forces(Region::Everywhere, false)?;
        self.note_findings().map(drop)
    }

    /// What a thermostat does before a step's drift (`half` 0) and at its end (1).
    pub(super) fn thermostat_half(
        &mut self,
        half: u64,
        half_steps: &mut usize,
    ) -> Result<(), EngineError> {
        let Some(thermostat) = self.stage.thermostat else { return Ok(()) };
        let timestep = self.plan.run.timestep;
        match thermostat.kind {
            plan::Thermostat::NoseHoover { .. } => {
                let kinetic2 = self.kinetic2()?;
                let degrees = self.degrees_of_freedom();
                let chain = match half {
                    0 => self.stage.chain(self.step, degrees),
                    _ => self.stage.chain_after(self.step, degrees, &mut self.thermostat),
                };
                let chain = chain.expect("a chain");
                let factor = chain.half_step(&mut self.thermostat, kinetic2, timestep);
                self.scale_all(factor)
            }
            plan::Thermostat::Langevin { .. } => {
                let degrees = self.degrees_of_freedom();
                let seed = self.plan.system.random_key();
                let (_, thermostat) =
                    Thermostat::new(&self.stage, seed, timestep, degrees, &self.species);
                let heat = &self.multi_rank().buffers.heat;
                let to = heat.pointer() + (*half_steps * size_of::<SplitSum>()) as u64;
                *half_steps += 1;
                let step = self.step;
                let arguments =
                    [argument(&thermostat), argument(&step), argument(&half), argument(&to)];
                self.over_particles("langevin_half_step", &arguments)
            }
            _ if half == 0 => Ok(()),
            plan::Thermostat::Andersen { exact, .. } => {
                if self.collides_at(self.step) {
                    let temperature = self.stage.target_temperature(&thermostat, self.step);
                    let purpose = Purpose::AndersenVelocity;
                    self.draw_boltzmann_velocities(temperature, exact, purpose)?;
                }
                Ok(())
            }
            plan::Thermostat::Bussi { time } => {
                let kinetic2 = self.kinetic2()?;
                let factor = bussi::factor(
                    kinetic2,
                    self.degrees_of_freedom(),
                    self.stage.target_temperature(&thermostat, self.step),
                    time,
                    timestep,
                    self.plan.system.random_key(),
                    self.step,
                );
                self.scale_all(factor)?;
                self.thermostat.heat += 0.5 * kinetic2 * (factor * factor - 1.0);
                Ok(())
            }
        }
    }

    /// Steps between collisions of an Andersen thermostat.
    fn collision_interval(&self) -> Option<u64> {
        match self.stage.thermostat?.kind {
            plan::Thermostat::Andersen { rate, .. } => {
                Some(andersen::interval(rate, self.plan.run.timestep))
            }
            _ => None,
        }
    }

    /// The first step from one on, at whose end particles collide with a thermostat.
    pub(super) fn next_collision(&self, step: u64) -> Option<u64> {
        let first = self.stage.first_step;
        Some(first + (step - first).next_multiple_of(self.collision_interval()?))
    }

    pub(super) fn collides_at(&self, step: u64) -> bool {
        self.next_collision(step) == Some(step)
    }

    /// Makes room for the heat of half steps from a number on.
    pub(super) fn clear_heat(&self, first: usize) -> Result<(), EngineError> {
        match self.stage.thermostat.map(|thermostat| thermostat.kind) {
            Some(plan::Thermostat::Langevin { .. }) => {
                let bytes = [first, HALF_STEPS].map(|half_step| half_step * size_of::<SplitSum>());
                self.multi_rank().buffers.heat.fill(bytes[0]..bytes[1], 0)
            }
            _ => Ok(()),
        }
    }

    /// Takes over the heat of a number of half steps of a thermostat, until all ranks sum it up.
    pub(super) fn collect_heat(&mut self, half_steps: usize) -> Result<(), EngineError> {
        if half_steps == 0 {
            return Ok(());
        }
        let sums = self.multi_rank().buffers.heat.read::<SplitSum>(half_steps)?;
        let heat = sums.into_iter().map(|sum| ExactSum::from_units(sum.units()));
        self.multi_rank_mut().domain.heat.extend(heat);
        Ok(())
    }
}
