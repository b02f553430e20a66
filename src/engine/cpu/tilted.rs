//! The drift of particles in a tilted box, and in one whose tilt grows with a steady flow.
use super::chunk::Chunk;
use super::gather::STRIDE;
use crate::arithmetic::Real;
use crate::engine::precision::Policy;
use crate::engine::residue::Residue;

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
