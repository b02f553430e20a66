//! How far a run is: a bar on a terminal, lines at growing intervals in a log.
use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;

use crate::announce::{self, duration};
use crate::plan::Plan;

/// The progress bar or its lines, and how many steps fit into a time.
pub struct Progress {
    bar: ProgressBar,
    stages: Stages,
    /// Where there is no terminal for the bar.
    log: Option<Log>,
    /// Running mean of the seconds that a step takes.
    seconds_per_step: Option<f64>,
    /// Steps that are taken while it is not known.
    first_steps: u64,
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
        let log = (!quiet && !stderr().is_terminal()).then(|| Log::new(step));
        Progress { bar, stages: Stages::new(plan), log, seconds_per_step: None, first_steps: 10 }
    }

    /// Steps that take about this long; few until the speed is known.
    pub fn steps_in(&self, time: Duration) -> u64 {
        match self.seconds_per_step {
            Some(seconds) => ((time.as_secs_f64() / seconds) as u64).max(1),
            None => self.first_steps,
        }
    }

    /// A stage begins; steps of strain take longer than others.
    pub fn begin(&mut self, is_strain: bool) {
        let first_steps = if is_strain { 1 } else { 10 };
        if std::mem::replace(&mut self.first_steps, first_steps) != first_steps {
            self.seconds_per_step = None;
        }
    }

    pub fn took(&mut self, steps: u64, time: Duration) {
        let now = (time.as_secs_f64() / steps as f64).max(1e-9);
        self.seconds_per_step = Some(match self.seconds_per_step {
            Some(mean) => 0.7 * mean + 0.3 * now,
            None => now,
        });
    }

    pub fn at(&mut self, step: u64, stage: usize) {
        self.bar.set_position(step);
        if self.bar.prefix() != self.stages.names[stage] {
            self.bar.set_prefix(self.stages.names[stage].clone());
        }
        if let Some(log) = &mut self.log
            && let Some(rate) = log.rate_if_due(step, log.started.elapsed())
        {
            let line = self.stages.line(step, stage, rate, Timestamp::now());
            tracing::info!(target: announce::TARGET, "{line}");
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

/// Time to the first line.
const FIRST: Duration = Duration::from_secs(10);
/// Longest time between lines.
const LONGEST: Duration = Duration::from_secs(600);

/// When lines are due: each interval is twice the one before, up to the longest.
struct Log {
    started: Instant,
    /// Since the start.
    next: Duration,
    interval: Duration,
    /// Step and time since the start of the line before.
    last: (u64, Duration),
}

impl Log {
    fn new(step: u64) -> Self {
        Log { started: Instant::now(), next: FIRST, interval: FIRST, last: (step, Duration::ZERO) }
    }

    /// Steps in a second since the line before, if the next one is due at a time since the start.
    fn rate_if_due(&mut self, step: u64, time: Duration) -> Option<f64> {
        if time < self.next {
            return None;
        }
        let (step_before, time_before) = std::mem::replace(&mut self.last, (step, time));
        self.interval = (2 * self.interval).min(LONGEST);
        self.next = time + self.interval;
        Some((step - step_before) as f64 / (time - time_before).as_secs_f64())
    }
}

/// Names and steps of the stages.
struct Stages {
    names: Vec<String>,
    /// Step of the run at which each begins, and at which the last one ends.
    first_steps: Vec<u64>,
}

impl Stages {
    fn new(plan: &Plan) -> Self {
        let first_steps = (0..plan.stages.len()).map(|stage| plan.first_step(stage));
        Stages {
            names: plan.stages.iter().map(|stage| stage.name.clone()).collect(),
            first_steps: first_steps.chain([plan.total_steps()]).collect(),
        }
    }

    /// A line of the log; the end is expected as if all steps took what those did of which this is the rate.
    fn line(&self, step: u64, stage: usize, rate: f64, now: Timestamp) -> String {
        let total = self.first_steps[self.names.len()];
        let begin = self.first_steps[stage];
        let (done, steps) = (step - begin, self.first_steps[stage + 1] - begin);
        let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
        let seconds = (total - step) as f64 / rate;
        let left = Duration::try_from_secs_f64(seconds).ok();
        let end = left.and_then(|left| now.checked_add(left).ok()).map_or_else(
            || "end unknown".to_owned(),
            |end| format!("{} left, end {}", duration(seconds), end.strftime("%Y-%m-%d %H:%M UTC")),
        );
        format!(
            "stage {} ({} of {}): step {done} of {steps} ({:.1} %), run {:.1} %, {} steps/s, {end}",
            self.names[stage],
            stage + 1,
            self.names.len(),
            percent(done, steps),
            percent(step, total),
            if rate < 10.0 { format!("{rate:.2}") } else { format!("{rate:.0}") },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_at_doubling_intervals_up_to_ten_minutes() {
        let mut log = Log::new(500);
        let mut due =
            |second: &u64| log.rate_if_due(500 + 7 * second, Duration::from_secs(*second));
        let times: Vec<u64> = (0..3000)
            .filter(|second| match due(second) {
                Some(rate) => {
                    assert!((rate - 7.0).abs() < 1e-12, "{rate}");
                    true
                }
                None => false,
            })
            .collect();
        assert_eq!(times, [10, 30, 70, 150, 310, 630, 1230, 1830, 2430]);
    }

    #[test]
    fn a_line_has_the_stage_the_speed_and_the_end() {
        let stages = Stages {
            names: vec!["melt".into(), "production".into()],
            first_steps: vec![0, 2000, 10_000],
        };
        let now: Timestamp = "2030-01-31T23:59:30Z".parse().unwrap();
        assert_eq!(
            stages.line(4000, 1, 100.0, now),
            "stage production (2 of 2): step 2000 of 8000 (25.0 %), run 40.0 %, 100 steps/s, 1 min 0 s left, \
             end 2030-02-01 00:00 UTC"
        );
        let line = stages.line(1, 0, 0.0, now);
        assert!(line.ends_with("(0.1 %), run 0.0 %, 0.00 steps/s, end unknown"), "{line}");
    }
}
