//! Values as bytes, which another rank reads to the bit.
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::obey::{Lost, Words};
use crate::engine::{ExactState, MemoryLayout, StageContext, Thermodynamics};
use crate::integrator::ThermostatState;
use crate::observable::dynamics::blocking::Blocks;
use crate::observable::dynamics::evaluation::{
    BondOrderEvaluation, DensityEvaluation, Evaluated, EvaluatedPairs, Evaluation, Offloaded,
    ParticleSum, SampledBondOrder, SampledDensities, SampledStress, SampledStructure,
    StressEvaluation, StructureEvaluation,
};
use crate::observable::dynamics::kernel_sum::{KernelSum, KernelTerm, Results};
use crate::observable::dynamics::sampled::{HeldSamples, SampledParticles};
use crate::observable::wavevectors::WaveVectorShell;
use crate::observable::{BondOrder, Macroscopic};
use crate::plan::{BondPlan, Precision};
use crate::system::{SimulationBox, Snapshot, Species};

/// What ranks send each other. Numbers are little-endian, lists follow their length.
pub trait Sent: Sized {
    fn write(&self, bytes: &mut Vec<u8>);

    /// Takes a value from the front.
    ///
    /// # Panics
    /// If there is none.
    fn read(bytes: &mut &[u8]) -> Self;

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes
    }

    /// # Panics
    /// Unless the bytes are those of a value.
    fn from_bytes(mut bytes: &[u8]) -> Self {
        let value = Self::read(&mut bytes);
        assert!(bytes.is_empty(), "{} bytes behind a value of a rank", bytes.len());
        value
    }
}

fn take<'b>(bytes: &mut &'b [u8], count: usize) -> &'b [u8] {
    let (value, rest) = bytes.split_at(count);
    *bytes = rest;
    value
}

macro_rules! numbers {
    ($($number:ident),*) => { $(impl Sent for $number {
        fn write(&self, bytes: &mut Vec<u8>) {
            bytes.extend_from_slice(&self.to_le_bytes());
        }
        fn read(bytes: &mut &[u8]) -> Self {
            let value = take(bytes, size_of::<Self>());
            Self::from_le_bytes(value.try_into().expect("as long"))
        }
    })* };
}
numbers!(u8, i32, u32, u64, usize, f32, f64);

impl Sent for bool {
    fn write(&self, bytes: &mut Vec<u8>) {
        u8::from(*self).write(bytes);
    }
    fn read(bytes: &mut &[u8]) -> Self {
        u8::read(bytes) != 0
    }
}

impl Sent for () {
    fn write(&self, _: &mut Vec<u8>) {}
    fn read(_: &mut &[u8]) -> Self {}
}

impl<A: Sent, B: Sent> Sent for (A, B) {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.0.write(bytes);
        self.1.write(bytes);
    }
    fn read(bytes: &mut &[u8]) -> Self {
        (A::read(bytes), B::read(bytes))
    }
}

impl<T: Sent, const N: usize> Sent for [T; N] {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.iter().for_each(|item| item.write(bytes));
    }
    fn read(bytes: &mut &[u8]) -> Self {
        std::array::from_fn(|_| T::read(bytes))
    }
}

fn write_list<T: Sent>(list: &[T], bytes: &mut Vec<u8>) {
    list.len().write(bytes);
    bytes.reserve(size_of_val(list));
    list.iter().for_each(|item| item.write(bytes));
}

impl<T: Sent> Sent for Vec<T> {
    fn write(&self, bytes: &mut Vec<u8>) {
        write_list(self, bytes);
    }
    fn read(bytes: &mut &[u8]) -> Self {
        (0..usize::read(bytes)).map(|_| T::read(bytes)).collect()
    }
}

impl<T: Sent> Sent for Arc<[T]> {
    fn write(&self, bytes: &mut Vec<u8>) {
        write_list(self, bytes);
    }
    fn read(bytes: &mut &[u8]) -> Self {
        Vec::read(bytes).into()
    }
}

impl<T: Sent> Sent for Arc<T> {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.as_ref().write(bytes);
    }
    fn read(bytes: &mut &[u8]) -> Self {
        Arc::new(T::read(bytes))
    }
}

impl<T: Sent> Sent for Option<T> {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.is_some().write(bytes);
        self.iter().for_each(|value| value.write(bytes));
    }
    fn read(bytes: &mut &[u8]) -> Self {
        bool::read(bytes).then(|| T::read(bytes))
    }
}

impl<T: Sent, E: Sent> Sent for Result<T, E> {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.is_ok().write(bytes);
        match self {
            Ok(value) => value.write(bytes),
            Err(error) => error.write(bytes),
        }
    }
    fn read(bytes: &mut &[u8]) -> Self {
        if bool::read(bytes) { Ok(T::read(bytes)) } else { Err(E::read(bytes)) }
    }
}

