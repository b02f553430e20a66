//! The engine of a rank.
use std::sync::Arc;

use super::{Communicator, Part, RankEngine, Start};
use crate::engine::{EngineError, cpu, cuda};
use crate::plan::{EngineChoice, Plan};

/// The engine of a rank of a plan, holding `part` of a state (particles of other domains migrate). Collective.
pub(super) fn rank_engine(
    plan: &Plan,
    start: &Start,
    part: &Part,
    communicator: Arc<dyn Communicator>,
) -> Result<Box<dyn RankEngine>, EngineError> {
    match plan.run.engine {
        EngineChoice::Cuda => cuda::create_on_rank(plan, start, part, communicator),
        EngineChoice::Cpu | EngineChoice::Auto => {
            cpu::create_on_rank(plan, start, part, communicator)
        }
    }
}
