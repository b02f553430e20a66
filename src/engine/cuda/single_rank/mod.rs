//! A whole system on one GPU: a launch takes many steps.
mod samples;
mod tune;

use crate::engine::cuda::advance::{AdvanceKernels, Launch, LaunchSamples};
use crate::engine::cuda::buffers::{Capacity, Control, status};
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::correlator::Sampling;
use crate::engine::cuda::device::Gpu;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::launch::Grid;
use crate::engine::cuda::md_program::{self, stepping_program};
use crate::engine::cuda::measure::MeasureKernels;
use crate::engine::cuda::memory::Session;
use crate::engine::cuda::program::Program;
use crate::engine::cuda::stepper::{Fault, Stepper};
use crate::engine::cuda::thermostat::{Geometry, Kind, Thermostat};
use crate::engine::cuda::tuning::{self, Choice};
use crate::engine::domain::Start;
use crate::engine::precision::ExactSum;
use crate::engine::report::{EngineReport, TimeShares, Trial};
use crate::engine::thermostats::scale_velocities;
use crate::engine::{
    Correlator, Engine, EngineError, ExactState, MemoryLayout, PendingSnapshot, PendingState,
    StageContext, Thermodynamics,
};
use crate::plan::Plan;
use crate::system::{SimulationBox, Snapshot};

/// The whole system is on this GPU.
pub struct SingleRank {
    kernels: AdvanceKernels,
    /// Of time correlations.
    sampling: Option<Sampling>,
    /// What was timed at the start of the stage.
    trials: Vec<Trial>,
}

/// More steps than this are split into several launches.
const LONGEST_LAUNCH: u64 = 100_000;

impl Stepper for SingleRank {
    fn ghosts(&self) -> usize {
        0
    }

    fn combine<const COUNT: usize>(
        &self,
        here: Result<[ExactSum; COUNT], Fault>,
    ) -> Result<[ExactSum; COUNT], Fault> {
        here
    }

    fn fails_at_once(&self) -> bool {
        true
    }
}

/// The program of a plan.
pub fn program<P: DevicePolicy>(policy: &P, plan: &Plan) -> Program {
    let text = include_str!("../../../../kernels/md/engine.cu");
    stepping_program("engine.cu", text, policy, plan, AdvanceKernels::checks())
}

/// The choice of a state that this engine has run.
fn choice_of(memory: &MemoryLayout) -> Option<Choice> {
    let lanes_log2 = memory.threads_per_particle?.ilog2();
    Some(Choice { skin: memory.skin, lanes_log2 })
}

impl<P: DevicePolicy> CudaEngine<P, SingleRank> {
    /// # Errors
    /// If the state does not fit the plan or the GPU, or the kernels cannot be compiled.
    pub fn new(plan: &Plan, state: &ExactState, gpu: Gpu) -> Result<Self, EngineError> {
        let expected = plan.system.particle_count();
        if state.position.len() != expected {
            return Err(EngineError::ParticleCount { found: state.position.len(), expected });
        }
        assert_eq!(state.precision, P::PRECISION, "the state is converted before");
        let session = Session::open(gpu)?;
        let layout = state.memory.as_ref();
        let shape = tuning::first_shape(
            plan,
            &state.simulation_box,
            layout.and_then(choice_of),
            session.gpu.multiprocessors,
        );
        let start = Start {
            step: state.step,
            simulation_box: state.simulation_box,
            thermostat: state.thermostat.clone(),
        };
        let capacity = Capacity { particles: expected, ghosts: 0 };
        let engine = CudaEngine::empty(plan, start, session, program, shape, capacity)?;
        let kernels = AdvanceKernels::load(&engine.kernels)?;
        let mut engine = engine.with(SingleRank { kernels, sampling: None, trials: Vec::new() });
        let same = Choice { skin: shape.skin, lanes_log2: shape.lanes_log2 };
        let layout = layout.filter(|memory| choice_of(memory) == Some(same));
        engine.load(state, layout)?;
        Ok(engine)
    }

