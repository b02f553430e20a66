use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::accumulator::BlockAverage;
use super::blocking::{BlockingScheme, Due};
use super::correlation::{self, Correlation};
use super::sample::{CHUNK, PairChunk, ParticleOrder, Sample};
use super::series::{Axis, AxisName};
use super::{ObservableError, SampleContext, Series, SeriesLayout, StateArrays, state_array};
use crate::plan::CorrelationPlan;
use crate::system::Snapshot;

/// All time correlations of one blocking scheme over one stage, for every species.
///
/// Lags that the stage is too short for are left out. The number of samples of a value is that of its
/// time origins times the particles of the species.
pub struct Correlations {
    plan: CorrelationPlan,
    context: SampleContext,
    order: ParticleOrder,
    observables: Vec<Box<dyn Correlation>>,
    with_velocity: bool,
    /// In sampling intervals, ascending.
    lags: Vec<u64>,
    scheme: BlockingScheme<Sample>,
    /// By observable, species, shell, lag.
    averages: Vec<Vec<Vec<Vec<BlockAverage>>>>,
    first_step: Option<u64>,
    finished: bool,
}

/// The small part of a saved state; samples and averages go to arrays.
#[derive(Serialize, Deserialize)]
struct SavedState {
    plan: CorrelationPlan,
    samples: u64,
    first_step: Option<u64>,
    finished: bool,
    /// Sample indices in the block of every level.
    entries: Vec<Vec<u64>>,
}

const AVERAGES: &str = "averages";

fn sample_name(index: u64) -> String {
    format!("sample.{index}")
}

impl Correlations {
    /// # Errors
    /// For a plan that cannot be carried out, or particles that do not match the species.
    pub fn new(plan: &CorrelationPlan, context: &SampleContext) -> Result<Self, ObservableError> {
        let positive = "at least 1";
        if plan.every == 0 {
            return Err(ObservableError::value("correlation.every", 0, positive));
        }
        if plan.block_size < 2 {
            let key = "correlation.block_size";
            return Err(ObservableError::value(key, plan.block_size, "at least 2"));
        }
        if plan.levels == 0 {
            return Err(ObservableError::value("correlation.levels", 0, positive));
        }
        let observables = correlation::build(plan, context)?;
        let scheme = BlockingScheme::new(plan.block_size, plan.levels);
        let longest = context.stage_steps / plan.every;
        let mut lags = scheme.lags();
        lags.truncate(lags.partition_point(|&lag| lag <= longest));
        let averages = observables
            .iter()
            .map(|observable| {
                let average = BlockAverage::new(observable.components());
                let shells = observable.shells().map_or(1, <[_]>::len);
                vec![vec![vec![average; lags.len()]; shells]; context.species.len()]
            })
            .collect();
        Ok(Correlations {
            order: ParticleOrder::new(context)?,
            with_velocity: observables.iter().any(|observable| observable.needs_velocity()),
            observables,
            lags,
            scheme,
            averages,
            first_step: None,
            finished: false,
            plan: plan.clone(),
            context: context.clone(),
        })
    }

    /// Largest memory of the samples in the blocks, in bytes.
    pub fn memory_estimate(plan: &CorrelationPlan, context: &SampleContext) -> u64 {
        let with_velocity =
            plan.observables.contains(&crate::plan::DynamicObservable::VelocityAutocorrelation);
        let intervals = context.stage_steps / plan.every.max(1);
        let reached = |level: &usize| {
            (plan.block_size as u64)
                .checked_pow(*level as u32)
                .is_some_and(|interval| interval <= intervals.max(1))
        };
        let levels = (0..plan.levels).take_while(reached).count();
        (levels * plan.block_size * context.species_of.len()) as u64
            * Sample::bytes_per_particle(with_velocity)
    }

    /// Whether a sample has to be taken after this many steps of the stage.
    pub fn is_due(&self, step_in_stage: u64) -> bool {
        !self.finished && step_in_stage.is_multiple_of(self.plan.every)
    }

    /// Takes the next sample; they have to come at every step for which [`is_due`](Self::is_due) holds.
    ///
    /// # Panics
    /// If a sample is missing or comes after [`finish`](Self::finish), or has another number of particles.
    pub fn sample(&mut self, snapshot: &Snapshot) {
        assert!(!self.finished, "a sample after the end of the stage");
        assert_eq!(snapshot.position.len(), self.order.len(), "number of particles");
        let first = *self.first_step.get_or_insert(snapshot.step);
        let expected = first + self.scheme.samples() * self.plan.every;
        assert_eq!(snapshot.step, expected, "step of the next sample");
        let sample = Sample::new(snapshot, &self.order, self.with_velocity);
        let due = self.scheme.push(sample);
        self.correlate(&due);
    }

    /// Correlates what the blocks still hold, at the end of the stage.
    pub fn finish(&mut self) {
        let due = self.scheme.finish();
        self.correlate(&due);
        self.finished = true;
    }

