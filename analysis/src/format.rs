//! What a file is, by its first bytes.
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::{AnalysisError, Result};

/// Of a GSD file.
pub(crate) const GSD_MAGIC: u64 = 0x65DF_65DF_65DF_65DF;

/// Formats of trajectories, known by their first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// H5MD.
    Hdf5,
    /// GSD, schema `hoomd`.
    Gsd,
    /// LAMMPS data file.
    LammpsData,
    /// LAMMPS text dump.
    LammpsDump,
    /// Extended XYZ.
    Xyz,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Hdf5 => "an HDF5 file",
            Format::Gsd => "a GSD file",
            Format::LammpsData => "a LAMMPS data file",
            Format::LammpsDump => "a LAMMPS dump",
            Format::Xyz => "an XYZ file",
        }
    }
}

const UNKNOWN: &str = "is of no known format";

/// The format of a file that [`open`](crate::trajectory::open) reads.
pub(crate) fn format_of(path: &Path) -> Result<Format> {
    look_at(path)?.map_err(|what| {
        let known = match what {
            UNKNOWN => {
                "; read are H5MD (HDF5), GSD, XYZ with a box, LAMMPS text dumps and data files"
            }
            _ => "",
        };
        AnalysisError::content(path, format!("{what}{known}"))
    })
}

/// Refuses what is not HDF5, and says what it is.
pub(crate) fn check_is_hdf5(path: &Path) -> Result<()> {
    let what = match look_at(path)? {
        Ok(Format::Hdf5) => return Ok(()),
        Ok(other) => format!("is {}", other.name()),
        Err(what) => what.to_owned(),
    };
    Err(AnalysisError::content(path, format!("{what}; a results file (STAGE.h5) is wanted")))
}

/// The format of a file, or what it is instead.
fn look_at(path: &Path) -> Result<std::result::Result<Format, &'static str>> {
    let mut start = Vec::new();
    if path.is_dir() {
        return Ok(Err("is a folder, not a file"));
    }
    File::open(path)
        .and_then(|file| file.take(4096).read_to_end(&mut start))
        .map_err(AnalysisError::io(path))?;
    // The HDF5 superblock stands at 0, 512, 1024, ...
    let hdf5 = [0, 512, 1024, 2048]
        .iter()
        .any(|&at| start.get(at..).is_some_and(|rest| rest.starts_with(b"\x89HDF\r\n\x1a\n")));
    if hdf5 {
        return Ok(Ok(Format::Hdf5));
    }
    if start.starts_with(&GSD_MAGIC.to_le_bytes()) {
        return Ok(Ok(Format::Gsd));
    }
    let first_line = start.split(|&byte| byte == b'\n').next().unwrap_or(&[]);
    if first_line.starts_with(b"ITEM:") {
        return Ok(Ok(Format::LammpsDump));
    }
    let is_count = std::str::from_utf8(first_line).is_ok_and(|text| {
        !text.trim().is_empty() && text.trim().bytes().all(|b| b.is_ascii_digit())
    });
    if is_count {
        return Ok(Ok(Format::Xyz));
    }
    if has_number_of_atoms(&start) {
        return Ok(Ok(Format::LammpsData));
    }
    let what = if start.is_empty() {
        "is empty"
    } else if start.starts_with(b"\x1f\x8b") || start.starts_with(b"\x28\xb5\x2f\xfd") {
        "is compressed: unpack it first"
    } else if start.starts_with(b"\x89SCP\r\n\x1a\n") {
        "is a checkpoint of supercool"
    } else {
        UNKNOWN
    };
    Ok(Err(what))
}

/// Whether a line after the first is `N atoms`, as in the header of a LAMMPS data file.
fn has_number_of_atoms(start: &[u8]) -> bool {
    start.split(|&byte| byte == b'\n').skip(1).any(|line| {
        let text = String::from_utf8_lossy(line);
        let words: Vec<&str> = text.split('#').next().unwrap_or("").split_whitespace().collect();
        matches!(words[..], [number, "atoms"] if number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}
