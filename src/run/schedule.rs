use crate::observable::dynamics::frames::OriginGrid;
use crate::observable::dynamics::source::is_of_stress;
use crate::plan::{CorrelationPlan, ObservePlan, StagePlan};

/// When a stage measures what; steps are counted from its start.
#[derive(Clone, Debug)]
pub struct Schedule {
    steps: u64,
    observe: ObservePlan,
    /// Intervals of the structure, the bond-orientational and local order, inherent structures, the configurational temperature and
    /// every correlation.
    samples: Vec<u64>,
    /// Of propensities: ascending.
    propensities: Vec<u64>,
    /// Of the correlations from given time origins, and of inherent structures at given times: ascending.
    listed: Vec<u64>,
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
        let local_order = stage.observe.local_order.iter().map(|order| order.every);
        let inherent = stage.observe.inherent_every();
        let configurational = stage.observe.configurational_temperature.into_iter();
        let of_stress = correlations
            .clone()
            .filter(|plan| plan.observables.iter().any(|&observable| is_of_stress(observable)));
        let from_origins = |plan: &CorrelationPlan| {
            let grid = OriginGrid::of(plan, stage.steps)?;
            Some(match stage.shear {
                Some(_) => grid.times_in_flow(plan.every),
                None => grid.times(None),
            })
        };
        let times = correlations.clone().filter_map(from_origins);
        let mut listed: Vec<u64> = times.flat_map(|times| times.steps().to_vec()).collect();
        listed.extend(&stage.observe.inherent_at);
        listed.sort_unstable();
        listed.dedup();
        let correlations = correlations.filter(|correlation| correlation.origins.is_empty());
        let correlations = correlations.map(|correlation| correlation.every);
        Schedule {
            listed,
            steps: stage.steps,
            observe: stage.observe.clone(),
            samples: structure
                .chain(bond_order)
                .chain(local_order)
                .chain(inherent)
                .chain(configurational)
                .chain(correlations)
                .collect(),
            propensities: stage
                .propensity
                .as_ref()
                .map_or_else(Vec::new, |plan| plan.steps.clone()),
            stress: of_stress.map(|correlation| correlation.every).collect(),
        }
    }

    /// First step after `step` at which something is due; the end of the stage is always one.
    pub fn next_event(&self, step: u64) -> u64 {
        let intervals = self.observe.thermodynamics.into_iter();
        intervals
            .chain(self.samples.iter().copied())
            .map(|every| (step / every + 1) * every)
            .chain(self.observe.next_frame(step))
            .chain(next_of(&self.propensities, step))
            .chain(next_of(&self.listed, step))
            .min()
            .unwrap_or(u64::MAX)
            .min(self.steps)
    }

    pub fn wants_thermodynamics(&self, step: u64) -> bool {
        self.observe.thermodynamics.is_some_and(|every| step.is_multiple_of(every))
    }

    /// Whether what is sampled includes the stress tensor.
    pub fn wants_stress(&self, step: u64) -> bool {
        self.stress.iter().any(|&every| step.is_multiple_of(every))
    }

    pub fn wants_frame(&self, step: u64) -> bool {
        self.observe.wants_frame(step)
    }

    /// A frame, or a sample of an observable.
    pub fn wants_snapshot(&self, step: u64) -> bool {
        self.wants_frame(step)
            || self.samples.iter().any(|&every| step.is_multiple_of(every))
            || self.wants_propensities(step)
            || self.listed.binary_search(&step).is_ok()
    }

    /// Propensities, or the configurations that they start from.
    fn wants_propensities(&self, step: u64) -> bool {
        let is_first = step == 0 && !self.propensities.is_empty();
        is_first || self.propensities.binary_search(&step).is_ok()
    }
}

