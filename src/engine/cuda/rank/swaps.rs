//! Exchanges of diameters, of which rank 0 has taken the trials.
use super::multi_rank::MultiRank;
use crate::engine::EngineError;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::swaps::SwapRound;

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// Gives particles their diameters after a round of trials: those by id first, of which sites are made with the lists.
    ///
    /// # Errors
    /// Those that all ranks meet together.
    pub(super) fn exchange_diameters(&mut self, round: &SwapRound) -> Result<(), EngineError> {
        let buffer = self.state.diameters().expect("particles have diameters");
        let sizes = self.state.element_sizes();
        let before = sizes.read_diameters(buffer)?;
        sizes.write_diameters(buffer, &round.diameters_after(&before))?;
        self.rebuild_from_positions()?;
        self.forces_everywhere()?;
        self.verify_now()
    }
}
