//! Waiting for room on a full disk.
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::OutputError;

/// What a writer does when the disk (or the quota) is full.
#[derive(Clone, Default)]
pub enum FullDisk {
    /// It fails.
    #[default]
    Stop,
    /// It tries again until there is room, or until this says that it should give up.
    Wait(Arc<dyn Fn() -> bool + Send + Sync>),
}

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(500);

impl FullDisk {
    /// Makes an attempt, again and again as long as it only lacks room and that is to be waited for. A failed
    /// attempt must leave nothing behind that the next one stumbles over.
    pub fn retry_when_full<T>(
        &self,
        mut attempt: impl FnMut() -> Result<T, OutputError>,
    ) -> Result<T, OutputError> {
        let mut warned = false;
        loop {
            let error = match (attempt(), self) {
                (Err(error @ OutputError::DiskFull { .. }), FullDisk::Wait(gives_up))
                    if !gives_up() =>
                {
                    error
                }
                (result, _) => {
                    if warned && result.is_ok() {
                        tracing::warn!("there is room again");
                    }
                    return result;
                }
            };
            if !warned {
                tracing::warn!("{error}; waiting for room (output.on_full_disk)");
                warned = true;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// The same for an operating system's error met while `doing`.
    pub fn for_io<T>(
        &self,
        path: &Path,
        doing: &str,
        mut attempt: impl FnMut() -> std::io::Result<T>,
    ) -> Result<T, OutputError> {
        self.retry_when_full(|| attempt().map_err(|error| OutputError::io(path, doing, error)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn full() -> OutputError {
        OutputError::DiskFull { path: "a".into() }
    }

    #[test]
    fn waiting_ends_when_there_is_room_or_when_cancelled() {
        let mut attempts = 0;
        let forever = FullDisk::Wait(Arc::new(|| false));
        let found = forever.retry_when_full(|| {
            attempts += 1;
            if attempts < 3 { Err(full()) } else { Ok(attempts) }
        });
        assert_eq!(found.unwrap(), 3);

        let asked = AtomicUsize::new(0);
        let twice = FullDisk::Wait(Arc::new(move || asked.fetch_add(1, Ordering::Relaxed) == 1));
        let mut attempts = 0;
        let found: Result<(), _> = twice.retry_when_full(|| {
            attempts += 1;
            Err(full())
        });
        assert!(matches!(found, Err(OutputError::DiskFull { .. })));
        assert_eq!(attempts, 2);
    }

    #[test]
    fn only_a_full_disk_is_waited_for() {
        let mut attempts = 0;
        let forever = FullDisk::Wait(Arc::new(|| false));
        let foreign: Result<(), _> = forever.retry_when_full(|| {
            attempts += 1;
            Err(OutputError::NotACheckpoint { path: "a".into() })
        });
        assert!(matches!(foreign, Err(OutputError::NotACheckpoint { .. })));
        let stopped: Result<(), _> = FullDisk::Stop.retry_when_full(|| {
            attempts += 1;
            Err(full())
        });
        assert!(matches!(stopped, Err(OutputError::DiskFull { .. })));
        assert_eq!(attempts, 2);
    }
}
