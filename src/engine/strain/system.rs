//! One system that is strained.
use std::sync::Arc;

use super::branch::Branch;
use super::minimum::{Minimum, NonAffine};
use super::{StrainEvent, StrainPoint};
use crate::engine::{EngineError, ExactState, Minimizer};
use crate::plan::{Plan, StrainPlan};
use crate::system::{SimulationBox, Snapshot};

/// Two minima are one where no particle is further from its place than this, in units of the smallest sigma.
const SAME: f64 = 1e-3;

/// What all systems share.
pub(super) struct Protocol {
    /// Its box is the one at the start of the stage.
    pub plan: Plan,
    pub strain: StrainPlan,
    pub stage: String,
}

/// A system of a strain stage, in a minimum.
pub(super) struct System {
    pub present: Arc<Minimum>,
    diameter: Arc<[f64]>,
    branch: Branch,
    /// Whether there was a warning of forces that are left.
    warned: bool,
}

/// A part of a step of strain that was tried.
struct Tried {
    minimum: Minimum,
    non_affine: NonAffine,
    /// Energy per particle by which the minimum is below that of the elastic branch.
    drop: f64,
    iterations: u64,
}

impl System {
    /// The minimum below a state, without strain.
    pub fn start(
        protocol: &Protocol,
        state: &ExactState,
        minimizer: &mut dyn Minimizer,
        most: usize,
    ) -> Result<(Self, StrainPoint), EngineError> {
        let Protocol { plan, strain, .. } = protocol;
        let snapshot = state.to_snapshot(&plan.system.species);
        let simulation_box = plan.system.simulation_box;
        minimizer.set_box(simulation_box)?;
        let found = minimizer.minimize(&snapshot)?;
        let iterations = found.iterations;
        let present = Arc::new(Minimum::new(found, simulation_box, 0.0));
        let mut system = System {
            diameter: snapshot.diameter.clone(),
            branch: Branch::new(most),
            warned: false,
            present,
        };
        system.warn(protocol, state.step, iterations);
        system.keep(strain, 0);
        let point = system.point(state.step, iterations, 0.0);
        Ok((system, point))
    }

    /// As a checkpoint knows it, with `numbers` of the present minimum and the `arrays` of the branch.
    pub fn restored(
        protocol: &Protocol,
        state: &ExactState,
        arrays: &[(String, Vec<f64>)],
        most: usize,
    ) -> Option<Self> {
        let Protocol { plan, strain, .. } = protocol;
        let array = |wanted: &str| arrays.iter().find(|(name, _)| name == wanted).map(|of| &of.1);
        let reference = plan.system.simulation_box;
        let in_box = |at: f64| strain.mode.box_at(&reference, at);
        let Snapshot { position, image, diameter, .. } = state.to_snapshot(&plan.system.species);
        let count = position.len();
        // A state has skewed coordinates, of which places come out rounded.
        let (position, image) = match array("position") {
            Some(exact) => (exact.as_chunks::<3>().0.to_vec(), integers(array("image")?)),
            None => (position, image),
        };
        if [position.len(), image.len()] != [count; 2] {
            return None;
        }
        let present = Minimum::of_numbers(array("present")?, in_box, position, image)?;
        let mut branch = Branch::new(most);
        let (multiples, numbers) = (array("multiples")?, array("numbers")?);
        let (positions, images) = (array("positions")?, array("images")?);
        let width = present.numbers().len();
        for (at, multiple) in multiples.iter().enumerate() {
            let particles = 3 * count * at..3 * count * (at + 1);
            let position = positions.get(particles.clone())?.as_chunks::<3>().0.to_vec();
            let image = integers(images.get(particles)?);
            let numbers = numbers.get(width * at..width * (at + 1))?;
            let minimum = Minimum::of_numbers(numbers, in_box, position, image)?;
            branch.insert(*multiple as i64, Arc::new(minimum));
        }
        Some(System { present: Arc::new(present), diameter, branch, warned: false })
    }

    /// What a checkpoint holds besides the state.
    pub fn memory(&self) -> Vec<(String, Vec<f64>)> {
        let (mut multiples, mut numbers) = (Vec::new(), Vec::new());
        let (mut positions, mut images) = (Vec::new(), Vec::new());
        for (multiple, minimum) in self.branch.iter() {
            multiples.push(multiple as f64);
            numbers.extend(minimum.numbers());
            positions.extend_from_slice(minimum.position.as_flattened());
            images.extend(floats(&minimum.image));
        }
        let present = self.present.numbers().to_vec();
        let mut named = Vec::new();
        if self.simulation_box().is_tilted() {
            named.push(("position", self.present.position.as_flattened().to_vec()));
            named.push(("image", floats(&self.present.image).collect()));
        }
        named.extend([
            ("present", present),
            ("multiples", multiples),
            ("numbers", numbers),
            ("positions", positions),
            ("images", images),
        ]);
        named.into_iter().map(|(name, values): (&str, _)| (name.to_owned(), values)).collect()
    }

    pub fn snapshot(&self, step: u64) -> Snapshot {
        Snapshot { diameter: self.diameter.clone(), ..self.present.snapshot(step) }
    }

