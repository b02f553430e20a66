//! Opening, changing and closing HDF5 files so that they survive readers, kills and full disks.
use std::ffi::{CStr, CString};
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use hdf5::file::{
    FileAccess, FileAccessBuilder, FileCreate, FileCreateBuilder, FileSpaceStrategy, LibraryVersion,
};
use hdf5::{File, Result, h5check};
use hdf5_sys::h5::hsize_t;
use hdf5_sys::h5f::{
    H5F_ACC_RDONLY, H5F_ACC_RDWR, H5F_ACC_SWMR_WRITE, H5F_ACC_TRUNC, H5Fcreate, H5Fopen,
};
use hdf5_sys::h5i::hid_t;
use hdf5_sys::h5p::{H5Pset, H5Pset_file_locking, H5Pset_metadata_read_attempts};

use supercool_analysis::{AnalysisError, check_readable};

use super::durable::{partial_path, publish};
use super::error::{foreign, is_out_of_space};
use super::h5md::is_ours;
use super::{FullDisk, OutputError};

unsafe extern "C" {
    /// Sets the end of allocated space to at least the end of the file (plus `increment`).
    fn H5Fincrement_filesize(file_id: hid_t, increment: hsize_t) -> std::ffi::c_int;
}

const SIGNATURE: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// Set when a write failed inside HDF5, which then keeps freed objects in its tables and would
/// crash on a later call. Space is reserved before every write, so that this takes a broken disk.
static UNUSABLE: AtomicBool = AtomicBool::new(false);

/// Space beyond the data that an append may take for chunk indices and the rest of pages: some, and a share of the file.
const INDEX_BYTES: u64 = 256 << 10;
const INDEX_SHARE: u64 = 256;

type Outcome = std::result::Result<(), OutputError>;

/// File format of HDF5 1.10, the first with SWMR. Files are not locked: a reader's lock must never
/// stop the run (the run has its own lock on the directory).
fn file_access() -> Result<FileAccess> {
    access_of(FileAccessBuilder::new())
}

fn access_of(mut builder: FileAccessBuilder) -> Result<FileAccess> {
    builder.libver_bounds(LibraryVersion::V110, LibraryVersion::V110);
    let access = builder.finish()?;
    // SAFETY: a valid property list and numbers by value.
    hdf5::sync::sync(|| unsafe {
        h5check(H5Pset_file_locking(access.id(), 0, 1))?;
        // There is no other writer for whom to wait. In SWMR mode the default is 100 attempts, after waits that double: on a
        // damaged file the library would not come back.
        h5check(H5Pset_metadata_read_attempts(access.id(), 1))
    })?;
    Ok(access)
}

/// Metadata in pages of 4 KiB: what is smaller, headers above all, crosses no boundary of a page. A process that is killed
/// within a write has written whole pages of it; a header of which one part is old and the other new could never be read
/// again.
fn file_layout() -> Result<FileCreate> {
    let mut builder = FileCreateBuilder::new();
    builder.file_space_page_size(4096);
    builder.file_space_strategy(FileSpaceStrategy::FreeSpaceManager {
        paged: true,
        persist: false,
        threshold: 1,
    });
    builder.finish()
}

fn set_flag(access: &FileAccess, name: &CStr) -> Result<()> {
    let mut value = true;
    // SAFETY: the property is a C bool, as `value` is; HDF5 copies it.
    hdf5::sync::sync(|| {
        h5check(unsafe { H5Pset(access.id(), name.as_ptr(), (&raw mut value).cast()) })
    })?;
    Ok(())
}

#[derive(Clone, Copy)]
enum Opening {
    Create,
    Append,
    Read,
    Repair,
}

