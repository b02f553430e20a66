//! Replica exchange in temperature, also called parallel tempering (Hukushima & Nemoto, J. Phys. Soc. Jpn. 65, 1604 (1996);
//! for molecular dynamics Sugita & Okamoto, Chem. Phys. Lett. 314, 141 (1999)).
//!
//! A ladder is a system at each of several temperatures. At some steps neighbors i and j in temperature are exchanged with the
//! probability `min(1, exp((1/T_i - 1/T_j) (U_i - U_j)))`. Outside a system is what has a temperature; which replica it is
//! changes. Within, replicas stay in the engines that they are in, with their random numbers, and it is temperatures that are
//! exchanged: velocities are multiplied by `(T_new / T_old)^(1/2)`, so that momenta keep their distribution and potential
//! energies alone decide, and thermostats get their new temperature. The links of a Nose-Hoover chain have masses in
//! proportion to the temperature, so that the distribution of their velocities is the same at all, and stay as they are.
//!
//! Energies are sums that have the same bits everywhere in `fixed-point`, and random numbers are keyed by the first replica's
//! seed, the step and the pair: so are the exchanges.
mod correlator;

use serde::{Deserialize, Serialize};

use super::{
    Correlator, EngineError, EngineReport, Ensemble, ExactState, PendingSnapshot, PendingState,
    StageContext, Thermodynamics,
};
use crate::arithmetic::elementary::ln_f64;
use crate::arithmetic::random::{Purpose, uniform};
use crate::plan::Plan;

/// What an ensemble of replicas remembers, and a checkpoint of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchanges {
    /// Which replica each system is.
    pub replica_of: Vec<usize>,
    /// By system; what is added to the conserved energy per particle of its replica, so that that of the system continues when
    /// it becomes another one.
    booked: Vec<f64>,
    pub counts: Counts,
    /// By replica, since the start of the stage.
    ways: Vec<Way>,
}

/// Since the start of a stage, in all ladders.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// By pair of neighboring temperatures: how often an exchange was decided on.
    pub attempts: Vec<u64>,
    /// How often the replicas were exchanged.
    pub acceptances: Vec<u64>,
    /// By replica: ways from the first temperature to the last and back.
    pub round_trips: Vec<u64>,
}

/// Which end of the ladder a replica was at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Way {
    /// Not yet at the first temperature.
    #[default]
    Before,
    /// At the first temperature last.
    FromFirst,
    /// At the last one, after the first.
    Back,
}

impl Exchanges {
    fn new(systems: usize, temperatures: usize) -> Self {
        Exchanges {
            replica_of: (0..systems).collect(),
            booked: vec![0.0; systems],
            counts: Counts::new(systems, temperatures),
            ways: vec![Way::default(); systems],
        }
    }

    /// Whether it is that of a number of systems at a number of temperatures.
    pub fn fits(&self, systems: usize, temperatures: usize) -> bool {
        let mut replicas = self.replica_of.clone();
        replicas.sort_unstable();
        let Counts { attempts, acceptances, round_trips } = &self.counts;
        replicas.into_iter().eq(0..systems)
            && [self.booked.len(), self.ways.len(), round_trips.len()] == [systems; 3]
            && [attempts.len(), acceptances.len()] == [temperatures - 1; 2]
    }

    /// What is of each system, as of each replica.
    pub fn by_replica<T>(&self, of_systems: Vec<T>) -> Vec<T> {
        let mut of_replicas: Vec<(usize, T)> =
            self.replica_of.iter().copied().zip(of_systems).collect();
        of_replicas.sort_by_key(|(replica, _)| *replica);
        of_replicas.into_iter().map(|(_, item)| item).collect()
    }

    /// What is of each replica, as of each system.
    fn by_system<T>(&self, of_replicas: Vec<T>) -> Vec<T> {
        let mut left: Vec<Option<T>> = of_replicas.into_iter().map(Some).collect();
        let taken = self.replica_of.iter().map(|&replica| left[replica].take());
        taken.map(|item| item.expect("every replica is one system")).collect()
    }

    /// Notes which replicas are at the ends of their ladders.
    fn note_ends(&mut self, samples: usize) {
        let systems = self.replica_of.len();
        for &replica in &self.replica_of[..samples] {
            if self.ways[replica] == Way::Back {
                self.counts.round_trips[replica] += 1;
            }
            self.ways[replica] = Way::FromFirst;
        }
        for &replica in &self.replica_of[systems - samples..] {
            if self.ways[replica] == Way::FromFirst {
                self.ways[replica] = Way::Back;
            }
        }
    }
}

