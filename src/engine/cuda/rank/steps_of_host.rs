//! Steps that the host leads: it has the sites of ghosts sent, and thermostats act between kernels.
use super::halo::MOST_HEATS;
use super::kernels::Region;
use super::multi_rank::MultiRank;
use crate::engine::EngineError;
use crate::engine::cuda::buffers::SplitSum;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::declare::Pointer;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::thermostat::Thermostat;
use crate::engine::precision::ExactSum;
use crate::engine::thermostats::{Steps, begin_step, end_step, kicks_at_end};
use crate::integrator::langevin::OrnsteinUhlenbeck;
use crate::plan;

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// Steps in which the host has the sites of ghosts sent.
    pub(super) fn steps_of_host(&mut self, stop: u64) -> Result<(), EngineError> {
        self.set_changed_halo()?;
        self.over_particles(self.stepper.kernels.save_particles, ())?;
        while self.state.step < stop {
            begin_step(self)?;
            self.exchange_sites(Some(Region::Interior))?;
            self.forces(Region::Boundary, !kicks_at_end(&self.stage))?;
            end_step(self)?;
        }
        self.over_particles(self.stepper.kernels.find_maximum_displacement, ())
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

    /// Where the heat of a thermostat in the next step goes, which stays on the GPU.
    fn next_heat(&mut self) -> Pointer<SplitSum> {
        self.stepper.heats += 1;
        self.stepper.buffers.heat.pointer::<SplitSum>().add(self.stepper.heats - 1)
    }

    /// The first step from one on in which particles collide with a thermostat.
    pub(super) fn next_collision(&self, step: u64) -> Option<u64> {
        let first = self.stage.first_step;
        let interval = self.stage.collision_interval(self.plan.run.timestep)?;
        Some(first + (step - first).next_multiple_of(interval))
    }

    pub(super) fn collides_in(&self, step: u64) -> bool {
        self.stage.collides_in(step, self.plan.run.timestep)
    }

    /// Makes room for the heat of steps from a number on.
    pub(super) fn clear_heat(&mut self, first: usize) -> Result<(), EngineError> {
        self.stepper.heats = 0;
        match self.stage.thermostat.map(|thermostat| thermostat.kind) {
            Some(
                plan::Thermostat::Langevin { .. }
                | plan::Thermostat::Brownian { .. }
                | plan::Thermostat::Bussi { .. }
                | plan::Thermostat::Isokinetic,
            ) => {
                let bytes = [first, MOST_HEATS].map(|heats| heats * size_of::<SplitSum>());
                self.stepper.buffers.heat.fill(bytes[0]..bytes[1], 0)
            }
            _ => Ok(()),
        }
    }

    /// Takes over the heat of a thermostat, until all ranks sum it up.
    pub(super) fn collect_heat(&mut self) -> Result<(), EngineError> {
        let heats = std::mem::take(&mut self.stepper.heats);
        if heats == 0 {
            return Ok(());
        }
        let sums = self.stepper.buffers.heat.read::<SplitSum>(heats)?;
        let heat = sums.into_iter().map(|sum| ExactSum::from_units(sum.units()));
        self.stepper.domain.heat.extend(heat);
        Ok(())
    }
}

impl<P: DevicePolicy> Steps for CudaEngine<P, MultiRank> {
    fn count_step(&mut self) {
        self.state.step += 1;
    }

    fn kick_and_drift(&mut self) -> Result<bool, EngineError> {
        if self.shares_residue() {
            self.kick()?;
            return self.drift();
        }
        let arguments = (self.state.step, self.flow_of_drift());
        self.over_particles(self.stepper.kernels.kick_and_drift, arguments)?;
        // Kernels have noted it.
        self.end_drift_in_flow().map(|()| false)
    }

    fn kick(&mut self) -> Result<(), EngineError> {
        self.over_particles(self.stepper.kernels.kick, ())
    }

    fn drift(&mut self) -> Result<bool, EngineError> {
        let of_step = match self.shares_residue() {
            true => self.flow_of_drift_with_residue()?,
            false => self.flow_of_drift(),
        };
        let arguments = (self.state.step, of_step);
        self.over_particles(self.stepper.kernels.drift, arguments)?;
        self.end_drift_in_flow().map(|()| false)
    }

    fn half_drift(&mut self) -> Result<(), EngineError> {
        self.over_particles(self.stepper.kernels.half_drift, (self.flow_of_drift(),))
    }

    fn end_drift(&mut self) -> Result<bool, EngineError> {
        let arguments = (self.state.step, self.flow_of_drift());
        self.over_particles(self.stepper.kernels.end_drift, arguments)?;
        self.end_drift_in_flow().map(|()| false)
    }

    fn kinetic2_of_half_step(&self) -> Result<f64, EngineError> {
        Ok(ExactSum::value_of_all(&self.kinetic_sums()?))
    }

    fn scale_and_kick(&mut self, factor: f64) -> Result<(), EngineError> {
        let (step, heat) = (self.state.step, self.next_heat());
        self.over_particles(self.stepper.kernels.scale_and_kick, (factor, step, heat))
    }

    fn friction_and_noise(&mut self, _of: &OrnsteinUhlenbeck) -> Result<(), EngineError> {
        let (degrees, seed) = (self.degrees_of_freedom(), self.plan.system.random_key());
        let timestep = self.plan.run.timestep;
        let (_, thermostat) =
            Thermostat::new(&self.stage, seed, timestep, degrees, self.state.species());
        let (step, heat) = (self.state.step, self.next_heat());
        let kernel = self.stepper.kernels.friction_and_noise;
        self.over_particles(kernel, (thermostat, step, heat))
    }
}
