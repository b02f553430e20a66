//! Pairs of samples that are not at equal intervals, as of a trajectory at logarithmic times.
//!
//! The steps of all samples are known from the start. Where some follow the first one at equal intervals `E` to the end, lags
//! below `E` are the steps of the samples before the first of these, and every pair of samples with such a lag counts; lags
//! from `E` on are those of a blocking scheme of the samples at equal intervals. Else lags are the steps of all
//! samples behind the first one, and every pair of samples with such a lag counts.
//!
//! Pairs from given time origins are another choice of pairs: see [`OriginGrid`].
mod origins;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::blocking::Blocks;
pub use origins::OriginGrid;

/// Of lags beyond the equal intervals: 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, ... of these.
const BLOCKS: Blocks = Blocks { size: 6, levels: 60, ratio: 2 };

/// Which samples are paired.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameTimes {
    /// In steps, ascending, from zero on; from given time origins those of each, one after the other.
    lags: Vec<u64>,
    /// By lag, steps between time origins in the mean.
    spacing: Vec<f64>,
    /// By sample: for each earlier one that it is paired with, and for itself, its index and that of the lag.
    pairs: Vec<Vec<(usize, usize)>>,
    /// By sample: the last one that it is paired with.
    until: Vec<usize>,
    /// Of the samples, ascending: since the first one, or since the start of the stage.
    steps: Vec<u64>,
}

impl FrameTimes {
    /// `steps` of the samples since the first one; `every`: the equal interval, if there is one.
    ///
    /// # Panics
    /// Unless the steps ascend from zero on.
    pub fn new(steps: Vec<u64>, every: Option<u64>) -> Self {
        assert!(steps.first() == Some(&0) && steps.windows(2).all(|pair| pair[0] < pair[1]));
        let last = steps[steps.len() - 1];
        let every = every.unwrap_or(u64::MAX);
        let below = steps.iter().copied().take_while(|&step| step < every);
        // With the spacing of their time origins: those below the interval have any.
        let mut wanted: Vec<(u64, u64)> = below.map(|lag| (lag, 1)).collect();
        let beyond = (1..).map_while(|index| {
            let interval = BLOCKS.interval(BLOCKS.place(index).0)?;
            let lag = BLOCKS.lag(index)?.checked_mul(every).filter(|&lag| lag <= last)?;
            Some((lag, interval * every))
        });
        wanted.extend(beyond);
        let mut pairs = vec![Vec::new(); steps.len()];
        let mut until: Vec<usize> = (0..steps.len()).collect();
        let mut origins = vec![(0_u64, 0, 0); wanted.len()];
        for (later, &step) in steps.iter().enumerate() {
            for (index, &(lag, multiple)) in wanted.iter().enumerate() {
                let Some(from) = step.checked_sub(lag) else { break };
                let Ok(origin) = steps.binary_search(&from) else { continue };
                if !from.is_multiple_of(multiple) {
                    continue;
                }
                pairs[later].push((origin, index));
                until[origin] = later;
                let (count, first, last) = &mut origins[index];
                *first = if *count == 0 { from } else { *first };
                (*count, *last) = (*count + 1, from);
            }
        }
        let spacing = origins.iter().map(|&(count, first, last)| match count {
            0 | 1 => 1.0,
            _ => (last - first) as f64 / (count - 1) as f64,
        });
        let spacing = spacing.collect();
        FrameTimes {
            lags: wanted.into_iter().map(|(lag, _)| lag).collect(),
            spacing,
            pairs,
            until,
            steps,
        }
    }

    /// Of the samples.
    pub fn steps(&self) -> &[u64] {
        &self.steps
    }

    /// In steps, ascending, from zero on; from given time origins those of each, one after the other.
    pub fn lags(&self) -> &[u64] {
        &self.lags
    }

    /// Steps between the time origins of a lag in the mean.
    pub fn spacing(&self, lag: usize) -> f64 {
        self.spacing[lag]
    }
}

/// Pairs that the next sample completes: the index of the lag and the sample at the time origin.
pub type Origins<S> = Vec<(usize, Arc<S>)>;

/// Samples that are still to be paired.
#[derive(Clone, Debug)]
pub struct FrameScheme<S> {
    times: Arc<FrameTimes>,
    samples: usize,
    /// By index.
    held: BTreeMap<usize, Arc<S>>,
}

impl<S> FrameScheme<S> {
    pub fn new(times: Arc<FrameTimes>) -> Self {
        FrameScheme { times, samples: 0, held: BTreeMap::new() }
    }

    pub fn times(&self) -> &FrameTimes {
        &self.times
    }

    /// Step of the next sample.
    pub fn next_step(&self) -> Option<u64> {
        self.times.steps.get(self.samples).copied()
    }

