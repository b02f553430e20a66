//! Many systems in one run: each is the run alone, files hold averages over them, and nothing else that a run does changes.
use std::time::Duration;

use supercool::output::{Checkpoint, latest_valid, state_from_checkpoint};

use crate::common::contents::{Numbers, assert_same_numbers, numbers};
use crate::common::job::{Ended, Job, kob_andersen, signal};

const TEMPERATURES: [f64; 2] = [1.4, 1.1];
const SAMPLES: usize = 2;
const STAGES: [&str; 3] = ["cool", "bussi", "nve"];

/// Stages of which everything is written. `T` is the temperature, `"ensemble"` or a number.
fn stages(temperature: &str, steps: u64) -> String {
    let observe = r#"
[stage.observe]
inherent_structures = { every = 40, force_tolerance = 1.0 }
thermodynamics = 10
trajectory = 40
structure = { every = 20, maximum_wavenumber = 8.0, vectors_per_shell = 5 }
bond_order = { every = 20, radius = 1.4 }
[[stage.correlation]]
every = 5
block_size = 4
wavenumbers = [7.25]
vectors_per_shell = 5
observables = ["mean-square-displacement", "non-gaussian-parameter", "self-intermediate-scattering-function",
    "self-overlap-susceptibility", "stress-autocorrelation"]
"#;
    format!(
        r#"
[[stage]]
name = "cool"
steps = {steps}
thermostat = {{ kind = "langevin", temperature = {{ from = 1.5, to = {temperature} }}, friction = 2.0 }}
{observe}
[[stage]]
name = "bussi"
steps = {steps}
thermostat = {{ kind = "bussi", temperature = {temperature}, time = 0.1 }}
{observe}
[[stage]]
name = "nve"
steps = {steps}
set_total_energy = "mean of bussi"
{observe}
"#
    )
}

fn ensemble(run: &str, steps: u64) -> String {
    let ensemble = format!(
        "\n[ensemble]\nkind = \"temperatures\"\ntemperatures = {TEMPERATURES:?}\nsystems = {SAMPLES}\n"
    );
    kob_andersen(3, 160, "fixed-point", run) + &ensemble + &stages("\"ensemble\"", steps)
}

/// The run of one system.
fn alone(system: usize, steps: u64) -> String {
    let text = kob_andersen(3, 160, "fixed-point", "timestep = 0.004\nthreads = 1");
    let text = text.replace("seed = 11", &format!("seed = {}", 11 + system));
    text + &stages(&TEMPERATURES[system / SAMPLES].to_string(), steps)
}

/// The last checkpoint of a job.
pub fn last(job: &Job) -> (std::path::PathBuf, Checkpoint) {
    let found = latest_valid(&job.path("out")).unwrap();
    let (_, path, checkpoint) = found.checkpoint.unwrap();
    (path, checkpoint)
}

/// Of the values of all systems in a results file those of one: at the path of the same run alone.
pub fn of_system(
    all: &Numbers,
    name: &str,
    shape: &[usize],
    system: usize,
    count: usize,
) -> Vec<u64> {
    let (found, bits) = &all[&format!("/systems{name}")];
    let size: usize = shape.iter().product();
    if name.starts_with("/observables") {
        // Row, system, number.
        let width = size / shape[0];
        let expected: Vec<usize> =
            [shape[0], count].into_iter().chain(shape[1..].iter().copied()).collect();
        assert_eq!(*found, expected, "{name}");
        let rows = bits.chunks(count * width);
        return rows.flat_map(|row| &row[system * width..(system + 1) * width]).copied().collect();
    }
    let expected: Vec<usize> = [count].into_iter().chain(shape.iter().copied()).collect();
    assert_eq!(*found, expected, "{name}");
    bits[system * size..(system + 1) * size].to_vec()
}

