//! How much memory and disk a plan takes, to a factor of two or so.
use std::f64::consts::PI;

use crate::plan::{Plan, StagePlan};

/// Position, velocity, force, image, id and order, and buffers to sort them.
const BYTES_PER_PARTICLE: f64 = 256.0;
/// Position and velocity of a sample.
const BYTES_PER_SAMPLE: f64 = 48.0;
/// Position and velocity in double precision, image.
const BYTES_PER_FRAME: f64 = 60.0;
/// Position and velocity in single precision, image.
const BYTES_PER_GSD_FRAME: f64 = 36.0;
/// Step, time, energies, temperature, pressure, stress, velocity.
const BYTES_PER_THERMODYNAMICS: f64 = 200.0;
/// Skin assumed where it is chosen at the start, in units of the largest cutoff.
const TUNED_SKIN: f64 = 0.2;

/// Memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    pub particles: f64,
    pub neighbors: f64,
    /// Of the stage that takes most.
    pub correlations: f64,
}

impl Memory {
    pub fn total(&self) -> f64 {
        self.particles + self.neighbors + self.correlations
    }
}

pub fn memory(plan: &Plan) -> Memory {
    let count = plan.system.particle_count() as f64;
    let simulation_box = &plan.system.simulation_box;
    let cutoff = plan.potential.largest_cutoff();
    let reach = cutoff + plan.run.skin.unwrap_or(TUNED_SKIN * cutoff);
    let sphere = if simulation_box.dimension() == 2 {
        PI * reach.powi(2)
    } else {
        4.0 / 3.0 * PI * reach.powi(3)
    };
    // Room for fluctuations of the density.
    let neighbors = (1.5 * count / simulation_box.volume() * sphere).min(count);
    let samples = |stage: &StagePlan| -> f64 {
        stage.correlations.iter().map(|blocks| (blocks.block_size * blocks.levels) as f64).sum()
    };
    let samples = plan.stages.iter().map(samples).fold(0.0, f64::max);
    Memory {
        particles: BYTES_PER_PARTICLE * count,
        neighbors: 4.0 * neighbors * count,
        correlations: BYTES_PER_SAMPLE * samples * count,
    }
}

/// What a stage writes: a description and its size in bytes.
pub fn stage_files(plan: &Plan, stage: &StagePlan) -> Vec<(String, f64)> {
    let count = plan.system.particle_count() as f64;
    let mut files = Vec::new();
    if let Some(every) = stage.observe.thermodynamics {
        let samples = stage.steps / every;
        let name = format!("thermodynamics every {every} steps, {samples} samples");
        files.push((name, samples as f64 * BYTES_PER_THERMODYNAMICS));
    }
    if let Some(every) = stage.observe.trajectory {
        let frames = stage.steps / every;
        let name = format!("trajectory every {every} steps, {frames} frames");
        files.push((name, frames as f64 * count * BYTES_PER_FRAME));
        if stage.observe.gsd {
            let name = format!("the same as GSD, {frames} frames");
            files.push((name, frames as f64 * count * BYTES_PER_GSD_FRAME));
        }
    }
    let species = plan.system.species.len() as f64;
    if let Some(structure) = &stage.observe.structure {
        let bins = structure.maximum_distance / structure.bin_width;
        let name = format!(
            "structure every {} steps: g(r) to {:.4} in bins of {}, S(q) to {}",
            structure.every,
            structure.maximum_distance,
            structure.bin_width,
            structure.maximum_wavenumber
        );
        files.push((name, 16.0 * bins * species * species));
    }
    for blocks in &stage.correlations {
        let observables: Vec<&str> =
            blocks.observables.iter().map(|observable| observable.group_name()).collect();
        let lags = blocks.block_size * blocks.levels;
        let name = format!(
            "correlations from {} steps, {} levels of {} samples: {}",
            blocks.every,
            blocks.levels,
            blocks.block_size,
            observables.join(", ")
        );
        let series = observables.len() + blocks.wavenumbers.len();
        files.push((name, 24.0 * lags as f64 * series as f64 * species));
    }
    files
}

/// A size in words.
pub fn bytes(size: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut size = size;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < units.len() {
        size /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{size:.0} B") } else { format!("{size:.1} {}", units[unit]) }
}
