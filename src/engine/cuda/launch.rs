//! Compiled kernels, and their launches.
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdeviceptr, CUfunction, CUmodule};

use super::compile::{Architecture, compile, compile_ahead};
use super::declare::{DeviceType, Pointer};
use super::device::{Gpu, failed};
use super::library::Nvrtc;
use super::memory::Session;
use super::program::Program;
use super::uploads::Uploads;
use crate::engine::EngineError;

/// Threads of a block of kernels that only go over items.
const THREADS: u32 = 256;

/// Code on the GPU.
pub struct Kernels {
    session: Arc<Session>,
    module: CUmodule,
    constants: Mutex<HashMap<String, Constant>>,
    /// To the constants.
    uploads: Uploads,
}

/// A constant of a module.
struct Constant {
    pointer: CUdeviceptr,
    size: usize,
    /// What it holds, if that is known.
    held: Vec<u8>,
}

// SAFETY: a module may be used from any thread that has entered its context; every use here enters it.
unsafe impl Send for Kernels {}
// SAFETY: as above.
unsafe impl Sync for Kernels {}

/// Kernels of a program with a constant.
pub struct CommonKernels {
    program: Program,
    constant: Vec<u8>,
    kernels: Weak<Kernels>,
}

/// A kernel of a module, by the types of its parameters. [`kernels!`] makes them.
pub struct Kernel<A> {
    function: CUfunction,
    arguments: PhantomData<fn(A)>,
}

impl<A> Clone for Kernel<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Kernel<A> {}

// SAFETY: as for the module, which outlives it in the engine.
unsafe impl<A> Send for Kernel<A> {}
// SAFETY: as above.
unsafe impl<A> Sync for Kernel<A> {}

/// The arguments of a launch.
pub trait Arguments {
    /// Their types in the kernels, separated by commas.
    fn types() -> String;

    /// Calls `launch` with the addresses of the arguments.
    fn with_addresses<R>(&self, launch: impl FnOnce(&mut [*mut c_void]) -> R) -> R;
}

macro_rules! arguments {
    ($($name:ident: $number:tt),*) => {
        impl<$($name: DeviceType),*> Arguments for ($($name,)*) {
            fn types() -> String {
                let types: Vec<String> = vec![$($name::declare("")),*];
                types.join(", ")
            }

            fn with_addresses<R>(&self, launch: impl FnOnce(&mut [*mut c_void]) -> R) -> R {
                launch(&mut [$((&raw const self.$number).cast_mut().cast()),*])
            }
        }
    };
}
arguments!();
arguments!(A: 0);
arguments!(A: 0, B: 1);
arguments!(A: 0, B: 1, C: 2);
arguments!(A: 0, B: 1, C: 2, D: 3);
arguments!(A: 0, B: 1, C: 2, D: 3, E: 4);
arguments!(A: 0, B: 1, C: 2, D: 3, E: 4, F: 5);
arguments!(A: 0, B: 1, C: 2, D: 3, E: 4, F: 5, G: 6);

