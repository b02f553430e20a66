use super::evaluator::Evaluator;
use super::{PairParameters, Truncation};
use crate::arithmetic::Real;

/// How a truncation enters the pair loop: one kernel for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruncationKind {
    /// Sharp and shifted: the force is that of the bare potential.
    Shifted,
    ForceShifted,
    Smooth,
}

impl Truncation {
    pub fn kind(&self) -> TruncationKind {
        match self {
            Truncation::Sharp | Truncation::Shifted => TruncationKind::Shifted,
            Truncation::ForceShifted => TruncationKind::ForceShifted,
            Truncation::Smooth { .. } => TruncationKind::Smooth,
        }
    }
}

/// A potential cut at `r_c`, ready for the pair loop.
#[derive(Clone, Copy)]
pub struct Truncated<R, V> {
    potential: V,
    cutoff2: R,
    cutoff: R,
    /// Subtracted from the energy: `U(r_c)`, or zero for the sharp cutoff.
    energy_shift: R,
    /// `-U'(r_c)`.
    force_at_cutoff: R,
    /// `1 / (width sigma)`.
    inv_width: R,
    /// Coefficients of the depth below the cutoff, [`Self::depth`].
    depth: [R; 2],
}

impl<R: Real, V: Evaluator<R>> Truncated<R, V> {
    /// `exact` is the same potential in 64 bits, from which the constants come.
    pub fn new(
        potential: V,
        exact: &impl Evaluator<f64>,
        pair: &PairParameters,
        truncation: &Truncation,
    ) -> Self {
        let (force_over_r, energy) = exact.evaluate(pair.cutoff * pair.cutoff);
        let inv_width = match truncation {
            Truncation::Smooth { width } => 1.0 / (width * pair.sigma),
            _ => 0.0,
        };
        let energy_shift = if *truncation == Truncation::Sharp { 0.0 } else { energy };
        Truncated {
            potential,
            cutoff2: R::from_f64(pair.cutoff * pair.cutoff),
            cutoff: R::from_f64(pair.cutoff),
            energy_shift: R::from_f64(energy_shift),
            force_at_cutoff: R::from_f64(force_over_r * pair.cutoff),
            inv_width: R::from_f64(inv_width),
            depth: [
                R::from_f64(0.5 * inv_width / pair.cutoff),
                R::from_f64(0.125 * inv_width / (pair.cutoff * pair.cutoff * pair.cutoff)),
            ],
        }
    }

    /// The constants, in the order of `Truncated` in `kernels/potential/truncation.cuh`.
    pub fn constants(&self) -> Vec<R> {
        let mut constants = self.potential.constants();
        constants.extend([
            self.cutoff2,
            self.cutoff,
            self.energy_shift,
            self.force_at_cutoff,
            self.inv_width,
            self.depth[0],
            self.depth[1],
        ]);
        constants
    }

    #[inline(always)]
    pub fn cutoff2(&self) -> R {
        self.cutoff2
    }

    /// `(-U'(r)/r, U(r))` of the truncated potential for `0 < r2 < r_c^2`. `KIND` is a
    /// [`TruncationKind`] as integer.
    #[inline(always)]
    pub fn evaluate<const KIND: usize>(&self, r2: R) -> (R, R) {
        let (force, energy) = self.potential.evaluate(r2);
        let energy = energy - self.energy_shift;
        if KIND == TruncationKind::Shifted as usize {
            return (force, energy);
        }
        if KIND == TruncationKind::ForceShifted as usize {
            let inv_r = r2.inverse_sqrt();
            // r - r_c
            let excess = r2.fused(inv_r, -self.cutoff);
            let force = (-self.force_at_cutoff).fused(inv_r, force);
            return (force, excess.fused(self.force_at_cutoff, energy));
        }
        // U g with g = x^4 / (1 + x^4); -(U g)'/r = F g + U 4 x^3 / (1 + x^4)^2 dx/d(-r^2/2)
        let (x, slope) = self.depth(r2);
        let x2 = x * x;
        let x3 = x2 * x;
        let complement = x2.fused(x2, R::ONE).inverse();
        let outer = (energy * complement) * slope;
        ((x3 * complement) * force.fused(x, outer), (x3 * x * complement) * energy)
    }

    /// `x = (r_c - r) / h` and `4 dx/d(-r^2/2)`, `h` being the width.
    ///
    /// With `d = r_c^2 - r^2` this is `x = d / (2 h r_c) + d^2 / (8 h r_c^3) + ...`; in 32 bits the series ends
    /// there. The force is the derivative of the function so defined, which differs from the exact one by
    /// `1 - g` times `d^2 / (2 r_c^4)`: for `h = 0.005 sigma` at `r_c = 2.5 sigma` less than 1e-9 epsilon,
    /// growing as `h^3`.
    #[inline(always)]
    fn depth(&self, r2: R) -> (R, R) {
        let four = R::from_f64(4.0);
        if R::WIDE {
            let inv_r = r2.inverse_sqrt();
            let x = (self.cutoff - r2 * inv_r) * self.inv_width;
            return (x, four * (inv_r * self.inv_width));
        }
        let [first, second] = self.depth;
        let d = self.cutoff2 - r2;
        let eight = R::from_f64(8.0);
        let sixteen = R::from_f64(16.0);
        (d * second.fused(d, first), (sixteen * second).fused(d, eight * first))
    }
}
