//! Streams beside the null stream, and points in them.
use std::sync::{Arc, PoisonError};

use cudarc::driver::result::{event, stream};
use cudarc::driver::sys::{self, CUevent, CUevent_flags, CUstream};

use super::device::failed;
use super::memory::Session;
use crate::engine::EngineError;

/// A stream that runs beside the null stream.
pub struct Stream {
    session: Arc<Session>,
    pub stream: CUstream,
}

// SAFETY: a stream may be used from any thread that has entered its context; every use enters it.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// # Errors
    /// If the GPU is lost.
    pub fn new(session: &Arc<Session>) -> Result<Self, EngineError> {
        session.enter()?;
        let stream = stream::create(stream::StreamKind::NonBlocking)
            .map_err(|error| failed("make a stream", error))?;
        Ok(Stream { session: session.clone(), stream })
    }

    /// The one of a session that takes copies to the host.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn for_copies(session: &Arc<Session>) -> Result<Arc<Self>, EngineError> {
        let of_session = &mut session.copying.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stream) = of_session.upgrade() {
            return Ok(stream);
        }
        let stream = Arc::new(Stream::new(session)?);
        **of_session = Arc::downgrade(&stream);
        Ok(stream)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.session.enter().is_ok() {
            // SAFETY: made by the driver and used no more.
            let _ = unsafe { stream::destroy(self.stream) };
        }
    }
}

/// A point in a stream.
pub struct Event {
    session: Arc<Session>,
    pub event: CUevent,
}

// SAFETY: as for streams.
unsafe impl Send for Event {}

impl Event {
    /// Whoever waits for it sleeps.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn new(session: &Arc<Session>) -> Result<Self, EngineError> {
        Event::with_flags(session, CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32)
    }

    /// Whoever waits for it does nothing else, and continues sooner.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn watched(session: &Arc<Session>) -> Result<Self, EngineError> {
        Event::with_flags(session, 0)
    }

    fn with_flags(session: &Arc<Session>, flags: u32) -> Result<Self, EngineError> {
        session.enter()?;
        let flags = flags | CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        let mut event = std::ptr::null_mut();
        // SAFETY: the driver writes one handle.
        unsafe { sys::cuEventCreate(&raw mut event, flags) }
            .result()
            .map_err(|error| failed("make an event", error))?;
        Ok(Event { session: session.clone(), event })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.session.enter().is_ok() {
            // SAFETY: made by the driver and used no more.
            let _ = unsafe { event::destroy(self.event) };
        }
    }
}
