//! GSD's file layer 2.0, as documented by its authors (gsd.readthedocs.io, "File layer").
//!
//! A header of 256 bytes points to a list of names and to an index; each entry of the index points
//! to an array of one frame. Arrays are appended to the file, then their entries to the index; an
//! index that is full is copied to the end with twice the room.
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::super::OutputError;
use super::super::durable::{is_named, publish_bytes};
use super::super::error::foreign;

const MAGIC: u64 = 0x65DF_65DF_65DF_65DF;
const FILE_LAYER_VERSION: u32 = 2 << 16;
/// Of the schema "hoomd".
const SCHEMA_VERSION: u32 = 1 << 16 | 4;
const HEADER_LENGTH: u64 = 256;
/// Unit in which the length of the name list is counted.
const NAME_LENGTH: usize = 64;
const NAMES_LENGTH: usize = 8 * NAME_LENGTH;
const ENTRY_LENGTH: u64 = 32;
const FIRST_INDEX_ENTRIES: u64 = 128;

/// Names of the arrays; the place in this list is the id in the index. The last two are ours, and
/// other readers pass over them.
const NAMES: [&str; 13] = [
    "configuration/step",
    "configuration/box",
    "configuration/dimensions",
    "particles/N",
    "particles/types",
    "particles/typeid",
    "particles/mass",
    "particles/diameter",
    "particles/position",
    "particles/velocity",
    "particles/image",
    "supercool/toml",
    "supercool/plan",
];

/// A file that frames are appended to.
pub struct GsdFile {
    path: PathBuf,
    file: File,
    frames: u64,
    index: Index,
    /// Where the next array goes.
    end: u64,
}

/// Where the index stands and how full it is, in entries.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Index {
    location: u64,
    allocated: u64,
    used: u64,
}

/// One array of a frame.
#[derive(PartialEq)]
pub struct Chunk {
    id: u16,
    kind: u8,
    rows: u64,
    columns: u32,
    bytes: Vec<u8>,
}

/// One line of the index.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    frame: u64,
    rows: u64,
    location: u64,
    columns: u32,
    id: u16,
    kind: u8,
}

/// Numbers that GSD stores, with its number for their type.
pub trait Number: Copy {
    const KIND: u8;
    fn bytes(self) -> impl IntoIterator<Item = u8>;
}

macro_rules! numbers {
    ($($type:ty = $kind:literal),*) => {$(
        impl Number for $type {
            const KIND: u8 = $kind;
            fn bytes(self) -> impl IntoIterator<Item = u8> {
                self.to_le_bytes()
            }
        }
    )*};
}

numbers!(u8 = 1, u32 = 3, u64 = 4, i8 = 5, i32 = 7, f32 = 9);

/// Bytes of an element of a type.
fn kind_size(kind: u8) -> Option<u64> {
    match kind {
        1 | 5 | 11 => Some(1),
        2 | 6 => Some(2),
        3 | 7 | 9 => Some(4),
        4 | 8 | 10 => Some(8),
        _ => None,
    }
}

impl Chunk {
    pub fn new<T: Number>(name: &str, columns: usize, values: &[T]) -> Self {
        let id = NAMES.iter().position(|&known| known == name).expect("a known name");
        Chunk {
            id: id as u16,
            kind: T::KIND,
            rows: (values.len() / columns) as u64,
            columns: columns as u32,
            bytes: values.iter().flat_map(|value| value.bytes()).collect(),
        }
    }
}

impl Entry {
    fn to_bytes(self) -> [u8; ENTRY_LENGTH as usize] {
        let mut bytes = [0; ENTRY_LENGTH as usize];
        bytes[..8].copy_from_slice(&self.frame.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.rows.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.location.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.columns.to_le_bytes());
        bytes[28..30].copy_from_slice(&self.id.to_le_bytes());
        bytes[30] = self.kind;
        bytes
    }

    fn from_bytes(bytes: &[u8; ENTRY_LENGTH as usize]) -> Self {
        let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        Entry {
            frame: u64_at(0),
            rows: u64_at(8),
            location: u64_at(16),
            columns: u32::from_le_bytes(std::array::from_fn(|i| bytes[24 + i])),
            id: u16::from_le_bytes([bytes[28], bytes[29]]),
            kind: bytes[30],
        }
    }

    /// First byte after the array; `None` for an entry that makes no sense.
    fn end(self) -> Option<u64> {
        let elements = self.rows.checked_mul(u64::from(self.columns))?;
        self.location.checked_add(elements.checked_mul(kind_size(self.kind)?)?)
    }
}

