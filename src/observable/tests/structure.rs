//! Pair distributions and structure factors of known states.
use std::f64::consts::TAU;

use rand::SeedableRng;
use rand::rngs::StdRng;
use statrs::distribution::{Binomial, DiscreteCDF};

use super::super::trajectories::{context, ideal_gas, random_walk, snapshot};
use super::bits;
use crate::observable::Structure;
use crate::observable::dynamics::affine::PeculiarMotion;
use crate::observable::structure::structure_factor;
use crate::plan::StructurePlan;

pub fn structure_plan(
    maximum_distance: f64,
    bin_width: f64,
    maximum_wavenumber: f64,
) -> StructurePlan {
    StructurePlan {
        every: 1,
        maximum_distance,
        bin_width,
        maximum_wavenumber,
        vectors_per_shell: 30,
        diameter_classes: None,
    }
}

#[test]
fn ideal_gas_has_no_structure_within_error_bars() {
    for edges in [vec![10.0, 12.0, 11.0], vec![20.0, 25.0]] {
        let context = context(&edges, &[300, 100], 100);
        let mut structure = Structure::new(&structure_plan(5.0, 0.25, 6.0), &context).unwrap();
        let mut rng = StdRng::seed_from_u64(123);
        for step in 0..200 {
            let positions = ideal_gas(&mut rng, &context.simulation_box, 400);
            let state = snapshot(&context.simulation_box, step, &positions, &positions);
            structure.sample(&state);
        }
        let (mut values, mut within_two) = (0, 0);
        for series in structure.results() {
            let expected = match series.path.as_str() {
                "AA/structure_factor" => 0.75,
                "BB/structure_factor" => 0.25,
                "AB/structure_factor" => 0.0,
                _ => 1.0,
            };
            for (bin, (value, error)) in series.value.iter().zip(&series.error).enumerate() {
                // The first bins hold few pairs of B, far from normally distributed.
                if series.path.ends_with("distribution") && bin < 3 {
                    continue;
                }
                let deviation = (value - expected).abs() / error;
                assert!(deviation < 6.0, "{} {bin}: {value} +- {error}", series.path);
                values += 1;
                within_two += u64::from(deviation < 2.0);
            }
        }
        // 95.4 % of normal values, slightly less of Student's t; two-sided level of 1e-4 around a band.
        let low = Binomial::new(0.92, values).unwrap().cdf(within_two);
        let high = 1.0 - Binomial::new(0.96, values).unwrap().cdf(within_two);
        assert!(low > 1e-4 && high > 1e-4, "{within_two} of {values} within two errors");
    }
}

#[test]
fn fcc_lattice_has_its_coordination_shells_and_bragg_peaks() {
    let (cells, edge) = (5, 1.6);
    let mut positions = Vec::new();
    for x in 0..cells {
        for y in 0..cells {
            for z in 0..cells {
                for site in [[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]] {
                    let cell = [x, y, z];
                    // Away from the walls of cells, for robust rounding.
                    positions
                        .push(std::array::from_fn(|k| (f64::from(cell[k]) + site[k] + 0.1) * edge));
                }
            }
        }
    }
    let length = f64::from(cells) * edge;
    let count = positions.len();
    let context = context(&[length; 3], &[count], 10);
    // No neighbor distance is at the edge of a bin.
    let bin_width = 0.06;
    let maximum_wavenumber = 1.01 * 2.0 * TAU / edge;
    let mut plan = structure_plan(3.0, bin_width, maximum_wavenumber);
    plan.vectors_per_shell = 1000;
    let mut structure = Structure::new(&plan, &context).unwrap();
    structure.sample(&snapshot(&context.simulation_box, 0, &positions, &positions));
    let (layouts, results) = (structure.layouts(), structure.results());
    let density = count as f64 / length.powi(3);
    let mut shells = Vec::new();
    for (r, g) in layouts[0].axes[0].values.iter().zip(&results[0].value) {
        let [inner, outer] = [r - 0.5 * bin_width, r + 0.5 * bin_width];
        let volume = 2.0 / 3.0 * TAU * (outer.powi(3) - inner.powi(3));
        // g is normalised by N - 1 others.
        let neighbors = g * volume * density * (count - 1) as f64 / count as f64;
        if neighbors > 0.0 {
            shells.push((*r, neighbors));
        }
    }
    // Neighbors at edge sqrt(k / 2): 12, 6, 24, 12, 24, 8, 48.
    let expected = [(1, 12.0), (2, 6.0), (3, 24.0), (4, 12.0), (5, 24.0), (6, 8.0), (7, 48.0)];
    assert_eq!(shells.len(), expected.len());
    for ((r, neighbors), (k, coordination)) in shells.iter().zip(expected) {
        assert!((r - edge * (f64::from(k) / 2.0).sqrt()).abs() <= 0.51 * bin_width);
        assert!((neighbors - coordination).abs() < 1e-9, "{neighbors} at {r}");
    }
    // S = N at 2 pi / edge (h, k, l) with h, k, l all odd or all even, and 0 at all other vectors.
    let factor = structure_factor::StructureFactor::new(&plan, &context).unwrap();
    let mut peaks = 0;
    for (shell, s) in factor.shells().iter().zip(&results[1].value) {
        let is_peak = |n: &&[i32; 3]| {
            let first = n[0] / cells;
            n.iter().all(|n| n % cells == 0 && (n / cells - first) % 2 == 0)
        };
        let in_shell = shell.lattice_vectors().iter().filter(is_peak).count();
        let expected = (count * in_shell) as f64 / shell.count() as f64;
        assert!((s - expected).abs() < 1e-9, "S({}) = {s}, not {expected}", shell.wavenumber);
        peaks += in_shell;
    }
    // (200), (020), (002); no shell is wanted near (111).
    assert_eq!(peaks, 3);
}

