//! How messages get from GPU to GPU.
use std::sync::Arc;

use cudarc::driver::result::{self, event, stream};
use cudarc::driver::sys::{self, CUdeviceptr};

use crate::engine::EngineError;
use crate::engine::cuda::device::failed;
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::cuda::streams::{Event, Stream};
use crate::engine::domain::{Domain, GpuMessage, Message};

/// Messages of a rank to its neighbors and from them: `segment` bytes for each, what comes in twice as many.
pub struct Messages {
    pub outgoing: Buffer,
    pub incoming: Buffer,
    pub segment: usize,
    neighbors: usize,
}

impl Messages {
    pub fn new(
        session: &Arc<Session>,
        neighbors: usize,
        segment: usize,
    ) -> Result<Self, EngineError> {
        let segment = segment.next_multiple_of(256);
        Ok(Messages {
            outgoing: Buffer::new(session, neighbors * segment)?,
            incoming: Buffer::shared(session, 2 * neighbors * segment)?,
            segment,
            neighbors,
        })
    }

    pub fn outgoing_at(&self, neighbor: usize) -> CUdeviceptr {
        self.outgoing.pointer() + (neighbor * self.segment) as CUdeviceptr
    }

    pub fn incoming_at(&self, half: u32, neighbor: usize) -> CUdeviceptr {
        let segments = half as usize * self.neighbors + neighbor;
        self.incoming.pointer() + (segments * self.segment) as CUdeviceptr
    }
}

/// Lengths of the messages to each neighbor and from it, in bytes.
pub struct Lengths {
    pub outgoing: Vec<usize>,
    pub incoming: Vec<usize>,
}

/// A way from GPU to GPU.
///
/// What was launched before an exchange has written the outgoing messages; what is launched after it finds the
/// incoming ones, in the half that [`exchange`](Self::exchange) names. All ranks exchange together.
pub trait Transport: Send {
    fn name(&self) -> &'static str;

    /// Does `meanwhile`, which may launch kernels, while messages travel.
    ///
    /// # Errors
    /// If the GPU is lost.
    fn exchange(
        &mut self,
        domain: &Domain,
        messages: &Messages,
        lengths: &Lengths,
        meanwhile: &mut dyn FnMut() -> Result<(), EngineError>,
    ) -> Result<u32, EngineError>;

    /// The memory of each neighbor, if kernels here can write there while kernels there run.
    fn peers(&self, _messages: &Messages) -> Option<Vec<PeerMemory>> {
        None
    }
}

/// Where kernels write in a neighbor's memory: its signals from this rank, both copies of its sites, both halves of its
/// messages from this rank, and the places of its particles' ghosts.
pub struct PeerMemory {
    pub signals: CUdeviceptr,
    pub sites: [CUdeviceptr; 2],
    pub inbox: [CUdeviceptr; 2],
    pub remote: CUdeviceptr,
}

/// Streams and events that all transports need.
pub struct Lanes {
    session: Arc<Session>,
    beside: Stream,
    packed: Event,
    copied: Event,
}

impl Lanes {
    pub fn new(session: &Arc<Session>) -> Result<Self, EngineError> {
        Ok(Lanes {
            session: session.clone(),
            beside: Stream::new(session)?,
            packed: Event::watched(session)?,
            copied: Event::watched(session)?,
        })
    }

    /// The second stream.
    pub fn stream(&self) -> sys::CUstream {
        self.beside.stream
    }

    /// Has the second stream wait for what was launched on the engine's.
    pub fn follow(&self) -> Result<(), EngineError> {
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        self.session.enter()?;
        // SAFETY: streams and events live as long as this.
        unsafe {
            event::record(self.packed.event, stream::null())
                .and_then(|()| stream::wait_event(self.beside.stream, self.packed.event, flags))
        }
        .map_err(|error| failed("order two streams", error))
    }

    /// Waits for all copies on the second stream.
    pub fn finish(&self) -> Result<(), EngineError> {
        // SAFETY: as above.
        unsafe {
            event::record(self.copied.event, self.beside.stream)
                .and_then(|()| event::synchronize(self.copied.event))
        }
        .map_err(|error| failed("copy a message", error))
    }

    /// Has the engine's stream wait for the copies on the second one.
    pub fn lead(&self) -> Result<(), EngineError> {
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: as above.
        unsafe {
            event::record(self.copied.event, self.beside.stream)
                .and_then(|()| stream::wait_event(stream::null(), self.copied.event, flags))
        }
        .map_err(|error| failed("order two streams", error))
    }
}

/// Bytes of the host that the GPU copies to and from by itself.
struct PageLockedBytes {
    session: Arc<Session>,
    bytes: Vec<u8>,
    locked: bool,
}