/// The first of ascending steps behind `step`.
fn next_of(steps: &[u64], step: u64) -> Option<u64> {
    steps.get(steps.partition_point(|&listed| listed <= step)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{PropensityObservable, PropensityPlan};

    fn stage(observe: ObservePlan) -> StagePlan {
        StagePlan {
            swap: None,
            barostat: None,
            name: "production".into(),
            steps: 200,
            timestep: None,
            minimize: None,
            rescale: None,
            strain: None,
            shear: None,
            thermostat: None,
            set_total_energy: None,
            draw_velocities: false,
            observe,
            correlations: Vec::new(),
            propensity: None,
        }
    }

    #[test]
    fn propensities_have_times_of_their_own_and_start_with_the_stage() {
        let observe = ObservePlan { thermodynamics: Some(100), ..ObservePlan::nothing() };
        let propensity = PropensityPlan {
            steps: vec![3, 100, 101],
            observables: vec![PropensityObservable::Displacement],
            wavenumber: None,
            overlap_length: None,
            bonds: None,
            inherent: None,
        };
        let stage = StagePlan { propensity: Some(propensity), ..stage(observe) };
        let schedule = Schedule::new(&stage, std::iter::empty());
        let events = std::iter::successors(Some(0), |&step| Some(schedule.next_event(step)));
        assert_eq!(events.take(5).collect::<Vec<_>>(), [0, 3, 100, 101, 200]);
        let wanted: Vec<u64> = (0..=200).filter(|&step| schedule.wants_snapshot(step)).collect();
        assert_eq!(wanted, [0, 3, 100, 101]);
    }

    #[test]
    fn frames_double_behind_each_of_those_at_equal_intervals() {
        let observe = ObservePlan {
            trajectory: Some(100),
            trajectory_doubling_from: Some(3),
            ..ObservePlan::nothing()
        };
        let stage = stage(observe);
        let schedule = Schedule::new(&stage, std::iter::empty());
        let expected = [0, 3, 6, 12, 24, 48, 96, 100, 103, 106, 112, 124, 148, 196, 200];
        let wanted: Vec<u64> = (0..=200).filter(|&step| schedule.wants_frame(step)).collect();
        assert_eq!(wanted, expected);
        let events = std::iter::successors(Some(0), |&step| Some(schedule.next_event(step)));
        assert_eq!(events.take(expected.len()).collect::<Vec<_>>(), expected);
        assert_eq!(stage.observe.frames(stage.steps), expected.len() as u64);
    }

    #[test]
    fn frames_at_ratios_are_counted_also_where_the_interval_does_not_divide_the_stage() {
        for (doubling, offsets) in [(None, vec![1, 2, 5, 10, 22, 46]), (Some(3), vec![])] {
            let observe = ObservePlan {
                trajectory: Some(60),
                trajectory_doubling_from: doubling,
                trajectory_offsets: offsets,
                ..ObservePlan::nothing()
            };
            let stage = stage(observe);
            let schedule = Schedule::new(&stage, std::iter::empty());
            for steps in [200, 180, 181, 199, 61, 60] {
                let frames = (0..=steps).filter(|&step| schedule.wants_frame(step)).count() as u64;
                assert_eq!(stage.observe.frames(steps), frames, "{steps}");
            }
            let events = std::iter::successors(Some(0), |&step| Some(schedule.next_event(step)));
            let met: Vec<u64> = events.take_while(|&step| step < 200).collect();
            let wanted: Vec<u64> = (0..200).filter(|&step| schedule.wants_frame(step)).collect();
            assert_eq!(met, wanted);
        }
    }

    #[test]
    fn listed_frames_add_to_those_at_equal_intervals() {
        let listed = ObservePlan { trajectory_at: vec![0, 3, 100, 101], ..ObservePlan::nothing() };
        let both = ObservePlan { trajectory: Some(50), ..listed.clone() };
        for (observe, expected) in
            [(listed, &[0, 3, 100, 101][..]), (both, &[0, 3, 50, 100, 101, 150, 200])]
        {
            let stage = stage(observe);
            let schedule = Schedule::new(&stage, std::iter::empty());
            let wanted: Vec<u64> = (0..=200).filter(|&step| schedule.wants_frame(step)).collect();
            assert_eq!(wanted, expected);
            let events = std::iter::successors(Some(0), |&step| Some(schedule.next_event(step)));
            let met: Vec<u64> = events.take(expected.len()).collect();
            assert_eq!(met, expected);
            assert_eq!(stage.observe.frames(stage.steps), expected.len() as u64);
        }
    }
}
