use std::io::{self, Write};
use std::path::Path;

use supercool_analysis::Frame;

use super::super::OutputError;
use super::lammps::{bounds, id_offset, xy};
use super::text::{TextFile, write_integers, write_reals};
use super::{FrameWriter, Series};

/// LAMMPS text dumps (`dump custom`). Without `ITEM: TIME`, which MDAnalysis does not read. Names are in the column `element`:
/// ASE takes text from no other.
pub struct DumpFrames {
    file: TextFile,
    series: Series,
    is_first: bool,
    id_offset: u64,
}

impl DumpFrames {
    pub fn create(path: &Path, series: Series) -> Result<Self, OutputError> {
        Ok(DumpFrames { file: TextFile::create(path)?, series, is_first: true, id_offset: 0 })
    }
}

impl FrameWriter for DumpFrames {
    fn append(&mut self, frame: &Frame) -> Result<(), OutputError> {
        if self.is_first {
            self.id_offset = id_offset(frame);
        }
        let (series, id_offset) = (&self.series, self.id_offset);
        // LAMMPS writes them once.
        let units = series.units.as_deref().filter(|_| self.is_first);
        self.is_first = false;
        self.file.write(|to| {
            if let Some(units) = units {
                writeln!(to, "ITEM: UNITS\n{units}")?;
            }
            write_header(to, frame, series)?;
            (0..frame.particle_count())
                .try_for_each(|particle| write_line(to, frame, series, particle, id_offset))
        })
    }

    fn finish(&mut self) -> Result<(), OutputError> {
        self.file.finish()
    }
}

fn write_header(to: &mut impl Write, frame: &Frame, series: &Series) -> io::Result<()> {
    writeln!(to, "ITEM: TIMESTEP\n{}", frame.step)?;
    writeln!(to, "ITEM: NUMBER OF ATOMS\n{}", frame.particle_count())?;
    if frame.tilt == 0.0 {
        writeln!(to, "ITEM: BOX BOUNDS pp pp pp")?;
        for [low, high] in bounds(frame) {
            writeln!(to, "{low:?} {high:?}")?;
        }
    } else {
        // Of the cuboid around the box.
        let (tilt, [[left, right], along_y, along_z]) = (xy(frame), bounds(frame));
        writeln!(to, "ITEM: BOX BOUNDS xy xz yz pp pp pp")?;
        writeln!(to, "{:?} {:?} {tilt:?}", left + tilt.min(0.0), right + tilt.max(0.0))?;
        for [low, high] in [along_y, along_z] {
            writeln!(to, "{low:?} {high:?} 0.0")?;
        }
    }
    write!(to, "ITEM: ATOMS")?;
    for (held, columns) in [
        (frame.id.is_some(), "id"),
        (true, "type"),
        (series.types.labels, "element"),
        (frame.mass.is_some(), "mass"),
        (frame.diameter.is_some(), "diameter"),
        (true, if series.unwrapped { "xu yu zu" } else { "x y z" }),
        (frame.image.is_some(), "ix iy iz"),
        (frame.velocity.is_some(), "vx vy vz"),
    ] {
        if held {
            write!(to, " {columns}")?;
        }
    }
    writeln!(to)
}

fn write_line(
    to: &mut impl Write,
    frame: &Frame,
    series: &Series,
    particle: usize,
    id_offset: u64,
) -> io::Result<()> {
    if let Some(id) = &frame.id {
        write!(to, "{} ", id[particle] + id_offset)?;
    }
    let species = frame.species[particle] as usize;
    write!(to, "{}", series.types.numbers[species])?;
    if series.types.labels {
        write!(to, " {}", series.species_names[species])?;
    }
    if let Some(mass) = &frame.mass {
        write_reals(to, &[mass[particle]])?;
    }
    if let Some(diameter) = &frame.diameter {
        write_reals(to, &[diameter[particle]])?;
    }
    write_reals(to, &frame.position[particle])?;
    if let Some(image) = &frame.image {
        write_integers(to, &image[particle])?;
    }
    if let Some(velocity) = &frame.velocity {
        write_reals(to, &velocity[particle])?;
    }
    writeln!(to)
}
