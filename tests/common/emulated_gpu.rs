//! A GPU that the processor emulates (`tests/emulated_gpu`), and jobs that find it.
//!
//! A C++ compiler is needed (`$CXX`, else `c++`); without one tests say so and pass, but not in CI.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::job::Job;

/// The folder with the emulated driver and compiler.
pub fn gpu() -> Option<&'static Path> {
    static GPU: OnceLock<Option<tempfile::TempDir>> = OnceLock::new();
    GPU.get_or_init(build).as_ref().map(tempfile::TempDir::path)
}

pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emulated_gpu").join(name)
}

fn build() -> Option<tempfile::TempDir> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    match Command::new(&compiler).arg("--version").output() {
        Ok(_) => {}
        Err(error) if std::env::var_os("CI").is_none() => {
            println!("skipped: no C++ compiler ({compiler}: {error})");
            return None;
        }
        Err(error) => panic!("{compiler}: {error}"),
    }
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(source("build.sh")).arg(folder.path()).output().expect("starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(folder)
}

/// A job whose engine may be "cuda", on a number of GPUs of two multiprocessors.
pub fn job(gpu: &Path, gpus: &str, toml: &str) -> Job {
    let nvrtc = gpu.join("libnvrtc.so");
    // Compiled kernels serve all tests.
    let cache = gpu.join("cache");
    Job::new(toml).with(&[
        ("LD_LIBRARY_PATH", gpu.to_str().expect("text")),
        ("SUPERCOOL_NVRTC", nvrtc.to_str().expect("text")),
        ("XDG_CACHE_HOME", cache.to_str().expect("text")),
        ("EMULATED_GPUS", gpus),
        ("EMULATED_MULTIPROCESSORS", "2"),
    ])
}
