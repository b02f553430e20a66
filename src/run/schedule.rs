use crate::plan::{CorrelationPlan, StagePlan};

/// When a stage measures what; steps are counted from its start.
#[derive(Clone, Debug)]
pub struct Schedule {
    steps: u64,
    thermodynamics: Option<u64>,
    frames: Option<u64>,
    /// Intervals of the structure, the bond-orientational order, inherent structures and every correlation.
    samples: Vec<u64>,
    /// Intervals of the correlations of the stress.
    stress: Vec<u64>,
}

impl Schedule {
    /// `correlations`: those whose samples are taken here.
    pub fn new<'a>(
        stage: &StagePlan,
        correlations: impl Iterator<Item = &'a CorrelationPlan> + Clone,
    ) -> Self {
        let structure = stage.observe.structure.iter().map(|structure| structure.every);
        let bond_order = stage.observe.bond_order.iter().map(|order| order.every);
        let inherent = stage.observe.inherent_structures.iter().map(|settings| settings.every);
        let of_stress = correlations
            .clone()
            .filter(|plan| plan.observables.iter().any(|observable| observable.is_of_stress()));
        let correlations = correlations.map(|correlation| correlation.every);
        Schedule {
            steps: stage.steps,
            thermodynamics: stage.observe.thermodynamics,
            frames: stage.observe.trajectory,
            samples: structure.chain(bond_order).chain(inherent).chain(correlations).collect(),
            stress: of_stress.map(|correlation| correlation.every).collect(),
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

    /// Whether what is sampled includes the stress tensor.
    pub fn wants_stress(&self, step: u64) -> bool {
        self.stress.iter().any(|&every| step.is_multiple_of(every))
    }

    pub fn wants_frame(&self, step: u64) -> bool {
        self.frames.is_some_and(|every| step.is_multiple_of(every))
    }

    /// A frame, or a sample of an observable.
    pub fn wants_snapshot(&self, step: u64) -> bool {
        self.wants_frame(step) || self.samples.iter().any(|&every| step.is_multiple_of(every))
    }
}
