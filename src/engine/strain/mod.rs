//! Athermal quasi-static strain: systems whose steps are steps of strain.
//!
//! A step changes the edges of the box or its tilt and takes all particles along, at the same fractions of its periods, and then brings them to
//! the minimum of the potential energy by FIRE, in 64-bit floats ([`crate::engine::minimizer`]). Strains are whole multiples of
//! a step and boxes are functions of the strain alone, so that they have the same bits whenever a strain is met again.
//!
//! A *plastic event* is a step after which `u' - u < V s de / N - threshold`, `u` being the energy per particle and `s` the
//! stress of the strain ([`StrainMode::stress`](crate::plan::StrainMode::stress)) before it. On request such a step is taken back
//! and halved, until the event lies in a part that is short enough; the rest of the step is then taken at once.
//!
//! A descent ends within its tolerance of the minimum, not at the same bits from both sides. So the minima since the last event
//! are kept while a turn is still to come. At a strain that is met again, the kept minimum takes the place of the one that
//! was found, if both have met the tolerance and no particle is further from its place than a thousandth of the smallest sigma;
//! else the branch is another one, and is forgotten. They take [`KEPT_BYTES`] of memory at most: beyond, those farthest in strain are forgotten.
mod branch;
mod minimum;
mod system;

use std::sync::{Mutex, PoisonError};

use self::minimum::Minimum;
use self::system::{Protocol, System};
use super::minimizer::{minimizers, on_gpus};
use super::report::{EngineReport, Execution, Hardware};
use super::{
    CancelToken, Correlator, EngineError, Ensemble, ExactState, Minimizer, Pending,
    PendingSnapshot, PendingState, StageContext, Thermodynamics, Workers, is_on_cpu, minimizer,
};
use crate::plan::{EngineChoice, Plan, Precision};

/// Of minima that are kept for the way back, in all systems together.
pub const KEPT_BYTES: usize = 1 << 30;
/// Of a particle in such a minimum.
const BYTES_OF_PARTICLE: usize = 36;
/// Threads whose descents take turns on a GPU: while one is there, the others prepare and read theirs.
const ON_A_GPU: usize = 4;

/// A point of the curve of a system.
#[derive(Clone, Debug, PartialEq)]
pub struct StrainPoint {
    /// Of the run.
    pub step: u64,
    pub strain: f64,
    /// Per particle.
    pub energy: f64,
    /// Without kinetic part, as the stress: tension is positive.
    pub pressure: f64,
    pub stress: [[f64; 3]; 3],
    /// Largest force on a particle.
    pub residual_force: f64,
    /// Of all descents of the step.
    pub iterations: u64,
    /// Largest displacement of a particle that is not that of the box, less the mean of all, in a descent of the step.
    pub largest_displacement: f64,
}

/// A plastic event.
#[derive(Clone, Debug, PartialEq)]
pub struct StrainEvent {
    pub system: usize,
    /// Of the run, at whose end it has happened.
    pub step: u64,
    /// Before and after it.
    pub strain: [f64; 2],
    /// Energy per particle by which it comes out below `V s de / N`.
    pub energy_drop: f64,
    /// Of the stress of the strain, in the direction of the strain.
    pub stress_drop: f64,
    /// `(sum d^2)^2 / (N sum d^4)` of the displacements `d` that are not those of the box, less their mean.
    pub participation_ratio: f64,
    /// Largest of these displacements.
    pub largest_displacement: f64,
}

/// What a strain stage has found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strained {
    /// By step, of each system.
    pub points: Vec<Vec<StrainPoint>>,
    /// By step and system.
    pub events: Vec<StrainEvent>,
}

/// What a checkpoint remembers of each system, by name.
pub type StrainMemory = Vec<Vec<(String, Vec<f64>)>>;

/// The systems of a strain stage.
pub struct StrainedSystems {
    protocol: Protocol,
    systems: Vec<System>,
    workers: Workers,
    /// Those that no worker has.
    minimizers: Mutex<Vec<Box<dyn Minimizer>>>,
    hardware: Hardware,
    /// Of the run, at the start of the stage.
    first_step: u64,
    /// Since then.
    step: u64,
    steps: u64,
    found: Strained,
}

