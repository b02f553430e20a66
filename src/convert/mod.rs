//! Trajectories and states from one format into another, frame by frame: H5MD, GSD, extended XYZ, LAMMPS dump and data files.
//!
//! What the destination cannot hold is left out and named in a note, or the conversion is refused. Positions are moved by
//! whole edges of the box only.
mod error;
pub mod format;
mod selection;
mod uniform;

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget};
use supercool_analysis::trajectory::Format;
use supercool_analysis::{AnalysisError, Frame, TrajectoryReader};

pub use self::error::ConvertError;
pub use self::selection::Selection;
use self::uniform::{Uniform, check_names, steps_note};
use crate::output::{FramesFile, Series, Types, masses_of_species};
use crate::run::author;

/// How positions are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Positions {
    /// Within the box, with the images beside them if the source has any.
    #[default]
    Both,
    /// Within the box, without images.
    Wrapped,
    /// As if there were no periodic boundary, without images.
    Unwrapped,
}

/// What is converted, and how.
#[derive(Clone, Debug, Default)]
pub struct ConvertOptions {
    /// Of the source; what its first bytes say, if not given.
    pub from: Option<Format>,
    /// Of the destination; what its name says, if not given.
    pub to: Option<Format>,
    pub positions: Positions,
    pub frames: Selection,
    /// Of these frames only those at multiples of this number of steps behind the first frame of the file.
    pub every: Option<NonZeroU64>,
    /// Of a file of many systems, which one.
    pub system: Option<usize>,
    /// Whether an existing file is replaced.
    pub force: bool,
    /// Whether there is no progress bar.
    pub quiet: bool,
}

/// What was converted.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The trajectory that was read: of a results file, the one beside it.
    pub source: PathBuf,
    pub frames: usize,
    /// Of the first frame.
    pub particles: usize,
    /// Of the first and the last frame.
    pub steps: [u64; 2],
    /// What was left out, and what stands for what the source lacks.
    pub notes: Vec<String>,
}

