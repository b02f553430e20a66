//! `supercool convert`: what comes out of a file again when it went through another format.
mod common;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use common::job::{Job, kob_andersen};
use common::python::check_with_python;
use supercool_analysis::{Frame, open};

const COUNT: usize = 7;
const FRAMES: usize = 3;

/// A number with all its digits, between 0 and 1.
fn digits(of: usize) -> f64 {
    (0.618_033_988_749_894_9 * (of + 1) as f64).fract()
}

/// Frames with all that extended XYZ holds, in a box that changes; the particles keep their order.
fn whole(dimension: usize) -> String {
    let mut text = String::new();
    for frame in 0..FRAMES {
        let edges = [4.0 + 0.1 * frame as f64, 5.0 / 3.0 + frame as f64, 6.1];
        let [x, y, z] = if dimension == 3 { edges } else { [edges[0], edges[1], 1.0] };
        let _ = writeln!(
            text,
            "{COUNT}\nLattice=\"{x:?} 0 0 0 {y:?} 0 0 0 {z:?}\" \
             Properties=species:S:1:pos:R:3:velo:R:3:image:I:3:masses:R:1:radius:R:1:id:I:1 \
             dimension={dimension} step={} time={:?}",
            10 * frame,
            0.04 * frame as f64
        );
        for particle in 0..COUNT {
            let of = 100 * frame + 10 * particle;
            let third = if dimension == 3 { 1.0 } else { 0.0 };
            let species = if particle < 5 { "Ni" } else { "P" };
            let _ = writeln!(
                text,
                "{species} {:?} {:?} {:?} {:?} {:?} {:?} {} {} {} {:?} {:?} {particle}",
                digits(of) * x,
                digits(of + 1) * y,
                digits(of + 2) * z * third,
                digits(of + 3) - 0.5,
                digits(of + 4) - 0.5,
                (digits(of + 5) - 0.5) * third,
                frame as i32 - 1,
                particle as i32 - 3,
                if dimension == 3 { 2 } else { 0 },
                if particle < 5 { 58.7 } else { 31.0 },
                0.5 + 0.01 * particle as f64,
            );
        }
    }
    text
}

fn frames(path: &Path) -> Vec<Frame> {
    let reader = open(path).unwrap();
    (0..reader.len()).map(|index| reader.read(index).unwrap()).collect()
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) -> bool {
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= tolerance * (1.0 + b.abs()))
}

/// All but times and ids, up to `tolerance`, also where positions are moved by whole edges.
fn agree(found: &Frame, expected: &Frame, tolerance: f64) {
    assert_eq!((found.step, found.dimension), (expected.step, expected.dimension));
    assert_eq!(found.species_names, expected.species_names);
    assert_eq!(found.species, expected.species);
    assert!(close(&found.box_edges, &expected.box_edges, tolerance));
    for particle in 0..expected.particle_count() {
        let unwrapped = |frame: &Frame| frame.unwrapped(particle).unwrap();
        let far = 10.0 * tolerance;
        assert!(close(&unwrapped(found), &unwrapped(expected), far), "{particle}");
    }
    for (found, expected) in [(&found.mass, &expected.mass), (&found.diameter, &expected.diameter)]
    {
        assert!(close(found.as_ref().unwrap(), expected.as_ref().unwrap(), tolerance));
    }
    let velocity = |frame: &Frame| frame.velocity.clone().unwrap().concat();
    assert!(close(&velocity(found), &velocity(expected), tolerance));
}

