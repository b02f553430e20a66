//! Everything that files of a run hold, to the bit.
use std::collections::BTreeMap;
use std::path::Path;

use hdf5::types::TypeDescriptor;
use hdf5::{Dataset, Group};

/// Shape and bits of every dataset of numbers, by path, except for the time that a run took.
pub type Numbers = BTreeMap<String, (Vec<usize>, Vec<u64>)>;

pub fn numbers(path: &Path) -> Numbers {
    let file = hdf5::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut all = Numbers::new();
    collect(&file, &mut all);
    all.remove("/progress/seconds");
    all
}

fn collect(group: &Group, all: &mut Numbers) {
    for dataset in group.datasets().unwrap() {
        if let Some(bits) = bits(&dataset) {
            all.insert(dataset.name(), (dataset.shape(), bits));
        }
    }
    for child in group.groups().unwrap() {
        collect(&child, all);
    }
}

fn bits(dataset: &Dataset) -> Option<Vec<u64>> {
    Some(match dataset.dtype().unwrap().to_descriptor().unwrap() {
        TypeDescriptor::Integer(_) => {
            dataset.read_raw::<i64>().unwrap().into_iter().map(|value| value as u64).collect()
        }
        TypeDescriptor::Unsigned(_) => dataset.read_raw::<u64>().unwrap(),
        TypeDescriptor::Float(_) => {
            dataset.read_raw::<f64>().unwrap().into_iter().map(f64::to_bits).collect()
        }
        _ => return None,
    })
}

/// # Panics
/// If two HDF5 files differ in any number.
pub fn assert_same_numbers(one: &Path, other: &Path) {
    let (a, b) = (numbers(one), numbers(other));
    let names = |all: &Numbers| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&a), names(&b), "{} and {}", one.display(), other.display());
    for (name, (shape, bits)) in &a {
        let (other_shape, other_bits) = &b[name];
        assert_eq!(shape, other_shape, "shape of {name} in {}", other.display());
        let differ: Vec<usize> = (0..bits.len()).filter(|&i| bits[i] != other_bits[i]).collect();
        if let Some(&first) = differ.first() {
            let float = |bits: u64| f64::from_bits(bits);
            panic!(
                "{name} in {}: {} of {} numbers differ, first [{first}]: {:e} and {:e}",
                other.display(),
                differ.len(),
                bits.len(),
                float(bits[first]),
                float(other_bits[first])
            );
        }
    }
}
