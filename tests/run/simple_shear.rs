//! Stages of strain in simple shear as a user runs them: tilts of frames, flips of the box, flows before and after, resumes.
use serde_json::json;
use supercool::output::{Checkpoint, checkpoints_in, state_from_checkpoint};
use supercool::plan::ShearPlan;
use supercool::system::SimulationBox;
use supercool_analysis::Frame;

use crate::common::contents::assert_same_numbers;
use crate::common::job::{Job, kob_andersen};
use crate::common::python::check_with_python;

/// A flow tilts the box by two fifths; the strain goes through the flip and back through plastic events.
fn toml(rest: &str) -> String {
    kob_andersen(2, 100, "fixed-point", "timestep = 0.004\nthreads = 2")
        + r#"
[[stage]]
name = "flow"
steps = 100
shear = { rate = 0.99 }
thermostat = { kind = "bussi", temperature = { from = 1.5, to = 0.2 }, time = 0.1 }
observe = { thermodynamics = 50, inherent_structures = { every = 50 } }

[[stage]]
name = "strain"
strain = { mode = "simple-shear", step = 1e-2, to = [0.16, 0.02], halve_to = 5e-3 }
observe = { trajectory = 2, gsd = true }

[[stage]]
name = "after"
steps = 20
minimize = { temperature = 0.2 }
thermostat = { kind = "bussi", temperature = 0.2, time = 0.2 }
observe = { thermodynamics = 20, trajectory = 20 }
"# + rest
}

fn dataset(job: &Job, file: &str, path: &str) -> Vec<f64> {
    let file = hdf5::File::open(job.path(&format!("out/{file}"))).unwrap();
    file.dataset(path).unwrap().read_raw().unwrap()
}

fn frames(job: &Job, name: &str) -> Vec<Frame> {
    let reader = supercool_analysis::open(job.path(name)).unwrap();
    (0..reader.len()).map(|index| reader.read_tilted(index).unwrap()).collect()
}

/// Files of all stages, to the bit.
fn assert_same(a: &Job, b: &Job) {
    for name in
        ["flow.h5", "flow.inherent.h5md", "strain.h5", "strain.h5md", "after.h5", "after.h5md"]
    {
        let [a, b] = [a, b].map(|job| job.path(&format!("out/{name}")));
        assert_same_numbers(&a, &b);
    }
    let [a, b] = [a, b].map(|job| frames(job, "out/strain.gsd"));
    let of = |frame: &Frame| (frame.tilt, frame.position.clone(), frame.image.clone());
    assert!(a.iter().map(of).eq(b.iter().map(of)), "strain.gsd");
}

