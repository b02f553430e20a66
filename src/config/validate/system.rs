//! `[system]`.
use std::collections::HashSet;

use super::checker::Checker;
use super::isoconfigurational::{self, Start};
use crate::config::defaults;
use crate::config::document::{Initial, Number, SpeciesEntry, System, Table, Written};
use crate::plan::{InitialPlan, Lattice, SystemPlan};
use crate::system::{SimulationBox, Species};

/// Species are numbered in a byte.
pub const MAXIMUM_SPECIES: usize = 255;

/// Particles of a system at most: some hundred bytes are needed for each.
pub const MAXIMUM_PARTICLES: u64 = 1 << 28;

/// Names stand in attributes and type lists of the files.
const LONGEST_NAME: usize = 32;

pub fn check(
    document: &Table<System>,
    start: Start<'_>,
    checker: &mut Checker<'_>,
) -> Option<SystemPlan> {
    let dimension = match document.dimension.value.0 {
        2 => Some(2),
        3 => Some(3),
        other => {
            let message = format!("must be 2 or 3, not {other}");
            checker.reject(&document.dimension.span, message, "");
            None
        }
    };
    let most = i64::MAX as u64;
    let seed = document.seed.as_ref();
    let seed = checker.integer_or(&document.span, "seed", seed, 0..=most, defaults::SEED);
    let species = species(document, checker);
    let simulation_box = simulation_box(document, dimension, species.as_deref(), checker);
    let initial = match start {
        Start::OwnState => initial(&document.initial, dimension, checker),
        Start::Configurations(first) => {
            isoconfigurational::initial(&document.initial, first, checker)
        }
    };
    Some(SystemPlan {
        diameters: None,
        simulation_box: simulation_box?,
        species: species?,
        seed: seed?,
        initial: initial?,
        key_behind_file: None,
    })
}

fn species(document: &Table<System>, checker: &mut Checker<'_>) -> Option<Vec<Species>> {
    let entries = &document.species.value;
    if entries.is_empty() || entries.len() > MAXIMUM_SPECIES {
        let message = format!("must hold 1 to {MAXIMUM_SPECIES} species, not {}", entries.len());
        checker.reject(&document.species.span, message, "");
        return None;
    }
    let mut names = HashSet::new();
    let mut all = Vec::with_capacity(entries.len());
    for entry in entries {
        let name = species_name(entry, &mut names, checker);
        let count = checker.integer(&entry.count, 1..=MAXIMUM_PARTICLES);
        let mass = entry.mass.as_ref();
        let mass = checker.positive_or(&entry.span, "mass", mass, defaults::MASS);
        all.push(name.zip(count).zip(mass));
    }
    let all: Vec<Species> = all
        .into_iter()
        .map(|entry| {
            let ((name, count), mass) = entry?;
            Some(Species { name, count: usize::try_from(count).ok()?, mass })
        })
        .collect::<Option<_>>()?;
    let total: usize = all.iter().map(|species| species.count).sum();
    if total == 1 {
        let message = "a single particle moves with the centre of mass and has no temperature";
        checker.reject(&document.species.span, message, "two particles or more");
        return None;
    }
    if total as u64 > MAXIMUM_PARTICLES {
        let message =
            format!("{total} particles are more than the largest number, {MAXIMUM_PARTICLES}");
        checker.reject(&document.species.span, message, "");
        return None;
    }
    Some(all)
}

pub fn is_species_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(allowed)
}

fn species_name<'a>(
    entry: &'a SpeciesEntry,
    names: &mut HashSet<&'a str>,
    checker: &mut Checker<'_>,
) -> Option<String> {
    let name = entry.name.value.as_str();
    if !is_species_name(name) {
        checker.reject(
            &entry.name.span,
            "cannot be the name of a species",
            format!("1 to {LONGEST_NAME} of the letters a-z and A-Z, digits and `_`"),
        );
        return None;
    }
    if !names.insert(name) {
        let message = format!("there are two species with the name {name:?}");
        checker.reject(&entry.name.span, message, "give every species its own name");
        return None;
    }
    Some(name.to_owned())
}

