//! Thermostats as the kernels get them.
use super::declare::{device_constants, device_struct, shared_header};
use crate::engine::StageContext;
use crate::plan;
use crate::system::Species;

device_constants! {
    /// What acts on the velocities.
    mod kind: u32 {
        NONE = 0, as THERMOSTAT_NONE;
        LANGEVIN = 1, as THERMOSTAT_LANGEVIN;
        NOSE_HOOVER = 2, as THERMOSTAT_NOSE_HOOVER;
        BUSSI = 3, as THERMOSTAT_BUSSI;
        ANDERSEN = 4, as THERMOSTAT_ANDERSEN;
    }
}

/// Which kernel takes the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Nothing acts on the velocities.
    None = kind::NONE,
    Langevin = kind::LANGEVIN,
    NoseHoover = kind::NOSE_HOOVER,
    Bussi = kind::BUSSI,
    Andersen = kind::ANDERSEN,
}

impl Kind {
    /// Whether tagged sites leave it a warp of each block (`SPARES_WARP` in `kernels/md/passes.cuh`).
    pub fn spares_warp(self) -> bool {
        matches!(self, Kind::NoseHoover | Kind::Bussi)
    }
}

device_struct! {
    /// What acts on the velocities of this launch.
    pub struct Thermostat {
        kind: u32,
        chain_length: u32,
        seed: u64,
        stage_first_step: u64,
        stage_steps: u64,
        /// Ramp of the thermostat's temperature over the stage.
        from: f64,
        to: f64,
        timestep: f64,
        degrees_of_freedom: u64,
        /// Langevin: exp(-friction dt); Nose-Hoover: period; Bussi: relaxation time, 0 where the kinetic energy stays as it is.
        parameter: f64,
        /// Andersen: steps between collisions, the mass of all particles, whether velocities are scaled to the temperature
        /// exactly, and whether all masses are equal.
        interval: u64,
        total_mass: f64,
        exact: u32,
        equal_masses: u32,
    }
}

device_constants! {
    /// Sums that each block leaves of a launch's steps: of as many the memory is used again.
    mod turns: u32 {
        TURNS_OF_SUMS = 4;
    }
}
/// For each block: heat and kinetic energy. Behind them is room for a factor that the first block finds for all.
pub const SUMS_OF_BLOCK: usize = 2 * turns::TURNS_OF_SUMS as usize;

shared_header!(pub SHARED = "shared/thermostat.cuh": kind::Declaration, turns::Declaration, Thermostat);

impl Thermostat {
    pub fn new(
        stage: &StageContext,
        seed: u64,
        timestep: f64,
        degrees_of_freedom: u64,
        species: &[Species],
    ) -> (Kind, Self) {
        let temperature = stage.thermostat.map(|thermostat| thermostat.temperature);
        let (kind, chain_length, parameter) = match stage.thermostat.map(|t| t.kind) {
            None => (Kind::None, 0, 0.0),
            Some(plan::Thermostat::Andersen { .. }) => (Kind::Andersen, 0, 0.0),
            Some(of @ (plan::Thermostat::Langevin { .. } | plan::Thermostat::Brownian { .. })) => {
                (Kind::Langevin, 0, of.damping(timestep).expect("it acts on each particle"))
            }
            Some(plan::Thermostat::NoseHoover { period, chain_length }) => {
                (Kind::NoseHoover, chain_length as u32, period)
            }
            Some(plan::Thermostat::Bussi { time }) => (Kind::Bussi, 0, time),
            Some(plan::Thermostat::Isokinetic) => (Kind::Bussi, 0, 0.0),
        };
        let exact = match stage.thermostat.map(|t| t.kind) {
            Some(plan::Thermostat::Andersen { exact, .. }) => exact,
            _ => false,
        };
        let thermostat = Thermostat {
            kind: kind as u32,
            chain_length,
            seed,
            stage_first_step: stage.first_step,
            stage_steps: stage.steps,
            from: temperature.map_or(0.0, |ramp| ramp.from),
            to: temperature.map_or(0.0, |ramp| ramp.to),
            timestep,
            degrees_of_freedom,
            parameter,
            interval: stage.collision_interval(timestep).unwrap_or(1),
            total_mass: species.iter().map(|s| s.mass * s.count as f64).sum(),
            exact: exact.into(),
            equal_masses: species.windows(2).all(|pair| pair[0].mass == pair[1].mass).into(),
        };
        (kind, thermostat)
    }
}
