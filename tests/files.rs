//! The files of a run as their readers see them: h5py, pyh5md, MDAnalysis and gsd really open them.
mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, TryRecvError};
use std::time::Duration;

use common::mounted::Mounted;
use common::python::{check_with_python, python, script};
use serde_json::{Value, json};
use supercool::observable::{AxisName, Shells};
use supercool::output::{
    Axis, GsdWriter, OutputError, ResultsWriter, Rows, RunDescription, SeriesLayout, SeriesValues,
    StageLayout, ThermodynamicsRow, TrajectoryWriter,
};
use supercool::plan::Plan;
use supercool::system::{Snapshot, species_of_particles};

const TOML: &str = "# Kob-Andersen, \u{3c3} = 1\n[system]\ndensity = 1.2\n";

// ---------------------------------------------------------------------------------------------
// A small system

fn plan(edges: &[f64], counts: [usize; 2]) -> Plan {
    let pair = |epsilon: f64, sigma: f64| json!({"epsilon": epsilon, "sigma": sigma, "cutoff": 2.5 * sigma, "kappa": 0.0});
    let mut padded = vec![1.0; 3];
    padded[..edges.len()].copy_from_slice(edges);
    serde_json::from_value(json!({
        "system": {
            "simulation_box": {"dimension": edges.len(), "edges": padded},
            "species": [
                {"name": "A", "count": counts[0], "mass": 1.0},
                {"name": "B", "count": counts[1], "mass": 0.5},
            ],
            "seed": u64::MAX - 6,
            "initial": {"from": "lattice", "lattice": "fcc", "temperature": 2.0},
        },
        "potential": {
            "form": {"kind": "lennard-jones"},
            "truncation": {"kind": "smooth", "width": 0.005},
            "pairs": [[pair(1.0, 1.0), pair(1.5, 0.8)], [pair(1.5, 0.8), pair(0.5, 0.88)]],
        },
        "run": {
            "engine": "cpu", "precision": "fixed-point", "timestep": 0.001,
            "threads": null, "skin": null, "threads_per_particle": null,
            "tune": false, "sort_interval": 10,
        },
        "stages": [],
        "checkpoint": {"minutes": 10.0},
        "output": {"directory": "out"},
    }))
    .expect("a plan")
}

struct Description {
    plan: Plan,
    hardware: Value,
    tuning: Value,
}

impl Description {
    fn new(plan: Plan) -> Self {
        let hardware = json!({"cpu": "abacus", "threads": 2});
        Description { plan, hardware, tuning: json!({"skin": 0.3}) }
    }

    fn run(&self) -> RunDescription<'_> {
        RunDescription {
            toml_text: TOML,
            plan: &self.plan,
            stage: "production",
            run: "0123456789abcdef",
            version: "1.2.3",
            author: "Ada Lovelace",
            hardware: &self.hardware,
            tuning: &self.tuning,
        }
    }
}

/// Plain numbers that are all different; the first particle's first velocity is the step.
fn snapshot(plan: &Plan, step: u64) -> Snapshot {
    let count = plan.system.particle_count();
    let simulation_box = plan.system.simulation_box;
    let dimension = simulation_box.dimension();
    let number = |particle: usize, axis: usize| {
        (particle * 3 + axis) as f64 * 0.618_033_988_749_894_9 + step as f64 * 0.01
    };
    let vector = |value: &dyn Fn(usize) -> f64| {
        std::array::from_fn(|axis| if axis < dimension { value(axis) } else { 0.0 })
    };
    let position = (0..count).map(|particle| {
        vector(&|axis| number(particle, axis).fract() * simulation_box.edges()[axis])
    });
    let mut velocity: Vec<[f64; 3]> =
        (0..count).map(|particle| vector(&|axis| number(particle, axis).sin())).collect();
    velocity[0][0] = step as f64;
    let image = (0..count).map(|particle| {
        std::array::from_fn(|axis| match axis < dimension {
            true => (particle as i32 + axis as i32) % 5 - 2,
            false => 0,
        })
    });
    Snapshot {
        step,
        position: position.collect(),
        fraction: Vec::new(),
        image: image.collect(),
        velocity,
        diameter: Default::default(),
    }
}

