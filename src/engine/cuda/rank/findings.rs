//! What a card has met in its steps: noted for all ranks, or the end of them.
use super::report::{Asked, Report};
use super::rim::RimControl;
use crate::engine::EngineError;
use crate::engine::cuda::buffers::status;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;

impl<P: DevicePolicy> CudaEngine<P> {
    /// Takes over what the card has found and counted since the last time; it begins anew.
    pub(super) fn note_findings(&mut self) -> Result<RimControl, EngineError> {
        let found = self.rim_control()?;
        self.clear_rim_control()?;
        self.note(found)
    }

    /// The same of a kernel that reports to the host.
    pub(super) fn take_report(&mut self, asked: Asked) -> Result<Report, EngineError> {
        let report = self.with_others().reports.wait(asked)?;
        self.note(report.control)?;
        Ok(report)
    }

    fn note(&mut self, found: RimControl) -> Result<RimControl, EngineError> {
        if found.lost > 0 {
            let neighbor = self.with_others().domain.neighbors().nth(found.lost as usize - 1);
            return Err(EngineError::Cuda {
                what: "go on".into(),
                message: format!("rank {} sends no ghosts", neighbor.unwrap_or_default()),
            });
        }
        if found.first.fault != u64::MAX {
            self.read_control()?;
            let error = self.error_at(found.first.fault);
            self.with_others_mut().domain.note_fault(found.first.fault, error);
        }
        if found.first.stale != u64::MAX {
            self.with_others_mut().domain.note_stale(found.first.stale);
        }
        Ok(found)
    }

    /// Whether changes of velocities between steps went well on all ranks.
    ///
    /// # Errors
    /// That of a rank where one did not.
    pub(in crate::engine::cuda) fn verify_changes(&mut self) -> Result<(), EngineError> {
        if self.domain.is_none() {
            return Ok(());
        }
        let found = self.read_control();
        self.or_end_all(found)?;
        if self.control.status != status::DONE {
            let error = self.error();
            let step = self.step;
            self.with_others_mut().domain.note_fault(step, error);
        }
        let cleared = self.clear_rim_control();
        self.or_end_all(cleared)?;
        self.verify_now()
    }

    /// What the card has met at a step.
    fn error_at(&self, step: u64) -> EngineError {
        match (self.control.status, self.error()) {
            (_, EngineError::TooClose { first, second, distance, precision, .. }) => {
                EngineError::TooClose { step, first, second, distance, precision }
            }
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

    /// Ends all ranks on an error that only this one has met: no rank could go on. Does nothing where there are no others.
    pub(in crate::engine::cuda) fn or_end_all<T>(
        &self,
        result: Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        if let (
            Some(with_others),
            Err(
                error @ (EngineError::Cuda { .. }
                | EngineError::CardLost { .. }
                | EngineError::OutOfDeviceMemory { .. }),
            ),
        ) = (&self.domain, &result)
        {
            tracing::error!("rank {}: {error}", with_others.domain.rank());
            with_others.domain.communicator().abort();
        }
        result
    }
}
