//! Stages in a steady shear: their files, what starts from them, and runs that are stopped within them.
use supercool::plan::ShearPlan;
use supercool::system::SimulationBox;
use supercool_analysis::Frame;

use crate::common::contents::{assert_same_numbers, numbers};
use crate::common::job::{Job, kob_andersen};

/// The cutoff leaves room for tilts in a box of 256 particles.
fn liquid(precision: &str) -> String {
    let text = kob_andersen(3, 256, precision, "timestep = 0.004\nthreads = 1\nskin = 0.2");
    text.replace("cutoff = 2.5", "cutoff = 1.5")
}

const STAGES: &str = r#"
[[stage]]
name = "melt"
steps = 100
thermostat = { kind = "andersen", temperature = 1.5, rate = 10.0 }

[[stage]]
name = "flow"
steps = 200
shear = { rate = 2.0 }
thermostat = { kind = "bussi", temperature = 1.0, time = 0.2 }
observe = { thermodynamics = 10, trajectory = 50, gsd = true }

[[stage]]
name = "after"
steps = 20
observe = { thermodynamics = 10, trajectory = 10 }
"#;

fn frames(job: &Job, name: &str) -> Vec<Frame> {
    let reader = supercool_analysis::open(job.path(name)).unwrap();
    (0..reader.len()).map(|index| reader.read_tilted(index).unwrap()).collect()
}