fn row(step: u64) -> ThermodynamicsRow {
    let x = step as f64;
    ThermodynamicsRow {
        step,
        time: x * 0.001,
        potential_energy: -6.0 - x / 3.0,
        kinetic_energy: 1.5 + x / 7.0,
        internal_energy: -4.5 + x / 11.0,
        conserved_energy: -4.75 + x / 17.0,
        temperature: 1.0 + x / 1024.0,
        half_step_temperature: 1.0 + x / 1023.0,
        pressure: x / 13.0,
        virial: x / 19.0,
        stress: std::array::from_fn(|a| std::array::from_fn(|b| x + 0.1 * (3 * a + b) as f64)),
        center_of_mass_velocity: [x, -x, 2.0 * x],
        density: 0.8 + x / 23.0,
        enthalpy: x / 29.0,
        edges: [x + 1.0, x + 2.0, x + 3.0],
        shear_strain: 0.0,
    }
}

const MSD: &str = "dynamics/A/mean_square_displacement";
const FS: &str = "dynamics/A/self_intermediate_scattering_function";
const RDF: &str = "structure/AB/pair_distribution";

/// Rows of thermodynamics that a checkpoint counts on.
fn rows(thermodynamics: u64) -> Rows {
    Rows { thermodynamics, ..Rows::default() }
}

fn displacements(step: u64) -> SeriesValues {
    let change = vec![[0.0, 0.1]; 4];
    SeriesValues { value: vec![step as f64; 4], error: vec![0.1; 4], count: vec![step; 4], change }
}

fn layout() -> StageLayout {
    let times = vec![0.001, 0.002, 0.004, 0.1];
    let axis = |name, values: &[f64]| Axis { name, values: values.to_vec(), shells: None };
    // Of shells with two vectors and one.
    let vectors = vec![vec![[7.2, 0.0, 0.0], [0.0, 7.2, 0.0]], vec![[5.7, 7.6, 0.0]]];
    let shells = Some(Shells { vectors, dimension: 2, relative_half_width: 0.005 });
    let wavenumbers = Axis { shells, ..axis(AxisName::Wavenumber, &[7.2, 9.5]) };
    let series = |path: &str, axes, unit: &str, description: &str| SeriesLayout {
        path: path.into(),
        axes,
        unit: unit.into(),
        description: description.into(),
        has_change: path == MSD,
        is_fluctuation: false,
    };
    StageLayout {
        thermodynamics: true,
        exchanges: false,
        scalars: Vec::new(),
        propensity: None,
        strain: None,
        classes: Vec::new(),
        series: vec![
            series(MSD, vec![axis(AxisName::Time, &times)], "sigma2", "<|r(t) - r(0)|^2>"),
            series(
                FS,
                vec![wavenumbers, axis(AxisName::Time, &times)],
                "",
                "<exp(i q [r(t) - r(0)])>",
            ),
            series(
                RDF,
                vec![axis(AxisName::Distance, &[0.05, 0.15, 0.25])],
                "",
                "V/(N_a N_b) <sum delta(r - r_ij)>",
            ),
        ],
    }
}

fn expected_trajectory(plan: &Plan, steps: &[u64]) -> Value {
    let system = &plan.system;
    let species = species_of_particles(&system.species);
    let frames: Vec<Value> = steps
        .iter()
        .map(|&step| {
            let snapshot = snapshot(plan, step);
            json!({
                "step": step, "time": step as f64 * 0.001, "position": snapshot.position,
                "velocity": snapshot.velocity, "image": snapshot.image,
            })
        })
        .collect();
    let dimension = system.simulation_box.dimension();
    json!({
        "dimension": dimension,
        "edges": system.simulation_box.padded_edges(),
        "boundary": if dimension == 3 { ["periodic"; 3] } else { ["periodic", "periodic", "none"] },
        "species": species,
        "mass": species.iter().map(|&s| system.species[s as usize].mass).collect::<Vec<_>>(),
        "frames": frames,
        "toml": TOML,
    })
}

// ---------------------------------------------------------------------------------------------

fn write_json(path: &Path, value: &Value) {
    fs::write(path, value.to_string()).expect("expected values");
}

// ---------------------------------------------------------------------------------------------
// What readers see

