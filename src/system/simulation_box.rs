use crate::arithmetic::elementary::{exp_f64, ln_f64};
use serde::{Deserialize, Serialize};

/// Orthorhombic periodic box in two or three dimensions, from the origin to its `edges`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulationBox {
    dimension: usize,
    /// In two dimensions the third edge is 1 and never used.
    edges: [f64; 3],
}

impl SimulationBox {
    /// `edges` has one positive, finite length per dimension (2 or 3).
    ///
    /// # Panics
    /// On any other number of edges: configuration checks before.
    pub fn new(edges: &[f64]) -> Self {
        assert!(matches!(edges.len(), 2 | 3), "a box has 2 or 3 edges");
        assert!(edges.iter().all(|&edge| edge.is_finite() && edge > 0.0), "edges are positive");
        let mut all = [1.0; 3];
        all[..edges.len()].copy_from_slice(edges);
        SimulationBox { dimension: edges.len(), edges: all }
    }

    /// Cube or square that holds `count` particles at number density `density`.
    pub fn cubic(dimension: usize, count: usize, density: f64) -> Self {
        let volume = count as f64 / density;
        let edge = if dimension == 2 { volume.sqrt() } else { cube_root(volume) };
        SimulationBox::new(&[edge; 3][..dimension])
    }

    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// One length per dimension.
    pub fn edges(&self) -> &[f64] {
        &self.edges[..self.dimension]
    }

    /// Three lengths; in two dimensions the last is 1.
    pub fn padded_edges(&self) -> [f64; 3] {
        self.edges
    }

    /// Whether all edges are equal.
    pub fn is_cubic(&self) -> bool {
        self.edges().iter().all(|&edge| edge == self.edges[0])
    }

    pub fn shortest_edge(&self) -> f64 {
        self.edges().iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Volume of a spherical shell in three dimensions, area of a ring in two.
    pub fn shell_volume(&self, inner: f64, outer: f64) -> f64 {
        use std::f64::consts::PI;
        match self.dimension {
            2 => PI * (outer.powi(2) - inner.powi(2)),
            _ => 4.0 / 3.0 * PI * (outer.powi(3) - inner.powi(3)),
        }
    }

    /// Volume in three dimensions, area in two.
    pub fn volume(&self) -> f64 {
        self.edges().iter().product()
    }
}

/// Cube root of a positive number by Newton's method: the same bits on every machine, which the
/// platform's function does not promise.
fn cube_root(x: f64) -> f64 {
    let mut root = exp_f64(ln_f64(x) / 3.0);
    for _ in 0..2 {
        root -= (root * root * root - x) / (3.0 * root * root);
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cubes_have_their_density() {
        for (count, density) in [(1000, 1.2), (4096, 1.2), (27, 1.0), (10_000_000, 0.75)] {
            let simulation_box = SimulationBox::cubic(3, count, density);
            let found = count as f64 / simulation_box.volume();
            assert!((found / density - 1.0).abs() < 1e-15, "{found}");
        }
        assert_eq!(SimulationBox::cubic(3, 27, 1.0).edges(), [3.0; 3]);
        assert_eq!(SimulationBox::cubic(2, 100, 4.0).edges(), [5.0; 2]);
    }
}
