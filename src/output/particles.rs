//! Particle groups of H5MD files in the layout that `MDAnalysis.Universe("x.h5md")` opens bare.
//!
//! Each group has `position`, perhaps `image`, `velocity` and `diameter`, and `box/edges`, each `{step, time, value}` with the same
//! step and time datasets, all arrays. Always three components: in two dimensions z is zero and the third edge 1.
use std::path::{Path, PathBuf};

use hdf5::{File, Group, H5Type};

use super::durable::sync_file;
use super::h5md::{self, create_rows, variable_string_attribute, write_rows};
use super::{FullDisk, OutputError, hdf5_file};
use crate::system::SimulationBox;

/// Bytes of positions kept in memory at most.
const BUFFERED_BYTES: usize = 16 << 20;
/// Largest chunk in the file, and the size up to which frames share one.
const CHUNK_BYTES: usize = 1 << 20;
const SHARED_CHUNK_BYTES: usize = 1 << 16;
/// Steps, times and boxes in a chunk.
const ROWS_IN_CHUNK: usize = 1024;
/// What the indices of a system's chunks grow by at most with each writing; those of one are counted where files grow.
const INDEX_BYTES: usize = 1 << 14;

/// Unit strings of which MDAnalysis leaves the numbers as they are. The numbers are in reduced
/// units.
const NEUTRAL_LENGTH: &str = "Angstrom";
const NEUTRAL_TIME: &str = "ps";
const NEUTRAL_VELOCITY: &str = "Angstrom ps-1";

/// What the groups of a file hold.
pub struct ParticleLayout {
    /// Their paths, of one system or several.
    pub groups: Vec<String>,
    /// 2 or 3.
    pub dimension: usize,
    /// Particles of each.
    pub count: usize,
    pub image: bool,
    pub velocity: bool,
    /// Diameters that may change with time.
    pub diameter: bool,
    /// Whether boxes may have a tilt: their edges are then matrices, a period in each row.
    pub tilted: bool,
    /// Whether each group has a box of its own.
    pub own_boxes: bool,
}

/// Coordinates of a system in a frame.
pub struct Coordinates<'a> {
    pub position: &'a [[f64; 3]],
    pub image: Option<&'a [[i32; 3]]>,
    pub velocity: Option<&'a [[f64; 3]]>,
    pub diameter: Option<&'a [f64]>,
}

/// Collects frames in memory until [`flush`](Self::flush), or until they are many.
pub struct ParticlesWriter {
    path: PathBuf,
    layout: ParticleLayout,
    written: usize,
    frames: Frames,
    full_disk: FullDisk,
}

#[derive(Default)]
struct Frames {
    step: Vec<i64>,
    time: Vec<f64>,
    /// By box.
    edges: Vec<Vec<f64>>,
    /// By system.
    of_systems: Vec<Columns>,
}

#[derive(Clone, Default)]
struct Columns {
    position: Vec<f64>,
    image: Vec<i32>,
    velocity: Vec<f64>,
    diameter: Vec<f64>,
}

