//! Directories and disks that a run cannot use, and what it says then.
use std::fs;

use supercool::output::latest_valid;

use crate::common::contents::assert_same_numbers;
use crate::common::job::{Ended, Job, kob_andersen, signal};
use crate::common::mounted::Mounted;

fn toml(steps: u64, observe: &str) -> String {
    kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1\nskin = 0.3")
        + &format!("[[stage]]\nname = \"melt\"\nsteps = {steps}\nobserve = {{ {observe} }}\n")
}

#[test]
fn a_second_process_is_refused_and_the_first_goes_on() {
    let job = Job::new(&toml(10_000_000, "thermodynamics = 100"));
    let mut first = job.start(&["run", "job.toml"]);
    assert!(job.appears("out/melt.h5", &mut first));
    let reason = ["out", "another supercool is running"];
    job.fails(&["run", "job.toml"], &reason);
    job.fails(&["run", "job.toml", "--force"], &reason);
    job.fails(&["resume", "out"], &reason);
    assert!(first.try_wait().unwrap().is_none());
    signal(first.id(), "TERM");
    assert_eq!(Ended::of(first).code, Some(75));
    // Its end frees the directory.
    let again = job.execute(&["resume", "out", "--max-walltime", "0s"]);
    assert_eq!(again.code, Some(75), "{again:?}");
}

#[test]
fn results_are_only_replaced_with_force() {
    let job = Job::new(&toml(20, "thermodynamics = 10"));
    job.succeeds(&["run", "job.toml"]);
    job.write("longer.toml", &toml(40, "thermodynamics = 10"));
    let before = fs::read(job.path("out/melt.h5")).unwrap();
    job.fails(&["run", "longer.toml"], &["out", "earlier run", "--force", "supercool resume out"]);
    assert_eq!(before, fs::read(job.path("out/melt.h5")).unwrap());
    // A run that cannot start removes nothing.
    let lost = toml(40, "thermodynamics = 10").replace("lattice = \"fcc\"", "file = \"lost.gsd\"");
    job.write("lost.toml", &lost);
    job.fails(&["run", "lost.toml", "--force"], &["system.initial.file", "lost.gsd"]);
    assert_eq!(before, fs::read(job.path("out/melt.h5")).unwrap());
    let cuda = ["run", "longer.toml", "--force", "--engine", "cuda"];
    let without_gpus = Job::at(&job.path(""), &toml(20, "thermodynamics = 10"))
        .with(&[("CUDA_VISIBLE_DEVICES", "")]);
    let ended = without_gpus.execute(&cuda);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(before, fs::read(job.path("out/melt.h5")).unwrap());
    assert!(job.path("out/checkpoint-20.scp").exists());
    job.succeeds(&["run", "longer.toml", "--force"]);
    assert_eq!(job.series("melt", "temperature").len(), 5);
    assert!(!job.path("out/checkpoint-20.scp").exists());
    job.succeeds(&["run", "job.toml", "--output", "elsewhere"]);
    assert!(job.path("elsewhere/melt.h5").exists());
}

#[test]
fn nothing_to_resume_is_said() {
    let job = Job::new(&toml(20, "thermodynamics = 10"));
    job.fails(&["resume", "missing"], &["missing", "no checkpoint to resume from"]);
    fs::create_dir(job.path("empty")).unwrap();
    job.fails(&["resume", "empty"], &["empty", "no checkpoint to resume from"]);
    job.fails(&["resume", "job.toml"], &["job.toml: is a file", "by its directory"]);
    job.succeeds(&["run", "job.toml"]);
    let again = job.succeeds(&["resume", "out"]).stdout;
    for part in
        ["The run was complete: no step was taken", "file = \"out/checkpoint-20.scp\"", "melt"]
    {
        assert!(again.contains(part), "no {part:?} in {again}");
    }
    assert_eq!(fs::read_dir(job.path("empty")).unwrap().count(), 0);
}

