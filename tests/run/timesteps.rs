//! Stages with timesteps of their own.
use std::fs;

use supercool::output::latest_valid;
use supercool_analysis::results::ResultsFile;

use crate::common::contents::assert_same_numbers;
use crate::common::job::{Job, kob_andersen};

fn toml(precision: &str) -> String {
    kob_andersen(3, 256, precision, "timestep = 0.004\nthreads = 1\nskin = 0.3")
        + r#"
[[stage]]
name = "melt"
steps = 200
thermostat = { kind = "bussi", temperature = 1.0, time = 0.1 }
observe = { thermodynamics = 50 }

[[stage]]
name = "fine"
steps = 300
timestep = 0.001
observe = { thermodynamics = 50, trajectory = 100 }
[[stage.correlation]]
from = 0.01
observables = ["mean-square-displacement"]

[[stage]]
name = "coarse"
steps = 100
timestep = 0.002
observe = { thermodynamics = 50 }
"#
}

#[test]
fn times_energies_and_lags_are_those_of_the_stages_timestep() {
    for precision in ["fixed-point", "double"] {
        let job = Job::new(&toml(precision));
        let report = job.succeeds(&["check", "job.toml"]).stdout;
        assert!(report.contains("600 steps in all, time 1.3"), "{report}");
        assert!(report.contains("fine: 300 steps of 0.001, time 0.3"), "{report}");
        job.succeeds(&["run", "job.toml", "--quiet"]);
        let open = |stage: &str| ResultsFile::open(&job.path(&format!("out/{stage}.h5"))).unwrap();
        let [melt, fine, coarse] = ["melt", "fine", "coarse"].map(open);
        for (file, timestep, times) in
            [(&melt, 0.004, [0.0, 0.8]), (&fine, 0.001, [0.8, 1.1]), (&coarse, 0.002, [1.1, 1.3])]
        {
            assert_eq!(file.number("parameters/timestep"), Some(timestep));
            let time = file.observable("temperature").unwrap().unwrap().time;
            let ends = [time[0], *time.last().unwrap()];
            for (found, expected) in ends.into_iter().zip(times) {
                assert!((found - expected).abs() < 1e-12, "{ends:?}");
            }
        }
        // The velocities are those of the stage before.
        let value = |file: &ResultsFile, name: &str| file.observable(name).unwrap().unwrap().value;
        for (before, after) in [(&melt, &fine), (&fine, &coarse)] {
            let last = *value(before, "kinetic_energy").last().unwrap();
            let first = value(after, "kinetic_energy")[0];
            // A sum of 768 squares, each of them rounded.
            assert!((last - first).abs() < 1e-11 * last, "{precision}: {last} {first}");
        }
        // Of the second order in the timestep: a sixteenth of that at 0.004, where rounding does not count.
        let scatter = |file: &ResultsFile| {
            let energies = value(file, "internal_energy");
            energies.iter().map(|energy| (energy - energies[0]).abs()).fold(0.0, f64::max)
        };
        let coarser =
            toml(precision).replace("timestep = 0.001\n", "").replace("from = 0.01", "every = 10");
        job.write("coarser.toml", &coarser);
        job.succeeds(&["run", "coarser.toml", "--quiet", "--output", "coarser"]);
        let coarser = ResultsFile::open(&job.path("coarser/fine.h5")).unwrap();
        let (small, large) = (scatter(&fine), scatter(&coarser));
        assert!(small < large / 4.0, "{precision}: {small} {large}");
        let displacement = fine.first_dynamics("mean_square_displacement").unwrap().unwrap();
        assert!((displacement.x[1] - 0.01).abs() < 1e-12, "{:?}", displacement.x);
        let frames = supercool_analysis::open(job.path("out/fine.h5md")).unwrap();
        let times: Vec<f64> = (0..4).map(|k| frames.read(k).unwrap().time.unwrap()).collect();
        assert!((times[3] - 1.1).abs() < 1e-12, "{times:?}");
    }
}

/// Between stages, where the last checkpoint has the timestep of the stage before.
#[test]
fn a_run_that_goes_on_between_timesteps_has_the_same_bits() {
    for precision in ["fixed-point", "double", "double-single", "single"] {
        let [whole, parts] = [(); 2].map(|()| Job::new(&toml(precision)));
        for job in [&whole, &parts] {
            job.succeeds(&["run", "job.toml", "--quiet"]);
        }
        fs::remove_file(parts.path("out/checkpoint-600.scp")).unwrap();
        let (step, ..) = latest_valid(&parts.path("out")).unwrap().checkpoint.unwrap();
        assert_eq!(step, 500);
        parts.succeeds(&["resume", "out", "--quiet"]);
        assert_same_numbers(&whole.path("out/coarse.h5"), &parts.path("out/coarse.h5"));
        let state = |job: &Job| {
            let checkpoint = latest_valid(&job.path("out")).unwrap().checkpoint.unwrap().2;
            (checkpoint.get_u64("position").unwrap(), checkpoint.get_u64("velocity").unwrap())
        };
        assert!(state(&whole) == state(&parts), "{precision}");
    }
}
