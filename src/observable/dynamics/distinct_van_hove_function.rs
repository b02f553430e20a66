use std::ops::Range;

use rayon::prelude::*;

use super::correlation::Correlation;
use super::evaluator::Evaluator;
use super::part::Part;
use super::registry::Definition;
use super::self_van_hove_function::Bins;
use super::source::{Need, Source};
use super::terms::{Rows, SampleTerms, Terms};
use crate::observable::cells::Cells;
use crate::observable::sample::Sample;
use crate::observable::{ObservableError, SampleContext};
use crate::plan::{CorrelationPlan, DynamicObservable};
use crate::system::SimulationBox;

/// `G_d^ab(r, t) = N / (N_a N_b) <sum_i^a sum_j^b delta(r - |r_j(t) - r_i(0)|)> / (surface of the sphere or circle)` over different
/// particles `j != i` (van Hove, Phys. Rev. 95, 249 (1954)), with `N` all particles, and `N_a (N_a - 1)` in place of `N_a N_b` for
/// `a = b`; mean over the volume of a bin, and for `a != b` over `ab` and `ba`. At lag zero it is `rho g_ab(r)`, where particles have
/// forgotten each other it is the density `rho = N / V`. For every pair of species, and over all pairs of particles.
///
/// Cost: O(N) by cells, times the particles within the largest distance.
pub struct DistinctVanHoveFunction {
    dimension: usize,
}

pub(super) static DEFINITION: Definition = Definition {
    source: &SOURCE,
    correlation: |_, context| {
        Box::new(DistinctVanHoveFunction { dimension: context.simulation_box.dimension() })
    },
};

static SOURCE: Source = Source {
    needs: &[Need::Bins, Need::BinsOfPairs],
    evaluator: Evaluator::Host,
    ..Source::of_positions("distances between particles at two times", |plan, context| {
        Ok(Terms::Samples(Box::new(DistinctPairs::new(plan, context)?)))
    })
};

impl Correlation for DistinctVanHoveFunction {
    fn kind(&self) -> DynamicObservable {
        DynamicObservable::DistinctVanHoveFunction
    }

    fn formula(&self) -> String {
        let surface = match self.dimension {
            2 => "2 pi r",
            _ => "4 pi r^2",
        };
        format!(
            "N / (N_a N_b) <sum_i^a sum_j^b delta(r - |r_j(t) - r_i(0)|)> / ({surface}) over j != i, N all particles; N_a (N_a - 1) \
             instead of N_a N_b for a = b, mean of ab and ba for a != b"
        )
    }

    fn parts(&self, species: usize, listed: &[usize]) -> Vec<Part> {
        Part::pairs_and_all(species, listed)
    }
}

struct DistinctPairs {
    simulation_box: SimulationBox,
    bins: Bins,
    /// Places of every species.
    places: Vec<Range<usize>>,
}

impl DistinctPairs {
    /// # Errors
    /// As [`Bins::new`], and for a largest distance beyond half the shortest edge.
    fn new(plan: &CorrelationPlan, context: &SampleContext) -> Result<Self, ObservableError> {
        let maximum = plan.van_hove.maximum_distance;
        if !(maximum <= 0.5 * context.simulation_box.shortest_edge() * (1.0 + 1e-12)) {
            let key = "correlation.van_hove.maximum_distance";
            return Err(ObservableError::value(
                key,
                maximum,
                "no more than half the shortest edge",
            ));
        }
        Ok(DistinctPairs {
            simulation_box: context.simulation_box,
            bins: Bins::new(&plan.van_hove, &context.simulation_box)?,
            places: context.places_of_species(),
        })
    }

    /// In every bin, pairs of a particle of `first` in the earlier sample and another one of `second` in the later.
    fn count(&self, samples: [&Sample; 2], first: Range<usize>, second: Range<usize>) -> Vec<u64> {
        /// Particles of a task.
        const TASK: usize = 64;
        let bins = self.bins.distances.len();
        let [Some(origin), Some(later)] = samples.map(|sample| sample.position.as_ref()) else {
            return vec![0; bins];
        };
        let drift = samples[0].drift_until(samples[1]);
        let at = |i: usize| [0, 1, 2].map(|k| origin[k][first.start + i]);
        let cells = Cells::new(&self.simulation_box, first.len(), at);
        let reach = bins as f64 / self.bins.inverse_width;
        let count = |mut counts: Vec<u64>, i: usize| {
            let place = [0, 1, 2].map(|k| later[k][i] - drift[k]);
            cells.near(place, reach, |other, d| {
                let bin = (d.iter().map(|d| d * d).sum::<f64>().sqrt() * self.bins.inverse_width)
                    as usize;
                if first.start + other as usize != i
                    && let Some(count) = counts.get_mut(bin)
                {
                    *count += 1;
                }
            });
            counts
        };
        let add = |mut sum: Vec<u64>, other: Vec<u64>| {
            sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
            sum
        };
        // Integers: the order does not matter.
        second
            .into_par_iter()
            .with_min_len(TASK)
            .fold(|| vec![0; bins], count)
            .reduce(|| vec![0; bins], add)
    }
}

impl SampleTerms for DistinctPairs {
    fn rows(&self) -> Rows<'_> {
        Rows::Distances(&self.bins.distances)
    }

    fn evaluate(&self, origin: &Sample, later: &Sample, part: Part, terms: &mut [f64]) {
        let all = 0..self.places.last().map_or(0, |places| places.end);
        let [first, second] = match part {
            Part::Pair(a, b) => [a, b].map(|species| self.places[species].clone()),
            _ => [all.clone(), all.clone()],
        };
        let mut counts = self.count([origin, later], first.clone(), second.clone());
        // Ordered pairs that the counts are of.
        let pairs = match first == second {
            true => first.len() as f64 * (first.len() as f64 - 1.0),
            false => {
                let back = self.count([origin, later], second.clone(), first.clone());
                counts.iter_mut().zip(back).for_each(|(count, back)| *count += back);
                2.0 * first.len() as f64 * second.len() as f64
            }
        };
        let scale = all.len() as f64 / pairs;
        for ((term, count), inverse) in terms.iter_mut().zip(counts).zip(&self.bins.inverse_volumes)
        {
            *term = count as f64 * inverse * scale;
        }
    }
}
