//! Mutated inputs: no panic, no endless loop, no memory out of proportion to the input, whatever stands in a file.
//!
//! `SUPERCOOL_FUZZ_CASES` cases of each kind (a few hundred if not given; `validation/survival/fuzz.sh` takes a
//! million), numbered from `SUPERCOOL_FUZZ_FIRST`. A case is its number: the same number gives the same input. Inputs
//! that were once not taken well lie in `found/` and are read again by every run.
#[path = "../common/mod.rs"]
mod common;
mod mutate;
mod watched;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

use supercool::output::{Checkpoint, state_from_checkpoint};
use supercool_analysis::results::ResultsFile;

use self::mutate::{Corpus, mutated};
use self::watched::watched;
use crate::common::job::{Job, kob_andersen};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

/// Numbers of the cases, `few` of them by default.
fn cases(few: u64) -> std::ops::Range<u64> {
    let first = number("SUPERCOOL_FUZZ_FIRST").unwrap_or(0);
    first..first + number("SUPERCOOL_FUZZ_CASES").unwrap_or(few)
}

/// Files below a folder with one of these endings, in the order of their names.
fn files(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(root().join(folder))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| endings.iter().any(|ending| path.to_string_lossy().ends_with(ending)))
        .collect();
    found.sort();
    found
}

