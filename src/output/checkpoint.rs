//! The exact state of a run in one file, `checkpoint-STEP.scp`.
//!
//! Layout, all numbers little-endian:
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | magic, detects text-mode transfers as PNG's does |
//! | 4 | format version |
//! | 4 | length of the header |
//! | 8 | length of the file |
//! | ... | header: JSON with the small values and the table of arrays |
//! | ... | arrays, each on a multiple of 8 bytes |
//! | 32 | BLAKE3 hash of everything before |
//!
//! A file is written under a temporary name, synced and renamed, so under its own name it is never
//! half-written. Reading believes nothing before length and hash are right.
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::OutputError;
use super::durable::{partial_path, publish};

const MAGIC: [u8; 8] = *b"\x89SCP\r\n\x1a\n";
const VERSION: u32 = 3;
const FIXED_LENGTH: usize = 24;
const HASH_LENGTH: usize = 32;
/// Checkpoints that stay in a directory.
const KEPT: usize = 2;

/// Named values and arrays of one moment of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    values: BTreeMap<String, serde_json::Value>,
    arrays: BTreeMap<String, Array>,
}

/// Array as bytes, little-endian.
#[derive(Clone, Debug, PartialEq)]
struct Array {
    kind: Kind,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    U8,
    I32,
    U64,
    F64,
}