    /// Takes a step of strain, which ends `step` steps after the start of the stage, and at `run_step` of the run.
    pub fn advance(
        &mut self,
        protocol: &Protocol,
        minimizer: &mut dyn Minimizer,
        (step, run_step): (u64, u64),
    ) -> Result<(StrainPoint, Vec<StrainEvent>), EngineError> {
        let strain = &protocol.strain;
        let [from, to] = [step - 1, step].map(|step| strain.multiple(step));
        let (full, direction) = (1_u64 << strain.halvings(), (to - from) as f64);
        // At a fraction of the step; its ends are the points themselves.
        let at = |part: u64| match part {
            part if part == full => strain.strain(to),
            part => strain.step * (from as f64 + direction * (part as f64 / full as f64)),
        };
        let (mut done, mut part) = (0, full);
        // Where an event has been seen to lie before.
        let mut fails_at = None;
        let (mut iterations, mut largest, mut events) = (0, 0.0_f64, Vec::new());
        while done < full {
            let tried = self.tried(protocol, minimizer, at(done + part), run_step)?;
            iterations += tried.iterations;
            let is_event = tried.drop > strain.event_threshold;
            if is_event && part > 1 {
                fails_at = Some(done + part);
                part = part.div_ceil(2);
                continue;
            }
            done += part;
            largest = largest.max(tried.non_affine.largest);
            let before = std::mem::replace(&mut self.present, Arc::new(tried.minimum));
            self.warn(protocol, run_step, tried.iterations);
            if is_event {
                self.branch.forget();
                let stress = |minimum: &Minimum| {
                    strain.mode.stress(&minimum.stress, minimum.simulation_box.dimension())
                };
                events.push(StrainEvent {
                    system: 0,
                    step: run_step,
                    strain: [before.strain, self.present.strain],
                    energy_drop: tried.drop,
                    stress_drop: direction * (stress(&before) - stress(&self.present)),
                    participation_ratio: tried.non_affine.participation_ratio,
                    largest_displacement: tried.non_affine.largest,
                });
            }
            part = match fails_at {
                // It has been passed, or met elsewhere.
                Some(fails_at) if is_event || done >= fails_at => full - done,
                Some(fails_at) => (part / 2).max(1).min(fails_at - done),
                None => full - done,
            };
            fails_at = fails_at.filter(|&fails_at| !is_event && done < fails_at);
        }
        self.take_bits_of_the_way_there(protocol, to);
        if strain.turns_after(step) {
            self.keep(strain, to);
        }
        Ok((self.point(run_step, iterations, largest), events))
    }

    /// The minimum at a strain that the present one leads to.
    fn tried(
        &self,
        protocol: &Protocol,
        minimizer: &mut dyn Minimizer,
        at: f64,
        run_step: u64,
    ) -> Result<Tried, EngineError> {
        let Protocol { plan, strain, .. } = protocol;
        let before = &self.present;
        let simulation_box = strain.mode.box_at(&plan.system.simulation_box, at);
        let affine = before.in_box(&simulation_box, run_step);
        let affine = Snapshot { diameter: self.diameter.clone(), ..affine };
        minimizer.set_box(simulation_box)?;
        let found = minimizer.minimize(&affine)?;
        let iterations = found.iterations;
        let minimum = Minimum::new(found, simulation_box, at);
        let volume_per_particle = before.simulation_box.volume() / before.position.len() as f64;
        let stress = strain.mode.stress(&before.stress, simulation_box.dimension());
        let elastic = volume_per_particle * stress * (at - before.strain);
        let drop = elastic - (minimum.energy - before.energy);
        Ok(Tried { non_affine: minimum.non_affine(&affine), minimum, drop, iterations })
    }

    /// On the way back along an elastic branch: the minimum of the way there, where the present one is the same.
    fn take_bits_of_the_way_there(&mut self, protocol: &Protocol, multiple: i64) {
        let Some(known) = self.branch.get(multiple) else { return };
        let tolerance = protocol.strain.descent.force_tolerance;
        let converged = self.present.residual_force.max(known.residual_force) < tolerance;
        let near = SAME * protocol.plan.potential.smallest_length();
        if converged && self.present.distance(known) < near {
            self.present = known.clone();
        } else {
            self.branch.forget();
        }
    }

    fn keep(&mut self, strain: &StrainPlan, multiple: i64) {
        if strain.turns.len() > 1 {
            self.branch.insert(multiple, self.present.clone());
        }
    }

    fn point(&self, step: u64, iterations: u64, largest_displacement: f64) -> StrainPoint {
        let Minimum { strain, energy, pressure, stress, residual_force, .. } = *self.present;
        StrainPoint {
            step,
            strain,
            energy,
            pressure,
            stress,
            residual_force,
            iterations,
            largest_displacement,
        }
    }

    fn warn(&mut self, protocol: &Protocol, step: u64, iterations: u64) {
        let residual = self.present.residual_force;
        if self.warned || residual < protocol.strain.descent.force_tolerance {
            return;
        }
        self.warned = true;
        tracing::warn!(
            "stage \"{}\", step {step}: forces of up to {residual:.1e} are left in a minimum after {iterations} iterations \
             (strain.maximum_iterations); residual_force in its results holds those of all points",
            protocol.stage
        );
    }

    /// The box that it is in.
    pub fn simulation_box(&self) -> SimulationBox {
        self.present.simulation_box
    }
}

fn floats(images: &[[i32; 3]]) -> impl Iterator<Item = f64> + '_ {
    images.as_flattened().iter().map(|&image| f64::from(image))
}

fn integers(numbers: &[f64]) -> Vec<[i32; 3]> {
    let images = numbers.as_chunks::<3>().0;
    images.iter().map(|image| image.map(|number| number as i32)).collect()
}
