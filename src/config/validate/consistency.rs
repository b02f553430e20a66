//! What the sections say of each other: box and cutoffs, time step and temperatures, memory.
use std::ops::Range;

use super::checker::Checker;
use super::stage_checks::rounded_down;
use crate::config::document::{Document, Pair, PlainOr, Potential, Stage, Table, ThermostatKind};
use crate::config::estimate::{bytes, memory};
use crate::plan::{
    CorrelationPlan, InitialPlan, Plan, Precision, RunPlan, StagePlan, SystemPlan, Thermostat,
};
use crate::potential::{PairParameters, PotentialPlan, SIGMA, ScaleNames, Truncation};

/// Cells of the neighbor search, as wide as the largest cutoff, that a box may hold.
const MAXIMUM_CELLS: f64 = 1e8;

/// Memory above which a run is taken for a mistake.
const MAXIMUM_MEMORY: f64 = (1u64 << 40) as f64;

/// Longest step in units of sqrt(mass sigma^2 / epsilon) of the fastest pair. Steps of 0.02 are
/// already too long for simple liquids.
const LONGEST_STEP: f64 = 0.5;
const SHORTEST_STEP: f64 = 1e-9;

/// Widths below this overflow 32-bit floats on the way to the energy.
const NARROWEST: f64 = 1e-6;

/// Lengths whose powers 32-bit floats hold.
const LENGTHS: Range<f64> = 1e-2..1e2;

/// Largest energies that are resolved as well as can be expected: sums over the whole system have units of 2^-40 in all
/// precisions, and `fixed-point` forces those of 2^-31.
const ENERGIES: Range<f64> = 1e-9..1e6;
const ENERGIES_OF_FIXED_POINT: Range<f64> = 1e-6..1e5;

/// Furthest thermal flight in a step, in units of the smallest length of a pair.
const FURTHEST_FLIGHT: f64 = 0.25;

/// What box, cutoffs and truncation say of each other.
pub fn check_box(
    system: &SystemPlan,
    potential: &PotentialPlan,
    run: Option<&RunPlan>,
    document: &Document,
    checker: &mut Checker<'_>,
) {
    let skin = run.and_then(|run| run.skin).unwrap_or(0.0);
    cutoff_fits_box(system, potential, skin, document, checker);
    box_is_not_empty(system, potential, document, checker);
    smoothing_is_narrow(potential, run, document, checker);
    if let Some(run) = run {
        units_are_reduced(system, potential, run, document, checker);
    }
}

/// The time steps of the run and of stages with their own, if they suit the potential.
pub fn timesteps(
    system: Option<&SystemPlan>,
    potential: Option<&PotentialPlan>,
    run: Option<&RunPlan>,
    document: &Document,
    checker: &mut Checker<'_>,
) -> (Option<f64>, Vec<Option<Option<f64>>>) {
    let span = &document.run.timestep.span;
    let of_run = run.and_then(|run| {
        timestep(system, potential, [run.timestep; 2], span, checker).map(|[timestep, _]| timestep)
    });
    let of_stage = |stage: &Table<Stage>| match &stage.timestep {
        None => Some(None),
        Some(typed) => {
            let value = checker.positive(typed)?;
            let both = [value, flight(stage, value)];
            let [value, _] = timestep(system, potential, both, &typed.span, checker)?;
            Some(Some(value))
        }
    };
    (of_run, document.stage.iter().map(of_stage).collect())
}

/// How long particles of a stage fly in a step.
fn flight(stage: &Stage, timestep: f64) -> f64 {
    let thermostat = stage.thermostat.as_ref();
    let brownian = thermostat.filter(|of| of.kind.value == ThermostatKind::Brownian);
    match brownian.and_then(|of| of.friction.as_ref()) {
        Some(friction) if friction.value.0 > 0.0 => {
            Thermostat::Brownian { friction: friction.value.0 }.flight(timestep)
        }
        _ => timestep,
    }
}

