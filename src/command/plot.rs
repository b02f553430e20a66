//! `supercool plot`: figures of results files.
use std::ffi::OsString;
use std::iter;
use std::path::PathBuf;

use clap::Parser;
use miette::IntoDiagnostic;
use supercool_analysis::directories::with_directories;
use supercool_analysis::observables::Scale;
use supercool_analysis::plot::{AxisOptions, Range, Size, scale_of};
use supercool_analysis::{FigureOptions, Quantity};

use super::output::refuse_overwriting;

#[derive(Clone, Debug, clap::Parser)]
pub struct PlotArguments {
    /// Results files; of the directory of a run or a sweep, all *.h5.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The figure, .svg, .pdf or .png.
    #[arg(short, long, default_value = "plot.svg")]
    output: PathBuf,
    /// What to draw, for example mean-square-displacement; all that is there if not given.
    #[arg(short, long, value_delimiter = ',')]
    quantities: Vec<Quantity>,
    /// Name curves by a key of the configuration, such as system.density or stage.NAME.steps, or by temperature. Numbers give colours
    /// in their order and a colour bar. Without it: temperature, if three files or more have different ones, else names of files.
    #[arg(long, value_name = "KEY")]
    by: Option<String>,
    /// Markers at the points.
    #[arg(long)]
    markers: bool,
    /// Draw functions from given time origins only, over t/tw: the lag in units of the waiting time.
    #[arg(long, value_name = "t/tw", value_parser = ["t/tw"])]
    over: Option<String>,
    /// Scale of the horizontal axes: linear or log.
    #[arg(long, value_name = "SCALE", value_parser = scale_of)]
    x_scale: Option<Scale>,
    /// Scale of the vertical axes: linear or log.
    #[arg(long, value_name = "SCALE", value_parser = scale_of)]
    y_scale: Option<Scale>,
    /// Ends of the horizontal axes, such as 0.1:1e4.
    #[arg(long, value_name = "LOW:HIGH", allow_hyphen_values = true)]
    x_range: Option<Range>,
    /// Ends of the vertical axes.
    #[arg(long, value_name = "LOW:HIGH", allow_hyphen_values = true)]
    y_range: Option<Range>,
    /// Width and height of the whole figure in centimetres, such as 8.6x6.5: letters keep their size, 9 points.
    #[arg(long, value_name = "WIDTHxHEIGHT")]
    size: Option<Size>,
}

impl PlotArguments {
    /// Of the words behind `supercool plot`.
    ///
    /// # Errors
    /// If they are wrong.
    pub fn of_words(words: &[OsString]) -> Result<Self, String> {
        let words = iter::once(OsString::from("plot")).chain(words.iter().cloned());
        Self::try_parse_from(words).map_err(|error| error.to_string())
    }
}

/// Draws the figure; its name.
pub fn plot(arguments: &PlotArguments) -> miette::Result<String> {
    let PlotArguments { output, quantities, by, markers, size, .. } = arguments;
    let files = with_directories(&arguments.files).into_diagnostic()?;
    refuse_overwriting(output, &files)?;
    let options = FigureOptions {
        by: by.clone(),
        markers: *markers,
        over_waiting_time: arguments.over.is_some(),
        x: AxisOptions { scale: arguments.x_scale, range: arguments.x_range },
        y: AxisOptions { scale: arguments.y_scale, range: arguments.y_range },
        size: *size,
    };
    supercool_analysis::plot(&files, output, quantities, &options).into_diagnostic()?;
    Ok(format!("{}\n", output.display()))
}