#[test]
fn every_system_has_the_bits_of_the_same_run_alone() {
    let whole = Job::new(&ensemble("timestep = 0.004\nthreads = 2", 80));
    let ended = whole.succeeds(&["run", "job.toml"]);
    assert!(ended.stdout.contains("4 systems of 160 particles"), "{ended:?}");
    assert!(ended.stdout.contains("nve, T = 1.4"), "{ended:?}");
    let (path, checkpoint) = last(&whole);
    for system in 0..TEMPERATURES.len() * SAMPLES {
        let job = Job::new(&alone(system, 80));
        job.succeeds(&["run", "job.toml"]);
        let part = checkpoint.part(&format!("system-{system}"));
        let found = state_from_checkpoint(&part, &path).unwrap();
        let (path, alone) = last(&job);
        let expected = state_from_checkpoint(&alone, &path).unwrap();
        assert_eq!(found.hash(), expected.hash(), "system {system}");
        assert_eq!(found.thermostat, expected.thermostat, "system {system}");
        for stage in STAGES {
            let file =
                |job: &Job, ending: &str| numbers(&job.path(&format!("out/{stage}.{ending}")));
            let (all, one) = (file(&whole, "h5"), file(&job, "h5"));
            let mut compared = 0;
            for (name, (shape, bits)) in &one {
                let groups = ["/dynamics/", "/structure/", "/observables/"];
                let of_each = ["/value", "/error", "/count", "/change", "/change_error"];
                if !groups.iter().any(|group| name.starts_with(group))
                    || !of_each.iter().any(|ending| name.ends_with(ending))
                {
                    continue;
                }
                let found = of_system(&all, name, shape, system, TEMPERATURES.len() * SAMPLES);
                assert_eq!(found, *bits, "{name} of system {system}");
                compared += 1;
            }
            assert!(compared > 30, "{compared} datasets");
            let (all, one) = (file(&whole, "h5md"), file(&job, "h5md"));
            for name in ["position", "image", "velocity"] {
                let at = |group: &str| format!("/particles/{group}/{name}/value");
                let found = &all[&at(&format!("system-{system}"))];
                assert_eq!(*found, one[&at("trajectory")], "{name} of system {system}");
            }
        }
    }
}

#[test]
fn averages_are_over_the_systems_with_errors_from_their_scatter() {
    let job = Job::new(&independent(5, 40));
    job.succeeds(&["run", "job.toml"]);
    let all = numbers(&job.path("out/nve.h5"));
    let floats =
        |name: &str| -> Vec<f64> { all[name].1.iter().map(|&bits| f64::from_bits(bits)).collect() };
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * (1.0 + b.abs());
    // Of five values Student's distribution has the variance 4 / 2.
    let average = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / 5.0;
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        (mean, (squares / 4.0 / 5.0 * 2.0).sqrt())
    };
    let rows = floats("/systems/observables/pressure/value");
    for (row, values) in rows.chunks(5).enumerate() {
        let (mean, error) = average(values);
        assert!(close(floats("/observables/pressure/value")[row], mean), "row {row}");
        assert!(close(floats("/observables/pressure/error")[row], error), "row {row}");
    }
    let msd = "/dynamics/A/mean_square_displacement";
    let (value, error) = (floats(&format!("{msd}/value")), floats(&format!("{msd}/error")));
    let of_systems = floats(&format!("/systems{msd}/value"));
    let own = floats(&format!("/systems{msd}/error"));
    let lags = value.len();
    // In a stage this short, no system has an error of its own at long lags.
    assert!(own[lags - 1].is_nan() && error[lags - 1] > 0.0);
    for lag in 1..lags {
        let values: Vec<f64> = (0..5).map(|system| of_systems[system * lags + lag]).collect();
        let (mean, expected) = average(&values);
        assert!(close(value[lag], mean) && close(error[lag], expected), "lag {lag}");
    }
    // Counts are those of all systems; the susceptibility has a value over all of them besides.
    let count = &all[&format!("{msd}/count")].1;
    let of_first = &all[&format!("/systems{msd}/count")].1[..lags];
    assert!((0..lags).all(|lag| count[lag] == 5 * of_first[lag]));
    let chi = "/dynamics/A/self_overlap_susceptibility";
    let (within, over) =
        (floats(&format!("{chi}/value")), floats(&format!("{chi}/ensemble_value")));
    // With the last lag, of few origins, there is more scatter between systems than within each.
    let last = (0..within.len()).rfind(|&lag| over[lag].is_finite()).unwrap();
    assert!(over[last] >= 0.0 && floats(&format!("{chi}/ensemble_error"))[last] >= 0.0);
    assert_eq!(all["/systems/seed"].1, [11, 12, 13, 14, 15]);
}

#[test]
fn a_run_of_many_systems_that_was_stopped_and_killed_gives_the_same_files() {
    let run = "timestep = 0.004";
    let whole = Job::new(&ensemble(run, 200));
    whole.succeeds(&["run", "job.toml"]);
    let parts = Job::new(&(ensemble(run, 200) + "\n[checkpoint]\nminutes = 0.001\n"));
    for (stage, kill) in [("cool", false), ("bussi", true), ("nve", false)] {
        let arguments: &[&str] =
            if stage == "cool" { &["run", "job.toml"] } else { &["resume", "out"] };
        let mut process = parts.start(arguments);
        parts.appears(&format!("out/{stage}.h5"), &mut process);
        std::thread::sleep(Duration::from_millis(150));
        match kill {
            true => process.kill().unwrap(),
            false if process.try_wait().unwrap().is_none() => signal(process.id(), "TERM"),
            false => {}
        }
        Ended::of(process);
    }
    parts.succeeds(&["resume", "out"]);
    for stage in STAGES {
        for ending in ["h5", "h5md"] {
            let file = |job: &Job| job.path(&format!("out/{stage}.{ending}"));
            assert_same_numbers(&file(&whole), &file(&parts));
        }
    }
}

