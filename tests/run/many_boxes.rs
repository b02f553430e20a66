//! Systems of an ensemble at constant pressure, each in a box of its own.
use std::time::Duration;

use supercool::output::state_from_checkpoint;

use super::many_systems::{last, of_system};
use crate::common::contents::{assert_same_numbers, numbers};
use crate::common::job::{Ended, Job, kob_andersen, signal};

const TEMPERATURES: [f64; 2] = [1.4, 1.1];
const SAMPLES: usize = 2;
const COUNT: usize = TEMPERATURES.len() * SAMPLES;
const STAGES: [&str; 4] = ["npt", "quench", "compress", "nve"];

/// With boxes that differ after the first stage, up to the end of the third. `T` is a temperature.
fn stages(temperature: &str) -> String {
    let text = r#"
[[stage]]
name = "npt"
steps = 200
thermostat = { kind = "bussi", temperature = T, time = 0.2 }
barostat = { kind = "cell-rescaling", pressure = { from = 12.0, to = 6.0 }, time = 0.05, every = 5 }
observe = { thermodynamics = 10, trajectory = 40 }
[[stage]]
name = "quench"
steps = 60
minimize = { force_tolerance = 5.0, temperature = 0.9 }
observe = { thermodynamics = 10, trajectory = 30 }
[[stage]]
name = "compress"
steps = 60
density = { to = 1.2, every = 10 }
thermostat = { kind = "langevin", temperature = T, friction = 2.0 }
observe = { thermodynamics = 10, trajectory = 15 }
[[stage]]
name = "nve"
steps = 60
observe = { thermodynamics = 10, structure = { every = 20, maximum_wavenumber = 8.0, vectors_per_shell = 5 } }
[[stage.correlation]]
every = 5
block_size = 4
wavenumbers = [7.25]
"#;
    text.replace("= T,", &format!("= {temperature},"))
}

fn ensemble() -> String {
    let ensemble = format!(
        "\n[ensemble]\nkind = \"temperatures\"\ntemperatures = {TEMPERATURES:?}\nsystems = {SAMPLES}\n"
    );
    kob_andersen(3, 160, "fixed-point", "timestep = 0.004") + &ensemble + &stages("\"ensemble\"")
}

#[test]
fn every_system_has_the_box_and_the_bits_of_the_same_run_alone() {
    let whole = Job::new(&ensemble());
    whole.succeeds(&["run", "job.toml"]);
    let (path, checkpoint) = last(&whole);
    let mut densities = Vec::new();
    for system in 0..COUNT {
        let start = kob_andersen(3, 160, "fixed-point", "timestep = 0.004\nthreads = 1");
        let start = start.replace("seed = 11", &format!("seed = {}", 11 + system));
        let job = Job::new(&(start + &stages(&TEMPERATURES[system / SAMPLES].to_string())));
        job.succeeds(&["run", "job.toml"]);
        let found = state_from_checkpoint(&checkpoint.part(&format!("system-{system}")), &path);
        let (path, alone) = last(&job);
        let expected = state_from_checkpoint(&alone, &path).unwrap();
        assert_eq!(found.unwrap().hash(), expected.hash(), "system {system}");
        for stage in STAGES {
            let file =
                |job: &Job, ending: &str| numbers(&job.path(&format!("out/{stage}.{ending}")));
            let (all, one) = (file(&whole, "h5"), file(&job, "h5"));
            for (name, (shape, bits)) in &one {
                let of_each = ["/dynamics/", "/structure/", "/observables/"];
                if of_each.iter().any(|group| name.starts_with(group)) && name.ends_with("/value") {
                    let found = of_system(&all, name, shape, system, COUNT);
                    assert_eq!(found, *bits, "{name} of system {system}");
                }
            }
            if stage == "nve" {
                continue;
            }
            let (all, one) = (file(&whole, "h5md"), file(&job, "h5md"));
            for name in ["position", "image", "velocity", "box/edges"] {
                let at = |group: &str| format!("/particles/{group}/{name}/value");
                let (found, expected) =
                    (&all[&at(&format!("system-{system}"))], &one[&at("trajectory")]);
                assert_eq!(found, expected, "{name} of system {system} in {stage}");
            }
        }
        densities.push(*job.series("npt", "density").last().unwrap());
    }
    // They differ, and are those of the averages.
    assert!((1..COUNT).all(|system| densities[system] != densities[0]), "{densities:?}");
    let averages = whole.series("quench", "density");
    let expected = 0.5 * (densities[0] + densities[1]);
    assert!((averages[0] - expected).abs() < 1e-12, "{averages:?} {densities:?}");
}

#[test]
fn a_run_with_many_boxes_that_was_stopped_and_killed_gives_the_same_files() {
    let whole = Job::new(&ensemble());
    whole.succeeds(&["run", "job.toml"]);
    let parts = Job::new(&(ensemble() + "\n[checkpoint]\nminutes = 0.0005\n"));
    for (stage, kill) in [("npt", false), ("npt", true), ("quench", false), ("compress", true)] {
        let is_first = !parts.path("out").exists();
        let arguments: &[&str] = if is_first { &["run", "job.toml"] } else { &["resume", "out"] };
        let mut process = parts.start(arguments);
        parts.appears(&format!("out/{stage}.h5"), &mut process);
        std::thread::sleep(Duration::from_millis(60));
        match kill {
            true => process.kill().unwrap(),
            false if process.try_wait().unwrap().is_none() => signal(process.id(), "TERM"),
            false => {}
        }
        Ended::of(process);
    }
    parts.succeeds(&["resume", "out"]);
    for stage in STAGES {
        for ending in ["h5", "h5md"] {
            let [expected, found] =
                [&whole, &parts].map(|job| job.path(&format!("out/{stage}.{ending}")));
            if expected.exists() {
                assert_same_numbers(&expected, &found);
            }
        }
    }
}
