//! Choices that change the speed and nothing else: skin, threads per particle.
use super::buffers::{Widths, bytes_per_particle};
use super::lists::{self, ListShape};
use super::memory::Session;
use super::thermostat::SMALL_BLOCK;
use crate::engine::EngineError;
use crate::plan::Plan;
use crate::system::SimulationBox;

/// What is taken without measuring.
pub fn first_shape(
    plan: &Plan,
    simulation_box: &SimulationBox,
    layout_skin: Option<f64>,
    multiprocessors: u32,
) -> ListShape {
    let count = plan.system.particle_count();
    let skin = plan
        .run
        .skin
        .or(layout_skin)
        .or(number("SUPERCOOL_SKIN"))
        .unwrap_or_else(|| default_skin(plan.potential.largest_cutoff(), count));
    let lanes_log2 = number("SUPERCOOL_LANES").map_or_else(
        || default_lanes_log2(count, multiprocessors),
        |lanes| (lanes as usize).clamp(1, 32).ilog2(),
    );
    ListShape { skin, lanes_log2, room: lists::expected_room(plan, simulation_box, skin) }
}

/// Few particles: rebuilding costs much beside a step; many: long lists do. Best values on an H200.
fn default_skin(cutoff: f64, count: usize) -> f64 {
    let share = match count {
        0..10_000 => 0.36,
        10_000..30_000 => 0.32,
        30_000..150_000 => 0.2,
        _ => 0.16,
    };
    (share * cutoff).clamp(0.15, 1.0)
}

/// As many threads a particle as small blocks have for each (see [`SMALL_BLOCK`]), but no more than pay.
/// Best values on an H200.
fn default_lanes_log2(count: usize, multiprocessors: u32) -> u32 {
    let threads_per_particle = (SMALL_BLOCK * multiprocessors) as usize / count.max(1);
    match threads_per_particle {
        32.. => 4,
        8.. => 3,
        4.. => 2,
        2.. => 1,
        _ => 0,
    }
}

/// A number from the environment, for experiments.
fn number(name: &str) -> Option<f64> {
    std::env::var(name).ok()?.parse().ok()
}

/// # Errors
/// If the particles do not fit on the card.
pub fn check_memory(
    session: &Session,
    particles: usize,
    species: usize,
    widths: Widths,
    shape: ListShape,
) -> Result<(), EngineError> {
    let need =
        (particles * bytes_per_particle(widths) + lists::bytes(particles, species, shape)) as u64;
    let (free, size) = session.memory()?;
    if need < free {
        return Ok(());
    }
    let card = session.card.name.clone();
    Err(EngineError::OutOfDeviceMemory { particles, need, size, free, card })
}
