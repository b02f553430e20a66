//! Figures of what results files hold.
//!
//! `results files -> curves -> panels -> SVG -> (PNG)`. With one file, colours tell species apart; with
//! several, colours tell files and dashes species. Shaded bands are one standard error.
mod axis;
mod drawing;
mod fitted;
mod panels;
mod png;
mod text;

use std::path::{Path, PathBuf};

use supercool_observables::{Descriptor, DynamicObservable, StructureFunction, TimeSeries};
pub use text::{Axes, text_plot};

use crate::analyze::Analysis;
use crate::numbers::short;
use crate::overview::Overview;
use crate::results::ResultsFile;
use crate::{AnalysisError, Result};

/// What can be plotted: what has a figure in the tables of [`supercool_observables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A scalar over time.
    TimeSeries(TimeSeries),
    /// A time correlation.
    Dynamics(DynamicObservable),
    /// An average over configurations.
    Structure(StructureFunction),
}

impl Quantity {
    /// All, in the order of the panels.
    pub fn all() -> Vec<Quantity> {
        let time_series = TimeSeries::ALL.into_iter().map(Quantity::TimeSeries);
        let dynamics = DynamicObservable::ALL.into_iter().map(Quantity::Dynamics);
        let structure = StructureFunction::ALL.into_iter().map(Quantity::Structure);
        let all = time_series.chain(dynamics).chain(structure);
        all.filter(|quantity| quantity.descriptor().figure.is_some()).collect()
    }

    /// What is known of it.
    pub fn descriptor(self) -> &'static Descriptor {
        match self {
            Quantity::TimeSeries(series) => series.descriptor(),
            Quantity::Dynamics(observable) => observable.descriptor(),
            Quantity::Structure(function) => function.descriptor(),
        }
    }

    /// Name of the group in a results file, and the word of the command line (there with `-` for `_`).
    pub fn name(self) -> &'static str {
        self.descriptor().name
    }
}

impl std::str::FromStr for Quantity {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wanted = text.trim().replace('-', "_").to_lowercase();
        let all = Quantity::all();
        all.iter().copied().find(|quantity| quantity.name() == wanted).ok_or_else(|| {
            let names: Vec<String> =
                all.iter().map(|quantity| quantity.name().replace('_', "-")).collect();
            match meant(&wanted, &all) {
                Some(name) => format!("unknown quantity `{text}`; did you mean `{name}`?"),
                None => format!("unknown quantity `{text}`; there are {}", names.join(", ")),
            }
        })
    }
}

/// Short names that are in use.
const SHORT: [(&str, &str); 8] = [
    ("alpha_2", "non_gaussian_parameter"),
    ("alpha2", "non_gaussian_parameter"),
    ("chi_4", "self_overlap_susceptibility"),
    ("chi4", "self_overlap_susceptibility"),
    ("rdf", "pair_distribution"),
    ("gr", "pair_distribution"),
    ("sq", "structure_factor"),
    ("fs", "self_intermediate_scattering_function"),
];

/// The quantity that an unknown word may stand for: by a short name, its initials, or its spelling.
fn meant(typed: &str, all: &[Quantity]) -> Option<String> {
    let initials =
        |name: &str| -> String { name.split('_').filter_map(|word| word.chars().next()).collect() };
    let names = || all.iter().map(|quantity| quantity.name());
    let short = SHORT.iter().find(|(short, _)| *short == typed).map(|&(_, name)| name);
    let short = short.and_then(|wanted| names().find(|&name| name == wanted));
    let by_initials = || names().find(|name| typed.len() > 1 && initials(name) == typed);
    let by_spelling = || {
        let distance = |name: &&str| strsim::damerau_levenshtein(typed, name);
        let is_near = |name: &&str| typed.len() <= 64 && distance(name) <= 1 + name.len() / 4;
        names().filter(is_near).min_by_key(distance)
    };
    let name = short.or_else(by_initials).or_else(by_spelling)?;
    Some(name.replace('_', "-"))
}

/// Draws what the files hold of `quantities` (all, if empty) into an SVG or PNG file, by the ending of
/// `output`. An existing file is replaced.
///
/// # Errors
/// If a file cannot be read, nothing of the quantities is there, or the figure cannot be written.
pub fn plot(files: &[PathBuf], output: &Path, quantities: &[Quantity]) -> Result<()> {
    let is_png = is_png(output)?;
    write(&svg_of(files, quantities)?, output, is_png)
}

/// Draws the averages of every state point with the curves that were fitted to them (mean-square
/// displacement, F_s, viscosity), and D and tau over `1 / T` with their VFT and mode-coupling fits. An
/// existing file is replaced.
///
/// # Errors
/// If the figure cannot be written.
pub fn plot_analysis(analysis: &Analysis, output: &Path) -> Result<()> {
    let is_png = is_png(output)?;
    let panels = fitted::panels(analysis);
    if panels.is_empty() {
        return Err(AnalysisError::content(
            output,
            "nothing to plot: no values in the files given",
        ));
    }
    let files: Vec<PathBuf> =
        analysis.state_points.iter().map(|point| point.files[0].clone()).collect();
    let labels: Vec<String> = analysis
        .state_points
        .iter()
        .zip(file_labels(&files))
        .map(|(point, file)| match point.temperature {
            Some(temperature) => format!("T = {}", short(temperature.value)),
            None => file,
        })
        .collect();
    write(&drawing::figure(&panels, &labels), output, is_png)
}

