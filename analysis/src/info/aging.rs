//! Functions from given time origins, as text.
use std::fmt::Write;

use super::estimate;
use crate::fit::time_of_decay;
use crate::numbers::short;
use crate::results::{Aging, Function};

/// The decay to it is the relaxation time.
const LEVEL: f64 = 1.0 / std::f64::consts::E;

/// What there is, and at which waiting times.
pub(super) fn text(all: &[Aging]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nTime correlations from given time origins\n");
    let functions = || all.iter().filter_map(|each| each.functions.first());
    let name_width = functions().map(|function| function.name.len()).max().unwrap_or(0);
    let group_width = functions().map(|function| function.group.len()).max().unwrap_or(0);
    for Aging { waiting_time, functions } in all {
        let Some(Function { group, name, x, curves, .. }) = functions.first() else { continue };
        let _ = write!(text, "  {group:<group_width$} {name:<name_width$} {:>4} points", x.len());
        let wavenumbers: Vec<String> =
            curves.iter().filter_map(|curve| curve.wavenumber).map(short).collect();
        if !wavenumbers.is_empty() {
            let _ = write!(text, "; wavenumber {}", wavenumbers.join(", "));
        }
        let waiting: Vec<String> = waiting_time.iter().copied().map(short).collect();
        let _ = writeln!(text, "; waiting time {}", waiting.join(", "));
    }
    text
}

/// Where F_s has fallen to 1/e, for each waiting time.
pub(super) fn relaxation_times(all: &[Aging]) -> String {
    let mut text = String::new();
    for Aging { waiting_time, functions } in all {
        for (function, &waiting) in functions.iter().zip(waiting_time) {
            if function.name != "self_intermediate_scattering_function" {
                continue;
            }
            for curve in &function.curves {
                let found = time_of_decay(&function.x, &curve.value, &curve.error, LEVEL);
                let Some(found) = found else { continue };
                let q = curve.wavenumber.map(|q| format!("q = {}, ", short(q))).unwrap_or_default();
                let known = if found.time.error > 0.0 { "" } else { "no error; " };
                let _ = writeln!(
                    text,
                    "  tau_{}({q}t_w = {}) = {} ({known}t = {} to {})",
                    function.group,
                    short(waiting),
                    estimate(found.time),
                    short(found.from),
                    short(found.to)
                );
            }
        }
    }
    match text.is_empty() {
        true => text,
        false => format!("\nRelaxation from given time origins, F_s = 1/e\n{text}"),
    }
}
