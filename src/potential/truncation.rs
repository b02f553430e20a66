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
///
/// Where it is smoothed in 32 bits, the potential and its shift are in units of the pair's `r_c` and `epsilon`: pairs of
/// species with one ratio of cutoff to `sigma` then have their constants in common, which saves registers.
#[derive(Clone, Copy)]
pub struct Truncated<R, V> {
    potential: V,
    /// Subtracted from the energy: `U(r_c)`, or zero for the sharp cutoff.
    energy_shift: R,
    /// `(r_c / 2 h)^4`, `h` being the width.
    steepness: R,
    cutoff2: R,
    /// `1 / r_c^2`.
    inv_cutoff2: R,
    /// The pair's units of force over distance, and of energy.
    force_unit: R,
    energy_unit: R,
    cutoff: R,
    /// `-U'(r_c)`.
    force_at_cutoff: R,
    /// `1 / h`.
    inv_width: R,
}

impl<R: Real, V: Evaluator<R>> Truncated<R, V> {
    /// `exact` is the same form in 64 bits, from which the constants come.
    pub fn new<W: Evaluator<f64>>(
        form: impl Fn(&PairParameters) -> V,
        exact: impl Fn(&PairParameters) -> W,
        pair: &PairParameters,
        truncation: &Truncation,
    ) -> Self {
        let width = match truncation {
            Truncation::Smooth { width } => width * pair.sigma,
            _ => f64::INFINITY,
        };
        let is_reduced = truncation.kind() == TruncationKind::Smooth && !R::WIDE;
        let of = if is_reduced { reduced(pair) } else { *pair };
        let (force_over_r, energy) = exact(&of).evaluate(of.cutoff * of.cutoff);
        let energy_shift = if *truncation == Truncation::Sharp { 0.0 } else { energy };
        let ratio = rounded(0.5 * pair.cutoff / width);
        let inv_cutoff2 = R::from_f64(1.0 / (pair.cutoff * pair.cutoff));
        let cutoff2 = R::from_f64(pair.cutoff * pair.cutoff);
        Truncated {
            potential: form(&of),
            energy_shift: R::from_f64(energy_shift),
            steepness: R::from_f64(ratio * ratio * (ratio * ratio)),
            cutoff2: if is_reduced { first_outside(inv_cutoff2, cutoff2) } else { cutoff2 },
            inv_cutoff2,
            force_unit: R::from_f64(pair.epsilon / (pair.cutoff * pair.cutoff)),
            energy_unit: R::from_f64(pair.epsilon),
            cutoff: R::from_f64(pair.cutoff),
            force_at_cutoff: R::from_f64(force_over_r * of.cutoff),
            inv_width: R::from_f64(1.0 / width),
        }
    }

    /// The constants, in the order of `Truncated` in `kernels/potential/truncation.cuh`.
    pub fn constants(&self) -> Vec<R> {
        let mut constants = self.common_constants();
        constants.extend([
            self.cutoff2,
            self.inv_cutoff2,
            self.force_unit,
            self.energy_unit,
            self.cutoff,
            self.force_at_cutoff,
            self.inv_width,
        ]);
        constants
    }

    /// Those of the constants, the first, that pairs may have in common.
    pub fn common_constants(&self) -> Vec<R> {
        let mut constants = self.potential.constants();
        constants.extend([self.energy_shift, self.steepness]);
        constants
    }

    /// Beyond this the force is zero.
    #[inline(always)]
    pub fn cutoff2(&self) -> R {
        self.cutoff2
    }

