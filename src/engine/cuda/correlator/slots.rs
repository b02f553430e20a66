//! Room for samples on the GPU: slots that are taken and given back. A slot holds a sample of each system.
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::OfSystems;

/// Numbers of what the slots hold of each system: records of particles, and centres of mass. Those of all systems of a slot
/// follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Numbering {
    pub systems: usize,
}

impl Numbering {
    pub fn number(self, slot: u32, system: usize) -> u32 {
        slot * self.systems as u32 + system as u32
    }

    pub fn system_of(self, number: u32) -> usize {
        number as usize % self.systems
    }

    /// Puts together what belongs to the same system: `values` of these numbers, which lie one system after the other.
    pub fn by_system<T>(
        self,
        numbers: impl IntoIterator<Item = u32>,
        values: impl IntoIterator<Item = T>,
    ) -> OfSystems<Vec<T>> {
        let mut of_systems: OfSystems<Vec<T>> = Vec::new();
        for (number, value) in numbers.into_iter().zip(values) {
            let system = self.system_of(number);
            match of_systems.last_mut() {
                Some((last, values)) if *last == system => values.push(value),
                _ => of_systems.push((system, vec![value])),
            }
        }
        of_systems
    }
}

/// Numbers of the slots that hold no sample.
#[derive(Debug)]
pub struct SlotPool(Mutex<Vec<u32>>);

impl SlotPool {
    pub fn new(slots: usize) -> Arc<Self> {
        Arc::new(SlotPool(Mutex::new((0..slots as u32).rev().collect())))
    }

    /// A slot that nobody holds.
    pub fn take(self: &Arc<Self>) -> Option<Arc<Slot>> {
        let number = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        Some(Arc::new(Slot { number, pool: self.clone() }))
    }
}

/// The slot of a sample; free again when no block holds it any more.
#[derive(Debug)]
pub struct Slot {
    pub number: u32,
    pool: Arc<SlotPool>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.pool.0.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observable::dynamics::blocking::{BlockingScheme, Blocks};

    #[test]
    fn what_is_of_a_system_comes_together() {
        let numbering = Numbering { systems: 3 };
        let numbers: Vec<u32> = [(0, 0), (4, 0), (2, 1), (5, 2), (1, 2)]
            .map(|(slot, of)| numbering.number(slot, of))
            .to_vec();
        let values = numbering.by_system(numbers, ["a", "b", "c", "d", "e"]);
        assert_eq!(values, [(0, vec!["a", "b"]), (1, vec!["c"]), (2, vec!["d", "e"])]);
    }

    #[test]
    fn a_slot_serves_one_sample_at_a_time_and_comes_back() {
        let pool = SlotPool::new(3);
        let slots: Vec<_> = (0..3).map(|_| pool.take().unwrap()).collect();
        assert_eq!(slots.iter().map(|slot| slot.number).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(pool.take().is_none());
        let also = slots[1].clone();
        drop(slots);
        assert_eq!(pool.take().unwrap().number, 2);
        drop(also);
        assert_eq!(
            [(); 3].map(|()| pool.take().map(|slot| slot.number)).iter().flatten().count(),
            3
        );
    }

    #[test]
    fn blocks_and_a_batch_never_run_out_of_the_slots_that_are_counted_for_them() {
        for (block_size, levels, batch) in [(10, 3, 16), (4, 5, 1), (2, 7, 40)] {
            let held = levels * (block_size - 1);
            let pool = SlotPool::new(held + batch);
            let mut scheme = BlockingScheme::new(Blocks::new(block_size, levels));
            for _ in 0..60 {
                // Samples of a launch lie in their slots before any is put into the blocks.
                let taken: Vec<_> = (0..batch).map(|_| pool.take().expect("a slot")).collect();
                let due: Vec<_> = taken.into_iter().flat_map(|slot| scheme.push(slot)).collect();
                for due in &due {
                    let mut numbers: Vec<u32> =
                        due.entries.iter().map(|slot| slot.number).collect();
                    numbers.sort_unstable();
                    numbers.dedup();
                    assert_eq!(numbers.len(), block_size, "a slot for every sample");
                }
            }
        }
    }
}
