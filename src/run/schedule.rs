use crate::plan::StagePlan;

/// When a stage measures what; steps are counted from its start.
#[derive(Clone, Debug)]
pub struct Schedule {
    steps: u64,
    thermodynamics: Option<u64>,
    frames: Option<u64>,
    /// Intervals of the structure and of every correlation.
    samples: Vec<u64>,
}

impl Schedule {
    pub fn new(stage: &StagePlan) -> Self {
        let structure = stage.observe.structure.iter().map(|structure| structure.every);
        let correlations = stage.correlations.iter().map(|correlation| correlation.every);
        Schedule {
            steps: stage.steps,
            thermodynamics: stage.observe.thermodynamics,
            frames: stage.observe.trajectory,
            samples: structure.chain(correlations).collect(),
        }
    }

    /// First step after `step` at which something is due; the end of the stage is always one.
    pub fn next_event(&self, step: u64) -> u64 {
        let intervals = [self.thermodynamics, self.frames].into_iter().flatten();
        intervals
            .chain(self.samples.iter().copied())
            .map(|every| (step / every + 1) * every)
            .min()
            .unwrap_or(u64::MAX)
            .min(self.steps)
    }

    pub fn wants_thermodynamics(&self, step: u64) -> bool {
        self.thermodynamics.is_some_and(|every| step.is_multiple_of(every))
    }

    pub fn wants_frame(&self, step: u64) -> bool {
        self.frames.is_some_and(|every| step.is_multiple_of(every))
    }

    /// A frame, or a sample of an observable.
    pub fn wants_snapshot(&self, step: u64) -> bool {
        self.wants_frame(step) || self.samples.iter().any(|&every| step.is_multiple_of(every))
    }
}
