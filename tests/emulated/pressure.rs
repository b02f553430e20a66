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

/// Steps follow most trials, so that the GPU decides on them: under each thermostat, of all edges or of one, and some are rejected.
#[test]
fn trials_on_which_the_gpu_decides_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let barostat = |more: &str| {
        format!(
            "barostat = {{ kind = \"cell-rescaling\", pressure = {{ from = 14.0, to = 20.0 }}, time = 0.03, every = 4{more} }}"
        )
    };
    let stages = [
        ("bussi", r#"{ kind = "bussi", temperature = 1.5, time = 0.5 }"#, ""),
        ("chain", r#"{ kind = "nose-hoover", temperature = 1.5, period = 0.5 }"#, ""),
        (
            "langevin",
            r#"{ kind = "langevin", temperature = 1.5, friction = 1.0 }"#,
            ", coupling = \"anisotropic\"",
        ),
        ("andersen", r#"{ kind = "andersen", temperature = 1.5, rate = 20.0 }"#, ""),
    ];
    for (dimension, count) in [(3, 256), (2, 144)] {
        let run = "timestep = 0.004\ntune = false";
        let mut toml = kob_andersen(dimension, count, "fixed-point", run);
        for (name, thermostat, more) in stages {
            let barostat = barostat(more);
            toml += &format!(
                "[[stage]]\nname = \"{name}\"\nsteps = 80\nthermostat = {thermostat}\n{barostat}\n\
                 observe = {{ thermodynamics = 80, trajectory = 40 }}\n"
            );
        }
        let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
        let printed = expected.succeeds(&["run", "job.toml", "--engine", "cpu"]).stdout;
        run_on_the_gpu(&found);
        for (name, ..) in stages {
            for file in [format!("out/{name}.h5"), format!("out/{name}.h5md")] {
                let [expected, found] = [&expected, &found].map(|job| job.path(&file));
                assert_same_numbers(&expected, &found);
            }
            let line = printed.lines().find(|line| {
                line.starts_with(&format!("{name}:")) && line.contains("volume trials were")
            });
            let share = line.and_then(|line| line.split_once(" %")?.0.rsplit_once(' '));
            let share: f64 = share.expect("it says how many are accepted").1.parse().unwrap();
            assert!((5.0..96.0).contains(&share), "{dimension}D, {name}: {share} % are accepted");
        }
    }
}

/// A box that a piston moves in each step, towards a smaller volume: lists are made anew, in boxes of several sizes.
const PISTON: &str = r#"
[[stage]]
name = "piston"
steps = 90
thermostat = { kind = "nose-hoover", temperature = 1.5, period = 0.5 }
barostat = { kind = "mtk", pressure = { from = 24.0, to = 20.0 }, time = 0.1 }
observe = { thermodynamics = 15 }
[[stage]]
name = "piston-by-axis"
steps = 30
thermostat = { kind = "nose-hoover", temperature = { from = 1.5, to = 1.2 }, period = 0.5 }
barostat = { kind = "mtk", pressure = 14.0, time = 0.1, coupling = "anisotropic" }
observe = { thermodynamics = 15 }
[[stage]]
name = "nve"
steps = 20
observe = { thermodynamics = 5 }
"#;

#[test]
fn a_piston_has_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for (dimension, count) in [(3, 256), (2, 144)] {
        let run = "timestep = 0.004\ntune = false";
        let toml = kob_andersen(dimension, count, "fixed-point", run) + PISTON;
        let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
        expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
        run_on_the_gpu(&found);
        for stage in ["piston", "piston-by-axis", "nve"] {
            let [expected, found] =
                [&expected, &found].map(|job| job.path(&format!("out/{stage}.h5")));
            assert_same_numbers(&expected, &found);
        }
        let density = expected.series("piston", "density");
        let changed = density.iter().any(|now| (now / density[0] - 1.0).abs() > 0.02);
        assert!(changed, "{dimension}D: {density:?}");
    }
}

/// Systems whose pistons differ, and whose lists are made anew together.
#[test]
fn many_pistons_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let run = "timestep = 0.004\ntune = false\nskin = 0.15";
    let ensemble = "[ensemble]\nkind = \"independent\"\nsystems = 3\n";
    let toml = kob_andersen(3, 256, "fixed-point", run) + PISTON + ensemble;
    let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    run_on_the_gpu(&found);
    for stage in ["piston", "piston-by-axis", "nve"] {
        let [expected, found] = [&expected, &found].map(|job| job.path(&format!("out/{stage}.h5")));
        assert_same_numbers(&expected, &found);
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

/// Calls of the driver in a stage with this number of trials, by kind.
fn calls_of(gpu: &Path, precision: &str, trials: u64) -> Vec<(String, f64)> {
    let mut toml = kob_andersen(3, 256, precision, "timestep = 0.004\ntune = false");
    let steps = 5 * trials;
    toml += &format!(
        r#"
[[stage]]
name = "npt"
steps = {steps}
thermostat = {{ kind = "bussi", temperature = 1.5, time = 0.5 }}
barostat = {{ kind = "cell-rescaling", pressure = 14.0, time = 0.02, compressibility = 0.002, every = 5 }}
observe = {{ thermodynamics = {steps} }}
"#
    );
    let job = job(gpu, "1", &toml);
    let file = job.path("calls");
    let job = job.with(&[("EMULATED_CALLS", file.to_str().unwrap())]);
    run_on_the_gpu(&job);
    let of_line = |line: &str| {
        let (call, count) = line.split_once(": ").unwrap();
        (call.to_owned(), count.parse().unwrap())
    };
    std::fs::read_to_string(&file).unwrap().lines().map(of_line).collect()
}

/// The host waits for the steps with the sums in the present box, and for the sums in the other one, by letters that kernels write: one copy
/// goes to the GPU and none comes from there, and the driver waits where the host has looked for a while without finding one. Lists that are made anew in a trial
/// take more, and so does the end of a portion of steps, which are shorter on a slow processor.
#[test]
fn a_trial_takes_two_letters() {
    let Some(gpu) = gpu() else { return };
    let [few, many] = [10, 50].map(|trials| calls_of(gpu, "fixed-point", trials));
    let of_trial = |wanted: &str| {
        let count =
            |calls: &[(String, f64)]| calls.iter().find(|(call, _)| call == wanted).unwrap().1;
        (count(&many) - count(&few)) / 40.0
    };
    // Steps, sums in either box, each of which ends with a letter, and what follows from the decision.
    let launches = of_trial("launches");
    assert!((3.0..6.0).contains(&launches), "{launches}");
    let waits = of_trial("waits");
    assert!(waits < 3.6, "{waits}");
    // The box of the trial.
    let to_gpu = of_trial("copies to the GPU");
    assert!((0.9..2.0).contains(&to_gpu), "{to_gpu}");
    assert!(of_trial("copies from the GPU") < 0.5);
    assert!(of_trial("fillings") < 0.5);
}
