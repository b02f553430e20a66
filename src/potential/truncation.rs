use super::description::SIGMA;
use super::evaluator::{Evaluator, ReducedUnits, named};
use super::form::PairForm;
use super::{PairParameters, Truncation};
use crate::arithmetic::{Dual, Real};

/// How a truncation enters the pair loop: one kernel for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruncationKind {
    /// Sharp and shifted: the force is that of the bare potential.
    Shifted,
    ForceShifted,
    EvenQuartic,
    Smooth,
}

impl Truncation {
    pub fn kind(&self) -> TruncationKind {
        match self {
            Truncation::Sharp | Truncation::Shifted => TruncationKind::Shifted,
            Truncation::ForceShifted => TruncationKind::ForceShifted,
            Truncation::EvenQuartic => TruncationKind::EvenQuartic,
            Truncation::Smooth { .. } => TruncationKind::Smooth,
        }
    }
}

/// Units of the pair loop, in reduced units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairUnits {
    /// Of distances.
    pub length: f64,
    /// What one `-U'(r)/r` is.
    pub impulse: f64,
}

impl Default for PairUnits {
    fn default() -> Self {
        PairUnits { length: 1.0, impulse: 1.0 }
    }
}

impl PairUnits {
    /// Those of a truncation, where a policy has units of its own.
    pub fn of<R: Real>(truncation: TruncationKind, of_policy: PairUnits) -> Self {
        if is_reduced::<R>(truncation as usize) { of_policy } else { PairUnits::default() }
    }
}

/// Whether a pair's energy, force and distance are in units of its own.
#[inline(always)]
pub fn is_reduced<R: Real>(kind: usize) -> bool {
    kind == TruncationKind::Smooth as usize && !R::WIDE
}

/// A potential cut at `r_c`, ready for the pair loop.
///
/// Where it is smoothed in 32 bits, distances and forces are in the policy's units, which saves a multiplication for each
/// component, and the potential and its shift in units of its own ([`Evaluator::REDUCED`]): pairs of
/// species with one ratio of cutoff to `sigma` then have their constants in common, which saves registers.
#[derive(Clone, Copy)]
pub struct Truncated<R, V> {
    potential: V,
    /// Subtracted from the energy, where that is raised after it is: `U(r_c)`, or zero for the sharp cutoff.
    energy_shift: R,
    /// `k = (r_c / 2 h) (r_c / a)^(1/2)`, `h` being the width and `a` the unit of length; it is the depth at `r = 0`.
    depth: R,
    /// `-k (a / r_c)^2`.
    minus_slope: R,
    /// `8 k` in the units of force over those of energy.
    raise: R,
    /// `-3 / 4 k`.
    bend: R,
    cutoff2: R,
    /// `1 / a^2`.
    inv_unit2: R,
    /// The pair's units of force over distance, and of energy.
    force_unit: R,
    energy_unit: R,
    cutoff: R,
    /// `-U'(r_c)`.
    force_at_cutoff: R,
    /// `F = -U'(r)/r` at the cutoff, and `dF / d(r^2)` there.
    end_force: R,
    end_slope: R,
    /// `1 / h`.
    inv_width: R,
    /// Of two particles at the same place; `None` where the potential has a pole.
    contact_energy: Option<R>,
}

impl<R: Real, V: Evaluator<R>> Truncated<R, V> {
    /// The constants come from the same form in 64 bits.
    pub fn new<F: PairForm<Evaluator<R> = V>>(
        form: &F,
        pair: &PairParameters,
        truncation: &Truncation,
        units: PairUnits,
    ) -> Self {
        let units = PairUnits::of::<R>(truncation.kind(), units);
        let is_reduced = is_reduced::<R>(truncation.kind() as usize);
        Self::with_units(form, pair, truncation, units, is_reduced)
    }

