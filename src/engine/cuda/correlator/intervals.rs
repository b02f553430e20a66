//! Which steps of a launch take samples, and how many steps it may have for the samples that there is room for.
fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Steps between samples of which all these intervals are multiples.
pub fn common_interval(intervals: impl Iterator<Item = u64>) -> u64 {
    intervals.fold(0, greatest_common_divisor)
}

/// Steps from one after the start of a stage to the next sample.
pub fn until_next(every: u64, step_in_stage: u64) -> u64 {
    every - step_in_stage % every
}

/// Samples that a launch takes in `steps` steps, one every `every` from `first` on.
pub fn launch_samples(first: u64, every: u64, steps: u64) -> u64 {
    if first > steps { 0 } else { (steps - first) / every + 1 }
}

/// The most steps of a launch, `most` or less, in which `capacity` samples at most are due.
pub fn launch_steps(first: u64, every: u64, capacity: u64, most: u64) -> u64 {
    if launch_samples(first, every, most) <= capacity {
        most
    } else {
        first + (capacity - 1) * every
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_end_where_the_capacity_for_samples_of_a_kind_does() {
        // By steps: those of the last sample and of the next launch.
        for (step, every, capacity, most) in
            [(0, 10, 4, 100), (7, 10, 4, 100), (3, 4, 9, 30), (9, 10, 1, 5), (0, 7, 2, 6)]
        {
            let first = until_next(every, step);
            let steps = launch_steps(first, every, capacity, most);
            let taken =
                (step + 1..=step + steps).filter(|step| step.is_multiple_of(every)).count() as u64;
            assert_eq!(taken, launch_samples(first, every, steps));
            assert!(taken <= capacity && steps >= 1 && steps <= most);
            assert!(steps == most || (taken == capacity && (step + steps).is_multiple_of(every)));
        }
        assert_eq!(common_interval([10, 4, 6].into_iter()), 2);
    }
}
