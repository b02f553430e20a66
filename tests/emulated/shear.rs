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

/// The host evaluates what needs distances in a tilted box, of the states of the GPU.
#[test]
fn functions_of_pairs_in_tilted_boxes_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let of_flow = r#"
bond_order = { every = 10, radius = 1.4 }
local_order = { every = 10, radius = 1.4 }
[[stage.correlation]]
every = 5
block_size = 4
wavenumbers = [7.25]
overlap_length = 0.2
cage_radius = 1.4
bond_radius = 1.3
bond_breaking_radius = 1.5
observables = ["mean-square-displacement", "bond-breaking", "cage-relative-mean-square-displacement", "coherent-intermediate-scattering-function", "four-point-structure-factor""#;
    let at_rest =
        r#", "collective-overlap", "distinct-van-hove-function", "stress-autocorrelation""#;
    let toml = kob_andersen(2, 160, "fixed-point", "timestep = 0.004\nskin = 0.3")
        + &format!(
            r#"
[ensemble]
kind = "independent"
systems = 2
[[stage]]
name = "flow"
steps = 60
thermostat = {{ kind = "bussi", temperature = 1.0, time = 0.1 }}
shear = {{ rate = 3.0 }}
[stage.observe]{of_flow}]
[[stage]]
name = "rest"
steps = 60
[stage.observe]{of_flow}{at_rest}]
"#
        );
    let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    run_on_the_gpu(&found);
    for file in ["out/flow.h5", "out/rest.h5"] {
        assert_same_numbers(&expected.path(file), &found.path(file));
    }
    let functions = expected.results("rest").dynamics().unwrap();
    assert!(functions.iter().any(|each| each.name == "distinct_van_hove_function"));
}
