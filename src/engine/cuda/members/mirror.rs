use std::ops::Range;
use std::sync::Arc;

use crate::engine::EngineError;
use crate::engine::cuda::declare::{Plain, Pointer};
use crate::engine::cuda::memory::{Buffer, Session};

/// An array on the GPU with some numbers of each system, and the host's copy. What has changed here is sent before the next launch.
pub struct Mirror<T> {
    buffer: Buffer,
    copy: Vec<T>,
    /// Numbers of a system.
    width: usize,
    /// Systems that the GPU does not have as they are.
    changed: Range<usize>,
}

impl<T: Plain> Mirror<T> {
    /// # Errors
    /// If the GPU has no room.
    pub fn new(session: &Arc<Session>, systems: usize, width: usize) -> Result<Self, EngineError> {
        let copy = vec![T::zeroed(); systems * width];
        let buffer = Buffer::new(session, size_of_val(&copy[..]))?;
        Ok(Mirror { buffer, copy, width, changed: 0..0 })
    }

    /// Number of systems.
    pub fn systems(&self) -> usize {
        self.copy.len() / self.width
    }

    /// Where the numbers of a system are on the GPU.
    pub fn pointer(&self, system: usize) -> Pointer<T> {
        self.buffer.pointer::<T>().add(system * self.width)
    }

    /// The numbers of a system.
    pub fn get(&self, system: usize) -> &[T] {
        &self.copy[system * self.width..(system + 1) * self.width]
    }

    /// The same, to be changed.
    pub fn of(&mut self, system: usize) -> &mut [T] {
        let Range { start, end } = self.changed;
        self.changed = match self.changed.is_empty() {
            true => system..system + 1,
            false => start.min(system)..end.max(system + 1),
        };
        &mut self.copy[system * self.width..(system + 1) * self.width]
    }

    /// Those of all systems, to be changed.
    pub fn all(&mut self) -> &mut [T] {
        self.changed = 0..self.systems();
        &mut self.copy
    }

    /// Sends what has changed.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn send(&mut self) -> Result<(), EngineError> {
        let Range { start, end } = std::mem::replace(&mut self.changed, 0..0);
        if start == end {
            return Ok(());
        }
        let values = &self.copy[start * self.width..end * self.width];
        self.buffer.write_at(start * self.width * size_of::<T>(), values)
    }
}