/// A time step, and how long particles fly in it, if that suits the potential.
fn timestep(
    system: Option<&SystemPlan>,
    potential: Option<&PotentialPlan>,
    [timestep, flight]: [f64; 2],
    span: &Range<usize>,
    checker: &mut Checker<'_>,
) -> Option<[f64; 2]> {
    let (Some(system), Some(potential)) = (system, potential) else {
        return Some([timestep, flight]);
    };
    let mass = lightest(system);
    let period = all_pairs(potential)
        .map(|pair| potential.form.scale(pair))
        .map(|scale| scale.length * potential.shortest_unit() * (mass / scale.energy).sqrt())
        .fold(f64::INFINITY, f64::min);
    let ScaleNames { energy, length } = potential.form.description().scale;
    let help = format!(
        "sqrt(mass {length}^2 / {energy}) is {period:.4} for the fastest pair; \
         a few thousandths of it are usual"
    );
    let step = match flight == timestep {
        true => format!("{timestep:?}"),
        false => {
            format!("{timestep:?}, in which particles fly for sqrt(2 dt / gamma) = {flight:.4},")
        }
    };
    if flight > LONGEST_STEP * period {
        checker.reject(span, format!("{step} is too long for these potentials"), help);
        return None;
    }
    if period.is_finite() && flight < SHORTEST_STEP * period {
        checker.reject(span, format!("{step} is too short: nothing would move"), help);
        return None;
    }
    Some([timestep, flight])
}

/// What the whole plan says of temperatures, if the time step is right, and of memory.
pub fn check_plan(
    plan: &Plan,
    timestep: Option<f64>,
    document: &Document,
    checker: &mut Checker<'_>,
) {
    if timestep.is_some() {
        step_resolves_the_velocities(plan, document, checker);
    }
    memory_is_there(plan, document, checker);
}

fn all_pairs(potential: &PotentialPlan) -> impl Iterator<Item = &PairParameters> {
    potential.pairs.iter().flatten()
}

fn lightest(system: &SystemPlan) -> f64 {
    system.species.iter().map(|species| species.mass).fold(f64::INFINITY, f64::min)
}

fn cutoff_fits_box(
    system: &SystemPlan,
    potential: &PotentialPlan,
    skin: f64,
    document: &Document,
    checker: &mut Checker<'_>,
) {
    let half = system.simulation_box.shortest_edge() / 2.0;
    let Some((pair, cutoff)) = farthest_pair(system, potential, document) else {
        return;
    };
    let reach = cutoff + skin;
    if reach <= half {
        return;
    }
    let subject = if skin > 0.0 {
        format!("cutoff distance {cutoff:?} and skin {skin:?} reach")
    } else {
        format!("cutoff distance {cutoff:?} reaches")
    };
    let remedy = match &document.system.density {
        Some(density) => {
            let dimension = system.simulation_box.dimension() as i32;
            let count = (density.value.0 * (2.0 * reach).powi(dimension)).ceil();
            format!("at least {count} particles at this density")
        }
        None => format!("edges of at least {:?}", 2.0 * reach),
    };
    let largest = half - skin;
    let help = if largest > 0.0 {
        format!("a cutoff distance of at most {}, or {remedy}", rounded_down(largest))
    } else {
        remedy
    };
    checker.reject(
        cutoff_place(pair, &document.potential),
        format!("{subject} beyond half the shortest edge of the box, {half:.4}"),
        help,
    );
}

/// Pair of the largest cutoff, by what was typed for it.
fn farthest_pair<'a>(
    system: &SystemPlan,
    potential: &PotentialPlan,
    document: &'a Document,
) -> Option<(&'a Table<Pair>, f64)> {
    let (a, b) = species_pairs(system).max_by(|&(a, b), &(c, d)| {
        potential.pairs[a][b].cutoff.total_cmp(&potential.pairs[c][d].cutoff)
    })?;
    let longest = potential.diameters.map_or(1.0, |diameters| diameters.longest());
    Some((typed_pair(system, document, (a, b))?, potential.pairs[a][b].cutoff * longest))
}

