//! Stages at constant pressure.
use supercool::output::latest_valid;

use crate::common::contents::assert_same_numbers;
use crate::common::job::{Job, kob_andersen};

const STAGES: &str = r#"
[[stage]]
name = "npt"
steps = 400
thermostat = { kind = "bussi", temperature = 1.5, time = 0.5 }
barostat = { kind = "cell-rescaling", pressure = { from = 12.0, to = 9.0 }, time = 0.05, every = 5 }
observe = { thermodynamics = 10, trajectory = 40, gsd = true }

[[stage]]
name = "compress"
steps = 100
density = { to = 1.25, every = 30 }
thermostat = { kind = "bussi", temperature = 1.5, time = 0.5 }
observe = { thermodynamics = 10, trajectory = 30 }

[[stage]]
name = "expand"
steps = 100
like = "npt"

[[stage]]
name = "nve"
steps = 100
observe = { thermodynamics = 50, trajectory = 50, structure = { every = 50 } }
[[stage.correlation]]
every = 10
wavenumbers = [7.25]
"#;

fn liquid(precision: &str) -> String {
    kob_andersen(3, 256, precision, "timestep = 0.004\nthreads = 1\nskin = 0.2") + STAGES
}

/// Later stages keep the box; a run that is stopped again and again has the same numbers.
#[test]
fn later_stages_keep_the_box_of_a_barostat() {
    for precision in ["fixed-point", "double"] {
        let [whole, parts] = [(); 2].map(|()| Job::new(&liquid(precision)));
        let text = whole.succeeds(&["run", "job.toml", "--quiet"]).stdout;
        assert!(text.contains("of 80 volume trials were accepted"), "{text}");
        let density = whole.series("npt", "density");
        assert!((density[0] - 1.2).abs() < 1e-15);
        assert!(density.windows(2).any(|pair| pair[0] != pair[1]));
        let (energy, enthalpy, edges) = (
            whole.series("npt", "internal_energy"),
            whole.series("npt", "enthalpy"),
            whole.series("npt", "box_edges"),
        );
        // With the pressure of the ramp.
        let expected = energy[20] + 10.5 / density[20];
        assert!(
            (enthalpy[20] - expected).abs() < 1e-12 * expected.abs(),
            "{} {expected}",
            enthalpy[20]
        );
        assert!((edges[60].powi(3) * density[20] - 256.0).abs() < 1e-9);
        // Every frame has its box, in both formats, also where the run was stopped.
        let boxes = |job: &Job, file: &str| -> Vec<Vec<f64>> {
            let frames = supercool_analysis::open(job.path(file)).unwrap();
            (0..frames.len()).map(|frame| frames.read(frame).unwrap().box_edges.to_vec()).collect()
        };
        let of_frames = boxes(&whole, "out/npt.h5md");
        assert_eq!(of_frames.len(), 11);
        for (frame, found) in of_frames.iter().enumerate() {
            assert_eq!(found[..], edges[12 * frame..12 * frame + 3], "{frame}");
        }
        for (found, expected) in boxes(&whole, "out/npt.gsd").iter().zip(&of_frames) {
            let apart = found.iter().zip(expected).map(|(a, b)| (a / b - 1.0).abs());
            assert!(apart.fold(0.0, f64::max) < 1e-6, "{found:?} {expected:?}");
        }
        // A frame comes before the change of the box that follows its step.
        let edges: Vec<f64> =
            boxes(&whole, "out/compress.h5md").iter().map(|frame| frame[0]).collect();
        assert!(edges[0] == edges[1] && edges[1] > edges[2] && edges[2] > edges[3], "{edges:?}");
        let compressed = whole.series("compress", "density");
        assert_eq!(compressed[0], density[40]);
        // The last sample comes before the last change.
        let after = whole.series("expand", "density")[0];
        assert!(compressed[10] > 1.2 && (after - 1.25).abs() < 1e-12, "{compressed:?} {after}");
        let last = *whole.series("expand", "density").last().unwrap();
        let frame = supercool_analysis::open(whole.path("out/nve.h5md")).unwrap().read(1).unwrap();
        let volume: f64 = frame.box_edges.iter().product();
        assert!((256.0 / volume - last).abs() < 1e-12, "{volume} {last}");
        let energy = whole.series("nve", "internal_energy");
        assert!((energy[2] - energy[0]).abs() < 2e-3, "{energy:?}");

        parts.runs_in_parts(6, "0.03s");
        assert_eq!(boxes(&parts, "out/npt.h5md"), of_frames);
        assert_eq!(boxes(&parts, "out/npt.gsd"), boxes(&whole, "out/npt.gsd"));
        for stage in ["npt", "compress", "expand", "nve"] {
            let file = format!("out/{stage}.h5");
            assert_same_numbers(&whole.path(&file), &parts.path(&file));
        }
        let bits = |job: &Job| {
            let last = latest_valid(&job.path("out")).unwrap().checkpoint.unwrap().2;
            let of = |name| last.get_u64(name).unwrap();
            (of("position"), of("velocity"), last.get_i32("image").unwrap())
        };
        assert!(bits(&whole) == bits(&parts), "{precision}");
    }
}

