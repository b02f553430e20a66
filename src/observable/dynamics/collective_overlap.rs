use super::correlation::Correlation;
use super::evaluation::ParticleSum;
use super::evaluator::Evaluator;
use super::pair_chunk::PairChunk;
use super::part::Part;
use super::registry::Definition;
use super::source::{Need, Source};
use super::susceptibility::Susceptibility;
use super::terms::{ParticleTerms, Terms};
use crate::observable::ObservableError;
use crate::plan::DynamicObservable;

/// `Q(t) = <sum_i sum_j theta(a - |r_j(t) - r_i(0)|)> / N` over all ordered pairs of the `N` particles of any
/// species (Lacevic, Starr, Schroder & Glotzer, J. Chem. Phys. 119, 7372 (2003), with `W = theta`): the
/// fraction of places of particles that are taken again after `t`, by the same or another particle. As
/// long as `2 a` is less than the distance of closest approach, no place counts twice. In a liquid it
/// decays to `rho v(a)`, with `v(a)` the volume of a sphere (the area of a disk) of radius `a`.
///
/// Cost: O(N) by cells.
pub struct CollectiveOverlap {
    length: f64,
}

pub(super) static DEFINITION: Definition = Definition {
    source: &SOURCE,
    correlation: |plan, _| Box::new(CollectiveOverlap::new(plan.overlap_length)),
};

pub(super) static SUSCEPTIBILITY: Definition = Definition {
    source: &SOURCE,
    correlation: |plan, _| {
        let length = plan.overlap_length;
        Box::new(Susceptibility {
            kind: DynamicObservable::CollectiveOverlapSusceptibility,
            fluctuating: format!("sum_i sum_j theta(a - |r_j(t) - r_i(0)|) / N, a = {length}"),
            parts: Part::all_particles,
        })
    },
};

static SOURCE: Source = Source {
    needs: &[Need::OverlapLength, Need::OverlapLengthOfPairs],
    evaluator: Evaluator::Places,
    ..Source::of_positions("collective overlap", |plan, context| {
        let shortest_edge = context.simulation_box.shortest_edge();
        Ok(Terms::of_particles(PlacesTaken::new(plan.overlap_length, shortest_edge)?))
    })
};

impl CollectiveOverlap {
    pub fn new(length: f64) -> Self {
        CollectiveOverlap { length }
    }
}

impl Correlation for CollectiveOverlap {
    fn kind(&self) -> DynamicObservable {
        DynamicObservable::CollectiveOverlap
    }

    fn formula(&self) -> String {
        format!("<sum_i sum_j theta(a - |r_j(t) - r_i(0)|)> / N, a = {}", self.length)
    }

    fn parts(&self, species: usize, listed: &[usize]) -> Vec<Part> {
        Part::all_particles(species, listed)
    }
}

/// For each particle of the later sample, the number of those of the earlier one within a distance.
pub struct PlacesTaken {
    length: f64,
}

impl PlacesTaken {
    /// # Errors
    /// For a length that is not positive, or not below half the shortest edge.
    pub fn new(length: f64, shortest_edge: f64) -> Result<Self, ObservableError> {
        if !(length > 0.0 && length < 0.5 * shortest_edge) {
            let expected = "a positive number below half the shortest edge";
            return Err(ObservableError::value("correlation.overlap_length", length, expected));
        }
        Ok(PlacesTaken { length })
    }
}

impl ParticleTerms for PlacesTaken {
    fn add(&self, chunk: &mut PairChunk, sums: &mut [f64]) {
        let mut taken = 0_u64;
        for i in 0..chunk.count() {
            let place = [0, 1, 2].map(|axis| chunk.later_position(axis)[i]);
            chunk.origin_cells().near(place, self.length, |_, _| taken += 1);
        }
        sums[0] += taken as f64;
    }

    fn particle_sum(&self) -> Option<ParticleSum> {
        Some(ParticleSum::PlacesTaken(self.length))
    }
}
