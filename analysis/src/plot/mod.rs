//! Figures of what results files hold.
//!
//! `results files -> curves -> panels -> SVG -> (PNG, PDF)`. With one file, colours tell species apart; with
//! several, colours tell files and dashes species. Shaded bands are one standard error.
mod aging;
mod axis;
mod canvas;
mod colours;
mod drawing;
mod fitted;
mod formats;
mod frame;
mod header;
mod legend;
mod names;
mod options;
mod panels;
mod particles;
mod pdf;
mod quantity;
mod strain;
mod text;

use std::path::{Path, PathBuf};

pub use self::options::{AxisOptions, FigureOptions, Range, Size, scale_of};
pub(crate) use self::particles::particles;
pub use self::quantity::Quantity;
pub use self::text::{Axes, text_plot};

use self::colours::Sets;
use self::formats::Format;
use self::names::{Overlaid, different_temperatures, file_labels};
use crate::analyze::Analysis;
use crate::numbers::short;
use crate::overview::Overview;
use crate::results::ResultsFile;
use crate::{AnalysisError, Result};

/// Draws what the files hold of `quantities` (all, if empty) into an SVG, PDF or PNG file, by the ending of
/// `output`. An existing file is replaced.
///
/// # Errors
/// If a file cannot be read, nothing of the quantities is there, the choices do not suit it, or the figure cannot be written.
pub fn plot(
    files: &[PathBuf],
    output: &Path,
    quantities: &[Quantity],
    options: &FigureOptions,
) -> Result<()> {
    let format = Format::of(output)?;
    let svg = svg_of(files, quantities, options)?;
    let svg = svg.map_err(|what| AnalysisError::content(output, what))?;
    format.write(&svg, output)
}

/// Draws the averages of every state point with the curves that were fitted to them (mean-square
/// displacement, F_s, viscosity), and D and tau over `1 / T` with their VFT and mode-coupling fits. An
/// existing file is replaced.
///
/// # Errors
/// If the figure cannot be written.
pub fn plot_analysis(analysis: &Analysis, output: &Path) -> Result<()> {
    let format = Format::of(output)?;
    let svg = svg_of_analysis(analysis).ok_or_else(|| {
        AnalysisError::content(output, "nothing to plot: no values in the files given")
    })?;
    format.write(&svg, output)
}

/// The figure of [`plot_analysis`]; `None` if there are no values.
pub(crate) fn svg_of_analysis(analysis: &Analysis) -> Option<String> {
    let panels = fitted::panels(analysis);
    if panels.is_empty() {
        return None;
    }
    let points = &analysis.state_points;
    let temperatures: Option<Vec<f64>> =
        points.iter().map(|point| point.temperature.map(|of| of.value)).collect();
    let by_name = || {
        let files: Vec<PathBuf> = points.iter().map(|point| point.files[0].clone()).collect();
        let label = |(point, file): (&crate::analyze::StatePoint, String)| match point.temperature {
            Some(temperature) => format!("T = {}", short(temperature.value)),
            None => file,
        };
        Sets::named(points.iter().zip(file_labels(&files)).map(label).collect())
    };
    let sets = temperatures.and_then(different_temperatures).unwrap_or_else(by_name);
    drawing::figure(&panels, &sets, &FigureOptions::default()).ok()
}

/// The figure, or why it cannot be drawn as was chosen.
pub(crate) fn svg_of(
    files: &[PathBuf],
    quantities: &[Quantity],
    options: &FigureOptions,
) -> Result<std::result::Result<String, String>> {
    if files.is_empty() {
        return Err(AnalysisError::Request("no files to plot".into()));
    }
    let mut overlaid = Vec::new();
    for (path, name) in files.iter().zip(file_labels(files)) {
        for file in ResultsFile::open_averages(path)? {
            let name = match (file.label(), files.len()) {
                (None, _) => name.clone(),
                (Some(label), 1) => label,
                (Some(label), _) => format!("{name}, {label}"),
            };
            overlaid.push(Overlaid { overview: Overview::of(&file)?, file, name });
        }
    }
    let all = Quantity::all();
    let wanted = if quantities.is_empty() { &all[..] } else { quantities };
    let overviews: Vec<&Overview> = overlaid.iter().map(|each| &each.overview).collect();
    let panels = panels::collect(&overviews, wanted, options);
    if panels.is_empty() {
        let names: Vec<&str> = wanted.iter().map(|quantity| quantity.name()).collect();
        let what = format!("nothing to plot: no values of {} in the files given", names.join(", "));
        return Err(AnalysisError::content(&files[0], what + options.hidden()));
    }
    let sets = names::sets(&overlaid, options.by.as_deref())?;
    Ok(drawing::figure(&panels, &sets, options))
}

/// The figure of one file, or of the averages at several temperatures that it holds, as SVG; `None` if it holds nothing of the
/// quantities.
pub(crate) fn svg_of_file(
    averages: &[Overview],
    labels: &[String],
    quantities: &[Quantity],
) -> Option<String> {
    let averages: Vec<&Overview> = averages.iter().collect();
    let panels = panels::collect(&averages, quantities, &FigureOptions::default());
    if panels.is_empty() {
        return None;
    }
    let sets = Sets::named(labels.to_vec());
    drawing::figure(&panels, &sets, &FigureOptions::default()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_svg_pdf_or_png() {
        let options = FigureOptions::default();
        let error = plot(&["x.h5".into()], Path::new("figure.eps"), &[], &options).unwrap_err();
        assert!(error.to_string().contains(".svg, .pdf or .png"));
    }
}