/// Writes the frames of `source` to `destination`, which has its name when it is complete.
///
/// # Errors
/// If the source cannot be read, or the destination cannot hold it or exists already.
pub fn convert(
    source: &Path,
    destination: &Path,
    options: &ConvertOptions,
) -> Result<Converted, ConvertError> {
    let to = options.to.or_else(|| format::of_name(destination));
    let to = to.ok_or_else(|| ConvertError::UnknownFormat { path: destination.to_owned() })?;
    if to == Format::Gsd && options.positions == Positions::Unwrapped {
        return Err(ConvertError::UnwrappedGsd);
    }
    let reader = open(source, options)?;
    check_destination(reader.path(), destination, options.force)?;
    let places = selected(&*reader, options)?;
    if to == Format::LammpsData && places.len() > 1 {
        return Err(ConvertError::OneFrame { selected: places.len() });
    }
    let (first, last) = (places[0], places[places.len() - 1]);
    let frame = reader.read_tilted(first)?;
    let other = if last == first { frame.clone() } else { reader.read_tilted(last)? };
    let (uniform, frame) =
        Uniform::find(reader.path(), to, options.positions, [frame, other], [first, last])?;
    check_names(to, &uniform.species_names)?;
    let series = Series {
        species_names: uniform.species_names.clone(),
        types: Types::of(&uniform.species_names),
        unwrapped: options.positions == Positions::Unwrapped,
        counts_frames: reader.counts_frames(),
        tilted: to == Format::Hdf5 && reader.may_tilt()?,
        units: reader.units().map(str::to_owned),
        changes: uniform.changes,
        author: author().to_owned(),
    };
    let mut notes = notes(&*reader, to, &uniform, &series, &frame)?;
    let particles = frame.particle_count();

    let bar = ProgressBar::new(places.len() as u64);
    if options.quiet || places.len() < 2 {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let mut lost_images = usize::from(frame.lost_images);
    let mut file = FramesFile::create(destination, to, series, &frame)?;
    file.append(&frame)?;
    drop(frame);
    for &place in &places[1..] {
        bar.inc(1);
        let frame = uniform.brought(reader.read_tilted(place)?, place)?;
        lost_images += usize::from(frame.lost_images);
        file.append(&frame)?;
    }
    file.finish()?;
    bar.finish_and_clear();
    if lost_images > 0 {
        notes.push(format!(
            "positions of {lost_images} frames spread over more than the box, without images: they were wrapped, and how \
             often particles left the box is lost"
        ));
    }
    Ok(Converted {
        source: reader.path().to_owned(),
        frames: places.len(),
        particles,
        steps: [reader.steps()[first], reader.steps()[last]],
        notes,
    })
}

/// The source; for a results file without particles the trajectory beside it.
fn open(
    source: &Path,
    options: &ConvertOptions,
) -> Result<Box<dyn TrajectoryReader>, ConvertError> {
    let opened = |path: &Path| match options.from {
        Some(format) => supercool_analysis::open_as(path, format),
        None => supercool_analysis::open(path),
    };
    let reader = opened(source).or_else(|error| {
        let beside = source.with_extension("h5md");
        let of_results = matches!(error, AnalysisError::Content { .. })
            && source.extension().is_some_and(|extension| extension == "h5")
            && beside.exists();
        if of_results { opened(&beside) } else { Err(error) }
    })?;
    match (options.system, reader.systems()) {
        (Some(system), _) => Ok(supercool_analysis::open_system(reader.path(), system)?),
        (None, 1) => Ok(reader),
        (None, systems) => {
            Err(ConvertError::ManySystems { path: reader.path().to_owned(), systems })
        }
    }
}

fn check_destination(source: &Path, destination: &Path, force: bool) -> Result<(), ConvertError> {
    let path = destination.to_owned();
    let Ok(present) = destination.canonicalize() else { return Ok(()) };
    if source.canonicalize().is_ok_and(|source| source == present) {
        return Err(ConvertError::SameFile { path });
    }
    if present.is_dir() {
        return Err(ConvertError::Folder { path });
    }
    if force { Ok(()) } else { Err(ConvertError::Exists { path }) }
}

fn selected(
    reader: &dyn TrajectoryReader,
    options: &ConvertOptions,
) -> Result<Vec<usize>, ConvertError> {
    let path = || reader.path().to_owned();
    let steps = reader.steps();
    let mut places = options.frames.of(steps.len());
    if let Some(every) = options.every {
        if reader.counts_frames() {
            return Err(ConvertError::NoSteps { path: path() });
        }
        selection::at_multiples(&mut places, steps, every);
    }
    if places.is_empty() {
        let steps = match steps {
            [] => "no steps".to_owned(),
            [only] => format!("step {only}"),
            [first, .., last] => format!("steps {first} to {last}"),
        };
        return Err(ConvertError::NoFrames { path: path(), frames: reader.len(), steps });
    }
    Ok(places)
}

fn notes(
    reader: &dyn TrajectoryReader,
    to: Format,
    uniform: &Uniform,
    series: &Series,
    first: &Frame,
) -> Result<Vec<String>, ConvertError> {
    let mut notes = Vec::new();
    let mut left_out: Vec<String> = uniform.left_out.iter().map(|&name| name.to_owned()).collect();
    let is_lammps = matches!(to, Format::LammpsDump | Format::LammpsData);
    if let Some(units) = reader.units()
        && matches!(to, Format::Gsd | Format::Xyz)
    {
        left_out.push(format!("the name of the units, {units}"));
    }
    if to == Format::LammpsData
        && first.diameter.is_none()
        && first.mass.is_some()
        && masses_of_species(first).is_none()
    {
        left_out.push("masses, which differ within a species".to_owned());
    }
    if is_lammps && series.types.renamed {
        left_out.push(format!("names of species ({})", series.species_names.join(", ")));
    }
    left_out.extend(reader.passed_over()?);
    if !left_out.is_empty() {
        notes.push(format!("left out: {}", left_out.join(", ")));
    }
    if !uniform.in_some.is_empty() {
        notes
            .push(format!("left out, as not all frames have them: {}", uniform.in_some.join(", ")));
    }
    if reader.counts_frames() {
        notes.extend(steps_note(to));
    }
    if to == Format::Hdf5 && first.time.is_none() {
        notes.push("steps stand for times, which the source lacks".to_owned());
    }
    if to == Format::Gsd {
        notes.push("numbers are rounded to 32 bits".to_owned());
    }
    if to == Format::LammpsData && first.diameter.is_some() && first.mass.is_none() {
        notes.push("densities are 1, as the source has no masses".to_owned());
    }
    if !reader.keeps_order() && first.id.is_none() && reader.len() > 1 && to != Format::LammpsDump {
        notes.push(
            "no ids: a particle of one frame need not be that of the same place in another"
                .to_owned(),
        );
    }
    Ok(notes)
}
