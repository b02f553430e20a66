//! Time correlations in stages without exchanges: those of a replica belong to the system that it is.
use super::Replicas;
use crate::engine::{Correlator, EngineError, OfSystems, Pending};
use crate::observable::dynamics::evaluation::{Evaluated, Offloaded};
use crate::observable::dynamics::sampled::HeldSamples;

impl Replicas {
    fn of_replicas(&mut self) -> &mut dyn Correlator {
        self.replicas.correlator().expect("it was there when this was handed out")
    }

    /// Which system each replica is.
    fn system_of(&self) -> Vec<usize> {
        self.state.by_replica((0..self.state.replica_of.len()).collect())
    }
}

impl Correlator for Replicas {
    fn begin(&mut self, correlations: Vec<Vec<Offloaded>>) -> Result<(), EngineError> {
        let of_replicas = self.state.by_replica(correlations);
        let begun = self.of_replicas().begin(of_replicas);
        self.of_systems(begun)
    }

    fn evaluated(&mut self) -> Vec<(usize, Pending<OfSystems<Evaluated>>)> {
        let system_of = self.system_of();
        let of_systems = |pending: Pending<OfSystems<Evaluated>>| {
            let system_of = system_of.clone();
            pending.map(move |of_replicas| {
                let of_systems = of_replicas.into_iter();
                let mut of_systems: OfSystems<Evaluated> =
                    of_systems.map(|(replica, of)| (system_of[replica], of)).collect();
                of_systems.sort_by_key(|(system, _)| *system);
                of_systems
            })
        };
        let evaluated = self.of_replicas().evaluated().into_iter();
        evaluated.map(|(correlation, pending)| (correlation, of_systems(pending))).collect()
    }

    fn flush(&mut self) -> Result<(), EngineError> {
        let flushed = self.of_replicas().flush();
        self.of_systems(flushed)
    }

    fn held(&mut self) -> Result<Vec<Vec<Option<HeldSamples>>>, EngineError> {
        let held = self.of_replicas().held()?;
        Ok(self.state.by_system(held))
    }

    fn finish(&mut self) -> Result<(), EngineError> {
        let finished = self.of_replicas().finish();
        self.of_systems(finished)
    }
}