fn open(path: &Path, opening: Opening, access: &FileAccess) -> Result<File> {
    let name = path.to_str().and_then(|name| CString::new(name).ok());
    let name = name.ok_or("the file name is not valid UTF-8")?;
    let layout = file_layout()?;
    // SAFETY: the name ends in a zero byte, the property lists are valid, and the identifier that
    // comes back is owned by nobody else.
    hdf5::sync::sync(|| unsafe {
        let (name, access) = (name.as_ptr(), access.id());
        let id = match opening {
            Opening::Create => H5Fcreate(name, H5F_ACC_TRUNC, layout.id(), access),
            Opening::Append => H5Fopen(name, H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE, access),
            Opening::Read => H5Fopen(name, H5F_ACC_RDONLY, access),
            Opening::Repair => H5Fopen(name, H5F_ACC_RDWR, access),
        };
        hdf5::from_id(h5check(id)?)
    })
}

/// Changes an open file and closes it. After a failure HDF5 is not called any more.
fn change_and_close(
    path: &Path,
    doing: &str,
    file: File,
    change: impl FnOnce(&File) -> Outcome,
) -> Outcome {
    match change(&file) {
        Ok(()) => file.close().map_err(|error| OutputError::hdf5(path, doing, error)),
        // The file was only read.
        Err(
            error @ (OutputError::Foreign { .. }
            | OutputError::TooShort { .. }
            | OutputError::Damaged { .. }),
        ) => return Err(error),
        Err(error) => {
            std::mem::forget(file);
            Err(error)
        }
    }
    .inspect_err(|_| UNUSABLE.store(true, Ordering::Relaxed))
}

fn check_usable(path: &Path, doing: &str) -> Outcome {
    if UNUSABLE.load(Ordering::Relaxed) {
        let reason = "an earlier write failed, after which HDF5 cannot be used in this process";
        let (path, doing, reason) = (path.to_owned(), doing.to_owned(), reason.to_owned());
        return Err(OutputError::Hdf5 { path, doing, reason });
    }
    Ok(())
}

/// Makes a new file: under its own name it is there complete or not at all.
///
/// It is built in memory, where no write can fail: once to learn how long it gets and that the disk has room for it, then to
/// be written in one piece when it is closed, which tells if that fails.
pub(super) fn create(path: &Path, build: impl Fn(&File) -> Result<()>) -> Outcome {
    if path.exists() {
        return Err(OutputError::Exists { path: path.to_owned() });
    }
    check_usable(path, "create")?;
    let partial = partial_path(path);
    let built = |written: bool| -> std::result::Result<u64, OutputError> {
        let hdf5 = |error| OutputError::hdf5(path, "create", error);
        let file = in_memory(&partial, written).map_err(hdf5)?;
        let mut length = 0;
        change_and_close(path, "create", file, |file| {
            build(file).and_then(|()| if written { Ok(()) } else { file.flush() }).map_err(hdf5)?;
            length = file.size();
            Ok(())
        })?;
        Ok(length)
    };
    let length = built(false)?;
    let created = fs::File::create(&partial)
        .and_then(|_| reserve(&partial, length))
        .map_err(|error| OutputError::io(path, "create", error))
        .and_then(|()| built(true))
        .and_then(|_| publish(&partial, path));
    if created.is_err() {
        let _ = fs::remove_file(&partial);
    }
    created
}

/// A new file in memory, which is `written` to the disk when it is closed.
fn in_memory(path: &Path, written: bool) -> Result<File> {
    let mut builder = FileAccessBuilder::new();
    builder.core_options(1 << 14, written);
    open(path, Opening::Create, &access_of(builder)?)
}

/// Opens in SWMR mode, writes, closes. What is written is to be flushed, dataset by dataset: errors met when a dataset is
/// closed are lost. The file grows by not much more than `bytes`. No object may
/// be created, no dataset may shrink.
pub(super) fn append(
    path: &Path,
    doing: &str,
    bytes: u64,
    full_disk: &FullDisk,
    write: impl FnOnce(&File) -> Result<()>,
) -> Outcome {
    check_usable(path, doing)?;
    full_disk.for_io(path, doing, || reserve(path, bytes))?;
    let hdf5 = |error| OutputError::hdf5(path, doing, error);
    let file =
        file_access().and_then(|access| open(path, Opening::Append, &access)).map_err(hdf5)?;
    change_and_close(path, doing, file, |file| write(file).map_err(hdf5))
}