#[test]
fn frames_hold_the_tilt_and_are_starts() {
    let job = Job::new(&(liquid("double") + STAGES));
    let ended = job.succeeds(&["run", "job.toml"]).stdout;
    assert!(ended.contains("flow: shear stress"), "{ended}");
    let straight = SimulationBox::cubic(3, 256, 1.2);
    let tilt = |steps| ShearPlan::Steady { rate: 2.0 }.box_after(&straight, 0.004, steps).tilt();
    let flow = frames(&job, "out/flow.h5md");
    let tilts: Vec<f64> = flow.iter().map(|frame| frame.tilt).collect();
    let expected: Vec<f64> = [0, 50, 100, 150, 200].map(tilt).to_vec();
    for (found, expected) in tilts.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-15, "{tilts:?}, not {expected:?}");
    }
    // A strain of 0.4, 0.8, 1.2 and 1.6.
    assert!(tilts[1] > 0.39 && tilts[2] < -0.19 && tilts[4] < -0.39, "{tilts:?}");
    let refused = supercool_analysis::open(job.path("out/flow.h5md")).unwrap().read(1).unwrap_err();
    assert!(refused.to_string().contains("triclinic"), "{refused}");
    let info = job.succeeds(&["info", "out/flow.h5md"]).stdout;
    assert!(info.contains("tilt of x along y -0.400000 of the edge"), "{info}");
    // GSD has the same frames in 32 bits, about the origin.
    for (one, other) in flow.iter().zip(&frames(&job, "out/flow.gsd")) {
        assert!((one.tilt - other.tilt).abs() < 1e-6);
        let offset: Vec<f64> =
            (0..3).map(|k| one.unwrapped(0).unwrap()[k] - other.unwrapped(0).unwrap()[k]).collect();
        for particle in 0..256 {
            let [a, b] = [one, other].map(|frame| frame.unwrapped(particle).unwrap());
            (0..3).for_each(|k| assert!((a[k] - b[k] - offset[k]).abs() < 1e-4));
        }
    }
    // Converted, to the rounding of each format: with the images beside, and unwrapped.
    for (name, options, tolerance) in [
        ("flow.converted.h5md", &[][..], 1e-12),
        ("flow.converted.gsd", &[], 1e-5),
        ("flow.xyz", &[], 1e-12),
        ("flow.lammpstrj", &[], 1e-12),
        ("unwrapped.lammpstrj", &["--unwrapped"], 1e-12),
        ("last.data", &["--frames=-1"], 1e-12),
    ] {
        let arguments = [&["convert", "out/flow.h5md", name][..], options].concat();
        job.succeeds(&arguments);
        let found = frames(&job, name);
        let skipped = flow.len() - found.len();
        assert_eq!(skipped, if name == "last.data" { 4 } else { 0 });
        for (one, other) in flow[skipped..].iter().zip(&found) {
            assert!((one.tilt - other.tilt).abs() < tolerance, "{name}: {}", other.tilt);
            for particle in 0..256 {
                let [a, b] = [one, other].map(|frame| frame.unwrapped(particle).unwrap());
                let error = (0..3).map(|k| (a[k] - b[k]).abs()).fold(0.0, f64::max);
                assert!(error < 10.0 * tolerance, "{name}: {a:?} {b:?}");
            }
        }
    }
    let [strain, stress] = ["shear_strain", "shear_stress"].map(|name| job.series("flow", name));
    assert_eq!([strain.len(), stress.len()], [21; 2]);
    assert!(
        strain.iter().enumerate().all(|(row, found)| (found - 0.08 * row as f64).abs() < 1e-14)
    );
    // The box stays as it is after the flow; the last frame of one stage is the first of the next.
    let after = frames(&job, "out/after.h5md");
    assert_eq!([after[0].tilt, after[2].tilt], [expected[4]; 2]);
    assert_eq!(after[0].position, flow[4].position);
    let energy = job.series("after", "internal_energy");
    assert!((energy[2] - energy[0]).abs() < 1e-3, "{energy:?}");

    // From the frames the same energies come, to the rounding of each format.
    let potential = job.series("flow", "potential_energy");
    for (file, step, tolerance) in [
        ("out/flow.h5md", 150, 1e-11),
        ("out/flow.h5md", 200, 1e-11),
        ("out/flow.gsd", 250, 2e-5),
        ("out/checkpoint-320.scp", 320, 1e-12),
    ] {
        let start = format!("initial = {{ file = {file:?}, step = {step} }}");
        let text: String = liquid("double")
            .lines()
            .map(|line| if line.starts_with("initial") { &start } else { line })
            .map(|line| format!("{line}\n"))
            .collect();
        let text = text.replace("\"out\"", "\"second\"")
            + "[[stage]]\nname = \"first\"\nsteps = 10\nobserve = { thermodynamics = 10 }\n";
        job.write("next.toml", &text);
        job.succeeds(&["run", "next.toml", "--quiet"]);
        let results = supercool_analysis::results::ResultsFile::open(&job.path("second/first.h5"));
        let series = results.unwrap().observables().unwrap();
        std::fs::remove_dir_all(job.path("second")).unwrap();
        let found = series.into_iter().find(|series| series.name == "potential_energy").unwrap();
        let expected = match step {
            320 => *job.series("after", "potential_energy").last().unwrap(),
            _ => potential[(step - 100) / 10],
        };
        let error = (found.value[0] - expected).abs();
        assert!(error < tolerance, "{file}, {step}: {error:e}");
    }
}

#[test]
fn a_run_that_is_stopped_in_a_shear_goes_on_with_the_same_bits() {
    for precision in ["fixed-point", "single"] {
        let [whole, parts] = [(); 2].map(|()| Job::new(&(liquid(precision) + STAGES)));
        whole.succeeds(&["run", "job.toml", "--quiet"]);
        let stopped = parts.execute(&["run", "job.toml", "--quiet", "--max-walltime", "0s"]);
        assert_eq!(stopped.code, Some(75), "{stopped:?}");
        for _ in 0..3 {
            parts.execute(&["resume", "out", "--quiet", "--max-walltime", "0.5s"]);
        }
        parts.succeeds(&["resume", "out", "--quiet"]);
        for file in ["flow.h5", "after.h5", "flow.h5md", "after.h5md"] {
            let file = format!("out/{file}");
            assert_same_numbers(&whole.path(&file), &parts.path(&file));
        }
    }
}

const OSCILLATION: &str = r#"
[[stage]]
name = "melt"
steps = 100
thermostat = { kind = "andersen", temperature = 1.5, rate = 10.0 }

