//! Initial states from files: our checkpoints, and trajectories that the analysis crate reads.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use supercool_analysis::TrajectoryReader;

use super::InitialError;
use crate::engine::ExactState;
use crate::output::{Checkpoint, state_from_checkpoint};
use crate::plan::{DiameterDistribution, InitialPlan, Plan};
use crate::system::{Snapshot, Species, species_for_names, species_of_particles};

/// Largest deviation of a file's masses, in units of the plan's.
const MASS_TOLERANCE: f64 = 1e-4;
/// Largest deviation of a file's box from the plan's, in units of the edge.
const BOX_TOLERANCE: f64 = 1e-6;

/// Number of systems in a file.
///
/// # Errors
/// If it cannot be read.
pub fn systems_in(path: &Path) -> Result<usize, InitialError> {
    match is_checkpoint(path) {
        true => {
            let mut files = Files::default();
            let checkpoint = files.checkpoint(path)?;
            Ok(HeldPlan::of(checkpoint, path)?.map_or(1, |plan| plan.systems()))
        }
        false => Ok(supercool_analysis::open(path)?.systems()),
    }
}

/// What a file holds at a step.
#[derive(Clone)]
pub struct Read {
    /// Particles in the order of the plan's species.
    pub snapshot: Snapshot,
    pub has_velocities: bool,
    /// Of the box, which the run takes over.
    pub tilt: f64,
}

/// A file at `step` (its last if `None`).
fn read(
    plan: &Plan,
    path: &Path,
    step: Option<u64>,
    files: &mut Files,
) -> Result<Read, InitialError> {
    if is_checkpoint(path) {
        let Held { state, species } = Held::read(plan, path, files)?;
        if let Some(wanted) = step
            && wanted != state.step
        {
            return Err(InitialError::OtherStep {
                path: path.to_owned(),
                found: state.step,
                wanted,
            });
        }
        check_box(plan, path, state.simulation_box.edges())?;
        let names: Vec<&str> = species.iter().map(|species| species.name.as_str()).collect();
        let of_particles = state.species_of.iter().map(|&number| usize::from(number));
        let of_particles = numbered_as_in_plan(plan, path, &names, of_particles)?;
        check_masses(plan, path, &species)?;
        let snapshot = state.to_snapshot(&species);
        return Ok(Read {
            snapshot: in_order_of_species(plan, path, &of_particles, &snapshot)?,
            has_velocities: true,
            tilt: state.simulation_box.tilt(),
        });
    }
    let mut reader = supercool_analysis::open(path)?;
    if let Some(system) = system_of(plan, path, reader.systems())? {
        reader = supercool_analysis::open_system(path, system)?;
    }
    let frame = reader.read_step_tilted(step)?;
    check_box(plan, path, &frame.box_edges)?;
    let names: Vec<&str> = frame.species_names.iter().map(String::as_str).collect();
    let of_particles = frame.species.iter().map(|&number| number as usize);
    let of_particles = numbered_as_in_plan(plan, path, &names, of_particles)?;
    let count = frame.position.len();
    let has_velocities = frame.velocity.is_some();
    check_units(plan, &*reader, has_velocities)?;
    if let Some(masses) = &frame.mass {
        let species = &plan.system.species;
        for (&number, &mass) in of_particles.iter().zip(masses) {
            if mass != species[number].mass {
                check_masses(plan, path, &[Species { mass, ..species[number].clone() }])?;
            }
        }
    }
    let snapshot = Snapshot {
        step: 0,
        position: frame.position,
        fraction: Vec::new(),
        image: vec![[0; 3]; count],
        velocity: frame.velocity.unwrap_or_else(|| vec![[0.0; 3]; count]),
        diameter: frame.diameter.map_or_else(Arc::default, Into::into),
    };
    Ok(Read {
        snapshot: in_order_of_species(plan, path, &of_particles, &snapshot)?,
        has_velocities,
        tilt: frame.tilt,
    })
}

