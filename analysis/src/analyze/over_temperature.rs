//! VFT and mode-coupling fits over state points.
use super::{Flag, OverTemperature, Row, StatePoint, flags};
use crate::fit::{AtTemperature, Estimate, mode_coupling, vogel_fulcher_tammann};
use crate::numbers::short;

const FEWEST: usize = 4;

pub(super) struct Fits {
    pub rows: Vec<Row>,
    pub series: Vec<OverTemperature>,
    /// What could not be fitted.
    pub notes: Vec<String>,
}

pub(super) fn fits(points: &[StatePoint]) -> Fits {
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    let mut fitted: Vec<OverTemperature> = series(points)
        .into_iter()
        .map(|(quantity, species, wavenumber)| OverTemperature {
            points: collect(points, &quantity, &species, wavenumber),
            quantity,
            species,
            wavenumber,
            vft: None,
            mode_coupling: None,
        })
        .collect();
    if points.len() < FEWEST {
        let count = points.len();
        let plural = if count == 1 { "" } else { "s" };
        notes.push(format!(
            "no fit over temperatures (VFT, mode coupling): {count} temperature{plural}, {FEWEST} are needed"
        ));
        return Fits { rows, series: fitted, notes };
    }
    for one in &mut fitted {
        let OverTemperature { quantity, species, wavenumber, points: data, .. } = &*one;
        let (quantity, wavenumber) = (quantity.clone(), *wavenumber);
        let at = wavenumber.map(|q| format!(" at q = {}", short(q))).unwrap_or_default();
        let label = format!("{quantity} of {species}{at}");
        notes.extend(left_out(points, one, &label));
        if data.len() < FEWEST {
            let what = format!("no fit of {label} over temperatures: there at {} only", data.len());
            notes.push(format!("{what}, {FEWEST} are needed"));
            continue;
        }
        let range = data.iter().map(|point| point.temperature.value);
        let (from, to) = (range.clone().fold(f64::INFINITY, f64::min), range.fold(0.0, f64::max));
        let mut push = |name: String, estimate: Estimate, reduced_chi_squared: f64| {
            rows.push(Row {
                temperature: None,
                quantity: name,
                species: species.clone(),
                wavenumber,
                waiting_time: None,
                estimate,
                error_from: "fit",
                from,
                to,
                reduced_chi_squared,
                flags: flags::poor(reduced_chi_squared),
                remark: format!("{} temperatures", data.len()),
            });
        };
        let mut vft = None;
        if quantity == "tau" {
            vft = vogel_fulcher_tammann(data);
            match vft {
                Some(fit) if fit.b.value <= 0.0 => {
                    notes.push(format!("no VFT fit of {label}: it speeds up on cooling"));
                    vft = None;
                }
                Some(fit) => {
                    for (name, estimate) in
                        [("tau0_vft", fit.tau_0), ("B_vft", fit.b), ("T0_vft", fit.t_0)]
                    {
                        push(name.into(), estimate, fit.reduced_chi_squared);
                    }
                }
                None => notes.push(format!("no VFT fit of {label}: it does not determine T_0")),
            }
        }
        // The law is that of a rate.
        let rates: Vec<AtTemperature> = data
            .iter()
            .map(|point| match quantity.as_str() {
                "tau" => AtTemperature { quantity: inverse(point.quantity), ..*point },
                _ => *point,
            })
            .collect();
        let mut law = mode_coupling(&rates);
        match law {
            Some(fit) if fit.gamma.value <= 0.0 => {
                notes.push(format!("no mode-coupling fit of {label}: it speeds up on cooling"));
                law = None;
            }
            Some(fit) => {
                push(format!("Tc_mct({quantity})"), fit.t_c, fit.reduced_chi_squared);
                push(format!("gamma_mct({quantity})"), fit.gamma, fit.reduced_chi_squared);
            }
            None => {
                notes.push(format!("no mode-coupling fit of {label}: it does not determine T_c"))
            }
        }
        (one.vft, one.mode_coupling) = (vft, law);
    }
    Fits { rows, series: fitted, notes }
}

fn inverse(x: Estimate) -> Estimate {
    Estimate { value: x.value.recip(), error: x.error / (x.value * x.value) }
}

fn same(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-6 * a.abs(),
        (None, None) => true,
        _ => false,
    }
}

/// Quantity, species and wave number of all D and tau.
fn series(points: &[StatePoint]) -> Vec<(String, String, Option<f64>)> {
    let mut all: Vec<(String, String, Option<f64>)> = Vec::new();
    for row in points.iter().flat_map(|point| &point.estimates) {
        let known = all.iter().any(|(quantity, species, wavenumber)| {
            *quantity == row.quantity
                && *species == row.species
                && same(*wavenumber, row.wavenumber)
        });
        if matches!(row.quantity.as_str(), "D" | "tau") && !known {
            all.push((row.quantity.clone(), row.species.clone(), row.wavenumber));
        }
    }
    all
}