fn species_pairs(system: &SystemPlan) -> impl Iterator<Item = (usize, usize)> {
    let count = system.species.len();
    (0..count).flat_map(move |a| (a..count).map(move |b| (a, b)))
}

/// What was typed for a pair of species.
fn typed_pair<'a>(
    system: &SystemPlan,
    document: &'a Document,
    (a, b): (usize, usize),
) -> Option<&'a Table<Pair>> {
    let keys = [(a, b), (b, a)].map(|(first, second)| {
        let (first, second) = (&system.species[first].name, &system.species[second].name);
        [format!("{first}{second}"), format!("{first}-{second}")]
    });
    keys.iter().flatten().find_map(|key| document.potential.pairs.get(key))
}

/// Where a parameter of a pair was typed; the pair, if it has no such parameter.
fn parameter_place<'a>(pair: &'a Table<Pair>, name: &str) -> &'a Range<usize> {
    pair.parameters.get(name).map_or(&pair.span, |typed| &typed.span)
}

/// The key that determines the cutoff of a pair.
fn cutoff_place<'a>(pair: &'a Table<Pair>, potential: &'a Potential) -> &'a Range<usize> {
    [&pair.cutoff, &pair.cutoff_absolute, &potential.cutoff, &potential.cutoff_absolute]
        .into_iter()
        .flatten()
        .map(|number| &number.span)
        .next()
        .unwrap_or_else(|| parameter_place(pair, SIGMA.name))
}

fn box_is_not_empty(
    system: &SystemPlan,
    potential: &PotentialPlan,
    document: &Document,
    checker: &mut Checker<'_>,
) {
    let cutoff = potential.largest_cutoff();
    let edges = system.simulation_box.edges();
    let cells: f64 = edges.iter().map(|edge| (edge / cutoff).max(1.0)).product();
    if cells <= MAXIMUM_CELLS {
        return;
    }
    let span = match (&document.system.density, &document.system.r#box) {
        (Some(density), _) => &density.span,
        (_, Some(edges)) => &edges.span,
        _ => return,
    };
    let count = system.particle_count();
    checker.reject(
        span,
        format!("the box holds {cells:.1e} cells as wide as the cutoff, for {count} particles"),
        format!("at most {MAXIMUM_CELLS:.0e} cells: a smaller box or a larger cutoff"),
    );
}

fn smoothing_is_narrow(
    potential: &PotentialPlan,
    run: Option<&RunPlan>,
    document: &Document,
    checker: &mut Checker<'_>,
) {
    let Truncation::Smooth { width } = potential.truncation else {
        return;
    };
    let shortest = all_pairs(potential)
        .map(|pair| pair.cutoff / pair.width_unit())
        .fold(f64::INFINITY, f64::min);
    if let Some(typed) = &document.potential.truncation
        && let PlainOr::Table(table) = &typed.value
        && let Some(number) = &table.width
    {
        let help = match potential.form.description().has_sigma() {
            true => "in units of sigma: 0.005 is usual",
            false => "in units of length: 0.005 is usual",
        };
        if width > shortest / 2.0 {
            let message = format!("{width:?} smooths more than half of the potential away");
            checker.reject(&number.span, message, help);
        } else if width < NARROWEST && run.is_some_and(|run| run.precision != Precision::Double) {
            let message = format!("{width:?} is too narrow for 32-bit floats");
            checker.reject(&number.span, message, help);
        }
    }
}

