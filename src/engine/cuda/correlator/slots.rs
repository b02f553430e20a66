//! Room for samples on the GPU: slots that are taken and given back.
use std::sync::{Arc, Mutex, PoisonError};

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
    use crate::observable::dynamics::blocking::BlockingScheme;

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
            let mut scheme = BlockingScheme::new(block_size, levels);
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
