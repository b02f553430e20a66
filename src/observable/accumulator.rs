//! Averages of correlated data with their statistical error, by hierarchical blocking.
//!
//! Means over blocks of 1, 2, 4, ... successive values and the sums of their squares, of which [`error_of_mean_knowing`] makes
//! the error. One pass, memory and work per value O(log n) and O(1).
use supercool_statistics::{Blocks, Known, error_of_mean_knowing};

use super::ObservableError;

/// Most quantities averaged together in one [`BlockAverage`].
pub const MAX_COMPONENTS: usize = 2;
/// Of the squares of all blocks' deviations, what later ones have at least.
const LEAST_SHARE: f64 = 0.01;

/// Mean of one or two jointly sampled quantities, with the error of any function of the means.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockAverage {
    components: usize,
    /// One record per block size 1, 2, 4, ...: number of blocks; mean (one per component); sums of
    /// products of deviations (components squared); 1 if a block waits for its partner; that block.
    records: Vec<f64>,
    /// The first block of each size.
    first: Vec<f64>,
}

/// What came later against what came first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Mean of the later values less that of the first ones.
    pub value: f64,
    /// Its standard error, by the scatter of later blocks.
    pub error: f64,
}

impl BlockAverage {
    /// # Panics
    /// Unless `1 <= components <= MAX_COMPONENTS`.
    pub fn new(components: usize) -> Self {
        assert!((1..=MAX_COMPONENTS).contains(&components));
        BlockAverage { components, records: Vec::new(), first: Vec::new() }
    }

    fn record_length(&self) -> usize {
        2 + 2 * self.components + self.components * self.components
    }

    /// Adds the next value; order matters for the error.
    pub fn push(&mut self, values: &[f64]) {
        let (components, length) = (self.components, self.record_length());
        let mut block = [0.0; MAX_COMPONENTS];
        block[..components].copy_from_slice(values);
        for level in 0.. {
            if self.records.len() == level * length {
                self.records.resize((level + 1) * length, 0.0);
                self.first.extend_from_slice(&block[..components]);
            }
            let record = &mut self.records[level * length..(level + 1) * length];
            let (count, record) = record.split_first_mut().expect("records are not empty");
            let (mean, record) = record.split_at_mut(components);
            let (products, record) = record.split_at_mut(components * components);
            let (waits, waiting) = record.split_first_mut().expect("records are not empty");
            *count += 1.0;
            let mut deviation = [0.0; MAX_COMPONENTS];
            for i in 0..components {
                deviation[i] = block[i] - mean[i];
                mean[i] += deviation[i] / *count;
            }
            for i in 0..components {
                for j in 0..components {
                    products[i * components + j] += deviation[i] * (block[j] - mean[j]);
                }
            }
            if *waits == 0.0 {
                *waits = 1.0;
                waiting.copy_from_slice(&block[..components]);
                return;
            }
            *waits = 0.0;
            for i in 0..components {
                block[i] = 0.5 * (block[i] + waiting[i]);
            }
        }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.records.first().map_or(0, |&count| count as u64)
    }

    /// Means; empty before the first value.
    pub fn mean(&self) -> &[f64] {
        self.records.get(1..=self.components).unwrap_or(&[])
    }

    /// Standard deviation of a function `f` of the means with this gradient at the means (linear
    /// propagation with covariances). For the mean of a single quantity the gradient is `[1.0]`.
    ///
    /// By [`error_of_mean`](supercool_statistics::error_of_mean); NaN for fewer than eight values.
    pub fn error(&self, gradient: &[f64]) -> f64 {
        self.error_knowing(gradient, Known::default())
    }

    /// The same where something is known of the correlation of the values.
    pub fn error_knowing(&self, gradient: &[f64], known: Known) -> f64 {
        let levels = self.records.len() / self.record_length();
        // A level is there as soon as it has one block, of which there is no variance.
        let levels = (0..levels).map(|level| Blocks {
            count: self.blocks(level),
            variance_of_mean: self.variance_of_mean(level, gradient),
        });
        error_of_mean_knowing(levels.take_while(|blocks| blocks.count > 1.0), known)
    }

