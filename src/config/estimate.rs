//! How much memory and disk a plan takes, to a factor of two or so.
use std::f64::consts::PI;

use indicatif::BinaryBytes;

use crate::engine::KEPT_BYTES;
use crate::observable::dynamics::evaluation::MOST_SAMPLES_OF_BATCH;
use crate::observable::dynamics::sampled::WORDS;
use crate::observable::dynamics::source::{
    Need, for_engines, is_of_modes, sample_bytes, samples_of_particles, takes_samples_of_engine,
};
use crate::observable::wavevectors::{self, WaveVectorShell};
use supercool_observables::Axis;

use crate::plan::{
    CorrelationPlan, DiameterClassesPlan, DynamicObservable, ObservePlan, Plan, StagePlan,
    StrainPlan,
};

/// Position, velocity, force, image, id and order, and buffers to sort them.
const BYTES_PER_PARTICLE: f64 = 256.0;
/// Position and velocity in 64 bits, image, species.
const BYTES_OF_CHECKPOINT: f64 = 61.0;
/// Position and image, all in 64 bits.
const BYTES_PER_CONFIGURATION: f64 = 48.0;
/// Position and velocity in double precision, image.
const BYTES_PER_FRAME: f64 = 60.0;
/// Position and velocity in single precision, image.
const BYTES_PER_GSD_FRAME: f64 = 36.0;
/// Position and image of a particle in a kept minimum.
const BYTES_OF_MINIMUM: f64 = 36.0;
/// Step, strain, energy, stress, tensor, pressure, residual force, iterations, displacement.
const BYTES_PER_STRAIN: f64 = 136.0;
/// Step, time, energies, temperature, pressure, virial, stress, velocity.
const BYTES_PER_THERMODYNAMICS: f64 = 208.0;
/// Step, time, global and local order.
const BYTES_PER_BOND_ORDER: f64 = 32.0;
/// Step, time, ratio, squared force, Laplacian.
const BYTES_PER_CONFIGURATIONAL_TEMPERATURE: f64 = 40.0;
/// Step, time, crystallinity, demixing.
const BYTES_PER_LOCAL_ORDER: f64 = 32.0;
/// Step, time, energy, residual force, iterations.
const BYTES_PER_INHERENT_STRUCTURE: f64 = 40.0;
/// Of one value, in the middle: from given time origins there are many of them.
const BYTES_PER_AVERAGE: f64 = 160.0;
/// Skin assumed where it is chosen at the start, in units of the largest cutoff.
const TUNED_SKIN: f64 = 0.2;

/// Memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    pub particles: f64,
    pub neighbors: f64,
    /// Of the stage that takes most.
    pub correlations: f64,
    /// The same on a GPU.
    pub correlations_on_gpu: f64,
    /// Size of a checkpoint, in the stage whose is largest.
    pub checkpoint: f64,
}

impl Memory {
    pub fn total(&self) -> f64 {
        self.particles + self.neighbors + self.correlations
    }

    /// What the host has in addition while a checkpoint is made: numbers as a GPU has them, in 64 bits, and as bytes.
    pub fn of_checkpoint(&self) -> f64 {
        3.0 * self.checkpoint
    }
}

