//! Many systems on the GPUs of a host. Those of one GPU take their steps in the same launches.
use std::ops::Range;
use std::sync::Arc;
use std::thread;

use super::advance::Launch;
use super::advance::LaunchSamples;
use super::buffers::{ElementSizes, status};
use super::constants::DevicePolicy;
use super::correlator::Sampling;
use super::device::Gpu;
use super::engine::CudaEngine;
use super::members::{Members, Sharing, stay_cubic};
use super::memory::Session;
use super::run_device::Place;
use super::single_rank::{LONGEST_LAUNCH, SingleRank};
use super::thermostat::Kind;
use super::tuning;
use crate::engine::ensemble::{Ensemble, parts};
use crate::engine::precision::ExactSum;
use crate::engine::report::EngineReport;
use crate::engine::{
    Correlator, Engine, EngineError, ExactState, PendingSnapshot, PendingState, StageContext,
    Thermodynamics,
};
use crate::plan::Plan;

/// Systems of a plan, in equal parts on the GPUs; they count from 0.
pub struct ManySystems<P: DevicePolicy> {
    pub(super) groups: Vec<Group<P>>,
}

/// Systems on one GPU: an engine for each, all with the same kernels.
pub(super) struct Group<P: DevicePolicy> {
    /// Number of the first one.
    pub first: usize,
    /// Of all of them, if time correlations are evaluated here.
    pub sampling: Option<Sampling>,
    pub(super) members: Arc<Members>,
    pub systems: Vec<CudaEngine<P, SingleRank>>,
}

impl<P: DevicePolicy> ManySystems<P> {
    /// # Errors
    /// If the states do not fit the plan or the GPUs, or the kernels cannot be compiled.
    pub fn new(
        plan: &Plan,
        first: usize,
        states: &[ExactState],
        gpus: Vec<Gpu>,
    ) -> Result<Self, EngineError> {
        let parts = parts(states.len(), gpus.len());
        let plan_of = |system: usize| plan.of_system(first + system);
        let create = |(gpu, part): (Gpu, &Range<usize>)| {
            Group::new(plan, plan_of, part.start, &states[part.clone()], gpu)
        };
        let groups = thread::scope(|scope| {
            let groups = gpus.into_iter().zip(&parts);
            let started: Vec<_> = groups.map(|of| scope.spawn(|| create(of))).collect();
            started.into_iter().map(joined).collect::<Result<_, _>>()
        })?;
        Ok(ManySystems { groups })
    }

    /// Has something done on each GPU, at the same time; what it gives for each system is in the order of the systems.
    pub(super) fn each<T: Send>(
        &mut self,
        work: impl Fn(&mut Group<P>) -> Result<Vec<T>, EngineError> + Sync,
    ) -> Result<Vec<T>, EngineError> {
        if let [group] = &mut self.groups[..] {
            return work(group);
        }
        thread::scope(|scope| {
            let groups = self.groups.iter_mut();
            let started: Vec<_> = groups.map(|group| scope.spawn(|| work(group))).collect();
            let parts: Vec<Vec<T>> = started.into_iter().map(joined).collect::<Result<_, _>>()?;
            Ok(parts.into_iter().flatten().collect())
        })
    }

