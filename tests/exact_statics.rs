//! Energies and virials of lattices, to rounding: numbers of a plain double loop over minimum images, made outside this program.
mod common;

use common::{engine_with, exact, kob_andersen_potential, pair, plan_of, polydisperse};
use supercool::plan::{Plan, Precision};
use supercool::potential::{PairPotential, PotentialPlan, Truncation};
use supercool::system::{SimulationBox, Snapshot, Species};

/// Face-centred cubic: `n^3` cells, the last index fastest, four sites each in this order.
fn fcc(n: usize, edge: f64) -> Vec<[f64; 3]> {
    const SITES: [[f64; 3]; 4] = [[0.0; 3], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]];
    let place = |at: usize| {
        let (cell, site) = (at / 4, SITES[at % 4]);
        let cells = [cell / (n * n), cell / n % n, cell % n];
        std::array::from_fn(|axis| (cells[axis] as f64 + site[axis]) * (edge / n as f64))
    };
    (0..4 * n.pow(3)).map(place).collect()
}

/// `U/N` and `W/N`, with `W` the sum of `r.f` over pairs, of a lattice whose sites have the species `species_of`.
fn statics(
    n: usize,
    density: f64,
    potential: PotentialPlan,
    species_of: impl Fn(usize) -> usize,
) -> (f64, f64) {
    let [energy, virial, _] =
        sheared_statics(n, density, potential, species_of, 0.0, Precision::Double);
    (energy, virial)
}

/// `U/N`, `W/N` and the xy component of the stress of a lattice that is sheared by `strain`, in a precision.
fn sheared_statics(
    n: usize,
    density: f64,
    potential: PotentialPlan,
    species_of: impl Fn(usize) -> usize,
    strain: f64,
    precision: Precision,
) -> [f64; 3] {
    let count = 4 * n.pow(3);
    let simulation_box = SimulationBox::cubic(3, count, density);
    let sites = sheared(fcc(n, simulation_box.edges()[0]), strain);
    let simulation_box = simulation_box.with_tilt(strain);
    // Ids count through the species.
    let of_each: Vec<Vec<usize>> = (0..potential.pairs.len())
        .map(|of| (0..count).filter(|&at| species_of(at) == of).collect())
        .collect();
    let position = of_each.iter().flatten().map(|&at| sites[at]).collect();
    let species = ["A", "B", "C"]
        .iter()
        .zip(&of_each)
        .map(|(&name, all)| Species { name: name.into(), count: all.len(), mass: 1.0 })
        .collect();
    let plan = plan_of(simulation_box, species, potential, precision);
    of_state(&plan, position, &[])
}

/// `x += strain y`.
fn sheared(mut sites: Vec<[f64; 3]>, strain: f64) -> Vec<[f64; 3]> {
    sites.iter_mut().for_each(|site| site[0] += strain * site[1]);
    sites
}

/// `U/N`, `W/N` and the xy component of the stress of particles at rest.
fn of_state(plan: &Plan, position: Vec<[f64; 3]>, diameter: &[f64]) -> [f64; 3] {
    let (count, simulation_box) = (position.len(), &plan.system.simulation_box);
    let snapshot = Snapshot {
        step: 0,
        position,
        fraction: Vec::new(),
        image: vec![[0; 3]; count],
        velocity: vec![[0.0; 3]; count],
        diameter: diameter.into(),
    };
    let mut engine = engine_with(plan, &exact(plan, &snapshot));
    let found = engine.thermodynamics().unwrap();
    let trace: f64 = (0..3).map(|axis| found.stress[axis][axis]).sum();
    let virial = -trace * simulation_box.volume() / count as f64;
    [found.potential_energy, virial, found.stress[0][1]]
}

/// Diameters of a power law with exponent 3 between 0.73 and 1.62, at quantiles that a multiplier brings out of order.
fn diameters(count: usize, multiplier: usize) -> Vec<f64> {
    let (least, greatest) = (0.73f64.powi(-2), 1.62f64.powi(-2));
    let share = |k: usize| ((multiplier * k % count) as f64 + 0.5) / count as f64;
    (0..count).map(|k| (least - share(k) * (least - greatest)).powf(-0.5)).collect()
}

#[test]
fn polydisperse_spheres_and_what_exchanges_of_diameters_change() {
    let simulation_box = SimulationBox::cubic(3, 500, 1.0);
    let plan = polydisperse(simulation_box, 500, Precision::Double);
    let position = fcc(5, simulation_box.edges()[0]);
    let diameter = diameters(500, 197);
    let [energy, virial, stress] = of_state(&plan, position.clone(), &diameter);
    assert_exact((energy, virial), 3.734693234217222, 50.91294853494512);
    assert!((stress / -5.670168073170374 - 1.0).abs() < 1e-12, "{stress}");
    // The last two are neighbors.
    for (a, b, expected) in
        [(10, 321, 2.640922683012377), (0, 499, -0.0005660168503709), (100, 101, -7.14199327259098)]
    {
        let mut swapped = diameter.clone();
        swapped.swap(a, b);
        let [after, ..] = of_state(&plan, position.clone(), &swapped);
        let change = (after - energy) * 500.0;
        assert!((change - expected).abs() < 1e-9, "{a}, {b}: {change}");
    }
}

