//! Langevin dynamics, `m dv = F dt - m gamma v dt + sqrt(2 m gamma T) dW`, by the splitting of Bussi &
//! Parrinello (Phys. Rev. E 75, 056707 (2007)): half a step of friction and noise before and after
//! the velocity-Verlet step.
use crate::arithmetic::elementary::exp_f64;

/// Half a step of friction and noise: `v -> damping v + sqrt(noise2 / m) xi`.
#[derive(Clone, Copy, Debug)]
pub struct OrnsteinUhlenbeck {
    pub damping: f64,
    /// `T (1 - damping^2)`.
    pub noise2: f64,
}

impl OrnsteinUhlenbeck {
    pub fn half_step(friction: f64, temperature: f64, timestep: f64) -> Self {
        let damping = exp_f64(-0.5 * friction * timestep);
        OrnsteinUhlenbeck { damping, noise2: temperature * (1.0 - damping * damping) }
    }
}