/// Takes disk space for what comes before HDF5 starts to write: HDF5 does not survive a full disk.
/// On closing, HDF5 gives back what is left.
fn reserve(path: &Path, bytes: u64) -> io::Result<()> {
    let file = fs::File::options().write(true).open(path)?;
    let length = file.metadata()?.len();
    let bytes = bytes + INDEX_BYTES + length / INDEX_SHARE;
    match fs4::FileExt::allocate(&file, length + bytes) {
        Ok(()) => Ok(()),
        Err(error) if is_out_of_space(&error) => {
            file.set_len(length)?;
            Err(error)
        }
        // Not every file system can reserve.
        Err(_) => match fs4::available_space(path) {
            Ok(available) if available < bytes => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        },
    }
}

/// Makes a file fit for continuing, whether or not a killed process had left it open. `check` says of the open file
/// whether `change` has anything to do.
///
/// A process killed within [`append`] leaves two marks in the superblock, because of which HDF5
/// refuses to open for writing; they are cleared as the tool `h5clear` does. Such a process may
/// have written beyond the end that the superblock states, so the stated end is moved after it.
///
/// Without SWMR a process that is killed within a change leaves a file that nobody can read. So a copy is changed,
/// which then takes the file's place; only if the disk has no room for it the file itself is.
pub(super) fn repair(
    path: &Path,
    mut check: impl FnMut(&File) -> std::result::Result<bool, OutputError>,
    change: impl FnOnce(&File) -> Result<()>,
) -> Outcome {
    const DOING: &str = "continue";
    check_usable(path, DOING)?;
    let hdf5 = |error| OutputError::hdf5(path, DOING, error);
    let mut check_ours = |file: &File| match is_ours(file) {
        true => check(file),
        false => Err(foreign(path, "it is not an H5MD file made by supercool")),
    };
    let interrupted = was_interrupted(path)?;
    if !interrupted {
        let file = file_access().and_then(|access| open(path, Opening::Read, &access));
        let file = file.map_err(|error| unreadable(path, error))?;
        if !check_ours(&file)? {
            return Ok(());
        }
    }
    let copy = partial_path(path);
    let copied = fs::copy(path, &copy).is_ok();
    if !copied {
        let _ = fs::remove_file(&copy);
    }
    let changed = if copied { &copy } else { path };
    let open = || -> Result<File> {
        let access = file_access()?;
        if interrupted {
            set_flag(&access, c"clear_status_flags")?;
            set_flag(&access, c"skip_eof_check")?;
        }
        let file = open(changed, Opening::Repair, &access)?;
        if interrupted {
            // SAFETY: a valid file identifier and a number.
            hdf5::sync::sync(|| h5check(unsafe { H5Fincrement_filesize(file.id(), 0) }))?;
        }
        Ok(file)
    };
    let changed_as_stated = |file: File| {
        change_and_close(path, DOING, file, |file| match check_ours(file)? {
            true => change(file).and_then(|()| file.flush()).map_err(hdf5),
            false => Ok(()),
        })
    };
    let opened = open().map_err(|error| unreadable(path, error));
    let repaired = opened.and_then(changed_as_stated);
    // One that a killed process had open was not looked at as a whole before.
    let repaired = repaired.and_then(|()| match interrupted {
        true => check_whole(changed, path),
        false => Ok(()),
    });
    if !copied {
        return repaired;
    }
    let repaired = repaired.and_then(|()| publish(&copy, path));
    if repaired.is_err() {
        let _ = fs::remove_file(&copy);
    }
    repaired
}

