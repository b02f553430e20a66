//! Jumps at the cutoff.
use super::{PairParameters, PotentialPlan, evaluate_exactly};

/// Largest jumps of all pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jumps {
    pub energy: f64,
    pub force: f64,
}

impl PotentialPlan {
    /// What energy and force are just inside the cutoff, where beyond it they are zero.
    pub fn jumps_at_cutoff(&self) -> Jumps {
        let inside = |pair: &PairParameters| {
            let r = pair.cutoff.next_down();
            let (force_over_r, energy) = evaluate_exactly(self.form, &self.truncation, pair, r);
            Jumps { energy: energy.abs(), force: (force_over_r * r).abs() }
        };
        self.pairs.iter().flatten().map(inside).fold(Jumps { energy: 0.0, force: 0.0 }, |a, b| {
            Jumps { energy: a.energy.max(b.energy), force: a.force.max(b.force) }
        })
    }
}
