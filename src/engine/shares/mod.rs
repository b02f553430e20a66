//! The systems of an ensemble on several ranks: each has whole systems, equal numbers of them as far as possible, one after the
//! other. A rank's share is an [`Ensemble`] of its own, on its GPUs or threads, with the bits of the same systems in one process.
//!
//! Rank 0 ([`SharedSystems`]) holds the run. Every verb is an order to all ranks; what a rank needs for its systems follows, and
//! it sends back what they give, as bytes ([`Sent`]). So rank 0 samples, exchanges, averages and writes as one process does, and
//! above it nothing knows of ranks. The others [`obey`] until the run ends.
mod correlator;
mod machine;
mod obey;
mod sent;

use std::ops::Range;
use std::time::Instant;

pub(super) use self::machine::Machine;
use self::obey::{Failure, Nanoseconds};
pub(super) use self::obey::{ShareOrder, create, obey};
use self::sent::Sent;
use super::create::create_systems;
use super::domain::{Communicator, Order, Ranks};
use super::ensemble::{Ensemble, parts};
use super::report::RanksReport;
use super::{
    Correlator, EngineError, EngineReport, ExactState, Pending, PendingSnapshot, PendingState,
    StageContext, Thermodynamics,
};
use crate::plan::{CheckpointPlan, Plan};

/// The systems of a run on several ranks, led by this one.
pub struct SharedSystems {
    ranks: Ranks,
    /// The systems of each rank.
    shares: Vec<Range<usize>>,
    own: Box<dyn Ensemble>,
    stepping: Stepping,
}

/// Nanoseconds of all ranks together, since the systems were handed out.
#[derive(Default)]
struct Stepping {
    all: u64,
    waiting: u64,
}

impl SharedSystems {
    /// Hands out the systems of a plan, which names the engine that all ranks take.
    ///
    /// # Errors
    /// If there are more ranks than systems, or a rank cannot have the engine.
    ///
    /// # Panics
    /// If rank 0 is alone.
    pub fn new(
        plan: &Plan,
        mut states: Vec<ExactState>,
        ranks: &Ranks,
    ) -> Result<Self, EngineError> {
        let (systems, count) = (states.len(), ranks.count());
        if systems < count {
            return Err(EngineError::MoreRanksThanSystems { ranks: count, systems });
        }
        let communicator = ranks.communicator().expect("several ranks").as_ref();
        let shares = parts(systems, count);
        // What engines do not read may hold infinities, which an order cannot.
        let checkpoint = CheckpointPlan { minutes: 0.0 };
        let of_engines = Plan { checkpoint, ..plan.clone() };
        ranks.order(&Order::CreateShare(Box::new(of_engines)));
        for (rank, share) in shares.iter().enumerate().skip(1) {
            let bytes = (share.start, states[share.clone()].to_vec()).to_bytes();
            communicator.send(rank, &bytes);
        }
        states.truncate(shares[0].end);
        let own = Machine::of_rank(plan, communicator)
            .and_then(|machine| create_systems(plan, 0, states, machine));
        let others = answers::<()>(communicator, &shares);
        let own = own.map_err(|error| error.of_system(0))?;
        others?;
        Ok(SharedSystems { ranks: ranks.clone(), shares, own, stepping: Stepping::default() })
    }

    fn communicator(&self) -> &dyn Communicator {
        self.ranks.communicator().expect("several ranks").as_ref()
    }

    /// Has an order carried out by all ranks, this one meanwhile: what it gives, and what the others have sent. `needs`: what
    /// each rank needs for its systems.
    fn each<N: Sent, U, T: Sent>(
        &mut self,
        order: ShareOrder,
        needs: impl Fn(&Range<usize>) -> N,
        own: impl FnOnce(&mut dyn Ensemble, N) -> Result<U, EngineError>,
    ) -> Result<(U, Vec<T>), EngineError> {
        self.ranks.order(&Order::OfShare(order));
        for (rank, share) in self.shares.iter().enumerate().skip(1) {
            self.communicator().send(rank, &needs(share).to_bytes());
        }
        let of_own = needs(&self.shares[0]);
        let own = own(self.own.as_mut(), of_own);
        // What was sent is taken in any case.
        let others = answers(self.communicator(), &self.shares);
        Ok((own.map_err(|error| error.of_system(0))?, others?))
    }

    /// The same where all give a list of what is of each system.
    fn of_systems<N: Sent, T: Sent>(
        &mut self,
        order: ShareOrder,
        needs: impl Fn(&Range<usize>) -> N,
        own: impl FnOnce(&mut dyn Ensemble, N) -> Result<Vec<T>, EngineError>,
    ) -> Result<Vec<T>, EngineError> {
        let (own, others): (_, Vec<Vec<T>>) = self.each(order, needs, own)?;
        Ok(std::iter::once(own).chain(others).flatten().collect())
    }

