//! Pairs of samples from given time origins: `C(t_w + t, t_w)`, with no average over origins.
//!
//! Each waiting time `t_w` (of an origin, since the start of the stage) has the same lags `t`, those of the correlation's blocks; one
//! that leads beyond the end of the stage has no pair. Samples are taken at the origins and at all lags behind each of them, and those
//! at the origins are kept until their last lag has come. In a flow there are samples between, along which particles are followed.
use super::FrameTimes;
use crate::observable::dynamics::blocking::BlockingScheme;
use crate::plan::CorrelationPlan;

/// Waiting times and lags.
#[derive(Clone, Debug, PartialEq)]
pub struct OriginGrid {
    /// In steps since the start of the stage, ascending.
    pub origins: Vec<u64>,
    /// In steps, ascending, from zero on: as far as the first origin allows.
    pub lags: Vec<u64>,
    stage_steps: u64,
}

impl OriginGrid {
    /// Of a correlation in a stage of this number of steps; `None` if it is averaged over all origins.
    pub fn of(plan: &CorrelationPlan, stage_steps: u64) -> Option<Self> {
        let longest = stage_steps.saturating_sub(*plan.origins.first()?);
        let lags = BlockingScheme::<()>::new(plan.blocks()).lags().into_iter();
        let lags = lags.map(|lag| lag.saturating_mul(plan.every));
        let lags = lags.take_while(|&lag| lag <= longest).collect();
        Some(OriginGrid { origins: plan.origins.clone(), lags, stage_steps })
    }

    /// Index of a pair: by waiting time, lag.
    pub fn index(&self, waiting: usize, lag: usize) -> usize {
        waiting * self.lags.len() + lag
    }

    /// The pairs, with their lags by [`index`](Self::index), of samples at all steps, or at the `available` ones only.
    pub fn times(&self, available: Option<&[u64]>) -> FrameTimes {
        self.times_and(available, &[])
    }

    /// The same with samples at an interval from the first origin to the last pair, which are paired with none.
    pub fn times_in_flow(&self, every: u64) -> FrameTimes {
        let last = self.times(None).steps.last().copied().unwrap_or(0);
        let between: Vec<u64> = (self.origins[0]..=last).step_by(every as usize).collect();
        self.times_and(None, &between)
    }

