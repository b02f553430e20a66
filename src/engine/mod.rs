//! What runs a system: one interface, an engine for the CPU and one for CUDA.
//!
//! An engine offers a few coarse verbs; nothing above it knows how particles lie in memory. All of
//! it is in id order outside.
mod barostat;
mod cells;
mod correlator;
pub mod cpu;
mod create;
pub mod cuda;
#[cfg(any(test, feature = "fault-injection"))]
pub(crate) mod delegate;
mod device_array;
pub mod domain;
mod ensemble;
mod error;
mod interface;
mod minimizer;
mod minimizers;
mod outlook;
mod pair_core;
mod pending;
mod piston;
pub mod precision;
mod replicas;
pub mod report;
mod residue;
mod shares;
pub mod skin;
mod stage;
mod state;
mod strain;
mod swaps;
mod thermodynamics;
mod thermostats;
mod tilt;

pub use correlator::{Correlator, OfSystems};
pub use create::{create, create_ensemble_on, create_on, is_on_cpu};
pub use device_array::{DeviceArray, DeviceMemory, ParticleQuantity};
pub use ensemble::{Engines, Ensemble, Workers};
pub use error::{CudaVersion, EngineError};
pub use interface::Engine;
pub use minimizer::{CancelToken, InherentStructure, Minimizer, minimizer};
pub use minimizers::{Descents, Minimizers, minima, minimizers};
pub use pending::{Pending, PendingSnapshot, PendingState};
pub use replicas::{Counts as ExchangeCounts, Exchanges, Replicas};
pub use report::EngineReport;
pub use stage::StageContext;
pub use state::{ExactState, MemoryLayout};
pub use strain::{KEPT_BYTES, StrainEvent, StrainMemory, StrainPoint, Strained, StrainedSystems};
pub use thermodynamics::{SystemSums, Thermodynamics};
