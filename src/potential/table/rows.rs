//! A table as the pair loop has it: polynomials of `r^2`.
use super::interpolant::{Interpolant, Point, Row, hermite};
use crate::arithmetic::Real;

/// Intervals of an octave of `r^2` are `2^FEWEST_BITS` to `2^MOST_BITS`.
const FEWEST_BITS: u32 = 4;
const MOST_BITS: u32 = 9;

/// Of the square of the last distance: below, at a thousandth of the distance, the first polynomial goes on.
const LEAST_SHARE: f64 = 1.0 / (1 << 20) as f64;

/// Coefficients are below it, so that they fit into 32 bits: where they would not, the first polynomial goes on.
const LARGEST: f64 = 1e30;

/// Errors of the force to which intervals are made smaller, in units of its mean beyond the core.
const TOLERANCE: f64 = 1e-8;

/// Polynomials `U(s)` of `s = r^2 / l^2`, `l^2` being the least power of two that is not below the square of the last distance (so that `s`
/// has the digits of `r^2`), on intervals that are all of one ratio to `s` within an octave:
/// the place of an interval is the exponent of `s` with its first bits, and the rest of the bits is the distance from its beginning.
/// At the ends of an interval energy and first two derivatives are those of the interpolant.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Bits that an octave is divided by.
    pub bits: u32,
    /// Exponent and first bits of the first interval, with an exponent that is not shifted: `exponent << bits | first bits`.
    pub first: i64,
    pub rows: Vec<Row>,
    /// `1 / l^2`.
    pub scale: f64,
}

/// The largest power of two with which the square of a distance is not above one.
fn scale_of(to: f64) -> f64 {
    let mut scale = 1.0;
    while to * to * scale > 1.0 {
        scale *= 0.5;
    }
    while to * to * scale <= 0.5 {
        scale *= 2.0;
    }
    scale
}

/// Largest differences from the interpolant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    pub energy: f64,
    pub force: f64,
    /// Mean absolute force beyond the first quarter of the distances.
    pub mean_force: f64,
}

/// Of a number between 2^-1000 and 2.
fn place(s: f64, bits: u32) -> i64 {
    (s.to_bits() >> (52 - bits)) as i64 - (1023 << bits)
}

fn beginning(place: i64, bits: u32) -> f64 {
    f64::from_bits(((place + (1023 << bits)) as u64) << (52 - bits))
}

impl Rows {
    /// The fewest bits with which the error of the force is small.
    pub fn needed(interpolant: &Interpolant, ends: (f64, f64)) -> u32 {
        let is_right = |&bits: &u32| {
            let errors = Rows::with_bits(interpolant, ends, bits).errors(interpolant, ends);
            errors.force <= TOLERANCE * errors.mean_force
        };
        (FEWEST_BITS..MOST_BITS).find(is_right).unwrap_or(MOST_BITS)
    }

    pub fn with_bits(interpolant: &Interpolant, (from, to): (f64, f64), bits: u32) -> Rows {
        let scale = scale_of(to);
        let (least, most) = (from * from * scale, to * to * scale);
        let first = place(least.max(most * LEAST_SHARE), bits);
        // The last distance may be the beginning of an interval.
        let end = place(most, bits) + i64::from(beginning(place(most, bits), bits) < most);
        let row = |place: i64| {
            let (start, end) = (beginning(place, bits), beginning(place + 1, bits));
            let at = |s: f64| {
                // By r, and then by s = r^2 / l^2: dr / ds = l^2 / 2 r.
                let r = (s / scale).sqrt();
                let point = interpolant.at(r);
                let first = 0.5 / (scale * r);
                Point {
                    energy: point.energy,
                    slope: point.slope * first,
                    curvature: (point.curvature - point.slope / r) * (first * first),
                }
            };
            hermite(at(start), at(end), end - start)
        };
        let mut rows: Vec<Row> = (first..end).map(row).collect();
        let is_small = |row: &Row| row.iter().all(|of| of.abs() < LARGEST);
        let inside = rows.iter().rposition(|row| !is_small(row)).map_or(0, |last| last + 1);
        rows.drain(..inside.min(rows.len() - 1));
        Rows { bits, first: end - rows.len() as i64, rows, scale }
    }

    /// The least distance from which on it is the interpolant that begins at `from`.
    pub fn closest(&self, from: f64) -> f64 {
        from.max((beginning(self.first, self.bits) / self.scale).sqrt())
    }

    /// At distances between those of the table and of the intervals.
    pub fn errors(&self, interpolant: &Interpolant, ends: (f64, f64)) -> Errors {
        let (from, to) = ends;
        let mut errors = Errors::default();
        let (mut sum, mut count) = (0.0, 0);
        let (scale, from) = (self.scale, if from == 0.0 { from } else { self.closest(from) });
        for place in self.first..self.first + self.rows.len() as i64 {
            let (start, end) = (beginning(place, self.bits), beginning(place + 1, self.bits));
            for share in [0.1, 0.3, 0.5, 0.7, 0.9] {
                let r = ((start + share * (end - start)) / scale).sqrt();
                if r < from || r > to {
                    continue;
                }
                let (force_over_r, energy) =
                    evaluate(&self.rows, self.bits, self.first, scale, -2.0 * scale, r * r);
                let exact = interpolant.at(r);
                errors.energy = errors.energy.max((energy - exact.energy).abs());
                errors.force = errors.force.max((force_over_r * r + exact.slope).abs());
                if r > from + 0.25 * (to - from) {
                    sum += exact.slope.abs();
                    count += 1;
                }
            }
        }
        errors.mean_force = sum / f64::from(count.max(1));
        errors
    }
}

/// `(-U'(r)/r, U(r))`, of which `scale` is `s / r^2`.
///
/// The kernels have the same operations (`All::kernel`).
#[inline(always)]
pub fn evaluate<R: Real>(
    rows: &[Row],
    bits: u32,
    first: i64,
    scale: R,
    minus_two_scale: R,
    r2: R,
) -> (R, R) {
    let (mantissa, bias) = if R::WIDE { (52, 1023) } else { (23, 127) };
    let shift = mantissa - bits;
    let first = first + (bias << bits);
    let s = r2 * scale;
    let last = first + rows.len() as i64 - 1;
    let place = ((s.to_bits() >> shift) as i64).clamp(first, last);
    let row = &rows[(place - first) as usize];
    let x = s - R::from_bits((place as u64) << shift);
    let mut energy = R::from_f64(row[5]);
    let mut slope = R::ZERO;
    for k in (0..5).rev() {
        slope = slope.fused(x, energy);
        energy = energy.fused(x, R::from_f64(row[k]));
    }
    (slope * minus_two_scale, energy)
}