    fn times_and(&self, available: Option<&[u64]>, between: &[u64]) -> FrameTimes {
        let is_there = |step: u64| available.is_none_or(|steps| steps.binary_search(&step).is_ok());
        let mut wanted: Vec<[u64; 2]> = Vec::new();
        for &origin in self.origins.iter().filter(|&&origin| is_there(origin)) {
            let later = self.lags.iter().map(|lag| origin + lag);
            let later = later.filter(|&step| step <= self.stage_steps && is_there(step));
            wanted.extend(later.map(|step| [origin, step]));
        }
        let laters = wanted.iter().map(|&[_, later]| later);
        let mut steps: Vec<u64> = laters.chain(between.iter().copied()).collect();
        steps.sort_unstable();
        steps.dedup();
        let place = |step: u64| steps.binary_search(&step).expect("it is one of them");
        let mut pairs = vec![Vec::new(); steps.len()];
        let mut until: Vec<usize> = (0..steps.len()).collect();
        for [origin, step] in wanted {
            let waiting = self.origins.binary_search(&origin).expect("it is one of them");
            let lag = self.lags.binary_search(&(step - origin)).expect("it is one of them");
            let (from, later) = (place(origin), place(step));
            pairs[later].push((from, self.index(waiting, lag)));
            until[from] = until[from].max(later);
        }
        let lags: Vec<u64> = self.origins.iter().flat_map(|_| self.lags.iter().copied()).collect();
        FrameTimes { spacing: vec![1.0; lags.len()], lags, pairs, until, steps }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::FrameScheme;
    use super::*;

    fn grid(origins: &[u64], lags: &[u64], stage_steps: u64) -> OriginGrid {
        OriginGrid { origins: origins.to_vec(), lags: lags.to_vec(), stage_steps }
    }

    /// Pairs in the order of the samples: step of the origin, step of the later one, index.
    fn pairs(grid: &OriginGrid, available: Option<&[u64]>) -> (Vec<(u64, u64, usize)>, usize) {
        let mut scheme = FrameScheme::new(Arc::new(grid.times(available)));
        let (mut all, mut most) = (Vec::new(), 0);
        while let Some(step) = scheme.next_step() {
            let (later, origins) = scheme.push(step);
            most = most.max(scheme.held().count());
            all.extend(origins.into_iter().map(|(index, origin)| (*origin, *later, index)));
        }
        assert_eq!(scheme.held().count(), 0);
        (all, most)
    }

    #[test]
    fn each_origin_has_each_lag_that_the_stage_has() {
        let grid = grid(&[0, 3, 10], &[0, 1, 3, 9], 12);
        let (found, most) = pairs(&grid, None);
        let mut expected = Vec::new();
        for (waiting, &origin) in grid.origins.iter().enumerate() {
            for (lag, &of) in grid.lags.iter().enumerate() {
                if origin + of <= 12 {
                    expected.push((origin, origin + of, grid.index(waiting, lag)));
                }
            }
        }
        let mut sorted = found.clone();
        sorted.sort_unstable();
        expected.sort_unstable();
        assert_eq!(sorted, expected);
        assert!(found.windows(2).all(|pair| pair[0].1 <= pair[1].1), "in the order of time");
        assert_eq!(found.len(), 4 + 4 + 2);
        // Beside the origins nothing is kept.
        assert!(most <= 2, "{most}");
    }

    #[test]
    fn samples_that_are_not_there_have_no_pairs() {
        let grid = grid(&[0, 4], &[0, 2, 4], 8);
        let (found, _) = pairs(&grid, Some(&[0, 4, 8]));
        assert_eq!(found, [(0, 0, 0), (0, 4, 2), (4, 4, 3), (4, 8, 5)]);
        let (found, _) = pairs(&grid, Some(&[0, 2, 6]));
        assert_eq!(found, [(0, 0, 0), (0, 2, 1)]);
    }

    #[test]
    fn samples_between_are_paired_with_none() {
        let grid = grid(&[1, 4], &[0, 4, 8], 13);
        let (alone, along) = (grid.times(None), grid.times_in_flow(2));
        assert_eq!(alone.steps(), [1, 4, 5, 8, 9, 12]);
        assert_eq!(along.steps(), [1, 3, 4, 5, 7, 8, 9, 11, 12]);
        let pairs_of = |times: FrameTimes| {
            let mut scheme = FrameScheme::new(Arc::new(times));
            let (mut all, mut most) = (Vec::new(), 0);
            while let Some(step) = scheme.next_step() {
                let (_, origins) = scheme.push(step);
                all.extend(origins.into_iter().map(|(index, origin)| (*origin, step, index)));
                most = most.max(scheme.held().count());
            }
            (all, most)
        };
        assert_eq!(pairs_of(alone), pairs_of(along));
    }

    #[test]
    fn a_restored_scheme_goes_on_alike() {
        let times = Arc::new(grid(&[0, 3, 10], &[0, 1, 3, 9], 12).times(None));
        for stop in 0..times.steps().len() {
            let mut whole = FrameScheme::new(Arc::clone(&times));
            let steps = times.steps().to_vec();
            steps[..stop].iter().for_each(|&step| drop(whole.push(step)));
            let held: Vec<_> = whole.held().map(|(index, of)| (index, Arc::clone(of))).collect();
            let mut resumed = FrameScheme::new(Arc::clone(&times));
            assert!(!resumed.restore(stop as u64 + 99, held.clone()));
            if !held.is_empty() {
                assert!(!resumed.restore(stop as u64, held[1..].to_vec()));
            }
            assert!(resumed.restore(stop as u64, held));
            for &step in &steps[stop..] {
                assert_eq!(resumed.next_step(), Some(step));
                assert_eq!(whole.push(step), resumed.push(step));
            }
        }
    }
}
