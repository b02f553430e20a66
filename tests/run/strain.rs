//! Stages of strain as a user runs them: files, boxes, the stage after, resumes.
use supercool::output::{Checkpoint, checkpoints_in, state_from_checkpoint};

use crate::common::contents::numbers;
use crate::common::job::{Job, kob_andersen};

/// A few particles, strained there and back through plastic events.
fn toml(rest: &str) -> String {
    kob_andersen(2, 60, "fixed-point", "timestep = 0.004\nthreads = 2")
        + r#"
[[stage]]
name = "cool"
steps = 400
thermostat = { kind = "bussi", temperature = { from = 1.5, to = 0.2 }, time = 0.2 }

[[stage]]
name = "strain"
strain = { mode = "pure-shear", step = 1e-2, to = [0.06, -0.01], halve_to = 5e-3 }
observe = { trajectory = 2, gsd = true }
[[stage]]
name = "after"
steps = 20
draw_velocities = true
thermostat = { kind = "bussi", temperature = 0.2, time = 0.2 }
observe = { thermodynamics = 20, trajectory = 20 }
"# + rest
}

fn dataset(job: &Job, file: &str, path: &str) -> Vec<f64> {
    let file = hdf5::File::open(job.path(&format!("out/{file}"))).unwrap();
    file.dataset(path).unwrap().read_raw().unwrap()
}

/// Of all files of the stages, to the bit.
fn assert_same(a: &Job, b: &Job) {
    for name in ["strain.h5", "strain.h5md", "after.h5", "after.h5md"] {
        let [a, b] = [a, b].map(|job| numbers(&job.path(&format!("out/{name}"))));
        assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{name}");
        for (path, values) in &a {
            assert_eq!(values, &b[path], "{name}: {path}");
        }
    }
    let [a, b] = [a, b].map(|job| {
        let file = supercool_analysis::open(job.path("out/strain.gsd")).unwrap();
        let frame = |number| file.read(number).unwrap();
        (0..7).map(frame).map(|of| (of.box_edges, of.position, of.image)).collect::<Vec<_>>()
    });
    assert!(a == b, "strain.gsd");
}

#[test]
fn a_strain_writes_curves_and_frames_in_their_boxes_and_the_next_stage_keeps_its_box() {
    let job = Job::new(&toml(""));
    job.succeeds(&["run", "job.toml"]);
    let strains = dataset(&job, "strain.h5", "strain/strain");
    assert_eq!(strains.len(), 14);
    assert!((strains[6] - 0.06).abs() < 1e-15 && (strains[13] + 0.01).abs() < 1e-15);
    let energies = dataset(&job, "strain.h5", "strain/potential_energy/value");
    let tensors = dataset(&job, "strain.h5", "strain/stress_tensor/value");
    let stresses = dataset(&job, "strain.h5", "strain/stress/value");
    assert_eq!((energies.len(), tensors.len()), (14, 4 * 14));
    for (tensor, stress) in tensors.as_chunks::<4>().0.iter().zip(&stresses) {
        assert_eq!(tensor[0] - tensor[3], *stress);
    }
    // Pure shear keeps the area; frames have the box of their strain.
    let edges = dataset(&job, "strain.h5md", "particles/trajectory/box/edges/value");
    let first = edges[0];
    for (frame, edges) in edges.as_chunks::<3>().0.iter().enumerate() {
        let strain = strains[2 * frame];
        assert!((edges[0] / (first * strain.exp()) - 1.0).abs() < 1e-14, "frame {frame}");
        assert!((edges[0] * edges[1] / (first * first) - 1.0).abs() < 1e-14);
    }
    let after = dataset(&job, "after.h5md", "particles/trajectory/box/edges/value");
    assert!((after[0] / (first * (-0.01_f64).exp()) - 1.0).abs() < 1e-14);
    assert!(job.series("after", "temperature")[1] > 0.0);
    // The trajectory is read in these boxes.
    let trajectory = supercool_analysis::open(job.path("out/strain.gsd")).unwrap();
    let frame = trajectory.read(3).unwrap();
    assert!((frame.box_edges[0] / (first * 0.06_f64.exp()) - 1.0).abs() < 1e-6);
    let trajectory = supercool_analysis::open(job.path("out/strain.h5md")).unwrap();
    let frame = trajectory.read(3).unwrap();
    assert!((frame.box_edges[0] / (first * 0.06_f64.exp()) - 1.0).abs() < 1e-14);
}

#[test]
fn a_strain_that_is_stopped_and_resumed_has_the_bits_of_one_that_is_not() {
    let whole = Job::new(&toml(""));
    whole.succeeds(&["run", "job.toml"]);
    let job = Job::new(&toml("\n[checkpoint]\nminutes = 0.0005\n"));
    job.runs_with_stops_and_kills();
    assert_same(&whole, &job);
}

#[test]
fn the_state_within_a_strain_is_in_64_bits_and_after_it_in_the_precision_of_the_run() {
    let job = Job::new(&toml(""));
    job.succeeds(&["run", "job.toml"]);
    let (_, last) = checkpoints_in(&job.path("out")).unwrap().swap_remove(0);
    let state = state_from_checkpoint(&Checkpoint::read(&last).unwrap(), &last).unwrap();
    assert_eq!(state.precision.name(), "fixed-point");
}

#[test]
fn an_ensemble_is_strained_side_by_side() {
    let job = Job::new(
        &toml("\n[ensemble]\nkind = \"independent\"\nsystems = 3\n").replace(", gsd = true", ""),
    );
    job.succeeds(&["run", "job.toml"]);
    let mean = dataset(&job, "strain.h5", "strain/stress/value");
    let each = dataset(&job, "strain.h5", "systems/strain/stress/value");
    assert_eq!((mean.len(), each.len()), (14, 42));
    for (mean, each) in mean.iter().zip(each.as_chunks::<3>().0) {
        assert!((each.iter().sum::<f64>() / 3.0 - mean).abs() < 1e-12);
    }
    let systems = dataset(&job, "strain.h5", "strain/events/system");
    assert!(!systems.is_empty() && systems.iter().all(|system| (0.0..3.0).contains(system)));
}