fn results_open_in_h5py_and_pyh5md(edges: &[f64]) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("production.h5");
    let description = Description::new(plan(edges, [40, 10]));
    let layout = layout();
    let mut results = ResultsWriter::create(&path, &description.run(), &layout).unwrap();
    let steps: Vec<u64> = (0..700).map(|i| 10 * i).collect();
    for &step in &steps {
        results.append_thermodynamics(&[row(step)], &[]).unwrap();
        if step % 2340 == 0 {
            results.flush(step).unwrap();
        }
    }
    let mut series = Vec::new();
    for of_series in &layout.series {
        let value: Vec<f64> = (0..of_series.size()).map(|i| 1.0 / (i + 1) as f64).collect();
        let error: Vec<f64> = value.iter().map(|value| value / 10.0).collect();
        let count: Vec<u64> = (0..of_series.size() as u64).map(|i| 1000 - i).collect();
        let changes = if of_series.has_change { value.len() } else { 0 };
        let values = |value: Vec<f64>| {
            let (error, count) = (error.clone(), count.clone());
            SeriesValues { value, error, count, change: vec![[-0.5, 0.25]; changes] }
        };
        results.update_series(&of_series.path, values(vec![0.0; value.len()]));
        results.flush(6990).unwrap();
        results.update_series(&of_series.path, values(value.clone()));
        let axes: Vec<&str> = of_series.axes.iter().map(|axis| axis.name.name()).collect();
        let mut expected = json!({
            "path": of_series.path, "axes": axes, "value": value, "error": error, "count": count,
        });
        if of_series.has_change {
            expected["change"] = json!(vec![-0.5; changes]);
            expected["change_error"] = json!(vec![0.25; changes]);
        }
        series.push(expected);
    }
    results.finish(7000).unwrap();

    let d = edges.len();
    let column = |value: &dyn Fn(&ThermodynamicsRow) -> Value| -> Value {
        steps.iter().map(|&step| value(&row(step))).collect()
    };
    let expected = json!({
        "dimension": d,
        "particle_number": 50,
        "density": 50.0 / description.plan.system.simulation_box.volume(),
        "step": steps,
        "time": column(&|row| json!(row.time)),
        "thermodynamics": {
            "potential_energy": column(&|row| json!(row.potential_energy)),
            "kinetic_energy": column(&|row| json!(row.kinetic_energy)),
            "internal_energy": column(&|row| json!(row.internal_energy)),
            "conserved_energy": column(&|row| json!(row.conserved_energy)),
            "temperature": column(&|row| json!(row.temperature)),
            "half_step_temperature": column(&|row| json!(row.half_step_temperature)),
            "pressure": column(&|row| json!(row.pressure)),
            "virial": column(&|row| json!(row.virial)),
            "stress_tensor": column(&|row| {
                json!(row.stress[..d].iter().map(|line| &line[..d]).collect::<Vec<_>>())
            }),
            "center_of_mass_velocity": column(&|row| json!(row.center_of_mass_velocity[..d])),
        },
        "series": series,
        "toml": TOML,
        "plan": description.plan,
        "complete": 1,
        "last_step": 7000,
    });
    let json = directory.path().join("expected.json");
    write_json(&json, &expected);
    check_with_python("h5py, pyh5md", "results.py", &[&path, &json]);
}

#[test]
fn results_of_three_dimensions_open_in_h5py_and_pyh5md() {
    results_open_in_h5py_and_pyh5md(&[3.5, 3.5, 4.0]);
}

#[test]
fn results_of_two_dimensions_open_in_h5py_and_pyh5md() {
    results_open_in_h5py_and_pyh5md(&[3.5, 4.0]);
}

fn trajectory_opens_in_mdanalysis(edges: &[f64], counts: [usize; 2]) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("production.h5md");
    let description = Description::new(plan(edges, counts));
    let mut trajectory = TrajectoryWriter::create(&path, &description.run()).unwrap();
    let steps = [0, 5, 10, 15, 1 << 40];
    for step in steps {
        let snapshot = snapshot(&description.plan, step);
        trajectory.append(&snapshot, step as f64 * 0.001).unwrap();
        if step == 5 {
            trajectory.flush().unwrap();
        }
    }
    assert_eq!(trajectory.frames(), 5);
    trajectory.sync().unwrap();
    let json = directory.path().join("expected.json");
    write_json(&json, &expected_trajectory(&description.plan, &steps));
    check_with_python("h5py, pyh5md, MDAnalysis", "trajectory.py", &[&path, &json]);
}

#[test]
fn trajectory_of_three_dimensions_opens_in_mdanalysis_bare() {
    trajectory_opens_in_mdanalysis(&[3.5, 3.5, 4.0], [40, 10]);
}