#[test]
fn polydisperse_disks() {
    let simulation_box = SimulationBox::cubic(2, 400, 1.0);
    let plan = polydisperse(simulation_box, 400, Precision::Double);
    let position = (0..400).map(|at| [(at / 20) as f64 + 0.5, (at % 20) as f64 + 0.5, 0.0]);
    let [energy, virial, _] = of_state(&plan, position.collect(), &diameters(400, 147));
    assert_exact((energy, virial), 1.7176129933966116, 24.924603843261234);
}

/// Energies, virials and stresses in boxes with a tilt, to the rounding of each precision.
#[test]
fn sheared_lattices() {
    let of_five = |at: usize| usize::from(at % 5 == 4);
    let lennard_jones = || PotentialPlan {
        form: PairPotential::LennardJones,
        truncation: Truncation::Shifted,
        pairs: vec![vec![pair(1.0, 1.0, 2.5)]],
        diameters: None,
    };
    // 32-bit floats of pairs: U is a sum of 54 terms or more of magnitude one, rounded by 2^-23 of a term or of a squared distance
    // (which a power of 7 multiplies), half as often up as down.
    for (precision, tolerance) in [
        (Precision::Double, 1e-10),
        (Precision::FixedPoint, 1e-5),
        (Precision::DoubleSingle, 1e-5),
        (Precision::Single, 1e-4),
    ] {
        let close = |found: [f64; 3], expected: [f64; 3]| {
            for (found, expected) in found.iter().zip(expected) {
                let error = (found / expected - 1.0).abs();
                assert!(error < tolerance, "{precision:?}: {found}, not {expected}");
            }
        };
        let mixture = |truncation| {
            let potential = kob_andersen_potential(truncation);
            sheared_statics(5, 1.2, potential, of_five, 0.1, precision)
        };
        let shifted = [-6.322934942691007, 10.623704205862117, 6.873093727837959];
        close(mixture(Truncation::Shifted), shifted);
        let quartic = [-4.922158514361259, 15.126937616927691, 6.791165850619784];
        close(mixture(Truncation::EvenQuartic), quartic);
        let alone = sheared_statics(4, 1.0, lennard_jones(), |_| 0, 0.02, precision);
        close([alone[2]; 3], [0.6518326591973272; 3]);
        let simulation_box = SimulationBox::cubic(3, 500, 1.0).with_tilt(0.1);
        let plan = polydisperse(simulation_box, 500, precision);
        let position = sheared(fcc(5, simulation_box.edges()[0]), 0.1);
        let [energy, _, stress] = of_state(&plan, position, &diameters(500, 197));
        close([energy, stress, 1.0], [3.4196497274169104, -0.7792562657885834, 1.0]);
    }
    // The modulus of an affine shear, from both sides.
    let stress =
        |strain| sheared_statics(4, 1.0, lennard_jones(), |_| 0, strain, Precision::Double)[2];
    let modulus = (stress(1e-4) - stress(-1e-4)) / 2e-4;
    assert!((modulus - 35.33897971322025).abs() < 1e-4, "{modulus}");
}

fn assert_exact(found: (f64, f64), energy: f64, virial: f64) {
    assert!((found.0 / energy - 1.0).abs() < 1e-12, "U/N = {}, not {energy}", found.0);
    assert!((found.1 / virial - 1.0).abs() < 1e-12, "W/N = {}, not {virial}", found.1);
}

/// Every fifth particle is B.
fn kob_andersen(truncation: Truncation) -> (f64, f64) {
    statics(5, 1.2, kob_andersen_potential(truncation), |at| usize::from(at % 5 == 4))
}

#[test]
fn kob_andersen_shifted() {
    let found = kob_andersen(Truncation::Shifted);
    assert_exact(found, -6.596722411563222, 6.528605582890562);
}

#[test]
fn kob_andersen_even_quartic() {
    let found = kob_andersen(Truncation::EvenQuartic);
    assert_exact(found, -5.192359564743059, 11.062036980539483);
}

#[test]
fn three_species_shifted() {
    let (aa, ab, ac) = (pair(1.0, 1.0, 2.5), pair(1.5, 0.8, 2.5), pair(1.25, 0.9, 2.5));
    let (bb, bc, cc) = (pair(0.5, 0.88, 2.5), pair(1.0, 0.84, 2.5), pair(0.75, 0.94, 2.5));
    let potential = PotentialPlan {
        form: PairPotential::LennardJones,
        truncation: Truncation::Shifted,
        pairs: vec![vec![aa, ab, ac], vec![ab, bb, bc], vec![ac, bc, cc]],
        diameters: None,
    };
    let found = statics(5, 1.2, potential, |at| [0, 0, 0, 1, 2][at % 5]);
    assert_exact(found, -6.880239944180663, -9.345287272650635);
}

#[test]
fn lennard_jones_shifted() {
    let potential = PotentialPlan {
        form: PairPotential::LennardJones,
        truncation: Truncation::Shifted,
        pairs: vec![vec![pair(1.0, 1.0, 2.5)]],
        diameters: None,
    };
    // The pressure without its kinetic part, W/3V at density 1, is -3.3935747813785846.
    let found = statics(4, 1.0, potential, |_| 0);
    assert_exact(found, -7.321032079117095, 3.0 * -3.3935747813785846);
}