impl Kind {
    fn size(self) -> usize {
        match self {
            Kind::U8 => 1,
            Kind::I32 => 4,
            Kind::U64 | Kind::F64 => 8,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    values: BTreeMap<String, serde_json::Value>,
    arrays: Vec<Section>,
}

/// Place of an array, `offset` counted from the end of the header.
#[derive(Serialize, Deserialize)]
struct Section {
    name: String,
    kind: Kind,
    /// Number of elements.
    length: u64,
    offset: u64,
}

macro_rules! arrays {
    ($($put:ident, $get:ident, $type:ty, $kind:ident;)*) => {$(
        /// Stores an array under a name.
        pub fn $put(&mut self, name: &str, values: &[$type]) {
            let mut bytes = Vec::with_capacity(size_of_val(values));
            values.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
            self.arrays.insert(name.to_owned(), Array { kind: Kind::$kind, bytes });
        }

        /// The array of this name and type, to the bit.
        pub fn $get(&self, name: &str) -> Result<Vec<$type>, OutputError> {
            let (cells, _) = self.array(name, Kind::$kind)?.as_chunks::<{ size_of::<$type>() }>();
            Ok(cells.iter().map(|&cell| <$type>::from_le_bytes(cell)).collect())
        }
    )*};
}

impl Checkpoint {
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores anything small that serde can write. Finite floating-point numbers come back to the
    /// bit; JSON has no infinities and no NaN, so those belong into arrays.
    pub fn put_json<T: Serialize>(&mut self, name: &str, value: &T) -> Result<(), OutputError> {
        let value =
            serde_json::to_value(value).map_err(|error| content(name, &error.to_string()))?;
        self.values.insert(name.to_owned(), value);
        Ok(())
    }

    /// The value of this name.
    pub fn get_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, OutputError> {
        let value = self.values.get(name).ok_or_else(|| content(name, "is missing"))?;
        T::deserialize(value).map_err(|error| content(name, &format!("cannot be read: {error}")))
    }

    arrays! {
        put_u8, get_u8, u8, U8;
        put_i32, get_i32, i32, I32;
        put_u64, get_u64, u64, U64;
        put_f64, get_f64, f64, F64;
    }

    /// Whether there is a value or an array of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.values.contains_key(name) || self.arrays.contains_key(name)
    }

    /// Puts all of another one under names that begin with `name/`.
    pub fn put_part(&mut self, name: &str, part: Checkpoint) {
        let inside = |inner: String| format!("{name}/{inner}");
        self.values.extend(part.values.into_iter().map(|(inner, value)| (inside(inner), value)));
        self.arrays.extend(part.arrays.into_iter().map(|(inner, array)| (inside(inner), array)));
    }

    /// What [`put_part`](Self::put_part) has put there; empty if there is nothing.
    pub fn part(&self, name: &str) -> Checkpoint {
        let start = format!("{name}/");
        fn inside<T: Clone>(all: &BTreeMap<String, T>, start: &str) -> BTreeMap<String, T> {
            all.range(start.to_owned()..)
                .map_while(|(name, value)| Some((name.strip_prefix(start)?.to_owned(), value)))
                .map(|(name, value)| (name, value.clone()))
                .collect()
        }
        Checkpoint { values: inside(&self.values, &start), arrays: inside(&self.arrays, &start) }
    }

    fn array(&self, name: &str, kind: Kind) -> Result<&[u8], OutputError> {
        let array = self.arrays.get(name).ok_or_else(|| content(name, "is missing"))?;
        if array.kind != kind {
            return Err(content(name, &format!("is of type {:?}, not {kind:?}", array.kind)));
        }
        Ok(&array.bytes)
    }

    /// Writes `directory/checkpoint-STEP.scp`, durable when this returns, and removes others: the
    /// newest of earlier steps stays, older ones go, and so do those of later steps, which a run
    /// leaves behind that is resumed from an earlier one, and what a killed process had not finished.
    pub fn write(&self, directory: &Path, step: u64) -> Result<PathBuf, OutputError> {
        let path = checkpoint_path(directory, step);
        for (_, path) in files_in(directory, ".scp.partial")? {
            fs::remove_file(&path).map_err(|error| OutputError::io(&path, "remove", error))?;
        }
        self.write_as(&path)?;
        let others = checkpoints_in(directory)?;
        let (later, earlier): (Vec<_>, Vec<_>) = others
            .into_iter()
            .filter(|&(other, _)| other != step)
            .partition(|&(other, _)| other > step);
        for (_, path) in later.iter().chain(earlier.iter().skip(KEPT - 1)) {
            fs::remove_file(path).map_err(|error| OutputError::io(path, "remove", error))?;
        }
        Ok(path)
    }

    /// Writes a file of any name, durable when this returns, and touches no other.
    pub fn write_as(&self, path: &Path) -> Result<(), OutputError> {
        let partial = partial_path(path);
        let written = self
            .write_to(&partial)
            .map_err(|error| OutputError::io(path, "write", error))
            .and_then(|()| publish(&partial, path));
        if written.is_err() {
            let _ = fs::remove_file(&partial);
        }
        written
    }

    fn write_to(&self, path: &Path) -> io::Result<()> {
        let mut offset = 0;
        let arrays = self.arrays.iter().map(|(name, array)| {
            let length = (array.bytes.len() / array.kind.size()) as u64;
            let section = Section { name: name.clone(), kind: array.kind, length, offset };
            offset += array.bytes.len().next_multiple_of(8) as u64;
            section
        });
        let header = Header { arrays: arrays.collect(), values: self.values.clone() };
        let mut header = serde_json::to_vec(&header)?;
        header.resize(header.len().next_multiple_of(8), b' ');
        let header_length = u32::try_from(header.len()).map_err(io::Error::other)?;
        let file_length = (FIXED_LENGTH + header.len() + HASH_LENGTH) as u64 + offset;

        let mut file =
            Hashed { file: BufWriter::new(File::create(path)?), hash: blake3::Hasher::new() };
        file.write(&MAGIC)?;
        file.write(&VERSION.to_le_bytes())?;
        file.write(&header_length.to_le_bytes())?;
        file.write(&file_length.to_le_bytes())?;
        file.write(&header)?;
        for array in self.arrays.values() {
            file.write(&array.bytes)?;
            let filling = array.bytes.len().next_multiple_of(8) - array.bytes.len();
            file.write(&[0; 8][..filling])?;
        }
        let hash = file.hash.finalize();
        file.file.write_all(hash.as_bytes())?;
        file.file.flush()
    }

    /// Reads and verifies a checkpoint.
    ///
    /// # Errors
    /// [`OutputError::CheckpointUnreadable`], [`OutputError::NotACheckpoint`], [`OutputError::CheckpointVersion`],
    /// [`OutputError::CheckpointCutShort`] or [`OutputError::CheckpointDamaged`].
    pub fn read(path: &Path) -> Result<Self, OutputError> {
        let bytes = fs::read(path).map_err(|source| {
            let path = path.to_owned();
            OutputError::CheckpointUnreadable { path, source }
        })?;
        Self::from_bytes(path, &bytes)
    }

    /// The same of the bytes of a file.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self, OutputError> {
        let body = verified(path, bytes)?;
        let damaged =
            |reason: String| OutputError::CheckpointDamaged { path: path.to_owned(), reason };
        let header_end = u32::from_le_bytes(array_at(bytes, 12)) as usize + FIXED_LENGTH;
        let header = body.get(FIXED_LENGTH..header_end);
        let header = header.ok_or_else(|| damaged("its header is too long".into()))?;
        let header: Header = serde_json::from_slice(header)
            .map_err(|error| damaged(format!("its header cannot be read: {error}")))?;
        let arrays = header.arrays.into_iter().map(|section| {
            let bytes = section
                .range(header_end)
                .and_then(|range| body.get(range))
                .ok_or_else(|| damaged(format!("`{}` lies outside", section.name)))?;
            Ok((section.name, Array { kind: section.kind, bytes: bytes.to_vec() }))
        });
        Ok(Checkpoint {
            values: header.values,
            arrays: arrays.collect::<Result<_, OutputError>>()?,
        })
    }
}

