//! The CPU engine: the default without a GPU, and the oracle for its kernels.
//!
//! Particles lie in memory along a Hilbert curve through the cells, in chunks that are the grain of
//! parallel work; each chunk owns its particles and their full Verlet lists. A step is two parallel
//! passes: kick, drift and displacement check; then (after a rebuild of the lists where a particle has
//! moved by half the skin) forces and the second kick. No sum depends on the number of threads.
mod bodies;
mod chunk;
mod export;
mod faults;
mod forces;
mod gather;
pub(in crate::engine) mod kernels;
mod minimize;
mod neighbors;
mod rank;
mod sums;
mod thermostats;

use std::sync::Arc;

use rayon::prelude::*;

use self::chunk::{CHUNK, Chunk};
use self::forces::Targets;
use self::gather::Sites;
use self::kernels::{InstructionSet, PairKernels, build_list, pair_kernels};
pub use self::minimize::CpuMinimizer;
use self::neighbors::{ListOf, SortedParticles};
pub use self::rank::create_on_rank;
use crate::arithmetic::Real;
use crate::engine::cells::{CellGrid, WHOLE};
use crate::engine::domain::{Domain, Part, Start};
use crate::engine::precision::Policy;
use crate::engine::report::{DeviceReport, EngineReport, Execution, Hardware, ProcessorReport};
use crate::engine::{
    Engine, EngineError, ExactState, MemoryLayout, Pending, PendingSnapshot, PendingState,
    StageContext, Thermodynamics, skin,
};
use crate::integrator::ThermostatState;
use crate::plan::Plan;
use crate::system::{SimulationBox, Snapshot, Species};

/// All particles of a system, or those of a rank's domain, in one precision.
pub struct CpuEngine<P: Policy> {
    /// Its box is the present one.
    plan: Plan,
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
    /// Sites of all particles, in the order of memory; those of ghosts after them.
    sites: Sites<P>,
    /// `None`: the whole system is here.
    domain: Option<Box<Domain>>,
    /// Nanoseconds in steps, and those of them in which it waited for other ranks.
    stepping: [i64; 2],
    /// Steps that were taken again with other lists.
    repeated: u64,

    grid: CellGrid,
    skin: f64,
    /// Squared reach of the lists for each pair of species.
    reach2: Vec<Vec<P::Real>>,
    /// Lists are good while nobody has moved further than this (squared).
    limit2: P::Real,
    sort_interval: u64,
    rebuilds: u64,
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

/// A number of threads; 0: as many as there are cores.
fn threads(count: usize) -> Result<Arc<rayon::ThreadPool>, EngineError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(count)
        .thread_name(|index| format!("cpu-engine-{index}"))
        .build()?;
    Ok(Arc::new(pool))
}

impl<P: Policy> CpuEngine<P> {
    pub fn new(plan: &Plan, state: &ExactState) -> Result<Self, EngineError> {
        let expected = plan.system.particle_count();
        if state.position.len() != expected {
            return Err(EngineError::ParticleCount { found: state.position.len(), expected });
        }
        assert_eq!(state.precision, P::PRECISION, "the state is converted before");
        // A GPU's skin would be slow here.
        let layout = state.memory.as_ref().filter(|memory| memory.threads_per_particle.is_none());
        let skin = plan.run.skin.or(layout.map(|memory| memory.skin));
        let skin = skin.unwrap_or_else(|| skin::on_cpu(plan));
        let start = Start {
            step: state.step,
            simulation_box: state.simulation_box,
            thermostat: state.thermostat.clone(),
        };
        let pool = threads(plan.run.threads.unwrap_or(0))?;
        let mut engine = Self::empty(plan, &start, skin, pool, WHOLE);
        // A layout made with another skin would not give its bits anyway.
        let layout = layout.filter(|memory| memory.skin == skin);
        engine.load(state, layout);
        engine.parallel(|engine| {
            match layout {
                Some(memory) => engine.restore_lists(memory),
                None => engine.rebuild(),
            }
            engine.compute_forces(false, &|_| true)
        })?;
        Ok(engine)
    }

