//! Stages that begin from a minimum of the energy, and stages that change the box.
use std::fs;

use supercool::output::{Checkpoint, latest_valid};

use crate::common::contents::assert_same_numbers;
use crate::common::job::{Job, kob_andersen};

fn liquid(precision: &str) -> String {
    kob_andersen(3, 256, precision, "timestep = 0.004\nthreads = 1\nskin = 0.2")
}

fn last(job: &Job) -> Checkpoint {
    latest_valid(&job.path("out")).unwrap().checkpoint.unwrap().2
}

fn state(job: &Job) -> (Vec<u64>, Vec<u64>, Vec<i32>) {
    let last = last(job);
    let bits = |name| last.get_u64(name).unwrap();
    (bits("position"), bits("velocity"), last.get_i32("image").unwrap())
}

const QUENCH: &str = r#"
[[stage]]
name = "melt"
steps = 200
thermostat = { kind = "andersen", temperature = 1.5, rate = 10.0 }
observe = { inherent_structures = { every = 200, force_tolerance = 1e-4 } }

[[stage]]
name = "quench"
minimize = { force_tolerance = 1e-4 }
observe = { thermodynamics = 1, trajectory = 1 }

[[stage]]
name = "again"
steps = 100
minimize = { force_tolerance = 1e-4, temperature = 0.5 }
observe = { thermodynamics = 50 }
"#;

#[test]
fn a_stage_begins_from_the_minimum_below_the_state_before() {
    for precision in ["fixed-point", "double-single"] {
        let [whole, parts] = [(); 2].map(|()| Job::new(&(liquid(precision) + QUENCH)));
        let report = whole.succeeds(&["check", "job.toml"]).stdout;
        assert!(report.contains("quench: 0 steps, time 0, from the energy minimum"), "{report}");
        whole.succeeds(&["run", "job.toml", "--quiet"]);
        let value = |stage: &str, name: &str| whole.series(stage, name);
        let inherent = *value("melt", "inherent_structure_energy").last().unwrap();
        let [quenched] = value("quench", "potential_energy")[..] else { panic!() };
        // Rounded to the precision of the run.
        assert!((quenched - inherent).abs() < 2e-5, "{precision}: {quenched} {inherent}");
        assert_eq!(value("quench", "kinetic_energy"), [0.0]);
        // That of a minimum is the minimum.
        let again = [value("again", "potential_energy")[0], value("again", "temperature")[0]];
        assert!((again[0] - quenched).abs() < 2e-5, "{again:?}");
        // Of whole steps, from velocities of exactly this temperature.
        assert!((again[1] - 0.5).abs() < 0.01, "{again:?}");
        assert_eq!(supercool_analysis::open(whole.path("out/quench.h5md")).unwrap().len(), 1);

        // The last checkpoint is then that of the melt or of the minimum, which have the same step.
        parts.succeeds(&["run", "job.toml", "--quiet"]);
        fs::remove_file(parts.path("out/checkpoint-300.scp")).unwrap();
        parts.succeeds(&["resume", "out", "--quiet"]);
        assert_same_numbers(&whole.path("out/again.h5"), &parts.path("out/again.h5"));
        assert!(state(&whole) == state(&parts), "{precision}");
    }
}

const COMPRESS: &str = r#"
[[stage]]
name = "compress"
steps = 400
density = { to = 1.25, every = 30 }
thermostat = { kind = "nose-hoover", temperature = 1.5, period = 0.5 }
observe = { thermodynamics = 20 }

[[stage]]
name = "dense"
steps = 100
observe = { thermodynamics = 50, trajectory = 50, structure = { every = 50 } }
[[stage.correlation]]
every = 10
wavenumbers = [7.25]
"#;

#[test]
fn a_stage_changes_the_density_for_those_after_it() {
    for precision in ["fixed-point", "double"] {
        let [whole, parts] = [(); 2].map(|()| {
            Job::new(&(liquid(precision).replace("density = 1.2", "density = 1.15") + COMPRESS))
        });
        whole.succeeds(&["run", "job.toml", "--quiet"]);
        let frame =
            supercool_analysis::open(whole.path("out/dense.h5md")).unwrap().read(1).unwrap();
        let volume: f64 = frame.box_edges.iter().product();
        assert!((256.0 / volume - 1.25).abs() < 1e-12, "{volume}");
        // The pressure goes up with the density; the box is one more and more dense.
        let pressure = whole.series("compress", "pressure");
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (first, last) = (mean(&pressure[5..9]), mean(&pressure[17..21]));
        assert!(last > first + 1.0, "{pressure:?}");
        // Forces, energies and virial are those of the new box: at constant energy, the energy stays.
        let energy = whole.series("dense", "internal_energy");
        assert!((energy[2] - energy[0]).abs() < 2e-3, "{energy:?}");

        // Stopped within the stage, between two changes of the box.
        parts.runs_in_parts(3, "0.02s");
        for stage in ["compress", "dense"] {
            let file = format!("out/{stage}.h5");
            assert_same_numbers(&whole.path(&file), &parts.path(&file));
        }
        assert!(state(&whole) == state(&parts), "{precision}");
    }
}

const STRETCH: &str = r#"
[[stage]]
name = "stretch"
steps = 300
box = { to = [6.3, 5.9, 6.0], every = 40 }
thermostat = { kind = "bussi", temperature = 1.5, time = 0.2 }
observe = { thermodynamics = 10, trajectory = 100 }

[[stage]]
name = "stretched"
steps = 100
observe = { thermodynamics = 50, trajectory = 50 }
"#;

#[test]
fn a_stage_gives_each_edge_a_length_of_its_own() {
    let [whole, parts] = [(); 2].map(|()| Job::new(&(liquid("fixed-point") + STRETCH)));
    let report = whole.succeeds(&["check", "job.toml"]).stdout;
    assert!(report.contains("to a box of 6.300000 x 5.900000 x 6.000000 every 40"), "{report}");
    whole.succeeds(&["run", "job.toml", "--quiet"]);
    let open = |stage: &str| supercool_analysis::open(whole.path(stage)).unwrap();
    assert_eq!(open("out/stretched.h5md").read(1).unwrap().box_edges, [6.3, 5.9, 6.0]);
    // In the course of the stage edges change in proportion to the steps, from those of the density 1.2.
    let before = (256.0_f64 / 1.2).cbrt();
    let at = |share: f64| [6.3, 5.9, 6.0].map(|end| before + share * (end - before));
    let edges = open("out/stretch.h5md").read(1).unwrap().box_edges;
    assert!(edges.iter().zip(at(80.0 / 300.0)).all(|(a, b)| (a - b).abs() < 1e-12), "{edges:?}");
    // The last sample is taken before the last change.
    let density = *whole.series("stretch", "density").last().unwrap();
    let expected = 256.0 / at(280.0 / 300.0).iter().product::<f64>();
    assert!((density - expected).abs() < 1e-12, "{density} {expected}");
    // Forces and energies are those of the new box: at constant energy, the energy stays.
    let energy = whole.series("stretched", "internal_energy");
    assert!((energy[2] - energy[0]).abs() < 2e-3, "{energy:?}");

    parts.runs_in_parts(3, "0.02s");
    for stage in ["stretch", "stretched"] {
        let file = format!("out/{stage}.h5");
        assert_same_numbers(&whole.path(&file), &parts.path(&file));
    }
    assert!(state(&whole) == state(&parts));
}