    /// Copies a state to the GPU and computes its forces.
    pub(super) fn load(
        &mut self,
        state: &ExactState,
        layout: Option<&MemoryLayout>,
    ) -> Result<(), EngineError> {
        let order: Vec<u32> = match layout {
            Some(memory) => memory.order.clone(),
            None => (0..state.position.len() as u32).collect(),
        };
        let to = &self.buffers.particles[0];
        let gather = |values: &[[u64; 3]], axis: usize| -> Vec<u64> {
            order.iter().map(|&id| values[id as usize][axis]).collect()
        };
        for axis in 0..self.simulation_box.dimension() {
            self.element_sizes.write(&to.position[axis], &gather(&state.position, axis))?;
            self.element_sizes.write(&to.velocity[axis], &gather(&state.velocity, axis))?;
            let image: Vec<i32> = order.iter().map(|&id| state.image[id as usize][axis]).collect();
            to.image[axis].write(&image)?;
        }
        to.id.write(&order)?;
        let species: Vec<u8> = order.iter().map(|&id| state.species_of[id as usize]).collect();
        to.species.write(&species)?;
        // Sites for the lists: those at their last building, else the present ones.
        let site = |position: &[u64; 3]| -> [u64; 3] {
            std::array::from_fn(|axis| {
                let coordinate = P::coordinate_from_bits(position[axis]);
                P::site_to_bits(self.policy.site(coordinate, axis))
            })
        };
        let sites: Vec<[u64; 3]> = match layout {
            Some(memory) => memory.reference.clone(),
            None => state.position.iter().map(site).collect(),
        };
        self.element_sizes.write_sites(&self.buffers.sites[0], &sites)?;
        self.control = Control::default();
        self.run(0, true, true, LaunchSamples::NONE)?;
        self.control.rebuilds = layout.map_or(1, |memory| memory.rebuilds);
        Ok(())
    }

    /// Computes forces and takes steps under the stage's thermostat; lists that are too short are
    /// made anew.
    pub(super) fn run(
        &mut self,
        steps: u64,
        rebuild: bool,
        restore: bool,
        samples: LaunchSamples,
    ) -> Result<(), EngineError> {
        let (kind, thermostat) = Thermostat::new(
            &self.stage,
            self.plan.system.random_key(),
            self.plan.run.timestep,
            self.degrees_of_freedom(),
            &self.species,
        );
        // The kernel of a chain takes the half step before a first step that does not come.
        let kind = if steps == 0 { Kind::None } else { kind };
        let mut launch = Launch {
            first_step: self.step,
            from: 0,
            steps: steps as u32,
            rebuild: rebuild.into(),
            restore: restore.into(),
            samples: samples.particles,
            stress: samples.stress,
        };
        loop {
            self.launch_steps(kind, &launch, &thermostat)?;
            match self.control.status {
                status::DONE => break,
                status::LISTS_FULL => {
                    self.grow_lists()?;
                    launch.rebuild = 1;
                    launch.from = self.control.steps_done;
                }
                _ => {
                    self.step += u64::from(self.control.steps_done);
                    return Err(self.error());
                }
            }
        }
        self.step += steps;
        Ok(())
    }

    fn launch_steps(
        &mut self,
        kind: Kind,
        launch: &Launch,
        thermostat: &Thermostat,
    ) -> Result<(), EngineError> {
        self.lend_thermostat()?;
        let Geometry { kernel, blocks, threads } = self.geometry(kind);
        let kernel = self.stepper.kernels.get(kernel);
        let grid = Grid::cooperative(blocks, threads);
        self.kernels.launch(kernel, grid, (*launch, *thermostat))?;
        self.stepper.sampling.as_mut().map_or(Ok(()), Sampling::evaluate_waiting)?;
        self.control = self.buffers.control.read::<Control>(1)?[0];
        self.take_thermostat();
        let control = &self.control;
        if kind == Kind::Langevin && control.status == status::DONE {
            // The second half of the last step.
            self.thermostat.heat += control.sums[control.turn as usize & 3][0].value();
        }
        Ok(())
    }
}

