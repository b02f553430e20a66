//! `supercool correlate`: observables of stored trajectories equal those that the run made while it went on.
mod common;

use common::job::{Job, kob_andersen};
use supercool_analysis::Frame;
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

const OBSERVABLES: &str = r#""mean-square-displacement", "mean-displacement", "non-gaussian-parameter", "velocity-autocorrelation",
    "self-intermediate-scattering-function", "coherent-intermediate-scattering-function", "self-overlap",
    "self-overlap-susceptibility", "collective-overlap", "bond-breaking""#;

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
    job.fails(
        &again,
        &["holds the files of an earlier run (production.h5)", "--force", "--output"],
    );
    assert!(!job.execute(&again).stderr.contains("resume"));
    job.succeeds(&[&again[..], &["--force", "--quiet"]].concat());
}

/// Frames at logarithmic times, of the run itself and evaluated again.
#[test]
fn of_frames_at_logarithmic_times_those_at_equal_intervals_count() {
    let msd = "\"mean-square-displacement\"";
    let run = "timestep = 0.004\nthreads = 1";
    let text = kob_andersen(3, 500, "double", run) + &stage(msd, false);
    let dense = text.replace("every = 4", "every = 40");
    let sparse = "trajectory = { every = 40, doubling_from = 3 }";
    let job = Job::new(&dense.replace("trajectory = 4", sparse));
    job.succeeds(&["run", "job.toml", "--quiet"]);
    for file in ["out/production.h5md", "out/production.gsd"] {
        let steps = supercool_analysis::open(job.path(file)).unwrap().steps().to_vec();
        let behind = [0, 3, 6, 12, 24];
        let mut expected: Vec<u64> =
            (0..5).flat_map(|k| behind.map(|step| 300 + 40 * k + step)).collect();
        expected.push(500);
        assert_eq!(steps, expected, "{file}");
    }
    let arguments =
        ["correlate", "out/production.h5md", "job.toml", "--output", "again", "--quiet"];
    job.succeeds(&arguments);
    let again = ResultsFile::open(&job.path("again/production.h5")).unwrap();
    agree(&again.dynamics().unwrap(), &job.results("production").dynamics().unwrap(), 1e-12);
    // Without --output the directory of the trajectory names that of the results: those of several runs do not collide.
    job.succeeds(&["correlate", "out/production.h5md", "job.toml", "--quiet"]);
    assert!(job.path("results/out-production-correlations/production.h5").exists());
    job.write(
        "other.toml",
        &dense.replace("every = 40", "every = 20").replace("trajectory = 4", sparse),
    );
    // Other intervals take all frames, at the lags that these have.
    job.succeeds(&["correlate", "out/production.h5md", "other.toml", "--output", "other"]);
    let other = ResultsFile::open(&job.path("other/production.h5")).unwrap().dynamics().unwrap();
    let steps: Vec<u64> = other[0].x.iter().map(|time| (time / 0.004).round() as u64).collect();
    assert_eq!(steps, [0, 3, 6, 12, 24, 40, 80, 120, 160, 200]);
    let origins: Vec<f64> = other[0].curves[0].count.iter().map(|count| count / 400.0).collect();
    assert_eq!(origins, [26.0, 10.0, 10.0, 10.0, 5.0, 5.0, 4.0, 3.0, 2.0, 1.0]);
    let of_run = &job.results("production").dynamics().unwrap()[0].curves[0].value;
    for (found, expected) in other[0].curves[0].value[5..].iter().zip(&of_run[1..]) {
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
    }
    // Frames in between change no bits.
    let plain = Job::new(&dense.replace("trajectory = 4", "trajectory = 40"));
    plain.succeeds(&["run", "job.toml", "--quiet"]);
    let [a, b] = [&job, &plain].map(|job| {
        let checkpoint = supercool::output::Checkpoint::read(&job.path("out/checkpoint-500.scp"));
        checkpoint.unwrap().get_u64("position").unwrap()
    });
    assert!(a == b);
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
        &["correlation.every = 10, but frames at equal intervals are 4 steps apart", "such as 12"],
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

/// Particles of a text file: their lines, from species, id, wrapped position, image and velocity.
type Line<'a> = &'a dyn Fn(&str, u64, [f64; 3], [i32; 3], [f64; 3]) -> String;

/// All frames, particles in another order in each; `head` makes the lines above from step and count.
fn as_text(frames: &[Frame], head: &dyn Fn(u64, usize) -> String, line: Line<'_>) -> String {
    let mut text = String::new();
    for frame in frames {
        let count = frame.particle_count();
        text += &head(frame.step, count);
        for k in 0..count {
            let i = (k * 7 + frame.step as usize) % count;
            let (image, velocity) =
                (frame.image.as_ref().unwrap(), frame.velocity.as_ref().unwrap());
            let id = i as u64 + 1;
            text += &line(frame.species_name(i), id, frame.position[i], image[i], velocity[i]);
            text += "\n";
        }
    }
    text
}

fn words<T: std::fmt::Display>(numbers: [T; 3]) -> String {
    numbers.map(|x| x.to_string()).join(" ")
}

#[test]
fn text_files_of_other_programs_give_what_the_run_gave() {
    let job = job(OBSERVABLES, false);
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let expected = job.results("production").dynamics().unwrap();
    let reader = supercool_analysis::open(job.path("out/production.h5md")).unwrap();
    let frames: Vec<Frame> = (0..reader.len()).map(|k| reader.read(k).unwrap()).collect();
    let edges = frames[0].padded_edges();
    let unwrapped = |x: [f64; 3], image: [i32; 3]| -> [f64; 3] {
        std::array::from_fn(|k| x[k] + f64::from(image[k]) * edges[k])
    };
    let crossed = frames.iter().flat_map(|frame| frame.image.as_ref().unwrap());
    assert!(crossed.clone().any(|image| *image != [0; 3]), "nobody left the box");

    // Boxes of dumps begin at -2 to see that this does not matter.
    let low = [-2.0; 3];
    let shifted = |x: [f64; 3]| -> [f64; 3] { std::array::from_fn(|k| x[k] + low[k]) };
    let scaled = |x: [f64; 3]| -> [f64; 3] { std::array::from_fn(|k| x[k] / edges[k]) };
    let xyz = |properties: &'static str| {
        move |step: u64, count: usize| {
            let time = step as f64 * 0.004;
            let [x, y, z] = edges;
            format!(
                "{count}\nLattice=\"{x} 0 0 0 {y} 0 0 0 {z}\" pbc=\"T T T\" step={step} time={time} \
                 Properties=id:I:1:species:S:1:{properties}:vel:R:3\n"
            )
        }
    };
    let dump = |columns: &'static str| {
        move |step: u64, count: usize| {
            let bound = |k: usize| format!("{} {}\n", low[k], low[k] + edges[k]);
            let bounds = [0, 1, 2].map(bound).concat();
            format!(
                "ITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n{count}\n\
                 ITEM: BOX BOUNDS pp pp pp\n{bounds}ITEM: ATOMS id element {columns} vx vy vz\n"
            )
        }
    };
    let line = |id: u64, name: &str, middle: String, v: [f64; 3]| {
        format!("{id} {name} {middle} {}", words(v))
    };
    // Name, text, whether the file has no images.
    let files: [(&str, String, bool); 7] = [
        (
            "wrapped.xyz",
            as_text(&frames, &xyz("pos:R:3"), &|name, id, x, _, v| line(id, name, words(x), v)),
            true,
        ),
        (
            "images.xyz",
            as_text(&frames, &xyz("pos:R:3:image:I:3"), &|name, id, x, image, v| {
                line(id, name, format!("{} {}", words(x), words(image)), v)
            }),
            false,
        ),
        (
            "unwrapped.xyz",
            as_text(&frames, &xyz("pos:R:3"), &|name, id, x, image, v| {
                line(id, name, words(unwrapped(x, image)), v)
            }),
            true,
        ),
        (
            "x.dump",
            as_text(&frames, &dump("x y z"), &|name, id, x, _, v| {
                line(id, name, words(shifted(x)), v)
            }),
            true,
        ),
        (
            "images.dump",
            as_text(&frames, &dump("x y z ix iy iz"), &|name, id, x, image, v| {
                line(id, name, format!("{} {}", words(shifted(x)), words(image)), v)
            }),
            false,
        ),
        (
            "xs.dump",
            as_text(&frames, &dump("xs ys zs ix iy iz"), &|name, id, x, image, v| {
                line(id, name, format!("{} {}", words(scaled(x)), words(image)), v)
            }),
            false,
        ),
        (
            "xu.dump",
            as_text(&frames, &dump("xu yu zu"), &|name, id, x, image, v| {
                line(id, name, words(shifted(unwrapped(x, image))), v)
            }),
            false,
        ),
    ];
    for (file, text, follows) in &files {
        std::fs::write(job.path(file), text).unwrap();
        let output = format!("{file}.results");
        let ended = job.succeeds(&["correlate", file, "job.toml", "--output", &output, "--quiet"]);
        assert!(ended.stdout.contains("51 frames of 500 particles"), "{file}: {}", ended.stdout);
        let said = ended.stdout.contains("no images");
        assert_eq!(said, *follows, "{file}: {}", ended.stdout);
        let found = ResultsFile::open(&job.path(&format!("{output}/production.h5"))).unwrap();
        println!("{file}");
        agree(&found.dynamics().unwrap(), &expected, 1e-9);
    }
    // Types of dumps are numbers, not the names of the species.
    let numbered =
        files[4].1.replace(" element ", " type ").replace(" A ", " 1 ").replace(" B ", " 2 ");
    std::fs::write(job.path("types.dump"), numbered).unwrap();
    let types = ["correlate", "types.dump", "job.toml", "--output", "types", "--quiet"];
    let ended = job.succeeds(&types);
    assert!(ended.stdout.contains("type 1 is species A, type 2 is species B"), "{}", ended.stdout);
    assert!(ended.stdout.contains("no times in the file"), "{}", ended.stdout);
    let found = ResultsFile::open(&job.path("types/production.h5")).unwrap();
    agree(&found.dynamics().unwrap(), &expected, 1e-9);
    // The other way round there are too few of them.
    let swapped = text_with(&files[4].1, " element ", " type ", [" 2 ", " 1 "]);
    std::fs::write(job.path("swapped.dump"), swapped).unwrap();
    let swapped = ["correlate", "swapped.dump", "job.toml", "--output", "swapped"];
    job.fails(&swapped, &["100 particles of species A, but the configuration has 400", "1, 2"]);
    // Without ids, their order means nothing; with one species nothing else shows it.
    let nameless = files[4].1.replace("ATOMS id", "ATOMS number");
    std::fs::write(job.path("nameless.dump"), nameless).unwrap();
    let nameless = ["correlate", "nameless.dump", "job.toml", "--output", "nameless"];
    job.fails(&nameless, &["nameless.dump: no ids", "order of particles changes", "dump custom"]);
    assert!(!job.path("nameless").exists());
    // Units in which velocities and masses do not go together are reported.
    std::fs::write(job.path("real.dump"), format!("ITEM: UNITS\nreal\n{}", files[4].1)).unwrap();
    let real = ["correlate", "real.dump", "job.toml", "--output", "real", "--quiet"];
    let ended = job.succeeds(&real);
    assert!(ended.stdout.contains("units are \"real\""), "{}", ended.stdout);
    // Nor is a time that does not go with the steps taken, in whatever frame.
    let (last, time) = ("step=500 time=2", "step=500 time=2.4");
    assert!(files[0].1.contains(last));
    std::fs::write(job.path("late.xyz"), files[0].1.replace(last, time)).unwrap();
    let late = ["correlate", "late.xyz", "job.toml", "--output", "late", "--quiet"];
    job.fails(&late, &["step 500 is at time 2.4", "run.timestep"]);
}

