//! Correlations of particles without forces in a Langevin thermostat, exact for the steps that are taken.
use miette::miette;
use statrs::function::erf::erf;

use crate::plan::{Plan, Thermostat};

/// Velocities at half steps, which displacements are sums of, and at whole ones are autoregressive: each component is
/// `c = exp(-gamma dt)` times the one before and noise, with variance `T / m`.
pub struct LangevinGas {
    dimension: f64,
    timestep: f64,
    /// `T / m`.
    velocity2: f64,
    /// `c`.
    damping: f64,
    overlap_length: f64,
}

impl LangevinGas {
    /// # Errors
    /// If the stage has no such thermostat or no correlations, or there are several species.
    pub fn new(plan: &Plan, stage: &str) -> miette::Result<Self> {
        let found = || {
            let stage = plan.stages.iter().find(|other| other.name == stage)?;
            let [species] = &plan.system.species[..] else { return None };
            let thermostat = stage.thermostat?;
            let Thermostat::Langevin { friction } = thermostat.kind else { return None };
            let timestep = plan.run.timestep;
            Some(LangevinGas {
                dimension: plan.system.simulation_box.dimension() as f64,
                timestep,
                velocity2: thermostat.temperature.from / species.mass,
                damping: (-friction * timestep).exp(),
                overlap_length: stage.correlations.first()?.overlap_length,
            })
        };
        found().ok_or_else(|| {
            miette!(
                "stage {stage}: a Langevin gas has one species, its thermostat and correlations"
            )
        })
    }

    /// Mean square displacement along one axis over `n` steps: `(T / m) dt^2` times the sum of `c^|i - j|` over all `i, j`
    /// from 1 to `n`.
    fn square_displacement(&self, time: f64) -> f64 {
        let (n, c) = ((time / self.timestep).round(), self.damping);
        let sum = n * (1.0 + c) / (1.0 - c) - 2.0 * c * (1.0 - c.powf(n)) / (1.0 - c).powi(2);
        self.velocity2 * self.timestep.powi(2) * sum
    }

    /// `None` of a function that is not known.
    pub fn value(&self, function: &str, time: f64, wavenumber: Option<f64>) -> Option<f64> {
        let square = self.square_displacement(time);
        Some(match function {
            "mean_square_displacement" => self.dimension * square,
            "velocity_autocorrelation" => {
                self.dimension * self.velocity2 * self.damping.powf(time / self.timestep)
            }
            "self_intermediate_scattering_function" => (-0.5 * wavenumber?.powi(2) * square).exp(),
            // Chi-squared distribution with as many degrees of freedom as dimensions.
            "self_overlap" => {
                let x = self.overlap_length / (2.0 * square).sqrt();
                let tail = (-x * x).exp();
                if self.dimension == 2.0 {
                    1.0 - tail
                } else {
                    erf(x) - 2.0 / std::f64::consts::PI.sqrt() * x * tail
                }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_steps_give_the_displacement_of_the_langevin_equation() {
        let gas = LangevinGas {
            dimension: 3.0,
            timestep: 1e-4,
            velocity2: 2.0,
            damping: (-1e-4_f64).exp(),
            overlap_length: 0.5,
        };
        for time in [0.01_f64, 1.0, 20.0] {
            // 2 d T / (m gamma^2) [gamma t - 1 + exp(-gamma t)]; steps leave (gamma dt)^2 / 6 and less.
            let expected = 12.0 * (time - 1.0 + (-time).exp());
            let found = gas.value("mean_square_displacement", time, None).unwrap();
            assert!((found / expected - 1.0).abs() < 2e-4, "{time}: {found} for {expected}");
        }
        // All particles at first; later the volume of the sphere in units of the Gaussian's.
        assert!((gas.value("self_overlap", 1e-4, None).unwrap() - 1.0).abs() < 1e-12);
        let square = gas.square_displacement(20.0);
        let volume = 4.0 / 3.0 * std::f64::consts::PI * 0.125;
        let expected = volume / (std::f64::consts::TAU * square).powf(1.5);
        let found = gas.value("self_overlap", 20.0, None).unwrap();
        assert!((found / expected - 1.0).abs() < 2e-3, "{found} for {expected}");
        assert_eq!(gas.value("stress_autocorrelation", 1.0, None), None);
    }
}
