//! What a formula looks like between contact and cutoff: its scales, and what is wrong with it.
use super::Formula;
use super::expression::Expression;
use super::seams::Seam;
use crate::potential::PairParameters;
use crate::potential::description::{Fault, Scale};
use crate::potential::evaluator::Evaluator;
use crate::potential::form::PairForm;

/// Distances that are looked at, each by this factor smaller than the one before, from the cutoff on.
const FACTOR: f64 = 0.99;
const DISTANCES: usize = 700;

/// A negative energy at short distances goes to minus infinity if it is this many times the largest one outside.
const DEEP: f64 = 100.0;
/// Below this share of the cutoff distances are short.
const SHORT: f64 = 0.2;
/// Energies below this are roundings.
const SHALLOWEST: f64 = 1e-12;
const BISECTIONS: u32 = 60;

/// Energies at distances from the cutoff inwards.
pub struct Shape {
    pub(super) formula: Formula,
    pub(super) pair: PairParameters,
    at_cutoff: f64,
    /// `r`, `U(r)` less that at the cutoff.
    pub(super) at: Vec<(f64, f64)>,
}

impl Shape {
    pub fn new(formula: Formula, pair: &PairParameters) -> Shape {
        let at_cutoff = formula.energy(pair, pair.cutoff);
        let mut shape =
            Shape { formula, pair: *pair, at_cutoff, at: Vec::with_capacity(DISTANCES) };
        let mut r = pair.cutoff;
        for _ in 0..DISTANCES {
            shape.at.push((r, shape.energy(r)));
            r *= FACTOR;
        }
        shape
    }

    fn energy(&self, r: f64) -> f64 {
        self.formula.energy(&self.pair, r) - self.at_cutoff
    }

    /// The largest distance at which the energy is not a number, beyond which it is one up to the cutoff.
    fn undefined_within(&self) -> Option<f64> {
        let place = self.at.iter().position(|(_, energy)| energy.is_nan())?;
        if place == 0 {
            return Some(self.pair.cutoff);
        }
        let is_outside = |r: f64| !self.energy(r).is_nan();
        Some(bisect(self.at[place].0, self.at[place - 1].0, is_outside))
    }

    /// The place of the maximum inside of which the energy falls to minus infinity; `Some(None)`: it falls, and there is no maximum.
    fn turned_over(&self) -> Option<Option<usize>> {
        let defined = self.at.iter().take_while(|(_, energy)| !energy.is_nan());
        let defined: Vec<(f64, f64)> = defined.copied().collect();
        let (_, innermost) = *defined.last()?;
        let outside = defined.iter().filter(|(r, _)| *r >= SHORT * self.pair.cutoff);
        let largest = outside.map(|(_, energy)| energy.abs()).fold(0.0, f64::max);
        if !(innermost < -DEEP * largest) {
            return None;
        }
        // From there outwards it rises up to the maximum, where there is one.
        let mut place = defined.len() - 1;
        while place > 0 && defined[place - 1].1 >= defined[place].1 {
            place -= 1;
        }
        Some((place > 0).then_some(place))
    }

    pub fn inner_maximum(&self) -> Option<f64> {
        let undefined = self.undefined_within();
        let Some(place) = self.turned_over().flatten() else { return undefined };
        // Where the derivative changes its sign, around that place.
        let evaluator = self.formula.evaluator::<f64>(&self.pair);
        let repels = |r: f64| evaluator.evaluate(r * r).0 > 0.0;
        let (inside, outside) =
            (self.at[(place + 1).min(self.at.len() - 1)].0, self.at[place - 1].0);
        Some(bisect(inside, outside, repels))
    }

    pub fn scale(&self) -> Scale {
        let within = self.inner_maximum().unwrap_or(0.0);
        let outside: Vec<(f64, f64)> = self
            .at
            .iter()
            .copied()
            .filter(|(r, energy)| *r > within && energy.is_finite())
            .collect();
        let lowest = (0..outside.len()).min_by(|&a, &b| outside[a].1.total_cmp(&outside[b].1));
        if let Some(lowest) = lowest
            && outside[lowest].1 < -SHALLOWEST
        {
            let zero = outside[lowest..].iter().find(|(_, energy)| *energy >= 0.0);
            let length = zero.map_or(outside[lowest].0, |(r, _)| *r);
            return Scale { energy: -outside[lowest].1, length };
        }
        // Some repulsions end before the cutoff.
        let beyond = outside.iter().take_while(|(_, energy)| energy.abs() <= SHALLOWEST).last();
        let half = 0.5 * beyond.map_or(self.pair.cutoff, |(r, _)| *r);
        let energy = self.energy(half).abs();
        Scale { energy: if energy.is_finite() { energy.min(1.0) } else { 1.0 }, length: half }
    }

