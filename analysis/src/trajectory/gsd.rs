//! GSD files (General Simulation Data, <https://gsd.readthedocs.io>), file layer 1.x and 2.x, schema
//! `hoomd`.
//!
//! File layer, little-endian: a header of 256 bytes points to an index of 32-byte entries (frame,
//! rows N, location, columns M, name, type) and to a list of names (64 bytes each in 1.x,
//! zero-separated in 2.x). Schema: a chunk missing in a frame has the value of frame 0 (per-particle
//! chunks: if the number of particles is the same), else the schema's default.
//!
//! Velocities and images do not follow the schema to the letter. HOOMD-blue leaves them out of later frames unless it
//! is asked for them (`dynamic = ["property", "momentum"]`), and those of frame 0 are then not those of the frame.
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::{Frame, TrajectoryReader};
use crate::format::GSD_MAGIC;
use crate::{AnalysisError, Result};

const HEADER_BYTES: usize = 256;
const ENTRY_BYTES: u64 = 32;
const NAME_BYTES: u64 = 64;
const IMAGE: &str = "particles/image";
const VELOCITY: &str = "particles/velocity";
/// What frames are made of.
const READ: [&str; 11] = [
    "configuration/step",
    "configuration/box",
    "configuration/dimensions",
    "particles/N",
    "particles/types",
    "particles/typeid",
    "particles/mass",
    "particles/diameter",
    "particles/position",
    VELOCITY,
    IMAGE,
];

/// Reader of GSD files. Velocities are those of the frame's own chunk, else `None`. Images follow the schema where any
/// frame after the first has a chunk of them: then they are written as they change. Else the first frame may have them,
/// and they are `None` in all others. Masses and diameters that no chunk holds are `None`.
pub struct GsdReader {
    path: PathBuf,
    length: u64,
    /// Name of the program that wrote the file.
    pub application: String,
    chunks: HashMap<(u64, u16), Chunk>,
    names: HashMap<String, u16>,
    steps: Vec<u64>,
    /// Whether images are written as they change, rather than once.
    images_change: bool,
}

/// Where a matrix of numbers stands in the file.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    location: u64,
    rows: u64,
    columns: u64,
    kind: u8,
}

impl GsdReader {
    /// Reads header, index and names.
    pub fn open(path: &Path) -> Result<Self> {
        let bad = |what: String| AnalysisError::content(path, what);
        let mut file = File::open(path).map_err(AnalysisError::io(path))?;
        let length = file.metadata().map_err(AnalysisError::io(path))?.len();
        if length < HEADER_BYTES as u64 {
            return Err(bad(format!("GSD header cut off after {length} bytes")));
        }
        let mut header = [0_u8; HEADER_BYTES];
        file.read_exact(&mut header).map_err(AnalysisError::io(path))?;
        let word = |at: usize| u64::from_le_bytes(array(&header[at..]));
        let version = u32::from_le_bytes(array(&header[44..]));
        let text = |at: usize| zero_terminated(&header[at..at + 64]);
        let (application, schema) = (text(48), text(112));
        if word(0) != GSD_MAGIC {
            return Err(bad("is not a GSD file".into()));
        }
        let major = version >> 16;
        if major > 2 {
            return Err(bad(format!(
                "GSD file layer {major}.{}; 1.x and 2.x are read",
                version & 0xffff
            )));
        }
        if schema != "hoomd" {
            return Err(bad(format!("GSD schema `{schema}`; only `hoomd` is read")));
        }
        let block = |what: &str, at: u64, count: u64, size: u64| {
            let bytes = count.checked_mul(size).filter(|bytes| {
                at >= HEADER_BYTES as u64 && at.checked_add(*bytes).is_some_and(|end| end <= length)
            });
            bytes.ok_or_else(|| {
                bad(format!(
                    "GSD {what} ({count} entries at byte {at}) is outside the file's {length} bytes"
                ))
            })
        };
        let index_bytes = block("index", word(8), word(16), ENTRY_BYTES)?;
        let names_bytes = block("list of names", word(24), word(32), NAME_BYTES)?;
        let index = read_at(path, &mut file, word(8), index_bytes)?;
        let names = parse_names(&read_at(path, &mut file, word(24), names_bytes)?, major);

        let mut chunks = HashMap::new();
        let mut frames = 0;
        for entry in index.chunks_exact(ENTRY_BYTES as usize) {
            let location = u64::from_le_bytes(array(&entry[16..]));
            if location == 0 {
                break;
            }
            let frame = u64::from_le_bytes(array(entry));
            let chunk = Chunk {
                location,
                rows: u64::from_le_bytes(array(&entry[8..])),
                columns: u64::from(u32::from_le_bytes(array(&entry[24..]))),
                kind: entry[30],
            };
            chunks.insert((frame, u16::from_le_bytes(array(&entry[28..]))), chunk);
            frames = frames.max(frame.saturating_add(1));
        }
        // Frames without any chunk are allowed, but not a number of frames out of any proportion.
        if frames > 1000 * (chunks.len() as u64 + 1) {
            return Err(bad(format!(
                "GSD index names frame {}, yet has {} chunks",
                frames - 1,
                chunks.len()
            )));
        }
        let mut reader = GsdReader {
            path: path.to_owned(),
            length,
            application,
            chunks,
            names,
            steps: Vec::new(),
            images_change: false,
        };
        reader.images_change = (1..frames).any(|k| reader.chunk(k, IMAGE).is_some());
        for frame in 0..frames {
            let step = match reader.numbers(&mut file, frame, "configuration/step")? {
                Some(step) => step.first().map_or(0, |&step| step.max(0.0) as u64),
                None => reader.steps.first().copied().unwrap_or(0),
            };
            reader.steps.push(step);
        }
        Ok(reader)
    }

