use std::io::{self, Write};
use std::path::Path;

use supercool_analysis::Frame;
use supercool_analysis::trajectory::sphere_volume;

use super::super::OutputError;
use super::lammps::{bounds, id_offset, xy};
use super::text::{TextFile, write_integers, write_reals};
use super::{CREATOR, FrameWriter, Series};

/// LAMMPS data files of one frame, in the style atomic, or sphere where particles have diameters.
pub struct DataFrames {
    file: TextFile,
    series: Series,
}

impl DataFrames {
    pub fn create(path: &Path, series: Series) -> Result<Self, OutputError> {
        Ok(DataFrames { file: TextFile::create(path)?, series })
    }
}

impl FrameWriter for DataFrames {
    fn append(&mut self, frame: &Frame) -> Result<(), OutputError> {
        let series = &self.series;
        self.file.write(|to| {
            write_header(to, frame, series)?;
            write_types(to, frame, series)?;
            write_atoms(to, frame, series)?;
            write_velocities(to, frame)
        })
    }

    fn finish(&mut self) -> Result<(), OutputError> {
        self.file.finish()
    }
}

fn write_header(to: &mut impl Write, frame: &Frame, series: &Series) -> io::Result<()> {
    write!(to, "LAMMPS data file by {CREATOR}")?;
    if !series.counts_frames {
        write!(to, ", timestep = {}", frame.step)?;
    }
    if let Some(units) = &series.units {
        write!(to, ", units = {units}")?;
    }
    writeln!(to, "\n\n{} atoms", frame.particle_count())?;
    writeln!(to, "{} atom types\n", series.types.count())?;
    for ([low, high], axis) in bounds(frame).into_iter().zip(["x", "y", "z"]) {
        writeln!(to, "{low:?} {high:?} {axis}lo {axis}hi")?;
    }
    if frame.tilt != 0.0 {
        writeln!(to, "{:?} 0.0 0.0 xy xz yz", xy(frame))?;
    }
    Ok(())
}

/// Labels of the types, and masses unless the style sphere has those of the particles.
fn write_types(to: &mut impl Write, frame: &Frame, series: &Series) -> io::Result<()> {
    if series.types.labels {
        writeln!(to, "\nAtom Type Labels\n")?;
        for (number, name) in series.types.numbers.iter().zip(&series.species_names) {
            writeln!(to, "{number} {name}")?;
        }
    }
    if frame.diameter.is_some() {
        return Ok(());
    }
    if let Some(masses) = masses_of_species(frame) {
        writeln!(to, "\nMasses\n")?;
        for number in 1..=series.types.count() {
            let species = series.types.numbers.iter().position(|&each| each == number);
            // LAMMPS demands masses of types that no particle has, too.
            let mass = species.and_then(|species| masses[species]).unwrap_or(1.0);
            writeln!(to, "{number} {mass:?}")?;
        }
    }
    Ok(())
}

/// Of each species, `None` for one without particles; `None` if a species has several, or there are no masses.
pub fn masses_of_species(frame: &Frame) -> Option<Vec<Option<f64>>> {
    let mut found = vec![None; frame.species_names.len()];
    for (&mass, &species) in frame.mass.as_ref()?.iter().zip(&frame.species) {
        if *found[species as usize].get_or_insert(mass) != mass {
            return None;
        }
    }
    Some(found)
}

fn write_atoms(to: &mut impl Write, frame: &Frame, series: &Series) -> io::Result<()> {
    let style = if frame.diameter.is_some() { "sphere" } else { "atomic" };
    writeln!(to, "\nAtoms # {style}\n")?;
    let ids = ids(frame);
    for particle in 0..frame.particle_count() {
        let species = frame.species[particle] as usize;
        write!(to, "{} {}", ids(particle), series.types.numbers[species])?;
        if let Some(diameters) = &frame.diameter {
            let diameter = diameters[particle];
            // Without masses the densities are 1.
            let mass = frame.mass.as_ref().map(|masses| masses[particle]);
            let density = mass.map_or(1.0, |mass| mass / sphere_volume(diameter));
            write_reals(to, &[diameter, density])?;
        }
        write_reals(to, &frame.position[particle])?;
        if let Some(image) = &frame.image {
            write_integers(to, &image[particle])?;
        }
        writeln!(to)?;
    }
    Ok(())
}

/// The frame's ids, or places from 1.
fn ids(frame: &Frame) -> impl Fn(usize) -> u64 {
    let offset = id_offset(frame);
    move |particle| frame.id.as_ref().map_or(particle as u64 + 1, |id| id[particle] + offset)
}

fn write_velocities(to: &mut impl Write, frame: &Frame) -> io::Result<()> {
    let Some(velocities) = &frame.velocity else { return Ok(()) };
    writeln!(to, "\nVelocities\n")?;
    let ids = ids(frame);
    for (particle, velocity) in velocities.iter().enumerate() {
        write!(to, "{}", ids(particle))?;
        if frame.diameter.is_some() {
            // The style sphere has angular velocities, too.
            write_reals(to, velocity)?;
            write!(to, " 0 0 0")?;
        } else {
            write_reals(to, velocity)?;
        }
        writeln!(to)?;
    }
    Ok(())
}
