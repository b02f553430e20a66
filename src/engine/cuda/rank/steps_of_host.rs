//! Steps that the host leads: it has the sites of ghosts sent, and thermostats act between kernels.
use super::halo::HALF_STEPS;
use super::kernels::Region;
use super::multi_rank::MultiRank;
use crate::engine::EngineError;
use crate::engine::cuda::buffers::SplitSum;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::thermostat::Thermostat;
use crate::engine::precision::ExactSum;
use crate::engine::thermostats::half_step;
use crate::integrator::andersen;
use crate::plan;

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// Steps in which the host has the sites of ghosts sent.
    pub(super) fn steps_of_host(
        &mut self,
        stop: u64,
        half_steps: &mut usize,
    ) -> Result<(), EngineError> {
        self.set_changed_halo()?;
        self.over_particles(self.stepper.kernels.save_particles, ())?;
        while self.state.step < stop {
            self.step_with_ghosts(half_steps)?;
        }
        self.over_particles(self.stepper.kernels.find_maximum_displacement, ())
    }

    fn step_with_ghosts(&mut self, half_steps: &mut usize) -> Result<(), EngineError> {
        self.thermostat_half(0, half_steps)?;
        self.state.step += 1;
        let step = self.state.step;
        self.over_particles(self.stepper.kernels.kick_and_drift, (step,))?;
        self.exchange_sites(Some(Region::Interior))?;
        self.forces(Region::Boundary, true)?;
        self.thermostat_half(1, half_steps)
    }

    /// Sends the sites of what is sent, and takes those of ghosts; forces of a step are computed meanwhile in a `region`.
    pub(super) fn exchange_sites(&mut self, region: Option<Region>) -> Result<(), EngineError> {
        let halo = &self.stepper.halo;
        let (sent, ghosts) = (halo.sent, halo.ghosts);
        self.over(sent, self.stepper.kernels.pack_sites, ())?;
        let site = self.state.element_sizes().site * self.state.element_sizes().site_stride();
        self.exchange(&self.lengths(site), region)?;
        let half = self.stepper.half;
        self.over(ghosts, self.stepper.kernels.take_sites, (half,))
    }

    pub(super) fn forces(&self, region: Region, kick: bool) -> Result<(), EngineError> {
        let (region, kick, step) = (region as u32, u32::from(kick), self.state.step);
        let lanes = self.neighbor_list.lanes(self.state.count()) as u32;
        self.over(lanes, self.stepper.kernels.forces_of_region, (region, kick, step))
    }

    /// Forces of all particles, as they are needed before a first step.
    pub(super) fn forces_everywhere(&mut self) -> Result<(), EngineError> {
        self.state.write_control()?;
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
        half_step(self, half, |engine, _, _| engine.langevin_half_step(half, half_steps))
    }

    /// The heat that it gives stays on the GPU.
    fn langevin_half_step(&mut self, half: u64, half_steps: &mut usize) -> Result<(), EngineError> {
        let (degrees, seed) = (self.degrees_of_freedom(), self.plan.system.random_key());
        let timestep = self.plan.run.timestep;
        let (_, thermostat) =
            Thermostat::new(&self.stage, seed, timestep, degrees, self.state.species());
        let heat = &self.stepper.buffers.heat;
        let to = heat.pointer::<SplitSum>().add(*half_steps);
        *half_steps += 1;
        let step = self.state.step;
        let kernel = self.stepper.kernels.langevin_half_step;
        self.over_particles(kernel, (thermostat, step, half, to))
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
                self.stepper.buffers.heat.fill(bytes[0]..bytes[1], 0)
            }
            _ => Ok(()),
        }
    }

    /// Takes over the heat of a number of half steps of a thermostat, until all ranks sum it up.
    pub(super) fn collect_heat(&mut self, half_steps: usize) -> Result<(), EngineError> {
        if half_steps == 0 {
            return Ok(());
        }
        let sums = self.stepper.buffers.heat.read::<SplitSum>(half_steps)?;
        let heat = sums.into_iter().map(|sum| ExactSum::from_units(sum.units()));
        self.stepper.domain.heat.extend(heat);
        Ok(())
    }
}
