//! The state out of the GPU's memory, in id order, and errors that tell of particles.
use super::buffers::status;
use super::constants::DevicePolicy;
use super::engine::CudaEngine;
use super::memory::Buffer;
use super::raw_state::RawSnapshot;
use super::stepper::Stepper;
use super::transfer::{Piece, Transfer, aligned_size};
use crate::engine::{EngineError, ExactState, Pending, PendingSnapshot, PendingState};
use crate::system::Snapshot;

impl<P: DevicePolicy, S: Stepper> CudaEngine<P, S> {
    /// Ids in the order of memory, those of ghosts last.
    fn order(&self) -> Result<Vec<u32>, EngineError> {
        let places = self.own_count() + self.stepper.ghosts();
        self.buffers.particles[self.control.copy as usize].id.read(places)
    }

    /// Three components per particle in id order; the third is zero in two dimensions.
    fn in_id_order<T: Copy + Default>(
        &self,
        order: &[u32],
        axes: &[Buffer],
        read: impl Fn(&Buffer) -> Result<Vec<T>, EngineError>,
    ) -> Result<Vec<[T; 3]>, EngineError> {
        let mut all = vec![[T::default(); 3]; order.len()];
        for (axis, buffer) in axes.iter().enumerate() {
            for (&id, value) in order.iter().zip(read(buffer)?) {
                all[id as usize][axis] = value;
            }
        }
        Ok(all)
    }

    fn raw_snapshot(&self) -> RawSnapshot<P> {
        RawSnapshot {
            policy: self.policy.clone(),
            element_sizes: self.element_sizes,
            simulation_box: self.simulation_box,
            timestep: self.plan.run.timestep,
            step: self.step,
            count: self.particle_count(),
            thermostat: self.thermostat.clone(),
            skin: self.shape.skin,
            threads_per_particle: 1 << self.shape.lanes_log2,
            rebuilds: self.control.rebuilds,
        }
    }

