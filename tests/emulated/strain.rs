//! Strain with descents on the GPU, in boxes that change their shape and size.
use super::*;

/// A crystal with impurities, whose minimum is one: what is rounded otherwise changes nothing else.
pub fn configuration(strain: &str, rest: &str) -> String {
    let crystal = kob_andersen(3, 256, "double", "timestep = 0.004\nthreads = 2");
    let species = [r#"name = "A", count = 205"#, r#"name = "B", count = 51"#];
    assert!(species.iter().all(|species| crystal.contains(species)), "{crystal}");
    let crystal = crystal.replace(species[0], r#"name = "A", count = 250"#);
    let crystal = crystal.replace(species[1], r#"name = "B", count = 6"#);
    let crystal = crystal.replace(r#"{ kind = "smooth", width = 0.005 }"#, r#""even-quartic""#);
    crystal
        + &format!(
            "\n[[stage]]\nname = \"strain\"\nstrain = {{ {strain}, force_tolerance = 1e-8 }}\nobserve = {{ trajectory = 1 }}\n{rest}"
        )
}

#[test]
fn a_strain_on_the_gpu_has_the_curve_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let many = "[ensemble]\nkind = \"independent\"\nsystems = 2\n";
    for (strain, rest) in [
        (r#"mode = "pure-shear", step = 2e-3, to = [0.004, 0.002]"#, ""),
        (r#"mode = "compression", step = 2e-3, to = 0.004"#, many),
        (r#"mode = "simple-shear", step = 2e-3, to = [0.004, 0.002]"#, ""),
        (r#"mode = "simple-shear", step = 2e-3, to = [0.002, -0.002]"#, many),
    ] {
        let iterations = has_the_curve_of_the_cpu(gpu, &configuration(strain, rest), 1e-6);
        assert!(iterations.iter().all(|&iterations| iterations > 1.0), "{iterations:?}");
    }
}

/// Energies to 1e-11, what is linear in the places to `linear`; gives the iterations of all points.
fn has_the_curve_of_the_cpu(gpu: &Path, toml: &str, linear: f64) -> Vec<f64> {
    let (expected, found) = (Job::new(toml), job(gpu, "1", toml));
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    run_on_the_gpu(&found);
    let read = |job: &Job, path: &str| -> Vec<f64> {
        let file = hdf5::File::open(job.path("out/strain.h5")).unwrap();
        file.dataset(path).unwrap().read_raw().unwrap()
    };
    for (path, tolerance) in [
        ("strain/strain", 0.0),
        ("strain/potential_energy/value", 1e-11),
        ("strain/stress_tensor/value", linear),
        ("strain/pressure/value", linear),
        ("strain/largest_displacement/value", linear),
    ] {
        let [a, b] = [&expected, &found].map(|job| read(job, path));
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(&b) {
            assert!((a - b).abs() <= tolerance, "{path}: {a} {b}");
        }
    }
    read(&found, "strain/iterations/value")
}

/// Descents end before what is rounded otherwise could grow.
#[test]
fn a_strain_on_the_gpu_goes_through_a_flip_of_the_box() {
    let Some(gpu) = gpu() else { return };
    let disks = kob_andersen(2, 100, "double", "timestep = 0.004\nthreads = 2");
    let stage = r#"
[[stage]]
name = "strain"
strain = { mode = "simple-shear", step = 0.01, to = [0.51, 0.49], maximum_iterations = 2 }
"#;
    for rest in ["", "[ensemble]\nkind = \"independent\"\nsystems = 2\n"] {
        let toml = disks.clone() + stage + rest;
        let iterations = has_the_curve_of_the_cpu(gpu, &toml, 1e-9);
        assert!(iterations.iter().all(|&iterations| iterations == 2.0), "{iterations:?}");
    }
}

#[test]
fn a_simple_shear_after_steps_goes_back_with_the_same_bits() {
    let Some(gpu) = gpu() else { return };
    let toml = configuration(r#"mode = "simple-shear", step = 2e-3, to = [0.004, 0.002]"#, "");
    let melt = "\n[[stage]]\nname = \"warm\"\nsteps = 4\ndraw_velocities = true\nthermostat = { kind = \"bussi\", temperature = 0.01, time = 0.2 }\n";
    let (before, strain) = toml.split_once("\n[[stage]]").unwrap();
    let found = job(gpu, "1", &format!("{before}{melt}\n[[stage]]{strain}"));
    found.succeeds(&["run", "job.toml", "--engine", "cuda"]);
    let file = hdf5::File::open(found.path("out/strain.h5")).unwrap();
    let stress: Vec<f64> = file.dataset("strain/stress/value").unwrap().read_raw().unwrap();
    let energy: Vec<f64> =
        file.dataset("strain/potential_energy/value").unwrap().read_raw().unwrap();
    assert_eq!((stress[1], energy[1]), (stress[3], energy[3]), "on the way back");
    assert!(energy[2] != energy[0] && stress[2] != stress[0]);
}