#[test]
fn trajectory_of_two_dimensions_opens_in_mdanalysis_bare() {
    trajectory_opens_in_mdanalysis(&[35.0, 40.0], [400, 100]);
}

#[test]
fn a_frame_larger_than_a_chunk_comes_back() {
    trajectory_opens_in_mdanalysis(&[35.0, 35.0, 40.0], [40_000, 10_000]);
}

fn gsd_opens(edges: &[f64]) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("production.gsd");
    let description = Description::new(plan(edges, [40, 10]));
    let mut writer = GsdWriter::create(&path, &description.run()).unwrap();
    // More frames than the first index has room for.
    let steps: Vec<u64> = (0..200).map(|i| 7 * i).collect();
    for &step in &steps {
        writer.append(&snapshot(&description.plan, step)).unwrap();
    }
    writer.sync().unwrap();
    let json = directory.path().join("expected.json");
    write_json(&json, &expected_trajectory(&description.plan, &steps));
    check_with_python("gsd.hoomd, MDAnalysis", "gsd_file.py", &[&path, &json]);
}

#[test]
fn gsd_of_three_dimensions_opens_in_gsd_and_mdanalysis() {
    gsd_opens(&[3.5, 3.5, 4.0]);
}

#[test]
fn gsd_of_two_dimensions_opens_in_gsd_and_mdanalysis() {
    gsd_opens(&[3.5, 4.0]);
}

// ---------------------------------------------------------------------------------------------
// While a run writes, and after it was killed

