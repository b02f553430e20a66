//! VFT and mode-coupling fits over state points.
use super::{OverTemperature, Row, StatePoint, state_point};
use crate::fit::{AtTemperature, Estimate, mode_coupling, vogel_fulcher_tammann};
use crate::info::short;

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
                estimate,
                error_from: "fit",
                from,
                to,
                reduced_chi_squared,
                remark: match state_point::poor(reduced_chi_squared) {
                    "" => format!("{} temperatures", data.len()),
                    poor => format!("{} temperatures; {poor}", data.len()),
                },
            });
        };
        let mut vft = None;
        if quantity == "tau" {
            vft = vogel_fulcher_tammann(data);
            match vft {
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
        let law = mode_coupling(&rates);
        match law {
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

/// Without what is not diffusive.
fn collect(
    points: &[StatePoint],
    quantity: &str,
    species: &str,
    wavenumber: Option<f64>,
) -> Vec<AtTemperature> {
    let at = |point: &StatePoint| {
        let row = point.estimates.iter().find(|row| {
            row.quantity == quantity
                && row.species == species
                && same(row.wavenumber, wavenumber)
                && !row.remark.starts_with("not diffusive")
        })?;
        let positive = row.estimate.value > 0.0;
        positive
            .then_some(AtTemperature { temperature: point.temperature?, quantity: row.estimate })
    };
    points.iter().filter_map(at).collect()
}
