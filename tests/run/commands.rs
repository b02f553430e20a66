//! What each command prints and writes.
use std::fs;
use std::path::{Path, PathBuf};

use supercool::command::init::names;

use crate::common::job::{Ended, Job, kob_andersen};

fn short_run() -> Job {
    let toml = kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1\nskin = 0.3")
        + r#"
[[stage]]
name = "equilibrate"
steps = 300
thermostat = { kind = "langevin", temperature = 1.0, friction = 2.0 }
observe = { thermodynamics = 10 }

[[stage]]
name = "production"
steps = 200
set_total_energy = "mean of equilibrate"
observe = { thermodynamics = 10, trajectory = 50, gsd = true, structure = { every = 50 } }
[[stage.correlation]]
every = 5
wavenumbers = [7.25]
"#;
    let job = Job::new(&toml);
    let ended = job.succeeds(&["run", "job.toml"]);
    for part in ["equilibrate", "production", "T", "U/N", "fixed-point", "Results are in out"] {
        assert!(ended.stdout.contains(part), "{ended:?}");
    }
    job
}

/// First words of the lines that `supercool hash` prints.
fn hashes(job: &Job, path: &str) -> Vec<String> {
    let printed = job.succeeds(&["hash", path]).stdout;
    printed.lines().map(|line| line.split_once("  step 40  ").expect(line).0.to_owned()).collect()
}

#[test]
fn the_same_bits_have_the_same_hash() {
    let stage = "\n[[stage]]\nname = \"go\"\nsteps = 40\nthermostat = { kind = \"bussi\", temperature = 1.0, time = 0.1 }\n";
    let text = |run: &str| kob_andersen(3, 256, "fixed-point", run) + stage;
    let job = Job::new(&text("timestep = 0.004\nthreads = 1"));
    job.write("two.toml", &text("timestep = 0.004\nthreads = 2\nskin = 0.4"));
    job.write("other.toml", &text("timestep = 0.002"));
    let ensemble = "\n[ensemble]\nkind = \"independent\"\nsystems = 2\n";
    job.write("many.toml", &(text("timestep = 0.004") + ensemble));
    for (file, directory) in
        [("job.toml", "one"), ("two.toml", "two"), ("other.toml", "other"), ("many.toml", "many")]
    {
        job.succeeds(&["run", file, "--output", directory, "--quiet"]);
    }
    let one = hashes(&job, "one");
    assert_eq!((one.len(), one[0].len()), (1, 64));
    assert_eq!(hashes(&job, "one/checkpoint-40.scp"), one);
    assert_eq!(hashes(&job, "two"), one);
    assert_ne!(hashes(&job, "other"), one);
    let many = hashes(&job, "many");
    assert_eq!((many.len(), &many[0]), (2, &one[0]));
    assert_ne!(many[1], many[0]);
    job.fails(&["hash", "job.toml"], &["job.toml"]);
    fs::create_dir(job.path("empty")).unwrap();
    job.fails(&["hash", "empty"], &["empty"]);
}