/// Independent systems of a short liquid, and its stages.
fn independent(systems: usize, steps: u64) -> String {
    kob_andersen(3, 160, "fixed-point", "timestep = 0.004")
        + &format!("\n[ensemble]\nkind = \"independent\"\nsystems = {systems}\n")
        + &stages("1.2", steps)
}

#[test]
fn one_system_of_an_ensemble_is_repeated_alone() {
    let whole = Job::new(&ensemble("timestep = 0.004", 40));
    whole.succeeds(&["run", "job.toml"]);
    let ended = whole.succeeds(&["run", "job.toml", "--system", "2"]);
    assert!(ended.stdout.contains("out-system-2"), "{ended:?}");
    let (path, checkpoint) = last(&whole);
    let found = state_from_checkpoint(&checkpoint.part("system-2"), &path).unwrap();
    let repeated = latest_valid(&whole.path("out-system-2")).unwrap().checkpoint.unwrap();
    let repeated = state_from_checkpoint(&repeated.2, &repeated.1).unwrap();
    assert_eq!(found.hash(), repeated.hash());
    whole.fails(&["run", "job.toml", "--system", "4"], &["no such system", "0 to 3"]);
    let single = Job::new(&alone(0, 40));
    single.fails(&["run", "job.toml", "--system", "0"], &["no [ensemble]"]);
}

#[test]
fn runs_start_from_one_system_or_from_all_of_an_ensemble() {
    let whole = Job::new(&independent(3, 40));
    whole.succeeds(&["run", "job.toml"]);
    let (path, checkpoint) = last(&whole);
    let text = kob_andersen(3, 160, "fixed-point", "timestep = 0.004");
    let stage = "\n[[stage]]\nname = \"go-on\"\nsteps = 20\nobserve = { thermodynamics = 10, trajectory = 10 }\n";
    let from = |file: &str, more: &str, name: &str| {
        let initial = format!("initial = {{ file = \"{file}\"{more} }}");
        let text = text.replace("initial = { lattice = \"fcc\", temperature = 1.5 }", &initial);
        text.replace("directory = \"out\"", &format!("directory = \"{name}\""))
    };
    let scp = format!("out/{}", path.file_name().unwrap().to_str().unwrap());
    for (number, file) in [&scp, "out/nve.h5md"].into_iter().enumerate() {
        // One of them.
        let name = format!("one-{number}");
        whole.write("one.toml", &(from(file, ", system = 1", &name) + stage));
        whole.succeeds(&["run", "one.toml"]);
        // All.
        let name = format!("all-{number}");
        let ensemble = "\n[ensemble]\nkind = \"independent\"\nsystems = 3\n";
        whole.write("all.toml", &(from(file, "", &name) + ensemble + stage));
        whole.succeeds(&["run", "all.toml"]);
        let one = numbers(&whole.path(&format!("one-{number}/go-on.h5md")));
        let all = numbers(&whole.path(&format!("all-{number}/go-on.h5md")));
        let at = |group: &str| format!("/particles/{group}/position/value");
        assert_eq!(one[&at("trajectory")], all[&at("system-1")], "{file}");
        assert_ne!(all[&at("system-0")], all[&at("system-1")], "{file}");
    }
    let part = state_from_checkpoint(&checkpoint.part("system-1"), &path).unwrap();
    let first = latest_valid(&whole.path("all-0")).unwrap().checkpoint.unwrap();
    assert_eq!(part.step, 120, "{}", first.0);

    whole.write("none.toml", &(from(&scp, "", "none") + stage));
    whole.fails(&["run", "none.toml"], &["holds 3 systems", "give system.initial.system, 0 to 2"]);
    whole.write("none.toml", &(from("out/nve.h5md", ", system = 3", "none") + stage));
    whole.fails(&["check", "none.toml"], &["none of number 3", "at most 2"]);
    let two = "\n[ensemble]\nkind = \"independent\"\nsystems = 2\n";
    whole.write("none.toml", &(from(&scp, "", "none") + two + stage));
    whole.fails(&["run", "none.toml"], &["holds 3 systems, the run 2"]);
    // At constant energy, they would stay the same.
    whole.write("none.toml", &(from(&scp, ", system = 0", "none") + two + stage));
    whole.fails(
        &["run", "none.toml"],
        &["same positions and velocities", "system.initial.temperature"],
    );
    whole.write("one.toml", &(from("one-1/go-on.h5md", ", system = 0", "none") + stage));
    whole.fails(&["run", "one.toml"], &["holds one system"]);
    // Of what is stored, one system is evaluated.
    whole.write("job.toml", &(independent(3, 40)));
    whole.fails(
        &["correlate", "all-0/go-on.h5md", "job.toml", "--stage", "nve"],
        &["holds 3 systems", "--system"],
    );
}

