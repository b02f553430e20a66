//! A domain and its halo: what a rank sends to its neighbors and holds of theirs, and what all agree on.
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use rayon::prelude::*;

use super::communicator::sum_exactly;
use super::schedule::RebuildSchedule;
use super::{Communicator, DomainGrid, GpuMessage, Message, Start};
use crate::engine::EngineError;
use crate::engine::precision::{ExactSum, Policy};
use crate::system::SimulationBox;

/// What a rank knows of the others, and what it has to tell them.
pub struct Domain {
    communicator: Arc<dyn Communicator>,
    grid: DomainGrid,
    rank: usize,
    /// Particles of all ranks.
    pub total: usize,
    /// Cutoff and skin; and the distance up to which others' particles are ghosts.
    reach_of_lists: f64,
    reach: f64,
    /// Places in memory of the particles that each neighbor has as ghosts.
    sent: Vec<Vec<u32>>,
    /// With the neighbors, in their order.
    messages: Vec<Message>,
    /// Ids and species of this rank's ghosts.
    pub ghost_id: Vec<u32>,
    pub ghost_species: Vec<u8>,

    pub schedule: RebuildSchedule,
    /// First step since the last verification at which a particle had moved further than the lists allow.
    needs_rebuild: Option<u64>,
    /// The first error here, and its step.
    fault: Option<(u64, EngineError)>,
    /// Heat that a thermostat gave to this rank's particles, in the order of its half steps.
    pub heat: Vec<ExactSum>,
    waited: AtomicI64,
}

/// What all ranks agree on after some steps.
pub struct Verdict {
    /// First step at which a particle had moved too far.
    pub needs_rebuild: Option<u64>,
    /// First error, and its step.
    pub fault: Option<(u64, EngineError)>,
    /// Squared displacement of the furthest particle since the lists were built.
    pub moved2: f64,
}

/// Share of the reach, and of an edge, by which ghosts may be further away, for rounding.
const MARGIN: f64 = 1e-5;
const EDGE_MARGIN: f64 = 1e-6;

fn reach_of_ghosts(reach: f64, simulation_box: &SimulationBox) -> f64 {
    let longest = simulation_box.edges().iter().copied().fold(0.0, f64::max);
    reach * (1.0 + MARGIN) + longest * EDGE_MARGIN
}

impl Domain {
    /// `reach`: cutoff and skin. Lists are built at the step of the start.
    ///
    /// # Errors
    /// If the box is too small for this number of ranks.
    pub fn new(
        communicator: Arc<dyn Communicator>,
        start: &Start,
        total: usize,
        reach: f64,
    ) -> Result<Self, EngineError> {
        let (simulation_box, step) = (&start.simulation_box, start.step);
        let ranks = communicator.size();
        let grid = DomainGrid::for_tilts(start.takes_tilts, simulation_box, ranks, reach)?;
        let rank = communicator.rank();
        let neighbors = grid.neighbors(rank);
        Ok(Domain {
            sent: vec![Vec::new(); neighbors.len()],
            messages: neighbors
                .into_iter()
                .map(|rank| Message { rank, ..Message::default() })
                .collect(),
            rank,
            grid,
            communicator,
            total,
            reach_of_lists: reach,
            reach: reach_of_ghosts(reach, simulation_box),
            ghost_id: Vec::new(),
            ghost_species: Vec::new(),
            schedule: RebuildSchedule::built(step),
            needs_rebuild: None,
            fault: None,
            heat: Vec::new(),
            waited: AtomicI64::new(0),
        })
    }

    /// Takes the same domains, as fractions of the edges, in the box of a step; ghosts are still to be chosen.
    ///
    /// # Errors
    /// If the domains are too small there, which all ranks find.
    pub fn set_box(
        &mut self,
        simulation_box: &SimulationBox,
        step: u64,
    ) -> Result<(), EngineError> {
        let reach = self.reach_of_lists;
        let grid = self.grid.in_box(simulation_box, reach);
        self.grid = grid.ok_or_else(|| EngineError::SmallDomains {
            step,
            edges: simulation_box.edges().to_vec(),
            domains: self.grid.count()[..simulation_box.dimension()].to_vec(),
            reach,
        })?;
        self.reach = reach_of_ghosts(self.reach_of_lists, simulation_box);
        Ok(())
    }

