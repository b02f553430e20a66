//! What is looked for around particles, how far, and how much there is room for.
use std::borrow::Cow;

use super::ComparedSamples;
use crate::engine::cuda::correlator::origins::Cells;
use crate::engine::cuda::correlator::pairs::{AtOnce, Capacity};
use crate::observable::dynamics::evaluation::{Evaluation, ParticleSum};
use crate::system::SimulationBox;

/// Bytes that may be taken by what is written for pairs (displacements and samples in the frame of the cages, or later places), and by the
/// neighbors of origins.
const MOST_BYTES: usize = 256 << 20;
/// Pairs of a round, and those of bonds and cages for each of a number of systems.
const MOST_PAIRS: usize = 4096;
const MOST_PAIRS_WITH_NEIGHBORS: usize = 256;
/// Pairs of all rounds whose results leave the GPU together: about those of a batch of samples of each system, and no more than these.
const PAIRS_OF_SYSTEM_IN_ALL: usize = 4096;
const MOST_PAIRS_IN_ALL: usize = 1 << 18;
/// An origin has more pairs in all but the shortest blocks.
const PAIRS_OF_ORIGIN: usize = 4;
/// Numbers of a round, of an origin, and of a pair.
const WORDS_OF_ROUND: usize = 1;
const WORDS_OF_ORIGIN: usize = 2;
const WORDS_OF_PAIR: usize = size_of::<ComparedSamples>() / 4;
/// For more neighbors there is no room: they are searched for in each pair.
const MOST_NEIGHBORS: usize = 96;

/// What is looked for around the particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sought {
    /// Places that are taken again.
    Places,
    /// Bonds, and the distance at which they are broken.
    Bonds(f64),
    Cages,
}

/// How far is looked around the particles for what, and how much there is room for.
pub struct Shape {
    pub particles: usize,
    pub cells: Cells,
    pub radius: f64,
    pub sought: Sought,
    /// Of a round.
    pub pairs: usize,
    /// Of all rounds whose results leave the GPU together.
    pub pairs_in_all: usize,
    /// Of a particle: more are searched for again.
    pub neighbors: usize,
    /// What is written for a particle of a pair beside samples.
    pub bytes_of_particle: usize,
}

impl Shape {
    /// For a number of systems; `None` where it does not matter what lies around particles.
    pub fn of(evaluation: &Evaluation, systems: usize, sample_bytes: usize) -> Option<Self> {
        let counted = || {
            evaluation.sums.iter().find_map(|sum| match sum {
                ParticleSum::PlacesTaken(radius) => Some((*radius, Sought::Places)),
                ParticleSum::BondsKept(bonds) => {
                    Some((bonds.radius, Sought::Bonds(bonds.breaking_radius)))
                }
                _ => None,
            })
        };
        let of_cages = evaluation.cage_radius.map(|radius| (radius, Sought::Cages));
        let (radius, sought) = of_cages.or_else(counted)?;
        let simulation_box = &evaluation.simulation_box;
        let particles = evaluation.particles();
        let with_neighbors = (systems * MOST_PAIRS_WITH_NEIGHBORS).min(MOST_PAIRS);
        let (bytes_of_particle, most) = match sought {
            Sought::Places => (0, MOST_PAIRS),
            Sought::Bonds(_) | Sought::Cages => (16, with_neighbors),
        };
        let of_samples = if sought == Sought::Cages { sample_bytes } else { 0 };
        let of_pair = particles * bytes_of_particle + of_samples;
        let mut pairs = (MOST_BYTES / of_pair.max(1)).clamp(1, most);
        let in_all = (systems * PAIRS_OF_SYSTEM_IN_ALL).min(MOST_PAIRS_IN_ALL);
        let mut pairs_in_all = in_all.max(pairs);
        if sought == Sought::Cages {
            let at_once = AtOnce::InRounds([pairs, pairs_in_all]);
            let capacity = Capacity::new(&within_cages(evaluation), at_once);
            pairs = pairs.min(capacity.of_round);
            pairs_in_all = capacity.of_all;
        }
        let neighbors = match sought {
            Sought::Places => 0,
            _ => room_for_neighbors(simulation_box, particles, radius),
        };
        let of_origin = 4 * particles * (neighbors + 1);
        let of_pairs = pairs.div_ceil(PAIRS_OF_ORIGIN);
        let origins = if neighbors > 0 { of_pairs.min(MOST_BYTES / of_origin) } else { usize::MAX };
        let cells = Cells::new(simulation_box, &evaluation.species, radius);
        Some(Shape {
            particles,
            cells: cells.of_systems(systems, origins),
            radius,
            sought,
            pairs,
            pairs_in_all,
            neighbors,
            bytes_of_particle,
        })
    }

