//! Averages over classes of diameter, from samples that lie in the order of the diameters.
use super::*;

const OBSERVABLES: &str = r#"observe = { structure = { every = 40, bin_width = 0.1, maximum_wavenumber = 6.0, diameter_classes = 3 }, bond_order = { every = 20 } }
[[stage.correlation]]
every = 2
block_size = 5
wavenumbers = [7.0]
vectors_per_shell = 12
diameter_classes = 3
bond_radius = 1.3
bond_breaking_radius = 1.4
observables = ["mean-square-displacement", "self-intermediate-scattering-function", "velocity-autocorrelation",
               "self-overlap-susceptibility", "bond-breaking", "collective-overlap", "cage-relative-mean-square-displacement",
               "coherent-intermediate-scattering-function", "stress-autocorrelation"]
[[stage.correlation]]
every = 4
block_size = 4
remove_drift = true
observables = ["mean-displacement", "self-overlap"]
"#;

fn in_classes(dimension: usize, count: usize, steps: u64, more: &str) -> String {
    let toml = polydisperse(dimension, count, 4);
    let (before, _) = toml.split_once("[[stage]]\nname = \"nve\"").expect("its last stage");
    format!("{before}[[stage]]\nname = \"nve\"\nsteps = {steps}\n{OBSERVABLES}{more}")
}

#[test]
fn averages_over_classes_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for (dimension, count) in [(3, 200), (2, 300)] {
        let toml = in_classes(dimension, count, 160, "");
        let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
        expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
        run_on_the_gpu(&found);
        // Six of three classes and all particles, six pairs of classes and all, two of all particles, and two without classes.
        assert_same_functions(&expected, &found, "nve", 6 * 4 + 7 + 2 + 2);
        assert_eq!(found.results("nve").structure().unwrap().len(), 14);
        let classes = |job: &Job| job.results("nve").classes();
        assert_eq!(classes(&expected), classes(&found));
        assert_eq!(classes(&found).len(), 3);
    }
}

/// Each system has the classes of its own particles; the run is killed and resumed on its way.
#[test]
fn classes_of_many_systems_have_the_bits_of_each_alone() {
    let Some(gpu) = gpu() else { return };
    let more = "[ensemble]\nkind = \"independent\"\nsystems = 3\n[checkpoint]\nminutes = 0.002\n";
    let toml = in_classes(3, 200, 160, more);
    let all = job(gpu, "2", &toml);
    let mut process = all.start(&["run", "job.toml", "--engine", "cuda"]);
    let in_stage = |step: u64| (61..220).contains(&step);
    while process.try_wait().unwrap().is_none() && !checkpoints(&all).into_iter().any(in_stage) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = process.kill();
    Ended::of(process);
    all.succeeds(&["resume", "out", "--engine", "cuda"]);
    let all = numbers(&all.path("out/nve.h5"));
    for system in 0..3 {
        let alone = job(gpu, "1", &toml);
        let number = system.to_string();
        alone.succeeds(&["run", "job.toml", "--engine", "cuda", "--system", &number]);
        let mut compared = 0;
        for (name, (shape, bits)) in &numbers(&alone.path(&format!("out-system-{system}/nve.h5"))) {
            let Some((_, of_all)) = all.get(&format!("/systems{name}")) else { continue };
            let is_average = name.starts_with("/dynamics/") || name.starts_with("/structure/");
            if is_average && name.ends_with("/value") {
                let length: usize = shape.iter().product();
                assert!(of_all[system * length..(system + 1) * length] == bits[..], "{name}");
                compared += 1;
            }
        }
        assert!(compared >= 35 + 14, "{compared} functions");
    }
}