impl Section {
    /// Bytes of the file; `None` when that overflows.
    fn range(&self, header_end: usize) -> Option<Range<usize>> {
        let start = header_end.checked_add(usize::try_from(self.offset).ok()?)?;
        let bytes = usize::try_from(self.length).ok()?.checked_mul(self.kind.size())?;
        Some(start..start.checked_add(bytes)?)
    }
}

/// Everything before the hash, once magic, version, length and hash are right.
fn verified<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a [u8], OutputError> {
    let path = path.to_owned();
    let magic = &bytes[..bytes.len().min(MAGIC.len())];
    if magic.is_empty() || !MAGIC.starts_with(magic) {
        return Err(OutputError::NotACheckpoint { path });
    }
    let found = bytes.len() as u64;
    let smallest = FIXED_LENGTH + HASH_LENGTH;
    if bytes.len() < smallest {
        return Err(OutputError::CheckpointCutShort { path, found, expected: smallest as u64 });
    }
    let version = u32::from_le_bytes(array_at(bytes, 8));
    if version != VERSION {
        return Err(OutputError::CheckpointVersion { path, found: version, expected: VERSION });
    }
    let expected = u64::from_le_bytes(array_at(bytes, 16));
    if found < expected {
        return Err(OutputError::CheckpointCutShort { path, found, expected });
    }
    if found > expected {
        let reason = format!("it has {found} bytes instead of {expected}");
        return Err(OutputError::CheckpointDamaged { path, reason });
    }
    let (body, hash) = bytes.split_at(bytes.len() - HASH_LENGTH);
    if blake3::hash(body).as_bytes() != hash {
        let reason = "its content does not have the hash it states".to_owned();
        return Err(OutputError::CheckpointDamaged { path, reason });
    }
    Ok(body)
}

fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[offset + i])
}

fn content(name: &str, reason: &str) -> OutputError {
    OutputError::CheckpointContent { name: name.to_owned(), reason: reason.to_owned() }
}

struct Hashed {
    file: BufWriter<File>,
    hash: blake3::Hasher,
}

impl Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.file.write_all(bytes)
    }
}