    /// The arrays that a state or a snapshot is made of (see [`RawSnapshot::lengths`]).
    fn pieces(&self, raw_snapshot: &RawSnapshot<P>, of_state: bool) -> Vec<Piece<'_>> {
        let particles = &self.buffers.particles[self.control.copy as usize];
        let axes = particles.position.iter().chain(&particles.velocity).chain(&particles.image);
        let buffers = axes.chain([&particles.id, &particles.species, &self.buffers.reference]);
        let piece = |(buffer, bytes)| Piece { buffer, bytes };
        buffers.zip(raw_snapshot.lengths(of_state)).map(piece).collect()
    }

    /// Copies the arrays out and waits for them.
    fn read_pieces(&self, pieces: &[Piece]) -> Result<Vec<u8>, EngineError> {
        let mut all = Vec::new();
        for piece in pieces {
            all.extend(piece.buffer.read::<u8>(piece.bytes)?);
            all.resize(aligned_size(all.len()), 0);
        }
        Ok(all)
    }

    /// Has the arrays copied out while the next steps run, or, where the GPU or its host has no room for that, at
    /// once. `finish` makes of the bytes what is wanted.
    fn begin_copy<T: Send + 'static>(
        &self,
        of_state: bool,
        finish: fn(&RawSnapshot<P>, &[u8]) -> T,
    ) -> Result<Pending<T>, EngineError> {
        let raw_snapshot = self.raw_snapshot();
        let transfer = self.transfer.get_or_init(|| {
            let bytes = raw_snapshot.lengths(true).into_iter().map(aligned_size).sum();
            Transfer::new(&self.session, bytes)
                .inspect_err(|error| tracing::debug!("frames are copied at once: {error}"))
                .ok()
        });
        let pieces = self.pieces(&raw_snapshot, of_state);
        if let Some(transfer) = transfer {
            match transfer.begin(&pieces) {
                Ok(arriving) => {
                    return Ok(Pending::new(move || Ok(finish(&raw_snapshot, arriving.wait()?))));
                }
                Err(error @ EngineError::GpuLost { .. }) => return Err(error),
                Err(error) => tracing::debug!("this frame is copied at once: {error}"),
            }
        }
        let bytes = self.read_pieces(&pieces)?;
        Ok(Pending::new(move || Ok(finish(&raw_snapshot, &bytes))))
    }

    pub(super) fn begin_state(&self) -> Result<PendingState, EngineError> {
        self.begin_copy(true, RawSnapshot::state)
    }

    pub(super) fn begin_frame(&self) -> Result<PendingSnapshot, EngineError> {
        self.begin_copy(false, RawSnapshot::snapshot)
    }

    pub(super) fn read_state(&self) -> Result<ExactState, EngineError> {
        let raw_snapshot = self.raw_snapshot();
        Ok(raw_snapshot.state(&self.read_pieces(&self.pieces(&raw_snapshot, true))?))
    }

    pub(super) fn read_snapshot(&self) -> Result<Snapshot, EngineError> {
        let raw_snapshot = self.raw_snapshot();
        Ok(raw_snapshot.snapshot(&self.read_pieces(&self.pieces(&raw_snapshot, false))?))
    }

    pub(super) fn read_forces(&self) -> Result<Vec<[f64; 3]>, EngineError> {
        let count = self.particle_count();
        let order = self.order()?;
        let read = |buffer: &Buffer| self.element_sizes.read(buffer, count);
        let forces = self.in_id_order(&order, &self.buffers.force, read)?;
        let dimension = self.simulation_box.dimension();
        let forces = forces
            .iter()
            .map(|bits| {
                std::array::from_fn(|axis| {
                    if axis >= dimension {
                        return 0.0;
                    }
                    self.policy.force_to_f64(P::force_from_bits(bits[axis]), axis)
                })
            })
            .collect();
        Ok(forces)
    }

    /// What the last launch ended with.
    pub(super) fn error(&self) -> EngineError {
        let culprit = self.control.culprit;
        match self.control.status {
            status::TOO_CLOSE => match self.closest_pair() {
                Ok(Some((first, second))) => {
                    let distance = self.distance(first, second);
                    EngineError::TooClose {
                        step: self.step,
                        first,
                        second,
                        distance,
                        inner_maximum: self.plan.inner_maximum_beyond(first, second, distance),
                        precision: P::PRECISION.name(),
                    }
                }
                // Among ranks a launch continues after the fault: the pair may have flown apart.
                Ok(None) => self.range_error(status::TOO_CLOSE, culprit),
                Err(error) => error,
            },
            status::RUNAWAY => match self.read_particle(culprit) {
                Ok([position, velocity]) => EngineError::Runaway {
                    step: self.step + 1,
                    particle: culprit,
                    position,
                    velocity,
                },
                Err(error) => error,
            },
            status => self.range_error(status, culprit),
        }
    }

    /// Position and velocity of a particle of this GPU.
    fn read_particle(&self, id: u32) -> Result<[[f64; 3]; 2], EngineError> {
        let place = self.order()?.iter().position(|&other| other == id).unwrap_or(0);
        let particles = &self.buffers.particles[self.control.copy as usize];
        let (mut position, mut velocity) = ([0.0; 3], [0.0; 3]);
        for axis in 0..self.simulation_box.dimension() {
            let read = |buffer: &Buffer| self.element_sizes.read(buffer, place + 1);
            let bits = read(&particles.position[axis])?[place];
            position[axis] = self.policy.coordinate_to_f64(P::coordinate_from_bits(bits), axis);
            let bits = read(&particles.velocity[axis])?[place];
            velocity[axis] = self.policy.velocity_to_f64(P::velocity_from_bits(bits), axis);
        }
        Ok([position, velocity])
    }

    /// Distance of the nearest images of two particles in the sites that forces were computed from.
    fn distance(&self, first: u32, second: u32) -> f64 {
        let sites = &self.buffers.sites[self.control.site_copy as usize];
        let read = || -> Result<f64, EngineError> {
            let order = self.order()?;
            let sites = self.element_sizes.read_sites(sites, order.len())?;
            let site = |id: u32| {
                order.iter().position(|&other| other == id).map_or([0; 3], |place| sites[place])
            };
            let (a, b) = (site(first), site(second));
            let r2: f64 = (0..self.simulation_box.dimension())
                .map(|axis| {
                    let (a, b) = (P::site_from_bits(a[axis]), P::site_from_bits(b[axis]));
                    let displacement = self.policy.displacement(a, b, axis);
                    use crate::arithmetic::Real;
                    self.policy.length(displacement, axis).to_f64().powi(2)
                })
                .sum();
            Ok(r2.sqrt())
        };
        read().unwrap_or(f64::NAN)
    }
}
