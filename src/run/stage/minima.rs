//! Inherent structures of several systems.
use crate::engine::{self, CancelToken, EngineError, InherentStructure, Minimizers};
use crate::plan::{InherentStructuresPlan, Plan};
use crate::system::{SimulationBox, Snapshot};

/// Searches for inherent structures below states of a plan.
pub struct Searches {
    minimizers: Box<dyn Minimizers>,
    simulation_box: SimulationBox,
    force_tolerance: f64,
}

impl Searches {
    /// # Errors
    /// As [`engine::minimizers`].
    pub fn new(plan: &Plan, settings: &InherentStructuresPlan) -> Result<Self, EngineError> {
        Ok(Searches {
            minimizers: engine::minimizers(plan, settings, plan.systems())?,
            simulation_box: plan.system.simulation_box,
            force_tolerance: settings.force_tolerance,
        })
    }

    /// In another box from now on.
    pub fn set_box(&mut self, simulation_box: SimulationBox) {
        self.simulation_box = simulation_box;
    }

    /// They end when this says so.
    pub fn cancel_when(&mut self, cancel: CancelToken) {
        self.minimizers.cancel_when(cancel);
    }

    /// Of these systems, in their order; says so where forces are left that the tolerance does not allow. `number`: of a system
    /// where there are many; `key`: what the configuration says of the descent.
    ///
    /// # Errors
    /// As [`Minimizers::descend`].
    pub fn minima(
        &mut self,
        (stage, key): (&str, &str),
        systems: &[(Option<usize>, &Snapshot)],
    ) -> Result<Vec<InherentStructure>, EngineError> {
        let snapshots: Vec<&Snapshot> = systems.iter().map(|(_, snapshot)| *snapshot).collect();
        let all = engine::minima(self.minimizers.as_mut(), self.simulation_box, &snapshots)?;
        for ((number, snapshot), found) in systems.iter().zip(&all) {
            if found.residual_force < self.force_tolerance {
                continue;
            }
            let of = number.map_or_else(String::new, |number| format!(", system {number}"));
            tracing::warn!(
                "stage \"{stage}\", step {}{of}: forces of up to {:.1e} are left in the inherent structure after {} \
                 iterations ({key})",
                snapshot.step,
                found.residual_force,
                found.iterations
            );
        }
        Ok(all)
    }
}
