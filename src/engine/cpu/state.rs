//! The particles of an engine: their arrays in chunks, their sites, and the box that they lie in.
use std::sync::Arc;

use rayon::prelude::*;

use super::bodies::Parts;
use super::chunk::{CHUNK, Chunk};
use super::forces::Targets;
use super::gather::{DIAMETER, STRIDE, Sites};
use super::instruction_set::InstructionSet;
use super::kernels;
use super::tilted::TiltedDrift;
use crate::arithmetic::Real;
use crate::engine::EngineError;
use crate::engine::domain::{Part, Start};
use crate::engine::precision::Policy;
use crate::engine::swaps::SwapRound;
use crate::plan::Plan;
use crate::system::{SimulationBox, Species, species_of_particles};

/// Particles in one precision, in the order of memory, and their box.
pub struct State<P: Policy> {
    policy: P,
    simulation_box: SimulationBox,
    timestep: f64,
    species: Vec<Species>,
    /// By id; empty where particles have none.
    diameters: Arc<[f64]>,
    /// Steps since the start of the run.
    pub step: u64,
    /// All are full except the last.
    pub chunks: Vec<Chunk<P>>,
    /// Of all particles; those of ghosts after them.
    pub sites: Sites<P>,
}

impl<P: Policy> State<P> {
    /// Without particles.
    pub fn new(plan: &Plan, start: &Start) -> Self {
        let species = plan.system.species.clone();
        let simulation_box = start.simulation_box;
        State {
            policy: P::new(&simulation_box, plan.run.flight(), &species),
            simulation_box,
            timestep: plan.run.flight(),
            species,
            diameters: start.diameter.as_slice().into(),
            step: start.step,
            chunks: Vec::new(),
            sites: Sites::<P>::default(),
        }
    }

    /// Gives the box another tilt, in which skewed coordinates stay as they are: an affine shear.
    pub fn set_tilt(&mut self, tilt: f64) {
        self.policy.set_tilt(tilt);
        if tilt.abs() <= 0.5 {
            self.simulation_box = self.simulation_box.with_tilt(tilt);
        }
    }

    /// Takes another box, with all numbers of the particles as they are.
    pub fn set_box(&mut self, simulation_box: SimulationBox) {
        self.policy = P::new(&simulation_box, self.timestep, &self.species);
        self.simulation_box = simulation_box;
    }

