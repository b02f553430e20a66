//! The observables of a stage, evaluated on a stored trajectory as a run would have.
mod identity;
mod unwrap;

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

use indicatif::{ProgressBar, ProgressDrawTarget};
use miette::{IntoDiagnostic, miette};
use supercool_analysis::{Frame, TrajectoryReader};

use super::RunError;
use super::description::Provenance;
use super::directory::OutputDirectory;
use super::stage::StageOutput;
use crate::observable::dynamics::source::{Held, Source, is_of_stress};
use crate::plan::{DynamicObservable, ObservePlan, Plan, StagePlan};
use crate::system::{SimulationBox, Snapshot};
use identity::{check_ids, check_masses, note_of_types, order_of};
use unwrap::Unwrapping;

/// How a trajectory is to be evaluated.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// The stage whose observables are taken; the only one that has any, if not given.
    pub stage: Option<String>,
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

/// Evaluates the correlations, structure, bond-orientational order and inherent structures of a stage of `plan`
/// on the frames of a file, one after the other, and writes `STAGE.h5` into the plan's output directory. Lags are those of the plan
/// up to the length of the trajectory.
///
/// # Errors
/// If the trajectory does not belong to the plan's system (masses included, if it has any), has no frames at equal
/// intervals, or lacks what an observable needs.
pub fn replay(
    mut plan: Plan,
    toml_text: &str,
    trajectory: &Path,
    options: &ReplayOptions,
) -> miette::Result<Replayed> {
    let reader = supercool_analysis::open(trajectory).into_diagnostic()?;
    let per_count = steps_per_count(&plan, reader.as_ref(), options.steps_per_frame)?;
    let last = reader.steps().last().copied().unwrap_or(0);
    if last.checked_mul(per_count).is_none() {
        return Err(miette!(
            help = "it is the number of steps from one frame to the next",
            "--steps-per-frame {per_count}: {} frames have no step numbers of 64 bits then",
            reader.len()
        ));
    }
    let spacing = spacing(reader.as_ref())? * per_count;
    let index = chosen_stage(&plan, options.stage.as_deref())?;
    let (steps, frames) = (reader.steps().to_vec(), reader.len());
    let stage = &mut plan.stages[index];
    stage.steps = (steps[frames - 1] - steps[0]) * per_count;
    let observe = std::mem::replace(&mut stage.observe, ObservePlan::nothing());
    stage.observe.structure = observe.structure;
    stage.observe.bond_order = observe.bond_order;
    stage.observe.inherent_structures = observe.inherent_structures;
    check_intervals(stage, spacing)?;
    let first = reader.read(0).into_diagnostic()?;
    check_ids(stage, reader.as_ref(), &first)?;
    check_contents(stage)?;
    // Some programs write velocities with the first frame only.
    for due in velocities_due(stage).into_iter().flat_map(|every| [0, every]) {
        if let Ok(index) = steps.binary_search(&(steps[0] + due / per_count)) {
            check_velocity(&reader.read(index).into_diagnostic()?, trajectory)?;
        }
    }
    plan.system.simulation_box = box_of(&plan, &first, trajectory)?;
    check_time(&plan, &reader.read(1).into_diagnostic()?, &first, per_count, trajectory)?;
    let species = &plan.system.species;
    let order = order_of(species, &first, trajectory)?;
    check_masses(species, &first, &order, trajectory)?;
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
    let mut directory = OutputDirectory::create(&plan, options.force).map_err(without_resume)?;
    directory.begin()?;
    let provenance = Provenance::of_trajectory(trajectory, reader.format(), frames);
    let output = StageOutput::create(&plan, toml_text, index, &directory, &provenance);
    let evaluated = output.and_then(|output| {
        let replay = Replay {
            reference: Reference {
                order: &order,
                first: &first,
                timestep: plan.run.timestep,
                per_count,
                velocities: velocities_due(&plan.stages[index]),
                path: trajectory,
            },
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
    per_count: u64,
    /// Steps, counted from the first frame, of whose multiples velocities are needed.
    velocities: Vec<u64>,
    path: &'a Path,
}

struct Replay<'a> {
    reference: Reference<'a>,
    unwrapping: Unwrapping,
}

impl Replay<'_> {
    /// Evaluates all frames.
    fn evaluate(
        mut self,
        reader: Box<dyn TrajectoryReader>,
        mut output: StageOutput,
        quiet: bool,
    ) -> miette::Result<Unwrapping> {
        let (steps, per_count) = (reader.steps().to_vec(), self.reference.per_count);
        let bar = ProgressBar::new(steps.len() as u64);
        if quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        std::thread::scope(|scope| -> miette::Result<()> {
            let (sender, receiver) = sync_channel(AHEAD);
            scope.spawn(move || {
                for index in 0..reader.len() {
                    // Nobody listens any more after an error.
                    if sender.send(reader.read(index)).is_err() {
                        return;
                    }
                }
            });
            for frame in receiver {
                let mut frame = frame.into_diagnostic()?;
                frame.step *= per_count;
                let since_first = frame.step - steps[0] * per_count;
                self.reference.check(&frame, since_first)?;
                output.sample(since_first, &self.snapshot(frame)?, None)?;
                bar.inc(1);
            }
            Ok(())
        })?;
        bar.finish_and_clear();
        output.finish(steps[steps.len() - 1] * per_count)?;
        Ok(self.unwrapping)
    }

    fn snapshot(&mut self, frame: Frame) -> miette::Result<Snapshot> {
        let Reference { order, path, .. } = self.reference;
        let step = frame.step;
        let position: Vec<[f64; 3]> = order.iter().map(|&place| frame.position[place]).collect();
        let image = frame.image.map(|image| order.iter().map(|&place| image[place]).collect());
        let image = self.unwrapping.images(&position, image).map_err(|report| {
            let help = report.help().map(|help| help.to_string()).unwrap_or_default();
            miette!(help = help, "{}, step {step}: {report}", path.display())
        })?;
        let velocity = match &frame.velocity {
            Some(velocity) => order.iter().map(|&place| velocity[place]).collect(),
            // None that is needed: see `Reference::check`.
            None => vec![[0.0; 3]; order.len()],
        };
        Ok(Snapshot { step, position, image, velocity })
    }
}

impl Reference<'_> {
    /// A frame must be of the particles, the box and the clock of the first one.
    fn check(&self, frame: &Frame, since_first: u64) -> miette::Result<()> {
        let (first, step) = (self.first, frame.step);
        let changed =
            |what: &str| miette!("{}: {what} changes at step {step}", self.path.display());
        if frame.particle_count() != self.order.len()
            || frame.species != first.species
            || frame.id != first.id
        {
            return Err(changed("what the particles are"));
        }
        if frame.box_edges != first.box_edges {
            return Err(changed("the box"));
        }
        if let (Some(from), Some(to)) = (first.time, frame.time) {
            let expected = since_first as f64 * self.timestep;
            // Text files may give six digits.
            let tolerance = 1e-3 * expected + 1e-5 * to.abs();
            if (to - from - expected).abs() > tolerance {
                return Err(miette!(
                    help = "steps and times of all frames must fit run.timestep",
                    "{}: step {step} is at time {to}, {} after the first frame; {since_first} steps of {} take {expected}",
                    self.path.display(),
                    to - from,
                    self.timestep
                ));
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

/// An occupied directory with the ways out that there are here: nothing can be continued.
fn without_resume(error: RunError) -> miette::Report {
    match error {
        RunError::Occupied { .. } => {
            miette!(help = "--force removes it; --output chooses another directory", "{error}")
        }
        error => error.into(),
    }
}

/// The trajectory must not lie among files that may be removed.
fn check_place(directory: &Path, trajectory: &Path) -> miette::Result<()> {
    let folder = match trajectory.canonicalize() {
        Ok(path) => path.parent().map(Path::to_owned),
        Err(_) => None,
    };
    match directory.canonicalize() {
        Ok(directory) if Some(&directory) == folder.as_ref() => Err(miette!(
            help = "results of a trajectory go to a directory of their own, which --output names",
            "--output {}: the trajectory itself lies there",
            directory.display()
        )),
        _ => Ok(()),
    }
}

/// Steps for each step of the reader: one, unless it counts frames.
fn steps_per_count(
    plan: &Plan,
    reader: &dyn TrajectoryReader,
    given: Option<NonZeroU64>,
) -> miette::Result<u64> {
    let path = reader.path().display();
    if !reader.counts_frames() {
        return match given {
            None => Ok(1),
            Some(_) => Err(miette!("--steps-per-frame: {path} says the steps of its frames")),
        };
    }
    if let Some(given) = given {
        return Ok(given.get());
    }
    if reader.len() < 2 {
        return Ok(1);
    }
    let time = |frame| -> miette::Result<_> { Ok(reader.read(frame).into_diagnostic()?.time) };
    match (time(0)?, time(1)?) {
        (Some(from), Some(to)) => Ok(((to - from) / plan.run.timestep).round().max(1.0) as u64),
        _ => Err(miette!(
            help = "--steps-per-frame N, with steps of run.timestep; or Step=... in the second lines of its frames",
            "{path}: says neither the steps nor the times of its frames"
        )),
    }
}

/// The shortest interval in steps at which frames follow the first one to the end of the file. There may be further frames
/// in between, as of a trajectory at logarithmic times.
fn spacing(reader: &dyn TrajectoryReader) -> miette::Result<u64> {
    let (path, steps) = (reader.path().display(), reader.steps());
    let [first, second, ..] = *steps else {
        return Err(miette!("{path}: {} frames; at least two are needed", steps.len()));
    };
    let last = steps[steps.len() - 1];
    let irregular = |frame: usize| {
        miette!(
            help = "correlations need frames at equal intervals; others may lie between them",
            "{path}: frame {frame} is at step {}, the one before at {}; the first two are at {first} and {second}",
            steps[frame],
            steps[frame - 1]
        )
    };
    if let Some(back) = steps.windows(2).position(|pair| pair[1] <= pair[0]) {
        return Err(irregular(back + 1));
    }
    let holds = |interval: u64| {
        (last - first).is_multiple_of(interval)
            && (first..=last)
                .step_by(interval as usize)
                .all(|step| steps.binary_search(&step).is_ok())
    };
    let spacing = steps[1..].iter().map(|step| step - first).find(|&interval| holds(interval));
    match spacing {
        // Of two frames, or of a last one that follows no others.
        Some(spacing) if spacing < last - first || steps.len() == 2 => Ok(spacing),
        _ => {
            let unequal = steps.windows(2).position(|pair| pair[1] - pair[0] != second - first);
            Err(irregular(unequal.unwrap_or(0) + 1))
        }
    }
}

fn chosen_stage(plan: &Plan, name: Option<&str>) -> miette::Result<usize> {
    let observes = |stage: &StagePlan| {
        !stage.correlations.is_empty()
            || stage.observe.structure.is_some()
            || stage.observe.bond_order.is_some()
            || stage.observe.inherent_structures.is_some()
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
            .ok_or_else(|| {
                miette!(
                    "--stage {name}: no such stage with correlations or structure; there are: {all}"
                )
            }),
        None => match candidates[..] {
            [] => Err(miette!(
                "no stage of the configuration has correlations, structure, bond_order or inherent_structures"
            )),
            [only] => Ok(only),
            _ => Err(miette!(
                "several stages have correlations or structure; choose one with --stage: {all}"
            )),
        },
    }
}

fn check_intervals(stage: &StagePlan, spacing: u64) -> miette::Result<()> {
    let correlations = stage.correlations.iter().map(|plan| ("correlation.every", plan.every));
    let structure =
        stage.observe.structure.iter().map(|plan| ("observe.structure.every", plan.every));
    let order =
        stage.observe.bond_order.iter().map(|plan| ("observe.bond_order.every", plan.every));
    let inherent = stage.observe.inherent_structures.iter();
    let inherent = inherent.map(|plan| ("observe.inherent_structures.every", plan.every));
    for (key, every) in correlations.chain(structure).chain(order).chain(inherent) {
        if every % spacing != 0 {
            return Err(miette!(
                help =
                    format!("a multiple of {spacing}, such as {}", every.next_multiple_of(spacing)),
                "stage \"{}\": {key} = {every}, but frames at equal intervals are {spacing} steps apart",
                stage.name
            ));
        }
    }
    Ok(())
}

/// The observables must be those of positions and velocities.
fn check_contents(stage: &StagePlan) -> miette::Result<()> {
    let observables = || stage.correlations.iter().flat_map(|plan| &plan.observables);
    if let Some(of_stress) = observables().find(|&&observable| is_of_stress(observable)) {
        return Err(miette!(
            help = "leave it out; a run evaluates it while it continues",
            "{} needs the stress tensor, which a trajectory does not have",
            of_stress.group_name()
        ));
    }
    Ok(())
}

/// Intervals in steps at which velocities are correlated.
fn velocities_due(stage: &StagePlan) -> Vec<u64> {
    let of_velocity =
        |&observable: &DynamicObservable| Source::of(observable).samples == Held::Velocities;
    let correlations = stage.correlations.iter();
    correlations
        .filter(|plan| plan.observables.iter().any(of_velocity))
        .map(|plan| plan.every)
        .collect()
}

fn check_velocity(frame: &Frame, path: &Path) -> miette::Result<()> {
    if frame.velocity.is_some() {
        return Ok(());
    }
    Err(miette!(
        help = "leave velocity-autocorrelation out of the observables",
        "{}: no velocities of step {}, which the velocity autocorrelation needs",
        path.display(),
        frame.step
    ))
}

/// The box of the file, if it is that of the configuration.
fn box_of(plan: &Plan, frame: &Frame, path: &Path) -> miette::Result<SimulationBox> {
    let expected = plan.system.simulation_box.edges();
    let agree = |tolerance: f64| {
        let close = |(a, b): (&f64, &f64)| (a / b - 1.0).abs() < tolerance;
        frame.box_edges.len() == expected.len() && frame.box_edges.iter().zip(expected).all(close)
    };
    if agree(EDGE_ROUNDING) {
        return Ok(plan.system.simulation_box);
    }
    if !agree(EDGE_TOLERANCE) {
        return Err(miette!(
            help = "give system.box (or density and counts) as in the trajectory",
            "{}: a box of {:?}, but the configuration has {expected:?}",
            path.display(),
            frame.box_edges
        ));
    }
    Ok(SimulationBox::new(&frame.box_edges))
}

/// Times of the first two frames against the configuration's time step.
fn check_time(
    plan: &Plan,
    second: &Frame,
    first: &Frame,
    per_count: u64,
    path: &Path,
) -> miette::Result<()> {
    let (Some(from), Some(to)) = (first.time, second.time) else { return Ok(()) };
    let timestep = (to - from) / ((second.step - first.step) * per_count) as f64;
    if (timestep / plan.run.timestep - 1.0).abs() < 1e-3 {
        return Ok(());
    }
    Err(miette!(
        help = format!("run.timestep = {timestep}"),
        "{}: a step takes {timestep}, but the configuration says run.timestep = {}",
        path.display(),
        plan.run.timestep
    ))
}
