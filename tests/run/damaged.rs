//! Files that a disk has damaged: a run neither hangs on them nor continues as if they were whole.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use supercool::output::checkpoints_in;

use crate::common::contents::numbers;
use crate::common::job::{Ended, Job, kob_andersen, signal};
use crate::common::python::check_with_python;

/// Of what describes the contents of a file: headers of objects, indexes of chunks, heaps.
const SIGNATURES: [&[u8; 4]; 9] =
    [b"OHDR", b"OCHK", b"GCOL", b"FRHP", b"FHDB", b"EAHD", b"EAIB", b"EADB", b"BTHD"];

fn toml() -> String {
    kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1\nskin = 0.3")
        + "[[stage]]\nname = \"melt\"\nsteps = 100_000_000\nobserve = { thermodynamics = 10, trajectory = 20 }\n\
           [[stage.correlation]]\nevery = 10\nobservables = [\"mean-square-displacement\"]\n\
           [checkpoint]\nminutes = 0.0005\n"
}

/// A run that was stopped within its stage, with frames in its trajectory.
fn stopped() -> Job {
    let job = Job::new(&toml());
    let mut process = job.start(&["run", "job.toml", "--quiet"]);
    let start = Instant::now();
    while checkpoints_in(&job.path("out"))
        .unwrap_or_default()
        .first()
        .is_none_or(|(step, _)| *step < 100)
    {
        assert!(process.try_wait().unwrap().is_none() && start.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(process.id(), "TERM");
    assert_eq!(Ended::of(process).code, Some(75));
    job
}

fn copy_of(job: &Job) -> Job {
    let copy = Job::new(&toml());
    fs::create_dir(copy.path("out")).unwrap();
    for entry in fs::read_dir(job.path("out")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.path("out").join(entry.file_name())).unwrap();
    }
    copy
}

/// The end of a process that ends by itself.
fn end_of(mut process: Child, what: &str) -> Ended {
    let start = Instant::now();
    while process.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            process.kill().unwrap();
            panic!("{what}: it hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ended::of(process)
}

/// Places within what describes the contents, and some anywhere.
fn places(bytes: &[u8]) -> Vec<usize> {
    let is_start =
        |at: &usize| SIGNATURES.iter().any(|signature| bytes[*at..].starts_with(*signature));
    let starts: Vec<usize> = (0..bytes.len()).filter(is_start).collect();
    let within = (0..9).map(|k| starts[k * (starts.len() - 1) / 8] + 4 + 7 * k % 40);
    let anywhere = (0..3).map(|k| 11 + k * (bytes.len() - 12) / 3);
    within.chain(anywhere).collect()
}

#[test]
fn a_flipped_bit_is_reported_or_what_comes_out_can_be_read() {
    let whole = stopped();
    let (mut set_aside, mut kept) = (0, Vec::new());
    let mut readable: Vec<PathBuf> = Vec::new();
    for name in ["melt.h5md", "melt.h5"] {
        let sound = fs::read(whole.path("out").join(name)).unwrap();
        for (k, place) in places(&sound).into_iter().enumerate() {
            let what = format!("{name}, bit {} of byte {place}", k % 8);
            let job = copy_of(&whole);
            let mut bytes = sound.clone();
            bytes[place] ^= 1 << (k % 8);
            fs::write(job.path("out").join(name), bytes).unwrap();
            let ended = end_of(job.start(&["resume", "out", "--max-walltime", "0.15s"]), &what);
            match ended.code {
                Some(75) => {
                    let aside = job.path("out").join(format!("{name}.damaged")).exists();
                    let told = ended.stderr.contains(&format!("{name}: is damaged"));
                    assert_eq!(aside, told, "{what}: {ended:?}");
                    set_aside += u32::from(aside);
                    for file in ["out/melt.h5md", "out/melt.h5"] {
                        assert!(!numbers(&job.path(file)).is_empty(), "{what}");
                        readable.push(job.path(file));
                    }
                }
                Some(1) => assert!(ended.stderr.contains(name), "{what}: {ended:?}"),
                other => panic!("{what}: {other:?}: {ended:?}"),
            }
            kept.push(job);
        }
    }
    assert!(set_aside >= 8, "{set_aside} of {} were found", kept.len());
    let readable: Vec<&Path> = readable.iter().map(PathBuf::as_path).collect();
    check_with_python("h5py", "readable.py", &readable);
}

/// A bit of the masses' header, which nothing but a look at the whole file comes by.
#[test]
fn a_run_goes_on_beside_a_damaged_trajectory_which_is_kept() {
    let job = stopped();
    let path = job.path("out/melt.h5md");
    let file = hdf5::File::open(&path).unwrap();
    let frames = file.dataset("particles/trajectory/position/step").unwrap().read_raw::<i64>();
    let frames = frames.unwrap();
    let mass = file.dataset("particles/trajectory/mass").unwrap();
    let address = mass.loc_info().unwrap();
    drop((mass, file));
    let mut bytes = fs::read(&path).unwrap();
    let token = format!("{:?}", address.token);
    let header = token_address(&token);
    assert_eq!(&bytes[header..header + 4], b"OHDR");
    bytes[header + 10] ^= 4;
    fs::write(&path, &bytes).unwrap();
    let ended = job.execute(&["resume", "out", "--max-walltime", "0s"]);
    assert_eq!(ended.code, Some(75), "{ended:?}");
    for part in [
        "melt.h5md: is damaged",
        "particles/trajectory/mass",
        "It is kept as out/melt.h5md.damaged",
    ] {
        assert!(ended.stderr.contains(part), "no {part:?} in {ended:?}");
    }
    assert!(fs::read(job.path("out/melt.h5md.damaged")).unwrap() == bytes);
    // The next time nothing is reported, and frames come into the new file.
    let last = *frames.last().unwrap() as u64;
    let first = (0..60).find_map(|_| {
        let again = job.execute(&["resume", "out", "--max-walltime", "0.3s"]);
        assert!(again.code == Some(75) && !again.stderr.contains("damaged"), "{again:?}");
        supercool_analysis::open(&path).ok()?.steps().first().copied()
    });
    assert_eq!(first, Some(last + 20));
    // The results are whole.
    let rows = job.series("melt", "temperature").len() as u64;
    assert!(rows > last / 10, "{rows}");
    // A new run takes all of it away.
    job.write("short.toml", &toml().replace("100_000_000", "100"));
    job.succeeds(&["run", "short.toml", "--force"]);
    assert!(!job.path("out/melt.h5md.damaged").exists());
}

/// The first eight bytes of what the library tells of an object, its address.
fn token_address(token: &str) -> usize {
    let bytes =
        token.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse::<u8>().ok());
    let bytes: Vec<u8> = bytes.collect();
    let start = bytes.len() - 16;
    u64::from_le_bytes(bytes[start..start + 8].try_into().unwrap()) as usize
}

/// What a pipe without a writer does to a reader, a file system may do that has gone away.
#[test]
fn a_signal_ends_a_run_that_waits_for_a_file() {
    let resumed = stopped();
    let first = Job::new(&toml().replace(
        "initial = { lattice = \"fcc\", temperature = 1.5 }",
        "initial = { file = \"start.h5md\", temperature = 1.5 }",
    ));
    fs::remove_file(resumed.path("out/melt.h5md")).unwrap();
    for pipe in [resumed.path("out/melt.h5md"), first.path("start.h5md")] {
        assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    }
    let processes = [
        (resumed.start(&["resume", "out"]), 75, "while reading out/melt.h5md"),
        (first.start(&["run", "job.toml"]), 76, "while reading start.h5md"),
    ];
    for (process, ..) in &processes {
        signal(process.id(), "TERM");
    }
    for (process, code, place) in processes {
        let ended = end_of(process, place);
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(
            ended.stderr.contains("stopped by SIGTERM") && ended.stderr.contains(place),
            "{ended:?}"
        );
    }
}
