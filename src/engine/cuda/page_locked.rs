//! Memory of the host that the GPU reads and writes by itself.
use std::sync::Arc;

use cudarc::driver::result;

use super::device::failed;
use super::memory::Session;
use crate::engine::EngineError;

/// Page-locked memory, zero at first; given back when dropped.
pub struct PageLocked {
    session: Arc<Session>,
    pointer: *mut u8,
    bytes: usize,
}

// SAFETY: the memory belongs to this alone; the driver's calls may come from any thread that has entered
// the context, and every use enters it.
unsafe impl Send for PageLocked {}
// SAFETY: this only says where the memory lies; who writes there sees to it that nobody else does.
unsafe impl Sync for PageLocked {}

impl PageLocked {
    /// # Errors
    /// If there is no page-locked memory.
    pub fn new(session: &Arc<Session>, bytes: usize) -> Result<Self, EngineError> {
        session.enter()?;
        // SAFETY: freed once, when this is dropped.
        let pointer = unsafe { result::malloc_host(bytes, 0) }
            .map_err(|error| failed("give page-locked memory", error))?
            .cast::<u8>();
        // SAFETY: the memory is ours and as long.
        unsafe { pointer.write_bytes(0, bytes) };
        Ok(PageLocked { session: session.clone(), pointer, bytes })
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Where it begins: at a page.
    pub fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    pub fn size(&self) -> usize {
        self.bytes
    }
}

impl Drop for PageLocked {
    fn drop(&mut self) {
        if self.session.enter().is_ok() {
            // SAFETY: the pointer came from the driver and is used no more.
            let _ = unsafe { result::free_host(self.pointer.cast()) };
        }
    }
}
