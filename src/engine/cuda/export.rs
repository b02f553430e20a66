//! The state out of the GPU's memory, in id order, and errors about particles.
use super::buffers::status;
use super::constants::DevicePolicy;
use super::engine::CudaEngine;
use super::measure::{ParticleRows, rows};
use super::memory::Buffer;
use super::raw_state::RawSnapshot;
use super::stepper::Stepper;
use super::transfer::{Copied, Piece, aligned_size};
use crate::engine::{
    DeviceArray, EngineError, ExactState, ParticleQuantity, Pending, PendingSnapshot, PendingState,
};
use crate::system::Snapshot;

impl<P: DevicePolicy, S: Stepper> CudaEngine<P, S> {
    fn raw_snapshot(&self) -> RawSnapshot<P> {
        let shape = self.neighbor_list.shape();
        RawSnapshot {
            policy: self.state.policy().clone(),
            element_sizes: self.state.element_sizes(),
            simulation_box: *self.state.simulation_box(),
            timestep: self.state.timestep(),
            step: self.state.step,
            count: self.particle_count(),
            thermostat: self.thermostat.clone(),
            skin: shape.skin,
            threads_per_particle: 1 << shape.lanes_log2,
            rebuilds: self.state.control.rebuilds,
            lists_made_in: self.state.control.lists_made_in,
            lists_made_at: self.state.control.lists_made_at,
            has_diameters: self.state.diameters().is_some(),
        }
    }

    /// The arrays that a state or a snapshot is made of (see [`RawSnapshot::lengths`]).
    fn pieces(&self, raw_snapshot: &RawSnapshot<P>, of_state: bool) -> Vec<Piece<'_>> {
        let particles = self.state.particles();
        let axes = particles.position.iter().chain(&particles.velocity).chain(&particles.image);
        let reference = self.neighbor_list.reference();
        let others = [&particles.species, reference];
        let buffers = axes.chain([&particles.id]).chain(self.state.diameters()).chain(others);
        let piece = |(buffer, bytes)| Piece { buffer, bytes };
        buffers.zip(raw_snapshot.lengths(of_state)).map(piece).collect()
    }

    /// Has the arrays copied out. `finish` makes of the bytes what is wanted.
    fn begin_copy<T: Send + 'static>(
        &self,
        of_state: bool,
        finish: fn(&RawSnapshot<P>, &[u8]) -> T,
    ) -> Result<Pending<T>, EngineError> {
        let raw_snapshot = self.raw_snapshot();
        let most = raw_snapshot.lengths(true).into_iter().map(aligned_size).sum();
        let copied = self.state.begin_copy(&self.pieces(&raw_snapshot, of_state), most)?;
        Ok(Pending::new(move || Ok(finish(&raw_snapshot, copied.bytes()?))))
    }

    /// Copies the arrays out and waits for them.
    fn copy<T>(
        &self,
        of_state: bool,
        finish: fn(&RawSnapshot<P>, &[u8]) -> T,
    ) -> Result<T, EngineError> {
        let raw_snapshot = self.raw_snapshot();
        let copied = Copied::at_once(&self.pieces(&raw_snapshot, of_state))?;
        Ok(finish(&raw_snapshot, copied.bytes()?))
    }

    pub(super) fn begin_state(&self) -> Result<PendingState, EngineError> {
        self.begin_copy(true, RawSnapshot::state)
    }

    pub(super) fn begin_frame(&self) -> Result<PendingSnapshot, EngineError> {
        self.begin_copy(false, RawSnapshot::snapshot)
    }

    pub(super) fn read_state(&self) -> Result<ExactState, EngineError> {
        self.copy(true, RawSnapshot::state)
    }

    pub(super) fn read_snapshot(&self) -> Result<Snapshot, EngineError> {
        self.copy(false, RawSnapshot::snapshot)
    }

    /// Forces in id order.
    pub(super) fn read_forces(&self) -> Result<Vec<[f64; 3]>, EngineError> {
        let mut all = vec![[0.0; 3]; self.particle_count()];
        for (id, force) in self.state.ids(0)?.into_iter().zip(self.state.forces()?) {
            all[id as usize] = force;
        }
        Ok(all)
    }

    /// A quantity of all particles, in memory of its own.
    pub(super) fn array_on_device(
        &self,
        quantity: ParticleQuantity,
    ) -> Result<DeviceArray, EngineError> {
        let session = self.device.session();
        let simulation_box = self.state.simulation_box();
        let shape = [self.particle_count(), simulation_box.dimension()];
        let memory = Buffer::new(session, shape[0] * shape[1] * quantity.element_bytes())?;
        let rows = ParticleRows {
            numbers: memory.pointer(),
            images: memory.pointer(),
            edges: simulation_box.padded_edges(),
            quantity: match quantity {
                ParticleQuantity::Position => rows::ROWS_OF_POSITIONS,
                ParticleQuantity::Unwrapped => rows::ROWS_UNWRAPPED,
                ParticleQuantity::Image => rows::ROWS_OF_IMAGES,
                ParticleQuantity::Velocity => rows::ROWS_OF_VELOCITIES,
                ParticleQuantity::Force => rows::ROWS_OF_FORCES,
            },
            unused: 0,
        };
        self.over_particles(self.device.measure().write_rows, (rows,))?;
        self.device.wait()?;
        let address = memory.address();
        Ok(DeviceArray::new(quantity, shape, session.gpu.ordinal, address, Box::new(memory)))
    }

    /// What the last launch ended with.
    pub(super) fn error(&self) -> EngineError {
        let (state, ghosts) = (&self.state, self.stepper.ghosts());
        let culprit = state.control.culprit;
        match state.control.status {
            status::TOO_CLOSE => match self.closest_pair() {
                Ok(Some((first, second))) => {
                    let distance = state.distance(first, second, ghosts);
                    EngineError::TooClose {
                        step: state.step,
                        first,
                        second,
                        distance,
                        inner_maximum: self.plan.inner_maximum_beyond(first, second, distance),
                        precision: P::PRECISION.name(),
                    }
                }
                // Among ranks a launch continues after the fault: the pair may have flown apart.
                Ok(None) => state.range_error(status::TOO_CLOSE, culprit),
                Err(error) => error,
            },
            status::RUNAWAY => match state.particle(culprit, ghosts) {
                Ok([position, velocity]) => EngineError::Runaway {
                    step: state.step + 1,
                    particle: culprit,
                    position,
                    velocity,
                },
                Err(error) => error,
            },
            status => state.range_error(status, culprit),
        }
    }
}
