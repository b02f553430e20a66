//! The blocking scheme for time correlations on many time scales (Colberg & Hoefling 2011, section 2.5,
//! figure 2).
//!
//! Level `n` holds a block of up to `l` samples that are `l^n` sampling intervals apart. Whenever a block
//! is full, its first entry is correlated with itself and all others and is then discarded, so that each
//! block is a window that moves along the trajectory. Lags are `m l^n`, `m = 1, ..., l - 1`, and zero:
//! every lag belongs to one level only. Memory: `k l` samples; work: `(l - 1)(1 + 1/l + 1/l^2 + ...)`
//! pairs of samples per sample.
use std::collections::VecDeque;
use std::sync::Arc;

/// Blocks of samples of any type `S`.
#[derive(Clone, Debug)]
pub struct BlockingScheme<S> {
    block_size: usize,
    /// Samples pushed so far.
    samples: u64,
    levels: Vec<Level<S>>,
}

#[derive(Clone, Debug)]
struct Level<S> {
    /// In sampling intervals.
    interval: u64,
    /// With the index of the sample; shared between levels.
    entries: VecDeque<(u64, Arc<S>)>,
}

/// Samples of one block whose first entry is to be correlated with all of them (itself included), in
/// order of time.
#[derive(Clone, Debug)]
pub struct Due<S> {
    pub level: usize,
    pub entries: Vec<Arc<S>>,
}

impl<S> BlockingScheme<S> {
    /// Levels whose interval does not fit 64 bits are left out.
    ///
    /// # Panics
    /// If `block_size < 2` or `levels == 0`.
    pub fn new(block_size: usize, levels: usize) -> Self {
        assert!(block_size >= 2 && levels >= 1);
        let interval = |level: usize| (block_size as u64).checked_pow(level.try_into().ok()?);
        let levels = (0..levels)
            .map_while(interval)
            .map(|interval| Level { interval, entries: VecDeque::with_capacity(block_size) })
            .collect();
        BlockingScheme { block_size, samples: 0, levels }
    }

    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Lags in sampling intervals, ascending, each once: `0, 1, ..., l - 1, l, 2 l, ...`.
    pub fn lags(&self) -> Vec<u64> {
        let of_level = |level: &Level<S>| {
            let interval = level.interval;
            (1..self.block_size as u64).filter_map(move |m| m.checked_mul(interval))
        };
        std::iter::once(0).chain(self.levels.iter().flat_map(of_level)).collect()
    }

    /// Position in [`lags`](Self::lags) of the lag between entries 0 and `entry` of a level's block;
    /// lag zero counts in the finest level only.
    pub fn lag_index(&self, level: usize, entry: usize) -> Option<usize> {
        (entry > 0 || level == 0).then_some(level * (self.block_size - 1) + entry)
    }

    /// Adds the next sample; returns the blocks that it filled.
    pub fn push(&mut self, sample: S) -> Vec<Due<S>> {
        let (index, sample) = (self.samples, Arc::new(sample));
        self.samples += 1;
        let mut due = Vec::new();
        for (number, level) in self.levels.iter_mut().enumerate() {
            if index % level.interval != 0 {
                break;
            }
            level.entries.push_back((index, Arc::clone(&sample)));
            if level.entries.len() == self.block_size {
                due.push(level.discard_first(number));
            }
        }
        due
    }

    /// Empties all blocks: every entry in turn is the first one, so that all pairs that a level still
    /// holds are correlated.
    pub fn finish(&mut self) -> Vec<Due<S>> {
        let mut due = Vec::new();
        for (number, level) in self.levels.iter_mut().enumerate() {
            while !level.entries.is_empty() {
                due.push(level.discard_first(number));
            }
        }
        due
    }

    /// Sample indices in the block of every level.
    pub fn entries(&self) -> Vec<Vec<u64>> {
        let indices = |level: &Level<S>| level.entries.iter().map(|&(index, _)| index).collect();
        self.levels.iter().map(indices).collect()
    }

    /// Distinct samples held, ascending by index.
    pub fn held(&self) -> Vec<(u64, Arc<S>)> {
        let mut held: Vec<_> = self.levels.iter().flat_map(|l| l.entries.iter().cloned()).collect();
        held.sort_by_key(|&(index, _)| index);
        held.dedup_by_key(|&mut (index, _)| index);
        held
    }

    /// Takes all samples away, as if there had been none.
    pub fn clear(&mut self) {
        self.samples = 0;
        self.levels.iter_mut().for_each(|level| level.entries.clear());
    }

