use std::path::{Path, PathBuf};

use hdf5::{File, Group};

use super::durable::sync_file;
use super::error::foreign;
use super::h5md::{self, create_rows, variable_string_attribute, write_rows};
use super::{FullDisk, OutputError, RunDescription, hdf5_file};
use crate::plan::Plan;
use crate::system::{Snapshot, species_of_particles};

const GROUP: &str = "particles/trajectory";
/// Bytes of positions kept in memory at most.
const BUFFERED_BYTES: usize = 16 << 20;
/// Largest chunk in the file, and the size up to which frames share one.
const CHUNK_BYTES: usize = 1 << 20;
const SHARED_CHUNK_BYTES: usize = 1 << 16;

/// Unit strings of which MDAnalysis leaves the numbers as they are. The numbers are in reduced
/// units.
const NEUTRAL_LENGTH: &str = "Angstrom";
const NEUTRAL_TIME: &str = "ps";
const NEUTRAL_VELOCITY: &str = "Angstrom ps-1";

/// Writes a trajectory as H5MD in the layout that `MDAnalysis.Universe("x.h5md")` opens bare.
///
/// One group `particles/trajectory` with `position`, `image`, `velocity` and `box/edges`, each
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
    written: usize,
    frames: Frames,
    full_disk: FullDisk,
}

#[derive(Default)]
struct Frames {
    step: Vec<i64>,
    time: Vec<f64>,
    position: Vec<f64>,
    image: Vec<i32>,
    velocity: Vec<f64>,
    edges: Vec<f64>,
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
            create_particles(file, run.plan)
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
        let check = |file: &File| {
            h5md::check_run(file, path, run)?;
            let same = file
                .dataset(&format!("{GROUP}/position/value"))
                .is_ok_and(|value| value.shape().get(1..) == Some(&[particle_count, 3]));
            if !same {
                return Err(foreign(path, "it is not a trajectory of this system"));
            }
            let mut longer = false;
            for dataset in DATASETS {
                let found = h5md::row_count(file, &format!("{GROUP}/{dataset}"))
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
            let cut =
                |dataset| h5md::truncate_rows(file, &format!("{GROUP}/{dataset}"), frames as usize);
            DATASETS.into_iter().try_for_each(cut)
        })?;
        Ok(Self::new(path, run.plan, frames as usize))
    }

    fn new(path: &Path, plan: &Plan, written: usize) -> Self {
        TrajectoryWriter {
            path: path.to_owned(),
            edges: plan.system.simulation_box.padded_edges(),
            particle_count: plan.system.particle_count(),
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
        assert_eq!(snapshot.position.len(), self.particle_count, "number of particles");
        let frames = &mut self.frames;
        frames.step.push(snapshot.step as i64);
        frames.time.push(time);
        frames.position.extend_from_slice(snapshot.position.as_flattened());
        frames.image.extend_from_slice(snapshot.image.as_flattened());
        frames.velocity.extend_from_slice(snapshot.velocity.as_flattened());
        frames.edges.extend(self.edges);
        if size_of_val(&*frames.position) >= BUFFERED_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes all frames that have gathered.
    pub fn flush(&mut self) -> Result<(), OutputError> {
        if self.frames.step.is_empty() {
            return Ok(());
        }
        let (start, frames) = (self.written, &self.frames);
        let growth = growth(self.particle_count, frames.step.len());
        hdf5_file::append(&self.path, "write a frame", growth, &self.full_disk, |file| {
            let [edges, image, velocity, position, time, step] =
                DATASETS.map(|dataset| format!("{GROUP}/{dataset}"));
            write_rows(file, &edges, start, &frames.edges)?;
            write_rows(file, &image, start, &frames.image)?;
            write_rows(file, &velocity, start, &frames.velocity)?;
            write_rows(file, &position, start, &frames.position)?;
            write_rows(file, &time, start, &frames.time)?;
            write_rows(file, &step, start, &frames.step)
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

/// In the order in which they grow.
const DATASETS: [&str; 6] = [
    "box/edges/value",
    "image/value",
    "velocity/value",
    "position/value",
    "position/time",
    "position/step",
];

fn create_particles(file: &File, plan: &Plan) -> hdf5::Result<()> {
    let system = &plan.system;
    let count = system.particle_count();
    file.create_group("particles")?;
    let particles = file.create_group(GROUP)?;
    let boundary = if system.simulation_box.dimension() == 3 { "periodic" } else { "none" };
    let simulation_box = particles.create_group("box")?;
    h5md::number_attribute(&simulation_box, "dimension", 3_i32)?;
    h5md::strings_attribute(&simulation_box, "boundary", &["periodic", "periodic", boundary])?;

    let position = particles.create_group("position")?;
    create_rows::<i64>(&position, "step", &[], vec![1024], false)?;
    let time = create_rows::<f64>(&position, "time", &[], vec![1024], false)?;
    variable_string_attribute(&time, "unit", NEUTRAL_TIME)?;
    let chunk = chunk(count);
    let value = create_rows::<f64>(&position, "value", &[count, 3], chunk.clone(), false)?;
    variable_string_attribute(&value, "unit", NEUTRAL_LENGTH)?;

    let image = element(&particles, "image")?;
    create_rows::<i32>(&image, "value", &[count, 3], chunk.clone(), true)?;
    let velocity = element(&particles, "velocity")?;
    let value = create_rows::<f64>(&velocity, "value", &[count, 3], chunk, false)?;
    variable_string_attribute(&value, "unit", NEUTRAL_VELOCITY)?;
    let edges = element(&particles, "box/edges")?;
    let value = create_rows::<f64>(&edges, "value", &[3], vec![1024, 3], false)?;
    variable_string_attribute(&value, "unit", NEUTRAL_LENGTH)?;

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
fn element(particles: &Group, name: &str) -> hdf5::Result<Group> {
    let group = particles.create_group(name)?;
    for shared in ["step", "time"] {
        particles.link_hard(&format!("/{GROUP}/position/{shared}"), &format!("{name}/{shared}"))?;
    }
    Ok(group)
}

/// Frames and particles in a chunk: small systems share a chunk among frames, large ones share a
/// frame among chunks of equal size.
fn chunk(particle_count: usize) -> Vec<usize> {
    let frame_bytes = 24 * particle_count;
    let frames = (SHARED_CHUNK_BYTES / frame_bytes).max(1);
    vec![frames, particle_count.div_ceil(frame_bytes.div_ceil(CHUNK_BYTES)), 3]
}

/// Bytes by which the file grows at most when `frames` frames are written.
fn growth(particle_count: usize, frames: usize) -> u64 {
    // Position, image, velocity; twice step, time and edges in chunks of 1024.
    let particle_bytes = 24 + 12 + 24;
    let chunk = chunk(particle_count);
    let particles = particle_count.next_multiple_of(chunk[1]);
    let frames_in_chunks = (frames + chunk[0]).next_multiple_of(chunk[0]);
    let rows = (frames + 1024).next_multiple_of(1024);
    (particle_bytes * particles * frames_in_chunks + 40 * rows) as u64
}
