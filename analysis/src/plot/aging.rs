//! Functions from given time origins: panels with a line for each waiting time.
use supercool_observables::Axis;

use super::options::FigureOptions;
use super::panels::{Panel, function_panels, labelled};
use super::quantity::Quantity;
use crate::drift::Drift;
use crate::numbers::short;
use crate::overview::Overview;
use crate::results::{Aging, Function};

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
        let group = std::mem::replace(&mut function.group, format!("t_w = {}", short(waiting)));
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