[[stage]]
name = "oscillation"
steps = 500
shear = { amplitude = 0.3, period = 0.8 }
thermostat = { kind = "bussi", temperature = 1.0, time = 0.2 }
observe = { thermodynamics = 10, trajectory = 100 }
"#;

/// The strain is a sine; the moduli come with errors; a run that is stopped within it has the same bits.
#[test]
fn an_oscillation_gives_moduli_and_survives_stops() {
    let [whole, parts] = [(); 2].map(|()| Job::new(&(liquid("fixed-point") + OSCILLATION)));
    let check = whole.succeeds(&["check", "job.toml"]).stdout;
    assert!(check.contains("strain 0.3 sin(2 pi t / 0.8)"), "{check}");
    whole.succeeds(&["run", "job.toml", "--quiet"]);
    let strain = whole.series("oscillation", "shear_strain");
    for (row, strain) in strain.iter().enumerate() {
        let expected = 0.3 * (std::f64::consts::TAU * 0.04 * row as f64 / 0.8).sin();
        assert!((strain - expected).abs() < 1e-14, "{row}: {strain} {expected}");
    }
    let info = whole.succeeds(&["info", "out/oscillation.h5"]).stdout;
    let modulus = |name: &str| {
        let line = info.lines().find(|line| line.trim_start().starts_with(name));
        line.unwrap_or_else(|| panic!("no {name} in {info}")).to_owned()
    };
    // Of stresses fitted here, over the whole periods.
    let stress = whole.series("oscillation", "shear_stress");
    let periods = 2 * 20;
    for (name, shift) in [("G'", 0.0), ("G''", 0.25)] {
        let part = |row: usize| (std::f64::consts::TAU * (row as f64 / 20.0 + shift)).sin();
        let sum: f64 = (0..periods).map(|row| stress[row] * part(row)).sum();
        let expected = sum / (periods as f64 / 2.0) / 0.3;
        let line = modulus(&format!("{name} "));
        let found = line.split_whitespace().nth(1).unwrap().split('(').next().unwrap();
        let found: f64 = found.parse().unwrap();
        assert!((found - expected).abs() < 0.1 * (1.0 + expected.abs()), "{line}: {expected}");
    }

    let stopped = parts.execute(&["run", "job.toml", "--quiet", "--max-walltime", "0s"]);
    assert_eq!(stopped.code, Some(75), "{stopped:?}");
    for _ in 0..3 {
        parts.execute(&["resume", "out", "--quiet", "--max-walltime", "0.5s"]);
    }
    parts.succeeds(&["resume", "out", "--quiet"]);
    for file in ["out/oscillation.h5", "out/oscillation.h5md"] {
        assert_same_numbers(&whole.path(file), &parts.path(file));
    }

    for (old, new, parts) in [
        ("period = 0.8", "period = 0.7991", ["period", "not a multiple of the timestep"]),
        ("amplitude = 0.3, ", "", ["amplitude", "an oscillation needs it"]),
        (", period = 0.8", "", ["period", "an oscillation needs it"]),
        ("amplitude = 0.3", "rate = 1.0, amplitude = 0.3", ["rate", "is of a steady flow"]),
        ("amplitude = 0.3", "amplitude = 3.0", ["amplitude", "strains by"]),
    ] {
        let text = liquid("fixed-point") + &OSCILLATION.replace(old, new);
        Job::new(&text).fails(&["check", "job.toml"], &parts);
    }
}

const GAS: &str = r#"
[system]
dimension = 3
box = [6.0, 6.0, 6.0]
species = [{ name = "A", count = 200 }]
initial = { lattice = "fcc", temperature = 1.5 }

[potential]
kind = "gaussian-core"
cutoff = 1.0
truncation = "shifted"
pairs = { AA = { epsilon = 1e-9, sigma = 1.0 } }

[run]
engine = "cpu"
precision = "double"
timestep = 0.01
threads = 1
skin = 0.3

[[stage]]
name = "flow"
steps = 600
shear = { rate = 0.4 }
observe = { trajectory = 600 }
[[stage.correlation]]
every = 4
block_size = 151
levels = 1
observables = ["mean-square-displacement", "self-intermediate-scattering-function"]
wavenumbers = [2.0]
[[stage.correlation]]
origins = [0.0, 1.97]
every = 4
block_size = 101
levels = 1
observables = ["mean-square-displacement"]

