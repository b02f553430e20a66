//! Response functions from fluctuations at constant temperature and pressure.
//!
//! With volume `v` and enthalpy `h` per particle, means `< >` and deviations `d` from them:
//!
//! ```text
//! c_p = N <dh^2> / T^2,    kappa_T = N <dv^2> / (<v> T),    alpha_p = N <dv dh> / (<v> T^2).
//! ```
//!
//! (M. P. Allen & D. J. Tildesley, Computer Simulation of Liquids, section 2.5.) Errors are those of means of the products of
//! deviations; as the means are of the same samples, the square of their error is added.
use supercool_statistics::mean_and_error;

use crate::Result;
use crate::fit::Estimate;
use crate::results::{ResultsFile, TimeSeries};
use crate::slow::{mean_from, relaxation_time};

/// Of a stage at constant temperature and pressure, per particle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResponseFunctions {
    /// Of the thermostat.
    pub temperature: f64,
    /// Of the barostat.
    pub pressure: f64,
    /// Mean number density.
    pub density: Estimate,
    /// Heat capacity at constant pressure.
    pub heat_capacity: Estimate,
    /// Isothermal compressibility.
    pub compressibility: Estimate,
    /// Thermal expansion at constant pressure.
    pub expansion: Estimate,
    /// Mean volumes of the two halves, over all systems, differ by more than three errors: the stage does not begin in equilibrium.
    pub is_drifting: bool,
}

impl ResponseFunctions {
    /// `None` where the stage has no barostat, or a ramp, or no samples. Errors are NaN where there are too few correlation times; of
    /// several systems they are from the scatter of these.
    pub fn of(file: &ResultsFile) -> Result<Option<ResponseFunctions>> {
        let systems = file.systems()?;
        if systems.len() > 1 {
            let of_systems =
                systems.iter().map(Measured::of).collect::<Result<Option<Vec<_>>>>()?;
            return Ok(of_systems.map(|of_systems| over_systems(&of_systems)));
        }
        let measured = Measured::of(systems.first().unwrap_or(file))?;
        Ok(measured.map(|measured| measured.functions))
    }
}

/// Of one system.
struct Measured {
    functions: ResponseFunctions,
    /// Of the mean volume per particle, from the first to the second half of the stage.
    change: f64,
}

impl Measured {
    fn of(file: &ResultsFile) -> Result<Option<Measured>> {
        let Some((temperature, pressure)) = conditions(file) else { return Ok(None) };
        let (Some(density), Some(enthalpy)) =
            (file.observable("density")?, file.observable("enthalpy")?)
        else {
            return Ok(None);
        };
        let particles: u64 = file.species().iter().map(|(_, count)| count).sum();
        if density.value.len() < 3 || particles == 0 {
            return Ok(None);
        }
        let relaxation = relaxation_time(&file.dynamics()?);
        let conditions = (temperature, pressure);
        Ok(Some(of_series(&density, &enthalpy, particles as f64, conditions, relaxation)))
    }
}

/// Means over independent systems at the same conditions, with errors from their scatter.
fn over_systems(of_systems: &[Measured]) -> ResponseFunctions {
    let mean = |of: &dyn Fn(&Measured) -> f64| {
        let (value, error) = mean_and_error(of_systems.iter().map(of));
        Estimate { value, error }
    };
    let of = |of: fn(&ResponseFunctions) -> Estimate| mean(&|system| of(&system.functions).value);
    let change = mean(&|system| system.change);
    ResponseFunctions {
        density: of(|of| of.density),
        heat_capacity: of(|of| of.heat_capacity),
        compressibility: of(|of| of.compressibility),
        expansion: of(|of| of.expansion),
        is_drifting: change.value.abs() > 3.0 * change.error,
        ..of_systems[0].functions
    }
}

/// Constant temperature and pressure of the file's stage.
fn conditions(file: &ResultsFile) -> Option<(f64, f64)> {
    let stage = file.stage_plan()?;
    let constant = |ramp: &serde_json::Value| {
        let (from, to) = (ramp["from"].as_f64()?, ramp["to"].as_f64()?);
        (from == to).then_some(from)
    };
    Some((
        constant(&stage["thermostat"]["temperature"])?,
        constant(&stage["barostat"]["pressure"])?,
    ))
}