/// Looks at a file before it is changed. One that a killed process had open can only be read as a whole when it is repaired.
///
/// # Errors
/// [`OutputError::Foreign`] if there is no file, or it does not begin as one of ours; [`OutputError::Damaged`] if a part of
/// it cannot be read.
pub fn check_hdf5(path: &Path) -> Outcome {
    if was_interrupted(path)? { Ok(()) } else { check_whole(path, path) }
}

/// Reads a file as a whole; errors call it `path`.
fn check_whole(file: &Path, path: &Path) -> Outcome {
    let opened = file_access().and_then(|access| open(file, Opening::Read, &access));
    opened.and_then(File::close).map_err(|error| unreadable(path, error))?;
    check_readable(file, true).map_err(|error| {
        let path = path.to_owned();
        let reason = match error {
            AnalysisError::Io { reason, .. } => return OutputError::io(&path, "read", reason),
            AnalysisError::Hdf5 { at, reason, .. } => format!("{at} cannot be read: {reason}"),
            AnalysisError::Content { what, .. } => what,
            error => error.to_string(),
        };
        OutputError::Damaged { path, reason }
    })
}

/// What the library's refusal to read one of our files means, unless the system or the start of the file explain it.
pub(super) fn unreadable(path: &Path, error: hdf5::Error) -> OutputError {
    match OutputError::hdf5(path, "read", error) {
        OutputError::Hdf5 { path, reason, .. } => OutputError::Damaged { path, reason },
        error => error,
    }
}

/// Whether the superblock says that the file is open for writing.
fn was_interrupted(path: &Path) -> std::result::Result<bool, OutputError> {
    let mut start = [0; 12];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).or_else(|error| {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Ok(()),
            io::ErrorKind::NotFound => Err(foreign(path, "it is missing")),
            _ => Err(OutputError::io(path, "read", error)),
        }
    })?;
    if &start[..8] != SIGNATURE {
        return Err(foreign(path, "it is not an HDF5 file"));
    }
    // Byte 8 is the version of the superblock, 3 with SWMR; byte 11 the marks.
    if start[8] != 3 {
        return Err(foreign(path, "it is an HDF5 file that supercool did not write"));
    }
    Ok(start[11] != 0)
}

#[cfg(test)]
mod tests {
    use super::super::h5md::{create_rows, write_rows};
    use super::*;
    use std::process::Command;

    const CHILD: &str = "SUPERCOOL_TEST_CHILD_FAILS_TO_WRITE";

    /// In a process of its own, because HDF5 is not usable there any more.
    #[test]
    fn after_a_failed_write_errors_come_back_and_nothing_crashes() {
        if std::env::var_os(CHILD).is_none() {
            let name = "output::hdf5_file::tests::after_a_failed_write_errors_come_back_and_nothing_crashes";
            let test = std::env::current_exe().unwrap();
            let child = Command::new(test).args(["--exact", name]).env(CHILD, "").output().unwrap();
            assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
            assert!(String::from_utf8_lossy(&child.stdout).contains("1 passed"));
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.h5");
        create(&path, |file| create_rows::<f64>(file, "x", &[], vec![4], false).map(drop)).unwrap();
        append(&path, "write", 64, &FullDisk::Stop, |file| write_rows(file, "x", 0, &[1.0, 2.0]))
            .unwrap();
        let failed = append(&path, "write", 64, &FullDisk::Stop, |file| {
            write_rows(file, "x", 2, &[3.0])?;
            write_rows(file, "missing", 0, &[1.0])
        });
        assert!(matches!(failed, Err(OutputError::Hdf5 { .. })));
        let again =
            append(&path, "write", 64, &FullDisk::Stop, |file| write_rows(file, "x", 2, &[3.0]));
        assert!(again.unwrap_err().to_string().contains("an earlier write failed"));
        assert!(create(&directory.path().join("b.h5"), |_| Ok(())).is_err());
        assert!(repair(&path, |_| Ok(true), |_| Ok(())).is_err());
    }
}
