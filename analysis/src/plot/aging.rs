//! Functions from given time origins: panels with a line for each waiting time.
use std::cmp::Ordering;

use supercool_observables::Axis;

use super::options::FigureOptions;
use super::panels::{Panel, function_panels, labelled};
use super::quantity::Quantity;
use crate::drift::Drift;
use crate::numbers::short;
use crate::overview::Overview;
use crate::results::{Aging, Function};

/// Names of lines begin so, before the number.
const WAITING: &str = "t_w = ";

/// A function from a time origin, with the waiting time in the place of its group.
pub(super) struct FromOrigin {
    /// Species or pair.
    group: String,
    /// With the index of its file.
    function: (usize, Function),
}

/// From each time origin; over lags in units of the waiting time, if that is wanted: then without those at no waiting time.
pub(super) fn from_origins(
    of: &Aging,
    index: usize,
    file: &Overview,
    options: &FigureOptions,
) -> Vec<FromOrigin> {
    let over = options.over_waiting_time;
    let shown = |(function, waiting): &(&Function, &f64)| {
        !over || (function.argument == Axis::Time.name() && **waiting > 0.0)
    };
    let named = |(function, &waiting): (&Function, &f64)| {
        let mut function = labelled(function, file);
        if over {
            function.x.iter_mut().for_each(|lag| *lag /= waiting);
        }
        let group = std::mem::replace(&mut function.group, format!("{WAITING}{}", short(waiting)));
        FromOrigin { group, function: (index, function) }
    };
    of.functions.iter().zip(&of.waiting_time).filter(shown).map(named).collect()
}

/// Panels of each species, with a line for each waiting time.
pub(super) fn aging_panels(
    quantity: Quantity,
    aging: &[FromOrigin],
    drifts: &[Option<&Drift>],
    options: &FigureOptions,
) -> Vec<Panel> {
    let mut groups: Vec<&str> = Vec::new();
    for each in aging {
        if !groups.contains(&&*each.group) {
            groups.push(&each.group);
        }
    }
    let of_group = |group: &str| {
        let functions = aging.iter().filter(|each| each.group == group);
        let functions: Vec<_> = functions.map(|each| each.function.clone()).collect();
        let mut panels = function_panels(quantity, &functions, drifts, options);
        panels.iter_mut().for_each(|panel| panel.y_label += &format!(",  {group}"));
        panels
    };
    groups.into_iter().flat_map(of_group).collect()
}

/// Names of lines in the order of the legend: waiting times by their numbers.
pub(super) fn in_order(a: &str, b: &str) -> Ordering {
    let waiting = |part: &str| part.strip_prefix(WAITING)?.parse::<f64>().ok();
    match (waiting(a), waiting(b)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_times_are_in_the_order_of_their_numbers() {
        let mut parts = ["t_w = 100", "t_w = 20", "B", "t_w = 0.5", "A", "t_w = 3"];
        parts.sort_by(|a, b| in_order(a, b));
        assert_eq!(parts, ["A", "B", "t_w = 0.5", "t_w = 3", "t_w = 20", "t_w = 100"]);
        let mut parts = [1e5, 2.0, 1e-3].map(|time| format!("{WAITING}{}", short(time)));
        parts.sort_by(|a, b| in_order(a, b));
        assert_eq!(parts, [1e-3, 2.0, 1e5].map(|time| format!("{WAITING}{}", short(time))));
    }
}
