//! Numbers that have the same bits on every processor.
//!
//! Everything here is made of IEEE add, subtract, multiply, divide, square root, explicit fused
//! multiply-add, comparisons and integers, in a fixed order and without libm, so that a CUDA mirror
//! (`--fmad=false`, fused operations written out) gives the same bits. Functions for inner loops are
//! branch-free and `#[inline(always)]`: they vectorise inside a caller compiled with the FMA target
//! feature; elsewhere `mul_add` is a slow but equally exact call.
//!
//! - [`dual`]: numbers with a derivative.
//! - [`double_single`]: a number as the sum of two 32-bit floats.
//! - [`reciprocal`]: reciprocal, reciprocal square root and square root in 32-bit floats.
//! - [`elementary`]: exponential, logarithm, sine and cosine.
//! - [`error_function`]: error function and its complement.
//! - [`fixed_point`]: rounding and scaling of 64-bit integers, coordinates as fractions of the box.
//! - [`philox`], [`random`]: random numbers keyed by seed, particle, step and purpose.
#[cfg(test)]
mod bitwise;
pub mod double_single;
pub mod dual;
pub mod elementary;
pub mod error_function;
pub mod fixed_point;
pub mod philox;
pub mod random;
mod real;
pub mod reciprocal;
#[cfg(test)]
mod testing;

pub use double_single::DoubleSingle;
pub use dual::Dual;
pub use real::Real;
