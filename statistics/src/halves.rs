//! Whether a series has come to rest: its first half against its second.
use statrs::statistics::Statistics;

use super::{Mean, block_average};

/// Halves differ where their means are further apart than this many standard errors.
const SIGNIFICANT: f64 = 3.5;
/// Or, where slow motion leaves no error, than this many standard deviations of the second half's samples.
const BEYOND_SCATTER: f64 = 2.0;
/// Samples in each half below which nothing is flagged.
const FEWEST_SAMPLES: usize = 16;

/// The halves of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Halves {
    /// Mean of the first half. Its error is that of the fluctuations about a straight line through the half: what ages has a
    /// trend, which is no fluctuation.
    pub first: Mean,
    /// Of the second half.
    pub second: Mean,
    /// Standard deviation of the second half's samples.
    pub scatter: f64,
}

impl Halves {
    /// `None` below 32 samples.
    pub fn of(series: &[f64]) -> Option<Self> {
        let (first, second) = series.split_at(series.len() / 2);
        (first.len() >= FEWEST_SAMPLES).then(|| Halves {
            first: about_a_line(first),
            second: about_a_line(second),
            scatter: second.population_std_dev(),
        })
    }

    /// Second mean less the first.
    pub fn change(&self) -> f64 {
        self.second.value - self.first.value
    }

    /// Standard error of the change.
    pub fn error(&self) -> f64 {
        self.first.error.hypot(self.second.error)
    }

    /// Whether they differ by more than fluctuations explain, and by more than `visible`: a long series shows changes that
    /// matter to nobody. In equilibrium this is so once in 200 series of 20 correlation times, once in 500 of 40 and
    /// more; of 10, once in 60.
    pub fn differ(&self, visible: f64) -> bool {
        let by_chance = match self.error() {
            error if error.is_finite() => SIGNIFICANT * error,
            _ => BEYOND_SCATTER * self.scatter,
        };
        self.change().abs() > by_chance.max(visible)
    }

    /// Whether the changes of several independent series, taken together, are more than fluctuations explain, and on
    /// average more than `visible`.
    pub fn differ_together(all: &[Halves], visible: f64) -> bool {
        let count = all.len() as f64;
        let change = all.iter().map(Halves::change).sum::<f64>() / count;
        let error = all.iter().map(|one| one.error().powi(2)).sum::<f64>().sqrt() / count;
        change.abs() > (SIGNIFICANT * error).max(visible)
    }
}

fn about_a_line(half: &[f64]) -> Mean {
    let count = half.len() as f64;
    let (mean, middle) = (half.mean(), 0.5 * (count - 1.0));
    let from_middle = || (0..half.len()).map(|k| k as f64 - middle);
    let squares: f64 = from_middle().map(|x| x * x).sum();
    let slope = from_middle().zip(half).map(|(x, y)| x * (y - mean)).sum::<f64>() / squares;
    let rest: Vec<f64> = from_middle().zip(half).map(|(x, y)| y - mean - slope * x).collect();
    Mean { value: mean, ..block_average(&rest) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::autoregressive;

    #[test]
    fn what_fluctuates_does_not_differ_and_what_ages_does() {
        // 20 correlation times of 100 samples: once in 200 by chance.
        let equilibrium: Vec<Vec<f64>> =
            (0..400).map(|seed| autoregressive((-0.02_f64).exp(), 2000, seed)).collect();
        let alarms = equilibrium.iter().filter(|one| Halves::of(one).unwrap().differ(0.0));
        assert!(alarms.count() < 8);
        // Logarithmic aging, by four standard deviations of single samples from half to half.
        let aging = |series: &Vec<f64>| -> Vec<f64> {
            let age = (0..).map(|k| -(20.0 + f64::from(k)).ln());
            series.iter().zip(age).map(|(x, age)| 0.3 * x + age).collect()
        };
        let found = equilibrium.iter().filter(|one| Halves::of(&aging(one)).unwrap().differ(0.0));
        assert!(found.count() > 350);
        let aging = Halves::of(&aging(&equilibrium[0])).unwrap();
        assert!(aging.change() < -1.0 && !aging.differ(2.0), "{aging:?}");
    }

    /// By one standard error of each, five of all.
    #[test]
    fn several_series_show_what_one_does_not() {
        let series = |seed: u64, change: f64| -> Vec<f64> {
            let noise = autoregressive(0.0, 1000, seed);
            noise.iter().zip(0..).map(|(x, k)| x - change * f64::from(k / 500)).collect()
        };
        let all = |change: f64| -> Vec<Halves> {
            (0..30).filter_map(|seed| Halves::of(&series(seed, change))).collect()
        };
        assert!(all(0.06).iter().filter(|one| one.differ(0.0)).count() < 3);
        assert!(Halves::differ_together(&all(0.06), 0.0));
        assert!(!Halves::differ_together(&all(0.0), 0.0));
        assert!(!Halves::differ_together(&all(0.06), 0.1));
    }

    #[test]
    fn a_line_is_no_fluctuation_and_few_samples_say_nothing() {
        let line: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(Halves::of(&line).unwrap().differ(0.0));
        assert!(!Halves::of(&[2.5; 100]).unwrap().differ(0.0));
        assert_eq!(Halves::of(&[1.0; 31]), None);
    }
}
