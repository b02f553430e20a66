//! A minimum of a strained system, and how it differs from another one.
use crate::engine::{ExactState, InherentStructure};
use crate::plan::{Plan, Precision};
use crate::system::{SimulationBox, Snapshot, species_of_particles};

/// A minimum of the potential energy in a box.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Minimum {
    pub simulation_box: SimulationBox,
    pub strain: f64,
    pub position: Vec<[f64; 3]>,
    pub image: Vec<[i32; 3]>,
    /// Per particle.
    pub energy: f64,
    pub pressure: f64,
    pub stress: [[f64; 3]; 3],
    pub residual_force: f64,
}

/// Numbers of a [`Minimum`] besides its configuration.
const NUMBERS: usize = 13;

/// Displacements that are not those of the box.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct NonAffine {
    /// Of a particle, less the mean over all.
    pub largest: f64,
    /// `(sum d^2)^2 / (N sum d^4)`.
    pub participation_ratio: f64,
}

impl Minimum {
    pub fn new(found: InherentStructure, simulation_box: SimulationBox, strain: f64) -> Self {
        Minimum {
            simulation_box,
            strain,
            position: found.snapshot.position,
            image: found.snapshot.image,
            energy: found.energy,
            pressure: found.pressure,
            stress: found.stress,
            residual_force: found.residual_force,
        }
    }

    /// Without velocities and diameters.
    pub fn snapshot(&self, step: u64) -> Snapshot {
        Snapshot {
            step,
            position: self.position.clone(),
            fraction: Vec::new(),
            image: self.image.clone(),
            velocity: vec![[0.0; 3]; self.position.len()],
            diameter: Default::default(),
        }
    }

    /// The configuration in which particles have the same places as fractions of the periods of another box, taken along by its
    /// strain: where that has flipped the box, images count its new periods.
    pub fn in_box(&self, simulation_box: &SimulationBox, step: u64) -> Snapshot {
        let mut snapshot = self.snapshot(step);
        let (old, new) = (self.simulation_box.padded_edges(), simulation_box.padded_edges());
        let change = simulation_box.tilt() - self.simulation_box.tilt();
        let sheared = SimulationBox::nearest_tilt(change);
        let flips = (sheared - change) as i32;
        for (position, image) in snapshot.position.iter_mut().zip(&mut snapshot.image) {
            for axis in 0..simulation_box.dimension() {
                position[axis] *= new[axis] / old[axis];
            }
            if sheared != 0.0 {
                position[0] += sheared * new[0] * (position[1] / new[1]);
            }
            image[0] += flips * image[1];
        }
        snapshot
    }

    /// How far the particles are from a configuration in the same box.
    pub fn non_affine(&self, affine: &Snapshot) -> NonAffine {
        let displacement = |id: usize| {
            let to = self.unwrapped(id);
            let from = affine.unwrapped(id, &self.simulation_box);
            [0, 1, 2].map(|axis| to[axis] - from[axis])
        };
        let count = self.position.len();
        let displacements: Vec<[f64; 3]> = (0..count).map(displacement).collect();
        let mean =
            [0, 1, 2].map(|axis| displacements.iter().map(|d| d[axis]).sum::<f64>() / count as f64);
        let (mut largest2, mut second, mut fourth) = (0.0_f64, 0.0, 0.0);
        for d in &displacements {
            let square: f64 = d.iter().zip(mean).map(|(d, mean)| (d - mean).powi(2)).sum();
            largest2 = largest2.max(square);
            second += square;
            fourth += square * square;
        }
        let ratio = second * second / (count as f64 * fourth);
        let participation_ratio = if fourth > 0.0 { ratio } else { 0.0 };
        NonAffine { largest: largest2.sqrt(), participation_ratio }
    }

    /// Largest distance of a particle from where it is in another minimum in the same box.
    pub fn distance(&self, other: &Minimum) -> f64 {
        let distance2 = |id: usize| -> f64 {
            let [a, b] = [self, other].map(|minimum| minimum.unwrapped(id));
            a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
        };
        (0..self.position.len()).map(distance2).fold(0.0, f64::max).sqrt()
    }

    fn unwrapped(&self, id: usize) -> [f64; 3] {
        self.simulation_box.unwrapped(self.position[id], self.image[id])
    }

