//! Velocities or positions of many systems, multiplied by factors of each.
use super::{MOST_OF_LAUNCH, Members, locked};
use crate::engine::EngineError;
use crate::engine::cuda::launch::{Grid, kernels};
use crate::engine::cuda::measure::Factors;

kernels! {
    /// Of `kernels/md/measure.cu`, with the factors of each system.
    pub(super) struct ScaleKernels {
        scale_velocities_of_members();
        scale_positions_of_members();
    }
}

/// What is multiplied by the factors of each system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaled {
    Velocities,
    Positions,
}

impl Members {
    /// Multiplies something of all systems by their factors, over this many particles of each; does not wait. The [`Control`] of each
    /// notes what does not fit.
    pub fn scale_all(
        &self,
        scaled: Scaled,
        particles: usize,
        factors: &[[f64; 3]],
    ) -> Result<(), EngineError> {
        for (member, &x) in locked(&self.members).all().iter_mut().zip(factors) {
            member.factors = Factors { x };
        }
        let kernel = match scaled {
            Scaled::Velocities => self.scale.scale_velocities_of_members,
            Scaled::Positions => self.scale.scale_positions_of_members,
        };
        let count = self.count();
        for first in (0..count).step_by(MOST_OF_LAUNCH) {
            self.select(first)?;
            let systems = (count - first).min(MOST_OF_LAUNCH) as u32;
            let grid = Grid::over_systems(&self.session.gpu, particles, systems);
            self.kernels.launch(kernel, grid, ())?;
        }
        Ok(())
    }
}
