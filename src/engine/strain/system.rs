//! One system that is strained.
use std::sync::Arc;

use super::StrainPoint;
use super::branch::Branch;
use super::minimum::Minimum;
use crate::engine::{ExactState, InherentStructure};
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

impl System {
    /// In the minimum that a descent from `start` has found, without strain.
    pub fn start(
        protocol: &Protocol,
        start: &Snapshot,
        found: InherentStructure,
        most: usize,
    ) -> (Self, StrainPoint) {
        let Protocol { plan, strain, .. } = protocol;
        let iterations = found.iterations;
        let present = Arc::new(Minimum::new(found, plan.system.simulation_box, 0.0));
        let mut system = System {
            diameter: start.diameter.clone(),
            branch: Branch::new(most),
            warned: false,
            present,
        };
        system.warn(protocol, start.step, iterations);
        system.keep(strain, 0);
        let point = system.point(start.step, iterations, 0.0);
        (system, point)
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

    /// The configuration that the present minimum has become when the box is strained.
    pub fn strained(&self, simulation_box: &SimulationBox, run_step: u64) -> Snapshot {
        let affine = self.present.in_box(simulation_box, run_step);
        Snapshot { diameter: self.diameter.clone(), ..affine }
    }

    /// Energy per particle by which a minimum is below that of the elastic branch from the present one.
    pub fn energy_drop(&self, protocol: &Protocol, minimum: &Minimum) -> f64 {
        let (before, mode) = (&self.present, &protocol.strain.mode);
        let volume_per_particle = before.simulation_box.volume() / before.position.len() as f64;
        let stress = mode.stress(&before.stress, before.simulation_box.dimension());
        let elastic = volume_per_particle * stress * (minimum.strain - before.strain);
        elastic - (minimum.energy - before.energy)
    }

    /// On the way back along an elastic branch: the minimum of the way there, where the present one is the same.
    pub fn take_bits_of_the_way_there(&mut self, protocol: &Protocol, multiple: i64) {
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

    /// Keeps the present minimum for the way back, if there is one.
    pub fn keep(&mut self, strain: &StrainPlan, multiple: i64) {
        if strain.turns.len() > 1 {
            self.branch.insert(multiple, self.present.clone());
        }
    }

    /// The present minimum as a point of the curve.
    pub fn point(&self, step: u64, iterations: u64, largest_displacement: f64) -> StrainPoint {
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

    /// Warns, once, of forces that are left.
    pub fn warn(&mut self, protocol: &Protocol, step: u64, iterations: u64) {
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

    /// After a plastic event there is no way back.
    pub fn forget_branch(&mut self) {
        self.branch.forget();
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
