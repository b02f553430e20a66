//! GSD: schema "hoomd" 1.4, as documented by its authors (gsd.readthedocs.io, "HOOMD schema"), in files of [`layer`].
//!
//! What is missing in a frame is as in frame 0, so frame 0 holds everything and the others only what moves.
pub(super) mod layer;

use std::path::Path;

use self::layer::{Chunk, GsdFile};
use super::{FullDisk, OutputError, RunDescription};
use crate::plan::{BoxCourse, Plan};
use crate::system::{SimulationBox, Snapshot, species_of_particles};

const CREATOR: &str = "supercool";

/// Writes a trajectory for OVITO, HOOMD-blue, freud, MDAnalysis and others.
///
/// 32-bit floats, so this is for looking and analysing, not for continuing. The box is centred at the
/// origin: positions are shifted by half the box and lie in `[-L/2, L/2)`. In two dimensions the
/// third edge is zero, which is how HOOMD-blue says so. The diameter is the natural length (sigma) of the species
/// with itself.
pub struct GsdWriter {
    file: GsdFile,
    course: BoxCourse,
    particle_count: usize,
    /// Arrays of frame 0 that do not move.
    fixed: Vec<Chunk>,
    full_disk: FullDisk,
}

impl GsdWriter {
    /// # Errors
    /// [`OutputError::Exists`] for an existing file; see [`OutputError`] for the others.
    pub fn create(path: &Path, run: &RunDescription) -> Result<Self, OutputError> {
        let file = GsdFile::create(path, &format!("{CREATOR} {}", run.version))?;
        Ok(Self::of(file, run))
    }

    /// Goes on with a file, also one whose writer was killed: keeps the first `frames` frames.
    ///
    /// # Errors
    /// [`OutputError::Foreign`] when supercool did not write it, [`OutputError::TooShort`] when it
    /// has fewer frames.
    pub fn reopen(path: &Path, run: &RunDescription, frames: u64) -> Result<Self, OutputError> {
        Ok(Self::of(GsdFile::reopen(path, CREATOR, frames)?, run))
    }

    /// Whether [`reopen`](Self::reopen) would find what it needs.
    ///
    /// # Errors
    /// Those that it would have.
    pub fn check(path: &Path, frames: u64) -> Result<(), OutputError> {
        GsdFile::check(path, CREATOR, frames)
    }

    fn of(file: GsdFile, run: &RunDescription) -> Self {
        GsdWriter {
            file,
            course: BoxCourse::new(run.plan, run.stage),
            particle_count: run.plan.system.particle_count(),
            fixed: fixed_chunks(run),
            full_disk: FullDisk::Stop,
        }
    }

    /// The box of the frames that come; that of the plan before.
    pub fn set_box(&mut self, simulation_box: &SimulationBox) {
        self.course.set(simulation_box);
    }

