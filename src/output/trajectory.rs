use std::path::{Path, PathBuf};

use hdf5::{File, Group};

use super::durable::sync_file;
use super::error::foreign;
use super::h5md::{self, create_rows, variable_string_attribute, write_rows};
use super::{FullDisk, OutputError, RunDescription, hdf5_file};
use crate::plan::Plan;
use crate::system::{Snapshot, species_of_particles};

/// Of a single system.
const GROUP: &str = "particles/trajectory";

/// The groups of a run's systems.
fn groups(plan: &Plan) -> Vec<String> {
    match plan.ensemble {
        None => vec![GROUP.to_owned()],
        Some(_) => (0..plan.systems()).map(|system| format!("particles/system-{system}")).collect(),
    }
}

/// Bytes of positions kept in memory at most.
const BUFFERED_BYTES: usize = 16 << 20;
/// Largest chunk in the file, and the size up to which frames share one.
const CHUNK_BYTES: usize = 1 << 20;
const SHARED_CHUNK_BYTES: usize = 1 << 16;
/// What the indices of a system's chunks grow by at most with each writing; those of one are counted where files grow.
const INDEX_BYTES: usize = 1 << 14;

/// Unit strings of which MDAnalysis leaves the numbers as they are. The numbers are in reduced
/// units.
const NEUTRAL_LENGTH: &str = "Angstrom";
const NEUTRAL_TIME: &str = "ps";
const NEUTRAL_VELOCITY: &str = "Angstrom ps-1";

/// Writes a trajectory as H5MD in the layout that `MDAnalysis.Universe("x.h5md")` opens bare.
///
/// One group `particles/trajectory` (of many systems `particles/system-0`, `particles/system-1`, ...) with `position`, `image`, `velocity` and `box/edges`, each
/// `{step, time, value}` with the same step and time datasets, all arrays; no `/observables`; unit
/// attributes are neutral strings of variable length. Always three components: in two dimensions z
/// is zero and the third edge 1. `species`, `id` and `mass` do not depend on time; particles are in
/// id order. Positions are wrapped, `0 <= x < edge`; `position + image * edges` is unwrapped.
///
/// Frames are collected in memory until [`flush`](Self::flush).
pub struct TrajectoryWriter {
    path: PathBuf,
    edges: [f64; 3],
    particle_count: usize,
    /// Of the systems.
    groups: Vec<String>,
    written: usize,
    frames: Frames,
    full_disk: FullDisk,
}

#[derive(Default)]
struct Frames {
    step: Vec<i64>,
    time: Vec<f64>,
    edges: Vec<f64>,
    /// By system.
    of_systems: Vec<Coordinates>,
}

#[derive(Clone, Default)]
struct Coordinates {
    position: Vec<f64>,
    image: Vec<i32>,
    velocity: Vec<f64>,
}

impl TrajectoryWriter {
    /// # Errors
    /// [`OutputError::Exists`] for an existing file; see [`OutputError`] for the others.
    pub fn create(path: &Path, run: &RunDescription) -> Result<Self, OutputError> {
        hdf5_file::create(path, |file| {
            h5md::write_metadata(file, run)?;
            h5md::write_parameters(file, run)?;
            h5md::write_string(
                &file.group("parameters")?,
                "units",
                "All numbers are in reduced units (sigma, epsilon, mass). The unit attributes are \
                 placeholders with which readers leave the numbers unchanged.",
            )?;
            file.create_group("particles")?;
            let groups = groups(run.plan);
            groups.iter().try_for_each(|group| create_particles(file, group, &groups[0], run.plan))
        })?;
        Ok(Self::new(path, run.plan, 0))
    }

    /// Goes on with a file, also one whose writer was killed: keeps the first `frames` frames.
    ///
    /// # Errors
    /// [`OutputError::Foreign`] when it is another system's file, [`OutputError::TooShort`] when it
    /// has fewer frames.
    pub fn reopen(path: &Path, run: &RunDescription, frames: u64) -> Result<Self, OutputError> {
        let particle_count = run.plan.system.particle_count();
        let groups = &groups(run.plan);
        let check = |file: &File| {
            h5md::check_run(file, path, run)?;
            let same = |group: &String| {
                file.dataset(&format!("{group}/position/value"))
                    .is_ok_and(|value| value.shape().get(1..) == Some(&[particle_count, 3]))
            };
            if !groups.iter().all(same) {
                return Err(foreign(path, "it is not a trajectory of this system"));
            }
            let mut longer = false;
            for dataset in datasets(groups) {
                let found = h5md::row_count(file, &dataset)
                    .map_err(|error| hdf5_file::unreadable(path, error))?;
                if found < frames {
                    let (path, what) = (path.to_owned(), "frames");
                    return Err(OutputError::TooShort { path, what, found, expected: frames });
                }
                longer |= found > frames;
            }
            Ok(longer)
        };
        hdf5_file::repair(path, check, |file| {
            let cut = |dataset: String| h5md::truncate_rows(file, &dataset, frames as usize);
            datasets(groups).try_for_each(cut)
        })?;
        Ok(Self::new(path, run.plan, frames as usize))
    }

