//! The compiled kernels of a run, and their launches.
use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdeviceptr, CUfunction, CUmodule};

use super::arithmetic;
use super::compile::{Architecture, Program, compile, compile_ahead};
use super::constants::{DevicePolicy, DeviceReal, PairTable};
use super::device::failed;
use super::library::Nvrtc;
use super::memory::Session;
use super::thermostat::{LARGEST_BLOCK, LARGEST_BLOCK_SINGLE_LANE};
use crate::arithmetic::Real;
use crate::engine::EngineError;
use crate::plan::Plan;

/// Code on the GPU.
pub struct Kernels {
    session: Arc<Session>,
    module: CUmodule,
}

// SAFETY: a module may be used from any thread that has entered its context; every use here enters it.
unsafe impl Send for Kernels {}
// SAFETY: as above.
unsafe impl Sync for Kernels {}

/// A kernel of the module.
#[derive(Clone, Copy)]
pub struct Kernel(CUfunction);

// SAFETY: as for the module, which outlives it in the engine.
unsafe impl Send for Kernel {}

/// The program of a plan: text and macros.
pub fn program<P: DevicePolicy>(policy: &P, plan: &Plan) -> Program {
    let text = include_str!("../../../kernels/md/engine.cu");
    program_of("engine.cu", text, policy, plan)
}

/// A text over the headers of `kernels/md`, with the macros of a plan.
pub fn program_of<P: DevicePolicy>(name: &str, text: &str, policy: &P, plan: &Plan) -> Program {
    let pairs = PairTable::new(policy, &plan.potential);
    let dimension = plan.system.simulation_box.dimension();
    let edges = plan.system.simulation_box.edges();
    // No two images that are nearest are farther apart.
    let half_diagonal = 0.5 * edges.iter().map(|edge| edge * edge).sum::<f64>().sqrt();
    let macros = [
        ("POLICY", P::NAME.to_owned()),
        ("EVALUATOR_HEADER", format!("\"{}\"", pairs.header)),
        ("EVALUATOR", pairs.evaluator.clone()),
        ("TRUNCATION", pairs.truncation_name().to_owned()),
        ("DIMENSION", dimension.to_string()),
        ("SPECIES_COUNT", plan.system.species.len().to_string()),
        ("CUBIC", u32::from(plan.system.simulation_box.is_cubic()).to_string()),
        ("COMMON_CONSTANTS", u32::from(pairs.have_common_constants).to_string()),
        ("SATURATING", u32::from(half_diagonal < pairs.saturates_within).to_string()),
        ("SAMPLING", u32::from(super::correlator::is_wanted(plan)).to_string()),
        ("LARGEST_BLOCK", LARGEST_BLOCK.to_string()),
        ("LARGEST_BLOCK_SINGLE_LANE", LARGEST_BLOCK_SINGLE_LANE.to_string()),
        ("STRESS", u32::from(super::correlator::is_stress_wanted(plan)).to_string()),
    ];
    Program {
        name: name.into(),
        text: text.into(),
        macros: macros.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        options: Vec::new(),
    }
}

/// What kernels are compiled to for the GPU of a session.
fn architecture(session: &Session) -> Result<Architecture, EngineError> {
    let known = Nvrtc::get()?.architectures();
    Ok(Architecture::of_gpu(session.gpu.compute_capability, known))
}

impl Kernels {
    /// Compiles programs that [`of`](Self::of) is asked for next, all at once.
    pub fn compile_ahead(session: &Session, programs: &[Program]) -> Result<(), EngineError> {
        compile_ahead(programs, architecture(session)?);
        Ok(())
    }

    /// Compiles a program for the GPU, and loads it.
    pub fn of(session: &Arc<Session>, program: &Program) -> Result<Self, EngineError> {
        let compiled = compile(program, architecture(session)?)?;
        session.enter()?;
        // SAFETY: the image is whole: CUBIN, or PTX with a zero at its end.
        let module = unsafe { result::module::load_data(compiled.image.as_ptr().cast()) }
            .map_err(|error| failed("load the kernels", error))?;
        Ok(Kernels { session: session.clone(), module })
    }

    /// Compiles and loads a program over the headers of `kernels/md`, and gives it the constants of a run.
    pub fn load_program<P: DevicePolicy>(
        session: &Arc<Session>,
        mut program: Program,
        policy: &P,
        plan: &Plan,
    ) -> Result<Self, EngineError> {
        program.macros.extend(arithmetic::macros(session)?);
        let kernels = Kernels::of(session, &program)?;
        kernels.set("policy", &policy.constants().bytes())?;
        let pairs = PairTable::new(policy, &plan.potential);
        kernels.set("pairs", &pairs.bytes())?;
        let mut largest = super::constants::DeviceStruct::default();
        largest_core2(policy, plan).append(&mut largest);
        kernels.set("largest_core2", &largest.bytes())?;
        Ok(kernels)
    }

