//! Correlations from given time origins.
use std::time::Duration;

use supercool::output::checkpoints_in;
use supercool_analysis::correlation::{
    StoredTrajectory, TimePairs, mean_square_displacement, self_overlap,
};
use supercool_analysis::results::{Aging, Function, ResultsFile};

use crate::common::contents::assert_same_numbers;
use crate::common::job::{Ended, Job, kob_andersen};

const OVERLAP_LENGTH: f64 = 0.2;
/// Beside thermodynamics; they take long.
const MINIMA: &str =
    ", trajectory = 4, inherent_structures = { times = [0.16, 1.6], force_tolerance = 1e-4 }";

fn liquid(count: usize, further: &str) -> String {
    kob_andersen(3, count, "fixed-point", "timestep = 0.004\nthreads = 1\nskin = 0.3") + further
}

/// From `temperature` to 0.4 in one step, and from times behind that.
fn quench(further: &str) -> String {
    liquid(256, further)
        + &format!(
            r#"
[[stage]]
name = "melt"
steps = 200
thermostat = {{ kind = "andersen", temperature = 3.0, rate = 10.0 }}

[[stage]]
name = "aging"
steps = 400
thermostat = {{ kind = "nose-hoover", temperature = 0.4, period = 0.5 }}
draw_velocities = true
observe = {{ thermodynamics = 10{MINIMA} }}
[[stage.correlation]]
every = 4
block_size = 4
wavenumbers = [7.25]
overlap_length = {OVERLAP_LENGTH}
origins = [0, 0.16, 1.28]
observables = ["mean-square-displacement", "self-overlap", "self-intermediate-scattering-function", "velocity-autocorrelation"]
"#
        )
}

