//! The configurational temperature: exact lattices, forces of the engine, liquids, and files.
mod common;

use common::job::{Job, kob_andersen as toml};
use common::{begin, exact, kob_andersen, liquid, pair, plan_of, thermostat_at};
use supercool::engine::{self, Engine};
use supercool::observable::hessian::Interactions;
use supercool::observable::{ForcesAndCurvature, SampleContext};
use supercool::plan::{Plan, Precision, Thermostat};
use supercool::potential::{Diameters, PairPotential, PotentialPlan, Truncation};
use supercool::system::{SimulationBox, Snapshot, Species, species_of_particles};

const COLUMNS: [&str; 3] = ["squared_force", "laplacian", "configurational_temperature"];

fn of_state(plan: &Plan, snapshot: &Snapshot) -> ForcesAndCurvature {
    let context = SampleContext {
        in_flow: false,
        simulation_box: plan.system.simulation_box,
        species: plan.system.species.clone(),
        species_of: species_of_particles(&plan.system.species),
        order: None,
        timestep: plan.run.timestep,
        stage_steps: 1,
    };
    ForcesAndCurvature::of(&plan.potential, &context, snapshot)
}

fn of_one_species(
    simulation_box: SimulationBox,
    count: usize,
    form: PairPotential,
    cutoff: f64,
    truncation: Truncation,
    diameters: Option<Diameters>,
) -> Plan {
    let pairs = vec![vec![pair(1.0, 1.0, cutoff)]];
    let potential = PotentialPlan { form, truncation, pairs, diameters };
    let species = vec![Species { name: "A".into(), count, mass: 1.0 }];
    plan_of(simulation_box, species, potential, Precision::Double)
}

fn at(position: Vec<[f64; 3]>, diameter: &[f64]) -> Snapshot {
    let count = position.len();
    Snapshot {
        step: 0,
        position,
        fraction: Vec::new(),
        image: vec![[0; 3]; count],
        velocity: vec![[0.0; 3]; count],
        diameter: diameter.into(),
    }
}

/// By hand: `U = r^-12` has `U' = -12 r^-13` and `U'' = 156 r^-14`, so that the Laplacian of each particle is
/// `(156 - 12 (D-1)) r^-14`, at a distance of `r = 1.1 sigma` with `sigma = 0.5 (0.9 + 1.3) (1 - 0.2 0.4)`.
#[test]
fn a_pair_has_the_laplacian_of_the_formula() {
    for dimension in [2, 3] {
        let simulation_box = SimulationBox::new(&vec![12.0; dimension]);
        let form = PairPotential::InversePower { n: 12 };
        let diameters = Diameters { non_additivity: 0.2, smallest: 0.9, largest: 1.3 };
        let plan = of_one_species(simulation_box, 2, form, 2.5, Truncation::Sharp, Some(diameters));
        let (sigma, mut position) = (0.5 * 2.2 * (1.0 - 0.2 * 0.4), vec![[0.4, 1.0, 0.0]; 2]);
        // Across the boundary.
        position[1][0] = 12.4 - 1.1 * sigma;
        let found = of_state(&plan, &at(position, &[0.9, 1.3]));
        let force = 12.0 * 1.1f64.powi(-13) / sigma;
        let laplacian =
            (156.0 - 12.0 * (dimension as f64 - 1.0)) * 1.1f64.powi(-14) / (sigma * sigma);
        assert!((found.squared_force / (force * force) - 1.0).abs() < 1e-12, "{found:?}");
        assert!((found.laplacian / laplacian - 1.0).abs() < 1e-12, "{found:?}");
        let ratio = found.configurational_temperature();
        assert!((ratio - force * force / laplacian).abs() < 1e-12 * ratio);
    }
}

fn fcc(n: usize, edge: f64) -> Vec<[f64; 3]> {
    const SITES: [[f64; 3]; 4] = [[0.0; 3], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]];
    let place = |at: usize| {
        let (cell, site) = (at / 4, SITES[at % 4]);
        let cells = [cell / (n * n), cell / n % n, cell % n];
        std::array::from_fn(|axis| (cells[axis] as f64 + site[axis]) * (edge / n as f64))
    };
    (0..4 * n.pow(3)).map(place).collect()
}

