//! Correlations whose samples an engine takes.
use std::sync::Arc;

use super::{Correlations, Sampler};
use crate::observable::dynamics::blocking::Due;
use crate::observable::dynamics::evaluation::{
    DensityEvaluation, Evaluated, EvaluatedPairs, Evaluation, Offloaded, SampledDensities,
    SampledStress, StressEvaluation,
};
use crate::observable::dynamics::evaluator::Evaluator;
use crate::observable::dynamics::registry;
use crate::observable::dynamics::sampled::{HeldSamples, SampledParticles};
use crate::observable::dynamics::terms::{Rows, Terms};
use crate::observable::sample::{CenterOfMass, Sample};

impl Correlations {
    /// What an engine has to evaluate in place of the samples; `None` if there is more to it than sums over
    /// particles that engines know and evaluate together.
    fn evaluation(&self) -> Option<Evaluation> {
        let mut sources = self.terms.iter().map(|(source, _)| *source);
        let first = sources.next()?.evaluator;
        if sources.any(|source| source.evaluator != first) {
            return None;
        }
        let in_cages = first == Evaluator::Cages;
        let sums = self.terms.iter().map(|(_, terms)| match terms {
            Terms::Particles(terms) => terms.particle_sum(),
            Terms::Samples(_) | Terms::Stress => None,
        });
        Some(Evaluation {
            every: self.plan.every,
            blocks: self.plan.blocks(),
            lags: self.lags.len(),
            sums: sums.collect::<Option<_>>()?,
            kernel_order: self.kernel_order(),
            remove_drift: self.plan.remove_drift,
            cage_radius: self.plan.cage_radius.filter(|_| in_cages),
            simulation_box: self.context.simulation_box,
            species: self.context.species.clone(),
            order: self.context.order.clone(),
        })
        .filter(|_| self.order.is_of_engines(&self.context))
    }

    /// Indices of the terms, those of wave numbers last, each in the order of the sources.
    fn kernel_order(&self) -> Vec<usize> {
        let sources = registry::sources();
        let mut order: Vec<usize> = (0..self.terms.len()).collect();
        order.sort_by_key(|&index| {
            let (source, terms) = &self.terms[index];
            let place = sources.iter().position(|other| other == source);
            (matches!(terms.rows(), Rows::Shells(_)), place)
        });
        order
    }

    /// Whether all terms are evaluated so.
    fn is_of(&self, wanted: Evaluator) -> bool {
        !self.terms.is_empty() && self.terms.iter().all(|(source, _)| source.evaluator == wanted)
    }

    /// The density modes of samples, if these are all that is needed.
    fn density_evaluation(&self) -> Option<DensityEvaluation> {
        if !self.is_of(Evaluator::Densities) || !self.order.is_of_engines(&self.context) {
            return None;
        }
        Some(DensityEvaluation {
            every: self.plan.every,
            vectors: self.terms[0].1.rows().wave_vectors(),
            remove_drift: self.plan.remove_drift,
            simulation_box: self.context.simulation_box,
            species: self.context.species.clone(),
            order: self.context.order.clone(),
        })
    }

    /// Leaves samples to an engine from now on, if it may evaluate them: no more are taken here. Engines know boxes without a tilt.
    pub fn hand_over(&mut self) -> Option<Offloaded> {
        let is_tilted = self.motion.is_some() || self.context.simulation_box.is_tilted();
        if self.frames.is_some() || is_tilted {
            return None;
        }
        let samples = self.scheme.samples();
        if self.is_of(Evaluator::Stress) && !self.plan.remove_drift {
            self.sampler = Sampler::EngineForWholes;
            let evaluation = StressEvaluation { every: self.plan.every };
            return Some(Offloaded::Stress(evaluation, samples));
        }
        if let Some(evaluation) = self.density_evaluation() {
            self.sampler = Sampler::EngineForWholes;
            return Some(Offloaded::Densities(evaluation, samples));
        }
        let evaluation = self.evaluation()?;
        let kept = |(index, sample): (u64, Arc<Sample>)| {
            (index, Arc::new(SampledParticles::new(&sample, &self.context.simulation_box)))
        };
        let samples = HeldSamples {
            samples,
            first_step: self.first_step,
            entries: self.scheme.entries(),
            held: self.scheme.held().into_iter().map(kept).collect(),
        };
        self.scheme.clear();
        self.sampler = Sampler::Engine;
        Some(Offloaded::Pairs(evaluation, samples))
    }

    /// Adds what an engine has evaluated.
    pub fn add_evaluated(&mut self, evaluated: &Evaluated) {
        match evaluated {
            Evaluated::Pairs(pairs) => self.add_pairs(pairs),
            Evaluated::Densities(samples) => {
                let mut due = Vec::new();
                for SampledDensities { step, densities, center } in samples {
                    self.first_step.get_or_insert(*step);
                    let mut sample = Sample::of_densities(densities.clone());
                    if let (Some(modes), Some([position, velocity])) = (&self.modes, *center) {
                        sample.move_to(CenterOfMass { position, velocity }, modes);
                    }
                    due.extend(self.scheme.push(sample));
                }
                self.add_products(&due);
            }
            Evaluated::Structure(_) | Evaluated::BondOrder(_) => {
                unreachable!("static structure is no correlation")
            }
            Evaluated::Stress(samples) => {
                for SampledStress { step, macroscopic } in samples {
                    self.first_step.get_or_insert(*step);
                    self.correlate_stress(macroscopic);
                    // It is counted; there is nothing more in it.
                    self.scheme.push(Sample::default());
                }
            }
        }
    }

    /// Adds the pairs of samples that hold no particles.
    fn add_products(&mut self, due: &[Due<Sample>]) {
        let (mut lags, mut pairs) = (Vec::new(), Vec::new());
        for Due { level, entries } in due {
            for (entry, later) in entries.iter().enumerate() {
                let lag = self.scheme.lag_index(*level, entry);
                if let Some(lag) = lag.filter(|&lag| lag < self.lags.len()) {
                    lags.push(lag);
                    pairs.push((&*entries[0], &**later));
                }
            }
        }
        self.average(&lags, &[], |terms, pair, part, of_part| {
            let (origin, later) = pairs[pair];
            terms.evaluate(origin, later, part, of_part);
        });
    }

    fn add_pairs(&mut self, pairs: &EvaluatedPairs) {
        let species = self.context.species.len();
        let lags: Vec<usize> = pairs.lags.iter().map(|&lag| lag as usize).collect();
        let of_pair = pairs.sums.len() / lags.len().max(1);
        let width = of_pair / species;
        // The same with those of all particles.
        let mut sums = Vec::with_capacity(pairs.sums.len() / species * (species + 1));
        for of_pair in pairs.sums.chunks(of_pair.max(1)) {
            sums.extend_from_slice(of_pair);
            let all = |sum: usize| (0..species).map(|s| of_pair[s * width + sum]).sum::<f64>();
            sums.extend((0..width).map(all));
        }
        self.average(&lags, &sums, |_, _, _, _| unreachable!("engines sum over particles"));
    }
}
