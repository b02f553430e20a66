//! Pairs of samples that are due, and the averages that they go to.
use std::sync::Arc;

use rayon::prelude::*;

use super::{Channel, Correlations};
use crate::observable::accumulator::{BlockAverage, MAX_COMPONENTS};
use crate::observable::dynamics::blocking::Due;
use crate::observable::dynamics::correlation::Correlation;
use crate::observable::dynamics::pair_chunk::{Origin, PairChunk, Search};
use crate::observable::dynamics::part::Part;
use crate::observable::dynamics::terms::{ParticleTerms, SampleTerms, Terms};
use crate::observable::particle_order::CHUNK;
use crate::observable::sample::Sample;
use crate::observable::shear_stress::Macroscopic;

/// From this number of pairs on, observables and parts are averaged by several threads.
const MANY_PAIRS: usize = 64;

/// Pairs of samples that are correlated at once: bounds the memory of their sums.
const PAIRS_AT_ONCE: usize = 16;

/// Adds a time origin to the averages of a part by row, lag; `terms` holds those of every row.
fn push(observable: &dyn Correlation, rows: &mut [Vec<BlockAverage>], lag: usize, terms: &[f64]) {
    let mut components = [0.0; MAX_COMPONENTS];
    let components = &mut components[..observable.components()];
    let terms_of_row = terms.len() / rows.len();
    for (averages, terms) in rows.iter_mut().zip(terms.chunks(terms_of_row)) {
        observable.of_origin(terms, components);
        averages[lag].push(components);
    }
}

impl Correlations {
    /// Adds one time origin for every lag in the blocks that are due.
    pub(super) fn correlate(&mut self, due: &[Due<Sample>]) {
        for Due { level, entries } in due {
            let lag_of = |(entry, later): (usize, &Arc<Sample>)| {
                let lag = self.scheme.lag_index(*level, entry)?;
                (lag < self.lags.len()).then(|| (lag, Arc::clone(later)))
            };
            let pairs: Vec<_> = entries.iter().enumerate().filter_map(lag_of).collect();
            let evaluators = self.terms.iter().map(|(source, _)| source.evaluator);
            let search = Search::of(evaluators, &self.plan);
            let origin = Origin::new(&entries[0], search, &self.context.simulation_box);
            for pairs in pairs.chunks(PAIRS_AT_ONCE) {
                self.correlate_pairs(&origin, pairs);
            }
        }
    }

    /// The same for one later sample and the lags and origins given.
    pub(super) fn correlate_with(&mut self, later: &Arc<Sample>, origins: &[(usize, Arc<Sample>)]) {
        let lags = self.lags.len();
        for (lag, origin) in origins.iter().filter(|(lag, _)| *lag < lags) {
            let evaluators = self.terms.iter().map(|(source, _)| source.evaluator);
            let search = Search::of(evaluators, &self.plan);
            let origin = Origin::new(origin, search, &self.context.simulation_box);
            self.correlate_pairs(&origin, &[(*lag, Arc::clone(later))]);
        }
    }

    /// The same for one origin and the lags and later samples given.
    fn correlate_pairs(&mut self, origin: &Origin, pairs: &[(usize, Arc<Sample>)]) {
        let sums = self.particle_sums(origin, pairs);
        let lags: Vec<usize> = pairs.iter().map(|(lag, _)| *lag).collect();
        self.average(&lags, &sums, |terms, pair, part, of_part| {
            terms.evaluate(origin.sample, &pairs[pair].1, part, of_part);
        });
    }