    /// What is wrong: with the place, and what would be right.
    pub fn fault(&self) -> Option<Fault> {
        let fault = |message: String, help: &str| Fault {
            key: "cutoff_absolute",
            message,
            help: help.to_owned(),
        };
        let cutoff = self.pair.cutoff;
        if let Some((name, value)) = self.too_large() {
            let message = format!("{name} is {value:e} here: that does not fit into 32 bits");
            return Some(fault(
                message,
                "choose units in which energies and lengths are about one",
            ));
        }
        if let Some(undefined) = self.undefined_within()
            && !self.is_wall(undefined)
        {
            let message = format!(
                "the formula has no value at r = {undefined:.6}, and the cutoff is {cutoff}"
            );
            return Some(fault(
                message,
                "a logarithm, a root or a power of a negative number? Particles come there: take a formula that is defined up to the cutoff, or raise it to a wall before",
            ));
        }
        if self.turned_over() == Some(None) {
            return Some(fault(
                "the energy falls to minus infinity at short distances".to_owned(),
                "particles would fall into each other: a repulsion is missing, or has the wrong sign",
            ));
        }
        if let Some(maximum) = self.inner_maximum()
            && maximum >= 0.9 * cutoff
        {
            let message =
                format!("is inside the maximum at {maximum:.4}, where the potential turns over");
            return Some(fault(message, "two or three times the distance of the minimum is usual"));
        }
        let seams = self.seams();
        if let Some(seam) = seams.iter().find(|seam| seam.is_broken()) {
            let message =
                format!("the energy jumps by {:.3e} at r = {:.6}", seam.energy_jump, seam.r);
            return Some(fault(
                message,
                "a jump has no force, and energy would not be conserved: let both pieces have the same value where they meet",
            ));
        }
        self.wrong_force(&seams)
    }

    /// Whether the energy becomes so large before a distance inside of which it has no value that particles do not come there.
    fn is_wall(&self, undefined: f64) -> bool {
        let outside = self.at.iter().filter(|(r, _)| *r > 1.2 * undefined);
        let largest = outside.map(|(_, energy)| energy.abs()).fold(0.0, f64::max);
        let last = self.at.iter().take_while(|(r, _)| *r > undefined).last();
        last.is_some_and(|(_, energy)| *energy > 10.0 * largest)
    }

    /// A constant that is not finite in 32 bits, as an expression of its place.
    fn too_large(&self) -> Option<(String, f64)> {
        let values = self.formula.values(&self.pair);
        let constants = self.formula.0.program.constants.iter();
        let mut values = constants.map(|of: &Expression| of.value(f64::NAN, &values));
        let wrong = values.find(|value| !(*value as f32).is_finite())?;
        Some(("a constant of the formula".to_owned(), wrong))
    }

    /// The derivative against differences of the energy, which have an error of about `h^4 U'''''`.
    fn wrong_force(&self, seams: &[Seam]) -> Option<Fault> {
        let evaluator = self.formula.evaluator::<f64>(&self.pair);
        let within = self.inner_maximum().unwrap_or(0.0);
        for &(r, energy) in self.at.iter().skip(1).step_by(7) {
            if r < SHORT * self.pair.cutoff || r < 1.05 * within {
                break;
            }
            let h = 1e-3 * r;
            // Differences over a seam are those of neither piece.
            if seams.iter().any(|seam| (seam.r - r).abs() < 2.5 * h) {
                continue;
            }
            let of = |k: f64| self.energy(r + k * h);
            let (one, two) = (of(1.0) - of(-1.0), of(2.0) - of(-2.0));
            let expected = -(8.0 * one - two) / (12.0 * h);
            let (force_over_r, own) = evaluator.evaluate(r * r);
            let found = force_over_r * r;
            let scale = expected.abs() + found.abs() + (energy.abs() + own.abs()) / r + 1e-300;
            if expected.is_finite() && !((found - expected).abs() < 1e-4 * scale) {
                return Some(Fault {
                    key: "cutoff_absolute",
                    message: format!(
                        "at r = {r:.6} the force is {found:.6e}, by differences of the energy {expected:.6e}"
                    ),
                    help: "the formula jumps or is not smooth there".to_owned(),
                });
            }
        }
        None
    }
}

/// Where `is_outside` changes between two distances.
pub(super) fn bisect(mut inside: f64, mut outside: f64, is_outside: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (inside + outside);
        if is_outside(middle) { outside = middle } else { inside = middle }
    }
    outside
}
