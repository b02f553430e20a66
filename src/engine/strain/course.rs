//! The steps of strain of a system, as a sequence of descents: each asks for the next one.
use std::sync::Arc;

use super::minimum::{Minimum, NonAffine};
use super::system::{Protocol, System};
use super::{StrainEvent, StrainPoint};
use crate::engine::{Descents, InherentStructure};
use crate::system::{SimulationBox, Snapshot};

/// What a step has led to.
pub(super) type StepEnd = (StrainPoint, Vec<StrainEvent>);

/// Steps that a system takes one after the other.
pub(super) struct Course<'a> {
    protocol: &'a Protocol,
    system: &'a mut System,
    /// Steps before, since the start of the stage and of the run.
    before: (u64, u64),
    steps: u64,
    present: Option<Step>,
    ended: Vec<StepEnd>,
}

impl<'a> Course<'a> {
    pub fn new(
        protocol: &'a Protocol,
        system: &'a mut System,
        before: (u64, u64),
        steps: u64,
    ) -> Self {
        Course { protocol, system, before, steps, present: None, ended: Vec::new() }
    }

    /// Of all steps, when there are no more descents.
    pub fn into_ended(self) -> Vec<StepEnd> {
        self.ended
    }
}

impl Descents for Course<'_> {
    fn next(&mut self) -> Option<(&Snapshot, SimulationBox)> {
        let step = match self.present.take() {
            Some(step) => step,
            None if self.ended.len() as u64 == self.steps => return None,
            None => {
                let number = self.ended.len() as u64 + 1;
                Step::begin(
                    self.protocol,
                    self.system,
                    self.before.0 + number,
                    self.before.1 + number,
                )
            }
        };
        let Trial { affine, simulation_box, .. } = &self.present.insert(step).trial;
        Some((affine, *simulation_box))
    }

    fn found(&mut self, minimum: InherentStructure) {
        let mut step = self.present.take().expect("a step has asked for it");
        step.take(self.protocol, self.system, minimum);
        if step.done < step.full {
            step.go_on(self.protocol, self.system);
            self.present = Some(step);
        } else {
            self.ended.push(step.end(self.protocol, self.system));
        }
    }
}

/// A configuration whose minimum is sought: that of the present one in a box that is strained further.
struct Trial {
    strain: f64,
    simulation_box: SimulationBox,
    affine: Snapshot,
}

impl Trial {
    fn new(protocol: &Protocol, system: &System, strain: f64, run_step: u64) -> Self {
        let reference = &protocol.plan.system.simulation_box;
        let simulation_box = protocol.strain.mode.box_at(reference, strain);
        Trial { strain, simulation_box, affine: system.strained(&simulation_box, run_step) }
    }
}

/// A step of strain that is under way.
struct Step {
    /// Since the start of the stage and of the run, at its end.
    step: u64,
    run_step: u64,
    /// Multiples of the step of strain before and after it.
    from: i64,
    to: i64,
    /// Shortest parts of the step, those that are behind, and those that are tried.
    full: u64,
    done: u64,
    part: u64,
    /// Where an event has been seen to lie before.
    fails_at: Option<u64>,
    trial: Trial,
    iterations: u64,
    largest: f64,
    events: Vec<StrainEvent>,
}

impl Step {
    fn begin(protocol: &Protocol, system: &System, step: u64, run_step: u64) -> Self {
        let strain = &protocol.strain;
        let [from, to] = [step - 1, step].map(|step| strain.multiple(step));
        let full = 1_u64 << strain.halvings();
        Step {
            step,
            run_step,
            from,
            to,
            full,
            done: 0,
            part: full,
            fails_at: None,
            trial: Trial::new(protocol, system, strain.strain(to), run_step),
            iterations: 0,
            largest: 0.0,
            events: Vec::new(),
        }
    }

    fn direction(&self) -> f64 {
        (self.to - self.from) as f64
    }

    /// Tries the next part.
    fn go_on(&mut self, protocol: &Protocol, system: &System) {
        let strain = &protocol.strain;
        // The ends of the step are the points themselves.
        let at = match self.done + self.part {
            part if part == self.full => strain.strain(self.to),
            part => {
                let fraction = part as f64 / self.full as f64;
                strain.step * (self.from as f64 + self.direction() * fraction)
            }
        };
        self.trial = Trial::new(protocol, system, at, self.run_step);
    }

    /// Takes the minimum that the part has led to, or tries a shorter one.
    fn take(&mut self, protocol: &Protocol, system: &mut System, found: InherentStructure) {
        let strain = &protocol.strain;
        let iterations = found.iterations;
        self.iterations += iterations;
        let minimum = Minimum::new(found, self.trial.simulation_box, self.trial.strain);
        let drop = system.energy_drop(protocol, &minimum);
        let is_event = drop > strain.event_threshold;
        if is_event && self.part > 1 {
            self.fails_at = Some(self.done + self.part);
            self.part = self.part.div_ceil(2);
            return;
        }
        self.done += self.part;
        let non_affine = minimum.non_affine(&self.trial.affine);
        self.largest = self.largest.max(non_affine.largest);
        let before = std::mem::replace(&mut system.present, Arc::new(minimum));
        system.warn(protocol, self.run_step, iterations);
        if is_event {
            system.forget_branch();
            self.events.push(self.event(protocol, (&before, &system.present), drop, &non_affine));
        }
        self.part = match self.fails_at {
            // It has been passed, or met elsewhere.
            Some(fails_at) if is_event || self.done >= fails_at => self.full - self.done,
            Some(fails_at) => (self.part / 2).max(1).min(fails_at - self.done),
            None => self.full - self.done,
        };
        let done = self.done;
        self.fails_at = self.fails_at.filter(|&fails_at| !is_event && done < fails_at);
    }

    fn event(
        &self,
        protocol: &Protocol,
        (before, after): (&Minimum, &Minimum),
        energy_drop: f64,
        non_affine: &NonAffine,
    ) -> StrainEvent {
        let mode = &protocol.strain.mode;
        let stress =
            |minimum: &Minimum| mode.stress(&minimum.stress, minimum.simulation_box.dimension());
        StrainEvent {
            system: 0,
            step: self.run_step,
            strain: [before.strain, after.strain],
            energy_drop,
            stress_drop: self.direction() * (stress(before) - stress(after)),
            participation_ratio: non_affine.participation_ratio,
            largest_displacement: non_affine.largest,
        }
    }

    fn end(self, protocol: &Protocol, system: &mut System) -> StepEnd {
        system.take_bits_of_the_way_there(protocol, self.to);
        if protocol.strain.turns_after(self.step) {
            system.keep(&protocol.strain, self.to);
        }
        (system.point(self.run_step, self.iterations, self.largest), self.events)
    }
}
