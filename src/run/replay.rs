//! The observables of a stage, evaluated on a stored trajectory as a run would have.
mod error;
mod identity;
mod intervals;
mod tilt;
mod unwrap;

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

use indicatif::{ProgressBar, ProgressDrawTarget};
use supercool_analysis::results::ResultsFile;
use supercool_analysis::{Frame, TrajectoryReader};

use super::RunError;
use super::description::Provenance;
use super::directory::OutputDirectory;
use super::stage::StageOutput;
use super::stage::classes::classes_of;
use crate::observable::dynamics::source::is_of_stress;
use crate::plan::{ObservePlan, Plan, StagePlan};
use crate::system::{SimulationBox, Snapshot};
pub use error::ReplayError;
use identity::{check_ids, check_masses, note_of_types, order_of};
pub use intervals::frame_spacing;
use intervals::{
    check_given_times, check_intervals, check_only_correlations, stored_frames, velocities_due,
};
use tilt::Tilts;
use unwrap::{FAR, TooFar, Unwrapping};

/// How a trajectory is to be evaluated.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// The stage whose observables are taken; the only one that has any, if not given.
    pub stage: Option<String>,
    /// Which one of a file of many systems.
    pub system: Option<usize>,
    /// Steps from one frame to the next, of a file that does not say the steps of its frames.
    pub steps_per_frame: Option<NonZeroU64>,
    /// Remove earlier files from the output directory.
    pub force: bool,
    /// No progress bar.
    pub quiet: bool,
}

/// What was done.
#[derive(Clone, Debug)]
pub struct Replayed {
    pub results: PathBuf,
    pub frames: usize,
    pub particles: usize,
    /// What was assumed, as the file does not say it.
    pub notes: Vec<String>,
}

/// Frames that are read ahead.
const AHEAD: usize = 2;
/// A box is the one of the configuration if its edges agree to this; text files are rounded.
const EDGE_TOLERANCE: f64 = 1e-4;
/// If they agree to this, as 32-bit floats do, those of the configuration are taken.
const EDGE_ROUNDING: f64 = 1e-6;

/// Whether a file says that replicas were exchanged; other formats do not say.
fn exchanges_replicas(trajectory: &Path) -> bool {
    ResultsFile::open(trajectory).is_ok_and(|file| file.exchanges_replicas())
}