/// A file as a writer has left it.
struct Found {
    file: File,
    index: Index,
    entries: Vec<Entry>,
    length: u64,
}

impl Index {
    /// First byte after it; `None` for an index that makes no sense.
    fn end(&self) -> Option<u64> {
        self.allocated.checked_mul(ENTRY_LENGTH)?.checked_add(self.location)
    }
}

impl Found {
    fn read(path: &Path, creator: &str, frames: u64) -> Result<Self, OutputError> {
        let io = |error| OutputError::io(path, "continue", error);
        let file = match File::options().read(true).write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(foreign(path, "it is missing"));
            }
            opened => opened.map_err(io)?,
        };
        let length = file.metadata().map_err(io)?.len();
        let mut header = [0; HEADER_LENGTH as usize];
        let start = file.read_exact_at(&mut header, 0);
        let index = start
            .ok()
            .and_then(|()| index_of(&header, creator))
            .ok_or_else(|| foreign(path, "it is not a GSD file made by supercool"))?;
        let index_end = index.end().filter(|&end| end <= length);
        let index_end = index_end.ok_or_else(|| foreign(path, "its index is damaged"))?;

        let mut bytes = vec![0; (index_end - index.location) as usize];
        file.read_exact_at(&mut bytes, index.location).map_err(io)?;
        let (lines, _) = bytes.as_chunks();
        let entries: Vec<Entry> =
            lines.iter().map(Entry::from_bytes).take_while(|entry| entry.location != 0).collect();
        let found = entries.last().map_or(0, |entry| entry.frame + 1);
        if found < frames {
            let path = path.to_owned();
            return Err(OutputError::TooShort { path, what: "frames", found, expected: frames });
        }
        Ok(Found { file, index, entries, length })
    }
}

impl GsdFile {
    /// `creator`: name and version of the program that writes it.
    ///
    /// # Errors
    /// [`OutputError::Exists`] for an existing file; see [`OutputError`] for the others.
    pub fn create(path: &Path, creator: &str) -> Result<Self, OutputError> {
        if path.exists() {
            return Err(OutputError::Exists { path: path.to_owned() });
        }
        let names = HEADER_LENGTH;
        let index = Index {
            location: names + NAMES_LENGTH as u64,
            allocated: FIRST_INDEX_ENTRIES,
            used: 0,
        };
        let end = index.location + index.allocated * ENTRY_LENGTH;
        let mut bytes = header(index, creator);
        bytes.resize(end as usize, 0);
        let list = NAMES.join("\0");
        assert!(list.len() < NAMES_LENGTH, "the names fit into their list");
        bytes[names as usize..names as usize + list.len()].copy_from_slice(list.as_bytes());

        publish_bytes(path, &bytes)?;
        Self::open(path, index, 0, end)
    }

    /// Goes on with a file, also one whose writer was killed: keeps the first `frames` frames.
    ///
    /// # Errors
    /// [`OutputError::Foreign`] when `creator` (its name) did not write it, [`OutputError::TooShort`] when it
    /// has fewer frames.
    pub fn reopen(path: &Path, creator: &str, frames: u64) -> Result<Self, OutputError> {
        let Found { file, mut index, entries, length } = Found::read(path, creator, frames)?;
        let io = |error| OutputError::io(path, "continue", error);
        let index_end = index.end().expect("it was checked");
        let kept = entries.partition_point(|entry| entry.frame < frames);
        let mut end = index_end;
        for entry in &entries[..kept] {
            let entry_end = entry.end().filter(|&end| end <= length);
            end = end.max(entry_end.ok_or_else(|| foreign(path, "its index is damaged"))?);
        }
        index.used = kept as u64;
        let behind = index.location + index.used * ENTRY_LENGTH;
        file.write_all_at(&vec![0; (index_end - behind) as usize], behind).map_err(io)?;
        file.set_len(end).map_err(io)?;
        Self::open(path, index, frames, end)
    }

    /// Whether [`reopen`](Self::reopen) would find what it needs.
    ///
    /// # Errors
    /// Those that it would have.
    pub fn check(path: &Path, creator: &str, frames: u64) -> Result<(), OutputError> {
        Found::read(path, creator, frames).map(drop)
    }

