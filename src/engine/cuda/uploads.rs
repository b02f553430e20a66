//! Copies from the host that take their turn among what is launched.
//!
//! A copy from ordinary memory waits for all kernels that were launched before it. From page-locked memory it takes its turn among them,
//! and the host goes on; the page-locked memory is used again when the copy is over.
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::result::{self, DriverError, event, stream};
use cudarc::driver::sys::CUdeviceptr;

use super::declare::Plain;
use super::device::failed;
use super::memory::Session;
use super::page_locked::PageLocked;
use super::streams::Event;
use crate::engine::EngineError;

/// Copies that may be under way together.
const MOST_COPIES: usize = 4;
/// Page-locked memory is taken in powers of two of bytes, from this on.
const FEWEST_BYTES: usize = 4096;

/// Page-locked memory through which copies go.
pub struct Uploads {
    session: Arc<Session>,
    /// The one whose copy began first stands in front.
    sources: Mutex<VecDeque<Source>>,
}

/// Page-locked memory that is copied from.
struct Source {
    memory: PageLocked,
    /// The number of the copy from it.
    copy: u64,
    /// Something is over that was launched behind the copy: recorded only when somebody has to know.
    taken: Event,
    is_recorded: bool,
}

impl Uploads {
    pub fn new(session: &Arc<Session>) -> Self {
        Uploads { session: session.clone(), sources: Mutex::default() }
    }

    /// Copies values to memory of the GPU after all that was launched before. Does not wait, unless several copies are under way.
    ///
    /// # Safety
    /// From the address on the GPU has as many bytes for them, until the copy is over.
    ///
    /// # Errors
    /// If there is no page-locked memory, or the GPU is lost.
    pub unsafe fn copy<T: Plain>(&self, values: &[T], to: CUdeviceptr) -> Result<(), EngineError> {
        let bytes = size_of_val(values);
        if bytes == 0 {
            return Ok(());
        }
        self.session.enter()?;
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let mut source = self.free_source(&mut sources, bytes)?;
        // SAFETY: as the caller has promised.
        let copied = unsafe { source.copy(values, to) };
        source.copy = self.session.number_copy();
        source.is_recorded = false;
        // Also after an error the driver may read from it.
        sources.push_back(source);
        copied.map_err(|error| failed("copy to the GPU", error))
    }

    /// Waits until all copies are over.
    pub fn wait(&self) {
        if self.session.enter().is_err() {
            return;
        }
        for source in &mut *self.sources.lock().unwrap_or_else(PoisonError::into_inner) {
            // A lost GPU reads no memory.
            let _ = source.wait();
        }
    }

    /// One that no copy is made from.
    fn free_source(
        &self,
        sources: &mut VecDeque<Source>,
        bytes: usize,
    ) -> Result<Source, EngineError> {
        if let Some(mut oldest) = sources.pop_front() {
            // Somebody may have waited for what came after: then the driver need not be asked.
            let is_free = self.session.is_over(oldest.copy) || oldest.is_taken();
            if is_free || sources.len() + 1 >= MOST_COPIES {
                return self.with_room(oldest, bytes);
            }
            sources.push_front(oldest);
        }
        let memory = PageLocked::new(&self.session, room_for(bytes))?;
        Ok(Source { memory, copy: 0, taken: Event::new(&self.session)?, is_recorded: false })
    }

    /// Waits for the copy that is made from a source, and has it be long enough.
    fn with_room(&self, mut source: Source, bytes: usize) -> Result<Source, EngineError> {
        if !self.session.is_over(source.copy) {
            source.wait().map_err(|error| failed("copy to the GPU", error))?;
        }
        if source.memory.size() < bytes {
            source.memory = PageLocked::new(&self.session, room_for(bytes))?;
        }
        Ok(source)
    }
}

impl Source {
    /// # Safety
    /// As for [`Uploads::copy`]; this is as long as the values, and no copy reads from it.
    unsafe fn copy<T: Plain>(&self, values: &[T], to: CUdeviceptr) -> Result<(), DriverError> {
        let bytes = size_of_val(values);
        // SAFETY: as the caller has promised. It is neither written nor given back before the copy is over.
        unsafe {
            let here = self.memory.pointer();
            std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), here, bytes);
            let copied = std::slice::from_raw_parts(here, bytes);
            result::memcpy_htod_async(to, copied, stream::null())
        }
    }

    /// Has the event stand behind the copy, if it does not yet.
    fn record(&mut self) -> Result<(), DriverError> {
        if !self.is_recorded {
            // SAFETY: the event lives as long as this; the stream is that of the copies.
            unsafe { event::record(self.taken.event, stream::null()) }?;
            self.is_recorded = true;
        }
        Ok(())
    }

    /// Whether the copy is known to be over: not after an error.
    fn is_taken(&mut self) -> bool {
        // SAFETY: the event lives as long as this.
        self.record().is_ok() && unsafe { event::query(self.taken.event) }.is_ok()
    }

    fn wait(&mut self) -> Result<(), DriverError> {
        self.record()?;
        // SAFETY: as above.
        unsafe { event::synchronize(self.taken.event) }
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        self.wait();
    }
}

fn room_for(bytes: usize) -> usize {
    bytes.max(FEWEST_BYTES).next_power_of_two()
}
