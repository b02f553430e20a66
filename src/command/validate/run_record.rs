//! Where and when a case ran, as its results say.
use std::path::PathBuf;

use jiff::Timestamp;
use miette::{IntoDiagnostic, miette};
use serde::Serialize;
use serde_json::Value;
use supercool_analysis::results::ResultsFile;

use super::cases::Place;
use crate::output::latest_valid;

/// A run that has come to its end.
#[derive(Clone, Debug, Serialize)]
pub struct RunRecord {
    /// Suite and name.
    pub case: String,
    pub particles: usize,
    pub steps: u64,
    /// Of all stages and of all processes that took part.
    pub seconds: f64,
    /// GPU, or processor where there was none.
    pub machine: String,
    pub version: String,
    /// Of its end, in universal time.
    pub date: String,
}

impl RunRecord {
    /// All runs of a case as one: particles are those of a run, steps and seconds those of all.
    ///
    /// # Errors
    /// As of [`read`](Self::read).
    pub fn read_all(places: &[Place]) -> miette::Result<Option<Self>> {
        let mut all: Option<RunRecord> = None;
        for place in places {
            let one = RunRecord::read(place)?;
            all = Some(match all {
                None => RunRecord { case: place.case_name(), ..one },
                Some(before) => RunRecord {
                    case: before.case,
                    steps: before.steps + one.steps,
                    seconds: before.seconds + one.seconds,
                    ..one
                },
            });
        }
        Ok(all)
    }

    /// # Errors
    /// If there are no results or no checkpoint, or they cannot be read.
    fn read(place: &Place) -> miette::Result<Self> {
        let error = |error: std::io::Error| miette!("{}: {error}", place.directory.display());
        let mut files: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(&place.directory).map_err(error)? {
            files.push(entry.map_err(error)?.path());
        }
        files.retain(|file| file.extension().is_some_and(|extension| extension == "h5"));
        let mut last = None;
        for path in files {
            let file = ResultsFile::open(&path).into_diagnostic()?;
            let written = path.metadata().and_then(|data| data.modified()).map_err(error)?;
            if last.as_ref().is_none_or(|(before, _)| *before < written) {
                last = Some((written, file));
            }
        }
        let (written, file) =
            last.ok_or_else(|| miette!("{}: no results", place.directory.display()))?;
        let (_, _, checkpoint) = latest_valid(&place.directory)?
            .checkpoint
            .ok_or_else(|| miette!("{}: no checkpoint", place.directory.display()))?;
        let hardware = file.parameter("hardware").unwrap_or_default();
        let hardware: Value = serde_json::from_str(&hardware).unwrap_or_default();
        let machine = ["GPU", "processor"].iter().find_map(|key| hardware[key].as_str());
        let ranks = hardware["ranks"].as_u64().filter(|&ranks| ranks > 1);
        let ranks = ranks.map_or(String::new(), |ranks| format!(", {ranks} ranks"));
        let date = Timestamp::try_from(written).into_diagnostic()?.strftime("%Y-%m-%d %H:%M");
        Ok(RunRecord {
            case: place.name(),
            particles: place.plan()?.system.particle_count(),
            steps: place.steps()?,
            seconds: checkpoint.get_json("seconds")?,
            machine: machine.unwrap_or("unknown").to_owned() + &ranks,
            version: file.parameter("version").unwrap_or_default(),
            date: date.to_string(),
        })
    }
}
