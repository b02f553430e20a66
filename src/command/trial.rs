//! `supercool check --trial`: how long a configuration would run.
use std::fmt::Write;
use std::time::Duration;

use super::start::at_its_line;
use crate::announce::duration;
use crate::config::Loaded;
use crate::engine::report::DeviceReport;
use crate::plan::Plan;
use crate::run::trial::{Trial, trial};

/// Of all stages together.
const TIME: Duration = Duration::from_secs(1);
/// Of a stage, at least.
const LEAST: Duration = Duration::from_millis(200);

/// Runs the trial; its report, in plain text.
///
/// # Errors
/// If a run could not start, or not take its first steps.
pub fn of(loaded: &Loaded) -> miette::Result<String> {
    let stages = loaded.plan.stages.len().max(1) as u32;
    let found = trial(&loaded.plan, LEAST.max(TIME / stages))
        .map_err(|error| at_its_line(error, loaded))?;
    Ok(report(&loaded.plan, &found))
}

fn report(plan: &Plan, trial: &Trial) -> String {
    let hardware = &trial.engine.hardware;
    let device = match &hardware.device {
        DeviceReport::Processor(processor) => {
            format!("{}, {} threads", processor.processor, processor.threads)
        }
        DeviceReport::Gpu(gpu) => gpu.name.clone(),
    };
    let mut text = format!("\ntime, by a trial on {} ({device})\n", hardware.engine);
    let mut all = 0.0;
    for (stage, speed) in plan.stages.iter().zip(&trial.speeds) {
        let Some(speed) = speed else { continue };
        let seconds = stage.steps as f64 / speed;
        all += seconds;
        let _ = writeln!(text, "  {}: {} at {}", stage.name, duration(seconds), rate(*speed));
    }
    let _ = writeln!(text, "  {} in all, without setup and minima", duration(all));
    text
}

fn rate(steps_per_second: f64) -> String {
    match steps_per_second < 10.0 {
        true => format!("{steps_per_second:.2} steps/s"),
        false => format!("{steps_per_second:.0} steps/s"),
    }
}