    fn with_units<F: PairForm<Evaluator<R> = V>>(
        form: &F,
        pair: &PairParameters,
        truncation: &Truncation,
        units: PairUnits,
        is_reduced: bool,
    ) -> Self {
        let width = match truncation {
            Truncation::Smooth { width } => width * pair.width_unit(),
            _ => f64::INFINITY,
        };
        let scale = if is_reduced {
            V::REDUCED
        } else {
            ReducedUnits { sigma: false, force: 1.0, energy: 1.0 }
        };
        // In units of the pair's cutoff.
        let unit = if scale.sigma { rounded(pair.of(&SIGMA) / pair.cutoff) } else { 1.0 };
        let of = if is_reduced { form.reduced(pair, unit, rounded) } else { *pair };
        let amplitude = form.amplitude(pair);
        let (force_over_r, energy) = form.evaluator::<f64>(&of).evaluate(of.cutoff * of.cutoff);
        let energy_shift = if *truncation == Truncation::Sharp { 0.0 } else { energy };
        // Zero where nothing needs them: in 32 bits they may be too large.
        let (end_force, end_slope) = match truncation {
            Truncation::EvenQuartic => {
                let end = Dual::variable(of.cutoff * of.cutoff);
                let (force, _) = form.evaluator::<Dual>(&of).evaluate(end);
                (force.value, force.slope)
            }
            _ => (0.0, 0.0),
        };
        // The constants that follow from the depth go by what it is after rounding.
        let depth = match is_reduced {
            true => R::from_f64(rounded(0.5 * pair.cutoff / width) * (1.0 / unit).sqrt()),
            false => R::ONE,
        };
        let bend = R::from_f64(-0.75 / depth.to_f64());
        let raise = match is_reduced {
            true => R::from_f64(8.0 * depth.to_f64() * (scale.energy / scale.force)),
            false => R::ONE,
        };
        let cutoff = pair.cutoff / units.length;
        let inv_unit2 = R::from_f64(1.0 / (cutoff * cutoff * (unit * unit)));
        let minus_slope = R::from_f64(-depth.to_f64() * (unit * unit));
        let cutoff2 = R::from_f64(cutoff * cutoff);
        let force = amplitude * scale.force / (pair.cutoff * pair.cutoff * (unit * unit));
        Truncated {
            potential: form.evaluator::<R>(&of),
            energy_shift: R::from_f64(raise.to_f64() * energy_shift / scale.energy),
            depth,
            minus_slope,
            raise,
            bend,
            // A pair of no energy ends at zero: with others, zero times what is NaN any more at small distances would
            // be its force.
            cutoff2: if form.is_zero(pair) {
                R::ZERO
            } else if is_reduced {
                first_outside(inv_unit2, minus_slope, depth, cutoff2)
            } else {
                cutoff2
            },
            inv_unit2,
            force_unit: R::from_f64(force * units.impulse),
            energy_unit: R::from_f64(amplitude * scale.energy / raise.to_f64()),
            cutoff: R::from_f64(pair.cutoff),
            force_at_cutoff: R::from_f64(force_over_r * of.cutoff),
            end_force: R::from_f64(end_force),
            end_slope: R::from_f64(end_slope),
            inv_width: R::from_f64(1.0 / width),
            contact_energy: contact_energy(
                &form.evaluator::<Dual>(pair),
                form.is_zero(pair),
                pair,
                truncation,
                is_reduced,
            )
            .map(R::from_f64),
        }
    }

    /// The constants: fields of `Truncated` in `kernels/potential/truncation.cuh`, in its order.
    pub fn constants(&self) -> Vec<(String, R)> {
        let own = self.own_constants().map(|(name, value)| (name.to_owned(), value));
        self.common_constants().into_iter().chain(own).collect()
    }

    /// Their values.
    pub fn values(&self) -> impl Iterator<Item = R> {
        let of_potential = self.potential.constants().into_iter();
        let common = of_potential.chain(self.common_but_potential());
        common.chain(self.own_constants()).map(|(_, value)| value)
    }

    fn own_constants(&self) -> impl Iterator<Item = (&'static str, R)> {
        let contact_energy = self.contact_energy.unwrap_or(R::ZERO);
        let own = named!(self:
            cutoff2, inv_unit2, force_unit, energy_unit, cutoff, force_at_cutoff, end_force, end_slope, inv_width);
        own.into_iter().chain([("contact_energy", contact_energy)])
    }

    fn common_but_potential(&self) -> impl Iterator<Item = (&'static str, R)> {
        named!(self: energy_shift, depth, minus_slope, raise, bend).into_iter()
    }

