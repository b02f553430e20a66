//! `[potential]`.
use std::collections::HashMap;
use std::ops::Range;

use super::checker::Checker;
use super::system::{MAXIMUM_SPECIES, is_species_name};
use crate::config::document::{
    Integer, Number, Pair, PlainOr, Potential, PotentialKind, System, Table, TruncationKind,
    Written,
};
use crate::config::reword::nearest;
use crate::potential::{
    LARGEST_EXPONENT, PairParameters, PairPotential, PotentialPlan, Truncation,
};

/// 2^(1/6), rounded to nearest: the minimum of the Lennard-Jones potential in units of sigma.
const LENNARD_JONES_MINIMUM: f64 = 1.122_462_048_309_373;

/// Missing pairs named in one message.
const PAIRS_NAMED: usize = 6;

pub fn check(
    document: &Table<Potential>,
    system: &Table<System>,
    checker: &mut Checker<'_>,
) -> Option<PotentialPlan> {
    let form = form(document, checker);
    let truncation = truncation(document, checker);
    let cutoff = Cutoff::of_potential(document, checker);
    let kappa = match &document.kappa {
        Some(kappa) => Some(checker.positive(kappa)?),
        None => None,
    };
    if let Some(kappa) = &document.kappa {
        only_with(document, PotentialKind::Yukawa, &kappa.span, checker);
    }
    let pairs = pairs(document, system, cutoff?, kappa, checker);
    Some(PotentialPlan { form: form?, truncation: truncation?, pairs: pairs? })
}

fn form(document: &Table<Potential>, checker: &mut Checker<'_>) -> Option<PairPotential> {
    let kind = document.kind.value;
    let takes_m = kind == PotentialKind::Mie;
    let takes_n = takes_m || kind == PotentialKind::InversePower;
    let m = exponent(document, "m", document.m.as_ref(), takes_m, 2, checker);
    let n = exponent(document, "n", document.n.as_ref(), takes_n, 1, checker);
    match kind {
        PotentialKind::LennardJones | PotentialKind::Wca => Some(PairPotential::LennardJones),
        PotentialKind::Mie => {
            let (m, n) = (m?, n?);
            if m <= n {
                let message = format!("must be greater than n = {n}, not {m}");
                let help = "m is the exponent of the repulsion, n of the attraction";
                checker.reject(&document.m.as_ref()?.span, message, help);
                return None;
            }
            Some(PairPotential::Mie { m, n })
        }
        PotentialKind::InversePower => Some(PairPotential::InversePower { n: n? }),
        PotentialKind::HarmonicSpheres => Some(PairPotential::HarmonicSpheres),
        PotentialKind::Yukawa => Some(PairPotential::Yukawa),
        PotentialKind::GaussianCore => Some(PairPotential::GaussianCore),
    }
}

fn exponent(
    document: &Table<Potential>,
    key: &str,
    exponent: Option<&Written<Integer>>,
    taken: bool,
    least: u64,
    checker: &mut Checker<'_>,
) -> Option<u32> {
    let kind = document.kind.value;
    match (exponent, taken) {
        (Some(exponent), true) => {
            let range = least..=u64::from(LARGEST_EXPONENT);
            checker.integer(exponent, range).map(|exponent| exponent as u32)
        }
        (None, true) => {
            let example = if (kind, key) == (PotentialKind::Mie, "n") { 6 } else { 12 };
            let help = format!("\"{kind}\" needs it, for example {key} = {example}");
            checker.missing(&document.span, key, help);
            None
        }
        (Some(exponent), false) => {
            let message = format!("\"{kind}\" has no exponent {key}");
            checker.reject(&exponent.span, message, "leave it out, or take kind = \"mie\"");
            None
        }
        (None, false) => None,
    }
}

fn only_with(
    document: &Table<Potential>,
    wanted: PotentialKind,
    span: &Range<usize>,
    checker: &mut Checker<'_>,
) {
    let kind = document.kind.value;
    if kind != wanted {
        let message = format!("belongs to \"{wanted}\", not to \"{kind}\"");
        checker.reject(span, message, "leave it out");
    }
}

