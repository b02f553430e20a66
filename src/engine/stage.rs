use serde::{Deserialize, Serialize};

use super::barostat::VolumeTrial;
use super::swaps::SwapTrials;
use crate::integrator::{NoseHooverChain, Piston, PistonState, ThermostatState, andersen};
use crate::plan::{
    BarostatKind, BarostatPlan, Coupling, ShearPlan, SwapPlan, Thermostat, ThermostatPlan,
};
use crate::system::Species;

/// What an engine must know of the stage that it runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StageContext {
    pub thermostat: Option<ThermostatPlan>,
    /// Steps since the start of the run at which the stage begins.
    pub first_step: u64,
    pub steps: u64,
    /// Exchanges of diameters or species.
    pub swap: Option<SwapPlan>,
    /// Keeps the pressure.
    #[serde(default)]
    pub barostat: Option<BarostatPlan>,
    /// The box is sheared; velocities are those beside the flow.
    pub shear: Option<ShearPlan>,
}

impl StageContext {
    /// Before any stage.
    pub fn none(step: u64) -> Self {
        StageContext {
            thermostat: None,
            first_step: step,
            steps: 0,
            swap: None,
            barostat: None,
            shear: None,
        }
    }

    /// `D (N - 1)`; `D N` with a Langevin thermostat or in Brownian dynamics, which move the centre of mass, and one less than `D (N - 1)` where the kinetic
    /// energy is constant.
    pub fn degrees_of_freedom(&self, dimension: usize, particles: usize) -> u64 {
        let (dimension, count) = (dimension as u64, particles as u64);
        match self.thermostat.map(|thermostat| thermostat.kind) {
            Some(Thermostat::Langevin { .. } | Thermostat::Brownian { .. }) => dimension * count,
            Some(Thermostat::Isokinetic) => (dimension * (count - 1)).max(2) - 1,
            _ => dimension * (count - 1).max(1),
        }
    }

    /// Whether particles share what rounding leaves of the momentum in a flow, where velocities are integers: masses are equal, and no
    /// thermostat rounds velocities itself.
    pub fn keeps_momentum_in_flow(&self, species: &[Species]) -> bool {
        let equal_masses = species.windows(2).all(|pair| pair[0].mass == pair[1].mass);
        self.shear.is_some() && self.thermostat.is_none() && equal_masses
    }

    /// Temperature of a thermostat after a step of the run.
    pub fn target_temperature(&self, thermostat: &ThermostatPlan, step: u64) -> f64 {
        thermostat.temperature.at(step - self.first_step, self.steps)
    }

    /// Whether trials to exchange something follow a step of the run.
    pub fn swaps_after(&self, step: u64) -> bool {
        let since = step - self.first_step;
        self.swap.is_some_and(|swap| since > 0 && since.is_multiple_of(swap.every))
    }

    /// Steps from a step of the run to the one after which trials come next.
    pub fn steps_to_swaps(&self, step: u64) -> u64 {
        let since = step - self.first_step;
        self.swap.map_or(u64::MAX, |swap| swap.every - since % swap.every)
    }

    /// The trials after a step of the run, if some are due.
    pub fn swap_trials(&self, key: u64, step: u64, particles: usize) -> Option<SwapTrials> {
        let swap = self.swap.filter(|_| self.swaps_after(step))?;
        let temperature = self.target_temperature(&self.thermostat?, step);
        let (count, pairs) = (swap.trials(particles), swap.pairs);
        Some(SwapTrials { key, step, temperature, count, pairs })
    }

    /// Steps from a step of the run to the next one after which something happens beside the dynamics.
    pub fn steps_to_trials(&self, step: u64) -> u64 {
        let since = step - self.first_step;
        let to = |every: u64| every - since % every;
        let volume = self.rescaling().map_or(u64::MAX, |barostat| to(barostat.every));
        self.steps_to_swaps(step).min(volume)
    }

    /// The barostat whose trials change the box between steps.
    fn rescaling(&self) -> Option<BarostatPlan> {
        self.barostat.filter(|barostat| barostat.kind == BarostatKind::CellRescaling)
    }

