//! Particles that leave and come, ghosts, and the lists with them.
use super::halo::{HaloBuffers, HaloCapacity, HaloControl, Starts, record_bytes};
use super::multi_rank::MultiRank;
use super::transport::{Lengths, Messages};
use crate::engine::EngineError;
use crate::engine::cuda::buffers::{Capacity, status};
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;

/// More than is needed is taken where room has to grow.
const GROWTH: f64 = 1.25;

/// What does not fit.
struct Need {
    particles: usize,
    ghosts: usize,
    sent: usize,
    /// Bytes of a message.
    segment: usize,
}

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// Finds where particles are expected after `ahead` steps, hands over those that then are in another domain, and takes those that
    /// come. The present ghosts are given up.
    ///
    /// # Errors
    /// Those that all ranks meet together.
    pub(super) fn migrate(&mut self, ahead: f64) -> Result<(), EngineError> {
        let [migrant, _] = record_bytes(self.state.element_sizes());
        self.fit_to_box()?;
        self.set_changed_halo()?;
        let extent = self.stepper.halo.extent;
        self.over(extent, self.stepper.kernels.expect_all, (ahead as f32,))?;
        let mut control = self.find_destinations()?;
        // The lists are given up anyway.
        self.stepper.domain.clear_needs_rebuild();
        let mut left = 0;
        let rounds = self.stepper.domain.largest_unless_fault(control.hops)?;
        for round in 0..rounds {
            if round > 0 {
                control = self.find_destinations()?;
            }
            let multi_rank = &self.stepper;
            let neighbors = multi_rank.send_to.len();
            let leaving = &control.for_neighbor[..neighbors];
            let coming = multi_rank.domain.swap_counts(leaving);
            let most = leaving.iter().chain(&coming).copied().max().unwrap_or(0) as usize;
            let arrivals: u32 = coming.iter().sum();
            let places = (multi_rank.halo.extent + arrivals) as usize;
            let need = Need { particles: places, ghosts: 0, sent: 0, segment: most * migrant };
            self.grow(&need)?;
            self.over(self.stepper.halo.extent, self.stepper.kernels.pack_migrants, ())?;
            let bytes = |counts: &[u32]| counts.iter().map(|&n| n as usize * migrant).collect();
            let lengths = Lengths { outgoing: bytes(leaving), incoming: bytes(&coming) };
            self.exchange(&lengths, None)?;
            let (starts, half) = (Starts::of(&coming), self.stepper.half);
            self.over(arrivals, self.stepper.kernels.take_migrants, (starts, half))?;
            left += leaving.iter().sum::<u32>();
            self.stepper.halo.extent += arrivals;
            self.set_halo()?;
        }
        let count = self.stepper.halo.extent - left;
        self.state.set_count(count);
        self.set_system()
    }

    /// Takes the domains, and other cells if these are too narrow or far too wide, in a box that a piston has moved.
    ///
    /// # Errors
    /// If the domains are too small there, which all ranks find.
    fn fit_to_box(&mut self) -> Result<(), EngineError> {
        let simulation_box = *self.state.simulation_box();
        if self.stepper.halo.is_of_box(&simulation_box) {
            return Ok(());
        }
        let step = self.state.step;
        let MultiRank { domain, halo, halo_changed, .. } = &mut self.stepper;
        domain.set_box(&simulation_box, step)?;
        halo.take_box(domain, &simulation_box);
        *halo_changed = true;
        self.neighbor_list.set_box_of_trial(simulation_box, false)?;
        self.make_room_for_bins()?;
        self.set_system()
    }

    /// Who goes where; takes over what the steps before have found.
    fn find_destinations(&mut self) -> Result<HaloControl, EngineError> {
        self.over(self.stepper.halo.extent, self.stepper.kernels.find_destinations, ())?;
        self.note_findings()
    }

    /// Sorts the particles, chooses ghosts, and builds the lists, around the sites expected after `ahead` steps.
    ///
    /// # Errors
    /// If the GPU is lost or has no room.
    pub(super) fn rebuild_with_ghosts(&mut self, ahead: f64) -> Result<(), EngineError> {
        let [_, record] = record_bytes(self.state.element_sizes());
        self.on_all_blocks(self.stepper.kernels.sort_own, ())?;
        self.state.clear_barrier()?;
        // Whatever was at other places has left.
        let count = self.state.count() as u32;
        self.stepper.halo.extent = count;
        self.stepper.buffers.destination.clear(count as usize)?;

        let moved = self.count_ghosts(record)?;
        self.set_halo()?;
        self.over_particles(self.stepper.kernels.choose_sent, ())?;
        self.over(self.stepper.halo.sent, self.stepper.kernels.pack_ghosts, ())?;
        self.exchange(&self.lengths(record), None)?;
        self.build_lists(moved)?;
        if self.stepper.writes_to_peers {
            self.tell_places()?;
        }
        let step = self.state.step;
        let multi_rank = &mut self.stepper;
        multi_rank.unnamed = true;
        multi_rank.domain.schedule.rebuilt(step, ahead);
        self.state.control.rebuilds += 1;
        self.clear_halo_control()
    }

    /// Counts what is sent and comes as ghosts, and makes room for it; returns whether memory has moved.
    fn count_ghosts(&mut self, record: usize) -> Result<bool, EngineError> {
        let count = self.state.count();
        let mut moved = false;
        loop {
            self.over_particles(self.stepper.kernels.count_sent, ())?;
            let control = self.note_findings()?;
            let multi_rank = &mut self.stepper;
            let send_to = control.for_neighbor[..multi_rank.send_to.len()].to_vec();
            let ghosts_from = multi_rank.domain.swap_counts(&send_to);
            let most = send_to.iter().chain(&ghosts_from).copied().max().unwrap_or(0) as usize;
            let (sent, ghosts) = (send_to.iter().sum::<u32>(), ghosts_from.iter().sum::<u32>());
            (multi_rank.halo.sent, multi_rank.halo.ghosts) = (sent, ghosts);
            multi_rank.halo.arrivals = Starts::of(&ghosts_from);
            (multi_rank.send_to, multi_rank.ghosts_from) = (send_to, ghosts_from);
            let need = Need {
                particles: count,
                ghosts: ghosts as usize,
                sent: sent as usize,
                segment: most * record,
            };
            if !self.grow(&need)? {
                return Ok(moved);
            }
            moved = true;
        }
    }

    /// Tells the neighbors where their particles' ghosts lie here, and learns where those of its own do.
    fn tell_places(&mut self) -> Result<(), EngineError> {
        let halo = &self.stepper.halo;
        let (sent, ghosts) = (halo.sent, halo.ghosts);
        self.over(ghosts, self.stepper.kernels.pack_places, ())?;
        let Lengths { outgoing, incoming } = self.lengths(size_of::<u32>());
        self.exchange(&Lengths { outgoing: incoming, incoming: outgoing }, None)?;
        let half = self.stepper.half;
        self.over(sent, self.stepper.kernels.take_places, (half,))
    }

    /// Lengths of messages of one record for each ghost.
    pub(super) fn lengths(&self, record: usize) -> Lengths {
        let bytes = |counts: &[u32]| counts.iter().map(|&n| n as usize * record).collect();
        let multi_rank = &self.stepper;
        Lengths { outgoing: bytes(&multi_rank.send_to), incoming: bytes(&multi_rank.ghosts_from) }
    }

    /// Places the ghosts that have come, and builds lists of all particles; those that are too short are made anew.
    /// `moved`: the cells are new.
    fn build_lists(&mut self, moved: bool) -> Result<(), EngineError> {
        let mut recount = u32::from(moved);
        loop {
            let half = self.stepper.half;
            self.on_all_blocks(self.stepper.kernels.build_with_ghosts, (recount, half))?;
            self.state.clear_barrier()?;
            self.read_control()?;
            if self.state.control.status != status::LISTS_FULL {
                return Ok(());
            }
            self.lengthen_lists()?;
            self.make_room_for_bins()?;
            self.state.write_control()?;
            recount = 1;
        }
    }

    /// Has all ranks take more memory where one needs it; returns whether one did. Collective.
    fn grow(&mut self, need: &Need) -> Result<bool, EngineError> {
        let multi_rank = &self.stepper;
        let capacity = multi_rank.capacity;
        let too_small = need.particles > capacity.places.particles
            || need.ghosts > capacity.places.ghosts
            || need.sent > capacity.sent;
        let segment = if need.segment > multi_rank.messages.segment { need.segment } else { 0 };
        let [grow, segment] = multi_rank.domain.largest([u64::from(too_small), segment as u64]);
        if grow == 0 && segment == 0 {
            return Ok(false);
        }
        let enough = |need: usize, capacity: usize| {
            if need > capacity { (need as f64 * GROWTH) as usize } else { capacity }
        };
        self.disconnect()?;
        if too_small {
            let places = Capacity {
                particles: enough(need.particles, capacity.places.particles),
                ghosts: enough(need.ghosts, capacity.places.ghosts),
            };
            self.grow_places(places, enough(need.sent, capacity.sent))?;
        }
        let session = self.device.session().clone();
        if segment > 0 {
            let multi_rank = &mut self.stepper;
            let neighbors = multi_rank.send_to.len();
            let segment = (segment as f64 * GROWTH) as usize;
            multi_rank.messages = Messages::new(&session, neighbors, segment)?;
        }
        self.connect()?;
        Ok(true)
    }

    /// Makes room for ghosts of other cells than before.
    fn make_room_for_bins(&mut self) -> Result<(), EngineError> {
        let bins = self.neighbor_list.bins();
        let multi_rank = &mut self.stepper;
        if bins <= multi_rank.capacity.bins {
            return Ok(());
        }
        multi_rank.capacity.bins = bins;
        multi_rank.buffers.make_room_for_bins(self.device.session(), bins, &mut multi_rank.halo)?;
        self.set_halo()
    }

    /// Moves everything into larger memory.
    fn grow_places(&mut self, places: Capacity, sent: usize) -> Result<(), EngineError> {
        tracing::debug!("room for {places:?}, {sent} sent");
        self.state.grow(places)?;
        self.neighbor_list.grow(places)?;
        self.set_system()?;
        let tiles = self.neighbor_list.tiles(places.particles);
        let capacity = HaloCapacity { places, sent, bins: self.neighbor_list.bins(), tiles };
        let halo_buffers =
            HaloBuffers::new(self.device.session(), self.state.element_sizes(), capacity)?;
        let multi_rank = &mut self.stepper;
        halo_buffers.take_from(&multi_rank.buffers)?;
        halo_buffers.describe(capacity, &mut multi_rank.halo);
        (multi_rank.buffers, multi_rank.capacity) = (halo_buffers, capacity);
        self.set_halo()
    }
}