pub fn memory(plan: &Plan) -> Memory {
    let count = plan.system.particle_count() as f64;
    let simulation_box = &plan.system.simulation_box;
    let cutoff = plan.potential.largest_cutoff();
    let reach = plan.reach(plan.run.skin.unwrap_or(TUNED_SKIN * cutoff));
    let sphere = if simulation_box.dimension() == 2 {
        PI * reach.powi(2)
    } else {
        4.0 / 3.0 * PI * reach.powi(3)
    };
    // Room for fluctuations of the density.
    let neighbors = (1.5 * count / simulation_box.volume() * sphere).min(count);
    let blocks = |stage: &StagePlan| -> f64 {
        stage.correlations.iter().map(|blocks| block_memory(plan, stage, blocks)).sum()
    };
    let correlations = plan.stages.iter().map(blocks).fold(0.0, f64::max);
    let on_gpu = plan.stages.iter().map(|stage| blocks_on_gpu(plan, stage)).fold(0.0, f64::max);
    let held = |stage: &StagePlan| -> f64 {
        stage.correlations.iter().map(|blocks| samples_of_checkpoint(plan, stage, blocks)).sum()
    };
    let held = plan.stages.iter().map(held).fold(0.0, f64::max);
    // Inherent structures are found in an engine of their own.
    let minimises = plan.stages.iter().any(|stage| {
        let of_propensities = stage.propensity.as_ref().is_some_and(|of| of.inherent.is_some());
        stage.observe.inherent_structures.is_some() || of_propensities || stage.strain.is_some()
    });
    // Positions and images of the configurations of propensities.
    let configurations =
        match (&plan.ensemble, plan.stages.iter().any(|of| of.propensity.is_some())) {
            (Some(ensemble), true) => ensemble.groups() as f64,
            _ => 0.0,
        };
    let systems = plan.systems() as f64;
    let kept = plan.stages.iter().filter_map(|stage| stage.strain.as_ref());
    let kept = kept.map(|strain| kept_minima(strain, systems * count)).fold(0.0, f64::max);
    let engines = if minimises { systems + 1.0 } else { systems };
    Memory {
        particles: engines * BYTES_PER_PARTICLE * count + kept,
        neighbors: engines * 4.0 * neighbors * count,
        correlations: systems * correlations,
        correlations_on_gpu: systems * on_gpu,
        checkpoint: systems * (BYTES_OF_CHECKPOINT * count + held)
            + configurations * BYTES_PER_CONFIGURATION * count
            + kept * BYTES_PER_CONFIGURATION / BYTES_OF_MINIMUM,
    }
}

/// Bytes of the minima that are kept for the way back along elastic branches, at most.
fn kept_minima(strain: &StrainPlan, particles: f64) -> f64 {
    if strain.turns.len() < 2 {
        return 0.0;
    }
    let all = strain.turns.iter().copied().chain([0]);
    let (first, last) = (all.clone().min().unwrap_or(0), all.max().unwrap_or(0));
    let points = first.abs_diff(last) as f64 + 1.0;
    (points * particles * BYTES_OF_MINIMUM).min(KEPT_BYTES as f64)
}

/// Memory of the samples that a stage's correlations keep on a GPU, in bytes: those of the blocks, and those of the
/// launches between evaluations.
fn blocks_on_gpu(plan: &Plan, stage: &StagePlan) -> f64 {
    let samples = stage.correlations.iter().flat_map(for_engines);
    let held: Vec<usize> = samples.filter_map(|blocks| takes_samples_of_engine(&blocks)).collect();
    if held.is_empty() {
        return 0.0;
    }
    let held: usize = held.iter().sum();
    let dimension = plan.system.simulation_box.dimension();
    let sample = plan.system.particle_count() * dimension * WORDS * 4;
    ((held + 2 * MOST_SAMPLES_OF_BATCH) * sample) as f64
}

/// What the samples of a correlation take in a checkpoint, where all numbers have 64 bits: twice their memory.
fn samples_of_checkpoint(plan: &Plan, stage: &StagePlan, blocks: &CorrelationPlan) -> f64 {
    let (particles, species) = (plan.system.particle_count(), groups(plan, blocks));
    let in_flow = stage.shear.is_some();
    let of = |part: &CorrelationPlan| {
        let held = match blocks.origins.len() {
            0 => samples_of_particles(part),
            origins => origins,
        };
        2.0 * (held * sample_bytes(part, particles, species, in_flow)) as f64
    };
    for_engines(blocks).iter().map(of).sum()
}

/// Species, or classes of diameter, that a correlation is averaged over.
fn groups(plan: &Plan, blocks: &CorrelationPlan) -> usize {
    let classes = blocks.diameter_classes.as_ref().map(DiameterClassesPlan::count);
    classes.unwrap_or(plan.system.species.len())
}

/// Memory of all samples in the blocks of a correlation, in bytes.
fn block_memory(plan: &Plan, stage: &StagePlan, blocks: &CorrelationPlan) -> f64 {
    let (particles, species) = (plan.system.particle_count(), groups(plan, blocks));
    // Each part has samples of its own.
    let parts = for_engines(blocks);
    let bytes = |part| sample_bytes(part, particles, species, stage.shear.is_some());
    let sample: usize = parts.iter().map(bytes).sum();
    let averages = match blocks.origins.len() {
        0 => 0.0,
        _ => BYTES_PER_AVERAGE * averages_of(plan, blocks),
    };
    sample as f64 * blocks.samples_held() as f64 + averages
}

