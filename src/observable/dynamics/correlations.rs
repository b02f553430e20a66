mod handing_over;

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::blocking::{BlockingScheme, Due};
use super::correlation::{self, Correlation, Part};
use super::pair_chunk::{Origin, PairChunk};
use super::sampled::HeldSamples;
use super::terms::{self, ParticleTerms, Rows, SampleTerms, Source, Terms};
use crate::observable::accumulator::{BlockAverage, MAX_COMPONENTS};
use crate::observable::density_modes::DensityModes;
use crate::observable::sample::{CHUNK, Contents, ParticleOrder, Sample};
use crate::observable::series::{Axis, AxisName};
use crate::observable::shear_stress::{Macroscopic, ShearStress};
use crate::observable::{
    ObservableError, SampleContext, Series, SeriesLayout, StateArrays, state_array,
};
use crate::plan::CorrelationPlan;
use crate::system::Snapshot;

/// All time correlations of one blocking scheme over one stage, for every species.
///
/// Lags that the stage is too short for are left out.
pub struct Correlations {
    plan: CorrelationPlan,
    context: SampleContext,
    order: ParticleOrder,
    /// What one time origin gives; observables share it.
    terms: Vec<(Source, Terms)>,
    channels: Vec<Channel>,
    /// Species whose particles are summed over.
    summed: Vec<bool>,
    /// Of a sample.
    contents: Contents,
    modes: Option<DensityModes>,
    /// In sampling intervals, ascending.
    lags: Vec<u64>,
    scheme: BlockingScheme<Sample>,
    /// Of the last sample.
    shear_stress: Option<ShearStress>,
    first_step: Option<u64>,
    finished: bool,
    sampler: Sampler,
}

/// Who takes the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sampler {
    Host,
    /// An engine, which keeps them.
    Engine,
    /// An engine, which sums what is needed of each as a whole.
    EngineForWholes,
}

/// An observable and its averages.
struct Channel {
    observable: Box<dyn Correlation>,
    /// Index of its terms.
    terms: usize,
    parts: Vec<Part>,
    /// By part, row, lag.
    averages: Vec<Vec<Vec<BlockAverage>>>,
}

/// Adds a time origin to the averages of a part by row, lag; `terms` holds those of every row.
fn push(observable: &dyn Correlation, rows: &mut [Vec<BlockAverage>], lag: usize, terms: &[f64]) {
    let mut components = [0.0; MAX_COMPONENTS];
    let components = &mut components[..observable.components()];
    let terms_of_row = terms.len() / rows.len();
    for (averages, terms) in rows.iter_mut().zip(terms.chunks(terms_of_row)) {
        observable.of_origin(terms, components);
        averages[lag].push(components);
    }
}

/// From so many pairs on, observables and parts are averaged by several threads.
const MANY_PAIRS: usize = 64;

