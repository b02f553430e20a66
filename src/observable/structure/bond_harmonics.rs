//! Six-fold harmonics of the bonds of a particle.
use crate::observable::cells::Cells;

/// Complex components `m = 0, ..., 6` of a mean over bonds; in two dimensions only the last.
pub type Components = [[f64; 2]; 7];

/// `2 (6 - m)! / (6 + m)!`, half of it for `m = 0`.
const WEIGHTS: [f64; 7] = {
    let mut weights = [1.0; 7];
    let mut quotient = 1.0;
    let mut m = 1;
    while m < 7 {
        quotient *= ((6 + m) * (7 - m)) as f64;
        weights[m] = 2.0 / quotient;
        m += 1;
    }
    weights
};

/// Sum over the bonds of a particle, and their number. Bonds lead to particles closer than `radius`.
pub fn bonds_of(
    cells: &Cells,
    place: [f64; 3],
    particle: usize,
    radius: f64,
    dimension: usize,
) -> (Components, f64) {
    let (mut sum, mut bonds) = ([[0.0; 2]; 7], 0.0);
    cells.near(place, radius, |other, d| {
        let r2: f64 = d.iter().map(|d| d * d).sum();
        if other as usize != particle && r2 > 0.0 {
            let unit = d.map(|d| d / r2.sqrt());
            let of_bond = if dimension == 2 { planar(unit) } else { spherical(unit) };
            add(&mut sum, &of_bond, 1.0);
            bonds += 1.0;
        }
    });
    (sum, bonds)
}

/// `sum_m q_m(a) q_m*(b)` over `m = -6, ..., 6`, over the lengths of both: 1 where bonds have the same directions.
pub fn cosine(a: &Components, b: &Components) -> f64 {
    let product = |a: &Components, b: &Components| -> f64 {
        let terms = a.iter().zip(b).zip(WEIGHTS);
        terms.map(|((a, b), weight)| weight * (a[0] * b[0] + a[1] * b[1])).sum()
    };
    product(a, b) / (product(a, a) * product(b, b)).sqrt()
}

pub fn add(sum: &mut Components, other: &Components, weight: f64) {
    for (sum, other) in sum.iter_mut().zip(other) {
        sum[0] += weight * other[0];
        sum[1] += weight * other[1];
    }
}

/// Length of the mean: the sum over `bonds` bonds, divided by them.
pub fn magnitude(sum: &Components, bonds: f64) -> f64 {
    let square = |(c, weight): (&[f64; 2], f64)| weight * (c[0] * c[0] + c[1] * c[1]);
    sum.iter().zip(WEIGHTS).map(square).sum::<f64>().sqrt() / bonds
}

/// `exp(6 i theta)` in the last place, scaled for [`magnitude`].
fn planar([x, y, _]: [f64; 3]) -> Components {
    let [re, im] = powers(x, y)[6];
    let scale = WEIGHTS[6].sqrt().recip();
    let mut components = [[0.0; 2]; 7];
    components[6] = [scale * re, scale * im];
    components
}

/// `(1 - z^2)^(-m/2) P_6^m(z) (x + i y)^m` for `m = 0, ..., 6`, without the sign `(-1)^m`.
fn spherical([x, y, z]: [f64; 3]) -> Components {
    let z2 = z * z;
    let legendre = [
        (((231.0 * z2 - 315.0) * z2 + 105.0) * z2 - 5.0) / 16.0,
        21.0 / 8.0 * z * ((33.0 * z2 - 30.0) * z2 + 5.0),
        105.0 / 8.0 * ((33.0 * z2 - 18.0) * z2 + 1.0),
        315.0 / 2.0 * z * (11.0 * z2 - 3.0),
        945.0 / 2.0 * (11.0 * z2 - 1.0),
        10395.0 * z,
        10395.0,
    ];
    let powers = powers(x, y);
    std::array::from_fn(|m| powers[m].map(|power| legendre[m] * power))
}

/// `(x + i y)^m` for `m = 0, ..., 6`.
fn powers(x: f64, y: f64) -> Components {
    let mut powers = [[1.0, 0.0]; 7];
    for m in 1..7 {
        let [re, im] = powers[m - 1];
        powers[m] = [re * x - im * y, re * y + im * x];
    }
    powers
}
