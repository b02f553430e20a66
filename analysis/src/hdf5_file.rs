//! What the HDF5 readers share: opening, numbers as 64-bit floats, strings of any kind, and a bound
//! on what a damaged file can make us allocate.
use std::cell::OnceCell;
use std::ffi::{CString, c_uint};
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use hdf5::file::FileAccess;
use hdf5::h5check;
use hdf5::types::{FixedAscii, FixedUnicode, TypeDescriptor, VarLenAscii, VarLenUnicode};
use hdf5::{Container, Dataset, Group};
use hdf5_sys::h5f::{H5F_ACC_RDONLY, H5F_ACC_SWMR_READ, H5Fopen};
use hdf5_sys::h5p::{H5Pset_file_locking, H5Pset_metadata_read_attempts};

use crate::format::check_is_hdf5;
use crate::global_heap::endless_heap;
use crate::{AnalysisError, Result, cut_off};

/// Zlib compresses by no more than about 1:1032.
const LARGEST_EXPANSION: u64 = 1100;

/// An open HDF5 file.
pub(crate) struct Hdf5File {
    pub path: PathBuf,
    pub root: hdf5::File,
    length: u64,
    /// Whether strings of variable length can be read; not known before the first of them.
    heaps_are_sound: OnceCell<bool>,
}

impl Hdf5File {
    /// Opens for reading; a file that is being written in SWMR mode too.
    pub fn open(path: &Path) -> Result<Self> {
        check_is_hdf5(path)?;
        let length = std::fs::metadata(path).map_err(AnalysisError::io(path))?.len();
        let root = open_as(path, H5F_ACC_RDONLY)
            .or_else(|first| match is_marked_open(path) {
                true => open_as(path, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ),
                false => Err(first),
            })
            .map_err(|reason| match cut_off(&reason.to_string()) {
                Some(cut_off) => AnalysisError::content(path, cut_off),
                None => AnalysisError::Hdf5 { file: path.to_owned(), at: "/".into(), reason },
            })?;
        Ok(Hdf5File { path: path.to_owned(), root, length, heaps_are_sound: OnceCell::new() })
    }

    pub fn bad(&self, what: impl Into<String>) -> AnalysisError {
        AnalysisError::content(&self.path, what)
    }

    pub fn error<'a>(&'a self, at: &'a str) -> impl FnOnce(hdf5::Error) -> AnalysisError + 'a {
        move |reason| AnalysisError::Hdf5 { file: self.path.clone(), at: at.into(), reason }
    }

    /// Refuses to take memory for more numbers than the file can hold.
    pub fn check_size(&self, name: &str, count: usize) -> Result<()> {
        let bytes = (count as u64).saturating_mul(8);
        if bytes > LARGEST_EXPANSION.saturating_mul(self.length) {
            let what = format!("{name} claims {count} numbers, more than the file can hold");
            return Err(self.bad(what));
        }
        Ok(())
    }

    /// Everything in a dataset or attribute, in C order.
    pub fn numbers(&self, from: &Container) -> Result<Vec<f64>> {
        let name = from.name();
        self.check_size(&name, from.size())?;
        from.read_raw::<f64>().map_err(self.error(&name))
    }

    /// As [`Self::numbers`], exact for 64-bit integers.
    pub fn integers(&self, from: &Container) -> Result<Vec<i64>> {
        let name = from.name();
        self.check_size(&name, from.size())?;
        from.read_raw::<i64>().map_err(self.error(&name))
    }

    /// Entry `row` along the first axis, in C order.
    pub fn row(&self, from: &Dataset, row: usize) -> Result<Vec<f64>> {
        self.rows(from, row..row + 1)
    }

    /// Entries along the first axis, in C order.
    pub fn rows(&self, from: &Dataset, rows: Range<usize>) -> Result<Vec<f64>> {
        let name = from.name();
        let shape = from.shape();
        if rows.end > shape.first().copied().unwrap_or(0) {
            return Err(self.bad(format!("{name} has no entry {}", rows.end - 1)));
        }
        self.check_size(
            &name,
            shape[1..].iter().fold(rows.len(), |product: usize, &n| product.saturating_mul(n)),
        )?;
        let read = match shape.len() {
            1 => from.read_slice::<f64, _, ndarray::IxDyn>((rows,)),
            2 => from.read_slice((rows, ..)),
            3 => from.read_slice((rows, .., ..)),
            4 => from.read_slice((rows, .., .., ..)),
            other => return Err(self.bad(format!("{name} has {other} dimensions"))),
        };
        Ok(read.map_err(self.error(&name))?.into_raw_vec_and_offset().0)
    }

