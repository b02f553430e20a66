//! What an engine has to know to evaluate terms of correlations where the particles are, and what it gives back.
use std::sync::Arc;

use super::blocking::{Blocks, Due};
use super::kernel_sum::KernelSum;
use super::sampled::HeldSamples;
use crate::observable::BondOrder;
use crate::observable::shear_stress::Macroscopic;
use crate::plan::BondPlan;
use crate::system::{SimulationBox, Species};

/// Samples that an engine evaluates together, if there is memory for that many.
pub const MOST_SAMPLES_OF_BATCH: usize = 256;

/// Sums over the particles of a species, in the frame of the laboratory or of the centre of mass.
#[derive(Clone, Debug, PartialEq)]
pub enum ParticleSum {
    /// Of what each particle gives by itself.
    Kernel(KernelSum),
    /// Number of particles of the earlier sample within this distance of where a particle is later.
    PlacesTaken(f64),
    /// Share of the particles within a radius in the earlier sample that are within another one in the later.
    BondsKept(BondPlan),
}

impl ParticleSum {
    /// Sums that it stands for.
    pub fn width(&self) -> usize {
        match self {
            ParticleSum::Kernel(sum) => sum.results.count(),
            ParticleSum::PlacesTaken(_) | ParticleSum::BondsKept(_) => 1,
        }
    }
}

/// A blocking scheme whose pairs of samples an engine evaluates by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Steps between samples; one is due at the first step of the stage.
    pub every: u64,
    pub blocks: Blocks,
    /// How many of the scheme's lags are wanted, from zero on.
    pub lags: usize,
    /// In the order of the sums.
    pub sums: Vec<ParticleSum>,
    /// Indices of the sums in the order of kernels, which does not depend on that of the observables of a plan.
    pub kernel_order: Vec<usize>,
    /// Relative to the centre of mass of all particles.
    pub remove_drift: bool,
    /// Displacements relative to the mean of the neighbors that a particle has within this distance in the earlier
    /// sample.
    pub cage_radius: Option<f64>,
    pub simulation_box: SimulationBox,
    /// Particles lie one species after the other.
    pub species: Vec<Species>,
    /// Ids in the order in which the particles lie; in that of ids if not given.
    pub order: Option<Arc<[u32]>>,
}

impl Evaluation {
    /// Sums that the kernel `correlate` makes, in its order, with their indices.
    pub fn kernel_sums(&self) -> impl Iterator<Item = (usize, &KernelSum)> {
        self.kernel_order.iter().filter_map(|&index| match &self.sums[index] {
            ParticleSum::Kernel(sum) => Some((index, sum)),
            ParticleSum::PlacesTaken(_) | ParticleSum::BondsKept(_) => None,
        })
    }

    /// Sums of one species.
    pub fn width(&self) -> usize {
        self.sums.iter().map(ParticleSum::width).sum()
    }

    pub fn particles(&self) -> usize {
        self.species.iter().map(|species| species.count).sum()
    }

    /// Most samples that all blocks hold together after a step.
    pub fn most_samples_held(&self) -> usize {
        let held = |level: usize| {
            let interval = self.blocks.interval(level)?;
            let longest = self.longest_lag();
            (level == 0 || interval <= longest).then_some(self.blocks.size - 1)
        };
        // Levels beyond the longest lag keep a sample or none of their own.
        (0..self.blocks.levels).map(|level| held(level).unwrap_or(1)).sum()
    }

    /// In sampling intervals.
    fn longest_lag(&self) -> u64 {
        let Some(last) = self.lags.checked_sub(1) else { return 0 };
        self.blocks.lag(last).unwrap_or(u64::MAX)
    }
}

/// The sums of pairs of samples that were due together, in the order in which they are to be averaged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvaluatedPairs {
    /// Index of the lag of every pair.
    pub lags: Vec<u32>,
    /// By pair, species, sum.
    pub sums: Vec<f64>,
}

/// Density modes that an engine sums for every sample; their blocks and products stay on the host.
#[derive(Clone, Debug, PartialEq)]
pub struct DensityEvaluation {
    /// Steps between samples; one is due at the first step of the stage.
    pub every: u64,
    /// Integers `n` of the wave vectors.
    pub vectors: Vec<[i32; 3]>,
    /// Whether the centre of mass is wanted, too.
    pub remove_drift: bool,
    pub simulation_box: SimulationBox,
    /// Particles lie one species after the other.
    pub species: Vec<Species>,
    /// Ids in the order in which the particles lie; in that of ids if not given.
    pub order: Option<Arc<[u32]>>,
}

/// `rho_a(q)` of a sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampledDensities {
    pub step: u64,
    /// By species, wave vector; real and imaginary part; in the frame of the laboratory.
    pub densities: Vec<Vec<[f64; 2]>>,
    /// Centre of mass, where it is wanted: its place without periodic boundaries, and its velocity.
    pub center: Option<[[f64; 3]; 2]>,
}

/// The stress tensor, which an engine sums for every sample; its integral, blocks and products stay on the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StressEvaluation {
    /// Steps between samples; one is due at the first step of the stage.
    pub every: u64,
}

