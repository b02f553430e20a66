//! The Buckingham potential in the engines: energy is conserved, and pairs inside the inner maximum end the run.
mod common;

use common::{begin, exact, plan_of};
use serde_json::json;
use supercool::engine::domain::{Ranks, on_threads};
use supercool::engine::{self, EngineError};
use supercool::plan::{Plan, Precision};
use supercool::potential::{PairParameters, PairPotential, PotentialPlan, Truncation};
use supercool::system::{SimulationBox, Snapshot, Species};

const TRUNCATIONS: [Truncation; 4] = [
    Truncation::Sharp,
    Truncation::Shifted,
    Truncation::ForceShifted,
    Truncation::Smooth { width: 0.05 },
];

/// Exp-6 of depth 1, minimum at 1 and alpha = 13: the inner maximum is at 0.2470.
fn exp_6() -> PairParameters {
    PairParameters::of_form(
        PairPotential::Buckingham,
        2.5,
        &[379_211.478_864_778_9, 1.0 / 13.0, 13.0 / 7.0],
    )
}

fn plan(count: usize, edge: f64, truncation: Truncation, precision: Precision) -> Plan {
    let potential = PotentialPlan {
        form: PairPotential::Buckingham,
        truncation,
        pairs: vec![vec![exp_6()]],
        diameters: None,
    };
    let species = vec![Species { name: "A".into(), count, mass: 1.0 }];
    plan_of(SimulationBox::new(&[edge; 3]), species, potential, precision)
}

/// The first and the last of five particles at rest are `apart` along x, the others alone.
fn two_at(apart: f64) -> Snapshot {
    Snapshot {
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
    }
}

#[test]
fn plans_hold_its_own_parameters_only() {
    let plan = plan(5, 12.0, Truncation::Shifted, Precision::Double).potential;
    let expected = json!({
        "form": {"kind": "buckingham"},
        "truncation": {"kind": "shifted"},
        "pairs": [[{"cutoff": 2.5, "A": 379_211.478_864_778_9, "rho": 1.0 / 13.0, "C": 13.0 / 7.0}]],
    });
    assert_eq!(serde_json::to_value(&plan).unwrap(), expected);
    assert_eq!(serde_json::from_value::<PotentialPlan>(expected).unwrap(), plan);
}

#[test]
fn pairs_inside_the_inner_maximum_are_named() {
    for truncation in TRUNCATIONS {
        for precision in Precision::ALL {
            let plan = plan(5, 12.0, truncation, precision);
            for (apart, words) in [
                (0.2, "are at a distance of 0.2000: their potential has its maximum at 0.2470"),
                (0.0, "are at the same place"),
            ] {
                let error = engine::create(&plan, &exact(&plan, &two_at(apart))).err();
                let context = format!("{truncation:?} {precision:?} {apart}: {error:?}");
                let error = error.expect("the pair is inside");
                assert!(matches!(error, EngineError::TooClose { first: 0, second: 4, .. }));
                assert!(error.to_string().contains(words), "{context}: {error}");
            }
            assert!(engine::create(&plan, &exact(&plan, &two_at(0.6))).is_ok());
        }
    }
}

#[test]
fn ranks_name_them_too() {
    let plan = plan(5, 12.0, Truncation::Shifted, Precision::FixedPoint);
    let state = exact(&plan, &two_at(0.2));
    let expected = engine::create(&plan, &state).err().unwrap().to_string();
    on_threads(4, |ranks: Ranks| {
        let found = engine::create_on(&ranks, &plan, &state).err().unwrap().to_string();
        assert!(found.contains(&expected), "{found}");
    });
}

