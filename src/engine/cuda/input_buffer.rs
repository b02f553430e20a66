//! Memory of the GPU that the host fills anew without waiting.
use std::sync::Arc;

use super::declare::{Plain, Pointer};
use super::memory::{Buffer, Session};
use super::uploads::Uploads;
use crate::engine::EngineError;

/// A buffer and its way in. What is written takes its turn among what is launched.
pub struct InputBuffer {
    /// Before the buffer: it waits for copies there.
    uploads: Uploads,
    buffer: Buffer,
    bytes: usize,
}

impl InputBuffer {
    /// # Errors
    /// If the GPU has no room.
    pub fn new(session: &Arc<Session>, bytes: usize) -> Result<Self, EngineError> {
        let buffer = Buffer::new(session, bytes)?;
        Ok(InputBuffer { uploads: Uploads::new(session), buffer, bytes })
    }

    /// Where it begins, as the kernels see it.
    pub fn pointer<T>(&self) -> Pointer<T> {
        self.buffer.pointer()
    }

    /// Copies values to the start of the buffer, as [`Uploads::copy`].
    ///
    /// # Errors
    /// If there is no page-locked memory, or the GPU is lost.
    pub fn write<T: Plain>(&self, values: &[T]) -> Result<(), EngineError> {
        assert!(size_of_val(values) <= self.bytes, "the buffer is long enough");
        // SAFETY: it is, and lives until the copies are over.
        unsafe { self.uploads.copy(values, self.buffer.address()) }
    }
}
