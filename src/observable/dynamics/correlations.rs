//! All correlations of one blocking scheme: samples in, averages over time origins out.
//!
//! `averaging` pairs samples and adds to the averages, `series` is what comes out, `relaxation` how slow the liquid is,
//! `ensemble` averages over systems, `saved` the state for checkpoints, `offload` what an engine does instead. The stress has no part in the pairs of
//! samples: it has its own.
mod averaging;
mod ensemble;
mod offload;
mod relaxation;
mod saved;
mod series;

use std::sync::Arc;

use super::affine::PeculiarMotion;
use super::blocking::BlockingScheme;
use super::correlation::Correlation;
use super::frames::{FrameScheme, FrameTimes, OriginGrid};
use super::part::Part;
use super::registry;
use super::source::{self, Held, Source};
use super::stress_correlator::StressCorrelator;
use super::terms::Terms;
use crate::observable::accumulator::BlockAverage;
use crate::observable::density_modes::DensityModes;
use crate::observable::particle_order::ParticleOrder;
use crate::observable::sample::{Contents, Sample};
use crate::observable::shear_stress::Macroscopic;
use crate::observable::{ObservableError, SampleContext};
use crate::plan::CorrelationPlan;
use crate::system::Snapshot;

/// All time correlations of one blocking scheme over one stage, for every species. Where the plan has classes of diameter, these
/// are the species of the context ([`DiameterClasses::divide`](crate::observable::diameter_classes::DiameterClasses::divide)).
///
/// Lags that the stage is too short for are left out.
pub struct Correlations {
    plan: CorrelationPlan,
    context: SampleContext,
    order: ParticleOrder,
    /// What one time origin gives; observables share it.
    terms: Vec<(&'static Source, Terms)>,
    channels: Vec<Channel>,
    /// Species whose particles are summed over.
    summed: Vec<bool>,
    /// Of a sample.
    contents: Contents,
    modes: Option<DensityModes>,
    /// In sampling intervals, ascending; from given time origins those of each, one after the other.
    lags: Vec<u64>,
    /// Sampling interval in steps; 1 where samples are not at equal intervals.
    interval: u64,
    scheme: BlockingScheme<Sample>,
    /// In the place of the scheme, where samples are not at equal intervals.
    frames: Option<FrameScheme<Sample>>,
    /// Where time origins are given.
    origins: Option<OriginGrid>,
    /// Where an observable is one of the stress.
    stress: Option<StressCorrelator>,
    first_step: Option<u64>,
    finished: bool,
    sampler: Sampler,
    /// In a box with a tilt.
    motion: Option<PeculiarMotion>,
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

/// What an observable is averaged over; beside classes of diameter always all particles.
fn parts_of(
    observable: &dyn Correlation,
    plan: &CorrelationPlan,
    context: &SampleContext,
) -> Vec<Part> {
    let groups = context.species.len();
    if plan.diameter_classes.is_none() {
        return observable.parts(groups, &plan.species);
    }
    let mut parts = observable.parts(groups, &(0..groups).collect::<Vec<_>>());
    if !parts.contains(&Part::All) {
        parts.push(Part::All);
    }
    parts
}

impl Correlations {
    /// # Errors
    /// For a plan that cannot be carried out, or particles that do not match the species.
    pub fn new(plan: &CorrelationPlan, context: &SampleContext) -> Result<Self, ObservableError> {
        match plan.origins.is_empty() {
            true => Self::of_samples(plan, context, None),
            false => Self::from_origins(plan, context, None),
        }
    }

    /// From the time origins of the plan; of a trajectory the `available` steps since its start. An engine cannot take these samples,
    /// and there are no correlations of the stress.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_origins(
        plan: &CorrelationPlan,
        context: &SampleContext,
        available: Option<&[u64]>,
    ) -> Result<Self, ObservableError> {
        let grid = OriginGrid::of(plan, context.stage_steps);
        let times = grid.as_ref().map(|grid| Arc::new(grid.times(available)));
        let mut correlations = Self::of_samples(plan, context, times.map(FrameScheme::new))?;
        correlations.origins = grid;
        Ok(correlations)
    }

    /// The same of samples at given times: all of them, in their order, and the interval of the plan does not matter. An
    /// engine cannot take these samples, and there are no correlations of the stress.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_frames(
        plan: &CorrelationPlan,
        context: &SampleContext,
        times: &Arc<FrameTimes>,
    ) -> Result<Self, ObservableError> {
        Self::of_samples(plan, context, Some(FrameScheme::new(Arc::clone(times))))
    }

