//! Propensities of a stage.
use hdf5::{File, Group, Hyperslab, Result, SliceOrIndex};
use ndarray::{ArrayViewD, IxDyn};

use super::h5md::{
    string_attribute, strings_attribute, write_again, write_array, write_scalar, write_scalar_again,
};
use super::systems::create_groups;
use crate::observable::propensity::PropensityRow;
use crate::observable::propensity::moments::{Moments, left_out};
use crate::plan::{Plan, PropensityPlan, StagePlan, States};
use crate::system::species_of_particles;

const ROOT: &str = "propensity";
/// Number of times that were reached; written last.
const MEASURED: &str = "measured";
const POSITION: &str = "initial_position";
const INHERENT_POSITION: &str = "inherent_initial_position";
/// By configuration, time, particle.
const OF_PARTICLES: [&str; 2] = ["value", "second_moment"];
/// Bytes in a chunk of those, at most, if it holds particles of more than one configuration.
const CHUNK_BYTES: usize = 1 << 18;

/// What a number by time and species is.
struct OfSpecies {
    name: &'static str,
    /// Power of the observable that its unit is; 0: a pure number.
    power: usize,
    description: &'static str,
    of: fn(&Moments) -> f64,
}

const OF_SPECIES: [OfSpecies; 5] = [
    OfSpecies { name: "mean", power: 1, description: "C = <<X>_iso>", of: |moments| moments.mean },
    OfSpecies {
        name: "square_of_propensity",
        power: 2,
        description: "delta = <<X>_iso^2>, with the share (Delta - delta) / (M - 1) of finitely many runs M",
        of: |moments| moments.square_of_propensity,
    },
    OfSpecies {
        name: "square",
        power: 2,
        description: "Delta = <<X^2>_iso>",
        of: |moments| moments.square,
    },
    OfSpecies {
        name: "predictable_share",
        power: 0,
        description: "R = (delta' - C^2) / (Delta - C^2), delta' = delta - (Delta - delta) / (M - 1)",
        of: |moments| moments.predictable_share,
    },
    OfSpecies {
        name: "predictable_share_error",
        power: 0,
        description: "standard error of R by a jackknife",
        of: |moments| moments.predictable_share_error,
    },
];

/// What a results file has room for: arrays of fixed size, of which the first times are filled.
///
/// - `/propensity/{step, time}` `[T]`, `measured`: number of times that are there;
/// - `/propensity/species` `[N]`, `initial_position` and, if they are wanted, `inherent_initial_position` `[C, N, D]`;
/// - `/propensity/NAME/{value, second_moment}` `[C, T, N]`: means over the runs;
/// - `/propensity/NAME/{mean, square_of_propensity, square, predictable_share, predictable_share_error}` `[T, S]`.
#[derive(Clone, Debug, PartialEq)]
pub struct PropensityLayout {
    plan: PropensityPlan,
    timestep: f64,
    configurations: usize,
    runs: usize,
    species_of: Vec<u8>,
    species: usize,
    dimension: usize,
}

impl PropensityLayout {
    /// Of a stage that has propensities.
    pub fn of(plan: &Plan, stage: &StagePlan) -> Option<Self> {
        let (of_stage, ensemble) = (stage.propensity.clone()?, plan.ensemble.as_ref()?);
        Some(PropensityLayout {
            plan: of_stage,
            timestep: plan.run.timestep,
            configurations: ensemble.groups(),
            runs: ensemble.samples,
            species_of: species_of_particles(&plan.system.species),
            species: plan.system.species.len(),
            dimension: plan.system.simulation_box.dimension(),
        })
    }

    /// `[C, T, N]`.
    fn shape_of_particles(&self) -> [usize; 3] {
        [self.configurations, self.plan.steps.len(), self.species_of.len()]
    }

    fn paths(&self) -> impl Iterator<Item = String> {
        self.plan.averages().map(|(states, of)| format!("{ROOT}/{}", of.group_name(states)))
    }

