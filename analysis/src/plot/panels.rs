//! From results to panels of curves.
use supercool_observables::{Axis, Figure, TimeSeries};

use super::aging::{FromOrigin, aging_panels, from_origins};
use super::axis::Scale;
use super::options::FigureOptions;
use super::quantity::Quantity;
use super::strain::strain_panel;
use crate::drift::{Drift, VISIBLE};
use crate::overview::{Overview, SeriesOverview};
use crate::results::{Curve, Function, Strain};

/// Points of one line; `error` holds NaN where there is none.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Index of the file.
    pub file: usize,
    /// Species or pair; empty for the whole system.
    pub part: String,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub error: Vec<f64>,
    pub mark: Mark,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A curve with a band, in the colour of its file or part.
    Curve,
    /// Points with error bars.
    Point,
    /// A thin dark curve over the data, named by its part; the number is that of its dashes.
    Fit(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub x_label: String,
    pub y_label: String,
    pub x_scale: Scale,
    pub y_scale: Scale,
    /// Values that the vertical axis shows in any case.
    pub y_include: Vec<f64>,
    /// Wave number or time of all curves.
    pub parameter: Option<f64>,
    /// Files whose lines contain motion of the centre of mass.
    pub moved: Vec<usize>,
    pub lines: Vec<Line>,
}

/// Most panels of wave numbers or times.
const MOST_PARAMETERS: usize = 4;
/// One panel for each quantity (and wave number) of which there are values.
pub(super) fn collect(
    files: &[&Overview],
    quantities: &[Quantity],
    options: &FigureOptions,
) -> Vec<Panel> {
    let mut series = Vec::new();
    let mut functions = Vec::new();
    let mut aging: Vec<FromOrigin> = Vec::new();
    for (index, file) in files.iter().enumerate() {
        series.extend(file.series.iter().map(|each| (index, each)));
        let all = file.dynamics.iter().chain(&file.structure);
        let all = all.filter(|_| !options.over_waiting_time);
        functions.extend(all.map(|each| (index, labelled(each, file))));
        aging.extend(file.aging.iter().flat_map(|each| from_origins(each, index, file, options)));
    }
    if options.over_waiting_time {
        series.clear();
    }
    // Shares of drift are known over the lag.
    let drifts: Vec<Option<&Drift>> = match options.over_waiting_time {
        true => vec![None; files.len()],
        false => files.iter().map(|file| file.drift.as_ref()).collect(),
    };
    let strains: Vec<(usize, &Strain)> = match options.over_waiting_time {
        true => Vec::new(),
        false => files
            .iter()
            .enumerate()
            .filter_map(|(k, file)| Some((k, file.strain.as_ref()?)))
            .collect(),
    };
    let mut panels = Vec::new();
    for &quantity in quantities {
        match quantity {
            Quantity::TimeSeries(of) => panels.extend(time_series_panel(of, &series, options)),
            Quantity::Strain(curve) => panels.extend(strain_panel(curve, &strains, options)),
            Quantity::Dynamics(_) | Quantity::Structure(_) => {
                panels.extend(function_panels(quantity, &functions, &drifts, options));
                panels.extend(aging_panels(quantity, &aging, &drifts, options));
            }
        }
    }
    panels.retain(|panel| !panel.lines.is_empty());
    panels
}

/// With the label of a class of diameters in the place of its group.
pub(super) fn labelled(function: &Function, file: &Overview) -> Function {
    let mut function = function.clone();
    if let Some(class) = file.classes.iter().find(|class| class.group == function.group) {
        function.group.clone_from(&class.label);
    }
    function
}

fn time_series_panel(
    of: TimeSeries,
    series: &[(usize, &SeriesOverview)],
    options: &FigureOptions,
) -> Option<Panel> {
    let Figure { label, scale, .. } = of.descriptor().figure?;
    let x_scale = options.x.scale.unwrap_or(Scale::Linear);
    let y_scale = options.y.scale.unwrap_or(scale);
    let named = series.iter().filter(|(_, each)| {
        each.name == of.group_name() && each.shape.is_empty() && each.samples > 1
    });
    let with_time = named.clone().all(|(_, each)| !each.points.time.is_empty());
    let lines = named
        .map(|(file, each)| {
            let points = &each.points;
            // Of what is conserved only the change tells anything.
            let origin = match of {
                TimeSeries::ConservedEnergy => each.first.unwrap_or(0.0),
                _ => 0.0,
            };
            let x = if with_time { &points.time } else { &points.step };
            let y: Vec<f64> = points.value.iter().map(|value| value - origin).collect();
            let shown = |&k: &usize| x_scale.shows(x[k]) && y_scale.shows(y[k]);
            let shown: Vec<usize> = (0..x.len()).filter(shown).collect();
            Line {
                file: *file,
                part: String::new(),
                x: shown.iter().map(|&k| x[k]).collect(),
                y: shown.iter().map(|&k| y[k]).collect(),
                error: shown.iter().map(|&k| points.deviation[k]).collect(),
                mark: Mark::Curve,
            }
        })
        .filter(|line| line.x.len() > 1)
        .collect();
    Some(Panel {
        x_label: if with_time { "t" } else { "step" }.into(),
        y_label: label.into(),
        x_scale,
        y_scale,
        y_include: of.descriptor().shown_values(),
        parameter: None,
        moved: Vec::new(),
        lines,
    })
}

