//! Exchanges of replicas, as text.
use std::fmt::Write;

use crate::numbers::{short, significant};
use crate::results::ResultsFile;

/// Share of accepted exchanges below which a ladder hardly lets replicas through.
const FEW: f64 = 0.05;

/// Exchanges of neighbors in temperature in a stage, in all ladders.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchanges {
    /// Of the ladder.
    pub temperatures: Vec<f64>,
    /// How often an exchange was decided on, by pair of neighbors.
    pub attempts: Vec<u64>,
    /// How often they were exchanged.
    pub acceptances: Vec<u64>,
    /// By replica: ways from the first temperature to the last and back.
    pub round_trips: Vec<u64>,
}

impl Exchanges {
    /// Those of a results file, if it is of a stage with exchanges.
    pub fn of_file(file: &ResultsFile) -> Option<Self> {
        let counts = |name: &str| {
            let numbers = file.numbers(&format!("systems/exchange/{name}"))?;
            Some(numbers.into_iter().map(|number| number as u64).collect::<Vec<_>>())
        };
        let exchanges = Exchanges {
            temperatures: file.ensemble()?.temperatures,
            attempts: counts("attempts")?,
            acceptances: counts("acceptances")?,
            round_trips: counts("round_trips")?,
        };
        let pairs = exchanges.temperatures.len().checked_sub(1)?;
        let fits = [exchanges.attempts.len(), exchanges.acceptances.len()] == [pairs; 2];
        fits.then_some(exchanges)
    }

    /// Whether fewer exchanges of a pair are accepted than a ladder needs. Where 5 % are accepted, as few attempts as are not
    /// judged have no exchange in one of twenty cases.
    fn are_few(&self, pair: usize) -> bool {
        const MOST_NOT_JUDGED: u64 = 58;
        let (attempts, accepted) = (self.attempts[pair], self.acceptances[pair]);
        attempts > MOST_NOT_JUDGED && (accepted as f64) < FEW * attempts as f64
    }

    /// A line for each pair, and one for round trips.
    pub fn text(&self) -> String {
        let mut text = String::from("Exchanges of replicas\n");
        for (pair, temperatures) in self.temperatures.windows(2).enumerate() {
            let name = format!("T = {} and {}", short(temperatures[0]), short(temperatures[1]));
            let attempts = self.attempts[pair];
            let _ = match attempts {
                0 => writeln!(text, "  {name:<28} no attempts"),
                _ => {
                    let share = 100.0 * self.acceptances[pair] as f64 / attempts as f64;
                    let share = format!("{} %", significant(share, 3));
                    let flag = if self.are_few(pair) {
                        "  ! few: give a temperature between them"
                    } else {
                        ""
                    };
                    writeln!(text, "  {name:<28} {share:>8} of {attempts}{flag}")
                }
            };
        }
        let all: u64 = self.round_trips.iter().sum();
        let replicas = self.round_trips.iter().filter(|&&trips| trips > 0).count();
        let of = self.round_trips.len();
        let _ = writeln!(text, "  {:<28} {all} by {replicas} of {of} replicas", "round trips");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_exchanges_are_flagged_when_there_were_enough_attempts() {
        let exchanges = Exchanges {
            temperatures: vec![1.0, 0.9, 0.8, 0.7, 0.6],
            attempts: vec![200, 200, 50, 0],
            acceptances: vec![9, 10, 0, 0],
            round_trips: vec![0, 2, 1, 0, 0],
        };
        let text = exchanges.text();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].contains("4.5 % of 200  ! few"), "{text}");
        assert!(lines[2].ends_with("5 % of 200"), "{text}");
        assert!(lines[3].ends_with("0 % of 50"), "{text}");
        assert!(lines[4].ends_with("T = 0.7 and 0.6              no attempts"), "{text}");
        assert!(lines[5].ends_with("3 by 2 of 5 replicas"), "{text}");
    }
}
