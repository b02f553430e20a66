//! Minima of the potential energy ([`crate::engine::minimizer`]) with the pair loop of the engine.
//!
//! Sums are made chunk by chunk in the order of memory: the same bits with any number of threads.
use rayon::prelude::*;

use super::chunk::{CHUNK, Chunk};
use super::engine::CpuEngine;
use super::processor::Processor;
use crate::engine::minimizer::{CancelToken, Descent, InherentStructure, Minimizer};
use crate::engine::precision::{Double, Policy};
use crate::engine::report::{DeviceReport, Hardware};
use crate::engine::thermodynamics::symmetric;
use crate::engine::{EngineError, ExactState, skin};
use crate::integrator::fire::{Fire, Iteration};
use crate::plan::{InherentStructuresPlan, Plan};
use crate::system::{SimulationBox, Snapshot};

/// A minimiser on the processor.
pub struct CpuMinimizer {
    descent: Descent,
    /// `None`: those of the plan, until they are there.
    processor: Option<Processor>,
    /// Made for the first configuration in a box.
    engine: Option<CpuEngine<Double>>,
}

/// Sums over particles.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// `F . v`.
    power: f64,
    force2: f64,
    velocity2: f64,
    largest_force2: f64,
}

impl CpuMinimizer {
    pub fn new(plan: &Plan, settings: &InherentStructuresPlan) -> Self {
        CpuMinimizer { descent: Descent::new(plan, settings), processor: None, engine: None }
    }

    /// On the threads of whoever calls it.
    pub fn of_caller(plan: &Plan, settings: &InherentStructuresPlan) -> Self {
        let processor = Some(Processor::of_caller());
        CpuMinimizer { processor, ..CpuMinimizer::new(plan, settings) }
    }
}

impl Minimizer for CpuMinimizer {
    fn minimize(&mut self, snapshot: &Snapshot) -> Result<InherentStructure, EngineError> {
        let state = self.descent.at_rest(snapshot)?;
        let engine = match &mut self.engine {
            Some(engine) => {
                engine.start_again(&state)?;
                engine
            }
            empty => {
                let mut plan = self.descent.plan.clone();
                plan.run.skin = Some(skin::around_present_sites(&plan));
                let processor = match &self.processor {
                    Some(processor) => processor.clone(),
                    None => Processor::new(plan.run.threads.unwrap_or(0))?,
                };
                self.processor = Some(processor.clone());
                empty.insert(CpuEngine::on(processor, &plan, &state)?)
            }
        };
        let descent = &self.descent;
        engine.parallel(|engine| {
            let (residual_force, iterations) = engine.descend(descent)?;
            let [energy, virial @ ..] = engine.energy_and_virial()?;
            let [xx, yy, zz, ..] = virial;
            let energy = energy / engine.particle_count() as f64;
            let simulation_box = &descent.plan.system.simulation_box;
            let (dimension, volume) = (simulation_box.dimension() as f64, simulation_box.volume());
            let pressure = (xx + yy + zz) / (dimension * volume);
            let stress = symmetric(virial.map(|sum| -sum / volume));
            let mut snapshot = engine.copied().snapshot();
            snapshot.velocity.fill([0.0; 3]);
            Ok(InherentStructure { snapshot, energy, pressure, stress, residual_force, iterations })
        })
    }

    fn set_box(&mut self, simulation_box: SimulationBox) -> Result<(), EngineError> {
        if self.descent.plan.system.simulation_box != simulation_box {
            self.descent.plan.system.simulation_box = simulation_box;
            self.engine = None;
        }
        Ok(())
    }

    fn hardware(&self) -> Hardware {
        let threads = self.descent.plan.run.threads.unwrap_or_else(rayon::current_num_threads);
        let processor = self.processor.clone().unwrap_or_else(Processor::of_caller);
        let mut hardware = Hardware::of("cpu", DeviceReport::Processor(processor.report()));
        hardware.set_threads(threads);
        hardware
    }

    fn cancel_when(&mut self, cancel: CancelToken) {
        self.descent.cancel = Some(cancel);
    }
}

impl CpuEngine<Double> {
    /// Takes another state, as if this engine were made for it.
    fn start_again(&mut self, state: &ExactState) -> Result<(), EngineError> {
        self.state.step = state.step;
        self.neighbor_lists.set_rebuilds(0);
        self.load(state, None);
        self.parallel(|engine| {
            engine.rebuild();
            engine.compute_forces(false, &|_| true)
        })
    }

