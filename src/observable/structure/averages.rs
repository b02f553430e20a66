use serde::{Deserialize, Serialize};
use serde_json::Value;
use supercool_observables::StructureFunction;

use super::pair_distribution::PairDistribution;
use super::structure_factor::StructureFactor;
use crate::observable::accumulator::BlockAverage;
use crate::observable::dynamics::Part;
use crate::observable::dynamics::affine::PeculiarMotion;
use crate::observable::dynamics::evaluation::{
    DensityEvaluation, Offloaded, SampledStructure, StructureEvaluation,
};
use crate::observable::particle_order::ParticleOrder;
use crate::observable::{
    Axis, AxisName, ObservableError, SampleContext, Series, SeriesLayout, Shells, StateArrays,
    species_pairs, state_array,
};
use crate::plan::StructurePlan;
use crate::system::Snapshot;

/// Static structure of one stage: `g_ab(r)` and `S_ab(q)` of every pair of species, averaged over samples.
///
/// Pairs are named by the names of the species one after the other, as in the configuration: `AB`. Of classes of diameter, which then
/// stand for species, they are named with a hyphen, `class1-class2`, and the functions of all particles, `g(r)` and `S(q)`, come last.
pub struct Structure {
    plan: StructurePlan,
    order: ParticleOrder,
    /// Of pairs, and of all particles where they have functions.
    names: Vec<String>,
    pair_distribution: PairDistribution,
    structure_factor: StructureFactor,
    samples: u64,
    context: SampleContext,
    /// An engine takes the samples.
    of_engine: bool,
    /// In a box with a tilt.
    tilted: Option<PeculiarMotion>,
}

#[derive(Serialize, Deserialize)]
struct SavedState {
    plan: StructurePlan,
    samples: u64,
}

const AVERAGES: &str = "averages";

impl Structure {
    /// # Errors
    /// For a plan that cannot be carried out, or particles that do not match the species.
    pub fn new(plan: &StructurePlan, context: &SampleContext) -> Result<Self, ObservableError> {
        if plan.every == 0 {
            return Err(ObservableError::value("structure.every", 0, "at least 1"));
        }
        let pairs = species_pairs(context.species.len()).into_iter();
        let names = match plan.diameter_classes {
            None => pairs
                .map(|(a, b)| [a, b].map(|of| &context.species[of].name[..]).concat())
                .collect(),
            Some(_) => {
                let pairs = pairs.map(|(a, b)| Part::Pair(a, b));
                pairs.chain([Part::All]).map(|part| part.name(context)).collect()
            }
        };
        Ok(Structure {
            plan: plan.clone(),
            order: ParticleOrder::new(context)?,
            names,
            pair_distribution: PairDistribution::new(plan, context)?,
            structure_factor: StructureFactor::new(plan, context)?,
            samples: 0,
            context: context.clone(),
            of_engine: false,
            tilted: None,
        })
    }

