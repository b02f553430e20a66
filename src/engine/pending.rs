use super::{EngineError, ExactState};
use crate::system::Snapshot;

/// What an engine was asked for and continues without: another thread waits for it.
pub struct Pending<T>(Box<dyn FnOnce() -> Result<T, EngineError> + Send>);

/// All particles at the moment at which the copy was begun.
pub type PendingSnapshot = Pending<Snapshot>;

/// The state at the moment at which the copy was begun.
pub type PendingState = Pending<ExactState>;

impl<T> Pending<T> {
    /// `finish` waits for what is still missing, and converts it.
    pub fn new(finish: impl FnOnce() -> Result<T, EngineError> + Send + 'static) -> Self {
        Pending(Box::new(finish))
    }

    /// # Errors
    /// If the GPU was lost meanwhile.
    pub fn wait(self) -> Result<T, EngineError> {
        (self.0)()
    }
}

impl<T: Send + 'static> Pending<T> {
    /// What is made of it when it is there.
    pub fn map<U>(self, make: impl FnOnce(T) -> U + Send + 'static) -> Pending<U> {
        Pending::new(move || Ok(make(self.wait()?)))
    }

    /// What is there already.
    pub fn ready(value: T) -> Self {
        Pending::new(move || Ok(value))
    }
}
