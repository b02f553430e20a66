//! Potentials that users give: formulas and tables.
use std::collections::HashMap;

use super::checker::Checker;
use crate::config::document::{Pair, Potential, Table};
use crate::potential::{Columns, Formula, PairPotential, SyntaxError, Tables};

/// What is written in `energy`.
pub fn formula(document: &Table<Potential>, checker: &mut Checker<'_>) -> Option<PairPotential> {
    let Some(typed) = &document.energy else {
        let help = "such as energy = \"4*epsilon*((sigma/r)^12 - (sigma/r)^6)\"";
        checker.missing(&document.span, "energy", help);
        return None;
    };
    match Formula::new(&typed.value) {
        Ok(formula) => Some(formula.into()),
        Err(SyntaxError { at, message, help }) => {
            let place = match at {
                0 => String::new(),
                at => format!("at character {} of the formula: ", at + 1),
            };
            checker.reject(&typed.span, place + &message, help);
            None
        }
    }
}

/// The files of all pairs, and the number of the table of each by its place in the configuration.
pub fn tables(
    document: &Table<Potential>,
    numbers: &mut HashMap<usize, usize>,
    checker: &mut Checker<'_>,
) -> Option<PairPotential> {
    let mut pairs: Vec<&Table<Pair>> = document.pairs.values().collect();
    pairs.sort_by_key(|pair| pair.span.start);
    let mut all_right = true;
    let mut columns: Vec<Columns> = Vec::new();
    let mut spans = Vec::new();
    for pair in pairs {
        let Some(file) = &pair.file else {
            let help = "a file with lines of r, U and, if known, F = -U'(r)";
            checker.missing(&pair.span, "file", help);
            all_right = false;
            continue;
        };
        let read = checker.path(file).map(|path| Columns::read(&path));
        match read {
            Some(Ok(of_pair)) => {
                let number = columns.iter().position(|other| *other == of_pair);
                numbers.insert(pair.span.start, number.unwrap_or(columns.len()));
                if number.is_none() {
                    columns.push(of_pair);
                    spans.push(&file.span);
                }
            }
            Some(Err(message)) => {
                checker.reject(
                    &file.span,
                    message,
                    "lines of r, U and, if known, F = -U'(r), r growing",
                );
                all_right = false;
            }
            None => all_right = false,
        }
    }
    if !all_right || columns.is_empty() {
        return None;
    }
    match Tables::new(columns) {
        Ok(tables) => Some(tables.into()),
        Err((number, message)) => {
            checker.reject(
                spans[number],
                message,
                "correct the column, or leave it out: slopes are then those of the energies",
            );
            None
        }
    }
}
