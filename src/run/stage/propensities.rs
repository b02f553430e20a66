//! Propensities of a stage, and the descents to inherent structures that they need.
use super::arrays::{load_arrays, save_arrays};
use super::files::StageFiles;
use super::minima::Searches;
use super::observables::{sample_context, unfit};
use crate::engine::CancelToken;
use crate::observable::propensity::Propensities;
use crate::output::Checkpoint;
use crate::plan::{Plan, StagePlan, States};
use crate::run::RunError;
use crate::system::Snapshot;

/// Their name in checkpoints.
const NAME: &str = "propensity";

pub struct StagePropensities {
    stage: String,
    propensities: Propensities,
    searches: Option<Searches>,
}

impl StagePropensities {
    /// `None` for a stage without.
    pub fn new(plan: &Plan, stage: &StagePlan) -> Result<Option<Self>, RunError> {
        let (Some(of), Some(ensemble)) = (&stage.propensity, &plan.ensemble) else {
            return Ok(None);
        };
        let searches = match &of.inherent {
            Some(settings) => Some(Searches::new(plan, settings)?),
            None => None,
        };
        let propensities = Propensities::new(of, ensemble, sample_context(plan, stage));
        Ok(Some(StagePropensities { stage: stage.name.clone(), propensities, searches }))
    }

    /// Descents end when this says so.
    pub fn cancel_when(&mut self, cancel: CancelToken) {
        if let Some(searches) = &mut self.searches {
            searches.cancel_when(cancel);
        }
    }

    /// Goes on as a checkpoint knows them.
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), RunError> {
        let (_, arrays) = load_arrays(checkpoint, NAME)?;
        Ok(self.propensities.restore(&arrays).map_err(unfit)?)
    }

    /// Puts them into a checkpoint.
    pub fn save(&self, checkpoint: &mut Checkpoint) -> Result<(), RunError> {
        Ok(save_arrays(checkpoint, NAME, self.propensities.save())?)
    }

    /// Gives the positions that displacements count from to the files.
    pub fn tell_positions(&self, files: &mut StageFiles) {
        let positions = |states| self.propensities.initial_positions(states);
        files.start_propensities_from([States::Thermal, States::Inherent].map(positions));
    }

    /// Takes the snapshots of all systems after a step of the stage, if they are due.
    pub fn sample(
        &mut self,
        step: u64,
        snapshots: &[Snapshot],
        files: &mut StageFiles,
    ) -> Result<(), RunError> {
        if step == 0 {
            // Those of one configuration have the same positions.
            let firsts: Vec<usize> = self.propensities.firsts().collect();
            let inherent = self.minima(firsts.into_iter(), snapshots)?;
            self.propensities.start(snapshots, &inherent);
            self.tell_positions(files);
            return Ok(());
        }
        if !self.propensities.is_due(step) {
            return Ok(());
        }
        let inherent = self.minima(0..snapshots.len(), snapshots)?;
        if let Some(row) = self.propensities.sample(step, snapshots, &inherent) {
            files.append_propensities(row, snapshots[0].step)?;
        }
        Ok(())
    }

    /// Inherent structures of some systems; none where they are not wanted.
    fn minima(
        &mut self,
        systems: impl Iterator<Item = usize>,
        snapshots: &[Snapshot],
    ) -> Result<Vec<Snapshot>, RunError> {
        let Some(searches) = &mut self.searches else { return Ok(Vec::new()) };
        let place = (&self.stage[..], "propensity.inherent");
        let systems: Vec<_> = systems.map(|system| (Some(system), &snapshots[system])).collect();
        let found = searches.minima(place, &systems)?;
        Ok(found.into_iter().map(|found| found.snapshot).collect())
    }
}