    /// Adds a time origin for each of the lags. `sums` over particles are by pair, species and all, term;
    /// `evaluate` gives those terms of a pair and part that are none.
    pub(super) fn average(
        &mut self,
        lags: &[usize],
        sums: &[f64],
        evaluate: impl Fn(&dyn SampleTerms, usize, Part, &mut [f64]) + Sync,
    ) {
        let width: usize = self.particle_terms().map(|terms| terms.width()).sum();
        let species = self.context.species.len();
        // Where the sums of particle terms begin.
        let mut first = Vec::new();
        let mut end = 0;
        for (_, terms) in &self.terms {
            first.push(end);
            end += if matches!(terms, Terms::Particles(_)) { terms.width() } else { 0 };
        }
        let (terms, context) = (&self.terms, &self.context);
        let add =
            |observable: &dyn Correlation, index: usize, part: Part, averages: &mut [Vec<_>]| {
                let (particles, terms) = (part.particles(context), &terms[index].1);
                if particles == 0 || matches!(terms, Terms::Stress) {
                    return;
                }
                let mut of_part = vec![0.0; terms.width()];
                for (pair, &lag) in lags.iter().enumerate() {
                    match terms {
                        Terms::Particles(_) => {
                            let place = match part {
                                Part::Species(species) => species,
                                _ => species,
                            };
                            let start = (pair * (species + 1) + place) * width + first[index];
                            for (mean, sum) in of_part.iter_mut().zip(&sums[start..]) {
                                *mean = sum / particles as f64;
                            }
                        }
                        Terms::Samples(terms) => evaluate(&**terms, pair, part, &mut of_part),
                        Terms::Stress => unreachable!("left out above"),
                    }
                    push(observable, averages, lag, &of_part);
                }
            };
        let of_parts = self.channels.iter_mut().flat_map(|channel| {
            let (observable, index) = (&*channel.observable, channel.terms);
            let parts = channel.parts.iter().zip(&mut channel.averages);
            parts.map(move |(&part, averages)| (observable, index, part, averages))
        });
        if lags.len() < MANY_PAIRS {
            of_parts.for_each(|(observable, index, part, averages)| {
                add(observable, index, part, averages)
            });
        } else {
            of_parts.collect::<Vec<_>>().into_par_iter().for_each(
                |(observable, index, part, averages)| add(observable, index, part, averages),
            );
        }
    }

    /// Adds the stress of the next sample, before the sample.
    pub(super) fn correlate_stress(&mut self, now: &Macroscopic) {
        let Some(stress) = &mut self.stress else { return };
        let of_stress =
            |channel: &&mut Channel| matches!(self.terms[channel.terms].1, Terms::Stress);
        let mut channels: Vec<&mut Channel> = self.channels.iter_mut().filter(of_stress).collect();
        stress.push(self.scheme.samples(), now, |lag, terms| {
            for channel in &mut channels {
                for rows in &mut channel.averages {
                    push(&*channel.observable, rows, lag, terms);
                }
            }
        });
    }

    fn particle_terms(&self) -> impl Iterator<Item = &dyn ParticleTerms> {
        self.terms.iter().filter_map(|(_, terms)| match terms {
            Terms::Particles(terms) => Some(&**terms),
            Terms::Samples(_) | Terms::Stress => None,
        })
    }

    /// Sums over particles by pair, species (and, last, all of them), and the width of all terms; zero for
    /// species whose sums nothing needs.
    fn particle_sums(&self, origin: &Origin, pairs: &[(usize, Arc<Sample>)]) -> Vec<f64> {
        let mut chunks = self.order.chunks(CHUNK);
        chunks.retain(|(species, _)| self.summed[*species]);
        let width: usize = self.particle_terms().map(|terms| terms.width()).sum();
        let species = self.context.species.len();
        let mut sums = vec![0.0; pairs.len() * (species + 1) * width];
        if width == 0 || chunks.is_empty() {
            return sums;
        }
        let simulation_box = &self.context.simulation_box;
        let moved: Vec<Option<Vec<[f64; 3]>>> =
            pairs.par_iter().map(|(_, later)| origin.moved(later, simulation_box)).collect();
        let mut partial_sums = vec![0.0; pairs.len() * chunks.len() * width];
        partial_sums.par_chunks_mut(width).enumerate().for_each_init(
            PairChunk::new,
            |chunk, (job, mut sums)| {
                let (pair, chunk_of_pair) = (job / chunks.len(), job % chunks.len());
                let (_, later) = &pairs[pair];
                let (_, places) = &chunks[chunk_of_pair];
                chunk.load(origin, later, moved[pair].as_deref(), places.clone(), simulation_box);
                for terms in self.particle_terms() {
                    let (own, rest) = sums.split_at_mut(terms.width());
                    terms.add(chunk, own);
                    sums = rest;
                }
            },
        );
        let of_pairs = partial_sums.chunks(chunks.len() * width);
        for (of_pair, sums) in of_pairs.zip(sums.chunks_mut((species + 1) * width)) {
            let (of_species, all) = sums.split_at_mut(species * width);
            for ((species, _), of_chunk) in chunks.iter().zip(of_pair.chunks(width)) {
                let sums = &mut of_species[species * width..][..width];
                sums.iter_mut().zip(of_chunk).for_each(|(sum, part)| *sum += part);
            }
            for of_species in of_species.chunks(width) {
                all.iter_mut().zip(of_species).for_each(|(all, sum)| *all += *sum);
            }
        }
        sums
    }
}
