//! Sums over particles with the bits of a GPU, on the processor: what `kernels/observable` makes of samples, in the same order and in the same
//! 32-bit floats. So in `fixed-point` the averages of a run do not depend on where it was made.
//!
//! Places come as fractions of the edges ([`Snapshot::fraction`]), to 2^-33 of an edge, velocities as 32-bit floats. Sums are over fixed
//! chunks of particles, in 32 lanes, and in 64-bit floats beyond; what does not depend on an order, such as neighbors, is summed in integers.
//! [`crate::observable`] has the errors.
mod lanes;
mod modes;
mod neighborhoods;
mod pair_sums;
mod particles;
mod scattering;
mod sorted;
mod structure;

use std::sync::Arc;

use neighborhoods::{Compared, Neighbors};
use pair_sums::PairSums;
use particles::{Columns, Particles};
pub use scattering::share;
use sorted::Sorted;
pub use structure::{ORDER_SUMS, order_of_sums};

use super::dynamics::blocking::{BlockingScheme, Due};
use super::dynamics::evaluation::{
    BondOrderEvaluation, DensityEvaluation, Evaluated, EvaluatedPairs, Evaluation, Offloaded,
    ParticleSum, SampleGroup, SamplePair, SampledBondOrder, SampledDensities, SampledStress,
    SampledStructure, StressEvaluation, StructureEvaluation, groups,
};
use super::dynamics::sampled::HeldSamples;
use super::shear_stress::Macroscopic;
use crate::plan::BondPlan;
use crate::system::Snapshot;

/// Samples of a group.
const MOST_SAMPLES: usize = 16;

/// Evaluates an observable that could be handed over to an engine.
pub enum PortableEvaluator {
    Pairs(Box<PairEvaluator>),
    Densities(DensityEvaluation),
    Stress(StressEvaluation),
    Structure(StructureEvaluation),
    BondOrder(BondOrderEvaluation),
}

impl PortableEvaluator {
    pub fn new(offloaded: Offloaded) -> Self {
        match offloaded {
            Offloaded::Pairs(evaluation, held) => {
                PortableEvaluator::Pairs(Box::new(PairEvaluator::new(evaluation, &held)))
            }
            Offloaded::Densities(evaluation, _) => PortableEvaluator::Densities(evaluation),
            Offloaded::Stress(evaluation, _) => PortableEvaluator::Stress(evaluation),
            Offloaded::Structure(evaluation, _) => PortableEvaluator::Structure(evaluation),
            Offloaded::BondOrder(evaluation, _) => PortableEvaluator::BondOrder(evaluation),
        }
    }

    /// Whether a sample has to be taken after this many steps of the stage.
    pub fn is_due(&self, step_in_stage: u64) -> bool {
        step_in_stage.is_multiple_of(match self {
            PortableEvaluator::Pairs(pairs) => pairs.evaluation.every,
            PortableEvaluator::Densities(evaluation) => evaluation.every,
            PortableEvaluator::Stress(evaluation) => evaluation.every,
            PortableEvaluator::Structure(evaluation) => evaluation.densities.every,
            PortableEvaluator::BondOrder(evaluation) => evaluation.every,
        })
    }