fn text_with(text: &str, from: &str, to: &str, [a, b]: [&str; 2]) -> String {
    text.replace(from, to).replace(" A ", a).replace(" B ", b)
}

/// One species, all frames as XYZ without ids: a shuffled order looks like motion across the box.
#[test]
fn particles_that_change_places_are_not_followed() {
    let job = job("\"mean-square-displacement\"", false);
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let reader = supercool_analysis::open(job.path("out/production.h5md")).unwrap();
    let frames: Vec<Frame> = (0..reader.len()).map(|k| reader.read(k).unwrap()).collect();
    let [x, y, z] = frames[0].padded_edges();
    let mut text = String::new();
    for frame in &frames {
        let lattice = format!("Lattice=\"{x} 0 0 0 {y} 0 0 0 {z}\" step={}", frame.step);
        text += &format!("500\n{lattice} Properties=species:S:1:pos:R:3\n");
        // Of each species a cyclic shift, another one in each frame.
        for (first, count) in [(0, 400), (400, 100)] {
            for k in 0..count {
                let i = first + (k + frame.step as usize) % count;
                text += &format!("{} {}\n", frame.species_name(i), words(frame.position[i]));
            }
        }
    }
    job.write("shuffled.xyz", &text);
    let correlate = ["correlate", "shuffled.xyz", "job.toml", "--output", "other", "--quiet"];
    job.fails(&correlate, &["shuffled.xyz, step 304: no images", "cannot be followed", "ids"]);
    assert!(!job.path("other/production.h5").exists());
}

