//! Constant kinetic energy (D. J. Evans & G. P. Morriss, Statistical Mechanics of Nonequilibrium Liquids, 5.2), by scaling: to the
//! second order of the timestep Gauss's friction keeps it constant, too.

/// Factor on the velocities of a half step, after the drift of a step: `sqrt(f T / 2 K)`; `kinetic2` is `2 K` of these
/// velocities and `f` the degrees of freedom.
pub fn factor(kinetic2: f64, degrees_of_freedom: u64, temperature: f64) -> f64 {
    if kinetic2 <= 0.0 {
        return 1.0;
    }
    // In the order of operations of the kernels, which take it for stochastic rescaling at once.
    (temperature / kinetic2 * degrees_of_freedom as f64).sqrt()
}
