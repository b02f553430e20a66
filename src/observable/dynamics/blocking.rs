//! The blocking scheme for time correlations on many time scales (Colberg & Hoefling 2011, section 2.5,
//! figure 2).
//!
//! Level `n` holds a block of up to `l` samples that are `l^n` sampling intervals apart. Whenever a block
//! is full, its first entry is correlated with itself and all others and is then discarded, so that each
//! block is a window that moves along the trajectory. Lags are `m l^n`, `m = 1, ..., l - 1`, and zero:
//! every lag belongs to one level only. Memory: `k l` samples; work: `(l - 1)(1 + 1/l + 1/l^2 + ...)`
//! pairs of samples per sample.
//!
//! Where the interval grows by less than `l` from level to level, by a divisor `b` of it, lags of the levels `n > 0` are
//! `m b^n`, `m = l / b, ..., l - 1`: again each lag belongs to one level. With `b = 2` neighboring lags differ by a factor of
//! `1 + 2 / l` at most, from `l / 2` on, where blocks with `b = l` have lags that double between levels.
use std::collections::VecDeque;
use std::sync::Arc;

/// Sizes of a blocking scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Samples in a block.
    pub size: usize,
    pub levels: usize,
    /// The interval grows by this factor from level to level: the size, or a divisor of it.
    pub ratio: usize,
}

impl Blocks {
    /// Whose interval grows by the size of a block.
    pub fn new(size: usize, levels: usize) -> Self {
        Blocks { size, levels, ratio: size }
    }

    /// Whether there is such a scheme.
    pub fn is_valid(&self) -> bool {
        let Blocks { size, levels, ratio } = *self;
        size >= 2 && levels >= 1 && (2..=size).contains(&ratio) && size.is_multiple_of(ratio)
    }

    /// Of a level, in sampling intervals; `None` where it does not fit 64 bits.
    pub fn interval(&self, level: usize) -> Option<u64> {
        (self.ratio as u64).checked_pow(level.try_into().ok()?)
    }

    /// The shortest lag of a level beyond zero, in its intervals.
    pub fn first_multiple(&self, level: usize) -> usize {
        if level == 0 { 1 } else { self.size / self.ratio }
    }

    /// Index of the lag between entries 0 and `entry` of a level's block, if it is one of the level's; lag zero counts in the
    /// finest level only.
    pub fn lag_index(&self, level: usize, entry: usize) -> Option<usize> {
        let Some(above) = level.checked_sub(1) else { return Some(entry) };
        let first = self.first_multiple(level);
        let before = self.size + above * (self.size - first);
        entry.checked_sub(first).map(|entry| before + entry)
    }

    /// The level of a lag, and the lag in intervals of the level.
    pub fn place(&self, index: usize) -> (usize, usize) {
        let Some(behind) = index.checked_sub(self.size) else { return (0, index) };
        let first = self.first_multiple(1);
        let of_level = self.size - first;
        (1 + behind / of_level, first + behind % of_level)
    }

    /// In sampling intervals.
    pub fn lag(&self, index: usize) -> Option<u64> {
        let (level, multiple) = self.place(index);
        self.interval(level)?.checked_mul(multiple as u64)
    }
}

/// Blocks of samples of any type `S`.
#[derive(Clone, Debug)]
pub struct BlockingScheme<S> {
    blocks: Blocks,
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
    /// Unless the sizes are valid.
    pub fn new(blocks: Blocks) -> Self {
        assert!(blocks.is_valid(), "{blocks:?}");
        let levels = (0..blocks.levels)
            .map_while(|level| blocks.interval(level))
            .map(|interval| Level { interval, entries: VecDeque::with_capacity(blocks.size) })
            .collect();
        BlockingScheme { blocks, samples: 0, levels }
    }

    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Lags in sampling intervals, ascending, each once: `0, 1, ..., l - 1, l, 2 l, ...`.
    pub fn lags(&self) -> Vec<u64> {
        let of_level = |(number, level): (usize, &Level<S>)| {
            let (first, interval) = (self.blocks.first_multiple(number) as u64, level.interval);
            (first..self.blocks.size as u64).filter_map(move |m| m.checked_mul(interval))
        };
        std::iter::once(0).chain(self.levels.iter().enumerate().flat_map(of_level)).collect()
    }

