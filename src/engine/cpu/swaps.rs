//! Swap Monte Carlo on this processor, one trial after the other.
use rayon::prelude::*;

use super::chunk::CHUNK;
use super::engine::CpuEngine;
use super::force_term::Exchange;
use super::gather::DIAMETER;
use super::kernels::build_list;
use super::neighbors::{ListOf, NeighborList, Reach};
use super::processor::Processor;
use super::stepper::SingleRank;
use crate::arithmetic::Real;
use crate::engine::cells::WHOLE;
use crate::engine::domain::Start;
use crate::engine::precision::{Policy, in_precision};
use crate::engine::swaps::{SwapRound, SwapTrials};
use crate::engine::{EngineError, ExactState, skin};
use crate::plan::Plan;

/// Widens the reach of lists beyond what rounding of distances may take.
const MARGIN: f64 = 1.0 + 1e-5;

/// What trials do to a state of a plan, which no engine of this processor holds.
pub fn take_trials(
    processor: &Processor,
    plan: &Plan,
    state: &ExactState,
    trials: &SwapTrials,
) -> SwapRound {
    in_precision!(plan.run.precision, |P| {
        let (start, skin) = (Start::of_state(plan, state), skin::around_present_sites(plan));
        let processor = processor.clone();
        let mut engine = CpuEngine::<P>::empty(plan, &start, skin, processor, WHOLE, SingleRank);
        engine.load(state, None);
        engine.parallel(|engine| engine.take_trials(trials))
    })
}

impl<P: Policy> CpuEngine<P> {
    /// Takes the trials, and makes lists and forces anew.
    pub(super) fn swap(&mut self, trials: &SwapTrials) -> Result<(), EngineError> {
        let round = self.take_trials(trials);
        self.state.take_round(&round);
        round.count_in(&mut self.thermostat);
        self.rebuild_in_step();
        self.compute_forces(false, &|_| true)
    }

    /// Takes the trials, with exchanges in the sites alone. Neither lists nor forces need be there.
    fn take_trials(&mut self, trials: &SwapTrials) -> SwapRound {
        let lists = self.lists_of_all_within_reach();
        let count = self.state.count();
        let mut place_of = vec![0; count];
        let ids = self.state.chunks.iter().flat_map(|chunk| &chunk.id);
        ids.enumerate().for_each(|(place, &id)| place_of[id as usize] = place);
        let mut species: Vec<u8> =
            self.state.chunks.iter().flat_map(|chunk| &chunk.species).copied().collect();
        let kinds = self.state.species().len();
        let neighbors_of = |place: usize| -> Vec<u32> {
            let list = &lists[place / CHUNK];
            (0..kinds).flat_map(|kind| list.segment(place % CHUNK, kind, kinds)).copied().collect()
        };
        let mut round = SwapRound::default();
        let mut had_by: Vec<u32> = (0..count as u32).collect();
        for number in 0..trials.count {
            let trial = trials.trial(number, count as u32);
            let ids = trial.particles.map(|id| id as usize);
            let places = ids.map(|id| place_of[id]);
            if !trials.may_exchange(places.map(|place| species[place])) {
                continue;
            }
            round.trials += 1;
            if ids[0] == ids[1] {
                continue;
            }
            let change = self.force_field.change_by_exchange(
                self.state.policy(),
                &Exchange {
                    sites: &self.state.sites,
                    species: &species,
                    places,
                    neighbors: places.map(neighbors_of),
                },
            );
            if let Some(change) = change
                && trials.accepts(&trial, change)
            {
                round.accepted += 1;
                round.change += change;
                had_by.swap(ids[0], ids[1]);
                let [a, b] = places;
                species.swap(a, b);
                let (one, other) = (self.state.sites[a][DIAMETER], self.state.sites[b][DIAMETER]);
                (self.state.sites[a][DIAMETER], self.state.sites[b][DIAMETER]) = (other, one);
            }
        }
        let moved = (0..).zip(had_by).filter(|(id, from)| id != from);
        round.exchanged = moved.map(|(id, from)| [id, from]).collect();
        round
    }

    /// Lists of all pairs that interact with any diameters and species, by chunk.
    fn lists_of_all_within_reach(&self) -> Vec<NeighborList> {
        let farthest = self.plan.potential.largest_cutoff() * MARGIN;
        let kinds = self.state.species().len();
        let reach = Reach {
            squares: vec![vec![P::Real::from_f64(farthest * farthest); kinds]; kinds],
            of_diameters: None,
            skin: P::Real::ZERO,
        };
        let sorted = self.neighbor_lists.sorted(&self.state, &self.state.sites, (&[], &[]));
        let (set, grid) = (self.processor.instruction_set(), self.neighbor_lists.grid());
        let (policy, sites) = (self.state.policy(), &self.state.sites);
        let list_of = |(index, species)| {
            let mut list = NeighborList::default();
            let of = ListOf { first: index * CHUNK, species, sites };
            build_list(set, &mut list, &of, policy, grid, &sorted, &reach);
            list
        };
        let chunks = self.state.chunks.par_iter().enumerate();
        chunks.map(|(index, chunk)| list_of((index, &chunk.species[..]))).collect()
    }
}
