//! An analysis as text, CSV and JSON.
use std::fmt::Write;

use super::{Analysis, Row, StatePoint, flags};
use crate::numbers::{short, with_error};

impl Analysis {
    /// The table of a terminal, with what could not be estimated below it.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for point in self.state_points.iter().chain(&self.from_origins) {
            let files: Vec<String> =
                point.files.iter().map(|file| file.display().to_string()).collect();
            let temperature = match point.temperature {
                Some(t) => {
                    let (value, error) = with_error(t.value, t.error);
                    format!("T = {value} +- {error}")
                }
                None => "T not known".into(),
            };
            let runs = match point.runs {
                1 => "1 run".into(),
                runs => format!("{runs} runs"),
            };
            let by = &point.grouped_by;
            let _ = writeln!(text, "{temperature} ({runs}; {by}): {}", files.join(", "));
        }
        let head = [
            "T", "quantity", "species", "q", "t_w", "value", "error", "window", "chi2/dof", "",
            "flags", "",
        ];
        let mut table = vec![head.map(String::from).to_vec()];
        table.extend(self.all_rows().map(cells));
        if self.from_origins.is_empty() {
            table.iter_mut().for_each(|row| drop(row.remove(WAITING_TIME)));
        }
        let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> =
            (0..table[0].len()).map(|column| width(column).unwrap_or(0)).collect();
        text.push('\n');
        for row in &table {
            let line: Vec<String> =
                row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            let _ = writeln!(text, "{}", line.join("  ").trim_end());
        }
        let of_point = |point: &StatePoint| {
            let at = point.temperature.map(|t| format!("T = {}: ", short(t.value)));
            let at = at.unwrap_or_default();
            point.notes.iter().map(|note| format!("{at}{note}\n")).collect::<String>()
        };
        let points = self.state_points.iter().chain(&self.from_origins);
        let notes: String = points.map(of_point).collect();
        let notes = self.notes.iter().fold(notes, |notes, note| notes + note + "\n");
        if notes.is_empty() { text } else { format!("{text}\n{notes}") }
    }

    /// The estimates as comma-separated values.
    pub fn csv(&self) -> String {
        let mut text = String::from(
            "temperature,quantity,species,q,value,error,error_from,from,to,reduced_chi_squared,flags,remark,waiting_time\n",
        );
        for row in self.all_rows() {
            let _ = writeln!(
                text,
                "{},{},{},{},{},{},{},{},{},{},{},{},{}",
                optional(row.temperature),
                row.quantity,
                row.species,
                optional(row.wavenumber),
                number(row.estimate.value),
                number(row.estimate.error),
                row.error_from,
                row.from,
                row.to,
                number(row.reduced_chi_squared),
                flags::names(&row.flags),
                row.remark,
                optional(row.waiting_time)
            );
        }
        text
    }

    /// The averages over runs, point by point, as comma-separated values.
    pub fn averages_csv(&self) -> String {
        let mut text =
            String::from("temperature,function,species,q,time,mean,error,scatter,runs\n");
        for point in &self.state_points {
            let temperature = optional(point.temperature.map(|t| t.value));
            for average in &point.averages {
                for curve in &average.curves {
                    for (k, time) in
                        average.time.iter().enumerate().filter(|(k, _)| curve.runs[*k] > 0)
                    {
                        let _ = writeln!(
                            text,
                            "{temperature},{},{},{},{time},{},{},{},{}",
                            average.name,
                            average.species,
                            optional(curve.wavenumber),
                            curve.mean[k],
                            number(curve.error[k]),
                            number(curve.scatter[k]),
                            curve.runs[k]
                        );
                    }
                }
            }
        }
        text
    }

    /// The estimates as JSON; what is not known is null.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("an analysis is plain data") + "\n"
    }
}

/// Its column of the table.
const WAITING_TIME: usize = 4;

fn cells(row: &Row) -> Vec<String> {
    let (value, error) = match row.is_given() {
        true => with_error(row.estimate.value, row.estimate.error),
        false => ("-".into(), "-".into()),
    };
    let cells = [
        row.temperature.map(short).unwrap_or_default(),
        row.quantity.clone(),
        row.species.clone(),
        row.wavenumber.map(short).unwrap_or_default(),
        row.waiting_time.map(short).unwrap_or_default(),
        value,
        error,
        format!("{} to {}", short(row.from), short(row.to)),
        if row.reduced_chi_squared.is_finite() {
            short(row.reduced_chi_squared)
        } else {
            "-".into()
        },
        row.error_from.into(),
        flags::names(&row.flags),
        row.remark.clone(),
    ];
    cells.to_vec()
}

fn optional(x: Option<f64>) -> String {
    x.map(number).unwrap_or_default()
}

/// Empty for NaN.
fn number(x: f64) -> String {
    if x.is_nan() { String::new() } else { x.to_string() }
}
