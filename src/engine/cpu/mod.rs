//! The CPU engine: the default without a GPU, and the oracle for its kernels.
//!
//! Particles lie in memory along a Hilbert curve through the cells, in chunks that are the grain of
//! parallel work; each chunk owns its particles and their full Verlet lists. A step is two parallel
//! passes: kick, drift and displacement check; then (after a rebuild of the lists where a particle has
//! moved by half the skin) forces and the second kick. No sum depends on the number of threads.
mod bodies;
pub(in crate::engine) mod cells;
mod chunk;
mod export;
mod forces;
mod gather;
pub(in crate::engine) mod kernels;
mod minimize;
mod neighbors;
mod thermostats;

use std::sync::Arc;

use rayon::prelude::*;

use self::cells::CellGrid;
use self::chunk::{CHUNK, Chunk};
use self::forces::Targets;
use self::gather::Sites;
use self::kernels::{InstructionSet, PairKernels, build_list, pair_kernels};
pub use self::minimize::CpuMinimizer;
use self::neighbors::{ListOf, SortedParticles};
use crate::arithmetic::Real;
use crate::engine::precision::{ExactSum, Policy};
use crate::engine::{
    Engine, EngineError, ExactState, MemoryLayout, Pending, PendingSnapshot, PendingState,
    StageContext, Thermodynamics,
};
use crate::integrator::ThermostatState;
use crate::plan::Plan;
use crate::system::{SimulationBox, Snapshot, Species};

/// All particles of a system in one precision.
pub struct CpuEngine<P: Policy> {
    policy: P,
    simulation_box: SimulationBox,
    species: Vec<Species>,
    nominal_timestep: f64,
    seed: u64,
    pool: Arc<rayon::ThreadPool>,
    set: InstructionSet,
    kernels: Box<dyn PairKernels<P>>,

    step: u64,
    stage: StageContext,
    thermostat: ThermostatState,
    chunks: Vec<Chunk<P>>,
    /// Sites of all particles, in the order of memory.
    sites: Sites<P>,

    grid: CellGrid,
    skin: f64,
    /// Squared reach of the lists for each pair of species.
    reach2: Vec<Vec<P::Real>>,
    /// Lists are good while nobody has moved further than this (squared).
    limit2: P::Real,
    sort_interval: u64,
    rebuilds: u64,
}

/// Half the skin less what rounding of distances may take.
pub(in crate::engine) const SKIN_SHARE: f64 = 0.5 * (1.0 - 1e-3);

/// Skin that is taken where the plan gives none: a share of the largest cutoff.
fn default_skin(cutoff: f64) -> f64 {
    (0.17 * cutoff).clamp(0.15, 0.6)
}

/// The widest instructions of this processor that the loops are compiled for.
pub fn instruction_set() -> &'static str {
    InstructionSet::detect().name()
}

