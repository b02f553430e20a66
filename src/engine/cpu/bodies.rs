//! What happens to each particle by itself: kicks, drift and its share of sums.
//!
//! The functions of every step are compiled for each instruction set by [`super::kernels`].
use super::chunk::{CHUNK, Chunk};
use super::gather::{DIAMETER, STRIDE};
use crate::arithmetic::Real;
use crate::arithmetic::random::{Purpose, normals3_f32};
use crate::engine::precision::{ExactSum, Policy};
use crate::integrator::langevin::OrnsteinUhlenbeck;

/// What [`drift`] does.
#[derive(Clone, Copy)]
pub struct Parts {
    pub kick: bool,
    pub second_half: bool,
}

/// `v += F dt/2m` if it is to `kick`; `x += v dt` (by half of that, if only the second half is left), and sites from the new
/// positions. Returns whether a particle has moved
/// further than the lists allow since they were built, and whether a velocity has run away.
#[inline(always)]
pub fn drift<P: Policy>(
    policy: &P,
    chunk: &mut Chunk<P>,
    Parts { kick, second_half }: Parts,
    sites: &mut [[P::Site; STRIDE]],
    dimension: usize,
    limit2: P::Real,
) -> (bool, bool) {
    let count = chunk.len();
    if kick {
        half_kick(policy, chunk, dimension);
    }
    let mut runaway = false;
    let mut components = [[P::Site::default(); CHUNK]; 3];
    for (axis, component) in components.iter_mut().enumerate().take(dimension) {
        let velocity = &chunk.velocity[axis][..count];
        let position = &mut chunk.position[axis][..count];
        let image = &mut chunk.image[axis][..count];
        let reference = &chunk.reference[axis][..count];
        let moved = &mut chunk.moved2[..count];
        let component = &mut component[..count];
        for i in 0..count {
            runaway |= policy.is_runaway(velocity[i], axis);
            let v = if second_half { P::halved(velocity[i]) } else { velocity[i] };
            let (x, crossed) = policy.drift(position[i], v, axis);
            position[i] = x;
            image[i] = image[i].wrapping_add(crossed);
            component[i] = policy.site(x, axis);
            let displacement = policy.displacement(component[i], reference[i], axis);
            let length = policy.length(displacement, axis);
            moved[i] = length.fused(length, if axis == 0 { P::Real::ZERO } else { moved[i] });
        }
    }
    let [x, y, z] = &components;
    for (i, site) in sites[..count].iter_mut().enumerate() {
        *site = [x[i], y[i], z[i], site[DIAMETER]];
    }
    let mut needs_rebuild = false;
    for &moved2 in &chunk.moved2 {
        needs_rebuild |= !(moved2 <= limit2);
    }
    (needs_rebuild, runaway)
}

/// The first half of a drift.
#[inline(always)]
pub fn half_drift<P: Policy>(policy: &P, chunk: &mut Chunk<P>, dimension: usize) {
    let count = chunk.len();
    for axis in 0..dimension {
        let velocity = &chunk.velocity[axis][..count];
        let position = &mut chunk.position[axis][..count];
        let image = &mut chunk.image[axis][..count];
        for i in 0..count {
            let (x, crossed) = policy.drift(position[i], P::halved(velocity[i]), axis);
            position[i] = x;
            image[i] = image[i].wrapping_add(crossed);
        }
    }
}

/// `v += F dt/2m`.
#[inline(always)]
pub fn half_kick<P: Policy>(policy: &P, chunk: &mut Chunk<P>, dimension: usize) {
    let count = chunk.len();
    let species = &chunk.species[..count];
    for axis in 0..dimension {
        let velocity = &mut chunk.velocity[axis][..count];
        let force = &chunk.force[axis][..count];
        for i in 0..count {
            velocity[i] = policy.half_kick(velocity[i], force[i], species[i] as usize);
        }
    }
}

/// `v *= factor; v += F dt/2m`; the kinetic energy that the factor adds after the kick, or the id of a particle with a
/// number that cannot be held.
#[inline(always)]
pub fn scale_and_kick<P: Policy>(
    policy: &P,
    chunk: &mut Chunk<P>,
    factor: f64,
    masses: &[f64],
    dimension: usize,
) -> Result<ExactSum, u32> {
    let mut heat = ExactSum::default();
    for i in 0..chunk.len() {
        let (id, species) = (chunk.id[i], chunk.species[i] as usize);
        for axis in 0..dimension {
            let (velocity, force) = (chunk.velocity[axis][i], chunk.force[axis][i]);
            let scaled = P::scale(velocity, factor).ok_or(id)?;
            let [without, with] =
                [velocity, scaled].map(|velocity| policy.half_kick(velocity, force, species));
            let [before, after] =
                [without, with].map(|velocity| policy.velocity_to_f64(velocity, axis));
            chunk.velocity[axis][i] = with;
            heat.add(0.5 * masses[species] * (after * after - before * before)).ok_or(id)?;
        }
    }
    Ok(heat)
}

/// A step of friction and noise on a chunk.
pub struct Langevin<'a> {
    pub of: &'a OrnsteinUhlenbeck,
    pub masses: &'a [f64],
    pub seed: u64,
    pub step: u64,
}

/// `v -> damping v + noise m^(-1/2) xi`; the heat given to the particles, or the id of one whose
/// velocity cannot be held.
#[inline(always)]
pub fn langevin<P: Policy>(
    policy: &P,
    chunk: &mut Chunk<P>,
    step: &Langevin,
    dimension: usize,
) -> Result<ExactSum, u32> {
    let mut heat = ExactSum::default();
    for i in 0..chunk.len() {
        let id = chunk.id[i];
        let mass = step.masses[chunk.species[i] as usize];
        let noise = step.of.noise * (1.0 / mass.sqrt());
        let normal = normals3_f32(step.seed, id, step.step, Purpose::Langevin);
        for axis in 0..dimension {
            let old = policy.velocity_to_f64(chunk.velocity[axis][i], axis);
            let new = step.of.damping * old + noise * f64::from(normal[axis]);
            chunk.velocity[axis][i] = policy.velocity_from_f64(new, axis).ok_or(id)?;
            heat.add(0.5 * mass * (new * new - old * old)).ok_or(id)?;
        }
    }
    Ok(heat)
}

/// Sums of `m v_a v_b` for ab = xx, yy, zz, xy, xz, yz; the id of a particle whose term does not fit.
pub fn kinetic_tensor<P: Policy>(
    policy: &P,
    chunk: &Chunk<P>,
    masses: &[f64],
    dimension: usize,
) -> Result<[ExactSum; 6], u32> {
    let mut sums = [ExactSum::default(); 6];
    for i in 0..chunk.len() {
        let mass = masses[chunk.species[i] as usize];
        let v = velocity(policy, chunk, i, dimension);
        let terms = [v[0] * v[0], v[1] * v[1], v[2] * v[2], v[0] * v[1], v[0] * v[2], v[1] * v[2]];
        for (sum, term) in sums.iter_mut().zip(terms) {
            sum.add(mass * term).ok_or(chunk.id[i])?;
        }
    }
    Ok(sums)
}

/// Velocity in reduced units.
pub fn velocity<P: Policy>(policy: &P, chunk: &Chunk<P>, i: usize, dimension: usize) -> [f64; 3] {
    let mut v = [0.0; 3];
    for (axis, v) in v.iter_mut().enumerate().take(dimension) {
        *v = policy.velocity_to_f64(chunk.velocity[axis][i], axis);
    }
    v
}
