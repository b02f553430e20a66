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
mod course;
mod minimum;
mod system;

use self::course::Course;
use self::minimum::Minimum;
use self::system::{Protocol, System};
use super::minimizers::of_system;
use super::report::{EngineReport, Execution};
use super::{
    CancelToken, Correlator, Descents, EngineError, Ensemble, ExactState, Minimizers, Pending,
    PendingSnapshot, PendingState, StageContext, Thermodynamics, minima, minimizers,
};
use crate::plan::{EngineChoice, Plan, Precision};
use crate::system::Snapshot;

/// Of minima that are kept for the way back, in all systems together.
pub const KEPT_BYTES: usize = 1 << 30;
/// Of a particle in such a minimum.
const BYTES_OF_PARTICLE: usize = 36;

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
    minimizers: Box<dyn Minimizers>,
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
        states: Vec<ExactState>,
        memory: Option<&StrainMemory>,
        cancel: Option<&CancelToken>,
    ) -> Result<Self, EngineError> {
        let of_stage = &plan.stages[stage];
        let strain = of_stage.strain.clone().expect("a stage of strain");
        let mut plan_of_descents = plan.clone();
        if plan.run.precision == Precision::FixedPoint {
            // As at the start of a stage: the same bits whatever engine the run has.
            plan_of_descents.run.engine = EngineChoice::Cpu;
        }
        let mut minimizers = minimizers(&plan_of_descents, &strain.descent, states.len())?;
        if let Some(cancel) = cancel {
            minimizers.cancel_when(cancel.clone());
        }
        let step = states[0].step;
        let first_step = plan.first_step(stage);
        let most = KEPT_BYTES / (BYTES_OF_PARTICLE * plan.system.particle_count() * states.len());
        let protocol = Protocol { plan: plan.clone(), strain, stage: of_stage.name.clone() };
        let (systems, points) = match memory {
            None => started(&protocol, &states, minimizers.as_mut(), most)?,
            Some(memory) => (restored(&protocol, &states, memory, most)?, Vec::new()),
        };
        Ok(StrainedSystems {
            steps: plan.stages[stage].steps,
            protocol,
            systems,
            minimizers,
            first_step,
            step: step - first_step,
            found: Strained { points, events: Vec::new() },
        })
    }

    fn run_step(&self) -> u64 {
        self.first_step + self.step
    }

    fn minimum(&self, system: usize) -> &Minimum {
        &self.systems[system].present
    }
}

/// Systems in the minima below these states, and their points without strain.
fn started(
    protocol: &Protocol,
    states: &[ExactState],
    minimizers: &mut dyn Minimizers,
    most: usize,
) -> Result<(Vec<System>, Vec<Vec<StrainPoint>>), EngineError> {
    let system = &protocol.plan.system;
    let snapshot = |state: &ExactState| state.to_snapshot(&system.species);
    let snapshots: Vec<Snapshot> = states.iter().map(snapshot).collect();
    let starts: Vec<&Snapshot> = snapshots.iter().collect();
    let found = minima(minimizers, system.simulation_box, &starts)?;
    let started = snapshots.iter().zip(found);
    let started = started.map(|(start, found)| System::start(protocol, start, found, most));
    let (systems, points) = started.unzip();
    Ok((systems, vec![points]))
}

/// Systems as a checkpoint knows them.
fn restored(
    protocol: &Protocol,
    states: &[ExactState],
    memory: &StrainMemory,
    most: usize,
) -> Result<Vec<System>, EngineError> {
    let restored = states.iter().enumerate().map(|(number, state)| {
        let arrays = memory.get(number).map_or(&[][..], Vec::as_slice);
        System::restored(protocol, state, arrays, most)
            .ok_or_else(|| of_system(EngineError::StrainMemory, number, states.len()))
    });
    restored.collect()
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
        let (before, protocol) = ((self.step, self.run_step()), &self.protocol);
        let course = |system| Course::new(protocol, system, before, steps);
        let mut courses: Vec<Course> = self.systems.iter_mut().map(course).collect();
        let mut descents: Vec<&mut dyn Descents> =
            courses.iter_mut().map(|course| course as &mut dyn Descents).collect();
        self.minimizers.descend(&mut descents)?;
        let mut of_systems: Vec<_> =
            courses.into_iter().map(|course| course.into_ended().into_iter()).collect();
        for _ in 0..steps {
            let mut points = Vec::with_capacity(of_systems.len());
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
        let hardware = self.minimizers.hardware();
        EngineReport { hardware, precision: Precision::Double, execution: Execution::default() }
    }

    fn strained(&mut self) -> Strained {
        std::mem::take(&mut self.found)
    }

    fn strain_memory(&self) -> Option<StrainMemory> {
        Some(self.systems.iter().map(System::memory).collect())
    }
}
