//! Minima of the potential energy: known ones, those of plain sums, and what a run writes of them.
mod common;

use common::contents::numbers;
use common::job::{Job, kob_andersen as toml};
use common::python::check_with_python;
use common::{kob_andersen, liquid, pair, plan_of};
use supercool::engine::cpu::CpuMinimizer;
use supercool::engine::{InherentStructure, Minimizer};
use supercool::output::Checkpoint;
use supercool::plan::{InherentStructuresPlan, Plan, Precision};
use supercool::potential::{PairPotential, PotentialPlan, Truncation, evaluate_exactly};
use supercool::system::{SimulationBox, Snapshot, Species, species_of_particles};

const SMOOTH: Truncation = Truncation::Smooth { width: 0.005 };

fn settings(force_tolerance: f64) -> InherentStructuresPlan {
    InherentStructuresPlan {
        every: 1,
        force_tolerance,
        maximum_iterations: 100_000,
        timestep: 0.002,
    }
}

/// Lennard-Jones particles of one species.
fn lennard_jones(simulation_box: SimulationBox, count: usize, precision: Precision) -> Plan {
    let pairs = vec![vec![pair(1.0, 1.0, 2.5)]];
    let (form, truncation) = (PairPotential::LennardJones, SMOOTH);
    let potential = PotentialPlan { form, truncation, pairs, diameters: None };
    let species = vec![Species { name: "A".into(), count, mass: 1.0 }];
    plan_of(simulation_box, species, potential, precision)
}

fn at_rest(position: Vec<[f64; 3]>) -> Snapshot {
    let count = position.len();
    Snapshot {
        step: 0,
        position,
        fraction: Vec::new(),
        image: vec![[0; 3]; count],
        velocity: vec![[1.0; 3]; count],
        diameter: Default::default(),
    }
}

/// Largest force on a particle and energy per particle, by a sum over all pairs.
fn plain_sum(plan: &Plan, position: &[[f64; 3]]) -> (f64, f64, f64) {
    let edges = plan.system.simulation_box.padded_edges();
    let dimension = plan.system.simulation_box.dimension();
    let species = species_of_particles(&plan.system.species);
    let mut forces = vec![[0.0; 3]; position.len()];
    let (mut energy, mut virial) = (0.0, 0.0);
    for i in 0..position.len() {
        for j in 0..i {
            let mut d = [0.0; 3];
            for k in 0..dimension {
                d[k] = position[i][k] - position[j][k];
                d[k] -= edges[k] * (d[k] / edges[k]).round();
            }
            let r = d.iter().map(|x| x * x).sum::<f64>().sqrt();
            let pair = &plan.potential.pairs[species[i] as usize][species[j] as usize];
            let potential = &plan.potential;
            let (force_over_r, u) =
                evaluate_exactly(potential.form, &potential.truncation, pair, r);
            energy += u;
            virial += force_over_r * r * r;
            for k in 0..3 {
                forces[i][k] += force_over_r * d[k];
                forces[j][k] -= force_over_r * d[k];
            }
        }
    }
    let norm = |force: &[f64; 3]| force.iter().map(|x| x * x).sum::<f64>().sqrt();
    let pressure = virial / (dimension as f64 * plan.system.simulation_box.volume());
    (forces.iter().map(norm).fold(0.0, f64::max), energy / position.len() as f64, pressure)
}

#[test]
fn two_particles_come_to_rest_at_the_minimum_of_their_potential() {
    for precision in Precision::ALL {
        let plan = lennard_jones(SimulationBox::new(&[8.0; 3]), 2, precision);
        // Over the boundary, so that images are followed.
        let start = at_rest(vec![[0.1, 7.8, 4.0], [7.2, 0.3, 4.1]]);
        let found = CpuMinimizer::new(&plan, &settings(1e-10)).minimize(&start).unwrap();
        let [a, b] = [0, 1].map(|i| found.snapshot.unwrapped(i, &plan.system.simulation_box));
        let shift = [8.0, -8.0, 0.0];
        let r = (0..3).map(|k| (a[k] - b[k] + shift[k]).powi(2)).sum::<f64>().sqrt();
        assert!((r - 2.0f64.powf(1.0 / 6.0)).abs() < 1e-9, "{r}");
        // Of the shifted potential; the smoothing changes it by (width / 1.4)^4 of itself.
        let at_cutoff = 4.0 * (2.5f64.powi(-12) - 2.5f64.powi(-6));
        assert!((found.energy - 0.5 * (-1.0 - at_cutoff)).abs() < 1e-9, "{}", found.energy);
        assert!(found.residual_force < 1e-10 && found.iterations > 10);
        assert_eq!(found.snapshot.velocity, [[0.0; 3]; 2]);
    }
}