/// Without what is not given, and what was measured out of equilibrium.
fn collect(
    points: &[StatePoint],
    quantity: &str,
    species: &str,
    wavenumber: Option<f64>,
) -> Vec<AtTemperature> {
    let at = |point: &StatePoint| {
        let row = find(point, quantity, species, wavenumber)?;
        let in_equilibrium = !row.flags.iter().any(|flag| flag.is_out_of_equilibrium());
        let positive = row.estimate.value > 0.0 && in_equilibrium;
        positive
            .then_some(AtTemperature { temperature: point.temperature?, quantity: row.estimate })
    };
    points.iter().filter_map(at).collect()
}

fn find<'a>(
    point: &'a StatePoint,
    quantity: &str,
    species: &str,
    wavenumber: Option<f64>,
) -> Option<&'a Row> {
    point.estimates.iter().find(|row| {
        row.quantity == quantity && row.species == species && same(row.wavenumber, wavenumber)
    })
}

/// Says which state points have no part in a fit, and why.
fn left_out(points: &[StatePoint], one: &OverTemperature, label: &str) -> Vec<String> {
    let why = |point: &StatePoint| {
        let row = find(point, &one.quantity, &one.species, one.wavenumber)?;
        let flags: Vec<Flag> = row.flags.iter().copied().filter(excludes).collect();
        let at = short(point.temperature?.value);
        let names = flags::names(&flags);
        (!flags.is_empty())
            .then(|| format!("{label} at T = {at} has no part in fits over temperatures: {names}"))
    };
    points.iter().filter_map(why).collect()
}

fn excludes(flag: &Flag) -> bool {
    *flag == Flag::NotDiffusive || flag.is_out_of_equilibrium()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// State points whose `D` and `tau` are these functions of temperature.
    fn measured(d: impl Fn(f64) -> f64, tau: impl Fn(f64) -> f64) -> Vec<StatePoint> {
        let row = |quantity: &str, value: f64| Row {
            temperature: None,
            quantity: quantity.into(),
            species: "A".into(),
            wavenumber: None,
            waiting_time: None,
            estimate: Estimate { value, error: 0.01 * value },
            error_from: "fit",
            from: 0.0,
            to: 1.0,
            reduced_chi_squared: 1.0,
            flags: Vec::new(),
            remark: String::new(),
        };
        let point = |t: f64| StatePoint {
            temperature: Some(Estimate { value: t, error: 1e-4 }),
            runs: 1,
            files: Vec::new(),
            grouped_by: String::new(),
            estimates: vec![row("D", d(t)), row("tau", tau(t))],
            notes: Vec::new(),
            averages: Vec::new(),
            curves: Vec::new(),
            drift: None,
        };
        [1.2, 1.0, 0.85, 0.75, 0.65, 0.6, 0.55].map(point).into()
    }

    #[test]
    fn what_speeds_up_on_cooling_follows_no_law_of_slowing_down() {
        let d = |t: f64| (t - 0.4_f64).powf(2.0);
        let tau = |t: f64| (1.0 / (t - 0.3_f64)).exp();
        let slower = fits(&measured(d, tau));
        assert_eq!((slower.rows.len(), slower.notes), (7, Vec::<String>::new()));
        let faster = fits(&measured(|t| 1.0 / d(t), |t| 1.0 / tau(t)));
        assert_eq!(faster.rows, []);
        assert_eq!(faster.notes.len(), 3, "{:?}", faster.notes);
        assert!(faster.notes.iter().all(|note| note.ends_with("it speeds up on cooling")));
        assert!(faster.series.iter().all(|one| one.vft.is_none() && one.mode_coupling.is_none()));
    }

    #[test]
    fn what_is_flagged_has_no_part_in_a_law() {
        let d = |t: f64| (t - 0.4_f64).powf(2.0);
        let tau = |t: f64| (1.0 / (t - 0.3_f64)).exp();
        let mut points = measured(d, tau);
        let cold = points.last_mut().unwrap();
        let nothing = Estimate { value: f64::NAN, error: f64::NAN };
        cold.estimates[0].flags = vec![Flag::NotDiffusive];
        cold.estimates[0].estimate = nothing;
        cold.estimates[1].flags = vec![Flag::NotStationary];
        cold.estimates[1].estimate.value *= 0.1;
        points[0].estimates[1].flags = vec![Flag::PoorFit];
        let found = fits(&points);
        assert!(found.series.iter().all(|series| series.points.len() == 6));
        let t_0 = found.rows.iter().find(|row| row.quantity == "T0_vft").unwrap().estimate;
        assert!((t_0.value - 0.3).abs() < 1e-3, "{t_0:?}");
        assert_eq!(
            found.notes,
            [
                "D of A at T = 0.55 has no part in fits over temperatures: not-diffusive",
                "tau of A at T = 0.55 has no part in fits over temperatures: not-stationary",
            ]
        );
    }
}