/// The trace of the Hessian over `3 N` was computed outside this program.
#[test]
fn a_lattice_has_the_trace_of_its_hessian_and_no_force() {
    let simulation_box = SimulationBox::cubic(3, 256, 1.0);
    let form = PairPotential::LennardJones;
    let plan = of_one_species(simulation_box, 256, form, 2.5, Truncation::Shifted, None);
    let found = of_state(&plan, &at(fcc(4, simulation_box.edges()[0]), &[]));
    assert!((found.laplacian / (3.0 * 219.231319203069) - 1.0).abs() < 1e-12, "{found:?}");
    assert!(found.squared_force < 1e-20, "{found:?}");
}

/// Spheres of diameters between 0.73 and 1.62.
fn polydisperse(count: usize) -> (Plan, Vec<f64>) {
    let (least, greatest) = (0.73f64.powi(-2), 1.62f64.powi(-2));
    let share = |k: usize| ((197 * k % count) as f64 + 0.5) / count as f64;
    let diameter = (0..count).map(|k| (least - share(k) * (least - greatest)).powf(-0.5)).collect();
    let plan = of_one_species(
        SimulationBox::cubic(3, count, 1.0),
        count,
        PairPotential::InversePower { n: 12 },
        1.25,
        Truncation::EvenQuartic,
        Some(Diameters { non_additivity: 0.2, smallest: 0.73, largest: 1.62 }),
    );
    (plan, diameter)
}

/// Sums in another order, of forces whose sums are rounded in units of 2^-40 and less: to 1e-9.
#[test]
fn forces_are_those_of_the_engine_and_the_laplacian_is_the_trace_of_the_hessian() {
    let (plan, diameter) = polydisperse(500);
    let lattice = at(fcc(5, plan.system.simulation_box.edges()[0]), &diameter);
    let disordered = kob_andersen(2, 200, Precision::Double);
    let of_disks = liquid(&disordered, 1.0, 100).snapshot().unwrap();
    for (plan, snapshot) in [(plan, lattice), (disordered, of_disks)] {
        let found = of_state(&plan, &snapshot);
        let (count, dimension) =
            (snapshot.position.len() as f64, plan.system.simulation_box.dimension());
        let forces = engine::create(&plan, &exact(&plan, &snapshot)).unwrap().forces().unwrap();
        let squares = forces.iter().flatten().map(|force| force * force).sum::<f64>() / count;
        assert!(squares > 1.0 && (found.squared_force / squares - 1.0).abs() < 1e-9, "{squares}");
        let species_of = species_of_particles(&plan.system.species);
        let interactions = Interactions::new(
            plan.system.simulation_box,
            &plan.potential,
            &species_of,
            &snapshot.position,
            &snapshot.diameter,
        );
        let hessian = interactions.hessian().unwrap();
        let blocks_of = |particle: usize| hessian.starts[particle]..hessian.starts[particle + 1];
        let trace = |particle: usize| -> f64 {
            let own = |&at: &usize| hessian.columns[at] as usize == particle;
            let block = hessian.blocks[blocks_of(particle).find(own).unwrap()];
            (0..dimension).map(|axis| block[axis][axis]).sum()
        };
        let expected = (0..snapshot.position.len()).map(trace).sum::<f64>() / count;
        assert!((found.laplacian / expected - 1.0).abs() < 1e-12, "{found:?} {expected}");
    }
}

/// `<F^2> / <laplacian>` and its error, from tenths of the samples.
fn measured(plan: &Plan, engine: &mut dyn Engine, temperature: f64, samples: usize) -> [f64; 2] {
    begin(engine, thermostat_at(Thermostat::Langevin { friction: 2.0 }, temperature));
    engine.advance(800).unwrap();
    let of_sample = |_| {
        engine.advance(20).unwrap();
        of_state(plan, &engine.snapshot().unwrap())
    };
    let all: Vec<ForcesAndCurvature> = (0..samples).map(of_sample).collect();
    let ratio = |of: &[ForcesAndCurvature]| {
        let squares: f64 = of.iter().map(|of| of.squared_force).sum();
        squares / of.iter().map(|of| of.laplacian).sum::<f64>()
    };
    let blocks: Vec<f64> = all.chunks(samples / 10).map(ratio).collect();
    let mean = blocks.iter().sum::<f64>() / 10.0;
    let variance = blocks.iter().map(|block| (block - mean).powi(2)).sum::<f64>() / 90.0;
    [ratio(&all), variance.sqrt()]
}