    /// Numbers of the precision in the box.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    pub fn simulation_box(&self) -> &SimulationBox {
        &self.simulation_box
    }

    pub fn dimension(&self) -> usize {
        self.simulation_box.dimension()
    }

    /// The nominal timestep.
    pub fn timestep(&self) -> f64 {
        self.timestep
    }

    pub fn species(&self) -> &[Species] {
        &self.species
    }

    /// By id; empty where particles have none.
    pub fn diameters(&self) -> &Arc<[f64]> {
        &self.diameters
    }

    /// Takes over what a round of trials has exchanged: diameters, or ids and species where particles have none.
    pub fn take_round(&mut self, round: &SwapRound) {
        if self.diameters.is_empty() {
            let species_of = species_of_particles(&self.species);
            let ids = round.ids_after(species_of.len());
            for chunk in &mut self.chunks {
                for (id, species) in chunk.id.iter_mut().zip(&mut chunk.species) {
                    *id = ids[*id as usize];
                    *species = species_of[*id as usize];
                }
            }
            return;
        }
        self.diameters = round.diameters_after(&self.diameters);
        let ids = self.chunks.iter().flat_map(|chunk| &chunk.id);
        let words: Vec<P::Site> = ids.map(|&id| self.diameter_in_site(id)).collect();
        self.sites.iter_mut().zip(words).for_each(|(site, word)| site[DIAMETER] = word);
    }

    /// The bits of a particle's diameter as they stand in its site.
    pub fn diameter_in_site(&self, id: u32) -> P::Site {
        let diameter = self.diameters.get(id as usize).copied();
        diameter.map_or(P::Site::default(), |diameter| {
            P::site_from_bits(P::Real::from_f64(diameter).to_bits())
        })
    }

    /// Particles here.
    pub fn count(&self) -> usize {
        let full = self.chunks.len().saturating_sub(1) * CHUNK;
        self.chunks.last().map_or(0, |last| full + last.len())
    }

    /// Takes other particles.
    pub fn load(&mut self, chunks: Vec<Chunk<P>>) {
        self.chunks = chunks;
        self.update_sites();
    }

    /// Policy, chunks and sites.
    pub fn split(&mut self) -> (&P, &mut [Chunk<P>], &mut Sites<P>) {
        (&self.policy, &mut self.chunks, &mut self.sites)
    }

    /// Takes the particles at some places of other memory.
    pub fn gather(&mut self, places: &[u32], from: &[Chunk<P>]) {
        self.chunks =
            places.par_chunks(CHUNK).map(|places| Chunk::gathered(places, from)).collect();
        self.update_sites();
    }

    /// Makes the sites of all particles; there are none of ghosts then.
    fn update_sites(&mut self) {
        let mut sites = std::mem::take(&mut self.sites);
        sites.clear();
        for chunk in &self.chunks {
            sites.extend((0..chunk.len()).map(|i| {
                let mut site = [P::Site::default(); STRIDE];
                for axis in 0..3 {
                    site[axis] = self.policy.site(chunk.position[axis][i], axis);
                }
                site[DIAMETER] = self.diameter_in_site(chunk.id[i]);
                site
            }));
        }
        self.sites = sites;
    }

    /// Takes these sites as those that lists are made around.
    pub fn keep_reference(&mut self, sites: &Sites<P>) {
        for (chunk, sites) in self.chunks.iter_mut().zip(sites.chunks(CHUNK)) {
            for i in 0..chunk.len() {
                for axis in 0..3 {
                    chunk.reference[axis][i] = sites[i][axis];
                }
            }
        }
    }

    /// The sites that lists are made around, with diameters.
    pub fn reference(&self) -> Sites<P> {
        let of_chunk =
            |chunk| (0..Chunk::len(chunk)).map(move |i| (chunk.reference_of(i), chunk.id[i]));
        let all = self.chunks.iter().flat_map(of_chunk);
        all.map(|([x, y, z], id)| [x, y, z, self.diameter_in_site(id)]).collect()
    }

    /// Sites of ghosts, which stand after those of the particles, get their diameters.
    pub fn give_diameters_to_ghosts(&self, sites: &mut Sites<P>, ids: &[u32]) {
        let own = self.count();
        for (place, &id) in ids.iter().enumerate() {
            sites[own + place][DIAMETER] = self.diameter_in_site(id);
        }
    }

    /// Moves all particles in a tilted box ([`tilted::drift`](super::tilted::drift)).
    pub fn drift_in_tilted_box(
        &mut self,
        set: InstructionSet,
        drift: &TiltedDrift,
        limit2: P::Real,
    ) -> (bool, bool) {
        let policy = &self.policy;
        self.chunks
            .par_iter_mut()
            .zip(self.sites.par_chunks_mut(CHUNK))
            .map(|(chunk, sites)| {
                kernels::drift_in_tilted_box(set, policy, chunk, drift, sites, limit2)
            })
            .reduce(|| (false, false), |a, b| (a.0 | b.0, a.1 | b.1))
    }

    /// Takes the tilt less `turns` (1 or -1), with the same periodic images: image counts are then those of the new periods.
    pub fn flip(&mut self, turns: i32) {
        let policy = &self.policy;
        self.chunks.par_iter_mut().for_each(|chunk| {
            for i in 0..chunk.len() {
                let (x, y) = (chunk.position[0][i], chunk.position[1][i]);
                let (x, crossed) = policy.flipped(x, y, turns);
                chunk.position[0][i] = x;
                let along_y = chunk.image[1][i].wrapping_mul(turns);
                chunk.image[0][i] = chunk.image[0][i].wrapping_add(crossed).wrapping_add(along_y);
            }
        });
        self.set_tilt(self.policy.slope().tilt - f64::from(turns));
        self.update_sites();
    }

    /// Moves all particles ([`bodies::drift`](super::bodies::drift)); returns whether a particle has moved further than `limit2` (squared),
    /// and whether one ran away.
    pub fn drift(&mut self, set: InstructionSet, parts: Parts, limit2: P::Real) -> (bool, bool) {
        let (policy, dimension) = (&self.policy, self.simulation_box.dimension());
        self.chunks
            .par_iter_mut()
            .zip(self.sites.par_chunks_mut(CHUNK))
            .map(|(chunk, sites)| {
                kernels::drift(set, policy, chunk, parts, sites, dimension, limit2)
            })
            .reduce(|| (false, false), |a, b| (a.0 | b.0, a.1 | b.1))
    }

    /// `v += F dt/2m`.
    pub fn kick(&mut self, set: InstructionSet) {
        let (policy, dimension) = (&self.policy, self.simulation_box.dimension());
        let kick = |chunk| kernels::half_kick(set, policy, chunk, dimension);
        self.chunks.par_iter_mut().for_each(kick);
    }

    /// The first half of a drift.
    pub fn half_drift(&mut self, set: InstructionSet) {
        let (policy, dimension) = (&self.policy, self.simulation_box.dimension());
        let drift = |chunk| kernels::half_drift(set, policy, chunk, dimension);
        self.chunks.par_iter_mut().for_each(drift);
    }

    /// A particle that ran away in the last drift.
    pub fn find_runaway(&self) -> EngineError {
        for chunk in &self.chunks {
            for i in 0..chunk.len() {
                let is_runaway =
                    |axis: usize| self.policy.is_runaway(chunk.velocity[axis][i], axis);
                if (0..self.dimension()).any(is_runaway) {
                    return EngineError::Runaway {
                        step: self.step,
                        particle: chunk.id[i],
                        position: std::array::from_fn(|axis| {
                            self.policy.coordinate_to_f64(chunk.position[axis][i], axis)
                        }),
                        velocity: std::array::from_fn(|axis| {
                            self.policy.velocity_to_f64(chunk.velocity[axis][i], axis)
                        }),
                    };
                }
            }
        }
        unreachable!("a runaway particle was seen")
    }

    /// Changes the velocity of every particle of a chunk; `None` where it does not fit, and then the error is the id of a
    /// particle.
    pub fn change_velocities(
        &mut self,
        change: impl Fn(&mut Chunk<P>, usize) -> Option<()> + Sync,
    ) -> Result<(), u32> {
        self.chunks
            .par_iter_mut()
            .map(|chunk| (0..chunk.len()).try_for_each(|i| change(chunk, i).ok_or(chunk.id[i])))
            .reduce(|| Ok(()), |a, b| a.and(b))
    }

    pub fn negate_velocities(&mut self) {
        for chunk in &mut self.chunks {
            for velocity in chunk.velocity.iter_mut().flatten() {
                *velocity = P::negate(*velocity);
            }
        }
    }

    /// The particles of a chunk, for the pair loops.
    pub fn targets(&self, index: usize) -> Targets<'_, P> {
        let chunk = &self.chunks[index];
        Targets {
            first: index * CHUNK,
            species: &chunk.species,
            neighbors: &chunk.neighbors,
            sites: &self.sites,
        }
    }

    /// The particles, in the order of memory.
    pub fn part(&self) -> Part {
        let mut part = Part::default();
        for chunk in &self.chunks {
            (0..chunk.len()).for_each(|i| chunk.copy_to(i, &mut part));
        }
        part
    }

    /// Forces on them, in the same order.
    pub fn forces(&self) -> Vec<[f64; 3]> {
        let force = |chunk: &Chunk<P>, i: usize| {
            let along = |axis: usize| self.policy.force_to_f64(chunk.force[axis][i], axis);
            std::array::from_fn(along)
        };
        let of_chunk = |chunk| (0..Chunk::len(chunk)).map(move |i| force(chunk, i));
        self.chunks.iter().flat_map(of_chunk).collect()
    }

    /// A number that does not fit.
    pub fn out_of_range(&self, quantity: &'static str, particle: u32) -> EngineError {
        EngineError::OutOfRange { step: self.step, quantity, particle }
    }
}
