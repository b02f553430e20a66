//! What host and kernels of a system share between launches: [`Control`], and sums behind it, in one copy each way.
use std::cell::Cell;
use std::sync::Arc;

use cudarc::driver::result::{self, DriverError, stream};

use super::buffers::{Control, SplitSum};
use super::declare::{Plain, Pointer, device_struct};
use super::device::failed;
use super::measure::measured;
use super::memory::{Buffer, Session};
use super::page_locked::PageLocked;
use crate::engine::EngineError;

/// Sums that there is room for.
pub const MOST_SUMS: usize = measured::ALL_SUMS as usize;

device_struct! {
    /// As it lies in memory.
    pub struct ControlAndSums {
        pub control: Control,
        pub sums: [SplitSum; MOST_SUMS],
    }
}

/// The memory of it on the GPU, and page-locked memory of the host, through which it goes in the order of the launches. A copy back
/// is waited for, so that one copy at most is under way.
pub struct Mailbox {
    session: Arc<Session>,
    on_gpu: Arc<Buffer>,
    on_host: PageLocked,
    /// Something was sent since the host has waited.
    is_sending: Cell<bool>,
}

impl Mailbox {
    /// # Errors
    /// If there is no memory on the GPU, or no page-locked memory.
    pub fn new(session: &Arc<Session>) -> Result<Self, EngineError> {
        let bytes = size_of::<ControlAndSums>();
        Ok(Mailbox {
            on_gpu: Arc::new(Buffer::new(session, bytes)?),
            on_host: PageLocked::new(session, bytes)?,
            is_sending: Cell::new(false),
            session: session.clone(),
        })
    }

    /// The part of the memory on the GPU that holds the [`Control`].
    pub fn control(&self) -> Buffer {
        Buffer::part_of(&self.on_gpu, 0, size_of::<Control>())
    }

    /// Where a sum is on the GPU.
    pub fn sums(&self, first: usize) -> Pointer<SplitSum> {
        Pointer::at(self.on_gpu.pointer::<Control>().add(1).address()).add(first)
    }

    /// Sets the first sums to zero after what was launched before; does not wait.
    ///
    /// # Errors
    /// If the GPU is lost. So in what follows.
    pub fn clear_sums(&self, count: usize) -> Result<(), EngineError> {
        let start = size_of::<Control>();
        self.on_gpu.fill(start..start + count * size_of::<SplitSum>(), 0)
    }

    /// Sends a [`Control`], and zero for each sum; does not wait.
    pub fn send(&self, control: &Control) -> Result<(), EngineError> {
        if self.is_sending.get() {
            self.wait()?;
        }
        self.session.enter()?;
        let all = ControlAndSums { control: *control, sums: Default::default() };
        let bytes = self.on_host.size();
        // SAFETY: the page-locked memory is as long, and no copy is under way; it and the buffer live until it has been waited for.
        let send = || -> Result<(), DriverError> {
            unsafe {
                std::ptr::copy_nonoverlapping(all.bytes().as_ptr(), self.on_host.pointer(), bytes);
                let from = std::slice::from_raw_parts(self.on_host.pointer(), bytes);
                result::memcpy_htod_async(self.on_gpu.address(), from, stream::null())
            }
        };
        self.is_sending.set(true);
        send().map_err(|error| failed("copy to the GPU", error))
    }

    /// Both as they are after all that was launched before; waits for it.
    pub fn receive(&self) -> Result<ControlAndSums, EngineError> {
        self.session.enter()?;
        let bytes = self.on_host.size();
        // SAFETY: as in `send`; what was sent before is read before this is written.
        let receive = || -> Result<(), DriverError> {
            unsafe {
                let to = std::slice::from_raw_parts_mut(self.on_host.pointer(), bytes);
                result::memcpy_dtoh_async(to, self.on_gpu.address(), stream::null())
            }
        };
        receive().map_err(|error| failed("copy from the GPU", error))?;
        self.wait()?;
        // SAFETY: it begins at a page, is as long, any bits are a value, and the copy is done.
        Ok(unsafe { self.on_host.pointer().cast::<ControlAndSums>().read() })
    }

    fn wait(&self) -> Result<(), EngineError> {
        self.session.enter()?;
        // SAFETY: the stream is that of all kernels.
        unsafe { stream::synchronize(stream::null()) }
            .map_err(|error| failed("finish a kernel", error))?;
        self.is_sending.set(false);
        Ok(())
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        // The memory is given back after what is under way.
        let _ = self.wait();
    }
}
