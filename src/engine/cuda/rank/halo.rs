//! The halo of a domain in the GPU's memory.
use std::sync::Arc;

use crate::engine::EngineError;
use crate::engine::cuda::buffers::{Capacity, ElementSizes, MOST_BLOCKS, SplitSum};
use crate::engine::cuda::declare::{
    Const, Pointer, Site, device_constants, device_struct, shared_header,
};
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::domain::{Domain, LONGEST};
use crate::system::SimulationBox;

device_constants! {
    /// A domain touches no more others in three dimensions.
    mod neighbors: u32 {
        MOST_NEIGHBORS = 26;
    }
}
pub const MOST_NEIGHBORS: usize = neighbors::MOST_NEIGHBORS as usize;

device_struct! {
    /// Entries by neighbor: `start[j]` is the number of those of the neighbors before.
    pub struct Starts {
        start: [u32; MOST_NEIGHBORS + 1],
    }
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

device_struct! {
    /// First step at which a particle had moved further than the lists allow, and first with an error; ~0: none.
    pub struct FirstSteps {
        pub needs_rebuild: u64,
        pub fault: u64,
    }
}

device_constants! {
    /// Of a rebuilding: particles begin to leave, sorting begins, sending, building of lists. Of steps: they begin, and have
    /// ended.
    mod time_stamp: u32 {
        LEAVING = 0;
        SORTING = 1;
        SENDING = 2;
        LISTING = 3;
        STEPPING = 0;
        STEPPED = 1;
        TIME_STAMPS = 4;
    }
}

device_struct! {
    /// What the steps since the last comparison have met.
    pub struct HaloControl {
        pub first: FirstSteps,
        /// Bits of the largest squared displacement since the lists were built.
        pub moved2: u64,
        /// When the kernels have come so far, by `LEAVING` and the others, in nanoseconds of the GPU's clock.
        pub time_stamps: [u64; time_stamp::TIME_STAMPS as usize],
        /// Number of a neighbor that did not answer, and one.
        pub lost: u32,
        /// Most domains that a particle must cross.
        pub hops: u32,
        /// Blocks that have written what they send, in all steps of the launch.
        pub arrived: u32,
        /// Blocks that have come to the end of a kernel.
        ended: u32,
        /// Steps that a launch has completed, and whether it has ended with the drift of another one.
        pub steps: u32,
        pub drifted: u32,
        /// Particles for each neighbor.
        pub for_neighbor: [u32; MOST_NEIGHBORS],
        /// What the last rebuilding among peers has made: whether something had no room, own particles and places in use
        /// after migration, entries that are sent, and numbers of particles sent to each neighbor and of its ghosts.
        pub failed: u32,
        pub count: u32,
        pub extent: u32,
        pub sent: u32,
        pub send_to: [u32; MOST_NEIGHBORS],
        pub ghosts_from: [u32; MOST_NEIGHBORS],
    }
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

device_struct! {
    /// What all ranks have found, if all are neighbors: the first of the steps, the largest of the others.
    pub struct Agreed {
        pub needs_rebuild: u64,
        pub fault: u64,
        pub moved2: u64,
        pub failed: u64,
    }
}

device_struct! {
    /// What a kernel reports to the host, and which report it is.
    pub struct Report {
        pub control: HaloControl,
        pub agreed: Agreed,
        /// When it was written, in nanoseconds of the GPU's clock.
        pub written: u64,
        pub number: u64,
    }
}

device_constants! {
    /// Kinds of signals, in words for each neighbor: the number of the step whose ghosts have been written; number of a
    /// rebuilding (upper half) and count of migrants; the same of ghosts; number of a launch (upper half) and how many sums
    /// over the particles it has sent; these sums, two words each, in two places that are used in turn; number of a report;
    /// what was found, as `Agreed`, likewise in two places; number of the step whose ghosts have been written (upper bits) and
    /// whether the lists are no longer good for it.
    mod signal: u32 {
        SITES = 0;
        MIGRANTS = 1;
        GHOSTS = 2;
        SUMS = 3;
        SUM_WORDS = 4;
        FINDINGS = SUM_WORDS + 2 * 2;
        FINDINGS_WORDS = FINDINGS + 1;
        LISTS_END = FINDINGS_WORDS + 2 * 4;
        SIGNAL_WORDS = LISTS_END + 1;
    }
}

device_struct! {
    /// A domain among others: a constant of all kernels.
    pub struct Halo {
        control: Pointer<HaloControl>,
        /// Two that are used in turn.
        pub report: Pointer<Report>,
        /// Whether what was launched after is to be left out: steps after a rebuilding that has failed on a rank, a
        /// rebuilding after steps for which lists were good.
        halt: Pointer<u32>,
        destination: Pointer<u8>,
        /// Sites at which the own particles are expected, in the order before they are sorted.
        expected: Pointer<Site>,
        /// Region of each tile; tiles of the boundary before each, and all after the last; tiles of the boundary, then those
        /// of the interior.
        boundary: Pointer<u8>,
        order_start: Pointer<u32>,
        tile_order: Pointer<u32>,
        /// Of each block's tiles, how many have been taken to build their lists.
        tiles_taken: Pointer<u32>,
        /// Of each bin the first place of its ghosts.
        ghost_start: Pointer<u32>,
        /// By arrival: bin, number within it, place.
        ghost_bin: Pointer<u32>,
        ghost_slot: Pointer<u32>,
        ghost_place: Pointer<u32>,
        ghost_sorted: Pointer<u64>,
        /// What is sent: the entries of each tile from the first on and before the end; of each entry the place here,
        /// neighbor and number in its message, place in the neighbor's memory.
        send_start: Pointer<u32>,
        send_end: Pointer<u32>,
        send_own: Pointer<u32>,
        send_slot: Pointer<u32>,
        send_remote: Pointer<u32>,
        /// Messages to the neighbors and from them, `segment` bytes for each. What comes in has two halves that are used in
        /// turn: a neighbor may write the next messages while the last are read.
        pub outgoing: Pointer<u8>,
        pub incoming: Pointer<Const<u8>>,
        /// Heat of a thermostat by step, from that at which a launch begins.
        heat: Pointer<SplitSum>,
        /// What neighbors have written here, by kind of signal and neighbor.
        signals: Pointer<u64>,
        /// Of the neighbors: the first of their signals for this rank, their sites, both halves of their messages from it,
        /// and where they keep the places of their particles' ghosts.
        pub peer_signals: [Pointer<u64>; MOST_NEIGHBORS],
        pub peer_sites: [[Pointer<Site>; MOST_NEIGHBORS]; 2],
        pub peer_inbox: [[Pointer<u8>; MOST_NEIGHBORS]; 2],
        pub peer_remote: [Pointer<u32>; MOST_NEIGHBORS],
        pub segment: u64,
        /// Domains of the neighbors.
        lower: [[f64; 3]; MOST_NEIGHBORS],
        upper: [[f64; 3]; MOST_NEIGHBORS],
        edge: [f64; 3],
        /// Squared distance from a domain up to which it needs a particle as a ghost.
        reach2: f64,
        /// How far others reach into the domain along each axis, as a share of it and a little more; negative where there
        /// are none.
        margin: [f32; 3],
        /// Domains along each axis, and which of them this is.
        domains: [u32; 3],
        domain: [u32; 3],
        /// Number of the neighbor at an offset of -1, 0, 1 along x, y, z (x fastest), and one.
        neighbor_at: [u32; 27],
        neighbors: u32,
        /// Places in use before migration, with those of arrivals.
        pub extent: u32,
        pub ghosts: u32,
        /// Entries that are sent.
        pub sent: u32,
        pub arrivals: Starts,
        /// For how many particles, ghosts and entries there is room.
        capacity_particles: u32,
        capacity_ghosts: u32,
        send_capacity: u32,
        /// Whether all ranks are neighbors, and agree without the host.
        agrees: u32,
        unused: u32,
    }
}

shared_header!(pub SHARED = "shared/halo.cuh":
    neighbors::Declaration, Starts, FirstSteps, time_stamp::Declaration, HaloControl, signal::Declaration);
shared_header!(pub REPORT = "shared/report.cuh": Agreed, Report);
shared_header!(pub HALO = "shared/halo_constant.cuh": Halo);

impl Halo {
    /// What changes with the box alone while a run continues.
    pub fn new(domain: &Domain, simulation_box: &SimulationBox) -> Self {
        let grid = domain.grid();
        let neighbors: Vec<usize> = domain.neighbors().collect();
        let mut halo = Halo {
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
            ..Halo::default()
        };
        halo.take_box(domain, simulation_box);
        halo
    }

    /// Where the neighbors' domains are in a box, which is that of this domain, and what they need of it.
    pub fn take_box(&mut self, domain: &Domain, simulation_box: &SimulationBox) {
        let grid = domain.grid();
        let edge = simulation_box.padded_edges();
        for (j, neighbor) in domain.neighbors().enumerate() {
            for axis in 0..3 {
                [self.lower[j][axis], self.upper[j][axis]] =
                    grid.bounds(neighbor, axis).map(|bound| bound * edge[axis]);
            }
        }
        self.edge = edge;
        self.reach2 = domain.reach2();
        self.margin = std::array::from_fn(|axis| {
            let domains = f64::from(grid.count()[axis]);
            let widening = if axis == 0 { grid.widening() } else { 1.0 };
            let share = widening * domain.reach2().sqrt() * domains / edge[axis];
            // Positions and their place in the domain are rounded by much less.
            if domains > 1.0 { (1.001 * share + 1e-4) as f32 } else { -1.0 }
        });
    }

    /// Whether domains are those of a box with these edges.
    pub fn is_of_box(&self, simulation_box: &SimulationBox) -> bool {
        self.edge == simulation_box.padded_edges()
    }
}

/// Steps of the longest row, the one before and the one whose drift comes after.
pub const MOST_HEATS: usize = LONGEST as usize + 2;
/// Signals for each neighbor.
const SIGNALS: usize = signal::SIGNAL_WORDS as usize;

/// The memory of a halo.
pub struct HaloBuffers {
    pub control: Buffer,
    pub halt: Buffer,
    pub destination: Buffer,
    expected: Buffer,
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
    pub fn new(
        session: &Arc<Session>,
        sizes: ElementSizes,
        capacity: HaloCapacity,
    ) -> Result<Self, EngineError> {
        let words = |count: usize| Buffer::new(session, count * 4);
        let ghosts = capacity.places.ghosts;
        Ok(HaloBuffers {
            control: Buffer::holding(session, &[HaloControl::CLEAR])?,
            halt: words(1)?,
            destination: Buffer::new(session, capacity.places.particles)?,
            expected: Buffer::new(
                session,
                capacity.places.particles * sizes.site * sizes.site_stride(),
            )?,
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
            heat: Buffer::new(session, MOST_HEATS * size_of::<SplitSum>())?,
            signals: Buffer::shared(session, SIGNALS * MOST_NEIGHBORS * size_of::<u64>())?,
        })
    }

    /// Copies what is not made anew with the lists: who is expected and goes where, and the signals.
    pub fn take_from(&self, smaller: &HaloBuffers) -> Result<(), EngineError> {
        self.control.take_from(&smaller.control)?;
        self.destination.take_from(&smaller.destination)?;
        self.expected.take_from(&smaller.expected)?;
        // Of a half step that has been.
        self.heat.take_from(&smaller.heat)?;
        self.signals.take_from(&smaller.signals)
    }

    /// Room for the ghosts of more bins.
    ///
    /// # Errors
    /// If the GPU has none.
    pub fn make_room_for_bins(
        &mut self,
        session: &Arc<Session>,
        bins: usize,
        halo: &mut Halo,
    ) -> Result<(), EngineError> {
        self.ghost_start = Buffer::new(session, (bins + 1) * 4)?;
        halo.ghost_start = self.ghost_start.pointer();
        Ok(())
    }

    /// Fills in where things lie, and the room for them.
    pub fn describe(&self, capacity: HaloCapacity, halo: &mut Halo) {
        halo.capacity_particles = capacity.places.particles as u32;
        halo.capacity_ghosts = capacity.places.ghosts as u32;
        halo.send_capacity = capacity.sent as u32;
        halo.control = self.control.pointer();
        halo.halt = self.halt.pointer();
        halo.destination = self.destination.pointer();
        halo.expected = self.expected.pointer();
        halo.boundary = self.boundary.pointer();
        halo.order_start = self.order_start.pointer();
        halo.tile_order = self.tile_order.pointer();
        halo.tiles_taken = self.tiles_taken.pointer();
        halo.ghost_start = self.ghost_start.pointer();
        [halo.ghost_bin, halo.ghost_slot, halo.ghost_place] =
            [0, 1, 2].map(|k: usize| self.ghost[k].pointer());
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
    let ElementSizes { coordinate, site, .. } = element_sizes;
    [6 * coordinate + 24 + 4 * site, site * element_sizes.site_stride() + 16]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Precision;

    #[test]
    fn records_are_as_long_as_in_the_kernels() {
        let bytes =
            |precision, dimension| record_bytes(ElementSizes::new(precision, dimension, false));
        assert_eq!(bytes(Precision::FixedPoint, 3), [88, 32]);
        assert_eq!(bytes(Precision::Single, 3), [64, 32]);
        assert_eq!(bytes(Precision::Double, 3), [104, 48]);
        assert_eq!(bytes(Precision::DoubleSingle, 2), [88, 24]);
    }

    #[test]
    fn entries_start_after_those_of_the_neighbors_before() {
        let starts = Starts::of(&[3, 0, 5]);
        assert_eq!(starts.start[..4], [0, 3, 3, 8]);
    }
}
