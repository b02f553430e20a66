//! States out of the bytes of the GPU's arrays.
use std::sync::Arc;

use super::buffers::ElementSizes;
use super::constants::DevicePolicy;
use super::transfer::aligned_size;
use crate::arithmetic::Real;
use crate::engine::precision::rounded_fraction;
use crate::engine::state::straightened;
use crate::engine::{ExactState, MemoryLayout};
use crate::integrator::ThermostatState;
use crate::plan::Precision;
use crate::system::{SimulationBox, Snapshot};

/// The numbers of the moment at which the arrays are copied.
pub struct RawSnapshot<P> {
    pub policy: P,
    pub element_sizes: ElementSizes,
    pub simulation_box: SimulationBox,
    pub timestep: f64,
    pub step: u64,
    pub count: usize,
    pub thermostat: ThermostatState,
    pub skin: f64,
    pub threads_per_particle: u32,
    pub rebuilds: u64,
    /// Steps of the last of them and of that before.
    pub lists_made_in: [u64; 2],
    /// Tilt of the box in which the lists were made.
    pub lists_made_at: f64,
    /// Whether particles have diameters.
    pub has_diameters: bool,
}

/// Arrays of a copy, taken one after the other.
struct Arrays<'a> {
    bytes: &'a [u8],
}

impl<'a> Arrays<'a> {
    fn next(&mut self, bytes: usize) -> &'a [u8] {
        let (array, rest) = self.bytes.split_at(aligned_size(bytes));
        self.bytes = rest;
        &array[..bytes]
    }

    fn next_u32(&mut self, count: usize) -> impl Iterator<Item = u32> + use<'a> {
        self.next(4 * count).as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word))
    }

    /// Words of this number of bytes.
    fn next_words(&mut self, count: usize, width: usize) -> Vec<u64> {
        match width {
            4 => self.next_u32(count).map(u64::from).collect(),
            _ => {
                let bytes = self.next(8 * count);
                bytes.as_chunks::<8>().0.iter().map(|&word| u64::from_le_bytes(word)).collect()
            }
        }
    }
}

/// What every copy begins with, in the order of memory.
struct Particles {
    position: Vec<Vec<u64>>,
    velocity: Vec<Vec<u64>>,
    image: Vec<Vec<i32>>,
    id: Vec<u32>,
    /// By id; empty where there are none.
    diameter: Arc<[f64]>,
}

impl<P: DevicePolicy> RawSnapshot<P> {
    /// Lengths in bytes of the arrays of a copy: positions, velocities and images by axis, ids, and diameters if there are any; of a
    /// state also species and reference sites.
    pub fn lengths(&self, of_state: bool) -> Vec<usize> {
        let (d, count) = (self.simulation_box.dimension(), self.count);
        let mut lengths = vec![count * self.element_sizes.coordinate; 2 * d];
        lengths.extend(vec![count * 4; d + 1]);
        if self.has_diameters {
            lengths.push(count * self.element_sizes.site);
        }
        if of_state {
            lengths.extend([
                count,
                count * self.element_sizes.site * self.element_sizes.site_stride(),
            ]);
        }
        lengths
    }

    fn particles(&self, arrays: &mut Arrays) -> Particles {
        let (d, count) = (self.simulation_box.dimension(), self.count);
        // A pair of floats lies in memory with its leading part first.
        let leading_first = |word: u64| match P::PRECISION {
            Precision::DoubleSingle => word.rotate_left(32),
            _ => word,
        };
        let mut axes = || -> Vec<Vec<u64>> {
            let mut axis = || {
                let mut words = arrays.next_words(count, self.element_sizes.coordinate);
                words.iter_mut().for_each(|word| *word = leading_first(*word));
                words
            };
            (0..d).map(|_| axis()).collect()
        };
        Particles {
            position: axes(),
            velocity: axes(),
            image: (0..d)
                .map(|_| arrays.next_u32(count).map(|image| image as i32).collect())
                .collect(),
            id: arrays.next_u32(count).collect(),
            diameter: match self.has_diameters {
                true => {
                    let words = arrays.next_words(count, self.element_sizes.site);
                    words.into_iter().map(|word| P::Real::from_bits(word).to_f64()).collect()
                }
                false => Arc::default(),
            },
        }
    }