    /// As a state of this precision.
    ///
    /// # Errors
    /// A particle whose place is no number.
    pub fn state(
        &self,
        snapshot: &Snapshot,
        plan: &Plan,
        precision: Precision,
    ) -> Result<ExactState, usize> {
        let species = &plan.system.species;
        ExactState::from_snapshot(
            snapshot,
            species_of_particles(species),
            self.simulation_box,
            plan.run.flight(),
            precision,
            species,
        )
    }

    pub fn numbers(&self) -> [f64; NUMBERS] {
        let mut numbers = [0.0; NUMBERS];
        numbers[..4].copy_from_slice(&[
            self.strain,
            self.energy,
            self.pressure,
            self.residual_force,
        ]);
        numbers[4..].copy_from_slice(self.stress.as_flattened());
        numbers
    }

    /// With the [`numbers`](Self::numbers) of one; `None` if these are too few.
    pub fn of_numbers(
        numbers: &[f64],
        simulation_box: impl FnOnce(f64) -> SimulationBox,
        position: Vec<[f64; 3]>,
        image: Vec<[i32; 3]>,
    ) -> Option<Self> {
        let &[strain, energy, pressure, residual_force, ref stress @ ..] = numbers else {
            return None;
        };
        let mut of_stress = [[0.0; 3]; 3];
        if stress.len() != 9 {
            return None;
        }
        of_stress.as_flattened_mut().copy_from_slice(stress);
        Some(Minimum {
            simulation_box: simulation_box(strain),
            strain,
            position,
            image,
            energy,
            pressure,
            stress: of_stress,
            residual_force,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minimum(position: Vec<[f64; 3]>) -> Minimum {
        Minimum {
            simulation_box: SimulationBox::new(&[4.0; 3]),
            strain: 0.0,
            image: vec![[0; 3]; position.len()],
            position,
            energy: -1.0,
            pressure: 0.1,
            stress: [[0.1, 0.2, 0.3], [0.2, 0.4, 0.5], [0.3, 0.5, 0.6]],
            residual_force: 1e-9,
        }
    }

    #[test]
    fn one_particle_that_moves_has_the_smallest_participation_ratio() {
        let before = minimum(vec![[0.5, 0.5, 0.5]; 100]);
        let mut after = before.clone();
        after.position[7][1] += 0.2;
        let one = after.non_affine(&before.snapshot(0));
        // Less the mean, the others move by a hundredth of it.
        assert!((one.largest - 0.198).abs() < 1e-12, "{}", one.largest);
        assert!((one.participation_ratio - 0.0102).abs() < 1e-4, "{}", one.participation_ratio);
        after.position.iter_mut().for_each(|position| position[0] += 0.1);
        let drifted = after.non_affine(&before.snapshot(0));
        assert!((drifted.largest - one.largest).abs() < 1e-12, "a drift of all counts nothing");
        assert_eq!(before.non_affine(&before.snapshot(0)), NonAffine::default());
    }

    #[test]
    fn numbers_make_it_again() {
        let whole = minimum(vec![[1.0, 2.0, 3.0]]);
        let made = Minimum::of_numbers(
            &whole.numbers(),
            |_| whole.simulation_box,
            whole.position.clone(),
            whole.image.clone(),
        );
        assert_eq!(made.unwrap(), whole);
    }

    #[test]
    fn a_flip_of_the_box_moves_nobody_from_where_the_strain_takes_it() {
        let mut before = minimum(vec![[0.5, 1.0, 2.0], [3.0, 2.0, 1.0]]);
        before.image = vec![[1, 3, -1], [0, -2, 5]];
        before.simulation_box = before.simulation_box.with_tilt(0.4375);
        let after = before.simulation_box.with_tilt(-0.4375);
        let sheared = before.in_box(&after, 0);
        for id in 0..2 {
            let [x, y, z] = before.unwrapped(id);
            assert_eq!(sheared.unwrapped(id, &after), [x + 0.125 * y, y, z]);
        }
        let back = Minimum { simulation_box: after, ..before.clone() };
        let back = Minimum { position: sheared.position, image: sheared.image, ..back };
        let back = back.in_box(&before.simulation_box, 0);
        assert_eq!((back.position, back.image), (before.position, before.image));
    }
}
