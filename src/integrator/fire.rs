//! FIRE 2.0, the fast inertial relaxation engine: damped dynamics that end in a minimum of the energy
//! (Bitzek et al., Phys. Rev. Lett. 97, 170201 (2006); Guenole et al., Comput. Mater. Sci. 175, 109584
//! (2020), algorithm 2, with the semi-implicit Euler integrator and the parameters of their section 3).
//!
//! With the power `P = sum F . v`, an iteration is
//!
//! - `P > 0`: after [`DELAY`] such iterations in a row the time step grows, `dt -> min(1.1 dt, 10 dt_0)`, and
//!   the mixing shrinks, `alpha -> 0.99 alpha`;
//! - else: half of the last move is taken back, `v = 0`, and, except for the first [`DELAY`] iterations,
//!   `dt -> dt / 2` while that is not below `0.02 dt_0`, `alpha -> 0.25`;
//! - then `v += F dt / m`; `v -> (1 - alpha) v + alpha F |v| / |F|` where `P > 0`; `x += v dt`.
//!
//! Norms are those of all particles together, `|v|` the one before the kick.

/// Iterations with positive power before the time step grows, and iterations at the start in which it
/// does not shrink.
pub const DELAY: u64 = 20;
const GROWTH: f64 = 1.1;
const SHRINKING: f64 = 0.5;
const LONGEST: f64 = 10.0;
const SHORTEST: f64 = 0.02;
/// Mixing at the start and after a turn.
pub const MIXING: f64 = 0.25;
const MIXING_DECAY: f64 = 0.99;

/// Time step and mixing of a descent.
#[derive(Clone, Debug)]
pub struct Fire {
    first_timestep: f64,
    timestep: f64,
    mixing: f64,
    /// Iterations with positive power in a row.
    downhill: u64,
    iterations: u64,
}

/// What an iteration does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration {
    /// Half of the last move is taken back and velocities are zeroed first.
    pub turn_back: bool,
    pub timestep: f64,
    /// `alpha`; zero where velocities are not mixed with forces.
    pub mixing: f64,
}

impl Fire {
    pub fn new(timestep: f64) -> Self {
        Fire { first_timestep: timestep, timestep, mixing: MIXING, downhill: 0, iterations: 0 }
    }

    /// The next iteration, from the present power.
    pub fn next(&mut self, power: f64) -> Iteration {
        self.iterations += 1;
        if power > 0.0 {
            self.downhill += 1;
            if self.downhill > DELAY {
                self.timestep = (self.timestep * GROWTH).min(LONGEST * self.first_timestep);
                self.mixing *= MIXING_DECAY;
            }
            return Iteration { turn_back: false, timestep: self.timestep, mixing: self.mixing };
        }
        self.downhill = 0;
        if self.iterations > DELAY {
            if self.timestep * SHRINKING >= SHORTEST * self.first_timestep {
                self.timestep *= SHRINKING;
            }
            self.mixing = MIXING;
        }
        Iteration { turn_back: true, timestep: self.timestep, mixing: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_step_grows_downhill_and_shrinks_uphill_within_its_bounds() {
        let mut fire = Fire::new(0.01);
        assert!(fire.next(0.0).turn_back, "at rest there is no power");
        for _ in 0..DELAY {
            let Iteration { turn_back, timestep, mixing } = fire.next(1.0);
            assert_eq!((turn_back, timestep, mixing), (false, 0.01, 0.25));
        }
        let grown = fire.next(1.0);
        assert_eq!((grown.timestep, grown.mixing), (0.01 * 1.1, 0.25 * 0.99));
        let longest = (0..100).map(|_| fire.next(1.0).timestep).fold(0.0, f64::max);
        assert_eq!(longest, 0.1);
        let back = fire.next(-1.0);
        assert_eq!(back, Iteration { turn_back: true, timestep: 0.05, mixing: 0.0 });
        assert_eq!(fire.next(1.0).mixing, 0.25);
        let shortest = (0..100).map(|_| fire.next(-1.0).timestep).fold(1.0, f64::min);
        assert!((0.0002..0.0004).contains(&shortest), "{shortest}");
    }
}
