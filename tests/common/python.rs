//! Python is `$SUPERCOOL_PYTHON`, else `.venv/bin/python`, else `python3`, with the packages of
//! `tests/python/requirements.txt`. Without them what needs them is skipped, except under CI.
use std::path::{Path, PathBuf};
use std::process::Command;

/// Python, if it can import `package`.
pub fn python(package: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = root.join(".venv/bin/python");
    let python = match std::env::var_os("SUPERCOOL_PYTHON") {
        Some(python) => PathBuf::from(python),
        None if own.exists() => own,
        None => PathBuf::from("python3"),
    };
    let imports = Command::new(&python).args(["-c", &format!("import {package}")]).output();
    if imports.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    assert!(std::env::var_os("CI").is_none(), "{} cannot import {package}", python.display());
    println!("skipped: {} cannot import {package}", python.display());
    None
}

pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(name)
}

/// Runs a script that needs `package` (or several, with commas) and prints `ok` at its end.
pub fn check_with_python(package: &str, name: &str, arguments: &[&Path]) {
    let Some(python) = python(package) else { return };
    let output = Command::new(python).arg(script(name)).args(arguments).output().expect("python");
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.ends_with("ok\n"), "{name}: {stdout}{stderr}");
    println!("{name}: {stdout}");
}