/// The processor's name as the system gives it, else its architecture.
pub fn processor() -> String {
    let model = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    model.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

impl<P: Policy> CpuEngine<P> {
    pub fn new(plan: &Plan, state: &ExactState) -> Result<Self, EngineError> {
        let species = plan.system.species.clone();
        let expected = plan.system.particle_count();
        if state.position.len() != expected {
            return Err(EngineError::ParticleCount { found: state.position.len(), expected });
        }
        assert_eq!(state.precision, P::PRECISION, "the state is converted before");
        let simulation_box = state.simulation_box;
        let policy = P::new(&simulation_box, plan.run.timestep, &species);
        let set = InstructionSet::detect();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(plan.run.threads.unwrap_or(0))
            .thread_name(|index| format!("cpu-engine-{index}"))
            .build()?;
        let pool = Arc::new(pool);
        // A GPU's skin would be slow here.
        let layout = state.memory.as_ref().filter(|memory| memory.threads_per_particle.is_none());
        let cutoff = plan.potential.largest_cutoff();
        let skin =
            plan.run.skin.or(layout.map(|memory| memory.skin)).unwrap_or(default_skin(cutoff));
        let reach2 = plan
            .potential
            .pairs
            .iter()
            .map(|row| {
                row.iter().map(|pair| P::Real::from_f64((pair.cutoff + skin).powi(2))).collect()
            })
            .collect();
        let kernels = pair_kernels(&policy, &plan.potential, set);
        let mut engine = CpuEngine {
            grid: CellGrid::new(&simulation_box, cutoff + skin, expected),
            policy,
            simulation_box,
            species,
            nominal_timestep: plan.run.timestep,
            seed: plan.system.seed,
            pool,
            set,
            kernels,
            step: state.step,
            stage: StageContext::none(state.step),
            thermostat: state.thermostat.clone(),
            chunks: Vec::new(),
            sites: Default::default(),
            skin,
            reach2,
            limit2: P::Real::from_f64((SKIN_SHARE * skin).powi(2)),
            sort_interval: u64::from(plan.run.sort_interval.max(1)),
            rebuilds: 0,
        };
        // A layout made with another skin would not give its bits anyway.
        engine.load(state, layout.filter(|memory| memory.skin == skin));
        engine.parallel(|engine| {
            match layout.filter(|memory| memory.skin == skin) {
                Some(memory) => engine.restore_lists(memory),
                None => engine.rebuild(),
            }
            engine.compute_forces(false)
        })?;
        Ok(engine)
    }

    /// Runs work on this engine's threads.
    fn parallel<T: Send>(&mut self, work: impl FnOnce(&mut Self) -> T + Send) -> T {
        let pool = Arc::clone(&self.pool);
        pool.install(|| work(self))
    }

    fn step_once(&mut self) -> Result<(), EngineError> {
        self.thermostat_before_step()?;
        self.step += 1;
        if self.kick_and_drift()? {
            self.rebuild();
        }
        self.compute_forces(true)?;
        self.thermostat_after_step()
    }

    /// `v += F dt/2m; x += v dt`; returns whether the lists must be rebuilt.
    fn kick_and_drift(&mut self) -> Result<bool, EngineError> {
        let policy = &self.policy;
        let (set, limit2) = (self.set, self.limit2);
        let dimension = self.simulation_box.dimension();
        let (stale, runaway) = self
            .chunks
            .par_iter_mut()
            .zip(self.sites.par_chunks_mut(CHUNK))
            .map(|(chunk, sites)| {
                kernels::kick_and_drift(set, policy, chunk, sites, dimension, limit2)
            })
            .reduce(|| (false, false), |a, b| (a.0 | b.0, a.1 | b.1));
        if runaway {
            return Err(self.find_runaway());
        }
        Ok(stale)
    }

    /// Forces of all particles, with `kick` followed by `v += F dt/2m`.
    fn compute_forces(&mut self, kick: bool) -> Result<(), EngineError> {
        let (policy, pairs, sites) = (&self.policy, &self.kernels, &self.sites);
        let set = self.set;
        let dimension = self.simulation_box.dimension();
        let too_close = self
            .chunks
            .par_iter_mut()
            .enumerate()
            .map(|(index, chunk)| {
                let targets = Targets {
                    first: index * CHUNK,
                    species: &chunk.species,
                    neighbors: &chunk.neighbors,
                    sites,
                };
                let too_close = pairs.forces(policy, &targets, &mut chunk.force);
                if kick {
                    kernels::half_kick(set, policy, chunk, dimension);
                }
                too_close
            })
            .reduce(|| false, |a, b| a | b);
        if too_close { Err(self.find_too_close()) } else { Ok(()) }
    }

    fn targets(&self, index: usize) -> Targets<'_, P> {
        let chunk = &self.chunks[index];
        Targets {
            first: index * CHUNK,
            species: &chunk.species,
            neighbors: &chunk.neighbors,
            sites: &self.sites,
        }
    }

    /// Sorts particles in memory where it is due, and builds the lists anew.
    fn rebuild(&mut self) {
        let mut sorted = self.sorted_particles();
        if self.rebuilds.is_multiple_of(self.sort_interval) {
            let old = std::mem::take(&mut self.chunks);
            self.chunks = sorted
                .place
                .par_chunks(CHUNK)
                .map(|places| Chunk::gathered(places, &old))
                .collect();
            self.update_sites();
            for (place, source) in sorted.place.iter_mut().enumerate() {
                *source = place as u32;
            }
        }
        self.rebuilds += 1;
        self.keep_reference();
        self.build_lists(&sorted);
    }

    /// The lists of a checkpoint: made from the positions at their last building.
    fn restore_lists(&mut self, memory: &MemoryLayout) {
        let present = self.sites.clone();
        for (site, &[x, y, z]) in self.sites.iter_mut().zip(&memory.reference) {
            *site = [x, y, z, 0].map(P::site_from_bits);
        }
        self.keep_reference();
        let sorted = self.sorted_particles();
        self.build_lists(&sorted);
        self.sites = present;
        self.rebuilds = memory.rebuilds;
    }

    /// Takes the present sites as those that the lists are made from.
    fn keep_reference(&mut self) {
        for (chunk, sites) in self.chunks.iter_mut().zip(self.sites.chunks(CHUNK)) {
            for (i, site) in sites.iter().enumerate() {
                for axis in 0..3 {
                    chunk.reference[axis][i] = site[axis];
                }
            }
        }
    }

    fn sorted_particles(&self) -> SortedParticles<P> {
        SortedParticles::new(
            &self.policy,
            &self.grid,
            &self.sites,
            self.chunks.iter().flat_map(|chunk| chunk.species.iter().copied()),
            self.chunks.iter().flat_map(|chunk| chunk.id.iter().copied()),
            self.species.len(),
        )
    }

    fn build_lists(&mut self, sorted: &SortedParticles<P>) {
        let (policy, grid, sites, reach2) = (&self.policy, &self.grid, &self.sites, &self.reach2);
        let set = self.set;
        self.chunks.par_iter_mut().enumerate().for_each(|(index, chunk)| {
            let of = ListOf { first: index * CHUNK, species: &chunk.species, sites };
            build_list(set, &mut chunk.neighbors, &of, policy, grid, sorted, reach2);
        });
    }

    fn update_sites(&mut self) {
        self.sites.clear();
        for chunk in &self.chunks {
            self.sites.extend((0..chunk.len()).map(|i| {
                let mut site = [P::Site::default(); gather::STRIDE];
                for axis in 0..3 {
                    site[axis] = self.policy.site(chunk.position[axis][i], axis);
                }
                site
            }));
        }
    }

    /// Sums over all particles of `m v_a v_b` for ab = xx, yy, zz, xy, xz, yz.
    fn kinetic_tensor(&self) -> Result<[f64; 6], EngineError> {
        let masses: Vec<f64> = self.species.iter().map(|species| species.mass).collect();
        let dimension = self.simulation_box.dimension();
        let sums = self
            .chunks
            .par_iter()
            .map(|chunk| bodies::kinetic_tensor(&self.policy, chunk, &masses, dimension))
            .reduce(
                || Ok([ExactSum::default(); 6]),
                |a, b| {
                    let (mut a, b) = (a?, b?);
                    for (a, b) in a.iter_mut().zip(b) {
                        a.merge(b);
                    }
                    Ok(a)
                },
            )
            .map_err(|particle| self.out_of_range("the kinetic energy", particle))?;
        Ok(sums.map(ExactSum::value))
    }

    /// Twice the kinetic energy of the whole system.
    fn kinetic2(&self) -> Result<f64, EngineError> {
        let tensor = self.kinetic_tensor()?;
        Ok(tensor[0] + tensor[1] + tensor[2])
    }

    /// Potential energy of the whole system and virial `sum_pairs r_a F_b` in the same order.
    fn energy_and_virial(&self) -> Result<[f64; 7], EngineError> {
        let sums = (0..self.chunks.len())
            .into_par_iter()
            .map(|index| {
                let mut sums = [ExactSum::default(); 7];
                let particles = self.kernels.energies(&self.policy, &self.targets(index));
                for (local, particle) in particles.iter().enumerate() {
                    for (sum, term) in sums.iter_mut().zip(particle) {
                        sum.add(*term).ok_or(self.chunks[index].id[local])?;
                    }
                }
                Ok(sums)
            })
            .reduce(
                || Ok([ExactSum::default(); 7]),
                |a, b| {
                    let (mut a, b) = (a?, b?);
                    for (a, b) in a.iter_mut().zip(b) {
                        a.merge(b);
                    }
                    Ok(a)
                },
            )
            .map_err(|particle| self.out_of_range("the potential energy", particle))?;
        // Each pair was counted with both of its particles.
        Ok(sums.map(|sum| 0.5 * sum.value()))
    }

    fn degrees_of_freedom(&self) -> u64 {
        self.stage.degrees_of_freedom(self.simulation_box.dimension(), self.particle_count())
    }

    fn particle_count(&self) -> usize {
        self.sites.len()
    }

    fn out_of_range(&self, quantity: &'static str, particle: u32) -> EngineError {
        EngineError::OutOfRange { step: self.step, quantity, particle }
    }

    fn find_runaway(&self) -> EngineError {
        let dimension = self.simulation_box.dimension();
        for chunk in &self.chunks {
            for i in 0..chunk.len() {
                if (0..dimension).any(|axis| self.policy.is_runaway(chunk.velocity[axis][i], axis))
                {
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

    fn find_too_close(&self) -> EngineError {
        let id = |place: usize| self.chunks[place / CHUNK].id[place % CHUNK];
        for index in 0..self.chunks.len() {
            let found = self.kernels.find_too_close(&self.policy, &self.targets(index));
            if let Some((first, second, distance)) = found {
                return EngineError::TooClose {
                    step: self.step,
                    first: id(first).min(id(second)),
                    second: id(first).max(id(second)),
                    distance,
                    precision: P::PRECISION.name(),
                };
            }
        }
        unreachable!("a pair too close was seen")
    }

    fn load(&mut self, state: &ExactState, layout: Option<&MemoryLayout>) {
        let ids: Vec<u32> = match layout {
            Some(memory) => memory.order.clone(),
            None => (0..state.position.len() as u32).collect(),
        };
        self.chunks = ids
            .chunks(CHUNK)
            .map(|ids| {
                let mut chunk = Chunk::<P>::with_len(ids.len());
                for (i, &id) in ids.iter().enumerate() {
                    let from = id as usize;
                    chunk.id[i] = id;
                    chunk.species[i] = state.species_of[from];
                    for axis in 0..3 {
                        chunk.position[axis][i] =
                            P::coordinate_from_bits(state.position[from][axis]);
                        chunk.image[axis][i] = state.image[from][axis];
                        chunk.velocity[axis][i] = P::velocity_from_bits(state.velocity[from][axis]);
                    }
                }
                chunk
            })
            .collect();
        self.update_sites();
    }
}

impl<P: Policy> Engine for CpuEngine<P> {
    fn step(&self) -> u64 {
        self.step
    }

    fn begin_stage(&mut self, stage: &StageContext) {
        self.stage = stage.clone();
        self.stage.prepare(&mut self.thermostat, self.step);
    }

    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        self.parallel(|engine| {
            for _ in 0..steps {
                engine.step_once()?;
            }
            Ok(())
        })
    }

    fn thermodynamics(&mut self) -> Result<Thermodynamics, EngineError> {
        self.parallel(|engine| engine.measure())
    }

    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        Ok(self.copied().snapshot())
    }

    fn begin_snapshot(&mut self) -> Result<PendingSnapshot, EngineError> {
        let copied = self.copied();
        Ok(Pending::new(move || Ok(copied.snapshot())))
    }

    fn begin_export(&mut self) -> Result<PendingState, EngineError> {
        let (copied, layout) = (self.copied(), self.copied_layout());
        Ok(Pending::new(move || Ok(copied.state(&layout))))
    }

    fn forces(&self) -> Result<Vec<[f64; 3]>, EngineError> {
        Ok(self.forces_by_id())
    }

    fn export(&self) -> Result<ExactState, EngineError> {
        Ok(self.copied().state(&self.copied_layout()))
    }

    fn draw_velocities(&mut self, temperature: f64, exactly: bool) -> Result<(), EngineError> {
        self.parallel(|engine| {
            let purpose = crate::arithmetic::random::Purpose::InitialVelocity;
            engine.draw_boltzmann_velocities(temperature, exactly, purpose)
        })
    }

    fn scale_velocities(&mut self, factor: f64) -> Result<(), EngineError> {
        self.parallel(|engine| {
            let before = engine.kinetic2()?;
            engine.scale_all(factor)?;
            engine.thermostat.heat += 0.5 * (engine.kinetic2()? - before);
            Ok(())
        })
    }

    fn reverse_velocities(&mut self) -> Result<(), EngineError> {
        for chunk in &mut self.chunks {
            for velocity in chunk.velocity.iter_mut().flatten() {
                *velocity = P::negate(*velocity);
            }
        }
        Ok(())
    }

    fn report(&self) -> serde_json::Value {
        let entries: usize = self.chunks.iter().map(|chunk| chunk.neighbors.entries()).sum();
        serde_json::json!({
            "engine": "cpu",
            "precision": P::PRECISION.name(),
            "threads": self.pool.current_num_threads(),
            "instructions": self.set.name(),
            "skin": self.skin,
            "sort_interval": self.sort_interval,
            "list_entries_per_particle": entries as f64 / self.particle_count() as f64,
            "list_rebuilds": self.rebuilds,
            "effective_timestep": self.policy.effective_timestep(),
        })
    }

    fn hardware(&self) -> serde_json::Value {
        serde_json::json!({
            "engine": "cpu",
            "processor": processor(),
            "threads": self.pool.current_num_threads(),
            "instructions": self.set.name(),
        })
    }
}