/// A checkpoint's state to the bit, if it fits the plan as it is: then a run starts from the very same
/// numbers.
pub fn exact(
    plan: &Plan,
    path: &Path,
    step: Option<u64>,
    files: &mut Files,
) -> Result<Option<ExactState>, InitialError> {
    if !is_checkpoint(path) {
        return Ok(None);
    }
    let Held { mut state, species } = Held::read(plan, path, files)?;
    check_masses(plan, path, &species)?;
    let names = |species: &[Species]| -> Vec<String> {
        species.iter().map(|species| species.name.clone()).collect()
    };
    let fits = step.is_none_or(|step| step == state.step)
        && state.precision == plan.run.precision
        && state.timestep == plan.run.flight()
        && state.simulation_box.edges() == plan.system.simulation_box.edges()
        && names(&species) == names(&plan.system.species)
        && state.species_of == species_of_particles(&plan.system.species)
        && takes_diameters_of(plan, &state);
    if let Some(memory) = &mut state.memory {
        // Lists are as old as they were.
        memory.made_in = memory.made_in.map(|made| made.wrapping_sub(state.step));
    }
    state.step = 0;
    Ok(fits.then_some(state))
}

/// Whether a run takes the diameters of a state as they are.
fn takes_diameters_of(plan: &Plan, state: &ExactState) -> bool {
    match &plan.system.diameters {
        None => state.diameter.is_empty(),
        Some(of) => of.distribution == DiameterDistribution::File && !state.diameter.is_empty(),
    }
}

/// Diameters of the particles in a file, in the order of its particles.
///
/// # Errors
/// If it cannot be read, or has none.
pub fn diameters_in(
    path: &Path,
    step: Option<u64>,
    system: usize,
) -> Result<Arc<[f64]>, InitialError> {
    let none = || InitialError::NoDiameters { path: path.to_owned() };
    let diameters: Arc<[f64]> = if is_checkpoint(path) {
        let mut files = Files::default();
        let checkpoint = files.checkpoint(path)?;
        let state = match checkpoint.contains("state") {
            true => state_from_checkpoint(checkpoint, path),
            false => state_from_checkpoint(&checkpoint.part(&format!("system-{system}")), path),
        };
        state.map_err(|report| refused(path, report.to_string()))?.diameter
    } else {
        let mut reader = supercool_analysis::open(path)?;
        if reader.systems() > 1 {
            reader = supercool_analysis::open_system(path, system)?;
        }
        reader.read_step(step)?.diameter.ok_or_else(none)?.into()
    };
    if diameters.is_empty() { Err(none()) } else { Ok(diameters) }
}

/// Key of the random numbers of a run from a snapshot, for a seed: the same in every precision of the run.
pub fn key_behind(seed: u64, snapshot: &Snapshot) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    for number in snapshot.position.iter().chain(&snapshot.velocity).flatten() {
        hasher.update(&number.to_le_bytes());
    }
    let hash = *hasher.finalize().as_bytes();
    u64::from_le_bytes(hash[..8].try_into().expect("eight bytes"))
}

fn is_checkpoint(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "scp")
}

/// A checkpoint's state, and the species that the numbers in it stand for.
struct Held {
    state: ExactState,
    species: Vec<Species>,
}

/// What is read of a checkpoint's plan: the rest of it may be of another version.
#[derive(Deserialize)]
struct HeldPlan {
    system: HeldSystem,
    #[serde(default)]
    ensemble: Option<HeldEnsemble>,
}

impl HeldPlan {
    /// Of a checkpoint; `None` for a state that `integrity.recheck` has kept.
    fn of(checkpoint: &Checkpoint, path: &Path) -> Result<Option<Self>, InitialError> {
        if !checkpoint.contains("plan") {
            return Ok(None);
        }
        checkpoint.get_json("plan").map(Some).map_err(|error| refused(path, error.to_string()))
    }

    fn systems(&self) -> usize {
        self.ensemble.as_ref().map_or(1, |ensemble| {
            let groups = ensemble.temperatures.len().max(ensemble.configurations.len());
            ensemble.samples.saturating_mul(groups.max(1))
        })
    }
}