#[test]
fn an_ensemble_is_analysed_as_the_runs_of_its_systems() {
    let whole = Job::new(&ensemble("timestep = 0.004", 80));
    whole.succeeds(&["run", "job.toml"]);
    let mut files = Vec::new();
    for system in 0..4 {
        let name = format!("alone-{system}");
        let text = alone(system, 80).replace("\"out\"", &format!("\"{name}\""));
        whole.write("alone.toml", &text);
        whole.succeeds(&["run", "alone.toml"]);
        files.push(format!("{name}/nve.h5"));
    }
    let table = |files: &[&str], csv: &str| {
        let arguments = [&["analyze", "--csv", csv], files].concat();
        let ended = whole.succeeds(&arguments);
        (ended.stdout, std::fs::read_to_string(whole.path(csv)).unwrap())
    };
    let (text, of_ensemble) = table(&["out/nve.h5"], "ensemble.csv");
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let (_, of_runs) = table(&names, "runs.csv");
    assert_eq!(of_ensemble, of_runs);
    assert_eq!(text.matches("(2 runs;").count(), 2, "{text}");

    let ended = whole.succeeds(&["info", "out/nve.h5", "out/nve.h5md"]);
    for part in ["T = 1.4", "T = 1.1", "2 of each temperature", "Trajectories of 4 systems"] {
        assert!(ended.stdout.contains(part), "no {part:?} in {}", ended.stdout);
    }
    let ended = whole.succeeds(&["watch", "out", "--once"]);
    for part in ["averages over 2 systems of each temperature", "T = 1.1:", "the run has finished"]
    {
        assert!(ended.stdout.contains(part), "no {part:?} in {}", ended.stdout);
    }
    whole.succeeds(&["report", "out/nve.h5", "-o", "page.html"]);
    let page = std::fs::read_to_string(whole.path("page.html")).unwrap();
    assert!(page.contains("T = 1.4") && page.contains("<svg"));
    whole.succeeds(&["plot", "out/nve.h5", "-o", "figure.svg"]);
    assert!(std::fs::read_to_string(whole.path("figure.svg")).unwrap().contains("T = 1.1"));
    let ended = whole.succeeds(&["check", "job.toml"]);
    for part in
        ["4 systems, 640 particles in all, seeds 11 to 14", "2 of each temperature: 1.4, 1.1"]
    {
        assert!(ended.stdout.contains(part), "no {part:?} in {}", ended.stdout);
    }
}

#[test]
fn what_goes_wrong_in_one_system_says_in_which() {
    let limits = "\n[limits]\ntemperature = 0.5\n";
    let job = Job::new(&(independent(2, 40) + limits));
    job.fails(&["run", "job.toml"], &["stage \"cool\", step 0, system 0", "limits.temperature"]);
    // Twice the same steps give the same bits.
    let integrity = "\n[integrity]\nrecheck = 20\nsegment = 5\n";
    let job = Job::new(&(independent(2, 40) + integrity));
    job.succeeds(&["run", "job.toml"]);
}

/// A thread that waits in a loop over the pairs of one system must not take up another system on top of it: a stack that is
/// deep enough for one would not be for hundreds.
#[test]
fn hundreds_of_systems_need_no_deeper_stack_than_one() {
    let stage = r#"
[[stage]]
name = "nve"
steps = 60
[[stage.correlation]]
every = 2
block_size = 10
observables = ["mean-square-displacement", "self-overlap-susceptibility"]
"#;
    let systems = "[ensemble]\nkind = \"independent\"\nsystems = 200\n";
    let small = [("RUST_MIN_STACK", "524288"), ("RAYON_NUM_THREADS", "16")];
    for ensemble in ["", systems] {
        let toml = kob_andersen(3, 160, "fixed-point", "timestep = 0.004") + ensemble + stage;
        Job::new(&toml).with(&small).succeeds(&["run", "job.toml"]);
    }
}