    fn new(path: &Path, plan: &Plan, written: usize) -> Self {
        TrajectoryWriter {
            path: path.to_owned(),
            edges: plan.system.simulation_box.padded_edges(),
            particle_count: plan.system.particle_count(),
            groups: groups(plan),
            written,
            frames: Frames::default(),
            full_disk: FullDisk::Stop,
        }
    }

    /// What is done from now on when the disk is full.
    pub fn on_full_disk(&mut self, full_disk: &FullDisk) {
        self.full_disk = full_disk.clone();
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Frames so far, in the file or in memory: what a checkpoint remembers for
    /// [`reopen`](Self::reopen).
    pub fn frames(&self) -> u64 {
        (self.written + self.frames.step.len()) as u64
    }

    /// Adds a frame; writes only when many have gathered.
    ///
    /// # Panics
    /// When the number of particles differs from the plan's.
    pub fn append(&mut self, snapshot: &Snapshot, time: f64) -> Result<(), OutputError> {
        self.append_systems(std::slice::from_ref(snapshot), time)
    }

    /// The same of all systems.
    ///
    /// # Panics
    /// When there are not as many as the plan has.
    pub fn append_systems(&mut self, systems: &[Snapshot], time: f64) -> Result<(), OutputError> {
        assert_eq!(systems.len(), self.groups.len(), "number of systems");
        let frames = &mut self.frames;
        frames.of_systems.resize(systems.len(), Coordinates::default());
        frames.step.push(systems[0].step as i64);
        frames.time.push(time);
        frames.edges.extend(self.edges);
        let mut bytes = 0;
        for (snapshot, of_system) in systems.iter().zip(&mut frames.of_systems) {
            assert_eq!(snapshot.position.len(), self.particle_count, "number of particles");
            of_system.position.extend_from_slice(snapshot.position.as_flattened());
            of_system.image.extend_from_slice(snapshot.image.as_flattened());
            of_system.velocity.extend_from_slice(snapshot.velocity.as_flattened());
            bytes += size_of_val(&*of_system.position);
        }
        if bytes >= BUFFERED_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes all frames that have gathered.
    pub fn flush(&mut self) -> Result<(), OutputError> {
        if self.frames.step.is_empty() {
            return Ok(());
        }
        let (start, frames) = (self.written, &self.frames);
        let growth = growth(self.particle_count, self.groups.len(), frames.step.len());
        hdf5_file::append(&self.path, "write a frame", growth, &self.full_disk, |file| {
            let shared = SHARED.map(|dataset| format!("{}/{dataset}", self.groups[0]));
            let [edges, time, step] = &shared;
            write_rows(file, edges, start, &frames.edges)?;
            for (group, of_system) in self.groups.iter().zip(&frames.of_systems) {
                let [image, velocity, position] = EACH.map(|dataset| format!("{group}/{dataset}"));
                write_rows(file, &image, start, &of_system.image)?;
                write_rows(file, &velocity, start, &of_system.velocity)?;
                write_rows(file, &position, start, &of_system.position)?;
            }
            write_rows(file, time, start, &frames.time)?;
            write_rows(file, step, start, &frames.step)
        })?;
        self.written += self.frames.step.len();
        self.frames = Frames::default();
        Ok(())
    }

    /// Flushes and waits until everything is on the disk: before a checkpoint that counts on it.
    pub fn sync(&mut self) -> Result<(), OutputError> {
        self.flush()?;
        sync_file(&self.path)
    }
}

/// Of all systems together; the step comes last.
const SHARED: [&str; 3] = ["box/edges/value", "position/time", "position/step"];
/// Of each system.
const EACH: [&str; 3] = ["image/value", "velocity/value", "position/value"];

/// All that grow.
fn datasets(groups: &[String]) -> impl Iterator<Item = String> {
    let shared = SHARED.iter().map(|dataset| format!("{}/{dataset}", groups[0]));
    let of = |group: &String| EACH.map(|dataset| format!("{group}/{dataset}"));
    groups.iter().flat_map(of).chain(shared)
}

/// The group of a system. Steps, times and edges are those of the first one.
fn create_particles(file: &File, group: &str, first: &str, plan: &Plan) -> hdf5::Result<()> {
    let system = &plan.system;
    let count = system.particle_count();
    let particles = file.create_group(group)?;
    let boundary = if system.simulation_box.dimension() == 3 { "periodic" } else { "none" };
    let simulation_box = particles.create_group("box")?;
    h5md::number_attribute(&simulation_box, "dimension", 3_i32)?;
    h5md::strings_attribute(&simulation_box, "boundary", &["periodic", "periodic", boundary])?;

    let position = particles.create_group("position")?;
    let is_first = group == first;
    if is_first {
        create_rows::<i64>(&position, "step", &[], vec![1024], false)?;
        let time = create_rows::<f64>(&position, "time", &[], vec![1024], false)?;
        variable_string_attribute(&time, "unit", NEUTRAL_TIME)?;
    } else {
        share(file, group, first, "position")?;
    }
    let chunk = chunk(count, plan.systems());
    let value = create_rows::<f64>(&position, "value", &[count, 3], chunk.clone(), false)?;
    variable_string_attribute(&value, "unit", NEUTRAL_LENGTH)?;

    let image = element(file, group, first, "image")?;
    create_rows::<i32>(&image, "value", &[count, 3], chunk.clone(), true)?;
    let velocity = element(file, group, first, "velocity")?;
    let value = create_rows::<f64>(&velocity, "value", &[count, 3], chunk, false)?;
    variable_string_attribute(&value, "unit", NEUTRAL_VELOCITY)?;
    let edges = element(file, group, first, "box/edges")?;
    if is_first {
        let value = create_rows::<f64>(&edges, "value", &[3], vec![1024, 3], false)?;
        variable_string_attribute(&value, "unit", NEUTRAL_LENGTH)?;
    } else {
        let value = "box/edges/value";
        file.link_hard(&format!("/{first}/{value}"), &format!("/{group}/{value}"))?;
    }

    let species: Vec<i32> =
        species_of_particles(&system.species).into_iter().map(i32::from).collect();
    let id: Vec<i64> = (0..count as i64).collect();
    let mass: Vec<f64> =
        species.iter().map(|&species| system.species[species as usize].mass).collect();
    h5md::write_array(&particles, "species", &[count], &species)?;
    h5md::write_array(&particles, "id", &[count], &id)?;
    h5md::write_array(&particles, "mass", &[count], &mass)?;
    Ok(())
}

/// Group of a time-dependent element that shares step and time with the positions.
fn element(file: &File, group: &str, first: &str, name: &str) -> hdf5::Result<Group> {
    let element = file.create_group(&format!("{group}/{name}"))?;
    share(file, group, first, name)?;
    Ok(element)
}

/// Gives an element the steps and times of the positions of the first system.
fn share(file: &File, group: &str, first: &str, name: &str) -> hdf5::Result<()> {
    ["step", "time"].into_iter().try_for_each(|shared| {
        file.link_hard(&format!("/{first}/position/{shared}"), &format!("/{group}/{name}/{shared}"))
    })
}

/// Frames and particles in a chunk: small systems share a chunk among frames, large ones share a
/// frame among chunks of equal size. The chunks that are not full are written again with each frame: those of many systems
/// are as large together as that of one.
fn chunk(particle_count: usize, systems: usize) -> Vec<usize> {
    let frame_bytes = 24 * particle_count;
    let frames = (SHARED_CHUNK_BYTES / (frame_bytes * systems)).max(1);
    vec![frames, particle_count.div_ceil(frame_bytes.div_ceil(CHUNK_BYTES)), 3]
}

/// Bytes by which the file grows at most when `frames` frames are written.
fn growth(particle_count: usize, systems: usize, frames: usize) -> u64 {
    // Position, image, velocity; twice step, time and edges in chunks of 1024.
    let particle_bytes = 24 + 12 + 24;
    let chunk = chunk(particle_count, systems);
    let particles = systems * particle_count.next_multiple_of(chunk[1]);
    let frames_in_chunks = (frames + chunk[0]).next_multiple_of(chunk[0]);
    let rows = (frames + 1024).next_multiple_of(1024);
    let indices = INDEX_BYTES * (systems - 1);
    (particle_bytes * particles * frames_in_chunks + 40 * rows + indices) as u64
}
