//! Propensities: what a particle does in a time, averaged over runs from one configuration with velocities of their own
//! (Widmer-Cooper, Harrowell & Fynewever, Phys. Rev. Lett. 93, 135701 (2004)).
//!
//! All runs are looked at after the same steps, so that the sums over them are complete at once, and nothing is kept but the
//! configurations. Sums are made in 64-bit floats in the order of the runs, whoever makes them ([`RunSums`]); [`moments`] makes
//! averages over particles of them.
pub mod moments;

use rayon::prelude::*;

use self::moments::{Moments, Shape};
use super::cells::Cells;
use super::cosines::nearest_integer;
use super::dynamics::cages::Cages;
use super::{ObservableError, SampleContext, StateArrays, state_array};
use crate::arithmetic::elementary::sin_cos_2pi;
use crate::plan::{
    EnsemblePlan, InherentStructuresPlan, PropensityObservable, PropensityPlan, States,
};
use crate::system::Snapshot;

/// Propensities of a stage.
pub struct Propensities {
    plan: PropensityPlan,
    context: SampleContext,
    ensemble: EnsemblePlan,
    /// Of each configuration; none before the first step was seen.
    references: Vec<Reference>,
    /// The inherent structures of these, where they are wanted.
    inherent: Vec<Reference>,
}

/// A configuration that runs start from.
struct Reference {
    position: Vec<[f64; 3]>,
    image: Vec<[i32; 3]>,
    /// Neighbors of each particle, where bonds are looked at.
    bonds: Option<Cages>,
}

/// Sums of an observable and of its square over the runs of each configuration, in the order of the runs: by configuration,
/// particle. Whoever makes them, an engine too, gives these bits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunSums {
    pub sum: Vec<f64>,
    pub square: Vec<f64>,
}

/// What is known after one of the times.
#[derive(Clone, Debug, PartialEq)]
pub struct PropensityRow {
    /// Which one of the times.
    pub time: usize,
    /// In the order of the plan.
    pub observables: Vec<ObservableRow>,
}

/// Of one observable.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservableRow {
    /// Mean over runs, by configuration, particle.
    pub value: Vec<f64>,
    /// Mean of the square over runs.
    pub second_moment: Vec<f64>,
    /// Of each species.
    pub species: Vec<Moments>,
}

impl Propensities {
    /// # Panics
    /// If the ensemble has no configurations.
    pub fn new(plan: &PropensityPlan, ensemble: &EnsemblePlan, context: SampleContext) -> Self {
        assert!(!ensemble.configurations.is_empty(), "runs start from configurations");
        Propensities {
            plan: plan.clone(),
            context,
            ensemble: ensemble.clone(),
            references: Vec::new(),
            inherent: Vec::new(),
        }
    }

    /// Whether they are due after a step of the stage.
    pub fn is_due(&self, step: u64) -> bool {
        self.plan.steps.binary_search(&step).is_ok()
    }

    /// How inherent structures are looked for, if they are wanted.
    pub fn inherent(&self) -> Option<&InherentStructuresPlan> {
        self.plan.inherent.as_ref()
    }

    /// Takes the configurations, at the start of the stage: of the snapshots of all systems, whose positions are the same in
    /// all runs of one. `inherent`: the inherent structures of the configurations, where they are wanted.
    pub fn start(&mut self, snapshots: &[Snapshot], inherent: &[Snapshot]) {
        let of =
            |snapshot: &Snapshot| self.reference(snapshot.position.clone(), snapshot.image.clone());
        let first = self.firsts().map(|system| of(&snapshots[system])).collect();
        let inherent = inherent.iter().map(of).collect();
        (self.references, self.inherent) = (first, inherent);
    }

    /// The first run of each configuration.
    pub fn firsts(&self) -> impl Iterator<Item = usize> {
        (0..self.ensemble.groups()).map(|group| self.ensemble.group(group).start)
    }

