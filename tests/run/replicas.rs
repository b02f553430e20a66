//! Replica exchange: the same bits however the run is carried out, and the means of runs without exchanges.
use std::time::Duration;

use crate::common::contents::{Numbers, assert_same_numbers, numbers};
use crate::common::job::{Ended, Job, kob_andersen, signal};

const TEMPERATURES: [f64; 3] = [1.4, 1.3, 1.2];
const SAMPLES: usize = 2;
const SYSTEMS: usize = TEMPERATURES.len() * SAMPLES;
const STAGES: [&str; 4] = ["cool", "bussi", "chain", "nve"];

fn ensemble(kind: &str, samples: usize, more: &str) -> String {
    format!(
        "\n[ensemble]\nkind = \"{kind}\"\ntemperatures = {TEMPERATURES:?}\nsystems = {samples}\n{more}\n"
    )
}

/// Stages with and without exchanges. The chain remembers what it did, and comes to another temperature.
fn job(run: &str, steps: u64) -> String {
    let observe = r#"
[stage.observe]
thermodynamics = 5
trajectory = 40
structure = { every = 20, maximum_wavenumber = 8.0, vectors_per_shell = 5 }
bond_order = { every = 20, radius = 1.4 }
"#;
    let stages = format!(
        r#"
[[stage]]
name = "cool"
steps = {steps}
thermostat = {{ kind = "langevin", temperature = {{ from = 1.5, to = "ensemble" }}, friction = 2.0 }}
{observe}
[[stage]]
name = "bussi"
steps = {steps}
thermostat = {{ kind = "bussi", temperature = "ensemble", time = 0.1 }}
{observe}
[[stage]]
name = "chain"
steps = {steps}
thermostat = {{ kind = "nose-hoover", temperature = "ensemble", period = 0.4 }}
{observe}
[[stage]]
name = "nve"
steps = {steps}
set_total_energy = "mean of chain"
{observe}
[[stage.correlation]]
every = 5
block_size = 4
observables = ["mean-square-displacement"]
"#
    );
    kob_andersen(3, 160, "fixed-point", run)
        + &ensemble("replica-exchange", SAMPLES, "exchange_every = 8")
        + &stages
}

fn floats(all: &Numbers, name: &str) -> Vec<f64> {
    all[name].1.iter().map(|&bits| f64::from_bits(bits)).collect()
}

