//! Finding the driver and NVRTC at run time: one binary runs with and without a GPU.
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::Library;

pub use crate::engine::CudaVersion;
use crate::engine::EngineError;

/// The oldest driver that the engine works with.
pub const LEAST_DRIVER: CudaVersion = CudaVersion { major: 12, minor: 0 };

const DRIVER: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

/// The newest CUDA that the driver is for.
///
/// # Errors
/// If there is no driver, or it is too old. Calls of `cudarc` panic without a driver: ask here before.
pub fn driver_version() -> Result<CudaVersion, EngineError> {
    static VERSION: OnceLock<Result<c_int, ()>> = OnceLock::new();
    let version = VERSION.get_or_init(|| {
        // SAFETY: loading the driver runs its initialisers, as for every CUDA program; the same for
        // cudarc's question, which tries the names under which it will load it.
        let present =
            unsafe { Library::new(DRIVER).is_ok() && cudarc::driver::sys::is_culib_present() };
        if !present {
            return Err(());
        }
        let mut version = 0;
        // SAFETY: the library is present; the function writes one integer and needs no initialisation.
        unsafe { cudarc::driver::sys::cuDriverGetVersion(&raw mut version) }
            .result()
            .map_err(|_| ())?;
        Ok(version)
    });
    let Ok(version) = *version else { return Err(EngineError::NoDriver(DRIVER)) };
    let found = CudaVersion { major: version / 1000, minor: version % 1000 / 10 };
    if found < LEAST_DRIVER {
        return Err(EngineError::DriverTooOld { found, needed: LEAST_DRIVER });
    }
    Ok(found)
}

type Program = *mut c_void;
type Status = c_int;

/// NVRTC, loaded: the few functions that a compilation takes.
pub struct Nvrtc {
    path: PathBuf,
    version: CudaVersion,
    error_string: unsafe extern "C" fn(Status) -> *const c_char,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Status,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status,
    destroy: unsafe extern "C" fn(*mut Program) -> Status,
    log: Text,
    cubin: Text,
    ptx: Text,
    architectures: Vec<u32>,
    /// Kept open for good.
    _libraries: Vec<Library>,
}

/// The two functions that give a text: its size, and the text.
struct Text {
    size: unsafe extern "C" fn(Program, *mut usize) -> Status,
    get: unsafe extern "C" fn(Program, *mut c_char) -> Status,
}

/// What a compilation gives.
pub struct Output {
    /// CUBIN if a real architecture was asked for, else PTX.
    pub image: Vec<u8>,
    /// What the compiler said; with `--ptxas-options=-v` also registers and spills.
    pub log: String,
}