/// Pairs of samples that are correlated at once: bounds the memory of their sums.
const PAIRS_AT_ONCE: usize = 16;

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
const SHEAR_STRESS: &str = "shear stress";

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
        let scheme = BlockingScheme::new(plan.block_size, plan.levels);
        let longest = context.stage_steps / plan.every;
        let mut lags = scheme.lags();
        lags.truncate(lags.partition_point(|&lag| lag <= longest));
        let mut terms: Vec<(Source, Terms)> = Vec::new();
        let mut channels = Vec::new();
        for observable in correlation::build(plan, context) {
            let source = observable.source();
            let index = match terms.iter().position(|(other, _)| *other == source) {
                Some(index) => index,
                None => {
                    terms.push((source, terms::build(source, plan, context)?));
                    terms.len() - 1
                }
            };
            let mut parts = observable.parts(context.species.len());
            parts.retain(|part| part.is_of(&plan.species));
            let of_lags = vec![BlockAverage::new(observable.components()); lags.len()];
            let averages = vec![vec![of_lags; terms[index].1.rows().count()]; parts.len()];
            channels.push(Channel { observable, terms: index, parts, averages });
        }
        let summed = (0..context.species.len())
            .map(|species| {
                let has =
                    |part: &Part| matches!(part, Part::All) || *part == Part::Species(species);
                channels
                    .iter()
                    .filter(|channel: &&Channel| {
                        matches!(terms[channel.terms].1, Terms::Particles(_))
                    })
                    .any(|channel| channel.parts.iter().any(has))
            })
            .collect();
        let contents = terms
            .iter()
            .map(|(source, terms)| terms::contents(*source, terms.rows().wave_vectors().len()))
            .fold(
                Contents { center_of_mass: plan.remove_drift, ..Contents::default() },
                Contents::and,
            );
        let modes =
            terms.iter().find(|(source, _)| *source == Source::DensityProduct).map(|(_, terms)| {
                DensityModes::new(&context.simulation_box, terms.rows().wave_vectors())
            });
        Ok(Correlations {
            order: ParticleOrder::new(context)?,
            summed,
            contents,
            modes,
            terms,
            channels,
            lags,
            scheme,
            shear_stress: None,
            first_step: None,
            finished: false,
            sampler: Sampler::Host,
            plan: plan.clone(),
            context: context.clone(),
        })
    }

    /// Whether a sample has to be taken after this many steps of the stage.
    pub fn is_due(&self, step_in_stage: u64) -> bool {
        !self.finished
            && self.sampler == Sampler::Host
            && step_in_stage.is_multiple_of(self.plan.every)
    }

    pub fn plan(&self) -> &CorrelationPlan {
        &self.plan
    }

    /// Whether samples need the stress tensor.
    pub fn needs_stress(&self) -> bool {
        self.contents.shear_stress
    }

    /// Takes the next sample; they have to come at every step for which [`is_due`](Self::is_due) holds.
    ///
    /// # Panics
    /// If a sample is missing or comes after [`finish`](Self::finish), has another number of particles,
    /// or has no stress though it is needed.
    pub fn sample(&mut self, snapshot: &Snapshot, macroscopic: Option<&Macroscopic>) {
        assert!(!self.finished, "a sample after the end of the stage");
        assert_eq!(snapshot.position.len(), self.order.len(), "number of particles");
        let first = *self.first_step.get_or_insert(snapshot.step);
        let expected = first + self.scheme.samples() * self.plan.every;
        assert_eq!(snapshot.step, expected, "step of the next sample");
        if self.contents.shear_stress {
            let now = macroscopic.expect("a stress tensor for correlations of the stress");
            self.add_to_shear_stress(now);
        }
        let sample = Sample::new(
            snapshot,
            &self.order,
            &self.context,
            &self.contents,
            self.modes.as_ref(),
            self.shear_stress,
        );
        let due = self.scheme.push(sample);
        self.correlate(&due);
    }

    /// Goes on to the shear stress of the next sample.
    fn add_to_shear_stress(&mut self, now: &Macroscopic) {
        let interval = self.plan.every as f64 * self.context.timestep;
        let (before, simulation_box) = (self.shear_stress.as_ref(), &self.context.simulation_box);
        self.shear_stress = Some(ShearStress::after(before, interval, now, simulation_box));
    }

    /// Correlates what the blocks still hold, at the end of the stage.
    pub fn finish(&mut self) {
        let due = self.scheme.finish();
        self.correlate(&due);
        self.finished = true;
    }

    /// Adds one time origin for every lag in the blocks that are due.
    fn correlate(&mut self, due: &[Due<Sample>]) {
        for Due { level, entries } in due {
            let lag_of = |(entry, later): (usize, &Arc<Sample>)| {
                let lag = self.scheme.lag_index(*level, entry)?;
                (lag < self.lags.len()).then(|| (lag, Arc::clone(later)))
            };
            let pairs: Vec<_> = entries.iter().enumerate().filter_map(lag_of).collect();
            let sources = self.terms.iter().map(|(source, _)| *source);
            let search = terms::search(sources, &self.plan);
            let origin = Origin::new(&entries[0], search, &self.context.simulation_box);
            for pairs in pairs.chunks(PAIRS_AT_ONCE) {
                self.correlate_pairs(&origin, pairs);
            }
        }
    }

    /// The same for one origin and the lags and later samples given.
    fn correlate_pairs(&mut self, origin: &Origin, pairs: &[(usize, Arc<Sample>)]) {
        let sums = self.particle_sums(origin, pairs);
        let lags: Vec<usize> = pairs.iter().map(|(lag, _)| *lag).collect();
        self.average(&lags, &sums, |terms, pair, part, of_part| {
            terms.evaluate(origin.sample, &pairs[pair].1, part, of_part);
        });
    }

    /// Adds a time origin for each of the lags. `sums` over particles are by pair, species and all, term;
    /// `evaluate` gives those terms of a pair and part that are none.
    fn average(
        &mut self,
        lags: &[usize],
        sums: &[f64],
        evaluate: impl Fn(&dyn SampleTerms, usize, Part, &mut [f64]) + Sync,
    ) {
        let width: usize = self.particle_terms().map(|(_, terms)| terms.width()).sum();
        let species = self.context.species.len();
        // Where the sums of particle terms begin.
        let mut first = Vec::new();
        let mut end = 0;
        for (_, terms) in &self.terms {
            first.push(end);
            end += if matches!(terms, Terms::Particles(_)) { terms.width() } else { 0 };
        }
        let (terms, context) = (&self.terms, &self.context);
        let add =
            |observable: &dyn Correlation, index: usize, part: Part, averages: &mut [Vec<_>]| {
                let particles = part.particles(context);
                if particles == 0 {
                    return;
                }
                let terms = &terms[index].1;
                let mut of_part = vec![0.0; terms.width()];
                for (pair, &lag) in lags.iter().enumerate() {
                    match terms {
                        Terms::Particles(_) => {
                            let place = match part {
                                Part::Species(species) => species,
                                _ => species,
                            };
                            let start = (pair * (species + 1) + place) * width + first[index];
                            for (mean, sum) in of_part.iter_mut().zip(&sums[start..]) {
                                *mean = sum / particles as f64;
                            }
                        }
                        Terms::Samples(terms) => evaluate(&**terms, pair, part, &mut of_part),
                    }
                    push(observable, averages, lag, &of_part);
                }
            };
        let of_parts = self.channels.iter_mut().flat_map(|channel| {
            let (observable, index) = (&*channel.observable, channel.terms);
            let parts = channel.parts.iter().zip(&mut channel.averages);
            parts.map(move |(&part, averages)| (observable, index, part, averages))
        });
        if lags.len() < MANY_PAIRS {
            of_parts.for_each(|(observable, index, part, averages)| {
                add(observable, index, part, averages)
            });
        } else {
            of_parts.collect::<Vec<_>>().into_par_iter().for_each(
                |(observable, index, part, averages)| add(observable, index, part, averages),
            );
        }
    }

    fn particle_terms(&self) -> impl Iterator<Item = (Source, &dyn ParticleTerms)> {
        self.terms.iter().filter_map(|(source, terms)| match terms {
            Terms::Particles(terms) => Some((*source, &**terms)),
            Terms::Samples(_) => None,
        })
    }

    /// Sums over particles by pair, species (and, last, all of them), and the width of all terms; zero for
    /// species whose sums nothing needs.
    fn particle_sums(&self, origin: &Origin, pairs: &[(usize, Arc<Sample>)]) -> Vec<f64> {
        let mut chunks = self.order.chunks(CHUNK);
        chunks.retain(|(species, _)| self.summed[*species]);
        let width: usize = self.particle_terms().map(|(_, terms)| terms.width()).sum();
        let species = self.context.species.len();
        let mut sums = vec![0.0; pairs.len() * (species + 1) * width];
        if width == 0 || chunks.is_empty() {
            return sums;
        }
        let edges = self.context.simulation_box.padded_edges();
        let moved: Vec<Option<Vec<[f64; 3]>>> =
            pairs.par_iter().map(|(_, later)| origin.moved(later, edges)).collect();
        let mut partial_sums = vec![0.0; pairs.len() * chunks.len() * width];
        partial_sums.par_chunks_mut(width).enumerate().for_each_init(
            PairChunk::new,
            |chunk, (job, mut sums)| {
                let (pair, chunk_of_pair) = (job / chunks.len(), job % chunks.len());
                let (_, later) = &pairs[pair];
                let (_, places) = &chunks[chunk_of_pair];
                chunk.load(origin, later, moved[pair].as_deref(), places.clone(), edges);
                for (_, terms) in self.particle_terms() {
                    let (own, rest) = sums.split_at_mut(terms.width());
                    terms.add(chunk, own);
                    sums = rest;
                }
            },
        );
        let of_pairs = partial_sums.chunks(chunks.len() * width);
        for (of_pair, sums) in of_pairs.zip(sums.chunks_mut((species + 1) * width)) {
            let (of_species, all) = sums.split_at_mut(species * width);
            for ((species, _), of_chunk) in chunks.iter().zip(of_pair.chunks(width)) {
                let sums = &mut of_species[species * width..][..width];
                sums.iter_mut().zip(of_chunk).for_each(|(sum, part)| *sum += part);
            }
            for of_species in of_species.chunks(width) {
                all.iter_mut().zip(of_species).for_each(|(all, sum)| *all += *sum);
            }
        }
        sums
    }

    /// Series in the order of [`results`](Self::results): by observable, then by part.
    pub fn layouts(&self) -> Vec<SeriesLayout> {
        let time = |lag: &u64| (lag * self.plan.every) as f64 * self.context.timestep;
        let layout = |SeriesOf { path, observable, rows, .. }: SeriesOf<'_>| {
            let lags = &self.lags[first_lag(observable)..];
            let times = Axis { name: AxisName::Time, values: lags.iter().map(time).collect() };
            let (row_axis, vectors_per_shell) = match rows {
                Rows::One => (None, None),
                Rows::Shells(shells) => {
                    let values = shells.iter().map(|shell| shell.wavenumber).collect();
                    let vectors = shells.iter().map(|shell| shell.count()).collect();
                    (Some(Axis { name: AxisName::Wavenumber, values }), Some(vectors))
                }
                Rows::Distances(distances) => {
                    (Some(Axis { name: AxisName::Distance, values: distances.to_vec() }), None)
                }
            };
            SeriesLayout {
                path,
                axes: row_axis.into_iter().chain([times]).collect(),
                vectors_per_shell,
                unit: observable.unit(),
                formula: observable.formula(),
            }
        };
        self.series().map(layout).collect()
    }

    /// Averages over the time origins so far; before [`finish`](Self::finish), those of full blocks.
    pub fn results(&self) -> Vec<Series> {
        self.series()
            .map(|SeriesOf { path, observable, rows, particles, averages }| {
                let mut series = Series::empty(path);
                let vectors = rows.vectors();
                for (row, vectors) in averages.iter().zip(vectors) {
                    for average in &row[first_lag(observable)..] {
                        if average.count() == 0 {
                            series.push(f64::NAN, f64::NAN, 0);
                            continue;
                        }
                        let (value, gradient) = observable.value(particles, average.mean());
                        let per_origin = observable.samples_per_origin(particles, vectors);
                        let count = average.count() * per_origin;
                        series.push(value, average.error(&gradient), count);
                    }
                }
                series
            })
            .collect()
    }

    /// Everything that has a path, in the order of output.
    fn series(&self) -> impl Iterator<Item = SeriesOf<'_>> {
        self.channels.iter().flat_map(move |channel| {
            let observable = &*channel.observable;
            channel.parts.iter().zip(&channel.averages).map(move |(part, averages)| SeriesOf {
                path: format!("{}/{}", part.name(&self.context), observable.kind().group_name()),
                observable,
                rows: self.terms[channel.terms].1.rows(),
                particles: part.particles(&self.context),
                averages,
            })
        })
    }

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
        let state = SavedState {
            plan: self.plan.clone(),
            samples: held.map_or_else(|| self.scheme.samples(), |held| held.samples),
            first_step: held.map_or(self.first_step, |held| held.first_step),
            finished: self.finished,
            entries: held.map_or_else(|| self.scheme.entries(), |held| held.entries.clone()),
        };
        let mut averages = Vec::new();
        for average in self.averages() {
            average.save(&mut averages);
        }
        let shear_stress = self.shear_stress.map(ShearStress::to_array).unwrap_or_default();
        let mut arrays =
            vec![(AVERAGES.to_string(), averages), (SHEAR_STRESS.to_string(), shear_stress)];
        for (index, sample) in self.scheme.held() {
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
        if !self.scheme.restore(state.samples, &state.entries, &held) {
            return Err(wrong("blocks that belong to another scheme"));
        }
        let mut averages = state_array(arrays, AVERAGES)?;
        for average in self.averages_mut() {
            average.restore(&mut averages)?;
        }
        if !averages.is_empty() {
            return Err(wrong("more averages than expected"));
        }
        self.shear_stress = match state_array(arrays, SHEAR_STRESS)? {
            [] => None,
            array if array.len() == ShearStress::NUMBERS => Some(ShearStress::from_array(array)),
            _ => return Err(wrong("a damaged shear stress")),
        };
        self.first_step = state.first_step;
        self.finished = state.finished;
        Ok(())
    }
}

/// One observable of one part.
struct SeriesOf<'a> {
    path: String,
    observable: &'a dyn Correlation,
    rows: Rows<'a>,
    particles: usize,
    /// By row, lag.
    averages: &'a [Vec<BlockAverage>],
}

/// Index of the first lag at which an observable is defined.
fn first_lag(observable: &dyn Correlation) -> usize {
    usize::from(!observable.has_lag_zero())
}
