//! The particles of one domain among others on a GPU; see [`crate::engine::domain`].
//!
//! Steps are taken with lists whose end all ranks agree on ([`steps`]). Where kernels reach the neighbors' memory
//! ([`peer`]), they rebuild lists ([`rebuild_with_peers`]) and take the steps between ([`steps_with_peers`]) by themselves.
//! Else, and where something has no room, the host leads: it has particles migrate and ghosts chosen ([`rebuild`]), every
//! step's ghosts sent ([`steps_of_host`]), and messages travel by a [`transport`]. It leads all steps in which a [`piston`] moves the box.
mod begin;
mod connect;
mod findings;
mod gpu_times;
mod halo;
mod kernels;
mod multi_rank;
mod peer;
mod piston;
mod rebuild;
mod rebuild_with_peers;
mod report;
mod shear;
mod steps;
mod steps_of_host;
mod steps_with_peers;
mod swaps;
mod transport;

pub use self::begin::program;
pub use self::multi_rank::MultiRank;

use self::gpu_times::GpuTimes;
use super::constants::DevicePolicy;
use super::engine::CudaEngine;
use super::geometry::Geometry;
use super::thermostat::Kind;
use crate::engine::barostat::PairSums;
use crate::engine::domain::{Part, RankEngine};
use crate::engine::report::EngineReport;
use crate::engine::swaps::SwapRound;
use crate::engine::thermostats::scale_velocities;
use crate::engine::{EngineError, StageContext, Thermodynamics};
use crate::integrator::ThermostatState;
use crate::system::SimulationBox;

impl<P: DevicePolicy> RankEngine for CudaEngine<P, MultiRank> {
    fn step(&self) -> u64 {
        self.state.step
    }

    fn begin_stage(&mut self, stage: &StageContext) -> Result<(), EngineError> {
        self.enter_stage(stage);
        self.check_tilt()?;
        let entered = self.enter_piston();
        self.or_end_all(entered)?;
        // The parts of the GPU's time are those of a stage.
        self.stepper.times = GpuTimes::default();
        Ok(())
    }

    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        self.advance_multi_rank(steps)
    }

    fn thermodynamics(&mut self) -> Result<Thermodynamics, EngineError> {
        let measured = self.measure();
        self.or_end_all(measured)
    }

    fn draw_velocities(&mut self, temperature: f64, exactly: bool) -> Result<(), EngineError> {
        let drawn = self.draw_first_velocities(temperature, exactly);
        self.or_end_all(drawn)?;
        self.verify_changes()
    }

    fn scale_velocities(&mut self, factor: f64) -> Result<(), EngineError> {
        let scaled = scale_velocities(self, factor);
        self.or_end_all(scaled)?;
        self.verify_changes()
    }

    fn reverse_velocities(&mut self) -> Result<(), EngineError> {
        let reversed = self.reverse_all();
        self.or_end_all(reversed)
    }

    fn take_swaps(&mut self, round: &SwapRound) -> Result<(), EngineError> {
        round.count_in(&mut self.thermostat);
        let exchanged = self.take_round(round);
        self.or_end_all(exchanged)
    }

    fn pair_sums(&mut self) -> Result<PairSums, EngineError> {
        let sums = CudaEngine::pair_sums(self);
        self.or_end_all(sums)
    }

    fn count_volume_trial(&mut self, accepted: Option<f64>) {
        self.thermostat.count_volume_trial(accepted);
    }

    fn simulation_box(&self) -> SimulationBox {
        *self.state.simulation_box()
    }

    fn part(&self) -> Result<Part, EngineError> {
        self.or_end_all(self.state.part())
    }

    fn part_forces(&self) -> Result<Vec<[f64; 3]>, EngineError> {
        self.or_end_all(self.state.forces())
    }

    fn thermostat(&self) -> &ThermostatState {
        &self.thermostat
    }

    fn nanoseconds(&self) -> [i64; 2] {
        let multi_rank = &self.stepper;
        // Where kernels work with peers, the host does not see what they wait for.
        match multi_rank.times.all_and_communication(self.waiting_in_passes()) {
            [0, _] => multi_rank.stepping,
            times => times,
        }
    }

    fn report(&self) -> EngineReport {
        let Geometry { kernel, blocks, threads } = self.geometry(Kind::None);
        let mut report = self.common_report((blocks, threads), self.resources_on_rank(kernel));
        self.stepper.add_to(&mut report.execution, self.waiting_in_passes());
        report
    }
}