/// Evaluates the correlations, structure, bond-orientational order and inherent structures of a stage of `plan`
/// on the frames of a file, one after the other, and writes `STAGE.h5` into the plan's output directory. Lags are those of the plan
/// up to the length of the trajectory.
///
/// # Errors
/// If the trajectory does not belong to the plan's system (masses included, if it has any), has no frames at equal
/// intervals for what is no correlation, or lacks what an observable needs.
pub fn replay(
    mut plan: Plan,
    toml_text: &str,
    trajectory: &Path,
    options: &ReplayOptions,
) -> Result<Replayed, RunError> {
    let mut reader = supercool_analysis::open(trajectory).map_err(ReplayError::from)?;
    match options.system {
        Some(system) => {
            reader =
                supercool_analysis::open_system(trajectory, system).map_err(ReplayError::from)?;
        }
        None if reader.systems() > 1 => {
            let (path, systems) = (trajectory.to_owned(), reader.systems());
            return Err(ReplayError::ManySystems { path, systems }.into());
        }
        None => {}
    }
    plan = plan.of_system(options.system.filter(|&system| system < plan.systems()).unwrap_or(0));
    let index = chosen_stage(&plan, options.stage.as_deref())?;
    plan.run.timestep = plan.timestep_of(index);
    let per_count = steps_per_count(&plan, reader.as_ref(), options.steps_per_frame)?;
    let last = reader.steps().last().copied().unwrap_or(0);
    if last.checked_mul(per_count).is_none() {
        let frames = reader.len();
        return Err(ReplayError::StepsOverflow { given: per_count, frames }.into());
    }
    let spacing = match frame_spacing(reader.as_ref()) {
        Ok(spacing) => Some(spacing * per_count),
        Err(error) => match error {
            ReplayError::Irregular { step, before, .. } if step > before => {
                check_only_correlations(&plan.stages[index], error)?;
                None
            }
            error => return Err(error.into()),
        },
    };
    let (steps, frames) = (reader.steps().to_vec(), reader.len());
    let stage = &mut plan.stages[index];
    if !stage.correlations.is_empty() && exchanges_replicas(trajectory) {
        return Err(ReplayError::Exchanged { path: trajectory.to_owned() }.into());
    }
    stage.steps = (steps[frames - 1] - steps[0]) * per_count;
    let observe = std::mem::replace(&mut stage.observe, ObservePlan::nothing());
    stage.observe.structure = observe.structure;
    stage.observe.bond_order = observe.bond_order;
    stage.observe.local_order = observe.local_order;
    stage.observe.inherent_structures = observe.inherent_structures;
    stage.observe.inherent_at = observe.inherent_at;
    stage.observe.configurational_temperature = observe.configurational_temperature;
    let stored = stored_frames(&steps, per_count, spacing);
    check_intervals(stage, spacing, stored.times.is_some())?;
    check_given_times(stage, plan.run.timestep, &stored)?;
    let first = reader.read_tilted(0).map_err(ReplayError::from)?;
    check_ids(stage, reader.as_ref(), &first)?;
    check_contents(stage)?;
    // Some programs write velocities with the first frame only.
    for due in velocities_due(stage, spacing).into_iter().flat_map(|every| [0, every]) {
        if let Ok(index) = steps.binary_search(&(steps[0] + due / per_count)) {
            check_velocity(&reader.read_tilted(index).map_err(ReplayError::from)?, trajectory)?;
        }
    }
    plan.system.simulation_box = box_of(&plan, &first, trajectory)?;
    let tilts = Tilts::new(&plan, index, &first, per_count, trajectory)?;
    check_time(
        &plan,
        &reader.read_tilted(1).map_err(ReplayError::from)?,
        &first,
        per_count,
        trajectory,
    )?;
    let species = &plan.system.species;
    let order = order_of(species, &first, trajectory)?;
    check_masses(species, &first, &order, trajectory)?;
    let diameters = match (plan.stages[index].diameter_classes(), &first.diameter) {
        (None, _) => Vec::new(),
        (Some(_), Some(diameter)) => vec![order.iter().map(|&place| diameter[place]).collect()],
        (Some(_), None) => {
            return Err(ReplayError::NoDiameters { path: trajectory.to_owned() }.into());
        }
    };
    let mut notes: Vec<String> = note_of_types(species, &first).into_iter().collect();
    if first.time.is_none() {
        notes.push(format!(
            "no times in the file: a step takes run.timestep = {}",
            plan.run.timestep
        ));
    }
    notes.extend(reader.units().filter(|units| *units != "lj").map(|units| {
        format!(
            "the file's units are \"{units}\": lengths, times and velocities are taken as they are"
        )
    }));

    check_place(&plan.output.directory, trajectory)?;
    classes_of(&plan, index, &diameters)?;
    let mut directory = OutputDirectory::create(&plan, options.force).map_err(without_resume)?;
    directory.begin()?;
    let provenance = Provenance::of_trajectory(trajectory, reader.format(), frames);
    let output = StageOutput::create_of(
        &plan,
        toml_text,
        index,
        &directory,
        &provenance,
        (Some(&stored), &diameters),
    );
    let evaluated = output.and_then(|output| {
        let replay = Replay {
            reference: Reference {
                order: &order,
                first: &first,
                timestep: plan.run.timestep,
                tilts,
                velocities: velocities_due(&plan.stages[index], spacing),
                has_classes: !diameters.is_empty(),
                path: trajectory,
            },
            per_count,
            unwrapping: Unwrapping::new(plan.system.simulation_box, first.image.is_some()),
        };
        replay.evaluate(reader, output, options.quiet)
    });
    let file =
        |ending: &str| directory.path().join(format!("{}.{ending}", plan.stages[index].name));
    let evaluated =
        evaluated.map(|unwrapping| notes.extend(note_of_unwrapping(&unwrapping, frames)));
    if let Err(report) = evaluated {
        // A part of the averages would be taken for all of them.
        for ending in ["h5", "inherent.h5md"] {
            let _ = std::fs::remove_file(file(ending));
        }
        return directory.or_put_back(Err(report));
    }
    directory.has_begun();
    Ok(Replayed { results: file("h5"), frames, particles: order.len(), notes })
}

/// What frames are compared with.
struct Reference<'a> {
    order: &'a [usize],
    first: &'a Frame,
    timestep: f64,
    tilts: Tilts,
    /// Steps, counted from the first frame, of whose multiples velocities are needed.
    velocities: Vec<u64>,
    /// Whether particles are divided by their diameters, which must then stay.
    has_classes: bool,
    path: &'a Path,
}

struct Replay<'a> {
    reference: Reference<'a>,
    per_count: u64,
    unwrapping: Unwrapping,
}

