//! Where the pieces of a formula meet.
use super::shape::{Shape, bisect};
use crate::potential::evaluator::Evaluator;
use crate::potential::form::PairForm;

/// Both sides of a seam are looked at this share of its distance from it.
const BESIDE: f64 = 1e-9;

/// Jumps of the energy up to this share of energies there come from rounded parameters.
const LARGEST_ENERGY_JUMP: f64 = 1e-5;
/// The same of forces.
const LARGEST_FORCE_JUMP: f64 = 1e-4;

/// A distance at which a choice goes from one piece to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seam {
    pub r: f64,
    /// `U(r+) - U(r-)`.
    pub energy_jump: f64,
    /// The same of `-U'(r)`.
    pub force_jump: f64,
    /// Energies there, with that of the pair.
    energy_scale: f64,
    /// Forces there, with energy over distance of the pair.
    force_scale: f64,
}

impl Seam {
    pub fn is_broken(&self) -> bool {
        !(self.energy_jump.abs() <= LARGEST_ENERGY_JUMP * self.energy_scale)
    }

    pub fn has_a_kink(&self) -> bool {
        !(self.force_jump.abs() <= LARGEST_FORCE_JUMP * self.force_scale)
    }
}

impl Shape {
    /// All of them between the maximum at short distances, if there is one, and the cutoff, with distances from large to small. Two that
    /// are within one percent of each other and belong to the same choice are not seen.
    pub fn seams(&self) -> Vec<Seam> {
        let choices = self.formula.0.expression.choices();
        if choices.is_empty() {
            return Vec::new();
        }
        let values = self.formula.values(&self.pair);
        let within = self.inner_maximum().unwrap_or(0.0);
        let mut distances = Vec::new();
        for choice in choices {
            let is_below = |r: f64| choice.a.value(r, &values) < choice.b.value(r, &values);
            for places in self.at.windows(2) {
                let [(outside, _), (inside, _)] = [places[0], places[1]];
                let (own, other) = (is_below(outside), is_below(inside));
                if inside > within && own != other {
                    distances.push(bisect(inside, outside, |r| is_below(r) == own));
                }
            }
        }
        distances.sort_by(|a, b| b.total_cmp(a));
        // min and max inside each other may have the same.
        distances.dedup_by(|a, b| (*a / *b - 1.0).abs() < 10.0 * BESIDE);
        distances.into_iter().map(|r| self.seam(r)).collect()
    }

    fn seam(&self, r: f64) -> Seam {
        let evaluator = self.formula.evaluator::<f64>(&self.pair);
        let [outside, inside] = [1.0 + BESIDE, 1.0 - BESIDE].map(|share| {
            let r = share * r;
            (self.formula.energy(&self.pair, r), evaluator.evaluate(r * r).0 * r)
        });
        let of_pair = self.scale().energy;
        let forces = outside.1.abs() + inside.1.abs();
        Seam {
            r,
            energy_jump: outside.0 - inside.0,
            force_jump: outside.1 - inside.1,
            energy_scale: outside.0.abs() + inside.0.abs() + r * forces + of_pair,
            force_scale: forces + of_pair / r,
        }
    }

    /// Distance and jump of the force, of those that do not come from rounded parameters.
    pub fn force_jumps(&self) -> Vec<(f64, f64)> {
        let kinks = self.seams().into_iter().filter(Seam::has_a_kink);
        kinks.map(|seam| (seam.r, seam.force_jump)).collect()
    }
}