/// Numbers that a correlation gives.
fn averages_of(plan: &Plan, blocks: &CorrelationPlan) -> f64 {
    let lags = blocks.block_size * blocks.levels * blocks.origins.len().max(1);
    let rows = |&observable: &DynamicObservable| {
        let of_axis = |axis: &Axis| match axis {
            Axis::Time | Axis::WaitingTime | Axis::Strain => 1.0,
            Axis::Wavenumber => blocks.wavenumbers.len() as f64,
            Axis::Distance => blocks.van_hove.maximum_distance / blocks.van_hove.bin_width,
        };
        observable.descriptor().axes.iter().map(of_axis).product::<f64>()
    };
    let series: f64 = blocks.observables.iter().map(rows).sum();
    lags as f64 * series * (groups(plan, blocks) as f64 + 1.0)
}

/// Samples at an interval, those before the first and after the last step included.
fn samples_of(stage: &StagePlan, every: u64) -> u64 {
    stage.steps / every + 1
}

/// What a stage writes: a description and its size in bytes. Of many systems, what each writes is in one file.
pub fn stage_files(plan: &Plan, stage: &StagePlan) -> Vec<(String, f64)> {
    let systems = plan.systems() as f64;
    let of_system = files_of_system(plan, stage).into_iter();
    of_system.map(|(name, size)| (name, systems * size)).collect()
}

/// When the trajectory has frames.
fn when(observe: &ObservePlan) -> String {
    let mut all = Vec::new();
    if let Some(every) = observe.trajectory {
        let doubling = observe.trajectory_doubling_from;
        let doubling = doubling.map_or_else(String::new, |first| {
            format!(" and {first}, {}, {}, ... after each", 2 * first, 4 * first)
        });
        let offsets = &observe.trajectory_offsets;
        let offsets = match &offsets[..] {
            [first, .., last] => format!(" and {first}, ..., {last} after each"),
            _ => String::new(),
        };
        all.push(format!("every {every} steps{doubling}{offsets}"));
    }
    if !observe.trajectory_at.is_empty() {
        all.push("at the times of propensities".into());
    }
    all.join(" and ")
}

