use std::ops::Range;

use super::correlation::Correlation;
use super::evaluator::Evaluator;
use super::pair_chunk::Displacement;
use super::part::Part;
use super::registry::Definition;
use super::self_overlap::squared_overlap_length;
use super::source::{Need, Source};
use super::terms::{Rows, SampleTerms, Terms};
use crate::observable::density_modes::DensityModes;
use crate::observable::sample::Sample;
use crate::observable::wavevectors::{WaveVectorShell, shells_of_modes};
use crate::observable::{ObservableError, SampleContext};
use crate::plan::{CorrelationPlan, DynamicObservable};
use crate::system::SimulationBox;

/// `S_4(q, t) = <|W(q, t)|^2> / N` with `W(q, t) = sum_j theta(a - |r_j(t) - r_j(0)|) exp(i q . r_j(0))` over the `N` particles of a
/// species, or all; averaged over the wave vectors of a shell (Lacevic, Starr, Schroder & Glotzer, J. Chem. Phys. 119, 7372 (2003)): the
/// structure factor of the particles that have stayed where they were, times their share at large `q`. `<W>` is zero at these wave
/// vectors and need not be subtracted. Were `q` zero, it would be `N <Q_s^2>`, and without `N <Q_s>^2` the susceptibility
/// ([`Susceptibility`](super::susceptibility::Susceptibility)) of the self overlap. Its limit at small `q` is larger than that where the
/// stage's ensemble keeps the density, the composition or the energy (Flenner & Szamel, Phys. Rev. Lett. 105, 217801 (2010)).
///
/// Cost: O(N) for each wave vector and pair of samples.
pub struct FourPointStructureFactor {
    length: f64,
}

pub(super) static DEFINITION: Definition = Definition {
    source: &SOURCE,
    correlation: |plan, _| Box::new(FourPointStructureFactor { length: plan.overlap_length }),
};

static SOURCE: Source = Source {
    needs: &[Need::Wavenumbers, Need::OverlapLength],
    evaluator: Evaluator::Host,
    ..Source::of_positions("modes of the self overlap", |plan, context| {
        Ok(Terms::Samples(Box::new(OverlapModes::of_plan(plan, context)?)))
    })
};

impl Correlation for FourPointStructureFactor {
    fn kind(&self) -> DynamicObservable {
        DynamicObservable::FourPointStructureFactor
    }

    fn formula(&self) -> String {
        format!(
            "<|W|^2> / N with W = sum_j theta(a - |r_j(t) - r_j(0)|) exp(i q . r_j(0)), a = {}, averaged over the wave vectors of a \
             shell",
            self.length
        )
    }

    fn parts(&self, species: usize, listed: &[usize]) -> Vec<Part> {
        Part::species_and_all(species, listed)
    }

    /// Wave vectors.
    fn samples_per_origin(&self, _particles: usize, vectors: u64) -> u64 {
        vectors
    }
}

/// `|W|^2 / N`, averaged over the wave vectors of a shell.
struct OverlapModes {
    shells: Vec<WaveVectorShell>,
    modes: DensityModes,
    simulation_box: SimulationBox,
    squared_length: f64,
    /// Places of every species.
    places: Vec<Range<usize>>,
}

impl OverlapModes {
    fn of_plan(plan: &CorrelationPlan, context: &SampleContext) -> Result<Self, ObservableError> {
        let shells = shells_of_modes(plan, context)?;
        let vectors = shells.iter().flat_map(|shell| shell.lattice_vectors()).collect();
        Ok(OverlapModes {
            modes: DensityModes::new(&context.simulation_box, vectors),
            shells,
            simulation_box: context.simulation_box,
            squared_length: squared_overlap_length(plan.overlap_length)?,
            places: context.places_of_species(),
        })
    }

    /// `W` of every wave vector.
    fn of_places(&self, origin: &Sample, later: &Sample, places: Range<usize>) -> Vec<[f64; 2]> {
        let drift = origin.drift_until(later);
        let Some(moved) = Displacement::new(origin, later, &self.simulation_box, drift) else {
            return Vec::new();
        };
        let position = origin.position.as_ref().expect("there are displacements");
        let at = |i: usize| [0, 1, 2].map(|k| position[k][i]);
        let is_near =
            |moved: &[f64; 3]| moved.iter().map(|d| d * d).sum::<f64>() < self.squared_length;
        let moved = moved.all();
        let near: Vec<[f64; 3]> = places.filter(|&i| is_near(&moved[i])).map(at).collect();
        self.modes.of_places(&near)
    }
}

impl SampleTerms for OverlapModes {
    fn rows(&self) -> Rows<'_> {
        Rows::Shells(&self.shells)
    }

    fn evaluate(&self, origin: &Sample, later: &Sample, part: Part, terms: &mut [f64]) {
        let places = match part {
            Part::Species(species) => self.places[species].clone(),
            _ => 0..self.places.last().map_or(0, |places| places.end),
        };
        let particles = places.len() as f64;
        let modes = self.of_places(origin, later, places);
        let mut modes = modes.iter();
        for (shell, term) in self.shells.iter().zip(terms) {
            let vectors = shell.count() as usize;
            let squares = modes.by_ref().take(vectors).map(|[re, im]| re * re + im * im);
            *term = squares.sum::<f64>() / (vectors as f64 * particles);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observable::particle_order::ParticleOrder;
    use crate::observable::sample::Contents;
    use crate::observable::trajectories::{context, random_walk};

    #[test]
    fn at_wave_vector_zero_it_counts_the_particles_that_have_stayed() {
        let context = context(&[6.0, 7.0, 8.0], &[300, 40], 10);
        let order = ParticleOrder::new(&context).unwrap();
        let contents = Contents { positions: true, ..Contents::default() };
        let samples: Vec<_> = random_walk(&context, 2, 0.3, 0, 1, 2)
            .iter()
            .map(|snapshot| Sample::new(snapshot, &order, &context, &contents, None))
            .collect();
        let of = OverlapModes {
            shells: Vec::new(),
            modes: DensityModes::new(&context.simulation_box, vec![[0, 0, 0], [1, 0, 0]]),
            simulation_box: context.simulation_box,
            squared_length: 0.25,
            places: context.places_of_species(),
        };
        let [all, a] =
            [0..340, 0..300].map(|places| of.of_places(&samples[0], &samples[1], places));
        let moved = Displacement::new(&samples[0], &samples[1], &of.simulation_box, [0.0; 3])
            .unwrap()
            .all();
        let near = |moved: &&[f64; 3]| moved.iter().map(|d| d * d).sum::<f64>() < 0.25;
        let expected = moved.iter().filter(near).count() as f64;
        assert!(expected > 50.0 && expected < 300.0);
        assert_eq!(all[0], [expected, 0.0]);
        assert_eq!(a[0], [moved[..300].iter().filter(near).count() as f64, 0.0]);
        assert!(all[1][0].hypot(all[1][1]) < expected);
    }
}
