//! Errors of sums of points that share their noise.

/// Error of `sum_i a_i y_i` of points with the covariance `C_ij`: `(sum_ij a_i a_j C_ij)^(1/2)`.
pub(super) fn error_of_sum(a: &[f64], covariance: impl Fn(usize, usize) -> f64) -> f64 {
    let row = |i: usize| (0..a.len()).map(|j| covariance(i, j) * a[j]).sum::<f64>();
    // Rounding can bring a variance of zero below it.
    (0..a.len()).map(|i| a[i] * row(i)).sum::<f64>().max(0.0).sqrt()
}
