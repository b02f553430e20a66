//! `supercool doctor` on machines of all sorts: a library in the place of the driver plays them.
use std::path::Path;
use std::process::Command;

use supercool::engine::cuda::library::Nvrtc;

/// A folder with the stub of the driver; without a C compiler the tests pass, but not in CI.
fn stub() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().expect("a folder");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stub/driver.c");
    // Both names under which programs look for the driver.
    for name in ["libcuda.so", "libcuda.so.1"] {
        let output = Command::new(&compiler)
            .args(["-shared", "-fPIC", "-w", "-o"])
            .args([&folder.path().join(name), &source])
            .output();
        match output {
            Ok(output) if output.status.success() => {}
            Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
            Err(error) if std::env::var_os("CI").is_none() => {
                println!("skipped: no C compiler ({compiler}: {error})");
                return None;
            }
            Err(error) => panic!("{compiler}: {error}"),
        }
    }
    Some(folder)
}

fn doctor(folder: &Path, settings: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_supercool"));
    command.arg("doctor").env("LD_LIBRARY_PATH", folder).env_remove("CUDA_VISIBLE_DEVICES");
    // The path of this process may be how NVRTC is found.
    if let Ok(nvrtc) = Nvrtc::get() {
        command.env("SUPERCOOL_NVRTC", nvrtc.path());
    }
    let output = command.envs(settings.iter().copied()).output().expect("starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn says(report: &str, parts: &[&str]) {
    for part in parts {
        assert!(report.contains(part), "{part:?} is not in\n{report}");
    }
}

#[test]
fn missing_parts_are_named_with_what_to_do() {
    let Some(folder) = stub() else { return };
    let empty = tempfile::tempdir().expect("a folder");
    // A machine with a driver would show it: nothing to be seen there.
    let report = doctor(empty.path(), &[("SUPERCOOL_NVRTC", "/nowhere/libnvrtc.so")]);
    says(&report, &["/nowhere/libnvrtc.so", "pip install nvidia-cuda-nvrtc"]);
    if report.contains("no NVIDIA driver") {
        says(&report, &["libcuda.so.1", "install its driver", "takes the CPU"]);
    }
    let doctor = |settings: &[(&str, &str)]| doctor(folder.path(), settings);
    says(
        &doctor(&[("STUB_VERSION", "11080")]),
        &["CUDA 11.8", "12.0 or newer", "update the driver", "takes the CPU"],
    );
    for setting in [("STUB_COUNT", "0"), ("STUB_INIT", "100")] {
        says(&doctor(&[setting]), &["shows no GPU", "nvidia-smi", "takes the CPU"]);
    }
    says(
        &doctor(&[("STUB_COUNT", "0"), ("CUDA_VISIBLE_DEVICES", "7")]),
        &["CUDA_VISIBLE_DEVICES = \"7\""],
    );
    says(&doctor(&[("STUB_INIT", "803")]), &["could not start", "an error of the stub"]);
    says(
        &doctor(&[("SUPERCOOL_NVRTC", "/nowhere/libnvrtc.so")]),
        &["Stub GPU, 8.00 GiB", "not usable without NVRTC", "takes the CPU"],
    );
}

#[test]
fn gpus_are_shown_with_what_they_can_do() {
    let Some(folder) = stub() else { return };
    let doctor = |settings: &[(&str, &str)]| doctor(folder.path(), settings);
    if let Err(error) = Nvrtc::get() {
        assert!(std::env::var_os("CI").is_none(), "{error}");
        println!("skipped: {error}");
        return;
    }
    says(
        &doctor(&[("STUB_COUNT", "2")]),
        &[
            "GPU 1            Stub GPU, 8.00 GiB, compute capability 9.0",
            "compile for sm_90 and load; 7.00 GiB free",
            "GPU 0 reaches 1",
            "GPU 1 reaches none",
            "takes GPU 0, Stub GPU",
        ],
    );
    says(&doctor(&[("STUB_MAJOR", "6")]), &["7.5 or newer is needed", "takes the CPU"]);
    says(&doctor(&[("STUB_MAJOR", "99")]), &["compile for compute_", "takes GPU 0"]);
    says(
        &doctor(&[("STUB_LOAD", "222"), ("STUB_VERSION", "12000")]),
        &["could not load a kernel", "newer than the driver's CUDA 12.0", "takes the CPU"],
    );
}
