//! D, tau and the stretched exponential of one state point.
use super::average::{FEWEST_RUNS, average, jackknife, mean_temperature, student};
use super::equilibrium;
use super::flags::poor;
use super::runs::{FITTED, FS, MSD, Run, VACF, VISCOSITY};
use super::{Average, AverageCurve, FittedCurve, Flag, Group, Row, StatePoint, drift};
use crate::fit::{
    Estimate, NoGreenKubo, NoPlateau, diffusion, diffusion_between, final_decay, green_kubo,
    green_kubo_to, plateau, stretched_exponential, time_of_decay,
};
use crate::numbers::short;
use crate::results::Function;

/// One curve of a state point: averaged over all runs, and over all but each.
struct Curves<'a> {
    time: &'a [f64],
    all: &'a AverageCurve,
    without: Vec<AverageCurve>,
}

impl Curves<'_> {
    fn weights(&self) -> Vec<f64> {
        self.all.weights(self.time)
    }

    /// `of(values, errors)` of the average. Of four runs and more the error is that of a jackknife over them; of two or
    /// three the larger one of this and its own; of one its own. Weights are the same without any of the runs.
    fn estimate<const N: usize>(
        &self,
        of: impl Fn(&[f64], &[f64]) -> Option<[Estimate; N]>,
    ) -> Option<[(Estimate, &'static str); N]> {
        let weights = self.weights();
        let found = of(&self.all.mean, &weights)?;
        let runs = self.without.len();
        let without = |r: usize| {
            let curve: &AverageCurve = &self.without[r];
            of(&curve.mean, &weights).map(|estimates| estimates.map(|each| each.value))
        };
        let scatter = jackknife(runs, without);
        Some(std::array::from_fn(|i| match scatter.map(|errors| errors[i]) {
            Some(error) if runs >= FEWEST_RUNS => {
                (Estimate { error: error * student(runs), ..found[i] }, "jackknife")
            }
            Some(error) if error > found[i].error => (Estimate { error, ..found[i] }, "jackknife"),
            // Four runs of which one alone decides whether there is an estimate have no error.
            None if runs >= FEWEST_RUNS => (Estimate { error: f64::NAN, ..found[i] }, "jackknife"),
            _ => (found[i], "fit"),
        }))
    }
}

pub(super) fn estimates(group: &Group) -> StatePoint {
    let runs = &group.runs;
    let mut point = empty(group);
    for index in 0..runs[0].functions.len() {
        let functions: Vec<&Function> = runs.iter().map(|run| &run.functions[index]).collect();
        let all = fit(&mut point, &functions, runs[0].dimension);
        point.averages.push(all);
    }
    if let Some(motion) = &runs[0].drift {
        drift::remark(&mut point.estimates, motion);
    }
    equilibrium::flag(&mut point, runs);
    point
}

/// Those of functions from given time origins, one for each of the `waiting_times`.
pub(super) fn from_origins(group: &Group, waiting_times: &[f64]) -> StatePoint {
    let runs = &group.runs;
    let mut point = empty(group);
    for (index, &waiting_time) in waiting_times.iter().enumerate() {
        let (rows, notes) = (point.estimates.len(), point.notes.len());
        let functions: Vec<&Function> = runs.iter().map(|run| &run.functions[index]).collect();
        fit(&mut point, &functions, runs[0].dimension);
        for row in &mut point.estimates[rows..] {
            row.waiting_time = Some(waiting_time);
        }
        for note in &mut point.notes[notes..] {
            *note = format!("t_w = {}: {note}", short(waiting_time));
        }
    }
    point.curves.clear();
    if let Some(motion) = &runs[0].drift {
        drift::remark(&mut point.estimates, motion);
    }
    point
}

/// What is known of runs before anything is fitted.
fn empty(group: &Group) -> StatePoint {
    let runs = &group.runs;
    let temperatures: Vec<Estimate> = runs.iter().filter_map(Run::any_temperature).collect();
    StatePoint {
        temperature: mean_temperature(&temperatures),
        runs: runs.len(),
        files: {
            let mut files: Vec<_> = runs.iter().map(|run| run.file.clone()).collect();
            files.dedup();
            files
        },
        grouped_by: group.by.clone(),
        estimates: Vec::new(),
        notes: group.apart.clone(),
        averages: Vec::new(),
        curves: Vec::new(),
        drift: runs[0].drift.clone(),
    }
}

