//! Samples as they lie in the GPU's memory (`kernels/observable/records.cuh`), and where launches leave them
//! (`kernels/md/sample.cuh`).
use super::declare::{
    Const, Pointer, SharedHeader, device_constants, device_struct, shared_header,
};
use super::launch::kernels;
use crate::observable::dynamics::sampled::WORDS;
use crate::observable::dynamics::source::is_of_stress;
use crate::plan::Plan;

device_constants! {
    /// Numbers of a particle's axis in a sample.
    mod numbers: u32 {
        SAMPLED_WORDS = WORDS as u32;
    }
}
pub const SAMPLED_WORDS: usize = numbers::SAMPLED_WORDS as usize;

device_struct! {
    /// Slots of samples.
    pub struct Records {
        pub words: Pointer<u32>,
        pub slot_words: u64,
    }
}

device_struct! {
    /// A centre of mass: place without periodic boundaries.
    pub struct Center {
        pub position: [f64; 3],
        pub velocity: [f64; 3],
    }
}

device_struct! {
    /// Where samples go.
    pub struct SamplingConstant {
        /// Slots of `slot_words` words: records of the particles in id order, or at their `places`.
        pub records: Pointer<u32>,
        /// Slots of the launch's samples, in order.
        pub slots: Pointer<Const<u32>>,
        pub slot_words: u64,
        /// By id; null in id order. Read by programs with `SAMPLE_PLACES` only.
        pub places: Pointer<Const<u32>>,
        /// 2^32 over the edge.
        pub units: [f64; 3],
    }
}

shared_header!(NUMBERS = "shared/sampled.cuh": numbers::Declaration);
shared_header!(RECORDS = "shared/records.cuh": Records, Center);
shared_header!(pub SAMPLING = "shared/sampling.cuh": SamplingConstant);
/// Of programs that read or write samples.
pub const SHARED: [SharedHeader; 2] = [NUMBERS, RECORDS];

kernels! {
    /// Of programs that take samples.
    pub struct SampleKernels {
        take_sample(u32);
    }
}

/// Whether a stage has observables that are evaluated on the GPU.
pub fn is_wanted(plan: &Plan) -> bool {
    plan.stages.iter().any(|stage| {
        let observe = &stage.observe;
        !stage.correlations.is_empty()
            || observe.structure.is_some()
            || observe.bond_order.is_some()
    })
}

/// Whether some of them want the particles in another order than that of their ids.
pub fn are_places_wanted(plan: &Plan) -> bool {
    plan.stages.iter().any(|stage| stage.diameter_classes().is_some())
}

/// Whether some of them are of the stress.
pub fn is_stress_wanted(plan: &Plan) -> bool {
    let mut correlations = plan.stages.iter().flat_map(|stage| &stage.correlations);
    correlations.any(|plan| plan.observables.iter().any(|&observable| is_of_stress(observable)))
}

/// Bits of an image in three dimensions.
const IMAGE_BITS: u32 = 21;

/// Words of a particle's record.
pub fn words(dimension: usize) -> usize {
    if dimension == 3 { 8 } else { dimension * WORDS }
}

/// Records of all particles from their numbers (see [`SampledParticles`]).
///
/// [`SampledParticles`]: crate::observable::dynamics::sampled::SampledParticles
pub fn pack(sampled: &[u32], dimension: usize) -> Vec<u32> {
    if dimension != 3 {
        return sampled.to_vec();
    }
    let record = |axes: &[u32; 9]| -> [u32; 8] {
        let [f0, i0, v0, f1, i1, v1, f2, i2, v2] = *axes;
        let part = |image: u32, axis: u32| {
            (u64::from(image) & ((1 << IMAGE_BITS) - 1)) << (IMAGE_BITS * axis)
        };
        let images = part(i0, 0) | part(i1, 1) | part(i2, 2);
        [f0, f1, f2, v0, v1, v2, images as u32, (images >> 32) as u32]
    };
    sampled.as_chunks::<9>().0.iter().flat_map(record).collect()
}

/// The numbers of all particles; images lie within 2^20 boxes of the first.
pub fn unpack(records: &[u32], dimension: usize) -> Vec<u32> {
    if dimension != 3 {
        return records.to_vec();
    }
    let numbers = |record: &[u32; 8]| -> [u32; 9] {
        let [f0, f1, f2, v0, v1, v2, low, high] = *record;
        let images = u64::from(high) << 32 | u64::from(low);
        let image = |axis: u32| {
            let unused = 32 - IMAGE_BITS;
            (((images >> (IMAGE_BITS * axis)) as u32) << unused) as i32 >> unused
        };
        [f0, image(0) as u32, v0, f1, image(1) as u32, v1, f2, image(2) as u32, v2]
    };
    records.as_chunks::<8>().0.iter().flat_map(numbers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_from_their_records() {
        let images = [0, 1, -1, 1_048_575, -1_048_576, 77_777, -5];
        for dimension in [2, 3] {
            let mut numbers = Vec::new();
            for particle in 0..14u32 {
                for axis in 0..dimension as u32 {
                    let image = images[(particle + 3 * axis) as usize % 7];
                    let fraction = 0x9E37_79B9u32.wrapping_mul(particle * 3 + axis + 1);
                    numbers.extend([fraction, image as u32, (0.1 * particle as f32).to_bits()]);
                }
            }
            let records = pack(&numbers, dimension);
            assert_eq!(records.len(), 14 * words(dimension));
            assert_eq!(unpack(&records, dimension), numbers);
        }
    }
}
