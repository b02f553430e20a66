//! A run that is killed again and again loses nothing: after every kill its files open and hold everything up to the
//! last flush, and in the end it has the bits of a run that was left alone.
//!
//! `SUPERCOOL_KILLS` kills (8 if not given; `validation/survival/run.sh` asks for 200), at moments drawn from
//! `SUPERCOOL_KILL_SEED` (printed), of runs by `SUPERCOOL_KILL_ENGINE` (`cpu` if not given).
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant, SystemTime};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use supercool::engine::ExactState;
use supercool::output::{Checkpoint, checkpoints_in, latest_valid, state_from_checkpoint};
use supercool_analysis::results::ResultsFile;

use crate::common::job::{Ended, Job, kob_andersen};
use crate::common::python::check_with_python;
use crate::observed::{assert_same_files, observed_stage};

/// Their lengths differ, so that ends of stages come at all times.
const STAGES: [(&str, u64); 3] = [("melt", 600), ("thermostat", 500), ("production", 1200)];

/// Everything is written every few hundredths of a second.
fn toml(engine: &str) -> String {
    let run = "timestep = 0.004\nthreads = 1\nskin = 0.3";
    let mut text = kob_andersen(3, 256, "fixed-point", run);
    assert_eq!(text.matches(r#"engine = "cpu""#).count(), 1, "{text}");
    text = text.replace(r#"engine = "cpu""#, &format!("engine = \"{engine}\""));
    text = text.replace(r#"directory = "out""#, "directory = \"out\"\nflush_seconds = 0.02");
    for (name, steps) in STAGES {
        let ensemble = match name {
            "melt" => r#"thermostat = { kind = "langevin", temperature = 1.5, friction = 2.0 }"#,
            "thermostat" => {
                r#"thermostat = { kind = "nose-hoover", temperature = 1.0, period = 0.3 }"#
            }
            _ => r#"set_total_energy = "mean of thermostat""#,
        };
        text += &observed_stage(name, steps, ensemble, 1, "every = 5\nblock_size = 5");
    }
    text + "\n[checkpoint]\nminutes = 0.001\n"
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

/// When a process is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// After this time.
    After(Duration),
    /// As soon as a file ending in this appears that was not there at the start, and this time later.
    Appears(&'static str, Duration),
    /// As soon as an HDF5 file changes after `after`, and `later` later.
    Writes { after: Duration, later: Duration },
}

impl Moment {
    /// Processes take `slower` times as long as on a processor until they come to their steps.
    fn draw(random: &mut StdRng, slower: u32) -> Self {
        let shortly = Duration::from_micros(random.random_range(0..2000));
        match random.random_range(0..10) {
            // The start.
            0 => Moment::After(slower * Duration::from_micros(random.random_range(0..30_000))),
            // A checkpoint, the files of a new stage, either within their writing or just after.
            1 => Moment::Appears(".scp.partial", shortly),
            2 => Moment::Appears(".scp", shortly),
            3 => Moment::Appears(".h5.partial", shortly),
            4 => Moment::Appears(".h5", shortly),
            // Within a write to a results or trajectory file.
            5..8 => Moment::Writes {
                after: slower * Duration::from_millis(random.random_range(20..250)),
                later: Duration::from_micros(random.random_range(0..1000)),
            },
            _ => {
                Moment::After(slower * Duration::from_micros(random.random_range(30_000..400_000)))
            }
        }
    }

    /// Kills; false if the process ended before.
    fn kill(self, process: &mut Child, directory: &Path) -> bool {
        let start = Instant::now();
        let names = || -> BTreeSet<PathBuf> {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect()
        };
        let at_start = names();
        let mut due = match self {
            Moment::After(time) => Some(start + time),
            Moment::Appears(..) | Moment::Writes { .. } => None,
        };
        let mut before = None;
        loop {
            if process.try_wait().unwrap().is_some() {
                return false;
            }
            if let (Moment::Appears(ending, later), None) = (self, due) {
                let new = |path: &PathBuf| {
                    path.to_str().is_some_and(|path| path.ends_with(ending))
                        && !at_start.contains(path)
                };
                due = names().iter().any(new).then(|| Instant::now() + later);
            }
            if let (Moment::Writes { after, later }, None) = (self, due)
                && start.elapsed() >= after
            {
                let now = last_write(directory);
                if *before.get_or_insert(now) != now {
                    due = Some(Instant::now() + later);
                }
            }
            if due.is_some_and(|due| Instant::now() >= due) {
                process.kill().unwrap();
                process.wait().unwrap();
                return true;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// When an HDF5 file of a directory was changed last.
fn last_write(directory: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_hdf5 = |path: &Path| path.extension().is_some_and(|e| e == "h5" || e == "h5md");
    let files = entries.filter(|entry| is_hdf5(&entry.path()));
    files.filter_map(|entry| entry.metadata().ok()?.modified().ok()).max()
}

/// Steps that the last checkpoint of a directory counts on: its own, and that from which its stage's files begin.
fn promised(out: &Path) -> Option<(String, u64, u64)> {
    let found = latest_valid(out).unwrap();
    assert!(found.refused.is_empty(), "a half-written checkpoint has its name: {found:?}");
    let (step, _, checkpoint) = found.checkpoint?;
    let place: serde_json::Value = checkpoint.get_json("place").unwrap();
    let stage = place["stage"].as_u64().unwrap() as usize;
    let first: u64 = STAGES[..stage].iter().map(|(_, steps)| steps).sum();
    let begun = place["begun"].as_bool().unwrap();
    begun.then(|| (STAGES[stage].0.to_owned(), first, step))
}

/// What a kill has left must open and hold the reference's numbers up to what was flushed last.
fn check_what_is_left(out: &Path, kept: &Path) {
    let promised = promised(out);
    for (stage, _) in STAGES {
        let path = out.join(format!("{stage}.h5"));
        if !path.exists() {
            assert!(promised.as_ref().is_none_or(|(name, ..)| name != stage), "no {stage}.h5");
            continue;
        }
        let file = ResultsFile::open(&path).unwrap_or_else(|error| panic!("{error}"));
        let rows = file.observables().unwrap();
        let temperature = rows.iter().find(|series| series.name == "temperature").unwrap();
        let found = temperature.value.len() as u64;
        if let Some((name, first, step)) = &promised
            && name == stage
        {
            let expected = step - first + 1;
            assert!(found >= expected, "{stage}: {found} rows, {expected} promised");
        }
        fs::create_dir_all(kept).unwrap();
        for extension in ["h5", "h5md", "inherent.h5md", "gsd"] {
            let name = format!("{stage}.{extension}");
            if out.join(&name).exists() {
                fs::copy(out.join(&name), kept.join(&name)).unwrap();
            }
        }
    }
}

fn final_state(job: &Job) -> ExactState {
    let (_, path, checkpoint) = latest_valid(&job.path("out")).unwrap().checkpoint.unwrap();
    state_from_checkpoint(&checkpoint, &path).unwrap()
}

fn assert_same_run(whole: &Job, parts: &Job) {
    assert_same_files(whole, parts, STAGES.map(|(stage, _)| stage));
    let (a, b) = (final_state(whole), final_state(parts));
    assert_eq!(a.step, STAGES.iter().map(|(_, steps)| steps).sum::<u64>());
    assert_eq!(a.hash(), b.hash());
    assert_eq!(a.thermostat, b.thermostat);
}

#[test]
fn a_run_that_is_killed_at_any_moment_goes_on_with_the_same_bits() {
    let kills = from_environment("SUPERCOOL_KILLS").unwrap_or(8);
    let seed = from_environment("SUPERCOOL_KILL_SEED").unwrap_or_else(rand::random);
    let engine = std::env::var("SUPERCOOL_KILL_ENGINE").unwrap_or_else(|_| "cpu".to_owned());
    let slower = if engine == "cpu" { 1 } else { 10 };
    println!("SUPERCOOL_KILLS={kills} SUPERCOOL_KILL_SEED={seed} SUPERCOOL_KILL_ENGINE={engine}");
    let mut random = StdRng::seed_from_u64(seed);
    let toml = toml(&engine);
    let whole = Job::new(&toml);
    whole.succeeds(&["run", "job.toml", "--quiet"]);
    if engine != "cpu" {
        let on_cpu = Job::new(&toml);
        on_cpu.succeeds(&["run", "job.toml", "--quiet", "--engine", "cpu"]);
        assert_eq!(final_state(&on_cpu).hash(), final_state(&whole).hash());
    }

    let (mut killed, mut runs, mut before_first) = (0, 0, 0);
    let (mut steps_reached, mut python_arguments) = (Vec::new(), vec![whole.path("out")]);
    let kept = tempfile::tempdir().unwrap();
    while killed < kills {
        // A run that comes through before it was killed often enough is followed by another.
        let parts = Job::new(&toml);
        let out = parts.path("out");
        runs += 1;
        loop {
            let begun = out.exists() && !checkpoints_in(&out).unwrap().is_empty();
            before_first += u64::from(out.exists() && !begun);
            let arguments: &[&str] = match begun {
                true => &["resume", "out", "--quiet"],
                false => &["run", "job.toml", "--force", "--quiet"],
            };
            let mut process = parts.start(arguments);
            let moment = Moment::draw(&mut random, slower);
            if killed >= kills || !moment.kill(&mut process, &out) {
                let ended = Ended::of(process);
                assert_eq!(ended.code, Some(0), "{arguments:?}, {moment:?}: {ended:?}");
                assert!(!ended.stderr.contains("is not used"), "{ended:?}");
                break;
            }
            killed += 1;
            let last = latest_valid(&out).ok().and_then(|found| found.checkpoint);
            steps_reached.push(last.map_or(0, |(step, ..)| step));
            let copy = kept.path().join(format!("{killed}"));
            if out.exists() {
                check_what_is_left(&out, &copy);
            }
            if copy.exists() {
                python_arguments.push(copy);
            }
        }
        assert_same_run(&whole, &parts);
        let names = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name());
        let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        assert!(!names.iter().any(|name| name.ends_with(".partial")), "{names:?}");
    }
    println!(
        "{killed} kills of {runs} runs, {before_first} before the first checkpoint; checkpoints then: {steps_reached:?}"
    );
    let arguments: Vec<&Path> = python_arguments.iter().map(PathBuf::as_path).collect();
    check_with_python("h5py, gsd.hoomd", "survived.py", &arguments);
}

/// All checkpoints of a run that is stopped so are whole, and other files in the directory are left alone.
#[test]
fn a_new_run_can_be_resumed_from_its_very_start() {
    let job = Job::new(&toml("cpu"));
    let stopped = job.execute(&["run", "job.toml", "--max-walltime", "0s"]);
    assert_eq!(stopped.code, Some(75), "{stopped:?}");
    let path = job.path("out/checkpoint-0.scp");
    assert_eq!(state_from_checkpoint(&Checkpoint::read(&path).unwrap(), &path).unwrap().step, 0);
}
