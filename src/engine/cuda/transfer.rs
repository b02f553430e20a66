//! Copies of the particles that leave the GPU while the next steps run.
//!
//! On the engine's stream (the null stream) the arrays are gathered in a staging buffer on the GPU; a
//! second stream, which does not wait for the first one's kernels, takes them on to page-locked memory
//! of the host. The next gathering waits, on the GPU, until the staging buffer has been read. Takes one
//! staging buffer, and page-locked memory for as many copies as are under way.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::result::{self, DriverError, event, stream};
use cudarc::driver::sys::{self, CUdeviceptr};

use super::device::failed;
use super::memory::{Buffer, Session};
use super::page_locked::PageLocked;
use super::streams::{Event, Stream};
use crate::engine::EngineError;

/// An array of the GPU's memory that is to be copied: its place and length in bytes.
#[derive(Clone, Copy)]
pub struct Piece<'a> {
    pub buffer: &'a Buffer,
    pub bytes: usize,
}

/// In a copy pieces follow each other, each at a multiple of this.
const ALIGNMENT: usize = 16;

/// Places of copies in page-locked memory begin at multiples of this.
const ALIGNMENT_ON_HOST: usize = 256;

/// Bytes that a piece takes in a copy.
pub fn aligned_size(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGNMENT)
}

/// The way out of the GPU.
pub struct Transfer {
    session: Arc<Session>,
    staging: Buffer,
    bytes: usize,
    /// That of all copies of the session.
    stream: Arc<Stream>,
    /// The arrays lie in the staging buffer.
    gathered: Event,
    /// The staging buffer has been read.
    taken: Event,
    free: Free,
}

/// Places for copies: those that no copy uses, and how many there are in all.
#[derive(Default)]
struct Places {
    free: Vec<Arrival>,
    count: usize,
}

type Free = Arc<Mutex<Places>>;

fn lock(places: &Free) -> MutexGuard<'_, Places> {
    places.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Page-locked memory that is taken at once for several copies: to take it stops the GPU.
const MOST_BYTES_AT_ONCE: usize = 16 << 20;

/// A copy on its way.
pub struct Arriving {
    /// `None` only while it is dropped.
    memory: Option<Arrival>,
    bytes: usize,
    free: Free,
}

impl Transfer {
    /// For copies of at most `bytes` bytes, with the [`aligned_size`] of every piece.
    ///
    /// # Errors
    /// If the GPU has no room for the staging buffer.
    pub fn new(session: &Arc<Session>, bytes: usize) -> Result<Self, EngineError> {
        let staging = Buffer::new(session, bytes)?;
        Ok(Transfer {
            staging,
            bytes,
            stream: Stream::for_copies(session)?,
            gathered: Event::new(session)?,
            taken: Event::new(session)?,
            free: Free::default(),
            session: session.clone(),
        })
    }

    /// Takes page-locked memory for a number of copies at once; later it would stop the GPU.
    ///
    /// # Errors
    /// If there is no page-locked memory.
    pub fn reserve(&self, copies: usize) -> Result<(), EngineError> {
        let places = Arrival::several(&self.session, self.bytes, copies)?;
        let mut of = lock(&self.free);
        of.count += places.len();
        of.free.extend(places);
        Ok(())
    }

    /// A place that no copy uses. Where there is none, their number is doubled, as far as they are small.
    fn free_place(&self) -> Result<Arrival, EngineError> {
        let mut places = lock(&self.free);
        if let Some(place) = places.free.pop() {
            return Ok(place);
        }
        let fitting = (MOST_BYTES_AT_ONCE / self.bytes.max(1)).max(1);
        let new = Arrival::several(&self.session, self.bytes, places.count.clamp(1, fitting))?;
        places.count += new.len();
        places.free.extend(new);
        Ok(places.free.pop().expect("there is one at least"))
    }

    /// Has the pieces copied as they are after all that was launched before. Does not wait.
    ///
    /// # Errors
    /// If there is no page-locked memory, or the GPU is lost.
    pub fn begin(&self, pieces: &[Piece]) -> Result<Arriving, EngineError> {
        let bytes = pieces.iter().map(|piece| aligned_size(piece.bytes)).sum();
        assert!(bytes <= self.bytes, "the staging buffer is long enough");
        self.session.enter()?;
        let memory = self.free_place()?;
        // From here on the copy owns the memory: it is not given back before the driver is done with it.
        let arriving = Arriving { memory: Some(memory), bytes, free: self.free.clone() };
        self.enqueue(pieces, &arriving).map_err(|error| failed("copy from the GPU", error))?;
        Ok(arriving)
    }