/// Averages a function of all runs, and fits what is fitted of it.
fn fit(point: &mut StatePoint, functions: &[&Function], dimension: usize) -> Average {
    let all = average(functions);
    if !FITTED.contains(&all.name.as_str()) {
        return all;
    }
    let without: Vec<Average> = (0..functions.len())
        .filter(|_| functions.len() > 1)
        .map(|out| {
            let mut others = functions.to_vec();
            others.remove(out);
            average(&others)
        })
        .collect();
    for (k, curve) in all.curves.iter().enumerate() {
        let without = without.iter().map(|average| average.curves[k].clone()).collect();
        let curves = Curves { time: &all.time, all: curve, without };
        match all.name.as_str() {
            MSD => displacement(point, &all.species, &curves, dimension),
            FS => relaxation(point, &all.species, &curves),
            VACF => velocities(point, &all.species, &curves, dimension),
            _ => viscosity(point, &all.species, &curves),
        }
    }
    all
}

impl StatePoint {
    fn row(&self, quantity: &str, species: &str, estimate: (Estimate, &'static str)) -> Row {
        Row {
            temperature: self.temperature.map(|t| t.value),
            quantity: quantity.into(),
            species: species.into(),
            wavenumber: None,
            waiting_time: None,
            estimate: estimate.0,
            error_from: estimate.1,
            from: f64::NAN,
            to: f64::NAN,
            reduced_chi_squared: f64::NAN,
            flags: Vec::new(),
            remark: String::new(),
        }
    }

    fn note(&mut self, what: String) {
        self.notes.push(what);
    }
}

fn displacement(point: &mut StatePoint, species: &str, curves: &Curves, dimension: usize) {
    let time = curves.time;
    let Some(found) = diffusion(time, &curves.all.mean, &curves.weights(), dimension) else {
        return point.note(format!("no D of {species}: fewer than three points"));
    };
    let (from, to) = (found.from, found.to);
    let of = |msd: &[f64], error: &[f64]| {
        Some([diffusion_between(time, msd, error, dimension, from, to)?.coefficient])
    };
    let Some([estimate]) = curves.estimate(of) else { return };
    let grows = format!("MSD ~ t^{:.2}", found.exponent);
    let row = point.row("D", species, estimate);
    let row = Row { from, to, reduced_chi_squared: found.reduced_chi_squared, ..row };
    if !found.is_diffusive() {
        let estimate = Estimate { value: f64::NAN, error: f64::NAN };
        let remark = format!("{grows} is not linear in t");
        let flags = vec![Flag::NotDiffusive];
        return point.estimates.push(Row { estimate, remark, flags, ..row });
    }
    point.estimates.push(Row { flags: poor(found.reduced_chi_squared), remark: grows, ..row });
    let slope = 2.0 * dimension as f64 * found.coefficient.value;
    let at = |t: f64| slope * t + found.intercept;
    point.curves.push(FittedCurve::new(MSD, species, None, (from, to), at));
}

fn velocities(point: &mut StatePoint, species: &str, curves: &Curves, dimension: usize) {
    let time = curves.time;
    let found = match green_kubo(time, &curves.all.mean, &curves.weights(), dimension) {
        Ok(found) => found,
        Err(why) => {
            let why = match why {
                NoGreenKubo::TooFew => "fewer than three equally spaced lags from zero on".into(),
                NoGreenKubo::NotResolved => "its decay is over before the second lag".into(),
                NoGreenKubo::NotDecayed(t) => {
                    format!("it has not decayed at t = {}, where equal lags end", short(t))
                }
            };
            return point.note(format!("no D_vacf of {species}: {why}"));
        }
    };
    let of = |vacf: &[f64], error: &[f64]| {
        Some([green_kubo_to(time, vacf, error, dimension, found.to)?.coefficient])
    };
    let Some([estimate]) = curves.estimate(of) else { return };
    let remark = "integral of <v(0) . v(t)> / d".into();
    let row = Row { from: 0.0, to: found.to, remark, ..point.row("D_vacf", species, estimate) };
    point.estimates.push(row);
}

fn viscosity(point: &mut StatePoint, species: &str, curves: &Curves) {
    let time = curves.time;
    let found = match plateau(time, &curves.all.mean, &curves.weights()) {
        Ok(found) => found,
        Err(NoPlateau::TooFew) => {
            return point.note("no eta: fewer than three points of the Green-Kubo integral".into());
        }
        Err(why) => {
            let remark = match why {
                NoPlateau::NotDecayed(t) => {
                    format!("no plateau up to t = {}, where noise rules or lags end", short(t))
                }
                _ => "eta(t) has no errors".into(),
            };
            let nothing = Estimate { value: f64::NAN, error: f64::NAN };
            let row = point.row("eta", species, (nothing, "fit"));
            return point.estimates.push(Row { remark, flags: vec![Flag::NotDecayed], ..row });
        }
    };
    let read_off = time.iter().position(|&t| t == found.to);
    let of = |eta: &[f64], _: &[f64]| Some([Estimate { value: eta[read_off?], ..found.value }]);
    let Some([(mut estimate, error_from)]) = curves.estimate(of) else { return };
    if error_from == "jackknife" {
        estimate.error = estimate.error.hypot(found.rise);
    }
    let row = Row {
        from: found.from,
        to: found.to,
        reduced_chi_squared: found.reduced_chi_squared,
        flags: poor(found.reduced_chi_squared),
        remark: format!(
            "eta(t) at t = {}; noise rules from t = {}",
            short(found.to),
            short(found.noise)
        ),
        ..point.row("eta", species, (estimate, error_from))
    };
    point.estimates.push(row);
    let range = (found.from, found.to);
    point.curves.push(FittedCurve::new(VISCOSITY, species, None, range, |_| found.value.value));
}

/// Why `F_s` has no time at which it falls to a level.
fn no_crossing(time: &[f64], f: &[f64], error: &[f64], level: f64, name: &str) -> String {
    let known = error.iter().any(|error| error.is_finite());
    let usable = |k: &usize| time[*k] > 0.0 && (!known || error[*k].is_finite());
    match (0..time.len()).find(usable) {
        Some(first) if f[first] <= level => {
            format!(
                "F_s is below {name} at its first lag: it takes a shorter one (`every` or `from`)"
            )
        }
        _ => format!("F_s does not fall to {name} (within its lags with errors)"),
    }
}

fn relaxation(point: &mut StatePoint, species: &str, curves: &Curves) {
    let time = curves.time;
    let wavenumber = curves.all.wavenumber;
    let label = match wavenumber {
        Some(q) => format!("{species} at q = {}", short(q)),
        None => species.to_owned(),
    };
    let (f, weights) = (&curves.all.mean, curves.weights());
    let level = (-1.0_f64).exp();
    let of = |f: &[f64], error: &[f64]| Some([time_of_decay(time, f, error, level)?.time]);
    match (time_of_decay(time, f, &weights, level), curves.estimate(of)) {
        (Some(crossing), Some([estimate])) => {
            let row = point.row("tau", species, estimate);
            let (from, to) = (crossing.from, crossing.to);
            let remark = "F_s = 1/e".into();
            point.estimates.push(Row { wavenumber, from, to, remark, ..row });
        }
        _ => point
            .note(format!("no tau of {label}: {}", no_crossing(time, f, &weights, level, "1/e"))),
    }
    let Some((from, to)) = final_decay(time, f, &weights) else {
        let why = no_crossing(time, f, &weights, 0.5, "1/2");
        return point.note(format!("no stretched exponential of {label}: {why}"));
    };
    let of = |f: &[f64], error: &[f64]| {
        let fit = stretched_exponential(time, f, error, from, to)?;
        Some([fit.amplitude, fit.time, fit.exponent])
    };
    let (Some(fit), Some(found)) =
        (stretched_exponential(time, f, &weights, from, to), curves.estimate(of))
    else {
        return point.note(format!(
            "no stretched exponential of {label}: the points from t = {} to {} do not determine it",
            short(from),
            short(to)
        ));
    };
    let range = (fit.from, fit.to);
    point.curves.push(FittedCurve::new(FS, species, wavenumber, range, |t| fit.at(t)));
    for (name, estimate) in ["A_kww", "tau_kww", "beta_kww"].into_iter().zip(found) {
        let row = Row {
            wavenumber,
            from: fit.from,
            to: fit.to,
            reduced_chi_squared: fit.reduced_chi_squared,
            flags: poor(fit.reduced_chi_squared),
            ..point.row(name, species, estimate)
        };
        point.estimates.push(row);
    }
}