    pub fn grid(&self) -> &DomainGrid {
        &self.grid
    }

    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Nanoseconds in which this rank has waited for others.
    pub fn waited(&self) -> i64 {
        self.waited.load(Ordering::Relaxed)
    }

    fn waiting<T>(&self, work: impl FnOnce(&dyn Communicator) -> T) -> T {
        let start = Instant::now();
        let result = work(self.communicator.as_ref());
        self.waited.fetch_add(start.elapsed().as_nanos() as i64, Ordering::Relaxed);
        result
    }

    /// Square of the distance from a domain within which others' particles are its ghosts.
    pub fn reach2(&self) -> f64 {
        self.reach * self.reach
    }

    pub fn communicator(&self) -> &dyn Communicator {
        self.communicator.as_ref()
    }

    /// Exchanges messages of known lengths.
    pub fn exchange(&self, messages: &mut [Message]) {
        self.waiting(|ranks| ranks.exchange(messages, &mut || {}));
    }

    /// Exchanges messages in the memory of GPUs.
    pub fn exchange_on_gpus(&self, messages: &[GpuMessage]) {
        self.waiting(|ranks| ranks.exchange_on_gpus(messages));
    }

    /// Tells each neighbor a number, and returns what they tell.
    pub fn swap_counts(&self, counts: &[u32]) -> Vec<u32> {
        let mut messages: Vec<Message> = self
            .neighbors()
            .zip(counts)
            .map(|(rank, count)| Message {
                rank,
                outgoing: count.to_le_bytes().to_vec(),
                incoming: vec![0; 4],
            })
            .collect();
        self.exchange(&mut messages);
        let count = |message: &Message| {
            u32::from_le_bytes(message.incoming[..].try_into().expect("4 bytes"))
        };
        messages.iter().map(count).collect()
    }

    /// Largest values of all ranks, element by element.
    pub fn largest<const K: usize>(&self, values: [u64; K]) -> [u64; K] {
        let mut inverted = values.map(|value| u64::MAX - value);
        self.waiting(|ranks| ranks.minimum(&mut inverted));
        inverted.map(|value| u64::MAX - value)
    }

    /// Hands bytes to neighboring ranks, and returns what they hand over. `bytes_for` has one entry for each, in
    /// order.
    pub fn hand_over(&mut self, bytes_for: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        for (message, bytes) in self.messages.iter_mut().zip(bytes_for) {
            message.outgoing = bytes;
        }
        let mut messages = std::mem::take(&mut self.messages);
        self.waiting(|ranks| ranks.exchange_any(&mut messages));
        self.messages = messages;
        self.messages.iter_mut().map(|message| std::mem::take(&mut message.incoming)).collect()
    }

