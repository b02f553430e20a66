//! Steps that are computed twice, against silent errors of the hardware.
//!
//! At every n-th step of a stage the state is kept, and up to ten more in the steps that follow. A second engine then
//! takes the same steps from the first state: restarts give the same bits in every precision, so the states must be
//! equal to the bit. Where they are not, a third engine takes the steps too and tells which of the two erred. The
//! second engine lives only as long as it computes; what the first one holds (samples, lists) is not touched.
//!
//! Before a checkpoint is written the steps so far are compared, and the segment continues from there; a resumed run begins
//! within the segment that it is in. So no checkpoint holds steps that are not compared, except where a run is asked to end
//! within a long segment, which it says.
use std::path::PathBuf;

use super::{OutputDirectory, RunError};
use crate::engine::{self, Engine, EngineError, Ensemble, ExactState, StageContext};
use crate::integrator::ThermostatState;
use crate::output::{Checkpoint, put_state};
use crate::plan::{IntegrityPlan, Plan};

/// States that are kept within a segment at most, besides the first.
const MOST_STATES: u64 = 10;

/// Repeats a segment of steps from time to time.
pub struct Recheck {
    recheck: u64,
    segment: u64,
    /// Steps between two states.
    part: u64,
    /// Of many systems, which one is repeated.
    system: Option<usize>,
    running: Option<Segment>,
}

/// A segment that the run is within.
struct Segment {
    stage: StageContext,
    /// Step of the run at which the segment begins; its first state is a later one where what came before was compared, or
    /// where a resumed run has begun within it.
    begin: u64,
    start: ExactState,
    after: Vec<ExactState>,
}

impl Recheck {
    /// `system`: which one of many.
    pub fn new(plan: IntegrityPlan, system: Option<usize>) -> Self {
        let IntegrityPlan { recheck, segment } = plan;
        Recheck { recheck, segment, part: segment.div_ceil(MOST_STATES), system, running: None }
    }

    /// First step after `step` at which a state is to be kept or compared; steps are counted from the start of the
    /// stage, which has `steps`.
    pub fn next_event(&self, step: u64, steps: u64) -> u64 {
        let into = step % self.recheck;
        let start = step - into;
        let next_start = start + self.recheck;
        let mark = (into / self.part + 1) * self.part;
        match &self.running {
            Some(_) => start + mark.min(self.segment),
            None if next_start + self.segment <= steps => next_start,
            None => u64::MAX,
        }
    }

    /// Keeps or compares what is due at the engine's step.
    ///
    /// # Errors
    /// [`RunError::Unequal`] if a repetition gave other bits; [`RunError::SecondEngine`] if there could be none.
    pub fn at(
        &mut self,
        ensemble: &dyn Ensemble,
        stage: &StageContext,
        plan: &Plan,
        directory: &OutputDirectory,
    ) -> Result<(), RunError> {
        if let Some(segment) = &mut self.running {
            let taken = ensemble.step() - segment.begin;
            if taken.is_multiple_of(self.part) || taken == self.segment {
                segment.keep(ensemble, self.system.unwrap_or(0))?;
            }
            if taken < self.segment {
                return Ok(());
            }
        }
        if let Some(segment) = self.running.take() {
            segment.compare(plan, directory, self.system)?;
        }
        let step = ensemble.step() - stage.first_step;
        let into = step % self.recheck;
        if into < self.segment && step - into + self.segment <= stage.steps {
            let (stage, start) = (stage.clone(), ensemble.export(self.system.unwrap_or(0))?);
            let begin = ensemble.step() - into;
            self.running = Some(Segment { stage, begin, start, after: Vec::new() });
        }
        Ok(())
    }

    /// Steps up to `step` that are still to be compared.
    pub fn behind(&self, step: u64) -> u64 {
        self.running.as_ref().map_or(0, |segment| step - segment.start.step)
    }

