//! Two particles at the same place: finite potentials give their value there and no force, others an error that names both.
mod common;

use common::{begin, exact, plan_of};
use supercool::engine::{self, EngineError};
use supercool::plan::{Plan, Precision};
use supercool::potential::{KAPPA, PairParameters, PairPotential, PotentialPlan, Truncation};
use supercool::system::{SimulationBox, Snapshot, Species};

const TRUNCATIONS: [Truncation; 5] = [
    Truncation::Sharp,
    Truncation::Shifted,
    Truncation::ForceShifted,
    Truncation::EvenQuartic,
    Truncation::Smooth { width: 0.05 },
];

/// The first and the last of five particles at rest are `apart` along x, the others alone.
fn pair_at(
    form: PairPotential,
    truncation: Truncation,
    pair: PairParameters,
    precision: Precision,
    apart: f64,
) -> (Plan, Snapshot) {
    let potential = PotentialPlan { form, truncation, pairs: vec![vec![pair]], diameters: None };
    let species = vec![Species { name: "A".into(), count: 5, mass: 1.0 }];
    let plan = plan_of(SimulationBox::new(&[12.0; 3]), species, potential, precision);
    let snapshot = Snapshot {
        diameter: Default::default(),
        step: 0,
        position: vec![
            [0.0, 6.0, 0.0],
            [3.0, 0.0, 3.0],
            [6.0, 6.0, 6.0],
            [9.0, 0.0, 9.0],
            [apart, 6.0, 0.0],
        ],
        fraction: Vec::new(),
        image: vec![[0; 3]; 5],
        velocity: vec![[0.0; 3]; 5],
    };
    (plan, snapshot)
}

fn pair(epsilon: f64) -> PairParameters {
    PairParameters::of_epsilon_and_sigma(epsilon, 1.0, 2.0).with(&KAPPA, 1.0)
}

/// Formulas of README and REFERENCE at r = 0, with U, U' and U'' at the cutoff by hand.
fn contact_energy(
    form: PairPotential,
    truncation: Truncation,
    cutoff: f64,
    precision: Precision,
) -> f64 {
    // epsilon = 1.5, sigma = 1.
    let (bare, at_cutoff, slope, second) = match form {
        PairPotential::GaussianCore => {
            let at_cutoff = 1.5 * (-cutoff * cutoff).exp();
            (1.5, at_cutoff, -2.0 * cutoff * at_cutoff, (4.0 * cutoff * cutoff - 2.0) * at_cutoff)
        }
        _ => (0.75, 0.75 * (1.0 - cutoff).powi(2), -1.5 * (1.0 - cutoff), 1.5),
    };
    match truncation {
        Truncation::Sharp => bare,
        Truncation::Shifted => bare - at_cutoff,
        Truncation::ForceShifted => bare - at_cutoff + cutoff * slope,
        // c0 = -U + 5/8 r_c U' - 1/8 r_c^2 U''.
        Truncation::EvenQuartic => {
            bare - at_cutoff + 0.625 * cutoff * slope - 0.125 * cutoff * cutoff * second
        }
        Truncation::Smooth { width } => {
            let x4 = (cutoff / width).powi(4);
            let g = if precision == Precision::Double { x4 / (1.0 + x4) } else { 1.0 };
            (bare - at_cutoff) * g
        }
    }
}

#[test]
fn finite_potentials_give_their_value_and_no_force() {
    for (form, cutoff) in
        [(PairPotential::GaussianCore, 2.0), (PairPotential::HarmonicSpheres, 0.8)]
    {
        for truncation in TRUNCATIONS {
            for precision in Precision::ALL {
                // The second and third are so near that their squares are zero, or lost their digits, in some precisions.
                for apart in [0.0, 1e-170, 1e-25] {
                    let pair = pair(1.5).with_cutoff(cutoff);
                    let (plan, snapshot) = pair_at(form, truncation, pair, precision, apart);
                    let mut engine = engine::create(&plan, &exact(&plan, &snapshot)).unwrap();
                    begin(engine.as_mut(), None);
                    let context = format!("{form:?} {truncation:?} {precision:?} {apart}");
                    let energy = 5.0 * engine.thermodynamics().unwrap().potential_energy;
                    let expected = contact_energy(form, truncation, cutoff, precision);
                    // Rounding of 32 bits in two terms of up to 1.5.
                    assert!(
                        (energy - expected).abs() < 3e-7,
                        "{context}: {energy}, not {expected}"
                    );
                    let (longest, forces) = (1.6, engine.forces().unwrap());
                    for force in &forces {
                        assert!(force.iter().all(|f| f.abs() <= longest), "{context}: {forces:?}");
                    }
                    if apart == 0.0 {
                        assert_eq!(forces, [[0.0; 3]; 5], "{context}");
                        engine.advance(20).unwrap();
                        let after = engine.snapshot().unwrap();
                        assert_eq!(after.position[0], after.position[4], "{context}");
                        assert_eq!(after.velocity, snapshot.velocity, "{context}");
                    }
                }
            }
        }
    }
}

