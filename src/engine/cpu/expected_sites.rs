//! Sites that neighbor lists are made around: not those of the moment, but where particles are expected in the middle of the lists' life.
//!
//! Lists that reach `r_c + skin` hold all pairs within `r_c` as long as no particle is farther than `skin / 2` from the site that they were
//! made around. A particle with velocity `v` that starts at `-v h` from that site passes it and has twice as far to go until it is too far
//! away. So lists live longer, or can be shorter. `h` is somewhat less than half of the life of the lists before. On a GPU it is the same:
//! `kernels/md/expected_sites.cuh`.
use rayon::prelude::*;

use super::chunk::{CHUNK, Chunk};
use super::engine::CpuEngine;
use super::gather::{STRIDE, Sites};
use super::state::State;
use super::stepper::Stepper;
use crate::arithmetic::Real;
use crate::engine::outlook::steps_ahead;
use crate::engine::precision::Policy;

/// Of the displacement by acceleration at that time, as what counts are all times of the lists' life.
const SHARE_OF_FORCE: f64 = 1.35;
/// Of the displacement that lists allow: lists are good from the start.
const MOST_OF_LIMIT: f64 = 0.9;

/// How far lists look ahead.
#[derive(Clone, Copy, Debug)]
pub struct Outlook {
    /// In steps of the present velocities; zero: lists are made around present sites.
    steps: f64,
}

impl Outlook {
    /// Lists are made around present sites.
    pub const NONE: Self = Outlook { steps: 0.0 };

    /// After lists that have lived for `life` steps, where friction leaves the share `damping` of a velocity in each step.
    pub fn after(life: u64, damping: f64) -> Self {
        Outlook { steps: steps_ahead(life, damping) }
    }

    /// In steps of the present velocities.
    pub fn steps(&self) -> f64 {
        self.steps
    }
}

impl<P: Policy, S: Stepper> CpuEngine<P, S> {
    /// How far lists look ahead that are made in the present step. In a flow coordinates move with it: there sites are taken as they
    /// are.
    pub(super) fn outlook(&self) -> Outlook {
        if self.is_tilted() {
            return Outlook::NONE;
        }
        let timestep = self.plan.run.timestep;
        let thermostat = self.stage.thermostat;
        let damping = thermostat.and_then(|thermostat| thermostat.kind.damping(timestep));
        self.neighbor_lists.outlook(self.state.step, damping.unwrap_or(1.0))
    }
}

/// Sites at which particles are expected by their velocities and the forces of the pass before, no farther from the present ones than lists
/// with this limit of displacements allow.
pub fn expected_sites<P: Policy>(state: &State<P>, outlook: Outlook, limit: f64) -> Sites<P> {
    let mut sites = state.sites.clone();
    if outlook.steps > 0.0 {
        let look = Look { policy: state.policy(), dimension: state.dimension(), outlook, limit };
        let of_chunks = state.chunks.par_iter().zip(sites.par_chunks_mut(CHUNK));
        of_chunks.for_each(|(chunk, sites)| {
            sites.iter_mut().enumerate().for_each(|(i, site)| look.ahead(chunk, i, site));
        });
    }
    sites
}

struct Look<'a, P> {
    policy: &'a P,
    dimension: usize,
    outlook: Outlook,
    limit: f64,
}