    /// Compares no more of the running segments, which are those of all systems.
    pub fn leave_out(all: &mut [Recheck], step: u64) {
        let left_out: Vec<Segment> =
            all.iter_mut().filter_map(|recheck| recheck.running.take()).collect();
        if let Some(segment) = left_out.first() {
            let first = segment.start.step;
            tracing::warn!(
                "integrity.recheck: steps {first} to {step} are not compared, as the run ends"
            );
        }
    }

    /// Compares the steps up to the engine's one; the segment continues from there.
    ///
    /// # Errors
    /// As those of [`at`](Self::at).
    pub fn catch_up(
        &mut self,
        ensemble: &dyn Ensemble,
        plan: &Plan,
        directory: &OutputDirectory,
    ) -> Result<(), RunError> {
        let Some(mut segment) = self.running.take() else { return Ok(()) };
        if ensemble.step() == segment.start.step {
            self.running = Some(segment);
            return Ok(());
        }
        segment.keep(ensemble, self.system.unwrap_or(0))?;
        let (stage, begin) = (segment.stage.clone(), segment.begin);
        let start = segment.after.last().unwrap_or(&segment.start).clone();
        segment.compare(plan, directory, self.system)?;
        self.running = Some(Segment { stage, begin, start, after: Vec::new() });
        Ok(())
    }
}

impl Segment {
    /// Keeps the engine's state, if it is not kept already.
    fn keep(&mut self, ensemble: &dyn Ensemble, system: usize) -> Result<(), EngineError> {
        let last = self.after.last().unwrap_or(&self.start).step;
        if ensemble.step() > last {
            self.after.push(ensemble.export(system)?);
        }
        Ok(())
    }

    fn compare(
        self,
        plan: &Plan,
        directory: &OutputDirectory,
        system: Option<usize>,
    ) -> Result<(), RunError> {
        let plan = &plan.of_system(system.unwrap_or(0));
        let mut second = self.engine(plan)?;
        for (index, found) in self.after.iter().enumerate() {
            second.advance(found.step - second.step())?;
            let repeated = second.export()?;
            let Some(difference) = Difference::between(found, &repeated) else { continue };
            let equal_until =
                index.checked_sub(1).map_or(&self.start, |last| &self.after[last]).step;
            let mut third = self.engine(plan)?;
            third.advance(found.step - third.step())?;
            let third = third.export()?;
            let verdict = match [found, &repeated].map(|state| Difference::between(state, &third)) {
                [_, None] => "a third computation agrees with the repetition: the run erred",
                [None, _] => "a third computation agrees with the run: the repetition erred",
                _ => "a third computation agrees with neither: the hardware errs often",
            };
            let files = self.write(found, &repeated, directory, system)?;
            return Err(RunError::Unequal {
                step: found.step,
                equal_until,
                difference: difference.to_string(),
                verdict,
                files,
                directory: directory.path().to_owned(),
                system,
            });
        }
        tracing::debug!("steps {} to {} repeated", self.start.step, second.step());
        Ok(())
    }

    /// An engine that stands at the first state.
    fn engine(&self, plan: &Plan) -> Result<Box<dyn Engine>, RunError> {
        let mut plan = plan.clone();
        // A barostat may have changed it since the start of the stage.
        plan.system.simulation_box = self.start.simulation_box;
        // The state brings its choices with it.
        plan.run.tune = false;
        let begun = engine::create(&plan, &self.start).and_then(|mut engine| {
            engine.begin_stage(&self.stage)?;
            Ok(engine)
        });
        begun.map_err(|error: EngineError| RunError::SecondEngine { error })
    }

