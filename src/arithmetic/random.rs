//! Random numbers keyed by what they are for, never by who draws them.
//!
//! Every draw is one Philox block (four words) of key = seed (low, high word) and a counter:
//!
//! | word | per particle ([`block`]) | sequence ([`CounterRng`]) |
//! | --- | --- | --- |
//! | 0 | particle id | block number, low word |
//! | 1, 2 | step, low and high word | stream (such as the step), low and high word |
//! | 3, bit 31 | 0 | 1 |
//! | 3, bits 24-30 | purpose | purpose |
//! | 3, bits 0-23 | number of the draw | block number, bits 32-55 |
//!
//! So 2^32 particles, 2^64 steps and 2^24 draws of each purpose never share a block. The numbers are
//! the same on every processor ([`super::elementary`]).
use std::convert::Infallible;

use rand::TryRng;

use super::elementary::{ln_f32, ln_f64, sin_cos_2pi, sin_cos_of_turn};
use super::philox::philox4x32;

/// What a random number is for. The values are part of every result: never change or reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// Maxwell-Boltzmann velocities of an initial state.
    InitialVelocity = 1,
    /// Which lattice site gets which species.
    SpeciesPlacement = 2,
    /// Whether a particle collides with the thermostat of an Andersen thermostat.
    AndersenCollision = 3,
    /// Velocities after such collisions.
    AndersenVelocity = 4,
    /// Noise of Langevin dynamics.
    Langevin = 5,
    /// Noise of stochastic velocity rescaling (Bussi).
    Bussi = 6,
    /// Displacements of particles from lattice sites.
    InitialDisplacement = 7,
    /// Whether two replicas are exchanged.
    ReplicaExchange = 8,
    /// Diameters, and which particle gets which.
    Diameter = 9,
    /// Which particles exchange their diameters.
    Swap = 10,
    /// Trials of a barostat.
    Barostat = 11,
    /// Tests and measurements.
    Test = 127,
}

/// The four random words of one draw of a particle at a step; `draw` below 2^24.
#[inline(always)]
pub fn block(seed: u64, id: u32, step: u64, purpose: Purpose, draw: u32) -> [u32; 4] {
    debug_assert!(draw < 1 << 24);
    let counter = [id, step as u32, (step >> 32) as u32, (purpose as u32) << 24 | draw];
    philox4x32(counter, [seed as u32, (seed >> 32) as u32])
}

/// Uniform in (0, 1): (n + 1/2) / 2^52 with n the upper 52 bits of `high`, `low`; never 0 or 1,
/// symmetric about 1/2, exact.
#[inline(always)]
pub fn uniform_open(high: u32, low: u32) -> f64 {
    let n = u64::from(high) << 20 | u64::from(low) >> 12;
    // n becomes the mantissa of a number in [1, 2); one subtraction and one addition, both exact.
    (f64::from_bits(1023 << 52 | n) - 1.0) + f64::from_bits((1023 - 53) << 52)
}

/// Two independent normal numbers of mean 0 and variance 1 (Box and Muller, Ann. Math. Stat. 29,
/// 610 (1958)); the largest possible is 8.6.
#[inline(always)]
pub fn normal_pair(words: [u32; 4]) -> [f64; 2] {
    let radius = (-2.0 * ln_f64(uniform_open(words[0], words[1]))).sqrt();
    let (sine, cosine) = sin_cos_2pi(uniform_open(words[2], words[3]));
    [radius * cosine, radius * sine]
}

/// Three independent normal numbers for a particle at a step: draws 0 and 1 of the purpose.
#[inline(always)]
pub fn normals3(seed: u64, id: u32, step: u64, purpose: Purpose) -> [f64; 3] {
    let [x, y] = normal_pair(block(seed, id, step, purpose, 0));
    let [z, _] = normal_pair(block(seed, id, step, purpose, 1));
    [x, y, z]
}