#[test]
fn a_reader_follows_a_running_simulation() {
    let Some(python) = python("h5py") else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("production.h5");
    let description = Description::new(plan(&[3.5; 3], [40, 10]));
    let mut results = ResultsWriter::create(&path, &description.run(), &layout()).unwrap();
    let mut reader = Command::new(python)
        .arg(script("follow.py"))
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(reader.stdout.take().unwrap()).lines();
    let (said, heard) = mpsc::channel();
    let listener = std::thread::spawn(move || {
        lines.map_while(Result::ok).for_each(|line| said.send(line).unwrap_or(()));
    });
    assert_eq!(heard.recv().expect("the reader starts"), "following");
    let mut count = 0;
    // Until the reader has seen it grow, however late it gets to it, or has ended.
    while heard.try_recv() == Err(TryRecvError::Empty) {
        for _ in 0..3 {
            results.append_thermodynamics(&[row(count)], &[]).unwrap();
            count += 1;
        }
        results.update_series(MSD, displacements(count));
        results.flush(count).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    results.finish(count).unwrap();
    let output = reader.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    listener.join().unwrap();
    assert_eq!(heard.recv().expect("the reader ends well"), "ok");
}

/// The three files of one stage, one row and one frame a step.
struct Files {
    results: ResultsWriter,
    trajectory: TrajectoryWriter,
    gsd: GsdWriter,
}

const STEPS: u64 = 240;

impl Files {
    fn create(directory: &Path, description: &Description) -> Self {
        let run = description.run();
        Files {
            results: ResultsWriter::create(&directory.join("run.h5"), &run, &layout()).unwrap(),
            trajectory: TrajectoryWriter::create(&directory.join("run.h5md"), &run).unwrap(),
            gsd: GsdWriter::create(&directory.join("run.gsd"), &run).unwrap(),
        }
    }

    fn reopen(directory: &Path, description: &Description, steps: u64) -> Self {
        let run = description.run();
        let (h5, h5md) = (directory.join("run.h5"), directory.join("run.h5md"));
        Files {
            results: ResultsWriter::reopen(&h5, &description.run(), &layout(), rows(steps), 0)
                .unwrap(),
            trajectory: TrajectoryWriter::reopen(&h5md, &description.run(), steps).unwrap(),
            gsd: GsdWriter::reopen(&directory.join("run.gsd"), &run, steps).unwrap(),
        }
    }

    fn step(&mut self, description: &Description, step: u64) {
        let snapshot = snapshot(&description.plan, step);
        self.results.append_thermodynamics(&[row(step)], &[]).unwrap();
        self.results.update_series(MSD, displacements(step));
        self.trajectory.append(&snapshot, step as f64).unwrap();
        self.gsd.append(&snapshot).unwrap();
    }

    /// Everything up to `step` is handed over.
    fn flush(&mut self, step: u64) {
        self.trajectory.flush().unwrap();
        self.results.flush(step).unwrap();
    }

    fn finish(mut self, step: u64) {
        self.flush(step);
        self.gsd.sync().unwrap();
        self.results.finish(step).unwrap();
    }
}

fn small() -> Description {
    Description::new(plan(&[3.5; 3], [40, 10]))
}

/// Headers that are rewritten while a run continues lie within a page, which a killed process has written as a whole.
#[test]
fn metadata_lies_in_pages() {
    use hdf5::file::FileSpaceStrategy;
    let directory = tempfile::tempdir().unwrap();
    let description = small();
    let mut files = Files::create(directory.path(), &description);
    files.step(&description, 0);
    files.finish(1);
    for name in ["run.h5", "run.h5md"] {
        let file = hdf5::File::open(directory.path().join(name)).unwrap();
        let layout = file.create_plist().unwrap();
        let paged =
            FileSpaceStrategy::FreeSpaceManager { paged: true, persist: false, threshold: 1 };
        assert_eq!(layout.file_space_strategy(), paged, "{name}");
        assert_eq!(layout.file_space_page_size(), 4096, "{name}");
    }
}

/// Not a test by itself: what the next one runs as another process, and kills.
#[test]
fn child_that_writes_until_it_is_killed() {
    let Some(directory) = std::env::var_os("SUPERCOOL_TEST_CHILD_WRITES_INTO") else { return };
    let description = small();
    let mut files = Files::create(Path::new(&directory), &description);
    let mut stdout = std::io::stdout();
    for step in 0.. {
        files.step(&description, step);
        if step % 2 == 1 {
            files.flush(step);
            writeln!(stdout, "\nflushed {}", step + 1).unwrap();
            stdout.flush().unwrap();
        }
    }
}

/// Lets a child write until it has reported `reports` flushes, waits a little and kills it.
/// Returns how many steps it had reported as flushed.
fn write_and_kill(directory: &Path, reports: usize, wait: Duration) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_writes_until_it_is_killed", "--nocapture"])
        .env("SUPERCOOL_TEST_CHILD_WRITES_INTO", directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut flushed = lines.filter_map(|line| line.ok()?.strip_prefix("flushed ")?.parse().ok());
    let mut steps = 0;
    for _ in 0..reports {
        steps = flushed.next().expect("the child writes");
    }
    std::thread::sleep(wait);
    child.kill().unwrap();
    child.wait().unwrap();
    flushed.last().unwrap_or(steps)
}

#[test]
fn a_killed_run_leaves_readable_files_and_goes_on_as_if_nothing_had_happened() {
    let root = tempfile::tempdir().unwrap();
    let description = small();
    let reference = root.path().join("reference");
    fs::create_dir(&reference).unwrap();
    let mut files = Files::create(&reference, &description);
    (0..STEPS).for_each(|step| files.step(&description, step));
    files.finish(STEPS);

    let mut arguments = vec![reference];
    for round in 0..16 {
        let directory = root.path().join(format!("{round}"));
        let killed = directory.join("killed");
        fs::create_dir_all(&killed).unwrap();
        // Kills at all kinds of moments; at least some of them within a write.
        let steps =
            write_and_kill(&directory, 1 + round, Duration::from_micros(373 * round as u64));
        for name in ["run.h5", "run.h5md", "run.gsd"] {
            fs::copy(directory.join(name), killed.join(name)).unwrap();
        }
        // As from a checkpoint a little before the end.
        let kept = steps.min(STEPS) - 1;
        let mut files = Files::reopen(&directory, &description, kept);
        assert_eq!(
            [files.results.rows().thermodynamics, files.trajectory.frames(), files.gsd.frames()],
            [kept; 3]
        );
        for step in kept..STEPS {
            files.step(&description, step);
            if step % 17 == 0 {
                files.flush(step);
            }
        }
        files.finish(STEPS);
        arguments.push(directory);
    }
    let arguments: Vec<&Path> = arguments.iter().map(PathBuf::as_path).collect();
    check_with_python("h5py, gsd.hoomd", "killed.py", &arguments);
}

// ---------------------------------------------------------------------------------------------
// What can go wrong

#[test]
fn an_existing_file_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let description = small();
    let run = description.run();
    let path = directory.path().join("precious");
    fs::write(&path, "precious").unwrap();
    let errors = [
        ResultsWriter::create(&path, &run, &layout()).err().unwrap(),
        TrajectoryWriter::create(&path, &run).err().unwrap(),
        GsdWriter::create(&path, &run).err().unwrap(),
    ];
    for error in errors {
        assert!(matches!(error, OutputError::Exists { .. }), "{error}");
        assert!(error.to_string().contains("precious"));
    }
    assert_eq!(fs::read(&path).unwrap(), b"precious");
}