#[test]
fn a_run_leaves_files_that_info_and_plot_read() {
    let job = short_run();
    for (file, parts) in [
        ("equilibrate.h5", vec!["stage complete", "step 300", "temperature"]),
        ("production.h5", vec!["self_intermediate_scattering_function", "pair_distribution"]),
        ("production.h5md", vec!["256"]),
        ("production.gsd", vec!["256"]),
    ] {
        let ended = job.succeeds(&["info", &format!("out/{file}")]);
        for part in parts {
            assert!(ended.stdout.contains(part), "{file}: no {part} in {}", ended.stdout);
        }
    }
    // As many as were foretold: steps 0 to 200.
    let report = job.succeeds(&["check", "job.toml"]).stdout;
    assert!(report.contains("trajectory every 50 steps, 5 frames"), "{report}");
    assert_eq!(supercool_analysis::open(job.path("out/production.h5md")).unwrap().len(), 5);
    let two = ["out/production.h5", "out/equilibrate.h5"];
    let ended = job.succeeds(&["plot", two[0], two[1], "-o", "both.svg"]);
    assert_eq!(ended.stdout.trim(), "both.svg");
    let svg = fs::read_to_string(job.path("both.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    job.succeeds(&["plot", two[0], "-q", "mean-square-displacement", "-o", "msd.png"]);
    assert!(fs::read(job.path("msd.png")).unwrap().starts_with(b"\x89PNG\r\n\x1a\n"));
    job.fails(&["plot", two[1], "-q", "mean-square-displacement"], &["equilibrate.h5"]);
    job.fails(&["info", "out/missing.h5"], &["out/missing.h5", "No such file"]);
    job.fails(&["info", "job.toml"], &["job.toml"]);
}

#[test]
fn what_is_no_results_file_is_named_as_what_it_is_once() {
    let job = short_run();
    job.write("empty.h5", "");
    let of_checkpoint = "is a checkpoint of supercool";
    for (file, reason) in [
        ("job.toml", "is of no known format"),
        ("empty.h5", "is empty"),
        ("out/checkpoint-500.scp", of_checkpoint),
        ("out/production.gsd", "is a GSD file"),
        ("out/missing.h5", "No such file"),
    ] {
        for command in ["plot", "analyze", "report"] {
            let ended = job.execute(&[command, file]);
            assert_eq!(ended.code, Some(1), "{command} {file}: {ended:?}");
            let told = ended.stderr.matches(reason).count();
            assert_eq!(told, 1, "{command} {file}: {ended:?}");
            let is_there = file != "out/missing.h5";
            assert!(!is_there || ended.stderr.contains("results file (STAGE.h5) is wanted"));
            assert!(ended.stderr.contains(file) && !ended.stderr.contains("H5F"), "{ended:?}");
        }
    }
    job.fails(&["info", "out/checkpoint-500.scp"], &[of_checkpoint]);
}

#[test]
fn every_preset_is_a_configuration_that_checks() {
    let job = Job::new("");
    let listed = job.succeeds(&["init"]);
    assert_eq!(listed.stdout.lines().collect::<Vec<_>>(), names());
    for name in names() {
        let preset = job.succeeds(&["init", name]);
        job.write("my.toml", &preset.stdout);
        let report = job.succeeds(&["check", "my.toml"]).stdout;
        for part in ["particles", "memory", "stages", "results/my"] {
            assert!(report.contains(part), "{name}: no {part} in {report}");
        }
    }
    assert!(!job.path("results").exists(), "check runs nothing");
    job.fails(&["init", "water"], &["water", "kob-andersen"]);
    job.fails(&["check", "job.toml"], &["job.toml", "system"]);
}

#[test]
fn schema_and_reference_are_printed() {
    let job = Job::new("");
    let schema: serde_json::Value =
        serde_json::from_str(&job.succeeds(&["schema"]).stdout).unwrap();
    assert!(schema["properties"]["system"].is_object(), "{schema}");
    assert!(job.succeeds(&["reference"]).stdout.contains("vectors_per_shell"));
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let job = Job::new("");
    let mut process = job.start(&["reference"]);
    drop(process.stdout.take());
    let ended = Ended::of(process);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
}

/// Every model, from its lattice, without the way to its state.
const QUICK: [&str; 9] = [
    "--engine",
    "cpu",
    "--threads",
    "1",
    "--melt-steps",
    "0",
    "--equilibration-steps",
    "0",
    "--steps=20",
];

#[test]
fn bench_measures_every_model() {
    let job = Job::new("");
    for (model, temperature) in [("kob-andersen", 2.0), ("lj-fluid", 2.0), ("lj-nve", 1.44)] {
        let mut arguments = vec!["bench", "--particles", "500", "--model", model, "--json"];
        arguments.extend(["--precision", "double,fixed-point"]);
        arguments.extend(QUICK);
        let ended = job.succeeds(&arguments);
        let measured: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        let measured = measured.as_array().unwrap();
        assert_eq!(measured.len(), 2, "{measured:?}");
        for one in measured {
            assert_eq!((&one["model"], &one["steps"]), (&model.into(), &20.into()));
            assert_eq!(one["device_bytes_per_particle"], serde_json::Value::Null);
            // Few steps off the lattice, a minimum of the energy or (in the dilute fluid) nearly a flat
            // place of it; what is conserved is.
            let number = |key: &str| one[key].as_f64().unwrap();
            assert!(number("temperature") < 1.2 * temperature, "{one}");
            assert!(number("temperature") > 0.4 * temperature, "{one}");
            assert!(number("energy_change").abs() < 0.02, "{one}");
        }
    }
}

/// Beside constant volume, at the liquid's own pressure; trials need the temperature of a thermostat.
#[test]
fn bench_measures_under_a_barostat() {
    let job = Job::new("");
    let mut arguments = vec!["bench", "--particles", "500", "--precision", "fixed-point"];
    arguments.extend(["--engine", "cpu", "--json", "--thermostat", "andersen,bussi"]);
    arguments.extend(["--melt-steps", "100", "--equilibration-steps", "100", "--steps", "300"]);
    arguments.extend(["--barostat", "none,cell-rescaling"]);
    let ended = job.succeeds(&arguments);
    let measured: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let conditions = measured.as_array().unwrap().iter().map(|one| {
        let name = |key: &str| one[key].as_str().unwrap();
        (name("barostat"), name("thermostat"))
    });
    let expected = [
        ("none", "andersen"),
        ("none", "bussi"),
        ("cell-rescaling", "andersen"),
        ("cell-rescaling", "bussi"),
    ];
    assert_eq!(conditions.collect::<Vec<_>>(), expected);
    let without = ["bench", "--particles=500", "--engine=cpu", "--barostat=cell-rescaling"];
    job.fails(&without, &["--barostat cell-rescaling: trials", "--thermostat bussi"]);
}

#[test]
fn output_that_nobody_reads_is_no_error() {
    let job = Job::new("");
    let mut bench = vec!["bench", "--particles", "256", "--precision", "single,double"];
    bench.extend(QUICK);
    for arguments in [bench, vec!["reference"], vec!["init"]] {
        let mut process = job.start(&arguments);
        drop(process.stdout.take());
        let ended = Ended::of(process);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn numbers_that_cannot_be_are_refused_before_anything_is_measured() {
    let job = Job::new(
        &(kob_andersen(3, 256, "double", "timestep = 0.004")
            + "[[stage]]\nname = \"one\"\nsteps = 10\n"),
    );
    for (arguments, reason) in [
        (["bench", "--skin=nan"], "a length greater than 0"),
        (["bench", "--skin=-3"], "a length greater than 0"),
        (["bench", "--particles=0"], "a number from 1 to 268435456"),
        (["bench", "--particles=500,18446744073709551615"], "a number from 1 to 268435456"),
        (["bench", "--threads=0"], "a number from 1 to 1024"),
        (["bench", "--threads=100000"], "a number from 1 to 1024"),
    ] {
        let ended = job.execute(&arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(reason), "{arguments:?}: {ended:?}");
        assert_eq!(ended.stdout, "", "{arguments:?}");
    }
    let small = |more: &[&str], parts: &[&str]| {
        job.fails(&[&["bench", "--engine=cpu", "--particles"], more].concat(), parts);
    };
    // Twice the reach along each edge, at density 1.2.
    small(&["500,100"], &["--particles 100: cutoff 2.5", "at least 150 particles"]);
    small(&["500", "--skin", "3"], &["cutoff 2.5 and skin 3", "at least 1598 particles"]);
    // More ranks than 32 bits count.
    let ended = job.execute(&["check", "job.toml", "--ranks", "4294967297"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    job.fails(&["check", "job.toml", "--ranks", "4294967295"], &["it has room for 8 at most"]);
}

/// Each engine has lists of its own width, and so its own domains: with a reach of 2.925 (CPU) four fit one behind the
/// other into an edge of 12, with 3.025 (GPU) they do not.
#[test]
fn domains_are_those_of_the_engine_that_runs() {
    let toml = kob_andersen(3, 1000, "fixed-point", "timestep = 0.004")
        .replace("density = 1.2", "box = [11.33, 11.35, 11.38]")
        + "[[stage]]\nname = \"melt\"\nsteps = 20\n";
    let on_cpus = "  on CPUs: 4 domains, 1 x 1 x 4, of 11.330 x 11.350 x 2.845 with a halo of 2.825, 250 particles each";
    let on_gpus = "  on GPUs: 4 domains, 1 x 2 x 2, of 11.330 x 5.675 x 5.690 with a halo of 2.862, 250 particles each";
    for (engine, expected) in
        [("cpu", vec![on_cpus]), ("cuda", vec![on_gpus]), ("auto", vec![on_cpus, on_gpus])]
    {
        let engine = format!("engine = \"{engine}\"");
        let job = Job::new(&toml.replace("engine = \"cpu\"", &engine));
        let checked = job.succeeds(&["check", "job.toml", "--ranks", "4"]).stdout;
        let found: Vec<&str> = checked.lines().filter(|line| line.contains(" domains, ")).collect();
        assert_eq!(found, expected);
    }
    // A skin of 0.9 leaves room for 3 domains along each edge, on either.
    let narrow = toml.replace("timestep = 0.004", "timestep = 0.004\nskin = 0.9");
    let job = Job::new(&narrow.replace("engine = \"cpu\"", "engine = \"auto\""));
    job.fails(&["check", "job.toml", "--ranks", "28"], &["it has room for 27 at most"]);
}

/// Independent runs of one file.
#[test]
fn a_seed_of_the_command_line_is_that_of_the_files() {
    let text = kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1")
        + "[[stage]]\nname = \"melt\"\nsteps = 20\nobserve = { thermodynamics = 10 }\n";
    let job = Job::new(&text);
    for (seed, output) in [("11", "same"), ("12", "other")] {
        job.succeeds(&["run", "job.toml", "--seed", seed, "--output", output, "--quiet"]);
    }
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let read = |output: &str| {
        let file =
            supercool_analysis::results::ResultsFile::open(&job.path(&format!("{output}/melt.h5")));
        let file = file.unwrap();
        let energy = file.observable("potential_energy").unwrap().unwrap().value;
        (file.number("parameters/seed"), energy)
    };
    assert_eq!(read("same"), read("out"));
    let (seed, energy) = read("other");
    assert_eq!(seed, Some(12.0));
    assert!(energy != read("out").1);
}

#[test]
fn info_of_a_ramp_says_that_its_means_are_of_no_state() {
    let thermostat =
        "{ kind = \"langevin\", temperature = { from = 1.5, to = 0.5 }, friction = 2.0 }";
    let text = kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1")
        + &format!(
            "[[stage]]\nname = \"cool\"\nsteps = 40\nthermostat = {thermostat}\nobserve = {{ thermodynamics = 10 }}\n"
        );
    let job = Job::new(&text);
    job.succeeds(&["run", "job.toml", "--quiet"]);
    let info = job.succeeds(&["info", "out/cool.h5"]).stdout;
    assert!(
        info.contains("The thermostat goes from T = 1.5 to 0.5: means over the ramp"),
        "{info}"
    );
}

#[test]
fn a_trial_gives_the_time_of_each_stage_and_leaves_nothing() {
    let toml = kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1\nskin = 0.3")
        + r#"
[[stage]]
name = "melt"
steps = 4_000_000_000
thermostat = { kind = "langevin", temperature = 2.0, friction = 2.0 }
observe = { thermodynamics = 10 }

[[stage]]
name = "dense"
steps = 50
timestep = 0.002
density = { to = 1.25 }

[[stage]]
name = "production"
steps = 1_000_000_000
set_total_energy = "mean of melt"
observe = { thermodynamics = 10, trajectory = 50, gsd = true, structure = { every = 50 } }
[[stage.correlation]]
every = 5
wavenumbers = [7.25]
"#;
    let job = Job::new(&toml);
    let before = files_below(&job.path("."));
    let without = job.succeeds(&["check", "job.toml"]).stdout;
    assert!(!without.contains("steps/s"), "{without}");
    let with = job.succeeds(&["check", "job.toml", "--trial"]).stdout;
    let trial = with.strip_prefix(&without).unwrap_or_else(|| panic!("{with}"));
    assert!(trial.contains("trial on cpu") && trial.contains("in all, without setup"), "{trial}");
    for stage in ["melt", "dense", "production"] {
        let line = trial.lines().find(|line| line.trim_start().starts_with(&format!("{stage}: ")));
        let line = line.unwrap_or_else(|| panic!("no {stage} in {trial}"));
        let speed = line.split_once(" steps/s").and_then(|(line, _)| line.split(' ').next_back());
        assert!(speed.is_some_and(|speed| speed.parse::<f64>().unwrap() > 0.0), "{line}");
    }
    // Weeks, by the times of their steps.
    assert!(trial.contains(" d "), "{trial}");
    assert_eq!(files_below(&job.path(".")), before);
    let ended = job.execute(&["check", "job.toml", "--trial", "--ranks", "2"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

/// All files of a directory and those below it.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files_below(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}
