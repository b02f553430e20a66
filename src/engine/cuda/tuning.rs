//! Choices that change the speed and nothing else: skin, threads per particle.
//!
//! At the start of a long stage they are timed on the present state (`single_rank/tune.rs`).
use std::time::Duration;

use super::buffers::{ElementSizes, bytes_per_particle};
use super::geometry::SMALL_BLOCK;
use super::members::Sharing;
use super::memory::Session;
use super::neighbor_lists::{self, ListShape};
use crate::engine::{EngineError, skin};
use crate::plan::Plan;
use crate::system::SimulationBox;

/// What is taken without measuring. `restored`: of a checkpoint of this engine.
pub fn first_shape(
    plan: &Plan,
    simulation_box: &SimulationBox,
    restored: Option<Choice>,
    multiprocessors: u32,
) -> ListShape {
    let lanes_log2 = default_lanes_log2(plan.system.particle_count(), multiprocessors);
    let default = Choice { skin: skin::on_one_gpu(plan), lanes_log2 };
    shape_of(plan, simulation_box, restored.unwrap_or(default))
}

/// The same of each of many systems that share a GPU.
pub fn shape_of_many(
    plan: &Plan,
    simulation_box: &SimulationBox,
    restored: Option<Choice>,
    sharing: Sharing,
) -> ListShape {
    let threads = (sharing.blocks * sharing.threads) as usize;
    let lanes = (threads / plan.system.particle_count().max(1)).clamp(1, 16);
    let default = Choice { skin: skin::of_many_on_a_gpu(plan), lanes_log2: lanes.ilog2() };
    let shape = shape_of(plan, simulation_box, restored.unwrap_or(default));
    ListShape {
        by_species: sharing.blocks == 1,
        for_tilts: plan.may_tilt() || simulation_box.is_tilted(),
        entry_bytes: sharing.entry_bytes,
        ..shape
    }
}

/// A choice, as far as the plan leaves it open.
fn shape_of(plan: &Plan, simulation_box: &SimulationBox, choice: Choice) -> ListShape {
    let skin = plan.run.skin.unwrap_or(choice.skin);
    let lanes_log2 = plan.run.threads_per_particle.map_or(choice.lanes_log2, u32::ilog2);
    let capacity = neighbor_lists::expected_capacity(plan, simulation_box, skin);
    ListShape {
        skin,
        lanes_log2,
        capacity,
        domains: [1; 3],
        by_species: false,
        for_tilts: false,
        entry_bytes: 4,
    }
}

/// As many threads a particle as small blocks have for each (see [`SMALL_BLOCK`]), but no more than pay.
/// Best values on an H200.
pub fn default_lanes_log2(count: usize, multiprocessors: u32) -> u32 {
    let threads_per_particle = (SMALL_BLOCK * multiprocessors) as usize / count.max(1);
    match threads_per_particle {
        32.. => 4,
        8.. => 3,
        4.. => 2,
        2.. => 1,
        _ => 0,
    }
}

/// Bytes on the GPU of particles and lists; cells and what all particles share take little beside.
pub fn device_bytes(
    particles: usize,
    species: usize,
    element_sizes: ElementSizes,
    shape: ListShape,
) -> u64 {
    (particles * bytes_per_particle(element_sizes)
        + neighbor_lists::bytes(particles, species, shape)) as u64
}

/// # Errors
/// If the particles do not fit on the GPU.
pub fn check_memory(
    session: &Session,
    particles: usize,
    species: usize,
    element_sizes: ElementSizes,
    shape: ListShape,
) -> Result<(), EngineError> {
    let need = device_bytes(particles, species, element_sizes, shape);
    let (free, size) = session.memory()?;
    if need < free {
        return Ok(());
    }
    let gpu = session.gpu.name.clone();
    Err(EngineError::OutOfDeviceMemory { particles, need, size, free, gpu })
}

/// What is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    pub skin: f64,
    pub lanes_log2: u32,
}

/// Within what choices are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Freedom {
    /// Smallest and largest skin; equal where it is given.
    pub skin: (f64, f64),
    /// Smallest and largest number of lanes; equal where it is given.
    pub lanes_log2: (u32, u32),
}

/// Factor between neighboring skins.
const SKIN_STEP: f64 = 1.2;
/// A choice must be faster by this factor to be taken: timings scatter.
const GAIN: f64 = 1.01;