    /// How a function of the means with this gradient has changed in the course of the values: from the first ones, a power of
    /// two between a quarter and a half of them, to the rest. `None` below eight values, or where the state was saved by a
    /// version that did not keep the first ones.
    ///
    /// The error is that of a mean of four and one of `n - 4` independent blocks, `n = 8 ... 15` the number of the longest
    /// ones: `[s^2 (1/4 + 1/(n - 4))]^(1/2)`. `s^2` is the variance of the later blocks, as what relaxes at first is change and no noise:
    /// the sum of the squares of all deviations, less those of the change and of the first two blocks and the next two
    /// together, over `n - 4`.
    pub fn change(&self, gradient: &[f64]) -> Option<Change> {
        // The last level is one block of half the values or more, the fourth but last has 8 to 15.
        let levels = self.records.len() / self.record_length();
        let longest = levels.checked_sub(4)?;
        let along = |values: &[f64]| values.iter().zip(gradient).map(|(x, slope)| x * slope).sum();
        let of_first = |level: usize| -> f64 {
            along(&self.first[level * self.components..(level + 1) * self.components])
        };
        let [one, two, four] = [longest, longest + 1, longest + 2].map(of_first);
        let share = 2.0_f64.powi(longest as i32 + 2) / self.blocks(0);
        let mean: f64 = along(self.mean());
        let value = (mean - four) / (1.0 - share);
        let n = self.blocks(longest);
        let squares = n * (n - 1.0) * self.variance_of_mean(longest, gradient);
        let among_first =
            [one, 2.0 * two - one].map(|block| (block - four).powi(2)).iter().sum::<f64>()
                + 2.0 * (2.0 * four - two - four).powi(2);
        let of_change = n * share * (1.0 - share) * value * value;
        // Values beyond the last whole block are in the mean and not among the squares.
        let later = (squares - of_change - among_first).max(LEAST_SHARE * squares) / (n - 4.0);
        let error = (later * (0.25 + 1.0 / (n - 4.0))).sqrt();
        value.is_finite().then_some(Change { value, error })
    }

    /// Whether all values so far are the same, up to rounding.
    pub fn is_constant(&self) -> bool {
        const ROUNDING: f64 = 1e-13;
        (0..self.components).all(|component| {
            let square = 1 + self.components + component * (self.components + 1);
            let Some(&square) = self.records.get(square) else { return true };
            square <= self.records[0] * (ROUNDING * self.records[1 + component]).powi(2)
        })
    }

    fn blocks(&self, level: usize) -> f64 {
        self.records[level * self.record_length()]
    }

    /// Variance of the mean of `gradient . values`, if the blocks of one level are independent.
    fn variance_of_mean(&self, level: usize, gradient: &[f64]) -> f64 {
        let start = level * self.record_length() + 1 + self.components;
        let blocks = self.blocks(level);
        let mut sum = 0.0;
        for i in 0..self.components {
            for j in 0..self.components {
                let product = self.records[start + i * self.components + j];
                sum += gradient[i] * gradient[j] * product;
            }
        }
        sum / (blocks * (blocks - 1.0))
    }

    /// Appends the state to `array`, that of [`save_first`](Self::save_first) left out.
    pub(super) fn save(&self, array: &mut Vec<f64>) {
        array.push((self.records.len() / self.record_length()) as f64);
        array.extend_from_slice(&self.records);
    }

    /// Appends the first blocks to `array`.
    pub(super) fn save_first(&self, array: &mut Vec<f64>) {
        array.extend_from_slice(&self.first);
    }

    /// Takes the first blocks, written by [`save_first`](Self::save_first), from the front of `array`; after
    /// [`restore`](Self::restore), which leaves them unknown.
    pub(super) fn restore_first(&mut self, array: &mut &[f64]) -> Result<(), ObservableError> {
        let short = || ObservableError::State("the array of first blocks is too short".into());
        let (first, rest) = array.split_at_checked(self.first.len()).ok_or_else(short)?;
        self.first.copy_from_slice(first);
        *array = rest;
        Ok(())
    }