    /// Puts back what [`samples`](Self::samples), [`entries`](Self::entries) and [`held`](Self::held)
    /// told; false if they do not belong to such a scheme.
    pub fn restore(&mut self, samples: u64, entries: &[Vec<u64>], held: &[(u64, Arc<S>)]) -> bool {
        if entries.len() != self.levels.len() {
            return false;
        }
        for (level, indices) in self.levels.iter_mut().zip(entries) {
            let find = |&index: &u64| {
                let place = held.binary_search_by_key(&index, |&(index, _)| index).ok()?;
                (index < samples && index % level.interval == 0).then(|| held[place].clone())
            };
            match indices.iter().map(find).collect::<Option<VecDeque<_>>>() {
                Some(found) if found.len() < self.block_size => level.entries = found,
                _ => return false,
            }
        }
        self.samples = samples;
        true
    }
}

impl<S> Level<S> {
    fn discard_first(&mut self, level: usize) -> Due<S> {
        let entries = self.entries.iter().map(|(_, sample)| Arc::clone(sample)).collect();
        self.entries.pop_front();
        Due { level, entries }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Origins of every lag after `count` samples.
    fn origins(
        block_size: usize,
        levels: usize,
        count: u64,
        finish: bool,
    ) -> BTreeMap<u64, Vec<u64>> {
        let mut scheme = BlockingScheme::new(block_size, levels);
        let lags = scheme.lags();
        let mut due: Vec<_> = (0..count).flat_map(|sample| scheme.push(sample)).collect();
        if finish {
            due.extend(scheme.finish());
        }
        let mut origins: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for Due { level, entries } in due {
            for (entry, later) in entries.iter().enumerate() {
                if let Some(index) = scheme.lag_index(level, entry) {
                    assert_eq!(lags[index], **later - *entries[0]);
                    origins.entry(lags[index]).or_default().push(*entries[0]);
                }
            }
        }
        origins
    }

    #[test]
    fn lags_are_unique_and_ascending() {
        assert_eq!(
            BlockingScheme::<()>::new(5, 3).lags(),
            [0, 1, 2, 3, 4, 5, 10, 15, 20, 25, 50, 75, 100]
        );
        assert_eq!(BlockingScheme::<()>::new(2, 4).lags(), [0, 1, 2, 4, 8]);
        // 10^19 is the largest power of 10 and the largest such lag in 64 bits.
        assert_eq!(BlockingScheme::<()>::new(10, 100).lags().last(), Some(&10u64.pow(19)));
    }

    #[test]
    fn finished_scheme_has_seen_every_origin_of_its_levels_in_order() {
        for (block_size, levels, count) in [(5, 3, 137), (2, 5, 64), (10, 2, 7), (3, 4, 1)] {
            let found = origins(block_size, levels, count, true);
            for lag in BlockingScheme::<()>::new(block_size, levels).lags() {
                let interval = (0..levels as u32)
                    .map(|n| (block_size as u64).pow(n))
                    .filter(|&interval| lag == 0 && interval == 1 || lag % interval == 0 && lag > 0)
                    .max()
                    .unwrap();
                let expected: Vec<_> = (0..count)
                    .filter(|origin| origin % interval == 0 && origin + lag < count)
                    .collect();
                assert_eq!(found.get(&lag).cloned().unwrap_or_default(), expected, "lag {lag}");
            }
        }
    }

    #[test]
    fn before_the_end_origins_are_those_of_full_blocks() {
        let found = origins(5, 2, 12, false);
        assert_eq!(found[&0], (0..8).collect::<Vec<_>>());
        assert_eq!(found[&4], (0..8).collect::<Vec<_>>());
        assert!(!found.contains_key(&5));
    }

    #[test]
    fn restored_scheme_goes_on_alike() {
        let mut whole = BlockingScheme::new(4, 3);
        (0..77u64).for_each(|sample| drop(whole.push(sample)));
        let mut resumed = BlockingScheme::new(4, 3);
        assert!(resumed.restore(whole.samples(), &whole.entries(), &whole.held()));
        for sample in 77..300 {
            let plain = |due: Vec<Due<u64>>| -> Vec<_> {
                due.into_iter().map(|due| (due.level, due.entries)).collect()
            };
            assert_eq!(plain(whole.push(sample)), plain(resumed.push(sample)));
        }
        assert!(!resumed.restore(3, &[vec![0], vec![7], vec![0]], &[]));
    }
}
