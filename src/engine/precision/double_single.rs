use super::floats::wrap;
use super::{Policy, Slope, box_fraction};
use crate::arithmetic::DoubleSingle;
use crate::arithmetic::fixed_point::round_to_i64_f64;
use crate::plan::Precision;
use crate::potential::PairUnits;
use crate::system::{SimulationBox, Species};

/// Positions, velocities and forces as pairs of 32-bit floats (Colberg & Hoefling 2011, section 2.4); pair
/// forces in 32-bit floats from the leading 32 bits of the positions, as fractions of the edges.
///
/// While the pairs of a particle are summed, the sum is one 64-bit float, rounded to a pair (49 bits) at the
/// end: no worse than a compensated sum of pairs, in two operations a term for its seven.
#[derive(Clone)]
pub struct DoubleSingles {
    pub(in crate::engine) edges: [DoubleSingle; 3],
    pub(in crate::engine) inv_edges: [DoubleSingle; 3],
    /// Length of one unit of the site along each axis.
    pub(in crate::engine) site_length: [f32; 3],
    /// The same in lengths of the first axis' unit, and the inverse of that one.
    pub(in crate::engine) relative_length: [f32; 3],
    pub(in crate::engine) inv_site_length: f32,
    pub(in crate::engine) timestep: DoubleSingle,
    pub(in crate::engine) half_kick: Vec<DoubleSingle>,
    slope: Slope<f32>,
}

impl Policy for DoubleSingles {
    const PRECISION: Precision = Precision::DoubleSingle;
    type Coordinate = DoubleSingle;
    type Velocity = DoubleSingle;
    type Force = DoubleSingle;
    type Site = i32;
    type Real = f32;
    const WIDE_SUMS: bool = true;
    type Sums<const LANES: usize> = [f64; LANES];

    fn new(simulation_box: &SimulationBox, timestep: f64, species: &[Species]) -> Self {
        let edges = simulation_box.padded_edges();
        DoubleSingles {
            edges: edges.map(DoubleSingle::from_f64),
            inv_edges: edges.map(|edge| DoubleSingle::from_f64(1.0 / edge)),
            site_length: edges.map(box_fraction::unit_length),
            relative_length: box_fraction::relative_lengths(edges),
            inv_site_length: (box_fraction::UNITS / edges[0]) as f32,
            timestep: DoubleSingle::from_f64(timestep),
            half_kick: species
                .iter()
                .map(|s| DoubleSingle::from_f64(0.5 * timestep / s.mass))
                .collect(),
            slope: Slope::of_fractions(simulation_box),
        }
    }

    fn effective_timestep(&self) -> f64 {
        self.timestep.to_f64()
    }

    fn coordinate_from_f64(&self, x: f64, axis: usize) -> (DoubleSingle, i32) {
        let (wrapped, image) = wrap(x, self.edges[axis].to_f64());
        let rounded = DoubleSingle::from_f64(wrapped);
        if rounded.to_f64() < self.edges[axis].to_f64() {
            (rounded, image)
        } else {
            (DoubleSingle::default(), image + 1)
        }
    }
    fn slope(&self) -> &Slope<f32> {
        &self.slope
    }
    fn set_tilt(&mut self, tilt: f64) {
        self.slope.set(tilt);
    }
    #[inline(always)]
    fn skewed_velocity(&self, vx: DoubleSingle, vy: DoubleSingle, tilt: f64) -> DoubleSingle {
        vx - vy * DoubleSingle::from_f64(tilt * self.slope.aspect)
    }
    #[inline(always)]
    fn coordinate_to_f64(&self, x: DoubleSingle, _axis: usize) -> f64 {
        x.to_f64()
    }
    #[inline(always)]
    fn coordinate_to_bits(x: DoubleSingle) -> u64 {
        x.to_bits()
    }
    #[inline(always)]
    fn coordinate_from_bits(bits: u64) -> DoubleSingle {
        DoubleSingle::from_bits(bits)
    }

    #[inline(always)]
    fn velocity_from_f64(&self, v: f64, _axis: usize) -> Option<DoubleSingle> {
        v.is_finite().then(|| DoubleSingle::from_f64(v))
    }
    #[inline(always)]
    fn velocity_to_f64(&self, v: DoubleSingle, _axis: usize) -> f64 {
        v.to_f64()
    }
    #[inline(always)]
    fn velocity_to_bits(v: DoubleSingle) -> u64 {
        v.to_bits()
    }
    #[inline(always)]
    fn velocity_from_bits(bits: u64) -> DoubleSingle {
        DoubleSingle::from_bits(bits)
    }
    #[inline(always)]
    fn negate(v: DoubleSingle) -> DoubleSingle {
        -v
    }
    #[inline(always)]
    fn halved(v: DoubleSingle) -> DoubleSingle {
        v.halved()
    }
    #[inline(always)]
    fn scale(v: DoubleSingle, factor: f64) -> Option<DoubleSingle> {
        Some(DoubleSingle::from_f64(v.to_f64() * factor))
    }

