//! What the smoothing at the cutoff changes where pair forces are in 32 bits.
use std::fmt::{self, Display};

use super::{PairParameters, PotentialPlan, Truncation, evaluate_exactly};

/// Largest changes of a pair's energy `V(r)` against the documented function, rounded up to two digits. Rounding of 32-bit
/// numbers is not counted.
///
/// `w = x^4 [(1 + s) / 2]^4 / s^2` with `s = r / r_c` stands for `x^4` in `g = x^4 / (1 + x^4)`
/// ([`Truncated`](super::Truncated)), so that `V` changes by `(w / x^4 - 1) / (1 + w)` of itself: by about
/// `(h sigma / r_c)^2 / 4` at `x = 1`, and less elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmoothingChange {
    /// In units of `V(r)`, at any distance: no mean energy of a potential of one sign changes by more of itself.
    pub relative: f64,
    /// In units of `epsilon` (of the pair's natural energy), where `|V(r)|` is up to that.
    pub of_epsilon: f64,
    /// What that energy is called.
    pub energy: &'static str,
}

impl Display for SmoothingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SmoothingChange { relative, of_epsilon, energy } = self;
        write!(
            f,
            "changes by up to {relative:.1e} of itself, and by up to {of_epsilon:.1e} {energy} where it is up to {energy}"
        )
    }
}

/// Distances that are tried between the core and the cutoff, and those of them within this many widths of the cutoff.
const DISTANCES: u32 = 128;
const DISTANCES_NEAR_CUTOFF: u32 = 96;
const WIDTHS: f64 = 8.0;
const HALVINGS: u32 = 20;

/// What a grid may miss of a maximum.
const SPARE: f64 = 1.005;

impl PotentialPlan {
    /// Of a pair; `None` where the truncation is another one, which is the same in all precisions, or there is no energy.
    pub fn change_by_smoothing(&self, pair: &PairParameters) -> Option<SmoothingChange> {
        let Truncation::Smooth { width } = self.truncation else { return None };
        if self.form.is_zero(pair) {
            return None;
        }
        let width = width * pair.width_unit();
        let epsilon = self.form.scale(pair).energy;
        // `|V(r)|` in units of that energy, and its change in units of itself.
        let at = |r: f64| {
            let (s, x) = (r / pair.cutoff, (pair.cutoff - r) / width);
            let ratio = (0.5 * (1.0 + s)).powi(4) / (s * s);
            let (documented, taken) = (x.powi(4), x.powi(4) * ratio);
            let (_, shifted) = evaluate_exactly(self.form, &Truncation::Shifted, pair, r);
            let energy = shifted.abs() * documented / (1.0 + documented);
            (energy / epsilon, (ratio - 1.0) / (1.0 + taken))
        };
        let over = |count: u32| (1..count).map(move |k| f64::from(k) / f64::from(count));
        let anywhere = over(DISTANCES).map(|share| share * pair.cutoff);
        let near = over(DISTANCES_NEAR_CUTOFF).map(|share| pair.cutoff - WIDTHS * width * share);
        let mut change = SmoothingChange {
            relative: 0.0,
            of_epsilon: 0.0,
            energy: self.form.description().scale.energy,
        };
        for r in anywhere.clone().chain(near.filter(|&r| r > 0.0)) {
            let (energy, relative) = at(r);
            change.relative = change.relative.max(relative);
            if energy <= 1.0 {
                change.of_epsilon = change.of_epsilon.max(energy * relative);
            }
        }
        // Where a core begins, at an energy of epsilon: between two of those distances.
        if let Some(inside) = anywhere.filter(|&r| at(r).0 > 1.0).reduce(f64::max) {
            let (mut inside, mut outside) = (inside, inside + pair.cutoff / f64::from(DISTANCES));
            for _ in 0..HALVINGS {
                let r = 0.5 * (inside + outside);
                if at(r).0 > 1.0 { inside = r } else { outside = r }
            }
            change.of_epsilon = change.of_epsilon.max(at(inside).1);
        }
        Some(SmoothingChange {
            relative: rounded_up(change.relative),
            of_epsilon: rounded_up(change.of_epsilon),
            ..change
        })
    }
}

/// To two digits.
fn rounded_up(x: f64) -> f64 {
    if x == 0.0 {
        return x;
    }
    let unit = 10f64.powf((x * SPARE).log10().floor() - 1.0);
    (x * SPARE / unit).ceil() * unit
}
