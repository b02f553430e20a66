//! Memory of the GPU, and the GPU itself as an engine holds it.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use cudarc::driver::CudaContext;
use cudarc::driver::result;
use cudarc::driver::sys::{CUdevice_attribute, CUdeviceptr};

use super::declare::{Plain, Pointer};
use super::device::{Gpu, failed};
use super::launch::CommonKernels;
use super::streams::Stream;
use crate::engine::{DeviceMemory, EngineError};

/// A GPU in use by this process.
pub struct Session {
    pub gpu: Gpu,
    context: Arc<CudaContext>,
    /// What those that need the same have in common.
    pub(super) common_kernels: Mutex<Vec<CommonKernels>>,
    pub(super) copying: Mutex<Weak<Stream>>,
    /// Copies to the GPU that were launched, and how many of these, in their order, are known to be over.
    copies: AtomicU64,
    copies_over: AtomicU64,
}

impl Session {
    /// # Errors
    /// If the driver cannot take the GPU into use.
    pub fn open(gpu: Gpu) -> Result<Arc<Self>, EngineError> {
        let context = CudaContext::new(gpu.ordinal)
            .map_err(|error| failed("take the GPU into use", error))?;
        Ok(Arc::new(Session {
            gpu,
            context,
            common_kernels: Mutex::default(),
            copying: Mutex::default(),
            copies: AtomicU64::new(0),
            copies_over: AtomicU64::new(0),
        }))
    }

    /// Numbers a copy to the GPU that was launched: afterwards, so that what is launched once the number is known comes behind the copy.
    pub fn number_copy(&self) -> u64 {
        self.copies.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The number of the last copy.
    pub fn last_copy(&self) -> u64 {
        self.copies.load(Ordering::Acquire)
    }

    /// Notes that all copies up to this one are over.
    pub fn copies_are_over(&self, last: u64) {
        self.copies_over.fetch_max(last, Ordering::AcqRel);
    }

    /// Whether a copy is known to be over.
    pub fn is_over(&self, copy: u64) -> bool {
        self.copies_over.load(Ordering::Acquire) >= copy
    }

    /// Makes the GPU the one that this thread talks to: to be called before the driver is.
    pub fn enter(&self) -> Result<(), EngineError> {
        self.context.bind_to_thread().map_err(|error| failed("select the GPU", error))
    }

    /// Number that names the GPU on any host.
    pub fn uuid(&self) -> [u8; 16] {
        let uuid = self.context.uuid().map(|uuid| uuid.bytes.map(|byte| byte as u8));
        uuid.unwrap_or_default()
    }

    /// The driver's context, as a number of this process.
    pub fn context_address(&self) -> usize {
        self.context.cu_ctx() as usize
    }

    /// Waits for all that was launched.
    pub fn wait(&self) -> Result<(), EngineError> {
        self.enter()?;
        self.context.synchronize().map_err(|error| failed("finish a kernel", error))
    }

    /// Bytes of shared memory that a block may have.
    pub fn shared_memory(&self) -> Result<usize, EngineError> {
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        let bytes = self.context.attribute(attribute);
        bytes.map(|bytes| bytes as usize).map_err(|error| failed("describe a GPU", error))
    }

    /// Bytes of shared memory of a multiprocessor.
    pub fn shared_memory_of_multiprocessor(&self) -> Result<usize, EngineError> {
        let attribute =
            CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR;
        let bytes = self.context.attribute(attribute);
        bytes.map(|bytes| bytes as usize).map_err(|error| failed("describe a GPU", error))
    }

    /// Free and total memory in bytes.
    pub fn memory(&self) -> Result<(u64, u64), EngineError> {
        self.enter()?;
        let (free, total) =
            result::mem_get_info().map_err(|error| failed("tell its free memory", error))?;
        Ok((free as u64, total as u64))
    }
}

/// A piece of the GPU's memory, zero at first; given back when dropped.
pub struct Buffer {
    session: Arc<Session>,
    pointer: CUdeviceptr,
    bytes: usize,
    /// Of which it is a part, and which gives the memory back.
    whole: Option<Arc<Buffer>>,
}

impl Buffer {
    pub fn new(session: &Arc<Session>, bytes: usize) -> Result<Self, EngineError> {
        session.enter()?;
        let bytes = bytes.max(16);
        // SAFETY: the memory is freed once, when the buffer is dropped.
        let pointer = unsafe { result::malloc_sync(bytes) }
            .map_err(|error| failed("give memory on the GPU", error))?;
        let buffer = Buffer { session: session.clone(), pointer, bytes, whole: None };
        // SAFETY: the memory is ours and as long.
        unsafe { result::memset_d8_sync(pointer, 0, bytes) }
            .map_err(|error| failed("clear memory", error))?;
        Ok(buffer)
    }

    /// A buffer that other processes may see: they see whole pages of the GPU's memory.
    pub fn shared(session: &Arc<Session>, bytes: usize) -> Result<Self, EngineError> {
        Buffer::new(session, bytes.max(1).next_multiple_of(2 << 20))
    }