impl ParticlesWriter {
    /// Of a file with the groups of [`ParticleLayout::create`], in which `written` frames are.
    pub fn new(path: &Path, layout: ParticleLayout, written: usize) -> Self {
        let frames = Frames::default();
        ParticlesWriter {
            path: path.to_owned(),
            layout,
            written,
            frames,
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

    /// Frames so far, in the file or in memory.
    pub fn frames(&self) -> usize {
        self.written + self.frames.step.len()
    }

    /// Adds a frame of all systems in one box, or in one each.
    ///
    /// # Panics
    /// When there are not as many systems or particles as in the layout, or when what the layout names is missing.
    pub fn append<'a>(
        &mut self,
        step: u64,
        time: f64,
        boxes: &[SimulationBox],
        systems: impl ExactSizeIterator<Item = Coordinates<'a>>,
    ) -> Result<(), OutputError> {
        let layout = &self.layout;
        assert_eq!(systems.len(), layout.groups.len(), "number of systems");
        let frames = &mut self.frames;
        frames.of_systems.resize(systems.len(), Columns::default());
        frames.step.push(step as i64);
        frames.time.push(time);
        assert_eq!(boxes.len(), layout.boxes(), "number of boxes");
        frames.edges.resize(boxes.len(), Vec::new());
        for (edges, of_frame) in frames.edges.iter_mut().zip(boxes) {
            match layout.tilted {
                true => edges.extend(of_frame.periods().as_flattened()),
                false => edges.extend(of_frame.padded_edges()),
            }
        }
        let mut bytes = 0;
        for (coordinates, columns) in systems.zip(&mut frames.of_systems) {
            assert_eq!(coordinates.position.len(), layout.count, "number of particles");
            columns.position.extend_from_slice(coordinates.position.as_flattened());
            if layout.image {
                let image = coordinates.image.expect("images as in the layout");
                columns.image.extend_from_slice(image.as_flattened());
            }
            if layout.velocity {
                let velocity = coordinates.velocity.expect("velocities as in the layout");
                columns.velocity.extend_from_slice(velocity.as_flattened());
            }
            if layout.diameter {
                let diameter = coordinates.diameter.expect("diameters as in the layout");
                columns.diameter.extend_from_slice(diameter);
            }
            bytes += size_of_val(&*columns.position);
        }
        if bytes >= BUFFERED_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes all frames that have gathered.
    pub fn flush(&mut self) -> Result<(), OutputError> {
        if self.frames.step.is_empty() {
            return Ok(());
        }
        let (start, frames, layout) = (self.written, &self.frames, &self.layout);
        let growth = layout.growth(frames.step.len());
        hdf5_file::append(&self.path, "write a frame", growth, &self.full_disk, |file| {
            let [time, step] = SHARED.map(|name| format!("{}/{name}", layout.groups[0]));
            for (group, edges) in layout.groups.iter().zip(&frames.edges) {
                write_rows(file, &format!("{group}/{EDGES}"), start, edges)?;
            }
            for (group, columns) in layout.groups.iter().zip(&frames.of_systems) {
                if layout.image {
                    write_rows(file, &format!("{group}/{IMAGE}"), start, &columns.image)?;
                }
                if layout.velocity {
                    write_rows(file, &format!("{group}/{VELOCITY}"), start, &columns.velocity)?;
                }
                if layout.diameter {
                    write_rows(file, &format!("{group}/{DIAMETER}"), start, &columns.diameter)?;
                }
                write_rows(file, &format!("{group}/{POSITION}"), start, &columns.position)?;
            }
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

/// Of all systems together; the step comes last.
const SHARED: [&str; 2] = ["position/time", "position/step"];
const EDGES: &str = "box/edges/value";
const IMAGE: &str = "image/value";
const VELOCITY: &str = "velocity/value";
const DIAMETER: &str = "diameter/value";
const POSITION: &str = "position/value";

impl ParticleLayout {
    /// All datasets that grow.
    pub fn datasets(&self) -> impl Iterator<Item = String> {
        let shared = SHARED.iter().map(|name| format!("{}/{name}", self.groups[0]));
        let held = [
            (self.image, IMAGE),
            (self.velocity, VELOCITY),
            (self.diameter, DIAMETER),
            (true, POSITION),
        ];
        let held = move |group: &String| {
            let group = group.clone();
            held.into_iter()
                .filter(|(held, _)| *held)
                .map(move |(_, name)| format!("{group}/{name}"))
        };
        let edges = self.groups[..self.boxes()].iter().map(|group| format!("{group}/{EDGES}"));
        self.groups.iter().flat_map(held).chain(edges).chain(shared)
    }

    /// Boxes of a frame.
    pub fn boxes(&self) -> usize {
        if self.own_boxes { self.groups.len() } else { 1 }
    }

    /// Makes the groups. Steps and times of all systems, and edges where they share a box, are those of the first one.
    pub fn create(&self, file: &File) -> hdf5::Result<()> {
        file.create_group("particles")?;
        self.groups.iter().try_for_each(|group| self.create_group(file, group))
    }

    fn create_group(&self, file: &File, group: &str) -> hdf5::Result<()> {
        let (first, count) = (&*self.groups[0], self.count);
        let particles = file.create_group(group)?;
        let boundary = if self.dimension == 3 { "periodic" } else { "none" };
        let simulation_box = particles.create_group("box")?;
        h5md::number_attribute(&simulation_box, "dimension", 3_i32)?;
        h5md::strings_attribute(&simulation_box, "boundary", &["periodic", "periodic", boundary])?;

        let position = particles.create_group("position")?;
        let is_first = group == first;
        if is_first {
            create_rows::<i64>(&position, "step", &[], vec![ROWS_IN_CHUNK], false)?;
            let time = create_rows::<f64>(&position, "time", &[], vec![ROWS_IN_CHUNK], false)?;
            variable_string_attribute(&time, "unit", NEUTRAL_TIME)?;
        } else {
            share(file, group, first, "position")?;
        }
        let chunk = self.chunk();
        let value = create_rows::<f64>(&position, "value", &[count, 3], chunk.clone(), false)?;
        variable_string_attribute(&value, "unit", NEUTRAL_LENGTH)?;

        if self.image {
            let image = element(file, group, first, "image")?;
            create_rows::<i32>(&image, "value", &[count, 3], chunk.clone(), true)?;
        }
        if self.velocity {
            let velocity = element(file, group, first, "velocity")?;
            let value = create_rows::<f64>(&velocity, "value", &[count, 3], chunk, false)?;
            variable_string_attribute(&value, "unit", NEUTRAL_VELOCITY)?;
        }
        if self.diameter {
            let diameter = element(file, group, first, "diameter")?;
            let chunk = self.chunk()[..2].to_vec();
            create_rows::<f64>(&diameter, "value", &[count], chunk, true)?;
        }
        let edges = element(file, group, first, "box/edges")?;
        let rows = self.boxes_in_chunk();
        if is_first || self.own_boxes {
            let value = match self.tilted {
                true => create_rows::<f64>(&edges, "value", &[3, 3], vec![rows, 3, 3], false)?,
                false => create_rows::<f64>(&edges, "value", &[3], vec![rows, 3], false)?,
            };
            variable_string_attribute(&value, "unit", NEUTRAL_LENGTH)?;
        } else {
            file.link_hard(&format!("/{first}/{EDGES}"), &format!("/{group}/{EDGES}"))?;
        }
        Ok(())
    }

    /// Makes a number of each particle that changes with time, in the first group.
    pub fn create_scalar<T: H5Type>(&self, file: &File, name: &str) -> hdf5::Result<hdf5::Dataset> {
        let group = &*self.groups[0];
        let chunk = self.chunk()[..2].to_vec();
        create_rows::<T>(&element(file, group, group, name)?, "value", &[self.count], chunk, true)
    }

    /// Frames and particles in a chunk: small systems share a chunk among frames, large ones share a
    /// frame among chunks of equal size. The chunks that are not full are written again with each frame: those of many systems
    /// are as large together as that of one.
    fn chunk(&self) -> Vec<usize> {
        let frame_bytes = (24 * self.count).max(1);
        let frames = (SHARED_CHUNK_BYTES / (frame_bytes * self.groups.len())).max(1);
        vec![frames, self.count.div_ceil(frame_bytes.div_ceil(CHUNK_BYTES)).max(1), 3]
    }

    /// Of those of many systems one would take much room.
    fn boxes_in_chunk(&self) -> usize {
        (ROWS_IN_CHUNK / self.boxes()).max(32)
    }

    /// Bytes by which the file grows at most when `frames` frames are written.
    fn growth(&self, frames: usize) -> u64 {
        // Position, image, velocity, diameter.
        let particle_bytes = 24 + 12 + 24 + if self.diameter { 8 } else { 0 };
        let (chunk, systems) = (self.chunk(), self.groups.len());
        let particles = systems * self.count.next_multiple_of(chunk[1]);
        let frames_in_chunks = (frames + chunk[0]).next_multiple_of(chunk[0]);
        let rows = |chunk: usize| (frames + chunk).next_multiple_of(chunk);
        let indices = INDEX_BYTES * (systems - 1);
        let box_bytes = if self.tilted { 72 } else { 24 } * self.boxes();
        let row_bytes = 16 * rows(ROWS_IN_CHUNK) + box_bytes * rows(self.boxes_in_chunk());
        (particle_bytes * particles * frames_in_chunks + row_bytes + indices) as u64
    }
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