#[test]
fn a_shaken_fcc_crystal_goes_back_to_its_lattice() {
    let cells = 5u32;
    let spacing = (4.0f64 / 1.1).cbrt();
    let edge = spacing * f64::from(cells);
    let mut lattice = Vec::new();
    for cell in 0..cells.pow(3) {
        let corner = [cell % cells, cell / cells % cells, cell / cells.pow(2)].map(f64::from);
        for basis in [[0.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]] {
            lattice.push([0, 1, 2].map(|k| (corner[k] + basis[k] + 0.25) * spacing));
        }
    }
    let plan = lennard_jones(SimulationBox::new(&[edge; 3]), lattice.len(), Precision::FixedPoint);
    let shaken = |i: usize, k: usize| lattice[i][k] + 0.08 * ((7 * i + 3 * k) as f64).sin();
    let start: Vec<[f64; 3]> =
        (0..lattice.len()).map(|i| [0, 1, 2].map(|k| shaken(i, k))).collect();
    let tolerance = 1e-9;
    let found = CpuMinimizer::new(&plan, &settings(tolerance)).minimize(&at_rest(start.clone()));
    let found = found.unwrap();
    let (_, expected, pressure) = plain_sum(&plan, &lattice);
    assert!((found.energy - expected).abs() < 1e-11, "{} {expected}", found.energy);
    assert!((found.pressure - pressure).abs() < 1e-9, "{} {pressure}", found.pressure);
    // The centre of mass stays where the shaking put it.
    for k in 0..3 {
        let mean = |of: &dyn Fn(usize) -> f64| {
            (0..lattice.len()).map(of).sum::<f64>() / lattice.len() as f64
        };
        let shift = mean(&|i| start[i][k] - lattice[i][k]);
        for (position, site) in found.snapshot.position.iter().zip(&lattice) {
            let distance = (position[k] - site[k] - shift).abs();
            assert!(distance < 10.0 * tolerance, "{distance:e}");
        }
    }
}

#[test]
fn a_liquid_ends_without_forces_and_with_the_energy_of_a_plain_sum() {
    for (dimension, count) in [(2, 400), (3, 300)] {
        let plan = kob_andersen(dimension, count, Precision::FixedPoint);
        let start = liquid(&plan, 0.8, 1000).snapshot().unwrap();
        let found = CpuMinimizer::new(&plan, &settings(1e-6)).minimize(&start).unwrap();
        assert!(found.residual_force < 1e-6, "{:e}", found.residual_force);
        let (force, energy, _) = plain_sum(&plan, &found.snapshot.position);
        assert!(force < 1e-6 + 1e-10, "{force:e}");
        assert!((found.energy - energy).abs() < 1e-11, "{} {energy}", found.energy);
        assert!(energy < plain_sum(&plan, &start.position).1 - 0.1, "it went down");
        // From the minimum nothing moves any more.
        let again = CpuMinimizer::new(&plan, &settings(1e-6)).minimize(&found.snapshot).unwrap();
        assert_eq!((again.iterations, &again.snapshot), (0, &found.snapshot));
    }
}

#[test]
fn a_minimum_depends_on_the_state_only() {
    let plan = kob_andersen(3, 500, Precision::Single);
    let start = liquid(&plan, 0.8, 500).snapshot().unwrap();
    let other = liquid(&plan, 1.5, 200).snapshot().unwrap();
    let with = |change: &dyn Fn(&mut Plan), before: Option<&Snapshot>| -> InherentStructure {
        let mut plan = plan.clone();
        change(&mut plan);
        let mut minimizer = CpuMinimizer::new(&plan, &settings(1e-6));
        if let Some(before) = before {
            minimizer.minimize(before).unwrap();
        }
        minimizer.minimize(&start).unwrap()
    };
    let expected = with(&|_| {}, None);
    assert_eq!(expected, with(&|_| {}, Some(&other)), "what was minimised before");
    assert_eq!(expected, with(&|plan| plan.run.threads = Some(3), None));
    assert_eq!(expected, with(&|plan| plan.run.skin = Some(0.2), None));
    assert_eq!(expected, with(&|plan| plan.run.precision = Precision::FixedPoint, None));
}