    fn enqueue(&self, pieces: &[Piece], to: &Arriving) -> Result<(), DriverError> {
        let memory = to.memory.as_ref().expect("it is not dropped");
        let (engine, beside) = (stream::null(), self.stream.stream);
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: streams and events live as long as this. Pieces are as long as they say, and those of the
        // staging buffer do not overlap and end before it does. The page-locked memory is at least as
        // long, and nobody touches it before `arrived`.
        unsafe {
            stream::wait_event(engine, self.taken.event, flags)?;
            let mut at: CUdeviceptr = self.staging.address();
            for piece in pieces {
                result::memcpy_dtod_async(at, piece.buffer.address(), piece.bytes, engine)?;
                at += aligned_size(piece.bytes) as CUdeviceptr;
            }
            event::record(self.gathered.event, engine)?;
            stream::wait_event(beside, self.gathered.event, flags)?;
            let target = std::slice::from_raw_parts_mut(memory.pointer(), to.bytes);
            result::memcpy_dtoh_async(target, self.staging.address(), beside)?;
            event::record(self.taken.event, beside)?;
            event::record(memory.arrived.event, beside)
        }
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        if self.session.enter().is_ok() {
            // SAFETY: the stream is destroyed after this. A lost GPU reads no staging buffer.
            let _ = unsafe { stream::synchronize(self.stream.stream) };
        }
    }
}

impl Arriving {
    /// Waits until the copy is there; pieces lie in it one after the other.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn wait(&self) -> Result<&[u8], EngineError> {
        let memory = self.memory.as_ref().expect("it is not dropped");
        memory.wait()?;
        // SAFETY: the memory is at least as long, was cleared when it was made, and the copy, which alone
        // writes there, is done.
        Ok(unsafe { std::slice::from_raw_parts(memory.pointer(), self.bytes) })
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take()
            && memory.wait().is_ok()
        {
            lock(&self.free).free.push(memory);
        }
    }
}

/// Bytes of a copy, or the copy on its way.
pub enum Copied {
    Here(Vec<u8>),
    Arriving(Arriving),
}

impl Copied {
    /// Has pieces copied while the next steps run, or, where there is no way or the GPU or its host has no room for that,
    /// at once.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn begin(transfer: Option<&Transfer>, pieces: &[Piece]) -> Result<Self, EngineError> {
        if let Some(transfer) = transfer {
            match transfer.begin(pieces) {
                Ok(arriving) => return Ok(Copied::Arriving(arriving)),
                Err(error @ EngineError::GpuLost { .. }) => return Err(error),
                Err(error) => tracing::debug!("this frame is copied at once: {error}"),
            }
        }
        Copied::at_once(pieces)
    }

    /// Copies pieces and waits for them.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn at_once(pieces: &[Piece]) -> Result<Self, EngineError> {
        let mut all = Vec::new();
        for piece in pieces {
            all.extend(piece.buffer.read::<u8>(piece.bytes)?);
            all.resize(aligned_size(all.len()), 0);
        }
        Ok(Copied::Here(all))
    }

    /// Waits until the copy is there; pieces lie in it one after the other.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn bytes(&self) -> Result<&[u8], EngineError> {
        match self {
            Copied::Here(bytes) => Ok(bytes),
            Copied::Arriving(arriving) => arriving.wait(),
        }
    }
}

/// Where a copy arrives: a part of page-locked memory that it has for itself.
struct Arrival {
    memory: Arc<PageLocked>,
    start: usize,
    arrived: Event,
}

impl Arrival {
    /// A number of them, of as many bytes each.
    fn several(
        session: &Arc<Session>,
        bytes: usize,
        count: usize,
    ) -> Result<Vec<Self>, EngineError> {
        let size = bytes.next_multiple_of(ALIGNMENT_ON_HOST);
        let memory = Arc::new(PageLocked::new(session, (size * count).max(1))?);
        let place = |at| {
            let (memory, arrived) = (memory.clone(), Event::new(session)?);
            Ok(Arrival { memory, start: at * size, arrived })
        };
        (0..count).map(place).collect()
    }

    fn pointer(&self) -> *mut u8 {
        // SAFETY: it starts within the memory.
        unsafe { self.memory.pointer().add(self.start) }
    }

    /// Waits for the copy into it, if there is one.
    fn wait(&self) -> Result<(), EngineError> {
        self.memory.session().enter()?;
        // SAFETY: the event lives as long as this.
        unsafe { event::synchronize(self.arrived.event) }
            .map_err(|error| failed("copy from the GPU", error))
    }
}
