//! The complete state, for checkpoints.
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Correlations, Sampler};
use crate::observable::accumulator::BlockAverage;
use crate::observable::dynamics::sampled::HeldSamples;
use crate::observable::dynamics::stress_correlator::StressCorrelator;
use crate::observable::sample::Sample;
use crate::observable::{ObservableError, StateArrays, state_array};
use crate::plan::CorrelationPlan;

/// The small part of a saved state; samples and averages go to arrays.
#[derive(Serialize, Deserialize)]
struct SavedState {
    plan: CorrelationPlan,
    samples: u64,
    first_step: Option<u64>,
    finished: bool,
    /// Sample indices in the block of every level; from given time origins those of the samples at origins that have lags to come.
    entries: Vec<Vec<u64>>,
}

const AVERAGES: &str = "averages";
/// Not in checkpoints of versions that did not keep them.
const FIRST: &str = "first";
const STRESS: &str = "stress";
/// In boxes with a tilt.
const MOTION: &str = "motion";

fn sample_name(index: u64) -> String {
    format!("sample.{index}")
}

impl Correlations {
    fn averages(&self) -> impl Iterator<Item = &BlockAverage> {
        self.channels.iter().flat_map(|channel| channel.averages.iter().flatten().flatten())
    }

    fn averages_mut(&mut self) -> impl Iterator<Item = &mut BlockAverage> {
        self.channels.iter_mut().flat_map(|channel| channel.averages.iter_mut().flatten().flatten())
    }

    /// The complete state, for a checkpoint; `held`: the samples that an engine holds for it.
    ///
    /// # Panics
    /// Unless `held` is given where an engine keeps the samples.
    pub fn save(&self, held: Option<&HeldSamples>) -> (Value, StateArrays) {
        assert_eq!(held.is_some(), self.sampler == Sampler::Engine, "samples of an engine");
        let here = || match &self.frames {
            Some(frames) => {
                (frames.samples(), vec![frames.held().map(|(index, _)| index).collect()])
            }
            None => (self.scheme.samples(), self.scheme.entries()),
        };
        let (samples, entries) =
            held.map_or_else(here, |held| (held.samples, held.entries.clone()));
        let state = SavedState {
            plan: self.plan.clone(),
            samples,
            first_step: held.map_or(self.first_step, |held| held.first_step),
            finished: self.finished,
            entries,
        };
        let (mut averages, mut first) = (Vec::new(), Vec::new());
        for average in self.averages() {
            average.save(&mut averages);
            average.save_first(&mut first);
        }
        let stress = self.stress.as_ref().map(StressCorrelator::save).unwrap_or_default();
        let mut arrays = vec![
            (AVERAGES.to_string(), averages),
            (FIRST.to_string(), first),
            (STRESS.to_string(), stress),
        ];
        if let Some(motion) = &self.motion {
            arrays.push((MOTION.to_string(), motion.save()));
        }
        for (index, sample) in self.scheme.held() {
            arrays.push((sample_name(index), sample.to_array()));
        }
        for (index, sample) in self.frames.iter().flat_map(|frames| frames.held()) {
            arrays.push((sample_name(index), sample.to_array()));
        }
        for (index, sample) in held.iter().flat_map(|held| &held.held) {
            let box_ = &self.context.simulation_box;
            let sample = sample.to_sample(&self.order, &self.contents, box_);
            arrays.push((sample_name(*index), sample.to_array()));
        }
        (serde_json::to_value(state).expect("plain data"), arrays)
    }

    /// Goes on from a state saved with the same plan and context.
    ///
    /// # Errors
    /// If the state belongs to another plan or system or is damaged; `self` is unusable then.
    pub fn restore(
        &mut self,
        state: &Value,
        arrays: &[(String, Vec<f64>)],
    ) -> Result<(), ObservableError> {
        let wrong = |what: &str| ObservableError::State(format!("correlations: {what}"));
        let state = SavedState::deserialize(state).map_err(|error| wrong(&error.to_string()))?;
        if state.plan != self.plan {
            return Err(wrong("saved with another plan"));
        }
        let mut indices: Vec<u64> = state.entries.iter().flatten().copied().collect();
        indices.sort_unstable();
        indices.dedup();
        let mut held = Vec::new();
        for index in indices {
            let array = state_array(arrays, &sample_name(index))?;
            let sample = Sample::from_array(array, &self.order, &self.contents)
                .ok_or_else(|| wrong("samples of another number of particles"))?;
            held.push((index, Arc::new(sample)));
        }
        let restored = match &mut self.frames {
            Some(frames) => frames.restore(state.samples, held),
            None => self.scheme.restore(state.samples, &state.entries, &held),
        };
        if !restored {
            return Err(wrong("blocks that belong to another scheme"));
        }
        let mut averages = state_array(arrays, AVERAGES)?;
        let mut first = state_array(arrays, FIRST).ok();
        for average in self.averages_mut() {
            average.restore(&mut averages)?;
            if let Some(first) = &mut first {
                average.restore_first(first)?;
            }
        }
        if !averages.is_empty() || first.is_some_and(|first| !first.is_empty()) {
            return Err(wrong("more averages than expected"));
        }
        let stress = state_array(arrays, STRESS)?;
        let restored = match &mut self.stress {
            Some(correlator) => correlator.restore(state.samples, stress),
            None => stress.is_empty(),
        };
        if !restored {
            return Err(wrong("a damaged shear stress"));
        }
        if let Some(motion) = &mut self.motion
            && !motion.restore(state_array(arrays, MOTION)?, self.order.len())
        {
            return Err(wrong("a flow of another number of particles"));
        }
        self.first_step = state.first_step;
        self.finished = state.finished;
        Ok(())
    }
}