    /// Files that `system.initial.file` can start from.
    fn write(
        &self,
        found: &ExactState,
        repeated: &ExactState,
        directory: &OutputDirectory,
        system: Option<usize>,
    ) -> Result<Vec<PathBuf>, RunError> {
        let of = system.map_or_else(String::new, |system| format!("-system-{system}"));
        let states = [("start", &self.start), ("run", found), ("repeated", repeated)];
        let files = states.map(|(what, state)| -> Result<PathBuf, RunError> {
            let mut checkpoint = Checkpoint::new();
            put_state(&mut checkpoint, state)?;
            let path = directory.path().join(format!("recheck-{}{of}-{what}.scp", state.step));
            directory.full_disk().retry_when_full(|| checkpoint.write_as(&path))?;
            Ok(path)
        });
        files.into_iter().collect()
    }
}

/// In what two states of one step differ.
#[derive(Debug)]
struct Difference {
    /// Particles that differ.
    count: usize,
    /// All particles.
    of: usize,
    first: Option<First>,
}

/// The first particle that differs, and how.
#[derive(Debug)]
struct First {
    particle: usize,
    components: Vec<&'static str>,
    /// Bits of the first of these components.
    bits: [u64; 2],
}

const COMPONENTS: [[&str; 3]; 3] = [
    ["position x", "position y", "position z"],
    ["image x", "image y", "image z"],
    ["velocity x", "velocity y", "velocity z"],
];

impl Difference {
    fn between(one: &ExactState, other: &ExactState) -> Option<Self> {
        let numbers = |state: &ExactState, particle: usize| -> [[u64; 3]; 3] {
            let image = state.image[particle].map(|image| u64::from(image as u32));
            [state.position[particle], image, state.velocity[particle]]
        };
        let of = one.position.len();
        let mut difference = Difference { count: 0, of, first: None };
        for particle in 0..of {
            let (a, b) = (numbers(one, particle), numbers(other, particle));
            if a == b {
                continue;
            }
            difference.count += 1;
            if difference.first.is_none() {
                let (a, b) = (a.as_flattened(), b.as_flattened());
                let differing: Vec<usize> = (0..a.len()).filter(|&at| a[at] != b[at]).collect();
                let components =
                    differing.iter().map(|&at| COMPONENTS.as_flattened()[at]).collect();
                let bits = [a[differing[0]], b[differing[0]]];
                difference.first = Some(First { particle, components, bits });
            }
        }
        let equal = difference.count == 0
            && one.simulation_box == other.simulation_box
            && same_thermostat(&one.thermostat, &other.thermostat);
        (!equal).then_some(difference)
    }
}

fn same_thermostat(one: &ThermostatState, other: &ThermostatState) -> bool {
    let bits = |state: &ThermostatState| -> Vec<u64> {
        let chain = state.chain_position.iter().chain(&state.chain_velocity);
        let piston = state.piston.iter().flat_map(|piston| {
            let chain = piston.chain_position.iter().chain(&piston.chain_velocity);
            chain.chain(&piston.velocity)
        });
        chain.chain(piston).chain([&state.heat]).map(|number| number.to_bits()).collect()
    };
    bits(one) == bits(other)
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(First { particle, components, bits: [a, b] }) = &self.first else {
            return write!(f, "the box or the state of the thermostat differs");
        };
        write!(
            f,
            "{} of {} particles differ, the first is particle {particle} in {} ({a:016x} and {b:016x})",
            self.count,
            self.of,
            components.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_lie_within_their_stage() {
        let mut recheck = Recheck::new(IntegrityPlan { recheck: 100, segment: 10 }, None);
        assert_eq!(recheck.part, 1);
        assert_eq!(recheck.next_event(0, 1000), 100);
        assert_eq!(recheck.next_event(100, 1000), 200);
        assert_eq!(recheck.next_event(850, 1000), 900);
        assert_eq!(recheck.next_event(900, 1000), u64::MAX);
        assert_eq!(recheck.next_event(0, 109), u64::MAX);
        assert_eq!(recheck.next_event(0, 110), 100);
        recheck = Recheck::new(IntegrityPlan { recheck: 100, segment: 25 }, None);
        assert_eq!(recheck.part, 3);
    }
}
