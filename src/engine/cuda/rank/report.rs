//! What kernels among others have found, written by them into the host's memory (`kernels/domain/report.cuh`).
use std::ptr::{NonNull, addr_of};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use cudarc::driver::sys::{self, CUdeviceptr, CUresult};
use cudarc::driver::{DriverError, result};

use super::rim::RimControl;
use crate::engine::EngineError;
use crate::engine::cuda::device::failed;
use crate::engine::cuda::memory::Session;

/// Mirrors `Report` in `kernels/domain/rim.cuh`.
#[repr(C)]
struct Report {
    control: RimControl,
    number: u64,
}

/// Looks at the host's memory between two looks at the card, which would tell of an error.
const LOOKS: u32 = 4096;
/// Looks without giving way to other threads.
const EAGER_LOOKS: u32 = 512;

/// Where reports arrive: page-locked memory that the card writes to.
pub struct Reports {
    session: Arc<Session>,
    memory: NonNull<Report>,
    /// Reports that have been asked for.
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
        let memory = unsafe { result::malloc_host(size_of::<Report>(), flags) }.map_err(failure)?;
        let memory = NonNull::new(memory.cast::<Report>()).expect("memory");
        // SAFETY: the memory is ours and as long; zero is a value of every field.
        unsafe { memory.write_bytes(0, 1) };
        Ok(Reports { session: session.clone(), memory, number: 0 })
    }

    /// The memory as the card sees it.
    pub fn pointer(&self) -> Result<CUdeviceptr, EngineError> {
        self.session.enter()?;
        let mut pointer = 0;
        // SAFETY: the memory came from the driver, mapped.
        unsafe { sys::cuMemHostGetDevicePointer_v2(&mut pointer, self.memory.as_ptr().cast(), 0) }
            .result()
            .map_err(|error| failed("reach page-locked memory", error))?;
        Ok(pointer)
    }

    /// The number that the next kernel is to put on its report.
    pub fn ask(&mut self) -> u32 {
        self.number += 1;
        self.number
    }

    /// Waits for the report that was asked for last.
    ///
    /// # Errors
    /// If the kernel has ended without one.
    pub fn wait(&self) -> Result<RimControl, EngineError> {
        self.session.enter()?;
        let mut looks = 0_u32;
        while !self.has_come() {
            looks += 1;
            if looks < EAGER_LOOKS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
            if looks.is_multiple_of(LOOKS) && self.is_idle()? && !self.has_come() {
                return Err(EngineError::Cuda {
                    what: "finish a kernel".into(),
                    message: "it ended without a report".into(),
                });
            }
        }
        fence(Ordering::Acquire);
        // SAFETY: the card has written it before the number, and writes no more until it is asked again.
        Ok(unsafe { addr_of!((*self.memory.as_ptr()).control).read_volatile() })
    }

    fn has_come(&self) -> bool {
        // SAFETY: the memory lives as long as this.
        let number = unsafe { addr_of!((*self.memory.as_ptr()).number).read_volatile() };
        number as u32 == self.number
    }

    /// Whether the card has done all that was launched.
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
