//! Errors of sums of points that share their noise.

/// Error of `sum_i a_i y_i` of points with the covariance `C_ij`: `(sum_ij a_i a_j C_ij)^(1/2)`.
pub(super) fn error_of_sum(a: &[f64], covariance: impl Fn(usize, usize) -> f64) -> f64 {
    let row = |i: usize| (0..a.len()).map(|j| covariance(i, j) * a[j]).sum::<f64>();
    // Rounding can bring a variance of zero below it.
    (0..a.len()).map(|i| a[i] * row(i)).sum::<f64>().max(0.0).sqrt()
}

/// Correlation of the noise of a displacement's points at two times: that of a free random walk, `(3 r^(1/2) - r^(3/2)) / 2`
/// at times of ratio `r <= 1`. Increments over two intervals that overlap by `s` have the covariance `2 D s`, their squares
/// one of `2 (2 D s)^2`, and with origins at all times `cov(t, t') ~ int s^2 = t^2 t' - t^3 / 3` for `t <= t'`. With few
/// origins the short times, which have more of them, share somewhat less noise with the long ones.
pub(super) fn of_walk(t: f64, other: f64) -> f64 {
    let ratio = t.min(other) / t.max(other);
    0.5 * ratio.sqrt() * (3.0 - ratio)
}
