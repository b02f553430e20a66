use std::path::Path;

use hdf5::File;

use super::error::foreign;
use super::h5md;
use super::particles::{Coordinates, ParticleLayout, ParticlesWriter};
use super::{FullDisk, OutputError, RunDescription, hdf5_file};
use crate::plan::{BoxCourse, Plan};
use crate::system::{SimulationBox, Snapshot, species_of_particles};

/// Of a single system.
const GROUP: &str = "particles/trajectory";

fn layout(plan: &Plan, stage: &str, course: &BoxCourse) -> ParticleLayout {
    ParticleLayout {
        groups: match plan.ensemble {
            None => vec![GROUP.to_owned()],
            Some(_) => {
                (0..plan.systems()).map(|system| format!("particles/system-{system}")).collect()
            }
        },
        dimension: plan.system.simulation_box.dimension(),
        count: plan.system.particle_count(),
        image: true,
        velocity: true,
        diameter: plan.system.diameters.is_some(),
        tilted: course.may_tilt(),
        own_boxes: plan
            .stages
            .iter()
            .position(|of| of.name == stage)
            .is_some_and(|stage| plan.has_own_boxes(stage)),
    }
}

/// Writes a trajectory as H5MD in the layout that `MDAnalysis.Universe("x.h5md")` opens bare.
///
/// One group `particles/trajectory` (of many systems `particles/system-0`, `particles/system-1`, ...) with `position`, `image`, `velocity` and `box/edges`, each
/// `{step, time, value}` with the same step and time datasets, all arrays; no `/observables`; unit
/// attributes are neutral strings of variable length. Always three components: in two dimensions z
/// is zero and the third edge 1. `species`, `id` and `mass` do not depend on time; particles are in
/// id order. Positions are wrapped, `0 <= x < edge`; `position + image * edges` is unwrapped. In a stage whose box has a tilt
/// `box/edges` is a matrix with a period in each row. Where systems have boxes of their own, each group has its own `box/edges/value`.
///
/// Frames are collected in memory until [`flush`](Self::flush).
pub struct TrajectoryWriter {
    /// Of all systems, or of each where they have boxes of their own.
    courses: Vec<BoxCourse>,
    particles: ParticlesWriter,
}

impl TrajectoryWriter {
    /// # Errors
    /// [`OutputError::Exists`] for an existing file; see [`OutputError`] for the others.
    pub fn create(path: &Path, run: &RunDescription) -> Result<Self, OutputError> {
        let course = BoxCourse::new(run.plan, run.stage);
        let layout = layout(run.plan, run.stage, &course);
        hdf5_file::create(path, |file| {
            h5md::write_metadata(file, run.author, h5md::CREATOR, run.version)?;
            h5md::write_parameters(file, run)?;
            h5md::write_string(
                &file.group("parameters")?,
                "units",
                "All numbers are in reduced units (sigma, epsilon, mass). The unit attributes are \
                 placeholders with which readers leave the numbers unchanged.",
            )?;
            layout.create(file)?;
            layout.groups.iter().try_for_each(|group| describe_particles(file, group, run.plan))
        })?;
        Ok(Self::new(path, layout, course, 0))
    }

    /// Goes on with a file, also one whose writer was killed: keeps the first `frames` frames.
    ///
    /// # Errors
    /// [`OutputError::Foreign`] when it is another system's file, [`OutputError::TooShort`] when it
    /// has fewer frames.
    pub fn reopen(path: &Path, run: &RunDescription, frames: u64) -> Result<Self, OutputError> {
        let course = BoxCourse::new(run.plan, run.stage);
        let of_stage = layout(run.plan, run.stage, &course);
        let layout = &of_stage;
        let check = |file: &File| {
            h5md::check_run(file, path, run)?;
            let same = |group: &String| {
                file.dataset(&format!("{group}/position/value"))
                    .is_ok_and(|value| value.shape().get(1..) == Some(&[layout.count, 3]))
            };
            if !layout.groups.iter().all(same) {
                return Err(foreign(path, "it is not a trajectory of this system"));
            }
            let mut longer = false;
            for dataset in layout.datasets() {
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
            layout.datasets().try_for_each(cut)
        })?;
        Ok(Self::new(path, of_stage, course, frames as usize))
    }

    fn new(path: &Path, layout: ParticleLayout, course: BoxCourse, written: usize) -> Self {
        let courses = vec![course; layout.boxes()];
        TrajectoryWriter { particles: ParticlesWriter::new(path, layout, written), courses }
    }

    /// The box of the frames that come, or of each system where they have boxes of their own; that of the plan before.
    ///
    /// # Panics
    /// When there are not as many as the file holds.
    pub fn set_boxes(&mut self, boxes: &[SimulationBox]) {
        assert_eq!(boxes.len(), self.courses.len(), "number of boxes");
        self.courses.iter_mut().zip(boxes).for_each(|(course, of_frame)| course.set(of_frame));
    }

    /// What is done from now on when the disk is full.
    pub fn on_full_disk(&mut self, full_disk: &FullDisk) {
        self.particles.on_full_disk(full_disk);
    }

    pub fn path(&self) -> &Path {
        self.particles.path()
    }

    /// Frames so far, in the file or in memory: what a checkpoint remembers for
    /// [`reopen`](Self::reopen).
    pub fn frames(&self) -> u64 {
        self.particles.frames() as u64
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
        let coordinates = systems.iter().map(|snapshot| Coordinates {
            position: &snapshot.position,
            image: Some(&snapshot.image),
            velocity: Some(&snapshot.velocity),
            diameter: Some(&snapshot.diameter),
        });
        let step = systems[0].step;
        let boxes: Vec<_> = self.courses.iter().map(|course| course.at(step)).collect();
        self.particles.append(step, time, &boxes, coordinates)
    }

    /// Writes all frames that have gathered.
    pub fn flush(&mut self) -> Result<(), OutputError> {
        self.particles.flush()
    }

    /// Flushes and waits until everything is on the disk: before a checkpoint that counts on it.
    pub fn sync(&mut self) -> Result<(), OutputError> {
        self.particles.sync()
    }
}

/// Of a system's particles what does not change with time.
fn describe_particles(file: &File, group: &str, plan: &Plan) -> hdf5::Result<()> {
    let (system, particles) = (&plan.system, file.group(group)?);
    let count = system.particle_count();
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