/// Name of the checkpoint after `step` steps of the run.
pub fn checkpoint_path(directory: &Path, step: u64) -> PathBuf {
    directory.join(format!("checkpoint-{step}.scp"))
}

/// Files in a directory that are named as checkpoints, with their steps, latest first.
pub fn checkpoints_in(directory: &Path) -> Result<Vec<(u64, PathBuf)>, OutputError> {
    files_in(directory, ".scp")
}

fn files_in(directory: &Path, ending: &str) -> Result<Vec<(u64, PathBuf)>, OutputError> {
    let list = || -> io::Result<Vec<(u64, PathBuf)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if let Some(step) = entry.file_name().to_str().and_then(|name| step_of(name, ending)) {
                found.push((step, entry.path()));
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        Ok(found)
    };
    list().map_err(|error| OutputError::io(directory, "list", error))
}

fn step_of(name: &str, ending: &str) -> Option<u64> {
    name.strip_prefix("checkpoint-")?.strip_suffix(ending)?.parse().ok()
}

/// A checkpoint that cannot be used, and why.
#[derive(Debug)]
pub struct RefusedCheckpoint {
    pub path: PathBuf,
    pub reason: OutputError,
}

/// What [`latest_valid`] finds.
#[derive(Debug)]
pub struct Found {
    /// Step, file and content of the latest valid checkpoint.
    pub checkpoint: Option<(u64, PathBuf, Checkpoint)>,
    /// Later ones that are damaged.
    pub refused: Vec<RefusedCheckpoint>,
}

