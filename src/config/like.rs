//! `stage.like`: keys that a stage takes from an earlier one.
//!
//! They are taken before the document is read, with their places: what is wrong with one of them is reported
//! where it was typed.
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Problem;
use super::reword::nearest;
use super::spans::Spans;

/// Keys of a stage that are never taken.
const OWN: [&str; 3] = ["name", "like", "without"];
/// Pairs that exclude each other: the one that is typed takes the place of the other, too.
const EXCLUDE_EACH_OTHER: [[&str; 2]; 2] = [["thermostat", "set_total_energy"], ["density", "box"]];

/// Places of what each stage took.
pub type Taken = Vec<Vec<Range<usize>>>;

/// Gives every stage of a document the keys that it takes.
pub fn take(root: &mut DeTable<'_>, spans: &Spans) -> (Taken, Vec<Problem>) {
    let (mut taken, mut problems) = (Vec::new(), Vec::new());
    let Some(DeValue::Array(stages)) = root.get_mut("stage").map(Spanned::get_mut) else {
        return (taken, problems);
    };
    for number in 0..stages.len() {
        let (earlier, later) = stages.split_at_mut(number);
        let DeValue::Table(stage) = later[0].get_mut() else {
            taken.push(Vec::new());
            continue;
        };
        match take_of(stage, earlier) {
            Ok(places) => taken.push(places),
            Err((span, message, help)) => {
                let key = spans.key_path(&span);
                problems.push(Problem::new(key, span, message, Some(help)));
                taken.push(Vec::new());
            }
        }
    }
    (taken, problems)
}

type Wrong = (Range<usize>, String, String);

fn take_of<'a>(
    stage: &mut DeTable<'a>,
    earlier: &[Spanned<DeValue<'a>>],
) -> Result<Vec<Range<usize>>, Wrong> {
    let without = without(stage);
    // Other types are refused with the rest.
    let Some((name, span)) = stage.get("like").and_then(text) else {
        return match (stage.get("like"), stage.get("without")) {
            (None, Some(typed)) => {
                let help = "add like, the name of an earlier stage, or leave it out".to_owned();
                Err((typed.span(), "is of use only beside like".to_owned(), help))
            }
            _ => Ok(Vec::new()),
        };
    };
    let named = |stage: &&Spanned<DeValue<'_>>| name_of(stage).is_some_and(|other| other == name);
    let Some(DeValue::Table(source)) = earlier.iter().find(named).map(Spanned::get_ref) else {
        let names: Vec<&str> = earlier.iter().filter_map(name_of).collect();
        let help = match nearest(&name, names.iter().copied()) {
            Some(near) => format!("did you mean {near:?}?"),
            None if names.is_empty() => "there is no earlier stage".to_owned(),
            None => format!("earlier stages are {}", names.join(", ")),
        };
        return Err((span, format!("there is no earlier stage {name:?}"), help));
    };
    for (key, span) in &without {
        let keys: Vec<&str> = source.keys().map(|key| &**key.get_ref()).collect();
        let keys: Vec<&str> = keys.into_iter().filter(|key| !OWN.contains(key)).collect();
        if !keys.contains(&key.as_str()) {
            let message = format!("the stage {name:?} has no key {key:?}");
            return Err((span.clone(), message, format!("it has {}", keys.join(", "))));
        }
    }
    let typed: Vec<String> = stage.keys().map(|key| key.get_ref().to_string()).collect();
    let is_typed = |key: &str| typed.iter().any(|typed| typed == key);
    let mut places = Vec::new();
    for (key, value) in source {
        let word: &str = key.get_ref();
        let excludes =
            |pair: &&[&str; 2]| pair.contains(&word) && pair.iter().any(|other| is_typed(other));
        let is_excluded = EXCLUDE_EACH_OTHER.iter().any(|pair| excludes(&pair));
        if OWN.contains(&word) || without.iter().any(|(key, _)| key == word) {
            continue;
        }
        if !is_typed(word) {
            if !is_excluded {
                places.push(value.span());
                insert(stage, key, value);
            }
        } else if word == "thermostat"
            && let Some(DeValue::Table(ours)) = stage.get_mut(word).map(Spanned::get_mut)
            && let DeValue::Table(theirs) = value.get_ref()
            && !ours.contains_key("kind")
        {
            for (key, value) in theirs {
                if !ours.contains_key(&**key.get_ref()) {
                    places.push(value.span());
                    insert(ours, key, value);
                }
            }
        }
    }
    Ok(places)
}

fn insert<'a>(
    table: &mut DeTable<'a>,
    key: &Spanned<std::borrow::Cow<'a, str>>,
    value: &Spanned<DeValue<'a>>,
) {
    table.insert(key.clone(), value.clone());
}

fn text(value: &Spanned<DeValue<'_>>) -> Option<(String, Range<usize>)> {
    match value.get_ref() {
        DeValue::String(text) => Some((text.to_string(), value.span())),
        _ => None,
    }
}

fn name_of<'a>(stage: &'a Spanned<DeValue<'_>>) -> Option<&'a str> {
    let DeValue::Table(table) = stage.get_ref() else { return None };
    match table.get("name")?.get_ref() {
        DeValue::String(name) => Some(name),
        _ => None,
    }
}

fn without(stage: &DeTable<'_>) -> Vec<(String, Range<usize>)> {
    match stage.get("without").map(Spanned::get_ref) {
        Some(DeValue::Array(keys)) => keys.iter().filter_map(text).collect(),
        _ => Vec::new(),
    }
}
