//! Exchanges of diameters or species, of which rank 0 has taken the trials.
use super::multi_rank::MultiRank;
use crate::engine::EngineError;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::swaps::SwapRound;

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// Gives particles what they have after a round of trials. Of diameters by id sites are made with the lists.
    ///
    /// # Errors
    /// Those that all ranks meet together.
    pub(super) fn take_round(&mut self, round: &SwapRound) -> Result<(), EngineError> {
        match self.state.diameters() {
            Some(buffer) => {
                let sizes = self.state.element_sizes();
                let before = sizes.read_diameters(buffer)?;
                sizes.write_diameters(buffer, &round.diameters_after(&before))?;
            }
            None => self.state.take_ids(&round.ids_after(self.particle_count()))?,
        }
        self.make_all_anew()
    }
}
