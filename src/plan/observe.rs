//! What a stage writes of its states.
use serde::{Deserialize, Serialize};

use super::{BondOrderPlan, InherentStructuresPlan, LocalOrderPlan, StructurePlan};

/// Intervals in steps; `None`: not written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservePlan {
    pub thermodynamics: Option<u64>,
    pub trajectory: Option<u64>,
    /// Frames this number of steps after each of the trajectory's, too, and 2, 4, 8, ... times as many, up to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trajectory_doubling_from: Option<u64>,
    /// Frames these numbers of steps after each of the trajectory's, too: ascending, below its interval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trajectory_offsets: Vec<u64>,
    /// Frames of the trajectory after these steps, too: ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trajectory_at: Vec<u64>,
    /// Write the trajectory as GSD too.
    pub gsd: bool,
    pub structure: Option<StructurePlan>,
    pub bond_order: Option<BondOrderPlan>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_order: Option<LocalOrderPlan>,
    pub inherent_structures: Option<InherentStructuresPlan>,
    /// They are taken after these steps, ascending, and not at their interval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inherent_at: Vec<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configurational_temperature: Option<u64>,
}

impl ObservePlan {
    /// Whether there is a trajectory.
    pub fn has_trajectory(&self) -> bool {
        self.trajectory.is_some() || !self.trajectory_at.is_empty()
    }

    /// Whether the trajectory has a frame after a step of the stage.
    pub fn wants_frame(&self, step: u64) -> bool {
        self.wants_frame_by_interval(step) || self.trajectory_at.binary_search(&step).is_ok()
    }

    fn wants_frame_by_interval(&self, step: u64) -> bool {
        let Some(every) = self.trajectory else { return false };
        let behind = step % every;
        let doubled = |first| behind.is_multiple_of(first) && (behind / first).is_power_of_two();
        behind == 0
            || self.trajectory_doubling_from.is_some_and(doubled)
            || self.trajectory_offsets.binary_search(&behind).is_ok()
    }

    /// First step of a frame after `step`.
    pub fn next_frame(&self, step: u64) -> Option<u64> {
        let at_interval = self.trajectory.map(|every| (step / every + 1) * every);
        let listed = self.trajectory_at.iter().copied().find(|&listed| listed > step);
        let between = self.next_doubled(step).into_iter().chain(self.next_offset(step));
        at_interval.into_iter().chain(between).chain(listed).min()
    }

    /// First step after `step` of a frame between those at equal intervals.
    fn next_doubled(&self, step: u64) -> Option<u64> {
        let (every, first) = (self.trajectory?, self.trajectory_doubling_from?);
        let behind = step % every;
        let mut next = first;
        while next <= behind {
            next *= 2;
        }
        (next < every).then_some(step - behind + next)
    }

    fn next_offset(&self, step: u64) -> Option<u64> {
        let behind = step % self.trajectory?;
        let next = self.trajectory_offsets.iter().find(|&&offset| offset > behind)?;
        Some(step - behind + next)
    }

    /// Whether inherent structures are taken after a step of the stage.
    pub fn wants_minima(&self, step: u64) -> bool {
        match &self.inherent_structures {
            Some(_) if !self.inherent_at.is_empty() => {
                self.inherent_at.binary_search(&step).is_ok()
            }
            Some(settings) => step.is_multiple_of(settings.every),
            None => false,
        }
    }

    /// Interval of inherent structures, where they have one.
    pub fn inherent_every(&self) -> Option<u64> {
        let settings = self.inherent_structures.as_ref().filter(|_| self.inherent_at.is_empty());
        settings.map(|settings| settings.every)
    }

    /// Inherent structures of each system in a stage of this number of steps.
    pub fn minima(&self, steps: u64) -> u64 {
        self.inherent_every().map_or(self.inherent_at.len() as u64, |every| steps / every + 1)
    }

    /// Frames of the trajectory of a stage of this number of steps.
    pub fn frames(&self, steps: u64) -> u64 {
        let further =
            self.trajectory_at.iter().filter(|&&step| !self.wants_frame_by_interval(step));
        let further = further.count() as u64;
        let Some(every) = self.trajectory else { return further };
        // Times 1, 2, 4, ... of the first, up to some steps after a frame of the interval.
        let doubled =
            |first: u64, steps: u64| u64::from(u64::BITS - (steps / first).leading_zeros());
        let between = |steps: u64| {
            let listed = self.trajectory_offsets.iter().take_while(|&&offset| offset <= steps);
            self.trajectory_doubling_from.map_or(0, |first| doubled(first, steps))
                + listed.count() as u64
        };
        steps / every * (1 + between(every - 1)) + 1 + between(steps % every) + further
    }

    pub fn nothing() -> Self {
        ObservePlan {
            thermodynamics: None,
            trajectory: None,
            trajectory_doubling_from: None,
            trajectory_offsets: Vec::new(),
            trajectory_at: Vec::new(),
            gsd: false,
            structure: None,
            bond_order: None,
            local_order: None,
            inherent_structures: None,
            inherent_at: Vec::new(),
            configurational_temperature: None,
        }
    }
}
