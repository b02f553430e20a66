use super::{Policy, Slope};
use crate::arithmetic::Real;
use crate::plan::Precision;
use crate::system::{SimulationBox, Species};

/// Everything in floats of one width.
#[derive(Clone)]
pub struct Floats<F> {
    pub(in crate::engine) edges: [F; 3],
    pub(in crate::engine) inv_edges: [F; 3],
    pub(in crate::engine) timestep: F,
    /// `dt / (2 m)` of each species.
    pub(in crate::engine) half_kick: Vec<F>,
    slope: Slope<F>,
}

/// 32 bits: shows what goes wrong (Colberg & Hoefling 2011, section 4).
pub type Single = Floats<f32>;
/// 64 bits: the reference.
pub type Double = Floats<f64>;

impl<F: Real> Policy for Floats<F> {
    const PRECISION: Precision = if F::WIDE { Precision::Double } else { Precision::Single };
    type Coordinate = F;
    type Velocity = F;
    type Force = F;
    type Site = F;
    type Real = F;
    type Sums<const LANES: usize> = [F; LANES];

    fn new(simulation_box: &SimulationBox, timestep: f64, species: &[Species]) -> Self {
        let edges = simulation_box.padded_edges();
        Floats {
            edges: edges.map(F::from_f64),
            inv_edges: edges.map(|edge| F::from_f64(1.0 / edge)),
            timestep: F::from_f64(timestep),
            half_kick: species.iter().map(|s| F::from_f64(0.5 * timestep / s.mass)).collect(),
            slope: Slope::of_lengths(simulation_box),
        }
    }

    fn effective_timestep(&self) -> f64 {
        self.timestep.to_f64()
    }

    fn coordinate_from_f64(&self, x: f64, axis: usize) -> (F, i32) {
        let (wrapped, image) = wrap(x, self.edges[axis].to_f64());
        let rounded = F::from_f64(wrapped);
        if rounded < self.edges[axis] { (rounded, image) } else { (F::ZERO, image + 1) }
    }
    fn slope(&self) -> &Slope<F> {
        &self.slope
    }
    fn set_tilt(&mut self, tilt: f64) {
        self.slope.set(tilt);
    }
    #[inline(always)]
    fn skewed_velocity(&self, vx: F, vy: F, tilt: f64) -> F {
        (-vy).fused(F::from_f64(tilt * self.slope.aspect), vx)
    }
    #[inline(always)]
    fn coordinate_to_f64(&self, x: F, _axis: usize) -> f64 {
        x.to_f64()
    }
    #[inline(always)]
    fn coordinate_to_bits(x: F) -> u64 {
        x.to_bits()
    }
    #[inline(always)]
    fn coordinate_from_bits(bits: u64) -> F {
        F::from_bits(bits)
    }

    #[inline(always)]
    fn velocity_from_f64(&self, v: f64, _axis: usize) -> Option<F> {
        v.is_finite().then_some(F::from_f64(v))
    }
    #[inline(always)]
    fn velocity_to_f64(&self, v: F, _axis: usize) -> f64 {
        v.to_f64()
    }
    #[inline(always)]
    fn velocity_to_bits(v: F) -> u64 {
        v.to_bits()
    }
    #[inline(always)]
    fn velocity_from_bits(bits: u64) -> F {
        F::from_bits(bits)
    }
    #[inline(always)]
    fn negate(v: F) -> F {
        -v
    }
    #[inline(always)]
    fn halved(v: F) -> F {
        v * F::from_f64(0.5)
    }
    #[inline(always)]
    fn scale(v: F, factor: f64) -> Option<F> {
        Some(F::from_f64(v.to_f64() * factor))
    }

    #[inline(always)]
    fn force_to_f64(&self, force: F, _axis: usize) -> f64 {
        force.to_f64()
    }

    #[inline(always)]
    fn site(&self, x: F, _axis: usize) -> F {
        x
    }
    fn site_to_bits(site: F) -> u64 {
        site.to_bits()
    }
    fn site_from_bits(bits: u64) -> F {
        F::from_bits(bits)
    }
    fn site_to_f64(&self, site: F, _axis: usize) -> f64 {
        site.to_f64()
    }
    #[inline(always)]
    fn slab(&self, site: F, axis: usize, count: u32) -> u32 {
        let share = site.to_f64() * self.inv_edges[axis].to_f64();
        ((share * f64::from(count)) as u32).min(count - 1)
    }

    #[inline(always)]
    fn half_kick(&self, v: F, force: F, species: usize) -> F {
        force.fused(self.half_kick[species], v)
    }
    #[inline(always)]
    fn drift(&self, x: F, v: F, axis: usize) -> (F, i32) {
        let edge = self.edges[axis];
        let moved = v.fused(self.timestep, x);
        if moved >= edge {
            (moved - edge, 1)
        } else if moved < F::ZERO {
            // A tiny negative number plus the edge may round to the edge itself.
            let wrapped = moved + edge;
            if wrapped < edge { (wrapped, -1) } else { (F::ZERO, 0) }
        } else {
            (moved, 0)
        }
    }
    #[inline(always)]
    fn is_runaway(&self, v: F, axis: usize) -> bool {
        let (way, quarter) = (v * self.timestep, F::from_f64(0.25) * self.edges[axis]);
        !(way < quarter && -way < quarter)
    }

    #[inline(always)]
    fn displacement(&self, a: F, b: F, axis: usize) -> F {
        let edge = self.edges[axis];
        let half = F::from_f64(0.5) * edge;
        let d = a - b;
        let d = if d > half { d - edge } else { d };
        if d < -half { d + edge } else { d }
    }
    #[inline(always)]
    fn length(&self, displacement: F, _axis: usize) -> F {
        displacement
    }
    #[inline(always)]
    fn impulse(&self, force_over_r: F) -> F {
        force_over_r
    }
    #[inline(always)]
    fn arm(_displacement: F, length: F) -> F {
        length
    }
    #[inline(always)]
    fn zero_sums<const LANES: usize>() -> [F; LANES] {
        [Default::default(); LANES]
    }
    #[inline(always)]
    fn accumulate_force<const LANES: usize>(sums: &mut [F; LANES], lane: usize, impulse: F) {
        sums[lane] = sums[lane] + impulse;
    }
    #[inline(always)]
    fn accumulate_energy<const LANES: usize>(sums: &mut [F; LANES], lane: usize, term: F) {
        sums[lane] = sums[lane] + term;
    }
    #[inline(always)]
    fn total<const LANES: usize>(sums: &[F; LANES]) -> F {
        sums.iter().copied().sum()
    }
    #[inline(always)]
    fn add_forces(a: F, b: F) -> F {
        a + b
    }
    #[inline(always)]
    fn energy_to_f64(sum: F) -> f64 {
        sum.to_f64()
    }

    fn largest_pair_force(&self) -> f64 {
        if F::WIDE { 1e100 } else { 1e30 }
    }
    fn largest_pair_energy(&self) -> f64 {
        if F::WIDE { 1e100 } else { 1e30 }
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
