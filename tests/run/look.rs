//! What a user looks at: a running job, a page of results, the suites of the validation.
use std::fs;

use crate::common::job::{Ended, Job, kob_andersen, signal};

fn toml(steps: u64) -> String {
    kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1\nskin = 0.3")
        .replace(r#"directory = "out""#, "directory = \"out\"\nflush_seconds = 0.02")
        + &format!(
            r#"
[[stage]]
name = "melt"
steps = 200
thermostat = {{ kind = "langevin", temperature = 2.0, friction = 2.0 }}
observe = {{ thermodynamics = 10 }}
[[stage]]
name = "production"
steps = {steps}
observe = {{ thermodynamics = 10, structure = {{ every = 50, maximum_wavenumber = 8.0 }} }}
[[stage.correlation]]
every = 5
wavenumbers = [7.25]
observables = ["mean-square-displacement", "self-intermediate-scattering-function", "non-gaussian-parameter", "mean-quartic-displacement", "self-overlap", "self-overlap-susceptibility"]
"#
        )
}

#[test]
fn a_running_job_is_seen_from_another_process() {
    let job = Job::new(&toml(100_000_000));
    let mut process = job.start(&["run", "job.toml", "--quiet"]);
    assert!(job.appears("out/production.h5", &mut process));
    let mut last = 0;
    for _ in 0..3 {
        // Every look sees a later step.
        let (seen, step) = loop {
            let seen = job.succeeds(&["watch", "out", "--once"]).stdout;
            let step = seen.split("step ").nth(1).and_then(|rest| rest.split(' ').next());
            let step: u64 = step.and_then(|step| step.parse().ok()).unwrap_or(0);
            if step > last {
                break (seen, step);
            }
        };
        last = step;
        if step > 1000 {
            for part in
                ["stage production (2 of 2)", "of 100000200", "steps/s", "left", "drift of E/N"]
            {
                assert!(seen.contains(part), "no {part:?} in {seen}");
            }
            for part in ["mean-square displacement of A", "F_s(t) of A, q = 7", "T ", "U/N -"] {
                assert!(seen.contains(part), "no {part:?} in {seen}");
            }
        }
    }
    signal(&process, "TERM");
    assert_eq!(Ended::of(process).code, Some(75));
    job.fails(&["watch", "missing", "--once"], &["missing"]);
    fs::create_dir(job.path("empty")).unwrap();
    job.fails(&["watch", "empty", "--once"], &["empty", "no results files"]);
}

#[test]
fn a_page_holds_everything_and_needs_nothing_else() {
    let job = Job::new(&toml(1000));
    job.succeeds(&["run", "job.toml", "--quiet"]);
    // A finished run ends the watching by itself.
    assert!(job.succeeds(&["watch", "out"]).stdout.contains("the run has finished"));
    let ended = job.succeeds(&["report", "out/production.h5"]);
    assert_eq!(ended.stdout.trim(), "out/production.html");
    let page = fs::read_to_string(job.path("out/production.html")).unwrap();
    for heading in [
        "Thermodynamics",
        "Structure",
        "Dynamics",
        "Four-point susceptibility",
        "Performance and hardware",
        "Configuration",
    ] {
        assert!(page.contains(&format!("<h2>{heading}</h2>")), "no {heading}");
    }
    for part in [
        "drift of conserved energy",
        "steps per second",
        "processor",
        "[[stage.correlation]]",
        "&quot;production&quot;",
    ] {
        assert!(page.contains(part), "no {part:?}");
    }
    assert_eq!(page.matches("<svg").count(), 4);
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    // Nothing is fetched from anywhere.
    let names = page.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", "src=", "<script", "<link", "@import", "url("] {
        assert!(!names.contains(outside), "{outside}");
    }
    job.succeeds(&["report", "out/melt.h5", "-o", "page.html"]);
    assert!(!fs::read_to_string(job.path("page.html")).unwrap().contains("<h2>Dynamics</h2>"));
    job.fails(&["report", "job.toml"], &["job.toml"]);
}

const SUITE: &str = r#"
title = "A fluid"
[template]
fluid = """
[system]
dimension = 3
density = 0.5
species = [{ name = "A", count = 108 }]
initial = { lattice = "fcc", temperature = $temperature }
[potential]
kind = "lennard-jones"
cutoff = 2.0
truncation = "shifted"
pairs = { AA = { epsilon = 1.0, sigma = 1.0 } }
[run]
engine = "cpu"
precision = "fixed-point"
timestep = 0.004
threads = 1
[[stage]]
name = "one"
steps = $steps
observe = { thermodynamics = 1 }
"""
[[case]]
name = "hot"
template = "fluid"
values = { temperature = 1.5 }
quick = { steps = 200 }
full = { steps = 300 }
[[case.expect]]
stage = "one"
statistic = "first"
observable = "temperature"
value = 1.5
tolerance = 1e-9
source = "as configured"
[[case.expect]]
stage = "one"
statistic = "largest-modulus"
observable = "center_of_mass_velocity"
at_most = 1e-9
source = "momentum is conserved"
[[case]]
name = "again"
template = "fluid"
values = { temperature = 1.5 }
quick = { steps = 200 }
[[case.expect]]
stage = "one"
statistic = "first"
observable = "temperature"
as = "hot"
source = "the same run"
[[case.expect]]
stage = "one"
observable = "pressure"
value = 100.0
error = 0.1
source = "nowhere"
"#;

#[test]
fn suites_are_run_once_judged_and_gone_on_with() {
    let job = Job::new("");
    fs::create_dir(job.path("suites")).unwrap();
    job.write("suites/fluid.toml", SUITE);
    let command = ["validate", "--folder", "suites", "--output", "found", "--quiet"];
    let stopped = job.execute(&[&command[..], &["--max-walltime", "0s"]].concat());
    assert_eq!(stopped.code, Some(75), "{stopped:?}");
    let ended = job.execute(&command);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for part in [
        "fluid/hot",
        "first temperature",
        "of tolerance",
        "holds",
        "fluid/again",
        "FAILS",
        "1 of 4 quantities fail",
    ] {
        assert!(ended.stdout.contains(part), "no {part:?} in {}", ended.stdout);
    }
    assert_eq!(ended.stdout.matches("FAILS").count(), 1, "{}", ended.stdout);
    let json = fs::read_to_string(job.path("found/quick/report.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["quantities"].as_array().unwrap().len(), 4);
    assert_eq!(json["quantities"][3]["verdict"], "fails");
    assert!(fs::read_to_string(job.path("found/quick/report.html")).unwrap().contains("nowhere"));
    // What is there is not run again.
    let written =
        || fs::metadata(job.path("found/quick/fluid/hot/one.h5")).unwrap().modified().unwrap();
    let before = written();
    assert_eq!(job.execute(&command).stdout, ended.stdout);
    assert_eq!(before, written());
    // But a changed case is, and one that only the other size has is not.
    job.write("suites/fluid.toml", &SUITE.replace("value = 100.0\nerror = 0.1", "at_most = 100.0"));
    job.succeeds(&[&command[..], &["fluid", "--full"]].concat());
    assert!(!job.path("found/full/fluid/again").exists());
    job.fails(&[&command[..], &["glass"]].concat(), &["no suite glass", "fluid"]);
    job.write("suites/fluid.toml", &SUITE.replace("$steps", "$stepps"));
    job.fails(&command, &["suite fluid, case hot", "$stepps has no value"]);
}
