//! Damaged checkpoints, disks without room, directories that go away, signals of batch systems.
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use supercool::output::{Checkpoint, checkpoints_in, latest_valid};

use crate::common::contents::assert_same_numbers;
use crate::common::job::{Ended, Job, kob_andersen, signal};
use crate::common::mounted::Mounted;

fn toml(steps: u64, observe: &str) -> String {
    kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1\nskin = 0.3")
        + &format!("[[stage]]\nname = \"melt\"\nsteps = {steps}\nobserve = {{ {observe} }}\n")
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Waits until a directory holds a checkpoint of a later step than this.
fn wait_for_checkpoint(out: &Path, after: u64, process: &mut Child) -> u64 {
    let start = Instant::now();
    loop {
        let found = checkpoints_in(out).unwrap_or_default();
        if let Some((step, _)) = found.first().filter(|(step, _)| *step > after) {
            return *step;
        }
        assert!(process.try_wait().unwrap().is_none(), "it ended before");
        assert!(start.elapsed() < Duration::from_secs(60), "no checkpoint");
        std::thread::sleep(Duration::from_millis(2));
    }
}

// ---------------------------------------------------------------------------------------------
// Checkpoints

/// The same content, with another value in the place of one.
fn with_value(path: &Path, name: &str, value: serde_json::Value) {
    let mut checkpoint = Checkpoint::read(path).unwrap();
    checkpoint.put_json(name, &value).unwrap();
    checkpoint.write_as(path).unwrap();
}

#[test]
fn checkpoints_that_cannot_be_used_are_named_and_the_one_before_is_taken() {
    let text = toml(60, "thermodynamics = 10, trajectory = 20")
        + "[[stage]]\nname = \"second\"\nsteps = 40\nobserve = { thermodynamics = 10 }\n";
    let whole = Job::new(&text);
    whole.succeeds(&["run", "job.toml"]);
    let other = Job::new(&text.replace("seed = 11", "seed = 12"));
    other.succeeds(&["run", "job.toml"]);
    let name = "checkpoint-100.scp";
    let sound = fs::read(whole.path("out").join(name)).unwrap();
    let length = sound.len();
    let cut = |to: usize| {
        let sound = &sound;
        move |path: &Path| fs::write(path, &sound[..to]).unwrap()
    };
    let flip = |at: usize, bit: u32| {
        let sound = &sound;
        move |path: &Path| {
            let mut bytes = sound.clone();
            bytes[at] ^= 1 << bit;
            fs::write(path, bytes).unwrap();
        }
    };
    let header_end = 24 + u32::from_le_bytes(sound[12..16].try_into().unwrap()) as usize;
    let foreign = fs::read(other.path("out").join(name)).unwrap();
    // A bit of the length: the file is longer than it says then, or shorter.
    let other_length = if sound[16] & 8 > 0 { "instead of" } else { "cut short" };
    type Damage<'a> = Box<dyn Fn(&Path) + 'a>;
    let damages: Vec<(&str, Damage)> = vec![
        ("not a supercool checkpoint", Box::new(cut(0))),
        ("cut short", Box::new(cut(1))),
        ("cut short", Box::new(cut(8))),
        ("cut short", Box::new(cut(24))),
        ("cut short", Box::new(cut(header_end))),
        ("cut short", Box::new(cut(length / 2))),
        ("cut short", Box::new(cut(length - 32))),
        ("cut short", Box::new(cut(length - 1))),
        ("not a supercool checkpoint", Box::new(flip(0, 3))),
        ("format version 11; this program reads version 3", Box::new(flip(8, 3))),
        ("hash", Box::new(flip(12, 0))),
        (other_length, Box::new(flip(16, 3))),
        ("hash", Box::new(flip(30, 5))),
        ("hash", Box::new(flip(header_end + 100, 0))),
        ("hash", Box::new(flip(length - 1, 7))),
        ("of another run", Box::new(|path: &Path| fs::write(path, &foreign).unwrap())),
        (
            "`place` cannot be read",
            Box::new(|path: &Path| {
                with_value(path, "place", serde_json::json!({"stage": "last"}));
            }),
        ),
        (
            "its place in the plan is none",
            Box::new(|path: &Path| {
                with_value(
                    path,
                    "place",
                    serde_json::json!({"stage": 7, "begun": false, "stages": []}),
                );
            }),
        ),
        (
            "`state` cannot be read",
            Box::new(|path: &Path| {
                with_value(path, "state", serde_json::json!({"precision": "quadruple"}));
            }),
        ),
    ];
    for (reason, damage) in damages {
        let job = Job::new(&text);
        copy_directory(&whole.path("out"), &job.path("out"));
        damage(&job.path("out").join(name));
        let resumed = job.succeeds(&["resume", "out"]);
        for part in [name, "is not used", reason] {
            assert!(resumed.stderr.contains(part), "{reason}: no {part:?} in {resumed:?}");
        }
        assert_eq!(sound, with_seconds_of(&sound, &job.path("out").join(name)), "{reason}");
        assert!(job.path(&format!("out/{name}.refused")).exists(), "{reason}: it is kept");
        for file in ["out/melt.h5", "out/melt.h5md", "out/second.h5"] {
            assert_same_numbers(&whole.path(file), &job.path(file));
        }
    }
}

/// A checkpoint's bytes with the seconds of another, which are never the same.
fn with_seconds_of(of: &[u8], path: &Path) -> Vec<u8> {
    let seconds: f64 = Checkpoint::from_bytes(path, of).unwrap().get_json("seconds").unwrap();
    let mut checkpoint = Checkpoint::read(path).unwrap();
    checkpoint.put_json("seconds", &seconds).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.scp");
    checkpoint.write_as(&copy).unwrap();
    fs::read(copy).unwrap()
}

#[test]
fn when_no_checkpoint_can_be_used_all_reasons_are_said_and_nothing_is_touched() {
    let job = Job::new(&toml(20, "thermodynamics = 10"));
    job.succeeds(&["run", "job.toml"]);
    for name in ["out/checkpoint-0.scp", "out/checkpoint-20.scp"] {
        let bytes = fs::read(job.path(name)).unwrap();
        fs::write(job.path(name), &bytes[..bytes.len() - 3]).unwrap();
    }
    let before = fs::read(job.path("out/melt.h5")).unwrap();
    let parts = [
        "checkpoint-0.scp is not used",
        "checkpoint-20.scp is not used",
        "no checkpoint can be used",
    ];
    job.fails(&["resume", "out"], &parts);
    assert_eq!(before, fs::read(job.path("out/melt.h5")).unwrap());
    assert!(job.path("out/checkpoint-20.scp").exists());
}

#[test]
fn a_file_of_the_run_that_is_missing_is_reported_and_not_begun_anew() {
    let observe = "thermodynamics = 10, trajectory = 10, gsd = true";
    for name in ["melt.h5", "melt.h5md", "melt.gsd"] {
        let job = Job::new(&toml(1000, observe));
        // The only checkpoint is of the first step, with the files of the stage.
        let stopped = job.execute(&["run", "job.toml", "--max-walltime", "0s"]);
        assert_eq!(stopped.code, Some(75), "{stopped:?}");
        fs::remove_file(job.path(&format!("out/{name}"))).unwrap();
        job.fails(&["resume", "out"], &[name, "it is missing", "system.initial.file"]);
        assert!(!job.path(&format!("out/{name}")).exists());
    }
}

#[test]
fn a_file_of_the_run_that_was_cut_off_is_reported_and_left_alone() {
    for name in ["melt.h5", "melt.h5md"] {
        let job = Job::new(&toml(1000, "thermodynamics = 10, trajectory = 10"));
        let stopped = job.execute(&["run", "job.toml", "--max-walltime", "0s"]);
        assert_eq!(stopped.code, Some(75), "{stopped:?}");
        let path = job.path(&format!("out/{name}"));
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(100).unwrap();
        let told = format!("it was cut off, 100 bytes of {length} are left");
        job.fails(&["resume", "out"], &[name, &told, "put the run's own file back"]);
        assert_eq!(fs::metadata(&path).unwrap().len(), 100);
    }
}

#[test]
fn a_results_file_that_lost_its_end_is_written_again_from_an_earlier_checkpoint() {
    let text = toml(60, "thermodynamics = 10")
        + "[[stage]]\nname = \"second\"\nsteps = 4000\nobserve = { thermodynamics = 10 }\n"
        + "[checkpoint]\nminutes = 0.0005\n";
    let job = Job::new(&text);
    loop {
        let mut process = job.start(&["run", "job.toml", "--force"]);
        assert!(job.appears("out/second.h5", &mut process));
        process.kill().unwrap();
        // Unless this came too late, and there is nothing to continue with.
        if !process.wait().unwrap().success() {
            break;
        }
        fs::remove_file(job.path("out/second.h5")).unwrap();
    }
    // The files of the stage as a disk brings them back that lost its last minutes.
    job.execute(&["resume", "out", "--max-walltime", "0s"]);
    fs::write(job.path("out/second.h5"), "").unwrap();
    let ended = job.execute(&["resume", "out"]);
    // Either the stage's start is among the two checkpoints, or it says what to do.
    match ended.code {
        Some(0) => assert_eq!(job.series("second", "temperature").len(), 401),
        _ => assert!(ended.stderr.contains("second.h5"), "{ended:?}"),
    }
    assert!(ended.stderr.contains("is not used"), "{ended:?}");
}

// ---------------------------------------------------------------------------------------------
// Disks and directories

/// Starts the program by a shell's command, after what sets limits or signals for it.
fn start_behind(job: &Job, command: &str, arguments: &[&str]) -> Child {
    Command::new("sh")
        .args(["-c", &format!(r#"{command} "$0" "$@""#), env!("CARGO_BIN_EXE_supercool")])
        .args(arguments)
        .current_dir(job.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_limit_on_the_size_of_files_ends_a_run_like_a_full_disk() {
    // 500 blocks of 512 or 1024 bytes; a frame has 15 kB.
    let text =
        toml(2000, "thermodynamics = 10, trajectory = 10") + "[checkpoint]\nminutes = 0.0005\n";
    let job = Job::new(&text);
    let ended =
        Ended::of(start_behind(&job, "ulimit -f 500; exec", &["run", "job.toml", "--quiet"]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for part in ["longer than files of this process may get", "ulimit -f", "out/melt.h5", "resume"]
    {
        assert!(ended.stderr.contains(part), "no {part:?} in {ended:?}");
    }
    let found = latest_valid(&job.path("out")).unwrap();
    assert!(found.refused.is_empty() && found.checkpoint.is_some(), "{found:?}");
    let partial = fs::read_dir(job.path("out")).unwrap().flatten();
    let partial: Vec<_> =
        partial.filter(|entry| entry.path().extension() == Some("partial".as_ref())).collect();
    assert!(partial.is_empty(), "{partial:?}");
    job.succeeds(&["resume", "out"]);
    let whole = Job::new(&text);
    whole.succeeds(&["run", "job.toml"]);
    for file in ["out/melt.h5", "out/melt.h5md"] {
        assert_same_numbers(&whole.path(file), &job.path(file));
    }
}

/// Reads the process's standard error until it says that it waits.
fn wait_until_it_waits(process: &mut Child) -> impl Read + Send + use<> {
    let mut stderr = BufReader::new(process.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("waiting for room") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended before it waited");
    }
    stderr
}

const WAITING: &str = "flush_seconds = 0.01\non_full_disk = \"wait\"";

#[test]
fn a_full_disk_is_waited_for_if_so_configured() {
    let Some(mounted) = Mounted::new("size=2m") else { return };
    let text = toml(2000, "thermodynamics = 10, trajectory = 10, gsd = true")
        .replace(r#"directory = "out""#, &format!("directory = \"out\"\n{WAITING}"))
        + "[checkpoint]\nminutes = 0.0005\n";
    let job = Job::at(mounted.path(), &text);
    let mut process = job.start(&["run", "job.toml", "--quiet"]);
    let _stderr = wait_until_it_waits(&mut process);
    std::thread::sleep(Duration::from_millis(700));
    assert!(process.try_wait().unwrap().is_none(), "it waits");
    let found = latest_valid(&job.path("out")).unwrap();
    assert!(found.refused.is_empty() && found.checkpoint.is_some(), "{found:?}");
    mounted.remount("size=30m");
    assert!(process.wait().unwrap().success());
    let whole = Job::new(&text);
    whole.succeeds(&["run", "job.toml"]);
    for file in ["out/melt.h5", "out/melt.h5md"] {
        assert_same_numbers(&whole.path(file), &job.path(file));
    }
    let gsd = |job: &Job| {
        let file = supercool_analysis::open(job.path("out/melt.gsd")).unwrap();
        (0..file.len()).map(|frame| file.read(frame).unwrap()).collect::<Vec<_>>()
    };
    assert!(gsd(&whole) == gsd(&job));
}

#[test]
fn a_run_that_waits_for_room_ends_when_it_is_asked_to() {
    let Some(mounted) = Mounted::new("size=2m") else { return };
    let text = toml(2000, "thermodynamics = 10, trajectory = 10")
        .replace(r#"directory = "out""#, &format!("directory = \"out\"\n{WAITING}"))
        + "[checkpoint]\nminutes = 0.0005\n";
    let job = Job::at(mounted.path(), &text);
    let mut process = job.start(&["run", "job.toml", "--quiet"]);
    let mut stderr = wait_until_it_waits(&mut process);
    signal(process.id(), "TERM");
    assert_eq!(process.wait().unwrap().code(), Some(75));
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("no space left"), "{rest}");
    let found = latest_valid(&job.path("out")).unwrap();
    assert!(found.refused.is_empty() && found.checkpoint.is_some(), "{found:?}");
    mounted.remount("size=30m");
    job.succeeds(&["resume", "out"]);
}

#[test]
fn a_directory_that_goes_away_ends_the_run_and_the_last_checkpoint_in_it_is_whole() {
    let text = toml(100_000_000, "thermodynamics = 10, trajectory = 100")
        .replace(r#"directory = "out""#, "directory = \"out\"\nflush_seconds = 0.01")
        + "[checkpoint]\nminutes = 0.0005\n";
    let job = Job::new(&text);
    let mut process = job.start(&["run", "job.toml", "--quiet"]);
    wait_for_checkpoint(&job.path("out"), 0, &mut process);
    fs::rename(job.path("out"), job.path("moved")).unwrap();
    let ended = Ended::of(process);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    // Or the system's words, or those of HDF5, where it was about to open a file there.
    let told = |parts: &[&str]| parts.iter().all(|part| ended.stderr.contains(part));
    assert!(
        told(&["out: is not the directory of this run any more: it was moved or removed"])
            || told(&["out", "cannot be written", "No such file"])
            || told(&["out", "cannot write results", "unable to open file"]),
        "{ended:?}"
    );
    assert!(!job.path("out").exists(), "nothing is left in its place");
    let found = latest_valid(&job.path("moved")).unwrap();
    assert!(found.refused.is_empty(), "{found:?}");
    let (step, ..) = found.checkpoint.unwrap();
    let again = job.execute(&["resume", "moved", "--max-walltime", "0s"]);
    assert_eq!(again.code, Some(75), "{again:?}");
    assert!(again.stdout.contains(&format!("after step {step};")), "{again:?}");
}

// ---------------------------------------------------------------------------------------------
// Signals and batch systems

#[test]
fn every_signal_of_a_batch_system_ends_a_run_with_a_checkpoint() {
    let text = toml(100_000_000, "thermodynamics = 100") + "[checkpoint]\nminutes = 0.001\n";
    let job = Job::new(&text);
    let mut command = vec!["run", "job.toml", "--quiet"];
    let mut last = 0;
    for name in ["USR1", "USR2", "TERM", "INT", "HUP"] {
        // The test may run under `nohup` itself.
        let mut process = start_behind(&job, "exec env --default-signal=HUP", &command);
        // It takes steps, and so listens.
        wait_for_checkpoint(&job.path("out"), last, &mut process);
        signal(process.id(), name);
        let ended = Ended::of(process);
        assert_eq!(ended.code, Some(75), "{ended:?}");
        assert!(ended.stdout.contains(&format!("Stopped by SIG{name} after step")), "{ended:?}");
        let found = latest_valid(&job.path("out")).unwrap();
        let (step, path, _) = found.checkpoint.unwrap();
        assert!(step > last && found.refused.is_empty(), "{step} after {last}");
        let path = path.file_name().unwrap().to_str().unwrap();
        assert!(ended.stdout.contains(path), "{path} in {ended:?}");
        (last, command) = (step, vec!["resume", "out", "--quiet"]);
    }
    // Under `nohup`.
    let mut process = start_behind(&job, "exec env --ignore-signal=HUP", &command);
    for name in ["HUP", "TERM"] {
        last = wait_for_checkpoint(&job.path("out"), last, &mut process);
        signal(process.id(), name);
    }
    let ended = Ended::of(process);
    assert!(ended.code == Some(75) && ended.stdout.contains("Stopped by SIGTERM"), "{ended:?}");
}

#[test]
fn the_job_script_puts_itself_into_the_queue_until_the_run_has_finished() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/slurm.sh");
    let text = toml(20_000, "thermodynamics = 100");
    let job = Job::new(&text);
    // What SLURM would do with the job is written down.
    let bin = job.path("bin");
    fs::create_dir(&bin).unwrap();
    let of_slurm = [
        ("scontrol", "echo \"$@\" >> queue\n"),
        ("srun", "echo \"$1 $2\" >> ranks\nshift 2\nexec \"$@\"\n"),
    ];
    for (name, commands) in of_slurm {
        fs::write(bin.join(name), format!("#!/bin/sh\n{commands}")).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let start_with = |tasks: &str, program: &Path| {
        Command::new("bash")
            .arg(&script)
            .args(["job.toml", "out"])
            .env("SLURM_NTASKS", tasks)
            .current_dir(job.path(""))
            .env("PATH", &path)
            .env("SLURM_JOB_ID", "4711")
            .env("SUPERCOOL", program)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let start_tasks = |tasks: &str| start_with(tasks, Path::new(env!("CARGO_BIN_EXE_supercool")));
    let start = || start_tasks("1");
    let queue = || fs::read_to_string(job.path("queue")).unwrap_or_default();
    let mut process = start();
    assert!(job.appears("out/melt.h5", &mut process));
    signal(process.id(), "USR1");
    let ended = Ended::of(process);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(queue(), "requeue 4711\n", "{ended:?}");
    let ended = Ended::of(start());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(queue(), "requeue 4711\n", "it is finished: {ended:?}");
    assert_eq!(job.series("melt", "temperature").len(), 201);
    fs::remove_dir_all(job.path("out")).unwrap();
    // A run that was stopped before it had begun is, but not for ever.
    fs::write(bin.join("supercool"), "#!/bin/sh\nexit 76\n").unwrap();
    fs::set_permissions(bin.join("supercool"), fs::Permissions::from_mode(0o755)).unwrap();
    let begun = |_| Ended::of(start_with("1", &bin.join("supercool"))).code;
    assert_eq!((0..3).map(begun).collect::<Vec<_>>(), [Some(0), Some(0), Some(1)]);
    assert_eq!(queue(), "requeue 4711\n".repeat(3));
    fs::remove_file(job.path("queue")).unwrap();
    fs::remove_dir_all(job.path("out")).unwrap();
    // An error is not run again.
    job.write("job.toml", "[system]\n");
    assert!(!job.path("ranks").exists());
    let ended = Ended::of(start_tasks("4"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(queue(), "");
    let ranks = fs::read_to_string(job.path("ranks")).unwrap();
    assert_eq!(ranks, "--mpi=pmix --kill-on-bad-exit=1\n");
}

/// A batch system waits for seconds, the search for a minimum may take hours: the run leaves with its last checkpoint.
#[test]
fn a_run_that_looks_for_an_inherent_structure_leaves_in_time() {
    let inherent = "{ every = 10, force_tolerance = 1e-15, maximum_iterations = 1_000_000_000 }";
    let minima = format!(
        "[[stage]]\nname = \"minima\"\nsteps = 20\nobserve = {{ thermodynamics = 10, inherent_structures = {inherent} }}\n"
    );
    let job = Job::new(&(toml(60, "thermodynamics = 10") + &minima));
    for arguments in [["run", "job.toml"], ["resume", "out"]] {
        let mut process = job.start(&arguments);
        assert!(job.appears("out/minima.h5", &mut process));
        signal(process.id(), "TERM");
        let ended = Ended::of(process);
        assert_eq!(ended.code, Some(75), "{ended:?}");
        assert!(ended.stderr.contains("there is no checkpoint of step"), "{ended:?}");
        assert!(
            ended.stdout.contains("after step 60; checkpoint out/checkpoint-60.scp"),
            "{ended:?}"
        );
        assert!(!job.series("minima", "potential_energy").is_empty());
    }
}

// ---------------------------------------------------------------------------------------------
// Bounds on the physics

/// Under an Andersen thermostat the conserved energy walks, in sound runs too.
#[test]
fn the_bound_on_the_drift_of_the_energy_is_for_stages_without_a_thermostat() {
    let thermostat = "thermostat = { kind = \"andersen\", temperature = 1.5, rate = 5.0 }\n";
    let equilibrate = format!(
        "[[stage]]\nname = \"equilibrate\"\nsteps = 400\n{thermostat}observe = {{ thermodynamics = 10 }}\n"
    );
    let alone = "[[stage]]\nname = \"alone\"\nsteps = 20\nobserve = { thermodynamics = 10 }\n";
    let run = kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1\nskin = 0.3");
    let job = Job::new(&(run + &equilibrate + alone + "[limits]\nenergy_drift = 2e-3\n"));
    job.succeeds(&["run", "job.toml"]);
    let conserved = job.results("equilibrate").observables().unwrap();
    let conserved = conserved.iter().find(|series| series.name == "conserved_energy").unwrap();
    let change = conserved.value.iter().map(|value| (value - conserved.value[0]).abs());
    assert!(change.fold(0.0, f64::max) > 2e-3, "{:?}", conserved.value);
}

#[test]
fn the_mean_of_a_stage_out_of_equilibrium_is_reported() {
    let text = |time: f64| {
        let thermostat =
            format!("thermostat = {{ kind = \"bussi\", temperature = 1.2, time = {time} }}");
        toml(400, "thermodynamics = 10")
            .replace("steps = 400\n", &format!("steps = 400\n{thermostat}\n"))
            + "[[stage]]\nname = \"next\"\nsteps = 20\nset_total_energy = \"mean of melt\"\n"
    };
    // From a lattice, of which half the kinetic energy becomes potential energy.
    for (time, off) in [(0.02, false), (4.0, true)] {
        let job = Job::new(&text(time));
        let ended = job.succeeds(&["run", "job.toml"]);
        assert_eq!(ended.stderr.contains("did not begin in equilibrium"), off, "{ended:?}");
    }
}

#[test]
fn the_mean_of_a_stage_that_relaxes_is_reported() {
    let stage = |name: &str, temperature: f64| {
        format!(
            "[[stage]]\nname = \"{name}\"\nsteps = 2000\nobserve = {{ thermodynamics = 4 }}\n\
             thermostat = {{ kind = \"bussi\", temperature = {temperature}, time = 0.02 }}\n"
        )
    };
    // A lattice that becomes a glass, slower and slower; then a liquid.
    let stages = stage("aging", 0.4) + &stage("melt", 2.0) + &stage("liquid", 2.0);
    for (of, relaxes) in [("aging", true), ("liquid", false)] {
        let next = format!(
            "[[stage]]\nname = \"next\"\nsteps = 20\nset_total_energy = \"mean of {of}\"\n"
        );
        let run = kob_andersen(3, 256, "fixed-point", "timestep = 0.003\nthreads = 1\nskin = 0.3");
        // Enough energy for the cold stage's, too.
        let next = if relaxes { stage("cold", 0.4) + &next } else { next };
        let job = Job::new(&(run + &stages + &next));
        let ended = job.succeeds(&["run", "job.toml"]);
        assert_eq!(ended.stderr.contains("still relaxing"), relaxes, "{ended:?}");
    }
}

fn limited(limits: &str, observe: &str) -> Job {
    Job::new(&(toml(400, observe) + &format!("[limits]\n{limits}\n")))
}

#[test]
fn a_run_beyond_a_bound_ends_with_the_step_and_the_file() {
    let thermodynamics = "thermodynamics = 10";
    let order = "bond_order = { every = 20, radius = 1.4 }";
    for (limits, observe, parts) in [
        ("temperature = 0.9", thermodynamics, ["the temperature is", "limits.temperature = 0.9"]),
        ("energy_drift = 1e-9", thermodynamics, ["changed by", "limits.energy_drift"]),
        // The lattice that it starts from.
        ("bond_order = 0.4", order, ["crystallises", "limits.bond_order = 0.4"]),
    ] {
        let job = limited(limits, observe);
        let step =
            if observe == order || limits.starts_with("temp") { "step 0:" } else { "step 10:" };
        let place = ["stage \"melt\"", step, "out/melt.h5"];
        job.fails(&["run", "job.toml"], &[&parts[..], &place].concat());
        // What was measured up to there can be looked at.
        assert!(!job.results("melt").observables().unwrap()[0].value.is_empty(), "{limits}");
    }
}

#[test]
fn a_bound_may_only_be_said_and_is_said_once() {
    let job = limited("temperature = 0.9\naction = \"warn\"", "thermodynamics = 10");
    let ended = job.succeeds(&["run", "job.toml"]);
    assert_eq!(ended.stderr.matches("limits.temperature").count(), 1, "{ended:?}");
    let sound = "temperature = 9.0\nenergy_drift = 0.1\ncenter_of_mass_velocity = 1e-6";
    let ended = limited(sound, "thermodynamics = 10").succeeds(&["run", "job.toml", "--quiet"]);
    assert!(!ended.stderr.contains("limits"), "{ended:?}");
}
