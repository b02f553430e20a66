//! Sums of 32 lanes in the order of a warp, and cosines of integer phases. Mirrors `kernels/observable/pair_terms.cuh`.

use std::ops::AddAssign;

/// Lanes of a warp.
pub const LANES: usize = 32;

pub type Lanes = [f32; LANES];

/// Sum over lanes, in the order in which a warp exchanges its numbers: halves upon each other.
#[inline(always)]
pub fn sum_over_lanes<T: Copy + AddAssign>(lanes: &[T; LANES]) -> T {
    let mut folded = *lanes;
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            let other = folded[lane + half];
            folded[lane] += other;
        }
        half /= 2;
    }
    folded[0]
}

/// Sum of numbers of which the one at `k` goes to lane `k` modulo 32.
pub fn sum_in_lanes(values: impl Iterator<Item = f64>) -> f64 {
    let mut lanes = [0.0; LANES];
    for (k, value) in values.enumerate() {
        lanes[k % LANES] += value;
    }
    sum_over_lanes(&lanes)
}

/// `cos(2 pi turns / 2^32)`, off by 1.7e-7 at most: the sine of the distance from a quarter of a turn.
#[expect(clippy::approx_constant, reason = "one of the coefficients of the best polynomial")]
#[inline(always)]
pub fn cosine_of_turns(turns: u32) -> f32 {
    let s = (turns as i32 as f32).abs().mul_add(-2.328_306_4e-10, 0.25);
    let z = s * s;
    let mut p = 39.536_705_f32;
    p = p.mul_add(z, -76.549_78);
    p = p.mul_add(z, 81.601_006);
    p = p.mul_add(z, -41.341_656);
    p = p.mul_add(z, 6.283_185);
    s * p
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_are_off_by_less_than_two_parts_in_ten_million() {
        let mut worst = 0.0_f64;
        for k in 0..2_000_000_u32 {
            let turns = k.wrapping_mul(2_654_435_761);
            let exact = (f64::from(turns) * (std::f64::consts::TAU / 2f64.powi(32))).cos();
            worst = worst.max((f64::from(cosine_of_turns(turns)) - exact).abs());
        }
        assert!(worst < 1.8e-7 && worst > 1e-8, "{worst:e}");
    }

    #[test]
    fn lanes_are_added_in_halves() {
        // In any other order the small ones are lost.
        let mut lanes: Lanes = [0.0; LANES];
        (lanes[0], lanes[16], lanes[1], lanes[17]) = (1e8, -1e8, 1.0, 2.0);
        assert_eq!(sum_over_lanes(&lanes), 3.0);
        assert_eq!(sum_in_lanes(lanes.iter().map(|&x| f64::from(x))), 3.0);
        assert_eq!(sum_in_lanes((0..100).map(f64::from)), 4950.0);
    }
}
