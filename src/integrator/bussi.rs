//! Stochastic velocity rescaling (Bussi, Donadio & Parrinello, J. Chem. Phys. 126, 014101 (2007)).
use crate::arithmetic::elementary::exp_f64;
use crate::arithmetic::random::{CounterRng, Purpose, sum_of_squared_normals};

/// Factor on the velocities of a half step, after the drift of a step (equation A7 of the paper):
///
/// `alpha^2 = c + (1 - c) B (R^2 + S) + 2 R sqrt(c (1 - c) B)`, with `c = exp(-dt/time)`,
/// `B = T / (2 K)`, `R` a normal number and `S` the sum of `f - 1` squared ones; `kinetic2` is `2 K` of these velocities
/// and `f` the degrees of freedom.
pub fn factor(
    kinetic2: f64,
    degrees_of_freedom: u64,
    temperature: f64,
    time: f64,
    timestep: f64,
    seed: u64,
    step: u64,
) -> f64 {
    if kinetic2 <= 0.0 {
        return 1.0;
    }
    let mut rng = CounterRng::new(seed, Purpose::Bussi, step);
    let normal = rng.normal();
    let others = sum_of_squared_normals(degrees_of_freedom - 1, &mut rng);
    let c = exp_f64(-timestep / time);
    let ratio = (1.0 - c) * temperature / kinetic2;
    let square = c + ratio * (normal * normal + others) + 2.0 * normal * (c * ratio).sqrt();
    square.max(0.0).sqrt()
}
