//! How transport depends on temperature.
use super::{Estimate, Points, least_squares, line};

/// A relaxation time or diffusion coefficient at one temperature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtTemperature {
    /// Mean temperature.
    pub temperature: Estimate,
    /// The quantity, positive.
    pub quantity: Estimate,
}

/// `tau = tau_0 exp(B / (T - T_0))` (Vogel, Fulcher, Tammann).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vft {
    /// `tau_0`.
    pub tau_0: Estimate,
    /// `B`.
    pub b: Estimate,
    /// `T_0`.
    pub t_0: Estimate,
    /// Per degree of freedom.
    pub reduced_chi_squared: f64,
}

/// `quantity = c (T - T_c)^gamma`; of a relaxation time the inverse is fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModeCoupling {
    /// `T_c`.
    pub t_c: Estimate,
    /// `gamma`.
    pub gamma: Estimate,
    /// `c`.
    pub prefactor: Estimate,
    /// Per degree of freedom.
    pub reduced_chi_squared: f64,
}

impl Vft {
    /// `tau` at a temperature above `T_0`.
    pub fn at(&self, temperature: f64) -> f64 {
        self.tau_0.value * (self.b.value / (temperature - self.t_0.value)).exp()
    }
}

impl ModeCoupling {
    /// The quantity (of a relaxation time the inverse) at a temperature above `T_c`.
    pub fn at(&self, temperature: f64) -> f64 {
        self.prefactor.value * (temperature - self.t_c.value).powf(self.gamma.value)
    }
}

/// Fits `ln tau` over all temperatures given, with errors of `tau` and of the temperatures (by the
/// slope of the fit at each). `None` below four temperatures or where they do not determine the three
/// parameters, as for an Arrhenius law.
pub fn vogel_fulcher_tammann(points: &[AtTemperature]) -> Option<Vft> {
    let law = |x: f64| 1.0 / x;
    let (fit, lowest) = fit_shifted(points, law)?;
    let (logarithm, factor) = (fit.parameter(0), fit.parameter(1));
    Some(Vft {
        tau_0: Estimate::exp(logarithm.value, logarithm.error),
        b: factor,
        t_0: shift(lowest, fit.parameter(2)),
        reduced_chi_squared: fit.reduced_chi_squared,
    })
}

/// Fits `ln quantity` over all temperatures given, else as [`vogel_fulcher_tammann`]. The law holds over
/// some decades above `T_c` only: temperatures beyond show as a large `chi^2`.
pub fn mode_coupling(points: &[AtTemperature]) -> Option<ModeCoupling> {
    let (fit, lowest) = fit_shifted(points, f64::ln)?;
    let logarithm = fit.parameter(0);
    Some(ModeCoupling {
        t_c: shift(lowest, fit.parameter(2)),
        gamma: fit.parameter(1),
        prefactor: Estimate::exp(logarithm.value, logarithm.error),
        reduced_chi_squared: fit.reduced_chi_squared,
    })
}

/// Third parameter: logarithm of the distance of the singular from the lowest temperature.
fn shift(lowest: f64, distance: Estimate) -> Estimate {
    let distance = Estimate::exp(distance.value, distance.error);
    Estimate { value: lowest - distance.value, error: distance.error }
}

