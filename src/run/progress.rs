use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::plan::Plan;

/// The progress bar, and how many steps fit into a time.
pub struct Progress {
    bar: ProgressBar,
    stage_names: Vec<String>,
    /// Running mean of the seconds that a step takes.
    seconds_per_step: Option<f64>,
}

impl Progress {
    pub fn new(plan: &Plan, step: u64, quiet: bool) -> Self {
        let bar = ProgressBar::new(plan.total_steps());
        if quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = "{prefix:14} {wide_bar} {percent:>3} %  {pos}/{len} steps  {per_sec}  {eta} left  {msg}";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        bar.set_position(step);
        bar.reset_eta();
        let stage_names = plan.stages.iter().map(|stage| stage.name.clone()).collect();
        Progress { bar, stage_names, seconds_per_step: None }
    }

    /// Steps that take about this long; few until the speed is known.
    pub fn steps_in(&self, time: Duration) -> u64 {
        match self.seconds_per_step {
            Some(seconds) => ((time.as_secs_f64() / seconds) as u64).max(1),
            None => 10,
        }
    }

    pub fn took(&mut self, steps: u64, time: Duration) {
        let now = (time.as_secs_f64() / steps as f64).max(1e-9);
        self.seconds_per_step = Some(match self.seconds_per_step {
            Some(mean) => 0.7 * mean + 0.3 * now,
            None => now,
        });
    }

    pub fn at(&self, step: u64, stage: usize) {
        self.bar.set_position(step);
        if self.bar.prefix() != self.stage_names[stage] {
            self.bar.set_prefix(self.stage_names[stage].clone());
        }
    }

    pub fn state(&self, temperature: f64, total_energy: f64) {
        self.bar.set_message(format!("T = {temperature:.4}  E/N = {total_energy:.5}"));
    }

    pub fn abandon(&self) {
        self.bar.abandon();
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