    /// Samples that are written beside those that were taken.
    pub fn targets(&self) -> usize {
        if self.sought == Sought::Cages { self.pairs } else { 0 }
    }

    /// What is evaluated in the frame of the cages.
    pub fn at_once(&self) -> AtOnce {
        AtOnce::InRounds([self.pairs, self.pairs_in_all])
    }

    /// Words about origins and pairs of the rounds whose results leave together. A round has an origin at least, and this a pair.
    pub fn words(&self) -> usize {
        (WORDS_OF_ROUND + WORDS_OF_ORIGIN + WORDS_OF_PAIR) * self.pairs_in_all
    }

    /// Of what is written for pairs, and of neighbors.
    pub fn bytes(&self) -> [usize; 2] {
        let columns = if self.neighbors > 0 { self.neighbors + 1 } else { 0 };
        let of_pairs = self.pairs * self.particles * self.bytes_of_particle;
        [of_pairs, 4 * self.cells.origins() * self.particles * columns]
    }
}

/// Room for the neighbors of a particle, which hardly any exceeds; zero where neighbors or particles are too many to be stored.
fn room_for_neighbors(simulation_box: &SimulationBox, particles: usize, radius: f64) -> usize {
    let ball = match simulation_box.dimension() {
        3 => 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3),
        _ => std::f64::consts::PI * radius.powi(2),
    };
    let expected = particles as f64 / simulation_box.volume() * ball;
    let room = (1.5 * expected).ceil() + 8.0;
    let fits = room <= MOST_NEIGHBORS as f64 && 4.0 * particles as f64 * room < MOST_BYTES as f64;
    if fits { room as usize } else { 0 }
}

/// Whether it matters what lies around the particles, and what is then evaluated for pairs of samples by themselves.
pub fn needs_programs(evaluation: &Evaluation) -> (bool, Option<Cow<'_, Evaluation>>) {
    if Shape::of(evaluation, 1, 0).is_none() {
        return (false, Some(Cow::Borrowed(evaluation)));
    }
    let in_cages = evaluation.cage_radius.is_some();
    (true, in_cages.then(|| Cow::Owned(within_cages(evaluation))))
}

/// What is evaluated of samples in the frame of the cages. The centre of mass has no part in what is relative to cages.
pub fn within_cages(evaluation: &Evaluation) -> Evaluation {
    Evaluation { remove_drift: false, ..evaluation.clone() }
}

/// Whether it matters what lies around the particles of a number of systems: samples beside those that are taken, and bytes on the GPU
/// without them.
pub fn needs(evaluation: &Evaluation, systems: usize, sample_bytes: usize) -> Option<(usize, u64)> {
    let shape = Shape::of(evaluation, systems, sample_bytes)?;
    let correlated = match shape.sought {
        Sought::Cages => Capacity::new(&within_cages(evaluation), shape.at_once()).device_bytes,
        Sought::Places | Sought::Bonds(_) => 0,
    };
    let bytes = (shape.bytes().iter().sum::<usize>() + 4 * shape.words()) as u64;
    Some((shape.targets(), shape.cells.device_bytes() + bytes + correlated))
}