    fn chunk(&self, frame: u64, name: &str) -> Option<Chunk> {
        self.chunks.get(&(frame, *self.names.get(name)?)).copied()
    }

    fn bytes(&self, file: &mut File, name: &str, chunk: Chunk) -> Result<Vec<u8>> {
        let bad =
            |what: String| AnalysisError::content(&self.path, format!("GSD chunk {name}: {what}"));
        let size = match chunk.kind {
            1 | 5 | 11 => 1,
            2 | 6 => 2,
            3 | 7 | 9 => 4,
            4 | 8 | 10 => 8,
            other => return Err(bad(format!("unknown number type {other}"))),
        };
        let bytes = chunk
            .rows
            .checked_mul(chunk.columns)
            .and_then(|count| count.checked_mul(size))
            .filter(|bytes| {
                chunk.location.checked_add(*bytes).is_some_and(|end| end <= self.length)
            })
            .ok_or_else(|| {
                bad(format!(
                    "{} x {} numbers at byte {} are outside the file's {} bytes",
                    chunk.rows, chunk.columns, chunk.location, self.length
                ))
            })?;
        read_at(&self.path, file, chunk.location, bytes)
    }

    /// A chunk of exactly this frame, as 64-bit floats (exact for all that the schema stores, steps up
    /// to 2^53 included).
    fn numbers(&self, file: &mut File, frame: u64, name: &str) -> Result<Option<Vec<f64>>> {
        let Some(chunk) = self.chunk(frame, name) else { return Ok(None) };
        let bytes = self.bytes(file, name, chunk)?;
        Ok(Some(decode(&bytes, chunk.kind)))
    }

    /// A chunk of this frame, else of frame 0.
    fn configuration(&self, file: &mut File, frame: u64, name: &str) -> Result<Option<Vec<f64>>> {
        match self.numbers(file, frame, name)? {
            Some(numbers) => Ok(Some(numbers)),
            None => self.numbers(file, 0, name),
        }
    }

    fn particle_count(&self, file: &mut File, frame: u64) -> Result<u64> {
        let count = self.configuration(file, frame, "particles/N")?;
        Ok(count.and_then(|count| count.first().copied()).unwrap_or(0.0) as u64)
    }

    /// Rows of a per-particle chunk; of frame 0 if this frame has none and as many particles.
    fn per_particle<const M: usize>(
        &self,
        file: &mut File,
        frame: u64,
        count: u64,
        name: &str,
    ) -> Result<Option<Vec<[f64; M]>>> {
        let mut source = frame;
        if self.chunk(frame, name).is_none() {
            if frame == 0 || self.particle_count(file, 0)? != count {
                return Ok(None);
            }
            source = 0;
        }
        let Some(chunk) = self.chunk(source, name) else { return Ok(None) };
        if chunk.rows != count || chunk.columns != M as u64 {
            let what = format!(
                "GSD chunk {name} of frame {source} is {} x {}, but there are {count} particles with {M} each",
                chunk.rows, chunk.columns
            );
            return Err(AnalysisError::content(&self.path, what));
        }
        let numbers = self.numbers(file, source, name)?.unwrap_or_default();
        Ok(Some(numbers.as_chunks().0.to_vec()))
    }

    fn type_names(&self, file: &mut File, frame: u64) -> Result<Vec<String>> {
        let name = "particles/types";
        let Some(chunk) = self.chunk(frame, name).or_else(|| self.chunk(0, name)) else {
            return Ok(vec!["A".to_owned()]);
        };
        let bytes = self.bytes(file, name, chunk)?;
        let width = (chunk.columns as usize).max(1);
        Ok(bytes.chunks(width).map(zero_terminated).collect())
    }

