//! Keys of correlations that no observable needs.
use crate::observable::dynamics::source::Need;

/// What can be done about a key that no observable needs.
pub fn add(need: Need, or: &str) -> String {
    format!("add \"{}\" to observables, or {or}", need.example().word())
}
