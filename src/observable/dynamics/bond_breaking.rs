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
use crate::plan::{BondPlan, CorrelationPlan, DynamicObservable};

/// `C_B(t) = <sum_i n_i(t) / n_i(0)> / N`: fraction of the bonds of a particle that are not broken after `t`, a mean over
/// particles. `n_i(0)` is the number of particles of any species closer to particle `i` than `A1` at the time origin,
/// `n_i(t)` the number of those that are closer than `A2 >= A1` after `t`; distances are those of the nearest images.
/// Vibrations across `A1` do not break a bond if `A2` is large enough (Yamamoto & Onuki, Phys. Rev. E 58, 3515 (1998), with
/// both radii in units of the `sigma` of the pair; here they are lengths). A particle without neighbors at the origin
/// counts as 1: none of its bonds is broken. Of every species, and of all particles. Distances are the same whether
/// drift is removed or not. In a flow they are those in the box of each of the two times, as in that paper.
///
/// Cost: O(N) by cells.
pub struct BondBreaking(pub BondPlan);

pub(super) static DEFINITION: Definition =
    Definition { source: &SOURCE, correlation: |plan, _| Box::new(BondBreaking(radii(plan))) };

pub(super) static SUSCEPTIBILITY: Definition = Definition {
    source: &SOURCE,
    correlation: |plan, _| {
        Box::new(Susceptibility {
            kind: DynamicObservable::BondBreakingSusceptibility,
            fluctuating: format!("sum_i [n_i(t) / n_i(0)] / N, {}", definition(radii(plan))),
            parts: Part::species_and_all,
        })
    },
};

static SOURCE: Source = Source {
    needs: &[Need::Bonds],
    evaluator: Evaluator::Bonds,
    ..Source::of_positions("bonds kept", |plan, context| {
        let shortest_edge = context.simulation_box.shortest_edge();
        Ok(Terms::of_particles(BondsKept::new(radii(plan), shortest_edge)?))
    })
};

impl Correlation for BondBreaking {
    fn kind(&self) -> DynamicObservable {
        DynamicObservable::BondBreaking
    }

    fn formula(&self) -> String {
        format!("<sum_i n_i(t) / n_i(0)> / N, {}", definition(self.0))
    }

    fn parts(&self, species: usize, listed: &[usize]) -> Vec<Part> {
        Part::species_and_all(species, listed)
    }
}

/// The radii of a plan; NaN where it has none.
fn radii(plan: &CorrelationPlan) -> BondPlan {
    plan.bonds.unwrap_or(BondPlan { radius: f64::NAN, breaking_radius: f64::NAN })
}

/// What `n_i` of formulas is.
fn definition(BondPlan { radius, breaking_radius }: BondPlan) -> String {
    format!(
        "n_i(0): number of j with |r_j(0) - r_i(0)| < A1, n_i(t): number of these with |r_j(t) - r_i(t)| < A2, 1 in place \
         of n_i(t) / n_i(0) where n_i(0) = 0, A1 = {radius}, A2 = {breaking_radius}"
    )
}

/// `n_i(t) / n_i(0)` in units of `2^-32`, to the nearest: sums of integers do not depend on the order of particles.
pub fn share_kept(kept: u64, bonds: u64) -> u64 {
    ((kept << 32) + bonds / 2).checked_div(bonds).unwrap_or(1 << 32)
}

/// The sum that shares in units of `2^-32` stand for.
pub fn sum_of_shares(shares: u64) -> f64 {
    shares as f64 / 2f64.powi(32)
}

/// `n_i(t) / n_i(0)` of particles.
pub struct BondsKept(BondPlan);

impl BondsKept {
    /// # Errors
    /// For a radius that is not positive, or not below half the shortest edge; for a breaking radius that is smaller than
    /// the other.
    pub fn new(bonds: BondPlan, shortest_edge: f64) -> Result<Self, ObservableError> {
        let BondPlan { radius, breaking_radius } = bonds;
        let below_half = |radius: f64| radius < 0.5 * shortest_edge;
        if !(radius > 0.0 && below_half(radius)) {
            let expected = "a positive number below half the shortest edge";
            return Err(ObservableError::value("correlation.bond_radius", radius, expected));
        }
        if !(breaking_radius >= radius && below_half(breaking_radius)) {
            let key = "correlation.bond_breaking_radius";
            let expected = "no less than bond_radius, and below half the shortest edge";
            return Err(ObservableError::value(key, breaking_radius, expected));
        }
        Ok(BondsKept(bonds))
    }
}

impl ParticleTerms for BondsKept {
    fn add(&self, chunk: &mut PairChunk, sums: &mut [f64]) {
        let squared_radius = self.0.breaking_radius * self.0.breaking_radius;
        let share = |i: usize| {
            let (mut bonds, mut kept) = (0, 0);
            for squared_length in chunk.squared_lengths_of_bonds(i) {
                bonds += 1;
                kept += u64::from(squared_length < squared_radius);
            }
            share_kept(kept, bonds)
        };
        sums[0] += sum_of_shares((0..chunk.count()).map(share).sum());
    }