    pub fn holding<T: Plain>(session: &Arc<Session>, values: &[T]) -> Result<Self, EngineError> {
        let buffer = Buffer::new(session, size_of_val(values))?;
        buffer.write(values)?;
        Ok(buffer)
    }

    /// A part of a buffer, from byte `first` on.
    pub fn part_of(whole: &Arc<Buffer>, first: usize, bytes: usize) -> Self {
        assert!(first + bytes <= whole.bytes);
        Buffer {
            session: whole.session.clone(),
            pointer: whole.pointer + first as CUdeviceptr,
            bytes,
            whole: Some(whole.clone()),
        }
    }

    /// Where it begins, as the kernels see it.
    pub fn pointer<T>(&self) -> Pointer<T> {
        Pointer::at(self.pointer)
    }

    pub fn address(&self) -> CUdeviceptr {
        self.pointer
    }

    /// Copies values to the start of the buffer.
    pub fn write<T: Plain>(&self, values: &[T]) -> Result<(), EngineError> {
        assert!(size_of_val(values) <= self.bytes);
        self.session.enter()?;
        // SAFETY: the buffer is at least as long as the values.
        unsafe { result::memcpy_htod_sync(self.pointer, values) }
            .map_err(|error| failed("copy to the GPU", error))
    }

    /// Copies values into the buffer, from byte `at` on.
    pub fn write_at<T: Plain>(&self, at: usize, values: &[T]) -> Result<(), EngineError> {
        assert!(at + size_of_val(values) <= self.bytes);
        self.session.enter()?;
        // SAFETY: the buffer ends after the values.
        unsafe { result::memcpy_htod_sync(self.pointer + at as CUdeviceptr, values) }
            .map_err(|error| failed("copy to the GPU", error))
    }

    /// In bytes.
    pub fn size(&self) -> usize {
        self.bytes
    }

    /// Sets the first bytes to zero after what was launched before; does not wait.
    pub fn clear(&self, bytes: usize) -> Result<(), EngineError> {
        self.fill(0..bytes, 0)
    }

    /// Sets some bytes after what was launched before; does not wait.
    pub fn fill(&self, bytes: std::ops::Range<usize>, value: u8) -> Result<(), EngineError> {
        assert!(bytes.end <= self.bytes);
        if bytes.is_empty() {
            return Ok(());
        }
        self.session.enter()?;
        let first = self.pointer + bytes.start as CUdeviceptr;
        // SAFETY: the buffer holds the bytes; the stream is the one of all kernels.
        unsafe { result::memset_d8_async(first, value, bytes.len(), std::ptr::null_mut()) }
            .map_err(|error| failed("clear memory", error))
    }

    /// Another buffer with the same contents.
    pub fn duplicate(&self) -> Result<Buffer, EngineError> {
        let copy = Buffer::new(&self.session, self.bytes)?;
        copy.copy_from(self)?;
        Ok(copy)
    }

    /// Copies all of a buffer of the same size.
    pub fn copy_from(&self, from: &Buffer) -> Result<(), EngineError> {
        assert_eq!(self.bytes, from.bytes);
        self.session.enter()?;
        // SAFETY: both buffers are as long.
        unsafe { result::memcpy_dtod_sync(self.pointer, from.pointer, self.bytes) }
            .map_err(|error| failed("copy on the GPU", error))
    }

    /// Copies all of a buffer of the same size or a smaller one.
    pub fn take_from(&self, from: &Buffer) -> Result<(), EngineError> {
        assert!(self.bytes >= from.bytes);
        self.session.enter()?;
        // SAFETY: this buffer is at least as long as the other.
        unsafe { result::memcpy_dtod_sync(self.pointer, from.pointer, from.bytes) }
            .map_err(|error| failed("copy on the GPU", error))
    }

    /// Copies the first `count` values out; waits for what was launched before.
    pub fn read<T: Plain>(&self, count: usize) -> Result<Vec<T>, EngineError> {
        self.read_at(0, count)
    }

    /// The same from byte `at` on.
    pub fn read_at<T: Plain>(&self, at: usize, count: usize) -> Result<Vec<T>, EngineError> {
        assert!(at + count * size_of::<T>() <= self.bytes);
        self.session.enter()?;
        let mut values = vec![T::zeroed(); count];
        // SAFETY: the buffer is at least as long as the values.
        unsafe { result::memcpy_dtoh_sync(&mut values, self.pointer + at as CUdeviceptr) }
            .map_err(|error| failed("copy from the GPU", error))?;
        Ok(values)
    }
}

impl DeviceMemory for Buffer {
    fn read(&self, bytes: usize) -> Result<Vec<u8>, EngineError> {
        Buffer::read(self, bytes)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.whole.is_none() && self.session.enter().is_ok() {
            // SAFETY: the pointer came from the driver and is used no more. After an error of the GPU
            // nothing can be done about a failure here.
            let _ = unsafe { result::free_sync(self.pointer) };
        }
    }
}
