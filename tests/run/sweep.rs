//! Several runs of one file.
use std::fs;

use supercool_analysis::results::ResultsFile;

use crate::common::contents::assert_same_numbers;
use crate::common::job::{Ended, Job, kob_andersen, signal};

fn toml(steps: u64, sweep: &str) -> String {
    let run = "timestep = 0.004\nthreads = 1\nskin = 0.3";
    kob_andersen(3, 256, "fixed-point", run)
        + &format!(
            r#"
[[stage]]
name = "melt"
steps = {steps}
thermostat = {{ kind = "bussi", temperature = 2.0, time = 0.2 }}

[[stage]]
name = "production"
steps = 100
observe = {{ thermodynamics = 10 }}
[[stage.correlation]]
every = 5
wavenumbers = [7.25]

{sweep}"#
        )
}

const SWEEP: &str = r#"[sweep]                 # four runs
"stage.*.thermostat.temperature" = [2.0, 1.5]
seed = [1, 2]
"#;

const NAMES: [&str; 4] = ["T2_seed1", "T2_seed2", "T1.5_seed1", "T1.5_seed2"];

#[test]
fn every_combination_is_a_run_of_its_own_and_is_run_once() {
    let job = Job::new(&toml(20, SWEEP));
    let report = job.succeeds(&["check", "job.toml"]).stdout;
    for name in NAMES {
        assert!(
            report.contains(&format!("  out/{name}: 256 particles, 120 steps, files about")),
            "{report}"
        );
    }
    for part in ["4 runs", "480 steps in all", "[ensemble]", "temperature 2, bussi"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let ended = job.succeeds(&["run", "job.toml", "--quiet"]);
    assert!(ended.stdout.contains("4 of 4 runs are finished, 0 of them were before"), "{ended:?}");

    // Each is the run of the text that it keeps.
    let single = job.path("out/T1.5_seed2/production.h5");
    let text = ResultsFile::open(&single).unwrap().parameter("toml").unwrap();
    assert!(!text.contains("sweep") && text.contains("temperature = 1.5"), "{text}");
    job.write("single.toml", &text);
    job.succeeds(&["run", "single.toml", "--quiet", "--output", "single"]);
    assert_same_numbers(&single, &job.path("single/production.h5"));
    let set = ["--set", "stage.melt.thermostat.temperature=1.5", "--set", "system.seed=2"];
    job.write("plain.toml", &toml(20, ""));
    job.succeeds(&[&["run", "plain.toml", "--quiet", "--output", "plain"], &set[..]].concat());
    assert_same_numbers(&single, &job.path("plain/production.h5"));

    // What is finished is left alone; what is lost is run again.
    let written =
        || fs::metadata(job.path("out/T2_seed1/production.h5")).unwrap().modified().unwrap();
    let before = written();
    fs::remove_dir_all(job.path("out/T2_seed2")).unwrap();
    let ended = job.succeeds(&["run", "job.toml", "--quiet"]);
    assert!(ended.stdout.contains("4 of 4 runs are finished, 3 of them were before"), "{ended:?}");
    assert_eq!(written(), before);
    let ended = job.succeeds(&["resume", "out", "--quiet"]);
    assert!(ended.stdout.contains("4 of 4 runs are finished, 4 of them were before"), "{ended:?}");

    // All of them together.
    let table = job.succeeds(&["analyze", "out", "--json", "table.json"]).stdout;
    assert!(table.contains("T1.5_seed2") || table.contains("2 runs"), "{table}");
    let info = job.succeeds(&["info", "out"]).stdout;
    job.succeeds(&["plot", "out", "-q", "mean-square-displacement", "-o", "all.svg"]);
    let figure = fs::read_to_string(job.path("all.svg")).unwrap();
    for name in NAMES {
        assert!(info.contains(&format!("out/{name}/production.h5")), "{info}");
        assert!(figure.contains(&format!("{name}/production")), "{name}");
    }
    // Colours by what a thermostat before the stage has set, names by a key.
    let by = |key| ["plot", "out", "-q", "mean-square-displacement", "--by", key, "-o", "all.svg"];
    for (key, names) in [
        ("temperature", vec!["T", "1.5", "2"]),
        ("stage.melt.thermostat.temperature", vec!["temperature", "1.5", "2"]),
        ("system.seed", vec!["seed", "1", "2"]),
        ("potential.kind", vec!["kind = lennard-jones"]),
    ] {
        job.succeeds(&by(key));
        let figure = fs::read_to_string(job.path("all.svg")).unwrap();
        for name in names {
            assert!(figure.contains(&format!("\n{name}\n")), "{key}: no {name}");
        }
    }
    job.fails(&by("system.sed"), &["out/T1.5_seed1/production.h5", "no key system.sed"]);
    let chosen = ["--x-range", "-1:1", "-o", "all.svg"];
    job.fails(&[&["plot", "out"], &chosen[..]].concat(), &["-1:1 is not of a logarithmic axis"]);
    let chosen = ["--markers", "--x-scale", "linear", "--x-range", "-1:1", "--size", "40x40"];
    job.succeeds(&[&["plot", "out", "-o", "all.pdf"], &chosen[..]].concat());
    assert!(fs::read(job.path("all.pdf")).unwrap().starts_with(b"%PDF-"));
    assert_eq!(job.succeeds(&["report", "out"]).stdout.trim(), "out/report.html");
    let page = fs::read_to_string(job.path("out/report.html")).unwrap();
    for part in ["<h2>Runs</h2>", "T1.5_seed2/production", "<h2>Fits</h2>", "<h2>All runs</h2>"] {
        assert!(page.contains(part), "no {part}");
    }
    let ended = job.execute(&["plot", "out", "--size", "40"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("WIDTHxHEIGHT"), "{ended:?}");
}

#[test]
fn a_sweep_that_is_interrupted_goes_on() {
    let sweep = "[sweep]\nzip = true\n\"system.density\" = [1.2, 1.1]\n\"stage.melt.steps\" = [20, 100_000_000]\n";
    let job = Job::new(&toml(20, sweep));
    let mut process = job.start(&["run", "job.toml"]);
    assert!(job.appears("out/density1.1_steps100000000/checkpoint-0.scp", &mut process));
    signal(process.id(), "TERM");
    let ended = Ended::of(process);
    assert_eq!(ended.code, Some(75), "{ended:?}");
    assert!(ended.stdout.contains("The sweep continues with: supercool resume out"), "{ended:?}");
    let ended = job.execute(&["resume", "out", "--max-walltime", "0s"]);
    assert_eq!(ended.code, Some(75), "{ended:?}");
    assert!(ended.stdout.contains("density1.2_steps20 (1 of 2)\nfinished before"), "{ended:?}");
    let report = job.succeeds(&["check", "job.toml"]).stdout;
    let lines: Vec<&str> = report.lines().filter(|line| line.contains("  out/density")).collect();
    assert!(lines[0].ends_with(", finished") && lines[1].ends_with(", interrupted"), "{report}");

    // Runs of other values are not replaced.
    job.write(
        "job.toml",
        &toml(20, &sweep.replace("[20, ", "[20, 40, ").replace("1.2, ", "1.2, 1.15, "))
            .replace("every = 5", "every = 10"),
    );
    let ended = job.execute(&["run", "job.toml", "--max-walltime", "0s"]);
    assert!(
        ended.stderr.contains("out/density1.2_steps20: holds a run of another configuration"),
        "{ended:?}"
    );
    assert_ne!(ended.code, Some(0));
}

#[test]
fn what_takes_one_run_refuses_a_sweep() {
    let job = Job::new(&toml(20, SWEEP));
    job.fails(&["run", "job.toml", "--system", "0"], &["--system is of one run"]);
    job.fails(
        &["correlate", "any.h5md", "job.toml"],
        &["sweep: makes several runs, and one is wanted"],
    );
    job.fails(
        &["check", "job.toml", "--set", "sweep.seed=[1, -1]"],
        &["--set sweep.seed=[1, -1]: system.seed: must be at least 0, not -1"],
    );
}