    /// Those of the constants, the first, that pairs may have in common.
    pub fn common_constants(&self) -> Vec<(String, R)> {
        let of_potential = self.potential.constants().into_iter();
        let of_potential = of_potential.map(|(name, value)| (format!("potential.{name}"), value));
        let own = self.common_but_potential().map(|(name, value)| (name.to_owned(), value));
        of_potential.chain(own).collect()
    }

    /// Beyond this the force is zero.
    #[inline(always)]
    pub fn cutoff2(&self) -> R {
        self.cutoff2
    }

    /// `U(0)` of the truncated potential; `None` where it has a pole.
    #[inline(always)]
    pub fn contact_energy(&self) -> Option<R> {
        self.contact_energy
    }

    /// Up to this distance a product that saturates to `[0, 1]` may stand for the comparison with the cutoff where the
    /// potential is smoothed in 32 bits: the first factor of [`Self::smooth_in_reduced_units`] is then below 1 inside, and
    /// nothing overflows outside.
    ///
    /// Inside `rho = (r_c / a)^2 (1 - d / k)`: with `k >= 2` and `r_c >= a` the factor `d^3 / (d^4 + rho)` is at most 2/3
    /// where `d <= 1`, and below `1 / d` elsewhere.
    pub fn saturates_within(&self) -> f64 {
        let (depth, slope) = (self.depth.to_f64(), -self.minus_slope.to_f64());
        if depth < 2.0 || slope > depth {
            return 0.0;
        }
        const LARGEST_DEPTH: f64 = (1u64 << 31) as f64;
        (LARGEST_DEPTH / (slope * self.inv_unit2.to_f64())).sqrt()
    }

    /// `(-U'(r)/r, U(r))` of the truncated potential for `R::COINCIDENT2 <= r2 < r_c^2`, in the units that it was made for. `KIND` is
    /// a [`TruncationKind`] as integer.
    #[inline(always)]
    pub fn evaluate<const KIND: usize>(&self, r2: R) -> (R, R) {
        if is_reduced::<R>(KIND) {
            return self.smooth_in_reduced_units(r2);
        }
        self.cut::<KIND>(r2, self.potential.evaluate(r2))
    }

    /// [`Self::evaluate`] of several pairs, whose potential is evaluated together.
    #[inline(always)]
    pub fn evaluate_lanes<const KIND: usize, const LANES: usize>(
        &self,
        r2: [R; LANES],
    ) -> [(R, R); LANES] {
        let is_reduced = is_reduced::<R>(KIND);
        let argument = if is_reduced { r2.map(|r2| r2 * self.inv_unit2) } else { r2 };
        let (forces, energies) = self.potential.evaluate_lanes(argument);
        std::array::from_fn(|lane| {
            let (force, energy) = (forces[lane], energies[lane]);
            if is_reduced {
                let raised = energy.fused(self.raise, -self.energy_shift);
                self.smooth(argument[lane], (force, raised))
            } else {
                self.cut::<KIND>(r2[lane], (force, energy))
            }
        })
    }

