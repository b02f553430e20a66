//! Whether a stage is long enough for the liquid to relax, where earlier results say how long that takes.
use std::path::{Path, PathBuf};

use supercool_analysis::analyze::set_temperature;
use supercool_analysis::read_consistent;
use supercool_analysis::results::ResultsFile;
use supercool_analysis::slow::relaxation_time;

use crate::plan::{InitialPlan, Plan};

/// Relaxation times that a stage should have: flags of `analyze` are the same.
const ENOUGH: f64 = 10.0;
/// Temperatures that differ by less are the same.
const SAME: f64 = 1e-6;

/// What there is to say of a stage that measures something, if it is shorter than ten relaxation times of an earlier stage, whose
/// results lie in `directory`, or of the results beside the file that the run starts from. Those of the same temperature count, and
/// of higher ones, at which a liquid relaxes faster. Of a single system only.
pub fn of_stage(plan: &Plan, stage: usize, directory: &Path) -> Option<String> {
    let this = &plan.stages[stage];
    let measures = this.observe.thermodynamics.is_some() || !this.correlations.is_empty();
    let as_json = serde_json::to_value(plan).ok().filter(|_| measures && plan.systems() == 1)?;
    let temperature = set_temperature(&as_json, &this.name)?;
    let earlier = plan.stages[..stage].iter();
    let mut files: Vec<PathBuf> = earlier
        .filter(|earlier| !earlier.correlations.is_empty())
        .map(|earlier| directory.join(format!("{}.h5", earlier.name)))
        .collect();
    if let InitialPlan::File { path, .. } = &plan.system.initial {
        files.push(path.with_extension("h5"));
    }
    let known = files.iter().filter(|file| file.is_file()).filter_map(|file| Known::of(file));
    let slow = known
        .filter(|known| known.temperature >= temperature * (1.0 - SAME))
        .max_by(|a, b| a.time.total_cmp(&b.time))?;
    let timestep = plan.timestep_of(stage);
    let length = this.steps as f64 * timestep;
    let Known { time, temperature: of, file } = &slow;
    (length < ENOUGH * time).then(|| {
        let flag = if length < *time { "shorter-than-tau" } else { "shorter-than-10-tau" };
        format!(
            "stage \"{}\" ({flag}): it takes a time of {length:.4}, {:.2} relaxation times: by {} at T = {of:.4} F_s or the \
             self-overlap falls to 1/e after {time:.3} or later; averages over so few have large errors or none; ten of them \
             are {:.0} steps",
            this.name,
            length / time,
            file.display(),
            (ENOUGH * time / timestep).ceil(),
        )
    })
}

/// What a results file says.
struct Known<'a> {
    time: f64,
    /// That was set.
    temperature: f64,
    file: &'a Path,
}

impl<'a> Known<'a> {
    /// `None` if it says nothing of it, or cannot be read: others name what is wrong with it.
    fn of(path: &'a Path) -> Option<Self> {
        let read = || -> supercool_analysis::Result<Option<(f64, f64)>> {
            let file = ResultsFile::open(path)?;
            let stage = file.parameter("stage").unwrap_or_default();
            let temperature = file.plan().and_then(|plan| set_temperature(&plan, &stage));
            Ok(relaxation_time(&file.dynamics()?).zip(temperature))
        };
        let (time, temperature) = read_consistent(path, read).ok().flatten()?;
        Some(Known { time, temperature, file: path })
    }
}
