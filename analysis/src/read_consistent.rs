//! Reading files that another process is writing to.
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use crate::hdf5_file::is_marked_open;

/// A run writes for a few milliseconds, then leaves the file alone until the next flush.
const PAUSE: Duration = Duration::from_millis(20);
/// Readings of a file that never rests, if none or if some succeed.
const READINGS: u32 = 50;
const ENOUGH: u32 = 3;
/// Reading that takes so long lasts from one flush to the next.
const LONG: Duration = Duration::from_secs(2);
/// File systems tell the time of a change to some milliseconds.
const RECENT: Duration = Duration::from_secs(1);
/// A file that is marked as open but was not changed for so long was left by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(10);

/// What `read` makes of the HDF5 file at `path`; it reads again if the file was being written meanwhile, because it
/// may then have seen one part before and another after the change, or nothing that makes sense.
///
/// Of a file that never rests a success stands after three readings, or after the first one that takes long: rows are only
/// ever added, and what is written anew at each flush is sound, be it of the one or the other. Errors are those of a change until fifty
/// readings have failed, or three or more that together take three times as long.
///
/// # Errors
/// That of `read`.
pub fn read_consistent<T, E>(path: &Path, read: impl Fn() -> Result<T, E>) -> Result<T, E> {
    read_consistent_within(LONG, path, read)
}

fn read_consistent_within<T, E>(
    long: Duration,
    path: &Path,
    read: impl Fn() -> Result<T, E>,
) -> Result<T, E> {
    let start = Instant::now();
    let mut before = state(path);
    let mut outcome = read();
    for readings in 1..READINGS {
        let after = state(path);
        let writing = changed_within(ABANDONED, after) && is_marked_open(path);
        let rested = before == after && !writing;
        let stands = match outcome {
            Ok(_) => rested || readings >= ENOUGH || start.elapsed() >= long,
            Err(_) => {
                (rested && !changed_within(RECENT, after))
                    || (readings >= ENOUGH && start.elapsed() >= long * ENOUGH)
            }
        };
        if stands {
            break;
        }
        sleep(PAUSE);
        before = state(path);
        let again = read();
        if again.is_ok() || outcome.is_err() {
            outcome = again;
        }
    }
    outcome
}

/// Time of the last change, and length.
fn state(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn changed_within(time: Duration, state: Option<(SystemTime, u64)>) -> bool {
    state.is_some_and(|(changed, _)| changed.elapsed().is_ok_and(|age| age < time))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_file_at_rest_is_read_once_and_a_changing_one_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.h5");
        fs::write(&path, "one").unwrap();
        let readings = Cell::new(0);
        let count = || readings.set(readings.get() + 1);
        let read = || {
            count();
            if readings.get() == 1 {
                fs::write(&path, "one two").unwrap();
            }
            fs::read_to_string(&path)
        };
        assert_eq!(read_consistent(&path, read).unwrap(), "one two");
        assert_eq!(readings.replace(0), 2);
        let read = || {
            count();
            Err::<(), u32>(readings.get())
        };
        let old = SystemTime::now() - 2 * RECENT;
        fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        assert_eq!(
            read_consistent(&path, read),
            Err(1),
            "an error of a file that nobody writes stands at once"
        );
        readings.set(0);
        // An error just after a change may be the change's, a success is not given up for an error.
        fs::write(&path, "three").unwrap();
        let read = || {
            count();
            fs::write(&path, "x".repeat(readings.get() as usize)).unwrap();
            if readings.get() == 3 { Ok(3) } else { Err(readings.get()) }
        };
        assert_eq!(read_consistent(&path, read), Ok(3));
        assert_eq!(readings.replace(0), ENOUGH);
        let read = || {
            count();
            fs::write(&path, "x".repeat(readings.get() as usize)).unwrap();
            if readings.get() == 1 { Ok(1) } else { Err(readings.get()) }
        };
        assert_eq!(read_consistent(&path, read), Ok(1));
        assert_eq!(readings.get(), ENOUGH, "a file that never rests is not read for ever");
        // A file that is marked as open is read until it is not, or has been left alone for long.
        fs::write(&path, b"\x89HDF\r\n\x1a\n\x03\x08\x08\x05").unwrap();
        readings.set(0);
        let read = || {
            count();
            if readings.get() == 2 {
                fs::write(&path, b"\x89HDF\r\n\x1a\n\x03\x08\x08\x00").unwrap();
            }
            Ok::<_, u32>(readings.get())
        };
        assert_eq!(read_consistent(&path, read), Ok(3));
        fs::write(&path, b"\x89HDF\r\n\x1a\n\x03\x08\x08\x05").unwrap();
        let old = SystemTime::now() - 2 * ABANDONED;
        fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        readings.set(0);
        let read = || {
            count();
            Err::<(), u32>(readings.get())
        };
        assert_eq!(read_consistent(&path, read), Err(1));
        assert!(read_consistent(Path::new("missing"), || fs::read("missing")).is_err());
    }

    #[test]
    fn reading_that_lasts_from_flush_to_flush_is_not_begun_again_and_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.h5");
        let readings = Cell::new(0);
        let flushed_meanwhile = || {
            readings.set(readings.get() + 1);
            fs::write(&path, "x".repeat(readings.get() as usize)).unwrap();
        };
        let read = || {
            flushed_meanwhile();
            Ok::<_, u32>(readings.get())
        };
        assert_eq!(read_consistent_within(Duration::ZERO, &path, read), Ok(1));
        readings.set(0);
        // An error may be that of the moment.
        let read = || {
            flushed_meanwhile();
            Err::<(), u32>(readings.get())
        };
        assert_eq!(read_consistent_within(Duration::ZERO, &path, read), Err(ENOUGH));
        readings.set(0);
        assert_eq!(read_consistent(&path, read), Err(READINGS));
    }
}
