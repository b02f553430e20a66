//! What came out, for a terminal, a program and a browser.
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use miette::miette;
use serde_json::json;

use super::Size;
use super::judge::{Judged, Verdict};
use super::suite::Suite;

fn columns(one: &Judged) -> [String; 7] {
    [
        format!("{}/{}", one.suite, one.case),
        one.quantity.clone(),
        one.expected.clone(),
        format!("{:.6e}", one.found.value),
        format!("{:.1e}", one.found.error),
        match one.verdict {
            Verdict::Measured => String::new(),
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

/// Suites that were left out, with the reason.
pub type Skipped = BTreeMap<String, String>;

/// `report.json` and `report.html`.
pub fn write(
    judged: &[Judged],
    skipped: &Skipped,
    suites: &[Suite],
    size: Size,
    output: &Path,
) -> miette::Result<()> {
    let put = |name: &str, text: String| {
        let path = output.join(name);
        std::fs::write(&path, text).map_err(|error| miette!("{}: {error}", path.display()))
    };
    let document = json!({
        "size": size.name(),
        "version": env!("CARGO_PKG_VERSION"),
        "processor": crate::engine::cpu::processor(),
        "quantities": judged,
        "skipped": skipped,
    });
    put("report.json", format!("{document:#}\n"))?;
    put("report.html", page(judged, skipped, suites, size))
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:1180px;margin:2em auto;padding:0 1em}\
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em 1em .2em 0;text-align:left;border-bottom:1px solid #ddd}\
.FAILS{color:#b00020;font-weight:bold}.holds{color:#00701a}";

fn page(judged: &[Judged], skipped: &Skipped, suites: &[Suite], size: Size) -> String {
    let plain = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>supercool validate</title>\
         <style>{STYLE}</style></head><body>\n<h1>supercool {} validate --{}</h1>\n<p>{}</p>\n",
        env!("CARGO_PKG_VERSION"),
        size.name(),
        plain(&crate::engine::cpu::processor())
    );
    for suite in suites {
        if let Some(reason) = skipped.get(&suite.name) {
            let _ = writeln!(
                page,
                "<h2>{}</h2>\n<p>Skipped: {}</p>",
                plain(&suite.title),
                plain(reason)
            );
            continue;
        }
        let heading: String = HEADINGS.map(|name| format!("<th>{name}</th>")).concat();
        let _ = write!(
            page,
            "<h2>{}</h2>\n<table>\n<tr>{heading}<th>source</th></tr>\n",
            plain(&suite.title)
        );
        for one in judged.iter().filter(|one| one.suite == suite.name) {
            let cells = columns(one);
            let class = cells[6].clone();
            let cells: String =
                cells.iter().map(|cell| format!("<td>{}</td>", plain(cell))).collect();
            let _ =
                writeln!(page, "<tr class=\"{class}\">{cells}<td>{}</td></tr>", plain(&one.source));
        }
        page.push_str("</table>\n");
    }
    page + "</body></html>\n"
}