    /// Takes the next sample; `macroscopic` for correlations of the stress.
    ///
    /// # Panics
    /// If the snapshot has no fractions, or the stress is not given where it is needed.
    pub fn sample(&mut self, snapshot: &Snapshot, macroscopic: Option<&Macroscopic>) -> Evaluated {
        let step = snapshot.step;
        match self {
            PortableEvaluator::Stress(_) => {
                let macroscopic = *macroscopic.expect("a stress tensor");
                Evaluated::Stress(vec![SampledStress { step, macroscopic }])
            }
            PortableEvaluator::Pairs(pairs) => Evaluated::Pairs(pairs.sample(snapshot)),
            PortableEvaluator::Densities(evaluation) => {
                let (densities, center) = sampled_densities(evaluation, snapshot);
                Evaluated::Densities(vec![SampledDensities { step, densities, center }])
            }
            PortableEvaluator::Structure(StructureEvaluation { bins, bin_width, densities }) => {
                let particles = Particles::of_densities(densities);
                let sample = particles.sample(snapshot, false);
                let sorted = Sorted::new(&particles, &sample, *bins as f64 * *bin_width);
                Evaluated::Structure(vec![SampledStructure {
                    step,
                    pairs: structure::pairs_by_distance(&particles, &sorted, *bins, *bin_width),
                    densities: modes::densities(&particles, &sample, &densities.vectors),
                }])
            }
            PortableEvaluator::BondOrder(evaluation) => {
                let BondOrderEvaluation { simulation_box, species, order, .. } = &*evaluation;
                let particles = Particles::new(*simulation_box, species, order.as_ref());
                let sample = particles.sample(snapshot, false);
                let sorted = Sorted::new(&particles, &sample, evaluation.radius);
                let order = structure::bond_order(&particles, &sorted);
                Evaluated::BondOrder(vec![SampledBondOrder { step, order }])
            }
        }
    }

    /// What the blocks still hold, at the end of the stage.
    pub fn finish(&mut self) -> Option<Evaluated> {
        match self {
            PortableEvaluator::Pairs(pairs) => Some(Evaluated::Pairs(pairs.finish())),
            _ => None,
        }
    }

    /// The samples of the blocks, where they are kept here.
    pub fn held(&self) -> Option<HeldSamples> {
        match self {
            PortableEvaluator::Pairs(pairs) => Some(pairs.held()),
            _ => None,
        }
    }
}

/// Modes by species, wave vector; centre of mass.
type Densities = (Vec<Vec<[f64; 2]>>, Option<[[f64; 3]; 2]>);

fn sampled_densities(evaluation: &DensityEvaluation, snapshot: &Snapshot) -> Densities {
    let particles = Particles::of_densities(evaluation);
    let sample = particles.sample(snapshot, evaluation.remove_drift);
    (modes::densities(&particles, &sample, &evaluation.vectors), sample.center)
}

/// Pairs of samples in blocks.
pub struct PairEvaluator {
    evaluation: Evaluation,
    particles: Particles,
    sums: PairSums,
    scheme: BlockingScheme<Columns>,
    first_step: Option<u64>,
}

/// What is looked for around the particles of an origin.
enum Sought {
    Places(f64),
    Bonds(BondPlan),
    Cages(f64),
}

impl PairEvaluator {
    /// # Panics
    /// If the samples are not those of the blocks.
    fn new(evaluation: Evaluation, held: &HeldSamples) -> Self {
        let particles = Particles::of_pairs(&evaluation);
        let mut scheme = BlockingScheme::new(evaluation.blocks);
        if held.samples > 0 {
            let columns = held
                .held
                .iter()
                .map(|(index, sample)| (*index, Arc::new(particles.of_words(sample))));
            let columns: Vec<_> = columns.collect();
            let fits = scheme.restore(held.samples, &held.entries, &columns);
            assert!(fits, "samples of these blocks");
        }
        // The centre of mass has no part in what is relative to cages.
        let remove_drift = evaluation.remove_drift && evaluation.cage_radius.is_none();
        PairEvaluator {
            sums: PairSums::new(&evaluation, remove_drift),
            particles,
            scheme,
            first_step: held.first_step,
            evaluation,
        }
    }

    fn sample(&mut self, snapshot: &Snapshot) -> EvaluatedPairs {
        self.first_step.get_or_insert(snapshot.step);
        let sample = self.particles.sample(snapshot, self.evaluation.remove_drift);
        let due = self.scheme.push(sample);
        self.evaluate(&due)
    }

    fn finish(&mut self) -> EvaluatedPairs {
        let due = self.scheme.finish();
        self.evaluate(&due)
    }

    fn held(&self) -> HeldSamples {
        HeldSamples {
            samples: self.scheme.samples(),
            first_step: self.first_step,
            entries: self.scheme.entries(),
            held: {
                let words = |(index, sample): (u64, Arc<Columns>)| {
                    (index, Arc::new(self.particles.to_words(&sample)))
                };
                self.scheme.held().into_iter().map(words).collect()
            },
        }
    }