impl Nvrtc {
    /// The library, found once: where `SUPERCOOL_NVRTC` says, else on the loader's path, in the usual
    /// folders of toolkits and of Python environments.
    ///
    /// # Errors
    /// If there is none that can be loaded; says where it was looked for.
    pub fn get() -> Result<&'static Nvrtc, EngineError> {
        static NVRTC: OnceLock<Result<Nvrtc, String>> = OnceLock::new();
        NVRTC.get_or_init(Nvrtc::find).as_ref().map_err(|tried| EngineError::NoNvrtc(tried.clone()))
    }

    fn find() -> Result<Nvrtc, String> {
        let mut tried = Vec::new();
        for candidate in candidates() {
            match Nvrtc::load(&candidate) {
                Ok(nvrtc) => return Ok(nvrtc),
                Err(error) => {
                    let reason = std::error::Error::source(&error).map(ToString::to_string);
                    let reason = reason.unwrap_or_else(|| error.to_string());
                    tried.push(format!("  {}: {reason}", candidate.display()));
                }
            }
        }
        Err(tried.join("\n"))
    }

    fn load(path: &Path) -> Result<Nvrtc, libloading::Error> {
        let mut libraries = Vec::new();
        // NVRTC looks for its built-in declarations by name only: have them loaded before.
        for builtins in beside(path, "libnvrtc-builtins.so") {
            // SAFETY: a library of data that comes with NVRTC.
            libraries.extend(unsafe { Library::new(builtins) });
        }
        // SAFETY: loading NVRTC runs its initialisers, nothing else; the types below are those of its
        // header nvrtc.h, the same in every version since 11.1.
        unsafe {
            let library = Library::new(path)?;
            let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status =
                *library.get(b"nvrtcVersion\0")?;
            let (mut major, mut minor) = (0, 0);
            version(&raw mut major, &raw mut minor);
            let count: unsafe extern "C" fn(*mut c_int) -> Status =
                *library.get(b"nvrtcGetNumSupportedArchs\0")?;
            let list: unsafe extern "C" fn(*mut c_int) -> Status =
                *library.get(b"nvrtcGetSupportedArchs\0")?;
            let mut number = 0;
            count(&raw mut number);
            let mut architectures = vec![0; number.max(0) as usize];
            if !architectures.is_empty() {
                list(architectures.as_mut_ptr());
            }
            Ok(Nvrtc {
                path: path.to_owned(),
                version: CudaVersion { major, minor },
                error_string: *library.get(b"nvrtcGetErrorString\0")?,
                create: *library.get(b"nvrtcCreateProgram\0")?,
                compile: *library.get(b"nvrtcCompileProgram\0")?,
                destroy: *library.get(b"nvrtcDestroyProgram\0")?,
                log: Text {
                    size: *library.get(b"nvrtcGetProgramLogSize\0")?,
                    get: *library.get(b"nvrtcGetProgramLog\0")?,
                },
                cubin: Text {
                    size: *library.get(b"nvrtcGetCUBINSize\0")?,
                    get: *library.get(b"nvrtcGetCUBIN\0")?,
                },
                ptx: Text {
                    size: *library.get(b"nvrtcGetPTXSize\0")?,
                    get: *library.get(b"nvrtcGetPTX\0")?,
                },
                architectures: architectures.into_iter().map(|arch| arch as u32).collect(),
                _libraries: {
                    libraries.push(library);
                    libraries
                },
            })
        }
    }

    /// Where it was found; a bare name if the loader found it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn version(&self) -> CudaVersion {
        self.version
    }

    /// Architectures that it compiles for, such as 90 for `sm_90`, in increasing order.
    pub fn architectures(&self) -> &[u32] {
        &self.architectures
    }

    /// Compiles `source`, which may include `headers` by their names.
    ///
    /// # Errors
    /// The compiler's log.
    pub fn compile(
        &self,
        name: &str,
        source: &str,
        headers: &[(&str, &str)],
        options: &[String],
    ) -> Result<Output, String> {
        let text =
            |text: &str| CString::new(text).map_err(|_| format!("{name}: a zero byte in the text"));
        let (source, title) = (text(source)?, text(name)?);
        let names = headers.iter().map(|h| text(h.0)).collect::<Result<Vec<_>, _>>()?;
        let texts = headers.iter().map(|h| text(h.1)).collect::<Result<Vec<_>, _>>()?;
        let options = options.iter().map(|option| text(option)).collect::<Result<Vec<_>, _>>()?;
        let pointers = |texts: &[CString]| texts.iter().map(|t| t.as_ptr()).collect::<Vec<_>>();
        let mut program: Program = std::ptr::null_mut();
        // SAFETY: all pointers are to texts that end with zero and live until the program is destroyed.
        let status = unsafe {
            (self.create)(
                &raw mut program,
                source.as_ptr(),
                title.as_ptr(),
                headers.len() as c_int,
                pointers(&texts).as_ptr(),
                pointers(&names).as_ptr(),
            )
        };
        if status != 0 {
            return Err(self.describe(status));
        }
        // SAFETY: the program was created above.
        let status =
            unsafe { (self.compile)(program, options.len() as c_int, pointers(&options).as_ptr()) };
        let log = String::from_utf8_lossy(&self.read(&self.log, program)).into_owned();
        let log = log.trim_end_matches('\0').trim().to_owned();
        let result = if status == 0 {
            let cubin = self.read(&self.cubin, program);
            let image = if cubin.is_empty() { self.read(&self.ptx, program) } else { cubin };
            Ok(Output { image, log })
        } else {
            Err(format!("{}\n{log}", self.describe(status)))
        };
        // SAFETY: nothing refers to the program after this.
        unsafe { (self.destroy)(&raw mut program) };
        result
    }

    fn read(&self, text: &Text, program: Program) -> Vec<u8> {
        let mut size = 0;
        // SAFETY: the second function writes exactly as many bytes as the first one says.
        unsafe {
            if (text.size)(program, &raw mut size) != 0 {
                return Vec::new();
            }
            let mut bytes = vec![0u8; size];
            if (text.get)(program, bytes.as_mut_ptr().cast()) != 0 {
                return Vec::new();
            }
            bytes
        }
    }

    fn describe(&self, status: Status) -> String {
        // SAFETY: NVRTC gives a constant text for every status.
        unsafe { CStr::from_ptr((self.error_string)(status)) }.to_string_lossy().into_owned()
    }
}

/// Where NVRTC may be, the best first.
fn candidates() -> Vec<PathBuf> {
    if let Some(path) = std::env::var_os("SUPERCOOL_NVRTC").filter(|path| !path.is_empty()) {
        return vec![path.into()];
    }
    let names = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];
    let mut candidates: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    let mut folders = Vec::new();
    for variable in ["CUDA_HOME", "CUDA_PATH"] {
        if let Some(toolkit) = std::env::var_os(variable) {
            folders.push(Path::new(&toolkit).join("lib64"));
        }
    }
    folders.push("/usr/local/cuda/lib64".into());
    for variable in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        if let Some(prefix) = std::env::var_os(variable) {
            let library = Path::new(&prefix).join("lib");
            for python in entries(&library, "python") {
                let packages = python.join("site-packages/nvidia");
                folders.push(packages.join("cu13/lib"));
                folders.push(packages.join("cuda_nvrtc/lib"));
            }
            folders.push(library);
        }
    }
    for folder in folders {
        candidates.extend(names.iter().map(|name| folder.join(name)).filter(|path| path.exists()));
    }
    candidates
}

/// Files in the folder of `path` whose names begin so, the plain names first.
fn beside(path: &Path, prefix: &str) -> Vec<PathBuf> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Vec::new();
    };
    entries(folder, prefix)
}

fn entries(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}
