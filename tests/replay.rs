//! `supercool correlate`: observables of stored trajectories equal those that the run made while it went on.
mod common;

use common::job::{Job, kob_andersen};
use supercool_analysis::results::{Function, ResultsFile};

const EVERY: u64 = 4;

fn stage(observables: &str, structure: bool) -> String {
    let structure = match structure {
        true => "structure = { every = 40, maximum_distance = 3.0, maximum_wavenumber = 8.0 }\n",
        false => "",
    };
    let wavenumbers = match observables.contains("scattering") {
        true => "wavenumbers = [2.0, 7.25]\n",
        false => "",
    };
    format!(
        r#"
[[stage]]
name = "melt"
steps = 300
thermostat = {{ kind = "langevin", temperature = 1.0, friction = 2.0 }}

[[stage]]
name = "production"
steps = 200
[stage.observe]
trajectory = {EVERY}
gsd = true
{structure}
[[stage.correlation]]
every = {EVERY}
block_size = 5
{wavenumbers}observables = [{observables}]
"#
    )
}

const OBSERVABLES: &str = r#""mean-square-displacement", "non-gaussian-parameter", "velocity-autocorrelation",
    "self-intermediate-scattering-function", "coherent-intermediate-scattering-function", "self-overlap",
    "self-overlap-susceptibility", "collective-overlap""#;

fn job(observables: &str, structure: bool) -> Job {
    let run = "timestep = 0.004\nthreads = 2";
    Job::new(&(kob_andersen(3, 500, "double", run) + &stage(observables, structure)))
}

/// Values, errors and counts agree to `tolerance` in relation to the largest value of each curve.
fn agree(found: &[Function], expected: &[Function], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let name = format!("{}/{}", expected.group, expected.name);
        assert_eq!(format!("{}/{}", found.group, found.name), name);
        for (found, expected) in found.curves.iter().zip(&expected.curves) {
            assert_eq!(found.count, expected.count, "{name}");
            for (found, expected) in
                [(&found.value, &expected.value), (&found.error, &expected.error)]
            {
                let size =
                    expected.iter().filter(|x| x.is_finite()).fold(0.0f64, |a, b| a.max(b.abs()));
                for (a, b) in found.iter().zip(expected) {
                    assert!(
                        (a - b).abs() <= tolerance * size || a.is_nan() && b.is_nan(),
                        "{name}: {a}, {b}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_stored_trajectory_gives_what_the_run_gave() {
    let job = job(OBSERVABLES, true);
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let online = job.results("production");
    let (dynamics, structure) = (online.dynamics().unwrap(), online.structure().unwrap());
    assert!(dynamics.len() > 15 && structure.len() >= 6);
    // Positions of H5MD have 64 bits, those of GSD 32 bits: 1e-6 of the box beside displacements of 0.1.
    for (file, tolerance) in [("production.h5md", 1e-12), ("production.gsd", 1e-4)] {
        let ended = job.succeeds(&[
            "correlate",
            &format!("out/{file}"),
            "job.toml",
            "--output",
            file,
            "--quiet",
        ]);
        assert!(ended.stdout.contains("51 frames of 500 particles"), "{}", ended.stdout);
        let again = ResultsFile::open(&job.path(&format!("{file}/production.h5"))).unwrap();
        agree(&again.dynamics().unwrap(), &dynamics, tolerance);
        // Particles at the edge of a bin may change it.
        agree(&again.structure().unwrap(), &structure, tolerance.max(1e-10) * 100.0);
        assert!(again.parameter("tuning").unwrap().contains(file));
    }
    // What is there is not overwritten.
    let again = ["correlate", "out/production.gsd", "job.toml", "--output", "production.gsd"];
    job.fails(&again, &["holds the files of an earlier run (production.h5)"]);
    job.succeeds(&[&again[..], &["--force", "--quiet"]].concat());
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_written() {
    let job = job(OBSERVABLES, true);
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let refused = |toml: String, more: &[&str], parts: &[&str]| {
        job.write("other.toml", &toml);
        let arguments = ["correlate", "out/production.h5md", "other.toml", "--output", "other"];
        job.fails(&[&arguments[..], more].concat(), parts);
        assert!(!job.path("other").exists());
    };
    let run = "timestep = 0.004\nthreads = 2";
    let base = kob_andersen(3, 500, "double", run);
    let msd = "\"mean-square-displacement\"";
    refused(
        kob_andersen(3, 400, "double", run) + &stage(msd, false),
        &[],
        &["a box of", "but the configuration has", "system.box"],
    );
    refused(
        kob_andersen(3, 500, "double", "timestep = 0.002") + &stage(msd, false),
        &[],
        &["a step takes 0.004", "run.timestep = 0.002"],
    );
    refused(
        base.clone()
            + &stage(msd, false)
                .replace("every = 4", "every = 10")
                .replace("trajectory = 4", "trajectory = 20"),
        &[],
        &["correlation.every = 10, but frames are 4 steps apart", "such as 12"],
    );
    refused(
        base.clone() + &stage("\"stress-autocorrelation\"", false),
        &[],
        &["stress_autocorrelation needs the stress tensor"],
    );
    refused(
        base.clone() + &stage(msd, false),
        &["--stage", "melt"],
        &["--stage melt: no such stage", "\"production\""],
    );
    // Nor are the run's own files ever removed.
    let own = ["correlate", "out/production.h5md", "job.toml", "--output", "out", "--force"];
    job.fails(&own, &["--output", "the trajectory itself lies there"]);
    assert!(job.path("out/production.h5md").exists() && job.path("out/production.h5").exists());
    job.fails(&["correlate", "job.toml", "job.toml", "--output", "other"], &["job.toml"]);
}