    #[inline(always)]
    fn force_to_f64(&self, force: DoubleSingle, _axis: usize) -> f64 {
        force.to_f64()
    }

    #[inline(always)]
    fn site(&self, x: DoubleSingle, axis: usize) -> i32 {
        let part = x * self.inv_edges[axis];
        let units = |part: f32| round_to_i64_f64(f64::from(part) * box_fraction::UNITS);
        units(part.hi()).wrapping_add(units(part.lo())) as i32
    }
    fn site_to_bits(site: i32) -> u64 {
        u64::from(site as u32)
    }
    fn site_from_bits(bits: u64) -> i32 {
        bits as u32 as i32
    }
    fn site_to_f64(&self, site: i32, axis: usize) -> f64 {
        box_fraction::position(site, self.edges[axis].to_f64())
    }
    #[inline(always)]
    fn slab(&self, site: i32, _axis: usize, count: u32) -> u32 {
        box_fraction::slab(site, count)
    }

    #[inline(always)]
    fn half_kick(&self, v: DoubleSingle, force: DoubleSingle, species: usize) -> DoubleSingle {
        v + force * self.half_kick[species]
    }
    #[inline(always)]
    fn drift(&self, x: DoubleSingle, v: DoubleSingle, axis: usize) -> (DoubleSingle, i32) {
        let edge = self.edges[axis];
        let moved = x + v * self.timestep;
        if (moved - edge).hi() >= 0.0 {
            (moved - edge, 1)
        } else if moved.hi() < 0.0 {
            let wrapped = moved + edge;
            if (wrapped - edge).hi() < 0.0 { (wrapped, -1) } else { (DoubleSingle::default(), 0) }
        } else {
            (moved, 0)
        }
    }
    #[inline(always)]
    fn is_runaway(&self, v: DoubleSingle, axis: usize) -> bool {
        !((v.hi() * self.timestep.hi()).abs() < 0.25 * self.edges[axis].hi())
    }

    #[inline(always)]
    fn displacement(&self, a: i32, b: i32, _axis: usize) -> f32 {
        box_fraction::displacement(a, b)
    }
    #[inline(always)]
    fn length(&self, displacement: f32, axis: usize) -> f32 {
        displacement * self.site_length[axis]
    }
    #[inline(always)]
    fn relative_length(&self, displacement: f32, axis: usize) -> f32 {
        displacement * self.relative_length[axis]
    }
    fn pair_units(&self) -> PairUnits {
        let length = self.edges[0].to_f64() / box_fraction::UNITS;
        PairUnits { length, impulse: length }
    }
    #[inline(always)]
    fn force_of_impulse(&self, impulse: f32) -> f32 {
        impulse * self.inv_site_length
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
    fn zero_sums<const LANES: usize>() -> [f64; LANES] {
        [0.0; LANES]
    }
    #[inline(always)]
    fn accumulate_force<const LANES: usize>(sums: &mut [f64; LANES], lane: usize, impulse: f32) {
        sums[lane] += f64::from(impulse);
    }
    #[inline(always)]
    fn accumulate_energy<const LANES: usize>(sums: &mut [f64; LANES], lane: usize, term: f32) {
        Self::accumulate_force(sums, lane, term);
    }
    #[inline(always)]
    fn total<const LANES: usize>(sums: &[f64; LANES]) -> DoubleSingle {
        // Halves are added to each other until one lane is left: vectors, and short chains.
        let mut sums = *sums;
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                sums[lane] += sums[lane + width];
            }
            width /= 2;
        }
        DoubleSingle::from_f64(sums[0])
    }
    #[inline(always)]
    fn add_forces(a: DoubleSingle, b: DoubleSingle) -> DoubleSingle {
        a + b
    }
    #[inline(always)]
    fn energy_to_f64(sum: DoubleSingle) -> f64 {
        sum.to_f64()
    }

    fn largest_pair_force(&self) -> f64 {
        1e30
    }
    fn largest_pair_energy(&self) -> f64 {
        1e30
    }
}