    /// What the truncation makes of force and energy of the bare potential.
    #[inline(always)]
    fn cut<const KIND: usize>(&self, r2: R, (force, energy): (R, R)) -> (R, R) {
        let energy = energy - self.energy_shift;
        if KIND == TruncationKind::Shifted as usize {
            return (force, energy);
        }
        if KIND == TruncationKind::EvenQuartic as usize {
            // Less the first terms of the Taylor series in y = r^2 - r_c^2:
            // F - F_c - F_c' y and U - U_c + y (2 F_c + F_c' y) / 4, with F' = dF / d(r^2).
            let y = r2 - self.cutoff2;
            let line = y.fused(self.end_slope, self.end_force);
            let quarter = R::from_f64(0.25) * y;
            return (force - line, quarter.fused(self.end_force + line, energy));
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

    /// [`Self::evaluate`] for a kind that is not known to the compiler.
    pub fn evaluate_as(&self, kind: TruncationKind, r2: R) -> (R, R) {
        match kind {
            TruncationKind::Shifted => self.evaluate::<{ TruncationKind::Shifted as usize }>(r2),
            TruncationKind::ForceShifted => {
                self.evaluate::<{ TruncationKind::ForceShifted as usize }>(r2)
            }
            TruncationKind::EvenQuartic => {
                self.evaluate::<{ TruncationKind::EvenQuartic as usize }>(r2)
            }
            TruncationKind::Smooth => self.evaluate::<{ TruncationKind::Smooth as usize }>(r2),
        }
    }

    /// The same without a root and with one more reciprocal than the potential has.
    ///
    /// With `rho = (r / a)^2` and the depth `d = k (1 - (r / r_c)^2)`, `w = d^4 / rho` stands for `x^4`: it is
    /// `x^4 (1 + ((r_c - r) / r_c)^2 / 2 + ...)`, there being no term of first order. `g = w / (1 + w)`, so that
    /// `-g'(r) a^2 / r = 2 d^3 (4 k - 3 d) / (d^4 + rho)^2`: the force is the derivative of the energy so defined, and
    /// `d^3 / (d^4 + rho) [d F + (1 - 3 d / 4 k) 8 k U / (d^4 + rho)]` with `F = -U'(r) a^2 / r`. The potential differs from
    /// the exact one for `h = 0.005 sigma` at `r_c = 2.5 sigma` by 2e-10 epsilon (down to `r = 0.95 sigma`), growing as `h^3`.
    #[inline(always)]
    fn smooth_in_reduced_units(&self, r2: R) -> (R, R) {
        let rho = r2 * self.inv_unit2;
        self.smooth(rho, self.potential.evaluate_reduced(rho, self.raise, self.energy_shift))
    }

    /// Of a potential that was evaluated at `rho`, its energy raised.
    #[inline(always)]
    fn smooth(&self, rho: R, (force, energy): (R, R)) -> (R, R) {
        let d = rho.fused(self.minus_slope, self.depth);
        let d2 = d * d;
        let inverse = d2.fused(d2, rho).inverse();
        let factor = (d2 * d) * inverse;
        let outer = energy * inverse;
        let bracket = d.fused(outer.fused(self.bend, force), outer);
        let energy = (factor * d) * energy;
        ((factor * self.force_unit) * bracket, energy * self.energy_unit)
    }
}

/// `U(0)` of a truncated potential in 64 bits.
fn contact_energy<W: Evaluator<Dual>>(
    exact: &W,
    is_zero: bool,
    pair: &PairParameters,
    truncation: &Truncation,
    is_reduced: bool,
) -> Option<f64> {
    // Without an amplitude there is no pole.
    let no_energy = is_zero.then_some(0.0);
    let bare = no_energy.or(exact.contact_energy().map(Real::to_f64))?;
    let cutoff2 = pair.cutoff * pair.cutoff;
    let (force_over_r, at_cutoff) = exact.evaluate(Dual::variable(cutoff2));
    let (force_over_r, slope, at_cutoff) =
        (force_over_r.value, force_over_r.slope, at_cutoff.value);
    Some(match truncation {
        Truncation::Sharp => bare,
        Truncation::Shifted => bare - at_cutoff,
        Truncation::ForceShifted => bare - at_cutoff - cutoff2 * force_over_r,
        Truncation::EvenQuartic => {
            bare - at_cutoff - 0.25 * cutoff2 * (2.0 * force_over_r - slope * cutoff2)
        }
        // There `d^4 / rho`, which stands for x^4, is infinite: g = 1.
        Truncation::Smooth { .. } if is_reduced => bare - at_cutoff,
        Truncation::Smooth { width } => {
            let x4 = (pair.cutoff / (width * pair.width_unit())).powi(4);
            (bare - at_cutoff) * x4 / (1.0 + x4)
        }
    })
}

/// To 40 bits, so that equal ratios of rounded numbers are equal.
fn rounded(x: f64) -> f64 {
    let bits = x.to_bits() + (1 << 12);
    f64::from_bits(bits & !((1 << 13) - 1))
}

/// The smallest squared distance whose depth is not above zero, from one nearby.
fn first_outside<R: Real>(inv_unit2: R, minus_slope: R, depth: R, near: R) -> R {
    let is_outside = |r2: R| (r2 * inv_unit2).fused(minus_slope, depth) <= R::ZERO;
    let step = |x: R, up: bool| {
        let x = x.to_f64() as f32;
        R::from_f64(f64::from(if up { x.next_up() } else { x.next_down() }))
    };
    let mut x = near;
    while is_outside(x) {
        x = step(x, false);
    }
    while !is_outside(x) {
        x = step(x, true);
    }
    x
}

#[cfg(test)]
mod tests;
