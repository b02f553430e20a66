//! The heaps of HDF5 files in which strings of variable length lie (format specification, III.E): the library reads a
//! damaged one in an endless loop.
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const SIGNATURE: &[u8; 4] = b"GCOL";
/// Of a heap, and of every object in it.
const HEADER: usize = 16;
/// Read at once in search of heaps.
const WINDOW: usize = 1 << 20;

/// Place of the first heap of a file at one of whose objects the library would not get on: one of no length, its
/// header included.
pub(crate) fn endless_heap(path: &Path) -> io::Result<Option<u64>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut window = vec![0; WINDOW.min(length as usize)];
    let mut start = 0;
    loop {
        let wanted = window.len().min((length - start) as usize);
        if wanted < SIGNATURE.len() {
            return Ok(None);
        }
        file.read_exact_at(&mut window[..wanted], start)?;
        let places = window[..wanted].windows(SIGNATURE.len()).enumerate();
        for (place, _) in places.filter(|(_, bytes)| bytes == SIGNATURE) {
            let heap = start + place as u64;
            if is_endless(&file, heap, length)? {
                return Ok(Some(heap));
            }
        }
        if start + wanted as u64 >= length {
            return Ok(None);
        }
        // A signature may lie across the end.
        start += (wanted - (SIGNATURE.len() - 1)) as u64;
    }
}

fn is_endless(file: &File, heap: u64, length: u64) -> io::Result<bool> {
    let mut header = [0; HEADER];
    if heap + HEADER as u64 > length {
        return Ok(false);
    }
    file.read_exact_at(&mut header, heap)?;
    let size = number(&header[8..]);
    // Of another version, or longer than the file: the library refuses it by itself.
    if header[4] != 1 || heap.checked_add(size).is_none_or(|end| end > length) {
        return Ok(false);
    }
    let mut bytes = vec![0; size as usize];
    file.read_exact_at(&mut bytes, heap)?;
    let mut at = HEADER;
    while at + HEADER <= bytes.len() {
        let index = u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let size = number(&bytes[at + 8..]);
        // As the library counts, overflow included. The size of free space, object 0, includes its header.
        let taken = match index {
            0 => size,
            _ => (size.wrapping_add(7) & !7).wrapping_add(HEADER as u64),
        };
        if taken == 0 {
            return Ok(true);
        }
        match usize::try_from(taken).ok().and_then(|taken| at.checked_add(taken)) {
            Some(next) => at = next,
            None => return Ok(false),
        }
    }
    Ok(false)
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes.get(i).copied().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with a heap of objects `(index, size)`, `before` bytes from its start.
    fn file(before: usize, objects: &[(u16, u64)]) -> tempfile::NamedTempFile {
        let mut bytes = vec![7; before];
        bytes.extend(b"GCOL\x01\0\0\0");
        bytes.extend(4096_u64.to_le_bytes());
        for &(index, size) in objects {
            bytes.extend(index.to_le_bytes());
            bytes.extend([0; 6]);
            bytes.extend(size.to_le_bytes());
            let content = if index == 0 { 0 } else { size.min(100).next_multiple_of(8) };
            bytes.extend(vec![1; content as usize]);
        }
        bytes.resize(before + 4096, 0);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn heaps_that_the_library_would_read_for_ever_are_found() {
        for before in [0, 8, WINDOW - 2, WINDOW, 3 * WINDOW - 5] {
            let found = |objects: &[(u16, u64)]| {
                endless_heap(file(before, objects).path()).unwrap().map(|heap| heap as usize)
            };
            // Two objects, then free space to the end.
            assert_eq!(found(&[(1, 10), (2, 100), (0, 4096 - 16 - 32 - 120)]), None, "{before}");
            assert_eq!(found(&[(1, 10), (0, 0)]), Some(before));
            assert_eq!(found(&[(1, u64::MAX - 20)]), Some(before), "it wraps to nothing");
            assert_eq!(found(&[(1, 1 << 40)]), None);
        }
    }
}