#[derive(Deserialize)]
struct HeldEnsemble {
    samples: usize,
    temperatures: Vec<f64>,
    #[serde(default)]
    configurations: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct HeldSystem {
    species: Vec<Species>,
}

/// What was read last: several systems of a run may start from one file.
#[derive(Default)]
pub struct Files {
    checkpoint: Option<(PathBuf, Checkpoint)>,
    /// Whether frames are kept, too.
    pub keeps_frames: bool,
    frame: Option<(InitialPlan, Read)>,
}

impl Files {
    fn checkpoint(&mut self, path: &Path) -> Result<&Checkpoint, InitialError> {
        if self.checkpoint.as_ref().is_none_or(|(known, _)| known != path) {
            let bytes = std::fs::read(path).map_err(|error| refused(path, error.to_string()))?;
            let checkpoint = Checkpoint::from_bytes(path, &bytes)
                .map_err(|error| refused(path, error.to_string()))?;
            self.checkpoint = Some((path.to_owned(), checkpoint));
        }
        Ok(self.checkpoint.as_ref().map(|(_, checkpoint)| checkpoint).expect("it was read"))
    }

    /// As [`read`].
    pub fn frame(
        &mut self,
        plan: &Plan,
        path: &Path,
        step: Option<u64>,
    ) -> Result<Read, InitialError> {
        let initial = &plan.system.initial;
        if let Some((_, frame)) = self.frame.as_ref().filter(|(of, _)| of == initial) {
            return Ok(frame.clone());
        }
        let frame = read(plan, path, step, self)?;
        if self.keeps_frames {
            self.frame = Some((initial.clone(), frame.clone()));
        }
        Ok(frame)
    }
}

fn refused(path: &Path, reason: String) -> InitialError {
    let named = format!("{}: ", path.display());
    let reason = reason.strip_prefix(&named).map(str::to_owned).unwrap_or(reason);
    InitialError::Checkpoint { path: path.to_owned(), reason }
}

impl Held {
    fn read(plan: &Plan, path: &Path, files: &mut Files) -> Result<Self, InitialError> {
        let checkpoint = files.checkpoint(path)?;
        let held = HeldPlan::of(checkpoint, path)?;
        let systems = held.as_ref().map_or(1, HeldPlan::systems);
        // A state that `integrity.recheck` has kept is one of a run of this plan.
        let species = held.map_or_else(|| plan.system.species.clone(), |held| held.system.species);
        let state = match system_of(plan, path, systems)? {
            None if checkpoint.contains("state") => state_from_checkpoint(checkpoint, path),
            system => {
                let name = format!("system-{}", system.unwrap_or(0));
                state_from_checkpoint(&checkpoint.part(&name), path)
            }
        };
        let state = state.map_err(|report| refused(path, report.to_string()))?;
        Ok(Held { state, species })
    }
}

/// Which one of a file of `systems` systems a system starts from; `None` if it holds one.
fn system_of(plan: &Plan, path: &Path, systems: usize) -> Result<Option<usize>, InitialError> {
    let InitialPlan::File { system, of, .. } = plan.system.initial else { return Ok(None) };
    let wrong = |reason: String, help: String| {
        Err(InitialError::System { path: path.to_owned(), reason, help })
    };
    match (system, of) {
        (Some(_), _) if systems == 1 => {
            wrong("holds one system".into(), "leave system.initial.system out".into())
        }
        (Some(system), _) if system >= systems => wrong(
            format!("holds {systems} systems, and none of number {system}"),
            format!("system.initial.system is at most {}", systems - 1),
        ),
        (Some(system), _) => Ok(Some(system)),
        (None, _) if systems == 1 => Ok(None),
        (None, Some([own, all])) if all == systems => Ok(Some(own)),
        (None, Some([_, all])) => wrong(
            format!("holds {systems} systems, the run {all}"),
            "give the run as many, or system.initial.system = 0 for one of them".into(),
        ),
        (None, None) => wrong(
            format!("holds {systems} systems"),
            format!("give system.initial.system, 0 to {}", systems - 1),
        ),
    }
}

fn wrong(path: &Path, reason: String) -> InitialError {
    InitialError::Unfit { path: path.to_owned(), reason }
}

fn check_box(plan: &Plan, path: &Path, found: &[f64]) -> Result<(), InitialError> {
    let expected = plan.system.simulation_box.edges();
    let same = found.len() == expected.len()
        && found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= BOX_TOLERANCE * b);
    if same {
        Ok(())
    } else {
        Err(wrong(path, format!("its box has edges {found:?}, the plan's {expected:?}")))
    }
}