    /// Adds one time origin for every lag in the blocks that are due.
    fn correlate(&mut self, due: &[Due<Sample>]) {
        let (scheme, lags) = (&self.scheme, &self.lags);
        let pairs: Vec<(usize, &Sample, &Sample)> = due
            .iter()
            .flat_map(|Due { level, entries }| {
                let origin = &*entries[0];
                entries.iter().enumerate().filter_map(move |(entry, later)| {
                    let lag = scheme.lag_index(*level, entry)?;
                    (lag < lags.len()).then_some((lag, origin, &**later))
                })
            })
            .collect();
        let widths: Vec<usize> =
            self.observables.iter().map(|observable| observable.width()).collect();
        let width: usize = widths.iter().sum();
        let chunks = self.order.chunks(CHUNK);
        if pairs.is_empty() || width == 0 || chunks.is_empty() {
            return;
        }
        let edges = self.context.simulation_box.padded_edges();
        let mut partial_sums = vec![0.0; pairs.len() * chunks.len() * width];
        partial_sums.par_chunks_mut(width).enumerate().for_each_init(
            PairChunk::new,
            |chunk, (job, mut sums)| {
                let (_, origin, later) = pairs[job / chunks.len()];
                let (_, places) = &chunks[job % chunks.len()];
                chunk.load(origin, later, places.clone(), edges);
                for (observable, &width) in self.observables.iter().zip(&widths) {
                    let (own, rest) = sums.split_at_mut(width);
                    observable.add(chunk, own);
                    sums = rest;
                }
            },
        );
        let mut sums = vec![vec![0.0; width]; self.context.species.len()];
        for (&(lag, ..), of_pair) in pairs.iter().zip(partial_sums.chunks(chunks.len() * width)) {
            sums.iter_mut().for_each(|sums| sums.fill(0.0));
            for ((species, _), of_chunk) in chunks.iter().zip(of_pair.chunks(width)) {
                sums[*species].iter_mut().zip(of_chunk).for_each(|(sum, part)| *sum += part);
            }
            for (species, sums) in sums.iter_mut().enumerate() {
                let count = self.order.count(species);
                if count == 0 {
                    continue;
                }
                sums.iter_mut().for_each(|sum| *sum /= count as f64);
                let mut sums = sums.as_slice();
                for (observable, averages) in self.observables.iter().zip(&mut self.averages) {
                    for shell in &mut averages[species] {
                        let (own, rest) = sums.split_at(observable.components());
                        shell[lag].push(own);
                        sums = rest;
                    }
                }
            }
        }
    }

    /// Series in the order of [`results`](Self::results): by species, then by observable.
    pub fn layouts(&self) -> Vec<SeriesLayout> {
        let time = |lag: &u64| (lag * self.plan.every) as f64 * self.context.timestep;
        let layout = |SeriesOf { path, observable, .. }: SeriesOf<'_>| {
            let lags = &self.lags[first_lag(observable)..];
            let mut axes =
                vec![Axis { name: AxisName::Time, values: lags.iter().map(time).collect() }];
            if let Some(shells) = observable.shells() {
                let values = shells.iter().map(|shell| shell.wavenumber).collect();
                axes.insert(0, Axis { name: AxisName::Wavenumber, values });
            }
            SeriesLayout {
                path,
                axes,
                vectors_per_shell: observable
                    .shells()
                    .map(|shells| shells.iter().map(|shell| shell.count()).collect()),
                unit: observable.unit(),
                formula: observable.formula(),
            }
        };
        self.series().map(layout).collect()
    }

    /// Averages over the time origins so far; before [`finish`](Self::finish), those of full blocks.
    pub fn results(&self) -> Vec<Series> {
        self.series()
            .map(|SeriesOf { path, observable, particles, averages }| {
                let mut series = Series::empty(path);
                for shell in averages {
                    for average in &shell[first_lag(observable)..] {
                        if average.count() == 0 {
                            series.push(f64::NAN, f64::NAN, 0);
                            continue;
                        }
                        let (value, gradient) = observable.value(average.mean());
                        series.push(value, average.error(&gradient), average.count() * particles);
                    }
                }
                series
            })
            .collect()
    }

    /// Path, observable and its averages, in the order of output.
    fn series(&self) -> impl Iterator<Item = SeriesOf<'_>> {
        self.context.species.iter().enumerate().flat_map(move |(index, species)| {
            self.observables.iter().zip(&self.averages).map(move |(observable, averages)| {
                SeriesOf {
                    path: format!("{}/{}", species.name, observable.kind().group_name()),
                    observable: &**observable,
                    particles: species.count as u64,
                    averages: &averages[index],
                }
            })
        })
    }

    /// The complete state, for a checkpoint.
    pub fn save(&self) -> (Value, StateArrays) {
        let state = SavedState {
            plan: self.plan.clone(),
            samples: self.scheme.samples(),
            first_step: self.first_step,
            finished: self.finished,
            entries: self.scheme.entries(),
        };
        let mut averages = Vec::new();
        for average in self.averages.iter().flatten().flatten().flatten() {
            average.save(&mut averages);
        }
        let mut arrays = vec![(AVERAGES.to_string(), averages)];
        for (index, sample) in self.scheme.held() {
            arrays.push((sample_name(index), sample.to_array()));
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
            let sample = Sample::from_array(array, self.order.len(), self.with_velocity)
                .ok_or_else(|| wrong("samples of another number of particles"))?;
            held.push((index, Arc::new(sample)));
        }
        if !self.scheme.restore(state.samples, &state.entries, &held) {
            return Err(wrong("blocks that belong to another scheme"));
        }
        let mut averages = state_array(arrays, AVERAGES)?;
        for average in self.averages.iter_mut().flatten().flatten().flatten() {
            average.restore(&mut averages)?;
        }
        if !averages.is_empty() {
            return Err(wrong("more averages than expected"));
        }
        self.first_step = state.first_step;
        self.finished = state.finished;
        Ok(())
    }
}

/// One observable of one species.
struct SeriesOf<'a> {
    path: String,
    observable: &'a dyn Correlation,
    particles: u64,
    /// By shell, lag.
    averages: &'a [Vec<BlockAverage>],
}

/// Index of the first lag at which an observable is defined.
fn first_lag(observable: &dyn Correlation) -> usize {
    usize::from(!observable.has_lag_zero())
}
