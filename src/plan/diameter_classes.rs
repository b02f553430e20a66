//! Classes of particles by diameter.
use serde::{Deserialize, Serialize};

/// How the particles of a system are divided by their diameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiameterClassesPlan {
    /// This number of classes, with the same number of particles each (to one), by the rank of the diameter.
    Number(usize),
    /// Between these diameters, below the first and from the last on. A particle whose diameter is a bound is in the class above it.
    Bounds(Vec<f64>),
}

impl DiameterClassesPlan {
    /// Number of classes.
    pub fn count(&self) -> usize {
        match self {
            DiameterClassesPlan::Number(number) => *number,
            DiameterClassesPlan::Bounds(bounds) => bounds.len() + 1,
        }
    }
}