    /// Strings of fixed or variable length, ASCII or UTF-8; empty for anything else.
    pub fn strings(&self, from: &Container) -> Result<Vec<String>> {
        let name = from.name();
        self.check_size(&name, from.size())?;
        let Ok(kind) = from.dtype().and_then(|dtype| dtype.to_descriptor()) else {
            return Ok(Vec::new());
        };
        if let TypeDescriptor::VarLenAscii | TypeDescriptor::VarLenUnicode = kind {
            let sound = || endless_heap(&self.path).is_ok_and(|endless| endless.is_none());
            if !self.heaps_are_sound.get_or_init(sound) {
                return Err(self.bad(format!("{name}: the heap of its strings is damaged")));
            }
        }
        macro_rules! read {
            ($kind:ty) => {
                // The bytes of a damaged file need not be UTF-8.
                from.read_raw::<$kind>().map(|all| {
                    all.iter().map(|s| String::from_utf8_lossy(s.as_bytes()).into_owned()).collect()
                })
            };
        }
        if let TypeDescriptor::FixedAscii(length) | TypeDescriptor::FixedUnicode(length) = kind {
            // They are read into cells of the next size below.
            let cell = [64, 1024, 65_536].into_iter().find(|&cell| length <= cell);
            self.check_size(&name, from.size().saturating_mul(cell.unwrap_or(1 << 20) / 8))?;
        }
        macro_rules! fixed {
            ($kind:ident, $length:expr) => {
                match $length {
                    0..=64 => read!($kind<64>),
                    65..=1024 => read!($kind<1024>),
                    1025..=65536 => read!($kind<65536>),
                    65537..=1048576 => read!($kind<1048576>),
                    length => {
                        return Err(self.bad(format!("{name} is a string of {length} bytes")));
                    }
                }
            };
        }
        let strings: hdf5::Result<Vec<String>> = match kind {
            TypeDescriptor::VarLenUnicode => read!(VarLenUnicode),
            TypeDescriptor::VarLenAscii => read!(VarLenAscii),
            TypeDescriptor::FixedAscii(length) => fixed!(FixedAscii, length),
            TypeDescriptor::FixedUnicode(length) => fixed!(FixedUnicode, length),
            _ => Ok(Vec::new()),
        };
        let strings = strings.map_err(self.error(&name))?;
        Ok(strings.into_iter().map(|s| s.trim_end_matches(['\0', ' ']).to_owned()).collect())
    }

    /// A string attribute.
    pub fn text_attribute(&self, of: &hdf5::Location, name: &str) -> Option<String> {
        let attribute = of.attr(name).ok()?;
        self.strings(&attribute).ok()?.into_iter().next()
    }

    /// A dataset holding one string.
    pub fn text(&self, group: &Group, name: &str) -> Option<String> {
        self.strings(&*dataset(group, name)?).ok()?.into_iter().next()
    }
}

/// Opens without a lock: reading must never stop a writer.
fn open_as(path: &Path, flags: c_uint) -> hdf5::Result<hdf5::File> {
    let name = path.to_str().and_then(|name| CString::new(name).ok());
    let name = name.ok_or("the file name is not valid UTF-8")?;
    let access = FileAccess::try_new()?;
    // SAFETY: a valid property list, a name that ends in a zero byte, numbers by value; the
    // identifier that comes back is owned by nobody else.
    hdf5::sync::sync(|| unsafe {
        h5check(H5Pset_file_locking(access.id(), 0, 1))?;
        if flags & H5F_ACC_SWMR_READ != 0 {
            // Waits double from attempt to attempt: the default of 100 hangs on a damaged file.
            h5check(H5Pset_metadata_read_attempts(access.id(), 20))?;
        }
        hdf5::from_id(h5check(H5Fopen(name.as_ptr(), flags, access.id()))?)
    })
}

/// Whether the superblock (version 3, where SWMR exists) says that a writer has the file open.
pub(crate) fn is_marked_open(path: &Path) -> bool {
    let mut start = [0_u8; 12];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start[8] == 3 && start[11] != 0
}

/// A dataset, if there is one of this name.
pub(crate) fn dataset(group: &Group, name: &str) -> Option<Dataset> {
    group.link_exists(name).then(|| group.dataset(name).ok()).flatten()
}

/// A group, if there is one of this name.
pub(crate) fn group(group: &Group, name: &str) -> Option<Group> {
    group.link_exists(name).then(|| group.group(name).ok()).flatten()
}

/// Members of a group in alphabetical order.
pub(crate) fn members(group: &Group) -> Vec<String> {
    let mut names = group.member_names().unwrap_or_default();
    names.sort();
    names
}
