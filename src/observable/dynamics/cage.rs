use rayon::prelude::*;

use super::evaluation::ParticleSum;
use super::pair_chunk::{Frame, PairChunk};
use super::terms::{ParticleTerms, Rows};
use crate::observable::ObservableError;
use crate::observable::cells::Cells;

/// Neighbors of every particle at a time origin: those within a radius, of cages or of bonds.
#[derive(Clone, Debug, PartialEq)]
pub struct Cages {
    /// First neighbor of every particle in `neighbors`, and the end.
    starts: Vec<usize>,
    neighbors: Vec<u32>,
}

impl Cages {
    /// Of the particles with these `positions`, which `cells` holds.
    pub fn new(positions: &[Vec<f64>; 3], cells: &Cells, radius: f64) -> Self {
        let of_particle = |particle: usize| {
            let mut neighbors = Vec::new();
            let place = [0, 1, 2].map(|k| positions[k][particle]);
            cells.near(place, radius, |other, _| {
                if other as usize != particle {
                    neighbors.push(other);
                }
            });
            // Sums over neighbors must not depend on the cells.
            neighbors.sort_unstable();
            neighbors
        };
        let lists: Vec<Vec<u32>> =
            (0..positions[0].len()).into_par_iter().with_min_len(64).map(of_particle).collect();
        let mut starts = vec![0];
        let mut end = 0;
        for list in &lists {
            end += list.len();
            starts.push(end);
        }
        Cages { starts, neighbors: lists.concat() }
    }

    pub fn of(&self, particle: usize) -> &[u32] {
        &self.neighbors[self.starts[particle]..self.starts[particle + 1]]
    }
}

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
