//! Microcanonical stages at a wanted energy.
use crate::common::job::{Job, kob_andersen};

#[test]
fn set_total_energy_lands_at_the_mean_of_an_earlier_stage() {
    for precision in ["double", "fixed-point", "double-single"] {
        let toml = kob_andersen(3, 256, precision, "timestep = 0.0005\nthreads = 1")
            + r#"
[[stage]]
name = "thermostat"
steps = 1000
thermostat = { kind = "langevin", temperature = 1.0, friction = 5.0 }
observe = { thermodynamics = 10 }

[[stage]]
name = "between"
steps = 100

[[stage]]
name = "production"
steps = 500
set_total_energy = "mean of thermostat"
observe = { thermodynamics = 5 }
"#;
        let job = Job::new(&toml);
        job.succeeds(&["run", "job.toml"]);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        // The first sample of a stage is the end of the one before.
        let wanted = mean(&job.series("thermostat", "internal_energy")[1..]);
        let energy = job.series("production", "internal_energy");
        assert!((energy[0] - wanted).abs() < 1e-7, "{precision}: {} for {wanted}", energy[0]);
        assert!(
            (mean(&energy) - wanted).abs() < 1e-6,
            "{precision}: {} for {wanted}",
            mean(&energy)
        );
        let before = *job.series("thermostat", "internal_energy").last().unwrap();
        assert!((before - wanted).abs() > 1e-3, "{precision}: there was nothing to change");
    }
}

#[test]
fn an_energy_below_the_potential_energy_is_refused() {
    let toml = kob_andersen(3, 256, "double", "timestep = 0.004\nthreads = 1\nskin = 0.3")
        + r#"
[[stage]]
name = "production"
steps = 10
set_total_energy = -100.0
"#;
    Job::new(&toml).fails(&["run", "job.toml"], &["production", "set_total_energy", "-100"]);
}

/// A Langevin thermostat leaves the centre of mass in motion, which displacements then contain; so do those under it.
#[test]
fn a_moving_center_of_mass_is_reported_where_displacements_contain_it() {
    let toml = |remove_drift: bool, thermostat: &str, observables: &str| {
        let correlation = format!(
            "[[stage.correlation]]\nevery = 10\nremove_drift = {remove_drift}\nobservables = [{observables}]\n"
        );
        kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1")
            + &format!(
                "[[stage]]\nname = \"thermostat\"\nsteps = 100\nthermostat = {thermostat}\n{correlation}\
                 [[stage]]\nname = \"production\"\nsteps = 100\n{correlation}"
            )
    };
    let langevin = "{ kind = \"langevin\", temperature = 1.0, friction = 5.0 }";
    let andersen = "{ kind = \"andersen\", temperature = 1.0, rate = 50.0 }";
    let (displacements, stress) = ("\"mean-square-displacement\"", "\"stress-autocorrelation\"");
    for (remove_drift, thermostat, observables, told) in [
        (false, langevin, displacements, true),
        (true, langevin, displacements, false),
        (false, andersen, displacements, false),
        (false, langevin, stress, false),
        (false, langevin, "\"cage-relative-self-overlap\"", false),
    ] {
        let job = Job::new(&toml(remove_drift, thermostat, observables));
        let ended = job.succeeds(&["run", "job.toml"]);
        let case = format!("{thermostat}, {remove_drift}, {observables}");
        assert_eq!(ended.stderr.contains("the centre of mass moves"), told, "{case}: {ended:?}");
        // 6 D_cm [t - (1 - exp(-5 t)) / 5] with 256 masses.
        let gained = "D_cm = T / (M gamma) = 0.000781 to the mean-square displacement, 0.00106 at its longest lag, t = 0.4";
        assert_eq!(ended.stderr.contains(gained), told, "{case}: {ended:?}");
        let checked = job.succeeds(&["check", "job.toml"]).stdout;
        assert_eq!(checked.contains(gained), told, "{case}: {checked}");
    }
}

#[test]
fn a_stage_shorter_than_the_relaxation_time_of_an_earlier_one_is_named_when_it_begins() {
    let stage = |name: &str, steps: u64, temperature: f64| {
        format!(
            "[[stage]]\nname = \"{name}\"\nsteps = {steps}\nobserve = {{ thermodynamics = 10 }}\n\
             thermostat = {{ kind = \"bussi\", temperature = {temperature}, time = 0.1 }}\n\
             [[stage.correlation]]\nevery = 5\nblock_size = 4\nwavenumbers = [7.25]\n"
        )
    };
    let run = kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1\nskin = 0.3");
    // At T = 2 F_s falls to 1/e within 0.4.
    let names = [("long", 2000, 2.0), ("again", 2000, 2.0), ("cold", 20, 1.8), ("hot", 20, 3.0)];
    let stages: String =
        names.iter().map(|&(name, steps, temperature)| stage(name, steps, temperature)).collect();
    let job = Job::new(&(run.clone() + &stages));
    let ended = job.succeeds(&["run", "job.toml"]);
    let warned: Vec<&str> =
        ended.stderr.lines().filter(|line| line.contains("shorter-than")).collect();
    assert_eq!(warned.len(), 1, "{ended:?}");
    let [warning] = warned[..] else { unreachable!() };
    for part in
        ["stage \"cold\" (shorter-than-tau)", "a time of 0.08", "again.h5 at T = 2", "steps"]
    {
        let of_either = part == "again.h5 at T = 2" && warning.contains("long.h5 at T = 2");
        assert!(warning.contains(part) || of_either, "no {part}: {warning}");
    }
    // Of the file that a run starts from: `check` says it before.
    let lattice = run.find("initial = ").unwrap();
    let end = lattice + run[lattice..].find('\n').unwrap();
    let from =
        format!("{}initial = {{ file = \"out/long.h5md\" }}{}", &run[..lattice], &run[end..]);
    let short = stage("short", 400, 2.0).replace("observe = {", "observe = { trajectory = 400,");
    let with_frames = stages.replacen("observe = {", "observe = { trajectory = 2000,", 1);
    let job = Job::new(&(run.clone() + &with_frames));
    job.succeeds(&["run", "job.toml"]);
    job.write("next.toml", &(from.replace("\"out\"", "\"next\"") + &short));
    let report = job.succeeds(&["check", "next.toml"]).stdout;
    let warning = "stage \"short\" (shorter-than-10-tau)";
    assert!(report.contains(warning) && report.contains("out/long.h5 at T = 2"), "{report}");
}
