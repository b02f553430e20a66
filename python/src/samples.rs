//! Thermodynamic samples of the steps of one system, as a run has them: for means that later stages are set to, and for `[limits]`.
use miette::miette;
use supercool::engine::Thermodynamics;
use supercool::plan::{Plan, StagePlan, TotalEnergy};
use supercool::run::limits::{Limits, Place};

/// Sums over the samples of a stage, without that of its start.
#[derive(Clone, Copy, Default)]
struct Sums {
    samples: u64,
    total_energy: f64,
    density: f64,
}

pub struct Samples {
    of_stages: Vec<Sums>,
    limits: Limits,
    /// The conserved energy with which a stage has begun, or went on after a change.
    conserved: f64,
}

impl Samples {
    pub fn new(plan: &Plan) -> Self {
        let of_stages = vec![Sums::default(); plan.stages.len()];
        Samples { of_stages, limits: Limits::new(plan.limits), conserved: f64::NAN }
    }

    /// Steps between samples in a stage, if there is any use of them.
    pub fn interval(plan: &Plan, stage: usize) -> Option<u64> {
        let of = &plan.stages[stage];
        let mean = TotalEnergy::MeanOf(of.name.clone());
        let is_wanted = plan.stages[stage..].iter().any(|later| {
            later.set_total_energy.as_ref() == Some(&mean)
                || later.rescale.is_some_and(|rescale| rescale.to_mean_of == Some(stage))
        });
        of.observe.thermodynamics.filter(|_| is_wanted || plan.limits.bounds_rows())
    }

    /// At the start of a stage.
    pub fn begin(&mut self, plan: &Plan, row: &Thermodynamics) {
        self.limits = Limits::new(plan.limits);
        self.go_on_from(row);
    }

    /// After a change from outside: energies are compared with the present one.
    pub fn go_on_from(&mut self, row: &Thermodynamics) {
        self.conserved = row.conserved_energy;
    }

    /// # Errors
    /// If a bound is exceeded at which the steps are to end.
    pub fn add(
        &mut self,
        plan: &Plan,
        stage: usize,
        step: u64,
        row: &Thermodynamics,
    ) -> miette::Result<()> {
        let sums = &mut self.of_stages[stage];
        sums.samples += 1;
        sums.total_energy += row.total_energy();
        sums.density += row.density();
        let of = &plan.stages[stage];
        let drift = of.conserves_energy().then_some(row.conserved_energy - self.conserved);
        let place = Place { step, stage: &of.name, file: None, system: None };
        Ok(self.limits.check_row(place, row, drift)?)
    }

    /// Per particle.
    pub fn mean_total_energy(
        &self,
        plan: &Plan,
        of: &StagePlan,
        name: &str,
    ) -> miette::Result<f64> {
        let stage = plan.stages.iter().position(|stage| stage.name == name);
        match stage.map(|stage| self.of_stages[stage]) {
            Some(Sums { samples, total_energy, .. }) if samples > 0 => {
                Ok(total_energy / samples as f64)
            }
            _ => Err(miette!(
                help = format!("give stage {name:?} observe.thermodynamics shorter than the stage"),
                "stage {:?}: set_total_energy: stage {name:?} has no samples of its energy",
                of.name
            )),
        }
    }

    /// If the stage was sampled.
    pub fn mean_density(&self, plan: &Plan, name: &str) -> Option<f64> {
        let stage = plan.stages.iter().position(|stage| stage.name == name)?;
        let Sums { samples, density, .. } = self.of_stages[stage];
        (samples > 0).then(|| density / samples as f64)
    }
}
