//! Steady shear: the tilt moves within launches, lists are made at another tilt than forces, and the box flips.
use super::*;

/// Each steady flow strains by 0.64 or more: the box flips, and the oscillation does so to and fro.
const STAGES: &str = r#"
[[stage]]
name = "alone"
steps = 40
shear = { rate = 4.0 }
[[stage]]
name = "rest"
steps = 40
[[stage]]
name = "bussi"
steps = 40
thermostat = { kind = "bussi", temperature = 1.0, time = 0.1 }
shear = { rate = -4.0 }
[[stage]]
name = "isokinetic"
steps = 40
thermostat = { kind = "isokinetic", temperature = 1.0 }
shear = { rate = 4.0 }
[[stage]]
name = "nose-hoover"
steps = 40
thermostat = { kind = "nose-hoover", temperature = 1.0, period = 0.3 }
shear = { rate = 5.0 }
[[stage]]
name = "oscillation"
steps = 60
thermostat = { kind = "bussi", temperature = 1.0, time = 0.1 }
shear = { amplitude = 0.1, period = 0.16 }
correlation = [{ every = 5, observables = ["mean-square-displacement"] }]
[[stage]]
name = "langevin"
steps = 40
thermostat = { kind = "langevin", temperature = 1.0, friction = 2.0 }
shear = { rate = 4.0 }
[[stage]]
name = "andersen"
steps = 40
thermostat = { kind = "andersen", temperature = 1.0, rate = 20.0 }
shear = { rate = -4.0 }
[[stage]]
name = "brownian"
steps = 40
thermostat = { kind = "brownian", temperature = 1.0, friction = 300.0 }
shear = { rate = 4.0 }
"#;
const NAMES: [&str; 9] = [
    "alone",
    "rest",
    "bussi",
    "isokinetic",
    "nose-hoover",
    "oscillation",
    "langevin",
    "andersen",
    "brownian",
];

fn flows(dimension: usize, count: usize, precision: &str, threads_per_particle: u32) -> String {
    let run =
        format!("timestep = 0.004\nthreads_per_particle = {threads_per_particle}\nskin = 0.3");
    let observe = "observe = { thermodynamics = 20, trajectory = 40 }\n[[stage]]";
    let stages = STAGES.replace("[[stage]]", observe).replacen(observe, "[[stage]]", 1);
    kob_andersen(dimension, count, precision, &run)
        + &stages
        + "observe = { thermodynamics = 20, trajectory = 40 }\n"
}

#[test]
fn flows_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    // Sites are tagged, or not; one lane a particle, or several.
    for (dimension, count, threads, order) in [(3, 800, 8, "1"), (2, 400, 1, "0")] {
        let toml = flows(dimension, count, "fixed-point", threads);
        let expected = Job::new(&toml);
        expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
        let found = job(gpu, "1", &toml).with(&[("EMULATED_ORDER", order)]);
        run_on_the_gpu(&found);
        for stage in NAMES {
            for file in [format!("out/{stage}.h5"), format!("out/{stage}.h5md")] {
                assert_same_numbers(&expected.path(&file), &found.path(&file));
            }
        }
    }
}

/// Each system keeps its own tilt on the GPU.
#[test]
fn flows_of_an_ensemble_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let toml =
        flows(2, 300, "fixed-point", 1) + "[ensemble]\nkind = \"independent\"\nsystems = 3\n";
    let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    run_on_the_gpu(&found);
    for stage in NAMES {
        for file in [format!("out/{stage}.h5"), format!("out/{stage}.h5md")] {
            assert_same_numbers(&expected.path(&file), &found.path(&file));
        }
    }
}

#[test]
fn a_flow_that_is_stopped_has_the_bits_of_a_whole_one() {
    let Some(gpu) = gpu() else { return };
    for precision in ["double-single", "double"] {
        let toml = flows(2, 300, precision, 1).replace("engine = \"cpu\"", "engine = \"cuda\"");
        let [whole, parts] = [(); 2].map(|()| job(gpu, "1", &toml));
        run_on_the_gpu(&whole);
        parts.runs_in_parts(3, "0.4s");
        for stage in NAMES {
            for file in [format!("out/{stage}.h5"), format!("out/{stage}.h5md")] {
                assert_same_numbers(&whole.path(&file), &parts.path(&file));
            }
        }
    }
}