#[test]
fn frames_have_the_tilts_of_their_strains_through_a_flip() {
    let job = Job::new(&toml(""));
    job.succeeds(&["run", "job.toml"]);
    let straight = SimulationBox::cubic(2, 100, 1.2);
    let reference = ShearPlan::Steady { rate: 0.99 }.box_after(&straight, 0.004, 100).tilt();
    assert!((reference - 0.396).abs() < 1e-12);
    let strains = dataset(&job, "strain.h5", "strain/strain");
    assert_eq!(strains.len(), 31);
    let tilt = |strain: f64| SimulationBox::nearest_tilt(reference + strain);
    let tilts: Vec<f64> = strains.iter().step_by(2).map(|&strain| tilt(strain)).collect();
    assert!(tilts[5] > 0.49 && tilts[6] < -0.48, "{tilts:?}");
    for name in ["out/strain.h5md", "out/strain.gsd"] {
        for (frame, tilt) in frames(&job, name).iter().zip(&tilts) {
            // GSD has 32 bits.
            assert!((frame.tilt - tilt).abs() < 1e-6, "{name}: {} {tilt}", frame.tilt);
        }
    }
    let expected = json!({ "edges": straight.edges(), "tilts": tilts });
    job.write("expected.json", &expected.to_string());
    let json = job.path("expected.json");
    let files = ["out/strain.h5md", "out/strain.gsd"].map(|name| job.path(name));
    check_with_python("gsd.hoomd, MDAnalysis", "tilted.py", &[&files[0], &files[1], &json]);
    // The stress is that of the tensor, and the next stage begins in the last box.
    let tensors = dataset(&job, "strain.h5", "strain/stress_tensor/value");
    let stresses = dataset(&job, "strain.h5", "strain/stress/value");
    assert!(tensors.as_chunks::<4>().0.iter().map(|tensor| tensor[1]).eq(stresses));
    let after = frames(&job, "out/after.h5md");
    assert!(after.iter().all(|frame| (frame.tilt - tilt(0.02)).abs() < 1e-14));
    assert!(job.series("after", "temperature")[1] > 0.0);
    let (_, last) = checkpoints_in(&job.path("out")).unwrap().swap_remove(0);
    let state = state_from_checkpoint(&Checkpoint::read(&last).unwrap(), &last).unwrap();
    assert!((state.simulation_box.tilt() - tilt(0.02)).abs() < 1e-14);
    // Minima below the flow are in its boxes, and so are those that a strain begins with.
    let minima = frames(&job, "out/flow.inherent.h5md");
    assert_eq!(minima.len(), 3);
    assert!((minima[1].tilt - 0.198).abs() < 1e-12 && (minima[2].tilt - 0.396).abs() < 1e-12);
    let energies = dataset(&job, "flow.h5", "observables/inherent_structure_energy/value");
    let first = dataset(&job, "strain.h5", "strain/potential_energy/value")[0];
    assert!((energies[2] - first).abs() < 1e-9, "{energies:?} {first}");
}

#[test]
fn a_simple_shear_that_is_stopped_and_resumed_has_the_bits_of_one_that_is_not() {
    let whole = Job::new(&toml(""));
    whole.succeeds(&["run", "job.toml"]);
    let job = Job::new(&toml("\n[checkpoint]\nminutes = 0.0005\n"));
    job.runs_with_stops_and_kills();
    assert_same(&whole, &job);
}

#[test]
fn an_ensemble_is_sheared_from_the_frames_of_a_flow() {
    let first = Job::new(&toml(""));
    first.succeeds(&["run", "job.toml"]);
    let checkpoint = checkpoints_in(&first.path("out")).unwrap().swap_remove(0).1;
    let text =
        toml("\n[ensemble]\nkind = \"independent\"\nsystems = 2\n").replace(", gsd = true", "");
    let start = format!("initial = {{ file = {checkpoint:?}, temperature = 1.5 }}");
    let lines = text.lines().map(|line| if line.starts_with("initial") { &start } else { line });
    let job = Job::new(&lines.map(|line| format!("{line}\n")).collect::<String>());
    job.succeeds(&["run", "job.toml"]);
    let each = dataset(&job, "strain.h5", "systems/strain/stress/value");
    let mean = dataset(&job, "strain.h5", "strain/stress/value");
    for (mean, each) in mean.iter().zip(each.as_chunks::<2>().0) {
        assert!((0.5 * (each[0] + each[1]) - mean).abs() < 1e-12 && each[0] != each[1]);
    }
    // The tilt of the file, of the flow and of the strain.
    let edges = dataset(&job, "strain.h5md", "particles/system-1/box/edges/value");
    let last = &edges[edges.len() - 9..];
    let tilt = SimulationBox::nearest_tilt(last[3] / last[0]);
    assert!((tilt - SimulationBox::nearest_tilt(2.0 * 0.416)).abs() < 1e-12, "{tilt}");
}

#[test]
fn a_box_too_narrow_for_the_tilts_is_refused() {
    let shear = "[[stage]]\nname = \"strain\"\nstrain = { mode = \"simple-shear\", step = 1e-2, to = 0.6 }\n";
    let job = Job::new(&(kob_andersen(2, 60, "double", "timestep = 0.004") + shear));
    job.fails(
        &["check", "job.toml"],
        &["stage[\"strain\"].strain: the edge", "too short for a tilt of 0.5", "7.95"],
    );
}