/// The error of velocity Verlet is of second order in the time step.
#[test]
fn energy_is_conserved_to_second_order() {
    let truncation = Truncation::Smooth { width: 0.1 };
    let error = |timestep: f64| {
        let mut plan = plan(256, 6.4, truncation, Precision::Double);
        plan.run.timestep = timestep;
        let mut engine =
            engine::create(&plan, &supercool::initial::create(&plan).unwrap()).unwrap();
        engine.draw_velocities(1.0, true).unwrap();
        begin(engine.as_mut(), None);
        let start = engine.thermodynamics().unwrap().conserved_energy;
        let steps = (0.02 / timestep).round() as u64;
        (0..20).fold(0.0f64, |largest, _| {
            engine.advance(steps).unwrap();
            let energy = engine.thermodynamics().unwrap().conserved_energy;
            largest.max((energy - start).abs())
        })
    };
    let (coarse, fine) = (error(0.002), error(0.001));
    assert!(coarse < 1e-3, "{coarse:e}");
    assert!((3.0..5.0).contains(&(coarse / fine)), "{coarse:e} {fine:e}");
}

#[cfg(target_os = "linux")]
mod on_a_gpu {
    use super::common::contents::assert_same_numbers;
    use super::common::emulated_gpu::{gpu, job};
    use super::common::job::Job;

    /// 108 particles on a lattice, the last one `apart` from that before.
    fn start(apart: Option<f64>) -> String {
        let mut lines = String::new();
        for at in 0..108u32 {
            let place = |k: u32| f64::from(k) * 1.5 + 0.2;
            let (x, y, z) = match apart {
                Some(apart) if at == 107 => (place(1) + apart, place(1), place(4)),
                _ => (place(at % 5), place(at / 5 % 5), place(at / 25)),
            };
            let speed = f64::from(at % 7) - 3.0;
            lines += &format!("A {x} {y} {z} {speed} {} 0\n", 0.5 * speed);
        }
        let comment = "Lattice=\"7.5 0 0 0 7.5 0 0 0 7.5\" Properties=species:S:1:pos:R:3:velo:R:3";
        format!("108\n{comment}\n{lines}")
    }

    fn toml(precision: &str, truncation: &str) -> String {
        format!(
            r#"[system]
dimension = 3
box = [7.5, 7.5, 7.5]
seed = 1
species = [{{ name = "A", count = 108 }}]
initial = {{ file = "start.xyz" }}
[potential]
kind = "buckingham"
cutoff_absolute = 2.5
truncation = {truncation}
pairs = {{ AA = {{ A = 379211.5, rho = 0.0769230769, C = 1.85714286 }} }}
[run]
precision = "{precision}"
timestep = 0.002
threads_per_particle = 2
[output]
directory = "out"
[[stage]]
name = "nve"
steps = 100
observe = {{ thermodynamics = 20, trajectory = 50 }}
"#
        )
    }

    #[test]
    fn it_has_the_bits_of_the_cpu() {
        let Some(gpu) = gpu() else { return };
        let text = toml("fixed-point", r#"{ kind = "smooth", width = 0.05 }"#);
        let (expected, found) = (Job::new(&text), job(gpu, "1", &text));
        for (job, engine) in [(&expected, "cpu"), (&found, "cuda")] {
            job.write("start.xyz", &start(None));
            job.succeeds(&["run", "job.toml", "--engine", engine]);
        }
        for file in ["out/nve.h5", "out/nve.h5md"] {
            assert_same_numbers(&expected.path(file), &found.path(file));
        }
    }

    #[test]
    fn pairs_inside_the_inner_maximum_are_named() {
        let Some(gpu) = gpu() else { return };
        for (precision, truncation) in
            [("fixed-point", r#"{ kind = "smooth", width = 0.05 }"#), ("double", r#""shifted""#)]
        {
            let job = job(gpu, "1", &toml(precision, truncation));
            job.write("start.xyz", &start(Some(0.2)));
            for engine in ["cuda", "cpu"] {
                let run = ["run", "job.toml", "--engine", engine, "--force"];
                job.fails(&run, &["particles 106 and 107 are at a distance of 0.2000"]);
            }
        }
    }
}
