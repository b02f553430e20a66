//! Memory of the GPU that the host fills anew without waiting.
//!
//! A copy from ordinary memory waits for all kernels that were launched before it. From page-locked memory it takes its turn among them,
//! and the host goes on; the page-locked memory is used again when the copy is over.
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::result::{self, DriverError, event, stream};

use super::declare::{Plain, Pointer};
use super::device::failed;
use super::memory::{Buffer, Session};
use super::page_locked::PageLocked;
use super::streams::Event;
use crate::engine::EngineError;

/// Copies of a buffer that may be under way together.
const MOST_COPIES: usize = 4;
/// Page-locked memory is taken in powers of two of bytes, from this on.
const FEWEST_BYTES: usize = 4096;

/// A buffer and its way in. What is written takes its turn among what is launched.
pub struct InputBuffer {
    session: Arc<Session>,
    buffer: Buffer,
    bytes: usize,
    /// The one whose copy began first stands in front.
    sources: Mutex<VecDeque<Source>>,
}

/// Page-locked memory that is copied from.
struct Source {
    memory: PageLocked,
    /// The copy from it is over.
    taken: Event,
}

impl InputBuffer {
    /// # Errors
    /// If the GPU has no room.
    pub fn new(session: &Arc<Session>, bytes: usize) -> Result<Self, EngineError> {
        let buffer = Buffer::new(session, bytes)?;
        Ok(InputBuffer { session: session.clone(), buffer, bytes, sources: Mutex::default() })
    }

    /// Where it begins, as the kernels see it.
    pub fn pointer<T>(&self) -> Pointer<T> {
        self.buffer.pointer()
    }

    /// Copies values to the start of the buffer after all that was launched before. Does not wait, unless several copies are under way.
    ///
    /// # Errors
    /// If there is no page-locked memory, or the GPU is lost.
    pub fn write<T: Plain>(&self, values: &[T]) -> Result<(), EngineError> {
        let bytes = size_of_val(values);
        assert!(bytes <= self.bytes, "the buffer is long enough");
        if bytes == 0 {
            return Ok(());
        }
        self.session.enter()?;
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let source = self.free_source(&mut sources, bytes)?;
        let copied = self.copy(values, &source);
        // Also after an error the driver may read from it.
        sources.push_back(source);
        copied.map_err(|error| failed("copy to the GPU", error))
    }

    /// One that no copy is made from.
    fn free_source(
        &self,
        sources: &mut VecDeque<Source>,
        bytes: usize,
    ) -> Result<Source, EngineError> {
        if let Some(oldest) = sources.pop_front() {
            // SAFETY: the event lives as long as its source.
            let is_free = unsafe { event::query(oldest.taken.event) }.is_ok();
            if is_free || sources.len() + 1 >= MOST_COPIES {
                return self.with_room(oldest, bytes);
            }
            sources.push_front(oldest);
        }
        let memory = PageLocked::new(&self.session, room_for(bytes))?;
        Ok(Source { memory, taken: Event::new(&self.session)? })
    }

    /// Waits for the copy that is made from a source, and has it be long enough.
    fn with_room(&self, mut source: Source, bytes: usize) -> Result<Source, EngineError> {
        // SAFETY: as above.
        unsafe { event::synchronize(source.taken.event) }
            .map_err(|error| failed("copy to the GPU", error))?;
        if source.memory.size() < bytes {
            source.memory = PageLocked::new(&self.session, room_for(bytes))?;
        }
        Ok(source)
    }

    fn copy<T: Plain>(&self, values: &[T], source: &Source) -> Result<(), DriverError> {
        let bytes = size_of_val(values);
        // SAFETY: the page-locked memory is at least as long as the values, as is the buffer, and no copy reads from it. It is neither
        // written nor given back before the event.
        unsafe {
            let to = source.memory.pointer();
            std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), to, bytes);
            let copied = std::slice::from_raw_parts(to, bytes);
            result::memcpy_htod_async(self.buffer.address(), copied, stream::null())?;
            event::record(source.taken.event, stream::null())
        }
    }
}

impl Drop for InputBuffer {
    fn drop(&mut self) {
        if self.session.enter().is_err() {
            return;
        }
        let sources = self.sources.get_mut().unwrap_or_else(PoisonError::into_inner);
        for source in sources {
            // SAFETY: as above. A lost GPU reads no memory.
            let _ = unsafe { event::synchronize(source.taken.event) };
        }
    }
}

fn room_for(bytes: usize) -> usize {
    bytes.max(FEWEST_BYTES).next_power_of_two()
}
