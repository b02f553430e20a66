use std::path::Path;

use hdf5::{Dataset, File, H5Type};
use supercool_analysis::Frame;

use super::super::h5md::{self, write_array, write_rows};
use super::super::particles::{Coordinates, ParticleLayout, ParticlesWriter};
use super::super::{FullDisk, OutputError, hdf5_file};
use super::{CREATOR, Changes, FrameWriter, Series, VERSION};
use crate::system::SimulationBox;

const GROUP: &str = "particles/trajectory";

/// H5MD in the layout of our own trajectories ([`ParticleLayout`]). Species, ids, masses and diameters that change are
/// elements of time, too. The names of the species are an attribute, `names`, of their numbers.
pub struct H5mdFrames {
    particles: ParticlesWriter,
    changes: Changes,
    has_times: bool,
}

impl H5mdFrames {
    pub fn create(path: &Path, series: Series, first: &Frame) -> Result<Self, OutputError> {
        let layout = ParticleLayout {
            groups: vec![GROUP.to_owned()],
            dimension: first.dimension,
            count: first.particle_count(),
            image: first.image.is_some(),
            velocity: first.velocity.is_some(),
            // Frames need not all have them.
            diameter: false,
            tilted: series.tilted,
            own_boxes: false,
        };
        let has_times = first.time.is_some();
        hdf5_file::create(path, |file| {
            h5md::write_metadata(file, &series.author, CREATOR, VERSION)?;
            h5md::write_string(
                &file.create_group("parameters")?,
                "units",
                &units_text(series.units.as_deref()),
            )?;
            layout.create(file)?;
            if !has_times {
                // MDAnalysis opens no file without times.
                let time = file.dataset(&format!("{GROUP}/position/time"))?;
                h5md::string_attribute(&time, "counts", "steps")?;
            }
            create_scalars(file, &layout, &series, first)
        })?;
        Ok(H5mdFrames {
            particles: ParticlesWriter::new(path, layout, 0),
            changes: series.changes,
            has_times,
        })
    }
}

fn units_text(units: Option<&str>) -> String {
    let source = match units {
        Some(units) => format!("All numbers are in the units \"{units}\" of LAMMPS."),
        None => "All numbers are in the units of the file that was converted.".to_owned(),
    };
    format!(
        "{source} The unit attributes are placeholders with which readers leave the numbers unchanged."
    )
}

impl FrameWriter for H5mdFrames {
    fn append(&mut self, frame: &Frame) -> Result<(), OutputError> {
        self.append_changing(frame)?;
        let time = if self.has_times {
            frame.time.expect("times as in the first frame")
        } else {
            frame.step as f64
        };
        let coordinates = Coordinates {
            position: &frame.position,
            image: frame.image.as_deref(),
            velocity: frame.velocity.as_deref(),
            diameter: None,
        };
        let simulation_box = SimulationBox::new(&frame.box_edges).with_tilt(frame.tilt);
        self.particles.append(frame.step, time, &[simulation_box], [coordinates].into_iter())
    }

    fn finish(&mut self) -> Result<(), OutputError> {
        self.particles.sync()
    }
}

impl H5mdFrames {
    /// The columns of this frame that are not the same in all.
    fn append_changing(&self, frame: &Frame) -> Result<(), OutputError> {
        if self.changes == Changes::default() {
            return Ok(());
        }
        let (row, changes) = (self.particles.frames(), self.changes);
        let bytes = 4 * 8 * frame.particle_count().next_multiple_of(1 << 16) as u64;
        hdf5_file::append(self.particles.path(), "write a frame", bytes, &FullDisk::Stop, |file| {
            let at = |name: &str| format!("{GROUP}/{name}/value");
            if changes.species {
                write_rows(file, &at("species"), row, &species_of(frame))?;
            }
            if let Some(id) = &frame.id
                && changes.id
            {
                write_rows(file, &at("id"), row, &signed(id))?;
            }
            if let Some(mass) = &frame.mass
                && changes.mass
            {
                write_rows(file, &at("mass"), row, mass)?;
            }
            if let Some(diameter) = &frame.diameter
                && changes.diameter
            {
                write_rows(file, &at("diameter"), row, diameter)?;
            }
            Ok(())
        })
    }
}

fn create_scalars(
    file: &File,
    layout: &ParticleLayout,
    series: &Series,
    first: &Frame,
) -> hdf5::Result<()> {
    let Changes { species, id, mass, diameter } = series.changes;
    let numbers = create_scalar(file, layout, "species", species, &species_of(first))?;
    let names: Vec<&str> = series.species_names.iter().map(String::as_str).collect();
    h5md::strings_attribute(&numbers, "names", &names)?;
    if let Some(ids) = &first.id {
        create_scalar(file, layout, "id", id, &signed(ids))?;
    }
    if let Some(masses) = &first.mass {
        create_scalar(file, layout, "mass", mass, masses)?;
    }
    if let Some(diameters) = &first.diameter {
        create_scalar(file, layout, "diameter", diameter, diameters)?;
    }
    Ok(())
}

fn create_scalar<T: H5Type>(
    file: &File,
    layout: &ParticleLayout,
    name: &str,
    changes: bool,
    values: &[T],
) -> hdf5::Result<Dataset> {
    match changes {
        true => layout.create_scalar::<T>(file, name),
        false => write_array(&file.group(GROUP)?, name, &[values.len()], values),
    }
}

fn species_of(frame: &Frame) -> Vec<i32> {
    frame.species.iter().map(|&species| species as i32).collect()
}

fn signed(id: &[u64]) -> Vec<i64> {
    id.iter().map(|&id| id as i64).collect()
}
