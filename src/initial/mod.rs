//! Initial states: particles on a lattice, or a frame of a file.
mod file;
mod lattice;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use miette::Diagnostic;
use thiserror::Error;

pub use file::{diameters_in, systems_in};
pub use lattice::lattice_positions;

use crate::engine::{ExactState, skin};
use crate::plan::{DiameterDistribution, InitialPlan, Plan, StagePlan};
use crate::system::{Snapshot, species_of_particles};

/// Why an initial state cannot be made.
#[derive(Debug, Error, Diagnostic)]
pub enum InitialError {
    #[error(
        "system.initial: particle {particle}, at {position:?} with velocity {velocity:?}, does not fit precision \
         \"{precision}\""
    )]
    #[diagnostic(help(
        "numbers must be finite, and in fixed point no particle may cross a quarter of the box in a step"
    ))]
    OutOfRange { precision: &'static str, particle: usize, position: [f64; 3], velocity: [f64; 3] },

    #[error("system.initial.file: {}: {reason}", path.display())]
    #[diagnostic(help("system.box (or density) and system.species must be those of the file"))]
    Unfit { path: PathBuf, reason: String },

    #[error("system.initial.file: {}: holds step {found}, not {wanted}", path.display())]
    #[diagnostic(help("a checkpoint holds one step: give step = {found}, or leave it out"))]
    OtherStep { path: PathBuf, found: u64, wanted: u64 },

    #[error("system.initial.file: {}: {reason}", path.display())]
    #[diagnostic(help(
        "give a whole checkpoint of this version of supercool; paths are relative to the current directory"
    ))]
    Checkpoint { path: PathBuf, reason: String },

    #[error("system.initial.file: {}: {reason}", path.display())]
    #[diagnostic(help("{help}"))]
    System { path: PathBuf, reason: String, help: String },

    #[error(
        "system.initial.file: {}: systems would start from the same positions and velocities", path.display()
    )]
    #[diagnostic(help("give system.initial.temperature: each then draws velocities of its own"))]
    SameStates { path: PathBuf },

    #[error(
        "system.initial.file: {}: has no velocities", path.display()
    )]
    #[diagnostic(help("give system.initial.temperature: velocities are then drawn"))]
    NoVelocities { path: PathBuf },

    #[error("system.initial.file: {}: has no diameters", path.display())]
    #[diagnostic(help(
        "give system.diameters.distribution another value than \"file\": diameters are then drawn"
    ))]
    NoDiameters { path: PathBuf },

    #[error(
        "system.initial.file: {}: has a particle of diameter {diameter}, and those of the first system are between {smallest} \
         and {largest}", path.display()
    )]
    #[diagnostic(help(
        "all systems of an ensemble must have diameters between those of the first one"
    ))]
    OtherDiameters { path: PathBuf, diameter: f64, smallest: f64, largest: f64 },

    #[error("ensemble.configurations: {reason}")]
    #[diagnostic(help("{help}"))]
    Configuration { reason: String, help: String },

    #[error("system.initial.file: {}: {reason}", path.display())]
    #[diagnostic(help("start from a box without a tilt"))]
    Tilted { path: PathBuf, reason: String },

    // Not its source: that would be printed a second time.
    #[error("system.initial.file: {reason}")]
    Unreadable { reason: supercool_analysis::AnalysisError },
}

impl InitialError {
    /// The key of the configuration that asks for the state.
    pub fn key(&self) -> &'static str {
        match self {
            InitialError::OutOfRange { .. } => "system.initial",
            InitialError::Configuration { .. } => "ensemble.configurations",
            _ => "system.initial.file",
        }
    }

    /// What is wrong, without the key.
    pub fn message(&self) -> String {
        let said = self.to_string();
        said.strip_prefix(&format!("{}: ", self.key())).map(str::to_owned).unwrap_or(said)
    }

    /// The same of a configuration of an ensemble.
    fn of_configuration(self, path: &Path) -> Self {
        let mut reason = self.message();
        let named = path.display().to_string();
        if !reason.contains(&named) {
            reason = format!("{named}: {reason}");
        }
        let help = self.help().map(|help| help.to_string()).unwrap_or_else(|| {
            "all configurations must be readable, with the species and the box of [system]".into()
        });
        InitialError::Configuration { reason, help }
    }
}

impl From<supercool_analysis::AnalysisError> for InitialError {
    fn from(reason: supercool_analysis::AnalysisError) -> Self {
        InitialError::Unreadable { reason }
    }
}

/// The states of all systems of a plan before its first step; the keys of the random numbers of those from a file are put
/// into the plan.
pub fn create_all(plan: &mut Plan) -> Result<Vec<ExactState>, InitialError> {
    let mut files = file::Files::default();
    let configurations = |system| plan.ensemble.as_ref()?.configuration(system);
    files.keeps_frames = configurations(0).is_some();
    let create = |system| {
        let created = create_with(&plan.of_system(system), &mut files);
        created.map_err(|error| match configurations(system) {
            Some(configuration) => error.of_configuration(&configuration.path),
            None => error,
        })
    };
    let created = (0..plan.systems()).map(create).collect::<Result<Vec<_>, _>>()?;
    let (states, keys): (Vec<_>, Vec<_>) = created.into_iter().unzip();
    if let (InitialPlan::File { path, temperature: None, .. }, [first, others @ ..]) =
        (&plan.system.initial, &states[..])
    {
        let same = |other: &ExactState| {
            other.position == first.position && other.velocity == first.velocity
        };
        if others.iter().any(same) && !plan.is_drawn_before_measured() {
            return Err(InitialError::SameStates { path: path.clone() });
        }
    }
    take_tilt(plan, &states)?;
    match &mut plan.ensemble {
        None => plan.system.key_behind_file = keys[0],
        Some(ensemble) => ensemble.keys_behind_file = keys.into_iter().flatten().collect(),
    }
    Ok(states)
}

