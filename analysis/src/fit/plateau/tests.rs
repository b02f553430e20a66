use super::super::pulls::Pulls;
use super::super::synthetic::{integrals, stress};
use super::*;
use crate::correlation::tests::Normal;

fn log_times() -> Vec<f64> {
    (0..41).map(|k| 1e-2 * 10_f64.powf(f64::from(k) / 10.0)).collect()
}

fn two_steps(t: f64) -> f64 {
    2.0 * (1.0 - 0.6 * (-t / 0.1).exp() - 0.4 * (-t / 3.0).exp())
}

#[test]
fn an_exponential_approach_gives_its_plateau() {
    let time = log_times();
    let value: Vec<f64> = time.iter().map(|&t| two_steps(t)).collect();
    let error: Vec<f64> = time.iter().map(|t| 0.01 * t.sqrt()).collect();
    let found = plateau(&time, &value, &error).unwrap();
    assert!((found.value.value - 2.0).abs() < 0.02, "{found:?}");
    // Noise rules where the error is 0.5, long after the last lag.
    assert!(found.from > 6.0 && found.from < 15.0, "{found:?}");
    assert!((found.noise / 2500.0 - 1.0).abs() < 0.05, "{found:?}");
    // At least eight times later, with the error of the point there.
    assert!(found.to >= 4.0 * found.from, "{found:?}");
    let error = 0.01 * found.to.sqrt();
    assert!((0.99..1.02).contains(&(found.value.error / error)), "{found:?}");
}

#[test]
fn what_still_rises_has_no_value() {
    let time = &log_times()[..27];
    let value: Vec<f64> = time.iter().map(|&t| two_steps(t)).collect();
    let of = |error: f64| plateau(time, &value, &[error; 27]);
    for error in [1e-3, 1e-2] {
        assert_eq!(of(error), Err(NoPlateau::NotDecayed(time[26])));
    }
    // Noise rules before.
    assert!(matches!(of(0.3), Err(NoPlateau::NotDecayed(t)) if t < 1.0), "{:?}", of(0.3));
    assert_eq!(of(f64::NAN), Err(NoPlateau::NoErrors));
}

#[test]
fn points_on_the_plateau_give_their_value() {
    let time = [1.0, 2.0, 4.0, 8.0];
    let found = plateau(&time, &[2.0; 4], &[0.1, 0.1, 0.2, 0.4]).unwrap();
    assert!((found.value.value - 2.0).abs() < 1e-9, "{found:?}");
    // All share the noise of the first, of variance 0.01; eight times later it is that of the last or less.
    assert!((0.1..0.4).contains(&found.value.error), "{found:?}");
    assert_eq!(plateau(&time[..2], &[2.0; 2], &[0.1; 2]), Err(NoPlateau::TooFew));
    assert_eq!(plateau(&time, &[-1.0; 4], &[0.1; 4]), Err(NoPlateau::NotDecayed(1.0)));
}

/// Noise is a random walk. The rms of 400 values is uncertain by 4 %.
#[test]
fn errors_of_the_plateau_are_those_of_repeated_measurements() {
    let time = log_times();
    let error: Vec<f64> = time.iter().map(|t| 0.01 * t.sqrt()).collect();
    let (mut pulls, mut normal) = (Pulls::default(), Normal::new(23));
    for _ in 0..400 {
        let (mut walk, mut before) = (0.0, 0.0);
        let noisy: Vec<f64> = time
            .iter()
            .map(|&t| {
                walk += 0.01 * (t - before).sqrt() * normal.next();
                before = t;
                two_steps(t) + walk
            })
            .collect();
        if let Ok(found) = plateau(&time, &noisy, &error) {
            pulls.add(found.value, 2.0);
        }
    }
    let rms = pulls.mean_square().sqrt();
    assert!((0.75..1.0).contains(&rms) && pulls.count() > 320, "{rms} {}", pulls.count());
}

/// Runs of stresses, by number of components and samples.
struct Runs<'a> {
    parts: &'a [[f64; 2]],
    components: usize,
    samples: usize,
    interval: f64,
    /// Longest lag in samples.
    most: usize,
}