fn simulation_box(
    document: &Table<System>,
    dimension: Option<usize>,
    species: Option<&[Species]>,
    checker: &mut Checker<'_>,
) -> Option<SimulationBox> {
    match (&document.density, &document.r#box) {
        (Some(density), None) => {
            let density = checker.positive(density)?;
            let count: usize = species?.iter().map(|species| species.count).sum();
            Some(SimulationBox::cubic(dimension?, count, density))
        }
        (None, Some(edges)) => self::edges(edges, dimension?, checker),
        (Some(_), Some(edges)) => {
            let message = "box and density cannot both be given";
            checker.reject(
                &edges.span,
                message,
                "leave one of them out: it follows from the other",
            );
            None
        }
        (None, None) => {
            checker.missing(&document.span, "density", "give density = NUMBER or box = [EDGES]");
            None
        }
    }
}

/// A box with edges as they were typed.
pub fn edges(
    typed: &Written<Vec<Written<Number>>>,
    dimension: usize,
    checker: &mut Checker<'_>,
) -> Option<SimulationBox> {
    let lengths: Vec<Option<f64>> = typed.value.iter().map(|edge| checker.positive(edge)).collect();
    if lengths.len() != dimension {
        let message = format!("must have {dimension} edges in {dimension}D, not {}", lengths.len());
        let example = if dimension == 2 { "[20.0, 20.0]" } else { "[9.4, 9.4, 9.4]" };
        checker.reject(&typed.span, message, format!("for example {example}"));
        return None;
    }
    let lengths: Vec<f64> = lengths.into_iter().collect::<Option<_>>()?;
    Some(SimulationBox::new(&lengths))
}

fn initial(
    document: &Table<Initial>,
    dimension: Option<usize>,
    checker: &mut Checker<'_>,
) -> Option<InitialPlan> {
    let temperature = match &document.temperature {
        Some(temperature) => Some(checker.temperature(temperature)?),
        None => None,
    };
    if let Some(file) = &document.file {
        if let Some(lattice) = &document.lattice {
            let message = "lattice and file cannot both be given";
            checker.reject(&lattice.span, message, "leave one of them out");
            return None;
        }
        let step = match &document.step {
            Some(step) => Some(checker.integer(step, 0..=i64::MAX as u64)?),
            None => {
                checker.filled_in(&document.span, "step", "the last frame");
                None
            }
        };
        let system = match &document.system {
            Some(system) => Some(checker.integer(system, 0..=u64::from(u32::MAX))? as usize),
            None => None,
        };
        let path = checker.path(file)?;
        return Some(InitialPlan::File { path, step, temperature, system, of: None });
    }
    for (key, number) in [("step", &document.step), ("system", &document.system)] {
        if let Some(number) = number {
            let message = format!("{key} belongs to a file, and there is none");
            checker.reject(&number.span, message, "add file = \"...\"");
        }
    }
    let Some(temperature) = temperature else {
        let help = "a lattice has no velocities of its own: temperature = 2.0, for example";
        checker.missing(&document.span, "temperature", help);
        return None;
    };
    let dimension = dimension?;
    let Some(lattice) = &document.lattice else {
        let lattice = defaults::lattice(dimension);
        checker.filled_in(&document.span, "lattice", name(lattice));
        return Some(InitialPlan::Lattice { lattice, temperature });
    };
    let wanted = match lattice.value {
        Lattice::Fcc | Lattice::SimpleCubic => 3,
        Lattice::Square | Lattice::Hexagonal => 2,
    };
    if wanted != dimension {
        let fitting = [Lattice::Square, Lattice::Hexagonal, Lattice::Fcc, Lattice::SimpleCubic];
        let fitting = if dimension == 2 { &fitting[..2] } else { &fitting[2..] };
        checker.reject(
            &lattice.span,
            format!(
                "{:?} is a lattice in {wanted}D, and dimension is {dimension}",
                name(lattice.value)
            ),
            format!("in {dimension}D there are {:?} and {:?}", name(fitting[0]), name(fitting[1])),
        );
        return None;
    }
    Some(InitialPlan::Lattice { lattice: lattice.value, temperature })
}

fn name(lattice: Lattice) -> &'static str {
    match lattice {
        Lattice::Fcc => "fcc",
        Lattice::SimpleCubic => "simple-cubic",
        Lattice::Square => "square",
        Lattice::Hexagonal => "hexagonal",
    }
}
