//! Langevin dynamics, `m dv = F dt - m gamma v dt + sqrt(2 m gamma T) dW`, by the splitting BAOAB of Leimkuhler & Matthews
//! (Appl. Math. Res. Express 2013, 34): friction and noise come in the middle of the drift. For harmonic motion positions
//! then have the temperature exactly, for any time step and friction.
//!
//! Brownian dynamics, `dr = F dt / (m gamma) + sqrt(2 T / (m gamma)) dW`, is its limit of strong friction: each step takes all of the
//! velocity and draws a new one, and particles fly for `tau = sqrt(2 dt / gamma)` in it. That is
//! `r(t + dt) = r(t) + F dt / (m gamma) + sqrt(T dt / (2 m gamma)) (xi(t) + xi(t + dt))`, the non-Markovian method of the same
//! authors, whose averages over configurations have errors of the second order in `dt`, and not of the first as of the Euler method.

/// A step of friction and noise: `v -> damping v + noise m^(-1/2) xi`.
#[derive(Clone, Copy, Debug)]
pub struct OrnsteinUhlenbeck {
    /// `exp(-gamma dt)`.
    pub damping: f64,
    /// `(T (1 - damping^2))^(1/2)`.
    pub noise: f64,
}

impl OrnsteinUhlenbeck {
    pub fn new(damping: f64, temperature: f64) -> Self {
        OrnsteinUhlenbeck { damping, noise: (temperature * (1.0 - damping * damping)).sqrt() }
    }
}
