//! What all checks share: where things stand, what was wrong so far, and checks of single values.
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;

use crate::config::FilledDefault;
use crate::config::document::{Integer, Number, Temperature, Written};
use crate::config::error::Problem;
use crate::config::like::Taken;
use crate::config::spans::Spans;

/// Numbers of any use in reduced units lie between these; beyond, products would overflow.
const SMALLEST_NUMBER: f64 = 1e-15;
const LARGEST_NUMBER: f64 = 1e15;

/// Problems that are reported at most: one mistake can be repeated in each of thousands of pairs.
pub const MOST_PROBLEMS: usize = 50;

pub struct Checker<'a> {
    spans: &'a Spans,
    /// What stages took from earlier ones.
    taken: Taken,
    /// Number and name of the stage that is checked.
    stage: Option<(usize, String)>,
    problems: Vec<Problem>,
    defaults: Vec<FilledDefault>,
    /// What `temperature = "ensemble"` stands for.
    pub ensemble: EnsembleTemperature,
}

/// The temperature of which each system of an ensemble has its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EnsembleTemperature {
    /// There is none.
    None,
    /// What stands in `[ensemble]` is wrong, and reported.
    Unknown,
    Highest(f64),
}

impl<'a> Checker<'a> {
    pub fn new(spans: &'a Spans, taken: Taken) -> Self {
        let ensemble = EnsembleTemperature::None;
        Checker { spans, taken, stage: None, problems: Vec::new(), defaults: Vec::new(), ensemble }
    }

    pub fn into_parts(self) -> (Vec<Problem>, Vec<FilledDefault>) {
        (self.problems, self.defaults)
    }

    /// Path of the key at a place.
    fn key(&self, span: &Range<usize>) -> String {
        self.spans.key_path(span).to_owned()
    }

    /// Notes that what stands at `span` is wrong, and what would be right.
    pub fn reject(
        &mut self,
        span: &Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        if self.problems.len() < MOST_PROBLEMS {
            let key = self.key(span);
            self.problem(key, span, message.into(), help.into());
        }
    }

    /// Notes that `key` is missing in the table at `span`.
    pub fn missing(&mut self, span: &Range<usize>, key: &str, help: impl Into<String>) {
        if self.problems.len() < MOST_PROBLEMS {
            let key = self.inside(span, key);
            self.problem(key, span, "key is missing".to_owned(), help.into());
        }
    }

    /// What is checked from here on is of this stage.
    pub fn in_stage(&mut self, number: usize, name: &str) {
        self.stage = Some((number, name.to_owned()));
    }

    pub fn after_stages(&mut self) {
        self.stage = None;
    }

    /// The stage that is checked, where it has taken what stands at `span`.
    fn taker(&self, span: &Range<usize>) -> Option<&str> {
        let (number, name) = self.stage.as_ref()?;
        let is_in = |place: &Range<usize>| place.start <= span.start && span.end <= place.end;
        self.taken.get(*number)?.iter().any(is_in).then_some(name.as_str())
    }

    fn problem(&mut self, key: String, span: &Range<usize>, mut message: String, help: String) {
        if let Some(taker) = self.taker(span) {
            // It is as wrong where it was typed.
            if self.problems.iter().any(|known| known.span == *span && known.message == message) {
                return;
            }
            message += &format!(" (in the stage {taker:?}, which takes it from here)");
        }
        let help = (!help.is_empty()).then_some(help);
        self.problems.push(Problem::new(key, span.clone(), message, help));
    }

    /// Notes that a key of the table at `span` took its default.
    pub fn filled_in(&mut self, span: &Range<usize>, key: &str, value: impl Display) {
        let key = self.inside(span, key);
        self.filled(key, value);
    }

    /// Notes that a key took its default.
    pub fn filled(&mut self, key: impl Into<String>, value: impl Display) {
        let default = FilledDefault::new(key, value);
        // A table that several stages take is one.
        if !self.defaults.contains(&default) {
            self.defaults.push(default);
        }
    }