    /// Position in [`lags`](Self::lags) of the lag between entries 0 and `entry` of a level's block, if it is one of the
    /// level's.
    pub fn lag_index(&self, level: usize, entry: usize) -> Option<usize> {
        self.blocks.lag_index(level, entry)
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
            if level.entries.len() == self.blocks.size {
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
                Some(found) if found.len() < self.blocks.size => level.entries = found,
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
    fn origins(blocks: Blocks, count: u64, finish: bool) -> BTreeMap<u64, Vec<u64>> {
        let mut scheme = BlockingScheme::new(blocks);
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
        assert_eq!(lags(Blocks::new(5, 3)), [0, 1, 2, 3, 4, 5, 10, 15, 20, 25, 50, 75, 100]);
        assert_eq!(lags(Blocks::new(2, 4)), [0, 1, 2, 4, 8]);
        // 10^19 is the largest power of 10 and the largest such lag in 64 bits.
        assert_eq!(lags(Blocks::new(10, 100)).last(), Some(&10u64.pow(19)));
    }

    fn lags(blocks: Blocks) -> Vec<u64> {
        BlockingScheme::<()>::new(blocks).lags()
    }

    #[test]
    fn levels_of_a_smaller_ratio_have_lags_at_about_equal_ratios() {
        let blocks = Blocks { size: 6, levels: 4, ratio: 2 };
        assert_eq!(lags(blocks), [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40]);
        let blocks = Blocks { size: 8, levels: 20, ratio: 2 };
        let lags = lags(blocks);
        assert!(lags[4..].windows(2).all(|pair| pair[0] < pair[1] && 4 * pair[1] <= 5 * pair[0]));
        for (index, &lag) in lags.iter().enumerate() {
            assert_eq!(blocks.lag(index), Some(lag));
            let (level, multiple) = blocks.place(index);
            assert_eq!(blocks.lag_index(level, multiple), Some(index));
        }
        assert_eq!(blocks.lag_index(3, 3), None);
    }

    #[test]
    fn finished_scheme_has_seen_every_origin_of_its_levels_in_order() {
        let of = |(size, levels, ratio)| Blocks { size, levels, ratio };
        let blocks = [(5, 3, 5), (2, 5, 2), (10, 2, 10), (3, 4, 3), (6, 5, 2), (12, 3, 4)].map(of);
        for (blocks, count) in blocks.into_iter().zip([137, 64, 7, 1, 150, 99]) {
            let found = origins(blocks, count, true);
            for (index, lag) in lags(blocks).into_iter().enumerate() {
                let interval = blocks.interval(blocks.place(index).0).unwrap();
                let expected: Vec<_> = (0..count)
                    .filter(|origin| origin % interval == 0 && origin + lag < count)
                    .collect();
                assert_eq!(found.get(&lag).cloned().unwrap_or_default(), expected, "lag {lag}");
            }
        }
    }

    #[test]
    fn before_the_end_origins_are_those_of_full_blocks() {
        let found = origins(Blocks::new(5, 2), 12, false);
        assert_eq!(found[&0], (0..8).collect::<Vec<_>>());
        assert_eq!(found[&4], (0..8).collect::<Vec<_>>());
        assert!(!found.contains_key(&5));
    }

    #[test]
    fn restored_scheme_goes_on_alike() {
        let mut whole = BlockingScheme::new(Blocks::new(4, 3));
        (0..77u64).for_each(|sample| drop(whole.push(sample)));
        let mut resumed = BlockingScheme::new(Blocks::new(4, 3));
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
