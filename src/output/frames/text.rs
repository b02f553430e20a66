//! Text files, written line by line. Numbers have as many digits as it takes to give the same 64 bits back.
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::super::OutputError;

pub struct TextFile {
    path: PathBuf,
    to: BufWriter<File>,
}

impl TextFile {
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let file =
            File::create_new(path).map_err(|error| OutputError::io(path, "create", error))?;
        Ok(TextFile { path: path.to_owned(), to: BufWriter::with_capacity(1 << 18, file) })
    }

    /// Writes a frame.
    pub fn write(
        &mut self,
        frame: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        frame(&mut self.to).map_err(|error| OutputError::io(&self.path, "write a frame", error))
    }

    pub fn finish(&mut self) -> Result<(), OutputError> {
        self.to.flush().map_err(|error| OutputError::io(&self.path, "write a frame", error))
    }
}

/// Writes numbers, each after a space.
pub fn write_reals(to: &mut impl Write, numbers: &[f64]) -> io::Result<()> {
    numbers.iter().try_for_each(|number| write!(to, " {number:?}"))
}

/// The same of integers.
pub fn write_integers(to: &mut impl Write, numbers: &[i32]) -> io::Result<()> {
    numbers.iter().try_for_each(|number| write!(to, " {number}"))
}