    fn inside(&self, span: &Range<usize>, key: &str) -> String {
        let table = self.key(span);
        if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
    }

    /// A finite number greater than 0.
    pub fn positive(&mut self, number: &Written<Number>) -> Option<f64> {
        let value = self.finite(number)?;
        if value <= 0.0 {
            self.reject(&number.span, format!("must be greater than 0, not {value:?}"), "");
            return None;
        }
        if value < SMALLEST_NUMBER {
            self.reject(
                &number.span,
                format!("{value:?} is too small"),
                format!("numbers in reduced units are at least {SMALLEST_NUMBER:e} here"),
            );
            return None;
        }
        Some(value)
    }

    /// A temperature: the highest of those of an ensemble.
    pub fn temperature(&mut self, typed: &Written<Temperature>) -> Option<f64> {
        let value = match typed.value {
            Temperature::Number(number) => number,
            Temperature::Ensemble => match self.ensemble {
                EnsembleTemperature::Highest(highest) => return Some(highest),
                EnsembleTemperature::Unknown => return None,
                EnsembleTemperature::None => {
                    let message = "there is no ensemble of temperatures";
                    let help = "add [ensemble] with kind = \"temperatures\" and temperatures = [1.0, 0.8], for example";
                    self.reject(&typed.span, message, help);
                    return None;
                }
            },
        };
        self.positive(&Written { value: Number(value), span: typed.span.clone() })
    }

    /// A finite number, 0 or greater.
    pub fn not_negative(&mut self, number: &Written<Number>) -> Option<f64> {
        if number.value.0 == 0.0 {
            return Some(0.0);
        }
        let value = self.finite(number)?;
        if value < 0.0 {
            self.reject(&number.span, format!("must not be negative, not {value:?}"), "");
            return None;
        }
        self.positive(number)
    }

    /// A finite number of reasonable size.
    pub fn finite(&mut self, number: &Written<Number>) -> Option<f64> {
        let value = number.value.0;
        if !value.is_finite() {
            self.reject(
                &number.span,
                format!("must be a finite number, not {value}").to_lowercase(),
                "",
            );
            return None;
        }
        if value.abs() > LARGEST_NUMBER {
            self.reject(
                &number.span,
                format!("{value:?} is too large"),
                format!("numbers in reduced units are at most {:e} here", LARGEST_NUMBER),
            );
            return None;
        }
        Some(value)
    }

    /// A whole number in a range.
    pub fn integer(
        &mut self,
        integer: &Written<Integer>,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        match u64::try_from(integer.value.0) {
            Ok(value) if range.contains(&value) => Some(value),
            _ => {
                let value = integer.value.0;
                let message = if value < i128::from(*range.start()) {
                    format!("must be at least {}, not {value}", range.start())
                } else {
                    format!("must be at most {}, not {value}", range.end())
                };
                self.reject(&integer.span, message, "");
                None
            }
        }
    }

    /// [`Checker::integer`], or a default for the key in the table at `span`.
    pub fn integer_or(
        &mut self,
        span: &Range<usize>,
        key: &str,
        integer: Option<&Written<Integer>>,
        range: RangeInclusive<u64>,
        default: u64,
    ) -> Option<u64> {
        match integer {
            Some(integer) => self.integer(integer, range),
            None => {
                self.filled_in(span, key, default);
                Some(default)
            }
        }
    }

    /// [`Checker::positive`], or a default for the key in the table at `span`.
    pub fn positive_or(
        &mut self,
        span: &Range<usize>,
        key: &str,
        number: Option<&Written<Number>>,
        default: f64,
    ) -> Option<f64> {
        match number {
            Some(number) => self.positive(number),
            None => {
                self.filled_in(span, key, default);
                Some(default)
            }
        }
    }

    /// A path that a file system can hold.
    pub fn path(&mut self, path: &Written<String>) -> Option<PathBuf> {
        if path.value.is_empty() || path.value.contains('\0') {
            self.reject(&path.span, "must be the path of a file or directory", "");
            return None;
        }
        Some(PathBuf::from(&path.value))
    }
}
