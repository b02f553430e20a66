use serde::{Deserialize, Serialize};

use super::{Plan, Ramp};

impl Plan {
    /// Whether each system of an ensemble begins a stage in a box of its own: after a barostat, up to the end of a stage that gives all
    /// of them one box.
    pub fn begins_in_own_boxes(&self, stage: usize) -> bool {
        let last =
            self.stages[..stage].iter().rfind(|of| of.barostat.is_some() || of.rescale.is_some());
        self.ensemble.is_some() && last.is_some_and(|of| of.barostat.is_some())
    }

    /// Whether each system of an ensemble has a box of its own in a stage.
    pub fn has_own_boxes(&self, stage: usize) -> bool {
        let has_barostat = self.ensemble.is_some() && self.stages[stage].barostat.is_some();
        has_barostat || self.begins_in_own_boxes(stage)
    }

    /// Whether the box moves with a piston in a stage.
    pub fn has_piston(&self) -> bool {
        self.pistons().is_some()
    }

    /// Which edges of the box pistons move together in all stages that have some; `None`: no stage has.
    pub fn pistons(&self) -> Option<Coupling> {
        let barostats = self.stages.iter().filter_map(|stage| stage.barostat);
        let mut couplings =
            barostats.filter(|of| of.kind == BarostatKind::Mtk).map(|of| of.coupling);
        let first = couplings.next()?;
        let by_axis = |coupling| coupling == Coupling::Anisotropic;
        Some(if couplings.any(by_axis) { Coupling::Anisotropic } else { first })
    }

    /// Name of the stage whose barostat has left each system in a box of its own, in a stage.
    pub fn own_boxes_since(&self, stage: usize) -> Option<&str> {
        let mut before = self.stages[..stage].iter();
        let last = before.rfind(|of| of.barostat.is_some());
        last.filter(|_| self.begins_in_own_boxes(stage)).map(|of| &*of.name)
    }
}

fn is_zero(length: &usize) -> bool {
    *length == 0
}

/// What keeps the pressure: stochastic cell rescaling in trials between steps (`crate::engine::barostat`), or a piston
/// (`crate::integrator::Piston`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BarostatPlan {
    pub kind: BarostatKind,
    pub pressure: Ramp,
    /// Relaxation time of the volume, if the liquid has this compressibility; of a piston that of its motion.
    pub time: f64,
    pub compressibility: f64,
    /// Steps between two trials.
    pub every: u64,
    pub coupling: Coupling,
    /// Of `Mtk`: links of the chain of the piston. `compressibility` and `every` are of the other kind.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub chain_length: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BarostatKind {
    /// Stochastic cell rescaling (Bernetti & Bussi 2020).
    CellRescaling,
    /// Martyna, Tuckerman, Tobias & Klein (1996): a piston with a chain of thermostats.
    Mtk,
}

/// Which edges of the box change together.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Coupling {
    /// All of them: the box keeps its shape.
    #[default]
    Isotropic,
    /// Each by itself, for crystals and glasses: nothing keeps the shape of the box of a liquid.
    Anisotropic,
}
