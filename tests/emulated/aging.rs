//! Functions from given time origins, whose samples are snapshots that the host evaluates.
use super::*;

#[test]
fn functions_from_given_origins_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let toml = kob_andersen(3, 256, "fixed-point", "timestep = 0.004")
        + r#"
[ensemble]
kind = "independent"
systems = 2
[[stage]]
name = "melt"
steps = 20
thermostat = { kind = "andersen", temperature = 3.0, rate = 20.0 }
[[stage]]
name = "aging"
steps = 60
thermostat = { kind = "bussi", temperature = 0.5, time = 0.1 }
draw_velocities = true
observe = { thermodynamics = 20 }
[[stage.correlation]]
every = 5
block_size = 4
wavenumbers = [7.25]
overlap_length = 0.2
origins = [0, 0.028, 0.2]
observables = ["mean-square-displacement", "self-overlap", "self-overlap-susceptibility", "coherent-intermediate-scattering-function", "velocity-autocorrelation"]
[[stage.correlation]]
every = 5
block_size = 4
observables = ["mean-square-displacement"]
"#;
    let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    run_on_the_gpu(&found);
    let [expected, found] = [&expected, &found].map(|job| job.results("aging").aging().unwrap());
    assert!(expected.len() > 10 && expected.len() == found.len());
    let mut compared = 0;
    for (expected, found) in expected.iter().zip(&found) {
        assert_eq!(expected.waiting_time, found.waiting_time);
        for (expected, found) in expected.functions.iter().zip(&found.functions) {
            for (expected, found) in expected.curves.iter().zip(&found.curves) {
                for (a, b) in expected.value.iter().zip(&found.value) {
                    assert_eq!(a.to_bits(), b.to_bits(), "{a} {b}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 300, "{compared}");
}
