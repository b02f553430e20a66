//! Several runs from each of several configurations, and propensities of their particles.
use std::time::Duration;

use supercool::output::{latest_valid, state_from_checkpoint};

use crate::common::contents::{Numbers, assert_same_numbers, numbers};
use crate::common::job::{Ended, Job, kob_andersen, signal};
use crate::common::python::check_with_python;

const PARTICLES: usize = 160;
const RUNS: usize = 4;
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
        "4 runs from each of 2 configurations: eq/relax.h5md (system 0), eq/relax.h5md (system 1)";
    assert!(report.contains(expected), "{report}");
    let ended = job.succeeds(&["run", "job.toml"]);
    assert!(ended.stdout.contains("8 systems of 160 particles"), "{ended:?}");

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
    assert_eq!(all["/systems/configuration"].1, [0, 0, 0, 0, 1, 1, 1, 1]);
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
    for part in ["configuration 0", "configuration 1", "4 of each configuration"] {
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
    for system in [1, 7] {
        job.succeeds(&["run", "job.toml", "--system", &system.to_string()]);
        let (_, own, alone) = last(&format!("out-system-{system}"));
        let found = state_from_checkpoint(&all.part(&format!("system-{system}")), &path).unwrap();
        let expected = state_from_checkpoint(&alone, &own).unwrap();
        assert_eq!(found.hash(), expected.hash(), "system {system}");
    }
    job.fails(&["run", "job.toml", "--system", "8"], &["no such system", "0 to 7"]);
    // A checkpoint of this ensemble, whose systems have run from them, holds configurations, too.
    let name = format!("\"out/{}\"", path.file_name().unwrap().to_str().unwrap());
    job.write("more.toml", &ensemble(&name, NVE).replace("\"out\"", "\"more\""));
    job.succeeds(&["run", "more.toml"]);
    let more = numbers(&job.path("more/nve.h5"));
    assert_eq!(more["/systems/configuration"].1.len(), 2 * RUNS * RUNS);
}