[output]
directory = "out"
"#;

/// Times and values of the mean-square displacement.
fn displacement(job: &Job, stage: &str) -> [Vec<f64>; 2] {
    let found = job.results(stage).first_dynamics("mean_square_displacement").unwrap().unwrap();
    [found.x, found.curves[0].value.clone()]
}

/// Particles without forces fly straight on in the lab: beside the flow `x` changes by `v_x t - rate v_y t^2 / 2`. Over the whole stage there
/// is one time origin, and at its start velocities beside the flow are those of the first frame.
#[test]
fn displacements_in_a_flow_are_those_beside_it() {
    let job = Job::new(GAS);
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let first = &frames(&job, "out/flow.h5md")[0];
    let velocity = first.velocity.as_ref().unwrap();
    let rate = 0.4;
    // Within t, from a time origin on.
    let expected = |origin: f64, t: f64| {
        let square = |v: &[f64; 3]| {
            let along = (v[0] - rate * v[1] * origin) * t - 0.5 * rate * v[1] * t * t;
            along * along + (v[1] * t).powi(2) + (v[2] * t).powi(2)
        };
        velocity.iter().map(square).sum::<f64>() / 200.0
    };
    let [time, found] = displacement(&job, "flow").map(|values| *values.last().unwrap());
    assert!((time - 6.0).abs() < 1e-9, "{time}");
    assert!((found / expected(0.0, 6.0) - 1.0).abs() < 1e-6, "{found}");
    // Samples between the pairs follow the particles.
    let aging = job.results("flow").aging().unwrap();
    let of_origins = aging.iter().find(|of| of.functions[0].name == "mean_square_displacement");
    let of_origins = of_origins.unwrap();
    assert_eq!(of_origins.waiting_time, [0.0, 1.97]);
    for (function, origin) in of_origins.functions.iter().zip([0.0, 1.97]) {
        let (t, found) = (*function.x.last().unwrap(), *function.curves[0].value.last().unwrap());
        assert!((t - 4.0).abs() < 1e-9, "{t}");
        assert!((found / expected(origin, t) - 1.0).abs() < 1e-6, "{origin}: {found}");
    }
}

/// In a liquid at rest in a tilted box, and in a flow: the same bits after stops. What needs distances of pairs is refused.
#[test]
fn correlations_in_tilted_boxes_survive_stops() {
    let correlation = r#"
[[stage.correlation]]
every = 5
block_size = 8
observables = [
    "mean-square-displacement", "self-overlap", "self-intermediate-scattering-function", "bond-breaking",
    "cage-relative-mean-square-displacement", "coherent-intermediate-scattering-function", "four-point-structure-factor",
]
wavenumbers = [7.25]
overlap_length = 0.3
cage_radius = 1.4
bond_radius = 1.3
bond_breaking_radius = 1.5
[[stage.correlation]]
origins = [0.0, 0.1]
every = 5
block_size = 8
observables = ["mean-square-displacement", "cage-relative-mean-square-displacement", "bond-breaking"]
cage_radius = 1.4
bond_radius = 1.3
bond_breaking_radius = 1.5
"#;
    let text = liquid("fixed-point") + STAGES.trim_end() + correlation;
    let flow = "trajectory = 50, gsd = true }\n";
    let observed = "trajectory = 50, gsd = true, structure = { every = 20, bin_width = 0.1, maximum_wavenumber = 10.0 } }";
    let text = text.replace(flow, &format!("{observed}{correlation}"));
    let text = text.replace("steps = 20\n", "steps = 200\n");
    let [whole, parts] = [(); 2].map(|()| Job::new(&text));
    whole.succeeds(&["run", "job.toml", "--quiet"]);
    let stopped = parts.execute(&["run", "job.toml", "--quiet", "--max-walltime", "0s"]);
    assert_eq!(stopped.code, Some(75), "{stopped:?}");
    for _ in 0..4 {
        parts.execute(&["resume", "out", "--quiet", "--max-walltime", "0.5s"]);
    }
    parts.succeeds(&["resume", "out", "--quiet"]);
    for stage in ["flow", "after"] {
        let file = format!("out/{stage}.h5");
        assert_same_numbers(&whole.path(&file), &parts.path(&file));
        let [_, values] = displacement(&whole, stage);
        let longest = values.last().unwrap();
        // Without the flow it would be about 20, as particles fly apart with it.
        assert!((0.01..2.0).contains(longest), "{stage}: {values:?}");
    }
    let of_places = text.replace("\"four-point-structure-factor\"", "\"collective-overlap\"");
    Job::new(&of_places).fails(
        &["check", "job.toml"],
        &["the box is sheared", "collective-overlap is of a liquid at rest", "bond-breaking"],
    );
}

