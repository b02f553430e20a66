//! The interface of engines.
use super::{
    Correlator, DeviceArray, EngineError, EngineReport, ExactState, ParticleQuantity,
    PendingSnapshot, PendingState, StageContext, Thermodynamics,
};
use crate::system::{SimulationBox, Snapshot};

/// Holds all particles of a system and moves them.
pub trait Engine: Send {
    /// Steps since the start of the run.
    fn step(&self) -> u64;

    /// Sets thermostat and ramp for the coming steps. Forgets what an earlier thermostat remembered
    /// unless the stage is entered in its middle (after a restart).
    ///
    /// # Errors
    /// When an engine that times its choices cannot put back the state; it is then no longer to be trusted.
    fn begin_stage(&mut self, stage: &StageContext) -> Result<(), EngineError>;

    /// Takes `steps` steps.
    ///
    /// # Errors
    /// When a number would not fit or is none; the state is then no longer to be trusted.
    fn advance(&mut self, steps: u64) -> Result<(), EngineError>;

    /// Energies, pressure and so on of the present state.
    fn thermodynamics(&mut self) -> Result<Thermodynamics, EngineError>;

    /// All particles as 64-bit floats, in id order.
    ///
    /// # Errors
    /// If the GPU is lost.
    fn snapshot(&self) -> Result<Snapshot, EngineError>;

    /// Begins to copy all particles out, as they are now; the engine can continue before they are there.
    ///
    /// # Errors
    /// If the GPU is lost, or the host has no memory for the copy.
    fn begin_snapshot(&mut self) -> Result<PendingSnapshot, EngineError>;

    /// The same for the state.
    ///
    /// # Errors
    /// As [`begin_snapshot`](Self::begin_snapshot).
    fn begin_export(&mut self) -> Result<PendingState, EngineError>;

    /// Forces in reduced units, in id order.
    ///
    /// # Errors
    /// If the GPU is lost.
    fn forces(&self) -> Result<Vec<[f64; 3]>, EngineError>;

    /// A quantity of all particles as it is now, in memory of a GPU where it stays; `None` where the engine has no GPU, or several
    /// for one system. Waits until it is there. The bits are those of [`snapshot`](Self::snapshot) and [`forces`](Self::forces).
    ///
    /// # Errors
    /// If the GPU is lost, or has no memory for it.
    fn device_array(
        &self,
        _quantity: ParticleQuantity,
    ) -> Result<Option<DeviceArray>, EngineError> {
        Ok(None)
    }

    /// The state to the bit.
    ///
    /// # Errors
    /// If the GPU is lost.
    fn export(&self) -> Result<ExactState, EngineError>;

    /// Draws Maxwell-Boltzmann velocities with zero total momentum; `exactly` scales them to the
    /// temperature.
    fn draw_velocities(&mut self, temperature: f64, exactly: bool) -> Result<(), EngineError>;

    /// Multiplies all velocities.
    fn scale_velocities(&mut self, factor: f64) -> Result<(), EngineError>;

    /// Turns all velocities round: in fixed point the trajectory then runs back.
    fn reverse_velocities(&mut self) -> Result<(), EngineError>;

    /// The present box.
    fn simulation_box(&self) -> SimulationBox;

    /// Gives the box other edges. Every particle keeps its place as a fraction of them, and its velocity; neighbor lists and
    /// forces are made anew. The step, the stage and what its thermostat remembers stay.
    ///
    /// # Errors
    /// If a velocity does not fit its precision in the new box, or there is no memory. In a box without room for the cutoff
    /// (twice, along each edge) forces would be wrong: the caller sees to that.
    fn set_box(&mut self, simulation_box: SimulationBox) -> Result<(), EngineError>;

    /// Evaluates time correlations by itself, if it can.
    fn correlator(&mut self) -> Option<&mut dyn Correlator> {
        None
    }

    /// The machine, and how the steps are carried out.
    fn report(&self) -> EngineReport;
}