/// A run that has come to no step holds nothing that would be lost.
#[test]
fn a_run_that_failed_in_its_first_step_is_not_in_the_way() {
    let job = Job::new(&toml(20, "thermodynamics = 10"));
    job.succeeds(&["run", "job.toml"]);
    fs::remove_file(job.path("out/checkpoint-20.scp")).unwrap();
    job.fails(&["run", "job.toml"], &["files of an earlier run"]);
    fs::remove_file(job.path("out/melt.h5")).unwrap();
    job.succeeds(&["run", "job.toml"]);
}

/// A trajectory is no less than results: a run that was killed before its first checkpoint has left it.
#[test]
fn frames_of_a_run_without_results_are_in_the_way() {
    let job = Job::new(&toml(20, "trajectory = 10"));
    job.succeeds(&["run", "job.toml"]);
    assert!(!job.path("out/melt.h5").exists());
    fs::remove_file(job.path("out/checkpoint-20.scp")).unwrap();
    job.fails(&["run", "job.toml"], &["files of an earlier run", "--force"]);
    assert!(job.path("out/melt.h5md").exists());
}

#[test]
fn the_initial_state_is_not_removed_by_force() {
    let job = Job::new(&toml(20, "thermodynamics = 10, trajectory = 10"));
    job.succeeds(&["run", "job.toml"]);
    for file in ["melt.h5md", "checkpoint-20.scp"] {
        let initial = format!("file = \"out/{file}\"");
        let text = toml(20, "thermodynamics = 10")
            .replace("lattice = \"fcc\", temperature = 1.5", &initial);
        assert!(text.contains(file));
        job.write("next.toml", &text);
        job.fails(
            &["run", "next.toml", "--force"],
            &["--force would remove the initial state", file],
        );
        assert!(job.path(&format!("out/{file}")).exists());
    }
}