    pub(super) fn create(&self, file: &File) -> Result<()> {
        let root = create_groups(file, ROOT)?;
        let description = "means over runs with other velocities from the same configurations";
        string_attribute(&root, "description", description)?;
        let steps: Vec<i64> = self.plan.steps.iter().map(|&step| step as i64).collect();
        write_array(&root, "step", &[steps.len()], &steps)?;
        let times: Vec<f64> = steps.iter().map(|&step| step as f64 * self.timestep).collect();
        let time = write_array(&root, "time", &[times.len()], &times)?;
        string_attribute(&time, "unit", "tau")?;
        let species: Vec<u64> = self.species_of.iter().map(|&species| species.into()).collect();
        write_array(&root, "species", &[species.len()], &species)?;
        write_scalar(&root, "runs", &(self.runs as u64))?;
        write_scalar(&root, MEASURED, &0_u64)?;
        let shape = [self.configurations, self.species_of.len(), self.dimension];
        let unknown = vec![f64::NAN; shape.iter().product()];
        let inherent = self.plan.inherent.map(|_| INHERENT_POSITION);
        for name in [POSITION].into_iter().chain(inherent) {
            let position = write_array(&root, name, &shape, &unknown)?;
            string_attribute(&position, "unit", "sigma")?;
        }
        for ((states, observable), path) in self.plan.averages().zip(self.paths()) {
            let group = create_groups(file, &path)?;
            let between = match states {
                States::Thermal => "",
                States::Inherent => ", of the inherent structures of both states",
            };
            let formula = self.plan.formula(observable) + between;
            string_attribute(&group, "description", &formula)?;
            let [unit, of_square] = observable.units();
            for (name, unit) in OF_PARTICLES.into_iter().zip([unit, of_square]) {
                let [configurations, times, particles] = self.shape_of_particles();
                let together = (CHUNK_BYTES / (8 * particles)).clamp(1, configurations);
                let dataset = group
                    .new_dataset::<f64>()
                    .shape([configurations, times, particles])
                    .chunk([together, 1, particles])
                    .fill_value(f64::NAN)
                    .create(name)?;
                strings_attribute(&dataset, "axes", &["configuration", "time", "particle"])?;
                if !unit.is_empty() {
                    string_attribute(&dataset, "unit", unit)?;
                }
            }
            for of in OF_SPECIES {
                let shape = [self.plan.steps.len(), self.species];
                let unknown = vec![f64::NAN; shape.iter().product()];
                let dataset = write_array(&group, of.name, &shape, &unknown)?;
                strings_attribute(&dataset, "axes", &["time", "species"])?;
                string_attribute(&dataset, "description", of.description)?;
                let unit = ["", unit, of_square][of.power];
                if !unit.is_empty() {
                    string_attribute(&dataset, "unit", unit)?;
                }
                if of.name == "predictable_share_error" {
                    let parts = left_out(self.configurations, self.dimension);
                    string_attribute(&dataset, "jackknife_over", parts)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a file has room for these.
    pub(super) fn is_in(&self, file: &File) -> bool {
        let steps = file.dataset(&format!("{ROOT}/step")).and_then(|steps| steps.read_raw::<i64>());
        let same = |steps: Vec<i64>| {
            steps.iter().map(|&step| step as u64).eq(self.plan.steps.iter().copied())
        };
        let shape = self.shape_of_particles();
        let has_room = |path: String| {
            OF_PARTICLES.iter().all(|name| {
                file.dataset(&format!("{path}/{name}")).is_ok_and(|found| found.shape() == shape)
            })
        };
        steps.is_ok_and(same) && self.paths().all(has_room)
    }

    /// Number of times that were reached.
    pub(super) fn measured(&self, file: &File) -> Result<u64> {
        file.dataset(&format!("{ROOT}/{MEASURED}"))?.read_scalar()
    }

    /// Forgets all times from `count` on.
    pub(super) fn truncate(&self, file: &File, count: u64) -> Result<()> {
        let [configurations, times, particles] = self.shape_of_particles();
        write_scalar_again(file, &format!("{ROOT}/{MEASURED}"), &count)?;
        for path in self.paths() {
            let group = file.group(&path)?;
            for time in count as usize..times {
                if self.is_empty_at(&group, time)? {
                    continue;
                }
                let unknown = vec![f64::NAN; configurations * particles];
                for name in OF_PARTICLES {
                    self.write_particles(&group, name, time, &unknown)?;
                }
                for of in OF_SPECIES {
                    let unknown = vec![f64::NAN; self.species];
                    self.write_species(&group, of.name, time, &unknown)?;
                }
            }
        }
        Ok(())
    }

    fn is_empty_at(&self, group: &Group, time: usize) -> Result<bool> {
        let mean = group.dataset(OF_SPECIES[0].name)?.read_raw::<f64>()?;
        let of_time = &mean[time * self.species..(time + 1) * self.species];
        Ok(of_time.iter().all(|value| value.is_nan()))
    }

    /// Bytes by which a file grows when a row is written.
    pub(super) fn growth(&self) -> u64 {
        let [configurations, _, particles] = self.shape_of_particles();
        let arrays = OF_PARTICLES.len() * self.plan.averages().count();
        (8 * arrays * configurations * particles) as u64
    }

    pub(super) fn write(&self, file: &File, row: &PropensityRow) -> Result<()> {
        for (of, path) in row.observables.iter().zip(self.paths()) {
            let group = file.group(&path)?;
            for (name, values) in OF_PARTICLES.into_iter().zip([&of.value, &of.second_moment]) {
                self.write_particles(&group, name, row.time, values)?;
            }
            for number in OF_SPECIES {
                let values: Vec<f64> = of.species.iter().map(number.of).collect();
                self.write_species(&group, number.name, row.time, &values)?;
            }
        }
        write_scalar_again(file, &format!("{ROOT}/{MEASURED}"), &(row.time as u64 + 1))
    }

    fn write_particles(
        &self,
        group: &Group,
        name: &str,
        time: usize,
        values: &[f64],
    ) -> Result<()> {
        let [configurations, _, particles] = self.shape_of_particles();
        let shape = [configurations, particles];
        write_slab(group, name, vec![(..).into(), time.into(), (..).into()], &shape, values)
    }

    fn write_species(&self, group: &Group, name: &str, time: usize, values: &[f64]) -> Result<()> {
        write_slab(group, name, vec![time.into(), (..).into()], &[self.species], values)
    }

    /// The positions that displacements count from: of the states, and of their inherent structures, if they are wanted.
    pub(super) fn write_positions(&self, file: &File, positions: &[Vec<f64>; 2]) -> Result<()> {
        let group = file.group(ROOT)?;
        let named = [POSITION, INHERENT_POSITION].into_iter().zip(positions);
        for (name, positions) in named.filter(|(_, positions)| !positions.is_empty()) {
            write_again(&group, name, positions)?;
        }
        Ok(())
    }
}

/// Writes a part of a dataset, and hands it to the operating system.
fn write_slab(
    group: &Group,
    name: &str,
    slab: Vec<SliceOrIndex>,
    shape: &[usize],
    values: &[f64],
) -> Result<()> {
    let dataset = group.dataset(name)?;
    let view = ArrayViewD::from_shape(IxDyn(shape), values)?;
    dataset.write_slice(view, Hyperslab::from(slab))?;
    dataset.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observable::propensity::ObservableRow;
    use crate::plan::PropensityObservable;

    fn layout() -> PropensityLayout {
        let plan = PropensityPlan {
            steps: vec![1, 10, 100],
            observables: vec![
                PropensityObservable::Displacement,
                PropensityObservable::SelfOverlap,
            ],
            wavenumber: None,
            overlap_length: Some(0.3),
            bonds: None,
            inherent: None,
        };
        let species_of = vec![0, 0, 1];
        PropensityLayout {
            plan,
            timestep: 0.5,
            configurations: 2,
            runs: 4,
            species_of,
            species: 2,
            dimension: 3,
        }
    }

    fn row(time: usize) -> PropensityRow {
        let numbers = |first: usize| (0..6).map(|i| (10 * first + i) as f64).collect();
        let moments = Moments {
            mean: time as f64,
            square_of_propensity: 2.0,
            square: 3.0,
            predictable_share: 0.5,
            predictable_share_error: 0.1,
        };
        let of = ObservableRow {
            value: numbers(time),
            second_moment: numbers(time + 5),
            species: vec![moments; 2],
        };
        PropensityRow { time, observables: vec![of.clone(), of] }
    }

    #[test]
    fn times_stand_at_their_places_and_later_ones_are_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let file = File::create(directory.path().join("results.h5")).unwrap();
        let layout = layout();
        layout.create(&file).unwrap();
        assert!(layout.is_in(&file));
        let other = PropensityPlan { steps: vec![1, 10, 101], ..layout.plan.clone() };
        assert!(!PropensityLayout { plan: other, ..layout.clone() }.is_in(&file));
        // As in a file that was begun anew, in which the first one is missing.
        for time in [1, 2] {
            layout.write(&file, &row(time)).unwrap();
        }
        assert_eq!(layout.measured(&file).unwrap(), 3);
        let read =
            |name: &str| file.dataset(&format!("propensity/{name}")).unwrap().read_raw::<f64>();
        let value = read("displacement/value").unwrap();
        assert!(value[..3].iter().all(|value| value.is_nan()));
        // By configuration, time, particle.
        assert_eq!(value[3..9], [10.0, 11.0, 12.0, 20.0, 21.0, 22.0]);
        assert_eq!(value[12..], [13.0, 14.0, 15.0, 23.0, 24.0, 25.0]);
        assert_eq!(read("self_overlap/mean").unwrap()[2..], [1.0, 1.0, 2.0, 2.0]);
        layout.truncate(&file, 2).unwrap();
        assert_eq!(layout.measured(&file).unwrap(), 2);
        let value = read("self_overlap/value").unwrap();
        assert_eq!(value[3..6], [10.0, 11.0, 12.0]);
        assert!(value[6..9].iter().chain(&value[15..]).all(|value| value.is_nan()));
        let share = read("displacement/predictable_share").unwrap();
        assert!(share[2..4] == [0.5, 0.5] && share[4].is_nan());
        let position: Vec<f64> = (0..18).map(f64::from).collect();
        layout.write_positions(&file, &[position.clone(), Vec::new()]).unwrap();
        assert_eq!(read("initial_position").unwrap(), position);
    }
}