const TO_MEAN: &str = r#"
[[stage]]
name = "npt"
steps = 200
thermostat = { kind = "bussi", temperature = 1.5, time = 0.5 }
barostat = { kind = "cell-rescaling", pressure = 9.0, time = 0.05, every = 5 }
observe = { thermodynamics = 10 }

[[stage]]
name = "to-mean"
steps = 60
density = { to = "mean of npt", every = 7 }
thermostat = { kind = "langevin", temperature = 1.5, friction = 1.0 }
observe = { thermodynamics = 10, trajectory = 20 }

[[stage]]
name = "nvt"
steps = 60
thermostat = { kind = "bussi", temperature = 1.5, time = 0.5 }
observe = { thermodynamics = 20, trajectory = 60, structure = { every = 20 } }
[[stage.correlation]]
every = 10
block_size = 4
wavenumbers = [7.25]
"#;

/// All systems have one box then, of the mean density over all of them and all samples after the first; stops change nothing.
#[test]
fn the_density_goes_to_the_mean_of_an_earlier_stage() {
    let ensemble = "[ensemble]\nkind = \"independent\"\nsystems = 3\n";
    for more in ["", ensemble] {
        let run = "timestep = 0.004\nthreads = 1\nskin = 0.2";
        let toml = kob_andersen(3, 256, "fixed-point", run) + TO_MEAN + more;
        let [whole, parts] = [(); 2].map(|()| Job::new(&toml));
        let check = whole.succeeds(&["check", "job.toml"]).stdout;
        assert!(check.contains("to the mean density of npt every 7 steps"), "{check}");
        whole.succeeds(&["run", "job.toml", "--quiet"]);
        // Of the first sample the state is that of the lattice.
        let densities = &whole.series("npt", "density")[1..];
        let mean = densities.iter().sum::<f64>() / densities.len() as f64;
        let frame = supercool_analysis::open(whole.path("out/nvt.h5md")).unwrap().read(1).unwrap();
        let volume: f64 = frame.box_edges.iter().product();
        assert!((256.0 / volume / mean - 1.0).abs() < 1e-12, "{volume} {mean}");
        assert!((mean / 1.2 - 1.0).abs() > 1e-3, "{mean}");
        let changing = whole.series("to-mean", "density");
        assert!(changing.windows(2).all(|two| two[0] != two[1]), "{changing:?}");
        parts.runs_in_parts(6, "0.03s");
        for file in ["npt.h5", "to-mean.h5", "to-mean.h5md", "nvt.h5", "nvt.h5md"] {
            let file = format!("out/{file}");
            assert_same_numbers(&whole.path(&file), &parts.path(&file));
        }
    }
}

/// Stops, kills and the end of the stage change nothing.
#[test]
fn a_piston_goes_on_where_it_was() {
    let stages = r#"
[[stage]]
name = "npt"
steps = 200
thermostat = { kind = "nose-hoover", temperature = 1.5, period = 0.5 }
barostat = { kind = "mtk", pressure = 9.0, time = 0.3 }
observe = { thermodynamics = 10, trajectory = 50 }
[[stage]]
name = "nve"
steps = 100
observe = { thermodynamics = 50, trajectory = 50 }
"#;
    let toml = kob_andersen(3, 256, "fixed-point", "timestep = 0.004") + stages;
    let [whole, parts] = [(); 2].map(|()| Job::new(&toml));
    assert!(whole.succeeds(&["check", "job.toml"]).stdout.contains("a piston with a chain"));
    whole.succeeds(&["run", "job.toml", "--quiet"]);
    parts.runs_in_parts(6, "0.05s");
    for file in ["npt.h5", "npt.h5md", "nve.h5", "nve.h5md"] {
        let file = format!("out/{file}");
        assert_same_numbers(&whole.path(&file), &parts.path(&file));
    }
    let [conserved, energy] =
        ["conserved_energy", "internal_energy"].map(|name| whole.series("npt", name));
    let spread = |values: &[f64]| {
        let most = values.iter().copied().fold(f64::MIN, f64::max);
        most - values.iter().copied().fold(f64::MAX, f64::min)
    };
    assert!(spread(&conserved) < 0.02 * spread(&energy), "{conserved:?} {energy:?}");
}

