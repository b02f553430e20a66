//! `[potential]`.
use std::collections::HashMap;
use std::ops::Range;

use super::checker::Checker;
use super::own_potential;
use super::species_pair::{pair_key, species_of_pair};
use super::system::{MAXIMUM_SPECIES, is_species_name};
use crate::config::document::{
    Number, Pair, PlainOr, Potential, PotentialKind, System, Table, TruncationKind, Written,
};
use crate::config::reword::suggestion;
use crate::potential::{
    Bounds, FormOf, LARGEST_EXPONENT, PairParameters, PairPotential, PotentialPlan, SIGMA, TABLE,
    Truncation, descriptions,
};

/// Missing pairs named in one message.
const PAIRS_NAMED: usize = 6;

pub fn check(
    document: &Table<Potential>,
    system: &Table<System>,
    checker: &mut Checker<'_>,
) -> Option<PotentialPlan> {
    let mut form = form(document, checker);
    let mut tables = HashMap::new();
    if matches!(document.kind.value.0.form, FormOf::Tables) {
        form = own_potential::tables(document, &mut tables, checker);
    }
    // A formula has parameters of its own.
    let kind = match form {
        Some(form @ PairPotential::Formula { .. }) => PotentialKind(form.description()),
        _ => document.kind.value,
    };
    let truncation = truncation(document, checker);
    let cutoff = Cutoff::of_potential(document, kind, checker);
    let common = common_parameters(document, checker);
    if form.is_none() && !matches!(kind.0.form, FormOf::Exponents(_)) {
        // What the parameters of the pairs are is not known.
        return None;
    }
    let chosen = Chosen { kind, form, tables };
    let pairs = pairs(document, &chosen, system, cutoff?, &common?, checker);
    Some(PotentialPlan { form: form?, truncation: truncation?, pairs: pairs?, diameters: None })
}

fn form(document: &Table<Potential>, checker: &mut Checker<'_>) -> Option<PairPotential> {
    let kind = document.kind.value;
    let taken = kind.0.exponents;
    if let (Some(energy), FormOf::Exponents(_)) = (&document.energy, kind.0.form) {
        let message = format!("\"{kind}\" has its own formula");
        checker.reject(&energy.span, message, "leave it out, or take kind = \"formula\"");
    }
    for (&key, exponent) in &document.exponents {
        if taken.iter().all(|other| other.name != key) {
            let message = format!("\"{kind}\" has no exponent {key}");
            checker.reject(&exponent.span, message, "leave it out, or take kind = \"mie\"");
        }
    }
    let mut exponents = Vec::new();
    for of in taken {
        let value = match document.exponents.get(of.name) {
            Some(typed) => {
                let range = u64::from(of.least)..=u64::from(LARGEST_EXPONENT);
                checker.integer(typed, range).map(|exponent| exponent as u32)
            }
            None => {
                let help = format!("\"{kind}\" needs it, for example {} = {}", of.name, of.example);
                checker.missing(&document.span, of.name, help);
                None
            }
        };
        exponents.push(value);
    }
    let exponents: Option<Vec<u32>> = exponents.into_iter().collect();
    let of_exponents = match kind.0.form {
        FormOf::Exponents(form) => form,
        FormOf::Formula => return own_potential::formula(document, checker),
        FormOf::Tables => return None,
    };
    match of_exponents(&exponents?) {
        Ok(form) => Some(form),
        Err(fault) => {
            let span = &document.exponents.get(fault.key)?.span;
            checker.reject(span, fault.message, fault.help);
            None
        }
    }
}

/// Parameters that are given for all pairs; `None` if one is wrong.
fn common_parameters(
    document: &Table<Potential>,
    checker: &mut Checker<'_>,
) -> Option<HashMap<&'static str, f64>> {
    let mut values = HashMap::new();
    let mut all_right = true;
    for (&key, typed) in &document.parameters {
        if !document.kind.value.0.takes(key) {
            not_taken(key, document.kind.value, &typed.span, checker);
            continue;
        }
        match checker.positive(typed) {
            Some(value) => _ = values.insert(key, value),
            None => all_right = false,
        }
    }
    all_right.then_some(values)
}

