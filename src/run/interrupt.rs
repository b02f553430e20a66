use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};

/// Why a run is to stop before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    Signal(i32),
    Walltime,
}

impl std::fmt::Display for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Interrupt::Signal(signal) => match signal_hook::low_level::signal_name(*signal) {
                Some(name) => write!(f, "{name}"),
                None => write!(f, "signal {signal}"),
            },
            Interrupt::Walltime => write!(f, "the time limit (--max-walltime)"),
        }
    }
}

/// By which the system says that a file would get longer than a limit allows: an error of the write if not fatal.
const SIGXFSZ: i32 = 25;

/// Watches for signals and the clock.
#[derive(Clone, Debug)]
pub struct Watch {
    signal: Arc<AtomicUsize>,
    deadline: Option<Instant>,
    /// When a signal was first seen.
    seen: Arc<OnceLock<Instant>>,
    /// What is being done.
    at: Arc<Mutex<String>>,
    /// Another program catches signals and says when to stop.
    is_told: bool,
}

/// For so long after the word to stop what was begun may continue.
const GRACE: Duration = Duration::from_secs(5);

/// Between looks at signals while something else is waited for.
const PATIENCE: Duration = Duration::from_millis(100);

/// While it lives, a signal ends a process that waits.
pub struct EndsWaits {
    _working: Option<Sender<()>>,
}

impl Watch {
    /// SIGINT, SIGTERM, SIGUSR1 and SIGUSR2 ask for a checkpoint and the end; SIGHUP, by which a terminal goes, too, unless
    /// the process was started to outlive it (`nohup`).
    pub fn new(walltime: Option<Duration>) -> io::Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
        for number in [SIGINT, SIGTERM, SIGUSR1, SIGUSR2].into_iter().chain(hangup) {
            signal_hook::flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        }
        signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
        Ok(Watch { is_told: false, ..Watch::told(signal, walltime) })
    }

    /// For a program that catches signals itself: they are its own. It asks for a checkpoint and the end by writing the
    /// number of a signal into `stop`, where 0 stands before.
    pub fn told(stop: Arc<AtomicUsize>, walltime: Option<Duration>) -> Self {
        let deadline = walltime.and_then(|walltime| Instant::now().checked_add(walltime));
        Watch { signal: stop, deadline, seen: Arc::default(), at: Arc::default(), is_told: true }
    }

    /// Whether the word to stop came so long ago that nothing more can be waited for.
    pub fn is_overdue(&self) -> bool {
        self.pending().is_some() && self.seen.get_or_init(Instant::now).elapsed() > GRACE
    }

    pub fn pending(&self) -> Option<Interrupt> {
        let walltime = || self.deadline.filter(|deadline| Instant::now() >= *deadline);
        self.signalled().or_else(|| walltime().map(|_| Interrupt::Walltime))
    }

    fn signalled(&self) -> Option<Interrupt> {
        let signal = self.signal.load(Ordering::Relaxed);
        (signal != 0).then_some(Interrupt::Signal(signal as i32))
    }

    /// Notes what is being done, for whoever has to know where the process waits.
    pub fn is_at(&self, what: impl Into<String>) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = what.into();
    }

    /// Until what comes back is dropped, a signal ends the process after the grace time: a library, a driver or a file system
    /// may not come back from what the process does. A sudden end must do no harm meanwhile. `end` gets the signal and what
    /// was being done, and gives the exit code. A process that is another program's is not ended.
    pub fn end_waits(
        &self,
        end: impl Fn(Interrupt, &str) -> u8 + Send + 'static,
    ) -> io::Result<EndsWaits> {
        if self.is_told {
            return Ok(EndsWaits { _working: None });
        }
        let (working, ended) = channel::<()>();
        let watch = self.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let mut since = None;
            while ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let Some(why) = watch.signalled() else { continue };
                if since.get_or_insert_with(Instant::now).elapsed() > GRACE {
                    let at = watch.at.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    // Without what is done at an orderly end, for which libraries are called.
                    signal_hook::low_level::exit(end(why, &at).into());
                }
            }
        })?;
        Ok(EndsWaits { _working: Some(working) })
    }
}

/// Whether this process ignores a signal, by the system's word for it.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// A time limit as batch systems write it: `minutes`, `hours:minutes:seconds`, `minutes:seconds`,
/// `days-hours[:minutes[:seconds]]`, or a number with one of the units s, m, h, d.
pub fn parse_walltime(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("\"{text}\" is no time: write 90 (minutes), 45s, 12h, 1:30:00 or 2-12:00:00");
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    let seconds = |parts: &[(&str, u64)]| {
        parts.iter().try_fold(0u64, |sum, (text, unit)| {
            number(text)?
                .checked_mul(*unit)
                .and_then(|part| sum.checked_add(part))
                .ok_or_else(wrong)
        })
    };
    if let Some(unit) = text.chars().last().filter(char::is_ascii_alphabetic) {
        let factor = match unit {
            's' => 1.0,
            'm' => 60.0,
            'h' => 3600.0,
            'd' => 86_400.0,
            _ => return Err(wrong()),
        };
        let value: f64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
        return Duration::try_from_secs_f64(value * factor).map_err(|_| wrong());
    }
    let total = if let Some((days, rest)) = text.split_once('-') {
        let mut parts = vec![(days, 86_400)];
        parts.extend(rest.split(':').zip([3600, 60, 1]));
        if rest.split(':').count() > 3 {
            return Err(wrong());
        }
        seconds(&parts)?
    } else {
        match text.split(':').collect::<Vec<_>>()[..] {
            [minutes] => seconds(&[(minutes, 60)])?,
            [minutes, rest] => seconds(&[(minutes, 60), (rest, 1)])?,
            [hours, minutes, rest] => seconds(&[(hours, 3600), (minutes, 60), (rest, 1)])?,
            _ => return Err(wrong()),
        }
    };
    Ok(Duration::from_secs(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_program_says_when_to_stop() {
        let stop = Arc::new(AtomicUsize::new(0));
        let watch = Watch::told(Arc::clone(&stop), None);
        assert_eq!(watch.pending(), None);
        stop.store(SIGTERM as usize, Ordering::Relaxed);
        assert_eq!(watch.pending(), Some(Interrupt::Signal(SIGTERM)));
        let watch = Watch::told(Arc::default(), Some(Duration::ZERO));
        assert_eq!(watch.pending(), Some(Interrupt::Walltime));
    }

    #[test]
    fn times_are_read_as_batch_systems_write_them() {
        for (text, seconds) in [
            ("90", 5400),
            ("2:30", 150),
            ("1:30:00", 5400),
            ("2-12", 216_000),
            ("1-0:10:05", 87_005),
            ("45s", 45),
            ("12h", 43_200),
            ("0.5m", 30),
        ] {
            assert_eq!(parse_walltime(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "soon", "1:2:3:4", "-5", "1-2:3:4:5", "5x", "99999999999999999999", "é"] {
            assert!(parse_walltime(text).is_err(), "{text}");
        }
    }
}
