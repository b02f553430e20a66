//! Orders of rank 0, and the other ranks, which carry them out.
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::create::rank_engine;
use super::{Communicator, Part, RankEngine, Start, Threads};
use crate::engine::StageContext;
use crate::engine::ensemble::Ensemble;
use crate::engine::shares::{self, ShareOrder};
use crate::engine::swaps::SwapRound;
use crate::plan::Plan;

/// What all ranks are to do.
#[derive(Serialize, Deserialize)]
pub(in crate::engine) enum Order {
    /// Make an engine of this plan; particles follow.
    Create(Box<Plan>, Start),
    /// Make the engines of a share of the systems of this plan; their states follow.
    CreateShare(Box<Plan>),
    OfShare(ShareOrder),
    BeginStage(StageContext),
    Advance(u64),
    /// Take over what a round of trials has done.
    TakeSwaps(SwapRound),
    Thermodynamics,
    PairSums,
    CountVolumeTrial(Option<f64>),
    /// Send rank 0 all particles.
    Parts,
    Forces,
    DrawVelocities(f64, bool),
    ScaleVelocities(f64),
    ReverseVelocities,
    Times,
    Quit,
}

/// The ranks that a run has, as rank 0 sees them; by default it is alone. When the last copy is dropped the other
/// ranks are dismissed.
#[derive(Clone, Default)]
pub struct Ranks(Option<Arc<Leader>>);

struct Leader(Arc<dyn Communicator>);

impl Ranks {
    /// # Panics
    /// On a rank that is not the first.
    pub fn led_by(communicator: Arc<dyn Communicator>) -> Self {
        assert_eq!(communicator.rank(), 0, "rank 0 leads");
        Ranks((communicator.size() > 1).then(|| Arc::new(Leader(communicator))))
    }

    pub fn count(&self) -> usize {
        self.0.as_ref().map_or(1, |leader| leader.0.size())
    }

    /// `None`: rank 0 is alone.
    pub(in crate::engine) fn communicator(&self) -> Option<&Arc<dyn Communicator>> {
        self.0.as_ref().map(|leader| &leader.0)
    }

    /// Gives all ranks an order.
    pub(in crate::engine) fn order(&self, order: &Order) {
        if let Some(leader) = &self.0 {
            leader.order(order);
        }
    }
}

impl fmt::Debug for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ranks({})", self.count())
    }
}

impl Leader {
    fn order(&self, order: &Order) {
        let mut bytes = serde_json::to_vec(order).expect("an order is plain data");
        self.0.broadcast(0, &mut bytes);
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The others may wait for a message that never comes.
            self.0.abort();
        } else {
            self.order(&Order::Quit);
        }
    }
}

/// What a rank but the first has.
enum Held {
    Nothing,
    /// A domain of one system.
    Domain(Box<dyn RankEngine>),
    /// Whole systems.
    Systems(Box<dyn Ensemble>),
}

/// What a rank but the first does: it carries out orders until it is dismissed. What fails is rank 0's to report: all
/// ranks agree on errors.
pub fn serve(communicator: &Arc<dyn Communicator>) {
    let mut held = Held::Nothing;
    loop {
        let mut bytes = Vec::new();
        communicator.broadcast(0, &mut bytes);
        let order: Order = serde_json::from_slice(&bytes).expect("an order of rank 0");
        match (order, &mut held) {
            (Order::Quit, _) => return,
            (Order::Create(plan, start), held) => {
                // What it held goes first.
                *held = Held::Nothing;
                let part = Part::from_bytes(&communicator.receive(0));
                let made = rank_engine(&plan, &start, &part, Arc::clone(communicator));
                *held = made.map_or(Held::Nothing, Held::Domain);
            }
            (Order::CreateShare(plan), held) => {
                *held = Held::Nothing;
                let made = shares::create(&plan, communicator.as_ref());
                *held = made.map_or(Held::Nothing, Held::Systems);
            }
            (Order::OfShare(order), Held::Systems(systems)) => {
                shares::obey(order, systems.as_mut(), communicator.as_ref());
            }
            (order, Held::Domain(engine)) => obey(&order, engine.as_mut(), communicator.as_ref()),
            _ => unreachable!("orders for an engine that could not be made"),
        }
    }
}

fn obey(order: &Order, engine: &mut dyn RankEngine, communicator: &dyn Communicator) {
    match order {
        Order::Create(..) | Order::CreateShare(_) | Order::OfShare(_) | Order::Quit => {
            unreachable!("not for an engine")
        }
        Order::BeginStage(stage) => drop(engine.begin_stage(stage)),
        Order::Advance(steps) => drop(engine.advance(*steps)),
        Order::TakeSwaps(round) => drop(engine.take_swaps(round)),
        Order::Thermodynamics => drop(engine.thermodynamics()),
        Order::PairSums => drop(engine.pair_sums()),
        Order::CountVolumeTrial(accepted) => engine.count_volume_trial(*accepted),
        // An error has ended all ranks.
        Order::Parts => communicator.send(0, &engine.part().unwrap_or_default().to_bytes()),
        Order::Forces => {
            let bytes: Vec<u8> = engine
                .part_forces()
                .unwrap_or_default()
                .as_flattened()
                .iter()
                .flat_map(|component| component.to_le_bytes())
                .collect();
            communicator.send(0, &bytes);
        }
        Order::DrawVelocities(temperature, exactly) => {
            drop(engine.draw_velocities(*temperature, *exactly));
        }
        Order::ScaleVelocities(factor) => drop(engine.scale_velocities(*factor)),
        Order::ReverseVelocities => drop(engine.reverse_velocities()),
        Order::Times => communicator.sum(&mut engine.nanoseconds()),
    }
}

/// Runs `work` as rank 0 of `count` ranks that are threads of this process: for tests, and to see what several ranks
/// do where there is no MPI.
///
/// # Panics
/// If a rank does.
pub fn on_threads<T>(count: usize, work: impl FnOnce(Ranks) -> T) -> T {
    let mut communicators = Threads::ranks(count).into_iter();
    let first = communicators.next().expect("at least one rank");
    let others: Vec<_> = communicators
        .map(|communicator| {
            let communicator: Arc<dyn Communicator> = Arc::new(communicator);
            std::thread::spawn(move || serve(&communicator))
        })
        .collect();
    let result = work(Ranks::led_by(Arc::new(first)));
    for other in others {
        other.join().expect("a rank has panicked");
    }
    result
}
