//! Whole results files of a GPU and of a processor, in `fixed-point`.
use crate::case::gpu;
use crate::common::contents::{assert_same_numbers, numbers};
use crate::common::job::{Job, kob_andersen};

const ALL: &str = r#"
[[stage]]
name = "melt"
steps = 500
thermostat = { kind = "bussi", temperature = 1.5, time = 0.1 }
[[stage]]
name = "nve"
steps = 600
observe = { thermodynamics = 20, structure = { every = 100 }, bond_order = { every = 50 }, local_order = { every = 200 } }
[[stage.correlation]]
every = 5
block_size = 5
REMOVE
wavenumbers = [3.0, 7.25]
bond_radius = 1.3
bond_breaking_radius = 1.4
cage_radius = 1.3
van_hove = { bin_width = 0.04, maximum_distance = 2.0 }
observables = ["mean-square-displacement", "mean-displacement", "mean-quartic-displacement", "non-gaussian-parameter",
               "velocity-autocorrelation", "self-intermediate-scattering-function", "self-overlap", "self-van-hove-function",
               "cage-relative-mean-square-displacement", "cage-relative-self-intermediate-scattering-function",
               "cage-relative-self-overlap", "bond-breaking", "collective-overlap", "coherent-intermediate-scattering-function",
               "stress-autocorrelation", "shear-viscosity", "self-overlap-susceptibility", "self-scattering-susceptibility",
               "collective-overlap-susceptibility", "bond-breaking-susceptibility", "four-point-structure-factor",
               "distinct-van-hove-function"]
"#;

#[test]
fn results_files_are_those_of_a_processor() {
    if !gpu() {
        return;
    }
    for (dimension, count, remove, more) in [
        (3, 2000, "", ""),
        (3, 500, "remove_drift = true", "[ensemble]\nkind = \"independent\"\nsystems = 3\n"),
        // Cosines of a table.
        (2, 1200, "remove_drift = true\nvectors_per_shell = 400", ""),
    ] {
        let toml = kob_andersen(dimension, count, "fixed-point", "timestep = 0.004")
            + &ALL.replace("REMOVE", remove)
            + more;
        let jobs = [("cpu", Job::new(&toml)), ("cuda", Job::new(&toml))];
        for (engine, job) in &jobs {
            job.succeeds(&["run", "job.toml", "--engine", engine]);
        }
        let [expected, found] = jobs.map(|(_, job)| job);
        let [expected, found] = [&expected, &found].map(|job| job.path("out/nve.h5"));
        assert_same_numbers(&expected, &found);
        let functions = numbers(&found).into_keys().filter(|name| name.ends_with("/value"));
        assert!(functions.count() > 70);
    }
}
