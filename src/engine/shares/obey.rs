//! What a rank but the first does with its share of the systems.
use std::time::Instant;

use miette::Diagnostic;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Machine;
use super::correlator::{self, CorrelatorOrder};
use super::sent::{Sent, sent_enum};
use crate::engine::create::create_systems;
use crate::engine::domain::Communicator;
use crate::engine::ensemble::Ensemble;
use crate::engine::{EngineError, ExactState, Pending};
use crate::plan::Plan;

/// A verb of [`Ensemble`] for the systems of each rank; what each needs for it follows.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum ShareOrder {
    BeginStage,
    Advance,
    Thermodynamics,
    Snapshots,
    Exports,
    /// For one rank, the number of the system there; nothing follows.
    Export {
        rank: usize,
        system: usize,
    },
    DrawVelocities,
    ScaleVelocities,
    Correlator(CorrelatorOrder),
}

/// Time that a rank has taken for steps.
pub type Nanoseconds = u64;

/// Takes steps, and the time.
pub fn timed(systems: &mut dyn Ensemble, steps: u64) -> Result<Nanoseconds, EngineError> {
    let start = Instant::now();
    systems.advance(steps)?;
    Ok(start.elapsed().as_nanos() as Nanoseconds)
}

/// A rank's share of the systems of a plan, of which rank 0 sends the states. Collective.
pub fn create(plan: &Plan, communicator: &dyn Communicator) -> Option<Box<dyn Ensemble>> {
    let (first, states) = <(usize, Vec<ExactState>)>::from_bytes(&communicator.receive(0));
    let made = Machine::of_rank(plan, communicator)
        .and_then(|machine| create_systems(plan, first, states, machine));
    let (systems, made) = match made {
        Ok(systems) => (Some(systems), Ok(())),
        Err(error) => (None, Err(error)),
    };
    communicator.send(0, &answer(made));
    systems
}

/// Carries out an order, and sends rank 0 what came of it.
pub fn obey(order: ShareOrder, systems: &mut dyn Ensemble, communicator: &dyn Communicator) {
    if let ShareOrder::Export { rank, system } = order {
        if rank == communicator.rank() {
            communicator.send(0, &answer(systems.export(system)));
        }
        return;
    }
    let needs = communicator.receive(0);
    let answer = match order {
        ShareOrder::BeginStage => answer(systems.begin_stage(&<Vec<_>>::from_bytes(&needs))),
        ShareOrder::Advance => answer(timed(systems, u64::from_bytes(&needs))),
        ShareOrder::Thermodynamics => answer(systems.thermodynamics()),
        ShareOrder::Snapshots => answer(systems.begin_snapshots().and_then(as_bytes)),
        ShareOrder::Exports => answer(systems.begin_exports().and_then(as_bytes)),
        ShareOrder::Export { .. } => unreachable!("nothing follows it"),
        ShareOrder::DrawVelocities => {
            answer(systems.draw_velocities(&<Vec<_>>::from_bytes(&needs)))
        }
        ShareOrder::ScaleVelocities => {
            answer(systems.scale_velocities(&<Vec<_>>::from_bytes(&needs)))
        }
        ShareOrder::Correlator(order) => {
            let correlator = systems.correlator().expect("engines as those of rank 0");
            correlator::obey(order, correlator, &needs)
        }
    };
    communicator.send(0, &answer);
}

/// What the other thread of rank 0 reads, one after the other.
fn as_bytes<T: Sent + Send>(pending: Vec<Pending<T>>) -> Result<Vec<Vec<u8>>, EngineError> {
    pending.into_par_iter().map(|one| Ok(one.wait()?.to_bytes())).collect()
}

pub(super) fn answer<T: Sent>(result: Result<T, EngineError>) -> Vec<u8> {
    result.map_err(Failure::of).to_bytes()
}

/// An error of a rank, in words.
#[derive(Debug, PartialEq)]
pub(super) enum Failure {
    OfGpu(Lost),
    /// Number of the system there.
    OfSystem(usize, Words),
    Else(Words),
}

/// As of [`EngineError::GpuLost`].
#[derive(Debug, PartialEq)]
pub(super) struct Lost {
    pub what: String,
    pub message: String,
}

#[derive(Debug, PartialEq)]
pub(super) struct Words {
    pub message: String,
    pub help: String,
}

sent_enum!(Failure { 0 => OfGpu(lost), 1 => OfSystem(system, words), 2 => Else(words) });

impl Failure {
    fn of(error: EngineError) -> Self {
        let help = error.help().map_or_else(String::new, |help| help.to_string());
        // A system that is alone in its share has no number yet.
        match error.of_system(0) {
            EngineError::GpuLost { what, message } => Failure::OfGpu(Lost { what, message }),
            EngineError::OfSystem { system, error, .. } => {
                Failure::OfSystem(system, Words { message: error.to_string(), help })
            }
            error => Failure::Else(Words { message: error.to_string(), help }),
        }
    }

    /// As rank 0 has it; `first`: number of the first system of the rank.
    pub fn on_rank(self, rank: usize, first: usize) -> EngineError {
        let of_rank = |Words { message, help }| EngineError::OnRank { rank, message, help };
        match self {
            Failure::OfGpu(Lost { what, message }) => {
                EngineError::GpuLost { what, message: format!("{message}, on rank {rank}") }
            }
            Failure::OfSystem(system, words) => {
                let help = words.help.clone();
                let error = Box::new(of_rank(words));
                EngineError::OfSystem { system: first + system, error, help }
            }
            Failure::Else(words) => of_rank(words),
        }
    }
}
