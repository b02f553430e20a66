//! What a results file holds, as one HTML page that needs nothing else: text, tables and figures (inline SVG).
use std::fmt::Write;
use std::path::Path;

use serde_json::Value;
use supercool_observables::Section;

use crate::info::{MOST_SETS, after_sets, hdf5_info};
use crate::numbers::named;
use crate::overview::Overview;
use crate::plan::stage_steps;
use crate::plot::svg_of_file;
use crate::results::ResultsFile;
use crate::{AnalysisError, Quantity, Result, read_consistent};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:1180px;margin:2em auto;padding:0 1em}\
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em;border-bottom:1px solid #ccc}\
pre{background:#f6f6f6;padding:1em;overflow-x:auto;font-size:13px;line-height:1.4}\
table{border-collapse:collapse}td{padding:.15em 1.2em .15em 0;vertical-align:top}\
td:first-child{color:#666}svg{max-width:100%;height:auto}";

/// The page; of a file that is being written too.
///
/// # Errors
/// If the file cannot be read, or holds neither a plan nor results.
pub fn report(path: &Path) -> Result<String> {
    read_consistent(path, || page(path))
}

fn page(path: &Path) -> Result<String> {
    let averages = ResultsFile::open_averages(path)?;
    let overviews = averages.iter().map(Overview::of).collect::<Result<Vec<_>>>()?;
    let labels: Vec<String> = averages.iter().filter_map(ResultsFile::label).collect();
    let file = &averages[0];
    if file.plan().is_none() && overviews[0].is_empty() {
        let what = "no results of a run: it holds no plan and no observables";
        return Err(AnalysisError::content(path, what));
    }
    let stage = file.parameter("stage").unwrap_or_default();
    let title = format!("{}: {stage}", path.display());
    let mut page =
        String::from("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    let _ = writeln!(page, "<title>{}</title><style>{STYLE}</style></head><body>", text(&title));
    let _ = writeln!(page, "<h1>{}</h1>", text(&title));
    for (file, overview) in averages.iter().zip(&overviews).take(MOST_SETS) {
        let _ = writeln!(page, "<pre>{}</pre>", text(&hdf5_info(file, overview)?));
    }
    let after = after_sets(&averages)?;
    if !after.is_empty() {
        let _ = writeln!(page, "<pre>{}</pre>", text(&after));
    }
    for section in Section::ALL {
        if let Some(svg) = svg_of_file(&overviews, &labels, &figures(section)) {
            let heading = section.heading();
            let _ = writeln!(page, "<h2>{heading}</h2>\n{}", without_prologue(&svg));
        }
    }
    let rows = performance(file);
    if !rows.is_empty() {
        let _ = writeln!(page, "<h2>Performance and hardware</h2>\n{}", table(&rows));
    }
    if let Some(toml) = file.parameter("toml") {
        let _ = writeln!(page, "<h2>Configuration</h2>\n<pre>{}</pre>", text(&toml));
    }
    if let Some(plan) = ResultsFile::open(path)?.plan() {
        let _ = writeln!(
            page,
            "<details><summary>Everything that was filled in</summary><pre>{}</pre></details>",
            text(&format!("{plan:#}"))
        );
    }
    page.push_str("</body></html>\n");
    Ok(page)
}

/// What a section shows.
fn figures(section: Section) -> Vec<Quantity> {
    let is_of = |quantity: &Quantity| {
        quantity.descriptor().figure.is_some_and(|figure| figure.section == section)
    };
    Quantity::all().into_iter().filter(is_of).collect()
}

/// What stands for itself in text of HTML.
fn text(plain: &str) -> String {
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// An SVG image that stands within HTML.
fn without_prologue(svg: &str) -> &str {
    svg.find("<svg").map_or(svg, |start| &svg[start..])
}

fn table(rows: &[(String, String)]) -> String {
    let rows = rows
        .iter()
        .map(|(name, value)| format!("<tr><td>{}</td><td>{}</td></tr>\n", text(name), text(value)));
    format!("<table>\n{}</table>", rows.collect::<String>())
}

/// Speed, machine and the engine's choices.
fn performance(file: &ResultsFile) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    if let Some(Speed { steps, seconds }) = speed(file) {
        let rate = steps as f64 / seconds;
        let systems = file.ensemble().map_or(1, |ensemble| ensemble.systems() as u64);
        let particles = systems * file.species().iter().map(|(_, count)| count).sum::<u64>();
        rows.push(("steps".into(), format!("{steps} in {seconds:.1} s of this stage")));
        rows.push(("steps per second".into(), format!("{rate:.1}")));
        let particle_rate = rate * particles as f64;
        rows.push(("particle-steps per second".into(), format!("{particle_rate:.3e}")));
    }
    for name in ["hardware", "tuning"] {
        let object =
            file.parameter(name).and_then(|json| serde_json::from_str::<Value>(&json).ok());
        for (key, value) in object.iter().flat_map(Value::as_object).flatten() {
            rows.push(named(key, value));
        }
    }
    rows
}

/// Steps that a stage has taken, and the wall-clock time for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Since the start of the stage.
    pub steps: u64,
    /// In all processes that took part.
    pub seconds: f64,
}

/// How far a stage has come; `None` if the file does not say.
pub fn speed(file: &ResultsFile) -> Option<Speed> {
    let (first, _) = stage_steps(&file.plan()?, &file.parameter("stage")?)?;
    let step = file.number("progress/step")? as u64;
    let seconds = file.number("progress/seconds").filter(|&seconds| seconds > 0.0)?;
    let steps = step.checked_sub(first).filter(|&steps| steps > 0)?;
    Some(Speed { steps, seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn susceptibilities_have_a_section_of_their_own() {
        let [dynamics, fluctuations] = [Section::Dynamics, Section::Susceptibility].map(figures);
        assert!(dynamics.iter().all(|of| !of.name().ends_with("susceptibility")));
        assert!(fluctuations.iter().all(|of| of.name().ends_with("susceptibility")));
        let all: usize = Section::ALL.into_iter().map(|section| figures(section).len()).sum();
        assert!(fluctuations.len() >= 4 && all == Quantity::all().len());
    }

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(text("a < b & \"c\">"), "a &lt; b &amp; &quot;c&quot;&gt;");
    }
}
