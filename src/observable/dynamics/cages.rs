//! The cage of every particle.
use rayon::prelude::*;

use crate::observable::cells::Cells;

/// Neighbors of every particle at a time origin: those within a radius, of cages or of bonds.
#[derive(Clone, Debug, PartialEq)]
pub struct Cages {
    /// First neighbor of every particle in `neighbors`, and the end.
    starts: Vec<usize>,
    neighbors: Vec<u32>,
}

impl Cages {
    /// Of the particles that `cells` holds, `particles` of them at a `place` each.
    pub fn new(
        particles: usize,
        place: impl Fn(usize) -> [f64; 3] + Sync,
        cells: &Cells,
        radius: f64,
    ) -> Self {
        let of_particle = |particle: usize| {
            let mut neighbors = Vec::new();
            cells.near(place(particle), radius, |other, _| {
                if other as usize != particle {
                    neighbors.push(other);
                }
            });
            // Sums over neighbors must not depend on the cells.
            neighbors.sort_unstable();
            neighbors
        };
        let lists: Vec<Vec<u32>> =
            (0..particles).into_par_iter().with_min_len(64).map(of_particle).collect();
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
