//! Steps of many systems under pistons of their own (`kernels/md/piston.cuh`).
use super::{ALL_SUMS, Members, locked};
use crate::engine::EngineError;
use crate::engine::cuda::buffers::SplitSum;
use crate::engine::cuda::declare::Pointer;
use crate::engine::cuda::launch::{Grid, kernels};
use crate::engine::cuda::measure::PistonDrift;
use crate::engine::cuda::measure::piston_sums::PISTON_SUMS;

kernels! {
    /// With the drift of each system.
    pub(super) struct PistonKernels {
        kick_under_piston(Pointer<SplitSum>);
        drift_under_piston(Pointer<SplitSum>);
        forces_under_piston(Pointer<SplitSum>, u32, u32);
    }
}

/// Sums of each system.
type Sums = Vec<[SplitSum; ALL_SUMS]>;

impl Members {
    fn piston_kernels(&self) -> PistonKernels {
        self.piston.expect("the plan has a piston")
    }

    fn over(&self, threads: usize, systems: u32) -> Grid {
        Grid::over_systems(&self.session.gpu, threads, systems)
    }

    /// Half a kick of all systems, with the sums that a first step needs, over this many particles of each and lanes of their lists.
    ///
    /// # Errors
    /// If the GPU is lost. So in what follows.
    pub fn kick_under_pistons(&self, particles: usize, lanes: usize) -> Result<Sums, EngineError> {
        let (pairs, kernel) = (self.measure.measure_pairs, self.piston_kernels().kick_under_piston);
        self.sums_of_all(|sums, systems| {
            let behind = sums.add(PISTON_SUMS as usize);
            self.kernels.launch(pairs, self.over(lanes, systems), (behind,))?;
            self.kernels.launch(kernel, self.over(particles, systems), (sums,))
        })
    }

    /// Drifts of all systems, and forces with this number of kicks of those whose lists are good.
    pub fn drift_under_pistons(
        &self,
        drifts: &[PistonDrift],
        (particles, lanes): (usize, usize),
        kicks: u32,
    ) -> Result<Sums, EngineError> {
        for (member, &drift) in locked(&self.members).all().iter_mut().zip(drifts) {
            member.piston = drift;
        }
        let PistonKernels { drift_under_piston, forces_under_piston, .. } = self.piston_kernels();
        self.sums_of_all(|sums, systems| {
            self.kernels.launch(drift_under_piston, self.over(particles, systems), (sums,))?;
            let grid = self.over(lanes, systems);
            self.kernels.launch(forces_under_piston, grid, (sums, kicks, 0))
        })
    }

    /// Forces with kicks of the systems whose lists were not good, and are made anew. The sums are those of the steps of all.
    pub fn forces_after_rebuild(&self, lanes: usize, kicks: u32) -> Result<Sums, EngineError> {
        let kernel = self.piston_kernels().forces_under_piston;
        self.more_sums_of_all(|sums, systems| {
            self.kernels.launch(kernel, self.over(lanes, systems), (sums, kicks, 1))
        })
    }
}
