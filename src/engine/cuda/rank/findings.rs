//! What a GPU has met in its steps: noted for all ranks, or the end of them.
use super::halo::HaloControl;
use super::halo::Report;
use super::multi_rank::MultiRank;
use super::report::Asked;
use crate::engine::EngineError;
use crate::engine::cuda::buffers::status;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// Takes over what the GPU has found and counted since the last time; it begins anew.
    pub(super) fn note_findings(&mut self) -> Result<HaloControl, EngineError> {
        let found = self.halo_control()?;
        self.clear_halo_control()?;
        self.note(found)
    }

    /// The same of a kernel that reports to the host.
    pub(super) fn take_report(&mut self, asked: Asked) -> Result<Report, EngineError> {
        let report = self.stepper.reports.wait(asked)?;
        self.note(report.control)?;
        Ok(report)
    }

    fn note(&mut self, found: HaloControl) -> Result<HaloControl, EngineError> {
        if found.lost > 0 {
            let neighbor = self.stepper.domain.neighbors().nth(found.lost as usize - 1);
            return Err(EngineError::Cuda {
                what: "continue".into(),
                message: format!("rank {} sends no ghosts", neighbor.unwrap_or_default()),
            });
        }
        if found.first.fault != u64::MAX {
            self.read_control()?;
            let error = self.error_at(found.first.fault);
            self.stepper.domain.note_fault(found.first.fault, error);
        }
        if found.first.needs_rebuild != u64::MAX {
            self.stepper.domain.note_needs_rebuild(found.first.needs_rebuild);
        }
        Ok(found)
    }

    /// Whether changes of velocities between steps went well on all ranks.
    ///
    /// # Errors
    /// That of a rank where one did not.
    pub(super) fn verify_changes(&mut self) -> Result<(), EngineError> {
        let found = self.read_control();
        self.or_end_all(found)?;
        if self.state.control.status != status::DONE {
            let error = self.error();
            let step = self.state.step;
            self.stepper.domain.note_fault(step, error);
        }
        let cleared = self.clear_halo_control();
        self.or_end_all(cleared)?;
        self.verify_now()
    }

    /// What the GPU has met at a step.
    pub(super) fn error_at(&self, step: u64) -> EngineError {
        match (self.state.control.status, self.error()) {
            (
                _,
                EngineError::TooClose { first, second, distance, inner_maximum, precision, .. },
            ) => EngineError::TooClose { step, first, second, distance, inner_maximum, precision },
            (_, EngineError::Runaway { particle, position, velocity, .. }) => {
                EngineError::Runaway { step, particle, position, velocity }
            }
            (status::DONE, _) => unreachable!("an error was seen"),
            (_, EngineError::OutOfRange { quantity, particle, .. }) => {
                EngineError::OutOfRange { step, quantity, particle }
            }
            (_, error) => error,
        }
    }

    /// Ends all ranks on an error that only this one has met: no rank could continue.
    pub(super) fn or_end_all<T>(&self, result: Result<T, EngineError>) -> Result<T, EngineError> {
        if let Err(
            error @ (EngineError::Cuda { .. }
            | EngineError::GpuLost { .. }
            | EngineError::OutOfDeviceMemory { .. }),
        ) = &result
        {
            let domain = &self.stepper.domain;
            tracing::error!("rank {}: {error}", domain.rank());
            domain.communicator().abort();
        }
        result
    }
}
