//! Whether an HDF5 file can be read to its end. What describes its contents has checksums, of which a program notices those
//! that it comes by; the numbers have none, unless they are compressed.
use std::mem::MaybeUninit;
use std::path::Path;

use hdf5::types::TypeDescriptor;
use hdf5::{Container, Dataset, Group, Location, LocationToken, LocationType, h5check};
use hdf5_sys::h5o::{H5O_NATIVE_INFO_ALL, H5O_native_info_t, H5Oget_native_info};

use crate::Result;
use crate::hdf5_file::Hdf5File;

/// Largest datasets, in bytes, that are read. Of larger ones it is the index of their chunks.
const SMALL: u64 = 16 << 20;
/// Groups within each other, at most.
const DEEPEST: usize = 64;
/// Longest string of fixed length that is read.
const LONGEST: usize = 1 << 20;

/// Reads every object, attribute and index of chunks of an HDF5 file, and small datasets that are not compressed; with
/// `compressed` all that are, too.
///
/// # Errors
/// With the first object that cannot be read.
pub fn check_readable(path: &Path, compressed: bool) -> Result<()> {
    let file = Hdf5File::open(path)?;
    let root = file.root.group("/").map_err(file.error("/"))?;
    Reading { file: &file, compressed, seen: Vec::new() }.group(&root)
}

struct Reading<'a> {
    file: &'a Hdf5File,
    compressed: bool,
    /// Of the objects that have several names.
    seen: Vec<LocationToken>,
}

impl Reading<'_> {
    fn group(&mut self, group: &Group) -> Result<()> {
        let at = group.name();
        if at.matches('/').count() > DEEPEST {
            return Err(self.file.bad(format!("{at}: a group lies within itself")));
        }
        self.attributes(group, &at)?;
        for name in group.member_names().map_err(self.file.error(&at))? {
            let at = format!("{}/{name}", at.trim_end_matches('/'));
            let failed = |reason| self.file.error(&at)(reason);
            let info = group.loc_info_by_name(&name).map_err(failed)?;
            if info.num_links > 1 {
                if self.seen.contains(&info.token) {
                    continue;
                }
                self.seen.push(info.token);
            }
            match info.loc_type {
                LocationType::Group => {
                    let group = group.group(&name).map_err(self.file.error(&at))?;
                    self.group(&group)?;
                }
                LocationType::Dataset => {
                    let dataset = group.dataset(&name).map_err(self.file.error(&at))?;
                    self.attributes(&dataset, &at)?;
                    self.dataset(&dataset, &at)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn attributes(&self, of: &Location, at: &str) -> Result<()> {
        let mut sizes = MaybeUninit::<H5O_native_info_t>::uninit();
        // Also what only says how much space is left in it, for which other readers look.
        // SAFETY: an object that is open, and room for what is written.
        hdf5::sync::sync(|| {
            h5check(unsafe { H5Oget_native_info(of.id(), sizes.as_mut_ptr(), H5O_NATIVE_INFO_ALL) })
        })
        .map_err(self.file.error(at))?;
        for name in of.attr_names().map_err(self.file.error(at))? {
            let at = format!("{at}, attribute {name}");
            let attribute = of.attr(&name).map_err(self.file.error(&at))?;
            self.contents(&attribute, &at)?;
        }
        Ok(())
    }

    fn dataset(&self, dataset: &Dataset, at: &str) -> Result<()> {
        let element = dataset.dtype().map_err(self.file.error(at))?.size();
        let bytes = (dataset.size() as u64).saturating_mul(element as u64);
        let is_compressed = !dataset.filters().is_empty();
        if bytes <= SMALL && (self.compressed || !is_compressed) {
            return self.contents(dataset, at);
        }
        let Some(chunk) = dataset.chunk() else { return Ok(()) };
        dataset.chunks_visit(|_| 0).map_err(self.file.error(at))?;
        if self.compressed && is_compressed {
            let rows = dataset.shape()[0];
            for start in (0..rows).step_by(chunk[0].max(1)) {
                self.file.rows(dataset, start..rows.min(start + chunk[0]))?;
            }
        }
        Ok(())
    }

    fn contents(&self, of: &Container, at: &str) -> Result<()> {
        let kind = of.dtype().and_then(|kind| kind.to_descriptor()).map_err(self.file.error(at))?;
        match kind {
            TypeDescriptor::Integer(_) | TypeDescriptor::Unsigned(_) | TypeDescriptor::Float(_) => {
                self.file.numbers(of).map(drop)
            }
            TypeDescriptor::FixedAscii(length) | TypeDescriptor::FixedUnicode(length)
                if length > LONGEST =>
            {
                Ok(())
            }
            _ => self.file.strings(of).map(drop),
        }
    }
}