    /// The piston that moves the box in steps, if there is one, with the pressure and the temperature after a step of the run.
    pub fn piston(&self, step: u64, dimension: usize, particles: usize) -> Option<Piston> {
        let barostat = self.barostat.filter(|barostat| barostat.kind == BarostatKind::Mtk)?;
        let since = step.saturating_sub(self.first_step);
        Some(Piston {
            dimension,
            by_axis: barostat.coupling == Coupling::Anisotropic,
            degrees_of_freedom: self.degrees_of_freedom(dimension, particles) as f64,
            temperature: self.thermostat?.temperature.at(since, self.steps),
            pressure: barostat.pressure.at(since, self.steps),
            time: barostat.time,
        })
    }

    /// Whether a piston moves the box in steps.
    pub fn has_piston(&self) -> bool {
        self.barostat.is_some_and(|barostat| barostat.kind == BarostatKind::Mtk)
    }

    /// The trial to change the volume after a step of the run, if one is due.
    pub fn volume_trial(
        &self,
        key: u64,
        step: u64,
        timestep: f64,
        particles: usize,
    ) -> Option<VolumeTrial> {
        let since = step - self.first_step;
        let plan = self.rescaling().filter(|of| since > 0 && since.is_multiple_of(of.every))?;
        Some(VolumeTrial {
            key,
            step,
            particles,
            temperature: self.target_temperature(&self.thermostat?, step),
            pressure: plan.pressure.at(since, self.steps),
            interval: plan.every as f64 * timestep,
            plan,
        })
    }

    /// Whether particles collide with an Andersen thermostat in a step of the run.
    pub fn collides_in(&self, step: u64, timestep: f64) -> bool {
        self.collision_interval(timestep)
            .is_some_and(|interval| (step - self.first_step).is_multiple_of(interval))
    }

    /// Steps between collisions with an Andersen thermostat.
    pub fn collision_interval(&self, timestep: f64) -> Option<u64> {
        match self.thermostat?.kind {
            Thermostat::Andersen { rate, .. } => Some(andersen::interval(rate, timestep)),
            _ => None,
        }
    }

    /// The Nose-Hoover chain, if there is one, at a step of the run.
    pub fn chain(&self, step: u64, degrees_of_freedom: u64) -> Option<NoseHooverChain> {
        let thermostat = self.thermostat?;
        let Thermostat::NoseHoover { period, .. } = thermostat.kind else { return None };
        Some(NoseHooverChain {
            degrees_of_freedom: degrees_of_freedom as f64,
            temperature: self.target_temperature(&thermostat, step),
            period,
        })
    }

    /// The chain at a step that has been taken, which comes from the temperature of the step before.
    pub fn chain_after(
        &self,
        step: u64,
        degrees_of_freedom: u64,
        memory: &mut ThermostatState,
    ) -> Option<NoseHooverChain> {
        let before = self.chain(step - 1, degrees_of_freedom)?.temperature;
        let chain = self.chain(step, degrees_of_freedom)?;
        chain.come_from(before, memory);
        Some(chain)
    }

    /// Clears what an earlier thermostat remembered, unless the stage is entered in its middle.
    pub fn prepare(&self, memory: &mut ThermostatState, step: u64) {
        let length = match self.thermostat.map(|thermostat| thermostat.kind) {
            Some(Thermostat::NoseHoover { chain_length, .. }) => chain_length,
            _ => 0,
        };
        if step == self.first_step || memory.chain_velocity.len() != length {
            memory.chain_position = vec![0.0; length];
            memory.chain_velocity = vec![0.0; length];
        }
        let of_piston = self.barostat.map_or(0, |barostat| barostat.chain_length);
        let held = memory.piston.as_ref().map_or(0, |piston| piston.chain_velocity.len());
        if step == self.first_step || held != of_piston {
            let by_axis = self.barostat.is_some_and(|of| of.coupling == Coupling::Anisotropic);
            memory.piston = (of_piston > 0).then(|| PistonState::new(by_axis, of_piston));
        }
    }
}