impl Sent for String {
    fn write(&self, bytes: &mut Vec<u8>) {
        write_list(self.as_bytes(), bytes);
    }
    fn read(bytes: &mut &[u8]) -> Self {
        String::from_utf8(Vec::read(bytes)).expect("text of a rank")
    }
}

/// Texts of the program itself: there are few, and each is kept once.
impl Sent for &'static str {
    fn write(&self, bytes: &mut Vec<u8>) {
        write_list(self.as_bytes(), bytes);
    }
    fn read(bytes: &mut &[u8]) -> Self {
        static KNOWN: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
        let text = String::read(bytes);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(text.as_str()) {
            return known;
        }
        let text: &'static str = Box::leak(text.into_boxed_str());
        known.insert(text);
        text
    }
}

/// What a checkpoint or an order holds in the same form.
macro_rules! as_json {
    ($($type:ty),* $(,)?) => { $(impl Sent for $type {
        fn write(&self, bytes: &mut Vec<u8>) {
            write_list(&serde_json::to_vec(self).expect("it is plain data"), bytes);
        }
        fn read(bytes: &mut &[u8]) -> Self {
            let length = usize::read(bytes);
            serde_json::from_slice(take(bytes, length)).expect("plain data of a rank")
        }
    })* };
}
as_json!(BondPlan, KernelTerm, Precision, SimulationBox, Species, StageContext, ThermostatState);

/// Structs, field by field.
macro_rules! sent {
    ($($type:ident { $($field:ident),* $(,)? })*) => { $(impl Sent for $type {
        fn write(&self, bytes: &mut Vec<u8>) {
            let Self { $($field),* } = self;
            $($field.write(bytes);)*
        }
        fn read(bytes: &mut &[u8]) -> Self {
            Self { $($field: Sent::read(bytes)),* }
        }
    })* };
}

/// Enums, with a number for each variant.
macro_rules! sent_enum {
    ($type:ident { $($number:literal => $variant:ident($($field:ident),*)),* $(,)? }) => {
        impl $crate::engine::shares::sent::Sent for $type {
            fn write(&self, bytes: &mut Vec<u8>) {
                match self { $(Self::$variant($($field),*) => {
                    let number: u8 = $number;
                    number.write(bytes);
                    $($field.write(bytes);)*
                })* }
            }
            fn read(bytes: &mut &[u8]) -> Self {
                match u8::read(bytes) {
                    $($number => {
                        $(let $field = $crate::engine::shares::sent::Sent::read(bytes);)*
                        Self::$variant($($field),*)
                    })*
                    other => unreachable!("variant {other} of {}", stringify!($type)),
                }
            }
        }
    };
}
pub(super) use sent_enum;

sent! {
    ExactState {
        precision, simulation_box, timestep, step, species_of, diameter, position, image, velocity, thermostat, memory,
    }
    MemoryLayout { order, reference, skin, threads_per_particle, rebuilds, made_in, tilt }
    Snapshot { step, position, fraction, image, velocity, diameter }
    Thermodynamics {
        step, potential_energy, kinetic_energy, temperature, half_step_temperature, pressure, virial, stress,
        center_of_mass_velocity, conserved_energy, swap_trials, swaps, simulation_box, particles, volume_trials,
        volume_changes,
    }
    Lost { what, message }
    Words { message, help }
}

sent! {
    Blocks { size, levels, ratio }
    BondOrder { global, local }
    BondOrderEvaluation { every, radius, simulation_box, species, order }
    DensityEvaluation { every, vectors, remove_drift, simulation_box, species, order }
    EvaluatedPairs { lags, sums }
    Evaluation {
        every, blocks, lags, sums, kernel_order, remove_drift, cage_radius, simulation_box, species, order,
    }
    HeldSamples { samples, first_step, entries, held }
    KernelSum { name, term, results, add, add_at_lag_zero, constants }
    Macroscopic { stress, temperature }
    SampledBondOrder { step, order }
    SampledDensities { step, densities, center }
    SampledParticles { words, center }
    SampledStress { step, macroscopic }
    SampledStructure { step, pairs, densities }
    StressEvaluation { every }
    StructureEvaluation { bins, bin_width, densities }
    WaveVectorShell { wavenumber, orbits, single }
}

sent_enum!(ParticleSum { 0 => Kernel(sum), 1 => PlacesTaken(distance), 2 => BondsKept(bonds) });
sent_enum!(Results { 0 => Sums(count), 1 => Shells(shells), 2 => Counts(each) });
sent_enum!(Offloaded {
    0 => Pairs(evaluation, samples),
    1 => Densities(evaluation, samples),
    2 => Stress(evaluation, samples),
    3 => Structure(evaluation, samples),
    4 => BondOrder(evaluation, samples),
});
sent_enum!(Evaluated {
    0 => Pairs(pairs),
    1 => Densities(samples),
    2 => Stress(samples),
    3 => Structure(samples),
    4 => BondOrder(samples),
});

#[cfg(test)]
mod tests;