impl<P: Policy> Look<'_, P> {
    /// Moves the site of a particle to where it is expected.
    fn ahead(&self, chunk: &Chunk<P>, i: usize, site: &mut [P::Site; STRIDE]) {
        let way = self.way(chunk, i);
        let length = way.iter().map(|along| along * along).sum::<f64>().sqrt();
        let most = MOST_OF_LIMIT * self.limit;
        let factor = if length > most { most / length } else { 1.0 };
        let present = *site;
        for axis in 0..self.dimension {
            let from = self.policy.coordinate_to_f64(chunk.position[axis][i], axis);
            let (to, _) = self.policy.coordinate_from_f64(from + factor * way[axis], axis);
            site[axis] = self.policy.site(to, axis);
        }
        // Not beyond the limit by rounding, and no NaN.
        if !(self.distance2(site, &present) <= self.limit * self.limit) {
            *site = present;
        }
    }

    /// `h v dt + 1.35 h^2 F dt^2 / 2m`, with `h` the steps ahead.
    fn way(&self, chunk: &Chunk<P>, i: usize) -> [f64; 3] {
        let (policy, steps) = (self.policy, self.outlook.steps);
        let species = usize::from(chunk.species[i]);
        let mut way = [0.0; 3];
        for (axis, way) in way.iter_mut().enumerate().take(self.dimension) {
            let (velocity, force) = (chunk.velocity[axis][i], chunk.force[axis][i]);
            let before = policy.velocity_to_f64(velocity, axis);
            let kicked = policy.half_kick(velocity, force, species);
            let by_kick = policy.velocity_to_f64(kicked, axis) - before;
            *way =
                steps * policy.effective_timestep() * (before + SHARE_OF_FORCE * steps * by_kick);
        }
        way
    }

    fn distance2(&self, a: &[P::Site; STRIDE], b: &[P::Site; STRIDE]) -> f64 {
        let along = |axis: usize| {
            let displacement = self.policy.displacement(a[axis], b[axis], axis);
            self.policy.length(displacement, axis).to_f64()
        };
        (0..self.dimension).map(|axis| along(axis).powi(2)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::engine::precision::FixedPoint;
    use crate::engine::thermostats::{begin_step, end_step};
    use crate::{config, initial};

    // Some sites of the lattice are empty: forces around them are not zero.
    const TEXT: &str = r#"
[system]
dimension = 3
density = 0.8
seed = 3
species = [{ name = "A", count = 450, mass = 2.0 }]
initial = { lattice = "fcc", temperature = 2.0 }

[potential]
kind = "lennard-jones"
cutoff = 2.5
truncation = "shifted"
pairs = { AA = { epsilon = 1.0, sigma = 1.0 } }

[run]
engine = "cpu"
precision = "fixed-point"
timestep = 0.004
skin = 0.3

[[stage]]
name = "production"
steps = 1
"#;

    fn engine() -> CpuEngine<FixedPoint> {
        let plan = config::parse(TEXT, "test").unwrap();
        let state = initial::create(&plan).unwrap();
        let mut engine = CpuEngine::new(&plan, &state).unwrap();
        engine.draw_velocities(2.0, true).unwrap();
        engine
    }

    /// Ways from present to expected sites, in the order of memory.
    fn ways(state: &State<FixedPoint>, steps: f64, limit: f64) -> Vec<[f64; 3]> {
        let expected = expected_sites(state, Outlook { steps }, limit);
        let way = |(to, from): (&[i32; STRIDE], &[i32; STRIDE])| {
            std::array::from_fn(|axis| {
                let policy = state.policy();
                let displacement = policy.displacement(to[axis], from[axis], axis);
                f64::from(policy.length(displacement, axis))
            })
        };
        expected.iter().zip(&state.sites).map(way).collect()
    }

    /// To the rounding of sites (2e-9) and of displacements of 32 bits (2e-8 of 0.3).
    #[test]
    fn particles_are_expected_where_a_constant_force_leads_them() {
        let engine = engine();
        let state = &engine.state;
        let (steps, mut largest) = (7.0, 0.0f64);
        let time = steps * state.policy().effective_timestep();
        let velocities = state.part().velocity;
        let ways = ways(state, steps, 10.0);
        for ((way, force), velocity) in ways.iter().zip(state.forces()).zip(velocities) {
            for axis in 0..3 {
                let bits = FixedPoint::velocity_from_bits(velocity[axis]);
                let velocity = state.policy().velocity_to_f64(bits, axis);
                let by_force = 1.35 * force[axis] / (2.0 * 2.0) * time * time;
                assert!((way[axis] - velocity * time - by_force).abs() < 5e-8);
                largest = largest.max(by_force.abs());
            }
        }
        assert!(largest > 1e-4, "{largest}");
    }

    #[test]
    fn no_particle_is_expected_farther_than_lists_allow() {
        let engine = engine();
        for way in ways(&engine.state, 1000.0, 0.15) {
            let length = way.iter().map(|along| along * along).sum::<f64>().sqrt();
            assert!((length - 0.135).abs() < 1e-6, "{length}");
        }
        assert!(ways(&engine.state, 0.0, 0.15).iter().flatten().all(|&along| along == 0.0));
    }

    #[test]
    fn lists_live_longer_and_bits_are_the_same() {
        let run = |looks_ahead: bool| {
            let mut engine = engine();
            for _ in 0..150 {
                match (begin_step(&mut engine).unwrap(), looks_ahead) {
                    (true, true) => engine.rebuild_in_step(),
                    (true, false) => engine.rebuild(),
                    (false, _) => {}
                }
                engine.compute_forces(true, &|_| true).unwrap();
                end_step(&mut engine).unwrap();
            }
            (engine.export().unwrap().hash(), engine.neighbor_lists.rebuilds())
        };
        let [(before, many), (ahead, few)] = [false, true].map(run);
        assert_eq!(before, ahead);
        assert!(many >= 10 && 5 * few <= 4 * many, "{few} of {many} buildings");
    }
}