    /// From the arrays of a state.
    pub fn state(&self, bytes: &[u8]) -> ExactState {
        let arrays = &mut Arrays { bytes };
        let particles = self.particles(arrays);
        let id = &particles.id;
        let mut species_of = vec![0; self.count];
        for (&id, &species) in id.iter().zip(arrays.next(self.count)) {
            species_of[id as usize] = species;
        }
        let stride = self.element_sizes.site_stride();
        let sites = arrays.next_words(self.count * stride, self.element_sizes.site);
        let d = self.simulation_box.dimension();
        let site =
            |words: &[u64]| std::array::from_fn(|axis| if axis < d { words[axis] } else { 0 });
        ExactState {
            precision: P::PRECISION,
            simulation_box: self.simulation_box,
            timestep: self.timestep,
            step: self.step,
            species_of,
            diameter: particles.diameter.clone(),
            position: by_id(id, &particles.position, |bits, _| bits),
            image: by_id(id, &particles.image, |image, _| image),
            velocity: by_id(id, &particles.velocity, |bits, _| bits),
            thermostat: self.thermostat.clone(),
            memory: Some(MemoryLayout {
                reference: sites.chunks(stride).map(site).collect(),
                order: particles.id,
                skin: self.skin,
                threads_per_particle: Some(self.threads_per_particle),
                rebuilds: self.rebuilds,
                made_in: self.lists_made_in,
                tilt: self.lists_made_at,
            }),
        }
    }

    /// From the arrays of a snapshot.
    pub fn snapshot(&self, bytes: &[u8]) -> Snapshot {
        let particles = self.particles(&mut Arrays { bytes });
        let id = &particles.id;
        let skewed = by_id(id, &particles.position, |bits, axis| {
            self.policy.coordinate_to_f64(P::coordinate_from_bits(bits), axis)
        });
        Snapshot {
            step: self.step,
            position: straightened(skewed, &self.simulation_box),
            fraction: match P::HAS_FRACTIONS {
                true => by_id(id, &particles.position, |bits, _| rounded_fraction(bits)),
                false => Vec::new(),
            },
            image: by_id(id, &particles.image, |image, _| image),
            velocity: by_id(id, &particles.velocity, |bits, axis| {
                self.policy.velocity_to_f64(P::velocity_from_bits(bits), axis)
            }),
            diameter: particles.diameter.clone(),
        }
    }
}

