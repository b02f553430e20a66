//! The four precision policies: types and operations with the same names in each.
//!
//! | policy | positions | velocities | pair force | sums |
//! | --- | --- | --- | --- | --- |
//! | [`Single`] | f32 | f32 | f32 | f32 |
//! | [`DoubleSingle`](DoubleSingles) | pair of f32 | pair of f32 | f32 | f64, then pair of f32 |
//! | [`Double`] | f64 | f64 | f64 | f64 |
//! | [`FixedPoint`] | 64-bit fraction of the edge | 64-bit integer | f32 | 64-bit integer |
//!
//! A position is kept as one *coordinate* per axis, wrapped into the box, and an image count. The pair
//! loop reads only the *site*: the part of a coordinate that 32 bits hold (64 in [`Double`]). Where more
//! than that is kept the site is a 32-bit fraction of the edge (`box_fraction`): 256 times finer than a 32-bit
//! float at the far end of the box, and the nearest image is the overflow of a subtraction.
//!
//! In a tilted box ([`SimulationBox::tilt`]) the coordinate along x is `L_x f_x`, that of a place whose fraction along the
//! tilted periods is `f_x`: it is skewed, and an affine shear leaves it as it is. Velocities and forces are not skewed.
mod box_fraction;
mod double_single;
mod fixed_point;
mod floats;
mod slope;

pub use double_single::DoubleSingles;
pub use fixed_point::FixedPoint;
pub use floats::{Double, Floats, Single};
pub use slope::Slope;

use crate::arithmetic::Real;
use crate::plan::Precision;
use crate::potential::PairUnits;
use crate::system::{SimulationBox, Species};

/// A 64-bit fraction of an edge in `2^-32` of it, to nearest, modulo the edge.
pub fn rounded_fraction(bits: u64) -> u32 {
    (bits.wrapping_add(1 << 31) >> 32) as u32
}

/// Types and operations of one way to hold numbers.
///
/// An instance holds the constants of a run (edges, time step, masses, scale factors); `axis` is 0, 1
/// or 2 everywhere.
pub trait Policy: Clone + Send + Sync + Sized + 'static {
    const PRECISION: Precision;
    type Coordinate: Copy + Default + Send + Sync;
    type Velocity: Copy + Default + Send + Sync;
    type Force: Copy + Default + Send + Sync;
    type Site: Copy + Default + Send + Sync;
    type Real: Real;
    /// Whether sums have more bits than the pair loop's numbers: it is then vectorised apart from them.
    const WIDE_SUMS: bool = false;
    /// Whether coordinates are 64-bit fractions of the edge.
    const HAS_FRACTIONS: bool = false;
    /// Partial sums of the lanes of the pair loop.
    type Sums<const LANES: usize>;

    fn new(simulation_box: &SimulationBox, timestep: f64, species: &[Species]) -> Self;

    /// The time step really taken: in fixed point it differs from the nominal one by less than
    /// `3e-8` of it, so that the factor from force to velocity is a 32-bit float.
    fn effective_timestep(&self) -> f64;

    /// Position in the box (wrapped) and the number of edges that wrapping took off.
    fn coordinate_from_f64(&self, x: f64, axis: usize) -> (Self::Coordinate, i32);
    /// The tilt of the box.
    fn slope(&self) -> &Slope<Self::Real>;
    /// Gives the box another tilt.
    fn set_tilt(&mut self, tilt: f64);
    /// The displacement of a pair, in units of its own, of the difference of skewed coordinates: `d_x + slope d_y`.
    #[inline(always)]
    fn straightened(&self, [dx, dy, dz]: [Self::Real; 3]) -> [Self::Real; 3] {
        [dy.fused(self.slope().of_displacements, dx), dy, dz]
    }
    /// Velocity of the skewed coordinate along x at a tilt: `v_x - slope v_y`. Odd to the bit in the velocities.
    fn skewed_velocity(&self, vx: Self::Velocity, vy: Self::Velocity, tilt: f64) -> Self::Velocity;
    /// The skewed coordinate along x where the tilt is less by `turns` (1 or -1), `x + turns L_x f_y`, wrapped, with the
    /// change of the image count.
    #[inline(always)]
    fn flipped(
        &self,
        x: Self::Coordinate,
        y: Self::Coordinate,
        turns: i32,
    ) -> (Self::Coordinate, i32) {
        let along_y = self.slope().aspect * self.coordinate_to_f64(y, 1);
        self.coordinate_from_f64(self.coordinate_to_f64(x, 0) + f64::from(turns) * along_y, 0)
    }

    /// In `0 <= x < edge`.
    fn coordinate_to_f64(&self, x: Self::Coordinate, axis: usize) -> f64;
    fn coordinate_to_bits(x: Self::Coordinate) -> u64;
    fn coordinate_from_bits(bits: u64) -> Self::Coordinate;

    /// `None` if the velocity cannot be held.
    fn velocity_from_f64(&self, v: f64, axis: usize) -> Option<Self::Velocity>;
    fn velocity_to_f64(&self, v: Self::Velocity, axis: usize) -> f64;
    fn velocity_to_bits(v: Self::Velocity) -> u64;
    fn velocity_from_bits(bits: u64) -> Self::Velocity;
    fn negate(v: Self::Velocity) -> Self::Velocity;
    /// `v * factor`; `None` if the result cannot be held.
    fn scale(v: Self::Velocity, factor: f64) -> Option<Self::Velocity>;

    /// Half of the velocity, without its last digit where that is an integer: with it the drift takes half a step.
    fn halved(v: Self::Velocity) -> Self::Velocity;

    /// Sum in units of the velocity's last digit, where velocities are integers.
    fn exact_sum(_velocities: impl Iterator<Item = Self::Velocity>) -> Option<i128> {
        None
    }
    /// Less a number of units of the last digit, where velocities are integers.
    fn subtract_units(v: Self::Velocity, _units: i64) -> Self::Velocity {
        v
    }

    fn force_to_f64(&self, force: Self::Force, axis: usize) -> f64;

    fn site(&self, x: Self::Coordinate, axis: usize) -> Self::Site;
    fn site_to_bits(site: Self::Site) -> u64;
    fn site_from_bits(bits: u64) -> Self::Site;
    /// Position of a site, in `0 <= x < edge` to rounding.
    fn site_to_f64(&self, site: Self::Site, axis: usize) -> f64;
    /// Which of `count` equal slabs of the box along an axis holds the site.
    fn slab(&self, site: Self::Site, axis: usize, count: u32) -> u32;

    /// `v + F dt / (2 m)`.
    fn half_kick(&self, v: Self::Velocity, force: Self::Force, species: usize) -> Self::Velocity;
    /// `x + v dt`, wrapped, with the change of the image count.
    fn drift(&self, x: Self::Coordinate, v: Self::Velocity, axis: usize)
    -> (Self::Coordinate, i32);
    /// Whether a velocity is so large that a particle would cross a quarter of the box in a step, or
    /// is NaN.
    fn is_runaway(&self, v: Self::Velocity, axis: usize) -> bool;

    /// Displacement `a - b` of the nearest images in units of its own; [`Self::length`] makes it a
    /// length. Odd to the bit: `displacement(b, a) == -displacement(a, b)`.
    fn displacement(&self, a: Self::Site, b: Self::Site, axis: usize) -> Self::Real;
    /// Length of a displacement.
    fn length(&self, displacement: Self::Real, axis: usize) -> Self::Real;
    /// The same in the unit of [`Self::pair_units`], chosen so that a cubic box needs no product.
    fn relative_length(&self, displacement: Self::Real, axis: usize) -> Self::Real {
        self.length(displacement, axis)
    }
    /// Units of pairs that are smoothed in 32 bits.
    fn pair_units(&self) -> PairUnits {
        PairUnits::default()
    }
    /// `-U'(r)/r` of what is multiplied with [`Self::arm`] of a [`Self::relative_length`].
    fn force_of_impulse(&self, impulse: Self::Real) -> Self::Real {
        impulse
    }
    /// Factor on `-U'(r)/r` before it is multiplied with a displacement or length.
    fn impulse(&self, force_over_r: Self::Real) -> Self::Real;
    /// The factor that [`Self::impulse`] is multiplied with to give the force along an axis: the
    /// displacement in fixed point, the length elsewhere.
    fn arm(displacement: Self::Real, length: Self::Real) -> Self::Real;
    fn zero_sums<const LANES: usize>() -> Self::Sums<LANES>;
    /// Adds a force to a lane.
    fn accumulate_force<const LANES: usize>(
        sums: &mut Self::Sums<LANES>,
        lane: usize,
        impulse: Self::Real,
    );
    /// Adds an energy or virial to a lane.
    fn accumulate_energy<const LANES: usize>(
        sums: &mut Self::Sums<LANES>,
        lane: usize,
        term: Self::Real,
    );
    /// Sum of all lanes.
    fn total<const LANES: usize>(sums: &Self::Sums<LANES>) -> Self::Force;
    /// Sum of the forces of two terms of the potential energy.
    fn add_forces(a: Self::Force, b: Self::Force) -> Self::Force;
    fn energy_to_f64(sum: Self::Force) -> f64;

    /// Largest `|U'(r)|` of a pair that can be held, on any axis.
    fn largest_pair_force(&self) -> f64;
    /// Largest energy of a pair that can be held.
    fn largest_pair_energy(&self) -> f64;
}

