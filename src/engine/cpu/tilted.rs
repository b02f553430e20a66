//! The drift of particles in a tilted box, and in one whose tilt grows with a steady flow.
use super::chunk::Chunk;
use super::gather::STRIDE;
use crate::arithmetic::Real;
use crate::engine::precision::Policy;

/// A drift in a tilted box. Tilts are fractions of the edge along x.
#[derive(Clone, Copy, Debug)]
pub struct TiltedDrift {
    pub dimension: usize,
    /// Positions move by half of `v dt`.
    pub half: bool,
    /// In the middle of the drift.
    pub tilt: f64,
    /// Growth of the tilt in half of the drift.
    pub growth: f64,
    /// What rounding has left of the momentum along x, in units of the last digit of velocities.
    pub residue: Residue,
}

/// A number of units that particles share: each has the same, and those of the first ids one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residue {
    sign: i64,
    share: i64,
    rest: u64,
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

    /// That of a particle.
    #[inline(always)]
    pub fn of(&self, id: u32) -> i64 {
        self.sign * (self.share + i64::from(u64::from(id) < self.rest))
    }
}

/// `v_x -= rate v_y dt/2; r += v dt; v_x -= rate v_y dt/2`, where the positions are carried along by the flow `rate y` along
/// x. In the lab a particle flies straight on: that is the exact motion of a drift, for any timestep.
///
/// Returns whether a particle has moved against the flow further than the lists allow since they were built, and whether a
/// velocity has run away. The tilt of the policy is that at the end.
#[inline(always)]
pub fn drift<P: Policy>(
    policy: &P,
    chunk: &mut Chunk<P>,
    drift: &TiltedDrift,
    sites: &mut [[P::Site; STRIDE]],
    limit2: P::Real,
) -> (bool, bool) {
    let count = chunk.len();
    let (mut needs_rebuild, mut runaway) = (false, false);
    let slowed = |vx: P::Velocity, vy: P::Velocity, id: u32| {
        let slowed = policy.skewed_velocity(vx, vy, drift.growth);
        P::subtract_units(slowed, drift.residue.of(id))
    };
    for i in 0..count {
        let mut velocity: [P::Velocity; 3] = std::array::from_fn(|axis| chunk.velocity[axis][i]);
        for axis in 0..drift.dimension {
            runaway |= policy.is_runaway(velocity[axis], axis);
        }
        if drift.growth != 0.0 {
            velocity[0] = slowed(velocity[0], velocity[1], chunk.id[i]);
        }
        let mut moving = velocity;
        moving[0] = policy.skewed_velocity(velocity[0], velocity[1], drift.tilt);
        if drift.growth != 0.0 {
            velocity[0] = slowed(velocity[0], velocity[1], chunk.id[i]);
            chunk.velocity[0][i] = velocity[0];
        }
        let mut moved = [P::Real::ZERO; 3];
        for axis in 0..drift.dimension {
            let v = if drift.half { P::halved(moving[axis]) } else { moving[axis] };
            let (x, crossed) = policy.drift(chunk.position[axis][i], v, axis);
            chunk.position[axis][i] = x;
            chunk.image[axis][i] = chunk.image[axis][i].wrapping_add(crossed);
            sites[i][axis] = policy.site(x, axis);
            moved[axis] = policy.displacement(sites[i][axis], chunk.reference[axis][i], axis);
        }
        let moved = policy.straightened(moved);
        let [x, y, z] = std::array::from_fn(|axis| policy.length(moved[axis], axis));
        chunk.moved2[i] = x.fused(x, y.fused(y, z * z));
        needs_rebuild |= !(chunk.moved2[i] <= limit2);
    }
    (needs_rebuild, runaway)
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
