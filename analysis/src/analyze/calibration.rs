//! Errors of printed rows against exact values: the whole way from the curves of runs, with errors of their own, to rows.
use statrs::distribution::{ContinuousCDF, Normal as Gaussian, StudentsT};

use super::runs::{FS, MSD, Run, VACF, VISCOSITY};
use super::{Group, state_point};
use crate::correlation::tests::Normal;
use crate::fit::synthetic::{
    OrnsteinUhlenbeck, Walk, displacements, integrals, log_times, stress, two_steps,
};
use crate::results::{Curve, Function};
use crate::statistics::block_average;

/// Independent runs of a state point.
const RUNS: [usize; 4] = [1, 3, 4, 8];

/// A function of runs whose rows are known exactly.
struct Case {
    name: &'static str,
    measure: Box<dyn Fn(&mut Normal) -> Function>,
    /// Quantity and value.
    exact: Vec<(&'static str, f64)>,
    /// Runs that the test makes.
    runs: usize,
}

fn function(name: &str, [time, value, error]: [Vec<f64>; 3]) -> Function {
    Function {
        group: "A".into(),
        name: name.into(),
        argument: "time".into(),
        x: time,
        curves: vec![Curve { value, error, ..Curve::default() }],
    }
}

/// 40 walkers over 1,000 samples: errors of one run up to a lag of 100.
fn displacement(normal: &mut Normal) -> Function {
    let position = OrnsteinUhlenbeck::new(0.5).run(1000, 40, normal);
    let [time, msd, error, _] = displacements(&position);
    function(MSD, [time, msd, error])
}

const SPACING: f64 = 0.25;

/// Ten walkers over 250 decay times.
fn velocities(normal: &mut Normal) -> Function {
    const SAMPLES: usize = 1000;
    let walkers: Vec<Vec<f64>> =
        (0..10).map(|_| stress(&[[1.0, 1.0]], SAMPLES, SPACING, normal)).collect();
    let mut columns = [const { Vec::new() }; 3];
    for lag in 0..60 {
        let product = |k: usize| walkers.iter().map(|v| v[k] * v[k + lag]).sum::<f64>();
        let products: Vec<f64> =
            (0..SAMPLES - lag).map(|k| product(k) / walkers.len() as f64).collect();
        let mean = block_average(&products);
        let point = [lag as f64 * SPACING, mean.value, mean.error];
        columns.iter_mut().zip(point).for_each(|(column, x)| column.push(x));
    }
    function(VACF, columns)
}

const INTERVAL: f64 = 0.1;

/// Five components over 1,000 decay times.
fn viscosity(normal: &mut Normal) -> Function {
    let components: Vec<Vec<f64>> =
        (0..5).map(|_| stress(&[[1.0, 1.0]], 10_000, INTERVAL, normal)).collect();
    function(VISCOSITY, integrals(&components, INTERVAL, 900))
}

/// Integral of `exp(-t)` by the trapezoidal rule.
fn integral(interval: f64) -> f64 {
    0.5 * interval / (0.5 * interval).tanh()
}

/// `F_s` of eleven blocks with the error by their scatter. Noise of a block is a walk's, `own` of its variance each lag's own.
fn scattering([a, tau, beta, sigma]: [f64; 4], own: f64) -> impl Fn(&mut Normal) -> Function {
    const BLOCKS: f64 = 11.0;
    let time = log_times();
    let walk = Walk::new(&time);
    move |normal| {
        let blocks: Vec<Vec<f64>> = (0..BLOCKS as usize)
            .map(|_| {
                let common = walk.next(normal);
                let noise = |common| (1.0 - own).sqrt() * common + own.sqrt() * normal.next();
                common.into_iter().map(noise).collect()
            })
            .collect();
        let point = |k: usize| {
            let mean = blocks.iter().map(|block| block[k]).sum::<f64>() / BLOCKS;
            let squares: f64 = blocks.iter().map(|block| (block[k] - mean).powi(2)).sum();
            // Student's factor of ten degrees of freedom, as errors of blocks have.
            let error = (squares / (BLOCKS * (BLOCKS - 3.0))).sqrt();
            let unit = sigma * BLOCKS.sqrt();
            (two_steps(time[k], a, tau, beta) + unit * mean, unit * error)
        };
        let (value, error) = (0..time.len()).map(point).unzip();
        function(FS, [time.clone(), value, error])
    }
}

fn cases() -> Vec<Case> {
    let case = |name, runs, exact: &[(&'static str, f64)], measure| Case {
        name,
        measure,
        exact: exact.to_vec(),
        runs,
    };
    let mut cases = vec![
        case("displacements", 960, &[("D", 0.5)], Box::new(displacement)),
        case("velocities", 960, &[("D_vacf", integral(SPACING))], Box::new(velocities)),
        case("stresses", 480, &[("eta", integral(INTERVAL))], Box::new(viscosity)),
    ];
    for (own, name) in [(0.0, "F_s"), (0.3, "F_s, 30 % own noise")] {
        for curve in [[0.72, 800.0, 0.63, 0.006], [0.85, 50.0, 0.8, 0.01]] {
            let [a, tau, beta, _] = curve;
            let falls = tau * (1.0 + f64::ln(a)).powf(1.0 / beta);
            let exact = [("tau", falls), ("A_kww", a), ("tau_kww", tau), ("beta_kww", beta)];
            cases.push(case(name, 480, &exact, Box::new(scattering(curve, own))));
        }
    }
    cases
}

/// Deviations over errors of repeated state points.
struct Scores {
    name: &'static str,
    quantity: &'static str,
    runs: usize,
    deviations: Vec<f64>,
    /// State points, with and without a value.
    all: usize,
}

impl Scores {
    fn rms(&self) -> f64 {
        root_mean_square(self.deviations.iter().copied())
    }

    /// That of normal numbers with the same probabilities: deviations over the plain scatter of R runs have Student's
    /// distribution with R - 1 degrees of freedom.
    fn normal_rms(&self) -> f64 {
        let freedom = self.runs as f64 - 1.0;
        let student = StudentsT::new(0.0, 1.0, freedom).unwrap();
        let plain = (freedom / (freedom - 2.0)).sqrt();
        // Below zero, where probabilities are not rounded.
        let score = |z: &f64| Gaussian::standard().inverse_cdf(student.cdf(-plain * z.abs()));
        root_mean_square(self.deviations.iter().map(score))
    }

    /// One standard error of the rms of that number of values whose true one is 1. Of kurtosis `k` that is
    /// `((k - 1) / 4n)^(1/2)`, of Student's distribution with `f` degrees of freedom `k = 3 + 6 / (f - 4)`: seven of eight
    /// runs, about ten of blocks. That of four runs has no kurtosis: an rms of 240 values is between 0.82 and 1.07 in two
    /// of three cases, 0.91 in the middle, and above 1.3 in one of 40. So it is taken of normal numbers ([`Self::normal_rms`]).
    fn uncertainty(&self) -> f64 {
        let kurtosis = match self.runs {
            4 => 3.0,
            8 => 5.0,
            _ => 4.0,
        };
        ((kurtosis - 1.0) / (4.0 * self.deviations.len() as f64)).sqrt()
    }
}

fn root_mean_square(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(|x| x * x).sum::<f64>() / count).sqrt()
}

/// Rows of state points of 1, 3, 4 and 8 of the same runs, `times` as many as the test makes.
fn scores(times: usize, seed: u64) -> Vec<Scores> {
    let mut found: Vec<Scores> = Vec::new();
    for (index, case) in cases().iter().enumerate() {
        let mut normal = Normal::new(seed + index as u64);
        let runs: Vec<Run> =
            (0..times * case.runs).map(|_| Run::synthetic((case.measure)(&mut normal))).collect();
        for count in RUNS {
            for runs in runs.chunks_exact(count) {
                let group = Group { runs: runs.into(), by: String::new(), apart: Vec::new() };
                let point = state_point::estimates(&group);
                for &(quantity, exact) in &case.exact {
                    let same = |scores: &&mut Scores| {
                        (scores.name, scores.quantity, scores.runs) == (case.name, quantity, count)
                    };
                    if found.iter_mut().find(same).is_none() {
                        let (name, deviations) = (case.name, Vec::new());
                        found.push(Scores { name, quantity, runs: count, deviations, all: 0 });
                    }
                    let scores = found.iter_mut().find(same).unwrap();
                    scores.all += 1;
                    let row = point.estimates.iter().find(|row| row.quantity == quantity);
                    let z = row.map(|row| (row.estimate.value - exact) / row.estimate.error);
                    scores.deviations.extend(z.filter(|z| z.is_finite()));
                }
            }
        }
    }
    found
}

impl Run {
    fn synthetic(function: Function) -> Self {
        Run {
            file: "run.h5".into(),
            dimension: 1,
            temperature: None,
            functions: vec![function],
            model: Vec::new(),
            origin: None,
            state: None,
            drift: None,
            course: Default::default(),
            configuration: None,
            is_system: false,
        }
    }
}

/// Of three runs errors may be too large: the larger one of two is taken.
#[test]
fn errors_of_rows_are_those_of_repeated_state_points() {
    for scores in scores(1, 700) {
        let Scores { name, quantity, runs, all, .. } = scores;
        let count = scores.deviations.len();
        let what = format!("{quantity} of {name}, {runs} runs: {count} of {all}");
        assert!(5 * count > 4 * all, "{what}");
        let least = if runs == 3 { 0.75 } else { 0.85 };
        let (low, high) = (1.0 - scores.uncertainty(), 1.0 + scores.uncertainty());
        let (rms, of) = match runs {
            4 => (scores.normal_rms(), "normal numbers"),
            _ => (scores.rms(), "deviations over errors"),
        };
        assert!((low * least..high * 1.15).contains(&rms), "{what}: rms {rms} of {of}");
    }
}

/// `cargo test -p supercool-analysis --lib calibration -- --ignored --nocapture`
#[test]
#[ignore = "prints the table of docs/guide/analysis.md"]
fn table_of_the_guide() {
    let scores = scores(4, 20_000);
    for one in scores.iter().filter(|one| one.runs == RUNS[0]) {
        let of = |runs: usize| {
            let same = |other: &&Scores| {
                (other.name, other.quantity, other.runs) == (one.name, one.quantity, runs)
            };
            scores.iter().find(same).unwrap()
        };
        let cell = |runs: usize| match runs {
            0..4 => format!("{:.2} ({})", of(runs).rms(), of(runs).deviations.len()),
            _ => format!(
                "{:.2}, {:.2} ({})",
                of(runs).rms(),
                of(runs).normal_rms(),
                of(runs).deviations.len()
            ),
        };
        println!("| {}, {} | {} |", one.quantity, one.name, RUNS.map(cell).join(" | "));
    }
}
