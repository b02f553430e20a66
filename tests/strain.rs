//! Athermal quasi-static strain: exact numbers of lattices, thermodynamics of glasses, and the same bits in every way to a point.
mod common;

use common::{exact, kob_andersen, kob_andersen_potential, liquid, pair, plan_of, two_species};
use supercool::engine::{Ensemble, ExactState, StrainPoint, Strained, StrainedSystems};
use supercool::plan::{
    InherentStructuresPlan, ObservePlan, Plan, Precision, StagePlan, StrainMode, StrainPlan,
};
use supercool::potential::{PairPotential, PotentialPlan, Truncation};
use supercool::system::{SimulationBox, Snapshot, Species};

const TOLERANCE: f64 = 1e-9;

fn strain(mode: StrainMode, step: f64, turns: &[i64]) -> StrainPlan {
    StrainPlan {
        mode,
        step,
        turns: turns.to_vec(),
        halve_to: None,
        event_threshold: 10.0 * step * step,
        descent: InherentStructuresPlan {
            every: 1,
            force_tolerance: TOLERANCE,
            maximum_iterations: 100_000,
            timestep: 0.002,
        },
    }
}

/// The plan with one stage of strain.
fn with_stage(mut plan: Plan, strain: StrainPlan) -> Plan {
    plan.stages = vec![StagePlan {
        name: "strain".into(),
        steps: strain.steps(),
        timestep: None,
        minimize: None,
        rescale: None,
        strain: Some(strain),
        thermostat: None,
        barostat: None,
        shear: None,
        draw_velocities: false,
        swap: None,
        set_total_energy: None,
        observe: ObservePlan::nothing(),
        correlations: Vec::new(),
        propensity: None,
    }];
    plan
}

/// All points and events of a stage.
fn all(plan: &Plan, states: Vec<ExactState>) -> Strained {
    let mut systems = StrainedSystems::new(plan, 0, states, None, None).unwrap();
    systems.advance(plan.stages[0].steps).unwrap();
    systems.strained()
}

/// Of one system.
fn curve(plan: &Plan, state: &ExactState) -> Vec<StrainPoint> {
    all(plan, vec![state.clone()]).points.into_iter().flatten().collect()
}

/// Lennard-Jones particles on the sites of a face-centred cubic lattice.
fn fcc(n: usize, density: f64, truncation: Truncation) -> (Plan, ExactState) {
    const SITES: [[f64; 3]; 4] = [[0.0; 3], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]];
    let count = 4 * n.pow(3);
    let simulation_box = SimulationBox::cubic(3, count, density);
    let edge = simulation_box.edges()[0];
    let place = |at: usize| {
        let (cell, site) = (at / 4, SITES[at % 4]);
        let cells = [cell / (n * n), cell / n % n, cell % n];
        std::array::from_fn(|axis| (cells[axis] as f64 + site[axis]) * (edge / n as f64))
    };
    let potential = PotentialPlan {
        form: PairPotential::LennardJones,
        truncation,
        pairs: vec![vec![pair(1.0, 1.0, 2.5)]],
        diameters: None,
    };
    let species = vec![Species { name: "A".into(), count, mass: 1.0 }];
    let plan = plan_of(simulation_box, species, potential, Precision::Double);
    let snapshot = Snapshot {
        step: 0,
        position: (0..count).map(place).collect(),
        fraction: Vec::new(),
        image: vec![[0; 3]; count],
        velocity: vec![[0.0; 3]; count],
        diameter: Default::default(),
    };
    let state = exact(&plan, &snapshot);
    (plan, state)
}

/// A glass of disks, cold enough to be near a minimum.
fn glass(count: usize, precision: Precision) -> (Plan, ExactState) {
    let mut plan = kob_andersen(2, count, precision);
    // Without a jump of the force that the curve would show.
    plan.potential.truncation = Truncation::EvenQuartic;
    let state = liquid(&plan, 0.3, 600).export().unwrap();
    (plan, ExactState { step: 0, ..state })
}