/// Whole-system sum of the terms of all particles, the same for any order of them in fixed point.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExactSum(i128);

impl ExactSum {
    /// Terms are held to this many binary digits after the point.
    const DIGITS: u32 = 40;

    /// Adds a term, rounded to a multiple of `2^-40`; `None` beyond `2^62 * 2^-40`.
    pub fn add(&mut self, term: f64) -> Option<()> {
        let scaled = term * (1u64 << Self::DIGITS) as f64;
        self.0 += i128::from(crate::arithmetic::fixed_point::wide_round(scaled)?);
        Some(())
    }

    pub fn merge(&mut self, other: ExactSum) {
        self.0 += other.0;
    }

    /// The sum of several, rounded once.
    pub fn value_of_all(sums: &[ExactSum]) -> f64 {
        ExactSum(sums.iter().map(|sum| sum.0).sum()).value()
    }

    /// In units of the last digit.
    pub fn to_units(self) -> i128 {
        self.0
    }

    pub fn from_units(units: i128) -> Self {
        ExactSum(units)
    }

    pub fn value(self) -> f64 {
        self.0 as f64 / (1u64 << Self::DIGITS) as f64
    }
}

/// Does something in the policy of a precision, which it knows by a type's name.
macro_rules! in_precision {
    ($precision:expr, |$policy:ident| $work:expr) => {
        match $precision {
            $crate::plan::Precision::Single => {
                type $policy = $crate::engine::precision::Single;
                $work
            }
            $crate::plan::Precision::DoubleSingle => {
                type $policy = $crate::engine::precision::DoubleSingles;
                $work
            }
            $crate::plan::Precision::Double => {
                type $policy = $crate::engine::precision::Double;
                $work
            }
            $crate::plan::Precision::FixedPoint => {
                type $policy = $crate::engine::precision::FixedPoint;
                $work
            }
        }
    };
}
pub(crate) use in_precision;
