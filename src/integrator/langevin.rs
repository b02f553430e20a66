//! Langevin dynamics, `m dv = F dt - m gamma v dt + sqrt(2 m gamma T) dW`, by the splitting BAOAB of Leimkuhler & Matthews
//! (Appl. Math. Res. Express 2013, 34): friction and noise come in the middle of the drift. For harmonic motion positions
//! then have the temperature exactly, for any time step and friction.
use crate::arithmetic::elementary::exp_f64;

/// A step of friction and noise: `v -> damping v + noise m^(-1/2) xi`.
#[derive(Clone, Copy, Debug)]
pub struct OrnsteinUhlenbeck {
    /// `exp(-gamma dt)`.
    pub damping: f64,
    /// `(T (1 - damping^2))^(1/2)`.
    pub noise: f64,
}

impl OrnsteinUhlenbeck {
    pub fn new(friction: f64, temperature: f64, timestep: f64) -> Self {
        let damping = exp_f64(-friction * timestep);
        OrnsteinUhlenbeck { damping, noise: (temperature * (1.0 - damping * damping)).sqrt() }
    }
}
