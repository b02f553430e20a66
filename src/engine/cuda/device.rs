//! The GPUs of this machine.
use cudarc::driver::CudaContext;
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice, CUdevice_attribute};

use super::library::{CudaVersion, Nvrtc, driver_version};
use crate::engine::EngineError;
use crate::engine::report::{DeviceReport, GpuReport, Hardware};

/// A GPU that the driver shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// Number by which the driver knows it.
    pub ordinal: usize,
    pub name: String,
    /// 90 for compute capability 9.0.
    pub compute_capability: u32,
    pub multiprocessors: u32,
    /// In bytes.
    pub memory: u64,
    pub cooperative_launch: bool,
}

impl Gpu {
    /// The GPU and what drives it, for the files of a run.
    pub fn hardware(&self) -> Hardware {
        let version = |version: Option<CudaVersion>| version.map(|version| version.to_string());
        let gpu = GpuReport {
            name: self.name.clone(),
            instructions: format!("sm_{}", self.compute_capability),
            multiprocessors: self.multiprocessors,
            memory_bytes: self.memory,
            gpus: None,
            driver: version(driver_version().ok()),
            nvrtc: version(Nvrtc::get().ok().map(Nvrtc::version)),
        };
        Hardware::of("cuda", DeviceReport::Gpu(gpu))
    }
}

/// The oldest GPUs that the kernels are compiled for.
pub const LEAST_COMPUTE_CAPABILITY: u32 = 75;

/// All GPUs, in the driver's order; never empty.
///
/// # Errors
/// If there is no driver or no GPU.
pub fn gpus() -> Result<Vec<Gpu>, EngineError> {
    let version = driver_version()?;
    result::init().map_err(|error| no_gpu(version, error))?;
    let count = result::device::get_count().map_err(|error| no_gpu(version, error))?;
    if count == 0 {
        return Err(EngineError::NoGpu(visible()));
    }
    (0..count)
        .map(|ordinal| gpu(ordinal).map_err(|error| failed("describe a GPU", error)))
        .collect()
}

fn gpu(ordinal: i32) -> Result<Gpu, DriverError> {
    let device = result::device::get(ordinal)?;
    let attribute = |which: CUdevice_attribute| {
        // SAFETY: the device comes from the driver.
        unsafe { result::device::get_attribute(device, which) }
    };
    let major = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(Gpu {
        ordinal: ordinal as usize,
        name: result::device::get_name(device)?,
        compute_capability: (10 * major + minor) as u32,
        multiprocessors: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?
            as u32,
        // SAFETY: as above.
        memory: unsafe { result::device::total_mem(device) }? as u64,
        cooperative_launch: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)?
            != 0,
    })
}

/// Whether kernels on one GPU can read and write the memory of another.
///
/// # Errors
/// If the driver cannot say.
pub fn peer_access(from: &Gpu, to: &Gpu) -> Result<bool, EngineError> {
    let ask = || -> Result<bool, DriverError> {
        let device = |gpu: &Gpu| -> Result<CUdevice, DriverError> {
            result::device::get(gpu.ordinal as i32)
        };
        let mut possible = 0;
        // SAFETY: the driver writes one integer.
        unsafe { sys::cuDeviceCanAccessPeer(&raw mut possible, device(from)?, device(to)?) }
            .result()?;
        Ok(possible != 0)
    };
    ask().map_err(|error| failed("say whether GPUs reach each other", error))
}

/// Takes a GPU into use for a moment, loads code and returns the free memory in bytes.
///
/// # Errors
/// If the GPU is not to be had, or the driver cannot load the code.
pub fn try_load(gpu: &Gpu, image: &[u8]) -> Result<u64, EngineError> {
    let context =
        CudaContext::new(gpu.ordinal).map_err(|error| failed("take the GPU into use", error))?;
    context.bind_to_thread().map_err(|error| failed("select the GPU", error))?;
    // SAFETY: the image is whole: CUBIN, or PTX with a zero at its end; the module is used no more.
    unsafe {
        result::module::load_data(image.as_ptr().cast()).and_then(|m| result::module::unload(m))
    }
    .map_err(|error| failed("load a kernel", error))?;
    let (free, _) =
        result::mem_get_info().map_err(|error| failed("tell its free memory", error))?;
    Ok(free as u64)
}

fn no_gpu(version: CudaVersion, error: DriverError) -> EngineError {
    match error.0 {
        sys::CUresult::CUDA_ERROR_NO_DEVICE => EngineError::NoGpu(visible()),
        _ => failed(&format!("start (driver for CUDA {version})"), error),
    }
}

/// Says so where GPUs are hidden by the environment.
fn visible() -> String {
    match std::env::var("CUDA_VISIBLE_DEVICES") {
        Ok(list) => format!(" (CUDA_VISIBLE_DEVICES = {list:?})"),
        Err(_) => String::new(),
    }
}

/// An error of the driver in words.
pub fn failed(what: &str, error: DriverError) -> EngineError {
    let text = |text: Result<&std::ffi::CStr, DriverError>| {
        text.map_or_else(|_| "unknown error".to_owned(), |text| text.to_string_lossy().into_owned())
    };
    let what = what.to_owned();
    let message = format!("{} ({})", text(error.error_string()), text(error.error_name()));
    if is_lost(error) {
        EngineError::GpuLost { what, message }
    } else {
        EngineError::Cuda { what, message }
    }
}

/// Whether nothing can be had from the GPU any more in this process: the errors that the driver's
/// reference says leave the process in an inconsistent state, and those of broken hardware.
fn is_lost(error: DriverError) -> bool {
    use sys::CUresult::*;
    matches!(
        error.0,
        CUDA_ERROR_DEINITIALIZED
            | CUDA_ERROR_DEVICE_UNAVAILABLE
            | CUDA_ERROR_ECC_UNCORRECTABLE
            | CUDA_ERROR_NVLINK_UNCORRECTABLE
            | CUDA_ERROR_CONTAINED
            | CUDA_ERROR_ILLEGAL_ADDRESS
            | CUDA_ERROR_LAUNCH_TIMEOUT
            | CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUDA_ERROR_ASSERT
            | CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUDA_ERROR_MISALIGNED_ADDRESS
            | CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUDA_ERROR_INVALID_PC
            | CUDA_ERROR_LAUNCH_FAILED
            | CUDA_ERROR_TENSOR_MEMORY_LEAK
            | CUDA_ERROR_MPS_CLIENT_TERMINATED
            | CUDA_ERROR_EXTERNAL_DEVICE
            | CUDA_ERROR_UNKNOWN
    )
}
