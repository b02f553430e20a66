//! A smooth function through the points of a table.
use super::file::Columns;

/// Value and first two derivatives by `r`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    pub energy: f64,
    pub slope: f64,
    pub curvature: f64,
}

/// Between two distances of the table the polynomial of fifth order that has energy, slope and curvature at both: two continuous
/// derivatives. Slopes are the forces of the table or, where it has none, those of a cubic spline through the energies; curvatures
/// are those of a cubic spline through the slopes.
#[derive(Clone, Debug)]
pub struct Interpolant {
    distances: Vec<f64>,
    points: Vec<Point>,
}

impl Interpolant {
    pub fn new(columns: &Columns) -> Interpolant {
        let Columns { distances, energies, forces } = columns;
        let slopes = match forces {
            Some(forces) => forces.iter().map(|force| -force).collect(),
            None => spline_slopes(distances, energies),
        };
        let curvatures = spline_slopes(distances, &slopes);
        let points = energies.iter().zip(&slopes).zip(curvatures);
        let points =
            points.map(|((&energy, &slope), curvature)| Point { energy, slope, curvature });
        Interpolant { distances: distances.clone(), points: points.collect() }
    }

    /// The nearest polynomial goes on beyond the ends.
    pub fn at(&self, r: f64) -> Point {
        let after = self.distances.partition_point(|&distance| distance <= r);
        let place = after.clamp(1, self.distances.len() - 1) - 1;
        let (from, to) = (self.distances[place], self.distances[place + 1]);
        let row = hermite(self.points[place], self.points[place + 1], to - from);
        let x = r - from;
        let mut point = Point::default();
        for coefficient in row.into_iter().rev() {
            // Half of the second derivative.
            point.curvature = point.curvature * x + point.slope;
            point.slope = point.slope * x + point.energy;
            point.energy = point.energy * x + coefficient;
        }
        Point { curvature: 2.0 * point.curvature, ..point }
    }
}

/// Coefficients of a polynomial of fifth order.
pub type Row = [f64; 6];

/// The polynomial with value and two derivatives at both ends of an interval of length `h`, in the distance from the first.
pub fn hermite(a: Point, b: Point, h: f64) -> Row {
    // In t from 0 to 1, with derivatives by t.
    let (slope_a, slope_b) = (h * a.slope, h * b.slope);
    let (bend_a, bend_b) = (0.5 * h * h * a.curvature, 0.5 * h * h * b.curvature);
    let rise = b.energy - a.energy - slope_a - bend_a;
    let turn = slope_b - slope_a - 2.0 * bend_a;
    let change = bend_b - bend_a;
    let c3 = 10.0 * rise - 4.0 * turn + change;
    let c4 = -15.0 * rise + 7.0 * turn - 2.0 * change;
    let c5 = 6.0 * rise - 3.0 * turn + change;
    let h3 = h * h * h;
    [a.energy, a.slope, 0.5 * a.curvature, c3 / h3, c4 / (h3 * h), c5 / (h3 * h * h)]
}

/// Slopes at the points of a cubic spline; those at its ends are of the polynomials through the five points there.
pub fn spline_slopes(x: &[f64], y: &[f64]) -> Vec<f64> {
    let last = x.len() - 1;
    let mut slopes = vec![0.0; x.len()];
    slopes[0] = slope_of_polynomial(&x[..5], &y[..5], 0);
    slopes[last] = slope_of_polynomial(&x[last - 4..], &y[last - 4..], 4);
    // m[i-1] / h[i-1] + 2 (1 / h[i-1] + 1 / h[i]) m[i] + m[i+1] / h[i] = 3 (rise[i-1] / h[i-1]^2 + rise[i] / h[i]^2),
    // by elimination from the first to the last and back.
    let mut ratios = vec![0.0; x.len()];
    for i in 1..last {
        let (before, after) = (1.0 / (x[i] - x[i - 1]), 1.0 / (x[i + 1] - x[i]));
        let right = 3.0 * ((y[i] - y[i - 1]) * before * before + (y[i + 1] - y[i]) * after * after);
        let pivot = 2.0 * (before + after) - before * ratios[i - 1];
        ratios[i] = after / pivot;
        slopes[i] = (right - before * slopes[i - 1]) / pivot;
    }
    for i in (1..last).rev() {
        slopes[i] -= ratios[i] * slopes[i + 1];
    }
    slopes
}

/// At one of some points, of the polynomial of Lagrange through them.
fn slope_of_polynomial(x: &[f64], y: &[f64], at: usize) -> f64 {
    let mut slope = 0.0;
    for i in (0..x.len()).filter(|&i| i != at) {
        // The derivative of the i-th polynomial there, and its part of that of the polynomial of the point itself.
        let mut product = 1.0 / (x[i] - x[at]);
        for k in (0..x.len()).filter(|&k| k != i && k != at) {
            product *= (x[at] - x[k]) / (x[i] - x[k]);
        }
        slope += product * (y[i] - y[at]);
    }
    slope
}
