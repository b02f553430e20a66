//! What host and kernels of a system share between launches: [`Control`], and sums behind it, in one copy each way.
//!
//! It comes back without a copy that the host would have to wait for: a kernel writes it to memory of the host, and then the number of
//! the letter, for which the host looks.
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cudarc::driver::result::{self, DriverError, stream};

use super::buffers::{Control, SplitSum};
use super::declare::{Const, Plain, Pointer, device_struct};
use super::device::failed;
use super::measure::measured;
use super::memory::{Buffer, Session};
use super::page_locked::PageLocked;
use crate::engine::EngineError;

/// Sums that there is room for.
pub const MOST_SUMS: usize = measured::ALL_SUMS as usize;

/// Threads that write a letter.
pub const POSTING_THREADS: u32 = 256;

/// How long the host looks for a letter by itself, before it leaves that to the driver.
const LOOKING: Duration = Duration::from_millis(2);

device_struct! {
    /// As it lies in memory.
    pub struct ControlAndSums {
        pub control: Control,
        pub sums: [SplitSum; MOST_SUMS],
    }
}

const WORDS: usize = size_of::<ControlAndSums>() / size_of::<u32>();

/// Arguments of the kernel that writes a letter: from where and to where, how many words, and its number.
type Letter = (Pointer<Const<u32>>, Pointer<u32>, u32, u32);

/// The memory of it on the GPU, and page-locked memory of the host, through which it goes in the order of the launches. What comes back
/// is waited for, so that one copy at most is under way.
pub struct Mailbox {
    session: Arc<Session>,
    on_gpu: Arc<Buffer>,
    sent: PageLocked,
    /// Also the number of the last letter.
    received: PageLocked,
    letters: Cell<u32>,
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
            sent: PageLocked::new(session, bytes)?,
            received: PageLocked::new(session, bytes + size_of::<u32>())?,
            letters: Cell::new(0),
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
        let bytes = self.sent.size();
        // SAFETY: the page-locked memory is as long, and no copy is under way; it and the buffer live until it has been waited for.
        let send = || -> Result<(), DriverError> {
            unsafe {
                std::ptr::copy_nonoverlapping(all.bytes().as_ptr(), self.sent.pointer(), bytes);
                let from = std::slice::from_raw_parts(self.sent.pointer(), bytes);
                result::memcpy_htod_async(self.on_gpu.address(), from, stream::null())
            }
        };
        self.is_sending.set(true);
        send().map_err(|error| failed("copy to the GPU", error))
    }

    /// Both as they are after all that was launched before; waits for it. `post` launches the kernel that writes a letter.
    pub fn receive(
        &self,
        post: impl FnOnce(Letter) -> Result<(), EngineError>,
    ) -> Result<ControlAndSums, EngineError> {
        let copies_before = self.session.last_copy();
        let number = self.letters.get().wrapping_add(1);
        self.letters.set(number);
        // The GPU sees page-locked memory at the addresses of the host.
        let to = Pointer::at(self.received.pointer().addr() as u64);
        post((self.on_gpu.pointer::<u32>().to_const(), to, WORDS as u32, number))?;
        self.look_for(number)?;
        self.session.copies_are_over(copies_before);
        self.is_sending.set(false);
        // SAFETY: it begins at a page, is as long, any bits are a value, and the letter is written.
        Ok(unsafe { self.received.pointer().cast::<ControlAndSums>().read() })
    }

    /// Returns when a letter is there.
    fn look_for(&self, number: u32) -> Result<(), EngineError> {
        // SAFETY: the word lies behind the letter, at a multiple of its size, and is written whole.
        let last = unsafe { AtomicU32::from_ptr(self.received.pointer().cast::<u32>().add(WORDS)) };
        let start = Instant::now();
        while last.load(Ordering::Acquire) != number {
            if start.elapsed() > LOOKING {
                return self.wait();
            }
            std::hint::spin_loop();
        }
        Ok(())
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
