//! Rounds of pairs of samples: as many at once as there is room for.
use super::slots::Numbering;
use crate::observable::dynamics::blocking::Due;
use crate::observable::dynamics::evaluation::{SampleGroup, SamplePair};

/// Samples of a round, by their numbers: the origins; of each pair the place of its origin among them, both samples, and the index
/// of the lag.
#[derive(Debug, Default, PartialEq)]
pub struct Round {
    pub origins: Vec<u32>,
    pub pairs: Vec<(u32, [u32; 2], u32)>,
}

/// Parts of what is evaluated one after the other, each with as many pairs as fit together; `pairs`: of an item, which always fit.
pub fn parts<T>(items: &[T], pairs: impl Fn(&T) -> usize, most: usize) -> Vec<&[T]> {
    let mut parts = Vec::new();
    let mut rest = items;
    while !rest.is_empty() {
        let mut sum = 0;
        let fits = |item: &&T| {
            sum += pairs(item);
            sum <= most
        };
        let (now, later) = rest.split_at(rest.iter().take_while(fits).count());
        assert!(!now.is_empty(), "an item fits");
        parts.push(now);
        rest = later;
    }
    parts
}

impl Round {
    /// Number of the first pair of each origin, and of all pairs.
    pub fn first_pairs(&self) -> impl Iterator<Item = u32> {
        let first = |place| self.pairs.partition_point(|&(of, ..)| of < place) as u32;
        (0..=self.origins.len() as u32).map(first)
    }
}

/// What is due, of one system after the other, in rounds of as many origins and pairs at most. `slot`: that of a sample;
/// `lag_index` as of a blocking scheme, `None` for what is not wanted.
pub fn rounds<S>(
    due: &[Due<S>],
    numbering: Numbering,
    slot: impl Fn(&S) -> u32,
    lag_index: impl Fn(usize, usize) -> Option<usize>,
    [most_origins, most_pairs]: [usize; 2],
) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    let of_systems = (0..numbering.systems).flat_map(|of| due.iter().map(move |due| (of, due)));
    for (system, Due { level, entries }) in of_systems {
        let number = |sample: &S| numbering.number(slot(sample), system);
        let origin = number(&entries[0]);
        let wanted: Vec<(u32, u32)> = entries
            .iter()
            .enumerate()
            .filter_map(|(entry, later)| Some((number(later), lag_index(*level, entry)? as u32)))
            .collect();
        for part in wanted.chunks(most_pairs) {
            let fits = rounds.last().is_some_and(|round| {
                round.origins.len() < most_origins && round.pairs.len() + part.len() <= most_pairs
            });
            if !fits {
                rounds.push(Round::default());
            }
            let round = rounds.last_mut().expect("there is one");
            let place = round.origins.len() as u32;
            round.origins.push(origin);
            round.pairs.extend(part.iter().map(|&(later, lag)| (place, [origin, later], lag)));
        }
    }
    rounds
}

/// The pairs of a round with later samples from `first_target` on, in groups of at most `most` samples, in their order.
pub fn groups_of(round: &Round, first_target: u32, most: usize) -> Vec<SampleGroup> {
    let mut groups: Vec<(u32, SampleGroup)> = Vec::new();
    for (&(place, [origin, later], lag), target) in round.pairs.iter().zip(first_target..) {
        let fits =
            groups.last().is_some_and(|(of, group)| *of == place && group.samples.len() < most);
        if !fits {
            groups.push((place, SampleGroup { samples: vec![origin], pairs: Vec::new() }));
        }
        let (_, group) = groups.last_mut().expect("there is one");
        // A sample with itself is the same in any frame.
        let at = if origin == later { 0 } else { group.samples.len() as u32 };
        if at > 0 {
            group.samples.push(target);
        }
        group.pairs.push(SamplePair { origin: 0, later: at, lag });
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observable::dynamics::blocking::{BlockingScheme, Blocks};

    #[test]
    fn parts_are_as_long_as_fits() {
        let pairs = [3, 4, 1, 7, 2, 2, 3];
        let parts = parts(&pairs, |&pairs| pairs, 7);
        assert_eq!(parts, [&[3, 4][..], &[1], &[7], &[2, 2, 3]]);
    }

    #[test]
    fn rounds_hold_all_pairs_in_their_order_and_no_more_than_fit() {
        for (block_size, most) in [(10, [64, 64]), (5, [3, 1024]), (12, [64, 7]), (2, [1, 1])] {
            let mut scheme = BlockingScheme::new(Blocks::new(block_size, 3));
            let due: Vec<_> = (0..200u32).flat_map(|sample| scheme.push(sample)).collect();
            let wanted = scheme.lags().len() - 1;
            let lag_index =
                |level, entry| scheme.lag_index(level, entry).filter(|&index| index < wanted);
            let mut expected = Vec::new();
            for (system, Due { level, entries }) in
                [0, 1].into_iter().flat_map(|system| due.iter().map(move |due| (system, due)))
            {
                for (entry, later) in entries.iter().enumerate() {
                    if let Some(lag) = lag_index(*level, entry) {
                        expected
                            .push(([2 * *entries[0] + system, 2 * **later + system], lag as u32));
                    }
                }
            }
            let numbering = Numbering { systems: 2 };
            let rounds = rounds(&due, numbering, |sample| *sample, lag_index, most);
            let (mut found, mut in_groups) = (Vec::new(), Vec::new());
            for round in &rounds {
                assert!(round.origins.len() <= most[0] && round.pairs.len() <= most[1]);
                let first_pairs: Vec<u32> = round.first_pairs().collect();
                assert!(first_pairs.len() == round.origins.len() + 1 && first_pairs[0] == 0);
                for (number, &(place, ..)) in (0..).zip(&round.pairs) {
                    let [first, next] = [0, 1].map(|more| first_pairs[place as usize + more]);
                    assert!((first..next).contains(&number));
                }
                for &(place, slots, lag) in &round.pairs {
                    assert_eq!(round.origins[place as usize], slots[0]);
                    found.push((slots, lag));
                }
                for group in groups_of(round, 1000, 8) {
                    assert!(group.samples.len() <= 8);
                    for pair in &group.pairs {
                        let origin = group.samples[0];
                        let later = match group.samples[pair.later as usize] {
                            target if target >= 1000 => round.pairs[target as usize - 1000].1[1],
                            origin => origin,
                        };
                        assert_eq!((pair.origin, pair.later == 0), (0, later == origin));
                        in_groups.push(([origin, later], pair.lag));
                    }
                }
            }
            assert!(!found.is_empty());
            assert!(found == expected && in_groups == expected);
        }
    }
}