impl Runs<'_> {
    /// The integral: sums over samples by the trapezoidal rule.
    fn expected(&self) -> f64 {
        let of = |[variance, tau]: &[f64; 2]| {
            0.5 * variance * self.interval / (0.5 * self.interval / tau).tanh()
        };
        self.parts.iter().map(of).sum()
    }

    /// Plateaus of repeated runs that have one.
    fn plateaus(&self, runs: usize, normal: &mut Normal) -> Vec<Plateau> {
        let mut one = || {
            let components: Vec<Vec<f64>> = (0..self.components)
                .map(|_| stress(self.parts, self.samples, self.interval, normal))
                .collect();
            let [time, value, error] = integrals(&components, self.interval, self.most);
            plateau(&time, &value, &error).ok()
        };
        (0..runs).filter_map(|_| one()).collect()
    }

    fn pulls(&self, plateaus: &[Plateau]) -> Pulls {
        let mut pulls = Pulls::default();
        plateaus.iter().for_each(|found| pulls.add(found.value, self.expected()));
        pulls
    }
}

const SINGLE: [[f64; 2]; 1] = [[1.0, 1.0]];

/// Runs of 200 decay times, a fifth of which has a value, and of 1,000, whose lags continue to where there is only noise. The
/// rms of 100 values is uncertain by 7 %.
#[test]
fn errors_of_viscosities_are_those_of_repeated_runs() {
    let mut normal = Normal::new(31);
    for (samples, count, least) in [(2_000, 500, 50), (10_000, 200, 170)] {
        let interval = 0.1;
        let runs = Runs { parts: &SINGLE, components: 5, samples, interval, most: 900 };
        let found = runs.plateaus(count, &mut normal);
        runs.pulls(&found).are_calibrated(&format!("{samples} samples"));
        assert!(found.len() >= least, "{samples}: {}", found.len());
    }
}

/// Runs of 170 and of 680 times the slowest decay, which is 40 % of the viscosity.
#[test]
fn errors_of_viscosities_hold_a_second_decay() {
    let parts = [[6.0, 0.1], [0.4 / 3.0, 3.0]];
    let mut normal = Normal::new(31);
    for (samples, least) in [(10_000, 48), (40_000, 40)] {
        let runs = Runs { parts: &parts, components: 5, samples, interval: 0.05, most: 900 };
        let found = runs.plateaus(60, &mut normal);
        let rms = runs.pulls(&found).mean_square().sqrt();
        assert!((0.6..1.15).contains(&rms), "{samples} samples: {rms}");
        assert!(found.len() >= least, "{samples}: {}", found.len());
    }
}

/// A tail of 20 % of the viscosity, ten times slower, of which a run has 170 decay times.
#[test]
fn errors_of_viscosities_hold_a_slow_tail() {
    let parts = [[0.8, 1.0], [0.02, 10.0]];
    let runs = Runs { parts: &parts, components: 5, samples: 8_500, interval: 0.2, most: 2_000 };
    let found = runs.plateaus(100, &mut Normal::new(37));
    runs.pulls(&found).are_calibrated("tail");
    assert!(found.len() >= 90, "{}", found.len());
}

/// Runs of two components in two dimensions with lags up to most of the run: 240 to 360 decay times are deep in the noise,
/// whose largest values were once taken for the plateau.
#[test]
fn no_value_is_read_off_where_there_is_only_noise() {
    let mut normal = Normal::new(41);
    let of = |samples: usize| {
        let most = samples * 3 / 4;
        Runs { parts: &SINGLE, components: 2, samples, interval: 0.25, most }
    };
    let runs = of(6_000);
    let found = runs.plateaus(100, &mut normal);
    runs.pulls(&found).are_calibrated("1,500 decay times");
    assert!(found.len() >= 60, "{}", found.len());
    for one in &found {
        let pull = (one.value.value - runs.expected()) / one.value.error;
        assert!(one.to < 240.0 && pull.abs() < 4.0, "{one:?}");
    }
    // Of 50 decay times lags of five are noise already.
    for samples in [200, 400] {
        let found = of(samples).plateaus(200, &mut normal);
        assert!(found.len() <= 6, "{samples}: {}", found.len());
    }
}
