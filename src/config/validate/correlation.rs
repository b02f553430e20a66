//! `[[stage.correlation]]` and wave numbers.
use std::f64::consts::PI;
use std::ops::Range;

use super::checker::Checker;
use super::stage_checks::{StageChecks, rounded_down};
use super::unneeded::add;
use super::{diameter_classes, neighbors, origins, sampling};
use crate::config::defaults;
use crate::config::document::{Correlation, Number, Stage, Table, ThermostatKind, Written};
use crate::config::reword::nearest;
use crate::observable::dynamics::source::{Need, is_of_stress};
use crate::plan::{CorrelationPlan, DynamicObservable, VanHovePlan};
use crate::system::SimulationBox;

pub const MAXIMUM_VECTORS: u64 = 100_000;

const MAXIMUM_WAVENUMBERS: usize = 1000;
/// Bins of a van Hove function: as many averages for every lag.
const MAXIMUM_BINS: f64 = 1000.0;

/// Wave vectors up to the wave number that are looked through for those of a shell.
const MAXIMUM_LATTICE_VECTORS: f64 = 1e9;

pub fn check(
    document: &Table<Correlation>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<CorrelationPlan> {
    let span = &document.span;
    let sampling = sampling::check(document, stage_checks, checker);
    let species = species(document, stage_checks, checker);
    let diameter_classes = diameter_classes::check(document, stage_checks, checker);
    let observables = observables(document, checker);
    let shortest = sampling.as_ref().map(|sampling| sampling.every);
    let origins = origins::check(document, shortest, observables.as_deref(), stage_checks, checker);
    let any = |need: Need| {
        observables.as_ref().is_some_and(|all| all.iter().any(|&observable| need.is_of(observable)))
    };
    let scattering = any(Need::Wavenumbers);
    let overlap = any(Need::OverlapLength);
    let wavenumbers = wavenumbers(document, stage_checks.simulation_box, checker);
    let vectors_per_shell = match &document.vectors_per_shell {
        Some(vectors) => checker.integer(vectors, 1..=MAXIMUM_VECTORS),
        None => {
            if scattering {
                let value = defaults::CORRELATION_VECTORS_PER_SHELL;
                checker.filled_in(span, "vectors_per_shell", value);
            }
            Some(defaults::CORRELATION_VECTORS_PER_SHELL as u64)
        }
    };
    let overlap_length = match &document.overlap_length {
        Some(length) => checker.positive(length),
        None => {
            if overlap {
                checker.filled_in(span, "overlap_length", defaults::OVERLAP_LENGTH);
            }
            Some(defaults::OVERLAP_LENGTH)
        }
    };
    let of_pairs = any(Need::OverlapLengthOfPairs);
    if let (true, Some(length), Some(simulation_box)) =
        (of_pairs, overlap_length, stage_checks.simulation_box)
    {
        let place = document.overlap_length.as_ref().map_or(span, |length| &length.span);
        let half = simulation_box.shortest_edge() / 2.0;
        if !(length < half) {
            let message = format!("{length:?} is not below half the shortest edge of the box");
            checker.reject(place, message, format!("below {}", rounded_down(half)));
            return None;
        }
        check_overlapping_pairs(length, place, stage_checks, simulation_box, checker)?;
    }
    let remove_drift = match &document.remove_drift {
        Some(typed) => typed.value,
        None => {
            checker.filled_in(span, "remove_drift", defaults::REMOVE_DRIFT);
            defaults::REMOVE_DRIFT
        }
    };
    let cage_radius = cage_radius(document, any(Need::CageRadius), stage_checks, checker);
    let bonds = neighbors::bonds(document, any(Need::Bonds), stage_checks, checker);
    let pairs_in = stage_checks.simulation_box.filter(|_| any(Need::BinsOfPairs));
    let van_hove = van_hove(document, any(Need::Bins), pairs_in, checker);
    let (observables, wavenumbers) = (observables?, wavenumbers?);
    if scattering && wavenumbers.is_empty() {
        let help = "the intermediate scattering functions need them: wavenumbers = [7.25]; \
                    or list the other observables";
        checker.missing(span, "wavenumbers", help);
        return None;
    }
    if let (false, Some(unused)) = (scattering, &document.wavenumbers) {
        let message = "no observable of this correlation takes wave numbers";
        checker.reject(&unused.span, message, add(Need::Wavenumbers, "leave them out"));
        return None;
    }
    if let (false, Some(unused)) = (overlap, &document.overlap_length) {
        let message = "no observable of this correlation takes an overlap length";
        checker.reject(&unused.span, message, add(Need::OverlapLength, "leave it out"));
        return None;
    }
    Some(CorrelationPlan {
        every: sampling.as_ref()?.every,
        block_size: sampling.as_ref()?.block_size,
        levels: sampling.as_ref()?.levels,
        level_ratio: sampling.as_ref()?.level_ratio,
        wavenumbers,
        vectors_per_shell: vectors_per_shell? as usize,
        overlap_length: overlap_length?,
        remove_drift,
        cage_radius: cage_radius?,
        bonds: bonds?,
        van_hove: van_hove?,
        species: species?,
        diameter_classes: diameter_classes?,
        observables,
        origins: origins?,
    })
}

/// Pairs closer than the overlap length are counted in 32 bits; more would take seconds a sample, too.
fn check_overlapping_pairs(
    length: f64,
    place: &Range<usize>,
    stage_checks: &StageChecks<'_>,
    simulation_box: &SimulationBox,
    checker: &mut Checker<'_>,
) -> Option<()> {
    let count: usize = stage_checks.species?.iter().map(|species| species.count).sum();
    let sphere = match simulation_box.dimension() {
        2 => PI * length.powi(2),
        _ => 4.0 / 3.0 * PI * length.powi(3),
    };
    let pairs = (count as f64).powi(2) / simulation_box.volume() * sphere;
    // Room for particles that lie closer than on average.
    if pairs < f64::from(u32::MAX / 4) {
        return Some(());
    }
    let message = format!("{pairs:.1e} pairs of particles are closer than {length:?}");
    checker.reject(place, message, "collective overlaps take lengths of about 0.3 sigma");
    None
}

/// For cage-relative displacements, and only for them.
fn cage_radius(
    document: &Table<Correlation>,
    wanted: bool,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Option<f64>> {
    let typed = document.cage_radius.as_ref();
    match typed {
        _ if wanted => {
            neighbors::radius(typed, &document.span, "cage_radius", stage_checks, checker).map(Some)
        }
        None => Some(None),
        Some(typed) => {
            let message = "this correlation has no cage-relative displacements";
            checker.reject(&typed.span, message, add(Need::CageRadius, "leave it out"));
            None
        }
    }
}

fn van_hove(
    document: &Table<Correlation>,
    wanted: bool,
    pairs_in: Option<&SimulationBox>,
    checker: &mut Checker<'_>,
) -> Option<VanHovePlan> {
    let half =
        pairs_in.map_or(f64::INFINITY, |simulation_box| simulation_box.shortest_edge() / 2.0);
    let mut plan = VanHovePlan {
        maximum_distance: defaults::VAN_HOVE_MAXIMUM_DISTANCE.min(half),
        bin_width: defaults::VAN_HOVE_BIN_WIDTH,
    };
    let Some(table) = &document.van_hove else {
        if wanted {
            let value = format!("{} in bins of {}", plan.maximum_distance, plan.bin_width);
            checker.filled_in(&document.span, "van_hove", value);
        }
        return Some(plan);
    };
    if !wanted {
        let message = "this correlation has no van Hove function";
        checker.reject(&table.span, message, add(Need::Bins, "leave it out"));
        return None;
    }
    let (distance, width) = (table.maximum_distance.as_ref(), table.bin_width.as_ref());
    let span = &table.span;
    let maximum = checker.positive_or(span, "maximum_distance", distance, plan.maximum_distance);
    let bin_width = checker.positive_or(span, "bin_width", width, plan.bin_width);
    (plan.maximum_distance, plan.bin_width) = (maximum?, bin_width?);
    if !(plan.maximum_distance <= half) {
        let place = distance.map_or(span, |distance| &distance.span);
        let message =
            format!("{:?} is more than half the shortest edge of the box", plan.maximum_distance);
        checker.reject(place, message, format!("up to {}", rounded_down(half)));
        return None;
    }
    let bins = plan.maximum_distance / plan.bin_width;
    if !(1.0..=MAXIMUM_BINS).contains(&bins) {
        let place = width.map_or(span, |width| &width.span);
        let message =
            format!("{:?} gives {bins:.0} bins up to {:?}", plan.bin_width, plan.maximum_distance);
        checker.reject(place, message, format!("1 to {MAXIMUM_BINS} bins"));
        return None;
    }
    Some(plan)
}

/// Velocities of Brownian dynamics are noise, and so is the kinetic part of the stress.
pub fn refuse_velocities(stage: &Table<Stage>, checker: &mut Checker<'_>) {
    let thermostat = stage.thermostat.as_ref();
    if thermostat.is_none_or(|of| of.kind.value != ThermostatKind::Brownian) {
        return;
    }
    let observables = stage.correlation.iter().flat_map(|correlation| &correlation.observables);
    for observable in observables.flat_map(|typed| &typed.value) {
        let is_velocity = observable.value == DynamicObservable::VelocityAutocorrelation;
        if is_velocity || is_of_stress(observable.value) {
            let message = "is made of velocities, which are noise in Brownian dynamics";
            checker.reject(&observable.span, message, "leave it to a stage with inertia");
        }
    }
}

/// No observable in two correlations of a stage: its file has one place for it, and one for that from given time origins.
pub fn check_disjoint(
    document: &[Table<Correlation>],
    plans: &[Option<CorrelationPlan>],
    checker: &mut Checker<'_>,
) {
    for (number, plan) in plans.iter().enumerate() {
        for (earlier, other) in plans[..number].iter().enumerate() {
            let (Some(plan), Some(other)) = (plan, other) else { continue };
            if plan.origins.is_empty() != other.origins.is_empty() {
                continue;
            }
            let shared: Vec<String> = plan
                .observables
                .iter()
                .filter(|observable| other.observables.contains(observable))
                .map(|observable| observable.word())
                .collect();
            if shared.is_empty() {
                continue;
            }
            let table = &document[number];
            let span = table.observables.as_ref().map_or(&table.span, |typed| &typed.span);
            let message = format!(
                "correlation[{}] of this stage has {} too, and the results file has one place for it",
                earlier + 1,
                shared.join(", ")
            );
            checker.reject(span, message, "give every correlation other observables");
        }
    }
}

fn species(
    document: &Table<Correlation>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Vec<usize>> {
    let all = stage_checks.species?;
    let Some(typed) = &document.species else { return Some((0..all.len()).collect()) };
    if typed.value.is_empty() {
        checker.reject(&typed.span, "names no species", "leave it out for all of them");
        return None;
    }
    let mut found = Vec::new();
    for name in &typed.value {
        let names = || all.iter().map(|species| species.name.as_str());
        match names().position(|other| other == name.value) {
            Some(index) if found.contains(&index) => {
                checker.reject(&name.span, "is named twice", "leave one of them out");
                return None;
            }
            Some(index) => found.push(index),
            None => {
                let help = match nearest(&name.value, names()) {
                    Some(near) => format!("did you mean {near:?}?"),
                    None => {
                        let some: Vec<&str> = names().take(8).collect();
                        format!("the species are {}", some.join(", "))
                    }
                };
                checker.reject(&name.span, format!("there is no species {:?}", name.value), help);
                return None;
            }
        }
    }
    found.sort_unstable();
    Some(found)
}

fn observables(
    document: &Table<Correlation>,
    checker: &mut Checker<'_>,
) -> Option<Vec<DynamicObservable>> {
    let Some(typed) = &document.observables else {
        let names = DynamicObservable::DEFAULT.map(DynamicObservable::word);
        checker.filled_in(&document.span, "observables", names.join(", "));
        return Some(DynamicObservable::DEFAULT.to_vec());
    };
    if typed.value.is_empty() {
        checker.reject(&typed.span, "names no observable", "leave it out for the usual ones");
        return None;
    }
    let mut all = Vec::new();
    for observable in &typed.value {
        if all.contains(&observable.value) {
            checker.reject(&observable.span, "is named twice", "leave one of them out");
            return None;
        }
        all.push(observable.value);
    }
    Some(all)
}

fn wavenumbers(
    document: &Table<Correlation>,
    simulation_box: Option<&SimulationBox>,
    checker: &mut Checker<'_>,
) -> Option<Vec<f64>> {
    let Some(typed) = &document.wavenumbers else {
        return Some(Vec::new());
    };
    if typed.value.is_empty() || typed.value.len() > MAXIMUM_WAVENUMBERS {
        let count = typed.value.len();
        let message = format!("must hold 1 to {MAXIMUM_WAVENUMBERS} wave numbers, not {count}");
        checker.reject(&typed.span, message, "");
        return None;
    }
    let simulation_box = simulation_box?;
    let mut all: Vec<Option<f64>> = Vec::with_capacity(typed.value.len());
    for number in &typed.value {
        let value = wavenumber(number, simulation_box, checker);
        if value.is_some() && all.contains(&value) {
            checker.reject(&number.span, "is given twice", "leave one of them out");
        }
        all.push(value);
    }
    all.into_iter().collect()
}

/// A wave number that the box holds.
pub fn wavenumber(
    number: &Written<Number>,
    simulation_box: &SimulationBox,
    checker: &mut Checker<'_>,
) -> Option<f64> {
    let value = checker.positive(number)?;
    let (least, most) = wavenumber_range(simulation_box);
    if value < least {
        let longest = simulation_box.edges().iter().copied().fold(0.0, f64::max);
        checker.reject(
            &number.span,
            format!("{value:?} is below the smallest wave number of the box"),
            format!(
                "the smallest is 2 pi / L = {least:.6} for the edge L = {longest:.6}; the shells next to it \
                 are at {}",
                next_shells(simulation_box)
            ),
        );
        return None;
    }
    if value > most {
        let message = format!("{value:?} has too many wave vectors below it in this box");
        checker.reject(&number.span, message, format!("at most {most:.1}"));
        return None;
    }
    Some(value)
}

/// The second and third smallest wave numbers of the box.
fn next_shells(simulation_box: &SimulationBox) -> String {
    let spacing = |k: usize| simulation_box.edges().get(k).map_or(0.0, |edge| 2.0 * PI / edge);
    let mut lengths = Vec::new();
    for x in 0..4 {
        for y in 0..4 {
            for z in 0..4 {
                let n = [x, y, z].map(f64::from);
                lengths.push((0..3).map(|k| (n[k] * spacing(k)).powi(2)).sum::<f64>().sqrt());
            }
        }
    }
    lengths.retain(|&length| length > 0.0);
    lengths.sort_by(f64::total_cmp);
    lengths.dedup_by(|a, b| *a - *b < 1e-9 * *a);
    lengths[1..3].iter().map(|length| format!("{length:.6}")).collect::<Vec<_>>().join(" and ")
}

/// Smallest wave number of the box, and the largest up to which the number of wave vectors,
/// V q^3 / (6 pi^2) in 3D and A q^2 / (4 pi) in 2D, can be looked through.
pub fn wavenumber_range(simulation_box: &SimulationBox) -> (f64, f64) {
    let longest = simulation_box.edges().iter().copied().fold(0.0, f64::max);
    let volume = simulation_box.volume();
    let most = if simulation_box.dimension() == 2 {
        (4.0 * PI * MAXIMUM_LATTICE_VECTORS / volume).sqrt()
    } else {
        (6.0 * PI * PI * MAXIMUM_LATTICE_VECTORS / volume).cbrt()
    };
    (2.0 * PI / longest, most)
}