/// Under a Langevin thermostat configurations have its temperature up to the fourth order of the timestep, also where the liquid still
/// ages slowly. Four errors of ten blocks are passed in 0.3 % of all cases, by other random numbers; these are always the same.
#[test]
fn liquids_have_the_temperature_of_their_thermostat() {
    let lennard_jones = {
        let simulation_box = SimulationBox::cubic(3, 500, 0.85);
        let form = PairPotential::LennardJones;
        of_one_species(simulation_box, 500, form, 2.5, Truncation::EvenQuartic, None)
    };
    let mut engine = liquid(&lennard_jones, 1.5, 400);
    let of_lennard_jones = measured(&lennard_jones, engine.as_mut(), 1.5, 80);

    let (spheres, diameter) = polydisperse(500);
    let start = at(fcc(5, spheres.system.simulation_box.edges()[0]), &diameter);
    let mut engine = engine::create(&spheres, &exact(&spheres, &start)).unwrap();
    engine.draw_velocities(1.0, true).unwrap();
    let of_spheres = measured(&spheres, engine.as_mut(), 0.8, 80);

    for (name, temperature, [found, error]) in
        [("Lennard-Jones", 1.5, of_lennard_jones), ("spheres", 0.8, of_spheres)]
    {
        println!("{name}: {found} +- {error}");
        assert!(error < 0.02 * temperature, "{name}: {found} +- {error}");
        assert!((found - temperature).abs() < 4.0 * error, "{name}: {found} +- {error}");
    }
}

/// Its columns and in `info` the ratio of the means; of a stored trajectory the same bits; `check` warns of a jump of the force.
#[test]
fn runs_write_it_and_warn_where_the_force_jumps() {
    let text = toml(3, 256, "double", "timestep = 0.004\nthreads = 1")
        + "[[stage]]\nname = \"melt\"\nsteps = 40\n\
           thermostat = { kind = \"langevin\", temperature = 1.5, friction = 2.0 }\n\
           observe = { thermodynamics = 4, configurational_temperature = 4, trajectory = 4 }\n";
    let job = Job::new(&text);
    assert!(!job.succeeds(&["check", "job.toml"]).stdout.contains("the force jumps"));
    job.succeeds(&["run", "job.toml"]);
    let [squares, laplacian, ratio] = COLUMNS.map(|name| job.series("melt", name));
    assert_eq!(squares.len(), 11);
    for k in 1..11 {
        assert!(squares[k] > 100.0 && ratio[k] == squares[k] / laplacian[k], "{k}: {squares:?}");
    }
    let [pressure, kinetic, virial] =
        ["pressure", "kinetic_energy", "virial"].map(|name| job.series("melt", name));
    for k in 0..11 {
        let expected = 3.0 * pressure[k] / 1.2 - 2.0 * kinetic[k];
        assert!((virial[k] - expected).abs() < 1e-9, "{} {expected}", virial[k]);
    }
    let mean = squares.iter().sum::<f64>() / laplacian.iter().sum::<f64>();
    let info = job.succeeds(&["info", "out/melt.h5"]).stdout;
    let line = info.lines().find(|line| line.contains("configurational_temperature")).unwrap();
    let printed: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!((printed / mean - 1.0).abs() < 0.01, "{line}: {mean}");
    assert!((ratio.iter().sum::<f64>() / 11.0 / mean - 1.0).abs() > 0.02, "the mean of ratios");

    job.succeeds(&["correlate", "out/melt.h5md", "job.toml", "--output", "again", "--quiet"]);
    let again = supercool_analysis::results::ResultsFile::open(&job.path("again/melt.h5")).unwrap();
    for (name, expected) in COLUMNS.into_iter().zip([&squares, &laplacian, &ratio]) {
        let found = again.observable(name).unwrap().unwrap().value;
        assert!(found == *expected, "{name}: {found:?} {expected:?}");
    }

    let shifted = text.replace(r#"{ kind = "smooth", width = 0.005 }"#, r#""shifted""#);
    let jump = "configurational_temperature = 4: the force jumps by 7.31e-2 at the cutoff";
    assert!(Job::new(&shifted).succeeds(&["check", "job.toml"]).stdout.contains(jump));
}
