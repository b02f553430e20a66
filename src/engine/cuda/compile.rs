//! Kernel text to machine code: NVRTC, and a cache on disk.
//!
//! Code is compiled once for each text, set of options, architecture and compiler, and kept under
//! `$XDG_CACHE_HOME/supercool/kernels` (or `~/.cache/...`) by the hash of all of these. What was used
//! longest ago goes when there is too much. A cache that cannot be read or written only costs time.
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use super::library::{CudaVersion, Nvrtc};
use super::program::Program;
use super::sources;
use crate::announce;
use crate::engine::EngineError;

/// What code is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// Machine code of a GPU of this compute capability (90: 9.0).
    Machine(u32),
    /// Portable code (PTX), which the driver translates.
    Portable(u32),
}

impl Architecture {
    /// The best for a GPU: its own machine code if the compiler knows it, else the newest portable code.
    pub fn of_gpu(compute_capability: u32, known: &[u32]) -> Architecture {
        if known.contains(&compute_capability) {
            return Architecture::Machine(compute_capability);
        }
        let older = known.iter().copied().filter(|&known| known < compute_capability).max();
        Architecture::Portable(older.unwrap_or(compute_capability))
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Architecture::Machine(version) => write!(f, "sm_{version}"),
            Architecture::Portable(version) => write!(f, "compute_{version}"),
        }
    }
}

/// Machine code, or PTX, ready to be loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// CUBIN, or PTX with a zero at its end: `cuModuleLoadData` takes both.
    pub image: Vec<u8>,
    /// What the compiler said, with registers and spills of every kernel.
    pub log: String,
    pub from_cache: bool,
}

/// What a function of a kernel takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    pub function: String,
    /// Whether it is a kernel, or a function that kernels call.
    pub is_kernel: bool,
    /// Per thread; zero for functions that kernels call, which share theirs.
    pub registers: u32,
    /// Registers' bytes that are moved to slow memory, stores and loads.
    pub spills: u32,
    /// Bytes of a block's own shared memory, beside what a launch adds; zero for functions that kernels call.
    pub shared_bytes: u32,
}

impl Compiled {
    /// What every function takes, as the compiler's log says; empty for portable code.
    pub fn resources(&self) -> Vec<Resources> {
        let mut all: Vec<Resources> = Vec::new();
        let mut kernel = String::new();
        for line in self.log.lines() {
            let after = |key: &str| line.split_once(key).map(|(_, rest)| rest.trim());
            let number = |key: &str| {
                let (before, _) = line.split_once(key)?;
                before.trim_end().rsplit(' ').next()?.parse::<u32>().ok()
            };
            if let Some(rest) = after("Compiling entry function '") {
                kernel = rest.split('\'').next().unwrap_or(rest).to_owned();
            } else if let Some(function) = after("Function properties for ") {
                let is_kernel = function == kernel;
                all.push(Resources {
                    function: function.to_owned(),
                    is_kernel,
                    ..Default::default()
                });
            } else if let Some(last) = all.last_mut() {
                if let Some(stores) = number("bytes spill stores") {
                    last.spills = stores + number("bytes spill loads").unwrap_or(0);
                } else if let Some(registers) = number("registers, ")
                    && let Some(of) =
                        all.iter_mut().find(|of| of.is_kernel && of.function == kernel)
                {
                    of.registers = registers;
                    of.shared_bytes = number("bytes smem").unwrap_or(0);
                }
            }
        }
        all
    }
}

/// Compiles a program, or takes it from the cache.
///
/// # Errors
/// If there is no NVRTC, or the text is wrong.
pub fn compile(program: &Program, architecture: Architecture) -> Result<Compiled, EngineError> {
    compile_in(program, architecture, cache_folder().as_deref())
}

/// Compiles these programs at once and keeps them, so that [`compile`] finds them; nothing where there is no cache. What
/// is wrong is left to [`compile`].
pub fn compile_ahead(programs: &[Program], architecture: Architecture) {
    if cache_folder().is_none() || programs.len() < 2 {
        return;
    }
    thread::scope(|scope| {
        for program in programs {
            scope.spawn(move || {
                if let Err(error) = compile(program, architecture) {
                    tracing::debug!("{}: {error}", program.name);
                }
            });
        }
    });
}