#[test]
fn a_foreign_file_is_not_continued() {
    let directory = tempfile::tempdir().unwrap();
    let description = small();
    let run = description.run();
    let text = directory.path().join("text");
    fs::write(&text, "not a file of ours, but longer than any header\n".repeat(20)).unwrap();
    let empty = directory.path().join("empty");
    fs::write(&empty, "").unwrap();
    let hdf5 = directory.path().join("other.h5");
    hdf5::File::create(&hdf5).unwrap().create_group("particles").unwrap();
    let newer = directory.path().join("newer.h5");
    let builder = hdf5::File::with_options().with_fapl(|p| p.libver_latest()).clone();
    builder.create(&newer).unwrap().create_group("particles").unwrap();
    for path in [text, empty, hdf5, newer] {
        let before = fs::read(&path).unwrap();
        let errors = [
            ResultsWriter::reopen(&path, &description.run(), &layout(), rows(0), 0).err().unwrap(),
            TrajectoryWriter::reopen(&path, &description.run(), 0).err().unwrap(),
            GsdWriter::reopen(&path, &run, 0).err().unwrap(),
        ];
        for error in errors {
            assert!(matches!(error, OutputError::Foreign { .. }), "{}: {error}", path.display());
        }
        assert_eq!(fs::read(&path).unwrap().len(), before.len());
    }
    let missing = directory.path().join("missing");
    let errors = [
        ResultsWriter::reopen(&missing, &description.run(), &layout(), rows(0), 0).err().unwrap(),
        TrajectoryWriter::reopen(&missing, &description.run(), 0).err().unwrap(),
        GsdWriter::reopen(&missing, &run, 0).err().unwrap(),
    ];
    for error in errors {
        assert!(matches!(error, OutputError::Foreign { .. }), "{error}");
        assert!(error.to_string().contains("it is missing"), "{error}");
    }
    assert!(!missing.exists());
}

#[test]
fn a_file_of_another_run_is_not_continued() {
    let directory = tempfile::tempdir().unwrap();
    let description = small();
    Files::create(directory.path(), &description).finish(0);
    let path = directory.path().join("run.h5");
    let mut other = layout();
    other.series[0].axes[0].values[1] = 0.003;
    let error = ResultsWriter::reopen(&path, &description.run(), &other, rows(0), 0).err().unwrap();
    assert!(error.to_string().contains("no /dynamics/A/mean_square_displacement on the grid"));
    let larger = plan(&[3.5; 3], [41, 10]);
    let path = directory.path().join("run.h5md");
    let larger = RunDescription { plan: &larger, ..description.run() };
    let error = TrajectoryWriter::reopen(&path, &larger, 0).err().unwrap();
    assert!(matches!(error, OutputError::Foreign { .. }), "{error}");
    let later = RunDescription { run: "fedcba9876543210", ..description.run() };
    let error = TrajectoryWriter::reopen(&path, &later, 0).err().unwrap();
    assert!(error.to_string().contains("it is of another run"), "{error}");
    let path = directory.path().join("run.h5");
    let error = ResultsWriter::reopen(&path, &later, &layout(), rows(0), 0).err().unwrap();
    assert!(error.to_string().contains("it is of another run"), "{error}");
    hdf5::File::open_rw(&path).unwrap().unlink("observables/half_step_temperature").unwrap();
    let error = ResultsWriter::reopen(&path, &description.run(), &layout(), rows(0), 0);
    let error = error.err().unwrap().to_string();
    assert!(error.contains("no /observables/half_step_temperature"), "{error}");
}

#[test]
fn a_file_with_less_than_the_checkpoint_says_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let description = small();
    let mut files = Files::create(directory.path(), &description);
    (0..5).for_each(|step| files.step(&description, step));
    files.finish(5);
    let run = description.run();
    let at = |name: &str| directory.path().join(name);
    let errors = [
        ResultsWriter::reopen(&at("run.h5"), &description.run(), &layout(), rows(6), 0)
            .err()
            .unwrap(),
        TrajectoryWriter::reopen(&at("run.h5md"), &description.run(), 6).err().unwrap(),
        GsdWriter::reopen(&at("run.gsd"), &run, 6).err().unwrap(),
    ];
    for error in errors {
        assert!(matches!(error, OutputError::TooShort { found: 5, expected: 6, .. }), "{error}");
    }
}

