//! What came out, for a terminal, a program and a browser.
use std::fmt::Write;
use std::path::Path;

use miette::miette;
use serde_json::json;

use super::judge::{Found, Judged, Verdict};
use super::run_record::RunRecord;
use super::suite::Suite;
use super::{Results, Size};

fn columns(one: &Judged) -> [String; 7] {
    let (found, error) = match (&one.not_given, &one.hash, one.found) {
        (Some(why), ..) => (format!("not given: {why}"), "-".to_owned()),
        (_, Some(hash), _) => (hash.clone(), "-".to_owned()),
        (_, _, Found { value, error: 0.0 }) => {
            (supercool_analysis::significant(value, 10), "-".to_owned())
        }
        (_, _, Found { value, error }) => supercool_analysis::with_error(value, error),
    };
    [
        format!("{}/{}", one.suite, one.case),
        one.quantity.clone(),
        one.expected.clone(),
        found,
        error,
        match one.verdict {
            Verdict::Measured => String::new(),
            _ if one.hash.is_some() || one.not_given.is_some() => "-".to_owned(),
            _ => format!("{:+.2} {}", one.deviation, one.unit),
        },
        match one.verdict {
            Verdict::Holds => "holds".to_owned(),
            Verdict::Fails => "FAILS".to_owned(),
            Verdict::Measured => "measured".to_owned(),
        },
    ]
}

const HEADINGS: [&str; 7] =
    ["case", "quantity", "expected", "found", "error", "deviation", "verdict"];

/// For a terminal.
pub fn table(judged: &[Judged]) -> String {
    let rows: Vec<[String; 7]> = judged.iter().map(columns).collect();
    let headings = HEADINGS.map(str::to_owned);
    let widths: Vec<usize> = (0..7)
        .map(|column| {
            let cells = rows.iter().chain([&headings]).map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in [&headings].into_iter().chain(&rows) {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}

/// `report.json`, `report.md` and `report.html`.
pub fn write(results: &Results, suites: &[Suite], size: Size, output: &Path) -> miette::Result<()> {
    let put = |name: &str, text: String| {
        let path = output.join(name);
        std::fs::write(&path, text).map_err(|error| miette!("{}: {error}", path.display()))
    };
    let document = json!({
        "size": size.name(),
        "version": env!("CARGO_PKG_VERSION"),
        "quantities": results.judged,
        "runs": results.runs,
        "unfinished": results.unfinished,
        "skipped": results.skipped,
    });
    put("report.json", format!("{document:#}\n"))?;
    put("report.md", markdown(results, suites, size))?;
    put("report.html", page(results, suites, size))
}

/// What the report of a suite consists of.
struct Part<'r> {
    title: &'r str,
    /// Why there is nothing else.
    skipped: Option<&'r str>,
    unfinished: Vec<&'r str>,
    judged: Vec<&'r Judged>,
    runs: Vec<&'r RunRecord>,
}

fn parts<'r>(results: &'r Results, suites: &'r [Suite]) -> Vec<Part<'r>> {
    let part = |suite: &'r Suite| {
        let prefix = suite.name_of("");
        let of_suite = |case: &&str| case.starts_with(&prefix);
        Part {
            title: &suite.title,
            skipped: results.skipped.get(&suite.name).map(String::as_str),
            unfinished: results.unfinished.iter().map(String::as_str).filter(of_suite).collect(),
            judged: results.judged.iter().filter(|one| one.suite == suite.name).collect(),
            runs: results.runs.iter().filter(|run| run.case.starts_with(&prefix)).collect(),
        }
    };
    suites.iter().map(part).collect()
}

fn title(size: Size) -> String {
    format!("supercool {} validate --{}", env!("CARGO_PKG_VERSION"), size.name())
}

const RUN_HEADINGS: [&str; 7] =
    ["case", "particles", "steps", "seconds", "on", "version", "ended (UTC)"];

fn run_columns(run: &RunRecord) -> [String; 7] {
    [
        run.case.clone(),
        run.particles.to_string(),
        run.steps.to_string(),
        format!("{:.0}", run.seconds),
        run.machine.clone(),
        run.version.clone(),
        run.date.clone(),
    ]
}

fn markdown(results: &Results, suites: &[Suite], size: Size) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let heading = |names: &[&str]| {
        let rules = vec!["---".to_owned(); names.len()];
        line(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()) + &line(&rules)
    };
    let mut text = format!("# {}\n", title(size));
    for part in parts(results, suites) {
        let _ = write!(text, "\n## {}\n\n", part.title);
        if let Some(reason) = part.skipped {
            let _ = writeln!(text, "Skipped: {reason}");
            continue;
        }
        if !part.unfinished.is_empty() {
            let _ = write!(text, "Not finished: {}\n\n", part.unfinished.join(", "));
        }
        text += &heading(&[&HEADINGS[..], &["source"]].concat());
        for one in part.judged {
            text += &line(&[&columns(one)[..], std::slice::from_ref(&one.source)].concat());
        }
        text += "\n";
        text += &heading(&RUN_HEADINGS);
        for run in part.runs {
            text += &line(&run_columns(run));
        }
    }
    text
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:1180px;margin:2em auto;padding:0 1em}\
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em 1em .2em 0;text-align:left;border-bottom:1px solid #ddd}\
.FAILS{color:#b00020;font-weight:bold}.holds{color:#00701a}";

fn page(results: &Results, suites: &[Suite], size: Size) -> String {
    let plain = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let heading = |names: &[&str]| -> String {
        let cells: String = names.iter().map(|name| format!("<th>{name}</th>")).collect();
        format!("<table>\n<tr>{cells}</tr>\n")
    };
    let row = |class: &str, cells: &[String]| -> String {
        let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", plain(cell))).collect();
        format!("<tr class=\"{class}\">{cells}</tr>\n")
    };
    let title = title(size);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
    );
    for part in parts(results, suites) {
        let _ = writeln!(page, "<h2>{}</h2>", plain(part.title));
        if let Some(reason) = part.skipped {
            let _ = writeln!(page, "<p>Skipped: {}</p>", plain(reason));
            continue;
        }
        if !part.unfinished.is_empty() {
            let _ = writeln!(page, "<p>Not finished: {}</p>", plain(&part.unfinished.join(", ")));
        }
        page += &heading(&[&HEADINGS[..], &["source"]].concat());
        for one in part.judged {
            let cells = columns(one);
            page += &row(&cells[6], &[&cells[..], std::slice::from_ref(&one.source)].concat());
        }
        page += "</table>\n";
        page += &heading(&RUN_HEADINGS);
        for run in part.runs {
            page += &row("", &run_columns(run));
        }
        page += "</table>\n";
    }
    page + "</body></html>\n"
}
