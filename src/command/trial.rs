//! `supercool check --trial`: how long a configuration would run.
use std::fmt::Write;
use std::time::Duration;

use super::start::at_its_line;
use crate::announce::duration;
use crate::config::Loaded;
use crate::engine::report::DeviceReport;
use crate::plan::Plan;
use crate::run::trial::{Speed, Trial, trial};

/// Of all stages together.
const TIME: Duration = Duration::from_secs(1);
/// Of a stage, at least.
const LEAST: Duration = Duration::from_millis(200);
/// Ratio of the speeds of two quarters of the time up to which they count as one.
const STEADY: f64 = 1.25;

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
        let seconds = stage.steps as f64 / speed.mean;
        all += seconds;
        let unsteady = unsteady(speed);
        let _ = writeln!(
            text,
            "  {}: {} at {}{unsteady}",
            stage.name,
            duration(seconds),
            rate(speed.mean)
        );
    }
    let _ = writeln!(text, "  {} in all, without setup and minima", duration(all));
    text
}

/// What the speed has varied by, where that is too much for a time to be expected.
fn unsteady(speed: &Speed) -> String {
    if speed.fastest <= STEADY * speed.slowest {
        return String::new();
    }
    let (slowest, fastest) = (rate(speed.slowest), rate(speed.fastest));
    let slowest = slowest.trim_end_matches(" steps/s");
    format!(
        ", unsteady: {slowest} to {fastest}, as beside other programs or where samples are rare"
    )
}

fn rate(steps_per_second: f64) -> String {
    match steps_per_second < 10.0 {
        true => format!("{steps_per_second:.2} steps/s"),
        false => format!("{steps_per_second:.0} steps/s"),
    }
}