    fn of_samples(
        plan: &CorrelationPlan,
        context: &SampleContext,
        frames: Option<FrameScheme<Sample>>,
    ) -> Result<Self, ObservableError> {
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
        if !plan.blocks().is_valid() {
            let ratio = plan.level_ratio.unwrap_or(plan.block_size);
            let expected = "a divisor of block_size from 2 on";
            return Err(ObservableError::value("correlation.level_ratio", ratio, expected));
        }
        let scheme = BlockingScheme::new(plan.blocks());
        let interval = if frames.is_some() { 1 } else { plan.every };
        let longest = context.stage_steps / interval;
        let mut lags =
            frames.as_ref().map_or_else(|| scheme.lags(), |frames| frames.times().lags().to_vec());
        if plan.origins.is_empty() {
            lags.truncate(lags.partition_point(|&lag| lag <= longest));
        }
        let mut terms: Vec<(&'static Source, Terms)> = Vec::new();
        let mut channels = Vec::new();
        for observable in registry::correlations(plan, context) {
            let source = observable.source();
            let index = match terms.iter().position(|(other, _)| *other == source) {
                Some(index) => index,
                None => {
                    terms.push((source, (source.terms)(plan, context)?));
                    terms.len() - 1
                }
            };
            let parts = parts_of(&*observable, plan, context);
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
            .map(|(source, terms)| source::contents(source, terms.rows().wave_vectors().len()))
            .fold(
                Contents { center_of_mass: plan.remove_drift, ..Contents::default() },
                Contents::and,
            );
        let modes =
            terms.iter().find(|(source, _)| source.samples == Held::Modes).map(|(_, terms)| {
                DensityModes::new(&context.simulation_box, terms.rows().wave_vectors())
            });
        let of_stress = terms.iter().any(|(source, _)| source.is_of_stress());
        let stress = of_stress.then(|| {
            let interval = plan.every as f64 * context.timestep;
            StressCorrelator::new(plan.blocks(), lags.len(), interval, &context.simulation_box)
        });
        Ok(Correlations {
            order: ParticleOrder::new(context)?,
            summed,
            contents,
            modes,
            terms,
            channels,
            lags,
            interval,
            scheme,
            frames,
            origins: None,
            stress,
            first_step: None,
            finished: false,
            sampler: Sampler::Host,
            motion: None,
            plan: plan.clone(),
            context: context.clone(),
        })
    }

    /// Follows particles beside a flow, or in a tilted box. The host takes the samples.
    pub fn beside(mut self, motion: Option<PeculiarMotion>) -> Self {
        let in_flow = motion.as_ref().is_some_and(PeculiarMotion::is_in_flow);
        if let Some(grid) = self.origins.as_ref().filter(|_| in_flow) {
            self.frames = Some(FrameScheme::new(Arc::new(grid.times_in_flow(self.plan.every))));
        }
        let mut sources = self.terms.iter().map(|(source, _)| *source);
        self.contents.carried = in_flow && sources.any(source::needs_places);
        self.motion = motion;
        self
    }

    /// Whether a sample has to be taken after this many steps of the stage.
    pub fn is_due(&self, step_in_stage: u64) -> bool {
        if self.finished || self.sampler != Sampler::Host {
            return false;
        }
        match (&self.frames, &self.origins) {
            (Some(frames), Some(_)) => frames.next_step() == Some(step_in_stage),
            (Some(_), None) => true,
            (None, _) => step_in_stage.is_multiple_of(self.plan.every),
        }
    }

    pub fn plan(&self) -> &CorrelationPlan {
        &self.plan
    }

    /// Whether samples need the stress tensor.
    pub fn needs_stress(&self) -> bool {
        self.stress.is_some()
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
        let beside = self.motion.as_mut().map(|motion| motion.of(snapshot));
        let snapshot = beside.as_ref().unwrap_or(snapshot);
        if let Some(frames) = &self.frames {
            let step = snapshot.step - first + frames.times().steps()[0];
            assert_eq!(Some(step), frames.next_step(), "step of the next sample");
        }
        let sample = self.sample_of(snapshot);
        if let Some(frames) = &mut self.frames {
            let (later, origins) = frames.push(sample);
            return self.correlate_with(&later, &origins);
        }
        let expected = first + self.scheme.samples() * self.plan.every;
        assert_eq!(snapshot.step, expected, "step of the next sample");
        if self.stress.is_some() {
            let now = macroscopic.expect("a stress tensor for correlations of the stress");
            self.correlate_stress(now);
        }
        let due = self.scheme.push(sample);
        self.correlate(&due);
    }

    /// Of a snapshot, whose places are those beside the flow in a flow.
    fn sample_of(&self, snapshot: &Snapshot) -> Sample {
        let (contents, modes) = (&self.contents, self.modes.as_ref());
        let sample = Sample::new(snapshot, &self.order, &self.context, contents, modes);
        match self.motion.as_ref().filter(|_| contents.carried) {
            Some(motion) => {
                let tilt = motion.box_at(snapshot.step).tilt();
                sample.in_flow(tilt, motion.carried(), &self.order)
            }
            None => sample,
        }
    }

    /// Correlates what the blocks still hold, at the end of the stage.
    pub fn finish(&mut self) {
        let due = self.scheme.finish();
        self.correlate(&due);
        self.finished = true;
    }
}