/// Files of stages that the new run does not have would be taken for its own.
#[test]
fn force_removes_the_files_of_a_run_with_other_stages() {
    let job = Job::new(&toml(20, "thermodynamics = 10, trajectory = 10, gsd = true"));
    job.succeeds(&["run", "job.toml"]);
    let others = ["mine.h5", "recheck-5-run.scp", "checkpoint-3.scp.refused"];
    others.iter().for_each(|name| fs::write(job.path(&format!("out/{name}")), "mine").unwrap());
    let renamed = toml(20, "thermodynamics = 10").replace("\"melt\"", "\"cool\"");
    job.write("renamed.toml", &renamed);
    job.succeeds(&["run", "renamed.toml", "--force"]);
    let mut left: Vec<String> = fs::read_dir(job.path("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    let expected =
        [".supercool.lock", "checkpoint-0.scp", "checkpoint-20.scp", "cool.h5", "mine.h5"];
    assert_eq!(left, expected);
}

/// The words of a run go nowhere: it ends as it would have.
#[test]
fn a_run_outlives_its_terminal() {
    let text =
        toml(2000, "thermodynamics = 10") + "[limits]\nenergy_drift = 1e-12\naction = \"warn\"\n";
    let job = Job::new(&text);
    let run = |to: &str, output: &str| {
        let script = format!("exec \"$0\" run job.toml --quiet --output {output} {to}");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_supercool")]).current_dir(job.path(""));
        command.output().unwrap()
    };
    let told = run("", "told");
    let stderr = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success() && stderr.contains("energy"), "{told:?}");
    for (to, output) in [("2>/dev/full", "full"), ("2>&-", "closed"), (">/dev/full", "nobody")] {
        let ended = run(to, output);
        assert_eq!(ended.status.code(), Some(0), "{to}: {ended:?}");
        assert_same_numbers(&job.path("told/melt.h5"), &job.path(&format!("{output}/melt.h5")));
    }
}

#[test]
fn a_run_that_needs_more_memory_than_there_is_does_not_begin() {
    let text = fs::read_to_string("/proc/meminfo").unwrap();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap();
    let kibibytes: u64 = total.split_whitespace().next().unwrap().parse().unwrap();
    // What the largest system with so long a cutoff needs, 895 GiB, is there on few machines.
    if kibibytes > 560 << 20 {
        return;
    }
    let large = kob_andersen(3, 1 << 28, "double", "timestep = 0.004")
        .replace("cutoff = 2.5", "cutoff = 4.0")
        + "[[stage]]\nname = \"melt\"\nsteps = 10\n";
    let job = Job::new(&large);
    let parts = ["268435456 particles need about 8", "GiB of memory on the CPU; this machine has"];
    job.fails(&["run", "job.toml"], &parts);
    assert!(!job.path("out").exists());
    let report = job.succeeds(&["check", "job.toml"]).stdout;
    assert!(parts.iter().all(|part| report.contains(part)), "{report}");
    if kibibytes < 120 << 20 {
        let bench = ["bench", "--engine", "cpu", "--particles", "268435456"];
        job.fails(&bench, &["GiB of memory on the CPU"]);
    }
}

#[test]
fn a_read_only_directory_is_named() {
    let Some(mounted) = Mounted::new("size=1m") else { return };
    let job = Job::at(mounted.path(), &toml(20, "thermodynamics = 10"));
    mounted.remount("ro");
    job.fails(&["run", "job.toml"], &["output.directory", "out", "Read-only"]);
}

#[test]
fn on_a_full_disk_a_run_ends_with_a_message_and_goes_on_when_there_is_room() {
    let Some(mounted) = Mounted::new("size=2m") else { return };
    // A frame has 256 (3 8 + 3 8 + 3 4) = 15360 bytes.
    let text =
        toml(2000, "thermodynamics = 10, trajectory = 10") + "\n[checkpoint]\nminutes = 0.0001\n";
    let job = Job::at(mounted.path(), &text);
    let ended = job.execute(&["run", "job.toml"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("no space left"), "{ended:?}");
    assert!(ended.stderr.contains("out/"), "{ended:?}");
    assert!(ended.stderr.contains("resume"), "{ended:?}");
    let found = latest_valid(&job.path("out")).unwrap();
    assert!(found.refused.is_empty(), "{found:?}");
    assert!(found.checkpoint.is_some_and(|(step, ..)| step > 0 && step < 2000));

    mounted.remount("size=20m");
    job.succeeds(&["resume", "out"]);
    let whole = Job::new(&text);
    whole.succeeds(&["run", "job.toml"]);
    for file in ["out/melt.h5", "out/melt.h5md"] {
        assert_same_numbers(&whole.path(file), &job.path(file));
    }
}

#[test]
fn particles_on_top_of_each_other_end_the_run_with_a_message() {
    let mut xyz = "256\nLattice=\"5.975206329 0 0 0 5.975206329 0 0 0 5.975206329\" \
                   Properties=species:S:1:pos:R:3\n"
        .to_owned();
    for particle in 0..256 {
        let species = if particle < 205 { "A" } else { "B" };
        let place = 0.01 * f64::from(particle / 2);
        xyz += &format!("{species} {place} 1.0 {place}\n");
    }
    let text =
        toml(20, "thermodynamics = 10").replace("lattice = \"fcc\"", "file = \"on_top.xyz\"");
    let job = Job::new(&text);
    job.write("on_top.xyz", &xyz);
    let ended = job.execute(&["run", "job.toml"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("particle") && !ended.stderr.contains("panicked"), "{ended:?}");
}

#[test]
fn a_run_that_bursts_says_in_which_stage_and_where_to_look() {
    let text = toml(2000, "thermodynamics = 10").replace("timestep = 0.004", "timestep = 0.03");
    assert!(text.contains("0.03"));
    let job = Job::new(&text);
    job.fails(
        &["run", "job.toml"],
        &["stage \"melt\", step ", "what led to it: out/melt.h5", "timestep is too long"],
    );
    assert!(!job.series("melt", "temperature").is_empty());
}