/// `dU/de = V s`: differences of the energy per particle over the trapezium rule, which errs by `h^2 (V s)'' / 12 N`.
fn assert_work(plan: &Plan, mode: StrainMode, points: &[StrainPoint], bound: f64) {
    let reference = &plan.system.simulation_box;
    let count = plan.system.particle_count() as f64;
    for pair in points.windows(2) {
        let slope = |point: &StrainPoint| {
            let volume = mode.box_at(reference, point.strain).volume();
            volume * mode.stress(&point.stress, reference.dimension()) / count
        };
        let step = pair[1].strain - pair[0].strain;
        let work = 0.5 * (slope(&pair[0]) + slope(&pair[1])) * step;
        let change = pair[1].energy - pair[0].energy;
        assert!((change - work).abs() < bound * step.abs(), "{}: {change} {work}", pair[0].strain);
    }
}

#[test]
fn a_lattice_has_the_stress_and_the_modulus_of_its_sums() {
    let (plan, state) = fcc(4, 1.0, Truncation::Shifted);
    let step = 1e-4;
    let plan = with_stage(plan, strain(StrainMode::PureShear, step, &[2, -2]));
    let points = curve(&plan, &state);
    // Sums over neighbors, made outside this program.
    assert!((points[0].energy / -7.321032079117095 - 1.0).abs() < 1e-12);
    assert!((points[0].pressure / -3.3935747813785846 - 1.0).abs() < 1e-12);
    let [born_xxxx, born_xxyy] = [54.515809863683316, 31.94540493184166];
    // Of pure shear with logarithmic strain d2U/de2 = V [2 (C_xxxx - C_xxyy) - 4 p].
    let modulus = 2.0 * (born_xxxx - born_xxyy) - 4.0 * points[0].pressure;
    let stress = |point: &StrainPoint| point.stress[0][0] - point.stress[1][1];
    let slope = (stress(&points[1]) - stress(&points[5])) / (2.0 * step);
    assert!((points[1].strain + points[5].strain).abs() < 1e-16, "about zero");
    assert!((slope / modulus - 1.0).abs() < 1e-5, "{slope} {modulus}");
    assert_work(&plan, StrainMode::PureShear, &points, 1e-6);
}

#[test]
fn a_compressed_lattice_has_the_sums_of_its_density() {
    // Half the box at the highest density has room for the cutoff.
    for mode in [StrainMode::Compression, StrainMode::UniaxialCompression(2)] {
        let (plan, state) = fcc(4, 1.0, Truncation::EvenQuartic);
        let plan = with_stage(plan, strain(mode, 0.005, &[10]));
        let points = curve(&plan, &state);
        assert_work(&plan, mode, &points, 2e-3);
        if mode == StrainMode::Compression {
            let (at, of) = fcc(4, 0.05_f64.exp(), Truncation::EvenQuartic);
            let at = with_stage(at, strain(mode, 0.005, &[1]));
            let alone = &curve(&at, &of)[0];
            let last = points.last().unwrap();
            assert!((last.energy / alone.energy - 1.0).abs() < 1e-12);
            assert!((last.pressure / alone.pressure - 1.0).abs() < 1e-11);
        }
    }
}

#[test]
fn a_glass_returns_along_its_elastic_branch_with_the_same_bits() {
    let (plan, state) = glass(60, Precision::Double);
    // All of it: small enough to be elastic.
    let of_strain = strain(StrainMode::PureShear, 2e-4, &[6, -4, 1]);
    let plan = with_stage(plan, of_strain.clone());
    let found = all(&plan, vec![state]);
    assert_eq!(found.events, [], "no plastic event");
    let points: Vec<StrainPoint> = found.points.into_iter().flatten().collect();
    assert!(points.iter().any(|point| point.largest_displacement > 1e-5), "it is not affine");
    assert!(points.iter().all(|point| point.residual_force < TOLERANCE));
    assert_work(&plan, StrainMode::PureShear, &points, 1e-5);
    for (step, point) in points.iter().enumerate() {
        let multiple = of_strain.multiple(step as u64);
        let first = (0..).find(|&step| of_strain.multiple(step) == multiple).unwrap();
        let first = &points[first as usize];
        let bits = |point: &StrainPoint| (point.strain, point.energy, point.stress);
        assert_eq!(bits(point), bits(first), "step {step}");
    }
}