/// The latest checkpoint in a directory that is whole.
pub fn latest_valid(directory: &Path) -> Result<Found, OutputError> {
    let mut refused = Vec::new();
    for (step, path) in checkpoints_in(directory)? {
        match Checkpoint::read(&path) {
            Ok(checkpoint) => {
                return Ok(Found { checkpoint: Some((step, path, checkpoint)), refused });
            }
            Err(reason) => refused.push(RefusedCheckpoint { path, reason }),
        }
    }
    Ok(Found { checkpoint: None, refused })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Checkpoint {
        let mut checkpoint = Checkpoint::new();
        checkpoint.put_json("stage", &"production").unwrap();
        checkpoint.put_json("sum", &[0.1 + 0.2, -0.0, f64::MIN_POSITIVE, 1e300]).unwrap();
        checkpoint.put_u64("positions", &[0, 1, u64::MAX, 1 << 63]);
        checkpoint.put_i32("image", &[-1, 0, i32::MIN]);
        checkpoint.put_f64("velocities", &[f64::NAN, -0.0, f64::INFINITY, 1.0 / 3.0]);
        checkpoint.put_u8("species", &[0, 1, 2, 3, 255]);
        checkpoint.put_u8("empty", &[]);
        checkpoint
    }

    fn written() -> (tempfile::TempDir, PathBuf, Vec<u8>) {
        let directory = tempfile::tempdir().unwrap();
        let path = example().write(directory.path(), 7).unwrap();
        let bytes = fs::read(&path).unwrap();
        (directory, path, bytes)
    }

    #[test]
    fn every_bit_comes_back() {
        let (_directory, path, _) = written();
        let read = Checkpoint::read(&path).unwrap();
        assert_eq!(read.get_json::<String>("stage").unwrap(), "production");
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        let expected = bits(vec![0.1 + 0.2, -0.0, f64::MIN_POSITIVE, 1e300]);
        assert_eq!(bits(read.get_json("sum").unwrap()), expected);
        assert_eq!(read.get_u64("positions").unwrap(), [0, 1, u64::MAX, 1 << 63]);
        assert_eq!(read.get_i32("image").unwrap(), [-1, 0, i32::MIN]);
        let expected = bits(vec![f64::NAN, -0.0, f64::INFINITY, 1.0 / 3.0]);
        assert_eq!(bits(read.get_f64("velocities").unwrap()), expected);
        assert_eq!(read.get_u8("species").unwrap(), [0, 1, 2, 3, 255]);
        assert!(read.get_u8("empty").unwrap().is_empty());
    }

    #[test]
    fn a_missing_name_or_another_type_is_an_error_that_names_it() {
        let example = example();
        assert!(example.get_f64("forces").unwrap_err().to_string().contains("`forces` is missing"));
        let error = example.get_f64("positions").unwrap_err().to_string();
        assert!(error.contains("`positions` is of type U64, not F64"), "{error}");
        assert!(example.get_json::<f64>("stage").is_err());
    }

    #[test]
    fn no_flipped_bit_is_accepted() {
        let (_directory, path, bytes) = written();
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1 << (position % 8);
            fs::write(&path, &damaged).unwrap();
            assert!(Checkpoint::read(&path).is_err(), "byte {position}");
        }
    }

    #[test]
    fn no_shortened_file_is_accepted() {
        let (_directory, path, bytes) = written();
        for length in 0..bytes.len() {
            fs::write(&path, &bytes[..length]).unwrap();
            match Checkpoint::read(&path).unwrap_err() {
                OutputError::CheckpointCutShort { found, .. } => assert_eq!(found, length as u64),
                OutputError::NotACheckpoint { .. } => assert_eq!(length, 0),
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn lengths_in_a_header_are_not_believed() {
        let (_directory, path, mut bytes) = written();
        // A huge header and a right hash over it: still refused, and nothing of that size is made.
        bytes[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        let end = bytes.len() - HASH_LENGTH;
        let hash = blake3::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(hash.as_bytes());
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(Checkpoint::read(&path), Err(OutputError::CheckpointDamaged { .. })));
    }

    #[test]
    fn a_section_that_lies_outside_is_refused() {
        for (length, offset) in [(u64::MAX, 0), (1 << 40, 0), (1, u64::MAX), (1, 1 << 40)] {
            let section = Section { name: "x".into(), kind: Kind::F64, length, offset };
            let range = section.range(100);
            assert!(range.is_none_or(|range| vec![0_u8; 1000].get(range).is_none()));
        }
    }

    #[test]
    fn another_version_says_so() {
        let (_directory, path, mut bytes) = written();
        bytes[8] = 9;
        fs::write(&path, &bytes).unwrap();
        let error = Checkpoint::read(&path).unwrap_err().to_string();
        assert!(error.contains("format version 9; this program reads version 3"), "{error}");
    }

    #[test]
    fn the_last_two_stay() {
        let directory = tempfile::tempdir().unwrap();
        let steps = || -> Vec<u64> {
            checkpoints_in(directory.path()).unwrap().into_iter().map(|(step, _)| step).collect()
        };
        for step in [5, 90, 100, 1000] {
            example().write(directory.path(), step).unwrap();
        }
        assert_eq!(steps(), [1000, 100]);
        // Resumed from 100: the checkpoint at 1000 is of a future that is computed again.
        fs::write(directory.path().join("checkpoint-900.scp.partial"), "of a killed process")
            .unwrap();
        example().write(directory.path(), 500).unwrap();
        assert_eq!(steps(), [500, 100]);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "no temporary file stays");
    }

    #[test]
    fn the_latest_valid_one_is_found_and_the_damaged_one_named() {
        let directory = tempfile::tempdir().unwrap();
        assert!(latest_valid(directory.path()).unwrap().checkpoint.is_none());
        example().write(directory.path(), 1).unwrap();
        let later = example().write(directory.path(), 2).unwrap();
        let mut bytes = fs::read(&later).unwrap();
        bytes.pop();
        fs::write(&later, &bytes).unwrap();
        let found = latest_valid(directory.path()).unwrap();
        assert_eq!(found.checkpoint.unwrap().0, 1);
        assert_eq!(found.refused.len(), 1);
        assert_eq!(found.refused[0].path, later);
        assert!(found.refused[0].reason.to_string().contains("cut short"));
    }
}