/// Gives the plan the tilt of the boxes in files.
fn take_tilt(plan: &mut Plan, states: &[ExactState]) -> Result<(), InitialError> {
    let simulation_box = states[0].simulation_box;
    let InitialPlan::File { path, .. } = &plan.system.initial else { return Ok(()) };
    let refused = |reason: String| Err(InitialError::Tilted { path: path.clone(), reason });
    if states.iter().any(|state| state.simulation_box.tilt() != simulation_box.tilt()) {
        return refused("systems of one run would have boxes of several tilts".into());
    }
    if simulation_box.is_tilted() {
        let samples =
            |stage: &StagePlan| Some((stage.name.clone(), stage.not_in_tilted_box()?.what));
        if let Some((stage, what)) = plan.stages.iter().find_map(samples) {
            return refused(format!(
                "its box has a tilt, and {what} of the stage \"{stage}\" is not computed in such boxes"
            ));
        }
    }
    let tilted = plan.system.simulation_box.with_tilt(simulation_box.tilt());
    plan.system.simulation_box = tilted;
    let narrow =
        |stage| plan.narrow_for_strain(stage, plan.reach(skin::of_descents(&plan.at_stage(stage))));
    if let Some(narrow) = (0..plan.stages.len()).find_map(narrow) {
        return refused(format!("{}; {}", narrow.message(), narrow.help()));
    }
    Ok(())
}

/// The state of a plan of one system before its first step. Velocities of a lattice are still zero: the engine
/// draws them.
pub fn create(plan: &Plan) -> Result<ExactState, InitialError> {
    Ok(create_with(plan, &mut file::Files::default())?.0)
}

/// The state with diameters drawn where the plan has a distribution of them, and those of its file where it says so.
fn with_diameters(plan: &Plan, mut snapshot: Snapshot) -> Result<Snapshot, InitialError> {
    let Some(diameters) = &plan.system.diameters else {
        snapshot.diameter = Arc::default();
        return Ok(snapshot);
    };
    if diameters.distribution != DiameterDistribution::File {
        snapshot.diameter = diameters.draw(snapshot.position.len(), plan.system.seed).into();
        return Ok(snapshot);
    }
    let InitialPlan::File { path, .. } = &plan.system.initial else {
        unreachable!("diameters of a file come with a file");
    };
    let Some(bounds) = plan.potential.diameters else {
        unreachable!("diameters have bounds");
    };
    if snapshot.diameter.is_empty() {
        return Err(InitialError::NoDiameters { path: path.clone() });
    }
    let within = bounds.smallest..=bounds.largest;
    match snapshot.diameter.iter().find(|diameter| !within.contains(diameter)) {
        // Of an ensemble: bounds are those of its first system.
        Some(diameter) => Err(InitialError::OtherDiameters {
            path: path.clone(),
            diameter: *diameter,
            smallest: bounds.smallest,
            largest: bounds.largest,
        }),
        None => Ok(snapshot),
    }
}

/// The same, and for a state from a file the key of the random numbers after it ([`SystemPlan::random_key`]).
///
/// [`SystemPlan::random_key`]: crate::plan::SystemPlan::random_key
fn create_with(
    plan: &Plan,
    files: &mut file::Files,
) -> Result<(ExactState, Option<u64>), InitialError> {
    let system = &plan.system;
    let mut key = None;
    let species_of = species_of_particles(&system.species);
    let count = species_of.len();
    let mut simulation_box = system.simulation_box;
    let snapshot = match &system.initial {
        InitialPlan::Lattice { lattice, .. } => Snapshot {
            step: 0,
            position: lattice_positions(*lattice, &system.simulation_box, count, system.seed),
            fraction: Vec::new(),
            image: vec![[0; 3]; count],
            velocity: vec![[0.0; 3]; count],
            diameter: Arc::default(),
        },
        InitialPlan::File { path, step, temperature, .. } => {
            if let Some(state) = file::exact(plan, path, *step, files)? {
                let key = file::key_behind(system.seed, &state.to_snapshot(&system.species));
                return Ok((state, Some(key)));
            }
            let file::Read { snapshot, has_velocities, tilt } = files.frame(plan, path, *step)?;
            simulation_box = simulation_box.with_tilt(tilt);
            key = Some(file::key_behind(system.seed, &snapshot));
            if !has_velocities && temperature.is_none() {
                return Err(InitialError::NoVelocities { path: path.clone() });
            }
            snapshot
        }
    };
    let snapshot = with_diameters(plan, snapshot)?;
    let precision = plan.run.precision;
    let state = ExactState::from_snapshot(
        &snapshot,
        species_of,
        simulation_box,
        plan.run.flight(),
        precision,
        &system.species,
    )
    .map_err(|particle| InitialError::OutOfRange {
        precision: precision.name(),
        particle,
        position: snapshot.position[particle],
        velocity: snapshot.velocity[particle],
    })?;
    Ok((state, key))
}
