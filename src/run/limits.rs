//! Bounds on what a sound run does: beyond one, it warns or ends.
use std::path::Path;

use super::RunError;
use crate::engine::Thermodynamics;
use crate::observable::CrystallinityAndDemixing;
use crate::plan::{LimitAction, LimitsPlan};

/// Watches the samples of one stage. Each warning comes once.
pub struct Limits {
    plan: LimitsPlan,
    said: Vec<&'static str>,
}

/// Where a sample was taken, for the message.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub step: u64,
    pub stage: &'a str,
    /// The file with the time series, if there is one.
    pub file: Option<&'a Path>,
    /// Of many systems.
    pub system: Option<usize>,
}

impl Limits {
    pub fn new(plan: LimitsPlan) -> Self {
        Limits { plan, said: Vec::new() }
    }

    /// `drift` is the change of the energy per particle since the start of a stage without a thermostat.
    pub fn check_row(
        &mut self,
        place: Place,
        row: &Thermodynamics,
        drift: Option<f64>,
    ) -> Result<(), RunError> {
        let LimitsPlan { energy_drift, center_of_mass_velocity, temperature, .. } = self.plan;
        let [x, y, z] = row.center_of_mass_velocity;
        let velocity = (x * x + y * y + z * z).sqrt();
        if let Some(drift) = drift {
            let what = "the energy per particle changed by";
            self.check(place, "energy_drift", what, drift, energy_drift)?;
        }
        let what = "the centre of mass moves with velocity";
        self.check(place, "center_of_mass_velocity", what, velocity, center_of_mass_velocity)?;
        self.check(place, "temperature", "the temperature is", row.temperature, temperature)
    }

    /// `order` is the global bond-orientational order.
    pub fn check_order(&mut self, place: Place, order: f64) -> Result<(), RunError> {
        let what = "the system crystallises: its bond-orientational order is";
        self.check(place, "bond_order", what, order, self.plan.bond_order)
    }

    pub fn check_local_order(
        &mut self,
        place: Place,
        order: &CrystallinityAndDemixing,
    ) -> Result<(), RunError> {
        let LimitsPlan { crystallinity, demixing, .. } = self.plan;
        let what = "the system crystallises: its crystallinity is";
        self.check(place, "crystallinity", what, order.crystallinity, crystallinity)?;
        let Some(found) = order.demixing else { return Ok(()) };
        let what = "the system demixes: the variance of the mean diameter or species of neighbors, over a random one, is";
        self.check(place, "demixing", what, found, demixing)
    }

    fn check(
        &mut self,
        place: Place,
        key: &'static str,
        what: &'static str,
        value: f64,
        bound: Option<f64>,
    ) -> Result<(), RunError> {
        let Some(bound) = bound else { return Ok(()) };
        // What is NaN is beyond any bound.
        if value.abs() <= bound || self.said.contains(&key) {
            return Ok(());
        }
        let Place { step, stage, file, system } = place;
        let (stage, file) = (stage.to_owned(), file.map(Path::to_owned));
        let error = RunError::Beyond { key, what, value, bound, step, stage, file, system };
        match self.plan.action {
            LimitAction::Stop => Err(error),
            LimitAction::Warn => {
                tracing::warn!("{error}");
                self.said.push(key);
                Ok(())
            }
        }
    }
}