    pub fn samples(&self) -> u64 {
        self.samples as u64
    }

    /// Samples that are still to be paired, ascending by index.
    pub fn held(&self) -> impl Iterator<Item = (u64, &Arc<S>)> {
        self.held.iter().map(|(&index, sample)| (index as u64, sample))
    }

    /// Puts back what [`samples`](Self::samples) and [`held`](Self::held) gave; false if they do not belong to such a scheme.
    pub fn restore(&mut self, samples: u64, held: Vec<(u64, Arc<S>)>) -> bool {
        let Ok(samples) = usize::try_from(samples) else { return false };
        if samples > self.times.steps.len() {
            return false;
        }
        let expected = (0..samples).filter(|&index| self.times.until[index] >= samples);
        if !expected.map(|index| index as u64).eq(held.iter().map(|&(index, _)| index)) {
            return false;
        }
        self.samples = samples;
        self.held = held.into_iter().map(|(index, sample)| (index as usize, sample)).collect();
        true
    }

    /// Adds the next sample; hands it out with the pairs that it completes.
    ///
    /// # Panics
    /// If there is one more than there are steps.
    pub fn push(&mut self, sample: S) -> (Arc<S>, Origins<S>) {
        let (index, sample) = (self.samples, Arc::new(sample));
        self.samples += 1;
        self.held.insert(index, Arc::clone(&sample));
        let origin = |&(origin, lag): &(usize, usize)| (lag, Arc::clone(&self.held[&origin]));
        let origins = self.times.pairs[index].iter().map(origin).collect();
        for (origin, _) in &self.times.pairs[index] {
            if self.times.until[*origin] == index {
                self.held.remove(origin);
            }
        }
        if self.times.until[index] == index {
            self.held.remove(&index);
        }
        (sample, origins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By lag: origins in order; and the most samples that were held.
    fn origins(steps: &[u64], every: Option<u64>) -> (BTreeMap<u64, Vec<u64>>, usize) {
        let mut scheme = FrameScheme::new(Arc::new(FrameTimes::new(steps.to_vec(), every)));
        let lags = scheme.times().lags().to_vec();
        let (mut all, mut most) = (BTreeMap::<_, Vec<_>>::new(), 0);
        for &step in steps {
            assert_eq!(scheme.next_step(), Some(step));
            let (later, origins) = scheme.push(step);
            most = most.max(scheme.held.len());
            for (lag, origin) in origins {
                assert_eq!(lags[lag], *later - *origin);
                all.entry(lags[lag]).or_default().push(*origin);
            }
        }
        assert!(scheme.held.is_empty() && scheme.next_step().is_none());
        (all, most)
    }

    #[test]
    fn every_pair_of_frames_at_any_times_with_a_lag_of_the_first_counts() {
        let (found, _) = origins(&[0, 1, 2, 5, 10, 11], None);
        let expected = [
            (0, vec![0, 1, 2, 5, 10, 11]),
            (1, vec![0, 1, 10]),
            (2, vec![0]),
            (5, vec![0, 5]),
            (10, vec![0, 1]),
            (11, vec![0]),
        ];
        assert_eq!(found, expected.into());
        let times = FrameTimes::new(vec![0, 1, 2, 5, 10, 11], None);
        assert_eq!([0, 1, 2, 3].map(|lag| times.spacing(lag)), [2.2, 5.0, 1.0, 5.0]);
    }

    #[test]
    fn frames_that_repeat_from_several_origins_count_at_each_of_them() {
        let steps: Vec<u64> =
            (0..40).flat_map(|k| [0, 1, 3, 10].map(|offset| 100 * k + offset)).collect();
        let (found, most) = origins(&steps, Some(100));
        let each = |offset: u64| (0..40).map(|k| 100 * k + offset).collect::<Vec<_>>();
        assert_eq!(found[&1], each(0));
        // From frames at the interval only: there is no other.
        assert_eq!(found[&3], each(0));
        assert_eq!(found[&10], each(0));
        // Beyond the interval those of blocks: 12 intervals from every fourth frame on.
        assert_eq!(found[&100], (0..39).map(|k| 100 * k).collect::<Vec<_>>());
        assert_eq!(found[&1200], (0..28).step_by(4).map(|k| 100 * k).collect::<Vec<_>>());
        let lags: Vec<u64> = found.keys().copied().collect();
        assert_eq!(lags[..8], [0, 1, 3, 10, 100, 200, 300, 400]);
        assert_eq!(lags[8..], [500, 600, 800, 1000, 1200, 1600, 2000, 2400, 3200]);
        assert!(most <= 25, "{most}");
    }
}
