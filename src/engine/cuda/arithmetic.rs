//! What the engine's kernels may take for granted of a GPU's arithmetic, as macros of their program.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::declare::Pointer;
use super::launch::{Grid, Kernels, kernels};
use super::memory::{Buffer, Session};
use super::program::Program;
use crate::engine::EngineError;

/// Macros by name and value.
pub type Macros = Vec<(String, String)>;

/// The GPU's macros:
///
/// - `IEEE_RECIPROCAL` where the short form of `reciprocal` is not rounded correctly for all arguments, which is
///   tried on the GPU (milliseconds, once a process);
/// - `SUMS_IN_PAIRS` where 64-bit floats are slow, so that `double-single` sums without them.
///
/// # Errors
/// If the trial cannot be compiled or run.
pub fn macros(session: &Arc<Session>) -> Result<Macros, EngineError> {
    static KNOWN: Mutex<Option<HashMap<usize, Macros>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    let gpu = &session.gpu;
    if let Some(macros) = known.get(&gpu.ordinal) {
        return Ok(macros.clone());
    }
    let mut macros = Macros::new();
    let mut define = |name: &str| macros.push((name.to_owned(), "1".to_owned()));
    if wrong_reciprocals(session)? != 0 {
        define("IEEE_RECIPROCAL");
    }
    if !has_fast_doubles(gpu.compute_capability) {
        define("SUMS_IN_PAIRS");
    }
    known.insert(gpu.ordinal, macros.clone());
    Ok(macros)
}

/// Whether 64-bit floats are at least half as fast as 32-bit ones: so on the GPUs for data centres of compute
/// capability 8.0, 9.0 and 10.0 (table of arithmetic throughput in the CUDA programming guide).
fn has_fast_doubles(compute_capability: u32) -> bool {
    matches!(compute_capability, 80 | 90 | 100)
}

kernels! {
    struct CheckKernels {
        count_wrong_reciprocals(Pointer<u32>);
    }
}

/// The program that tries the reciprocals.
pub fn check_program() -> Program {
    let text = include_str!("../../../kernels/arithmetic/check_reciprocal.cu");
    Program::new("check_reciprocal.cu", text).checked(&[CheckKernels::checks()])
}

/// Number of arguments in 2^-100 ... 2^100 whose reciprocal is not rounded correctly.
fn wrong_reciprocals(session: &Arc<Session>) -> Result<u32, EngineError> {
    let kernels = Kernels::of(session, &check_program())?;
    let wrong = Buffer::new(session, size_of::<u32>())?;
    let blocks = 8 * session.gpu.multiprocessors;
    let kernel = CheckKernels::load(&kernels)?.count_wrong_reciprocals;
    kernels.launch(kernel, Grid::of(blocks, 256), (wrong.pointer(),))?;
    Ok(wrong.read::<u32>(1)?[0])
}

#[cfg(test)]
mod tests {
    use super::has_fast_doubles;

    #[test]
    fn only_gpus_for_data_centres_sum_in_doubles() {
        assert!(has_fast_doubles(90) && has_fast_doubles(100));
        assert!(![75, 86, 89, 103, 120].into_iter().any(has_fast_doubles));
    }
}