fn files_of_system(plan: &Plan, stage: &StagePlan) -> Vec<(String, f64)> {
    let count = plan.system.particle_count() as f64;
    let mut files = Vec::new();
    if let Some(every) = stage.observe.thermodynamics {
        let samples = samples_of(stage, every);
        let name = format!("thermodynamics every {every} steps, {samples} samples");
        files.push((name, samples as f64 * BYTES_PER_THERMODYNAMICS));
    }
    if stage.strain.is_some() {
        let points = stage.steps + 1;
        files.push((format!("strain, {points} points"), points as f64 * BYTES_PER_STRAIN));
    }
    if stage.observe.has_trajectory() {
        let frames = stage.observe.frames(stage.steps);
        let name = format!("trajectory {}, {frames} frames", when(&stage.observe));
        files.push((name, frames as f64 * count * BYTES_PER_FRAME));
        if stage.observe.gsd {
            let name = format!("the same as GSD, {frames} frames");
            files.push((name, frames as f64 * count * BYTES_PER_GSD_FRAME));
        }
    }
    if let Some(structure) = &stage.observe.structure {
        let bins = structure.maximum_distance / structure.bin_width;
        let classes = structure.diameter_classes.as_ref().map(DiameterClassesPlan::count);
        let name = format!(
            "structure every {} steps: g(r) to {:.4} in bins of {}, S(q) to {}{}",
            structure.every,
            structure.maximum_distance,
            structure.bin_width,
            structure.maximum_wavenumber,
            classes.map_or_else(String::new, |count| format!(", of {count} classes of diameter"))
        );
        let species = classes.unwrap_or(plan.system.species.len()) as f64;
        files.push((name, 16.0 * bins * species * species));
    }
    if let Some(order) = &stage.observe.bond_order {
        let samples = samples_of(stage, order.every);
        let name = format!("bond order every {} steps, {samples} samples", order.every);
        files.push((name, samples as f64 * BYTES_PER_BOND_ORDER));
    }
    if let Some(every) = stage.observe.configurational_temperature {
        let samples = samples_of(stage, every);
        let name = format!("configurational temperature every {every} steps, {samples} samples");
        files.push((name, samples as f64 * BYTES_PER_CONFIGURATIONAL_TEMPERATURE));
    }
    if let Some(order) = &stage.observe.local_order {
        let samples = samples_of(stage, order.every);
        let name = format!("local order every {} steps, {samples} samples", order.every);
        files.push((name, samples as f64 * BYTES_PER_LOCAL_ORDER));
    }
    if let Some(settings) = &stage.observe.inherent_structures {
        let samples = stage.observe.minima(stage.steps);
        let when = match stage.observe.inherent_every() {
            Some(every) => format!("every {every} steps"),
            None => "at given times".to_owned(),
        };
        let name = format!(
            "inherent structures {when} to forces below {:e}, {samples} minima",
            settings.force_tolerance
        );
        let each = BYTES_PER_INHERENT_STRUCTURE + count * BYTES_PER_FRAME;
        files.push((name, samples as f64 * each));
    }
    if let (Some(propensity), Some(ensemble)) = (&stage.propensity, &plan.ensemble) {
        let words: Vec<String> =
            propensity.averages().map(|(states, of)| of.group_name(states)).collect();
        let times = propensity.steps.len();
        let name = format!(
            "propensities at {times} times, {} configurations: {}",
            ensemble.groups(),
            words.join(", ")
        );
        // Of each configuration, the value and the square of all particles.
        let arrays = (2 * words.len() * times) as f64 / ensemble.samples as f64;
        files.push((name, 8.0 * arrays * count));
    }
    for blocks in &stage.correlations {
        let observables: Vec<&str> =
            blocks.observables.iter().map(|observable| observable.group_name()).collect();
        let origins = match blocks.origins.len() {
            0 => String::new(),
            count => format!(" from {count} time origins,"),
        };
        let name = format!(
            "correlations{origins} from {} steps, {} levels of {} samples{} in {} of memory: {}{}",
            blocks.every,
            blocks.levels,
            blocks.block_size,
            blocks
                .level_ratio
                .map_or_else(String::new, |by| format!(" with intervals growing by {by}")),
            // Sums over all particles, of the stress, take next to nothing.
            bytes(block_memory(plan, stage, blocks).max(1024.0)),
            observables.join(", "),
            shells(plan, stage, blocks)
        );
        files.push((name, 24.0 * averages_of(plan, blocks)));
    }
    files
}

/// The shells of wave vectors nearest to the wanted wave numbers; those of density modes by themselves where the box has a tilt.
fn shells(plan: &Plan, stage: &StagePlan, blocks: &CorrelationPlan) -> String {
    let (wanted, most) = (&blocks.wavenumbers, blocks.vectors_per_shell);
    let (simulation_box, in_flow) = (&plan.system.simulation_box, stage.shear.is_some());
    let is_tilted = in_flow || simulation_box.is_tilted();
    let has = |of_modes: bool| {
        let mut observables = blocks.observables.iter();
        observables.any(|&of| Need::Wavenumbers.is_of(of) && is_of_modes(of) == of_modes)
    };
    let listed = |what: &str, shells: Result<Vec<WaveVectorShell>, _>| match shells {
        Ok(shells) if !shells.is_empty() => {
            let each = shells
                .iter()
                .map(|shell| format!("{:.4} ({} vectors)", shell.wavenumber, shell.count()));
            format!("; {what} {}", each.collect::<Vec<_>>().join(", "))
        }
        _ => String::new(),
    };
    let straight = || listed("wave numbers", wavevectors::shells(simulation_box, wanted, most));
    if !is_tilted || !has(true) {
        return straight();
    }
    let what = match in_flow {
        true => "wave numbers across the flow",
        false => "wave numbers of the tilted box",
    };
    let of_modes = listed(what, wavevectors::shells_for_modes(blocks, simulation_box, in_flow));
    if has(false) { straight() + &of_modes } else { of_modes }
}

/// A size in words.
pub fn bytes(size: f64) -> String {
    BinaryBytes(size as u64).to_string()
}
