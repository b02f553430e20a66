//! Constant pressure: lists serve in the boxes of trials, coordinates scale, the program changes with the shape of the box.
use super::*;

const STAGES: &str = r#"
[[stage]]
name = "npt"
steps = 60
thermostat = { kind = "bussi", temperature = 1.5, time = 0.5 }
barostat = { kind = "cell-rescaling", pressure = { from = 14.0, to = 20.0 }, time = 0.03, every = 5 }
observe = { thermodynamics = 5 }
[[stage]]
name = "by-edge"
steps = 40
thermostat = { kind = "nose-hoover", temperature = 1.5, period = 0.5 }
barostat = { kind = "cell-rescaling", pressure = 14.0, time = 0.03, every = 5, coupling = "anisotropic" }
observe = { thermodynamics = 5 }
[[stage]]
name = "nve"
steps = 20
observe = { thermodynamics = 5 }
"#;

#[test]
fn constant_pressure_has_the_numbers_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for precision in ["fixed-point", "double-single", "double"] {
        let toml = kob_andersen(3, 256, precision, "timestep = 0.004\ntune = false") + STAGES;
        let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
        expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
        run_on_the_gpu(&found);
        for stage in ["npt", "by-edge", "nve"] {
            if precision == "fixed-point" {
                let [expected, found] =
                    [&expected, &found].map(|job| job.path(&format!("out/{stage}.h5")));
                assert_same_numbers(&expected, &found);
            } else {
                // Sums are rounded otherwise: by 1e-7 of the energy at most, which 120 steps carry on.
                let [expected, found] =
                    [&expected, &found].map(|job| job.series(stage, "potential_energy"));
                let apart = expected.iter().zip(&found).map(|(a, b)| (a - b).abs());
                let largest = apart.fold(0.0, f64::max);
                assert!(largest < 1e-3, "{precision}, {stage}: {largest}");
            }
        }
        let volumes = expected.series("npt", "density");
        assert!(volumes.windows(2).filter(|pair| pair[0] != pair[1]).count() >= 4, "{volumes:?}");
    }
}
