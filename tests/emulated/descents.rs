//! Descents of many systems side by side: a minimum does not depend on the others, nor on pauses and rooms for lists.
use super::*;

/// Glasses of disks, strained through plastic events, with descents on the GPU.
fn glasses(systems: usize, strain: &str) -> String {
    let melt = r#"
[[stage]]
name = "cool"
steps = 300
thermostat = { kind = "bussi", temperature = { from = 1.5, to = 0.2 }, time = 0.2 }

[[stage]]
name = "strain"
strain = { force_tolerance = 1e-6, "#;
    let liquid = kob_andersen(2, 60, "double", "timestep = 0.004\nthreads_per_particle = 1");
    let liquid = liquid.replace(r#"{ kind = "smooth", width = 0.005 }"#, r#""even-quartic""#);
    liquid
        + melt
        + strain
        + &format!(" }}\n[ensemble]\nkind = \"independent\"\nsystems = {systems}\n")
}

/// Of a quantity of all systems, by step and system.
fn of_systems(job: &Job, quantity: &str, systems: usize) -> Vec<Vec<f64>> {
    let file = hdf5::File::open(job.path("out/strain.h5")).unwrap();
    let path = format!("systems/strain/{quantity}/value");
    let all: Vec<f64> = file.dataset(&path).unwrap().read_raw().unwrap();
    all.chunks(systems).map(<[f64]>::to_vec).collect()
}

#[test]
fn minima_are_the_same_whatever_systems_are_beside_them() {
    for strain in [
        r#"mode = "pure-shear", step = 1e-2, to = [0.03, 0.02], halve_to = 2.5e-3"#,
        r#"mode = "simple-shear", step = 1e-2, to = [0.05, 0.04], halve_to = 2.5e-3"#,
    ] {
        minima_are_the_same(strain);
    }
}

fn minima_are_the_same(strain: &str) {
    let Some(gpu) = gpu() else { return };
    let [few, more] = [(2, "0"), (5, "1")].map(|(systems, order)| {
        let job = job(gpu, "1", &glasses(systems, strain)).with(&[("EMULATED_ORDER", order)]);
        run_on_the_gpu(&job);
        job
    });
    for quantity in ["potential_energy", "iterations", "residual_force", "largest_displacement"] {
        let expected = of_systems(&few, quantity, 2);
        let found = of_systems(&more, quantity, 5);
        assert!(expected.len() == found.len() && found.len() > 4, "{}", found.len());
        for (expected, found) in expected.iter().zip(&found) {
            assert_eq!(expected[..], found[..2], "{quantity}");
        }
    }
    let file = hdf5::File::open(more.path("out/strain.h5")).unwrap();
    let read = |name: &str| -> Vec<f64> {
        file.dataset(&format!("strain/events/{name}")).unwrap().read_raw().unwrap()
    };
    let (systems, drops) = (read("system"), read("energy_drop"));
    assert!(drops.iter().all(|&drop| drop > 1e-3), "{drops:?}");
    // Some have looked for the place of an event while others went on.
    let with_events = (0..5).filter(|&of| systems.contains(&f64::from(of))).count();
    assert!((1..5).contains(&with_events), "{systems:?}");
    let most = |of: &Vec<f64>| of.iter().copied().fold(0.0, f64::max);
    let least = |of: &Vec<f64>| of.iter().copied().fold(f64::INFINITY, f64::min);
    let iterations = of_systems(&more, "iterations", 5);
    assert!(iterations.iter().any(|of| most(of) > 2.0 * least(of)), "{iterations:?}");
}

/// A crystal of equal particles, in a minimum at every density.
#[test]
fn lists_grow_in_boxes_that_shrink() {
    let Some(gpu) = gpu() else { return };
    let strain = r#"mode = "compression", step = 0.01, to = 0.9"#;
    let many = "[ensemble]\nkind = \"independent\"\nsystems = 2\n";
    let mut toml = strain::configuration(strain, many).replace("density = 1.2", "density = 0.6");
    for other in ["epsilon = 1.5, sigma = 0.8 }", "epsilon = 0.5, sigma = 0.88 }"] {
        assert!(toml.contains(other));
        toml = toml.replace(other, "epsilon = 1.0, sigma = 1.0 }");
    }
    let expected = Job::new(&toml);
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    let found = job(gpu, "1", &toml).with(&[("RUST_LOG", "supercool=debug")]);
    let ended = found.succeeds(&["run", "job.toml", "--engine", "cuda"]);
    assert!(ended.stderr.contains("lists of a descent are full"), "they did not grow: {ended:?}");
    let [expected, found] = [&expected, &found].map(|job| of_systems(job, "potential_energy", 2));
    assert_eq!(expected.len(), 91);
    for (expected, found) in expected.iter().flatten().zip(found.iter().flatten()) {
        assert!((expected - found).abs() < 1e-11 * expected.abs().max(1.0), "{expected} {found}");
    }
}
