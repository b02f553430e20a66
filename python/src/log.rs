//! Warnings of supercool go to Python's `logging`, to the logger "supercool".
use std::fmt::{self, Write};
use std::sync::Once;

use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// From the first call on. Whoever then calls into supercool must be detached from the interpreter: its threads wait for it to
/// say something.
pub fn to_python() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Another subscriber is there where the command runs in this process: it prints by itself.
        let _ =
            tracing_subscriber::registry().with(ToPython.with_filter(LevelFilter::INFO)).try_init();
    });
}

struct ToPython;

impl<S: Subscriber> Layer<S> for ToPython {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        if !metadata.target().starts_with("supercool") {
            return;
        }
        let level = match *metadata.level() {
            Level::ERROR => 40,
            Level::WARN => 30,
            _ => 20,
        };
        let mut message = Message(String::new());
        event.record(&mut message);
        // What cannot be said (the interpreter is about to end) does not end a run.
        let _ = Python::try_attach(|py| -> PyResult<()> {
            let logger = py.import("logging")?.call_method1("getLogger", ("supercool",))?;
            logger.call_method1("log", (level, "%s", message.0)).map(drop)
        });
    }
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.0, "{value:?}");
        }
    }
}