    /// Takes a state written by [`save`](Self::save) from the front of `array`.
    pub(super) fn restore(&mut self, array: &mut &[f64]) -> Result<(), ObservableError> {
        let short = || ObservableError::State("the array of averages is too short".into());
        let (&levels, rest) = array.split_first().ok_or_else(short)?;
        if !(0.0..=64.0).contains(&levels) {
            return Err(ObservableError::State(format!("{levels} levels in an average")));
        }
        let length = levels as usize * self.record_length();
        self.records = rest.get(..length).ok_or_else(short)?.to_vec();
        self.first = vec![f64::NAN; levels as usize * self.components];
        *array = &rest[length..];
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use statrs::distribution::{Binomial, DiscreteCDF};

    use super::super::trajectories::normal;
    use super::*;

    /// Values of the process x' = phi x + sqrt(1 - phi^2) noise: variance 1, mean 0.
    fn autoregressive(rng: &mut StdRng, phi: f64, count: usize) -> Vec<f64> {
        let mut x = normal(rng);
        (0..count)
            .map(|_| {
                x = phi * x + (1.0 - phi * phi).sqrt() * normal(rng);
                x
            })
            .collect()
    }

    /// Exact variance of the mean of `count` values of that process.
    fn exact_variance(phi: f64, count: f64) -> f64 {
        let tail = 2.0 * phi * (1.0 - phi.powf(count)) / (count * (1.0 - phi) * (1.0 - phi));
        ((1.0 + phi) / (1.0 - phi) - tail) / count
    }

    fn average(values: &[f64]) -> BlockAverage {
        let mut average = BlockAverage::new(1);
        values.iter().for_each(|&value| average.push(&[value]));
        average
    }

    #[test]
    fn error_bars_of_correlated_data_cover_the_true_mean_as_often_as_they_should() {
        let mut rng = StdRng::seed_from_u64(11);
        let repeats = 400;
        for phi in [0.0, 0.5, 0.9, 0.98] {
            let (mut within_one, mut within_two, mut ratio) = (0, 0, 0.0);
            for _ in 0..repeats {
                let average = average(&autoregressive(&mut rng, phi, 20_000));
                let (mean, error) = (average.mean()[0].abs(), average.error(&[1.0]));
                within_one += u64::from(mean < error);
                within_two += u64::from(mean < 2.0 * error);
                ratio += error / exact_variance(phi, 20_000.0).sqrt() / f64::from(repeats);
            }
            // Student's t of 8 to 14 degrees of freedom, of variance 1, is within one by 0.70 to 0.72 and within two
            // by 0.95; corrected for what correlations are left a little wider. Two-sided level 1e-4 around a band.
            for (hits, low, high) in [(within_one, 0.66, 0.73), (within_two, 0.93, 0.96)] {
                let below = Binomial::new(low, 400).unwrap().cdf(hits);
                let above = 1.0 - Binomial::new(high, 400).unwrap().cdf(hits);
                assert!(below > 1e-4 && above > 1e-4, "phi = {phi}: {hits} of 400");
            }
            // Student's factor for 9 blocks, 1.12 on average, and the uncertainty of the correction.
            assert!((1.0..1.25).contains(&ratio), "phi = {phi}: {ratio} of the exact one");
        }
    }

    #[test]
    fn naive_error_of_correlated_data_would_be_far_too_small() {
        let mut rng = StdRng::seed_from_u64(5);
        let average = average(&autoregressive(&mut rng, 0.98, 20_000));
        let naive = average.variance_of_mean(0, &[1.0]).sqrt();
        assert!(average.error(&[1.0]) > 5.0 * naive);
    }

    #[test]
    fn error_of_a_ratio_includes_the_covariance() {
        // y = 2 x exactly: the ratio of the means is exact, though each mean has an error.
        let mut rng = StdRng::seed_from_u64(3);
        let mut average = BlockAverage::new(2);
        for x in autoregressive(&mut rng, 0.5, 5_000) {
            average.push(&[3.0 + x, 6.0 + 2.0 * x]);
        }
        let (x, y) = (average.mean()[0], average.mean()[1]);
        assert!(average.error(&[1.0, 0.0]) > 0.01);
        assert!(average.error(&[-y / (x * x), 1.0 / x]) < 1e-8);
    }

    /// 900 values: the first 256 against the rest.
    #[test]
    fn what_changes_is_seen_and_what_fluctuates_is_not() {
        let mut rng = StdRng::seed_from_u64(8);
        let mut changed = |change: &dyn Fn(f64) -> f64| {
            let noise = autoregressive(&mut rng, 0.8, 900);
            let values: Vec<f64> =
                (0..900).zip(noise).map(|(k, x)| x + change(f64::from(k))).collect();
            (average(&values).change(&[2.0]).unwrap(), values)
        };
        let (change, values) = changed(&|_| 0.0);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let expected = 2.0 * (mean(&values[256..]) - mean(&values[..256]));
        assert!((change.value - expected).abs() < 1e-12, "{change:?} {expected}");
        // Blocks of 64 values, seven correlation times: independent ones give an error uncertain by a fourth.
        let mut seen = |change: &dyn Fn(f64) -> f64, squares: &mut f64| {
            let changes = (0..300).map(|_| changed(change).0);
            let changes =
                changes.inspect(|one| *squares += (one.value / one.error).powi(2) / 300.0);
            changes.filter(|one| one.value.abs() > 6.0 * one.error).count()
        };
        let mut squares = 0.0;
        assert!(seen(&|_| 0.0, &mut squares) < 3);
        // Student's distribution of ten degrees of freedom has a variance of 1.25.
        assert!((0.9..2.0).contains(&squares), "{squares}");
        // A step; what relaxes at first, with most of its change among the first values.
        assert!(seen(&|k| if k < 256.0 { 2.5 } else { 0.0 }, &mut squares) > 250);
        assert!(seen(&|k| 12.0 * (-k / 100.0).exp(), &mut squares) > 250);
        assert_eq!(average(&[1.0; 7]).change(&[1.0]), None);
        assert_eq!(average(&[1.0; 8]).change(&[1.0]), Some(Change { value: 0.0, error: 0.0 }));
    }

    #[test]
    fn fewer_than_eight_values_have_no_error() {
        assert_eq!(BlockAverage::new(1).count(), 0);
        assert!(BlockAverage::new(1).mean().is_empty() && BlockAverage::new(1).is_constant());
        let mut values = vec![1.0, 2.0, 4.0, 1.0, 3.0, 1.0, 2.0];
        assert!(average(&values).error(&[1.0]).is_nan() && !average(&values).is_constant());
        values.push(2.0);
        assert!(average(&values).error(&[1.0]) > 0.0);
        assert_eq!((average(&values).count(), average(&values).mean()[0]), (8, 2.0));
        assert_eq!(average(&[1.0; 8]).error(&[1.0]), 0.0);
        assert!(average(&[1.0; 8]).is_constant());
        // Both of two.
        let mut two = BlockAverage::new(2);
        (0..9).for_each(|k| two.push(&[1.0, f64::from(k)]));
        assert!(!two.is_constant());
    }

    #[test]
    fn saved_state_goes_on_with_the_same_bits() {
        let mut rng = StdRng::seed_from_u64(1);
        let values = autoregressive(&mut rng, 0.7, 1000);
        let whole = average(&values);
        let mut array = Vec::new();
        average(&values[..617]).save(&mut array);
        let mut resumed = BlockAverage::new(1);
        let mut rest = array.as_slice();
        resumed.restore(&mut rest).unwrap();
        assert!(rest.is_empty());
        // As from a version that did not keep the first blocks.
        assert_eq!(resumed.change(&[1.0]), None);
        let mut first = Vec::new();
        average(&values[..617]).save_first(&mut first);
        assert!(resumed.clone().restore_first(&mut &first[..7]).is_err());
        let mut rest = first.as_slice();
        resumed.restore_first(&mut rest).unwrap();
        assert!(rest.is_empty());
        values[617..].iter().for_each(|&value| resumed.push(&[value]));
        assert_eq!(resumed, whole);
        assert!(BlockAverage::new(1).restore(&mut &array[..7]).is_err());
    }
}