#[test]
fn plastic_events_are_timed_by_halving_the_step() {
    let (plan, state) = glass(60, Precision::Double);
    let coarse = strain(StrainMode::PureShear, 5e-3, &[40]);
    let fine = StrainPlan { halve_to: Some(5e-3 / 16.0), ..coarse.clone() };
    let coarse = all(&with_stage(plan.clone(), coarse), vec![state.clone()]);
    let fine = all(&with_stage(plan, fine), vec![state]);
    let (first, timed) = (&coarse.events[0], &fine.events[0]);
    // Up to the first event they are one, and the halved step is part of the whole one.
    assert_eq!(first.step, timed.step);
    let width = |of: [f64; 2]| of[1] - of[0];
    assert!((width(first.strain) / 5e-3 - 1.0).abs() < 1e-9);
    assert!((width(timed.strain) / (5e-3 / 16.0) - 1.0).abs() < 1e-9, "{:?}", timed.strain);
    assert!(first.strain[0] <= timed.strain[0] && timed.strain[1] <= first.strain[1]);
    let count = first.step as usize;
    let energies = |of: &Strained| -> Vec<f64> {
        of.points[..count].iter().map(|points| points[0].energy).collect()
    };
    assert_eq!(energies(&coarse), energies(&fine));
    for event in coarse.events.iter().chain(&fine.events) {
        assert!(event.energy_drop > 2.5e-4, "above the threshold");
        assert!((1.0 / 60.0..=1.0).contains(&event.participation_ratio));
    }
    for event in &fine.events {
        assert!(event.stress_drop > 0.0, "{event:?}");
    }
}

#[test]
fn systems_side_by_side_and_from_a_memory_have_the_bits_of_those_alone() {
    let of_strain =
        StrainPlan { halve_to: Some(2e-3), ..strain(StrainMode::PureShear, 4e-3, &[4, -1]) };
    let (plan, _) = glass(60, Precision::Double);
    let plan = with_stage(plan, of_strain);
    let states: Vec<ExactState> = [500, 600, 700]
        .into_iter()
        .map(|steps| liquid(&plan, 0.3, steps).export().unwrap())
        .map(|state| ExactState { step: 0, ..state })
        .collect();
    let alone: Vec<Vec<StrainPoint>> = states.iter().map(|state| curve(&plan, state)).collect();
    let mut together = plan.clone();
    together.run.threads = Some(2);
    let mut systems = StrainedSystems::new(&together, 0, states, None, None).unwrap();
    systems.advance(5).unwrap();
    let mut found = systems.strained();
    let memory = systems.strain_memory().unwrap();
    let kept = (0..3).map(|system| systems.export(system).unwrap()).collect();
    let mut resumed = StrainedSystems::new(&together, 0, kept, Some(&memory), None).unwrap();
    assert_eq!(resumed.step(), 5);
    resumed.advance(4).unwrap();
    found.points.extend(resumed.strained().points);
    for (number, alone) in alone.iter().enumerate() {
        let points: Vec<StrainPoint> = found.points.iter().map(|of| of[number].clone()).collect();
        assert_eq!(&points, alone, "system {number}");
    }
    let lost = StrainedSystems::new(
        &together,
        0,
        vec![resumed.export(0).unwrap(); 3],
        Some(&vec![]),
        None,
    );
    assert!(lost.err().unwrap().to_string().contains("strain"));
}

#[test]
fn every_precision_ends_in_the_box_of_its_last_strain() {
    for precision in Precision::ALL {
        let (plan, state) = glass(60, precision);
        let plan = with_stage(plan, strain(StrainMode::Compression, 1e-3, &[2]));
        let mut systems = StrainedSystems::new(&plan, 0, vec![state], None, None).unwrap();
        systems.advance(1).unwrap();
        assert_eq!(systems.export(0).unwrap().precision, Precision::Double);
        systems.advance(1).unwrap();
        let end = systems.export(0).unwrap();
        assert_eq!(end.precision, precision);
        let expected = plan.stages[0].box_after(&plan.system.simulation_box);
        assert_eq!(end.simulation_box, expected);
        let density = 60.0 / expected.volume();
        assert!((density / (1.2 * 0.002_f64.exp()) - 1.0).abs() < 1e-14);
    }
}

