//! Names of pairs of species.
use std::collections::HashMap;

use super::checker::Checker;
use crate::config::reword::nearest;

/// How a pair is called in the file.
pub fn pair_key(a: &str, b: &str) -> String {
    if a.len() == 1 && b.len() == 1 { format!("{a}{b}") } else { format!("{a}-{b}") }
}

/// The two species of a key: `A-B`, or `AB` where there is one way to part it.
pub fn species_of_pair(
    key: &str,
    span: &std::ops::Range<usize>,
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
            checker.reject(span, "is not a pair of species", help);
            None
        }
        _ => {
            let message = "can be read as more than one pair of species";
            checker.reject(span, message, "write the two names with a hyphen between them");
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
