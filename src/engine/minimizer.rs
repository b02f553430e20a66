//! Minima of the potential energy below states of a run, for inherent structures.
//!
//! By FIRE ([`crate::integrator::fire`]) on a copy of the state in an engine of its own, always in 64-bit floats:
//! 32-bit pair forces of neighbors at contact err by `1e-5` or so, and no descent on them ends below that. A
//! minimum so depends on the state only, not on the precision, threads or skin of the run; between processor and
//! GPU sums are rounded otherwise, and a descent from a liquid, where small differences grow, may end in another
//! minimum. All particles have the inertia of the lightest, for which the run's time step is made.
use std::sync::Arc;

use super::report::Hardware;
use super::{EngineError, ExactState, cpu, cuda};
use crate::plan::{EngineChoice, InherentStructuresPlan, Plan, Precision};
use crate::system::{SimulationBox, Snapshot, species_of_particles};

/// Furthest move of a particle in an iteration, in units of the smallest sigma.
const FURTHEST: f64 = 0.1;

/// A minimum of the potential energy.
#[derive(Clone, Debug, PartialEq)]
pub struct InherentStructure {
    /// Velocities are zero; images continue from those of the state that it was found from.
    pub snapshot: Snapshot,
    /// Per particle.
    pub energy: f64,
    /// Of the potential energy alone, `virial / (D V)`.
    pub pressure: f64,
    /// The same: `-sum_pairs r_a F_b / V`, tension is positive.
    pub stress: [[f64; 3]; 3],
    /// Modulus of the largest force on a particle: below the tolerance unless the iterations ran out.
    pub residual_force: f64,
    pub iterations: u64,
}

/// Finds the minimum of the potential energy that a configuration belongs to.
pub trait Minimizer: Send {
    /// The minimum below a configuration.
    ///
    /// # Errors
    /// If a number would not fit, or the GPU fails or has no room; [`EngineError::GivenUp`].
    fn minimize(&mut self, snapshot: &Snapshot) -> Result<InherentStructure, EngineError>;

    /// Descents end with an error as soon as this says so.
    fn cancel_when(&mut self, cancel: CancelToken);

    /// The box of the configurations that come.
    ///
    /// # Errors
    /// If the GPU fails or has no room.
    fn set_box(&mut self, simulation_box: SimulationBox) -> Result<(), EngineError>;

    /// What it runs on.
    fn hardware(&self) -> Hardware;
}

/// Whether work that takes long is to be left.
pub type CancelToken = Arc<dyn Fn() -> bool + Send + Sync>;

/// The minimiser of a plan: on the GPU where its engine runs there.
///
/// # Errors
/// If the plan asks for an engine that is not there.
pub fn minimizer(
    plan: &Plan,
    settings: &InherentStructuresPlan,
) -> Result<Box<dyn Minimizer>, EngineError> {
    Ok(match gpu_of(plan)? {
        Some(gpu) => Box::new(cuda::CudaMinimizer::new(plan, settings, gpu)),
        None => Box::new(cpu::CpuMinimizer::new(plan, settings)),
    })
}

/// The GPU that descents of a plan take place on, if they do on one.
pub(in crate::engine) fn gpu_of(plan: &Plan) -> Result<Option<cuda::device::Gpu>, EngineError> {
    Ok(match plan.run.engine {
        EngineChoice::Cuda => Some(cuda::device::gpus()?.swap_remove(0)),
        EngineChoice::Auto => cuda::device::gpus().ok().map(|mut gpus| gpus.swap_remove(0)),
        EngineChoice::Cpu => None,
    })
}

/// What a descent goes by.
pub(in crate::engine) struct Descent {
    /// That of the run, in 64-bit floats.
    pub plan: Plan,
    pub settings: InherentStructuresPlan,
    /// Of all particles.
    pub inertia: f64,
    /// Furthest move of a particle in an iteration.
    pub furthest: f64,
    /// Never, if `None`.
    pub cancel: Option<CancelToken>,
}

impl Descent {
    pub fn new(plan: &Plan, settings: &InherentStructuresPlan) -> Self {
        let mut plan = plan.clone();
        plan.run.precision = Precision::Double;
        plan.run.skin = None;
        plan.run.sort_interval = 1;
        let masses = plan.system.species.iter().map(|species| species.mass);
        Descent {
            inertia: masses.fold(f64::INFINITY, f64::min),
            furthest: FURTHEST * plan.potential.smallest_length(),
            settings: *settings,
            cancel: None,
            plan,
        }
    }

    /// # Errors
    /// [`EngineError::GivenUp`], if it is.
    pub fn go_on(&self) -> Result<(), EngineError> {
        match &self.cancel {
            Some(cancel) if cancel() => Err(EngineError::GivenUp),
            _ => Ok(()),
        }
    }

    /// A configuration without velocities, for an engine.
    ///
    /// # Errors
    /// If a position is NaN.
    pub fn at_rest(&self, snapshot: &Snapshot) -> Result<ExactState, EngineError> {
        let system = &self.plan.system;
        let at_rest = Snapshot {
            velocity: vec![[0.0; 3]; snapshot.position.len()],
            step: snapshot.step,
            position: snapshot.position.clone(),
            fraction: Vec::new(),
            image: snapshot.image.clone(),
            diameter: snapshot.diameter.clone(),
        };
        ExactState::from_snapshot(
            &at_rest,
            species_of_particles(&system.species),
            system.simulation_box,
            self.plan.run.flight(),
            Precision::Double,
            &system.species,
        )
        .map_err(|particle| EngineError::OutOfRange {
            step: snapshot.step,
            quantity: "the position",
            particle: particle as u32,
        })
    }
}