    /// In a box with a tilt: S(q) of wave vectors across it, and samples are taken by the host.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn tilted(mut self, motion: Option<PeculiarMotion>) -> Result<Self, ObservableError> {
        if motion.is_some() {
            self.structure_factor = StructureFactor::across_tilt(&self.plan, &self.context)?;
        }
        self.tilted = motion;
        Ok(self)
    }

    /// Whether a sample has to be taken after this many steps of the stage.
    pub fn is_due(&self, step_in_stage: u64) -> bool {
        !self.of_engine && step_in_stage.is_multiple_of(self.plan.every)
    }

    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Adds one sample.
    ///
    /// # Panics
    /// If the number of particles is another.
    pub fn sample(&mut self, snapshot: &Snapshot) {
        assert_eq!(snapshot.position.len(), self.order.len(), "number of particles");
        let box_of_sample = |motion: &PeculiarMotion| motion.box_at(snapshot.step);
        let simulation_box =
            self.tilted.as_ref().map_or(self.context.simulation_box, box_of_sample);
        self.pair_distribution.sample(snapshot, &self.order, &simulation_box);
        self.structure_factor.sample(snapshot, &self.order);
        self.samples += 1;
    }

    /// Leaves samples to an engine from now on, if it may take them: no more are taken here.
    pub fn hand_over(&mut self) -> Option<Offloaded> {
        if self.tilted.is_some() || !self.order.is_of_engines(&self.context) {
            return None;
        }
        self.of_engine = true;
        let (bins, bin_width) = self.pair_distribution.bins();
        let densities = DensityEvaluation {
            every: self.plan.every,
            vectors: self.structure_factor.vectors(),
            remove_drift: false,
            simulation_box: self.context.simulation_box,
            species: self.context.species.clone(),
            order: self.context.order.clone(),
        };
        let evaluation = StructureEvaluation { bins, bin_width, densities };
        Some(Offloaded::Structure(evaluation, self.samples))
    }

    /// Adds a sample that an engine has evaluated.
    pub fn add_evaluated(&mut self, sample: &SampledStructure) {
        self.pair_distribution.add(|pair, bin| sample.pairs[pair][bin]);
        self.structure_factor.add(&sample.densities, self.order.len());
        self.samples += 1;
    }

    /// Series in the order of [`results`](Self::results): by pair, and of all particles where they have functions, first `g_ab(r)`, then
    /// `S_ab(q)`.
    pub fn layouts(&self) -> Vec<SeriesLayout> {
        let shells = self.structure_factor.shells();
        let simulation_box = &self.context.simulation_box;
        let dimension = simulation_box.dimension();
        let of_pair = |pair: &String| {
            let of_all = pair == Part::ALL_PARTICLES;
            let distances = self.pair_distribution.distances();
            let wavenumbers = shells.iter().map(|shell| shell.wavenumber).collect();
            let distribution = SeriesLayout {
                path: format!("{pair}/{}", StructureFunction::PairDistribution.group_name()),
                axes: vec![Axis { name: AxisName::Distance, values: distances }],
                shells: None,
                unit: StructureFunction::PairDistribution.descriptor().unit.text(dimension),
                formula: PairDistribution::formula(of_all).into(),
                has_change: false,
                is_fluctuation: false,
            };
            let factor = SeriesLayout {
                path: format!("{pair}/{}", StructureFunction::StructureFactor.group_name()),
                axes: vec![Axis { name: AxisName::Wavenumber, values: wavenumbers }],
                shells: Some(Shells::new(shells, simulation_box)),
                unit: StructureFunction::StructureFactor.descriptor().unit.text(dimension),
                formula: self.structure_factor.formula(of_all),
                has_change: false,
                is_fluctuation: false,
            };
            [distribution, factor]
        };
        self.names.iter().flat_map(of_pair).collect()
    }

    /// Averages over the samples so far.
    pub fn results(&self) -> Vec<Series> {
        let mut results = Vec::new();
        let shells = self.structure_factor.shells();
        for (pair, name) in self.names.iter().enumerate() {
            let mut distribution = Series::empty(format!(
                "{name}/{}",
                StructureFunction::PairDistribution.group_name()
            ));
            for average in &self.pair_distribution.averages[pair] {
                push(&mut distribution, average, 1);
            }
            let mut factor = Series::empty(format!(
                "{name}/{}",
                StructureFunction::StructureFactor.group_name()
            ));
            for (average, shell) in self.structure_factor.averages[pair].iter().zip(shells) {
                push(&mut factor, average, shell.count());
            }
            results.extend([distribution, factor]);
        }
        results
    }

    /// The complete state, for a checkpoint.
    pub fn save(&self) -> (Value, StateArrays) {
        let state = SavedState { plan: self.plan.clone(), samples: self.samples };
        let mut averages = Vec::new();
        let all = self.pair_distribution.averages.iter().chain(&self.structure_factor.averages);
        all.flatten().for_each(|average| average.save(&mut averages));
        let state = serde_json::to_value(state).expect("plain data");
        (state, vec![(AVERAGES.to_string(), averages)])
    }

    /// Goes on from a state saved with the same plan and context.
    ///
    /// # Errors
    /// If the state belongs to another plan or system or is damaged; `self` is unusable then.
    pub fn restore(
        &mut self,
        state: &Value,
        arrays: &[(String, Vec<f64>)],
    ) -> Result<(), ObservableError> {
        let wrong = |what: &str| ObservableError::State(format!("structure: {what}"));
        let state = SavedState::deserialize(state).map_err(|error| wrong(&error.to_string()))?;
        if state.plan != self.plan {
            return Err(wrong("saved with another plan"));
        }
        let mut averages = state_array(arrays, AVERAGES)?;
        let distribution = self.pair_distribution.averages.iter_mut();
        for average in distribution.chain(&mut self.structure_factor.averages).flatten() {
            average.restore(&mut averages)?;
        }
        if !averages.is_empty() {
            return Err(wrong("more averages than expected"));
        }
        self.samples = state.samples;
        Ok(())
    }
}

/// Each sample counts `per_sample` times in the number of samples.
fn push(series: &mut Series, average: &BlockAverage, per_sample: u64) {
    let value = average.mean().first().copied().unwrap_or(f64::NAN);
    // Where no sample has a pair nothing is known of how rare they are.
    let error = if average.is_constant() { f64::NAN } else { average.error(&[1.0]) };
    series.push(value, error, average.count() * per_sample);
}