impl Replay<'_> {
    /// Evaluates all frames.
    fn evaluate(
        mut self,
        reader: Box<dyn TrajectoryReader>,
        mut output: StageOutput,
        quiet: bool,
    ) -> Result<Unwrapping, RunError> {
        let (steps, per_count) = (reader.steps().to_vec(), self.per_count);
        let bar = ProgressBar::new(steps.len() as u64);
        if quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        std::thread::scope(|scope| -> Result<(), RunError> {
            let (sender, receiver) = sync_channel(AHEAD);
            scope.spawn(move || {
                for index in 0..reader.len() {
                    // Nobody listens any more after an error.
                    if sender.send(reader.read_tilted(index)).is_err() {
                        return;
                    }
                }
            });
            for frame in receiver {
                let mut frame = frame.map_err(ReplayError::from)?;
                frame.step *= per_count;
                let since_first = frame.step - steps[0] * per_count;
                self.reference.check(&frame, since_first)?;
                output.sample(since_first, &[self.snapshot(frame)?], &[])?;
                bar.inc(1);
            }
            Ok(())
        })?;
        bar.finish_and_clear();
        output.finish(steps[steps.len() - 1] * per_count)?;
        Ok(self.unwrapping)
    }

    fn snapshot(&mut self, frame: Frame) -> Result<Snapshot, ReplayError> {
        let Reference { order, path, .. } = self.reference;
        let step = frame.step;
        let position: Vec<[f64; 3]> = order.iter().map(|&place| frame.position[place]).collect();
        let image = frame.image.map(|image| order.iter().map(|&place| image[place]).collect());
        let image = self.unwrapping.images(&position, image).map_err(|too_far| {
            let TooFar { far, all } = too_far;
            ReplayError::TooFar { path: path.to_owned(), step, far, all, limit: FAR }
        })?;
        let velocity = match &frame.velocity {
            Some(velocity) => order.iter().map(|&place| velocity[place]).collect(),
            // None that is needed: see `Reference::check`.
            None => vec![[0.0; 3]; order.len()],
        };
        let diameter = frame.diameter.as_ref().map_or_else(Default::default, |diameter| {
            order.iter().map(|&place| diameter[place]).collect()
        });
        Ok(Snapshot { step, position, fraction: Vec::new(), image, velocity, diameter })
    }
}

impl Reference<'_> {
    /// A frame must be of the particles, the box and the clock of the first one.
    fn check(&self, frame: &Frame, since_first: u64) -> Result<(), ReplayError> {
        let (first, step) = (self.first, frame.step);
        let changed = |what| ReplayError::Changes { path: self.path.to_owned(), what, step };
        if frame.particle_count() != self.order.len()
            || frame.species != first.species
            || frame.id != first.id
        {
            return Err(changed("what the particles are changes"));
        }
        if frame.box_edges != first.box_edges {
            return Err(changed("the box changes"));
        }
        self.tilts.check(frame, self.path)?;
        if self.has_classes && frame.diameter != first.diameter {
            return Err(changed(
                "the diameters change, and diameter_classes are of particles that keep theirs",
            ));
        }
        if let (Some(from), Some(to)) = (first.time, frame.time) {
            let expected = since_first as f64 * self.timestep;
            // Text files may give six digits.
            let tolerance = 1e-3 * expected + 1e-5 * to.abs();
            if (to - from - expected).abs() > tolerance {
                return Err(ReplayError::OtherTime {
                    path: self.path.to_owned(),
                    step,
                    time: to,
                    after: to - from,
                    steps: since_first,
                    timestep: self.timestep,
                    expected,
                });
            }
        }
        match self.velocities.iter().any(|every| since_first.is_multiple_of(*every)) {
            true => check_velocity(frame, self.path),
            false => Ok(()),
        }
    }
}

fn note_of_unwrapping(unwrapping: &Unwrapping, frames: usize) -> Vec<String> {
    let Unwrapping { followed, far, .. } = *unwrapping;
    if followed == 0 {
        return Vec::new();
    }
    let held = match followed + 1 == frames {
        true => "no images in the file".to_owned(),
        false => format!("no images in {followed} frames of the file"),
    };
    let mut notes =
        vec![format!("{held}: particles were followed from frame to frame, by minimum images")];
    if far > 0 {
        notes.push(format!(
            "{far} components of displacements from one frame to the next are above 0.4 edges of the box: some particles \
             may be followed wrongly, or their order changes"
        ));
    }
    notes
}

/// An occupied directory cannot be resumed here.
fn without_resume(error: RunError) -> RunError {
    match error {
        RunError::Occupied { path, example } => ReplayError::Occupied { path, example }.into(),
        error => error,
    }
}