#[test]
fn a_glass_has_the_energies_and_stresses_of_lammps() {
    let of_lammps = common::json("lammps_strain.json");
    let numbers = |value: &serde_json::Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let edge = of_lammps["edge"].as_f64().unwrap();
    let counts = numbers(&of_lammps["counts"]);
    let position = of_lammps["position"].as_array().unwrap().iter().map(numbers);
    let position: Vec<[f64; 3]> = position.map(|place| [place[0], place[1], 0.0]).collect();
    let plan = plan_of(
        SimulationBox::new(&[edge; 2]),
        two_species(counts[0] as usize, counts[1] as usize),
        kob_andersen_potential(Truncation::ForceShifted),
        Precision::Double,
    );
    let snapshot = Snapshot {
        step: 0,
        fraction: Vec::new(),
        image: vec![[0; 3]; position.len()],
        velocity: vec![[0.0; 3]; position.len()],
        position,
        diameter: Default::default(),
    };
    let state = exact(&plan, &snapshot);
    let points = of_lammps["points"].as_array().unwrap();
    let steps = points.len() as i64 - 1;
    let step = of_lammps["step"].as_f64().unwrap();
    let found = curve(&with_stage(plan, strain(StrainMode::PureShear, step, &[steps])), &state);
    for (found, expected) in found.iter().zip(points) {
        let energy = expected["energy"].as_f64().unwrap();
        assert!((found.energy - energy).abs() < 1e-11, "{}: {}", found.strain, found.energy);
        let stress = [found.stress[0][0], found.stress[1][1], found.stress[0][1]];
        for (found_stress, expected) in stress.iter().zip(numbers(&expected["stress"])) {
            // Forces of 1e-9 that are left, over the softest curvatures.
            assert!((found_stress - expected).abs() < 1e-6, "{}: {stress:?}", found.strain);
        }
    }
}

/// The same state, taken along by a tilt of the box.
fn tilted((mut plan, state): (Plan, ExactState), tilt: f64) -> (Plan, ExactState) {
    plan.system.simulation_box = plan.system.simulation_box.with_tilt(tilt);
    let state = state.in_box(plan.system.simulation_box, &plan.system.species).unwrap();
    (plan, state)
}

#[test]
fn a_lattice_in_simple_shear_has_the_stress_and_the_modulus_of_its_sums() {
    let of = fcc(4, 1.0, Truncation::Shifted);
    let sheared = |of: &(Plan, ExactState), step, turns: &[i64]| {
        let of_strain = strain(StrainMode::SimpleShear, step, turns);
        curve(&with_stage(of.0.clone(), of_strain), &of.1)
    };
    let step = 1e-4;
    let points = sheared(&of, step, &[2, -2]);
    assert!((points[0].energy / -7.321032079117095 - 1.0).abs() < 1e-12);
    let slope = (points[1].stress[0][1] - points[5].stress[0][1]) / (2.0 * step);
    // C_xxyy - P of sums over neighbors, made outside this program; differences err by step^2.
    assert!((slope / 35.33897971322025 - 1.0).abs() < 1e-5, "{slope}");
    assert_work(&of.0, StrainMode::SimpleShear, &points, 1e-6);
    // The tilt of a box adds to the strain.
    for (before, steps) in [(0.0, 2), (0.01, 1), (0.03, -1)] {
        let of = tilted(of.clone(), before);
        let points = sheared(&of, 0.01, &[steps]);
        let stress = points.last().unwrap().stress[0][1];
        assert!((stress / 0.6518326591973272 - 1.0).abs() < 1e-10, "from {before}: {stress}");
    }
}

