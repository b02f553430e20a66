//! `observe.structure`, `observe.bond_order` and `observe.local_order`.
use std::collections::HashMap;

use super::checker::Checker;
use super::stage_checks::{StageChecks, interval, rounded_down};
use super::{correlation, diameter_classes, neighbors};
use crate::config::defaults;
use crate::config::document::{BondOrder, LocalOrder, Structure, Table};
use crate::plan::{BondOrderPlan, LocalOrderPlan, StructurePlan};

pub fn structure(
    document: &Table<Structure>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<StructurePlan> {
    check_pair_names(document, stage_checks, checker);
    let diameter_classes = diameter_classes::check_structure(document, stage_checks, checker);
    let span = &document.span;
    let every = interval(&document.every, stage_checks, checker);
    let width = document.bin_width.as_ref();
    let bin_width = checker.positive_or(span, "bin_width", width, defaults::BIN_WIDTH);
    let vectors = document.vectors_per_shell.as_ref();
    let vectors_per_shell = checker.integer_or(
        span,
        "vectors_per_shell",
        vectors,
        1..=correlation::MAXIMUM_VECTORS,
        defaults::STRUCTURE_VECTORS_PER_SHELL as u64,
    );
    let simulation_box = stage_checks.simulation_box?;
    let half = simulation_box.shortest_edge() / 2.0;
    let maximum_distance = match &document.maximum_distance {
        Some(distance) => checker.positive(distance).filter(|&value| {
            let fits = value <= half;
            if !fits {
                let message =
                    format!("must be at most half the shortest edge of the box, not {value:?}");
                checker.reject(&distance.span, message, format!("at most {}", rounded_down(half)));
            }
            fits
        }),
        None => {
            let count = stage_checks.species?.iter().map(|species| species.count).sum();
            let distance = defaults::pair_distance(simulation_box, count);
            checker.filled_in(span, "maximum_distance", rounded_down(distance));
            Some(distance)
        }
    };
    let maximum_wavenumber = match &document.maximum_wavenumber {
        Some(wavenumber) => correlation::wavenumber(wavenumber, simulation_box, checker),
        None => {
            let (least, most) = correlation::wavenumber_range(simulation_box);
            let wavenumber = defaults::MAXIMUM_WAVENUMBER.min(most).max(least);
            checker.filled_in(span, "maximum_wavenumber", wavenumber);
            Some(wavenumber)
        }
    };
    let (bin_width, maximum_distance) = (bin_width?, maximum_distance?);
    let bins = maximum_distance / bin_width;
    if !(1.0..=1e6).contains(&bins) {
        let bins_wanted = if bins < 1.0 { "less than one bin" } else { "more than a million bins" };
        let place = width.map_or(span, |width| &width.span);
        let message =
            format!("{bin_width:?} gives {bins_wanted} up to {}", rounded_down(maximum_distance));
        checker.reject(place, message, format!("for example {}", defaults::BIN_WIDTH));
        return None;
    }
    Some(StructurePlan {
        every: every?,
        maximum_distance,
        bin_width,
        maximum_wavenumber: maximum_wavenumber?,
        vectors_per_shell: vectors_per_shell? as usize,
        diameter_classes: diameter_classes?,
    })
}

/// Every pair of species needs its own name in the results file, the two names one after the other.
fn check_pair_names(
    document: &Table<Structure>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) {
    let Some(species) = stage_checks.species else { return };
    let mut pairs = HashMap::new();
    for (number, a) in species.iter().enumerate() {
        for b in &species[number..] {
            let hyphenated = format!("{}-{}", a.name, b.name);
            let Some(other) = pairs.insert(format!("{}{}", a.name, b.name), hyphenated.clone())
            else {
                continue;
            };
            let message = format!(
                "the pairs {other} and {hyphenated} have the same name in the results file, {}{}",
                a.name, b.name
            );
            checker.reject(&document.span, message, "give the species other names");
            return;
        }
    }
}

pub fn bond_order(
    document: &Table<BondOrder>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<BondOrderPlan> {
    let every = interval(&document.every, stage_checks, checker);
    let radius = neighbors::radius(
        document.radius.as_ref(),
        &document.span,
        "radius",
        stage_checks,
        checker,
    );
    Some(BondOrderPlan { every: every?, radius: radius? })
}

pub fn local_order(
    document: &Table<LocalOrder>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<LocalOrderPlan> {
    let every = interval(&document.every, stage_checks, checker);
    let (typed, span) = (document.radius.as_ref(), &document.span);
    let radius = neighbors::radius(typed, span, "radius", stage_checks, checker);
    Some(LocalOrderPlan { every: every?, radius: radius? })
}
