//! Kernels over all particles between launches (`kernels/md/measure.cu`): they measure, and change velocities.
use super::buffers::SplitSum;
use super::declare::{Pointer, device_constants, device_struct, shared_header};
use super::launch::kernels;

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

shared_header!(pub SHARED = "shared/measure.cuh": measured::Declaration, rows::Declaration, Shift, Factors, Shares, ParticleRows);

kernels! {
    /// Kernels over all particles, between launches (`kernels/md/measure.cu`).
    pub struct MeasureKernels {
        measure_velocities(Pointer<SplitSum>);
        measure_pairs(Pointer<SplitSum>);
        measure_kicks(Pointer<SplitSum>, f64);
        sum_units(Pointer<SplitSum>);
        draw_velocities(u64, u64, u32, f64);
        shift_velocities(Shift);
        subtract_units(Shares);
        scale_velocities(Factors);
        scale_positions(Factors);
        reverse_velocities();
        find_too_close();
        write_rows(ParticleRows);
    }
}
