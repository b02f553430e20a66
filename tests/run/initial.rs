//! Runs that start from files.
use std::fs;

use supercool::output::Checkpoint;
use supercool_analysis::Frame;

use crate::common::data;
use crate::common::job::{Job, kob_andersen};

const STAGE: &str = r#"
[[stage]]
name = "first"
steps = 400
observe = { thermodynamics = 100, trajectory = 100, gsd = true }
"#;

fn toml(precision: &str) -> String {
    in_dimension(3, precision)
}

fn in_dimension(dimension: usize, precision: &str) -> String {
    kob_andersen(dimension, 256, precision, "timestep = 0.004\nthreads = 1\nskin = 0.3")
}

/// The same, from a file.
fn from(start: &str, initial: &str) -> String {
    let lattices =
        ["fcc", "square"].map(|name| format!(r#"lattice = "{name}", temperature = 1.5"#));
    let text = start
        .replace(&lattices[0], initial)
        .replace(&lattices[1], initial)
        .replace(r#"directory = "out""#, r#"directory = "second""#);
    assert!(text.contains(initial) && text.contains("second"));
    text + r#"
[[stage]]
name = "first"
steps = 200
observe = { thermodynamics = 100, trajectory = 100 }
"#
}

fn frame(job: &Job, file: &str, step: u64) -> Frame {
    supercool_analysis::open(job.path(file)).unwrap().read_step(Some(step)).unwrap()
}

/// Largest difference of positions, at the nearest image, and of velocities, where `b` is moved by
/// `shift` edges.
fn difference(a: &Frame, b: &Frame, shift: f64) -> f64 {
    let mut largest = 0.0f64;
    for particle in 0..a.particle_count() {
        for axis in 0..a.dimension {
            let edge = a.box_edges[axis];
            let distance = a.position[particle][axis] - b.position[particle][axis] + shift * edge;
            largest = largest.max((distance - edge * (distance / edge).round()).abs());
            let [va, vb] = [a, b].map(|frame| frame.velocity.as_ref().unwrap()[particle][axis]);
            largest = largest.max((va - vb).abs());
        }
    }
    largest
}

fn own_trajectories_are_gone_on_with(dimension: usize) {
    let start = in_dimension(dimension, "double");
    let job = Job::new(&(start.clone() + STAGE));
    job.succeeds(&["run", "job.toml"]);
    // Coordinates come back to rounding; GSD has 32-bit floats and its origin in the middle of the box.
    for (file, initial, step, tolerance, shift) in [
        ("first.h5md", "step = 200, ", 200, 1e-14, 0.0),
        ("first.h5md", "", 400, 1e-14, 0.0),
        ("first.gsd", "step = 100, ", 100, 1e-6, 0.5),
    ] {
        job.write("next.toml", &from(&start, &format!("{initial}file = \"out/{file}\"")));
        job.succeeds(&["run", "next.toml", "--force"]);
        let [was, is] = [frame(&job, "out/first.h5md", step), frame(&job, "second/first.h5md", 0)];
        let found = difference(&was, &is, shift);
        assert!(found <= tolerance, "{file}, step {step}: {found:e}");
        // And moves on as the first run did: errors grow by far less than a thousandfold in time 0.4.
        if step <= 300 {
            let [was, is] =
                [frame(&job, "out/first.h5md", step + 100), frame(&job, "second/first.h5md", 100)];
            let found = difference(&was, &is, shift);
            assert!(found <= 1000.0 * tolerance, "{file}, step {step} + 100: {found:e}");
        }
    }
    // New velocities where a temperature is given.
    job.write("next.toml", &from(&start, r#"file = "out/first.h5md", temperature = 0.7"#));
    job.succeeds(&["run", "next.toml", "--force"]);
    let temperature = supercool_analysis::results::ResultsFile::open(&job.path("second/first.h5"))
        .and_then(|file| file.observables())
        .unwrap()
        .into_iter()
        .find(|series| series.name == "temperature")
        .unwrap();
    assert!((temperature.value[0] - 0.7).abs() < 1e-12, "{:?}", temperature.value);
}

#[test]
fn our_own_trajectories_in_three_dimensions_are_gone_on_with() {
    own_trajectories_are_gone_on_with(3);
}

#[test]
fn our_own_trajectories_in_two_dimensions_are_gone_on_with() {
    own_trajectories_are_gone_on_with(2);
}

#[test]
fn from_a_checkpoint_a_run_goes_on_with_the_same_bits() {
    for precision in ["fixed-point", "double"] {
        let whole = toml(precision)
            + "[[stage]]\nname = \"first\"\nsteps = 200\n[[stage]]\nname = \"second\"\nsteps = 200\n";
        let job = Job::new(&whole);
        job.succeeds(&["run", "job.toml"]);
        for step in ["", ", step = 200"] {
            let initial = format!("file = \"out/checkpoint-200.scp\"{step}");
            job.write("next.toml", &from(&toml(precision), &initial));
            job.succeeds(&["run", "next.toml", "--force"]);
            let [expected, found] = ["out/checkpoint-400.scp", "second/checkpoint-200.scp"]
                .map(|name| Checkpoint::read(&job.path(name)).unwrap());
            for array in ["position", "velocity"] {
                let [expected, found] = [&expected, &found].map(|c| c.get_u64(array).unwrap());
                assert!(expected == found, "{precision}{step}: {array}");
            }
            assert_eq!(expected.get_i32("image").unwrap(), found.get_i32("image").unwrap());
        }
    }
}

/// A run from another one's end has the same seed: its noise must be another, the same whenever it is run, and after a stop.
#[test]
fn noise_behind_a_file_is_not_that_of_the_run_before() {
    // With collisions that frequent the velocities are the noise of one step.
    let thermostat = "thermostat = { kind = \"andersen\", temperature = 1.5, rate = 250.0 }\n";
    let stages = format!(
        "[[stage]]\nname = \"first\"\nsteps = 100\n{thermostat}[[stage]]\nname = \"second\"\nsteps = 100\n{thermostat}"
    );
    let text = toml("fixed-point") + &stages;
    let job = Job::new(&text);
    job.succeeds(&["run", "job.toml"]);
    let velocities =
        |file: &str| Checkpoint::read(&job.path(file)).unwrap().get_u64("velocity").unwrap();
    let lattice = r#"lattice = "fcc", temperature = 1.5"#;
    let next = |output: &str| {
        let file = "file = \"out/checkpoint-200.scp\"";
        let text = text
            .replace(lattice, file)
            .replace(r#"directory = "out""#, &format!("directory = \"{output}\""));
        job.write("next.toml", &text);
        job.succeeds(&["run", "next.toml"]);
    };
    next("second");
    next("third");
    let [before, behind, again] =
        ["out", "second", "third"].map(|run| velocities(&format!("{run}/checkpoint-200.scp")));
    assert!(behind == again);
    let equal = before.iter().zip(&behind).filter(|(before, behind)| before == behind).count();
    assert!(equal < before.len() / 100, "{equal} of {}", before.len());
    // The key is the checkpoint's.
    std::fs::remove_file(job.path("second/checkpoint-200.scp")).unwrap();
    job.succeeds(&["resume", "second"]);
    assert!(velocities("second/checkpoint-200.scp") == behind);
}

#[test]
fn masses_of_a_file_whose_velocities_are_taken_must_be_ours() {
    let job = Job::new(&(toml("double") + STAGE));
    job.succeeds(&["run", "job.toml"]);
    for file in ["out/first.h5md", "out/checkpoint-400.scp"] {
        for (temperature, heavy) in [("", true), (", temperature = 1.0", true), ("", false)] {
            let initial = format!("file = \"{file}\"{temperature}");
            let mut text = from(&toml("double"), &initial);
            if heavy {
                text = text.replace("{ name = \"B\", ", "{ name = \"B\", mass = 4.0, ");
            }
            job.write("next.toml", &text);
            if heavy && temperature.is_empty() {
                job.fails(
                    &["run", "next.toml", "--force"],
                    &["species B have mass 1, in system.species 4"],
                );
            } else {
                job.succeeds(&["run", "next.toml", "--force"]);
            }
        }
    }
}

#[test]
fn species_of_a_checkpoint_are_known_by_their_names() {
    let job = Job::new(&(toml("double") + STAGE));
    job.succeeds(&["run", "job.toml"]);
    let a_first = r#"{ name = "A", count = 205 }, { name = "B", count = 51 }"#;
    let b_first = r#"{ name = "B", count = 51 }, { name = "A", count = 205 }"#;
    let text = from(&toml("double"), r#"file = "out/checkpoint-400.scp""#);
    assert!(text.contains(a_first));
    job.write("next.toml", &text.replace(a_first, b_first));
    job.succeeds(&["run", "next.toml"]);
    let [was, is] = [frame(&job, "out/first.h5md", 400), frame(&job, "second/first.h5md", 0)];
    for name in ["A", "B"] {
        let [was, is] = [&was, &is].map(|frame| -> Vec<[f64; 3]> {
            frame.particles_of(name).iter().map(|&particle| frame.position[particle]).collect()
        });
        assert!(was.len() > 50 && was.len() == is.len(), "{name}");
        let differences = was.as_flattened().iter().zip(is.as_flattened()).map(|(a, b)| a - b);
        let largest = differences.fold(0.0f64, |largest, each| largest.max(each.abs()));
        assert!(largest < 1e-12, "{name}: {largest:e}");
    }
}

#[test]
fn extended_xyz_is_a_start() {
    let text = kob_andersen(3, 1000, "double", "timestep = 0.004\nthreads = 1\nskin = 0.3")
        .replace("density = 1.2", "box = [9.410360288810283, 9.410360288810283, 9.410360288810283]")
        .replace(r#"lattice = "fcc", temperature = 1.5"#, r#"file = "start.xyz""#)
        + "[[stage]]\nname = \"first\"\nsteps = 100\nobserve = { thermodynamics = 100, trajectory = 100 }\n";
    let job = Job::new(&text);
    fs::copy(data("kob_andersen_3d.xyz"), job.path("start.xyz")).unwrap();
    job.succeeds(&["run", "job.toml"]);
    let [was, is] = [frame(&job, "start.xyz", 0), frame(&job, "out/first.h5md", 0)];
    let found = difference(&was, &is, 0.0);
    assert!(found < 1e-13, "{found:e}");
}

/// Types that are only numbered are the species in their order.
#[test]
fn a_lammps_data_file_is_a_start() {
    let job = Job::new(&(toml("double") + STAGE));
    job.succeeds(&["run", "job.toml"]);
    let was = frame(&job, "out/first.h5md", 400);
    let velocity = was.velocity.as_ref().unwrap();
    let count = was.particle_count();
    let mut text = format!("A glass\n\n{count} atoms\n2 atom types\n\n");
    for (edge, axis) in was.box_edges.iter().zip(["x", "y", "z"]) {
        text += &format!("0 {edge} {axis}lo {axis}hi\n");
    }
    text += "\nMasses\n\n1 1\n2 1\n\nAtoms # atomic\n\n";
    // In any order.
    for i in (0..count).rev() {
        let [x, y, z] = was.position[i];
        text += &format!("{} {} {x} {y} {z}\n", i + 1, was.species[i] + 1);
    }
    text += "\nVelocities\n\n";
    for (i, [x, y, z]) in velocity.iter().enumerate() {
        text += &format!("{} {x} {y} {z}\n", i + 1);
    }
    job.write("glass.data", &text);
    job.write("next.toml", &from(&toml("double"), r#"file = "glass.data""#));
    job.succeeds(&["run", "next.toml"]);
    let is = frame(&job, "second/first.h5md", 0);
    assert_eq!(is.species, was.species);
    let found = difference(&was, &is, 0.0);
    assert!(found < 1e-14, "{found:e}");
    // A third type is no species of ours.
    job.write(
        "three.data",
        &text
            .replace("2 atom types", "3 atom types")
            .replace("2 1\n\nAtoms", "2 1\n3 1\n\nAtoms")
            .replace("\n256 2 ", "\n256 3 "),
    );
    job.write("next.toml", &from(&toml("double"), r#"file = "three.data", temperature = 1.0"#));
    job.fails(&["run", "next.toml", "--force"], &["three.data", "species \"3\"", "has A, B"]);
    // In units of molecules m v^2 is no energy: velocities cannot be taken, positions can.
    job.write("real.data", &text.replacen("A glass", "A glass, units = real", 1));
    job.write("next.toml", &from(&toml("double"), r#"file = "real.data""#));
    job.fails(&["run", "next.toml", "--force"], &["real.data", "velocities in units \"real\""]);
    job.write("next.toml", &from(&toml("double"), r#"file = "real.data", temperature = 1.0"#));
    job.succeeds(&["run", "next.toml", "--force"]);
}

#[test]
fn files_that_are_no_start_are_refused_by_name_and_reason() {
    let job = Job::new(&(toml("double") + STAGE));
    job.succeeds(&["run", "job.toml"]);
    job.write("text.h5", "some text\n");
    let empty = hdf5::File::create(job.path("empty.h5")).unwrap();
    empty.create_group("numbers").unwrap();
    drop(empty);
    fs::write(job.path("cut.gsd"), &fs::read(job.path("out/first.gsd")).unwrap()[..1000]).unwrap();
    let mut checkpoint = fs::read(job.path("out/checkpoint-400.scp")).unwrap();
    checkpoint[5000] ^= 1;
    fs::write(job.path("damaged.scp"), checkpoint).unwrap();
    job.write("plain.xyz", "2\nno box\nA 0 0 0\nB 1 1 1\n");
    let refused = |initial: &str, change: (&str, &str), reasons: &[&str]| {
        let text = from(&toml("double"), initial);
        assert!(text.contains(change.0));
        job.write("next.toml", &text.replace(change.0, change.1));
        let mut parts = vec!["next.toml:7: system.initial.file: "];
        parts.extend(reasons);
        job.fails(&["run", "next.toml"], &parts);
        job.fails(&["check", "next.toml"], &parts);
        assert!(!job.path("second").exists(), "{initial}: nothing is made for it");
    };
    let same = ("", "");
    refused(r#"file = "missing.h5""#, same, &["missing.h5", "No such file"]);
    refused(r#"file = "text.h5""#, same, &["text.h5", "no known format"]);
    refused(r#"file = "empty.h5""#, same, &["empty.h5", "particles"]);
    refused(r#"file = "cut.gsd""#, same, &["cut.gsd"]);
    refused(r#"file = "damaged.scp""#, same, &["damaged.scp", "hash"]);
    refused(r#"file = "plain.xyz""#, same, &["plain.xyz", "Lattice"]);
    refused(r#"file = "out""#, same, &["out"]);
    refused(r#"file = "out/first.h5""#, same, &["out/first.h5", "particles"]);
    refused(r#"file = "out/first.h5md", step = 150"#, same, &["first.h5md", "150"]);
    refused(
        r#"file = "out/checkpoint-400.scp", step = 7"#,
        same,
        &["checkpoint-400.scp", "holds step 400, not 7", "give step = 400"],
    );
    job.write("text.scp", "some text\n");
    refused(
        r#"file = "text.scp""#,
        same,
        &["system.initial.file: text.scp: not a supercool checkpoint"],
    );
    refused(r#"file = "missing.scp""#, same, &["missing.scp: No such file"]);
    let counts =
        ("count = 205 }, { name = \"B\", count = 51", "count = 200 }, { name = \"B\", count = 56");
    for file in ["first.gsd", "first.h5md", "checkpoint-400.scp"] {
        let initial = format!("file = \"out/{file}\"");
        refused(&initial, counts, &[file, "205 particles of species \"A\"", "200"]);
        refused(&initial, ("density = 1.2", "density = 1.1"), &[file, "box", "5.97"]);
    }
    let mut fast = String::from(
        "256\nLattice=\"5.975 0 0 0 5.975 0 0 0 5.975\" Properties=species:S:1:pos:R:3:vel:R:3\n",
    );
    for i in 0..256 {
        let (species, velocity) =
            (["A", "B"][usize::from(i >= 205)], if i == 17 { 1e6 } else { 0.0 });
        fast += &format!("{species} {} {} {} 0 {velocity} 0\n", i % 7, i / 7 % 7, i / 49);
    }
    job.write("fast.xyz", &fast);
    let text = from(&toml("fixed-point"), r#"file = "fast.xyz""#)
        .replace("density = 1.2", "box = [5.975, 5.975, 5.975]");
    job.write("next.toml", &text);
    job.fails(
        &["run", "next.toml"],
        &["system.initial", "particle 17", "1000000.0", "fixed-point"],
    );
    let name = ("name = \"B\"", "name = \"C\"");
    for file in ["first.gsd", "checkpoint-400.scp"] {
        let initial = format!("file = \"out/{file}\"");
        let text = from(&toml("double"), &initial).replace(name.0, name.1);
        job.write("next.toml", &text.replace("AB =", "AC =").replace("BB =", "CC ="));
        let parts = ["system.initial.file", file, "species \"B\"", "A, C"];
        job.fails(&["run", "next.toml"], &parts);
        // A species that the plan does not have at all.
        let text = from(&toml("double"), &initial)
            .replace(r#", { name = "B", count = 51 }"#, "")
            .replace("AB = { epsilon = 1.5, sigma = 0.8 }", "")
            .replace("BB = { epsilon = 0.5, sigma = 0.88 }", "")
            .replace("density = 1.2", "box = [5.975206329, 5.975206329, 5.975206329]");
        job.write("next.toml", &text);
        let parts = ["system.initial.file", file, "species \"B\"", "system.species has A"];
        job.fails(&["run", "next.toml"], &parts);
    }
    // Positions alone.
    let mut xyz = "256\nLattice=\"5.975206329 0 0 0 5.975206329 0 0 0 5.975206329\" \
                   Properties=species:S:1:pos:R:3\n"
        .to_owned();
    let positions = frame(&job, "out/first.h5md", 400);
    for (particle, [x, y, z]) in positions.position.iter().enumerate() {
        xyz += &format!("{} {x} {y} {z}\n", positions.species_name(particle));
    }
    job.write("still.xyz", &xyz);
    refused(r#"file = "still.xyz""#, same, &["still.xyz", "no velocities", "temperature"]);
}