#[test]
fn a_missing_directory_is_named() {
    let description = small();
    let path = Path::new("/nonexistent-directory/run.h5");
    let error = ResultsWriter::create(path, &description.run(), &layout()).err().unwrap();
    assert!(matches!(error, OutputError::NotWritable { .. }), "{error}");
    assert!(error.to_string().contains("/nonexistent-directory/run.h5"));
}

#[test]
fn a_read_only_directory_is_named() {
    let Some(mounted) = Mounted::new("size=1m,ro") else { return };
    let description = small();
    let run = description.run();
    let path = mounted.path().join("run");
    let errors = [
        ResultsWriter::create(&path, &run, &layout()).err().unwrap(),
        TrajectoryWriter::create(&path, &run).err().unwrap(),
        GsdWriter::create(&path, &run).err().unwrap(),
        supercool::output::Checkpoint::new().write(mounted.path(), 1).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, OutputError::NotWritable { .. }), "{error}");
        assert!(error.to_string().contains(mounted.path().to_str().unwrap()), "{error}");
    }
}

#[test]
fn a_full_disk_is_named_and_what_was_written_stays() {
    let Some(mounted) = Mounted::new("size=1m") else { return };
    let description = Description::new(plan(&[3.5; 3], [400, 100]));
    let run = description.run();
    let plan = &description.plan;

    let gsd_path = mounted.path().join("run.gsd");
    let mut gsd = GsdWriter::create(&gsd_path, &run).unwrap();
    let error = (0..1000).find_map(|step| gsd.append(&snapshot(plan, step)).err()).expect("full");
    assert!(matches!(error, OutputError::DiskFull { .. }), "{error}");
    let frames = gsd.frames();
    assert!(frames > 10);
    drop(gsd);
    assert_eq!(GsdWriter::reopen(&gsd_path, &run, frames).unwrap().frames(), frames);
    let mut checkpoint = supercool::output::Checkpoint::new();
    checkpoint.put_u8("large", &vec![1; 1 << 20]);
    let error = checkpoint.write(mounted.path(), 1).unwrap_err();
    assert!(matches!(error, OutputError::DiskFull { .. }), "{error}");
    assert_eq!(fs::read_dir(mounted.path()).unwrap().count(), 1, "no half checkpoint stays");
    fs::remove_file(&gsd_path).unwrap();

    let path = mounted.path().join("run.h5md");
    let mut trajectory = TrajectoryWriter::create(&path, &run).unwrap();
    let mut flushed = 0;
    let error = (0..1000)
        .find_map(|step| {
            let appended = trajectory.append(&snapshot(plan, step), 0.0);
            let error = appended.and_then(|()| trajectory.flush()).err();
            flushed += u64::from(error.is_none());
            error
        })
        .expect("full");
    assert!(matches!(error, OutputError::DiskFull { .. }), "{error}");
    assert!(error.to_string().contains("run.h5md"));
    assert!(flushed > 10);
    drop(trajectory);

    // The file is whole.
    let whole = hdf5::File::open(&path).unwrap();
    let steps = whole.dataset("particles/trajectory/position/step").unwrap();
    assert_eq!(steps.read_raw::<i64>().unwrap(), (0..flushed as i64).collect::<Vec<_>>());
    drop((steps, whole));

    // A new one is not left half-made.
    assert!(fs::write(mounted.path().join("filling"), vec![0; 1 << 20]).is_err());
    let results = ResultsWriter::create(&mounted.path().join("run.h5"), &run, &layout());
    let error = results.err().expect("still full");
    assert!(matches!(error, OutputError::DiskFull { .. }), "{error}");
    assert!(!mounted.path().join("run.h5").exists());
    assert!(!mounted.path().join("run.h5.partial").exists());

    // With more room it continues.
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = elsewhere.path().join("run.h5md");
    fs::copy(&path, &copy).unwrap();
    assert_eq!(
        TrajectoryWriter::reopen(&copy, &description.run(), flushed).unwrap().frames(),
        flushed
    );
}