impl Counts {
    /// Acceptances over attempts, by pair; NaN without attempts.
    pub fn ratios(&self) -> Vec<f64> {
        let counts = self.acceptances.iter().zip(&self.attempts);
        counts.map(|(&accepted, &attempts)| accepted as f64 / attempts as f64).collect()
    }

    fn new(systems: usize, temperatures: usize) -> Self {
        let pairs = vec![0; temperatures - 1];
        Counts { attempts: pairs.clone(), acceptances: pairs, round_trips: vec![0; systems] }
    }
}

/// Temperatures, and when they are exchanged.
#[derive(Clone, Debug)]
struct Ladder {
    temperatures: Vec<f64>,
    /// Ladders; systems of each temperature, which lie one after the other.
    samples: usize,
    /// Steps between exchanges.
    every: u64,
    /// Of random numbers: that of the first replica.
    seed: u64,
    /// Of a system.
    particles: usize,
}

impl Ladder {
    fn temperature(&self, system: usize) -> f64 {
        self.temperatures[system / self.samples]
    }

    /// The first ones of the pairs of neighbors at the `number`-th exchange of a stage, counted from 1: the first and the second
    /// temperature, the third and the fourth, ...; at the next exchange the second and the third, ... Of two temperatures always
    /// both.
    fn pairs(&self, number: u64) -> impl Iterator<Item = usize> {
        let pairs = self.temperatures.len() - 1;
        let first = if pairs == 1 || !number.is_multiple_of(2) { 0 } else { 1 };
        (first..pairs).step_by(2)
    }

    /// Whether two systems are exchanged that follow each other in temperature; `energies` are their potential energies.
    fn accepts(&self, pair: usize, ladder: usize, energies: [f64; 2], step: u64) -> bool {
        let (one, other) = (self.temperatures[pair], self.temperatures[pair + 1]);
        let exponent = (1.0 / one - 1.0 / other) * (energies[0] - energies[1]);
        let id = (ladder * (self.temperatures.len() - 1) + pair) as u32;
        exponent >= 0.0 || ln_f64(uniform(self.seed, id, step, Purpose::ReplicaExchange)) < exponent
    }
}

/// Systems that exchange their temperatures, around an ensemble that knows nothing of it. What it has as its systems are the
/// replicas.
pub struct Replicas {
    replicas: Box<dyn Ensemble>,
    ladder: Ladder,
    /// Of each system.
    stage: Vec<StageContext>,
    /// Whether the stage has exchanges.
    is_exchanging: bool,
    state: Exchanges,
}

impl Replicas {
    /// The ensemble of a plan: `replicas`, or, where these are exchanged, what exchanges them. They hold the states of the
    /// replicas, which at first are the systems; `state` is that of a checkpoint.
    pub fn around(
        replicas: Box<dyn Ensemble>,
        plan: &Plan,
        state: Option<Exchanges>,
    ) -> Box<dyn Ensemble> {
        let Some(ensemble) = &plan.ensemble else { return replicas };
        let Some(every) = ensemble.exchange_every else { return replicas };
        let ladder = Ladder {
            temperatures: ensemble.temperatures.clone(),
            samples: ensemble.samples,
            every,
            seed: plan.of_system(0).system.random_key(),
            particles: plan.system.particle_count(),
        };
        Box::new(Self::new(replicas, ladder, state))
    }

    fn new(replicas: Box<dyn Ensemble>, ladder: Ladder, state: Option<Exchanges>) -> Self {
        let (systems, temperatures) = (replicas.systems(), ladder.temperatures.len());
        let state = state.unwrap_or_else(|| Exchanges::new(systems, temperatures));
        assert!(state.fits(systems, temperatures), "the checkpoint is of these systems");
        let stage = vec![StageContext::none(replicas.step()); systems];
        Replicas { replicas, ladder, stage, is_exchanging: false, state }
    }

    /// Whether each system of the stage has a thermostat at its temperature throughout.
    fn stage_exchanges(&self) -> bool {
        self.stage.iter().enumerate().all(|(system, stage)| {
            let temperature = self.ladder.temperature(system);
            stage.thermostat.is_some_and(|thermostat| {
                [thermostat.temperature.from, thermostat.temperature.to] == [temperature; 2]
            })
        })
    }

    fn enter_stage(&mut self) -> Result<(), EngineError> {
        let of_replicas = self.state.by_replica(self.stage.clone());
        let begun = self.replicas.begin_stage(&of_replicas);
        self.of_systems(begun)
    }

    /// An error that says in which replica it was met says the system instead.
    fn of_systems<T>(&self, result: Result<T, EngineError>) -> Result<T, EngineError> {
        result.map_err(|error| match error {
            EngineError::OfSystem { system: replica, error, help } => {
                let at = self.state.replica_of.iter().position(|&of| of == replica);
                EngineError::OfSystem { system: at.unwrap_or(replica), error, help }
            }
            error => error,
        })
    }

