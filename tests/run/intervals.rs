//! Intervals that do not divide the stage, and frames at equal ratios of times.
use supercool_analysis::results::ResultsFile;

use crate::common::job::{Job, kob_andersen};

fn toml(steps: u64) -> String {
    kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1\nskin = 0.3")
        + &format!(
            r#"
[[stage]]
name = "melt"
steps = {steps}
[stage.observe]
thermodynamics = 10
trajectory = {{ every = 40, points_per_decade = 3 }}
gsd = true
structure = {{ every = 7 }}
bond_order = {{ every = 30, radius = 1.4 }}
[[stage.correlation]]
every = 4
block_size = 4
observables = ["mean-square-displacement", "stress-autocorrelation"]
"#
        )
}

/// A longer stage that every interval but one of them divides, cut off in mind.
#[test]
fn what_is_sampled_is_what_a_longer_stage_samples_up_to_there() {
    let (job, longer) = (Job::new(&toml(103)), Job::new(&toml(840)));
    let report = job.succeeds(&["check", "job.toml"]).stdout;
    assert!(report.contains("every 40 steps and 1, ..., 22 after each, 18 frames"), "{report}");
    for job in [&job, &longer] {
        job.succeeds(&["run", "job.toml", "--quiet"]);
    }
    let [energy, longer_energy] = [&job, &longer].map(|job| job.series("melt", "potential_energy"));
    assert_eq!(energy.len(), 11);
    assert_eq!(energy[..], longer_energy[..11]);
    assert_eq!(job.series("melt", "bond_orientational_order").len(), 4);
    for file in ["out/melt.h5md", "out/melt.gsd"] {
        let steps = supercool_analysis::open(job.path(file)).unwrap().steps().to_vec();
        let offsets = [0, 1, 2, 5, 10, 22];
        let mut expected: Vec<u64> =
            [0, 40].iter().flat_map(|&k| offsets.map(|by| k + by)).collect();
        expected.extend([80, 81, 82, 85, 90, 102]);
        expected.retain(|&step| step <= 103);
        assert_eq!(steps, expected, "{file}");
    }
    // Of 26 samples at 0, 4, ..., 100; each of the 205 particles counts.
    let results = ResultsFile::open(&job.path("out/melt.h5")).unwrap();
    let displacement = results.first_dynamics("mean_square_displacement").unwrap().unwrap();
    assert_eq!(displacement.curves[0].count[1], 25.0 * 205.0);
    assert_eq!(*displacement.x.last().unwrap(), 0.004 * 4.0 * 16.0);

    // The frames at the equal intervals are correlated again.
    let text = toml(103)
        .replace("every = 4\n", "every = 40\n")
        .replace(", \"stress-autocorrelation\"", "");
    let text =
        text.replace("structure = { every = 7 }\nbond_order = { every = 30, radius = 1.4 }\n", "");
    job.write("again.toml", &text.replace("block_size = 4", "block_size = 3"));
    job.succeeds(&["correlate", "out/melt.h5md", "again.toml", "--output", "again", "--quiet"]);
    let again = ResultsFile::open(&job.path("again/melt.h5")).unwrap();
    let again = again.first_dynamics("mean_square_displacement").unwrap().unwrap();
    assert_eq!(again.curves[0].count[1..], [2.0 * 205.0, 205.0]);
}

/// Without a repeated origin, every pair of frames counts whose lag is a step of a frame.
#[test]
fn frames_at_any_times_are_correlated() {
    let text = kob_andersen(3, 256, "double", "timestep = 0.004\nthreads = 1")
        + r#"
[[stage]]
name = "production"
steps = 150
observe = { trajectory = { every = 150, points_per_decade = 3 } }
[[stage.correlation]]
every = 5
observables = ["mean-square-displacement", "velocity-autocorrelation"]
"#;
    let job = Job::new(&text);
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let correlate = ["correlate", "out/production.h5md", "job.toml", "--output", "again"];
    job.succeeds(&[&correlate[..], &["--quiet"]].concat());
    let again = ResultsFile::open(&job.path("again/production.h5")).unwrap().dynamics().unwrap();
    let of = |name: &str| again.iter().find(|of| of.group == "A" && of.name == name).unwrap();
    let (msd, velocities) = (of("mean_square_displacement"), of("velocity_autocorrelation"));
    let steps: Vec<u64> = msd.x.iter().map(|time| (time / 0.004).round() as u64).collect();
    assert_eq!(steps, [0, 1, 2, 5, 10, 22, 46, 100, 150]);
    let trajectory = supercool_analysis::open(job.path("out/production.h5md")).unwrap();
    assert_eq!(trajectory.steps(), steps);
    let frames: Vec<_> = (0..trajectory.len()).map(|at| trajectory.read(at).unwrap()).collect();
    let places = frames[0].particles_of("A");
    for (index, lag) in steps.iter().enumerate() {
        let (mut square, mut product, mut origins) = (0.0, 0.0, 0);
        for from in &frames {
            let Some(to) = frames.iter().find(|to| to.step == from.step + lag) else { continue };
            origins += 1;
            for &i in &places {
                for k in 0..3 {
                    let images =
                        to.image.as_ref().unwrap()[i][k] - from.image.as_ref().unwrap()[i][k];
                    let moved = f64::from(images) * from.box_edges[k];
                    square += (to.position[i][k] - from.position[i][k] + moved).powi(2);
                    product +=
                        to.velocity.as_ref().unwrap()[i][k] * from.velocity.as_ref().unwrap()[i][k];
                }
            }
        }
        let count = f64::from(origins) * places.len() as f64;
        for (of, sum) in [(msd, square), (velocities, product)] {
            let curve = &of.curves[0];
            assert_eq!(curve.count[index], count, "{lag}");
            let expected = sum / count;
            let near = (curve.value[index] - expected).abs() < 1e-10 * expected.abs().max(1.0);
            assert!(near, "{}, {lag}: {} {expected}", of.name, curve.value[index]);
        }
    }
    // What is no correlation needs equal intervals.
    let order = "observe = { bond_order = { every = 5 }, ";
    job.write("order.toml", &text.replace("observe = { ", order));
    let arguments = ["correlate", "out/production.h5md", "order.toml", "--output", "order"];
    job.fails(&arguments, &["frame 3 is at step 5", "bond_order"]);
}