    /// `(-U'(r)/r, U(r))` of the truncated potential for `0 < r2 < r_c^2`. `KIND` is a
    /// [`TruncationKind`] as integer.
    #[inline(always)]
    pub fn evaluate<const KIND: usize>(&self, r2: R) -> (R, R) {
        if KIND == TruncationKind::Smooth as usize && !R::WIDE {
            return self.smooth_in_reduced_units(r2);
        }
        let (force, energy) = self.potential.evaluate(r2);
        let energy = energy - self.energy_shift;
        if KIND == TruncationKind::Shifted as usize {
            return (force, energy);
        }
        let inv_r = r2.inverse_sqrt();
        if KIND == TruncationKind::ForceShifted as usize {
            // r - r_c
            let excess = r2.fused(inv_r, -self.cutoff);
            let force = (-self.force_at_cutoff).fused(inv_r, force);
            return (force, excess.fused(self.force_at_cutoff, energy));
        }
        // U g with g = x^4 / (1 + x^4), x = (r_c - r) / h; -(U g)'/r = F g + U 4 x^3 / (1 + x^4)^2 / (h r)
        let x = (self.cutoff - r2 * inv_r) * self.inv_width;
        let slope = R::from_f64(4.0) * (inv_r * self.inv_width);
        let x2 = x * x;
        let x3 = x2 * x;
        let complement = x2.fused(x2, R::ONE).inverse();
        let outer = (energy * complement) * slope;
        ((x3 * complement) * force.fused(x, outer), (x3 * x * complement) * energy)
    }

    /// The same without a root and with one more reciprocal than the potential has.
    ///
    /// With `rho = (r / r_c)^2` and the depth `d = 1 - rho`, `w = (r_c / 2 h)^4 d^4 / rho` stands for `x^4`: it is
    /// `x^4 (1 + ((r_c - r) / r_c)^2 / 2 + ...)`, there being no term of first order. `g = w / (1 + w)`, so that
    /// `-dg/d(rho/2) = 2 (r_c / 2 h)^4 d^3 (1 + 3 rho) / (rho + (r_c / 2 h)^4 d^4)^2`: the force is the derivative of the
    /// energy so defined. That differs from the exact one for `h = 0.005 sigma` at `r_c = 2.5 sigma` by 2e-10 epsilon,
    /// growing as `h^3`.
    #[inline(always)]
    fn smooth_in_reduced_units(&self, r2: R) -> (R, R) {
        let rho = r2 * self.inv_cutoff2;
        let (force, energy) = self.potential.evaluate_shifted(rho, self.energy_shift);
        let depth = R::ONE - rho;
        let depth = if depth > R::ZERO { depth } else { R::ZERO };
        let depth2 = depth * depth;
        let steep = self.steepness * depth2;
        let inverse = steep.fused(depth2, rho).inverse();
        // 2 (1 + 3 rho)
        let slope = depth.fused(R::from_f64(-6.0), R::from_f64(8.0));
        let outer = (energy * slope) * inverse;
        let force = ((steep * depth) * inverse) * depth.fused(force, outer);
        let energy = ((steep * depth2) * inverse) * energy;
        (force * self.force_unit, energy * self.energy_unit)
    }
}

/// A pair in units of its cutoff and its epsilon.
fn reduced(pair: &PairParameters) -> PairParameters {
    PairParameters {
        epsilon: 1.0,
        sigma: rounded(pair.sigma / pair.cutoff),
        cutoff: 1.0,
        kappa: rounded(pair.kappa * pair.cutoff),
    }
}

/// To 40 bits, so that equal ratios of rounded numbers are equal.
fn rounded(x: f64) -> f64 {
    let bits = x.to_bits() + (1 << 12);
    f64::from_bits(bits & !((1 << 13) - 1))
}

/// The smallest number whose product with `inv_cutoff2` is one or more, from one nearby.
fn first_outside<R: Real>(inv_cutoff2: R, near: R) -> R {
    let step = |x: R, up: bool| {
        let x = x.to_f64() as f32;
        R::from_f64(f64::from(if up { x.next_up() } else { x.next_down() }))
    };
    let mut x = near;
    while x * inv_cutoff2 >= R::ONE {
        x = step(x, false);
    }
    while x * inv_cutoff2 < R::ONE {
        x = step(x, true);
    }
    x
}