/// Leaves velocities and images out of all frames except for the first, of a GSD file of ours: entries of its index
/// then belong to no name.
fn as_of_hoomd(gsd: &mut [u8], names: &[u16]) {
    let word = |gsd: &[u8], at: usize| u64::from_le_bytes(gsd[at..at + 8].try_into().unwrap());
    let (index, entries) = (word(gsd, 8) as usize, word(gsd, 16) as usize);
    for at in (0..entries).map(|k| index + 32 * k) {
        let name = u16::from_le_bytes(gsd[at + 28..at + 30].try_into().unwrap());
        if word(gsd, at) > 0 && names.contains(&name) {
            gsd[at + 28..at + 30].copy_from_slice(&999_u16.to_le_bytes());
        }
    }
}

/// HOOMD-blue with `dynamic = ["property"]`.
#[test]
fn gsd_with_images_in_its_first_frame_only_gives_what_the_run_gave() {
    let observables = OBSERVABLES.replace("\"velocity-autocorrelation\",", "");
    let job = job(&observables, false);
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let expected = job.results("production").dynamics().unwrap();
    let whole = std::fs::read(job.path("out/production.gsd")).unwrap();
    // Velocities and images are names 9 and 10.
    let mut bytes = whole.clone();
    as_of_hoomd(&mut bytes, &[9, 10]);
    std::fs::write(job.path("property.gsd"), &bytes).unwrap();
    let first = supercool_analysis::open(job.path("property.gsd")).unwrap().read(0).unwrap();
    let images = first.image.unwrap();
    assert!(first.velocity.is_some() && images.iter().any(|image| *image != [0; 3]));
    let correlate = ["correlate", "property.gsd", "job.toml", "--output", "property", "--quiet"];
    let ended = job.succeeds(&correlate);
    assert!(ended.stdout.contains("no images in the file"), "{}", ended.stdout);
    let found = ResultsFile::open(&job.path("property/production.h5")).unwrap();
    // Positions of 32 bits, as above.
    agree(&found.dynamics().unwrap(), &expected, 1e-4);
    // Velocities of the first frame are not those of the others.
    let with_velocities = kob_andersen(3, 500, "double", "timestep = 0.004\nthreads = 2")
        + &stage("\"velocity-autocorrelation\"", false);
    job.write("vacf.toml", &with_velocities);
    let vacf = ["correlate", "property.gsd", "vacf.toml", "--output", "vacf"];
    job.fails(
        &vacf,
        &["property.gsd: no velocities of step 304", "leave velocity-autocorrelation"],
    );
    assert!(!job.path("vacf").exists());
    // Another mass is another system, or types are taken for the wrong species.
    let heavy = with_velocities.replace("{ name = \"B\", ", "{ name = \"B\", mass = 2.0, ");
    assert_ne!(heavy, with_velocities);
    job.write("heavy.toml", &heavy);
    let heavy = ["correlate", "out/production.gsd", "heavy.toml", "--output", "heavy"];
    job.fails(&heavy, &["particles of species B have mass 1, in system.species 2", "mass = 1"]);
}