    /// The same of copies that were begun: those of other ranks have come as bytes, which another thread may read.
    fn pending<T: Sent + 'static>(
        &mut self,
        order: ShareOrder,
        own: impl FnOnce(&mut dyn Ensemble) -> Result<Vec<Pending<T>>, EngineError>,
    ) -> Result<Vec<Pending<T>>, EngineError> {
        let (mut all, others): (_, Vec<Vec<Vec<u8>>>) =
            self.each(order, |_| (), |systems, ()| own(systems))?;
        let read = |bytes: Vec<u8>| Pending::new(move || Ok(T::from_bytes(&bytes)));
        all.extend(others.into_iter().flatten().map(read));
        Ok(all)
    }

    /// The rank that has a system, and its number there.
    fn place_of(&self, system: usize) -> (usize, usize) {
        let rank = self.shares.partition_point(|share| share.end <= system);
        (rank, system - self.shares[rank].start)
    }
}

/// What all ranks but the first have sent in answer to an order.
fn answers<T: Sent>(
    communicator: &dyn Communicator,
    shares: &[Range<usize>],
) -> Result<Vec<T>, EngineError> {
    let others = 1..shares.len();
    let received: Vec<_> =
        others.map(|rank| answer(communicator, rank, shares[rank].start)).collect();
    received.into_iter().collect()
}

/// That of a rank whose first system has this number.
fn answer<T: Sent>(
    communicator: &dyn Communicator,
    rank: usize,
    first: usize,
) -> Result<T, EngineError> {
    let answer = Result::<T, Failure>::from_bytes(&communicator.receive(rank));
    answer.map_err(|failure| failure.on_rank(rank, first))
}

impl Ensemble for SharedSystems {
    fn systems(&self) -> usize {
        self.shares.last().expect("a share of each rank").end
    }

    fn step(&self) -> u64 {
        self.own.step()
    }

    fn begin_stage(&mut self, stages: &[StageContext]) -> Result<(), EngineError> {
        let of_share = |share: &Range<usize>| stages[share.clone()].to_vec();
        let begin = |systems: &mut dyn Ensemble, stages: Vec<_>| systems.begin_stage(&stages);
        self.each::<_, _, ()>(ShareOrder::BeginStage, of_share, begin).map(drop)
    }

    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        let start = Instant::now();
        let advance = |systems: &mut dyn Ensemble, steps| obey::timed(systems, steps);
        let (own, others): (_, Vec<Nanoseconds>) =
            self.each(ShareOrder::Advance, |_| steps, advance)?;
        let all = start.elapsed().as_nanos() as Nanoseconds * self.shares.len() as Nanoseconds;
        let taken = others.iter().fold(own, |sum, each| sum + each);
        self.stepping.all += all;
        self.stepping.waiting += all.saturating_sub(taken);
        Ok(())
    }

    fn thermodynamics(&mut self) -> Result<Vec<Thermodynamics>, EngineError> {
        let measure = |systems: &mut dyn Ensemble, ()| systems.thermodynamics();
        self.of_systems(ShareOrder::Thermodynamics, |_| (), measure)
    }

    fn begin_snapshots(&mut self) -> Result<Vec<PendingSnapshot>, EngineError> {
        self.pending(ShareOrder::Snapshots, |systems| systems.begin_snapshots())
    }

    fn begin_exports(&mut self) -> Result<Vec<PendingState>, EngineError> {
        self.pending(ShareOrder::Exports, |systems| systems.begin_exports())
    }

    fn export(&self, system: usize) -> Result<ExactState, EngineError> {
        let (rank, there) = self.place_of(system);
        if rank == 0 {
            return self.own.export(there).map_err(|error| error.of_system(system));
        }
        self.ranks.order(&Order::OfShare(ShareOrder::Export { rank, system: there }));
        answer(self.communicator(), rank, self.shares[rank].start)
    }

    fn draw_velocities(&mut self, temperatures: &[Option<f64>]) -> Result<(), EngineError> {
        let of_share = |share: &Range<usize>| temperatures[share.clone()].to_vec();
        let draw = |systems: &mut dyn Ensemble, of: Vec<_>| systems.draw_velocities(&of);
        self.each::<_, _, ()>(ShareOrder::DrawVelocities, of_share, draw).map(drop)
    }

    fn scale_velocities(&mut self, factors: &[f64]) -> Result<(), EngineError> {
        let of_share = |share: &Range<usize>| factors[share.clone()].to_vec();
        let scale = |systems: &mut dyn Ensemble, of: Vec<_>| systems.scale_velocities(&of);
        self.each::<_, _, ()>(ShareOrder::ScaleVelocities, of_share, scale).map(drop)
    }

    fn correlator(&mut self) -> Option<&mut dyn Correlator> {
        // All ranks have engines of one kind.
        if self.own.correlator().is_some() { Some(self) } else { None }
    }

    /// That of rank 0, with the ranks.
    fn report(&self) -> EngineReport {
        let mut report = self.own.report();
        let communication = self.communicator().name();
        report.hardware.ranks = Some(RanksReport { ranks: self.shares.len(), communication });
        let Stepping { all, waiting } = self.stepping;
        let share = if all > 0 { waiting as f64 / all as f64 } else { 0.0 };
        report.execution.communication_share = Some(share);
        report
    }
}
