//! Archives of NumPy arrays: a ZIP file that is not compressed, with a member `NAME.npy` for each array, of version 1.0 of its
//! format (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Headers end at multiples of this number of bytes.
const ALIGNMENT: usize = 64;
/// Magic number, version, and the length of the rest.
const PREFIX: usize = 10;
/// Members that are longer have sizes of 64 bits.
const LONGEST_OF_32_BITS: usize = 1 << 31;

/// A number of an array.
pub trait Element: Copy {
    /// Its name in headers.
    const DESCRIPTION: &str;

    fn put(self, to: &mut Vec<u8>);
}

impl Element for f64 {
    const DESCRIPTION: &str = "<f8";

    fn put(self, to: &mut Vec<u8>) {
        to.extend(self.to_le_bytes());
    }
}

impl Element for i64 {
    const DESCRIPTION: &str = "<i8";

    fn put(self, to: &mut Vec<u8>) {
        to.extend(self.to_le_bytes());
    }
}

/// An archive that is being written.
pub struct NpzWriter {
    archive: ZipWriter<BufWriter<File>>,
}

impl NpzWriter {
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(NpzWriter { archive: ZipWriter::new(BufWriter::new(File::create(path)?)) })
    }

    /// Adds an array whose last axis lies together in memory.
    ///
    /// # Panics
    /// If there are not as many values as the shape says.
    pub fn add<T: Element>(&mut self, name: &str, shape: &[usize], values: &[T]) -> io::Result<()> {
        assert_eq!(shape.iter().product::<usize>(), values.len(), "shape of {name}");
        let mut bytes = header(T::DESCRIPTION, shape);
        values.iter().for_each(|value| value.put(&mut bytes));
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(bytes.len() >= LONGEST_OF_32_BITS);
        self.archive.start_file(format!("{name}.npy"), options)?;
        self.archive.write_all(&bytes)
    }

    pub fn finish(self) -> io::Result<()> {
        self.archive.finish()?.flush()
    }
}

fn header(description: &str, shape: &[usize]) -> Vec<u8> {
    let mut axes: String = shape.iter().map(|length| format!("{length}, ")).collect();
    // As Python writes tuples: "()", "(2,)", "(2, 3)".
    axes.truncate(axes.trim_end().len());
    if shape.len() > 1 {
        axes.pop();
    }
    let mut text =
        format!("{{'descr': '{description}', 'fortran_order': False, 'shape': ({axes}), }}");
    let filled = (PREFIX + text.len() + 1).next_multiple_of(ALIGNMENT) - PREFIX;
    text += &" ".repeat(filled - text.len() - 1);
    text.push('\n');
    let length = u16::try_from(text.len()).expect("no array has thousands of axes");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(length.to_le_bytes());
    bytes.extend(text.into_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_aligned_and_name_the_shape() {
        for (shape, tuple) in [
            (&[][..], "()"),
            (&[3], "(3,)"),
            (&[2, 3], "(2, 3)"),
            (&[32, 4096, 3], "(32, 4096, 3)"),
        ] {
            let bytes = header("<f8", shape);
            assert_eq!(bytes.len() % ALIGNMENT, 0);
            let length = u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
            assert_eq!(PREFIX + length, bytes.len());
            let text = std::str::from_utf8(&bytes[PREFIX..]).unwrap();
            let dictionary =
                format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {tuple}, }}");
            assert_eq!(text.trim_end(), dictionary);
            assert!(text.ends_with('\n'));
        }
    }
}
