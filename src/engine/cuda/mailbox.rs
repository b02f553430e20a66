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
        /// Whether a trial to change the volume was accepted, where the GPU decides: 0 or 1.
        pub accepted: u64,
    }
}

const WORDS: usize = size_of::<ControlAndSums>() / size_of::<u32>();

device_struct! {
    /// Words on the GPU that a kernel writes to memory of the host, with a number behind them.
    pub struct Letter {
        pub from: Pointer<Const<u32>>,
        pub to: Pointer<u32>,
        pub words: u32,
        pub number: u32,
    }
}

/// The memory of it on the GPU, and page-locked memory of the host, through which it goes in the order of the launches. What comes back
/// is waited for, so that one copy at most is under way.
pub struct Mailbox {
    session: Arc<Session>,
    on_gpu: Arc<Buffer>,
    sent: PageLocked,
    /// Also the number of the last letter. In turn, as two letters may be under way.
    received: [PageLocked; 2],
    letters: Cell<u32>,
    /// Sends, and how many of these, in their order, are known to be over.
    sends: Cell<u64>,
    sends_over: Cell<u64>,
    /// What was sent ahead, if nothing has been launched since that may change it.
    ahead: Cell<Option<Box<Control>>>,
}

/// A letter that a kernel is going to write.
#[must_use]
pub struct Asked {
    number: u32,
    /// Copies to the GPU and sends that it comes behind.
    copies: u64,
    sends: u64,
}

impl Mailbox {
    /// # Errors
    /// If there is no memory on the GPU, or no page-locked memory.
    pub fn new(session: &Arc<Session>) -> Result<Self, EngineError> {
        let bytes = size_of::<ControlAndSums>();
        let room_for_letter = || PageLocked::new(session, bytes + size_of::<u32>());
        Ok(Mailbox {
            on_gpu: Arc::new(Buffer::new(session, bytes)?),
            sent: PageLocked::new(session, bytes)?,
            received: [room_for_letter()?, room_for_letter()?],
            letters: Cell::new(0),
            sends: Cell::new(0),
            sends_over: Cell::new(0),
            ahead: Cell::new(None),
            session: session.clone(),
        })
    }

    /// The part of the memory on the GPU that holds the [`Control`].
    pub fn control(&self) -> Buffer {
        Buffer::part_of(&self.on_gpu, 0, size_of::<Control>())
    }

    /// Where a sum is on the GPU.
    pub fn sums(&self, first: usize) -> Pointer<SplitSum> {
        self.forget_ahead();
        Pointer::at(self.on_gpu.pointer::<Control>().add(1).address()).add(first)
    }

    /// Where the GPU leaves whether a trial was accepted.
    pub fn accepted(&self) -> Pointer<u64> {
        Pointer::at(self.sums(MOST_SUMS).address())
    }

    /// Sets the first sums to zero after what was launched before; does not wait.
    ///
    /// # Errors
    /// If the GPU is lost. So in what follows.
    pub fn clear_sums(&self, count: usize) -> Result<(), EngineError> {
        self.forget_ahead();
        let start = size_of::<Control>();
        self.on_gpu.fill(start..start + count * size_of::<SplitSum>(), 0)
    }

    /// Sends a [`Control`], and zero for each sum; does not wait. Sends nothing where the same was sent ahead.
    pub fn send(&self, control: &Control) -> Result<(), EngineError> {
        match self.ahead.take() {
            Some(ahead) if ahead.bytes() == control.bytes() => Ok(()),
            _ => self.send_anyway(control),
        }
    }

    /// Sends what the next launch of steps is expected to begin with. What is launched in between neither has sums made nor changes it, but
    /// for [`takes_heat`](Self::takes_heat).
    pub fn send_ahead(&self, control: &Control) -> Result<(), EngineError> {
        self.send_anyway(control)?;
        self.ahead.set(Some(Box::new(*control)));
        Ok(())
    }

    /// A kernel that was launched gives what was sent ahead another heat.
    pub fn takes_heat(&self, heat: f64) {
        let ahead = self.ahead.take();
        self.ahead.set(ahead.map(|control| Box::new(Control { heat, ..*control })));
    }

    /// Something else is going to be launched than what the host had in mind.
    pub fn forget_ahead(&self) {
        self.ahead.set(None);
    }

    fn send_anyway(&self, control: &Control) -> Result<(), EngineError> {
        if self.sends.get() != self.sends_over.get() {
            self.wait()?;
        }
        self.session.enter()?;
        let all = ControlAndSums { control: *control, ..Default::default() };
        let bytes = self.sent.size();
        // SAFETY: the page-locked memory is as long, and no copy is under way; it and the buffer live until it has been waited for.
        let send = || -> Result<(), DriverError> {
            unsafe {
                std::ptr::copy_nonoverlapping(all.bytes().as_ptr(), self.sent.pointer(), bytes);
                let from = std::slice::from_raw_parts(self.sent.pointer(), bytes);
                result::memcpy_htod_async(self.on_gpu.address(), from, stream::null())
            }
        };
        self.sends.set(self.sends.get() + 1);
        send().map_err(|error| failed("copy to the GPU", error))
    }

    /// Asks for all as it is after what was launched before; does not wait. `post` launches a kernel that writes the letter. Two at most may
    /// be under way.
    pub fn ask(
        &self,
        post: impl FnOnce(Letter) -> Result<(), EngineError>,
    ) -> Result<Asked, EngineError> {
        self.forget_ahead();
        let (copies, sends) = (self.session.last_copy(), self.sends.get());
        let number = self.letters.get().wrapping_add(1);
        self.letters.set(number);
        // The GPU sees page-locked memory at the addresses of the host.
        let to = Pointer::at(self.room_for(number).addr() as u64);
        post(Letter {
            from: self.on_gpu.pointer::<u32>().to_const(),
            to,
            words: WORDS as u32,
            number,
        })?;
        Ok(Asked { number, copies, sends })
    }

    /// Waits for a letter.
    pub fn receive(
        &self,
        Asked { number, copies, sends }: Asked,
    ) -> Result<ControlAndSums, EngineError> {
        self.look_for(number)?;
        self.session.copies_are_over(copies);
        self.sends_over.set(self.sends_over.get().max(sends));
        // SAFETY: it begins at a page, is as long, any bits are a value, and the letter is written.
        Ok(unsafe { self.room_for(number).cast::<ControlAndSums>().read() })
    }

    /// Memory of a letter.
    fn room_for(&self, number: u32) -> *mut u8 {
        self.received[number as usize % 2].pointer()
    }

    /// Returns when a letter is there.
    fn look_for(&self, number: u32) -> Result<(), EngineError> {
        // SAFETY: the word lies behind the letter, at a multiple of its size, and is written whole.
        let last = unsafe { AtomicU32::from_ptr(self.room_for(number).cast::<u32>().add(WORDS)) };
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
        self.sends_over.set(self.sends.get());
        Ok(())
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        // The memory is given back after what is under way.
        let _ = self.wait();
    }
}
