use super::{Policy, Slope, box_fraction};
use crate::arithmetic::fixed_point::{
    Ratio, fraction_from_f64, fraction_to_f64, mul_round, round_to_i64_f64, scale_i64, wide_round,
};
use crate::plan::Precision;
use crate::potential::PairUnits;
use crate::system::{SimulationBox, Species};

/// Integers wherever anything is summed: the same bits on every machine and for any order of sums.
///
/// * A coordinate is a 64-bit fraction of the edge; its overflow is the periodic boundary.
/// * A velocity is the increment of the coordinate per step, so that the drift is one addition.
/// * A pair's force is the increment it gives to the velocity of a particle of the lightest mass `m0`
///   in half a step, in quanta of `2^shift` velocity units: with `n = d 2^32 / L` the displacement in
///   units of the site,
///   `F dt / (2 m0) * dt / L * 2^64 = (-U'/r) n * dt^2 2^31 / m0`, the edge cancels.
///   For equal masses total momentum is therefore conserved to the bit.
/// * With velocities reversed the trajectory runs back to the bit (Levesque & Verlet 1993).
#[derive(Clone)]
pub struct FixedPoint {
    pub(in crate::engine) edges: [f64; 3],
    /// Length of one unit of the site along each axis.
    pub(in crate::engine) site_length: [f32; 3],
    /// The same in lengths of the first axis' unit.
    pub(in crate::engine) relative_length: [f32; 3],
    pub(in crate::engine) timestep: f64,
    /// `dt^2 2^31 / (m0 2^shift)`.
    pub(in crate::engine) impulse_factor: f32,
    pub(in crate::engine) inv_impulse_factor: f32,
    pub(in crate::engine) shift: u32,
    /// `m0 / m` of each species; `None` for the lightest.
    pub(in crate::engine) mass_ratio: Vec<Option<Ratio>>,
    pub(in crate::engine) shortest_edge: f64,
    slope: Slope<f32>,
}

/// Energies and virials are summed in multiples of `2^-31`.
const ENERGY_SCALE: f32 = (1u64 << 31) as f32;
/// A pair's force or energy is smaller than this many quanta (the rounding holds to twice that).
const LARGEST_TERM: f64 = (1u64 << 50) as f64;
/// A pair force up to this size (in reduced units) fits.
const FORCE_RANGE: f64 = (1u64 << 20) as f64;
/// What a kick gives that does not fit: [`Policy::is_runaway`] sees it.
const RUNAWAY: i64 = 1 << 62;

impl FixedPoint {
    /// Force quantum along an axis, in reduced units.
    pub(in crate::engine) fn force_quantum(&self, axis: usize) -> f64 {
        self.edges[axis] / (f64::from(self.impulse_factor) * 2f64.powi(32))
    }

    pub(in crate::engine) fn velocity_quantum(&self, axis: usize) -> f64 {
        self.edges[axis] / (2f64.powi(64) * self.timestep)
    }
}

impl Policy for FixedPoint {
    const PRECISION: Precision = Precision::FixedPoint;
    const HAS_FRACTIONS: bool = true;
    type Coordinate = u64;
    type Velocity = i64;
    type Force = i64;
    type Site = i32;
    type Real = f32;
    const WIDE_SUMS: bool = true;
    type Sums<const LANES: usize> = [i64; LANES];

    fn new(simulation_box: &SimulationBox, timestep: f64, species: &[Species]) -> Self {
        let edges = simulation_box.padded_edges();
        let lightest_mass = species.iter().map(|s| s.mass).fold(f64::INFINITY, f64::min);
        let factor = timestep * timestep * 2f64.powi(31) / lightest_mass;
        let shortest_edge = simulation_box.shortest_edge();
        // A force of FORCE_RANGE is factor 2^32 / L * FORCE_RANGE quanta.
        let mut shift = 0;
        while factor / 2f64.powi(shift) * 2f64.powi(32) / shortest_edge * FORCE_RANGE > LARGEST_TERM
        {
            shift += 1;
        }
        let impulse_factor = (factor / 2f64.powi(shift)) as f32;
        FixedPoint {
            edges,
            site_length: edges.map(box_fraction::unit_length),
            relative_length: box_fraction::relative_lengths(edges),
            timestep: (f64::from(impulse_factor) * 2f64.powi(shift) * lightest_mass
                / 2f64.powi(31))
            .sqrt(),
            impulse_factor,
            inv_impulse_factor: 1.0 / impulse_factor,
            shift: shift as u32,
            mass_ratio: species
                .iter()
                .map(|s| {
                    if s.mass == lightest_mass {
                        None
                    } else {
                        Ratio::from_f64(lightest_mass / s.mass)
                    }
                })
                .collect(),
            shortest_edge,
            slope: Slope::of_fractions(simulation_box),
        }
    }

    fn effective_timestep(&self) -> f64 {
        self.timestep
    }