/// There and back again through a format: exact, except in GSD.
fn comes_back(dimension: usize) {
    let job = Job::new("");
    job.write("source.xyz", &whole(dimension));
    let source = frames(&job.path("source.xyz"));
    assert_eq!(source[0].dimension, dimension);
    for (name, holds_times, holds_ids) in [
        ("a.xyz", true, true),
        ("a.h5md", true, true),
        ("a.lammpstrj", false, true),
        ("a.gsd", false, false),
    ] {
        let there = job.succeeds(&["convert", "source.xyz", name]).stdout;
        assert!(there.starts_with("3 frames of 7 particles, steps 0 to 20\n"), "{there}");
        assert!(there.ends_with(&format!("{name}\n")), "{there}");
        assert_eq!(there.contains("left out: times\n"), !holds_times, "{there}");
        for (file, back) in [(name, None), (name, Some("back.xyz")), (name, Some("back.h5md"))] {
            let read = match back {
                None => job.path(file),
                Some(back) => {
                    job.succeeds(&["convert", file, back, "--force"]);
                    job.path(back)
                }
            };
            let found = frames(&read);
            assert_eq!(found.len(), FRAMES);
            for (found, expected) in found.iter().zip(&source) {
                match name {
                    "a.gsd" => agree(found, expected, 1e-6),
                    _ => {
                        let mut found = found.clone();
                        if !holds_times {
                            assert_eq!(found.time, None, "{read:?}");
                            found.time = expected.time;
                        }
                        if name == "a.lammpstrj" {
                            // LAMMPS counts from 1.
                            found.id.iter_mut().flatten().for_each(|id| *id -= 1);
                        }
                        assert_eq!(&found, expected, "{read:?}");
                    }
                }
                assert_eq!(found.id.is_some(), holds_ids);
            }
        }
    }
    assert!(
        !fs::read_dir(job.path("."))
            .unwrap()
            .any(|entry| { entry.unwrap().file_name().to_string_lossy().contains("partial") })
    );
}

#[test]
fn three_dimensions_come_back() {
    comes_back(3);
}

#[test]
fn two_dimensions_come_back() {
    comes_back(2);
}

#[test]
fn a_gsd_file_comes_back_to_the_bit() {
    let job = Job::new("");
    job.write("source.xyz", &whole(3));
    job.succeeds(&["convert", "source.xyz", "a.gsd"]);
    job.succeeds(&["convert", "a.gsd", "b.h5md"]);
    let there = job.succeeds(&["convert", "b.h5md", "c.gsd"]).stdout;
    assert!(there.contains("left out: parameters\n"), "{there}");
    assert_eq!(fs::read(job.path("a.gsd")).unwrap(), fs::read(job.path("c.gsd")).unwrap());
}

#[test]
fn a_lammps_data_file_holds_one_frame() {
    let job = Job::new("");
    for dimension in [3, 2] {
        job.write("source.xyz", &whole(dimension));
        let source = frames(&job.path("source.xyz"));
        job.fails(&["convert", "source.xyz", "many.data"], &["holds one frame", "--frames -1"]);
        // Diameters make it one of style sphere, whose masses are made of densities.
        job.succeeds(&["convert", "source.xyz", "a.data", "--frames", "-1", "--force"]);
        let found = &frames(&job.path("a.data"))[0];
        agree(found, &source[2], 1e-15);
        assert_eq!(found.position, source[2].position);
        assert_eq!(found.image, source[2].image);
        let bare = whole(dimension).replace(":radius:R:1", ":unread:R:1");
        job.write("bare.xyz", &bare);
        let printed =
            job.succeeds(&["convert", "bare.xyz", "b.data", "--frames", "1", "--force"]).stdout;
        assert!(printed.contains("1 frame of 7 particles, step 10\n"), "{printed}");
        assert!(printed.contains("left out: times, unread\n"), "{printed}");
        let found = &frames(&job.path("b.data"))[0];
        assert_eq!(found.mass, source[1].mass);
        assert_eq!((&found.position, &found.velocity), (&source[1].position, &source[1].velocity));
        assert_eq!(found.species_names, ["Ni", "P"]);
        // As no style atomic can hold them.
        job.write("masses.xyz", &bare.replace("31.0", "31.5").replacen("31.5", "31.0", 1));
        let printed =
            job.succeeds(&["convert", "masses.xyz", "c.data", "--frames", "0", "--force"]).stdout;
        assert!(
            printed.contains("left out: times, masses, which differ within a species, unread"),
            "{printed}"
        );
        assert_eq!(frames(&job.path("c.data"))[0].mass, None);
    }
}