#[test]
fn potentials_with_a_pole_name_both_particles() {
    for form in [
        PairPotential::LennardJones,
        PairPotential::Mie { m: 9, n: 6 },
        PairPotential::InversePower { n: 12 },
        PairPotential::InversePower { n: 1 },
        PairPotential::Yukawa,
    ] {
        // So weak that no force on a grid of the distances is too large, too.
        for (truncation, epsilon) in
            TRUNCATIONS.into_iter().flat_map(|truncation| [(truncation, 1.0), (truncation, 1e-6)])
        {
            for precision in Precision::ALL {
                for apart in [0.0, 1e-170] {
                    let (plan, snapshot) =
                        pair_at(form, truncation, pair(epsilon), precision, apart);
                    let error = engine::create(&plan, &exact(&plan, &snapshot)).err();
                    let context =
                        format!("{form:?} {truncation:?} {precision:?} {epsilon} {apart}");
                    assert!(
                        matches!(error, Some(EngineError::TooClose { first: 0, second: 4, .. })),
                        "{context}: {error:?}"
                    );
                    let words = error.unwrap().to_string();
                    assert!(words.contains("particles 0 and 4 are at the same place"), "{words}");
                }
            }
        }
    }
}

/// What overflows in 32 bits is multiplied with zero.
#[test]
fn pairs_of_no_energy_do_not_interact_at_any_distance() {
    for form in [
        PairPotential::LennardJones,
        PairPotential::InversePower { n: 36 },
        PairPotential::Yukawa,
        PairPotential::HarmonicSpheres,
    ] {
        for truncation in TRUNCATIONS {
            for precision in Precision::ALL {
                for apart in [0.0, 1e-4, 0.1] {
                    let none = pair(0.0).with_cutoff(1.0);
                    let (plan, snapshot) = pair_at(form, truncation, none, precision, apart);
                    let mut engine = engine::create(&plan, &exact(&plan, &snapshot)).unwrap();
                    begin(engine.as_mut(), None);
                    let context = format!("{form:?} {truncation:?} {precision:?} {apart}");
                    assert_eq!(engine.forces().unwrap(), [[0.0; 3]; 5], "{context}");
                    assert_eq!(engine.thermodynamics().unwrap().pressure, 0.0, "{context}");
                    let energy = engine.thermodynamics().unwrap().potential_energy;
                    assert_eq!(energy, 0.0, "{context}");
                }
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod on_a_gpu {
    use super::common::contents::assert_same_numbers;
    use super::common::emulated_gpu::{gpu, job};
    use super::common::job::Job;

    /// 108 particles in the order of a lattice, the last but one twice.
    fn start() -> String {
        let mut lines = String::new();
        for at in 0..108u32 {
            let at = if at == 107 { 106 } else { at };
            let place = |k: u32| f64::from(k) * 1.5 + 0.2;
            let (x, y, z) = (place(at % 5), place(at / 5 % 5), place(at / 25));
            lines += &format!("A {x} {y} {z} 0.1 0 0\n");
        }
        let comment = "Lattice=\"7.5 0 0 0 7.5 0 0 0 7.5\" Properties=species:S:1:pos:R:3:velo:R:3";
        format!("108\n{comment}\n{lines}")
    }

    fn toml(potential: &str, precision: &str) -> String {
        format!(
            r#"[system]
dimension = 3
box = [7.5, 7.5, 7.5]
seed = 1
species = [{{ name = "A", count = 108 }}]
initial = {{ file = "start.xyz" }}
[potential]
{potential}
[run]
precision = "{precision}"
timestep = 0.004
threads_per_particle = 2
[output]
directory = "out"
[[stage]]
name = "nve"
steps = 20
observe = {{ thermodynamics = 5, trajectory = 10 }}
[[stage.correlation]]
every = 2
observables = ["stress-autocorrelation"]
"#
        )
    }

    #[test]
    fn finite_potentials_have_the_bits_of_the_cpu() {
        let Some(gpu) = gpu() else { return };
        for (kind, cutoff, truncation, precision) in [
            ("harmonic-spheres", "", r#""sharp""#, "fixed-point"),
            (
                "gaussian-core",
                "cutoff = 2.0\n",
                r#"{ kind = "smooth", width = 0.05 }"#,
                "fixed-point",
            ),
            ("gaussian-core", "cutoff = 2.0\n", r#""force-shifted""#, "double"),
        ] {
            let potential = format!(
                "kind = \"{kind}\"\n{cutoff}truncation = {truncation}\n\
                     pairs = {{ AA = {{ epsilon = 1.5, sigma = 1.2 }} }}\n"
            );
            let text = toml(&potential, precision);
            let (expected, found) = (Job::new(&text), job(gpu, "1", &text));
            for (job, engine) in [(&expected, "cpu"), (&found, "cuda")] {
                job.write("start.xyz", &start());
                job.succeeds(&["run", "job.toml", "--engine", engine]);
            }
            if precision == "fixed-point" {
                for file in ["out/nve.h5", "out/nve.h5md"] {
                    assert_same_numbers(&expected.path(file), &found.path(file));
                }
                continue;
            }
            let energy = |job: &Job| {
                let all = super::common::contents::numbers(&job.path("out/nve.h5"));
                f64::from_bits(all["/observables/potential_energy/value"].1[0])
            };
            // Sums in another order.
            let (expected, found) = (energy(&expected), energy(&found));
            assert!((found / expected - 1.0).abs() < 1e-12, "{kind}: {found} and {expected}");
        }
    }

    #[test]
    fn potentials_with_a_pole_name_both_particles() {
        let Some(gpu) = gpu() else { return };
        for precision in ["fixed-point", "double"] {
            let potential = "kind = \"lennard-jones\"\ncutoff = 2.0\ntruncation = \"shifted\"\n\
                             pairs = { AA = { epsilon = 1.0, sigma = 1.0 } }\n";
            let job = job(gpu, "1", &toml(potential, precision));
            job.write("start.xyz", &start());
            for engine in ["cuda", "cpu"] {
                let run = ["run", "job.toml", "--engine", engine, "--force"];
                job.fails(&run, &["particles 106 and 107 are at the same place"]);
            }
        }
    }
}