    fn coordinate_from_f64(&self, x: f64, axis: usize) -> (u64, i32) {
        let edge = self.edges[axis];
        (fraction_from_f64(x, edge), (x / edge).floor() as i32)
    }
    fn slope(&self) -> &Slope<f32> {
        &self.slope
    }
    fn set_tilt(&mut self, tilt: f64) {
        self.slope.set(tilt);
    }
    #[inline(always)]
    fn skewed_velocity(&self, vx: i64, vy: i64, tilt: f64) -> i64 {
        // The tilt is below one: the product fits.
        vx.wrapping_sub(scale_i64(vy, tilt).unwrap_or(0))
    }
    #[inline(always)]
    fn flipped(&self, x: u64, y: u64, turns: i32) -> (u64, i32) {
        let moved = if turns > 0 { x.wrapping_add(y) } else { x.wrapping_sub(y) };
        (moved, if turns > 0 { i32::from(moved < x) } else { -i32::from(moved > x) })
    }
    #[inline(always)]
    fn coordinate_to_f64(&self, x: u64, axis: usize) -> f64 {
        fraction_to_f64(x, self.edges[axis])
    }
    #[inline(always)]
    fn coordinate_to_bits(x: u64) -> u64 {
        x
    }
    #[inline(always)]
    fn coordinate_from_bits(bits: u64) -> u64 {
        bits
    }

    #[inline(always)]
    fn velocity_from_f64(&self, v: f64, axis: usize) -> Option<i64> {
        wide_round(v / self.velocity_quantum(axis))
    }
    #[inline(always)]
    fn velocity_to_f64(&self, v: i64, axis: usize) -> f64 {
        v as f64 * self.velocity_quantum(axis)
    }
    #[inline(always)]
    fn velocity_to_bits(v: i64) -> u64 {
        v as u64
    }
    #[inline(always)]
    fn velocity_from_bits(bits: u64) -> i64 {
        bits as i64
    }
    #[inline(always)]
    fn negate(v: i64) -> i64 {
        v.wrapping_neg()
    }
    #[inline(always)]
    fn halved(v: i64) -> i64 {
        v >> 1
    }
    #[inline(always)]
    fn scale(v: i64, factor: f64) -> Option<i64> {
        scale_i64(v, factor)
    }

    fn exact_sum(velocities: impl Iterator<Item = i64>) -> Option<i128> {
        Some(velocities.map(i128::from).sum())
    }
    fn subtract_units(v: i64, units: i64) -> i64 {
        v.wrapping_sub(units)
    }

    #[inline(always)]
    fn force_to_f64(&self, force: i64, axis: usize) -> f64 {
        force as f64 * self.force_quantum(axis)
    }

    #[inline(always)]
    fn site(&self, x: u64, _axis: usize) -> i32 {
        (x >> 32) as i32
    }
    fn site_to_bits(site: i32) -> u64 {
        u64::from(site as u32)
    }
    fn site_from_bits(bits: u64) -> i32 {
        bits as u32 as i32
    }
    fn site_to_f64(&self, site: i32, axis: usize) -> f64 {
        box_fraction::position(site, self.edges[axis])
    }
    #[inline(always)]
    fn slab(&self, site: i32, _axis: usize, count: u32) -> u32 {
        box_fraction::slab(site, count)
    }

    #[inline(always)]
    fn half_kick(&self, v: i64, force: i64, species: usize) -> i64 {
        if force.unsigned_abs() >= 1 << (61 - self.shift) {
            return RUNAWAY;
        }
        let impulse = force << self.shift;
        let impulse = match self.mass_ratio[species] {
            None => impulse,
            Some(ratio) => mul_round(impulse, ratio).unwrap_or(RUNAWAY),
        };
        v.wrapping_add(impulse)
    }
    #[inline(always)]
    fn drift(&self, x: u64, v: i64, _axis: usize) -> (u64, i32) {
        let moved = x.wrapping_add_signed(v);
        let image = if v >= 0 { i32::from(moved < x) } else { -i32::from(moved > x) };
        (moved, image)
    }
    #[inline(always)]
    fn is_runaway(&self, v: i64, _axis: usize) -> bool {
        v.unsigned_abs() >= RUNAWAY as u64
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
        PairUnits {
            length: self.edges[0] / box_fraction::UNITS,
            impulse: f64::from(self.impulse_factor),
        }
    }
    #[inline(always)]
    fn force_of_impulse(&self, impulse: f32) -> f32 {
        impulse * self.inv_impulse_factor
    }
    #[inline(always)]
    fn impulse(&self, force_over_r: f32) -> f32 {
        force_over_r * self.impulse_factor
    }
    #[inline(always)]
    fn arm(displacement: f32, _length: f32) -> f32 {
        displacement
    }
    #[inline(always)]
    fn zero_sums<const LANES: usize>() -> [i64; LANES] {
        [Default::default(); LANES]
    }
    #[inline(always)]
    fn accumulate_force<const LANES: usize>(sums: &mut [i64; LANES], lane: usize, impulse: f32) {
        sums[lane] = sums[lane].wrapping_add(round_to_i64_f64(f64::from(impulse)));
    }
    #[inline(always)]
    fn accumulate_energy<const LANES: usize>(sums: &mut [i64; LANES], lane: usize, term: f32) {
        sums[lane] = sums[lane].wrapping_add(round_to_i64_f64(f64::from(term * ENERGY_SCALE)));
    }
    #[inline(always)]
    fn total<const LANES: usize>(sums: &[i64; LANES]) -> i64 {
        sums.iter().fold(0, |sum, &lane| sum.wrapping_add(lane))
    }
    #[inline(always)]
    fn add_forces(a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn energy_to_f64(sum: i64) -> f64 {
        sum as f64 / f64::from(ENERGY_SCALE)
    }

    fn largest_pair_force(&self) -> f64 {
        LARGEST_TERM * self.shortest_edge / (f64::from(self.impulse_factor) * 2f64.powi(32))
    }
    fn largest_pair_energy(&self) -> f64 {
        LARGEST_TERM / f64::from(ENERGY_SCALE)
    }
}
