//! The halo of a domain in the GPU's memory. Mirrors `kernels/domain/halo.cuh`.
use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;

use crate::engine::EngineError;
use crate::engine::cuda::buffers::{Capacity, ElementSizes, MOST_BLOCKS, SplitSum};
use crate::engine::cuda::memory::{Buffer, Plain, Session};
use crate::engine::domain::{Domain, LONGEST};
use crate::system::SimulationBox;

/// A domain touches no more others in three dimensions.
pub const MOST_NEIGHBORS: usize = 26;

/// Entries by neighbor: `start[j]` is the number of those of the neighbors before.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Starts {
    start: [u32; MOST_NEIGHBORS + 1],
}

impl Starts {
    pub fn of(counts: &[u32]) -> Self {
        let mut start = [0; MOST_NEIGHBORS + 1];
        for (j, count) in counts.iter().enumerate() {
            start[j + 1] = start[j] + count;
        }
        Starts { start }
    }
}

/// First step at which a particle had moved further than the lists allow, and first with an error; `u64::MAX`: none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FirstSteps {
    pub needs_rebuild: u64,
    pub fault: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HaloControl {
    pub first: FirstSteps,
    pub moved2: u64,
    /// When kernels have come so far; see `TimeStamp` in `kernels/domain/halo.cuh`.
    pub time_stamps: [u64; 4],
    pub lost: u32,
    pub hops: u32,
    pub arrived: u32,
    ended: u32,
    /// Steps that a launch has completed, and whether it has ended with the drift of another one.
    pub steps: u32,
    pub drifted: u32,
    pub for_neighbor: [u32; MOST_NEIGHBORS],
    pub failed: u32,
    pub count: u32,
    pub extent: u32,
    pub sent: u32,
    pub send_to: [u32; MOST_NEIGHBORS],
    pub ghosts_from: [u32; MOST_NEIGHBORS],
}

impl HaloControl {
    pub const CLEAR: HaloControl = HaloControl {
        first: FirstSteps { needs_rebuild: u64::MAX, fault: u64::MAX },
        moved2: 0,
        time_stamps: [0; 4],
        lost: 0,
        hops: 0,
        arrived: 0,
        ended: 0,
        steps: 0,
        drifted: 0,
        for_neighbor: [0; MOST_NEIGHBORS],
        failed: 0,
        count: 0,
        extent: 0,
        sent: 0,
        send_to: [0; MOST_NEIGHBORS],
        ghosts_from: [0; MOST_NEIGHBORS],
    };
}

// SAFETY: integers without gaps: seven of eight bytes, then an even number of four.
unsafe impl Plain for HaloControl {}

/// A constant of all kernels.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Halo {
    control: CUdeviceptr,
    pub report: CUdeviceptr,
    halt: CUdeviceptr,
    destination: CUdeviceptr,
    boundary: CUdeviceptr,
    order_start: CUdeviceptr,
    tile_order: CUdeviceptr,
    tiles_taken: CUdeviceptr,
    ghost_start: CUdeviceptr,
    ghost_bin: CUdeviceptr,
    ghost_slot: CUdeviceptr,
    ghost_place: CUdeviceptr,
    ghost_sorted: CUdeviceptr,
    send_start: CUdeviceptr,
    send_end: CUdeviceptr,
    send_own: CUdeviceptr,
    send_slot: CUdeviceptr,
    send_remote: CUdeviceptr,
    pub outgoing: CUdeviceptr,
    pub incoming: CUdeviceptr,
    heat: CUdeviceptr,
    signals: CUdeviceptr,
    pub peer_signals: [CUdeviceptr; MOST_NEIGHBORS],
    pub peer_sites: [[CUdeviceptr; MOST_NEIGHBORS]; 2],
    pub peer_inbox: [[CUdeviceptr; MOST_NEIGHBORS]; 2],
    pub peer_remote: [CUdeviceptr; MOST_NEIGHBORS],
    pub segment: u64,
    lower: [[f64; 3]; MOST_NEIGHBORS],
    upper: [[f64; 3]; MOST_NEIGHBORS],
    edge: [f64; 3],
    reach2: f64,
    margin: [f32; 3],
    domains: [u32; 3],
    domain: [u32; 3],
    neighbor_at: [u32; 27],
    neighbors: u32,
    pub extent: u32,
    pub ghosts: u32,
    pub sent: u32,
    pub arrivals: Starts,
    capacity_particles: u32,
    capacity_ghosts: u32,
    send_capacity: u32,
    agrees: u32,
    unused: u32,
}