/// Compiles a few lines that use the compiler's own declarations: shows whether it works at all.
///
/// # Errors
/// As [`compile`].
pub fn trial(architecture: Architecture) -> Result<Compiled, EngineError> {
    let text = "extern \"C\" __global__ void trial(float *x) { x[threadIdx.x] = __fmaf_rn(x[0], x[1], x[2]); }";
    let program = Program::new("trial.cu", text);
    compile_in(&program, architecture, None)
}

/// As [`compile`], with a cache in a given folder or none.
pub fn compile_in(
    program: &Program,
    architecture: Architecture,
    cache: Option<&Path>,
) -> Result<Compiled, EngineError> {
    let nvrtc = Nvrtc::get()?;
    let options = options(program, architecture, nvrtc.version());
    let shared: Vec<(&str, String)> =
        program.shared.iter().map(|header| (header.name, (header.text)())).collect();
    let shared = shared.iter().map(|(name, text)| (*name, text.as_str()));
    let own = program.headers.iter().map(|header| (header.name, header.text));
    let headers: Vec<(&str, &str)> =
        sources::headers().iter().copied().chain(shared).chain(own).collect();
    let entry = cache.map(|folder| folder.join(key(program, &headers, &options, nvrtc.version())));
    if let Some(entry) = &entry
        && let Some(compiled) = read(entry)
    {
        mark_as_used(entry);
        return Ok(compiled);
    }
    let kept = if cache.is_some() { ", kept for later runs" } else { "" };
    let what = format!("compiling GPU kernels for {architecture} ({}{kept})", program.name);
    let output = announce::while_slow(what, || {
        nvrtc.compile(&program.name, &program.text, &headers, &options).map_err(|log| {
            EngineError::Compilation {
                program: program.name.clone(),
                architecture: architecture.to_string(),
                log,
            }
        })
    })?;
    let compiled = Compiled { image: output.image, log: output.log, from_cache: false };
    if let (Some(entry), Some(folder)) = (entry, cache) {
        write(&entry, &compiled);
        prune(folder, MOST_FILES, MOST_BYTES);
    }
    Ok(compiled)
}

/// First version of NVRTC whose `--split-compile` was tried: kernels of one program are compiled by all cores.
const SPLITS: CudaVersion = CudaVersion { major: 13, minor: 0 };

/// No option lets the compiler change a number: fused operations are written out in the text.
fn options(program: &Program, architecture: Architecture, version: CudaVersion) -> Vec<String> {
    let mut options = vec![
        "--std=c++17".to_owned(),
        "--fmad=false".to_owned(),
        "--ftz=false".to_owned(),
        "--prec-div=true".to_owned(),
        "--prec-sqrt=true".to_owned(),
        "--generate-line-info".to_owned(),
        format!("--gpu-architecture={architecture}"),
    ];
    if matches!(architecture, Architecture::Machine(_)) {
        options.push("--ptxas-options=-v".to_owned());
        if version >= SPLITS {
            options.push("--split-compile=0".to_owned());
        }
    }
    options.extend(program.macros.iter().map(|(name, value)| format!("-D{name}={value}")));
    options
}

fn key(
    program: &Program,
    headers: &[(&str, &str)],
    options: &[String],
    version: CudaVersion,
) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    part(&version.to_string());
    part(&program.name);
    part(&program.text);
    options.iter().for_each(|option| part(option));
    for (name, text) in headers {
        part(name);
        part(text);
    }
    hasher.finalize().to_hex().to_string()
}

/// Where compiled kernels are kept.
pub fn cache_folder() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("supercool/kernels"))
}

/// A file of the cache: hash of the rest, length of the log, log, image.
fn read(path: &Path) -> Option<Compiled> {
    let bytes = std::fs::read(path).ok()?;
    let (hash, rest) = bytes.split_at_checked(32)?;
    if blake3::hash(rest).as_bytes() != hash {
        return None;
    }
    let (length, rest) = rest.split_at_checked(8)?;
    let length = u64::from_le_bytes(length.try_into().ok()?);
    let (log, image) = rest.split_at_checked(length.try_into().ok()?)?;
    Some(Compiled {
        image: image.to_vec(),
        log: String::from_utf8(log.to_vec()).ok()?,
        from_cache: true,
    })
}