/// Numbers have ranges and units of their own in each precision, made for energies and lengths about one.
fn units_are_reduced(
    system: &SystemPlan,
    potential: &PotentialPlan,
    run: &RunPlan,
    document: &Document,
    checker: &mut Checker<'_>,
) {
    let ScaleNames { energy, length } = potential.form.description().scale;
    let help = format!(
        "choose units in which the largest {energy} and {length} are about one, and scale temperatures, density and \
         timestep with them"
    );
    let name = run.precision.name();
    let energies = match run.precision {
        Precision::FixedPoint => ENERGIES_OF_FIXED_POINT,
        _ => ENERGIES,
    };
    let scale = |&(a, b): &(usize, usize)| potential.form.scale(&potential.pairs[a][b]);
    let strongest = species_pairs(system)
        .max_by(|one, other| scale(one).energy.total_cmp(&scale(other).energy));
    if let Some(strongest) = strongest
        && let Some(pair) = typed_pair(system, document, strongest)
    {
        let found = scale(&strongest).energy;
        if found > 0.0 && !energies.contains(&found) {
            let message = format!(
                "the largest {energy} is {found:?}: {name:?} holds energies of {:e} to {:e}",
                energies.start, energies.end
            );
            checker.reject(parameter_place(pair, energy), message, &help[..]);
        }
    }
    let length_of = |pair: &(usize, usize)| scale(pair).length * potential.shortest_unit();
    let other = species_pairs(system).find(|pair| !LENGTHS.contains(&length_of(pair)));
    if run.precision != Precision::Double
        && let Some(other) = other
        && let Some(pair) = typed_pair(system, document, other)
    {
        let message = format!(
            "{length} is {:?}: {name:?} takes powers of lengths in 32-bit floats, and holds {:e} to {:e}",
            length_of(&other),
            LENGTHS.start,
            LENGTHS.end
        );
        checker.reject(parameter_place(pair, length), message, help);
    }
}

fn step_resolves_the_velocities(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    let length = plan.potential.smallest_length();
    let hottest =
        |timestep: f64| lightest(&plan.system) * (FURTHEST_FLIGHT * length / timestep).powi(2);
    let name = plan.potential.form.description().scale.length;
    let mut too_hot = |span: &Range<usize>, temperature: f64, timestep: f64| {
        let hottest = hottest(timestep);
        if temperature > hottest {
            let message = format!(
                "at temperature {temperature:?} particles fly further than a quarter of {name} in a step"
            );
            checker.reject(span, message, format!("at most {hottest:.4} with this timestep"));
        }
    };
    if let InitialPlan::Lattice { temperature, .. }
    | InitialPlan::File { temperature: Some(temperature), .. } = plan.system.initial
        && let Some(typed) = &document.system.initial.temperature
    {
        too_hot(&typed.span, temperature, plan.flight_of(0));
    }
    for (number, (stage, typed)) in plan.stages.iter().zip(&document.stage).enumerate() {
        if let (Some(thermostat), Some(typed)) = (&stage.thermostat, &typed.thermostat) {
            let hotter = thermostat.temperature.from.max(thermostat.temperature.to);
            too_hot(&typed.temperature.span, hotter, plan.flight_of(number));
        }
    }
}

fn memory_is_there(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    let memory = memory(plan);
    if memory.total() <= MAXIMUM_MEMORY {
        return;
    }
    let samples = |stage: &StagePlan| -> usize {
        stage.correlations.iter().map(CorrelationPlan::samples_held).sum()
    };
    let largest = (0..plan.stages.len()).max_by_key(|&stage| samples(&plan.stages[stage]));
    let blocks = largest.and_then(|stage| document.stage[stage].correlation.first());
    let (part, span) = match blocks {
        Some(blocks) if memory.correlations > memory.neighbors => {
            ("blocks of samples", &blocks.span)
        }
        _ => ("neighbor lists", &document.potential.kind.span),
    };
    checker.reject(
        span,
        format!("the run would take {} of memory, most of it for {part}", bytes(memory.total())),
        format!(
            "at most {}: fewer particles, a shorter cutoff or smaller blocks",
            bytes(MAXIMUM_MEMORY)
        ),
    );
}