/// Three components per particle in id order; the third is zero in two dimensions.
fn by_id<T: Copy, U: Copy + Default>(
    ids: &[u32],
    axes: &[Vec<T>],
    convert: impl Fn(T, usize) -> U,
) -> Vec<[U; 3]> {
    let mut all = vec![[U::default(); 3]; ids.len()];
    for (axis, values) in axes.iter().enumerate() {
        for (&id, &value) in ids.iter().zip(values) {
            all[id as usize][axis] = convert(value, axis);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::precision::{Double, DoubleSingles, FixedPoint, Single};
    use crate::system::Species;

    /// A state as the GPU would hold it in the given order.
    fn bytes_of<P: DevicePolicy>(raw_snapshot: &RawSnapshot<P>, state: &ExactState) -> Vec<u8> {
        let memory = state.memory.as_ref().unwrap();
        let d = raw_snapshot.simulation_box.dimension();
        let mut bytes = Vec::new();
        let end = |bytes: &mut Vec<u8>| bytes.resize(aligned_size(bytes.len()), 0xEE);
        let word = |bits: u64| -> Vec<u8> {
            match P::PRECISION {
                Precision::Single => (bits as u32).to_le_bytes().to_vec(),
                // The leading float first, each with its own bytes.
                Precision::DoubleSingle => {
                    let (leading, trailing) = ((bits >> 32) as u32, bits as u32);
                    [leading.to_le_bytes(), trailing.to_le_bytes()].concat()
                }
                _ => bits.to_le_bytes().to_vec(),
            }
        };
        for values in [&state.position, &state.velocity] {
            for axis in 0..d {
                for &id in &memory.order {
                    bytes.extend(word(values[id as usize][axis]));
                }
                end(&mut bytes);
            }
        }
        for axis in 0..d {
            for &id in &memory.order {
                bytes.extend(state.image[id as usize][axis].to_le_bytes());
            }
            end(&mut bytes);
        }
        memory.order.iter().for_each(|id| bytes.extend(id.to_le_bytes()));
        end(&mut bytes);
        bytes.extend(memory.order.iter().map(|&id| state.species_of[id as usize]));
        end(&mut bytes);
        for site in &memory.reference {
            for axis in 0..raw_snapshot.element_sizes.site_stride() {
                let bits = if axis < d { site[axis] } else { 0x77 };
                bytes.extend(&bits.to_le_bytes()[..raw_snapshot.element_sizes.site]);
            }
        }
        end(&mut bytes);
        bytes
    }

    fn comes_back<P: DevicePolicy>(dimension: usize) {
        let simulation_box = SimulationBox::cubic(dimension, 5, 0.5);
        let species = [Species { name: "A".into(), count: 5, mass: 1.0 }];
        let policy = P::new(&simulation_box, 0.004, &species);
        let number =
            |id: usize, axis: usize| if axis < dimension { (id * 3 + axis) as f64 } else { 0.0 };
        let snapshot = Snapshot {
            diameter: Default::default(),
            step: 17,
            position: (0..5).map(|id| [0, 1, 2].map(|k| 0.1 + 0.1 * number(id, k))).collect(),
            fraction: Vec::new(),
            image: (0..5).map(|id| [0, 1, 2].map(|k| -(number(id, k) as i32))).collect(),
            velocity: (0..5).map(|id| [0, 1, 2].map(|k| 0.3 - 0.7 * number(id, k))).collect(),
        };
        let species_of = vec![0, 1, 0, 1, 1];
        let of = |policy: &P| {
            let mut state = ExactState::from_snapshot(
                &snapshot,
                species_of.clone(),
                simulation_box,
                0.004,
                P::PRECISION,
                &species,
            )
            .unwrap();
            let site = |id: usize| {
                std::array::from_fn(|axis| {
                    if axis >= dimension {
                        return 0;
                    }
                    let (x, _) = policy.coordinate_from_f64(0.05 * id as f64, axis);
                    P::site_to_bits(policy.site(x, axis))
                })
            };
            state.memory = Some(MemoryLayout {
                order: vec![3, 0, 4, 2, 1],
                reference: (0..5).map(site).collect(),
                skin: 0.4,
                threads_per_particle: Some(4),
                rebuilds: 9,
                made_in: [11, 3],
                tilt: 0.0,
            });
            state
        };
        let state = of(&policy);
        let raw_snapshot = RawSnapshot {
            policy,
            element_sizes: ElementSizes::new(P::PRECISION, dimension, false),
            simulation_box,
            timestep: 0.004,
            step: 17,
            count: 5,
            thermostat: ThermostatState::default(),
            skin: 0.4,
            threads_per_particle: 4,
            rebuilds: 9,
            lists_made_in: [11, 3],
            lists_made_at: 0.0,
            has_diameters: false,
        };
        let bytes = bytes_of(&raw_snapshot, &state);
        let capacities =
            |of_state| raw_snapshot.lengths(of_state).into_iter().map(aligned_size).sum::<usize>();
        assert_eq!(bytes.len(), capacities(true));
        assert_eq!(raw_snapshot.state(&bytes), state);
        assert_eq!(raw_snapshot.snapshot(&bytes[..capacities(false)]), state.to_snapshot(&species));
    }

    #[test]
    fn a_state_comes_back_from_the_bytes_of_the_gpu() {
        for dimension in [2, 3] {
            comes_back::<Single>(dimension);
            comes_back::<DoubleSingles>(dimension);
            comes_back::<Double>(dimension);
            comes_back::<FixedPoint>(dimension);
        }
    }
}
