//! What a page says of one results file.
use std::fmt::Write;
use std::path::Path;

use serde_json::Value;
use supercool_observables::Section;

use super::html::{block, details, table, text, without_prologue};
use super::{Speed, speed};
use crate::info::{MOST_SETS, after_sets, hdf5_info};
use crate::numbers::named;
use crate::overview::Overview;
use crate::plot::{particles, svg_of_file};
use crate::results::ResultsFile;
use crate::{AnalysisError, Exchanges, Quantity, Result, open};

/// A stage's results, read once.
pub(super) struct Stage {
    pub averages: Vec<ResultsFile>,
    pub overviews: Vec<Overview>,
}

impl Stage {
    pub fn read(path: &Path) -> Result<Self> {
        let averages = ResultsFile::open_averages(path)?;
        let overviews = averages.iter().map(Overview::of).collect::<Result<Vec<_>>>()?;
        let stage = Stage { averages, overviews };
        if stage.file().plan().is_none() && stage.overviews[0].is_empty() {
            let what = "no results of a run: it holds no plan and no observables";
            return Err(AnalysisError::content(path, what));
        }
        Ok(stage)
    }

    /// The file, or of many systems the averages of the first ones.
    pub fn file(&self) -> &ResultsFile {
        &self.averages[0]
    }

    pub fn name(&self) -> String {
        self.file().parameter("stage").unwrap_or_default()
    }

    /// What `info` says.
    pub fn text(&self) -> Result<String> {
        let mut all = String::new();
        for (file, overview) in self.averages.iter().zip(&self.overviews).take(MOST_SETS) {
            all += &block(&hdf5_info(file, overview)?);
        }
        all += &block(&after_sets(&self.averages)?);
        Ok(all + &block(&Exchanges::of_file(self.file()).map_or(String::new(), |of| of.text())))
    }

    /// Figures by section, with `heading` as the element of their headings.
    pub fn figures(&self, heading: &str) -> String {
        let labels: Vec<String> = self.averages.iter().filter_map(ResultsFile::label).collect();
        let mut all = String::new();
        for section in Section::ALL {
            if let Some(svg) = svg_of_file(&self.overviews, &labels, &figures(section)) {
                let name = section.heading();
                let svg = without_prologue(&svg);
                let _ = writeln!(all, "<{heading}>{name}</{heading}>\n{svg}");
            }
        }
        all
    }

    /// The particles of the last frame: of this file, or of the trajectory beside it. Empty if there are none.
    pub fn picture(&self, heading: &str) -> String {
        let path = self.file().path();
        let beside = ["h5md", "gsd"].map(|ending| path.with_extension(ending));
        let source = match self.file().members("particles").is_empty() {
            false => Some(path.to_owned()),
            true => beside.into_iter().find(|path| path.is_file()),
        };
        let picture = match source.map(|source| self.last_frame(&source)) {
            None | Some(Ok(None)) => return String::new(),
            Some(Ok(Some(svg))) => without_prologue(&svg).to_owned(),
            // What else there is stands on the page.
            Some(Err(error)) => format!("<p>{}</p>", text(&error.to_string())),
        };
        format!("<{heading}>Particles</{heading}>\n{picture}\n")
    }

    fn last_frame(&self, trajectory: &Path) -> Result<Option<String>> {
        let reader = open(trajectory)?;
        let Some(last) = reader.len().checked_sub(1) else { return Ok(None) };
        let frame = reader.read(last)?;
        let plan = self.file().plan().unwrap_or_default();
        let index = |name: &String| {
            let species = plan["system"]["species"].as_array()?;
            species.iter().position(|each| each["name"] == **name)
        };
        let diameter = |name: &String| {
            let index = index(name)?;
            plan["potential"]["pairs"][index][index]["sigma"].as_f64()
        };
        let diameters: Vec<Option<f64>> = frame.species_names.iter().map(diameter).collect();
        Ok(Some(particles(&frame, &diameters)))
    }

    pub fn performance(&self, heading: &str) -> String {
        let rows = performance(self.file());
        match rows.is_empty() {
            true => String::new(),
            false => format!("<{heading}>Performance and hardware</{heading}>\n{}", table(&rows)),
        }
    }

    /// The text that was run, and the plan that was made of it.
    pub fn configuration(&self) -> Result<String> {
        let mut all = String::new();
        if let Some(toml) = self.file().parameter("toml") {
            let _ = writeln!(all, "<h2>Configuration</h2>\n{}", block(&toml));
        }
        if let Some(plan) = ResultsFile::open(self.file().path())?.plan() {
            all += &details("Everything that was filled in", &block(&format!("{plan:#}")));
        }
        Ok(all)
    }
}

/// What a section shows.
fn figures(section: Section) -> Vec<Quantity> {
    let is_of = |quantity: &Quantity| {
        quantity.descriptor().figure.is_some_and(|figure| figure.section == section)
    };
    Quantity::all().into_iter().filter(is_of).collect()
}

/// Speed, machine and the engine's choices.
fn performance(file: &ResultsFile) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    if let Some(Speed { steps, seconds }) = speed(file) {
        let rate = steps as f64 / seconds;
        let systems = file.ensemble().map_or(1, |ensemble| ensemble.systems() as u64);
        let particles = systems * file.species().iter().map(|(_, count)| count).sum::<u64>();
        rows.push(vec!["steps".into(), format!("{steps} in {seconds:.1} s of this stage")]);
        rows.push(vec!["steps per second".into(), format!("{rate:.1}")]);
        let particle_rate = rate * particles as f64;
        rows.push(vec!["particle-steps per second".into(), format!("{particle_rate:.3e}")]);
    }
    for name in ["hardware", "tuning"] {
        let object =
            file.parameter(name).and_then(|json| serde_json::from_str::<Value>(&json).ok());
        for (key, value) in object.iter().flat_map(Value::as_object).flatten() {
            let (name, value) = named(key, value);
            rows.push(vec![name, value]);
        }
    }
    rows
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
}