impl Halo {
    /// What does not change while a run continues.
    pub fn new(domain: &Domain, simulation_box: &SimulationBox) -> Self {
        let grid = domain.grid();
        let neighbors: Vec<usize> = domain.neighbors().collect();
        let (mut lower, mut upper) = ([[0.0; 3]; MOST_NEIGHBORS], [[0.0; 3]; MOST_NEIGHBORS]);
        let edge = simulation_box.padded_edges();
        for (j, &neighbor) in neighbors.iter().enumerate() {
            for axis in 0..3 {
                [lower[j][axis], upper[j][axis]] =
                    grid.bounds(neighbor, axis).map(|bound| bound * edge[axis]);
            }
        }
        // SAFETY: integers and floats: zero is a value of each.
        let zero: Halo = unsafe { std::mem::zeroed() };
        Halo {
            lower,
            upper,
            edge,
            reach2: domain.reach2(),
            margin: std::array::from_fn(|axis| {
                let domains = f64::from(grid.count()[axis]);
                let share = domain.reach2().sqrt() * domains / edge[axis];
                // Positions and their place in the domain are rounded by much less.
                if domains > 1.0 { (1.001 * share + 1e-4) as f32 } else { -1.0 }
            }),
            domains: grid.count(),
            domain: grid.place(domain.rank()),
            neighbor_at: std::array::from_fn(|offset| {
                let digit = |axis: u32| (offset / 3_usize.pow(axis) % 3) as i32 - 1;
                let rank = grid.beside(domain.rank(), [digit(0), digit(1), digit(2)]);
                let number = neighbors.iter().position(|&neighbor| neighbor == rank);
                number.map_or(0, |number| number as u32 + 1)
            }),
            neighbors: neighbors.len() as u32,
            agrees: u32::from(domain.all_are_neighbors()),
            ..zero
        }
    }

    /// As it lies in memory.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the fields fill the struct without gaps: numbers of eight bytes, then an even count of four.
        unsafe { std::slice::from_raw_parts((self as *const Halo).cast(), size_of::<Halo>()) }
    }
}

/// Longest row of steps in half steps of a thermostat, and those of the step before and of the drift after.
pub const HALF_STEPS: usize = 2 * LONGEST as usize + 3;
/// Signals for each neighbor: `Signal` in `kernels/domain/halo.cuh`.
const SIGNALS: usize = 4 + 2 * 6 + 1 + 2 * 4 + 1;

/// The memory of a halo.
pub struct HaloBuffers {
    pub control: Buffer,
    pub halt: Buffer,
    pub destination: Buffer,
    boundary: Buffer,
    order_start: Buffer,
    tile_order: Buffer,
    tiles_taken: Buffer,
    ghost_start: Buffer,
    ghost: [Buffer; 3],
    ghost_sorted: Buffer,
    send_start: Buffer,
    send_end: Buffer,
    sent: [Buffer; 2],
    pub send_remote: Buffer,
    pub heat: Buffer,
    pub signals: Buffer,
}

/// For how much a halo has room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HaloCapacity {
    pub places: Capacity,
    pub sent: usize,
    pub bins: usize,
    pub tiles: usize,
}