    fn sought(&self) -> Option<Sought> {
        let counted = || {
            self.evaluation.sums.iter().find_map(|sum| match sum {
                ParticleSum::PlacesTaken(radius) => Some(Sought::Places(*radius)),
                ParticleSum::BondsKept(bonds) => Some(Sought::Bonds(*bonds)),
                ParticleSum::Kernel(_) => None,
            })
        };
        self.evaluation.cage_radius.map(Sought::Cages).or_else(counted)
    }

    fn evaluate(&self, due: &[Due<Columns>]) -> EvaluatedPairs {
        match self.sought() {
            Some(sought) => self.around_particles(due, &sought),
            None => self.of_particles(due),
        }
    }

    fn lag_index(&self, level: usize, entry: usize) -> Option<usize> {
        self.scheme.lag_index(level, entry).filter(|&index| index < self.evaluation.lags)
    }

    /// Of what each particle does by itself.
    fn of_particles(&self, due: &[Due<Columns>]) -> EvaluatedPairs {
        let mut samples: Vec<&Columns> = Vec::new();
        for sample in due.iter().flat_map(|due| &due.entries) {
            if !samples.iter().any(|other| std::ptr::eq(*other, &**sample)) {
                samples.push(sample);
            }
        }
        let number = |sample: &Columns| {
            let is_it = |other: &&Columns| std::ptr::eq(*other, sample);
            samples.iter().position(is_it).expect("it is one of them") as u32
        };
        let mut evaluated = EvaluatedPairs::default();
        for group in groups(due, number, |level, entry| self.lag_index(level, entry), MOST_SAMPLES)
        {
            evaluated.lags.extend(group.pairs.iter().map(|pair| pair.lag));
            let sample = |place: usize| samples[group.samples[place] as usize];
            evaluated.sums.extend(self.sums.of_group(&group, sample));
        }
        evaluated
    }

    /// Of what depends on the particles around it.
    fn around_particles(&self, due: &[Due<Columns>], sought: &Sought) -> EvaluatedPairs {
        let particles = &self.particles;
        let radius = match sought {
            Sought::Places(radius) | Sought::Cages(radius) => *radius,
            Sought::Bonds(bonds) => bonds.radius,
        };
        let mut evaluated = EvaluatedPairs::default();
        for Due { level, entries } in due {
            let wanted: Vec<(&Arc<Columns>, u32)> = entries
                .iter()
                .enumerate()
                .filter_map(|(entry, later)| Some((later, self.lag_index(*level, entry)? as u32)))
                .collect();
            if wanted.is_empty() {
                continue;
            }
            let origin = &*entries[0];
            let sorted = Sorted::new(particles, origin, radius);
            let neighbors = match sought {
                Sought::Places(_) => Neighbors::default(),
                Sought::Bonds(_) | Sought::Cages(_) => Neighbors::new(&sorted),
            };
            for (later, lag) in wanted {
                let (sorted, neighbors) = (&sorted, &neighbors);
                let compared = Compared { particles, sorted, neighbors, origin, later };
                evaluated.lags.push(lag);
                evaluated.sums.extend(match sought {
                    Sought::Places(_) => neighborhoods::places_taken(&compared),
                    Sought::Bonds(bonds) => neighborhoods::bonds_kept(&compared, *bonds),
                    Sought::Cages(_) => self.in_cages(&compared),
                });
            }
        }
        evaluated
    }

    /// Of one later sample; a sample with itself is the same in any frame.
    fn in_cages(&self, compared: &Compared<'_>) -> Vec<f64> {
        let Compared { origin, later, .. } = *compared;
        let is_itself = std::ptr::eq(origin, later);
        let relative = (!is_itself).then(|| neighborhoods::in_cages(compared));
        let pair = SamplePair { origin: 0, later: u32::from(!is_itself), lag: 0 };
        let group = SampleGroup { samples: (0..=pair.later).collect(), pairs: vec![pair] };
        self.sums.of_group(&group, |place| match (place, &relative) {
            (1, Some(relative)) => relative,
            _ => origin,
        })
    }
}