impl StrainedSystems {
    /// Brings these states to minima without strain, or goes on from the `memory` of a checkpoint. `plan`: as the stage begins
    /// ([`Plan::at_stage`]).
    ///
    /// # Errors
    /// If a descent is given up, there is no GPU for it, or the memory is not of these systems.
    ///
    /// # Panics
    /// If the stage is not one of strain.
    pub fn new(
        plan: &Plan,
        stage: usize,
        mut states: Vec<ExactState>,
        memory: Option<&StrainMemory>,
        cancel: Option<&CancelToken>,
    ) -> Result<Self, EngineError> {
        let of_stage = &plan.stages[stage];
        let strain = of_stage.strain.clone().expect("a stage of strain");
        let mut plan_of_descents = plan.clone();
        let may_tilt = strain.may_tilt(&plan.system.simulation_box);
        if plan.run.precision == Precision::FixedPoint || !on_gpus(may_tilt) {
            // As at the start of a stage: the same bits whatever engine the run has.
            plan_of_descents.run.engine = EngineChoice::Cpu;
        }
        let on_cpu = is_on_cpu(plan_of_descents.run.engine);
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if on_cpu { plan.run.threads.unwrap_or_else(cores) } else { ON_A_GPU };
        let threads = threads.min(states.len());
        let mut all = match states.len() {
            1 => vec![minimizer(&plan_of_descents, &strain.descent)?],
            _ => minimizers(&plan_of_descents, &strain.descent, threads)?,
        };
        if let Some(cancel) = cancel {
            all.iter_mut().for_each(|minimizer| minimizer.cancel_when(cancel.clone()));
        }
        let workers = if states.len() == 1 { Workers::none() } else { Workers::new(threads)? };
        let mut hardware = all[0].hardware();
        if states.len() > 1 {
            hardware.set_threads(threads);
        }
        let step = states[0].step;
        let first_step = plan.first_step(stage);
        let most = KEPT_BYTES / (BYTES_OF_PARTICLE * plan.system.particle_count() * states.len());
        let protocol = Protocol { plan: plan.clone(), strain, stage: of_stage.name.clone() };
        let minimizers = Mutex::new(all);
        let create = |number: usize, state: &mut ExactState| match memory {
            None => with_one(&minimizers, |minimizer| {
                let (system, point) = System::start(&protocol, state, minimizer, most)?;
                Ok((system, Some(point)))
            }),
            Some(memory) => {
                let arrays = memory.get(number).map_or(&[][..], Vec::as_slice);
                let system = System::restored(&protocol, state, arrays, most);
                system.map(|system| (system, None)).ok_or(EngineError::StrainMemory)
            }
        };
        let created = workers.share(&mut states, create).into_iter().enumerate();
        let created: Vec<_> = created
            .map(|(number, system)| system.map_err(|error| of_system(error, number, states.len())))
            .collect::<Result<_, _>>()?;
        let (systems, points): (Vec<_>, Vec<_>) = created.into_iter().unzip();
        let points: Option<Vec<StrainPoint>> = points.into_iter().collect();
        Ok(StrainedSystems {
            steps: plan.stages[stage].steps,
            protocol,
            systems,
            workers,
            minimizers,
            hardware,
            first_step,
            step: step - first_step,
            found: Strained { points: points.into_iter().collect(), events: Vec::new() },
        })
    }

    fn run_step(&self) -> u64 {
        self.first_step + self.step
    }

    fn minimum(&self, system: usize) -> &Minimum {
        &self.systems[system].present
    }
}

/// Has something done with a minimiser that nobody else has. A minimum does not depend on which one it is.
fn with_one<T>(
    minimizers: &Mutex<Vec<Box<dyn Minimizer>>>,
    work: impl FnOnce(&mut dyn Minimizer) -> T,
) -> T {
    let free = || minimizers.lock().unwrap_or_else(PoisonError::into_inner);
    let mut minimizer = free().pop().expect("there is one for each worker");
    let done = work(minimizer.as_mut());
    free().push(minimizer);
    done
}

/// An error of a system, which says of which one where there are many.
fn of_system(error: EngineError, number: usize, systems: usize) -> EngineError {
    match error {
        EngineError::GivenUp => EngineError::GivenUp,
        error if systems == 1 => error,
        error => error.of_system(number),
    }
}