fn aging(file: &ResultsFile, name: &str) -> Aging {
    let is_of_a = |of: &Function| of.group == "A" && of.name == name;
    let all = file.aging().unwrap();
    all.into_iter().find(|each| is_of_a(&each.functions[0])).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn functions_from_given_origins_are_those_of_the_stored_frames() {
    let job = Job::new(&quench(""));
    let report = job.succeeds(&["check", "job.toml"]).stdout;
    assert!(report.contains("from 3 time origins"), "{report}");
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let file = job.results("aging");
    // Drawn at exactly this temperature.
    let temperature = job.series("aging", "half_step_temperature")[0];
    assert!((temperature - 0.4).abs() < 0.02, "{temperature}");
    // Counted from the start of the run.
    let all = file.observables().unwrap();
    let minima = all.iter().find(|series| series.name == "inherent_structure_energy").unwrap();
    assert_eq!(minima.step, [240, 600]);
    assert!(minima.value.iter().all(|energy| (-8.0..-7.0).contains(energy)), "{minima:?}");

    let reader = supercool_analysis::open(job.path("out/aging.h5md")).unwrap();
    let frames = (0..reader.len()).map(|frame| reader.read(frame).unwrap()).collect();
    let trajectory = StoredTrajectory::from_frames(frames, Some(0.004)).unwrap();
    let a = trajectory.particles_of("A");
    let steps = trajectory.steps().to_vec();
    let displacement = aging(&file, "mean_square_displacement");
    let overlap = aging(&file, "self_overlap");
    assert_eq!(displacement.waiting_time, [0.0, 0.16, 1.28]);
    let mut compared = 0;
    for (waiting, origin) in [0_u64, 40, 320].into_iter().enumerate() {
        let pairs = TimePairs::all(&steps).keep(&steps, |_, from| from == steps[0] + origin);
        for (found, expected) in [
            (&displacement, mean_square_displacement(&trajectory, &a, &pairs)),
            (&overlap, self_overlap(&trajectory, &a, OVERLAP_LENGTH, &pairs)),
        ] {
            let Function { x, curves, .. } = &found.functions[waiting];
            assert!(curves[0].error.iter().all(|error| error.is_nan()), "one system has no error");
            for (lag, value) in x.iter().zip(&curves[0].value) {
                let lag = (lag / 0.004).round() as u64;
                let Some(place) = expected.lag.iter().position(|&of| of == lag) else {
                    assert!(value.is_nan() && origin + lag > 400, "{origin} {lag}: {value}");
                    continue;
                };
                let expected = expected.value[place];
                assert!((value - expected).abs() < 1e-9 * (1.0 + expected), "{value} {expected}");
                compared += 1;
            }
        }
    }
    assert!(compared > 40, "{compared}");

    // The same of the frames by the command; origins that are at none of them are refused.
    let arguments = ["correlate", "out/aging.h5md", "job.toml", "--stage", "aging"];
    job.succeeds(&[&arguments[..], &["--output", "replayed"]].concat());
    let replayed = ResultsFile::open(&job.path("replayed/aging.h5")).unwrap();
    for name in [
        "mean_square_displacement",
        "velocity_autocorrelation",
        "self_intermediate_scattering_function",
    ] {
        let (of_run, of_frames) = (aging(&file, name), aging(&replayed, name));
        for (a, b) in of_run.functions.iter().zip(&of_frames.functions) {
            for (a, b) in a.curves[0].value.iter().zip(&b.curves[0].value) {
                assert!(a.is_nan() == b.is_nan() && !((a - b).abs() > 1e-9), "{name}: {a} {b}");
            }
        }
    }
    job.write("between.toml", &quench("").replace("0.16, 1.28", "0.168, 1.28"));
    let arguments = ["correlate", "out/aging.h5md", "between.toml", "--stage", "aging"];
    let between = [&arguments[..], &["--output", "between"]].concat();
    job.fails(&between, &["correlation.origins", "0.168", "42 steps", "no frame"]);

    // Readers.
    let text = job.succeeds(&["info", "out/aging.h5"]).stdout;
    assert!(text.contains("waiting time 0, 0.16, 1.28"), "{text}");
    for (further, label) in [(&[][..], "t_w = 0.16"), (&["--over", "t/tw"], "t / t_w")] {
        let plot = ["plot", "out/aging.h5", "-q", "self-overlap", "-o", "figure.svg"];
        job.succeeds(&[&plot[..], further].concat());
        let figure = std::fs::read_to_string(job.path("figure.svg")).unwrap();
        assert!(figure.contains(label), "no {label}");
    }
}

#[test]
fn a_killed_run_goes_on_with_the_bits_of_its_origins() {
    let further =
        "[checkpoint]\nminutes = 0.001\n[ensemble]\nkind = \"independent\"\nsystems = 3\n";
    let toml = quench(further)
        .replace(MINIMA, "")
        .replace("\"self-overlap\"", "\"self-overlap\", \"self-overlap-susceptibility\"");
    let (whole, parts) = (Job::new(&toml), Job::new(&toml));
    whole.succeeds(&["run", "job.toml", "--quiet"]);
    let mut process = parts.start(&["run", "job.toml", "--quiet"]);
    let in_stage = || {
        let found = checkpoints_in(&parts.path("out")).unwrap_or_default();
        found.iter().any(|(step, _)| (241..600).contains(step))
    };
    while process.try_wait().unwrap().is_none() && !in_stage() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = process.kill();
    Ended::of(process);
    parts.succeeds(&["resume", "out", "--quiet"]);
    assert_same_numbers(&whole.path("out/aging.h5"), &parts.path("out/aging.h5"));

    // Averages and errors are those over the systems.
    let file = whole.results("aging");
    let systems = file.systems().unwrap();
    let of_systems: Vec<Aging> =
        systems.iter().map(|system| aging(system, "self_overlap")).collect();
    let (average, chi) =
        (aging(&file, "self_overlap"), aging(&file, "self_overlap_susceptibility"));
    let particles = file.species()[0].1 as f64;
    let mut seen = 0;
    for waiting in 0..3 {
        let [mean, fluctuation] = [&average, &chi].map(|of| &of.functions[waiting].curves[0]);
        for lag in 1..mean.value.len() {
            let of = |system: &Aging| system.functions[waiting].curves[0].value[lag];
            let values: Vec<f64> = of_systems.iter().map(of).collect();
            if values[0].is_nan() {
                assert!(mean.value[lag].is_nan() && mean.count[lag] == 0.0);
                continue;
            }
            let expected = values.iter().sum::<f64>() / 3.0;
            let variance = values.iter().map(|x| (x - expected).powi(2)).sum::<f64>() / 2.0;
            assert!((mean.value[lag] - expected).abs() < 1e-14);
            assert!((fluctuation.value[lag] - particles * variance).abs() < 1e-9);
            // At first particles have not moved by that length in any system.
            if variance > 0.0 {
                assert!(mean.error[lag] >= (variance / 3.0).sqrt() * (1.0 - 1e-12));
                seen += 1;
            }
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn in_equilibrium_waiting_changes_nothing() {
    let toml = liquid(500, "")
        + r#"
[[stage]]
name = "melt"
steps = 1500
thermostat = { kind = "langevin", temperature = 2.0, friction = 2.0 }

[[stage]]
name = "steady"
steps = 2000
[[stage.correlation]]
every = 5
block_size = 6
wavenumbers = [7.25]
observables = ["mean-square-displacement", "self-intermediate-scattering-function"]
[[stage.correlation]]
every = 5
block_size = 6
wavenumbers = [7.25]
observables = ["self-intermediate-scattering-function"]
origins = { from = 0.4, to = 6.4, points_per_decade = 5 }
"#;
    let job = Job::new(&toml);
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let file = job.results("steady");
    let dynamics = file.dynamics().unwrap();
    let averaged = dynamics
        .iter()
        .find(|of| of.group == "A" && of.name == "self_intermediate_scattering_function")
        .unwrap();
    let found = aging(&file, "self_intermediate_scattering_function");
    assert_eq!(found.functions.len(), 7);
    let mut compared = 0;
    for function in &found.functions {
        for (lag, value) in function.x.iter().zip(&function.curves[0].value) {
            let Some(place) = averaged.x.iter().position(|x| (x - lag).abs() < 1e-9) else {
                continue;
            };
            let expected = averaged.curves[0].value[place];
            // 400 particles and the vectors of a shell, of which at most half are independent: one origin scatters by less than
            // (2 / 400)^(1/2) / 2, here three times that.
            if value.is_finite() && expected.is_finite() {
                assert!((value - expected).abs() < 0.1, "at lag {lag}: {value}, {expected}");
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

/// A hot liquid relaxes from each time origin; systems are averaged, and give the errors.
#[test]
fn relaxation_from_given_origins_is_fitted() {
    let systems = "\n[ensemble]\nkind = \"independent\"\nsystems = 4\n";
    let hot = quench("").replace("temperature = 0.4", "temperature = 3.0").replace(MINIMA, "");
    let job = Job::new(&(hot + systems));
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let outputs = ["--csv", "fits.csv", "--json", "fits.json"];
    let table = job.succeeds(&[&["analyze", "out"], &outputs[..]].concat()).stdout;
    for part in ["t_w", "4 runs", "tau_kww", "1.28"] {
        assert!(table.contains(part), "no {part} in {table}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(job.path("fits.json")).unwrap()).unwrap();
    let rows = json["from_origins"][0]["estimates"].as_array().unwrap();
    let scattering = aging(&job.results("aging"), "self_intermediate_scattering_function");
    for (function, waiting) in scattering.functions.iter().zip([0.0, 0.16, 1.28]) {
        let of = |quantity: &str| {
            rows.iter().find(|row| {
                let is_of_a = row["species"] == "A" && row["quantity"] == quantity;
                is_of_a && row["waiting_time"].as_f64() == Some(waiting)
            })
        };
        let values = &function.curves[0].value;
        let Some(after) = values.iter().position(|&f| f < (-1.0_f64).exp()) else {
            // The stage ends before.
            assert!(values.iter().any(|f| f.is_nan()) && of("tau").is_none());
            continue;
        };
        let tau = of("tau").unwrap();
        let found = tau["value"].as_f64().unwrap();
        assert!((function.x[after - 1]..=function.x[after]).contains(&found), "{tau}");
        assert!(tau["error"].as_f64().is_some_and(|error| error > 0.0), "{tau}");
        assert_eq!(tau["error_from"], "jackknife");
    }
    let csv = std::fs::read_to_string(job.path("fits.csv")).unwrap();
    assert!(csv.lines().next().unwrap().ends_with(",waiting_time"), "{csv}");
    assert!(csv.lines().any(|line| line.contains("tau,A") && line.ends_with(",0.16")), "{csv}");
}