/// Declares the kernels of a program, with the types of their parameters:
///
/// - a struct of typed handles, which `load` finds in a module once;
/// - `CHECKS`, lines of C++ that do not compile where a kernel has other parameters.
macro_rules! kernels {
    ($(#[$attribute:meta])* $visible:vis struct $name:ident {
        $( $(#[$of_kernel:meta])* $kernel:ident($($type:ty),*); )*
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy)]
        $visible struct $name {
            $( $(#[$of_kernel])* pub $kernel: $crate::engine::cuda::launch::Kernel<($($type,)*)>, )*
        }

        impl $name {
            /// # Errors
            /// If the module lacks one.
            pub fn load(module: &$crate::engine::cuda::launch::Kernels) -> Result<Self, $crate::engine::EngineError> {
                Ok($name { $( $kernel: module.find(stringify!($kernel))?, )* })
            }

            /// What [`Program::checked`](crate::engine::cuda::program::Program::checked) adds to the text.
            pub fn checks() -> String {
                let mut text = String::new();
                $(
                    text += &format!(
                        "static_assert(SameType<decltype({0}), void({1})>::value, \"parameters of {0}\");\n",
                        stringify!($kernel),
                        <($($type,)*) as $crate::engine::cuda::launch::Arguments>::types()
                    );
                )*
                text
            }
        }
    };
}
pub(crate) use kernels;

/// Blocks and threads of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    pub blocks: (u32, u32),
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of shared memory that the launch adds to a block's own.
    pub shared_bytes: usize,
    /// All blocks run at once.
    pub cooperative: bool,
}

impl Grid {
    pub fn of(blocks: u32, threads: u32) -> Self {
        Grid { blocks: (blocks, 1), threads, shared_bytes: 0, cooperative: false }
    }

    pub fn in_two_dimensions(blocks: (u32, u32), threads: u32) -> Self {
        Grid { blocks, ..Grid::of(1, threads) }
    }

    /// Of an ordinary kernel over at most a number of threads: its threads take items in turn.
    pub fn over(gpu: &Gpu, threads: usize) -> Self {
        let blocks = threads.div_ceil(THREADS as usize).max(1) as u32;
        Grid::of(blocks.min(8 * gpu.multiprocessors), THREADS)
    }

    /// The same for each of a number of systems.
    pub fn over_systems(gpu: &Gpu, threads: usize, systems: u32) -> Self {
        let Grid { blocks, threads, .. } = Grid::over(gpu, threads);
        Grid::in_two_dimensions((blocks.0, systems), threads)
    }

    pub fn cooperative(blocks: u32, threads: u32) -> Self {
        Grid { cooperative: true, ..Grid::of(blocks, threads) }
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
        let uploads = Uploads::new(session);
        Ok(Kernels { session: session.clone(), module, constants: Mutex::default(), uploads })
    }

    /// The same with a constant that is set once, for all that need it: while someone has them, they are not loaded again.
    pub fn with_constant(
        session: &Arc<Session>,
        program: &Program,
        name: &str,
        bytes: &[u8],
    ) -> Result<Arc<Self>, EngineError> {
        let all = &mut session.common_kernels.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|common| common.kernels.strong_count() > 0);
        let same = |common: &&CommonKernels| common.constant == bytes && common.program == *program;
        if let Some(kernels) = all.iter().find(same).and_then(|common| common.kernels.upgrade()) {
            return Ok(kernels);
        }
        let kernels = Arc::new(Kernels::of(session, program)?);
        if !bytes.is_empty() {
            kernels.set_bytes(name, bytes)?;
        }
        all.push(CommonKernels {
            program: program.clone(),
            constant: bytes.to_vec(),
            kernels: Arc::downgrade(&kernels),
        });
        Ok(kernels)
    }

    /// Writes a constant, unless it holds the same, between what was launched before and after. Waits only the first time.
    pub(super) fn set<T: DeviceType>(&self, name: &str, value: &T) -> Result<(), EngineError> {
        self.set_bytes(name, value.bytes())
    }

    /// The same of one whose layout depends on the plan.
    pub(super) fn set_bytes(&self, name: &str, bytes: &[u8]) -> Result<(), EngineError> {
        self.with_constant_of(name, |constant| {
            assert_eq!(constant.size, bytes.len(), "{name} has one layout here and in the kernels");
            if constant.held == bytes {
                return Ok(());
            }
            let is_first = constant.held.is_empty();
            constant.held.clear();
            if is_first {
                // Most are never written again: page-locked memory takes milliseconds to get.
                // SAFETY: the constant is as long as the bytes.
                unsafe { result::memcpy_htod_sync(constant.pointer, bytes) }
                    .map_err(|error| failed(&format!("set the constant {name}"), error))?;
            } else {
                // SAFETY: as above, and the module is there until the copies are over.
                unsafe { self.uploads.copy(bytes, constant.pointer) }?;
            }
            constant.held.extend_from_slice(bytes);
            Ok(())
        })
    }

    /// What a constant holds, as it was written last.
    pub(super) fn held(&self, name: &str) -> Result<Vec<u8>, EngineError> {
        self.with_constant_of(name, |constant| Ok(constant.held.clone()))
    }

    /// Where a constant lies on the GPU, for a kernel that writes it.
    pub(super) fn place_of<T>(&self, name: &str) -> Result<Pointer<T>, EngineError> {
        self.with_constant_of(name, |constant| Ok(Pointer::at(constant.pointer)))
    }

    /// A kernel has written a constant.
    pub(super) fn note(&self, name: &str, bytes: &[u8]) -> Result<(), EngineError> {
        self.with_constant_of(name, |constant| {
            constant.held.clear();
            constant.held.extend_from_slice(bytes);
            Ok(())
        })
    }

    /// Does something with a constant.
    fn with_constant_of<T>(
        &self,
        name: &str,
        work: impl FnOnce(&mut Constant) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.session.enter()?;
        let mut constants = self.constants.lock().unwrap_or_else(PoisonError::into_inner);
        if !constants.contains_key(name) {
            // SAFETY: the module is loaded.
            let (pointer, size) = unsafe { result::module::get_global(self.module, text(name)) }
                .map_err(|error| failed(&format!("find the constant {name}"), error))?;
            constants.insert(name.to_owned(), Constant { pointer, size, held: Vec::new() });
        }
        work(constants.get_mut(name).expect("it is there"))
    }

    /// Copies a word on the GPU into a constant, `at` bytes from its start, between what was launched before and after.
    pub(super) fn copy_word(
        &self,
        name: &str,
        at: usize,
        from: Pointer<u32>,
    ) -> Result<(), EngineError> {
        self.with_constant_of(name, |constant| {
            let bytes = size_of::<u32>();
            assert!(at + bytes <= constant.size);
            constant.held.clear();
            let (to, stream) = (constant.pointer + at as CUdeviceptr, std::ptr::null_mut());
            // SAFETY: both words lie in the GPU's memory.
            unsafe { result::memcpy_dtod_async(to, from.address(), bytes, stream) }
                .map_err(|error| failed(&format!("set the constant {name}"), error))
        })
    }

    /// A kernel by its name; the program asserts the types of its parameters ([`kernels!`]).
    pub fn find<A: Arguments>(&self, name: &str) -> Result<Kernel<A>, EngineError> {
        self.session.enter()?;
        // SAFETY: the module is loaded.
        let function = unsafe { result::module::get_function(self.module, text(name)) }
            .map_err(|error| failed(&format!("find the kernel {name}"), error))?;
        Ok(Kernel { function, arguments: PhantomData })
    }

    /// Launches an ordinary kernel over at most a number of threads.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn launch_over<A: Arguments>(
        &self,
        threads: usize,
        kernel: Kernel<A>,
        arguments: A,
    ) -> Result<(), EngineError> {
        self.launch(kernel, Grid::over(&self.session.gpu, threads), arguments)
    }

    /// Registers of a thread, and bytes of local memory.
    pub fn resources<A>(&self, kernel: Kernel<A>) -> (i32, i32) {
        let ask = |attribute| {
            // SAFETY: the kernel belongs to the module.
            unsafe { result::function::get_function_attribute(kernel.function, attribute) }
                .unwrap_or(-1)
        };
        (
            ask(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS),
            ask(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
        )
    }

    /// Lets a kernel have more shared memory than all have.
    pub fn allow_shared_memory<A>(
        &self,
        kernel: Kernel<A>,
        bytes: usize,
    ) -> Result<(), EngineError> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        self.session.enter()?;
        // SAFETY: the kernel belongs to the module.
        unsafe {
            result::function::set_function_attribute(kernel.function, attribute, bytes as i32)
        }
        .map_err(|error| failed("give a kernel its shared memory", error))
    }

    /// Launches a kernel; does not wait. What its pointers lead to must be as large as the kernel's description asks for.
    ///
    /// # Errors
    /// If the driver refuses it.
    pub fn launch<A: Arguments>(
        &self,
        kernel: Kernel<A>,
        grid: Grid,
        arguments: A,
    ) -> Result<(), EngineError> {
        self.session.enter()?;
        let Grid { blocks, threads, shared_bytes, cooperative } = grid;
        let (blocks, threads) = ((blocks.0, blocks.1, 1), (threads, 1, 1));
        let (shared, stream) = (shared_bytes as u32, std::ptr::null_mut());
        let start =
            if cooperative { result::launch_cooperative_kernel } else { result::launch_kernel };
        // SAFETY: the kernel was compiled with the assertion that its parameters have the types of the arguments; pointers
        // are addresses of buffers, whose owners keep them until the launch is waited for.
        arguments
            .with_addresses(|addresses| unsafe {
                start(kernel.function, blocks, threads, shared, stream, addresses)
            })
            .map_err(|error| failed("launch a kernel", error))
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        self.uploads.wait();
        if self.session.enter().is_ok() {
            // SAFETY: no kernel runs any more, as every launch is waited for, and no copy is made.
            let _ = unsafe { result::module::unload(self.module) };
        }
    }
}

fn text(name: &str) -> CString {
    CString::new(name).expect("names of kernels hold no zero")
}