    fn read_frame(&self, file: &mut File, frame: u64) -> Result<Frame> {
        let bad =
            |what: String| AnalysisError::content(&self.path, format!("frame {frame}: {what}"));
        let size = self
            .configuration(file, frame, "configuration/box")?
            .ok_or_else(|| bad("GSD chunk configuration/box is missing".into()))?;
        let &[lx, ly, lz, xy, xz, yz] = &size[..] else {
            return Err(bad(format!("configuration/box has {} numbers, not 6", size.len())));
        };
        if [xz, yz].iter().any(|&tilt| tilt != 0.0) {
            return Err(bad("triclinic box; only a tilt of x along y is read".into()));
        }
        let dimension = match self
            .configuration(file, frame, "configuration/dimensions")?
            .as_deref()
        {
            Some([2.0, ..]) => 2,
            Some([other, ..]) if *other != 3.0 => return Err(bad(format!("dimension {other}"))),
            _ if lz == 0.0 => 2,
            _ => 3,
        };
        let count = self.particle_count(file, frame)?;
        let position = self
            .per_particle::<3>(file, frame, count, "particles/position")?
            .ok_or_else(|| bad("GSD chunk particles/position is missing".into()))?;
        // From here on `count` is known to fit the file.
        let rows = position.len();
        let species = match self.per_particle::<1>(file, frame, count, "particles/typeid")? {
            Some(ids) => ids.iter().map(|id| id[0] as u32).collect(),
            None => vec![0; rows],
        };
        let own = |name: &str| self.chunk(frame, name).is_some();
        let image = match self.images_change {
            // Zero where neither this frame nor the first has them.
            true => {
                Some(self.per_particle(file, frame, count, IMAGE)?.unwrap_or(vec![[0.0; 3]; rows]))
            }
            false if own(IMAGE) => self.per_particle::<3>(file, frame, count, IMAGE)?,
            false => None,
        };
        let velocity = match own(VELOCITY) {
            true => self.per_particle::<3>(file, frame, count, VELOCITY)?,
            false => None,
        };
        let scalars = |file: &mut File, name: &str| -> Result<Option<Vec<f64>>> {
            let rows = self.per_particle::<1>(file, frame, count, name)?;
            Ok(rows.map(|rows| rows.into_flattened()))
        };
        let mass = scalars(file, "particles/mass")?;
        let diameter = scalars(file, "particles/diameter")?;
        Frame {
            step: self.steps[frame as usize],
            time: None,
            dimension,
            box_edges: [lx, ly, lz][..dimension].to_vec(),
            tilt: xy * ly / lx,
            species_names: self.type_names(file, frame)?,
            species,
            id: None,
            mass,
            diameter,
            position,
            image: image.map(|image| image.iter().map(|row| row.map(|x: f64| x as i32)).collect()),
            velocity,
            ..Frame::default()
        }
        .finish(false)
        .map_err(bad)
    }
}

impl TrajectoryReader for GsdReader {
    fn path(&self) -> &Path {
        &self.path
    }

    fn format(&self) -> &'static str {
        "GSD"
    }

    fn steps(&self) -> &[u64] {
        &self.steps
    }

    fn passed_over(&self) -> Result<Vec<String>> {
        let is_used = |id: &u16| self.chunks.keys().any(|(_, used)| used == id);
        let others =
            self.names.iter().filter(|(name, id)| !READ.contains(&&***name) && is_used(id));
        let mut names: Vec<String> = others.map(|(name, _)| name.clone()).collect();
        names.sort();
        Ok(names)
    }

    fn read_tilted(&self, index: usize) -> Result<Frame> {
        self.check_index(index)?;
        let mut file = File::open(&self.path).map_err(AnalysisError::io(&self.path))?;
        self.read_frame(&mut file, index as u64)
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|k| bytes.get(k).copied().unwrap_or(0))
}

fn zero_terminated(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// The caller has compared the size with the file's length.
fn read_at(path: &Path, file: &mut File, location: u64, bytes: u64) -> Result<Vec<u8>> {
    let mut buffer = vec![0; bytes as usize];
    file.seek(SeekFrom::Start(location)).map_err(AnalysisError::io(path))?;
    file.read_exact(&mut buffer).map_err(AnalysisError::io(path))?;
    Ok(buffer)
}

fn parse_names(block: &[u8], major: u32) -> HashMap<String, u16> {
    let separated: Vec<&[u8]> = if major < 2 {
        block.chunks(NAME_BYTES as usize).collect()
    } else {
        block.split(|&byte| byte == 0).collect()
    };
    let names = separated.into_iter().map(zero_terminated).take_while(|name| !name.is_empty());
    names.zip(0..=u16::MAX).collect()
}

fn decode(bytes: &[u8], kind: u8) -> Vec<f64> {
    fn all<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        bytes.as_chunks().0.iter().map(|&chunk| number(chunk)).collect()
    }
    match kind {
        2 => all(bytes, |b| f64::from(u16::from_le_bytes(b))),
        3 => all(bytes, |b| f64::from(u32::from_le_bytes(b))),
        4 => all(bytes, |b| u64::from_le_bytes(b) as f64),
        5 => all(bytes, |b| f64::from(i8::from_le_bytes(b))),
        6 => all(bytes, |b| f64::from(i16::from_le_bytes(b))),
        7 => all(bytes, |b| f64::from(i32::from_le_bytes(b))),
        8 => all(bytes, |b| i64::from_le_bytes(b) as f64),
        9 => all(bytes, |b| f64::from(f32::from_le_bytes(b))),
        10 => all(bytes, f64::from_le_bytes),
        _ => all(bytes, |[b]| f64::from(b)),
    }
}
