//! Energies, virials and forces against exact references: LAMMPS, plain pair sums in 80-bit
//! arithmetic, NIST's configurations, berni's samples.
mod common;

use common::{data, engine_with, exact, from_file, json, plan_of};
use serde_json::Value;
use supercool::engine::cuda::device::gpus;
use supercool::plan::{EngineChoice, Lattice, Plan, Precision};
use supercool::potential::PotentialPlan;
use supercool::system::{SimulationBox, Snapshot, Species};

struct Evaluated {
    energy: f64,
    virial: [f64; 6],
    forces: Vec<[f64; 3]>,
}

/// Energy and virial of the whole system, without velocities.
fn evaluate(plan: &Plan, snapshot: &Snapshot) -> Evaluated {
    let mut at_rest = snapshot.clone();
    at_rest.velocity.fill([0.0; 3]);
    let mut engine = engine_with(plan, &exact(plan, &at_rest));
    let thermodynamics = engine.thermodynamics().unwrap();
    let volume = plan.system.simulation_box.volume();
    let stress = thermodynamics.stress;
    Evaluated {
        energy: thermodynamics.potential_energy * plan.system.particle_count() as f64,
        virial: [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
            .map(|(a, b)| -stress[a][b] * volume),
        forces: engine.forces().unwrap(),
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn root_mean_square(forces: &[[f64; 3]]) -> f64 {
    let sum: f64 = forces.iter().flatten().map(|f| f * f).sum();
    (sum / forces.len() as f64).sqrt()
}

/// The engines of this machine.
fn engines() -> Vec<EngineChoice> {
    match gpus() {
        Ok(_) => vec![EngineChoice::Cpu, EngineChoice::Cuda],
        Err(error) => {
            println!("only on the CPU: {error}");
            vec![EngineChoice::Cpu]
        }
    }
}

/// All cases of a file whose configurations lie in `folder`, on every engine, each to `tolerance` in relation to
/// its own size, forces to their root mean square.
fn check(file: &str, folder: &std::path::Path, precision: Precision, tolerance: f64) {
    for engine in engines() {
        check_on(engine, file, folder, precision, tolerance);
    }
}

fn check_on(
    engine: EngineChoice,
    file: &str,
    folder: &std::path::Path,
    precision: Precision,
    tolerance: f64,
) {
    let mut checked = 0;
    for case in json(file)["cases"].as_array().unwrap() {
        let Some(configuration) = case["configuration"].as_str() else { continue };
        let name = format!("{} on {engine:?}", case["name"].as_str().unwrap());
        let potential: PotentialPlan = serde_json::from_value(case["potential"].clone()).unwrap();
        let (mut plan, state) = from_file(&folder.join(configuration), potential, precision);
        plan.run.engine = engine;
        let found = evaluate(&plan, &state.to_snapshot(&plan.system.species));
        // Each particle's terms are summed in multiples of 2^-40.
        let quantization = plan.system.particle_count() as f64 * 2f64.powi(-42);
        let expected = case["energy"].as_f64().unwrap();
        assert!(
            (found.energy - expected).abs() < tolerance * expected.abs() + quantization,
            "{name}: energy {} instead of {expected}",
            found.energy
        );
        let virial = numbers(&case["virial"]);
        let size = virial.iter().map(|w| w.abs()).fold(0.0, f64::max);
        for (found, expected) in found.virial.iter().zip(&virial) {
            assert!(
                (found - expected).abs() < tolerance * size + quantization,
                "{name}: virial {found} instead of {expected}"
            );
        }
        let size = root_mean_square(&found.forces);
        for (particle, expected) in case["forces"].as_array().into_iter().flatten().enumerate() {
            for (found, expected) in found.forces[particle].iter().zip(numbers(expected)) {
                let deviation = ((found - expected) / size).abs();
                assert!(
                    deviation < tolerance,
                    "{name}: force {found} instead of {expected} on {particle}, {deviation:e}"
                );
            }
        }
        checked += 1;
    }
    assert!(checked >= 3, "the file has cases");
}

#[test]
fn double_agrees_with_lammps_to_rounding() {
    check("lammps.json", &data(""), Precision::Double, 1e-12);
}

#[test]
fn double_agrees_with_lammps_to_rounding_where_particles_have_diameters() {
    check("lammps_polydisperse.json", &data(""), Precision::Double, 1e-12);
}

#[test]
fn double_agrees_with_plain_sums_for_every_potential_and_truncation() {
    check("formulas.json", &data(""), Precision::Double, 1e-12);
}

/// Pair forces in 32-bit floats: up to ten roundings of 6e-8 each on pair forces of up to 500 are 3e-4,
/// which is 1e-5 of the root mean square force (35). In single precision, positions in a box of
/// 10 sigma have errors of up to 5e-7 besides, which the slope of a pair force (up to 7000 at close
/// contact) makes into 4e-3, 1e-4 of the root mean square force.
#[test]
fn forces_in_32_bits_agree_to_the_resolution_of_positions() {
    check("lammps.json", &data(""), Precision::FixedPoint, 1e-5);
    check("lammps.json", &data(""), Precision::DoubleSingle, 1e-5);
    check("lammps.json", &data(""), Precision::Single, 1e-4);
}

#[test]
fn nist_configurations_come_out_to_all_printed_digits() {
    check("nist.json", &data(""), Precision::Double, 1e-12);
    for case in json("nist.json")["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let potential: PotentialPlan = serde_json::from_value(case["potential"].clone()).unwrap();
        let path = data(case["configuration"].as_str().unwrap());
        let (plan, state) = from_file(&path, potential.clone(), Precision::Double);
        let found = evaluate(&plan, &state.to_snapshot(&plan.system.species));
        let printed = |x: f64| format!("{x:.4e}").parse::<f64>().unwrap();
        let nist = |key: &str| case["printed"][key].as_str().unwrap().parse::<f64>().unwrap();
        assert_eq!(printed(found.energy), nist("energy"), "{name}: energy");
        let virial: f64 = found.virial[..3].iter().sum();
        assert_eq!(printed(virial), nist("virial"), "{name}: virial");
        // The tail of the energy beyond the cutoff, which plans do not have.
        if name.contains("lrc") {
            let n = plan.system.particle_count() as f64;
            let rc = potential.largest_cutoff();
            let tail = 8.0 * std::f64::consts::PI / 3.0 * n * n
                / plan.system.simulation_box.volume()
                * (rc.powi(-9) / 3.0 - rc.powi(-3));
            assert_eq!(printed(tail), nist("tail_energy"), "{name}: tail");
        }
    }
}

#[test]
fn berni_samples_have_their_stored_energies() {
    let Some(folder) = std::env::var_os("SUPERCOOL_BERNI") else {
        assert!(std::env::var_os("CI").is_none(), "SUPERCOOL_BERNI names the samples in CI");
        println!(
            "skipped: SUPERCOOL_BERNI does not name the samples (scripts/test.sh fetches them)"
        );
        return;
    };
    check("berni.json", std::path::Path::new(&folder), Precision::Double, 1e-12);
}

#[test]
fn fcc_lattice_has_its_energy() {
    let cases = json("formulas.json");
    let case = cases["cases"].as_array().unwrap().last().unwrap().clone();
    let potential: PotentialPlan = serde_json::from_value(case["potential"].clone()).unwrap();
    let species = vec![Species { name: "A".into(), count: 864, mass: 1.0 }];
    let simulation_box = SimulationBox::cubic(3, 864, 0.8442);
    // In fixed point every pair's energy has the same rounding error, a few 6e-8.
    for (precision, tolerance) in [(Precision::Double, 1e-12), (Precision::FixedPoint, 1e-6)] {
        let plan = plan_of(simulation_box, species.clone(), potential.clone(), precision);
        let snapshot = Snapshot {
            diameter: Default::default(),
            step: 0,
            position: supercool::initial::lattice_positions(Lattice::Fcc, &simulation_box, 864, 1),
            fraction: Vec::new(),
            image: vec![[0; 3]; 864],
            velocity: vec![[0.0; 3]; 864],
        };
        let found = evaluate(&plan, &snapshot);
        let expected = case["energy"].as_f64().unwrap();
        assert!((expected / 864.0 + 6.7733681).abs() < 5e-8);
        let deviation = found.energy / expected - 1.0;
        assert!(deviation.abs() < tolerance, "{precision:?}: {deviation:e}");
        assert!(root_mean_square(&found.forces) < 1e-3, "a lattice is in equilibrium");
    }
}

#[test]
fn a_trajectory_of_100_steps_follows_lammps() {
    let file = json("lammps.json");
    let trajectory = &file["trajectory"];
    let potential: PotentialPlan = serde_json::from_value(trajectory["potential"].clone()).unwrap();
    let start = data(trajectory["configuration"].as_str().unwrap());
    let (plan, state) = from_file(&start, potential, Precision::Double);
    let mut engine = engine_with(&plan, &state);
    let count = plan.system.particle_count() as f64;
    for row in trajectory["energies"].as_array().unwrap() {
        let row = numbers(row);
        engine.advance(row[0] as u64 - engine.step()).unwrap();
        let found = engine.thermodynamics().unwrap();
        // Rounding (1e-15 of positions) grows tenfold in these steps.
        assert!((found.potential_energy * count / row[1] - 1.0).abs() < 1e-11, "step {}", row[0]);
        assert!((found.kinetic_energy * count / row[2] - 1.0).abs() < 1e-11, "step {}", row[0]);
    }
    let end = data(trajectory["end"].as_str().unwrap());
    let end = supercool_analysis::open(&end).unwrap().read(0).unwrap();
    let found = engine.snapshot().unwrap();
    let edges = plan.system.simulation_box.padded_edges();
    for particle in 0..found.position.len() {
        for k in 0..3 {
            let d = found.position[particle][k] - end.position[particle][k];
            let d = d - edges[k] * (d / edges[k]).round();
            assert!(d.abs() < 1e-10, "particle {particle}: {d}");
        }
    }
}