    fn particle_sum(&self) -> Option<ParticleSum> {
        Some(ParticleSum::BondsKept(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observable::Correlations;
    use crate::observable::trajectories::{context, snapshot};
    use crate::plan::VanHovePlan;

    const BONDS: BondPlan = BondPlan { radius: 1.4, breaking_radius: 1.8 };

    fn plan(bonds: BondPlan) -> CorrelationPlan {
        CorrelationPlan {
            every: 1,
            block_size: 4,
            levels: 1,
            level_ratio: None,
            wavenumbers: Vec::new(),
            vectors_per_shell: 1,
            overlap_length: 0.3,
            remove_drift: false,
            cage_radius: None,
            bonds: Some(bonds),
            van_hove: VanHovePlan { maximum_distance: 2.0, bin_width: 0.1 },
            species: vec![0, 1],
            diameter_classes: None,
            origins: Vec::new(),
            observables: vec![
                DynamicObservable::BondBreaking,
                DynamicObservable::BondBreakingSusceptibility,
            ],
        }
    }

    #[test]
    fn shares_are_exact_where_they_can_be() {
        assert_eq!([share_kept(0, 0), share_kept(7, 7), share_kept(0, 7)], [1 << 32, 1 << 32, 0]);
        assert_eq!(share_kept(3, 4), 3 << 30);
        assert_eq!(sum_of_shares(share_kept(1, 2) + share_kept(5, 5)), 1.5);
        // To the nearest.
        assert_eq!([share_kept(1, 3), share_kept(2, 3)], [1_431_655_765, 2_863_311_531]);
    }

    /// Values of both species and of all at lag 1, of particles at these places along x of a box of edge 10.
    fn kept(edges: &[f64], bonds: BondPlan, from: [f64; 4], to: [f64; 4]) -> [f64; 3] {
        let context = context(edges, &[2, 2], 1);
        let z = if edges.len() == 3 { 5.0 } else { 0.0 };
        let mut correlations = Correlations::new(&plan(bonds), &context).unwrap();
        for (step, x) in [(0, from), (1, to)] {
            let places = x.map(|x| [x, 5.0, z]);
            let snapshot = snapshot(&context.simulation_box, step, &places, &[[0.0; 3]; 4]);
            correlations.sample(&snapshot, None);
        }
        correlations.finish();
        let results = correlations.results();
        ["A", "B", "all-particles"].map(|part| {
            let path = format!("{part}/bond_breaking");
            let series = results.iter().find(|series| series.path == path).expect("a series");
            assert_eq!(series.value[0], 1.0, "{path}");
            series.value[1]
        })
    }

    #[test]
    fn bonds_break_beyond_the_larger_radius() {
        // Particles 0 and 1 are bonded across the periodic boundary, 1 and 2 within the box; 3 has no neighbors.
        let from = [9.5, 0.5, 1.6, 5.0];
        for edges in [&[10.0, 10.0, 10.0][..], &[10.0, 10.0]] {
            for (to, expected) in [
                (from, [1.0, 1.0, 1.0]),
                // 1.7 from 0 to 1: kept. 1.9 from 1 to 2: broken. What 3 has come close to was no neighbor.
                ([8.8, 0.5, 2.4, 3.5], [0.75, 0.5, 0.625]),
                // The same bonds elsewhere, that between 1 and 2 across the periodic boundary.
                ([2.5, 3.5, 14.6, 9.0], [1.0, 1.0, 1.0]),
                ([0.8, 9.2, 8.0, 5.0], [1.0, 1.0, 1.0]),
                ([0.0, 2.5, 5.0, 7.5], [0.0, 0.5, 0.25]),
            ] {
                assert_eq!(kept(edges, BONDS, from, to), expected, "{to:?}");
            }
            let equal = BondPlan { breaking_radius: 1.4, ..BONDS };
            assert_eq!(kept(edges, equal, from, from), [1.0, 1.0, 1.0]);
            assert_eq!(kept(edges, equal, from, [8.8, 0.5, 2.4, 3.5]), [0.0, 0.5, 0.25]);
        }
    }

    #[test]
    fn radii_have_to_be_in_order_and_to_fit_into_the_box() {
        for (radius, breaking_radius, key) in [
            (0.0, 1.0, "bond_radius"),
            (f64::NAN, f64::NAN, "bond_radius"),
            (5.0, 5.0, "bond_radius"),
            (1.4, 1.3, "bond_breaking_radius"),
            (1.4, 5.0, "bond_breaking_radius"),
        ] {
            let bonds = BondPlan { radius, breaking_radius };
            let message = BondsKept::new(bonds, 10.0).map(|_| ()).unwrap_err().to_string();
            assert!(message.contains(&format!("correlation.{key}")), "{message}");
        }
        assert!(BondsKept::new(BondPlan { radius: 1.4, breaking_radius: 1.4 }, 10.0).is_ok());
    }
}
