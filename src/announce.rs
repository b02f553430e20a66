//! Reports of what takes long: silence is kept for what is quick.
use std::fmt::Display;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Target of these messages. The command line shows them, other programs choose.
pub const TARGET: &str = "supercool::progress";

/// Work that takes longer is announced.
const PATIENCE: Duration = Duration::from_secs(1);

/// Does `work`; where it takes more than a second, reports `what` is being done while it continues.
pub fn while_slow<T>(what: impl Display + Send, work: impl FnOnce() -> T) -> T {
    after(PATIENCE, move || tracing::info!(target: TARGET, "{what} ..."), work)
}

/// Does `work`; calls `announce` once if it takes longer than `patience`.
fn after<T>(patience: Duration, announce: impl FnOnce() + Send, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (working, ended) = channel::<()>();
        scope.spawn(move || {
            if ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                announce();
            }
        });
        let result = work();
        drop(working);
        result
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn only_slow_work_is_announced_and_once() {
        let announced = AtomicU32::new(0);
        let announce = || {
            announced.fetch_add(1, Ordering::Relaxed);
        };
        assert_eq!(after(Duration::from_secs(3600), announce, || 7), 7);
        assert_eq!(announced.load(Ordering::Relaxed), 0);
        let waits_for_it = || {
            while announced.load(Ordering::Relaxed) == 0 {
                thread::yield_now();
            }
            8
        };
        assert_eq!(after(Duration::ZERO, announce, waits_for_it), 8);
        assert_eq!(announced.load(Ordering::Relaxed), 1);
    }
}