/// Frames that are only counted would be taken for steps.
#[test]
fn a_file_without_steps_and_times_needs_the_steps_of_a_frame() {
    let job = job(OBSERVABLES, false);
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let expected = job.results("production").dynamics().unwrap();
    let reader = supercool_analysis::open(job.path("out/production.h5md")).unwrap();
    let frames: Vec<Frame> = (0..reader.len()).map(|k| reader.read(k).unwrap()).collect();
    let [x, y, z] = frames[0].padded_edges();
    let text = |key: &dyn Fn(u64) -> String| {
        let head = |step: u64, count: usize| {
            let key = key(step);
            format!(
                "{count}\nLattice=\"{x} 0 0 0 {y} 0 0 0 {z}\"{key} Properties=id:I:1:species:S:1:pos:R:3:vel:R:3\n"
            )
        };
        as_text(&frames, &head, &|name, id, x, _, v| {
            format!("{id} {name} {} {}", words(x), words(v))
        })
    };
    std::fs::write(job.path("plain.xyz"), text(&|_| String::new())).unwrap();
    std::fs::write(job.path("times.xyz"), text(&|step| format!(" time={}", step as f64 * 0.004)))
        .unwrap();
    let command = |file: &'static str| {
        ["correlate", file, "job.toml", "--quiet", "--output", file.trim_end_matches(".xyz")]
    };
    job.fails(
        &command("plain.xyz"),
        &["says neither the steps nor the times", "--steps-per-frame N"],
    );
    let many = u64::MAX.to_string();
    job.fails(
        &[&command("plain.xyz")[..], &["--steps-per-frame", &many]].concat(),
        &["--steps-per-frame 18446744073709551615", "no step numbers of 64 bits"],
    );
    job.succeeds(&[&command("plain.xyz")[..], &["--steps-per-frame", "4"]].concat());
    job.succeeds(&command("times.xyz"));
    for output in ["plain", "times"] {
        let found = ResultsFile::open(&job.path(&format!("{output}/production.h5"))).unwrap();
        agree(&found.dynamics().unwrap(), &expected, 1e-9);
    }
    let given = [
        "correlate",
        "out/production.h5md",
        "job.toml",
        "--steps-per-frame",
        "4",
        "--output",
        "given",
    ];
    job.fails(&given, &["says the steps of its frames"]);
}

#[test]
fn of_a_trajectory_that_breaks_off_nothing_is_left() {
    let job = job("\"mean-square-displacement\"", false);
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let trajectory = supercool_analysis::open(job.path("out/production.h5md")).unwrap();
    let mut xyz = String::new();
    for index in 0..21 {
        let frame = trajectory.read(index).unwrap();
        let edge = frame.box_edges[0] + if index < 15 { 0.0 } else { 0.5 };
        xyz += &format!(
            "{}\nLattice=\"{edge} 0 0 0 {edge} 0 0 0 {edge}\" step={index} Properties=species:S:1:pos:R:3\n",
            frame.particle_count()
        );
        for (particle, [x, y, z]) in frame.position.iter().enumerate() {
            xyz += &format!("{} {x} {y} {z}\n", frame.species_name(particle));
        }
    }
    job.write("changes.xyz", &xyz);
    let correlate = ["correlate", "changes.xyz", "job.toml", "--output", "other", "--quiet"];
    // The second time as the first.
    for _ in 0..2 {
        job.fails(&correlate, &["changes.xyz: the box changes at step 15"]);
        assert!(!job.path("other/production.h5").exists());
    }
}
