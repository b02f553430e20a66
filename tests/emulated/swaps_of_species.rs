//! Exchanges of species, which particles take over with their ids.
use super::*;
use crate::common::job::kob_andersen_2;

fn configuration(count: usize, every: u32, trials: f64, steps: u32) -> String {
    kob_andersen_2(count, "fixed-point", "timestep = 0.003")
        + &format!(
            r#"
[[stage]]
name = "swap"
steps = {steps}
thermostat = {{ kind = "langevin", temperature = 2.0, friction = 1.0 }}
swap = {{ every = {every}, trials_per_particle = {trials}, pairs = ["AC", "BC"] }}
observe = {{ thermodynamics = {every}, trajectory = {steps} }}
[[stage]]
name = "nve"
steps = {steps}
observe = {{ thermodynamics = {every}, trajectory = {steps} }}
"#
        )
}

#[test]
fn swaps_of_species_give_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let small = configuration(500, 15, 1.0, 60);
    let many = small.clone() + "[ensemble]\nkind = \"independent\"\nsystems = 2\n";
    // Two blocks have 4,096 particles each.
    let large = configuration(8200, 2, 0.02, 4);
    for toml in [small, many, large] {
        let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
        let ended = expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
        assert!(ended.stdout.contains("swap trials were accepted"), "{ended:?}");
        run_on_the_gpu(&found);
        for file in ["out/swap.h5", "out/swap.h5md", "out/nve.h5", "out/nve.h5md"] {
            assert_same_numbers(&expected.path(file), &found.path(file));
        }
    }
}
