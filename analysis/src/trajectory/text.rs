//! Lines of a text file with their numbers.
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use crate::{AnalysisError, Result};

/// No line of a trajectory is longer; a binary file without line ends is not read into memory.
const LONGEST_LINE: u64 = 1 << 20;

/// Where a frame begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub offset: u64,
    /// Lines before this place.
    pub line: u64,
}

pub(super) struct Lines<'a> {
    path: &'a Path,
    input: BufReader<File>,
    /// Length of the file in bytes.
    pub length: u64,
    /// After the line read last.
    pub place: Place,
    buffer: Vec<u8>,
}

impl<'a> Lines<'a> {
    pub fn open(path: &'a Path, place: Place) -> Result<Self> {
        let mut file = File::open(path).map_err(AnalysisError::io(path))?;
        let length = file.metadata().map_err(AnalysisError::io(path))?.len();
        file.seek(SeekFrom::Start(place.offset)).map_err(AnalysisError::io(path))?;
        Ok(Lines {
            path,
            input: BufReader::with_capacity(1 << 16, file),
            length,
            place,
            buffer: Vec::new(),
        })
    }

    /// The next line without its end, or `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<&str>> {
        self.buffer.clear();
        let taken = (&mut self.input)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut self.buffer)
            .map_err(AnalysisError::io(self.path))?;
        if taken == 0 {
            return Ok(None);
        }
        self.place = Place { offset: self.place.offset + taken as u64, line: self.place.line + 1 };
        if taken as u64 == LONGEST_LINE {
            return Err(self.error("line longer than a mebibyte: not a text trajectory"));
        }
        let line = self.place.line;
        let text = std::str::from_utf8(&self.buffer)
            .map_err(|_| AnalysisError::line(self.path, line, "not UTF-8 text"))?;
        Ok(Some(text.trim_end_matches(['\n', '\r'])))
    }

    /// The next line; its absence is an error.
    pub fn expect(&mut self, wanted: &str) -> Result<&str> {
        let (path, line) = (self.path, self.place.line);
        self.next()?.ok_or_else(|| {
            AnalysisError::line(
                path,
                line,
                format!("the file ends here, but {wanted} should follow"),
            )
        })
    }

    /// Error at the line read last.
    pub fn error(&self, what: impl Into<String>) -> AnalysisError {
        AnalysisError::line(self.path, self.place.line, what)
    }

    /// Refuses a claimed number of further lines that the file is too short for (each has at least
    /// `bytes` bytes).
    pub fn check_room(&self, lines: u64, bytes: u64) -> Result<()> {
        let left = self.length.saturating_sub(self.place.offset);
        // The last line may lack its end.
        if lines.saturating_mul(bytes) > left.saturating_add(1) {
            let what = format!("{lines} particles claimed, but only {left} bytes follow");
            return Err(self.error(what));
        }
        Ok(())
    }

    /// A number; an error names what it should be.
    pub fn parse<T: std::str::FromStr>(&self, word: &str, name: &str) -> Result<T> {
        word.parse().map_err(|_| self.error(format!("{name}: `{}` is not a number", shorten(word))))
    }
}

/// The beginning of a text, for messages.
pub(super) fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}
