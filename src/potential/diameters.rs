//! Diameters of particles: with them the potential is that of `r / sigma_ij`,
//!
//! `sigma_ij = (s_i + s_j)/2 (1 - Delta |s_i - s_j|)`,
//!
//! where `Delta` is the non-additivity. All lengths of the potential, its cutoff and its truncation too, are in units of
//! `sigma_ij` (A. Ninarello, L. Berthier and D. Coslovich, Phys. Rev. X 7, 021039 (2017)).
use serde::{Deserialize, Serialize};

use crate::arithmetic::Real;

/// How diameters enter the pair potential, and the bounds of all that particles have or may get.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diameters {
    /// In units of an inverse length; zero: `sigma_ij` is the mean.
    pub non_additivity: f64,
    pub smallest: f64,
    pub largest: f64,
}

impl Diameters {
    /// `sigma_ij` in 64 bits.
    pub fn of_pair(&self, a: f64, b: f64) -> f64 {
        Mixing::new(self).of_pair(a, b)
    }

    /// The least `sigma_ij`. For given `s_i` it is a parabola in `s_j` that opens downwards on either side of `s_i`, so that it is
    /// least at a bound or where both are equal.
    pub fn shortest(&self) -> f64 {
        self.smallest.min(self.of_pair(self.smallest, self.largest))
    }

    /// The greatest `sigma_ij`: of two of the largest, as the non-additivity is not negative.
    pub fn longest(&self) -> f64 {
        self.largest
    }

    /// The diameter of the particle with which a pair's is greatest: for given `s_i` the parabola in `s_j` of [`shortest`](Self::shortest)
    /// has its maximum at `1 / (2 Delta)`, if that is not below `s_i`.
    pub fn widest_partner(&self) -> f64 {
        (0.5 / self.non_additivity).min(self.largest)
    }

    /// The greatest non-additivity for which all `sigma_ij` are above zero.
    pub fn most_non_additivity(smallest: f64, largest: f64) -> f64 {
        if largest > smallest { 1.0 / (largest - smallest) } else { f64::INFINITY }
    }
}

/// The rule in the arithmetic of a pair loop. Mirrored in `kernels/potential/diameters.cuh`.
#[derive(Clone, Copy, Debug)]
pub struct Mixing<R> {
    /// `-Delta / 2`.
    pub minus_half_non_additivity: R,
}

impl<R: Real> Mixing<R> {
    pub fn new(diameters: &Diameters) -> Self {
        Mixing { minus_half_non_additivity: R::from_f64(-0.5 * diameters.non_additivity) }
    }

    /// `sigma_ij`, the same to the bit for either order of the two.
    #[inline(always)]
    pub fn of_pair(self, a: R, b: R) -> R {
        let difference = a - b;
        let difference = if difference < R::ZERO { -difference } else { difference };
        (a + b) * self.minus_half_non_additivity.fused(difference, R::from_f64(0.5))
    }

    /// `1 / sigma_ij^2`: factor on squared distances, and on `-U'(r)/r`.
    #[inline(always)]
    pub fn inverse_square(self, a: R, b: R) -> R {
        let sigma = self.of_pair(a, b);
        (sigma * sigma).inverse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_pairs_are_those_of_all_pairs() {
        for non_additivity in [0.0, 0.2, 0.9, 1.1] {
            let diameters = Diameters { non_additivity, smallest: 0.73, largest: 1.62 };
            assert!(non_additivity < Diameters::most_non_additivity(0.73, 1.62));
            let at = |k: u32| 0.73 + (1.62 - 0.73) * f64::from(k) / 200.0;
            let all = (0..=200).flat_map(|a| (0..=200).map(move |b| (at(a), at(b))));
            let all: Vec<f64> = all.map(|(a, b)| diameters.of_pair(a, b)).collect();
            let least = all.iter().copied().fold(f64::INFINITY, f64::min);
            let most = all.iter().copied().fold(0.0, f64::max);
            assert!((diameters.shortest() - least).abs() < 1e-12, "{non_additivity}");
            assert!((diameters.longest() - most).abs() < 1e-12, "{non_additivity}");
        }
    }

    #[test]
    fn the_rule_is_that_of_the_definition_and_symmetric() {
        let diameters = Diameters { non_additivity: 0.2, smallest: 0.7, largest: 1.7 };
        let (a, b) = (0.9, 1.3);
        let expected = 0.5 * (a + b) * (1.0 - 0.2 * (b - a));
        assert!((diameters.of_pair(a, b) - expected).abs() < 1e-15);
        assert_eq!(diameters.of_pair(a, b), diameters.of_pair(b, a));
        let mixing = Mixing::<f32>::new(&diameters);
        assert_eq!(mixing.inverse_square(0.9, 1.3), mixing.inverse_square(1.3, 0.9));
    }
}
