//! `supercool convert`.
use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use supercool_analysis::trajectory::Format;

use crate::convert::{ConvertOptions, Positions, Selection, convert as convert_file, format};

/// What each format holds, for `--help`.
const FORMATS: &str = "\
Positions are written within the box, with images beside them if the source has any: image in H5MD and GSD, a column \
image:I:3 in extended XYZ, ix iy iz in LAMMPS dumps, image flags in LAMMPS data files. With --unwrapped there are no images; \
columns of a LAMMPS dump are xu yu zu then, and GSD is refused, as its positions are within the box.

H5MD, extended XYZ and LAMMPS files keep all digits of numbers, GSD 32 bits. GSD and LAMMPS files hold no times, GSD no ids. \
A LAMMPS data file holds one frame, with masses of types, or with those of particles (style sphere) where they have diameters. \
Names of species are labels of the types 1, 2, ... of LAMMPS; names that are numbers from 1 stay these types. What the \
destination cannot hold is printed as left out.";

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = FORMATS)]
pub struct ConvertArguments {
    /// H5MD, GSD, extended XYZ, LAMMPS dump or data file; a results file stands for the trajectory beside it.
    source: PathBuf,
    /// The file to write: its name ends in .h5md, .gsd, .xyz, .lammpstrj (or .dump), or .data.
    destination: PathBuf,
    /// Format of the source; what its first bytes say, if not given.
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    from: Option<Format>,
    /// Format of the destination; what its name says, if not given.
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    to: Option<Format>,
    /// Positions within the box, without images.
    #[arg(long, conflicts_with = "unwrapped")]
    wrapped: bool,
    /// Positions as if there were no periodic boundary, without images; of a source with images.
    #[arg(long)]
    unwrapped: bool,
    /// Frames FIRST:END:STRIDE as slices of Python, counted from 0, from the end if negative; or one of them, such as -1.
    #[arg(long, value_name = "SELECTION", allow_hyphen_values = true, default_value = ":")]
    frames: Selection,
    /// Of these only frames at multiples of this number of steps, counted from the first frame of the file.
    #[arg(long, value_name = "STEPS")]
    every: Option<NonZeroU64>,
    /// Which one of a trajectory of many systems, counted from 0.
    #[arg(long, value_name = "NUMBER")]
    system: Option<usize>,
    /// Replace an existing file.
    #[arg(long)]
    force: bool,
    /// No progress bar.
    #[arg(long)]
    quiet: bool,
}

fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(format::words())
        .map(|word| format::named(&word).expect("one of these words"))
}

/// Writes the file; what there is to say.
pub fn convert(arguments: &ConvertArguments) -> miette::Result<String> {
    let options = ConvertOptions {
        from: arguments.from,
        to: arguments.to,
        positions: match (arguments.wrapped, arguments.unwrapped) {
            (true, _) => Positions::Wrapped,
            (_, true) => Positions::Unwrapped,
            _ => Positions::Both,
        },
        frames: arguments.frames,
        every: arguments.every,
        system: arguments.system,
        force: arguments.force,
        quiet: arguments.quiet,
    };
    let done = convert_file(&arguments.source, &arguments.destination, &options)?;
    let [first, last] = done.steps;
    let frames = match done.frames {
        1 => format!("1 frame of {} particles, step {first}", done.particles),
        frames => {
            format!("{frames} frames of {} particles, steps {first} to {last}", done.particles)
        }
    };
    let notes: String = done.notes.iter().map(|note| format!("  {note}\n")).collect();
    Ok(format!("{frames}\n{notes}{}\n", arguments.destination.display()))
}