/// To the rounding of places in the file: frames follow particles through flips of the box as a run does.
#[test]
fn frames_of_a_flow_give_what_the_run_gave() {
    let text = liquid("fixed-point") + STAGES;
    let observed = r#"trajectory = 4, bond_order = { every = 40, radius = 1.4 } }
[[stage.correlation]]
every = 4
block_size = 8
observables = [
    "mean-square-displacement", "self-intermediate-scattering-function", "bond-breaking", "four-point-structure-factor",
    "cage-relative-mean-square-displacement", "coherent-intermediate-scattering-function",
]
wavenumbers = [7.25]
overlap_length = 0.3
cage_radius = 1.4
bond_radius = 1.3
bond_breaking_radius = 1.5
"#;
    let text = text.replace("trajectory = 10 }", "trajectory = 4 }");
    let job = Job::new(&text.replace("trajectory = 50, gsd = true }\n", observed));
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let correlate = ["correlate", "out/flow.h5md", "job.toml", "--stage", "flow", "--output"];
    job.succeeds(&[&correlate[..], &["again"]].concat());
    let [one, other] = ["out", "again"].map(|of| numbers(&job.path(&format!("{of}/flow.h5"))));
    let is_function = |name: &&String| name.starts_with("/dynamics") && name.ends_with("/value");
    let order = "/observables/bond_orientational_order/value".to_owned();
    let names: Vec<&String> = other.keys().filter(is_function).chain([&order]).collect();
    assert!(names.len() > 14, "{names:?}");
    for name in names {
        for (a, b) in one[name].1.iter().zip(&other[name].1) {
            let [x, y] = [*a, *b].map(f64::from_bits);
            let same = (x - y).abs() <= 1e-8 * (1.0 + x.abs());
            assert!(same || x.is_nan() && y.is_nan(), "{name}: {x:e}, {y:e}");
        }
    }
    let rest = ["correlate", "out/after.h5md", "job.toml", "--stage", "flow", "--output", "after"];
    job.fails(&rest, &["the flow of the stage \"flow\" begins at step 100", "of step 300"]);
    let other = text
        .replace("rate = 2.0", "rate = 1.9")
        .replace("trajectory = 50, gsd = true }\n", observed);
    job.write("other.toml", &other);
    let slower =
        ["correlate", "out/flow.h5md", "other.toml", "--stage", "flow", "--output", "other"];
    job.fails(&slower, &["a tilt of", "at step 104", "where the stage \"flow\" has"]);
}

#[test]
fn what_knows_no_tilt_is_refused() {
    let job = Job::new(&(liquid("double") + STAGES));
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let text = liquid("double").replace("\"out\"", "\"second\"");
    let lines = text.lines().map(|line| match line.starts_with("initial") {
        true => "initial = { file = \"out/checkpoint-320.scp\" }",
        false => line,
    });
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let stage =
        "[[stage]]\nname = \"first\"\nsteps = 10\nobserve = { configurational_temperature = 10 }\n";
    job.write("next.toml", &(text + stage));
    job.fails(
        &["run", "next.toml"],
        &["its box has a tilt", "the configurational temperature", "\"first\""],
    );
}