    pub fn neighbors(&self) -> impl Iterator<Item = usize> + '_ {
        self.messages.iter().map(|message| message.rank)
    }

    /// Largest of a number on all ranks, `here` on this one, unless one has met an error.
    ///
    /// # Errors
    /// That of the lowest rank that has one.
    pub fn largest_unless_fault(&mut self, here: u32) -> Result<u32, EngineError> {
        let fault = self.fault.as_ref().map_or(u64::MAX, |(step, _)| *step);
        let mut values = [fault, u64::MAX - u64::from(here)];
        self.waiting(|ranks| ranks.minimum(&mut values));
        self.unless_fault(values[0])?;
        Ok((u64::MAX - values[1]) as u32)
    }

    /// # Errors
    /// That of the lowest rank that has one at `step`, on which all have agreed.
    pub fn unless_fault(&self, step: u64) -> Result<(), EngineError> {
        self.agreed_fault(step).map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Whether every other rank is a neighbor.
    pub fn all_are_neighbors(&self) -> bool {
        self.neighbors().count() + 1 == self.grid.total()
    }

    /// Chooses the particles that neighbors need as ghosts, by their positions in the box of a slope
    /// ([`DomainGrid::distance2`]), and takes theirs: their sites are appended to `sites`. `describe` tells id and species at
    /// a place in memory.
    pub fn choose_ghosts<P: Policy, const STRIDE: usize>(
        &mut self,
        positions: &[[f64; 3]],
        slope: f64,
        describe: impl Fn(u32) -> (u32, u8) + Sync,
        sites: &mut Vec<[P::Site; STRIDE]>,
    ) {
        let (grid, reach2) = (&self.grid, self.reach * self.reach);
        let neighbors: Vec<usize> = self.neighbors().collect();
        self.sent = neighbors
            .par_iter()
            .map(|&neighbor| {
                let near = |position| grid.distance2(neighbor, position, slope) < reach2;
                let all = positions.iter().enumerate();
                all.filter(|(_, position)| near(**position)).map(|(i, _)| i as u32).collect()
            })
            .collect();
        let bytes_for = self
            .sent
            .iter()
            .map(|sent| {
                let mut bytes = Vec::with_capacity(sent.len() * (5 + 3 * size_of::<P::Site>()));
                for &place in sent {
                    let (id, species) = describe(place);
                    bytes.extend(id.to_le_bytes());
                    bytes.push(species);
                    put_site::<P, STRIDE>(&mut bytes, &sites[place as usize]);
                }
                bytes
            })
            .collect();
        let received = self.hand_over(bytes_for);
        self.ghost_id.clear();
        self.ghost_species.clear();
        for (message, bytes) in self.messages.iter_mut().zip(&received) {
            let ghosts = bytes.chunks_exact(5 + 3 * size_of::<P::Site>());
            message.incoming = vec![0; 3 * size_of::<P::Site>() * ghosts.len()];
            for ghost in ghosts {
                let (id, rest) = ghost.split_first_chunk::<4>().expect("a ghost's bytes");
                self.ghost_id.push(u32::from_le_bytes(*id));
                self.ghost_species.push(rest[0]);
                sites.push(read_site::<P, STRIDE>(&rest[1..]));
            }
        }
    }

    /// Exchanges the sites of ghosts, which stand after the `own` ones, and does `meanwhile` while they travel.
    pub fn exchange_sites<P: Policy, const STRIDE: usize>(
        &mut self,
        sites: &mut Vec<[P::Site; STRIDE]>,
        own: usize,
        mut meanwhile: impl FnMut(&Vec<[P::Site; STRIDE]>),
    ) {
        for (message, sent) in self.messages.iter_mut().zip(&self.sent) {
            message.outgoing.clear();
            for &place in sent {
                put_site::<P, STRIDE>(&mut message.outgoing, &sites[place as usize]);
            }
        }
        let start = Instant::now();
        let mut worked = std::time::Duration::ZERO;
        self.communicator.exchange(&mut self.messages, &mut || {
            let start = Instant::now();
            meanwhile(sites);
            worked = start.elapsed();
        });
        let waited = start.elapsed().saturating_sub(worked).as_nanos() as i64;
        self.waited.fetch_add(waited, Ordering::Relaxed);
        let mut ghosts = sites[own..].iter_mut();
        for message in &self.messages {
            let bytes = message.incoming.chunks_exact(3 * size_of::<P::Site>());
            for (bytes, ghost) in bytes.zip(&mut ghosts) {
                let site = read_site::<P, STRIDE>(bytes);
                ghost[..3].copy_from_slice(&site[..3]);
            }
        }
    }

    /// Sums over all particles, or an error that names a particle whose term did not fit.
    pub fn combine<const K: usize>(
        &self,
        sums: Result<[ExactSum; K], u32>,
    ) -> Result<[ExactSum; K], u32> {
        let mut values = vec![0i128; K + 1];
        match &sums {
            Ok(sums) => {
                values.iter_mut().zip(sums).for_each(|(value, sum)| *value = sum.to_units());
            }
            // Errors are rare: that there is one, and then which.
            Err(_) => values[K] = 1,
        }
        self.waiting(|ranks| sum_exactly(ranks, &mut values));
        if values[K] > 0 {
            let mut particle = [sums.err().map_or(u64::MAX, u64::from)];
            self.waiting(|ranks| ranks.minimum(&mut particle));
            return Err(particle[0] as u32);
        }
        Ok(std::array::from_fn(|k| ExactSum::from_units(values[k])))
    }

    /// Sums of integers over ranks.
    pub fn sum_units<const K: usize>(&self, mut values: [i128; K]) -> [i128; K] {
        self.waiting(|ranks| sum_exactly(ranks, &mut values));
        values
    }

    /// What each rank has made by itself, or the error of one that could not. Collective.
    pub fn all_or_none<T>(
        &mut self,
        step: u64,
        made: Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let made = match made {
            Ok(made) => Some(made),
            Err(error) => {
                self.note_fault(step, error);
                None
            }
        };
        match self.verify(0.0).fault {
            Some((_, error)) => Err(error),
            None => Ok(made.expect("no rank has an error")),
        }
    }

    /// Keeps an error of this rank until all verify; only the first counts.
    pub fn note_fault(&mut self, step: u64, error: EngineError) {
        self.fault.get_or_insert((step, error));
    }

    pub fn note_needs_rebuild(&mut self, step: u64) {
        self.needs_rebuild.get_or_insert(step);
    }

    /// The lists are made anew in any case.
    pub fn clear_needs_rebuild(&mut self) {
        self.needs_rebuild = None;
    }

    /// Forgets what was noted after a step.
    pub fn forget_after(&mut self, step: u64) {
        self.needs_rebuild = None;
        self.fault.take_if(|(noted, _)| *noted > step);
    }

    /// What all ranks say to the steps since the last time. `moved2`: of this rank's furthest particle.
    pub fn verify(&mut self, moved2: f64) -> Verdict {
        let fault = self.fault.as_ref().map_or(u64::MAX, |(step, _)| *step);
        let needs_rebuild = self.needs_rebuild.unwrap_or(u64::MAX);
        // Bits of floats above zero are in the order of the numbers.
        let mut values = [needs_rebuild, fault, u64::MAX - moved2.max(0.0).to_bits()];
        self.waiting(|ranks| ranks.minimum(&mut values));
        let [needs_rebuild, fault, moved2] = values;
        self.verdict(needs_rebuild, fault, f64::from_bits(u64::MAX - moved2))
    }

    /// The same where the ranks have agreed by other ways: on the first step at which a particle had moved too far, that of
    /// the first error (each the largest number if there is none), and the squared displacement of the furthest particle.
    pub fn verdict(&mut self, needs_rebuild: u64, fault: u64, moved2: f64) -> Verdict {
        let needs_rebuild = (needs_rebuild != u64::MAX).then_some(needs_rebuild);
        let fault = if needs_rebuild.is_some_and(|needs_rebuild| needs_rebuild <= fault) {
            // The steps are taken again, and may go well then.
            None
        } else {
            self.agreed_fault(fault)
        };
        Verdict { needs_rebuild, fault, moved2 }
    }

    /// The error of the lowest rank that has one at `step`.
    fn agreed_fault(&self, step: u64) -> Option<(u64, EngineError)> {
        if step == u64::MAX {
            return None;
        }
        let mine = self.fault.as_ref().filter(|(noted, _)| *noted == step);
        let mut rank = [if mine.is_some() { self.rank as u64 } else { u64::MAX }];
        self.waiting(|ranks| ranks.minimum(&mut rank));
        let rank = rank[0] as usize;
        let mut words = match mine {
            Some((_, error)) if rank == self.rank => {
                let help = miette::Diagnostic::help(error).map(|help| help.to_string());
                serde_json::to_vec(&(error.to_string(), help)).expect("words")
            }
            _ => Vec::new(),
        };
        self.waiting(|ranks| ranks.broadcast(rank, &mut words));
        let (message, help): (String, Option<String>) =
            serde_json::from_slice(&words).unwrap_or_default();
        Some((step, EngineError::OnRank { rank, message, help: help.unwrap_or_default() }))
    }

    /// Heat of the whole system, half step by half step, since the last time.
    pub fn take_heat(&mut self) -> Vec<f64> {
        let mut units: Vec<i128> = self.heat.drain(..).map(ExactSum::to_units).collect();
        if !units.is_empty() {
            self.waiting(|ranks| sum_exactly(ranks, &mut units));
        }
        units.into_iter().map(|units| ExactSum::from_units(units).value()).collect()
    }
}

/// Appends the components of a site, four or eight bytes each.
#[inline(always)]
fn put_site<P: Policy, const STRIDE: usize>(bytes: &mut Vec<u8>, site: &[P::Site; STRIDE]) {
    for axis in 0..3 {
        let bits = P::site_to_bits(site[axis]).to_le_bytes();
        bytes.extend(&bits[..size_of::<P::Site>()]);
    }
}

#[inline(always)]
fn read_site<P: Policy, const STRIDE: usize>(bytes: &[u8]) -> [P::Site; STRIDE] {
    let mut site = [P::Site::default(); STRIDE];
    for (site, component) in site.iter_mut().zip(bytes.chunks_exact(size_of::<P::Site>())) {
        let mut bits = [0; 8];
        bits[..component.len()].copy_from_slice(component);
        *site = P::site_from_bits(u64::from_le_bytes(bits));
    }
    site
}