/// The trajectory must not lie among files that may be removed.
fn check_place(directory: &Path, trajectory: &Path) -> Result<(), ReplayError> {
    let folder = match trajectory.canonicalize() {
        Ok(path) => path.parent().map(Path::to_owned),
        Err(_) => None,
    };
    match directory.canonicalize() {
        Ok(directory) if Some(&directory) == folder.as_ref() => {
            Err(ReplayError::InItsDirectory { directory })
        }
        _ => Ok(()),
    }
}

/// Steps for each step of the reader: one, unless it counts frames.
fn steps_per_count(
    plan: &Plan,
    reader: &dyn TrajectoryReader,
    given: Option<NonZeroU64>,
) -> Result<u64, ReplayError> {
    let path = reader.path().to_owned();
    if !reader.counts_frames() {
        return match given {
            None => Ok(1),
            Some(_) => Err(ReplayError::StepsAreKnown { path }),
        };
    }
    if let Some(given) = given {
        return Ok(given.get());
    }
    if reader.len() < 2 {
        return Ok(1);
    }
    let time = |frame| -> Result<_, ReplayError> { Ok(reader.read_tilted(frame)?.time) };
    match (time(0)?, time(1)?) {
        (Some(from), Some(to)) => Ok(((to - from) / plan.run.timestep).round().max(1.0) as u64),
        _ => Err(ReplayError::NoSteps { path }),
    }
}

fn chosen_stage(plan: &Plan, name: Option<&str>) -> Result<usize, ReplayError> {
    let observes = |stage: &StagePlan| {
        !stage.correlations.is_empty()
            || stage.observe.structure.is_some()
            || stage.observe.bond_order.is_some()
            || stage.observe.local_order.is_some()
            || stage.observe.inherent_structures.is_some()
            || stage.observe.configurational_temperature.is_some()
    };
    let names = |stages: &mut dyn Iterator<Item = &StagePlan>| {
        stages.map(|stage| format!("\"{}\"", stage.name)).collect::<Vec<_>>().join(", ")
    };
    let candidates: Vec<usize> =
        (0..plan.stages.len()).filter(|&index| observes(&plan.stages[index])).collect();
    let all = names(&mut candidates.iter().map(|&index| &plan.stages[index]));
    match name {
        Some(name) => candidates
            .iter()
            .copied()
            .find(|&index| plan.stages[index].name == name)
            .ok_or_else(|| ReplayError::NoSuchStage { name: name.to_owned(), all }),
        None => match candidates[..] {
            [] => Err(ReplayError::NothingToEvaluate),
            [only] => Ok(only),
            _ => Err(ReplayError::SeveralStages { all }),
        },
    }
}

/// The observables must be those of positions and velocities.
fn check_contents(stage: &StagePlan) -> Result<(), ReplayError> {
    let observables = || stage.correlations.iter().flat_map(|plan| &plan.observables);
    if let Some(of_stress) = observables().find(|&&observable| is_of_stress(observable)) {
        return Err(ReplayError::NoStress { observable: of_stress.group_name() });
    }
    Ok(())
}

fn check_velocity(frame: &Frame, path: &Path) -> Result<(), ReplayError> {
    if frame.velocity.is_some() {
        return Ok(());
    }
    Err(ReplayError::NoVelocities { path: path.to_owned(), step: frame.step })
}

/// The box of the file, if it is that of the configuration.
fn box_of(plan: &Plan, frame: &Frame, path: &Path) -> Result<SimulationBox, ReplayError> {
    let expected = plan.system.simulation_box.edges();
    let agree = |tolerance: f64| {
        let close = |(a, b): (&f64, &f64)| (a / b - 1.0).abs() < tolerance;
        frame.box_edges.len() == expected.len() && frame.box_edges.iter().zip(expected).all(close)
    };
    if agree(EDGE_ROUNDING) {
        return Ok(plan.system.simulation_box.with_tilt(frame.tilt));
    }
    if !agree(EDGE_TOLERANCE) {
        return Err(ReplayError::OtherBox {
            path: path.to_owned(),
            found: frame.box_edges.clone(),
            expected: expected.to_vec(),
        });
    }
    Ok(SimulationBox::new(&frame.box_edges).with_tilt(frame.tilt))
}

/// Times of the first two frames against the configuration's time step.
fn check_time(
    plan: &Plan,
    second: &Frame,
    first: &Frame,
    per_count: u64,
    path: &Path,
) -> Result<(), ReplayError> {
    let (Some(from), Some(to)) = (first.time, second.time) else { return Ok(()) };
    let timestep = (to - from) / ((second.step - first.step) * per_count) as f64;
    if (timestep / plan.run.timestep - 1.0).abs() < 1e-3 {
        return Ok(());
    }
    Err(ReplayError::OtherTimestep {
        path: path.to_owned(),
        found: timestep,
        expected: plan.run.timestep,
    })
}