fn truncation(document: &Table<Potential>, checker: &mut Checker<'_>) -> Option<Truncation> {
    let own = match document.kind.value {
        PotentialKind::Wca => Some((Truncation::Shifted, TruncationKind::Shifted, "shifted")),
        PotentialKind::HarmonicSpheres => Some((Truncation::Sharp, TruncationKind::Sharp, "sharp")),
        _ => None,
    };
    let Some(typed) = &document.truncation else {
        let Some((truncation, _, word)) = own else {
            let help = "one of \"sharp\", \"shifted\", \"force-shifted\" and { kind = \"smooth\", width = 0.005 }";
            checker.missing(&document.span, "truncation", help);
            return None;
        };
        checker.filled_in(&document.span, "truncation", word);
        return Some(truncation);
    };
    let (kind, width) = match &typed.value {
        PlainOr::Plain(kind) => (*kind, None),
        PlainOr::Table(table) => (table.kind.value, table.width.as_ref()),
    };
    if let Some((_, own_kind, word)) = own
        && kind != own_kind
        && kind != TruncationKind::Smooth
    {
        let message = format!("\"{}\" is by definition \"{word}\"", document.kind.value);
        checker.reject(&typed.span, message, "leave it out, or take \"smooth\"");
        return None;
    }
    if kind != TruncationKind::Smooth
        && let Some(width) = width
    {
        checker.reject(&width.span, "belongs to \"smooth\" only", "leave it out");
        return None;
    }
    Some(match kind {
        TruncationKind::Sharp => Truncation::Sharp,
        TruncationKind::Shifted => Truncation::Shifted,
        TruncationKind::ForceShifted => Truncation::ForceShifted,
        TruncationKind::Smooth => {
            let Some(width) = width else {
                let help = "write { kind = \"smooth\", width = 0.005 }";
                checker.missing(&typed.span, "width", help);
                return None;
            };
            Truncation::Smooth { width: checker.positive(width)? }
        }
    })
}

#[derive(Clone, Copy)]
enum Cutoff {
    /// In units of the pair's sigma.
    Relative(f64),
    Absolute(f64),
}

impl Cutoff {
    /// The potential's own, or `Some(None)` if every pair must give it.
    fn of_potential(
        document: &Table<Potential>,
        checker: &mut Checker<'_>,
    ) -> Option<Option<Cutoff>> {
        let typed = Cutoff::typed(
            document.cutoff.as_ref(),
            document.cutoff_absolute.as_ref(),
            document.kind.value,
            checker,
        )?;
        Some(match document.kind.value {
            PotentialKind::Wca => {
                checker.filled_in(&document.span, "cutoff", "2^(1/6) of each pair's sigma");
                Some(Cutoff::Relative(LENNARD_JONES_MINIMUM))
            }
            PotentialKind::HarmonicSpheres => {
                checker.filled_in(&document.span, "cutoff", "1 (each pair's sigma)");
                Some(Cutoff::Relative(1.0))
            }
            _ => typed,
        })
    }

    /// What two keys say; `None` if wrong.
    fn typed(
        relative: Option<&Written<Number>>,
        absolute: Option<&Written<Number>>,
        kind: PotentialKind,
        checker: &mut Checker<'_>,
    ) -> Option<Option<Cutoff>> {
        let own = matches!(kind, PotentialKind::Wca | PotentialKind::HarmonicSpheres);
        if let (true, Some(typed)) = (own, relative.or(absolute)) {
            let message = format!("\"{kind}\" has its own cutoff");
            checker.reject(&typed.span, message, "leave it out");
            return None;
        }
        match (relative, absolute) {
            (Some(_), Some(absolute)) => {
                let message = "cutoff and cutoff_absolute cannot both be given";
                let help = "cutoff is in units of each pair's sigma, cutoff_absolute a distance";
                checker.reject(&absolute.span, message, help);
                None
            }
            (Some(relative), None) => {
                checker.positive(relative).map(|cutoff| Some(Cutoff::Relative(cutoff)))
            }
            (None, Some(absolute)) => {
                checker.positive(absolute).map(|cutoff| Some(Cutoff::Absolute(cutoff)))
            }
            (None, None) => Some(None),
        }
    }
}

fn pairs(
    document: &Table<Potential>,
    system: &Table<System>,
    cutoff: Option<Cutoff>,
    kappa: Option<f64>,
    checker: &mut Checker<'_>,
) -> Option<Vec<Vec<PairParameters>>> {
    let names: Vec<&str> =
        system.species.value.iter().map(|entry| entry.name.value.as_str()).collect();
    let numbers: HashMap<&str, usize> =
        names.iter().enumerate().map(|(number, &name)| (name, number)).collect();
    let named = (1..=MAXIMUM_SPECIES).contains(&names.len())
        && names.iter().all(|name| is_species_name(name))
        && numbers.len() == names.len();
    if !named {
        // Said of the species already.
        return None;
    }
    let mut typed: Vec<(&String, &Table<Pair>)> = document.pairs.iter().collect();
    typed.sort_by_key(|(_, pair)| pair.span.start);
    let mut matrix = vec![vec![None; names.len()]; names.len()];
    let mut all_right = true;
    for (key, pair) in typed {
        let Some((a, b)) = species_of_pair(key, pair, &numbers, checker) else {
            all_right = false;
            continue;
        };
        if matrix[a][b].is_some() {
            let message = format!("the pair of {} and {} is given twice", names[a], names[b]);
            checker.reject(&pair.span, message, "the order of the two names does not matter");
            all_right = false;
            continue;
        }
        let parameters = parameters(pair, document.kind.value, cutoff, kappa, checker);
        all_right &= parameters.is_some();
        matrix[a][b] = Some(parameters);
        matrix[b][a] = Some(parameters);
    }
    let missing: Vec<String> = (0..names.len())
        .flat_map(|a| (a..names.len()).map(move |b| (a, b)))
        .filter(|&(a, b)| matrix[a][b].is_none())
        .map(|(a, b)| pair_key(names[a], names[b]))
        .collect();
    if !missing.is_empty() {
        let more = missing.len().saturating_sub(PAIRS_NAMED);
        let mut list = missing[..missing.len() - more].join(", ");
        if more > 0 {
            list.push_str(&format!(" and {more} more"));
        }
        let noun = if missing.len() == 1 { "pair" } else { "pairs" };
        checker.reject(
            &document.pairs.span,
            format!("{noun} missing: {list}"),
            format!("for example {} = {{ epsilon = 1.0, sigma = 1.0 }}", missing[0]),
        );
        return None;
    }
    if !all_right {
        return None;
    }
    matrix.into_iter().map(|row| row.into_iter().map(Option::flatten).collect()).collect()
}