    /// Takes the snapshots of all systems after a step of the stage, if they are due, and their inherent structures, where
    /// they are wanted.
    pub fn sample(
        &mut self,
        step: u64,
        snapshots: &[Snapshot],
        inherent: &[Snapshot],
    ) -> Option<PropensityRow> {
        let time = self.plan.steps.binary_search(&step).ok()?;
        let sums = |(states, of)| match states {
            States::Thermal => self.sums(of, &self.references, snapshots),
            States::Inherent => self.sums(of, &self.inherent, inherent),
        };
        let sums: Vec<RunSums> = self.plan.averages().map(sums).collect();
        Some(self.row(time, &sums))
    }

    /// The positions that displacements of these states count from: wrapped, by configuration, particle, axis of the box.
    /// Empty before the start, and where they are not wanted.
    pub fn initial_positions(&self, states: States) -> Vec<f64> {
        let dimension = self.context.simulation_box.dimension();
        let positions = self.of(states).iter().flat_map(|reference| &reference.position);
        positions.flat_map(|position| position[..dimension].to_vec()).collect()
    }

    fn of(&self, states: States) -> &[Reference] {
        match states {
            States::Thermal => &self.references,
            States::Inherent => &self.inherent,
        }
    }

    fn reference(&self, position: Vec<[f64; 3]>, image: Vec<[i32; 3]>) -> Reference {
        let bonds = self.plan.bonds.map(|bonds| {
            let simulation_box = &self.context.simulation_box;
            let place = |i: usize| position[i];
            let cells = Cells::new(simulation_box, position.len(), place);
            Cages::new(position.len(), place, &cells, bonds.radius)
        });
        Reference { position, image, bonds }
    }

    /// Sums over the runs of each configuration.
    fn sums(
        &self,
        of: PropensityObservable,
        references: &[Reference],
        snapshots: &[Snapshot],
    ) -> RunSums {
        let mut sums = RunSums::default();
        for (group, reference) in references.iter().enumerate() {
            let runs = &snapshots[self.ensemble.group(group)];
            let of_particle = |particle: usize| {
                let (mut sum, mut square) = (0.0, 0.0);
                for run in runs {
                    let value = self.value(of, reference, run, particle);
                    sum += value;
                    square += value * value;
                }
                (sum, square)
            };
            let particles = 0..reference.position.len();
            let of_group: Vec<(f64, f64)> =
                particles.into_par_iter().with_min_len(64).map(of_particle).collect();
            sums.sum.extend(of_group.iter().map(|(sum, _)| sum));
            sums.square.extend(of_group.iter().map(|(_, square)| square));
        }
        sums
    }

    /// Of a particle in a run.
    fn value(
        &self,
        of: PropensityObservable,
        reference: &Reference,
        run: &Snapshot,
        particle: usize,
    ) -> f64 {
        let simulation_box = &self.context.simulation_box;
        let (edges, dimension) = (simulation_box.padded_edges(), simulation_box.dimension());
        let moved: [f64; 3] = std::array::from_fn(|k| {
            // Apart, so that it is exact to the rounding of a coordinate in the box.
            let images = run.image[particle][k] - reference.image[particle][k];
            run.position[particle][k] - reference.position[particle][k]
                + f64::from(images) * edges[k]
        });
        let square = moved[0] * moved[0] + moved[1] * moved[1] + moved[2] * moved[2];
        match of {
            PropensityObservable::Displacement => square.sqrt(),
            PropensityObservable::SquareDisplacement => square,
            PropensityObservable::SelfOverlap => {
                let length = self.plan.overlap_length.unwrap_or(f64::NAN);
                f64::from(u8::from(square < length * length))
            }
            PropensityObservable::SelfIntermediateScatteringFunction => {
                let turns = self.plan.wavenumber.unwrap_or(f64::NAN) / std::f64::consts::TAU;
                let cosines = moved[..dimension].iter().map(|d| sin_cos_2pi(turns * d).1);
                cosines.sum::<f64>() / dimension as f64
            }
            PropensityObservable::BondBreaking => self.bonds_kept(reference, run, particle),
        }
    }