/// Goes from `start` in each direction as long as steps become faster. `time` gives the seconds of a step, or
/// `None` for a choice that cannot be tried; no more are tried once `enough` says so. Returns the fastest.
pub fn fastest(
    start: Choice,
    freedom: &Freedom,
    mut time: impl FnMut(Choice) -> Option<f64>,
    enough: impl Fn() -> bool,
) -> Choice {
    let Some(mut best_time) = time(start) else { return start };
    let mut best = start;
    let more_lanes = |choice: Choice| Choice { lanes_log2: choice.lanes_log2 + 1, ..choice };
    let fewer_lanes =
        |choice: Choice| Choice { lanes_log2: choice.lanes_log2.wrapping_sub(1), ..choice };
    let wider = |choice: Choice| Choice { skin: choice.skin * SKIN_STEP, ..choice };
    let narrower = |choice: Choice| Choice { skin: choice.skin / SKIN_STEP, ..choice };
    let pairs: [[&dyn Fn(Choice) -> Choice; 2]; 2] =
        [[&more_lanes, &fewer_lanes], [&wider, &narrower]];
    for ways in pairs {
        for way in ways {
            let before = best;
            loop {
                let next = way(best);
                let allowed = (freedom.skin.0..=freedom.skin.1).contains(&next.skin)
                    && (freedom.lanes_log2.0..=freedom.lanes_log2.1).contains(&next.lanes_log2);
                if !allowed || enough() {
                    break;
                }
                match time(next) {
                    Some(seconds) if seconds * GAIN < best_time => {
                        (best, best_time) = (next, seconds);
                    }
                    _ => break,
                }
            }
            if best != before {
                // The other way lies what was there before.
                break;
            }
        }
    }
    best
}

/// A stage is timed if it would take longer than this.
pub const LONG_STAGE: Duration = Duration::from_secs(10);
/// Whether a stage may be long: steps take no longer than this on the slowest GPUs.
pub fn may_be_long(steps: u64, particles: usize) -> bool {
    let step = Duration::from_micros(100) + Duration::from_nanos(20) * particles as u32;
    step.as_secs_f64() * steps as f64 > LONG_STAGE.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Choice = Choice { skin: 0.4, lanes_log2: 2 };
    const ANY: Freedom = Freedom { skin: (0.1, 1.0), lanes_log2: (0, 5) };

    /// Seconds of a step: a valley along both axes.
    fn valley(skin: f64, lanes: f64) -> impl Fn(Choice) -> f64 {
        move |choice| {
            1.0 + (choice.skin / skin).ln().powi(2) + (f64::from(choice.lanes_log2) - lanes).powi(2)
        }
    }

    #[test]
    fn the_bottom_of_a_valley_is_found_from_any_side() {
        for (skin, lanes) in [(0.4, 2.0), (0.7, 0.0), (0.2, 5.0), (0.15, 0.0), (0.9, 4.0)] {
            let time = valley(skin, lanes);
            let best = fastest(START, &ANY, |choice| Some(time(choice)), || false);
            assert_eq!(f64::from(best.lanes_log2), lanes);
            assert!((best.skin / skin).ln().abs() <= SKIN_STEP.ln(), "{} for {skin}", best.skin);
        }
    }

    #[test]
    fn only_stages_that_cannot_be_long_are_not_looked_at() {
        // An H200 takes 25 microseconds a step.
        assert!(may_be_long(400_000, 50_000));
        assert!(!may_be_long(1000, 50_000) && !may_be_long(0, 1_000_000));
    }

    #[test]
    fn given_values_stay() {
        let time = valley(0.8, 0.0);
        let given_skin = Freedom { skin: (0.4, 0.4), ..ANY };
        let best = fastest(START, &given_skin, |choice| Some(time(choice)), || false);
        assert_eq!(best, Choice { skin: 0.4, lanes_log2: 0 });
        let given_lanes = Freedom { lanes_log2: (2, 2), ..ANY };
        let best = fastest(START, &given_lanes, |choice| Some(time(choice)), || false);
        assert_eq!(best.lanes_log2, 2);
        assert!(best.skin > 0.6);
    }

    #[test]
    fn what_cannot_be_tried_or_gains_nothing_is_not_taken() {
        let time = valley(0.8, 5.0);
        let only_start = |choice| (choice == START).then(|| time(choice));
        assert_eq!(fastest(START, &ANY, only_start, || false), START);
        assert_eq!(fastest(START, &ANY, |_| Some(1.0), || false), START);
        assert_eq!(fastest(START, &ANY, |choice| Some(time(choice)), || true), START);
        assert_eq!(fastest(START, &ANY, |_| None, || false), START);
    }
}