impl HaloBuffers {
    pub fn new(session: &Arc<Session>, capacity: HaloCapacity) -> Result<Self, EngineError> {
        let words = |count: usize| Buffer::new(session, count * 4);
        let ghosts = capacity.places.ghosts;
        Ok(HaloBuffers {
            control: Buffer::holding(session, &[HaloControl::CLEAR])?,
            halt: words(1)?,
            destination: Buffer::new(session, capacity.places.particles)?,
            boundary: Buffer::new(session, capacity.tiles)?,
            order_start: words(capacity.tiles + 1)?,
            tile_order: words(capacity.tiles)?,
            tiles_taken: words(MOST_BLOCKS)?,
            ghost_start: words(capacity.bins + 1)?,
            ghost: [words(ghosts)?, words(ghosts)?, words(ghosts)?],
            ghost_sorted: Buffer::new(session, ghosts * 8)?,
            send_start: words(capacity.tiles)?,
            send_end: words(capacity.tiles)?,
            sent: [words(capacity.sent)?, words(capacity.sent)?],
            send_remote: Buffer::shared(session, capacity.sent * 4)?,
            heat: Buffer::new(session, HALF_STEPS * size_of::<SplitSum>())?,
            signals: Buffer::shared(session, SIGNALS * MOST_NEIGHBORS * size_of::<u64>())?,
        })
    }

    /// Copies what is not made anew with the lists: who goes where, and the signals.
    pub fn take_from(&self, smaller: &HaloBuffers) -> Result<(), EngineError> {
        self.control.take_from(&smaller.control)?;
        self.destination.take_from(&smaller.destination)?;
        // Of a half step that has been.
        self.heat.take_from(&smaller.heat)?;
        self.signals.take_from(&smaller.signals)
    }

    /// Fills in where things lie, and the room for them.
    pub fn describe(&self, capacity: HaloCapacity, halo: &mut Halo) {
        halo.capacity_particles = capacity.places.particles as u32;
        halo.capacity_ghosts = capacity.places.ghosts as u32;
        halo.send_capacity = capacity.sent as u32;
        halo.control = self.control.pointer();
        halo.halt = self.halt.pointer();
        halo.destination = self.destination.pointer();
        halo.boundary = self.boundary.pointer();
        halo.order_start = self.order_start.pointer();
        halo.tile_order = self.tile_order.pointer();
        halo.tiles_taken = self.tiles_taken.pointer();
        halo.ghost_start = self.ghost_start.pointer();
        [halo.ghost_bin, halo.ghost_slot, halo.ghost_place] =
            [0, 1, 2].map(|k| self.ghost[k].pointer());
        halo.ghost_sorted = self.ghost_sorted.pointer();
        halo.send_start = self.send_start.pointer();
        halo.send_end = self.send_end.pointer();
        [halo.send_own, halo.send_slot] = [0, 1].map(|k| self.sent[k].pointer());
        halo.send_remote = self.send_remote.pointer();
        halo.heat = self.heat.pointer();
        halo.signals = self.signals.pointer();
    }
}

/// Bytes of the records of `kernels/domain`: a particle on its way, and a ghost when it is chosen.
pub fn record_bytes(element_sizes: ElementSizes) -> [usize; 2] {
    [6 * element_sizes.coordinate + 24, element_sizes.site * element_sizes.site_stride() + 16]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Precision;

    #[test]
    fn records_are_as_long_as_in_the_kernels() {
        let bytes = |precision, dimension| record_bytes(ElementSizes::new(precision, dimension));
        assert_eq!(bytes(Precision::FixedPoint, 3), [72, 32]);
        assert_eq!(bytes(Precision::Single, 3), [48, 32]);
        assert_eq!(bytes(Precision::Double, 3), [72, 48]);
        assert_eq!(bytes(Precision::DoubleSingle, 2), [72, 24]);
    }

    #[test]
    fn entries_start_behind_those_of_the_neighbours_before() {
        let starts = Starts::of(&[3, 0, 5]);
        assert_eq!(starts.start[..4], [0, 3, 3, 8]);
    }
}