    fn open(path: &Path, index: Index, frames: u64, end: u64) -> Result<Self, OutputError> {
        let file = File::options()
            .read(true)
            .write(true)
            .open(path)
            .map_err(|error| OutputError::io(path, "open", error))?;
        Ok(GsdFile { path: path.to_owned(), file, frames, index, end })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Waits until everything is on the disk.
    ///
    /// # Errors
    /// Also if the file is not there any more under its name.
    pub fn sync(&mut self) -> Result<(), OutputError> {
        self.file
            .sync_all()
            .and_then(|()| match is_named(&self.file, &self.path)? {
                true => Ok(()),
                false => Err(io::Error::new(io::ErrorKind::NotFound, "it was replaced")),
            })
            .map_err(|error| OutputError::io(&self.path, "bring to the disk", error))
    }

    /// Adds a frame of these arrays and hands it to the operating system.
    pub fn append(&mut self, mut chunks: Vec<&Chunk>) -> io::Result<()> {
        chunks.sort_by_key(|chunk| chunk.id);
        let mut end = self.end;
        let mut entries = Vec::new();
        for chunk in &chunks {
            let entry = Entry {
                frame: self.frames,
                rows: chunk.rows,
                location: end,
                columns: chunk.columns,
                id: chunk.id,
                kind: chunk.kind,
            };
            self.file.write_all_at(&chunk.bytes, end)?;
            end += chunk.bytes.len() as u64;
            entries.extend(entry.to_bytes());
        }
        let count = chunks.len() as u64;
        let (index, end) = self.index_with_room(count, end)?;
        self.file.write_all_at(&entries, index.location + index.used * ENTRY_LENGTH)?;
        self.index = Index { used: index.used + count, ..index };
        self.end = end;
        self.frames += 1;
        Ok(())
    }

    /// The index, moved to the end of the file when `count` more entries have no room; and the end
    /// then.
    fn index_with_room(&self, count: u64, end: u64) -> io::Result<(Index, u64)> {
        let old = self.index;
        if old.used + count <= old.allocated {
            return Ok((old, end));
        }
        let allocated = 2 * (old.used + count);
        let mut bytes = vec![0; (allocated * ENTRY_LENGTH) as usize];
        let used = &mut bytes[..(old.used * ENTRY_LENGTH) as usize];
        self.file.read_exact_at(used, old.location)?;
        self.file.write_all_at(&bytes, end)?;
        // The header must not point to an index that is not there yet.
        self.file.sync_data()?;
        let index = Index { location: end, allocated, used: old.used };
        self.file.write_all_at(&index_pointer(index), 8)?;
        Ok((index, end + bytes.len() as u64))
    }
}

/// Bytes 8 to 24 of the header.
fn index_pointer(index: Index) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&index.location.to_le_bytes());
    bytes[8..].copy_from_slice(&index.allocated.to_le_bytes());
    bytes
}

fn header(index: Index, creator: &str) -> Vec<u8> {
    let mut bytes = MAGIC.to_le_bytes().to_vec();
    bytes.extend(index_pointer(index));
    bytes.extend(HEADER_LENGTH.to_le_bytes());
    bytes.extend(((NAMES_LENGTH / NAME_LENGTH) as u64).to_le_bytes());
    bytes.extend(SCHEMA_VERSION.to_le_bytes());
    bytes.extend(FILE_LAYER_VERSION.to_le_bytes());
    for text in [creator, "hoomd"] {
        let mut field = [0; 64];
        let length = text.len().min(63);
        field[..length].copy_from_slice(&text.as_bytes()[..length]);
        bytes.extend(field);
    }
    bytes.resize(HEADER_LENGTH as usize, 0);
    bytes
}

/// Where a header says the index is; `None` for a file that [`header`] did not make.
fn index_of(header: &[u8; HEADER_LENGTH as usize], creator: &str) -> Option<Index> {
    let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| header[at + i]));
    let ours = u64_at(0) == MAGIC
        && header[44..48] == FILE_LAYER_VERSION.to_le_bytes()
        && header[48..].starts_with(creator.as_bytes());
    ours.then(|| Index { location: u64_at(8), allocated: u64_at(16), used: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back() {
        let entry =
            Entry { frame: 1 << 40, rows: 3, location: 1 << 50, columns: 7, id: 300, kind: 9 };
        assert_eq!(Entry::from_bytes(&entry.to_bytes()), entry);
        assert_eq!(entry.end(), Some((1 << 50) + 84));
        assert_eq!(Entry { rows: u64::MAX, ..entry }.end(), None);
    }
}
