//! The tilt of a box, in the numbers of a precision. All zero where the box has none.
use crate::arithmetic::Real;
use crate::system::SimulationBox;

/// What differences along y add to those along x.
#[derive(Clone, Copy)]
pub struct Slope<R> {
    /// As a fraction of the edge along x.
    pub tilt: f64,
    /// `L_x / L_y`.
    pub aspect: f64,
    /// `dx/dy` in the units of displacements.
    pub of_displacements: R,
    /// Whether these are fractions of the edges, not lengths.
    of_fractions: bool,
}

impl<R: Real> Slope<R> {
    /// Where displacements are fractions of the edges.
    pub fn of_fractions(simulation_box: &SimulationBox) -> Self {
        Self::new(simulation_box, true)
    }

    /// Where displacements are lengths.
    pub fn of_lengths(simulation_box: &SimulationBox) -> Self {
        Self::new(simulation_box, false)
    }

    fn new(simulation_box: &SimulationBox, of_fractions: bool) -> Self {
        let [x, y, _] = simulation_box.padded_edges();
        let of_displacements = R::ZERO;
        let mut slope = Slope { tilt: 0.0, aspect: x / y, of_displacements, of_fractions };
        slope.set(simulation_box.tilt());
        slope
    }

    pub fn set(&mut self, tilt: f64) {
        self.tilt = tilt;
        let factor = if self.of_fractions { 1.0 } else { self.aspect };
        self.of_displacements = R::from_f64(tilt * factor);
    }
}
