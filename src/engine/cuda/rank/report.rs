//! What kernels among others have found, written by them into the host's memory (`kernels/domain/report.cuh`).
use std::ptr::{NonNull, addr_of};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use cudarc::driver::sys::{self, CUdeviceptr, CUresult};
use cudarc::driver::{DriverError, result};

use super::halo::Report;
use crate::engine::EngineError;
use crate::engine::cuda::declare::Pointer;
use crate::engine::cuda::device::failed;
use crate::engine::cuda::memory::Session;

/// A report that has been asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What the kernel is to put on it.
    pub number: u32,
}

/// Looks at the host's memory between two looks at the GPU, which would tell of an error.
const LOOKS: u32 = 4096;
/// Looks without giving way to other threads.
const EAGER_LOOKS: u32 = 512;

/// Where reports arrive: page-locked memory that the GPU writes to.
pub struct Reports {
    session: Arc<Session>,
    /// Two that are used in turn: a kernel may be launched before the report of the one before is read.
    memory: NonNull<[Report; 2]>,
    /// How many have been asked for.
    number: u32,
}

// SAFETY: the memory belongs to this alone; every use enters the context.
unsafe impl Send for Reports {}

impl Reports {
    pub fn new(session: &Arc<Session>) -> Result<Self, EngineError> {
        session.enter()?;
        let failure = |error| failed("give page-locked memory", error);
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: freed once, when this is dropped.
        let memory = unsafe { result::malloc_host(size_of::<[Report; 2]>(), flags) };
        let memory = NonNull::new(memory.map_err(failure)?.cast()).expect("memory");
        let memory: NonNull<[Report; 2]> = memory;
        // SAFETY: the memory is ours and as long; zero is a value of every field.
        unsafe { memory.write_bytes(0, 1) };
        Ok(Reports { session: session.clone(), memory, number: 0 })
    }

    /// The memory as the GPU sees it.
    pub fn pointer(&self) -> Result<Pointer<Report>, EngineError> {
        self.session.enter()?;
        let mut pointer: CUdeviceptr = 0;
        // SAFETY: the memory came from the driver, mapped.
        unsafe { sys::cuMemHostGetDevicePointer_v2(&mut pointer, self.memory.as_ptr().cast(), 0) }
            .result()
            .map_err(|error| failed("reach page-locked memory", error))?;
        Ok(Pointer::at(pointer))
    }

    /// To be called before the kernel is launched.
    pub fn ask(&mut self) -> Asked {
        self.number += 1;
        Asked { number: self.number }
    }

    /// Waits for a report, one of the last two that were asked for.
    ///
    /// # Errors
    /// If the kernel has ended without one.
    pub fn wait(&self, asked: Asked) -> Result<Report, EngineError> {
        self.session.enter()?;
        let mut looks = 0_u32;
        while !self.has_come(asked) {
            looks += 1;
            if looks < EAGER_LOOKS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
            if looks.is_multiple_of(LOOKS) && self.is_idle()? && !self.has_come(asked) {
                return Err(EngineError::Cuda {
                    what: "finish a kernel".into(),
                    message: "it ended without a report".into(),
                });
            }
        }
        fence(Ordering::Acquire);
        // SAFETY: the GPU has written it before the number, and writes no more until it is asked again.
        Ok(unsafe { self.place(asked).read_volatile() })
    }

    fn place(&self, asked: Asked) -> *const Report {
        self.memory.as_ptr().cast::<Report>().wrapping_add(asked.number as usize & 1)
    }

    fn has_come(&self, asked: Asked) -> bool {
        // SAFETY: the memory lives as long as this.
        let number = unsafe { addr_of!((*self.place(asked)).number).read_volatile() };
        number as u32 == asked.number
    }

    /// Whether the GPU has done all that was launched.
    fn is_idle(&self) -> Result<bool, EngineError> {
        // SAFETY: the null stream is always there.
        match unsafe { sys::cuStreamQuery(std::ptr::null_mut()) } {
            CUresult::CUDA_SUCCESS => Ok(true),
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            error => Err(failed("finish a kernel", DriverError(error))),
        }
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        // What is still under way would write there.
        if self.session.wait().is_ok() {
            // SAFETY: the memory came from the driver and is used no more.
            let _ = unsafe { result::free_host(self.memory.as_ptr().cast()) };
        }
    }
}
