//! Time correlations that the engines of all ranks evaluate.
use serde::{Deserialize, Serialize};

use super::obey::answer;
use super::sent::Sent;
use super::{ShareOrder, SharedSystems};
use crate::engine::ensemble::Ensemble;
use crate::engine::{Correlator, EngineError, OfSystems, Pending};
use crate::observable::dynamics::evaluation::{Evaluated, Offloaded};
use crate::observable::dynamics::sampled::HeldSamples;

/// A verb of [`Correlator`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum CorrelatorOrder {
    Begin,
    Evaluated,
    Flush,
    Held,
    Finish,
}

/// Carries out an order on a rank; gives its answer.
pub fn obey(order: CorrelatorOrder, correlator: &mut dyn Correlator, needs: &[u8]) -> Vec<u8> {
    match order {
        CorrelatorOrder::Begin => answer(correlator.begin(<Vec<_>>::from_bytes(needs))),
        CorrelatorOrder::Evaluated => {
            let evaluated = correlator.evaluated().into_iter();
            answer(
                evaluated.map(|(index, of)| Ok((index, of.wait()?))).collect::<Result<Vec<_>, _>>(),
            )
        }
        CorrelatorOrder::Flush => answer(correlator.flush()),
        CorrelatorOrder::Held => answer(correlator.held()),
        CorrelatorOrder::Finish => answer(correlator.finish()),
    }
}

/// What a rank has evaluated, with the indices of the correlations and its own numbers of systems.
type EvaluatedThere = Vec<(usize, OfSystems<Evaluated>)>;

fn of_own(systems: &mut dyn Ensemble) -> &mut dyn Correlator {
    systems.correlator().expect("it was there when this was handed out")
}

impl SharedSystems {
    fn each_correlator(
        &mut self,
        order: CorrelatorOrder,
        own: impl FnOnce(&mut dyn Correlator) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let own = |systems: &mut dyn Ensemble, ()| own(of_own(systems));
        self.each::<_, _, ()>(ShareOrder::Correlator(order), |_| (), own).map(drop)
    }
}

impl Correlator for SharedSystems {
    fn begin(&mut self, correlations: Vec<Vec<Offloaded>>) -> Result<(), EngineError> {
        let order = ShareOrder::Correlator(CorrelatorOrder::Begin);
        let begin = |systems: &mut dyn Ensemble, of: Vec<Vec<Offloaded>>| of_own(systems).begin(of);
        self.each::<_, _, ()>(order, |share| correlations[share.clone()].to_vec(), begin).map(drop)
    }

    fn evaluated(&mut self) -> Vec<(usize, Pending<OfSystems<Evaluated>>)> {
        let order = ShareOrder::Correlator(CorrelatorOrder::Evaluated);
        let own = |systems: &mut dyn Ensemble, ()| Ok(of_own(systems).evaluated());
        let found = self.each::<_, _, EvaluatedThere>(order, |_| (), own);
        let (mut all, others) = match found {
            Ok(found) => found,
            // Who waits for it meets the error.
            Err(error) => return vec![(0, Pending::new(move || Err(error)))],
        };
        for (share, of_rank) in self.shares[1..].iter().zip(others) {
            let first = share.start;
            let numbered = |of: OfSystems<Evaluated>| {
                of.into_iter().map(|(system, of)| (first + system, of)).collect()
            };
            all.extend(
                of_rank.into_iter().map(|(index, of)| (index, Pending::ready(numbered(of)))),
            );
        }
        all
    }

    fn flush(&mut self) -> Result<(), EngineError> {
        self.each_correlator(CorrelatorOrder::Flush, |correlator| correlator.flush())
    }

    fn held(&mut self) -> Result<Vec<Vec<Option<HeldSamples>>>, EngineError> {
        let order = ShareOrder::Correlator(CorrelatorOrder::Held);
        self.of_systems(order, |_| (), |systems, ()| of_own(systems).held())
    }

    fn finish(&mut self) -> Result<(), EngineError> {
        self.each_correlator(CorrelatorOrder::Finish, |correlator| correlator.finish())
    }
}
