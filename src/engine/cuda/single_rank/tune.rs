//! Choices are timed on the present state, which is then put back to the bit.
use std::time::{Duration, Instant};

use super::SingleRank;
use crate::engine::EngineError;
use crate::engine::cuda::advance::LaunchSamples;
use crate::engine::cuda::buffers::Control;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::engine::CudaEngine;
use crate::engine::cuda::memory::Buffer;
use crate::engine::cuda::neighbor_lists::{ListShape, expected_capacity};
use crate::engine::cuda::tuning::{Choice, Freedom, LONG_STAGE, fastest};
use crate::engine::report::Trial;
use crate::engine::tilt::largest_reach;
use crate::integrator::ThermostatState;
use crate::system::SimulationBox;

/// Time of one trial, and of all of them.
const TRIAL: Duration = Duration::from_millis(40);
const ALL_TRIALS: Duration = Duration::from_millis(900);
/// Steps of the first look at how long a step takes.
const FIRST_LOOK: u64 = 50;

/// A copy of what steps change.
struct Saved {
    particles: Vec<Buffer>,
    sites: Buffer,
    step: u64,
    thermostat: ThermostatState,
    rebuilds: u64,
    simulation_box: SimulationBox,
}

impl<P: DevicePolicy> CudaEngine<P, SingleRank> {
    /// Times choices on the present state, and takes the fastest; none where there is no memory for a copy of the state.
    ///
    /// # Errors
    /// If the state cannot be put back.
    pub fn tune(&mut self) -> Result<(), EngineError> {
        let shape = self.neighbor_list.shape();
        let start = Choice { skin: shape.skin, lanes_log2: shape.lanes_log2 };
        let cutoff = self.plan.potential.largest_cutoff();
        let room = match self.is_for_tilts() || self.plan.shears() {
            true => largest_reach(self.state.simulation_box()) - cutoff,
            false => f64::INFINITY,
        };
        let (skin, widest) = (shape.skin, room.min(0.6 * cutoff));
        let freedom = Freedom {
            skin: match self.plan.run.skin {
                Some(skin) => (skin, skin),
                None => (0.08 * cutoff, widest.max(skin)),
            },
            lanes_log2: match self.plan.run.threads_per_particle {
                Some(threads) => (threads.ilog2(), threads.ilog2()),
                None => (0, 5),
            },
        };
        let begin = Instant::now();
        let saved = match self.save() {
            Ok(saved) => saved,
            Err(error) => {
                tracing::debug!("not tuned: {error}");
                return Ok(());
            }
        };
        let look = self.time_steps(&saved, start, FIRST_LOOK);
        let mut trials = Vec::new();
        let mut best = start;
        if let Some(first) = look
            && first * self.stage.steps as f64 > LONG_STAGE.as_secs_f64()
        {
            let steps = ((TRIAL.as_secs_f64() / first) as u64).clamp(20, 20_000);
            let time = |choice: Choice| {
                let seconds = self.time_steps(&saved, choice, steps)?;
                trials.push(Trial {
                    skin: choice.skin,
                    threads_per_particle: 1 << choice.lanes_log2,
                    steps_per_second: 1.0 / seconds,
                });
                Some(seconds)
            };
            best = fastest(start, &freedom, time, || begin.elapsed() > ALL_TRIALS);
        }
        // For lists of the first choice there was memory.
        self.take(best).or_else(|_| self.take(start))?;
        self.put_back(&saved)?;
        self.stepper.trials = trials;
        Ok(())
    }

    /// Seconds of a step from the saved state on; `None` if steps cannot be taken so.
    fn time_steps(&mut self, saved: &Saved, choice: Choice, steps: u64) -> Option<f64> {
        self.take(choice).ok()?;
        self.put_back(saved).ok()?;
        self.check_tilt().ok()?;
        let start = Instant::now();
        self.run(steps, false, false, LaunchSamples::NONE).ok()?;
        Some(start.elapsed().as_secs_f64() / steps as f64)
    }

    /// Takes lists of a choice, if they are not the present ones.
    fn take(&mut self, choice: Choice) -> Result<(), EngineError> {
        let shape = self.neighbor_list.shape();
        let present = Choice { skin: shape.skin, lanes_log2: shape.lanes_log2 };
        if choice == present && self.neighbor_list.has_lists() {
            return Ok(());
        }
        let Choice { skin, lanes_log2 } = choice;
        let capacity = expected_capacity(&self.plan, self.state.simulation_box(), skin);
        self.neighbor_list.set_shape(ListShape { skin, lanes_log2, capacity, ..shape })?;
        self.set_system()
    }

    fn save(&self) -> Result<Saved, EngineError> {
        let copy = |buffer: &Buffer| buffer.duplicate();
        Ok(Saved {
            particles: self.state.particles().all().map(copy).collect::<Result<_, _>>()?,
            sites: copy(self.state.sites())?,
            step: self.state.step,
            thermostat: self.thermostat.clone(),
            rebuilds: self.state.control.rebuilds,
            simulation_box: *self.state.simulation_box(),
        })
    }

    /// The saved state again, with lists of the present shape, and its forces.
    fn put_back(&mut self, saved: &Saved) -> Result<(), EngineError> {
        for (to, from) in self.state.particles().all().zip(&saved.particles) {
            to.copy_from(from)?;
        }
        self.state.sites().copy_from(&saved.sites)?;
        self.state.step = saved.step;
        let tilt = saved.simulation_box.tilt();
        self.state.take_control(Control {
            tilt,
            lists_made_in: [saved.step; 2],
            ..self.state.control
        });
        self.thermostat.clone_from(&saved.thermostat);
        self.run(0, true, false, LaunchSamples::NONE)?;
        self.state.control.rebuilds = saved.rebuilds + 1;
        self.state.control.cycles = Default::default();
        Ok(())
    }
}
