//! Files of tables.
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// `U(r)` at some distances, and the force `-U'(r)` where it is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Columns {
    pub distances: Vec<f64>,
    pub energies: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forces: Option<Vec<f64>>,
}

/// Distances at least, and at most.
pub const FEWEST: usize = 8;
const MOST: usize = 100_000;

impl Columns {
    /// Of a text of lines with `r U`, `r U F` or, as in tables of LAMMPS, a number of the line before them. Empty lines, what follows
    /// a `#`, and before the first distance the lines with the name and the parameters of a table of LAMMPS are passed over.
    ///
    /// # Errors
    /// Names file and line.
    pub fn read(path: &Path) -> Result<Columns, String> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Columns::parse(&text).map_err(|(line, message)| match line {
            0 => format!("{}: {message}", path.display()),
            line => format!("{}:{line}: {message}", path.display()),
        })
    }

    fn parse(text: &str) -> Result<Columns, (usize, String)> {
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let wrong = |message: String| Err((number + 1, message));
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let words: Vec<&str> = line
                .split(|of: char| of.is_whitespace() || of == ',')
                .filter(|word| !word.is_empty())
                .collect();
            let numbers: Result<Vec<f64>, _> =
                words.iter().map(|word| word.parse::<f64>()).collect();
            let Ok(numbers) = numbers else {
                // The name of a table, and `N 500 R 1.0 10.0`.
                if rows.is_empty() && words[0].starts_with(|of: char| of.is_ascii_alphabetic()) {
                    continue;
                }
                return wrong(match rows.is_empty() {
                    true => format!("{line:?} is not a line of numbers r, U and F"),
                    false => format!("{line:?} is not a line of numbers: one file holds one table"),
                });
            };
            if !(2..=4).contains(&numbers.len()) {
                return wrong(format!(
                    "has {} columns: there are r, U and, if known, F = -U'(r)",
                    numbers.len()
                ));
            }
            if let Some(not) = numbers.iter().find(|number| !number.is_finite()) {
                return wrong(format!("{not} is not a finite number"));
            }
            if let Some(first) = rows.first()
                && first.len() != numbers.len()
            {
                return wrong(format!(
                    "has {} columns, and the first line {}",
                    numbers.len(),
                    first.len()
                ));
            }
            // The number of the line.
            let row = numbers[usize::from(numbers.len() == 4)..].to_vec();
            if row[0] < 0.0 {
                return wrong(format!("the distance {} is negative", row[0]));
            }
            if let Some(before) = rows.last()
                && row[0] <= before[row_start(before)]
            {
                return wrong(format!(
                    "the distance {} is not above the one before, {}",
                    row[0],
                    before[row_start(before)]
                ));
            }
            // Lines of four columns keep their width until the end.
            rows.push(if numbers.len() == 4 { numbers } else { row });
        }
        if rows.len() < FEWEST || rows.len() > MOST {
            return Err((
                0,
                format!("has {} distances: {FEWEST} to {MOST} are possible", rows.len()),
            ));
        }
        let column = |at: usize| rows.iter().map(|row| row[row_start(row) + at]).collect();
        let has_forces = rows[0].len() > 2;
        Ok(Columns {
            distances: column(0),
            energies: column(1),
            forces: has_forces.then(|| column(2)),
        })
    }
}

/// The column of the distances.
fn row_start(row: &[f64]) -> usize {
    usize::from(row.len() == 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(line: impl Fn(u32) -> String) -> String {
        (0..10).map(|k| line(k) + "\n").collect()
    }

    #[test]
    fn columns_of_several_forms_are_read() {
        let plain = lines(|k| format!("{} {}", 1.0 + f64::from(k), 2 * k));
        let with_forces =
            "# r, U, F\n".to_owned() + &lines(|k| format!("{}.5, 3e{k},\t-1 # here", k));
        let of_lammps = "# a table\n\nMY_PAIR\nN 10 R 1.0 10.0\n\n".to_owned()
            + &lines(|k| format!("{} {k}.25 4 {k}", k + 1));
        let read = |text: &str| Columns::parse(text).unwrap();
        assert_eq!(read(&plain).energies[9], 18.0);
        assert_eq!(read(&plain).forces, None);
        assert_eq!(
            (read(&with_forces).distances[2], read(&with_forces).forces.unwrap()[3]),
            (2.5, -1.0)
        );
        let of_lammps = read(&of_lammps);
        assert_eq!((of_lammps.distances[9], of_lammps.forces.unwrap()[9]), (9.25, 9.0));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let good = lines(|k| format!("{} 1", k + 1));
        let wrong = |text: String| Columns::parse(&text).unwrap_err();
        assert_eq!(
            wrong("1 2\n1 3".to_owned()),
            (2, "the distance 1 is not above the one before, 1".to_owned())
        );
        assert_eq!(wrong("1 2\n2 3 4".to_owned()).0, 2);
        assert!(wrong("1\n".to_owned()).1.contains("has 1 columns"));
        assert!(wrong("-1 2\n".to_owned()).1.contains("negative"));
        assert!(wrong("1 nan\n".to_owned()).1.contains("not a finite number"));
        assert!(wrong(good.clone() + "OTHER\nN 5\n").1.contains("one file holds one table"));
        assert!(wrong("1 2\n2 3\n".to_owned()).1.contains("has 2 distances"));
        assert!(wrong("+ 2\n".to_owned()).1.contains("is not a line of numbers"));
    }
}
