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

#[test]
fn what_does_not_go_together_with_a_barostat_is_refused_where_it_stands() {
    let barostat = "barostat = { kind = \"cell-rescaling\", pressure = 1.0, time = 1.0 }\n";
    let thermostat = "thermostat = { kind = \"bussi\", temperature = 1.5, time = 0.5 }\n";
    let job = |text: &str| {
        let start = kob_andersen(3, 256, "double", "timestep = 0.004");
        Job::new(&format!("{start}\n[[stage]]\nname = \"npt\"\nsteps = 1000\n{text}"))
    };
    let both = format!("{barostat}{thermostat}");
    for (text, message) in [
        (barostat.to_owned(), "belongs to a stage with a thermostat"),
        (format!("{both}density = {{ to = 1.3 }}"), "leave out density or barostat"),
        (
            format!("{both}observe = {{ structure = {{ every = 10 }} }}"),
            "the structure is of one box",
        ),
        (format!("{both}[integrity]\nrecheck = 100"), "are not computed twice"),
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
