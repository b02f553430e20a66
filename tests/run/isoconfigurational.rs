//! Several runs from each of several configurations.
use supercool::output::{latest_valid, state_from_checkpoint};

use crate::common::contents::numbers;
use crate::common::job::{Job, kob_andersen};

const PARTICLES: usize = 160;
const RUNS: usize = 3;
const INITIAL: &str = "initial = { lattice = \"fcc\", temperature = 1.5 }";

/// A short liquid.
fn liquid() -> String {
    kob_andersen(3, PARTICLES, "fixed-point", "timestep = 0.004\nthreads = 2")
}

/// A directory with the trajectory of two systems, `eq/relax.h5md`.
fn two_configurations() -> Job {
    let text = liquid().replace("\"out\"", "\"eq\"")
        + r#"
[ensemble]
kind = "independent"
systems = 2

[[stage]]
name = "relax"
steps = 60
thermostat = { kind = "langevin", temperature = 1.0, friction = 2.0 }
observe = { trajectory = 60 }
"#;
    let job = Job::new(&text);
    job.succeeds(&["run", "job.toml"]);
    job
}

/// Runs from configurations.
fn ensemble(configurations: &str, stages: &str) -> String {
    let ensemble = format!(
        "\n[ensemble]\nkind = \"isoconfigurational\"\nconfigurations = {configurations}\nruns = {RUNS}\n"
    );
    liquid().replace(INITIAL, "initial = { temperature = 1.0 }") + &ensemble + stages
}

const NVE: &str = r#"
[[stage]]
name = "nve"
steps = 40
observe = { thermodynamics = 10, trajectory = 10 }
[[stage.correlation]]
every = 10
block_size = 2
observables = ["mean-square-displacement"]
"#;

#[test]
fn runs_of_a_configuration_have_its_positions_and_velocities_of_their_own() {
    let job = two_configurations();
    job.write("job.toml", &ensemble("\"eq/*.h5md\"", NVE));
    let report = job.succeeds(&["check", "job.toml"]).stdout;
    let expected =
        "3 runs from each of 2 configurations: eq/relax.h5md (system 0), eq/relax.h5md (system 1)";
    assert!(report.contains(expected), "{report}");
    let ended = job.succeeds(&["run", "job.toml"]);
    assert!(ended.stdout.contains("6 systems of 160 particles"), "{ended:?}");

    let [before, after] = ["eq/relax.h5md", "out/nve.h5md"].map(|name| numbers(&job.path(name)));
    let frame = |system: usize, name: &str, first: bool| {
        let all = if first { &after } else { &before };
        let bits = &all[&format!("/particles/system-{system}/{name}/value")].1;
        match first {
            true => bits[..3 * PARTICLES].to_vec(),
            false => bits[bits.len() - 3 * PARTICLES..].to_vec(),
        }
    };
    for system in 0..2 * RUNS {
        let of_configuration = frame(system / RUNS, "position", false);
        assert_eq!(frame(system, "position", true), of_configuration, "system {system}");
        for other in 0..system {
            assert_ne!(frame(system, "velocity", true), frame(other, "velocity", true));
        }
    }
    // Averages are over the runs of each configuration.
    let all = numbers(&job.path("out/nve.h5"));
    let floats =
        |name: &str| -> Vec<f64> { all[name].1.iter().map(|&bits| f64::from_bits(bits)).collect() };
    assert_eq!(all["/systems/configuration"].1, [0, 0, 0, 1, 1, 1]);
    assert_eq!(all["/dynamics/A/mean_square_displacement/configuration"].1, [0, 1]);
    let (shape, _) = &all["/observables/temperature/value"];
    assert_eq!(shape, &[5, 2]);
    // All draws are scaled to the temperature.
    for value in &floats("/systems/observables/temperature/value")[..2 * RUNS] {
        assert!((value - 1.0).abs() < 1e-6, "{value}");
    }
    let (value, each) = (
        floats("/dynamics/A/mean_square_displacement/value"),
        floats("/systems/dynamics/A/mean_square_displacement/value"),
    );
    let lags = value.len() / 2;
    for configuration in 0..2 {
        for lag in 0..lags {
            let runs = configuration * RUNS..(configuration + 1) * RUNS;
            let mean = runs.map(|run| each[run * lags + lag]).sum::<f64>() / RUNS as f64;
            let found = value[configuration * lags + lag];
            assert!((found - mean).abs() <= 1e-14 * mean, "{found} {mean}");
        }
    }
    let info = job.succeeds(&["info", "out/nve.h5"]).stdout;
    for part in ["configuration 0", "configuration 1", "3 of each configuration"] {
        assert!(info.contains(part), "no {part:?} in {info}");
    }
}

#[test]
fn one_run_of_a_configuration_is_repeated_alone() {
    let job = two_configurations();
    job.write("job.toml", &ensemble("[\"eq/relax.h5md\"]", NVE));
    job.succeeds(&["run", "job.toml"]);
    let last = |name: &str| latest_valid(&job.path(name)).unwrap().checkpoint.unwrap();
    let (_, path, all) = last("out");
    for system in [1, 5] {
        job.succeeds(&["run", "job.toml", "--system", &system.to_string()]);
        let (_, own, alone) = last(&format!("out-system-{system}"));
        let found = state_from_checkpoint(&all.part(&format!("system-{system}")), &path).unwrap();
        let expected = state_from_checkpoint(&alone, &own).unwrap();
        assert_eq!(found.hash(), expected.hash(), "system {system}");
    }
    job.fails(&["run", "job.toml", "--system", "6"], &["no such system", "0 to 5"]);
    // A checkpoint of this ensemble, whose systems have run from them, holds configurations, too.
    let name = format!("\"out/{}\"", path.file_name().unwrap().to_str().unwrap());
    job.write("more.toml", &ensemble(&name, NVE).replace("\"out\"", "\"more\""));
    job.succeeds(&["run", "more.toml"]);
    let more = numbers(&job.path("more/nve.h5"));
    assert_eq!(more["/systems/configuration"].1.len(), 6 * RUNS);
}

#[test]
fn configurations_that_do_not_fit_are_named() {
    let job = two_configurations();
    let text = ensemble("\"eq/*.h5md\"", NVE);
    job.write("job.toml", &text.replace("density = 1.2", "density = 1.1"));
    let of_file = ["job.toml:", "ensemble.configurations", "eq/relax.h5md"];
    job.fails(
        &["check", "job.toml"],
        &[&of_file[..], &["its box has edges", "the plan's"]].concat(),
    );
    job.write(
        "job.toml",
        &text.replace("count = 128", "count = 120").replace("count = 32", "count = 40"),
    );
    job.fails(
        &["check", "job.toml"],
        &[&of_file[..], &["has 128 particles of species", "system.species has 120"]].concat(),
    );
    job.write("job.toml", &text.replace("eq/*.h5md", "job.toml"));
    job.fails(&["check", "job.toml"], &["ensemble.configurations", "job.toml"]);
    std::fs::write(job.path("eq/empty.h5md"), "").unwrap();
    job.write("job.toml", &text);
    job.fails(&["run", "job.toml"], &["ensemble.configurations", "eq/empty.h5md"]);
}