/// Steps at constant pressure are computed twice with the same bits, wherever the box is, and change nothing.
#[test]
fn steps_in_a_changing_box_are_repeated() {
    let npt = |thermostat: &str, barostat: &str| {
        format!(
            "[[stage]]\nname = \"npt\"\nsteps = 120\nobserve = {{ thermodynamics = 10 }}\nthermostat = {thermostat}\nbarostat = {barostat}\n"
        )
    };
    let rescaling = npt(
        "{ kind = \"bussi\", temperature = 1.5, time = 0.5 }",
        "{ kind = \"cell-rescaling\", pressure = 9.0, time = 0.05, every = 5 }",
    );
    let piston = npt(
        "{ kind = \"nose-hoover\", temperature = 1.5, period = 0.5 }",
        "{ kind = \"mtk\", pressure = 9.0, time = 0.3 }",
    );
    let ensemble = "[ensemble]\nkind = \"independent\"\nsystems = 2\n";
    for (precision, stage, more) in [
        ("fixed-point", &rescaling, ensemble),
        ("fixed-point", &piston, ""),
        ("double", &rescaling, ""),
    ] {
        let toml = kob_andersen(3, 256, precision, "timestep = 0.004") + stage + more;
        let plain = Job::new(&toml);
        plain.succeeds(&["run", "job.toml", "--quiet"]);
        let checked = Job::new(&(toml + "[integrity]\nrecheck = 40\nsegment = 20\n"));
        checked.succeeds(&["run", "job.toml", "--quiet"]);
        let density = plain.series("npt", "density");
        assert!(density.windows(2).any(|two| two[0] != two[1]), "{density:?}");
        assert_eq!(density, checked.series("npt", "density"), "{precision}");
    }
}

#[test]
fn what_does_not_go_together_with_a_barostat_is_refused_where_it_stands() {
    let barostat = "barostat = { kind = \"cell-rescaling\", pressure = 1.0, time = 1.0 }\n";
    let thermostat = "thermostat = { kind = \"bussi\", temperature = 1.5, time = 0.5 }\n";
    let job = |text: &str| {
        let start = kob_andersen(3, 256, "double", "timestep = 0.004");
        Job::new(&format!("{start}\n[[stage]]\nname = \"npt\"\nsteps = 1000\n{text}"))
    };
    let both = format!("{barostat}{thermostat}");
    let piston = format!(
        "{}thermostat = {{ kind = \"nose-hoover\", temperature = 1.5, period = 0.5 }}\n",
        barostat.replace("cell-rescaling", "mtk")
    );
    for (text, message) in [
        (barostat.to_owned(), "belongs to a stage with a thermostat"),
        (format!("{both}density = {{ to = 1.3 }}"), "leave out density or barostat"),
        (
            format!("{both}observe = {{ structure = {{ every = 10 }} }}"),
            "the structure is of one box",
        ),
        (
            format!("{both}[ensemble]\nkind = \"replica-exchange\"\ntemperatures = [1.5, 1.4]\nexchange_every = 10")
                .replace("temperature = 1.5", "temperature = \"ensemble\""),
            "replicas are exchanged at constant volume only",
        ),
        (
            format!(
                "{both}[[stage]]\nname = \"nvt\"\nsteps = 1000\n{thermostat}observe = {{ structure = {{ every = 10 }} }}\n\
                 [ensemble]\nkind = \"independent\"\nsystems = 2"
            ),
            "the structure is of one box",
        ),
        (
            format!("{thermostat}observe = {{ thermodynamics = 10 }}\n[[stage]]\nname = \"nvt\"\nsteps = 10\ndensity = {{ to = \"mean of npt\" }}"),
            "has no barostat",
        ),
        (
            format!("{both}[[stage]]\nname = \"nvt\"\nsteps = 10\ndensity = {{ to = \"mean of npt\" }}"),
            "takes no thermodynamic samples",
        ),
        (
            format!(
                "{both}observe = {{ thermodynamics = 10 }}\n[[stage]]\nname = \"nvt\"\nsteps = 10\n\
                 density = {{ to = \"mean of npt\" }}\n[ensemble]\nkind = \"temperatures\"\ntemperatures = [1.5, 1.2]"
            )
            .replace("temperature = 1.5", "temperature = \"ensemble\""),
            "which have several temperatures there",
        ),
        (both.replace("cell-rescaling", "mtk"), "the thermostat \"nose-hoover\""),
        (
            piston.replace("temperature = 1.5", "temperature = { from = 1.5, to = 0.0 }"),
            "must be greater than 0",
        ),
        (piston.replace("time = 1.0", "time = 0.05"), "must not be less than 25 timesteps"),
        (piston.replace("time = 1.0 }", "time = 1.0, every = 5 }"), "every belongs to the barostat"),
        (piston.clone(), "is there in precision"),
        (both.replace("time = 1.0", "time = 1e9"), "a shorter time, or more steps"),
        (both.replace("time = 1.0", "time = 0.0"), "must be greater than 0"),
        (both.replace("pressure = 1.0", "pressure = nan"), "pressure"),
    ] {
        let refused = job(&text).execute(&["check", "job.toml"]);
        assert_ne!(refused.code, Some(0), "{text}");
        assert!(refused.stderr.contains(message), "{text}: {}", refused.stderr);
        assert!(refused.stderr.contains("job.toml:"), "{}", refused.stderr);
    }
}
