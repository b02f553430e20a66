//! Minima of an elastic branch, for the way back along it.
use std::collections::BTreeMap;
use std::sync::Arc;

use super::Minimum;

/// Minima by the multiple of the step of strain that they were found at, since the last plastic event.
#[derive(Clone, Debug, Default)]
pub(super) struct Branch {
    minima: BTreeMap<i64, Arc<Minimum>>,
    /// They are not more: those farthest from the present one are forgotten.
    most: usize,
}

impl Branch {
    pub fn new(most: usize) -> Self {
        Branch { minima: BTreeMap::new(), most: most.max(2) }
    }

    pub fn get(&self, multiple: i64) -> Option<&Arc<Minimum>> {
        self.minima.get(&multiple)
    }

    pub fn insert(&mut self, multiple: i64, minimum: Arc<Minimum>) {
        self.minima.insert(multiple, minimum);
        while self.minima.len() > self.most {
            let (Some(first), Some(last)) =
                (self.minima.keys().next().copied(), self.minima.keys().next_back().copied())
            else {
                return;
            };
            let farthest = match multiple.abs_diff(first) > multiple.abs_diff(last) {
                true => first,
                false => last,
            };
            self.minima.remove(&farthest);
        }
    }

    pub fn forget(&mut self) {
        self.minima.clear();
    }

    pub fn iter(&self) -> impl Iterator<Item = (i64, &Arc<Minimum>)> {
        self.minima.iter().map(|(multiple, minimum)| (*multiple, minimum))
    }
}
