//! Messages of what takes long, and for how long: silence is kept for what is quick.
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

/// A time in seconds, in words of two units at most.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        3600..86_400 => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3600),
    }
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

    #[test]
    fn times_are_printed_in_two_units() {
        for (seconds, text) in
            [(0.4, "0 s"), (61.0, "1 min 1 s"), (7260.0, "2 h 1 min"), (100_000.0, "1 d 3 h")]
        {
            assert_eq!(duration(seconds), text);
        }
    }
}