#[test]
fn positions_are_wrapped_or_unwrapped_as_is_wanted() {
    let job = Job::new("");
    job.write("source.xyz", &whole(3));
    let source = frames(&job.path("source.xyz"));
    for name in ["w.xyz", "w.h5md", "w.lammpstrj", "w.gsd"] {
        job.succeeds(&["convert", "source.xyz", name, "--wrapped"]);
        let found = frames(&job.path(name));
        assert!(found.iter().all(|frame| frame.image.is_none()), "{name}");
    }
    job.succeeds(&["convert", "source.xyz", "u.lammpstrj", "--unwrapped"]);
    for (found, expected) in frames(&job.path("u.lammpstrj")).iter().zip(&source) {
        agree(found, expected, 1e-15);
    }
    job.succeeds(&["convert", "source.xyz", "u.xyz", "--unwrapped"]);
    let text = fs::read_to_string(job.path("u.xyz")).unwrap();
    let line = text.lines().nth(2).unwrap();
    let x: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert_eq!(x, source[0].unwrapped(0).unwrap()[0]);
    assert!(x < 0.0 && !text.contains("image"), "{line}");
    job.fails(
        &["convert", "source.xyz", "u.gsd", "--unwrapped"],
        &["GSD", "leave --unwrapped out"],
    );
    let printed = job.succeeds(&["convert", "u.xyz", "lost.gsd"]).stdout;
    assert!(printed.contains("positions of 3 frames spread over more than the box"), "{printed}");
    job.fails(&["convert", "w.gsd", "x.h5md", "--unwrapped"], &["w.gsd", "has no images"]);
    assert!(!job.path("x.h5md").exists());
}

#[test]
fn types_of_lammps_keep_names_or_say_that_they_do_not() {
    let job = Job::new("");
    let text = whole(3);
    job.write("numbers.xyz", &text.replace("Ni ", "1 ").replace("P ", "3 "));
    job.succeeds(&["convert", "numbers.xyz", "numbers.dump"]);
    let found = fs::read_to_string(job.path("numbers.dump")).unwrap();
    assert!(!found.contains("element") && found.contains("\n6 3 31.0 "), "{found}");
    assert_eq!(frames(&job.path("numbers.dump"))[0].species_names, ["1", "3"]);
    job.write("lost.xyz", &text.replace("Ni ", "0 ").replace("P ", "1 "));
    let printed = job.succeeds(&["convert", "lost.xyz", "lost.dump"]).stdout;
    assert!(printed.contains("left out: times, names of species (0, 1)\n"), "{printed}");
    assert_eq!(frames(&job.path("lost.dump"))[0].species_names, ["1", "2"]);
}

/// As after Monte Carlo moves that swap particles.
#[test]
fn species_and_diameters_that_change_are_kept() {
    let job = Job::new("");
    let text = whole(3).replace("step=20", "step=20 last=");
    let (before, last) = text.split_at(text.rfind(&format!("{COUNT}\nLattice")).unwrap());
    let mut lines: Vec<String> = last.lines().map(str::to_owned).collect();
    lines[2] = lines[2].replace("Ni ", "P ").replace(" 0.5 ", " 0.75 ");
    lines[8] = lines[8].replace("P ", "Ni ");
    job.write("swap.xyz", &format!("{before}{}\n", lines.join("\n")));
    let source = frames(&job.path("swap.xyz"));
    assert_ne!(source[2].species, source[0].species);
    assert_ne!(source[2].diameter, source[0].diameter);
    for name in ["a.h5md", "a.gsd", "a.dump"] {
        job.succeeds(&["convert", "swap.xyz", name]);
        for (found, expected) in frames(&job.path(name)).iter().zip(&source) {
            agree(found, expected, if name == "a.gsd" { 1e-6 } else { 0.0 });
        }
    }
    // In a frame that is neither the first nor the last, where it is not looked for.
    let swapped = whole(3).replacen("58.7 0.5 0\n", "31.0 0.5 0\n", 2).replacen(
        "31.0 0.5 0\n",
        "58.7 0.5 0\n",
        1,
    );
    job.write("middle.xyz", &swapped);
    let parts = ["frame 1, of step 10", "other masses", "GSD"];
    job.fails(&["convert", "middle.xyz", "b.h5md"], &parts);
    assert!(!job.path("b.h5md").exists() && !job.path("b.h5md.partial").exists());
    job.succeeds(&["convert", "middle.xyz", "b.gsd"]);
}

#[test]
fn frames_of_other_particles_fit_where_the_format_has_room_for_them() {
    let job = Job::new("");
    let text = whole(3);
    let (before, last) = text.split_at(text.rfind(&format!("{COUNT}\nLattice")).unwrap());
    let shorter = last.replacen(&COUNT.to_string(), "6", 1);
    let shorter = shorter.trim_end().rsplit_once('\n').unwrap().0;
    job.write("fewer.xyz", &format!("{before}{shorter}\n"));
    for name in ["a.gsd", "a.dump"] {
        job.succeeds(&["convert", "fewer.xyz", name]);
        let counts: Vec<usize> =
            frames(&job.path(name)).iter().map(Frame::particle_count).collect();
        assert_eq!(counts, [7, 7, 6], "{name}");
    }
    job.fails(&["convert", "fewer.xyz", "a.h5md"], &["frame 2, of step 20", "6 particles", "GSD"]);
    assert!(!job.path("a.h5md").exists() && !job.path("a.h5md.partial").exists());
}