    /// An engine without particles, for a part of the box with these bounds as fractions of the edges.
    fn empty(
        plan: &Plan,
        start: &Start,
        skin: f64,
        pool: Arc<rayon::ThreadPool>,
        bounds: [[f64; 2]; 3],
    ) -> Self {
        let species = plan.system.species.clone();
        let simulation_box = start.simulation_box;
        let policy = P::new(&simulation_box, plan.run.timestep, &species);
        let set = InstructionSet::detect();
        let reach2 = plan
            .potential
            .pairs
            .iter()
            .map(|row| {
                row.iter().map(|pair| P::Real::from_f64((pair.cutoff + skin).powi(2))).collect()
            })
            .collect();
        let kernels = pair_kernels(&policy, &plan.potential, set);
        let particles = plan.system.particle_count();
        let mut plan = plan.clone();
        plan.system.simulation_box = simulation_box;
        CpuEngine {
            grid: CellGrid::new(&simulation_box, plan.reach(skin), particles, bounds),
            policy,
            simulation_box,
            species,
            nominal_timestep: plan.run.timestep,
            seed: plan.system.random_key(),
            pool,
            set,
            kernels,
            step: start.step,
            stage: StageContext::none(start.step),
            thermostat: start.thermostat.clone(),
            chunks: Vec::new(),
            sites: Default::default(),
            domain: None,
            stepping: [0; 2],
            repeated: 0,
            skin,
            reach2,
            limit2: P::Real::from_f64((skin::SHARE * skin).powi(2)),
            sort_interval: u64::from(plan.run.sort_interval.max(1)),
            rebuilds: 0,
            plan,
        }
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
        self.compute_forces(true, &|_| true)?;
        self.thermostat_after_step()
    }

    /// `v += F dt/2m; x += v dt`; returns whether the lists must be rebuilt.
    fn kick_and_drift(&mut self) -> Result<bool, EngineError> {
        let policy = &self.policy;
        let (set, limit2) = (self.set, self.limit2);
        let dimension = self.simulation_box.dimension();
        let (needs_rebuild, runaway) = self
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
        Ok(needs_rebuild)
    }

    /// Forces of all particles in the chunks that are `wanted`, with `kick` followed by `v += F dt/2m`.
    fn compute_forces(
        &mut self,
        kick: bool,
        wanted: &(dyn Fn(&Chunk<P>) -> bool + Sync),
    ) -> Result<(), EngineError> {
        let sites = std::mem::take(&mut self.sites);
        let too_close = self.forces_among(&sites, kick, wanted);
        self.sites = sites;
        if too_close { Err(self.find_too_close()) } else { Ok(()) }
    }