#[test]
fn configurations_are_analysed_as_independent_runs() {
    let job = two_configurations();
    let thermostat = "thermostat = { kind = \"bussi\", temperature = 1.0, time = 0.1 }\nobserve";
    job.write("job.toml", &ensemble("\"eq/*.h5md\"", &NVE.replacen("observe", thermostat, 1)));
    job.succeeds(&["run", "job.toml"]);
    // Those of one configuration are not: they are averaged before.
    let table = job.succeeds(&["analyze", "out/nve.h5"]).stdout;
    assert!(table.contains("(2 runs; "), "{table}");
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

/// A first stage with propensities at steps 10, 20, 50, 100 and 150.
fn with_propensities(temperature: f64, run: &str) -> String {
    let stage = r#"
[[stage]]
name = "first"
steps = 150
observe = { thermodynamics = 50, trajectory = 10 }
[stage.propensity]
times = [0.04, 0.2, 0.08, 0.4, 0.6001]
observables = ["displacement", "square-displacement", "self-overlap", "self-intermediate-scattering-function",
    "bond-breaking"]
wavenumber = 7.25
overlap_length = 0.15
bond_radius = 1.3
bond_breaking_radius = 1.4

[[stage]]
name = "second"
steps = 20
observe = { thermodynamics = 10 }
"#;
    let text = ensemble("\"eq/*.h5md\"", stage).replace("threads = 2", run);
    text.replace("{ temperature = 1.0 }", &format!("{{ temperature = {temperature} }}"))
}

#[test]
fn propensities_are_those_of_the_stored_trajectories() {
    let job = two_configurations();
    job.write("job.toml", &with_propensities(1.2, "threads = 2"));
    let report = job.succeeds(&["check", "job.toml"]).stdout;
    assert!(
        report.contains("propensities at 5 times, 2 configurations: displacement,"),
        "{report}"
    );
    job.succeeds(&["run", "job.toml"]);
    let files = ["h5", "h5md"].map(|ending| job.path(&format!("out/first.{ending}")));
    check_with_python("h5py", "propensity.py", &[&files[0], &files[1]]);
    let info = job.succeeds(&["info", "out/first.h5"]).stdout;
    for part in [
        "Propensities at 5 of 5 times; at t = 0.6",
        "jackknife over configurations",
        "A displacement",
    ] {
        assert!(info.contains(part), "no {part:?} in {info}");
    }
    exported_as_xyz(&job);
    job.succeeds(&["report", "out/first.h5"]);
    let page = std::fs::read_to_string(job.path("out/first.html")).unwrap();
    assert!(page.contains("Propensities at 5 of 5 times"));
    // Alone, a run has none, and the same bits.
    job.succeeds(&["run", "job.toml", "--system", "6"]);
    let [all, one] =
        ["out", "out-system-6"].map(|of| numbers(&job.path(&format!("{of}/first.h5md"))));
    let position = |group: &str| format!("/particles/{group}/position/value");
    assert_eq!(all[&position("system-6")], one[&position("trajectory")]);
    let one = numbers(&job.path("out-system-6/first.h5"));
    assert!(one.keys().all(|name| !name.starts_with("/propensity")));
}

/// The propensities at a time, in columns that any reader of extended XYZ finds, and positions that runs start from.
fn exported_as_xyz(job: &Job) {
    let ended = job.succeeds(&["export", "out/first.h5", "--time", "0.2"]);
    assert_eq!(ended.stdout.trim(), "out/first.propensity.xyz");
    let text = std::fs::read_to_string(job.path("out/first.propensity.xyz")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2 * (PARTICLES + 2));
    let properties = "species:S:1:pos:R:3:bond_breaking:R:1:displacement:R:1:";
    assert!(
        lines[1].contains(properties) && lines[1].contains("propensity_time=0.2"),
        "{text:.300}"
    );
    let all = numbers(&job.path("out/first.h5"));
    let (shape, bits) = &all["/propensity/displacement/value"];
    for configuration in 0..2 {
        for particle in 0..PARTICLES {
            let line = lines[configuration * (PARTICLES + 2) + 2 + particle];
            let words: Vec<&str> = line.split(' ').collect();
            // The third of five times.
            let index = (configuration * shape[1] + 2) * PARTICLES + particle;
            assert_eq!(words[5].parse::<f64>().unwrap(), f64::from_bits(bits[index]), "{line}");
        }
    }
    let frame =
        supercool_analysis::open(job.path("out/first.propensity.xyz")).unwrap().read(1).unwrap();
    let positions = &all["/propensity/initial_position"].1[3 * PARTICLES..];
    let found: Vec<u64> = frame.position.iter().flatten().map(|x| x.to_bits()).collect();
    assert_eq!(found, positions);
    job.fails(&["export", "out/first.h5", "--time", "0.3"], &["t = 0.3", "times near it are"]);
    job.fails(&["export", "out/second.h5"], &["no propensities", "[stage.propensity]"]);
    job.fails(&["export", "out/first.h5", "-o", "out/second.h5"], &["is not overwritten"]);
}

#[test]
fn inherent_structures_have_propensities_of_their_own() {
    let job = two_configurations();
    let text = with_propensities(1.2, "threads = 2").replace("runs = 4", "runs = 2");
    let text = text.replace("[0.04, 0.2, 0.08, 0.4, 0.6001]", "[0.08, 0.16]\ninherent = true");
    let observed = "trajectory = 20, inherent_structures = { every = 20 }";
    let text = text.replace("thermodynamics = 50, trajectory = 10", observed);
    job.write("job.toml", &text.replace("steps = 150", "steps = 40"));
    job.succeeds(&["run", "job.toml"]);
    let files = ["h5", "h5md", "inherent.h5md"].map(|of| job.path(&format!("out/first.{of}")));
    check_with_python("h5py", "propensity.py", &[&files[0], &files[1], &files[2]]);
    let info = job.succeeds(&["info", "out/first.h5"]).stdout;
    assert!(info.contains("inherent_displacement"), "{info}");
}

#[test]
fn propensities_have_the_same_bits_on_one_thread_and_after_stops() {
    let job = two_configurations();
    let of = |threads: usize, directory: &str| {
        let text = with_propensities(1.2, &format!("threads = {threads}"))
            .replace("trajectory = 10 }", "trajectory = 75 }")
            .replace("[stage.propensity]", "[stage.propensity]\ntrajectory = true");
        text.replace("\"out\"", &format!("\"{directory}\""))
    };
    job.write("job.toml", &of(2, "two"));
    job.succeeds(&["run", "job.toml"]);
    job.write("one.toml", &of(1, "one"));
    job.succeeds(&["run", "one.toml"]);
    job.write("parts.toml", &(of(2, "parts") + "\n[checkpoint]\nminutes = 0.0001\n"));
    for kill in [false, true] {
        let arguments: &[&str] = if kill { &["resume", "parts"] } else { &["run", "parts.toml"] };
        let mut process = job.start(arguments);
        job.appears("parts/first.h5", &mut process);
        std::thread::sleep(Duration::from_millis(40));
        match process.try_wait().unwrap() {
            Some(_) => {}
            None if kill => process.kill().unwrap(),
            None => signal(process.id(), "TERM"),
        }
        Ended::of(process);
    }
    job.succeeds(&["resume", "parts"]);
    for ending in ["h5", "h5md"] {
        let file = |directory: &str| job.path(&format!("{directory}/first.{ending}"));
        assert_same_numbers(&file("two"), &file("one"));
        assert_same_numbers(&file("two"), &file("parts"));
    }
    let trajectory = supercool_analysis::open(job.path("parts/first.h5md")).unwrap();
    assert_eq!(trajectory.steps(), [0, 10, 20, 50, 75, 100, 150]);
}

#[test]
fn data_sets_hold_the_positions_of_all_runs() {
    let job = two_configurations();
    let text = with_propensities(1.2, "threads = 2");
    job.write("job.toml", &text.replace("trajectory = 10 }", "trajectory = 75 }"));
    job.succeeds(&["run", "job.toml"]);
    let bare = |folder| ["export", "out/first.h5", "--format", "npz", "-o", folder];
    let said = job.succeeds(&bare("lacking")).stdout;
    assert!(said.contains("out/first.h5md has no frame of step 10"), "{said}");
    std::fs::remove_file(job.path("out/first.h5md")).unwrap();
    let said = job.succeeds(&bare("bare")).stdout;
    for part in
        ["bare: 10 files", "without the positions", "no out/first.h5md", "trajectory = true"]
    {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
    let text = text
        .replace("trajectory = 10 }", "gsd = false }")
        .replace("\"out\"", "\"whole\"")
        .replace("[stage.propensity]", "[stage.propensity]\ntrajectory = true");
    job.write("job.toml", &text);
    let report = job.succeeds(&["check", "job.toml"]).stdout;
    assert!(report.contains("trajectory at the times of propensities, 6 frames"), "{report}");
    job.succeeds(&["run", "job.toml"]);
    assert_same_numbers(&job.path("out/first.h5"), &job.path("whole/first.h5"));

    let export = |more: &[&str]| {
        let ended =
            job.succeeds(&[&["export", "whole/first.h5md", "--format", "npz"], more].concat());
        assert!(!ended.stdout.contains("without"), "{ended:?}");
    };
    export(&[]);
    export(&["--time", "0.2", "-o", "one"]);
    export(&["--scattering", "0.9,0.7", "-o", "decayed"]);
    let [results, trajectory] = ["h5", "h5md"].map(|of| job.path(&format!("whole/first.{of}")));
    for (folder, times) in
        [("whole/first.npz", "all"), ("one", "2"), ("decayed", "0.9,0.7"), ("bare", "bare")]
    {
        let (folder, times) = (job.path(folder), times.as_ref());
        check_with_python("h5py", "data_set.py", &[&results, &trajectory, &folder, times]);
    }

    let again = ["export", "whole/first.h5", "--format", "npz"];
    job.fails(&again, &["whole/first.npz", "is there already"]);
    let decayed = |value: &str, expected: &[&str]| {
        job.fails(&[&again[..], &["--scattering", value, "-o", "no"]].concat(), expected);
        assert!(!job.path("no").exists() && !job.path("no.partial").exists());
    };
    decayed("0.001", &["configuration 0", "scattering function of A is 0.", "and not 0.001"]);
    decayed("1.5", &["between 0 and 1"]);
    job.fails(&["export", "whole/first.h5", "--scattering", "0.9"], &["add --format npz"]);
    // From the same configurations, with other velocities.
    job.write(
        "other.toml",
        &text.replace("\"whole\"", "\"other\"").replace("seed = 11", "seed = 12"),
    );
    job.succeeds(&["run", "other.toml"]);
    std::fs::copy(job.path("other/first.h5md"), &trajectory).unwrap();
    job.fails(
        &[&again[..], &["-o", "no"]].concat(),
        &["first.h5md", "not the trajectory of these"],
    );
    assert!(!job.path("no").exists() && !job.path("no.partial").exists());
    // Alone, a run has the same frames.
    job.succeeds(&["run", "job.toml", "--system", "6"]);
    let alone = supercool_analysis::open(job.path("whole-system-6/first.h5md")).unwrap();
    assert_eq!(alone.steps(), [0, 10, 20, 50, 100, 150]);
}

/// The stage of a run that looks at F_s only; `times` as a configuration has them.
fn with_decay(times: &str, directory: &str) -> String {
    let stage = format!(
        r#"
[[stage]]
name = "first"
steps = 150
[stage.propensity]
times = {times}
observables = ["self-intermediate-scattering-function"]
wavenumber = 7.25
"#
    );
    ensemble("\"eq/*.h5md\"", &stage).replace("\"out\"", &format!("{directory:?}"))
}

#[test]
fn a_second_run_has_frames_where_the_first_one_has_decayed() {
    let job = two_configurations();
    let close = "{ from = 0.004, to = 0.6, points_per_decade = 30 }";
    job.write("job.toml", &with_decay(close, "out"));
    job.succeeds(&["run", "job.toml"]);
    let decayed = "{ scattering = [0.9, 0.7], first_run = \"out/first.h5\" }";
    let text = with_decay(decayed, "second");
    // Other frames and a shorter stage do not change the steps.
    let second = text
        .replace("wavenumber = 7.25", "wavenumber = 7.25\ntrajectory = true")
        .replace("steps = 150", "steps = 140\nobserve = { thermodynamics = 7 }");
    job.write("job.toml", &second);
    job.succeeds(&["run", "job.toml"]);

    let [first, second] = ["out", "second"].map(|of| numbers(&job.path(&format!("{of}/first.h5"))));
    let steps = |of: &Numbers| of["/propensity/step"].1.clone();
    let (close, chosen) = (steps(&first), steps(&second));
    let name = "/propensity/self_intermediate_scattering_function/value";
    let rows = |of: &Numbers, configuration: usize| -> Vec<Vec<u64>> {
        let (shape, bits) = &of[name];
        let each = shape[1] * shape[2];
        let of_configuration = &bits[configuration * each..(configuration + 1) * each];
        of_configuration.chunks(shape[2]).map(<[u64]>::to_vec).collect()
    };
    let mut expected = Vec::new();
    for configuration in 0..2 {
        let all = rows(&first, configuration);
        // Of the first species.
        let count = PARTICLES * 4 / 5;
        let mean = |row: &Vec<u64>| {
            row[..count].iter().map(|&bits| f64::from_bits(bits)).sum::<f64>() / count as f64
        };
        for value in [0.9, 0.7] {
            expected.push(close[all.iter().position(|row| mean(row) <= value).unwrap()]);
        }
        let at_chosen = chosen.iter().map(|step| all[close.binary_search(step).unwrap()].clone());
        assert!(at_chosen.eq(rows(&second, configuration)), "configuration {configuration}");
    }
    expected.sort_unstable();
    expected.dedup();
    assert!(chosen == expected && expected.len() >= 2, "{chosen:?}, not {expected:?}");
    let trajectory = supercool_analysis::open(job.path("second/first.h5md")).unwrap();
    assert_eq!(trajectory.steps(), [&[0], &chosen[..]].concat());

    let refused = |text: String, part: &str| {
        job.write("other.toml", &text);
        job.fails(&["check", "other.toml"], &["first_run", part]);
    };
    refused(text.replace("seed = 11", "seed = 12"), "[system] differs");
    refused(text.replace("0.004", "0.005"), "run.timestep differs");
    refused(text.replace("runs = 4", "runs = 3"), "[ensemble] differs");
    refused(text.replace("[0.9, 0.7]", "[0.9, 0.001]"), "and not 0.001");
    let cooled = "steps = 150\nthermostat = { kind = \"bussi\", temperature = 1.0, time = 0.1 }";
    refused(text.replace("steps = 150", cooled), "the first stage differs");
    job.write("other.toml", &text.replace("steps = 150", "steps = 2"));
    job.fails(&["check", "other.toml"], &["scattering", "longer than the stage"]);
}