/// How a pair is called in the file.
fn pair_key(a: &str, b: &str) -> String {
    if a.len() == 1 && b.len() == 1 { format!("{a}{b}") } else { format!("{a}-{b}") }
}

/// The two species of a key: `A-B`, or `AB` where there is one way to part it.
fn species_of_pair(
    key: &str,
    pair: &Table<Pair>,
    numbers: &HashMap<&str, usize>,
    checker: &mut Checker<'_>,
) -> Option<(usize, usize)> {
    let number = |name: &str| numbers.get(name).copied();
    let mut found: Vec<(usize, usize)> = match key.split_once('-') {
        Some((a, b)) => number(a).zip(number(b)).into_iter().collect(),
        None => key
            .char_indices()
            .skip(1)
            .take(2 * 32)
            .filter_map(|(at, _)| number(&key[..at]).zip(number(&key[at..])))
            .map(|(a, b)| (a.min(b), a.max(b)))
            .collect(),
    };
    found.sort_unstable();
    found.dedup();
    match found[..] {
        [pair] => Some(pair),
        [] => {
            let mut names: Vec<&str> = numbers.keys().copied().collect();
            names.sort_unstable_by_key(|name| numbers[name]);
            let few = names.len() <= 16;
            let near = few.then(|| nearest_pair(key, &names)).flatten();
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "write the names of two species, with a hyphen between them; there are {}",
                    names[..names.len().min(16)].join(", ")
                ),
            };
            checker.reject(&pair.span, "is not a pair of species", help);
            None
        }
        _ => {
            let message = "can be read as more than one pair of species";
            checker.reject(&pair.span, message, "write the two names with a hyphen between them");
            None
        }
    }
}

fn nearest_pair(key: &str, names: &[&str]) -> Option<String> {
    // With names of one letter everything is near.
    if names.iter().all(|name| name.len() < 3) {
        return None;
    }
    let all: Vec<String> =
        names.iter().flat_map(|a| names.iter().map(move |b| pair_key(a, b))).collect();
    nearest(key, all.iter().map(String::as_str)).map(str::to_owned)
}

fn parameters(
    pair: &Table<Pair>,
    kind: PotentialKind,
    common_cutoff: Option<Cutoff>,
    common_kappa: Option<f64>,
    checker: &mut Checker<'_>,
) -> Option<PairParameters> {
    let epsilon = checker.not_negative(&pair.epsilon);
    let sigma = checker.positive(&pair.sigma);
    let (relative, absolute) = (pair.cutoff.as_ref(), pair.cutoff_absolute.as_ref());
    let Some(cutoff) = Cutoff::typed(relative, absolute, kind, checker)?.or(common_cutoff) else {
        let help =
            "give cutoff (in units of the pair's sigma) or cutoff_absolute, here or in [potential]";
        checker.missing(&pair.span, "cutoff", help);
        return None;
    };
    let kappa = match &pair.kappa {
        Some(kappa) if kind != PotentialKind::Yukawa => {
            let message = format!("belongs to \"yukawa\", not to \"{kind}\"");
            checker.reject(&kappa.span, message, "leave it out");
            None
        }
        Some(kappa) => checker.positive(kappa),
        None if kind == PotentialKind::Yukawa && common_kappa.is_none() => {
            checker.missing(&pair.span, "kappa", "give kappa here or in [potential]");
            None
        }
        None => Some(common_kappa.unwrap_or(0.0)),
    };
    let (epsilon, sigma, kappa) = (epsilon?, sigma?, kappa?);
    let cutoff = match cutoff {
        Cutoff::Relative(cutoff) => cutoff * sigma,
        Cutoff::Absolute(cutoff) => cutoff,
    };
    Some(PairParameters { epsilon, sigma, cutoff, kappa })
}
