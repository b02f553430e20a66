//! Pistons that move the box of a system on several GPUs.
use super::*;

/// Pistons of all edges together and of each, between steps without one, at pressures and temperatures that change: the box becomes
/// smaller or larger by several per cent, and lists are made anew in boxes of several sizes.
fn pistons(dimension: usize, count: usize, transport: &str) -> String {
    let run = format!("timestep = 0.004\nskin = 0.3\nthreads = 1\ntransport = \"{transport}\"");
    kob_andersen(dimension, count, "fixed-point", &run)
        + r#"
[[stage]]
name = "nve"
steps = 20
observe = { thermodynamics = 5, trajectory = 20 }
[[stage]]
name = "piston"
steps = 60
thermostat = { kind = "nose-hoover", temperature = { from = 1.5, to = 1.2 }, period = 0.5 }
barostat = { kind = "mtk", pressure = { from = 24.0, to = 20.0 }, time = 0.1 }
observe = { thermodynamics = 5, trajectory = 20 }
[[stage]]
name = "piston-by-axis"
steps = 40
thermostat = { kind = "nose-hoover", temperature = 1.2, period = 0.5 }
barostat = { kind = "mtk", pressure = 14.0, time = 0.1, coupling = "anisotropic" }
observe = { thermodynamics = 5, trajectory = 20 }
[[stage]]
name = "bussi"
steps = 20
thermostat = { kind = "bussi", temperature = 1.2, time = 0.5 }
observe = { thermodynamics = 5, trajectory = 20 }
[[stage]]
name = "last"
steps = 20
observe = { thermodynamics = 5, trajectory = 20 }
"#
}

/// Of 1700 particles four cells fit along an edge in the first box, and three in the smaller one.
#[test]
fn pistons_give_the_bits_of_the_cpu_in_three_dimensions() {
    let cases = [(2, 2, "peer-memory"), (2, 2, "host-memory")];
    the_bits_are_those_of_the_cpu(|by| pistons(3, 1700, by), &cases);
    // With the same kernels, which take long to compile for emulated GPUs.
    the_bits_do_not_change_where_a_run_goes_on_on_other_gpus();
    a_box_that_becomes_too_small_for_its_domains_is_an_error();
}

#[test]
fn pistons_give_the_bits_of_the_cpu_in_two_dimensions() {
    let cases = [(2, 2, "host-memory"), (4, 4, "peer-memory")];
    the_bits_are_those_of_the_cpu(|by| pistons(2, 1000, by), &cases);
}

/// Stopped again and again, on emulated GPUs within stages with a piston, too.
fn the_bits_do_not_change_where_a_run_goes_on_on_other_gpus() {
    let toml = pistons(3, 1400, "auto");
    let expected = Job::new(&toml);
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    for place in places() {
        let most = match place {
            Gpus::Emulated(_) => 4,
            Gpus::Real(real) => real.min(4),
        };
        let job = job_on(place, most, &toml);
        let mut ended =
            job.execute_on(most, &["run", "job.toml", "--engine", "cuda", "--max-walltime", "0s"]);
        let (mut seconds, mut stops) = (0.25, 0);
        while ended.code == Some(75) {
            let ranks = if stops % 2 == 0 { 2 } else { most };
            let limit = format!("{seconds}s");
            let arguments = ["resume", "out", "--engine", "cuda", "--max-walltime", &limit];
            ended = job.execute_on(ranks, &arguments);
            (seconds, stops) = (2.0 * seconds, stops + 1);
        }
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(stops > 1 || matches!(place, Gpus::Real(_)), "the machine is too fast for this");
        assert_same_results(&expected, &job);
    }
}

/// Domains are parts of the box, which becomes too small for them. On one rank the run goes on.
fn a_box_that_becomes_too_small_for_its_domains_is_an_error() {
    let Some(gpu) = gpu() else { return };
    let toml = pistons(3, 256, "auto").replace("skin = 0.3", "skin = 0.45");
    let expected = Job::new(&toml);
    expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
    let job = job_on(Gpus::Emulated(gpu), 2, &toml);
    let ended = job.execute_on(2, &["run", "job.toml", "--engine", "cuda"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for part in ["step 3", "1 x 1 x 2 domains", "2.950", "fewer ranks", "run.skin"] {
        assert!(ended.stderr.contains(part), "no {part:?}: {ended:?}");
    }
    job.succeeds(&["resume", "out", "--engine", "cpu"]);
    assert_same_results(&expected, &job);
}
