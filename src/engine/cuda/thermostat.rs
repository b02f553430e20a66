//! Thermostats as the kernels get them. Mirrors `kernels/md/thermostat.cuh`.
use crate::engine::StageContext;
use crate::integrator::langevin;
use crate::plan;

/// Up to this many threads a block the kernel with more registers runs: `advance_wide` in
/// `kernels/md/advance.cu`.
pub const SMALL_BLOCK: u32 = 512;

/// Most threads of a block of the kernels that take steps. Mirrors `LARGEST_BLOCK` in `kernels/md/advance.cu`.
pub const LARGEST_BLOCK: u32 = 640;

/// Which kernel takes the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing acts on the velocities between steps (Andersen's thermostat acts between launches).
    None = 0,
    Langevin = 1,
    NoseHoover = 2,
    Bussi = 3,
}

impl Kind {
    /// The kernel for blocks of so many threads.
    pub fn kernel(self, threads: u32) -> &'static str {
        match self {
            Kind::None if threads <= SMALL_BLOCK => "advance_wide",
            Kind::None => "advance",
            Kind::Langevin => "advance_langevin",
            Kind::NoseHoover | Kind::Bussi => "advance_global",
        }
    }
}

/// Argument of the kernels that take steps.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Thermostat {
    kind: u32,
    chain_length: u32,
    seed: u64,
    stage_first_step: u64,
    stage_steps: u64,
    from: f64,
    to: f64,
    timestep: f64,
    degrees_of_freedom: u64,
    /// Langevin: `exp(-friction dt / 2)`; Nose-Hoover: period; Bussi: relaxation time.
    parameter: f64,
}

impl Thermostat {
    pub fn new(
        stage: &StageContext,
        seed: u64,
        timestep: f64,
        degrees_of_freedom: u64,
    ) -> (Kind, Self) {
        let temperature = stage.thermostat.map(|thermostat| thermostat.temperature);
        let (kind, chain_length, parameter) = match stage.thermostat.map(|t| t.kind) {
            None | Some(plan::Thermostat::Andersen { .. }) => (Kind::None, 0, 0.0),
            Some(plan::Thermostat::Langevin { friction }) => {
                (Kind::Langevin, 0, langevin::Bath::half_step(friction, 0.0, timestep).damping)
            }
            Some(plan::Thermostat::NoseHoover { period, chain_length }) => {
                (Kind::NoseHoover, chain_length as u32, period)
            }
            Some(plan::Thermostat::Bussi { time }) => (Kind::Bussi, 0, time),
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
        };
        (kind, thermostat)
    }
}
