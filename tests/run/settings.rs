//! Values of the command line in the place of the file's.
use std::fs;

use supercool_analysis::results::ResultsFile;

use crate::common::job::{Job, kob_andersen, signal};

fn toml(steps: u64) -> String {
    kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1\nskin = 0.3")
        + &format!(
            "[[stage]]\nname = \"melt\"\nsteps = {steps}\nobserve = {{ thermodynamics = 10 }}\n"
        )
}

#[test]
fn a_run_with_settings_is_that_of_a_file_with_these_values() {
    let job = Job::new(&toml(20));
    let set = [
        "--set",
        "stage.melt.steps=4e1",
        "--set",
        "stage.*.thermostat={kind=\"bussi\",temperature=1.5,time=0.2}",
    ];
    job.fails(
        &[&["run", "job.toml"], &set[..]].concat(),
        &["--set stage.*.thermostat", "no element of stage has thermostat", "name the element"],
    );
    let set = [
        set[0],
        set[1],
        "--set",
        "stage.melt.thermostat={kind=\"bussi\",temperature=1.5,time=0.2}",
    ];
    let checked = job.succeeds(&[&["check", "job.toml"], &set[..]].concat());
    assert!(checked.stdout.contains("melt: 40 steps"), "{}", checked.stdout);
    job.succeeds(&[&["run", "job.toml", "--output", "set", "--quiet"], &set[..]].concat());

    // What the file keeps gives the same run.
    let set = ResultsFile::open(&job.path("set/melt.h5")).unwrap();
    let text = set.parameter("toml").unwrap();
    assert!(text.contains("steps = 40") && !text.contains("steps = 20"), "{text}");
    job.write("kept.toml", &text);
    job.succeeds(&["run", "kept.toml", "--output", "kept", "--quiet"]);
    let energy = |file: &ResultsFile| file.observable("potential_energy").unwrap().unwrap().value;
    let kept = ResultsFile::open(&job.path("kept/melt.h5")).unwrap();
    assert_eq!(energy(&set), energy(&kept));
    assert_eq!(energy(&kept).len(), 5);
}

#[test]
fn wrong_values_are_named_by_their_option() {
    let job = Job::new(&toml(20));
    let fails = |set: &str, parts: &[&str]| {
        job.fails(
            &["check", "job.toml", "--set", set],
            &[&[&*format!("--set {set}: ")], parts].concat(),
        );
    };
    fails("system.density=-1", &["system.density: must be greater than 0, not -1.0"]);
    fails("run.timestep=fast", &["must be a number, not the string \"fast\""]);
    fails("system.sede=3", &["unknown key", "did you mean `seed`?"]);
    fails("stage.met.steps=3", &["stage has no element \"met\"", "did you mean `melt`?"]);
    // Of both, each at its place.
    let both = ["check", "job.toml", "--set", "limits.temperature=0", "--set", "stage.0.steps=5"];
    job.fails(
        &both,
        &["--set limits.temperature=0: limits.temperature: must be greater than 0", "job.toml:"],
    );
    let ended = job.execute(&["check", "job.toml", "--set", "system.seed"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("KEY=VALUE is wanted"), "{ended:?}");
}

#[test]
fn a_run_goes_on_with_what_changes_no_bits() {
    let job = Job::new(&(toml(10_000_000) + "[limits]\ntemperature = 100\n"));
    let mut first = job.start(&["run", "job.toml"]);
    assert!(job.appears("out/melt.h5", &mut first));
    signal(first.id(), "TERM");
    first.wait().unwrap();
    let checkpoints = || {
        let names = fs::read_dir(job.path("out")).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".scp")).count()
    };
    let before = checkpoints();
    job.fails(
        &["resume", "out", "--set", "run.timestep=0.002"],
        &["--set run.timestep=0.002: ", "cannot be changed", "resume takes limits, "],
    );
    assert_eq!(checkpoints(), before);
    job.fails(
        &["resume", "out", "--set", "limits.temperature=1e-6"],
        &["temperature", "limits.temperature"],
    );
    let set = ["--set", "limits.temperature=50", "--set", "checkpoint.minutes=1"];
    let ended = job.execute(&[&["resume", "out", "--max-walltime", "0s"], &set[..]].concat());
    assert_eq!(ended.code, Some(75), "{ended:?}");
}
