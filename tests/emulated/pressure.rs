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

const LATER: &str = r#"
[[stage]]
name = "nvt"
steps = 20
thermostat = { kind = "langevin", temperature = 1.5, friction = 1.0 }
observe = { thermodynamics = 5, trajectory = 10 }
[[stage]]
name = "compress"
steps = 20
density = { to = 1.22, every = 10 }
observe = { thermodynamics = 5 }
[[stage]]
name = "dynamics"
steps = 40
observe = { thermodynamics = 5, trajectory = 20 }
[[stage.correlation]]
every = 5
block_size = 4
wavenumbers = [7.25]
vectors_per_shell = 5
[ensemble]
kind = "independent"
systems = 3
"#;

/// Boxes of many systems lie beside them, with all that depends on them; lists of some are made anew in a trial and those of others not.
#[test]
fn many_systems_at_constant_pressure_have_the_numbers_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for (precision, more) in
        [("fixed-point", "threads_per_particle = 4\nskin = 0.1"), ("double", "")]
    {
        let run = format!("timestep = 0.004\ntune = false\n{more}");
        let (stages, _) = STAGES.split_at(STAGES.find("[[stage]]\nname = \"nve\"").unwrap());
        let toml = kob_andersen(3, 256, precision, &run) + stages + LATER;
        let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
        expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
        run_on_the_gpu(&found);
        for file in ["npt.h5", "by-edge.h5", "nvt.h5", "nvt.h5md", "compress.h5", "dynamics.h5md"] {
            if precision == "fixed-point" {
                let [expected, found] =
                    [&expected, &found].map(|job| job.path(&format!("out/{file}")));
                assert_same_numbers(&expected, &found);
            } else if let Some(stage) = file.strip_suffix(".h5") {
                let [expected, found] =
                    [&expected, &found].map(|job| job.series(stage, "potential_energy"));
                let apart = expected.iter().zip(&found).map(|(a, b)| (a - b).abs());
                let largest = apart.fold(0.0, f64::max);
                assert!(largest < 2e-3, "{precision}, {stage}: {largest}");
            }
        }
    }
}