fn of_series(
    density: &TimeSeries,
    enthalpy: &TimeSeries,
    particles: f64,
    (temperature, pressure): (f64, f64),
    relaxation: Option<f64>,
) -> Measured {
    // The structure decides on all of them.
    let like = |value: Vec<f64>| TimeSeries { name: "pressure".into(), value, ..density.clone() };
    let estimate = |value: Vec<f64>| {
        let mean = mean_from(&like(value), 0, relaxation);
        Estimate { value: mean.value, error: mean.error }
    };
    let volume: Vec<f64> = density.value.iter().map(|density| 1.0 / density).collect();
    let count = volume.len().min(enthalpy.value.len());
    let (volume, enthalpy) = (&volume[..count], &enthalpy.value[..count]);
    let [of_volume, of_enthalpy] = [volume, enthalpy].map(|values| estimate(values.to_vec()));
    let product = |a: &[f64], mean_a: &Estimate, b: &[f64], mean_b: &Estimate, factor: f64| {
        let of = |(a, b): (&f64, &f64)| factor * (a - mean_a.value) * (b - mean_b.value);
        let found = estimate(a.iter().zip(b).map(of).collect());
        // Of a covariance it is smaller by as much as the two have in common.
        let share = found.value / (factor * deviation(a) * deviation(b)).max(f64::MIN_POSITIVE);
        let missing = share * factor * mean_a.error * mean_b.error;
        let missing = if missing.is_finite() { missing } else { 0.0 };
        Estimate { value: found.value + missing, error: found.error }
    };
    let halves = [&volume[..count / 2], &volume[count / 2..]].map(|half| estimate(half.to_vec()));
    let [first, second] = halves;
    let is_drifting = (first.value - second.value).abs() > 3.0 * first.error.hypot(second.error);
    let per_volume = particles / (of_volume.value * temperature);
    let functions = ResponseFunctions {
        temperature,
        pressure,
        density: estimate(density.value[..count].to_vec()),
        heat_capacity: product(
            enthalpy,
            &of_enthalpy,
            enthalpy,
            &of_enthalpy,
            particles / (temperature * temperature),
        ),
        compressibility: product(volume, &of_volume, volume, &of_volume, per_volume),
        expansion: product(volume, &of_volume, enthalpy, &of_enthalpy, per_volume / temperature),
        is_drifting,
    };
    Measured { functions, change: second.value - first.value }
}

/// Root mean square deviation from the mean.
fn deviation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlation::tests::Normal;

    /// Correlated volumes and enthalpies with known variances. A root mean square of 200 values is uncertain by 5 %; those of errors
    /// from few blocks, and of squares, which are skewed, by more.
    #[test]
    fn variances_of_correlated_samples_come_with_their_errors() {
        let mut normal = Normal::new(3);
        let (mut sums, mut squares) = ([0.0; 3], [0.0; 3]);
        let expected = [100.0 * 0.01 / 4.0, 100.0 * 1e-4 / 1.8, 100.0 * 6e-4 / 3.6];
        let mut all_found = Vec::new();
        for _ in 0..200 {
            let (mut a, mut b) = (normal.next(), normal.next());
            let (mut density, mut enthalpy) = (Vec::new(), Vec::new());
            for _ in 0..4096 {
                let keep = 0.8_f64;
                let fresh = (1.0 - keep * keep).sqrt();
                a = keep * a + fresh * normal.next();
                b = keep * b + fresh * normal.next();
                density.push(1.0 / (0.9 + 0.01 * a));
                enthalpy.push(-3.0 + 0.06 * a + 0.08 * b);
            }
            let time = (0..4096).map(f64::from).collect::<Vec<_>>();
            let [density, enthalpy] = [density, enthalpy].map(|value| TimeSeries {
                time: time.clone(),
                value,
                ..TimeSeries::default()
            });
            let found = of_series(&density, &enthalpy, 100.0, (2.0, 1.0), None);
            all_found.push(found);
            let found = all_found[all_found.len() - 1].functions;
            assert!(!found.is_drifting || found.density.error > 0.0);
            let all = [found.heat_capacity, found.compressibility, found.expansion];
            for k in 0..3 {
                sums[k] += all[k].value / expected[k] / 200.0;
                squares[k] += ((all[k].value - expected[k]) / all[k].error).powi(2) / 200.0;
            }
        }
        // The same from the scatter of systems.
        let found = over_systems(&all_found);
        assert!(!found.is_drifting);
        let all = [found.heat_capacity, found.compressibility, found.expansion];
        for k in 0..3 {
            assert!((all[k].value / expected[k] - sums[k]).abs() < 1e-9, "{k}: {:?}", all[k]);
            let of_scatter = all[k].error / expected[k];
            // Of one system the error is 14 times this.
            assert!(
                (all[k].value / expected[k] - 1.0).abs() < 3.0 * of_scatter,
                "{k}: {:?}",
                all[k]
            );
            assert!(of_scatter < 0.01, "{k}: {of_scatter}");
        }
        for k in 0..3 {
            assert!((sums[k] - 1.0).abs() < 0.01, "{k}: {}", sums[k]);
            assert!((0.8..1.25).contains(&squares[k].sqrt()), "{k}: {}", squares[k].sqrt());
        }
    }
}