fn contents(paths: impl IntoIterator<Item = PathBuf>) -> Vec<Vec<u8>> {
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Reads all found inputs of a kind, then mutated ones.
fn fuzz(kind: &str, few: u64, corpus: &Corpus, read: impl Fn(&[u8])) {
    for path in files("tests/fuzz/found", &[&format!(".{kind}")]) {
        let input = fs::read(&path).unwrap();
        watched(&path.display().to_string(), &input, &read);
    }
    for case in cases(few) {
        let input = mutated(corpus, case);
        watched(&format!("{kind}, case {case}"), &input, &read);
    }
}

/// Where files of the cases lie: in memory if the system has such a place.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}

// ---------------------------------------------------------------------------------------------

#[test]
fn configurations() {
    let texts = ["configs", "configs/presets", "tests/input/good", "tests/input/bad"];
    let texts = texts.iter().flat_map(|folder| files(folder, &[".toml"]));
    let corpus = Corpus::text(contents(texts));
    assert!(corpus.inputs.len() > 50);
    fuzz("toml", 1000, &corpus, |input| {
        let text = String::from_utf8_lossy(input);
        match supercool::config::parse(&text, "fuzzed.toml") {
            Ok(plan) => {
                assert!(plan.system.particle_count() > 0 && plan.total_steps() > 0);
                let json = serde_json::to_string(&plan).unwrap();
                let again: supercool::plan::Plan = serde_json::from_str(&json).unwrap();
                assert_eq!(again, plan);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    });
}

/// A run of a small system that writes every kind of file.
fn own_files() -> Job {
    let toml = kob_andersen(2, 100, "fixed-point", "timestep = 0.004\nthreads = 1")
        .replace("cutoff = 2.5", "cutoff = 1.5")
        + r#"
[[stage]]
name = "melt"
steps = 40
thermostat = { kind = "nose-hoover", temperature = 1.0, period = 0.3 }
[stage.observe]
thermodynamics = 5
trajectory = 20
gsd = true
structure = { every = 20, maximum_wavenumber = 6.0, vectors_per_shell = 4 }
[[stage.correlation]]
every = 5
block_size = 2
wavenumbers = [6.0]
vectors_per_shell = 4
"#;
    let job = Job::new(&toml);
    job.succeeds(&["run", "job.toml", "--quiet"]);
    job
}

/// As a file: what is wrong with it as it is, and what would be if its length and hash were right.
#[test]
fn checkpoints() {
    let job = own_files();
    let corpus = Corpus::binary(contents(
        ["checkpoint-0.scp", "checkpoint-40.scp"].map(|name| job.path("out").join(name)),
    ));
    let path = Path::new("fuzzed.scp");
    fuzz("scp", 300, &corpus, |input| {
        let mut repaired = input.to_vec();
        if repaired.len() >= 56 {
            let length = repaired.len();
            repaired[16..24].copy_from_slice(&(length as u64).to_le_bytes());
            let hash = blake3::hash(&repaired[..length - 32]);
            repaired[length - 32..].copy_from_slice(hash.as_bytes());
        }
        for bytes in [input, &repaired] {
            let Ok(checkpoint) = Checkpoint::from_bytes(path, bytes) else { continue };
            let _ = checkpoint.get_json::<supercool::plan::Plan>("plan");
            let _ = checkpoint.get_json::<String>("toml");
            if let Ok(state) = state_from_checkpoint(&checkpoint, path) {
                assert_eq!(state.position.len(), state.species_of.len());
                assert_eq!(state.velocity.len(), state.image.len());
            }
        }
    });
}

/// Opens a trajectory and reads its first frames.
fn read_trajectory(path: &Path) {
    let Ok(reader) = supercool_analysis::open(path) else { return };
    for index in 0..reader.len().min(4) {
        if let Ok(frame) = reader.read(index) {
            assert_eq!(frame.position.len(), frame.species.len());
            assert!(frame.species.iter().all(|&each| (each as usize) < frame.species_names.len()));
        }
    }
}

fn trajectories(kind: &str, endings: &[&str], own: &[&str], text: bool, few: u64) {
    let mut inputs = contents(files("analysis/tests/data", endings));
    if !own.is_empty() {
        let job = own_files();
        inputs.extend(contents(own.iter().map(|name| job.path("out").join(name))));
    }
    assert!(!inputs.is_empty());
    let corpus = if text { Corpus::text(inputs) } else { Corpus::binary(inputs) };
    let folder = scratch();
    let path = folder.path().join(format!("fuzzed.{kind}"));
    fuzz(kind, few, &corpus, |input| {
        fs::write(&path, input).unwrap();
        read_trajectory(&path);
    });
}

#[test]
fn gsd_files() {
    trajectories("gsd", &[".gsd"], &["melt.gsd"], false, 1000);
}

#[test]
fn xyz_files() {
    trajectories("xyz", &[".xyz"], &[], true, 2000);
}

#[test]
fn lammps_dumps() {
    trajectories("dump", &[".dump"], &[], true, 2000);
}

#[test]
fn lammps_data_files() {
    trajectories("data", &[".data"], &[], true, 2000);
}

// ---------------------------------------------------------------------------------------------
// HDF5: in processes of their own, because most of the reading is that library's

const CHILD: &str = "SUPERCOOL_FUZZ_HDF5";

fn read_hdf5(path: &Path) {
    read_trajectory(path);
    if let Ok(file) = ResultsFile::open(path) {
        let _ = (file.creator(), file.plan(), file.species(), file.dimension());
        let _ = (file.observables(), file.dynamics(), file.structure());
        let _ = (file.sampled("temperature", 9), file.first_dynamics("mean_square_displacement"));
    }
    let _ = supercool_analysis::info(path);
}

/// Not a test by itself: reads the cases of a folder that the next one has made.
#[test]
fn child_that_reads_hdf5_files() {
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let corpus = Corpus::binary(contents(
        ["0.hdf5", "1.hdf5", "2.hdf5", "3.hdf5", "4.hdf5"].map(|name| folder.join(name)),
    ));
    let path = folder.join("fuzzed.h5");
    for case in cases(0) {
        fs::write(folder.join("case"), case.to_string()).unwrap();
        let input = mutated(&corpus, case);
        watched(&format!("hdf5, case {case}"), &input, &|input: &[u8]| {
            fs::write(&path, input).unwrap();
            // Readers would wait for whoever writes a file that has just changed.
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(UNIX_EPOCH).unwrap();
            read_hdf5(&path);
        });
    }
    fs::write(folder.join("case"), "done").unwrap();
}

#[test]
fn hdf5_files() {
    let folder = scratch();
    let mut inputs: Vec<PathBuf> = files("analysis/tests/data", &[".hdf5"]);
    let job = own_files();
    inputs.extend(["melt.h5", "melt.h5md"].map(|name| job.path("out").join(name)));
    assert_eq!(inputs.len(), 5);
    for (index, input) in inputs.iter().enumerate() {
        fs::copy(input, folder.path().join(format!("{index}.hdf5"))).unwrap();
    }
    for path in files("tests/fuzz/found", &[".hdf5"]) {
        read_hdf5(&path);
    }
    let mut left = cases(150);
    let mut bad = Vec::new();
    while !left.is_empty() {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_reads_hdf5_files", "--nocapture"])
            .env(CHILD, folder.path())
            .env("SUPERCOOL_FUZZ_FIRST", left.start.to_string())
            .env("SUPERCOOL_FUZZ_CASES", (left.end - left.start).to_string())
            .output()
            .unwrap();
        let reached = fs::read_to_string(folder.path().join("case")).unwrap();
        if reached == "done" && child.status.success() {
            break;
        }
        let case: u64 = reached.parse().unwrap_or(left.end);
        let stderr = String::from_utf8_lossy(&child.stderr);
        println!(
            "hdf5, case {case}: {:?}: {}",
            child.status,
            &stderr[stderr.len().saturating_sub(600)..]
        );
        bad.push(case);
        left.start = case + 1;
        assert!(bad.len() < 100, "too many: {bad:?}");
    }
    assert!(bad.is_empty(), "cases that ended their process: {bad:?}");
}