/// The time of a file's last change tells when it was last used.
fn mark_as_used(path: &Path) {
    let file = std::fs::File::options().append(true).open(path);
    if let Err(error) = file.and_then(|file| file.set_modified(SystemTime::now())) {
        tracing::debug!("{}: its time cannot be set: {error}", path.display());
    }
}

/// What the cache holds at most.
const MOST_FILES: usize = 256;
const MOST_BYTES: u64 = 256 << 20;
/// What a killed process left half-written goes after this time.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// Removes the entries that were used longest ago, beyond a number of files and bytes. Other files stay;
/// what cannot be removed stays too.
fn prune(folder: &Path, most_files: usize, most_bytes: u64) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let now = SystemTime::now();
    let mut found: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in entries.flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        let Ok(used) = metadata.modified() else { continue };
        let path = entry.path();
        let is_key = |name: &str| name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit());
        let name = entry.file_name();
        let key = name.to_str().and_then(|name| name.split('.').next());
        if !metadata.is_file() || !key.is_some_and(is_key) {
            continue;
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            None => found.push((used, metadata.len(), path)),
            Some("tmp") if now.duration_since(used).is_ok_and(|age| age > ABANDONED) => {
                remove(&path)
            }
            Some(_) => {}
        }
    }
    // The last used first.
    found.sort_by(|a, b| b.cmp(a));
    let mut bytes = 0;
    for (index, (_, length, path)) in found.iter().enumerate() {
        bytes += length;
        if index >= most_files || bytes > most_bytes {
            remove(path);
        }
    }
}

fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        tracing::debug!("{} cannot be removed: {error}", path.display());
    }
}

/// Written under another name first, so that no reader sees half a file.
fn write(path: &Path, compiled: &Compiled) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let mut rest = (compiled.log.len() as u64).to_le_bytes().to_vec();
    rest.extend_from_slice(compiled.log.as_bytes());
    rest.extend_from_slice(&compiled.image);
    let mut bytes = blake3::hash(&rest).as_bytes().to_vec();
    bytes.extend_from_slice(&rest);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
    let written = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&temporary, bytes))
        .and_then(|()| std::fs::rename(&temporary, path));
    if let Err(error) = written {
        tracing::debug!("compiled kernels were not cached in {}: {error}", path.display());
        let _ = std::fs::remove_file(&temporary);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    /// Makes a file that was used this number of hours ago.
    fn file(folder: &Path, name: &str, length: usize, hours: u64) {
        let path = folder.join(name);
        fs::write(&path, vec![0; length]).unwrap();
        let used = SystemTime::now() - Duration::from_secs(3600 * hours);
        File::options().append(true).open(path).unwrap().set_modified(used).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_was_used_longest_ago_leaves_the_cache_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let key = |digit: char| String::from(digit).repeat(64);
        let half = |digit: char| format!("{}.1-0.tmp", key(digit));
        for (digit, hours) in [('a', 3), ('b', 1), ('c', 2), ('d', 4)] {
            file(folder, &key(digit), 100, hours);
        }
        file(folder, &half('e'), 100, 30);
        file(folder, &half('f'), 100, 1);
        file(folder, "notes", 100, 1000);
        fs::create_dir(folder.join(key('0'))).unwrap();
        prune(folder, 3, 1000);
        let rest = |keys: &str| {
            let mut names: Vec<String> = keys.chars().map(key).collect();
            names.extend([half('f'), "notes".to_owned(), key('0')]);
            names.sort();
            names
        };
        assert_eq!(names(folder), rest("abc"));
        prune(folder, 3, 250);
        assert_eq!(names(folder), rest("bc"));
        mark_as_used(&folder.join(key('c')));
        prune(folder, 1, 1000);
        assert_eq!(names(folder), rest("c"));
        // A folder that is not there is no error.
        prune(&folder.join("missing"), 1, 1);
    }
}