#[test]
fn resumed_structure_ends_with_the_same_bits() {
    let context = context(&[9.0, 8.0], &[60, 50], 100);
    let plan = structure_plan(4.0, 0.2, 5.0);
    let walk = random_walk(&context, 6, 0.3, 0, 1, 21);
    let mut whole = Structure::new(&plan, &context).unwrap();
    walk.iter().for_each(|snapshot| whole.sample(snapshot));
    let mut first = Structure::new(&plan, &context).unwrap();
    walk[..8].iter().for_each(|snapshot| first.sample(snapshot));
    let (state, arrays) = first.save();
    let mut second = Structure::new(&plan, &context).unwrap();
    second.restore(&state, &arrays).unwrap();
    walk[8..].iter().for_each(|snapshot| second.sample(snapshot));
    assert_eq!(bits(&second.results()), bits(&whole.results()));
    assert_eq!(whole.results()[0].count[0], 21);
}

/// Wave vectors have no component along x, which the tilt changes; S(q) is the sum of its definition.
#[test]
fn in_tilted_boxes_wave_vectors_are_those_across_the_tilt() {
    let context = context(&[9.0, 8.0, 7.0], &[40], 10);
    let plan = structure_plan(3.0, 0.5, 4.0);
    let walk = random_walk(&context, 7, 0.3, 0, 1, 1);
    let tilted = PeculiarMotion::new(context.simulation_box.with_tilt(0.3), None, 0.01, 0);
    let mut structure = Structure::new(&plan, &context).unwrap().tilted(Some(tilted)).unwrap();
    structure.sample(&walk[0]);
    assert!(structure.hand_over().is_none(), "engines know no tilt");
    let factor = structure_factor::StructureFactor::across_tilt(&plan, &context).unwrap();
    let found = &structure.results()[1].value;
    assert!(found.len() > 4 && structure.layouts()[1].formula.contains("q_x = 0"));
    for (shell, found) in factor.shells().iter().zip(found) {
        let vectors = shell.vectors(&context.simulation_box);
        let of_vector = |q: &[f64; 3]| {
            assert_eq!(q[0], 0.0);
            let phase = |r: &[f64; 3]| (0..3).map(|k| q[k] * r[k]).sum::<f64>();
            let sum = |of: fn(f64) -> f64| walk[0].position.iter().map(|r| of(phase(r))).sum();
            let [re, im]: [f64; 2] = [sum(f64::cos), sum(f64::sin)];
            (re * re + im * im) / 40.0
        };
        let expected = vectors.iter().map(of_vector).sum::<f64>() / vectors.len() as f64;
        assert!((found - expected).abs() < 1e-10, "{}: {found} {expected}", shell.wavenumber);
    }
}
