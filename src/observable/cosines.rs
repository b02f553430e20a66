//! `cos(2 pi n u)` for many integers `n` and many `u` at once.
use super::particle_order::LANES;

/// `1 / (2 k + 1)!` with alternating sign, `k = 0, ..., 8`.
const SINE: [f64; 9] = {
    let mut coefficients = [1.0; 9];
    let mut factorial = 1.0;
    let mut k = 1;
    while k < 9 {
        factorial *= (2 * k * (2 * k + 1)) as f64;
        coefficients[k] = if k % 2 == 0 { 1.0 / factorial } else { -1.0 / factorial };
        k += 1;
    }
    coefficients
};

/// `sin(pi f)` for `|f| <= 1/4`, to rounding (power series to degree 17).
#[inline(always)]
fn sine_of_half_turns(f: f64) -> f64 {
    let x = std::f64::consts::PI * f;
    let x2 = x * x;
    let mut sum = SINE[8];
    for coefficient in SINE[..8].iter().rev() {
        sum = sum * x2 + coefficient;
    }
    x * sum
}

/// Nearest integer (to even), for `|u| < 2^51`.
#[inline(always)]
pub(super) fn nearest_integer(u: f64) -> f64 {
    const SHIFT: f64 = 1.5 * (1u64 << 52) as f64;
    (u + SHIFT) - SHIFT
}

/// Writes `weight[i] cos(2 pi n u[i])` into `rows`, one row for each of the ascending `orders` n.
///
/// With `a = 2 pi u`: `c_(n+1) = c_n + d_(n+1)`, `d_(n+1) = d_n - 4 sin^2(a/2) c_n` (Reinsch's form of the
/// Chebyshev recurrence), which loses nothing for small `a`; angles beyond a quarter turn are reflected,
/// `cos(n a) = (-1)^n cos(n (pi - a))`. The error is about `n` units of rounding.
#[inline(always)]
pub(super) fn cosine_rows(
    u: &[f64; LANES],
    weight: &[f64; LANES],
    orders: &[u32],
    rows: &mut [[f64; LANES]],
) {
    let Some(&last) = orders.last() else { return };
    let mut sign = [0.0; LANES];
    let mut factor = [0.0; LANES];
    let mut cosine = *weight;
    let mut difference = [0.0; LANES];
    for i in 0..LANES {
        let turns = (u[i] - nearest_integer(u[i])).abs();
        let reflected = 0.5 - turns;
        sign[i] = if reflected < turns { -1.0 } else { 1.0 };
        let sine = sine_of_half_turns(if reflected < turns { reflected } else { turns });
        factor[i] = -4.0 * sine * sine;
        // Half a step before the start, so that the first step gives c_1 = 1 - 2 sin^2(a/2).
        difference[i] = -0.5 * factor[i] * weight[i];
    }
    let mut next = 0;
    for n in 0..=last {
        if orders[next] == n {
            rows[next] = cosine;
            if n % 2 == 1 {
                rows[next].iter_mut().zip(&sign).for_each(|(row, sign)| *row *= sign);
            }
            next += 1;
        }
        for i in 0..LANES {
            difference[i] += factor[i] * cosine[i];
            cosine[i] += difference[i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_are_those_of_the_library() {
        let u: [f64; LANES] = std::array::from_fn(|i| match i {
            0 => 0.0,
            1 => 0.5,
            2 => -0.5,
            3 => 1e-9,
            4 => 0.25,
            _ => (i as f64 - 31.5) * 0.137_912,
        });
        let orders: Vec<u32> = (0..=400).step_by(4).chain([401]).collect();
        let mut rows = vec![[0.0; LANES]; orders.len()];
        cosine_rows(&u, &[1.0; LANES], &orders, &mut rows);
        for (row, &n) in rows.iter().zip(&orders) {
            for (&found, &u) in row.iter().zip(&u) {
                // The rounding of n u alone moves the reference by up to 2 pi n / 2 eps = 3.5e-16 n.
                let turns = f64::from(n) * (u - u.round());
                let exact = (std::f64::consts::TAU * (turns - turns.round())).cos();
                let bound = 6e-16 * (1.0 + f64::from(n));
                assert!((found - exact).abs() < bound, "{n} {u}: {:e}", found - exact);
            }
        }
    }

    #[test]
    fn weights_of_zero_remove_a_lane() {
        let mut weight = [1.0; LANES];
        weight[7] = 0.0;
        let mut rows = [[9.0; LANES]; 3];
        cosine_rows(&[0.3; LANES], &weight, &[0, 1, 5], &mut rows);
        assert!(rows.iter().all(|row| row[7] == 0.0 && row[8] != 0.0));
    }
}