/// What is needed of a sample for correlations of the stress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledStress {
    pub step: u64,
    pub macroscopic: Macroscopic,
}

/// Static structure, of which an engine counts pairs of particles by their distance and sums density modes.
#[derive(Clone, Debug, PartialEq)]
pub struct StructureEvaluation {
    /// Of distances, from zero on.
    pub bins: usize,
    pub bin_width: f64,
    pub densities: DensityEvaluation,
}

/// Static structure of a sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampledStructure {
    pub step: u64,
    /// Number of pairs of particles, by pair of species, bin.
    pub pairs: Vec<Vec<u64>>,
    /// As of [`SampledDensities`].
    pub densities: Vec<Vec<[f64; 2]>>,
}

/// Bond-orientational order, which an engine evaluates.
#[derive(Clone, Debug, PartialEq)]
pub struct BondOrderEvaluation {
    /// Steps between samples; one is due at the first step of the stage.
    pub every: u64,
    /// Bonds lead to particles closer than this.
    pub radius: f64,
    pub simulation_box: SimulationBox,
    /// Particles lie one species after the other.
    pub species: Vec<Species>,
    /// Ids in the order in which the particles lie; in that of ids if not given.
    pub order: Option<Arc<[u32]>>,
}

/// Bond-orientational order of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledBondOrder {
    pub step: u64,
    pub order: BondOrder,
}

/// An observable of samples that goes over to an engine.
#[derive(Clone, Debug)]
pub enum Offloaded {
    /// With the samples of its blocks so far.
    Pairs(Evaluation, HeldSamples),
    /// With the number of samples so far.
    Densities(DensityEvaluation, u64),
    /// The same.
    Stress(StressEvaluation, u64),
    /// The same.
    Structure(StructureEvaluation, u64),
    /// The same.
    BondOrder(BondOrderEvaluation, u64),
}

impl Offloaded {
    pub fn every(&self) -> u64 {
        match self {
            Offloaded::Pairs(evaluation, _) => evaluation.every,
            Offloaded::Densities(evaluation, _) => evaluation.every,
            Offloaded::Stress(evaluation, _) => evaluation.every,
            Offloaded::Structure(evaluation, _) => evaluation.densities.every,
            Offloaded::BondOrder(evaluation, _) => evaluation.every,
        }
    }

    /// Ids in the order in which particles lie in samples; `None` also where it does not matter.
    pub fn order(&self) -> Option<&Arc<[u32]>> {
        match self {
            Offloaded::Pairs(evaluation, _) => evaluation.order.as_ref(),
            Offloaded::Densities(evaluation, _) => evaluation.order.as_ref(),
            Offloaded::Stress(..) => None,
            Offloaded::Structure(evaluation, _) => evaluation.densities.order.as_ref(),
            Offloaded::BondOrder(evaluation, _) => evaluation.order.as_ref(),
        }
    }

    /// Samples so far.
    pub fn samples(&self) -> u64 {
        match self {
            Offloaded::Pairs(_, samples) => samples.samples,
            Offloaded::Densities(_, samples)
            | Offloaded::Stress(_, samples)
            | Offloaded::Structure(_, samples)
            | Offloaded::BondOrder(_, samples) => *samples,
        }
    }
}

/// What an engine has evaluated of an observable.
#[derive(Clone, Debug)]
pub enum Evaluated {
    Pairs(EvaluatedPairs),
    Densities(Vec<SampledDensities>),
    Stress(Vec<SampledStress>),
    Structure(Vec<SampledStructure>),
    BondOrder(Vec<SampledBondOrder>),
}

/// Two samples of a batch, and the index of their lag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplePair {
    pub origin: u32,
    pub later: u32,
    pub lag: u32,
}

/// A few samples, by number, and pairs among them by their places in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleGroup {
    pub samples: Vec<u32>,
    pub pairs: Vec<SamplePair>,
}

impl SampleGroup {
    fn place(&mut self, sample: u32) -> u32 {
        let place = self.samples.iter().position(|&other| other == sample).unwrap_or_else(|| {
            self.samples.push(sample);
            self.samples.len() - 1
        });
        place as u32
    }

    fn new_samples(&self, samples: &[u32]) -> usize {
        samples.iter().filter(|sample| !self.samples.contains(sample)).count()
    }
}

/// The pairs of what is due, in groups of at most `most` samples, so that each is fetched for many pairs. Those of one
/// lag stay in their order. `lag_index` as of [`super::blocking::BlockingScheme`], `None` for what is not wanted.
///
/// # Panics
/// Unless `most >= 2`.
pub fn groups<S>(
    due: &[Due<S>],
    number: impl Fn(&S) -> u32,
    lag_index: impl Fn(usize, usize) -> Option<usize>,
    most: usize,
) -> Vec<SampleGroup> {
    assert!(most >= 2, "a pair has two samples");
    // Of one level after the other, since those share samples.
    let mut due: Vec<&Due<S>> = due.iter().collect();
    due.sort_by_key(|due| due.level);
    let mut groups = vec![SampleGroup::default()];
    for Due { level, entries } in due {
        let wanted: Vec<(u32, u32)> = entries
            .iter()
            .enumerate()
            .filter_map(|(entry, later)| Some((number(later), lag_index(*level, entry)? as u32)))
            .collect();
        if wanted.is_empty() {
            continue;
        }
        let origin = number(&entries[0]);
        for part in wanted.chunks(most - 1) {
            let samples: Vec<u32> =
                std::iter::once(origin).chain(part.iter().map(|&(later, _)| later)).collect();
            let last = groups.last_mut().expect("there is one");
            if last.samples.len() + last.new_samples(&samples) > most {
                groups.push(SampleGroup::default());
            }
            let group = groups.last_mut().expect("there is one");
            let origin = group.place(origin);
            for &(later, lag) in part {
                let later = group.place(later);
                group.pairs.push(SamplePair { origin, later, lag });
            }
        }
    }
    groups.retain(|group| !group.pairs.is_empty());
    groups
}