    /// The group that has a system, and its index there.
    fn place_of(&self, system: usize) -> (usize, usize) {
        let group = self.groups.partition_point(|group| group.first <= system) - 1;
        (group, system - self.groups[group].first)
    }
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl<P: DevicePolicy> Group<P> {
    /// `plan_of`: of each system, which count as `first` does.
    fn new(
        plan: &Plan,
        plan_of: impl Fn(usize) -> Plan,
        first: usize,
        states: &[ExactState],
        gpu: Gpu,
    ) -> Result<Self, EngineError> {
        let session = Session::open(gpu)?;
        let simulation_box = &states[0].simulation_box;
        let with_tilt = |mut plan: Plan| {
            let in_plan = plan.system.simulation_box;
            plan.system.simulation_box = in_plan.with_tilt(simulation_box.tilt());
            plan
        };
        let plan = &with_tilt(plan.clone());
        let (count, plan_of_first) = (states.len(), with_tilt(plan_of(first)));
        let system = &plan_of_first.system;
        let element_sizes = ElementSizes::of::<P>(plan);
        let (particles, species) = (system.particle_count(), system.species.len());
        let sharing = Sharing::new(
            count,
            particles,
            session.gpu.multiprocessors,
            session.shared_memory_of_multiprocessor()?,
            element_sizes.site_bytes(),
            stay_cubic(plan, simulation_box) && !plan.may_swap() && !plan.may_tilt(),
        );
        let shape = tuning::shape_of_many(&plan_of_first, simulation_box, None, sharing);
        tuning::check_memory(&session, count * particles, species, element_sizes, shape)?;
        let policy = P::new(simulation_box, plan_of_first.run.flight(), &system.species);
        let members = Members::new(&session, &plan_of_first, &policy, count, sharing)?;
        let system = |(system, state): (usize, &ExactState)| {
            let place = Place { members: members.clone(), system };
            let plan = with_tilt(plan_of(first + system));
            CudaEngine::of_many(&plan, state, session.clone(), place)
                .map_err(|error| error.of_system(first + system))
        };
        let systems = states.iter().enumerate().map(system).collect::<Result<_, _>>()?;
        Ok(Group { first, sampling: None, members, systems })
    }

    /// Has something done by each engine, with the number of its system.
    pub(super) fn each<T>(
        &mut self,
        mut work: impl FnMut(usize, &mut CudaEngine<P, SingleRank>) -> Result<T, EngineError>,
    ) -> Result<Vec<T>, EngineError> {
        let systems = (self.first..).zip(&mut self.systems);
        systems
            .map(|(number, system)| work(number, system).map_err(|error| error.of_system(number)))
            .collect()
    }

    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        let mut left = steps;
        let mut rebuild = vec![false; self.systems.len()];
        let has_barostat = self.systems[0].stage.barostat.is_some();
        while left > 0 {
            let step = self.systems[0].state.step;
            let most = left.min(LONGEST_LAUNCH).min(self.systems[0].stage.steps_to_trials(step));
            let (steps, samples) = match &mut self.sampling {
                Some(sampling) => sampling.begin_launch(step, most)?,
                None => (most, LaunchSamples::NONE),
            };
            match self.systems[0].has_piston() {
                true => self.run_with_piston(steps, &rebuild)?,
                false => self.run(steps, samples, &rebuild)?,
            }
            left -= steps;
            rebuild.fill(false);
            if let Some(sampling) = &mut self.sampling {
                sampling.end_launch(step + steps);
            }
            self.take_samples(true)?;
            if self.systems[0].stage.swaps_after(step + steps) {
                self.swap(step + steps)?;
                rebuild.fill(true);
            }
            if has_barostat {
                self.take_volume_trials(&mut rebuild)?;
            }
        }
        if has_barostat || rebuild.contains(&true) {
            self.run(0, LaunchSamples::NONE, &rebuild)?;
        }
        Ok(())
    }

    /// Takes the trials of all systems to exchange diameters or species.
    fn swap(&mut self, step: u64) -> Result<(), EngineError> {
        let swaps = self.each(|_, system| {
            let key = system.plan.system.random_key();
            let trials = system.stage.swap_trials(key, step, system.state.count());
            system.lend_thermostat()?;
            Ok(system.swaps(&trials.expect("trials are due in all systems")))
        })?;
        let controls: Vec<_> = self.systems.iter().map(|system| system.state.control).collect();
        self.members.swap_all(&swaps, &controls)?;
        let mut left = self.members.controls()?.into_iter();
        self.each(|_, system| {
            system.take_swaps(&left.next().expect("that of each system"));
            Ok(())
        })?;
        Ok(())
    }

