//! What rounding leaves of the momentum in a flow.

/// A number of units that particles share: each has the same, and those of the first ids one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residue {
    pub sign: i64,
    pub share: i64,
    pub rest: u64,
}

impl Residue {
    /// Odd to the bit in the number.
    pub fn new(units: i128, particles: usize) -> Self {
        let (magnitude, count) = (units.unsigned_abs(), particles.max(1) as u128);
        Residue {
            sign: units.signum() as i64,
            share: (magnitude / count) as i64,
            rest: (magnitude % count) as u64,
        }
    }

    /// What is left of the momentum along x where velocities along it have lost these units in all, for which the momentum along y and
    /// the growth of the tilt stand.
    pub fn of_losses(lost: i128, momentum: i128, growth: f64, particles: usize) -> Self {
        let expected = -(momentum as f64 * growth).round_ties_even();
        Residue::new(lost - expected as i128, particles)
    }

    /// That of a particle.
    #[inline(always)]
    pub fn of(&self, id: u32) -> i64 {
        self.sign * (self.share + i64::from(u64::from(id) < self.rest))
    }
}

#[cfg(test)]
mod tests {
    use super::Residue;

    #[test]
    fn all_units_are_shared() {
        for units in [-1001i128, -3, 0, 1, 10, 999] {
            let residue = Residue::new(units, 10);
            let all: i64 = (0..10).map(|id| residue.of(id)).sum();
            assert_eq!(i128::from(all), units);
            let reversed = Residue::new(-units, 10);
            assert!((0..10).all(|id| reversed.of(id) == -residue.of(id)));
        }
    }
}
