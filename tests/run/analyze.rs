//! `supercool analyze` on files that the program wrote.
use std::fs;

use crate::common::job::{Job, kob_andersen};

#[test]
fn analyze_fits_what_a_run_wrote() {
    let toml = kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1\nskin = 0.3")
        + r#"
[[stage]]
name = "melt"
steps = 300
thermostat = { kind = "langevin", temperature = 2.0, friction = 2.0 }
observe = { thermodynamics = 10 }

[[stage]]
name = "production"
steps = 3000
observe = { thermodynamics = 10 }
[[stage.correlation]]
every = 5
wavenumbers = [7.25]
[[stage.correlation]]
every = 2
block_size = 20
observables = ["shear-viscosity"]
"#;
    let job = Job::new(&toml);
    job.succeeds(&["run", "job.toml"]);
    let files = ["--json", "a.json", "--csv", "a.csv", "--averages", "mean.csv", "--plot", "a.svg"];
    // The directory stands for its stage with correlations.
    let ended = job.succeeds(&[&["analyze", "out"], &files[..]].concat());
    for part in ["out/production.h5", "D ", "tau ", "tau_kww", "beta_kww", "eta", "4 are needed"] {
        assert!(ended.stdout.contains(part), "no {part} in {}", ended.stdout);
    }
    let json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(job.path("a.json")).unwrap()).unwrap();
    let rows = json["state_points"][0]["estimates"].as_array().unwrap();
    let of = |quantity: &str, species: &str| {
        let row = rows.iter().find(|row| row["quantity"] == quantity && row["species"] == species);
        let row = row.unwrap_or_else(|| panic!("no {quantity} of {species} in {json}"));
        (row["value"].as_f64().unwrap(), row["error"].as_f64().unwrap())
    };
    // A liquid near T = 2 flows within 12 time units; small particles are faster.
    let ((d_a, error), (d_b, _)) = (of("D", "A"), of("D", "B"));
    assert!((0.01..0.3).contains(&d_a) && error > 0.0 && error < 0.2 * d_a, "{d_a} +- {error}");
    assert!(d_b > d_a, "{d_b} {d_a}");
    let (tau, error) = of("tau", "A");
    assert!((0.05..2.0).contains(&tau) && error > 0.0 && error < 0.2 * tau, "{tau} +- {error}");
    // A run of 12 time units is too short for a viscosity: its integral has not settled before noise rules.
    let eta = rows.iter().find(|row| row["quantity"] == "eta").unwrap();
    assert!(eta["value"].is_null() && eta["error"].is_null(), "{eta}");
    assert_eq!(eta["flags"], serde_json::json!(["not-decayed"]), "{eta}");
    assert!(fs::read_to_string(job.path("a.csv")).unwrap().contains("tau_kww,A"));
    assert!(
        fs::read_to_string(job.path("mean.csv")).unwrap().contains("mean_square_displacement,B")
    );
    let figure = fs::read_to_string(job.path("a.svg")).unwrap();
    assert!(figure.starts_with("<svg"));
    for name in ["⟨Δr²(t)⟩", "Fₛ(q,t)", "η(t)", "KWW"] {
        assert!(figure.contains(name), "no {name} in the figure");
    }
    job.fails(&["analyze", "out/melt.h5"], &["melt.h5", "[[stage.correlation]]"]);
    // Results are not written over, be they read or not: `--csv *.h5` in a shell.
    for option in ["--json", "--csv", "--averages"] {
        for file in ["out/production.h5", "out/melt.h5"] {
            let before = fs::read(job.path(file)).unwrap();
            let parts = [file, "is not overwritten"];
            job.fails(&["analyze", option, file, "out/production.h5"], &parts);
            assert!(fs::read(job.path(file)).unwrap() == before, "{option} {file}");
        }
    }
    job.succeeds(&["analyze", "out", "--csv", "a.csv"]);
}

/// What a Langevin thermostat adds by moving the centre of mass is given wherever an estimate is.
#[test]
fn estimates_say_what_of_them_is_motion_of_the_center_of_mass() {
    let toml = |remove_drift: bool| {
        kob_andersen(3, 256, "double-single", "timestep = 0.005\nthreads = 1")
            + &format!(
                "[[stage]]\nname = \"production\"\nsteps = 12000\n\
                 thermostat = {{ kind = \"langevin\", temperature = 2.0, friction = 2.0 }}\n\
                 [[stage.correlation]]\nevery = 5\nwavenumbers = [7.25]\nremove_drift = {remove_drift}\n"
            )
    };
    for removed in [false, true] {
        let job = Job::new(&toml(removed));
        job.succeeds(&["run", "job.toml"]);
        for command in ["analyze", "info"] {
            let text = job.succeeds(&[command, "out/production.h5"]).stdout;
            for quantity in ["D", "tau"] {
                let of_a = |line: &&str| {
                    let words = line.replace(['_', '('], " ");
                    words.split_whitespace().any(|word| word == quantity) && words.contains(" A ")
                };
                let line =
                    text.lines().find(of_a).unwrap_or_else(|| panic!("no {quantity}: {text}"));
                let said = line.contains(" is motion of the centre of mass");
                assert_eq!(said, !removed, "{command}: {line}");
            }
        }
    }
}