#[test]
fn a_glass_in_simple_shear_returns_through_a_flip_of_the_box_with_the_same_bits() {
    // It is flipped between the second and the third step.
    let (plan, state) = tilted(glass(100, Precision::Double), 0.4995);
    let of_strain = strain(StrainMode::SimpleShear, 2e-4, &[6, -4, 5]);
    let plan = with_stage(plan, of_strain.clone());
    let boxes = [2, 3].map(|step| of_strain.box_after(step, &plan.system.simulation_box));
    assert!(boxes[0].tilt() > 0.49 && boxes[1].tilt() < -0.49);
    let found = all(&plan, vec![state.clone()]);
    assert_eq!(found.events, [], "no plastic event");
    let points: Vec<StrainPoint> = found.points.into_iter().flatten().collect();
    assert!(points.iter().all(|point| point.residual_force < TOLERANCE));
    assert!(points[1..].iter().all(|point| (1e-6..1e-2).contains(&point.largest_displacement)));
    assert_work(&plan, StrainMode::SimpleShear, &points, 1e-5);
    let first = |multiple| (0..).find(|&step| of_strain.multiple(step) == multiple).unwrap();
    for (step, point) in points.iter().enumerate() {
        let first = &points[first(of_strain.multiple(step as u64)) as usize];
        let bits = |point: &StrainPoint| (point.strain, point.energy, point.stress);
        assert_eq!(bits(point), bits(first), "step {step}");
    }
    // From a memory beyond the flip.
    let mut systems = StrainedSystems::new(&plan, 0, vec![state], None, None).unwrap();
    systems.advance(5).unwrap();
    let kept = vec![systems.export(0).unwrap()];
    assert_eq!(kept[0].simulation_box, of_strain.box_after(5, &plan.system.simulation_box));
    let memory = systems.strain_memory().unwrap();
    let mut resumed = StrainedSystems::new(&plan, 0, kept, Some(&memory), None).unwrap();
    resumed.advance(20).unwrap();
    let rest: Vec<StrainPoint> = resumed.strained().points.into_iter().flatten().collect();
    assert_eq!(rest[..], points[6..26]);
}

#[test]
fn nobody_jumps_where_the_box_of_a_flowing_glass_is_flipped() {
    let (plan, state) = glass(100, Precision::Double);
    let plan = with_stage(plan, strain(StrainMode::SimpleShear, 1e-2, &[120]));
    let mut systems = StrainedSystems::new(&plan, 0, vec![state], None, None).unwrap();
    let unwrapped = |systems: &StrainedSystems| -> Vec<[f64; 3]> {
        let state = systems.export(0).unwrap();
        let snapshot = state.to_snapshot(&plan.system.species);
        (0..100).map(|id| snapshot.unwrapped(id, &state.simulation_box)).collect()
    };
    let (mut before, mut flips) = (unwrapped(&systems), 0);
    for step in 1..=120 {
        let tilt = systems.export(0).unwrap().simulation_box.tilt();
        systems.advance(1).unwrap();
        let after = unwrapped(&systems);
        flips += u32::from(systems.export(0).unwrap().simulation_box.tilt() < tilt);
        let largest = systems.strained().points.last().unwrap()[0].largest_displacement;
        let moved = before
            .iter()
            .zip(&after)
            .map(|(&[x, y, _], &[to_x, to_y, _])| (to_x - x - 0.01 * y).hypot(to_y - y));
        let moved = moved.fold(0.0, f64::max);
        // Descents keep the mean place; no event moves anybody by half the box.
        assert!((moved - largest).abs() < 1e-6 && moved < 4.5, "step {step}: {moved} {largest}");
        before = after;
    }
    assert_eq!(flips, 1);
}

#[test]
fn all_strains_do_their_work_in_a_tilted_box() {
    let of = tilted(glass(100, Precision::Double), -0.2);
    for mode in [StrainMode::PureShear, StrainMode::Compression, StrainMode::UniaxialCompression(0)]
    {
        let plan = with_stage(of.0.clone(), strain(mode, 2e-5, &[3]));
        let points = curve(&plan, &of.1);
        assert_work(&plan, mode, &points, 1e-5);
    }
}
