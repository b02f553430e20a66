//! `supercool export`: propensities in a format that other programs read.
use std::path::PathBuf;

use miette::{IntoDiagnostic, miette};
use supercool_analysis::export::{Chosen, export_data_set, export_propensities};

use super::output::refuse_overwriting;

#[derive(Clone, Debug, clap::Args)]
pub struct ExportArguments {
    /// A results file with propensities, also of a stage that is running; or the trajectory beside it.
    file: PathBuf,
    /// What to write.
    #[arg(short, long, value_enum, default_value_t = Format::Xyz)]
    format: Format,
    /// Time of the propensities, within half a step. If not given the last one; in npz all.
    #[arg(short, long)]
    time: Option<f64>,
    /// In npz, instead: the first times, in each configuration by itself, at which the self-intermediate scattering function of
    /// the first species is no more than these values, such as 0.9,0.5,0.1.
    #[arg(long, value_name = "VALUES", value_delimiter = ',', conflicts_with = "time")]
    scattering: Vec<f64>,
    /// The extended XYZ file, or the folder for npz; NAME.propensity.xyz or NAME.npz for NAME.h5 if not given.
    #[arg(short, long)]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
enum Format {
    /// Extended XYZ: a frame for each configuration, with a column for each observable.
    Xyz,
    /// A folder with a file of NumPy arrays for each configuration and time, as data sets for learning have them: types, initial
    /// positions, propensities, and positions of all runs where the trajectory has frames at these times.
    Npz,
}

/// Writes the files; what there is to say.
pub fn export(arguments: &ExportArguments) -> miette::Result<String> {
    let ExportArguments { file, format, time, scattering, output } = arguments;
    if let Some(time) = time
        && !(*time > 0.0 && time.is_finite())
    {
        return Err(miette!("--time {time}: must be a positive number"));
    }
    if let Some(value) = scattering.iter().find(|&&value| !(value > 0.0 && value < 1.0)) {
        return Err(miette!("--scattering {value}: must be between 0 and 1"));
    }
    let file = match file.extension().is_some_and(|extension| extension == "h5md") {
        true => &file.with_extension("h5"),
        false => file,
    };
    let named = |extension: &str| output.clone().unwrap_or_else(|| file.with_extension(extension));
    match format {
        Format::Xyz if !scattering.is_empty() => {
            Err(miette!(help = "add --format npz", "--scattering is one of npz"))
        }
        Format::Xyz => {
            let output = named("propensity.xyz");
            refuse_overwriting(&output, std::slice::from_ref(file))?;
            export_propensities(file, *time, &output).into_diagnostic()?;
            Ok(format!("{}\n", output.display()))
        }
        Format::Npz => {
            let folder = named("npz");
            let chosen = match time {
                Some(time) => Chosen::Time(*time),
                None if scattering.is_empty() => Chosen::All,
                None => Chosen::Scattering(scattering.clone()),
            };
            let written = export_data_set(file, &chosen, &folder).into_diagnostic()?;
            let mut text = format!("{}: {} files\n", folder.display(), written.files);
            if let Some(why) = written.lacks_positions {
                text += &format!(
                    "without the positions of the runs: {why}; [stage.propensity] trajectory = true writes all that are needed\n"
                );
            }
            Ok(text)
        }
    }
}