/// The masses of species in the file must be the plan's where its velocities are taken.
fn check_masses(plan: &Plan, path: &Path, found: &[Species]) -> Result<(), InitialError> {
    if !matches!(plan.system.initial, InitialPlan::File { temperature: None, .. }) {
        return Ok(());
    }
    for Species { name, mass, .. } in found {
        let species = plan.system.species.iter().find(|species| species.name == *name);
        if let Some(species) = species
            && (mass - species.mass).abs() > MASS_TOLERANCE * species.mass
        {
            let what = format!(
                "particles of species {name} have mass {mass}, in system.species {}; their velocities are taken",
                species.mass
            );
            return Err(wrong(path, what));
        }
    }
    Ok(())
}

/// Velocities are taken in units in which `m v^2` is an energy.
fn check_units(
    plan: &Plan,
    reader: &dyn TrajectoryReader,
    has_velocities: bool,
) -> Result<(), InitialError> {
    let taken = has_velocities
        && matches!(plan.system.initial, InitialPlan::File { temperature: None, .. });
    match reader.units() {
        Some(units) if taken && !reader.units_are_coherent() => Err(wrong(
            reader.path(),
            format!(
                "has velocities in units \"{units}\", in which m v^2 is no energy; velocities of units \"lj\" are \
                 taken, or drawn where system.initial.temperature is given"
            ),
        )),
        _ => Ok(()),
    }
}

/// The plan's numbers of the species of particles, which are `names` in the file.
fn numbered_as_in_plan(
    plan: &Plan,
    path: &Path,
    names: &[&str],
    of_particles: impl Iterator<Item = usize>,
) -> Result<Vec<usize>, InitialError> {
    let expected: Vec<&str> =
        plan.system.species.iter().map(|species| species.name.as_str()).collect();
    let numbers = species_for_names(&plan.system.species, names);
    of_particles
        .map(|index| {
            let Some(name) = names.get(index) else {
                let reason = format!(
                    "has particles of species {}, but names only {}",
                    index + 1,
                    names.len()
                );
                return Err(wrong(path, reason));
            };
            numbers[index].ok_or_else(|| {
                let expected = expected.join(", ");
                let reason =
                    format!("has particles of species \"{name}\"; system.species has {expected}");
                wrong(path, reason)
            })
        })
        .collect()
}

/// Particles sorted by species, which the ids of a run are.
fn in_order_of_species(
    plan: &Plan,
    path: &Path,
    species: &[usize],
    snapshot: &Snapshot,
) -> Result<Snapshot, InitialError> {
    for (index, expected) in plan.system.species.iter().enumerate() {
        let found = species.iter().filter(|&&species| species == index).count();
        if found != expected.count {
            return Err(wrong(
                path,
                format!(
                    "has {found} particles of species \"{}\"; system.species has {}",
                    expected.name, expected.count
                ),
            ));
        }
    }
    let mut order: Vec<usize> = (0..species.len()).collect();
    order.sort_by_key(|&particle| species[particle]);
    Ok(Snapshot {
        step: 0,
        position: order.iter().map(|&i| snapshot.position[i]).collect(),
        fraction: Vec::new(),
        image: vec![[0; 3]; order.len()],
        velocity: order.iter().map(|&i| snapshot.velocity[i]).collect(),
        diameter: match snapshot.diameter.is_empty() {
            true => Arc::default(),
            false => order.iter().map(|&i| snapshot.diameter[i]).collect(),
        },
    })
}
