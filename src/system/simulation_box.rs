use crate::arithmetic::elementary::{exp_f64, ln_f64};
use serde::{Deserialize, Serialize};

/// Periodic box in two or three dimensions, from the origin to its `edges`, with a tilt of x along y (Lees-Edwards).
///
/// The periods are `(L_x, 0, 0)`, `(u L_x, L_y, 0)` and `(0, 0, L_z)`, where `u` is the tilt: a place with the fractions
/// `f` is at `x = L_x (f_x + u f_y)`, `y = L_y f_y`, `z = L_z f_z`. Boxes whose tilts differ by a whole number have the same
/// periodic images.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulationBox {
    dimension: usize,
    /// In two dimensions the third edge is 1 and never used.
    edges: [f64; 3],
    /// A multiple of [`TILT_QUANTUM`]: sums of tilts are exact.
    #[serde(default, skip_serializing_if = "is_zero")]
    tilt: f64,
}

/// Tilts are multiples of this fraction of the edge along x.
pub const TILT_QUANTUM: f64 = 1.0 / (1u64 << 53) as f64;

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

/// The multiple of [`TILT_QUANTUM`] next to a number below one.
pub fn round_tilt(tilt: f64) -> f64 {
    (tilt / TILT_QUANTUM).round_ties_even() * TILT_QUANTUM
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
        SimulationBox { dimension: edges.len(), edges: all, tilt: 0.0 }
    }

    /// The same edges with another tilt, a fraction of the edge along x; rounded to a multiple of [`TILT_QUANTUM`].
    ///
    /// # Panics
    /// Beyond 1/2 in magnitude: [`nearest_tilt`](Self::nearest_tilt) is the same box.
    pub fn with_tilt(self, tilt: f64) -> Self {
        assert!(tilt.abs() <= 0.5, "a tilt of {tilt} has an equal nearer to zero");
        SimulationBox { tilt: round_tilt(tilt), ..self }
    }

    /// The tilt from -1/2 to 1/2 that has the same periodic images as any other.
    pub fn nearest_tilt(tilt: f64) -> f64 {
        tilt - tilt.round_ties_even()
    }

    /// Shift along x of the periodic image one edge further along y, as a fraction of the edge along x: from -1/2 to 1/2.
    pub fn tilt(&self) -> f64 {
        self.tilt
    }

    pub fn is_tilted(&self) -> bool {
        self.tilt != 0.0
    }

    /// `dx/dy` along the period that is tilted, `u L_x / L_y`.
    pub fn slope(&self) -> f64 {
        self.tilt * self.edges[0] / self.edges[1]
    }

    /// A place as if there were no periodic boundary: with `n` the image counts, `x + (n_x + u n_y) L_x`, `y + n_y L_y`, `z + n_z L_z`.
    pub fn unwrapped(&self, position: [f64; 3], image: [i32; 3]) -> [f64; 3] {
        let image = image.map(f64::from);
        let mut unwrapped = std::array::from_fn(|k| position[k] + image[k] * self.edges[k]);
        if self.is_tilted() {
            unwrapped[0] += self.tilt * self.edges[0] * image[1];
        }
        unwrapped
    }

    /// The place in the box that has the same periodic images.
    pub fn wrapped(&self, place: [f64; 3]) -> [f64; 3] {
        let skewed = [place[0] - self.slope() * place[1], place[1], place[2]];
        let mut wrapped: [f64; 3] = std::array::from_fn(|k| match k < self.dimension {
            true => skewed[k] - self.edges[k] * (skewed[k] / self.edges[k]).floor(),
            false => skewed[k],
        });
        wrapped[0] += self.slope() * wrapped[1];
        wrapped
    }

    /// The periods, one a row; in two dimensions the last is that of an edge of 1.
    pub fn periods(&self) -> [[f64; 3]; 3] {
        let [x, y, z] = self.edges;
        [[x, 0.0, 0.0], [self.tilt * x, y, 0.0], [0.0, 0.0, z]]
    }

    /// How much further cells must reach along x than along the other axes at the largest tilt, `sqrt(1 + (L_x / 2 L_y)^2)`:
    /// cells are slabs along the tilted period, which are narrower across than along x.
    pub fn widening_of_cells(&self) -> f64 {
        (1.0 + (0.5 * self.edges[0] / self.edges[1]).powi(2)).sqrt()
    }

    /// Cube or square that holds `count` particles at number density `density`.
    pub fn cubic(dimension: usize, count: usize, density: f64) -> Self {
        let volume = count as f64 / density;
        let edge = if dimension == 2 { volume.sqrt() } else { cube_root(volume) };
        SimulationBox::new(&[edge; 3][..dimension])
    }

    /// One of the same shape that holds `count` particles at number density `density`.
    pub fn at_density(&self, density: f64, count: usize) -> Self {
        let factor = count as f64 / self.volume() / density;
        let factor = factor.powf((self.dimension as f64).recip());
        let edges: Vec<f64> = self.edges().iter().map(|edge| edge * factor).collect();
        SimulationBox::new(&edges).with_tilt(self.tilt)
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