    /// Share of the bonds of a particle that are not broken; 1 for one without bonds.
    fn bonds_kept(&self, reference: &Reference, run: &Snapshot, particle: usize) -> f64 {
        let (Some(bonds), Some(radii)) = (&reference.bonds, self.plan.bonds) else {
            return f64::NAN;
        };
        let edges = self.context.simulation_box.padded_edges();
        let squared_radius = radii.breaking_radius * radii.breaking_radius;
        let of_particle = bonds.of(particle);
        let is_kept = |&&other: &&u32| {
            let d: [f64; 3] = std::array::from_fn(|k| {
                let d = run.position[other as usize][k] - run.position[particle][k];
                d - edges[k] * nearest_integer(d / edges[k])
            });
            d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < squared_radius
        };
        match of_particle.len() {
            0 => 1.0,
            count => of_particle.iter().filter(is_kept).count() as f64 / count as f64,
        }
    }

    /// Averages of the sums after one of the times.
    fn row(&self, time: usize, sums: &[RunSums]) -> PropensityRow {
        let runs = self.ensemble.samples as f64;
        let observables = sums.iter().map(|sums| {
            let value: Vec<f64> = sums.sum.iter().map(|sum| sum / runs).collect();
            let second_moment: Vec<f64> = sums.square.iter().map(|square| square / runs).collect();
            let shape = Shape {
                context: &self.context,
                runs: self.ensemble.samples,
                positions: self.references.iter().map(|of| &of.position[..]).collect(),
            };
            let species = moments::of_species(&shape, &value, &second_moment);
            ObservableRow { value, second_moment, species }
        });
        PropensityRow { time, observables: observables.collect() }
    }

    /// The configurations, for a checkpoint.
    pub fn save(&self) -> (serde_json::Value, StateArrays) {
        let mut arrays = Vec::new();
        for (states, [position, image]) in STORED {
            let all = self.of(states).iter();
            let positions = all.clone().flat_map(|of| of.position.iter().flatten().copied());
            let images = all.flat_map(|of| of.image.iter().flatten());
            arrays.push((position.to_owned(), positions.collect()));
            arrays.push((image.to_owned(), images.map(|&image| f64::from(image)).collect()));
        }
        (serde_json::json!({ "configurations": self.references.len() }), arrays)
    }

    /// Inverse of [`save`](Self::save).
    ///
    /// # Errors
    /// If they are not those of this plan.
    pub fn restore(&mut self, arrays: &StateArrays) -> Result<(), ObservableError> {
        let [thermal, inherent] = STORED.map(|(_, names)| self.restored(arrays, names));
        (self.references, self.inherent) = (thermal?, inherent?);
        let started = self.references.len();
        let expected = if self.plan.inherent.is_some() { started } else { 0 };
        match self.inherent.len() == expected {
            true => Ok(()),
            false => Err(ObservableError::State("inherent structures of propensities".into())),
        }
    }

    fn restored(
        &self,
        arrays: &StateArrays,
        [position, image]: [&str; 2],
    ) -> Result<Vec<Reference>, ObservableError> {
        let [position, image] = [state_array(arrays, position)?, state_array(arrays, image)?];
        let particles = self.context.species_of.len();
        let expected = 3 * particles * self.ensemble.groups();
        if position.len() != image.len() || !(position.is_empty() || position.len() == expected) {
            return Err(ObservableError::State("configurations of propensities".into()));
        }
        let each = |array: &[f64]| array.as_chunks::<3>().0.to_vec();
        let of_groups = position.chunks(3 * particles).zip(image.chunks(3 * particles));
        let restored = of_groups.map(|(position, image)| {
            let image = each(image).into_iter().map(|image| image.map(|image| image as i32));
            self.reference(each(position), image.collect())
        });
        Ok(restored.collect())
    }
}

/// Names of positions and images in a checkpoint.
const STORED: [(States, [&str; 2]); 2] = [
    (States::Thermal, ["position", "image"]),
    (States::Inherent, ["inherent-position", "inherent-image"]),
];

#[cfg(test)]
mod tests;