    /// What is done from now on when the disk is full.
    pub fn on_full_disk(&mut self, full_disk: &FullDisk) {
        self.full_disk = full_disk.clone();
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Frames in the file: what a checkpoint remembers for [`reopen`](Self::reopen).
    pub fn frames(&self) -> u64 {
        self.file.frames()
    }

    /// Adds a frame and hands it to the operating system.
    ///
    /// # Panics
    /// When the number of particles differs from the plan's.
    pub fn append(&mut self, snapshot: &Snapshot) -> Result<(), OutputError> {
        assert_eq!(snapshot.position.len(), self.particle_count, "number of particles");
        let (path, full_disk) = (self.path().to_owned(), self.full_disk.clone());
        full_disk.for_io(&path, "write a frame", || {
            let simulation_box = self.course.at(snapshot.step);
            let moving = moving_chunks(snapshot, &simulation_box);
            // Frames without one have that of the first.
            let has_box = self.frames() == 0 || self.course.changes();
            let of_box = has_box.then(|| box_chunk(&simulation_box));
            let fixed: &[Chunk] = if self.frames() == 0 { &self.fixed } else { &[] };
            let diameters = own_diameters(snapshot);
            let moving = moving.iter().chain(&diameters).chain(&of_box);
            self.file.append(fixed.iter().chain(moving).collect())
        })
    }

    /// Waits until everything is on the disk: before a checkpoint that counts on it.
    ///
    /// # Errors
    /// Also if the file is not there any more under its name.
    pub fn sync(&mut self) -> Result<(), OutputError> {
        self.file.sync()
    }
}

/// What is the same in all frames.
fn fixed_chunks(run: &RunDescription) -> Vec<Chunk> {
    let Plan { system, potential, .. } = run.plan;
    let species: Vec<usize> =
        species_of_particles(&system.species).into_iter().map(usize::from).collect();
    let names: Vec<&str> = system.species.iter().map(|species| &*species.name).collect();
    let typeid: Vec<u32> = species.iter().map(|&species| species as u32).collect();
    let mass: Vec<f32> =
        species.iter().map(|&species| system.species[species].mass as f32).collect();
    let length = |species: usize| potential.form.scale(&potential.pairs[species][species]).length;
    let diameter: Vec<f32> = species.iter().map(|&species| length(species) as f32).collect();
    let mut chunks = vec![
        Chunk::new("configuration/dimensions", 1, &[system.simulation_box.dimension() as u8]),
        Chunk::new("particles/N", 1, &[species.len() as u32]),
        names_chunk(&names),
        Chunk::new("particles/typeid", 1, &typeid),
        Chunk::new("particles/mass", 1, &mass),
        Chunk::new("supercool/toml", 1, run.toml_text.as_bytes()),
        Chunk::new("supercool/plan", 1, run.plan_json().as_bytes()),
    ];
    if !BoxCourse::new(run.plan, run.stage).may_tilt() {
        chunks.insert(0, box_chunk(&system.simulation_box));
    }
    if system.diameters.is_none() {
        chunks.push(Chunk::new("particles/diameter", 1, &diameter));
    }
    chunks
}

/// Diameters of the particles, where they have any: they may change from frame to frame.
fn own_diameters(snapshot: &Snapshot) -> Option<Chunk> {
    let diameter: Vec<f32> = snapshot.diameter.iter().map(|&diameter| diameter as f32).collect();
    (!diameter.is_empty()).then(|| Chunk::new("particles/diameter", 1, &diameter))
}

/// What is new in each frame.
fn moving_chunks(snapshot: &Snapshot, simulation_box: &SimulationBox) -> [Chunk; 4] {
    let count = snapshot.position.len();
    let dimension = simulation_box.dimension();
    let mut position = vec![[0_f32; 3]; count];
    let mut image = snapshot.image.clone();
    let slope = simulation_box.slope();
    for particle in 0..count {
        let mut place = snapshot.position[particle];
        if simulation_box.is_tilted() {
            // Fractions of the periods are rounded inside as edges are.
            place[0] -= slope * place[1];
        }
        for axis in 0..dimension {
            let edge = simulation_box.edges()[axis];
            let (shifted, crossed) = centred(place[axis], edge);
            position[particle][axis] = shifted;
            image[particle][axis] += crossed;
        }
        if simulation_box.is_tilted() {
            let [x, y, _] = position[particle].map(f64::from);
            position[particle][0] = (x + slope * y) as f32;
        }
    }
    let velocity: Vec<f32> =
        snapshot.velocity.as_flattened().iter().map(|&component| component as f32).collect();
    [
        Chunk::new("configuration/step", 1, &[snapshot.step]),
        Chunk::new("particles/position", 3, position.as_flattened()),
        Chunk::new("particles/velocity", 3, &velocity),
        Chunk::new("particles/image", 3, image.as_flattened()),
    ]
}

/// Edges of a box and its slopes; in two dimensions the third edge is zero.
pub(super) fn box_chunk(simulation_box: &SimulationBox) -> Chunk {
    let mut numbers = [0_f32; 6];
    for (number, &edge) in numbers.iter_mut().zip(simulation_box.edges()) {
        *number = edge as f32;
    }
    numbers[3] = simulation_box.slope() as f32;
    Chunk::new("configuration/box", 1, &numbers)
}

/// Names of the species, each filled up with zeros beyond the length of the longest.
pub(super) fn names_chunk(names: &[&str]) -> Chunk {
    let length = names.iter().map(|name| name.len() + 1).max().unwrap_or(1);
    let padded = |name: &&str| -> Vec<i8> {
        let bytes = name.bytes().chain(std::iter::repeat(0)).take(length);
        bytes.map(|byte| byte as i8).collect()
    };
    let bytes: Vec<i8> = names.iter().flat_map(padded).collect();
    Chunk::new("particles/types", length, &bytes)
}

/// Coordinate in `[0, L)` moved to `[-L/2, L/2)`, and how many images that added.
fn centred(coordinate: f64, edge: f64) -> (f32, i32) {
    rounded_inside(coordinate - edge / 2.0, edge)
}

/// A coordinate in `[-L/2, L/2)` of 32 bits, and how many images that added: rounding can lift it to `L/2`.
pub(super) fn rounded_inside(coordinate: f64, edge: f64) -> (f32, i32) {
    let half = edge as f32 / 2.0;
    let rounded = coordinate as f32;
    if rounded >= half { (-half, 1) } else { (rounded.max(-half), 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_to_single_precision_keeps_particles_inside() {
        for edge in [15.056_6, 1.0 / 3.0, 35.0, 9.410_360_288_810_284] {
            let half = edge as f32 / 2.0;
            for coordinate in [0.0, f64::MIN_POSITIVE, edge / 2.0, edge.next_down()] {
                let (shifted, crossed) = centred(coordinate, edge);
                assert!(-half <= shifted && shifted < half, "{coordinate} in {edge}");
                let unwrapped = f64::from(shifted) + f64::from(crossed) * edge;
                assert!((unwrapped - (coordinate - edge / 2.0)).abs() < 1e-6 * edge);
            }
        }
    }
}
