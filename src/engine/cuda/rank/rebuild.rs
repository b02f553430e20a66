//! Particles that leave and come, ghosts, and the lists with them.
use std::ffi::c_void;

use super::rim::{RimControl, Starts, record_bytes};
use super::transport::{Lengths, Messages};
use super::{RimBuffers, RimRoom, argument};
use crate::engine::EngineError;
use crate::engine::cuda::buffers::{Buffers, Room, status};
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::lists;
use crate::engine::cuda::thermostat::LARGEST_BLOCK_ALONE;

/// Threads of a block of the cooperative kernels that sort and build lists.
pub const REBUILDING_BLOCK: u32 = LARGEST_BLOCK_ALONE;
/// More than is needed is taken where room has to grow.
const GROWTH: f64 = 1.25;

/// What does not fit.
struct Need {
    particles: usize,
    ghosts: usize,
    lent: usize,
    /// Bytes of a message.
    segment: usize,
}

impl<P: DevicePolicy> CudaEngine<P> {
    /// Hands over particles that have left the domain, and takes those that have come. The present ghosts are given up.
    ///
    /// # Errors
    /// Those that all ranks meet together.
    pub(super) fn migrate(&mut self) -> Result<(), EngineError> {
        let [migrant, _] = record_bytes(self.widths);
        self.set_changed_rim()?;
        let mut control = self.find_destinations()?;
        // The lists are given up anyway.
        self.with_others_mut().domain.forget_stale();
        let mut left = 0;
        let rounds = self.with_others_mut().domain.largest_unless_fault(control.hops)?;
        for round in 0..rounds {
            if round > 0 {
                control = self.find_destinations()?;
            }
            let with_others = self.with_others();
            let neighbors = with_others.lent_to.len();
            let leaving = &control.for_neighbor[..neighbors];
            let coming = with_others.domain.swap_counts(leaving);
            let most = leaving.iter().chain(&coming).copied().max().unwrap_or(0) as usize;
            let arrivals: u32 = coming.iter().sum();
            let places = (with_others.rim.extent + arrivals) as usize;
            let need = Need { particles: places, ghosts: 0, lent: 0, segment: most * migrant };
            self.make_room(&need)?;
            self.over(self.with_others().rim.extent, "pack_migrants", &[])?;
            let bytes = |counts: &[u32]| counts.iter().map(|&n| n as usize * migrant).collect();
            let lengths = Lengths { outgoing: bytes(leaving), incoming: bytes(&coming) };
            self.exchange(&lengths, |_| Ok(()))?;
            let (starts, half) = (Starts::of(&coming), self.with_others().half);
            self.over(arrivals, "take_migrants", &[argument(&starts), argument(&half)])?;
            left += leaving.iter().sum::<u32>();
            self.with_others_mut().rim.extent += arrivals;
            self.set_rim()?;
        }
        let count = self.with_others().rim.extent - left;
        self.set_count(count)
    }

    /// Takes so many particles as those of this rank.
    pub(super) fn set_count(&mut self, count: u32) -> Result<(), EngineError> {
        self.system.count = count;
        self.kernels.set("system", self.system.bytes())
    }

    /// Who goes where; takes over what the steps before have found.
    fn find_destinations(&mut self) -> Result<RimControl, EngineError> {
        self.over(self.with_others().rim.extent, "find_destinations", &[])?;
        self.note_findings()
    }

    /// Sorts the particles, chooses ghosts, and builds the lists.
    ///
    /// # Errors
    /// If the card is lost or has no room.
    pub(super) fn rebuild_with_ghosts(&mut self) -> Result<(), EngineError> {
        let [_, record] = record_bytes(self.widths);
        self.on_all_blocks("sort_own", &[])?;
        self.clear_barrier()?;
        // Whatever was at other places has left.
        let count = self.system.count;
        self.with_others_mut().rim.extent = count;
        self.with_others().buffers.destination.clear(count as usize)?;

        let moved = self.count_ghosts(record)?;
        self.set_rim()?;
        self.over_particles("choose_lent", &[])?;
        self.over(self.with_others().rim.lent, "pack_ghosts", &[])?;
        self.exchange(&self.lengths(record), |_| Ok(()))?;
        self.build_lists(moved)?;
        if self.with_others().writes_to_peers {
            self.tell_places()?;
        }
        let step = self.step;
        let with_others = self.with_others_mut();
        with_others.unnamed = true;
        with_others.domain.schedule.rebuilt(step);
        self.control.rebuilds += 1;
        self.clear_rim_control()
    }

    /// Counts what is lent and comes as ghosts, and makes room for it; returns whether memory has moved.
    fn count_ghosts(&mut self, record: usize) -> Result<bool, EngineError> {
        let count = self.own_count();
        let mut moved = false;
        loop {
            self.over_particles("count_lent", &[])?;
            let control = self.note_findings()?;
            let with_others = self.with_others_mut();
            let lent_to = control.for_neighbor[..with_others.lent_to.len()].to_vec();
            let ghosts_from = with_others.domain.swap_counts(&lent_to);
            let most = lent_to.iter().chain(&ghosts_from).copied().max().unwrap_or(0) as usize;
            let (lent, ghosts) = (lent_to.iter().sum::<u32>(), ghosts_from.iter().sum::<u32>());
            (with_others.rim.lent, with_others.rim.ghosts) = (lent, ghosts);
            with_others.rim.arrivals = Starts::of(&ghosts_from);
            (with_others.lent_to, with_others.ghosts_from) = (lent_to, ghosts_from);
            let need = Need {
                particles: count,
                ghosts: ghosts as usize,
                lent: lent as usize,
                segment: most * record,
            };
            if !self.make_room(&need)? {
                return Ok(moved);
            }
            moved = true;
        }
    }