    /// Decides on the exchanges of the present step.
    fn exchange(&mut self) -> Result<(), EngineError> {
        let Ladder { samples, every, particles, .. } = self.ladder;
        let step = self.step();
        let before = self.thermodynamics()?;
        let energy = |system: usize| before[system].potential_energy * particles as f64;
        let mut factors = vec![1.0; before.len()];
        let mut is_changed = false;
        for pair in self.ladder.pairs((step - self.stage[0].first_step) / every) {
            for ladder in 0..samples {
                let systems = [pair, pair + 1].map(|temperature| temperature * samples + ladder);
                self.state.counts.attempts[pair] += 1;
                if !self.ladder.accepts(pair, ladder, systems.map(energy), step) {
                    continue;
                }
                self.state.counts.acceptances[pair] += 1;
                let [one, other] = systems.map(|system| self.ladder.temperature(system));
                factors[systems[0]] = (one / other).sqrt();
                factors[systems[1]] = (other / one).sqrt();
                self.state.replica_of.swap(systems[0], systems[1]);
                is_changed = true;
            }
        }
        self.state.note_ends(samples);
        if !is_changed {
            return Ok(());
        }
        self.scale_velocities(&factors)?;
        self.enter_stage()?;
        // The heat of scaled velocities is booked, but not what a chain gains, and the other replica has another past.
        let after = self.thermodynamics()?;
        for (booked, (before, after)) in self.state.booked.iter_mut().zip(before.iter().zip(after))
        {
            *booked += before.conserved_energy - after.conserved_energy;
        }
        Ok(())
    }
}

impl Ensemble for Replicas {
    fn systems(&self) -> usize {
        self.replicas.systems()
    }

    fn step(&self) -> u64 {
        self.replicas.step()
    }

    fn begin_stage(&mut self, stages: &[StageContext]) -> Result<(), EngineError> {
        self.stage = stages.to_vec();
        self.is_exchanging = self.stage_exchanges();
        if self.step() == stages[0].first_step {
            let (systems, temperatures) = (self.systems(), self.ladder.temperatures.len());
            self.state.counts = Counts::new(systems, temperatures);
            self.state.ways = vec![Way::default(); systems];
            self.state.note_ends(self.ladder.samples);
        }
        self.enter_stage()
    }

    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        let (first, every) = (self.stage[0].first_step, self.ladder.every);
        let mut left = steps;
        while left > 0 {
            let to_exchange = every - (self.step() - first) % every;
            let part = if self.is_exchanging { left.min(to_exchange) } else { left };
            let advanced = self.replicas.advance(part);
            self.of_systems(advanced)?;
            left -= part;
            if self.is_exchanging && part == to_exchange {
                self.exchange()?;
            }
        }
        Ok(())
    }

    fn thermodynamics(&mut self) -> Result<Vec<Thermodynamics>, EngineError> {
        let measured = self.replicas.thermodynamics();
        let mut rows = self.state.by_system(self.of_systems(measured)?);
        for (row, booked) in rows.iter_mut().zip(&self.state.booked) {
            row.conserved_energy += booked;
        }
        Ok(rows)
    }

    fn begin_snapshots(&mut self) -> Result<Vec<PendingSnapshot>, EngineError> {
        Ok(self.state.by_system(self.replicas.begin_snapshots()?))
    }

    fn begin_exports(&mut self) -> Result<Vec<PendingState>, EngineError> {
        Ok(self.state.by_system(self.replicas.begin_exports()?))
    }

    fn export(&self, system: usize) -> Result<ExactState, EngineError> {
        self.replicas.export(self.state.replica_of[system])
    }

    fn draw_velocities(&mut self, temperatures: &[Option<f64>]) -> Result<(), EngineError> {
        let drawn = self.replicas.draw_velocities(&self.state.by_replica(temperatures.to_vec()));
        self.of_systems(drawn)
    }

    fn scale_velocities(&mut self, factors: &[f64]) -> Result<(), EngineError> {
        let scaled = self.replicas.scale_velocities(&self.state.by_replica(factors.to_vec()));
        self.of_systems(scaled)
    }

    /// None in a stage with exchanges: samples that an engine takes by itself would be those of a replica.
    fn correlator(&mut self) -> Option<&mut dyn Correlator> {
        let has_one = !self.is_exchanging && self.replicas.correlator().is_some();
        if has_one { Some(self) } else { None }
    }

    fn report(&self) -> EngineReport {
        self.replicas.report()
    }

    fn exchanges(&self) -> Option<&Exchanges> {
        Some(&self.state)
    }
}

#[cfg(test)]
mod tests;