/// Fits `ln quantity = a + b law(T - T_s)`, `T_s = T_lowest - e^s`, with parameters `a, b, s`.
fn fit_shifted(points: &[AtTemperature], law: impl Fn(f64) -> f64) -> Option<(super::Fit<3>, f64)> {
    let column = |of: &dyn Fn(&AtTemperature) -> f64| points.iter().map(of).collect::<Vec<f64>>();
    let temperature = column(&|point| point.temperature.value);
    let logarithm = column(&|point| point.quantity.value.ln());
    let relative = column(&|point| point.quantity.error / point.quantity.value);
    let lowest = temperature.iter().copied().fold(f64::INFINITY, f64::min);
    let mut data = Points::new(&temperature, &logarithm, &relative);
    if data.len() < 4 {
        return None;
    }
    let model = |p: &[f64; 3], t: f64| p[0] + p[1] * law(t - lowest + p[2].exp());
    // The best of straight lines over law(T - T_s), T_s from far below to just below the lowest.
    let start = (0..24)
        .filter_map(|k| {
            let distance = 2.0 * lowest * 0.75_f64.powi(k);
            let x: Vec<f64> = data.x.iter().map(|t| law(t - lowest + distance)).collect();
            let line = line(&Points { x, ..data.clone() })?;
            Some((
                line.reduced_chi_squared,
                [line.intercept.value, line.slope.value, distance.ln()],
            ))
        })
        .min_by(|a, b| a.0.total_cmp(&b.0))?
        .1;
    let mut fit = least_squares(&data, model, start)?;
    if data.errors_known {
        let error_of = |t: f64| {
            let same = points.iter().find(|point| point.temperature.value == t);
            same.map_or(0.0, |point| point.temperature.error).max(0.0)
        };
        let own = data.error.clone();
        for _ in 0..3 {
            for k in 0..data.len() {
                let h = 1e-6 * lowest.min(fit.parameters[2].exp());
                let at = |h: f64| model(&fit.parameters, data.x[k] + h);
                let slope = (at(h) - at(-h)) / (2.0 * h);
                data.error[k] = own[k].hypot(slope * error_of(data.x[k]));
            }
            fit = least_squares(&data, model, fit.parameters)?;
        }
    }
    Some((fit, lowest))
}

#[cfg(test)]
mod tests {
    use super::super::pulls::Pulls;
    use super::*;
    use crate::correlation::tests::Normal;

    const TEMPERATURES: [f64; 7] = [1.0, 0.8, 0.7, 0.6, 0.55, 0.5, 0.47];

    /// Temperatures and logarithms with noise of the given size, as they would be measured.
    fn measured(
        law: impl Fn(f64) -> f64,
        t_error: f64,
        relative: f64,
        normal: &mut Normal,
    ) -> Vec<AtTemperature> {
        let point = |&t: &f64| {
            let value = law(t) * (relative * normal.next()).exp();
            AtTemperature {
                temperature: Estimate { value: t + t_error * normal.next(), error: t_error },
                quantity: Estimate { value, error: relative * value },
            }
        };
        TEMPERATURES.iter().map(point).collect()
    }

    #[test]
    fn errors_of_vft_are_those_of_repeated_measurements() {
        let law = |t: f64| 0.1 * (0.9 / (t - 0.32)).exp();
        for t_error in [0.0, 3e-4] {
            let [mut tau_0, mut b, mut t_0] = [(); 3].map(|()| Pulls::default());
            let mut normal = Normal::new(17);
            for _ in 0..300 {
                let found =
                    vogel_fulcher_tammann(&measured(law, t_error, 0.01, &mut normal)).unwrap();
                tau_0.add(found.tau_0, 0.1);
                b.add(found.b, 0.9);
                t_0.add(found.t_0, 0.32);
            }
            t_0.have_unit_variance("T_0");
            b.have_unit_variance("B");
            tau_0.have_unit_variance("tau_0");
        }
    }

    #[test]
    fn errors_of_the_mode_coupling_law_are_those_of_repeated_measurements() {
        let law = |t: f64| 0.07 * (t - 0.435_f64).powf(2.4);
        for t_error in [0.0, 1e-4] {
            let [mut t_c, mut gamma, mut c] = [(); 3].map(|()| Pulls::default());
            let mut normal = Normal::new(19);
            for _ in 0..300 {
                let found = mode_coupling(&measured(law, t_error, 0.01, &mut normal)).unwrap();
                t_c.add(found.t_c, 0.435);
                gamma.add(found.gamma, 2.4);
                c.add(found.prefactor, 0.07);
            }
            t_c.have_unit_variance("T_c");
            gamma.have_unit_variance("gamma");
            c.have_unit_variance("c");
        }
    }

    #[test]
    fn three_temperatures_are_too_few() {
        let mut points = measured(|t| 1.0 / t, 0.0, 0.01, &mut Normal::new(1));
        points.truncate(3);
        assert_eq!(vogel_fulcher_tammann(&points), None);
        assert_eq!(mode_coupling(&points), None);
    }
}