    /// The same with these sites; returns whether a pair was too close for its force to fit.
    fn forces_among(
        &mut self,
        sites: &Sites<P>,
        kick: bool,
        wanted: &(dyn Fn(&Chunk<P>) -> bool + Sync),
    ) -> bool {
        let (policy, pairs) = (&self.policy, &self.kernels);
        let set = self.set;
        let dimension = self.simulation_box.dimension();
        self.chunks
            .par_iter_mut()
            .enumerate()
            .filter(|(_, chunk)| wanted(chunk))
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
            .reduce(|| false, |a, b| a | b)
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
            for i in 0..chunk.len() {
                for axis in 0..3 {
                    chunk.reference[axis][i] = sites[i][axis];
                }
            }
        }
    }

    /// Particles and ghosts.
    fn sorted_particles(&self) -> SortedParticles<P> {
        let (ghost_ids, ghost_species): (&[u32], &[u8]) = match &self.domain {
            Some(domain) => (&domain.ghost_id, &domain.ghost_species),
            None => (&[], &[]),
        };
        let species = self.chunks.iter().flat_map(|chunk| chunk.species.iter().copied());
        let ids = self.chunks.iter().flat_map(|chunk| chunk.id.iter().copied());
        SortedParticles::new(
            &self.policy,
            &self.grid,
            &self.sites,
            species.chain(ghost_species.iter().copied()),
            ids.chain(ghost_ids.iter().copied()),
            self.species.len(),
        )
    }

    fn build_lists(&mut self, sorted: &SortedParticles<P>) {
        let (policy, grid, sites, reach2) = (&self.policy, &self.grid, &self.sites, &self.reach2);
        let set = self.set;
        let (own, alone) = (self.own_count() as u32, self.domain.is_none());
        self.chunks.par_iter_mut().enumerate().for_each(|(index, chunk)| {
            let of = ListOf { first: index * CHUNK, species: &chunk.species, sites };
            build_list(set, &mut chunk.neighbors, &of, policy, grid, sorted, reach2);
            chunk.interior = alone || chunk.neighbors.is_below(own);
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

    /// Particles of the whole system.
    fn particle_count(&self) -> usize {
        self.domain.as_ref().map_or(self.sites.len(), |domain| domain.total)
    }

    fn load(&mut self, state: &ExactState, layout: Option<&MemoryLayout>) {
        let ids: Vec<u32> = match layout {
            Some(memory) => memory.order.clone(),
            None => (0..state.position.len() as u32).collect(),
        };
        self.chunks =
            ids.chunks(CHUNK).flat_map(|ids| Chunk::all_of(&Part::of_state(state, ids))).collect();
        self.update_sites();
    }
}

impl<P: Policy> Engine for CpuEngine<P> {
    fn step(&self) -> u64 {
        self.step
    }

    fn begin_stage(&mut self, stage: &StageContext) -> Result<(), EngineError> {
        self.stage = stage.clone();
        self.stage.prepare(&mut self.thermostat, self.step);
        Ok(())
    }

    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        if self.domain.is_some() {
            return self.advance_multi_rank(steps);
        }
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
            engine.draw_boltzmann_velocities(temperature, exactly, purpose)?;
            engine.verify_now()
        })
    }

    fn scale_velocities(&mut self, factor: f64) -> Result<(), EngineError> {
        self.parallel(|engine| {
            let before = engine.kinetic2()?;
            engine.scale_all(factor)?;
            engine.thermostat.heat += 0.5 * (engine.kinetic2()? - before);
            engine.verify_now()
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

    fn set_box(&mut self, simulation_box: SimulationBox) -> Result<(), EngineError> {
        let state = self.export()?.in_box(simulation_box, &self.species);
        let state = state.map_err(|particle| EngineError::velocity_range(self.step, particle))?;
        let (step, thermostat) = (self.step, self.thermostat.clone());
        let start = Start { step, simulation_box, thermostat };
        let mut engine = Self::empty(&self.plan, &start, self.skin, self.pool.clone(), WHOLE);
        engine.stage = self.stage.clone();
        engine.rebuilds = self.rebuilds;
        engine.load(&state, None);
        engine.parallel(|engine| {
            engine.rebuild();
            engine.compute_forces(false, &|_| true)
        })?;
        *self = engine;
        Ok(())
    }

    fn report(&self) -> EngineReport {
        let entries: usize = self.chunks.iter().map(|chunk| chunk.neighbors.entries()).sum();
        let processor = ProcessorReport {
            processor: processor(),
            threads: self.pool.current_num_threads(),
            instructions: self.set.name(),
        };
        EngineReport {
            hardware: Hardware::of("cpu", DeviceReport::Processor(processor)),
            precision: P::PRECISION,
            execution: Execution {
                skin: self.skin,
                sort_interval: self.sort_interval,
                list_entries_per_particle: entries as f64 / self.own_count().max(1) as f64,
                list_rebuilds: self.rebuilds,
                effective_timestep: self.policy.effective_timestep(),
                steps_repeated: self.domain.is_some().then_some(self.repeated),
                ..Execution::default()
            },
        }
    }
}
