//! What correlations of particles need of a GPU: kernels and memory.
use std::sync::Arc;

use super::{centers, densities, neighborhoods, pairs, structure};
use crate::engine::EngineError;
use crate::engine::cuda::memory::Session;
use crate::engine::cuda::program::Program;
use crate::engine::cuda::samples;
use crate::observable::dynamics::evaluation::{MOST_SAMPLES_OF_BATCH, Offloaded};
use crate::system::{SimulationBox, Species};

const FEWEST_OF_BATCH: usize = 8;
/// Batches in memory: one is filled while another waits.
const BATCHES: usize = 2;
/// Share of the free memory that the samples of a batch may take.
const SHARE_OF_BATCH: u64 = 32;

/// Box and species of what needs particles.
pub fn system_of(offloaded: &Offloaded) -> Option<(SimulationBox, &[Species])> {
    match offloaded {
        Offloaded::Pairs(of, _) => Some((of.simulation_box, &of.species)),
        Offloaded::Densities(of, _) => Some((of.simulation_box, &of.species)),
        Offloaded::Structure(of, _) => Some((of.densities.simulation_box, &of.densities.species)),
        Offloaded::BondOrder(of, _) => Some((of.simulation_box, &of.species)),
        Offloaded::Stress(..) => None,
    }
}

pub fn removes_drift(offloaded: &Offloaded) -> bool {
    match offloaded {
        Offloaded::Pairs(evaluation, _) => evaluation.remove_drift,
        Offloaded::Densities(evaluation, _) => evaluation.remove_drift,
        _ => false,
    }
}

/// Places of the records of particles by id, of one system after the other, where correlations (with their indices, those of each
/// system) want them in another order.
///
/// # Panics
/// If they do not want the same.
pub fn places(correlations: &[(usize, Vec<Offloaded>)]) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for system in 0..correlations[0].1.len() {
        let mut orders = correlations.iter().map(|(_, of_systems)| of_systems[system].order());
        let first = orders.next().expect("there is a correlation");
        assert!(orders.all(|other| other == first), "one order of the samples of a system");
        let order = first?;
        let first = all.len();
        all.resize(first + order.len(), 0);
        for (place, &id) in order.iter().enumerate() {
            all[first + id as usize] = place as u32;
        }
    }
    Some(all)
}

/// The kernels that correlations of a system need.
///
/// # Errors
/// If the GPU is lost.
pub fn programs(
    session: &Session,
    correlations: &[&Offloaded],
) -> Result<Vec<Program>, EngineError> {
    let mut programs: Vec<Program> = Vec::new();
    let mut add = |program: Program| {
        if !programs.contains(&program) {
            programs.push(program);
        }
    };
    for offloaded in correlations {
        // Where some have classes, not all have the same number.
        let Some((simulation_box, species)) = system_of(offloaded) else { continue };
        let (dimension, species) = (simulation_box.dimension(), species.len());
        match offloaded {
            Offloaded::Pairs(evaluation, _) => {
                let (around, of_pairs) = neighborhoods::needs_programs(evaluation);
                if around {
                    add(neighborhoods::program(dimension, species));
                }
                if let Some(evaluation) = of_pairs {
                    add(pairs::program_on(session, &evaluation)?);
                }
            }
            Offloaded::Densities(evaluation, _) => add(densities::program(evaluation)),
            Offloaded::Structure(evaluation, _) => {
                add(structure::program(dimension, species));
                add(densities::program(&evaluation.densities));
            }
            Offloaded::BondOrder(..) => add(structure::program(dimension, species)),
            Offloaded::Stress(..) => {}
        }
    }
    if correlations.iter().any(|one| removes_drift(one))
        && let Some((simulation_box, species)) = correlations.iter().find_map(|one| system_of(one))
    {
        add(centers::program(simulation_box.dimension(), species.len()));
    }
    Ok(programs)
}

/// Room for samples.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Bytes of a sample of one system.
    pub sample_bytes: usize,
    /// Most samples of a batch.
    pub batch: usize,
    /// Slots for samples of all systems.
    pub slots: usize,
    /// Samples of one system beside the slots.
    pub beside: usize,
}

impl Room {
    /// For what is wanted of a number of systems with these correlations each.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn new(
        session: &Arc<Session>,
        correlations: &[&Offloaded],
        systems: usize,
    ) -> Result<Self, EngineError> {
        let (simulation_box, species) = system_of(correlations[0]).expect("particles are needed");
        let particles: usize = species.iter().map(|species| species.count).sum();
        // Samples begin where records may.
        let words = particles * samples::words(simulation_box.dimension());
        let sample_bytes = (4 * words).next_multiple_of(32);
        let held = correlations.iter().map(|offloaded| match offloaded {
            Offloaded::Pairs(evaluation, _) => evaluation.most_samples_held(),
            _ => 0,
        });
        let (free, size) = session.memory()?;
        let batch = (free / SHARE_OF_BATCH / (systems * sample_bytes) as u64) as usize;
        let batch = batch.clamp(FEWEST_OF_BATCH, MOST_SAMPLES_OF_BATCH);
        let slots = held.sum::<usize>() + BATCHES * batch;
        let (mut beside, mut bytes) = (0, 0);
        let samples = batch * systems;
        for offloaded in correlations {
            bytes += match offloaded {
                Offloaded::Pairs(evaluation, _) => {
                    let of_systems = || {
                        let at_once = pairs::AtOnce::OfSystems(systems);
                        (0, pairs::Capacity::new(evaluation, at_once).device_bytes)
                    };
                    let (more, bytes) = neighborhoods::needs(evaluation, systems, sample_bytes)
                        .unwrap_or_else(of_systems);
                    beside += more;
                    bytes
                }
                Offloaded::Densities(evaluation, _) => densities::device_bytes(evaluation, samples),
                Offloaded::Structure(evaluation, _) => {
                    structure::structure_bytes(evaluation, samples)
                }
                Offloaded::BondOrder(evaluation, _) => structure::bond_order_bytes(evaluation),
                Offloaded::Stress(..) => 0,
            };
        }
        if correlations.iter().any(|one| one.order().is_some()) {
            bytes += (4 * systems * particles) as u64;
        }
        let need = ((slots * systems + beside) * sample_bytes) as u64 + bytes;
        if need >= free {
            let (gpu, particles) = (session.gpu.name.clone(), particles * systems);
            let samples = slots;
            return Err(EngineError::OutOfBlockMemory {
                samples,
                particles,
                need,
                size,
                free,
                gpu,
            });
        }
        Ok(Room { sample_bytes, batch, slots, beside })
    }
}