/// Of functions with the index of their file, and what moves the centre of mass in each file.
pub(super) fn function_panels(
    quantity: Quantity,
    functions: &[(usize, Function)],
    drifts: &[Option<&Drift>],
    options: &FigureOptions,
) -> Vec<Panel> {
    let descriptor = quantity.descriptor();
    let Some(Figure { label, scale, largest_error, .. }) = descriptor.figure else {
        return Vec::new();
    };
    let abscissa = descriptor.abscissa();
    let x_scale = options.x.scale.unwrap_or(match abscissa {
        Axis::Time => Scale::Logarithmic,
        _ => Scale::Linear,
    });
    let y_scale = options.y.scale.unwrap_or(scale);
    // Of each curve.
    let parameter_axis = descriptor.axes.iter().find(|axis| **axis != abscissa);
    let named: Vec<&(usize, Function)> =
        functions.iter().filter(|(_, function)| function.name == quantity.name()).collect();
    let groups = parameter_groups(&named);
    let panel = |parameter: Option<f64>| {
        let lines = named.iter().flat_map(|(file, function)| {
            let fits = move |curve: &&Curve| match (curve.parameter(), parameter) {
                (Some(q), Some(wanted)) => same_parameter(q, wanted),
                (None, None) => true,
                _ => false,
            };
            let mut curve = function.curves.iter().find(fits)?.clone();
            if let Some(largest) = largest_error {
                let end = curve.last_within(largest).map_or(0, |last| last + 1);
                curve.value[end..].fill(f64::NAN);
            }
            function_line(*file, function, &curve, x_scale, y_scale)
        });
        let lines: Vec<Line> = lines.collect();
        Panel {
            x_label: match options.over_waiting_time {
                true => "t / t_w".into(),
                false => abscissa.symbol().into(),
            },
            y_label: match (parameter, parameter_axis) {
                (Some(t), Some(Axis::Time)) => format!("{label},  t = {t:.3}"),
                (Some(q), _) => format!("{label},  q = {q:.2}"),
                (None, _) => label.into(),
            },
            x_scale,
            y_scale,
            y_include: descriptor.shown_values(),
            parameter,
            moved: moved(quantity.name(), parameter, &lines, drifts),
            lines,
        }
    };
    groups.into_iter().map(panel).collect()
}

/// Files with visible motion of the centre of mass in their lines: from 1 % on, where the share is known.
fn moved(
    name: &str,
    wavenumber: Option<f64>,
    lines: &[Line],
    drifts: &[Option<&Drift>],
) -> Vec<usize> {
    let shows = |line: &&Line| {
        let Some(drift) = drifts[line.file].filter(|drift| drift.moves(name)) else { return false };
        let share = |(&t, &value): (&f64, &f64)| drift.share(name, wavenumber, t, value);
        let mut shares = line.x.iter().zip(&line.y).map(share);
        shares.any(|share| share.is_none_or(|share| share.is_finite() && share > VISIBLE))
    };
    let mut files: Vec<usize> = lines.iter().filter(shows).map(|line| line.file).collect();
    files.sort();
    files.dedup();
    files
}

/// Files of different boxes hold slightly different shells.
pub(super) fn same_parameter(a: f64, b: f64) -> bool {
    (a - b).abs() <= 0.03 * a.abs().max(b.abs())
}

fn parameter_groups(functions: &[&(usize, Function)]) -> Vec<Option<f64>> {
    let mut groups: Vec<Option<f64>> = Vec::new();
    for curve in functions.iter().flat_map(|(_, function)| &function.curves) {
        let known = groups.iter().any(|group| match (group, curve.parameter()) {
            (Some(a), Some(b)) => same_parameter(*a, b),
            (None, None) => true,
            _ => false,
        });
        if !known {
            groups.push(curve.parameter());
        }
    }
    groups.sort_by(|a, b| a.unwrap_or(0.0).total_cmp(&b.unwrap_or(0.0)));
    // Of very many, evenly chosen ones with the first and the last.
    if groups.len() > MOST_PARAMETERS {
        let last = groups.len() - 1;
        groups = (0..MOST_PARAMETERS).map(|k| groups[k * last / (MOST_PARAMETERS - 1)]).collect();
    }
    groups
}

/// What is no noise, in the order of x, up to the last point that has an error, if several have one.
fn function_line(
    file: usize,
    function: &Function,
    curve: &Curve,
    x_scale: Scale,
    y_scale: Scale,
) -> Option<Line> {
    let error = |k: usize| curve.error.get(k).copied().unwrap_or(f64::NAN);
    let largest = (0..curve.value.len())
        .filter(|&k| curve.value[k].is_finite())
        .filter(|&k| error(k).is_nan() || error(k) <= 0.3 * curve.value[k].abs())
        .map(|k| curve.value[k].abs())
        .fold(0.0, f64::max);
    let drawn = |&k: &usize| {
        let noise = error(k) > 0.5 * largest && largest > 0.0;
        x_scale.shows(function.x[k]) && y_scale.shows(curve.value[k]) && !noise
    };
    let mut points: Vec<usize> = (0..function.x.len()).filter(drawn).collect();
    points.sort_by(|&a, &b| function.x[a].total_cmp(&function.x[b]));
    // A lag of zero has an error of zero, whatever is known of the others.
    if points.iter().filter(|&&k| error(k) > 0.0).count() > 1 {
        let last = points.iter().rposition(|&k| error(k).is_finite());
        points.truncate(last.map_or(0, |last| last + 1));
    }
    (points.len() > 1).then(|| Line {
        file,
        part: function.group.clone(),
        x: points.iter().map(|&k| function.x[k]).collect(),
        y: points.iter().map(|&k| curve.value[k]).collect(),
        error: points.iter().map(|&k| error(k)).collect(),
        mark: Mark::Curve,
    })
}