impl Ensemble for StrainedSystems {
    fn systems(&self) -> usize {
        self.systems.len()
    }

    fn step(&self) -> u64 {
        self.run_step()
    }

    fn begin_stage(&mut self, _stages: &[StageContext]) -> Result<(), EngineError> {
        Ok(())
    }

    /// Steps of strain.
    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        let (first, run_step) = (self.step, self.run_step());
        let (protocol, minimizers) = (&self.protocol, &self.minimizers);
        let advance = |_: usize, system: &mut System| {
            with_one(minimizers, |minimizer| -> Result<Vec<_>, EngineError> {
                let step =
                    |step| system.advance(protocol, minimizer, (first + step, run_step + step));
                (1..=steps).map(step).collect()
            })
        };
        let systems = self.systems.len();
        let done = self.workers.share(&mut self.systems, advance).into_iter().enumerate();
        let done: Vec<_> = done
            .map(|(number, of)| of.map_err(|error| of_system(error, number, systems)))
            .collect::<Result<_, _>>()?;
        let mut of_systems: Vec<_> = done.into_iter().map(Vec::into_iter).collect();
        for _ in 0..steps {
            let mut points = Vec::with_capacity(systems);
            for (number, of_system) in of_systems.iter_mut().enumerate() {
                let (point, events) = of_system.next().expect("as many as steps");
                points.push(point);
                let of_number = |event| StrainEvent { system: number, ..event };
                self.found.events.extend(events.into_iter().map(of_number));
            }
            self.found.points.push(points);
        }
        self.step += steps;
        Ok(())
    }

    fn thermodynamics(&mut self) -> Result<Vec<Thermodynamics>, EngineError> {
        let step = self.run_step();
        let of = |system: &System| {
            let Minimum { energy, pressure, stress, ref position, .. } = *system.present;
            let simulation_box = system.simulation_box();
            let count = position.len() as f64;
            let dimension = simulation_box.dimension() as f64;
            Thermodynamics {
                step,
                potential_energy: energy,
                kinetic_energy: 0.0,
                temperature: 0.0,
                half_step_temperature: 0.0,
                pressure,
                virial: dimension * pressure * simulation_box.volume() / count,
                stress,
                center_of_mass_velocity: [0.0; 3],
                conserved_energy: energy,
                swap_trials: 0,
                swaps: 0,
                simulation_box,
                particles: position.len(),
                volume_trials: 0,
                volume_changes: 0,
            }
        };
        Ok(self.systems.iter().map(of).collect())
    }

    fn begin_snapshots(&mut self) -> Result<Vec<PendingSnapshot>, EngineError> {
        let step = self.run_step();
        Ok(self.systems.iter().map(|system| Pending::ready(system.snapshot(step))).collect())
    }

    fn begin_exports(&mut self) -> Result<Vec<PendingState>, EngineError> {
        (0..self.systems.len()).map(|system| Ok(Pending::ready(self.export(system)?))).collect()
    }

    /// In 64-bit floats, from which the next step goes on; after the last one in the precision of the run.
    fn export(&self, system: usize) -> Result<ExactState, EngineError> {
        let plan = &self.protocol.plan;
        let ended = self.step == self.steps;
        let precision = if ended { plan.run.precision } else { Precision::Double };
        let step = self.run_step();
        let snapshot = self.systems[system].snapshot(step);
        self.minimum(system)
            .state(&snapshot, plan, precision)
            .map_err(|particle| EngineError::velocity_range(step, particle))
    }

    /// There are none.
    fn draw_velocities(&mut self, _temperatures: &[Option<f64>]) -> Result<(), EngineError> {
        Ok(())
    }

    fn scale_velocities(&mut self, _factors: &[f64]) -> Result<(), EngineError> {
        Ok(())
    }

    fn correlator(&mut self) -> Option<&mut dyn Correlator> {
        None
    }

    fn report(&self) -> EngineReport {
        let hardware = self.hardware.clone();
        EngineReport { hardware, precision: Precision::Double, execution: Execution::default() }
    }

    fn strained(&mut self) -> Strained {
        std::mem::take(&mut self.found)
    }

    fn strain_memory(&self) -> Option<StrainMemory> {
        Some(self.systems.iter().map(System::memory).collect())
    }
}