impl PageLockedBytes {
    fn new(session: &Arc<Session>, capacity: usize) -> Result<Self, EngineError> {
        session.enter()?;
        let mut bytes: Vec<u8> = Vec::with_capacity(capacity);
        // SAFETY: the memory lives until it is unlocked, in `take`.
        let locked =
            unsafe { sys::cuMemHostRegister_v2(bytes.as_mut_ptr().cast(), capacity.max(1), 0) };
        // Copies go well without, only slower.
        let locked = capacity > 0 && locked.result().is_ok();
        Ok(PageLockedBytes { session: session.clone(), bytes, locked })
    }
}

impl Drop for PageLockedBytes {
    fn drop(&mut self) {
        if self.locked && self.session.enter().is_ok() {
            // SAFETY: it was locked, and no copy is under way: every exchange waits for its own.
            let _ = unsafe { sys::cuMemHostUnregister(self.bytes.as_mut_ptr().cast()) };
        }
    }
}

/// Through memory of the host and whatever joins the ranks.
pub struct ThroughHost {
    lanes: Lanes,
    outgoing: Vec<PageLockedBytes>,
    incoming: Vec<PageLockedBytes>,
}

impl ThroughHost {
    pub fn new(session: &Arc<Session>, messages: &Messages) -> Result<Self, EngineError> {
        let bytes = || -> Result<Vec<PageLockedBytes>, EngineError> {
            let one = |_| PageLockedBytes::new(session, messages.segment);
            (0..messages.neighbors).map(one).collect()
        };
        Ok(ThroughHost { lanes: Lanes::new(session)?, outgoing: bytes()?, incoming: bytes()? })
    }
}

impl Transport for ThroughHost {
    fn name(&self) -> &'static str {
        "host memory"
    }

    fn exchange(
        &mut self,
        domain: &Domain,
        messages: &Messages,
        lengths: &Lengths,
        meanwhile: &mut dyn FnMut() -> Result<(), EngineError>,
    ) -> Result<u32, EngineError> {
        self.lanes.follow()?;
        let beside = self.lanes.beside.stream;
        for (j, bytes) in self.outgoing.iter_mut().enumerate() {
            bytes.bytes.resize(lengths.outgoing[j], 0);
            if bytes.bytes.is_empty() {
                continue;
            }
            // SAFETY: the message is as long; the bytes stay where they are until the copy is waited for below.
            unsafe { result::memcpy_dtoh_async(&mut bytes.bytes, messages.outgoing_at(j), beside) }
                .map_err(|error| failed("copy a message", error))?;
        }
        let launched = meanwhile();
        self.lanes.finish()?;
        let mut travelling: Vec<Message> = domain
            .neighbors()
            .zip(self.outgoing.iter_mut().zip(&mut self.incoming))
            .zip(&lengths.incoming)
            .map(|((rank, (outgoing, incoming)), &length)| {
                incoming.bytes.resize(length, 0);
                let taken = |bytes: &mut PageLockedBytes| std::mem::take(&mut bytes.bytes);
                Message { rank, outgoing: taken(outgoing), incoming: taken(incoming) }
            })
            .collect();
        domain.exchange(&mut travelling);
        for (message, (outgoing, incoming)) in
            travelling.into_iter().zip(self.outgoing.iter_mut().zip(&mut self.incoming))
        {
            (outgoing.bytes, incoming.bytes) = (message.outgoing, message.incoming);
        }
        for (j, bytes) in self.incoming.iter().enumerate() {
            if bytes.bytes.is_empty() {
                continue;
            }
            // SAFETY: there is room for the message; the bytes are not touched before the next exchange, whose first
            // copies follow all that was launched by then.
            unsafe { result::memcpy_htod_async(messages.incoming_at(0, j), &bytes.bytes, beside) }
                .map_err(|error| failed("copy a message", error))?;
        }
        self.lanes.lead()?;
        launched.map(|()| 0)
    }
}

/// Through an MPI that takes addresses of the GPU.
pub struct ThroughMpi {
    lanes: Lanes,
}

impl ThroughMpi {
    pub fn new(session: &Arc<Session>) -> Result<Self, EngineError> {
        Ok(ThroughMpi { lanes: Lanes::new(session)? })
    }
}

impl Transport for ThroughMpi {
    fn name(&self) -> &'static str {
        "CUDA-aware MPI"
    }

    fn exchange(
        &mut self,
        domain: &Domain,
        messages: &Messages,
        lengths: &Lengths,
        meanwhile: &mut dyn FnMut() -> Result<(), EngineError>,
    ) -> Result<u32, EngineError> {
        self.lanes.follow()?;
        // The messages are packed before what is done meanwhile.
        let launched = meanwhile();
        self.lanes.finish()?;
        let travelling: Vec<GpuMessage> = domain
            .neighbors()
            .enumerate()
            .map(|(j, rank)| GpuMessage {
                rank,
                outgoing: (messages.outgoing_at(j), lengths.outgoing[j]),
                incoming: (messages.incoming_at(0, j), lengths.incoming[j]),
            })
            .collect();
        domain.exchange_on_gpus(&travelling);
        launched.map(|()| 0)
    }
}
