use super::Policy;
use crate::plan::Precision;
use crate::system::{SimulationBox, Species};

/// Everything in 64-bit floats: the reference.
#[derive(Clone)]
pub struct Double {
    pub(in crate::engine) edges: [f64; 3],
    pub(in crate::engine) inv_edges: [f64; 3],
    pub(in crate::engine) timestep: f64,
    /// `dt / (2 m)` of each species.
    pub(in crate::engine) half_kick: Vec<f64>,
}

impl Policy for Double {
    const PRECISION: Precision = Precision::Double;
    type Coordinate = f64;
    type Velocity = f64;
    type Force = f64;
    type Site = f64;
    type Real = f64;
    type Sums<const LANES: usize> = [f64; LANES];

    fn new(simulation_box: &SimulationBox, timestep: f64, species: &[Species]) -> Self {
        let edges = simulation_box.padded_edges();
        Double {
            edges,
            inv_edges: edges.map(|edge| 1.0 / edge),
            timestep,
            half_kick: species.iter().map(|s| 0.5 * timestep / s.mass).collect(),
        }
    }

    fn effective_timestep(&self) -> f64 {
        self.timestep
    }

    fn coordinate_from_f64(&self, x: f64, axis: usize) -> (f64, i32) {
        wrap(x, self.edges[axis])
    }
    #[inline(always)]
    fn coordinate_to_f64(&self, x: f64, _axis: usize) -> f64 {
        x
    }
    #[inline(always)]
    fn coordinate_to_bits(x: f64) -> u64 {
        x.to_bits()
    }
    #[inline(always)]
    fn coordinate_from_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }

    #[inline(always)]
    fn velocity_from_f64(&self, v: f64, _axis: usize) -> Option<f64> {
        v.is_finite().then_some(v)
    }
    #[inline(always)]
    fn velocity_to_f64(&self, v: f64, _axis: usize) -> f64 {
        v
    }
    #[inline(always)]
    fn velocity_to_bits(v: f64) -> u64 {
        v.to_bits()
    }
    #[inline(always)]
    fn velocity_from_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    #[inline(always)]
    fn negate(v: f64) -> f64 {
        -v
    }
    #[inline(always)]
    fn scale(v: f64, factor: f64) -> Option<f64> {
        Some(v * factor)
    }

    #[inline(always)]
    fn force_to_f64(&self, force: f64, _axis: usize) -> f64 {
        force
    }

    #[inline(always)]
    fn site(&self, x: f64, _axis: usize) -> f64 {
        x
    }
    fn site_to_bits(site: f64) -> u64 {
        site.to_bits()
    }
    fn site_from_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    #[inline(always)]
    fn slab(&self, site: f64, axis: usize, count: u32) -> u32 {
        ((site * self.inv_edges[axis] * f64::from(count)) as u32).min(count - 1)
    }

    #[inline(always)]
    fn half_kick(&self, v: f64, force: f64, species: usize) -> f64 {
        force.mul_add(self.half_kick[species], v)
    }
    #[inline(always)]
    fn drift(&self, x: f64, v: f64, axis: usize) -> (f64, i32) {
        let edge = self.edges[axis];
        let moved = v.mul_add(self.timestep, x);
        if moved >= edge {
            (moved - edge, 1)
        } else if moved < 0.0 {
            // A tiny negative number plus the edge may round to the edge itself.
            let wrapped = moved + edge;
            if wrapped < edge { (wrapped, -1) } else { (0.0, 0) }
        } else {
            (moved, 0)
        }
    }
    #[inline(always)]
    fn is_runaway(&self, v: f64, axis: usize) -> bool {
        !((v * self.timestep).abs() < 0.25 * self.edges[axis])
    }

    #[inline(always)]
    fn displacement(&self, a: f64, b: f64, axis: usize) -> f64 {
        let edge = self.edges[axis];
        let half = 0.5 * edge;
        let d = a - b;
        let d = if d > half { d - edge } else { d };
        if d < -half { d + edge } else { d }
    }
    #[inline(always)]
    fn length(&self, displacement: f64, _axis: usize) -> f64 {
        displacement
    }
    #[inline(always)]
    fn impulse(&self, force_over_r: f64) -> f64 {
        force_over_r
    }
    #[inline(always)]
    fn arm(_displacement: f64, length: f64) -> f64 {
        length
    }
    #[inline(always)]
    fn zero_sums<const LANES: usize>() -> [f64; LANES] {
        [Default::default(); LANES]
    }
    #[inline(always)]
    fn accumulate_force<const LANES: usize>(sums: &mut [f64; LANES], lane: usize, impulse: f64) {
        sums[lane] += impulse;
    }
    #[inline(always)]
    fn accumulate_energy<const LANES: usize>(sums: &mut [f64; LANES], lane: usize, term: f64) {
        sums[lane] += term;
    }
    #[inline(always)]
    fn total<const LANES: usize>(sums: &[f64; LANES]) -> f64 {
        sums.iter().sum()
    }
    #[inline(always)]
    fn energy_to_f64(sum: f64) -> f64 {
        sum
    }

    fn largest_pair_force(&self) -> f64 {
        1e100
    }
    fn largest_pair_energy(&self) -> f64 {
        1e100
    }
}

/// `x` of `0 <= x < edge` and the number of edges taken off.
pub(super) fn wrap(x: f64, edge: f64) -> (f64, i32) {
    let image = (x / edge).floor();
    let mut wrapped = x - image * edge;
    let mut image = image as i32;
    if wrapped < 0.0 {
        wrapped += edge;
        image -= 1;
    }
    if wrapped >= edge {
        wrapped = 0.0;
        image += 1;
    }
    (wrapped, image)
}