const STAGES: &str = r#"
[[stage]]
name = "cool"
steps = 1000
thermostat = { kind = "langevin", temperature = { from = 1.5, to = 0.5 }, friction = 2.0 }

[[stage]]
name = "production"
steps = 200
[stage.observe]
thermodynamics = 20
trajectory = 50
"#;
const INHERENT: &str = "inherent_structures = { every = 50 }\n";

/// Cold, so that both minimisers stay in the basin of the state: from a liquid's, L-BFGS jumps to others. The
/// narrow smoothing of the cutoff would split basins into minima that differ by 1e-8 to 1e-7.
#[test]
fn energies_are_those_of_another_minimiser_and_files_open() {
    let text = toml(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1");
    let rest = r#"
[[stage]]
name = "rest"
steps = 4000
thermostat = { kind = "langevin", temperature = { from = 0.5, to = 0.02 }, friction = 1.0 }
"#;
    let (cool, production) =
        STAGES.split_at(STAGES.find("\n[[stage]]\nname = \"production\"").unwrap());
    let cold = format!("{cool}{rest}{production}").replace("trajectory = 50", "trajectory = 100");
    let text = text.replace(r#"{ kind = "smooth", width = 0.005 }"#, r#""force-shifted""#);
    let job = Job::new(&(text + &cold + "inherent_structures = { every = 100 }\n"));
    job.succeeds(&["run", "job.toml"]);
    let energy = job.series("production", "inherent_structure_energy");
    assert_eq!(energy.len(), 3);
    for name in ["inherent_structure_residual_force", "inherent_structure_iterations"] {
        assert_eq!(job.series("production", name).len(), 3);
    }
    let potential = job.series("production", "potential_energy");
    assert!(energy.iter().all(|&energy| energy < potential[0] - 0.01), "{energy:?} {potential:?}");
    let files =
        ["h5", "h5md", "inherent.h5md"].map(|kind| job.path(&format!("out/production.{kind}")));
    check_with_python(
        "scipy.optimize",
        "inherent.py",
        &files.each_ref().map(|path| path.as_path()),
    );
}

#[test]
fn the_trajectory_has_the_same_bits_with_and_without() {
    for (precision, skin) in [("fixed-point", ""), ("double-single", "skin = 0.3")] {
        let run = format!("timestep = 0.004\nthreads = 2\n{skin}");
        let text = toml(3, 256, precision, &run) + STAGES;
        let [plain, with] = [Job::new(&text), Job::new(&(text.clone() + INHERENT))];
        let end = |job: &Job| {
            job.succeeds(&["run", "job.toml"]);
            let (_, _, checkpoint) =
                supercool::output::latest_valid(&job.path("out")).unwrap().checkpoint.unwrap();
            let bits = |state: &Checkpoint, name| state.get_u64(name).unwrap();
            (bits(&checkpoint, "position"), bits(&checkpoint, "velocity"))
        };
        assert_eq!(end(&plain), end(&with), "{precision}");
        let name = "/particles/trajectory/position/value";
        let frames = |job: &Job| numbers(&job.path("out/production.h5md"))[name].clone();
        assert_eq!(frames(&plain), frames(&with), "{precision}");
        assert!(!plain.path("out/production.inherent.h5md").exists());
    }
}

#[test]
fn a_stored_trajectory_has_the_minima_that_the_run_found() {
    let text = toml(2, 200, "double-single", "timestep = 0.004\nthreads = 1") + STAGES;
    let job = Job::new(&(text + INHERENT));
    job.succeeds(&["run", "job.toml"]);
    let again = ["correlate", "out/production.h5md", "job.toml", "--output", "again", "--quiet"];
    job.succeeds(&again);
    for file in ["production.h5", "production.inherent.h5md"] {
        let path = |folder: &str| job.path(&format!("{folder}/{file}"));
        let [online, again] = ["out", "again"].map(|folder| numbers(&path(folder)));
        let names: Vec<&String> = online
            .keys()
            .filter(|name| name.contains("inherent") || name.contains("/trajectory/"))
            // Steps and times have several names.
            .filter(|name| name.ends_with("/value"))
            .collect();
        assert!(names.len() >= 3, "{names:?}");
        for name in names {
            assert_eq!(online[name], again[name], "{file}: {name}");
        }
    }
}

#[test]
fn a_descent_that_is_cut_short_is_said_and_written_as_it_is() {
    let text = toml(3, 256, "double", "timestep = 0.004\nthreads = 1") + STAGES;
    let job = Job::new(&(text + "inherent_structures = { every = 200, maximum_iterations = 7 }\n"));
    let ended = job.succeeds(&["run", "job.toml"]);
    assert!(ended.stderr.contains("after 7 iterations"), "{ended:?}");
    assert_eq!(job.series("production", "inherent_structure_iterations"), [7.0, 7.0]);
    let left = job.series("production", "inherent_structure_residual_force");
    assert!(left.iter().all(|&force| force > 1e-6), "{left:?}");
}

/// The forces are those of the shifted potential, so that minima are the same places.
#[test]
fn minima_of_sharp_potentials_are_those_of_shifted_ones_with_other_energies() {
    let text = toml(3, 256, "double", "timestep = 0.004\nthreads = 1") + STAGES + INHERENT;
    let ended = |word: &str| {
        let job = Job::new(&text.replace(r#"{ kind = "smooth", width = 0.005 }"#, word));
        let stderr = job.succeeds(&["run", "job.toml"]).stderr;
        (job, stderr)
    };
    let (sharp, warning) = ended("\"sharp\"");
    let jumps = "the energy jumps by 2.45e-2 and the force by 7.31e-2 at the cutoff";
    assert!(warning.contains(jumps), "{warning}");
    let (shifted, _) = ended("\"shifted\"");
    let places = |job: &Job| {
        let all = numbers(&job.path("out/production.inherent.h5md"));
        all["/particles/trajectory/position/value"].clone()
    };
    assert_eq!(places(&sharp), places(&shifted));
    let energy = |job: &Job| job.series("production", "inherent_structure_energy");
    // Some 40 pairs a particle have up to 2.4e-2 each, and are counted half.
    for (sharp, shifted) in energy(&sharp).into_iter().zip(energy(&shifted)) {
        assert!((0.1..0.6).contains(&(shifted - sharp)), "{shifted} {sharp}");
    }
}

/// The literature has minima of shifted potentials, too. They attract at the cutoff, so that no pair comes to rest there.
#[test]
fn minima_of_shifted_potentials_are_found_and_the_jump_of_the_force_is_said() {
    let text = toml(3, 256, "double", "timestep = 0.004\nthreads = 1") + STAGES + INHERENT;
    let shifted = text.replace(r#"{ kind = "smooth", width = 0.005 }"#, r#""shifted""#);
    let job = Job::new(&shifted);
    // 1.5 / 0.8 times what it is for A and A.
    let jump = "inherent structures: the force jumps by 7.31e-2 at the cutoff";
    assert!(job.succeeds(&["check", "job.toml"]).stdout.contains(jump));
    let ended = job.succeeds(&["run", "job.toml"]);
    assert!(ended.stderr.contains(jump), "{ended:?}");
    let left = job.series("production", "inherent_structure_residual_force");
    assert!(left.iter().all(|&force| force < 1e-6), "{left:?}");
    for none in [&text, &shifted.replace("shifted", "force-shifted")] {
        let checked = Job::new(none).succeeds(&["check", "job.toml"]).stdout;
        assert!(!checked.contains("the force jumps"), "{checked}");
    }
    let wca = shifted.replace("lennard-jones", "wca").replace("cutoff = 2.5\n", "");
    let checked = Job::new(&wca).succeeds(&["check", "job.toml"]).stdout;
    assert!(!checked.contains("the force jumps"), "{checked}");
}