    /// Tells the neighbours where their particles' ghosts lie here, and learns where those of its own do.
    fn tell_places(&mut self) -> Result<(), EngineError> {
        let rim = &self.with_others().rim;
        let (lent, ghosts) = (rim.lent, rim.ghosts);
        self.over(ghosts, "pack_places", &[])?;
        let Lengths { outgoing, incoming } = self.lengths(size_of::<u32>());
        self.exchange(&Lengths { outgoing: incoming, incoming: outgoing }, |_| Ok(()))?;
        let half = self.with_others().half;
        self.over(lent, "take_places", &[argument(&half)])
    }

    /// Lengths of messages of one record for each ghost.
    pub(super) fn lengths(&self, record: usize) -> Lengths {
        let bytes = |counts: &[u32]| counts.iter().map(|&n| n as usize * record).collect();
        let with_others = self.with_others();
        Lengths { outgoing: bytes(&with_others.lent_to), incoming: bytes(&with_others.ghosts_from) }
    }

    /// Places the ghosts that have come, and builds lists of all particles; those that are too short are made anew.
    /// `moved`: the cells are new.
    fn build_lists(&mut self, moved: bool) -> Result<(), EngineError> {
        let mut recount = u32::from(moved);
        loop {
            let half = self.with_others().half;
            self.on_all_blocks("build_with_ghosts", &[argument(&recount), argument(&half)])?;
            self.clear_barrier()?;
            self.read_control()?;
            if self.control.status != status::LISTS_FULL {
                return Ok(());
            }
            self.grow_lists()?;
            self.write_control()?;
            recount = 1;
        }
    }

    /// Launches a cooperative kernel.
    pub(super) fn on_all_blocks(
        &self,
        name: &str,
        arguments: &[*const c_void],
    ) -> Result<(), EngineError> {
        let kernel = self.kernels.kernel(name)?;
        let blocks = self.session.card.multiprocessors;
        // SAFETY: the callers give the arguments that the kernel names; the buffers have room for all places in use.
        unsafe { self.kernels.launch(kernel, blocks, REBUILDING_BLOCK, true, arguments) }
    }

    /// Launches an ordinary kernel over so many items.
    pub(super) fn over(
        &self,
        items: u32,
        name: &str,
        arguments: &[*const c_void],
    ) -> Result<(), EngineError> {
        if items == 0 { Ok(()) } else { self.over_threads(items as usize, name, arguments) }
    }

    /// Has all ranks take more memory where one needs it; returns whether one did. Collective.
    fn make_room(&mut self, need: &Need) -> Result<bool, EngineError> {
        let with_others = self.with_others();
        let room = with_others.room;
        let too_small = need.particles > room.places.particles
            || need.ghosts > room.places.ghosts
            || need.lent > room.lent;
        let segment = if need.segment > with_others.messages.segment { need.segment } else { 0 };
        let [grow, segment] = with_others.domain.largest([u64::from(too_small), segment as u64]);
        if grow == 0 && segment == 0 {
            return Ok(false);
        }
        let enough = |need: usize, room: usize| {
            if need > room { (need as f64 * GROWTH) as usize } else { room }
        };
        self.disconnect()?;
        if too_small {
            let places = Room {
                particles: enough(need.particles, room.places.particles),
                ghosts: enough(need.ghosts, room.places.ghosts),
            };
            self.grow_places(places, enough(need.lent, room.lent))?;
        }
        let session = self.session.clone();
        if segment > 0 {
            let with_others = self.with_others_mut();
            let neighbors = with_others.lent_to.len();
            let segment = (segment as f64 * GROWTH) as usize;
            with_others.messages = Messages::new(&session, neighbors, segment)?;
        }
        self.connect()?;
        Ok(true)
    }

    /// Moves everything into larger memory.
    fn grow_places(&mut self, places: Room, lent: usize) -> Result<(), EngineError> {
        tracing::debug!("room for {places:?}, {lent} lent");
        let masses: Vec<f64> = self.species.iter().map(|species| species.mass).collect();
        let buffers = Buffers::new(&self.session, places, self.widths, &masses)?;
        buffers.take_from(&self.buffers)?;
        self.buffers = buffers;
        self.room = places;
        self.buffers.describe(&mut self.system);
        let lists = lists::allocate::<P>(
            &self.session,
            &self.plan,
            &self.simulation_box,
            self.shape,
            places.particles,
            &mut self.system,
        )?;
        self.lists = Some(lists);
        self.kernels.set("system", self.system.bytes())?;
        let tiles = places.particles.div_ceil(32 >> self.shape.lanes_log2);
        let room = RimRoom { places, lent, bins: self.system.bins as usize, tiles };
        let rim_buffers = RimBuffers::new(&self.session, room)?;
        let with_others = self.with_others_mut();
        rim_buffers.take_from(&with_others.buffers)?;
        rim_buffers.describe(room, &mut with_others.rim);
        (with_others.buffers, with_others.room) = (rim_buffers, room);
        self.set_rim()
    }
}