/// Rejects a parameter of other potentials.
fn not_taken(key: &str, kind: PotentialKind, span: &Range<usize>, checker: &mut Checker<'_>) {
    let takers: Vec<&str> = descriptions().filter(|of| of.takes(key)).map(|of| of.word).collect();
    let message = match takers[..] {
        [] => {
            let file = matches!(kind.0.form, FormOf::Tables).then_some("file");
            let known = kind.0.parameters.iter().map(|parameter| parameter.name);
            let known: Vec<String> = known
                .filter(|name| *name != TABLE.name)
                .chain(file)
                .chain(["cutoff", "cutoff_absolute"])
                .map(str::to_owned)
                .collect();
            checker.reject(span, "unknown key", suggestion(key, &known, "the keys here are"));
            return;
        }
        [only] => format!("belongs to \"{only}\", not to \"{kind}\""),
        _ => format!("\"{kind}\" has no parameter {key}"),
    };
    checker.reject(span, message, "leave it out");
}

fn truncation(document: &Table<Potential>, checker: &mut Checker<'_>) -> Option<Truncation> {
    let own = document.kind.value.0.own_end.map(|end| match end.truncation {
        Truncation::Sharp => (end.truncation, TruncationKind::Sharp, "sharp"),
        Truncation::Shifted => (end.truncation, TruncationKind::Shifted, "shifted"),
        Truncation::EvenQuartic => (end.truncation, TruncationKind::EvenQuartic, "even-quartic"),
        Truncation::ForceShifted | Truncation::Smooth { .. } => {
            (end.truncation, TruncationKind::ForceShifted, "force-shifted")
        }
    });
    let Some(typed) = &document.truncation else {
        let Some((truncation, _, word)) = own else {
            let help = "one of \"sharp\", \"shifted\", \"force-shifted\", \"even-quartic\" and { kind = \"smooth\", width = 0.005 }";
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
        TruncationKind::EvenQuartic => Truncation::EvenQuartic,
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

/// What all pairs have in common.
struct Chosen {
    kind: PotentialKind,
    form: Option<PairPotential>,
    /// Number of the table of each pair, by its place in the configuration.
    tables: HashMap<usize, usize>,
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
        kind: PotentialKind,
        checker: &mut Checker<'_>,
    ) -> Option<Option<Cutoff>> {
        let typed = Cutoff::typed(
            document.cutoff.as_ref(),
            document.cutoff_absolute.as_ref(),
            kind,
            checker,
        )?;
        Some(match document.kind.value.0.own_end {
            Some(end) => {
                checker.filled_in(&document.span, "cutoff", end.cutoff_in_words);
                Some(Cutoff::Relative(end.cutoff))
            }
            None => typed,
        })
    }

    /// What two keys say; `None` if wrong.
    fn typed(
        relative: Option<&Written<Number>>,
        absolute: Option<&Written<Number>>,
        kind: PotentialKind,
        checker: &mut Checker<'_>,
    ) -> Option<Option<Cutoff>> {
        if let (Some(_), Some(typed)) = (kind.0.own_end, relative.or(absolute)) {
            let message = format!("\"{kind}\" has its own cutoff");
            checker.reject(&typed.span, message, "leave it out");
            return None;
        }
        if let (false, Some(typed)) = (kind.0.has_sigma(), relative) {
            let message = format!("is in units of sigma, and \"{kind}\" has none");
            checker.reject(&typed.span, message, "give cutoff_absolute, a distance");
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
    chosen: &Chosen,
    system: &Table<System>,
    cutoff: Option<Cutoff>,
    common: &HashMap<&'static str, f64>,
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
        let Some((a, b)) = species_of_pair(key, &pair.span, &numbers, checker) else {
            all_right = false;
            continue;
        };
        if matrix[a][b].is_some() {
            let message = format!("the pair of {} and {} is given twice", names[a], names[b]);
            checker.reject(&pair.span, message, "the order of the two names does not matter");
            all_right = false;
            continue;
        }
        let parameters = parameters(pair, chosen, cutoff, common, checker);
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
            format!("for example {} = {{ {} }}", missing[0], example(chosen.kind)),
        );
        return None;
    }
    if !all_right {
        return None;
    }
    matrix.into_iter().map(|row| row.into_iter().map(Option::flatten).collect()).collect()
}

/// The parameters that a pair has in its table at least.
fn example(kind: PotentialKind) -> String {
    let own = kind.0.parameters.iter().filter(|parameter| parameter.of_all_pairs.is_none());
    if matches!(kind.0.form, FormOf::Tables) {
        return "file = \"pair.txt\"".to_owned();
    }
    let keys: Vec<String> = own.map(|of| format!("{} = {:?}", of.name, of.example)).collect();
    keys.join(", ")
}

fn parameters(
    pair: &Table<Pair>,
    chosen: &Chosen,
    common_cutoff: Option<Cutoff>,
    common: &HashMap<&'static str, f64>,
    checker: &mut Checker<'_>,
) -> Option<PairParameters> {
    let Chosen { kind, form, tables } = chosen;
    let (kind, form) = (*kind, *form);
    let mut values = Vec::new();
    let table = tables.get(&pair.span.start).copied();
    if let (Some(file), FormOf::Exponents(_) | FormOf::Formula) = (&pair.file, kind.0.form) {
        checker.reject(
            &file.span,
            format!("\"{kind}\" has no files"),
            "leave it out, or take kind = \"table\"",
        );
    }
    for &parameter in kind.0.parameters {
        if parameter == &TABLE {
            values.push(table.map(|table| (parameter, table as f64)));
            continue;
        }
        let value = match (pair.parameters.get(parameter.name), common.get(parameter.name)) {
            (Some(typed), _) => match parameter.bounds {
                Bounds::Positive => checker.positive(typed),
                Bounds::NotNegative => checker.not_negative(typed),
                Bounds::Any => checker.finite(typed),
            },
            (None, Some(&value)) => Some(value),
            (None, None) => {
                let help = match parameter.of_all_pairs {
                    Some(_) => format!("give {} here or in [potential]", parameter.name),
                    None => String::new(),
                };
                checker.missing(&pair.span, parameter.name, help);
                None
            }
        };
        values.push(value.map(|value| (parameter, value)));
    }
    let mut all_right = true;
    for (key, typed) in pair.parameters.iter().filter(|(key, _)| !kind.0.takes(key)) {
        not_taken(key, kind, &typed.span, checker);
        all_right = false;
    }
    let (relative, absolute) = (pair.cutoff.as_ref(), pair.cutoff_absolute.as_ref());
    let end = match (form?, table) {
        (PairPotential::Table { tables }, Some(table)) => Some(Cutoff::Absolute(tables.end(table))),
        _ => None,
    };
    let typed = Cutoff::typed(relative, absolute, kind, checker)?;
    let Some(cutoff) = typed.or(common_cutoff).or(end) else {
        let help = match kind.0.has_sigma() {
            true => {
                "give cutoff (in units of the pair's sigma) or cutoff_absolute, here or in [potential]"
            }
            false => "give cutoff_absolute here or in [potential]",
        };
        checker.missing(&pair.span, "cutoff", help);
        return None;
    };
    let values: Option<Vec<_>> = values.into_iter().collect();
    let parameters = PairParameters::new(0.0, values.filter(|_| all_right)?);
    let cutoff = match cutoff {
        Cutoff::Relative(cutoff) => cutoff * parameters.of(&SIGMA),
        Cutoff::Absolute(cutoff) => cutoff,
    };
    let parameters = parameters.with_cutoff(cutoff);
    if let Some(fault) = form?.fault(&parameters) {
        let typed = match fault.key {
            "cutoff_absolute" => absolute,
            key => pair.parameters.get(key),
        };
        let span = typed.map_or(&pair.span, |typed| &typed.span);
        checker.reject(span, fault.message, fault.help);
        return None;
    }
    Some(parameters)
}
