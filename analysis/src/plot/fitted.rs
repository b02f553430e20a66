//! The figure of an analysis: averages with the curves fitted to them, and D and tau over `1 / T`.
use supercool_observables::DynamicObservable as D;

use super::axis::Scale;
use super::options::FigureOptions;
use super::panels::{Line, Mark, Panel, function_panels, same_parameter};
use super::quantity::Quantity;
use crate::analyze::{Analysis, Average, OverTemperature};
use crate::results::{Curve, Function};

/// What is averaged and fitted, and the name of the fit in the legend.
const FITTED: [(D, &str); 3] = [
    (D::MeanSquareDisplacement, "2dDt + c"),
    (D::SelfIntermediateScatteringFunction, "KWW"),
    (D::ShearViscosity, "plateau"),
];
/// Points of a law over temperature.
const POINTS: u32 = 100;

/// One colour per state point.
pub(super) fn panels(analysis: &Analysis) -> Vec<Panel> {
    let mut functions = Vec::new();
    for (index, point) in analysis.state_points.iter().enumerate() {
        functions.extend(point.averages.iter().map(|average| (index, function(average))));
    }
    let drifts: Vec<_> = analysis.state_points.iter().map(|point| point.drift.as_ref()).collect();
    let mut panels = Vec::new();
    for (observable, name) in FITTED {
        let quantity = Quantity::Dynamics(observable);
        for mut panel in function_panels(quantity, &functions, &drifts, &FigureOptions::default()) {
            let drawn = |file: usize, part: &str| {
                panel.lines.iter().any(|line| line.file == file && line.part == part)
            };
            let mut fits = Vec::new();
            for (file, point) in analysis.state_points.iter().enumerate() {
                let of_panel = point.curves.iter().filter(|curve| {
                    let same = match (panel.parameter, curve.wavenumber) {
                        (Some(a), Some(b)) => same_parameter(a, b),
                        (a, b) => a.is_none() && b.is_none(),
                    };
                    same && curve.name == observable.group_name() && drawn(file, &curve.species)
                });
                fits.extend(of_panel.map(|curve| Line {
                    file,
                    part: name.into(),
                    x: curve.time.clone(),
                    y: curve.value.clone(),
                    error: vec![f64::NAN; curve.time.len()],
                    mark: Mark::Fit(2),
                }));
            }
            panel.lines.extend(fits);
            panels.push(panel);
        }
    }
    panels.extend(over_temperature(analysis));
    panels.retain(|panel| !panel.lines.is_empty());
    panels
}

fn function(average: &Average) -> Function {
    Function {
        group: average.species.clone(),
        name: average.name.clone(),
        argument: "time".into(),
        x: average.time.clone(),
        curves: average
            .curves
            .iter()
            .map(|curve| Curve {
                wavenumber: curve.wavenumber,
                value: curve.mean.clone(),
                error: curve.error.clone(),
                ..Curve::default()
            })
            .collect(),
    }
}

/// Arrhenius plots: logarithms over `1 / T`, one for D and one for tau of each wave number.
fn over_temperature(analysis: &Analysis) -> Vec<Panel> {
    let several = analysis.series.iter().filter(|series| series.points.len() > 1);
    let mut panels: Vec<Panel> = Vec::new();
    for series in several {
        let y_label = match series.wavenumber {
            Some(q) => format!("τ,  q = {q:.2}"),
            None => series.quantity.clone(),
        };
        let lines = points(analysis, series).into_iter().chain(laws(series));
        match panels.iter_mut().find(|panel| panel.y_label == y_label) {
            Some(panel) => panel.lines.extend(lines),
            None => panels.push(Panel {
                x_label: "1 / T".into(),
                y_label,
                x_scale: Scale::Linear,
                y_scale: Scale::Logarithmic,
                y_include: Vec::new(),
                parameter: None,
                moved: Vec::new(),
                lines: lines.collect(),
            }),
        }
    }
    panels
}

fn points(analysis: &Analysis, series: &OverTemperature) -> Vec<Line> {
    let file_of = |temperature: f64| {
        let same = |t: Option<crate::fit::Estimate>| t.is_some_and(|t| t.value == temperature);
        analysis.state_points.iter().position(|point| same(point.temperature)).unwrap_or(0)
    };
    let line = |point: &crate::fit::AtTemperature| Line {
        file: file_of(point.temperature.value),
        part: series.species.clone(),
        x: vec![point.temperature.value.recip()],
        y: vec![point.quantity.value],
        error: vec![point.quantity.error],
        mark: Mark::Point,
    };
    series.points.iter().map(line).collect()
}

fn laws(series: &OverTemperature) -> Vec<Line> {
    let inverse = series.points.iter().map(|point| point.temperature.value.recip());
    let (from, to) =
        inverse.fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(x), high.max(x)));
    let line = |part: &str, dashes: usize, at: &dyn Fn(f64) -> f64| {
        let last = f64::from(POINTS - 1);
        let x: Vec<f64> = (0..POINTS).map(|k| from + (to - from) * f64::from(k) / last).collect();
        Line {
            file: 0,
            part: part.into(),
            y: x.iter().map(|x| at(x.recip())).collect(),
            error: vec![f64::NAN; x.len()],
            x,
            mark: Mark::Fit(dashes),
        }
    };
    let mut lines = Vec::new();
    if let Some(vft) = series.vft {
        lines.push(line("VFT", 0, &|t| vft.at(t)));
    }
    if let Some(law) = series.mode_coupling {
        let is_time = series.quantity == "tau";
        let at = |t: f64| if is_time { law.at(t).recip() } else { law.at(t) };
        lines.push(line("mode coupling", 1, &at));
    }
    lines
}