    /// Moves to a minimum; the largest force that is left, and the iterations that it took.
    fn descend(&mut self, descent: &Descent) -> Result<(f64, u64), EngineError> {
        let settings = &descent.settings;
        let mut fire = Fire::new(settings.timestep);
        let mut moved_for = 0.0;
        for iterations in 0.. {
            let sums = self.fire_sums();
            if !sums.force2.is_finite() {
                return Err(self.state.out_of_range("the force", self.particle_without_force()));
            }
            let residual = sums.largest_force2.sqrt();
            if residual < settings.force_tolerance || iterations == settings.maximum_iterations {
                return Ok((residual, iterations));
            }
            descent.go_on()?;
            let iteration = fire.next(sums.power);
            if iteration.turn_back {
                self.move_for(-0.5 * moved_for);
            }
            let fastest = self.accelerate(&iteration, &sums, descent.inertia);
            moved_for = iteration.timestep.min(descent.furthest / fastest);
            if self.move_for(moved_for) {
                self.rebuild();
            }
            self.compute_forces(false, &|_| true)?;
        }
        unreachable!("the iterations are limited")
    }

    fn fire_sums(&self) -> Sums {
        let dimension = self.state.dimension();
        let of_chunks: Vec<Sums> =
            self.state.chunks.par_iter().map(|chunk| Sums::of(chunk, dimension)).collect();
        let mut all = Sums::default();
        for sums in of_chunks {
            all.power += sums.power;
            all.force2 += sums.force2;
            all.velocity2 += sums.velocity2;
            all.largest_force2 = all.largest_force2.max(sums.largest_force2);
        }
        all
    }

    /// `v += F dt / m`, mixed with forces; returns the largest speed.
    fn accelerate(&mut self, iteration: &Iteration, sums: &Sums, inertia: f64) -> f64 {
        let kick = iteration.timestep / inertia;
        let keep = 1.0 - iteration.mixing;
        let turn = iteration.mixing * (sums.velocity2 / sums.force2).sqrt();
        let dimension = self.state.dimension();
        let fastest2 = self
            .state
            .chunks
            .par_iter_mut()
            .map(|chunk| {
                let mut speed2 = vec![0.0f64; chunk.len()];
                for axis in 0..dimension {
                    let velocity = &mut chunk.velocity[axis];
                    for ((v, &f), speed2) in
                        velocity.iter_mut().zip(&chunk.force[axis]).zip(&mut speed2)
                    {
                        let before = if iteration.turn_back { 0.0 } else { *v };
                        *v = keep * (before + kick * f) + turn * f;
                        *speed2 += *v * *v;
                    }
                }
                speed2.into_iter().fold(0.0, f64::max)
            })
            .reduce(|| 0.0, f64::max);
        fastest2.sqrt()
    }

    /// `x += v t`; whether the lists must be rebuilt.
    fn move_for(&mut self, time: f64) -> bool {
        let (dimension, limit2) = (self.state.dimension(), self.neighbor_lists.limit2());
        let slope = self.state.simulation_box().slope();
        let (policy, chunks, sites) = self.state.split();
        chunks
            .par_iter_mut()
            .zip(sites.par_chunks_mut(CHUNK))
            .map(|(chunk, sites)| {
                let mut needs_rebuild = false;
                for (i, site) in sites.iter_mut().enumerate() {
                    let mut moved = [0.0; 3];
                    let mut velocity: [f64; 3] =
                        std::array::from_fn(|axis| chunk.velocity[axis][i]);
                    velocity[0] -= slope * velocity[1];
                    for axis in 0..dimension {
                        let to = chunk.position[axis][i] + time * velocity[axis];
                        let (x, crossed) = policy.coordinate_from_f64(to, axis);
                        chunk.position[axis][i] = x;
                        chunk.image[axis][i] += crossed;
                        site[axis] = policy.site(x, axis);
                        moved[axis] = policy.displacement(x, chunk.reference[axis][i], axis);
                    }
                    let [x, y, z] = policy.straightened(moved);
                    needs_rebuild |= x * x + y * y + z * z > limit2;
                }
                needs_rebuild
            })
            .reduce(|| false, |a, b| a | b)
    }

    /// Id of a particle whose force is NaN.
    fn particle_without_force(&self) -> u32 {
        let wild = |chunk: &Chunk<Double>, i: usize| {
            !(0..3).map(|axis| chunk.force[axis][i].powi(2)).sum::<f64>().is_finite()
        };
        let find =
            |chunk: &Chunk<Double>| (0..chunk.len()).find(|&i| wild(chunk, i)).map(|i| chunk.id[i]);
        self.state.chunks.iter().find_map(find).unwrap_or(0)
    }
}

impl Sums {
    fn of(chunk: &Chunk<Double>, dimension: usize) -> Self {
        let mut sums = Sums::default();
        for i in 0..chunk.len() {
            let mut force2 = 0.0;
            for axis in 0..dimension {
                let (force, velocity) = (chunk.force[axis][i], chunk.velocity[axis][i]);
                force2 += force * force;
                sums.power += force * velocity;
                sums.velocity2 += velocity * velocity;
            }
            sums.force2 += force2;
            sums.largest_force2 = sums.largest_force2.max(force2);
        }
        sums
    }
}
