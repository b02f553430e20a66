use super::evaluation::ParticleSum;
use super::pair_chunk::{Frame, PairChunk};
use super::terms::{ParticleTerms, Rows, Terms};
use crate::observable::{ObservableError, SampleContext};
use crate::plan::CorrelationPlan;

/// Terms of cage-relative displacements, `dr_i - <dr_j>_j` with the mean over the particles `j` within the cage
/// radius of `i` at the time origin: without the long-wavelength motion that two-dimensional systems have
/// at any length (Vivek et al., PNAS 114, 1850 (2017); Illing et al., ibid. 1856). A particle without
/// neighbors keeps its own displacement.
pub struct CageRelative<T>(T);

impl<T: ParticleTerms> CageRelative<T> {
    /// # Errors
    /// For a radius that is not positive, or not below half the shortest edge.
    pub fn new(terms: T, radius: f64, shortest_edge: f64) -> Result<Self, ObservableError> {
        if !(radius > 0.0 && radius < 0.5 * shortest_edge) {
            let expected = "a positive number below half the shortest edge";
            return Err(ObservableError::value("correlation.cage_radius", radius, expected));
        }
        Ok(CageRelative(terms))
    }
}

/// Terms in the frame of the cage.
pub(super) fn in_cage(
    terms: impl ParticleTerms + 'static,
    plan: &CorrelationPlan,
    context: &SampleContext,
) -> Result<Terms, ObservableError> {
    let radius = plan.cage_radius.unwrap_or(f64::NAN);
    let shortest_edge = context.simulation_box.shortest_edge();
    Ok(Terms::of_particles(CageRelative::new(terms, radius, shortest_edge)?))
}

impl<T: ParticleTerms> ParticleTerms for CageRelative<T> {
    fn rows(&self) -> Rows<'_> {
        self.0.rows()
    }

    fn terms(&self) -> usize {
        self.0.terms()
    }

    fn add(&self, chunk: &mut PairChunk, sums: &mut [f64]) {
        chunk.look_from(Frame::Cage);
        self.0.add(chunk, sums);
        chunk.look_from(Frame::Laboratory);
    }

    fn particle_sum(&self) -> Option<ParticleSum> {
        self.0.particle_sum()
    }
}