#[cfg(test)]
mod tests {
    use super::super::blocking::BlockingScheme;
    use super::*;

    fn evaluation(blocks: Blocks, lags: usize) -> Evaluation {
        Evaluation {
            every: 1,
            blocks,
            lags,
            sums: Vec::new(),
            kernel_order: Vec::new(),
            remove_drift: false,
            cage_radius: None,
            simulation_box: SimulationBox::cubic(3, 10, 1.0),
            species: Vec::new(),
            order: None,
        }
    }

    /// By lag: origins in order.
    fn by_lag(pairs: &[(usize, u64)], lags: usize) -> Vec<Vec<u64>> {
        let of = |lag| pairs.iter().filter(|pair| pair.0 == lag).map(|pair| pair.1).collect();
        (0..lags).map(of).collect()
    }

    #[test]
    fn groups_hold_all_pairs_of_the_blocks_in_the_order_of_each_lag() {
        for (block_size, levels, count, batch, most) in [
            (10, 3, 437, 64, 16),
            (5, 3, 137, 30, 16),
            (4, 2, 50, 1, 8),
            (40, 2, 300, 100, 16),
            (3, 4, 90, 90, 2),
        ] {
            let mut scheme = BlockingScheme::new(Blocks::new(block_size, levels));
            let lags = scheme.lags();
            let wanted = lags.len() - 2;
            let (mut plain, mut grouped) = (Vec::new(), Vec::new());
            let mut due = Vec::new();
            for sample in 0..=count {
                if sample < count {
                    due.extend(scheme.push(sample));
                } else {
                    due.extend(scheme.finish());
                }
                if sample % batch != 0 && sample < count {
                    continue;
                }
                let due = std::mem::take(&mut due);
                let lag_index =
                    |level, entry| scheme.lag_index(level, entry).filter(|&index| index < wanted);
                for Due { level, entries } in &due {
                    for (entry, later) in entries.iter().enumerate() {
                        if let Some(index) = lag_index(*level, entry) {
                            assert_eq!(lags[index], **later - *entries[0]);
                            plain.push((index, *entries[0]));
                        }
                    }
                }
                for group in groups(&due, |sample| *sample as u32, lag_index, most) {
                    assert!(group.samples.len() <= most);
                    for pair in &group.pairs {
                        let [origin, later] = [pair.origin, pair.later]
                            .map(|place| u64::from(group.samples[place as usize]));
                        assert_eq!(lags[pair.lag as usize], later - origin);
                        grouped.push((pair.lag as usize, origin));
                    }
                }
            }
            assert!(!plain.is_empty());
            assert_eq!(by_lag(&grouped, wanted), by_lag(&plain, wanted));
        }
    }

    #[test]
    fn consecutive_origins_share_their_samples() {
        let mut scheme = BlockingScheme::new(Blocks::new(10, 1));
        let due: Vec<_> = (0..73u64).flat_map(|sample| scheme.push(sample)).collect();
        let groups = groups(&due, |s| *s as u32, |level, entry| scheme.lag_index(level, entry), 16);
        // Seven origins and the nine samples after the last of them.
        assert_eq!(groups.len(), 64_usize.div_ceil(7));
        assert!(
            groups[..9].iter().all(|group| group.samples.len() == 16 && group.pairs.len() == 70)
        );
    }

    #[test]
    fn no_more_samples_are_held_than_is_said() {
        let whole = [(10, 3, 5000), (5, 6, 700), (2, 9, 300), (4, 3, 2)];
        let whole = whole.map(|(size, levels, stage)| (Blocks::new(size, levels), stage));
        let octaves = [(6, 12, 3000), (8, 5, 2000), (6, 9, 40)];
        let octaves =
            octaves.map(|(size, levels, stage)| (Blocks { size, levels, ratio: 2 }, stage));
        for (blocks, stage) in whole.into_iter().chain(octaves) {
            let mut scheme = BlockingScheme::new(blocks);
            let mut lags = scheme.lags();
            lags.retain(|&lag| lag <= stage);
            let evaluation = evaluation(blocks, lags.len());
            let mut most = 0;
            for sample in 0..=stage {
                scheme.push(sample);
                most = most.max(scheme.held().len());
            }
            assert!(most <= evaluation.most_samples_held(), "{most}, {evaluation:?}");
        }
    }
}