    /// Takes steps of all systems in one launch. `rebuild`: whose lists are made anew before.
    pub(super) fn run(
        &mut self,
        steps: u64,
        samples: LaunchSamples,
        rebuild: &[bool],
    ) -> Result<(), EngineError> {
        let (mut kind, first) = (Kind::None, self.first);
        let launches = self.each(|number, system| {
            let rebuild = rebuild[number - first];
            let (kind_of_system, thermostat) = system.thermostat_of_launch(steps);
            kind = kind_of_system;
            system.lend_thermostat()?;
            let launch = Launch { rebuild: rebuild.into(), ..system.launch_of(steps, samples) };
            Ok((launch, thermostat))
        })?;
        let controls: Vec<_> = self.systems.iter().map(|system| system.state.control).collect();
        // A system that comes from a checkpoint may have other lists than the first.
        let single_lane = self.systems.iter().all(CudaEngine::has_single_lanes);
        let kernel = self.members.kernel(kind, single_lane);
        let tiles = self.systems.iter().map(CudaEngine::tiles).max().unwrap_or(0);
        let threads = self.members.sharing.threads_for(tiles);
        self.members.launch_all(kernel, threads, &launches, &controls)?;
        self.sampling.as_mut().map_or(Ok(()), Sampling::evaluate_waiting)?;
        let mut left = self.members.controls()?.into_iter().zip(launches);
        self.each(|_, system| {
            let (control, (launch, thermostat)) = left.next().expect("those of each system");
            system.take_control(kind, control);
            system.complete(kind, launch, &thermostat)
        })?;
        Ok(())
    }

    fn thermodynamics(&mut self) -> Result<Vec<Thermodynamics>, EngineError> {
        let first = &self.systems[0];
        let (particles, timestep) = (first.state.count(), first.plan.run.flight());
        let lanes = self.systems.iter().map(CudaEngine::lanes).max().unwrap_or(particles);
        let sums = self.members.measure_all(particles, lanes, timestep)?;
        let mut measured = self.members.controls()?.into_iter().zip(sums);
        self.each(|_, system| {
            let (control, sums) = measured.next().expect("those of each system");
            if control.status != status::DONE {
                return Err(system.state.range_error(control.status, control.culprit));
            }
            Ok(system.thermodynamics_of(sums.map(|sum| ExactSum::from_units(sum.units()))))
        })
    }
}

impl<P: DevicePolicy> Ensemble for ManySystems<P> {
    fn systems(&self) -> usize {
        self.groups.iter().map(|group| group.systems.len()).sum()
    }

    fn step(&self) -> u64 {
        self.groups[0].systems[0].step()
    }

    fn begin_stage(&mut self, stages: &[StageContext]) -> Result<(), EngineError> {
        self.each(|group| {
            group.sampling = None;
            group.each(|number, system| {
                system.enter_stage_untuned(&stages[number]);
                if system.plan.has_barostat() {
                    system.enter_barostat()?;
                }
                system.check_tilt()
            })
        })
        .map(drop)
    }

    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        self.each(|group| group.advance(steps).map(|()| Vec::<()>::new())).map(drop)
    }

    fn thermodynamics(&mut self) -> Result<Vec<Thermodynamics>, EngineError> {
        self.each(Group::thermodynamics)
    }

    fn begin_snapshots(&mut self) -> Result<Vec<PendingSnapshot>, EngineError> {
        self.each(|group| group.each(|_, system| system.begin_snapshot()))
    }

    fn begin_exports(&mut self) -> Result<Vec<PendingState>, EngineError> {
        self.each(|group| group.each(|_, system| system.begin_export()))
    }

    fn export(&self, system: usize) -> Result<ExactState, EngineError> {
        let (group, index) = self.place_of(system);
        self.groups[group].systems[index].export()
    }

    fn draw_velocities(&mut self, temperatures: &[Option<f64>]) -> Result<(), EngineError> {
        let draw =
            |number: usize, system: &mut CudaEngine<P, SingleRank>| match temperatures[number] {
                Some(temperature) => Engine::draw_velocities(system, temperature, true),
                None => Ok(()),
            };
        self.each(|group| group.each(draw)).map(drop)
    }

    fn scale_velocities(&mut self, factors: &[f64]) -> Result<(), EngineError> {
        let scale = |number: usize, system: &mut CudaEngine<P, SingleRank>| match factors[number] {
            1.0 => Ok(()),
            factor => Engine::scale_velocities(system, factor),
        };
        self.each(|group| group.each(scale)).map(drop)
    }

    fn correlator(&mut self) -> Option<&mut dyn Correlator> {
        Some(self)
    }

    fn report(&self) -> EngineReport {
        let mut report = self.groups[0].systems[0].report();
        let systems = self.systems() as u32;
        if let Some(launch) = &mut report.execution.launch {
            launch.blocks *= systems;
            launch.threads *= systems;
            launch.device_bytes *= u64::from(systems);
        }
        report.hardware.set_gpus(self.groups.len());
        report
    }
}