#[test]
fn frames_are_selected_by_place_and_by_step() {
    let job = Job::new("");
    job.write("source.xyz", &whole(3));
    let steps = |arguments: &[&str]| {
        let command = [&["convert", "source.xyz", "some.xyz", "--force"], arguments].concat();
        job.succeeds(&command);
        open(job.path("some.xyz")).unwrap().steps().to_vec()
    };
    assert_eq!(steps(&["--frames", "1:"]), [10, 20]);
    assert_eq!(steps(&["--frames", "-2::2"]), [10]);
    assert_eq!(steps(&["--every", "20"]), [0, 20]);
    assert_eq!(steps(&["--every", "20", "--frames", "1:"]), [20]);
    let convert = |more: &[&'static str]| [&["convert", "source.xyz", "no.xyz"], more].concat();
    job.fails(&convert(&["--frames", "3:"]), &["none of its 3 frames", "0 to 2", "steps 0 to 20"]);
    let wrong = job.execute(&convert(&["--frames", "a"]));
    assert!(wrong.code == Some(2) && wrong.stderr.contains("FIRST:END:STRIDE"), "{wrong:?}");
    job.write("counted.xyz", &whole(3).replace("step=", "number="));
    job.fails(&["convert", "counted.xyz", "no.xyz", "--every", "2"], &["--every", "--frames ::N"]);
    let printed = job.succeeds(&["convert", "counted.xyz", "counted.h5md"]).stdout;
    assert!(printed.contains("steps count frames"), "{printed}");
    assert!(!job.path("no.xyz").exists());
}

#[test]
fn nothing_is_overwritten_unless_that_is_wanted() {
    let job = Job::new("");
    job.write("source.xyz", &whole(3));
    job.write("there.gsd", "mine");
    job.fails(&["convert", "source.xyz", "there.gsd"], &["there.gsd", "exists already", "--force"]);
    assert_eq!(fs::read_to_string(job.path("there.gsd")).unwrap(), "mine");
    job.succeeds(&["convert", "source.xyz", "there.gsd", "--force"]);
    assert_eq!(frames(&job.path("there.gsd")).len(), FRAMES);
    job.fails(&["convert", "source.xyz", "./source.xyz", "--force"], &["is the file that is read"]);
    job.fails(&["convert", "source.xyz", "a.pdb"], &["a.pdb", "--to", ".h5md", "lammps-dump"]);
    job.succeeds(&["convert", "source.xyz", "a.pdb", "--to", "xyz"]);
    job.fails(&["convert", "source.xyz", "b.xyz", "--from", "gsd"], &["source.xyz", "GSD"]);
    job.fails(&["convert", "missing.xyz", "b.xyz"], &["missing.xyz", "No such file"]);
    job.write("cut.xyz", &whole(3)[..1500]);
    job.fails(&["convert", "cut.xyz", "b.xyz"], &["cut.xyz"]);
    assert!(!job.path("b.xyz").exists());
}

#[test]
fn velocities_of_the_first_frame_only_are_named_as_left_out() {
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("analysis/tests/data/hoomd_property.gsd");
    let job = Job::new("");
    let printed = job.succeeds(&["convert", source.to_str().unwrap(), "a.h5md"]).stdout;
    assert!(
        printed.contains("left out, as not all frames have them: images, velocities\n"),
        "{printed}"
    );
    assert!(printed.contains("steps stand for times"), "{printed}");
    let found = frames(&job.path("a.h5md"));
    assert_eq!(found.len(), 5);
    assert!(found.iter().all(|frame| (frame.time, &frame.velocity) == (None, &None)));
}

fn run(more: &str) -> Job {
    let toml = kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1")
        + more
        + r#"
[[stage]]
name = "melt"
steps = 60
thermostat = { kind = "langevin", temperature = TEMPERATURE, friction = 2.0 }
observe = { thermodynamics = 20, trajectory = 20 }
"#;
    let temperature = if more.is_empty() { "2.0" } else { "\"ensemble\"" };
    let toml = toml.replace("TEMPERATURE", temperature);
    let job = Job::new(&toml);
    job.succeeds(&["run", "job.toml"]);
    job
}

#[test]
fn a_results_file_stands_for_its_trajectory() {
    let job = run("");
    let printed = job.succeeds(&["convert", "out/melt.h5", "melt.h5md"]).stdout;
    assert!(
        printed.starts_with("4 frames of 256 particles, steps 0 to 60\n  left out: parameters\n"),
        "{printed}"
    );
    assert_eq!(frames(&job.path("melt.h5md")), frames(&job.path("out/melt.h5md")));
    assert_eq!(frames(&job.path("melt.h5md"))[0].species_names, ["A", "B"]);
    // A run starts from it.
    job.succeeds(&["info", "melt.h5md"]);
    job.succeeds(&["convert", "out/melt.h5md", "melt.data", "--frames", "-1"]);
    assert_eq!(
        frames(&job.path("melt.data"))[0].position,
        frames(&job.path("out/melt.h5md"))[3].position
    );
}

#[test]
fn one_of_many_systems_is_converted() {
    let job = run("[ensemble]\nkind = \"temperatures\"\ntemperatures = [2.0]\nsystems = 2\n");
    job.fails(&["convert", "out/melt.h5md", "a.gsd"], &["holds 2 systems", "--system"]);
    job.fails(&["convert", "out/melt.h5md", "a.gsd", "--system", "2"], &["none of number 2"]);
    for system in ["0", "1"] {
        job.succeeds(&["convert", "out/melt.h5md", "a.h5md", "--system", system, "--force"]);
        let reader =
            supercool_analysis::open_system(job.path("out/melt.h5md"), system.parse().unwrap());
        let expected = reader.unwrap().read(3).unwrap();
        assert_eq!(frames(&job.path("a.h5md"))[3], expected);
    }
}

/// ASE takes chemical elements only.
#[test]
fn other_programs_open_what_was_converted() {
    let job = Job::new("");
    job.write("source.xyz", &whole(3));
    let names = ["a.xyz", "a.h5md", "a.gsd", "a.lammpstrj", "a.data"];
    for name in names {
        let frames = if name == "a.data" { "0" } else { ":" };
        job.succeeds(&["convert", "source.xyz", name, "--frames", frames]);
    }
    let paths: Vec<PathBuf> = names.iter().map(|name| job.path(name)).collect();
    let source = job.path("source.xyz");
    let mut arguments = vec![source.as_path()];
    arguments.extend(paths.iter().map(PathBuf::as_path));
    let packages = "ase, atooms, gsd.hoomd, h5py, MDAnalysis, pyh5md";
    check_with_python(packages, "converted.py", &arguments);
}

/// Digits are lost where the programs write fewer.
#[test]
fn diameters_that_other_programs_wrote_are_kept() {
    let job = Job::new("");
    let written = ["ase.xyz", "atooms.xyz", "gsd.gsd", "h5py.h5md"];
    let paths: Vec<PathBuf> = written.iter().map(|name| job.path(name)).collect();
    let arguments: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let packages = "ase, atooms, gsd.hoomd, h5py";
    check_with_python(packages, "write_diameters.py", &arguments);
    // Without these packages nothing is written.
    for name in written.into_iter().filter(|name| job.path(name).exists()) {
        for to in ["to.xyz", "to.h5md", "to.gsd", "to.lammpstrj", "to.data"] {
            job.succeeds(&["convert", name, to, "--force"]);
            let found = frames(&job.path(to)).remove(0).diameter.unwrap();
            assert!(close(&found, &[0.725, 1.0, 1.62], 1e-7), "{name} {to}: {found:?}");
        }
        let printed = job.succeeds(&["info", name]).stdout;
        assert!(printed.contains("smallest 0.725, mean 1.115, largest 1.62\n"), "{printed}");
    }
}

#[test]
fn diameters_that_are_no_lengths_are_refused() {
    let job = Job::new("");
    job.write("wrong.xyz", &whole(3).replacen(" 0.5 0\n", " -0.5 0\n", 1));
    let parts = ["wrong.xyz:9", "diameter -1 of the particle of id 0", "above zero"];
    job.fails(&["convert", "wrong.xyz", "a.gsd"], &parts);
    assert!(!job.path("a.gsd").exists() && !job.path("a.gsd.partial").exists());
}
