use super::Policy;
use super::double::wrap;
use crate::plan::Precision;
use crate::system::{SimulationBox, Species};

/// Everything in 32-bit floats: shows what goes wrong (Colberg & Hoefling 2011, section 4).
#[derive(Clone)]
pub struct Single {
    pub(in crate::engine) edges: [f32; 3],
    pub(in crate::engine) inv_edges: [f32; 3],
    pub(in crate::engine) timestep: f32,
    pub(in crate::engine) half_kick: Vec<f32>,
}

impl Policy for Single {
    const PRECISION: Precision = Precision::Single;
    type Coordinate = f32;
    type Velocity = f32;
    type Force = f32;
    type Site = f32;
    type Real = f32;
    type Sums<const LANES: usize> = [f32; LANES];

    fn new(simulation_box: &SimulationBox, timestep: f64, species: &[Species]) -> Self {
        let edges = simulation_box.padded_edges();
        Single {
            edges: edges.map(|edge| edge as f32),
            inv_edges: edges.map(|edge| (1.0 / edge) as f32),
            timestep: timestep as f32,
            half_kick: species.iter().map(|s| (0.5 * timestep / s.mass) as f32).collect(),
        }
    }

    fn effective_timestep(&self) -> f64 {
        f64::from(self.timestep)
    }

    fn coordinate_from_f64(&self, x: f64, axis: usize) -> (f32, i32) {
        let (wrapped, image) = wrap(x, f64::from(self.edges[axis]));
        let rounded = wrapped as f32;
        if rounded < self.edges[axis] { (rounded, image) } else { (0.0, image + 1) }
    }
    #[inline(always)]
    fn coordinate_to_f64(&self, x: f32, _axis: usize) -> f64 {
        f64::from(x)
    }
    #[inline(always)]
    fn coordinate_to_bits(x: f32) -> u64 {
        u64::from(x.to_bits())
    }
    #[inline(always)]
    fn coordinate_from_bits(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }

    #[inline(always)]
    fn velocity_from_f64(&self, v: f64, _axis: usize) -> Option<f32> {
        v.is_finite().then_some(v as f32)
    }
    #[inline(always)]
    fn velocity_to_f64(&self, v: f32, _axis: usize) -> f64 {
        f64::from(v)
    }
    #[inline(always)]
    fn velocity_to_bits(v: f32) -> u64 {
        u64::from(v.to_bits())
    }
    #[inline(always)]
    fn velocity_from_bits(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    #[inline(always)]
    fn negate(v: f32) -> f32 {
        -v
    }
    #[inline(always)]
    fn scale(v: f32, factor: f64) -> Option<f32> {
        Some((f64::from(v) * factor) as f32)
    }

    #[inline(always)]
    fn force_to_f64(&self, force: f32, _axis: usize) -> f64 {
        f64::from(force)
    }

    #[inline(always)]
    fn site(&self, x: f32, _axis: usize) -> f32 {
        x
    }
    fn site_to_bits(site: f32) -> u64 {
        u64::from(site.to_bits())
    }
    fn site_from_bits(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    #[inline(always)]
    fn slab(&self, site: f32, axis: usize, count: u32) -> u32 {
        slab(site, self.inv_edges[axis], count)
    }

    #[inline(always)]
    fn half_kick(&self, v: f32, force: f32, species: usize) -> f32 {
        force.mul_add(self.half_kick[species], v)
    }
    #[inline(always)]
    fn drift(&self, x: f32, v: f32, axis: usize) -> (f32, i32) {
        let edge = self.edges[axis];
        let moved = v.mul_add(self.timestep, x);
        if moved >= edge {
            (moved - edge, 1)
        } else if moved < 0.0 {
            let wrapped = moved + edge;
            if wrapped < edge { (wrapped, -1) } else { (0.0, 0) }
        } else {
            (moved, 0)
        }
    }
    #[inline(always)]
    fn is_runaway(&self, v: f32, axis: usize) -> bool {
        !((v * self.timestep).abs() < 0.25 * self.edges[axis])
    }

    #[inline(always)]
    fn displacement(&self, a: f32, b: f32, axis: usize) -> f32 {
        nearest_image(a - b, self.edges[axis])
    }
    #[inline(always)]
    fn length(&self, displacement: f32, _axis: usize) -> f32 {
        displacement
    }
    #[inline(always)]
    fn impulse(&self, force_over_r: f32) -> f32 {
        force_over_r
    }
    #[inline(always)]
    fn arm(_displacement: f32, length: f32) -> f32 {
        length
    }
    #[inline(always)]
    fn zero_sums<const LANES: usize>() -> [f32; LANES] {
        [Default::default(); LANES]
    }
    #[inline(always)]
    fn accumulate_force<const LANES: usize>(sums: &mut [f32; LANES], lane: usize, impulse: f32) {
        sums[lane] += impulse;
    }
    #[inline(always)]
    fn accumulate_energy<const LANES: usize>(sums: &mut [f32; LANES], lane: usize, term: f32) {
        sums[lane] += term;
    }
    #[inline(always)]
    fn total<const LANES: usize>(sums: &[f32; LANES]) -> f32 {
        sums.iter().sum()
    }
    #[inline(always)]
    fn energy_to_f64(sum: f32) -> f64 {
        f64::from(sum)
    }

    fn largest_pair_force(&self) -> f64 {
        1e30
    }
    fn largest_pair_energy(&self) -> f64 {
        1e30
    }
}

/// Which of `count` slabs holds a wrapped 32-bit coordinate.
#[inline(always)]
fn slab(site: f32, inv_edge: f32, count: u32) -> u32 {
    ((f64::from(site) * f64::from(inv_edge) * f64::from(count)) as u32).min(count - 1)
}

/// A difference of two wrapped coordinates, moved by an edge if that makes it shorter.
#[inline(always)]
fn nearest_image(d: f32, edge: f32) -> f32 {
    let half = 0.5 * edge;
    let d = if d > half { d - edge } else { d };
    if d < -half { d + edge } else { d }
}
