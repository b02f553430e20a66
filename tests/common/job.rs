//! The program itself, run in a directory of its own.
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A directory with `job.toml`, whose results go to `out`.
pub struct Job {
    directory: PathBuf,
    _temporary: Option<TempDir>,
    environment: Vec<(String, String)>,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// `None` after a signal.
    pub code: Option<i32>,
    pub stdout: String,
    /// In one line: terminals wrap messages.
    pub stderr: String,
}

impl Job {
    pub fn new(toml: &str) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let directory = temporary.path().to_owned();
        Job { _temporary: Some(temporary), ..Job::at(&directory, toml) }
    }

    /// In a directory that is there already.
    pub fn at(directory: &Path, toml: &str) -> Self {
        std::fs::write(directory.join("job.toml"), toml).unwrap();
        Job { directory: directory.to_owned(), _temporary: None, environment: Vec::new() }
    }

    /// With variables of the environment for all its commands.
    pub fn with(mut self, environment: &[(&str, &str)]) -> Self {
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        self.environment.extend(environment.iter().map(owned));
        self
    }

    /// Another configuration beside `job.toml`.
    pub fn write(&self, name: &str, toml: &str) {
        std::fs::write(self.directory.join(name), toml).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_supercool"));
        self.at_home(&mut command, arguments);
        command
    }

    /// With these arguments, in the directory and the environment of the job.
    fn at_home<'a>(&self, command: &'a mut Command, arguments: &[&str]) -> &'a mut Command {
        command.args(arguments).current_dir(&self.directory).env_remove("RUST_LOG");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)))
    }

    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// By `mpirun`, also as root and with more ranks than cores.
    #[cfg(feature = "mpi")]
    pub fn start_on(&self, ranks: usize, arguments: &[&str]) -> Child {
        let mut command = Command::new("mpirun");
        command.args(["-n", &ranks.to_string(), env!("CARGO_BIN_EXE_supercool")]);
        self.at_home(&mut command, arguments)
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
            .env("OMPI_MCA_mpi_yield_when_idle", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("mpirun (Debian: openmpi-bin)")
    }

    #[cfg(feature = "mpi")]
    pub fn execute_on(&self, ranks: usize, arguments: &[&str]) -> Ended {
        Ended::of(self.start_on(ranks, arguments))
    }

    pub fn execute(&self, arguments: &[&str]) -> Ended {
        Ended::of(self.start(arguments))
    }

    pub fn succeeds(&self, arguments: &[&str]) -> Ended {
        let ended = self.execute(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
        ended
    }

    /// Ends with an error message that has all these parts.
    pub fn fails(&self, arguments: &[&str], parts: &[&str]) {
        let ended = self.execute(arguments);
        assert_eq!(ended.code, Some(1), "{arguments:?}: {ended:?}");
        for part in parts {
            assert!(ended.stderr.contains(part), "{arguments:?}: no {part:?} in {}", ended.stderr);
        }
    }

    /// Waits until a file is there; false if the process ended before.
    pub fn appears(&self, name: &str, process: &mut Child) -> bool {
        let path = self.path(name);
        let start = Instant::now();
        while !path.exists() {
            if process.try_wait().unwrap().is_some() {
                return path.exists();
            }
            assert!(start.elapsed() < Duration::from_secs(60), "no {name}");
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    pub fn results(&self, stage: &str) -> supercool_analysis::results::ResultsFile {
        let path = self.path(&format!("out/{stage}.h5"));
        supercool_analysis::results::ResultsFile::open(&path).unwrap()
    }

    /// Runs it with stops: one before its first step, and this number of them after this time each.
    pub fn runs_in_parts(&self, stops: usize, walltime: &str) {
        let stopped = self.execute(&["run", "job.toml", "--quiet", "--max-walltime", "0s"]);
        assert_eq!(stopped.code, Some(75), "{stopped:?}");
        for _ in 0..stops {
            self.execute(&["resume", "out", "--quiet", "--max-walltime", walltime]);
        }
        self.succeeds(&["resume", "out", "--quiet"]);
    }

    /// Runs it with stops: one before its first step, and then by turns asked to leave, and killed, after ever longer times.
    pub fn runs_with_stops_and_kills(&self) {
        let stopped = self.execute(&["run", "job.toml", "--max-walltime", "0s"]);
        assert_eq!(stopped.code, Some(75), "{stopped:?}");
        for turn in 0..12_u64 {
            match turn % 3 {
                2 => {
                    let mut process = self.start(&["resume", "out"]);
                    std::thread::sleep(Duration::from_millis(20 * turn));
                    let _ = process.kill();
                    Ended::of(process);
                }
                _ => drop(self.execute(&["resume", "out", "--max-walltime", "0.05s"])),
            }
        }
        self.succeeds(&["resume", "out"]);
    }

    /// Samples of one observable under `/observables`.
    pub fn series(&self, stage: &str, name: &str) -> Vec<f64> {
        let all = self.results(stage).observables().unwrap();
        all.into_iter().find(|series| series.name == name).unwrap().value
    }
}

impl Ended {
    pub fn of(process: Child) -> Self {
        let output = process.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let words = stderr.split_whitespace().filter(|word| *word != "\u{2502}");
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: words.collect::<Vec<_>>().join(" "),
        }
    }
}

/// Sends a signal as soon as the process listens: before, it ends it or, SIGINT to what a shell has started in the
/// background, is lost.
pub fn signal(process: u32, name: &str) {
    let id = process.to_string();
    let number = match name {
        "INT" => Some(2),
        "USR1" => Some(10),
        "USR2" => Some(12),
        "TERM" => Some(15),
        _ => None,
    };
    let start = Instant::now();
    while number.is_some_and(|number| is_deaf(&id, number)) {
        assert!(start.elapsed() < Duration::from_secs(60), "SIG{name} is never listened to");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
}

/// Whether a process that runs has no handler of a signal, as far as Linux tells it.
fn is_deaf(id: &str, number: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let field = |name| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let caught = field("SigCgt:").and_then(|mask| u64::from_str_radix(mask, 16).ok());
    let ended = field("State:").is_none_or(|state| state.starts_with('Z'));
    !ended && caught.is_some_and(|caught| caught >> (number - 1) & 1 == 0)
}

/// Kob-Andersen mixture at density 1.2, all of a configuration before its stages. `run` holds more
/// lines of `[run]`.
pub fn kob_andersen(dimension: usize, count: usize, precision: &str, run: &str) -> String {
    let b = if dimension == 2 { count * 35 / 100 } else { count / 5 };
    let lattice = if dimension == 2 { "square" } else { "fcc" };
    format!(
        r#"
[system]
dimension = {dimension}
density = 1.2
seed = 11
species = [{{ name = "A", count = {a} }}, {{ name = "B", count = {b} }}]
initial = {{ lattice = "{lattice}", temperature = 1.5 }}

[potential]
kind = "lennard-jones"
cutoff = 2.5
truncation = {{ kind = "smooth", width = 0.005 }}
[potential.pairs]
AA = {{ epsilon = 1.0, sigma = 1.0 }}
AB = {{ epsilon = 1.5, sigma = 0.8 }}
BB = {{ epsilon = 0.5, sigma = 0.88 }}

[output]
directory = "out"

[run]
engine = "cpu"
precision = "{precision}"
{run}
"#,
        a = count - b
    )
}

/// Polydisperse spheres or disks at density 1, all of a configuration before its stages. `run` holds more lines of `[run]`.
pub fn polydisperse(dimension: usize, count: usize, precision: &str, run: &str) -> String {
    format!(
        r#"
[system]
dimension = {dimension}
density = 1.0
seed = 5
species = [{{ name = "A", count = {count} }}]
initial = {{ temperature = 1.0 }}
[system.diameters]
distribution = "power-law"
exponent = 3
minimum = 0.73
maximum = 1.62
non_additivity = 0.2

[potential]
kind = "inverse-power"
n = 12
cutoff = 1.25
truncation = "even-quartic"
pairs.AA = {{ epsilon = 1.0, sigma = 1.0 }}

[output]
directory = "out"

[run]
engine = "cpu"
precision = "{precision}"
{run}
"#
    )
}

/// Kob-Andersen's mixture with a third species between A and B, at density 1.2, in the same way.
pub fn kob_andersen_2(count: usize, precision: &str, run: &str) -> String {
    let (a, b) = (count * 7 / 10, count / 5);
    let c = count - a - b;
    format!(
        r#"
[system]
dimension = 3
density = 1.2
seed = 5
species = [{{ name = "A", count = {a} }}, {{ name = "B", count = {b} }}, {{ name = "C", count = {c} }}]
initial = {{ lattice = "fcc", temperature = 1.0 }}

[potential]
kind = "lennard-jones"
cutoff = 2.5
truncation = "even-quartic"
[potential.pairs]
AA = {{ epsilon = 1.0, sigma = 1.0 }}
AB = {{ epsilon = 1.5, sigma = 0.8 }}
AC = {{ epsilon = 1.25, sigma = 0.9 }}
BB = {{ epsilon = 0.5, sigma = 0.88 }}
BC = {{ epsilon = 1.0, sigma = 0.84 }}
CC = {{ epsilon = 0.75, sigma = 0.94 }}

[output]
directory = "out"

[run]
engine = "cpu"
precision = "{precision}"
{run}
"#
    )
}