    /// Writes a constant.
    pub(super) fn set(&self, name: &str, bytes: &[u8]) -> Result<(), EngineError> {
        self.session.enter()?;
        let failure = |error| failed(&format!("set the constant {name}"), error);
        // SAFETY: the module is loaded.
        let (pointer, size) =
            unsafe { result::module::get_global(self.module, text(name)) }.map_err(failure)?;
        assert_eq!(size, bytes.len(), "{name} has one layout here and in the kernels");
        // SAFETY: the constant is as long as the bytes.
        unsafe { result::memcpy_htod_sync(pointer, bytes) }.map_err(failure)
    }

    /// Copies a word on the GPU into a constant, `at` bytes from its start, between what was launched before and after.
    pub(super) fn copy_word(
        &self,
        name: &str,
        at: usize,
        from: CUdeviceptr,
    ) -> Result<(), EngineError> {
        self.session.enter()?;
        let failure = |error| failed(&format!("set the constant {name}"), error);
        // SAFETY: the module is loaded.
        let (pointer, size) =
            unsafe { result::module::get_global(self.module, text(name)) }.map_err(failure)?;
        let bytes = size_of::<u32>();
        assert!(at + bytes <= size);
        let (to, stream) = (pointer + at as CUdeviceptr, std::ptr::null_mut());
        // SAFETY: both words lie in the GPU's memory.
        unsafe { result::memcpy_dtod_async(to, from, bytes, stream) }.map_err(failure)
    }

    pub fn kernel(&self, name: &str) -> Result<Kernel, EngineError> {
        self.session.enter()?;
        // SAFETY: the module is loaded.
        let kernel = unsafe { result::module::get_function(self.module, text(name)) }
            .map_err(|error| failed(&format!("find the kernel {name}"), error))?;
        Ok(Kernel(kernel))
    }

    /// Registers of a thread, and bytes of local memory.
    pub fn resources(&self, kernel: Kernel) -> (i32, i32) {
        let ask = |attribute| {
            // SAFETY: the kernel belongs to the module.
            unsafe { result::function::get_function_attribute(kernel.0, attribute) }.unwrap_or(-1)
        };
        (
            ask(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS),
            ask(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
        )
    }

    /// Lets a kernel have more shared memory than all have.
    pub fn allow_shared_memory(&self, kernel: Kernel, bytes: usize) -> Result<(), EngineError> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        self.session.enter()?;
        // SAFETY: the kernel belongs to the module.
        unsafe { result::function::set_function_attribute(kernel.0, attribute, bytes as i32) }
            .map_err(|error| failed("give a kernel its shared memory", error))
    }

    /// Launches a kernel over a grid of two dimensions with a number of bytes of shared memory. Does not wait.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    pub unsafe fn launch_grid(
        &self,
        kernel: Kernel,
        blocks: (u32, u32),
        threads: u32,
        shared_bytes: usize,
        arguments: &[*const c_void],
    ) -> Result<(), EngineError> {
        self.session.enter()?;
        let mut arguments: Vec<*mut c_void> =
            arguments.iter().map(|argument| argument.cast_mut()).collect();
        let (grid, block) = ((blocks.0, blocks.1, 1), (threads, 1, 1));
        let (shared, stream) = (shared_bytes as u32, std::ptr::null_mut());
        // SAFETY: the caller promises the arguments.
        unsafe { result::launch_kernel(kernel.0, grid, block, shared, stream, &mut arguments) }
            .map_err(|error| failed("launch a kernel", error))
    }

    /// Launches a kernel; `cooperative` makes sure that all blocks run at once. Does not wait.
    ///
    /// # Safety
    /// The arguments are those of the kernel, and what they point to on the GPU is large enough.
    pub unsafe fn launch(
        &self,
        kernel: Kernel,
        blocks: u32,
        threads: u32,
        cooperative: bool,
        arguments: &[*const c_void],
    ) -> Result<(), EngineError> {
        self.session.enter()?;
        let mut arguments: Vec<*mut c_void> =
            arguments.iter().map(|argument| argument.cast_mut()).collect();
        let (grid, block, stream) = ((blocks, 1, 1), (threads, 1, 1), std::ptr::null_mut());
        // SAFETY: the caller promises the arguments.
        unsafe {
            if cooperative {
                result::launch_cooperative_kernel(kernel.0, grid, block, 0, stream, &mut arguments)
            } else {
                result::launch_kernel(kernel.0, grid, block, 0, stream, &mut arguments)
            }
        }
        .map_err(|error| failed("launch a kernel", error))
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        if self.session.enter().is_ok() {
            // SAFETY: no kernel runs any more: every launch is waited for.
            let _ = unsafe { result::module::unload(self.module) };
        }
    }
}

fn text(name: &str) -> CString {
    CString::new(name).expect("names of kernels hold no zero")
}

/// Squared distance below which pairs are looked at one by one: those too close, those at the same place, and particles
/// that meet themselves in their list.
fn largest_core2<P: DevicePolicy>(policy: &P, plan: &Plan) -> P::Real {
    let largest = plan
        .potential
        .pairs
        .iter()
        .flatten()
        .map(|pair| crate::engine::cpu::kernels::core_distance(policy, &plan.potential, pair))
        .fold(0.0, f64::max);
    let core2 = crate::engine::cpu::kernels::core2(policy, &plan.potential, largest).to_f64();
    P::Real::from_f64(core2.max(P::Real::COINCIDENT2.to_f64()))
}