fn is_png(output: &Path) -> Result<bool> {
    let ending = output.extension().and_then(|ending| ending.to_str()).unwrap_or("").to_lowercase();
    if ending != "svg" && ending != "png" {
        return Err(AnalysisError::content(
            output,
            "the name of a figure must end in .svg or .png",
        ));
    }
    Ok(ending == "png")
}

fn write(svg: &str, output: &Path, is_png: bool) -> Result<()> {
    let bytes = if is_png {
        png::render(svg).map_err(|what| AnalysisError::content(output, what))?
    } else {
        svg.as_bytes().to_vec()
    };
    std::fs::write(output, bytes).map_err(AnalysisError::io(output))
}

fn svg_of(files: &[PathBuf], quantities: &[Quantity]) -> Result<String> {
    if files.is_empty() {
        return Err(AnalysisError::Request("no files to plot".into()));
    }
    let mut overviews = Vec::new();
    let mut labels = Vec::new();
    for (path, name) in files.iter().zip(file_labels(files)) {
        for file in ResultsFile::open_averages(path)? {
            overviews.push(Overview::of(&file)?);
            labels.push(match (file.label(), files.len()) {
                (None, _) => name.clone(),
                (Some(label), 1) => label,
                (Some(label), _) => format!("{name}, {label}"),
            });
        }
    }
    let all = Quantity::all();
    let wanted = if quantities.is_empty() { &all[..] } else { quantities };
    let panels = panels::collect(&overviews, wanted);
    if panels.is_empty() {
        let names: Vec<&str> = wanted.iter().map(|quantity| quantity.name()).collect();
        return Err(AnalysisError::content(
            &files[0],
            format!("nothing to plot: no values of {} in the files given", names.join(", ")),
        ));
    }
    Ok(drawing::figure(&panels, &labels))
}

/// The figure of one file, or of the averages at several temperatures that it holds, as SVG; `None` if it holds nothing of the
/// quantities.
pub(crate) fn svg_of_file(
    averages: &[Overview],
    labels: &[String],
    quantities: &[Quantity],
) -> Option<String> {
    let panels = panels::collect(averages, quantities);
    (!panels.is_empty()).then(|| drawing::figure(&panels, labels))
}

/// Shortest names that tell the files apart: stems, with as many parent folders as needed.
fn file_labels(files: &[PathBuf]) -> Vec<String> {
    let label = |file: &Path, depth: usize| {
        let without_ending = file.with_extension("");
        let parts: Vec<String> = without_ending
            .components()
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect();
        parts[parts.len().saturating_sub(depth)..].join("/")
    };
    let depths = 1..=4;
    depths
        .map(|depth| files.iter().map(|file| label(file, depth)).collect::<Vec<_>>())
        .find(|labels| {
            let mut sorted = labels.clone();
            sorted.sort();
            sorted.dedup();
            sorted.len() == labels.len()
        })
        .unwrap_or_else(|| files.iter().map(|file| label(file, 4)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_mistyped_names_are_understood() {
        let says = |typed: &str| typed.parse::<Quantity>().unwrap_err();
        for (typed, name) in [
            ("msd", "mean-square-displacement"),
            ("MSD", "mean-square-displacement"),
            ("alpha-2", "non-gaussian-parameter"),
            ("presure", "pressure"),
            ("mean-squared-displacement", "mean-square-displacement"),
        ] {
            assert!(says(typed).ends_with(&format!("did you mean `{name}`?")), "{}", says(typed));
        }
        assert!(says("colour").contains("there are"), "{}", says("colour"));
        assert!("mean_square_displacement".parse::<Quantity>().is_ok());
    }

    #[test]
    fn labels_are_as_short_as_they_can_be() {
        let labels =
            |files: &[&str]| file_labels(&files.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(labels(&["a/T0.8.h5", "b/T0.6.h5"]), ["T0.8", "T0.6"]);
        assert_eq!(
            labels(&["a/production.h5", "b/production.h5"]),
            ["a/production", "b/production"]
        );
    }

    #[test]
    fn quantities_are_found_by_name_and_the_message_lists_them() {
        for quantity in Quantity::all() {
            assert_eq!(quantity.name().replace('_', "-").parse(), Ok(quantity));
        }
        assert!("msd".parse::<Quantity>().unwrap_err().contains("mean-square-displacement"));
    }

    #[test]
    fn a_figure_is_svg_or_png() {
        let error = plot(&["x.h5".into()], Path::new("figure.pdf"), &[]).unwrap_err();
        assert!(error.to_string().contains(".svg or .png"));
    }
}
