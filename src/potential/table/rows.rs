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

/// [`Errors::force`] to which intervals are made smaller.
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

/// Largest differences from the interpolant, in units of `|U|` and `|F|`, each with its mean added.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    pub energy: f64,
    pub force: f64,
    /// Beyond the first quarter of the distances.
    pub mean_energy: f64,
    pub mean_force: f64,
}

/// Of a number between 2^-1000 and 2.
fn place(s: f64, bits: u32) -> i64 {
    (s.to_bits() >> (52 - bits)) as i64 - (1023 << bits)
}

/// The least number of a place.
pub fn beginning(place: i64, bits: u32) -> f64 {
    f64::from_bits(((place + (1023 << bits)) as u64) << (52 - bits))
}

impl Rows {
    /// The fewest bits with which the error of the force is small.
    pub fn needed(interpolant: &Interpolant, ends: (f64, f64)) -> u32 {
        let is_right = |&bits: &u32| {
            let errors = Rows::with_bits(interpolant, ends, bits).errors(interpolant, ends);
            errors.force <= TOLERANCE
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
    pub fn errors(&self, interpolant: &Interpolant, (from, to): (f64, f64)) -> Errors {
        let from = if from == 0.0 { from } else { self.closest(from) };
        let places = self.first..self.first + self.rows.len() as i64;
        let between = places.flat_map(|place| {
            let (start, end) = (beginning(place, self.bits), beginning(place + 1, self.bits));
            [0.1, 0.3, 0.5, 0.7, 0.9]
                .map(|share| ((start + share * (end - start)) / self.scale).sqrt())
        });
        let all: Vec<(f64, Point)> =
            between.filter(|r| (from..=to).contains(r)).map(|r| (r, interpolant.at(r))).collect();
        let outside: Vec<&Point> =
            all.iter().filter(|(r, _)| *r > from + 0.25 * (to - from)).map(|(_, at)| at).collect();
        let mean = |of: fn(&Point) -> f64| {
            outside.iter().map(|at| of(at).abs()).sum::<f64>() / outside.len().max(1) as f64
        };
        let (mean_energy, mean_force) = (mean(|at| at.energy), mean(|at| at.slope));
        let mut errors = Errors { mean_energy, mean_force, ..Errors::default() };
        for (r, exact) in all {
            let (force_over_r, energy) =
                evaluate(&self.rows, self.bits, self.first, self.scale, -2.0 * self.scale, r * r);
            let of_energy = (energy - exact.energy).abs() / (exact.energy.abs() + mean_energy);
            let of_force =
                (force_over_r * r + exact.slope).abs() / (exact.slope.abs() + mean_force);
            // Where all is zero nothing is wrong.
            errors.energy = errors.energy.max(if of_energy.is_nan() { 0.0 } else { of_energy });
            errors.force = errors.force.max(if of_force.is_nan() { 0.0 } else { of_force });
        }
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
