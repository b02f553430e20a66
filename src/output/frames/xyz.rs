use std::io::{self, Write};
use std::path::Path;

use supercool_analysis::Frame;

use super::super::OutputError;
use super::text::{TextFile, write_integers, write_reals};
use super::{FrameWriter, Series};

/// Extended XYZ, as [`XyzReader`](supercool_analysis::trajectory::XyzReader) reads it: names of columns are those of OVITO
/// and ASE. In two dimensions z is 0 and the third edge 1.
pub struct XyzFrames {
    file: TextFile,
    counts_frames: bool,
}

impl XyzFrames {
    pub fn create(path: &Path, series: Series) -> Result<Self, OutputError> {
        Ok(XyzFrames { file: TextFile::create(path)?, counts_frames: series.counts_frames })
    }
}

impl FrameWriter for XyzFrames {
    fn append(&mut self, frame: &Frame) -> Result<(), OutputError> {
        let counts_frames = self.counts_frames;
        self.file.write(|to| {
            write_header(to, frame, counts_frames)?;
            (0..frame.particle_count()).try_for_each(|particle| write_line(to, frame, particle))
        })
    }

    fn finish(&mut self) -> Result<(), OutputError> {
        self.file.finish()
    }
}

fn write_header(to: &mut impl Write, frame: &Frame, counts_frames: bool) -> io::Result<()> {
    let [x, y, z] = frame.padded_edges();
    writeln!(to, "{}", frame.particle_count())?;
    let xy = match frame.tilt {
        0.0 => "0".to_owned(),
        tilt => format!("{:?}", tilt * x),
    };
    write!(to, "Lattice=\"{x:?} 0 0 {xy} {y:?} 0 0 0 {z:?}\" Properties=species:S:1:pos:R:3")?;
    for (held, column) in [
        (frame.velocity.is_some(), "velo:R:3"),
        (frame.image.is_some(), "image:I:3"),
        (frame.mass.is_some(), "masses:R:1"),
        (frame.diameter.is_some(), "radius:R:1"),
        (frame.id.is_some(), "id:I:1"),
    ] {
        if held {
            write!(to, ":{column}")?;
        }
    }
    let open = if frame.dimension == 2 { "F" } else { "T" };
    write!(to, " pbc=\"T T {open}\" dimension={}", frame.dimension)?;
    if !counts_frames {
        write!(to, " step={}", frame.step)?;
    }
    if let Some(time) = frame.time {
        write!(to, " time={time:?}")?;
    }
    writeln!(to)
}

fn write_line(to: &mut impl Write, frame: &Frame, particle: usize) -> io::Result<()> {
    to.write_all(frame.species_name(particle).as_bytes())?;
    write_reals(to, &frame.position[particle])?;
    if let Some(velocity) = &frame.velocity {
        write_reals(to, &velocity[particle])?;
    }
    if let Some(image) = &frame.image {
        write_integers(to, &image[particle])?;
    }
    if let Some(mass) = &frame.mass {
        write_reals(to, &[mass[particle]])?;
    }
    if let Some(diameter) = &frame.diameter {
        write_reals(to, &[0.5 * diameter[particle]])?;
    }
    if let Some(id) = &frame.id {
        write!(to, " {}", id[particle])?;
    }
    writeln!(to)
}