impl<P: DevicePolicy> Engine for CudaEngine<P, SingleRank> {
    fn step(&self) -> u64 {
        self.step
    }

    fn begin_stage(&mut self, stage: &StageContext) -> Result<(), EngineError> {
        self.enter_stage(stage);
        self.stepper.trials.clear();
        // The memory of the last stage's blocks.
        self.stepper.sampling = None;
        let may_be_long = tuning::may_be_long(stage.steps, self.particle_count());
        if self.plan.run.tune && may_be_long && self.step == stage.first_step {
            self.tune()?;
        }
        Ok(())
    }

    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        let mut left = steps;
        while left > 0 {
            let most = left.min(LONGEST_LAUNCH);
            let (part, samples) = self.prepare_samples(most)?;
            self.run(part, false, false, samples)?;
            left -= part;
            self.count_samples()?;
        }
        Ok(())
    }

    fn thermodynamics(&mut self) -> Result<Thermodynamics, EngineError> {
        self.measure()
    }

    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        self.read_snapshot()
    }

    fn begin_snapshot(&mut self) -> Result<PendingSnapshot, EngineError> {
        self.begin_frame()
    }

    fn begin_export(&mut self) -> Result<PendingState, EngineError> {
        self.begin_state()
    }

    fn forces(&self) -> Result<Vec<[f64; 3]>, EngineError> {
        self.read_forces()
    }

    fn export(&self) -> Result<ExactState, EngineError> {
        self.read_state()
    }

    fn draw_velocities(&mut self, temperature: f64, exactly: bool) -> Result<(), EngineError> {
        self.draw_first_velocities(temperature, exactly)
    }

    fn scale_velocities(&mut self, factor: f64) -> Result<(), EngineError> {
        scale_velocities(self, factor)
    }

    fn reverse_velocities(&mut self) -> Result<(), EngineError> {
        self.reverse_all()
    }

    fn set_box(&mut self, simulation_box: SimulationBox) -> Result<(), EngineError> {
        assert!(self.stepper.sampling.is_none(), "samples are of one box");
        let state = self.read_state()?.in_box(simulation_box, &self.species);
        let state = state.map_err(|particle| EngineError::velocity_range(self.step, particle))?;
        let before = program(&self.policy, &self.plan);
        self.plan.system.simulation_box = simulation_box;
        self.simulation_box = simulation_box;
        self.policy = P::new(&simulation_box, self.plan.run.timestep, &self.species);
        let program = program(&self.policy, &self.plan);
        if program == before {
            md_program::set_run_constants(&self.kernels, &self.policy, &self.plan)?;
        } else {
            // Its shape or size is part of the code.
            self.session.wait()?;
            self.kernels = md_program::load(&self.session, program, &self.policy, &self.plan)?;
            self.measure_kernels = MeasureKernels::load(&self.kernels)?;
            self.stepper.kernels = AdvanceKernels::load(&self.kernels)?;
        }
        let rebuilds = self.control.rebuilds;
        self.set_shape(self.shape)?;
        self.load(&state, None)?;
        self.control.rebuilds = rebuilds + 1;
        Ok(())
    }

    fn correlator(&mut self) -> Option<&mut dyn Correlator> {
        Some(self)
    }

    fn report(&self) -> EngineReport {
        let Geometry { kernel, .. } = self.geometry(Kind::None);
        let resources = self.kernels.resources(self.stepper.kernels.get(kernel));
        let mut report = self.common_report(resources);
        report.execution.trials = Some(self.stepper.trials.clone());
        report.execution.time = Some(TimeShares::of(self.control.cycles));
        report
    }
}
