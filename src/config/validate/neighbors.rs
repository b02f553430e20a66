//! Distances up to which particles are neighbors.
use std::ops::Range;

use super::checker::Checker;
use super::stage_checks::{StageChecks, below_half_the_box, rounded_down};
use super::unneeded::add;
use crate::config::defaults;
use crate::config::document::{Correlation, Number, Table, Written};
use crate::observable::dynamics::source::Need;
use crate::plan::BondPlan;

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

/// Where bonds are broken, for bond breaking and only for it.
pub fn bonds(
    document: &Table<Correlation>,
    wanted: bool,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Option<BondPlan>> {
    let (typed, breaking) = (document.bond_radius.as_ref(), document.bond_breaking_radius.as_ref());
    if !wanted {
        let Some(unused) = typed.or(breaking) else { return Some(None) };
        let message = "this correlation has no bond breaking";
        checker.reject(&unused.span, message, add(Need::Bonds, "leave it out"));
        return None;
    }
    bond_plan(typed, breaking, &document.span, stage_checks, checker).map(Some)
}

/// What was typed in the table at `span`, or the defaults.
pub fn bond_plan(
    typed: Option<&Written<Number>>,
    breaking: Option<&Written<Number>>,
    span: &Range<usize>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<BondPlan> {
    let radius = radius(typed, span, "bond_radius", stage_checks, checker)?;
    let simulation_box = stage_checks.simulation_box?;
    let Some(breaking) = breaking else {
        let breaking_radius = defaults::bond_breaking_radius(radius);
        let half = simulation_box.shortest_edge() / 2.0;
        if !(breaking_radius < half) {
            let help = format!(
                "a distance from bond_radius, {radius}, to below {}; {breaking_radius}, which is taken where none is \
                 given, is too large for this box",
                rounded_down(half)
            );
            checker.missing(span, "bond_breaking_radius", help);
            return None;
        }
        checker.filled_in(span, "bond_breaking_radius", breaking_radius);
        return Some(BondPlan { radius, breaking_radius });
    };
    let breaking_radius = below_half_the_box(breaking, Some(simulation_box), checker)?;
    if breaking_radius < radius {
        let message = format!("{breaking_radius:?} is less than bond_radius, {radius:?}");
        let help = "no less than bond_radius";
        checker.reject(&breaking.span, message, help);
        return None;
    }
    Some(BondPlan { radius, breaking_radius })
}
