//! Distances up to which particles are neighbors.
use std::ops::Range;

use super::checker::Checker;
use super::stage_checks::{StageChecks, below_half_the_box, rounded_down};
use crate::config::defaults;
use crate::config::document::{Number, Written};

/// What was typed, or the default; below half the shortest edge of the box.
pub fn radius(
    typed: Option<&Written<Number>>,
    span: &Range<usize>,
    key: &str,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<f64> {
    if let Some(typed) = typed {
        return below_half_the_box(typed, stage_checks.simulation_box, checker);
    }
    let (simulation_box, species) = (stage_checks.simulation_box?, stage_checks.species?);
    let count: usize = species.iter().map(|species| species.count).sum();
    let radius = defaults::neighbor_radius(simulation_box, count);
    let half = simulation_box.shortest_edge() / 2.0;
    if !(radius < half) {
        let help = format!(
            "the distance of the first minimum of g(r), below {}; {radius}, which is taken where none is \
             given, is too large for this box",
            rounded_down(half)
        );
        checker.missing(span, key, help);
        return None;
    }
    checker.filled_in(span, key, radius);
    Some(radius)
}