#[test]
fn exchanges_have_the_same_bits_however_the_run_is_carried_out() {
    let whole = Job::new(&job("timestep = 0.004\nthreads = 2", 160));
    let ended = whole.succeeds(&["run", "job.toml"]);
    for part in ["bussi: Exchanges of replicas", "T = 1.4 and 1.3", "2 by 2 of 6 replicas"] {
        assert!(ended.stdout.contains(part), "no {part:?} in {}", ended.stdout);
    }
    let info = whole.succeeds(&["info", "out/chain.h5"]).stdout;
    assert_eq!(info.matches("Exchanges of replicas").count(), 1, "{info}");
    whole.succeeds(&["report", "out", "-o", "page.html"]);
    let page = std::fs::read_to_string(whole.path("page.html")).unwrap();
    assert_eq!(page.matches("Exchanges of replicas").count(), 2, "of the stages bussi and chain");
    assert_eq!(page.matches("<h3>Particles</h3>").count(), 4);
    // On one thread, stopped in a stage with exchanges, killed in another.
    let parts = Job::new(
        &(job("timestep = 0.004\nthreads = 1", 160) + "\n[checkpoint]\nminutes = 0.001\n"),
    );
    for (stage, kill) in [("bussi", false), ("chain", true), ("nve", false)] {
        let arguments: &[&str] =
            if stage == "bussi" { &["run", "job.toml"] } else { &["resume", "out"] };
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
    let resumed = parts.succeeds(&["resume", "out"]);
    // Also of the stages that an earlier process has taken.
    let exchanges = |text: &str| {
        text.lines().filter(|line| line.contains('%')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(exchanges(&ended.stdout), exchanges(&resumed.stdout));
    for stage in STAGES {
        for ending in ["h5", "h5md"] {
            let file = |job: &Job| job.path(&format!("out/{stage}.{ending}"));
            assert_same_numbers(&file(&whole), &file(&parts));
        }
    }
    looks_right(&whole);
}

/// What files say of exchanges, and what each system is.
fn looks_right(job: &Job) {
    let all = |stage: &str| numbers(&job.path(&format!("out/{stage}.h5")));
    assert!(!all("cool").contains_key("/systems/exchange/attempts"));
    assert!(!all("nve").contains_key("/systems/exchange/attempts"));
    let mut last = (0..SYSTEMS as u64).collect::<Vec<_>>();
    for stage in ["bussi", "chain"] {
        let all = all(stage);
        let counts = |name: &str| all[&format!("/systems/exchange/{name}")].1.clone();
        // 20 exchanges, of each pair every second time, in each ladder.
        assert_eq!(counts("attempts"), [10 * SAMPLES as u64; 2]);
        let (attempts, accepted) = (counts("attempts"), counts("acceptances"));
        assert!(accepted.iter().all(|&count| count > 0), "{stage}: {accepted:?}");
        let ratios = floats(&all, "/systems/exchange/acceptance");
        assert!((0..2).all(|pair| ratios[pair] == accepted[pair] as f64 / attempts[pair] as f64));
        let (shape, replicas) = &all["/systems/exchange/replica/value"];
        assert_eq!(*shape, [33, SYSTEMS]);
        let file = hdf5::File::open(job.path(&format!("out/{stage}.h5"))).unwrap();
        let steps = |path: &str| file.dataset(path).unwrap().read_raw::<i64>().unwrap();
        let expected = steps("systems/observables/temperature/step");
        assert_eq!(steps("systems/exchange/replica/step"), expected);
        let rows: Vec<&[u64]> = replicas.chunks(SYSTEMS).collect();
        assert_eq!(rows[0], last, "a stage begins with the replicas of the one before");
        for row in &rows {
            let mut sorted = row.to_vec();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..SYSTEMS as u64), "{row:?}");
        }
        last = rows[32].to_vec();
        // Every system has its temperature.
        let temperatures = floats(&all, "/systems/observables/temperature/value");
        for system in 0..SYSTEMS {
            let of = |values: &[f64]| -> Vec<f64> {
                values.iter().skip(system).step_by(SYSTEMS).copied().collect()
            };
            let mean = of(&temperatures)[1..].iter().sum::<f64>() / 32.0;
            // Of 477 degrees of freedom and few correlation times; the next temperature is 0.1 away.
            let expected = TEMPERATURES[system / SAMPLES];
            // At the end of the first stage the crystal still melts.
            assert!(stage == "bussi" || (mean - expected).abs() < 0.05, "system {system}: {mean}");
        }
    }
}

#[test]
fn means_are_those_of_runs_without_exchanges() {
    const LADDERS: usize = 4;
    let stages = r#"
[[stage]]
name = "equilibrate"
steps = 1000
thermostat = { kind = "bussi", temperature = "ensemble", time = 0.1 }
[[stage]]
name = "sample"
steps = 4000
thermostat = { kind = "bussi", temperature = "ensemble", time = 0.1 }
observe = { thermodynamics = 10 }
"#;
    let means = |kind: &str, more: &str| {
        let text = kob_andersen(2, 36, "fixed-point", "timestep = 0.004")
            + &ensemble(kind, LADDERS, more).replace("[1.4, 1.3, 1.2]", "[4.0, 3.0, 2.2]")
            + stages;
        let job = Job::new(&text);
        job.succeeds(&["run", "job.toml"]);
        let all = numbers(&job.path("out/sample.h5"));
        let energies = floats(&all, "/systems/observables/potential_energy/value");
        let count = LADDERS * TEMPERATURES.len();
        let mean = |system: usize| {
            let of_system: Vec<f64> =
                energies.iter().skip(system).step_by(count).copied().collect();
            of_system.iter().sum::<f64>() / of_system.len() as f64
        };
        // Ladders are independent of each other.
        let of_temperature = |index: usize| {
            let of: Vec<f64> = (index * LADDERS..(index + 1) * LADDERS).map(mean).collect();
            let mean = of.iter().sum::<f64>() / LADDERS as f64;
            let squares: f64 = of.iter().map(|one| (one - mean).powi(2)).sum();
            (mean, squares / (LADDERS * (LADDERS - 1)) as f64)
        };
        (0..TEMPERATURES.len()).map(of_temperature).collect::<Vec<_>>()
    };
    let with = means("replica-exchange", "exchange_every = 20");
    let without = means("temperatures", "");
    for ((one, square), (other, other_square)) in with.iter().zip(&without) {
        let error = (square + other_square).sqrt();
        // Neighbors in temperature differ by 0.6: four errors are less than half of it.
        assert!(error < 0.07, "{error}");
        assert!((one - other).abs() < 4.0 * error.max(0.02), "{with:?} {without:?}");
    }
}

#[test]
fn what_replicas_cannot_do_is_refused() {
    let whole = Job::new(&job("timestep = 0.004", 40));
    whole.fails(
        &["run", "job.toml", "--system", "2"],
        &["cannot run alone", "depends on the others", "kind = \"temperatures\""],
    );
    whole.succeeds(&["run", "job.toml"]);
    let check = whole.succeeds(&["check", "job.toml"]);
    assert!(check.stdout.contains("every 8 steps in bussi, chain"), "{}", check.stdout);
    let arguments = ["job.toml", "--stage", "nve", "--system", "2", "--output", "of-chain"];
    whole.fails(
        &[&["correlate", "out/chain.h5md"], &arguments[..]].concat(),
        &["chain.h5md", "replicas were exchanged"],
    );
    let plain = whole.execute(&[&["correlate", "out/nve.h5md"], &arguments[..]].concat());
    assert!(!plain.stderr.contains("replicas were exchanged"), "{plain:?}");
}
