//! Kernels over all particles between launches (`kernels/md/measure.cu`): they measure, and change velocities.
use super::buffers::{Control, SplitSum, System};
use super::declare::{Const, Pointer, device_constants, device_struct, shared_header};
use super::launch::kernels;
use super::mailbox::Letter;
use crate::engine::barostat::{Decision, Drift};

device_struct! {
    /// Added to all velocities, with the other sign.
    pub struct Shift {
        pub x: [f64; 3],
    }
}

device_struct! {
    /// On all velocities, by axis.
    pub struct Factors {
        pub x: [f64; 3],
    }
}

device_struct! {
    /// What decides on a trial to change the volume: [`Decision`], with the fields of its [`Drift`].
    pub struct VolumeDecision {
        pub there2: f64,
        pub back: f64,
        pub ideal: f64,
        pub volume: f64,
        pub pressure: f64,
        pub correction: f64,
        pub rate: f64,
        pub interval: f64,
        pub most: f64,
        pub width2: f64,
        pub of_places: f64,
        pub energy: f64,
        pub work: f64,
        pub temperature: f64,
        pub uniform: f64,
        /// That of the edge that changes; [`ALL_AXES`]: all of them.
        pub axis: u32,
        pub dimension: u32,
    }
}

/// All edges change.
const ALL_AXES: u32 = 3;

impl From<Decision> for VolumeDecision {
    fn from(decision: Decision) -> Self {
        // By name, so that nothing is left out.
        let Decision { there2, back, drift, width2, of_places, energy, work, temperature, uniform } =
            decision;
        let Drift { axis, dimension, ideal, volume, pressure, correction, rate, interval, most } =
            drift;
        VolumeDecision {
            there2,
            back,
            ideal,
            volume,
            pressure,
            correction,
            rate,
            interval,
            most,
            width2,
            of_places,
            energy,
            work,
            temperature,
            uniform,
            axis: axis.map_or(ALL_AXES, |axis| axis as u32),
            dimension: dimension as u32,
        }
    }
}

device_struct! {
    /// From where to where a kernel copies them.
    pub struct WordsToCopy {
        pub from: Pointer<Const<u32>>,
        pub to: Pointer<u32>,
        pub count: u64,
    }
}

device_struct! {
    /// A drift under a piston (`kernels/md/piston.cuh`).
    pub struct PistonDrift {
        /// On all velocities along each axis, before and after.
        pub before: [f64; 3],
        pub after: [f64; 3],
        /// Squared displacement up to which lists are good in the box of after.
        pub limit2: f64,
    }
}

device_struct! {
    /// Units of the last digit that all velocities lose; the first ids, up to `rest`, lose one more.
    pub struct Shares {
        pub share: [i64; 3],
        pub rest: [u64; 3],
    }
}

device_struct! {
    /// Where a quantity of all particles goes: component by component, in id order.
    pub struct ParticleRows {
        pub numbers: Pointer<f64>,
        pub images: Pointer<i32>,
        pub edges: [f64; 3],
        /// Of [`rows`].
        pub quantity: u32,
        pub unused: u32,
    }
}

device_constants! {
    /// Quantities that `write_rows` writes.
    pub mod rows: u32 {
        ROWS_OF_POSITIONS = 0;
        ROWS_UNWRAPPED = 1;
        ROWS_OF_IMAGES = 2;
        ROWS_OF_VELOCITIES = 3;
        ROWS_OF_FORCES = 4;
    }
}

device_constants! {
    /// Sums of `measure_velocities` and of `measure_pairs`, and of both; with that of `measure_kicks`, all.
    pub mod measured: u32 {
        VELOCITY_SUMS = 9;
        PAIR_SUMS = 7;
        STRESS_SUMS = 16;
        ALL_SUMS = 17;
    }
}

device_constants! {
    /// Sums of steps under a piston, along each axis: of m v^2 after the drift; the virial, of which each pair counts twice; of m v^2 after
    /// half a kick of the next step. Then whether lists are to be made anew; all of them. Behind these are the sums of `measure_pairs` that
    /// a first step needs.
    pub mod piston_sums: u32 {
        PISTON_KINETIC = 0;
        PISTON_VIRIAL = 3;
        PISTON_NEXT_KINETIC = 6;
        PISTON_REBUILDS = 9;
        PISTON_SUMS = 10;
    }
}

shared_header!(pub SHARED = "shared/measure.cuh": measured::Declaration, piston_sums::Declaration, rows::Declaration, Shift, Factors, VolumeDecision, WordsToCopy, PistonDrift, Shares, ParticleRows, Letter);

kernels! {
    /// Kernels over all particles, between launches (`kernels/md/measure.cu`).
    pub struct MeasureKernels {
        measure_velocities(Pointer<SplitSum>);
        measure_pairs(Pointer<SplitSum>);
        measure_pairs_and_post(Pointer<SplitSum>, Letter);
        measure_pairs_and_decide(
            Pointer<SplitSum>, Letter, VolumeDecision, Control, Pointer<SplitSum>, Pointer<u64>
        );
        measure_kicks(Pointer<SplitSum>, f64);
        sum_units(Pointer<SplitSum>);
        draw_velocities(u64, u64, u32, f64);
        shift_velocities(Shift);
        subtract_units(Shares);
        scale_velocities(Factors);
        scale_positions(Factors);
        accept_volume(Factors, f64);
        settle_volume(Pointer<Const<u64>>, Factors, System, Pointer<System>, WordsToCopy);
        reverse_velocities();
        find_too_close();
        write_rows(ParticleRows);
        post(Letter);
    }
}