/// Two independent normal numbers as 32-bit floats, of two random words; the largest possible is 6.8.
#[inline(always)]
pub fn normal_pair_f32(words: [u32; 2]) -> [f32; 2] {
    const UNIT: f32 = 1.0 / (1u64 << 32) as f32;
    // In (0, 1].
    let u = (words[0] as f32).mul_add(UNIT, 0.5 * UNIT);
    let radius = (-2.0 * ln_f32(u)).sqrt();
    let (sine, cosine) = sin_cos_of_turn(words[1]);
    [radius * cosine, radius * sine]
}

/// Three independent normal numbers as 32-bit floats for a particle at a step: draw 0 of the purpose.
#[inline(always)]
pub fn normals3_f32(seed: u64, id: u32, step: u64, purpose: Purpose) -> [f32; 3] {
    let [a, b, c, d] = block(seed, id, step, purpose, 0);
    let [x, y] = normal_pair_f32([a, b]);
    let [z, _] = normal_pair_f32([c, d]);
    [x, y, z]
}

/// One uniform number in (0, 1) for a particle at a step: draw 0 of the purpose.
#[inline(always)]
pub fn uniform(seed: u64, id: u32, step: u64, purpose: Purpose) -> f64 {
    let words = block(seed, id, step, purpose, 0);
    uniform_open(words[0], words[1])
}

/// A sequence of random numbers for what is not of one particle; works with the traits of `rand`.
#[derive(Clone, Debug)]
pub struct CounterRng {
    seed: u64,
    purpose: Purpose,
    stream: u64,
    next_block: u64,
    words: [u32; 4],
    used: usize,
}

impl CounterRng {
    /// Start of the sequence; sequences of different `stream` (such as the step) are independent.
    pub fn new(seed: u64, purpose: Purpose, stream: u64) -> Self {
        CounterRng { seed, purpose, stream, next_block: 0, words: [0; 4], used: 4 }
    }

    fn next_word(&mut self) -> u32 {
        if self.used == 4 {
            let counter = [
                self.next_block as u32,
                self.stream as u32,
                (self.stream >> 32) as u32,
                1 << 31 | (self.purpose as u32) << 24 | (self.next_block >> 32) as u32 & 0xFF_FFFF,
            ];
            self.words = philox4x32(counter, [self.seed as u32, (self.seed >> 32) as u32]);
            self.next_block += 1;
            self.used = 0;
        }
        self.used += 1;
        self.words[self.used - 1]
    }

    /// Uniform in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        let high = self.next_word();
        let low = self.next_word();
        uniform_open(high, low)
    }

    /// Mean 0, variance 1.
    pub fn normal(&mut self) -> f64 {
        let words = std::array::from_fn(|_| self.next_word());
        normal_pair(words)[0]
    }

    /// Gamma distribution of shape `shape` >= 1 and scale 1: Marsaglia and Tsang, ACM Trans. Math.
    /// Softw. 26, 363 (2000).
    fn gamma(&mut self, shape: f64) -> f64 {
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let u = self.uniform();
            let w = 1.0 + c * x;
            let v = w * w * w;
            if w > 0.0 && ln_f64(u) < 0.5 * x * x + d * (1.0 - v + ln_f64(v)) {
                return d * v;
            }
        }
    }
}

impl TryRng for CounterRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.next_word())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let low = u64::from(self.next_word());
        let high = u64::from(self.next_word());
        Ok(high << 32 | low)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(4) {
            let word = self.next_word().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

/// Sum of the squares of `n` independent normal numbers of variance 1 (chi-square with `n` degrees
/// of freedom), at the same cost for any `n`.
pub fn sum_of_squared_normals(n: u64, rng: &mut CounterRng) -> f64 {
    match n {
        0 => 0.0,
        1 => {
            let x = rng.normal();
            x * x
        }
        _ => 2.0 * rng.gamma(0.5 * n as f64),
    }
}

#[cfg(test)]
mod tests;
