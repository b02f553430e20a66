//! What a user looks at: a running job, a page of results, the suites of the validation.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant, SystemTime};

use supercool::output::{checkpoints_in, latest_valid};

use crate::common::job::{Ended, Job, kob_andersen, signal};

fn toml(steps: u64) -> String {
    kob_andersen(3, 256, "fixed-point", "timestep = 0.004\nthreads = 1\nskin = 0.3")
        .replace(r#"directory = "out""#, "directory = \"out\"\nflush_seconds = 0.02")
        + &format!(
            r#"
[[stage]]
name = "melt"
steps = 200
thermostat = {{ kind = "langevin", temperature = 2.0, friction = 2.0 }}
observe = {{ thermodynamics = 10 }}
[[stage]]
name = "production"
steps = {steps}
observe = {{ thermodynamics = 10, structure = {{ every = 50, maximum_wavenumber = 8.0 }} }}
[[stage.correlation]]
every = 5
wavenumbers = [7.25]
observables = ["mean-square-displacement", "self-intermediate-scattering-function", "non-gaussian-parameter", "mean-quartic-displacement", "self-overlap", "self-overlap-susceptibility"]
"#
        )
}

#[test]
fn a_running_job_is_seen_from_another_process() {
    let job = Job::new(&toml(100_000_000));
    let mut process = job.start(&["run", "job.toml", "--quiet"]);
    assert!(job.appears("out/production.h5", &mut process));
    // Looks see later and later steps.
    let (mut last, mut seen) = (0, String::new());
    while last < 1500 {
        seen = job.succeeds(&["watch", "out", "--once"]).stdout;
        let step = seen.split("step ").nth(1).and_then(|rest| rest.split(' ').next());
        let step: u64 = step.and_then(|step| step.parse().ok()).unwrap_or_else(|| panic!("{seen}"));
        assert!(step >= last, "{step} after {last}");
        assert!(process.try_wait().unwrap().is_none());
        last = step;
    }
    for part in [
        "stage production (2 of 2)",
        "of 100000200",
        "steps/s",
        "left",
        "T ",
        "U/N -",
        "drift of E/N",
        "mean-square displacement of A",
        "F_s(t) of A, q = 7",
    ] {
        assert!(seen.contains(part), "no {part:?} in {seen}");
    }
    signal(process.id(), "TERM");
    assert_eq!(Ended::of(process).code, Some(75));
    job.fails(&["watch", "missing", "--once"], &["missing"]);
    fs::create_dir(job.path("empty")).unwrap();
    job.fails(&["watch", "empty", "--once"], &["empty", "no results files"]);
}

#[test]
fn a_page_holds_everything_and_needs_nothing_else() {
    let job = Job::new(&toml(1000));
    job.succeeds(&["run", "job.toml", "--quiet"]);
    // A finished run ends the watching by itself.
    assert!(job.succeeds(&["watch", "out"]).stdout.contains("the run has finished"));
    let ended = job.succeeds(&["report", "out/production.h5"]);
    assert_eq!(ended.stdout.trim(), "out/production.html");
    let page = fs::read_to_string(job.path("out/production.html")).unwrap();
    for heading in [
        "Thermodynamics",
        "Structure",
        "Dynamics",
        "Four-point susceptibility",
        "Performance and hardware",
        "Configuration",
    ] {
        assert!(page.contains(&format!("<h2>{heading}</h2>")), "no {heading}");
    }
    for part in [
        "drift of conserved energy",
        "steps per second",
        "processor",
        "[[stage.correlation]]",
        "&quot;production&quot;",
    ] {
        assert!(page.contains(part), "no {part:?}");
    }
    assert_eq!(page.matches("<svg").count(), 4);
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    // Nothing is fetched from anywhere.
    let names = page.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", "src=", "<script", "<link", "@import", "url("] {
        assert!(!names.contains(outside), "{outside}");
    }
    job.succeeds(&["report", "out/melt.h5", "-o", "page.html"]);
    assert!(!fs::read_to_string(job.path("page.html")).unwrap().contains("<h2>Dynamics</h2>"));
    job.fails(&["report", "job.toml"], &["job.toml"]);
    // A trajectory of the same name has a page of its own.
    fs::copy(job.path("out/production.h5"), job.path("out/production.h5md")).unwrap();
    let page = fs::read(job.path("out/production.html")).unwrap();
    let ended = job.succeeds(&["report", "out/production.h5md"]);
    assert_eq!(ended.stdout.trim(), "out/production.h5md.html");
    assert!(fs::read(job.path("out/production.html")).unwrap() == page);
    // Pages are replaced, results are not.
    let results = fs::read(job.path("out/production.h5")).unwrap();
    let report = |output| ["report", "out/production.h5", "-o", output];
    job.succeeds(&report("page.html"));
    job.fails(&report("out/production.h5"), &["out/production.h5", "not overwritten", "are read"]);
    job.fails(&report("out/../out/production.h5"), &["not overwritten", "are read"]);
    job.fails(&report("out/melt.h5"), &["out/melt.h5", "not overwritten", "HDF5"]);
    assert!(fs::read(job.path("out/production.h5")).unwrap() == results);
    std::os::unix::fs::symlink("production.h5", job.path("out/figure.svg")).unwrap();
    job.fails(&["plot", "out/melt.h5", "-o", "out/figure.svg"], &["figure.svg", "HDF5"]);
    assert!(fs::read(job.path("out/production.h5")).unwrap() == results);
    let foreign = hdf5::File::create(job.path("foreign.h5")).unwrap();
    foreign.create_group("anything").unwrap();
    foreign.close().unwrap();
    job.fails(&["report", "foreign.h5"], &["foreign.h5", "no results of a run"]);
    assert!(!job.path("foreign.html").exists());
}

#[test]
fn a_page_of_a_run_has_all_stages_their_fits_and_the_particles() {
    let trajectory = "observe = { thermodynamics = 10, trajectory = 500, ";
    let job = Job::new(&toml(1000).replace("observe = { thermodynamics = 10, ", trajectory));
    job.succeeds(&["run", "job.toml", "--quiet"]);
    assert_eq!(job.succeeds(&["report", "out"]).stdout.trim(), "out/report.html");
    let page = fs::read_to_string(job.path("out/report.html")).unwrap();
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("no {part}"));
    let order =
        ["<h2>Stages</h2>", "<h2>Fits</h2>", "<h2>Stage melt</h2>", "<h2>Stage production</h2>"];
    assert!(order.map(at).is_sorted());
    for part in ["thermostat langevin, T = 2", "tau_kww", "<h3>Dynamics</h3>", "In numbers"] {
        at(part);
    }
    // The last frame is of the end; of the stage without a trajectory there is no picture.
    assert_eq!(page.matches("<h3>Particles</h3>").count(), 1);
    assert!(page.contains("step 1200") && page.matches("<circle").count() > 200);
    assert_eq!(page.matches("<h2>Configuration</h2>").count(), 1);
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    // A damaged trajectory takes the picture only.
    fs::write(job.path("out/production.h5md"), "no trajectory").unwrap();
    job.succeeds(&["report", "out"]);
    let page = fs::read_to_string(job.path("out/report.html")).unwrap();
    assert!(page.contains("production.h5md") && page.contains("<h3>Dynamics</h3>"));
    fs::create_dir(job.path("empty")).unwrap();
    job.fails(&["report", "empty"], &["empty", "no results file"]);
}

#[test]
fn an_interval_that_is_no_time_is_a_wrong_command_line() {
    let job = Job::new("");
    for interval in ["nan", "inf", "-1", "1e300", "soon"] {
        let ended = job.execute(&["watch", "out", &format!("--interval={interval}")]);
        assert_eq!(ended.code, Some(2), "{interval}: {ended:?}");
        assert!(ended.stderr.contains("--interval"), "{ended:?}");
    }
    // Right ones are not what is wrong here.
    for interval in ["--interval=0.5", "--interval=3"] {
        job.fails(&["watch", "out", interval], &["out"]);
    }
}

/// A stage that is observed, and one that is not.
fn half_observed(steps: u64) -> Job {
    let production = toml(steps).find("[[stage]]\nname = \"production\"").unwrap();
    Job::new(&format!(
        "{}[[stage]]\nname = \"unseen\"\nsteps = {steps}\n",
        &toml(steps)[..production]
    ))
}

#[test]
fn watching_ends_with_a_run_whose_last_stage_observes_nothing() {
    let job = half_observed(300);
    job.succeeds(&["run", "job.toml", "--quiet"]);
    assert!(!job.path("out/unseen.h5").exists());
    let mut process = job.start(&["watch", "out", "--interval", "0.01"]);
    let start = Instant::now();
    while process.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            process.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let ended = Ended::of(process);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for part in ["stage melt (1 of 2)", "step 500 of 500", "the run has finished"] {
        assert!(ended.stdout.contains(part), "no {part:?} in {ended:?}");
    }
    assert!(!ended.stdout.contains(" left"), "{ended:?}");
}

#[test]
fn watching_goes_on_while_a_stage_that_observes_nothing_runs() {
    let job = half_observed(100_000_000);
    let process = job.start(&["run", "job.toml", "--quiet"]);
    // The first stage is complete when the checkpoint of its end is there.
    let start = Instant::now();
    while !job.path("out/checkpoint-200.scp").exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "no checkpoint");
        std::thread::sleep(Duration::from_millis(10));
    }
    let seen = job.succeeds(&["watch", "out", "--once"]).stdout;
    assert!(seen.contains("200 of 200 of the stage") && seen.contains(" left"), "{seen}");
    assert!(!seen.contains("finished"), "{seen}");
    // One that writes nothing for long is at work all the same.
    let results = fs::File::options().append(true).open(job.path("out/melt.h5")).unwrap();
    results.set_modified(SystemTime::now() - Duration::from_secs(300)).unwrap();
    let seen = job.succeeds(&["watch", "out", "--once"]).stdout;
    assert!(seen.contains(" left") && !seen.contains("no process"), "{seen}");
    results.set_modified(SystemTime::now()).unwrap();
    signal(process.id(), "TERM");
    assert_eq!(Ended::of(process).code, Some(75));
    // What the checkpoint says is known, too; and after a while that nobody is at work.
    let seen = job.succeeds(&["watch", "out", "--once"]).stdout;
    assert!(!seen.contains("no process"), "{seen}");
    let results = fs::File::options().append(true).open(job.path("out/melt.h5")).unwrap();
    results.set_modified(SystemTime::now() - Duration::from_secs(300)).unwrap();
    let later = job.succeeds(&["watch", "out", "--once"]).stdout;
    assert!(
        later.contains("no process seen from here is at work") && later.contains("resume out"),
        "{later}"
    );
    let newest = checkpoints_in(&job.path("out")).unwrap()[0].0;
    assert!(seen.contains(&format!("step {newest} of 100000200;")), "{seen}");
    assert!(!seen.contains("finished"), "{seen}");
}

/// Makes the series of a results file longer: `rows` rows in which the temperature rises from 1 to 2 and the energy by 3.
fn lengthen(job: &Job, stage: &str, rows: usize) {
    let file = hdf5::File::open_rw(job.path(&format!("out/{stage}.h5"))).unwrap();
    let write = |name: &str, number: &dyn Fn(f64) -> f64| {
        let dataset = file.dataset(&format!("observables/{name}")).unwrap();
        dataset.resize(rows).unwrap();
        let numbers: Vec<f64> =
            (0..rows).map(|row| number(row as f64 / (rows - 1) as f64)).collect();
        dataset.write_raw(&numbers).unwrap();
    };
    write("potential_energy/step", &|share| (share * (rows - 1) as f64).round());
    write("potential_energy/time", &|share| 100.0 * share);
    write("temperature/value", &|share| 1.0 + share);
    write("conserved_energy/value", &|share| 3.0 * share - 4.0);
    file.close().unwrap();
}

#[test]
fn a_long_file_is_seen_from_its_first_row_to_its_last() {
    let job = Job::new(&toml(100));
    job.succeeds(&["run", "job.toml", "--quiet"]);
    fs::remove_file(job.path("out/production.h5")).unwrap();
    let rows = 400_000;
    lengthen(&job, "melt", rows);
    let seen = job.succeeds(&["watch", "out", "--once"]).stdout;
    for part in ["T 2.00000   U/N -", "drift of E/N +3.00e0", "temperature over steps"] {
        assert!(seen.contains(part), "no {part:?} in {seen}");
    }
    // The axes of the plot end where the series does.
    let last = seen.lines().rfind(|line| !line.trim().is_empty()).unwrap();
    assert!(last.trim_start().starts_with('0') && last.ends_with("4.0e5"), "{seen}");
    // A straight line from the lower left to the upper right corner.
    let plot: Vec<&str> = seen.lines().filter_map(|line| line.split('\u{2502}').nth(1)).collect();
    let ends = |row: &str| (row.chars().next(), row.chars().last());
    let blank = Some('\u{2800}');
    let (top, bottom) = (ends(plot[0]), ends(plot[plot.len() - 1]));
    assert!(top.0 == blank && top.1 != blank && bottom.0 != blank && bottom.1 == blank, "{seen}");
    job.succeeds(&["report", "out/melt.h5"]);
    let page = fs::read_to_string(job.path("out/melt.html")).unwrap();
    let mean = |line: &str| line.trim_start().starts_with("temperature ") && line.contains(" 1.5");
    assert!(page.contains("drift of conserved energy") && page.lines().any(mean), "{page}");
    assert!(page.len() < 500_000, "{} bytes", page.len());
}

const SUITE: &str = r#"
title = "A fluid"
[template]
fluid = """
[system]
dimension = 3
density = 0.5
species = [{ name = "A", count = 108 }]
initial = { lattice = "fcc", temperature = $temperature }
[potential]
kind = "lennard-jones"
cutoff = 2.0
truncation = "shifted"
pairs = { AA = { epsilon = 1.0, sigma = 1.0 } }
[run]
engine = "cpu"
precision = "fixed-point"
timestep = 0.004
threads = 1
[[stage]]
name = "one"
steps = $steps
observe = { thermodynamics = 1 }
"""
[[case]]
name = "hot"
template = "fluid"
values = { temperature = 1.5 }
quick = { steps = 200 }
full = { steps = 300 }
[[case.expect]]
stage = "one"
statistic = "first"
observable = "temperature"
value = 1.5
tolerance = 1e-9
source = "as configured"
[[case.expect]]
stage = "one"
statistic = "largest-modulus"
observable = "center_of_mass_velocity"
at_most = 1e-9
source = "momentum is conserved"
[[case]]
name = "again"
template = "fluid"
values = { temperature = 1.5 }
quick = { steps = 200 }
[[case.expect]]
stage = "one"
statistic = "first"
observable = "temperature"
as = "hot"
source = "the same run"
[[case.expect]]
stage = "one"
observable = "pressure"
value = 100.0
error = 0.1
source = "nowhere"
"#;

#[test]
fn suites_are_run_once_judged_and_gone_on_with() {
    let job = Job::new("");
    fs::create_dir(job.path("suites")).unwrap();
    job.write("suites/fluid.toml", SUITE);
    let command = ["validate", "--folder", "suites", "--output", "found", "--quiet"];
    let stopped = job.execute(&[&command[..], &["--max-walltime", "0s"]].concat());
    assert_eq!(stopped.code, Some(75), "{stopped:?}");
    let report = || {
        let json = fs::read_to_string(job.path("found/quick/report.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&json).unwrap()
    };
    assert_eq!(report()["unfinished"], serde_json::json!(["fluid/hot", "fluid/again"]));
    assert!(report()["quantities"].as_array().unwrap().is_empty());
    let ended = job.execute(&command);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for part in [
        "fluid/hot",
        "first temperature",
        "of tolerance",
        "holds",
        "fluid/again",
        "FAILS",
        "1 of 4 quantities fail",
    ] {
        assert!(ended.stdout.contains(part), "no {part:?} in {}", ended.stdout);
    }
    assert_eq!(ended.stdout.matches("FAILS").count(), 1, "{}", ended.stdout);
    let json = report();
    assert_eq!(json["unfinished"], serde_json::json!([]));
    let run = &json["runs"][0];
    assert_eq!((run["case"].as_str(), run["particles"].as_u64()), (Some("fluid/hot"), Some(108)));
    assert!(!run["machine"].as_str().unwrap().is_empty(), "{run}");
    let last = latest_valid(&job.path("found/quick/fluid/hot")).unwrap().checkpoint.unwrap().2;
    assert_eq!(run["seconds"].as_f64(), Some(last.get_json("seconds").unwrap()));
    let page = fs::read_to_string(job.path("found/quick/report.md")).unwrap();
    assert!(page.contains("| fluid/hot | 108 |") && page.contains("FAILS"), "{page}");
    assert_eq!(json["quantities"].as_array().unwrap().len(), 4);
    assert_eq!(json["quantities"][3]["verdict"], "fails");
    assert!(fs::read_to_string(job.path("found/quick/report.html")).unwrap().contains("nowhere"));
    // What is there is not run again.
    let written =
        || fs::metadata(job.path("found/quick/fluid/hot/one.h5")).unwrap().modified().unwrap();
    let before = written();
    assert_eq!(job.execute(&command).stdout, ended.stdout);
    assert_eq!(before, written());
    // A case alone: what is compared with another one is only measured.
    let alone = job.succeeds(&[&command[..], &["fluid/hot"]].concat());
    assert!(alone.stdout.contains("0 of 2 quantities fail"), "{alone:?}");
    let alone = job.execute(&[&command[..], &["fluid/again"]].concat());
    assert!(alone.stdout.contains("1 of 2 quantities fail"), "{alone:?}");
    assert!(!alone.stdout.contains("fluid/hot"), "{alone:?}");
    // What is complete is judged, though another case is not.
    for entry in fs::read_dir(job.path("found/quick/fluid/again")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "scp") {
            fs::remove_file(path).unwrap();
        }
    }
    let stopped = job.execute(&[&command[..], &["--max-walltime", "0s"]].concat());
    assert_eq!(stopped.code, Some(75), "{stopped:?}");
    assert!(stopped.stdout.contains("continues, with 1 of 2 cases"), "{stopped:?}");
    assert_eq!(report()["unfinished"], serde_json::json!(["fluid/again"]));
    assert_eq!(report()["quantities"].as_array().unwrap().len(), 2);
    // But a changed case is, and one that only the other size has is not.
    job.write("suites/fluid.toml", &SUITE.replace("value = 100.0\nerror = 0.1", "at_most = 100.0"));
    job.succeeds(&[&command[..], &["fluid", "--full"]].concat());
    assert!(!job.path("found/full/fluid/again").exists());
    job.fails(&[&command[..], &["glass"]].concat(), &["no suite glass", "fluid"]);
    job.fails(
        &[&command[..], &["fluid/cold"]].concat(),
        &["suite fluid has no case cold", "hot, again"],
    );
    job.write("suites/fluid.toml", &SUITE.replace("$steps", "$stepps"));
    job.fails(&command, &["suite fluid, case hot", "$stepps has no value"]);
}

#[test]
fn errors_are_compared_with_the_scatter_of_many_runs() {
    let job = Job::new("");
    fs::create_dir(job.path("suites")).unwrap();
    let (template, _) = SUITE.split_once("[[case]]").unwrap();
    let one = "observe = { thermodynamics = 1 }";
    assert!(template.contains(one) && template.contains("density = 0.5"), "{template}");
    let correlation =
        "\n[[stage.correlation]]\nevery = 1\nobservables = [\"mean-square-displacement\"]";
    let template = template.replace("density = 0.5", "density = 0.5\nseed = $run");
    let template = template.replace(one, &(one.to_owned() + correlation));
    let case = |what: &str| {
        format!(
            "{template}[[case]]\nname = \"many\"\ntemplate = \"fluid\"\nvalues = {{ temperature = 1.5 }}\n\
             {what}\n[[case.calibrate]]\nstage = \"one\"\nobservable = \"pressure\"\nsource = \"here\"\n\
             [[case.calibrate]]\nstage = \"one\"\nobservable = \"mean_square_displacement\"\nsource = \"here\"\n"
        )
    };
    job.write("suites/errors.toml", &case("quick = { steps = 1000, runs = 3 }"));
    let command = ["validate", "--folder", "suites", "--output", "found", "--quiet"];
    let stopped = job.execute(&[&command[..], &["--max-walltime", "0s"]].concat());
    assert_eq!(stopped.code, Some(75), "{stopped:?}");
    assert!(stopped.stdout.contains("continues, with 1 of 1 cases"), "{stopped:?}");
    // Three runs tell little: whether it holds is not asked here.
    let ended = job.execute(&command);
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
    let json = fs::read_to_string(job.path("found/quick/report.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let quantities = json["quantities"].as_array().unwrap();
    let named = |start: &str| {
        let has = |one: &&serde_json::Value| one["quantity"].as_str().unwrap().starts_with(start);
        quantities.iter().filter(has).count()
    };
    assert_eq!(named("one, mean pressure: "), 1, "{quantities:?}");
    assert!(named("one, mean_square_displacement, t = ") > 1, "{quantities:?}");
    assert_eq!(quantities[0]["expected"], "0.85 to 1.15");
    assert_eq!(json["runs"].as_array().unwrap().len(), 1);
    assert_eq!(json["runs"][0]["case"], "errors/many");
    assert_eq!(json["runs"][0]["steps"], 3000);
    // Three different runs.
    let pressure = |run: u32| fs::read(job.path(&format!("found/quick/errors/many/{run}/one.h5")));
    assert_ne!(pressure(1).unwrap(), pressure(2).unwrap());
    job.write("suites/errors.toml", &case("quick = { steps = 1000 }"));
    job.fails(&command, &["case many", "`calibrate` needs `runs`"]);
}

#[test]
fn suites_with_nothing_to_judge_are_an_error() {
    let job = Job::new("");
    fs::create_dir(job.path("suites")).unwrap();
    let command = ["validate", "--folder", "suites", "--output", "found", "--quiet"];
    job.fails(&command, &["suites: no suites (*.toml)", "--folder"]);
    let lines: Vec<&str> = SUITE.lines().filter(|line| !line.starts_with("quick")).collect();
    job.write("suites/fluid.toml", &lines.join("\n"));
    job.fails(&command, &["no case of fluid has values for --quick", "--full"]);
    assert!(!job.path("found/quick/report.json").exists());
}

#[test]
fn a_trajectory_is_taken_back_in_fixed_point_only() {
    let job = Job::new("");
    fs::create_dir(job.path("suites")).unwrap();
    let (template, _) = SUITE.split_once("[[case]]").unwrap();
    let template = template.replace("\"fixed-point\"", "\"$precision\"");
    let case = |precision: &str| {
        format!(
            "[[case]]\nname = \"{precision}\"\ntemplate = \"fluid\"\nquick = {{ steps = 200 }}\n\
             values = {{ temperature = 1.5, precision = \"{precision}\" }}\n\
             [[case.expect]]\nstage = \"one\"\nstatistic = \"reversal\"\nobservable = \"particles\"\n\
             at_most = 0.5\nsource = \"here\"\n"
        )
    };
    let suite = template + &case("fixed-point") + &case("double-single");
    job.write("suites/back.toml", &suite);
    let command = ["validate", "--folder", "suites", "--output", "found", "--quiet"];
    let ended = job.execute(&command);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let verdict = |case: &str| {
        let line = ended.stdout.lines().find(|line| line.contains(case)).unwrap();
        line.split_whitespace().last().unwrap().to_owned()
    };
    assert_eq!(verdict("back/fixed-point"), "holds");
    assert_eq!(verdict("back/double-single"), "FAILS");
    let thermostat =
        "steps = $steps\nthermostat = { kind = \"bussi\", temperature = 1.0, time = 0.1 }";
    job.write("suites/back.toml", &suite.replace("steps = $steps", thermostat));
    job.fails(&command, &["only a trajectory at constant energy"]);
}

#[test]
fn cases_at_once_give_what_they_give_one_after_the_other() {
    let job = Job::new("").with(&[("CUDA_VISIBLE_DEVICES", "")]);
    fs::create_dir(job.path("suites")).unwrap();
    job.write("suites/fluid.toml", SUITE);
    let command = ["validate", "--folder", "suites", "--quiet", "--output"];
    let at_once = [&command[..], &["at_once", "--jobs", "3"]].concat();
    let stopped = job.execute(&[&at_once[..], &["--max-walltime", "0s"]].concat());
    assert_eq!(stopped.code, Some(75), "{stopped:?}");
    assert!(!job.path("at_once/quick/fluid/hot/one.h5").exists());
    let ended = job.execute(&at_once);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let one_by_one = job.execute(&[&command[..], &["one_by_one"]].concat());
    assert_eq!(ended.stdout.replace("at_once", "one_by_one"), one_by_one.stdout);
    // What is there is not run again.
    let written =
        || fs::metadata(job.path("at_once/quick/fluid/hot/one.h5")).unwrap().modified().unwrap();
    let before = written();
    assert_eq!(job.execute(&at_once).stdout, ended.stdout);
    assert_eq!(before, written());
    // A changed case is not continued from what was there before.
    job.write("suites/fluid.toml", &SUITE.replace("steps = 200 }", "steps = 250 }"));
    let stopped = job.execute(&[&at_once[..], &["--max-walltime", "0s"]].concat());
    assert_eq!(stopped.code, Some(75), "{stopped:?}");
    assert_eq!(job.execute(&at_once).code, Some(1));
    assert!(job.path("at_once/quick/fluid/hot/checkpoint-250.scp").exists());
    // A signal ends all with checkpoints, and a case that fails is named.
    job.write("suites/fluid.toml", &SUITE.replace("steps = 200 }", "steps = 100_000_000 }"));
    let mut process = job.start(&at_once);
    assert!(job.appears("at_once/quick/fluid/again/one.h5", &mut process));
    signal(process.id(), "TERM");
    assert_eq!(process.wait().unwrap().code(), Some(75));
    job.write("suites/fluid.toml", &SUITE.replace(r#"engine = "cpu""#, r#"engine = "cuda""#));
    job.fails(&at_once, &["fluid/", "has failed", "at_once/quick/fluid"]);
}

/// Two particles beyond each other's reach.
const FREE: &str = r#"
title = "Free particles in two programs"
peer = "other.py"
[template]
free = """
[system]
dimension = 3
box = [10.0, 10.0, 10.0]
species = [{ name = "A", count = 2, mass = 2.0 }]
initial = { file = "start.xyz" }
[potential]
kind = "lennard-jones"
cutoff = 2.0
truncation = "shifted"
pairs = { AA = { epsilon = 1.0, sigma = 1.0 } }
[run]
engine = "cpu"
precision = "double"
timestep = 0.5
threads = 1
[[stage]]
name = "fly"
steps = 4
observe = { thermodynamics = 2 }
"""
[[common.all]]
stage = "fly"
statistic = "difference"
observable = "forces"
at_most = 1e-12
source = "Newton"
[[common.all]]
stage = "fly"
statistic = "difference"
observable = "kinetic_energy"
at_most = 1e-12
source = "Newton"
[[case]]
name = "free"
template = "free"
common = "all"
quick = {}
[[case.expect]]
stage = "fly"
statistic = "difference"
observable = "position"
at_most = 1e-12
source = "Newton"
"#;

#[test]
fn another_program_follows_the_same_state_where_there_is_one() {
    let job = Job::new("");
    fs::create_dir(job.path("suites")).unwrap();
    job.write("suites/free.toml", FREE);
    job.write(
        "start.xyz",
        "2\nLattice=\"10 0 0 0 10 0 0 0 10\" Properties=species:S:1:pos:R:3:velo:R:3 pbc=\"T T T\"\n\
         A 1 1 1 0.5 0 0\nA 6 6 6 0 -1 0\n",
    );
    job.write(
        "python",
        "#!/bin/sh\nif [ \"$2\" != --version ]; then cat > state.json; cat reply.json; \
         elif [ -e there ]; then echo Other 1.0; else echo no Other here >&2; exit 69; fi\n",
    );
    fs::set_permissions(job.path("python"), fs::Permissions::from_mode(0o755)).unwrap();
    let python = job.path("python").display().to_string();
    let command = ["validate", "--folder", "suites", "--output", "found", "--python", &python];
    let ended = job.succeeds(&command);
    assert!(ended.stdout.contains("free skipped: no Other here"), "{ended:?}");
    let report = || fs::read_to_string(job.path("found/quick/report.json")).unwrap();
    assert!(report().contains("no Other here") && !job.path("found/quick/free").exists());

    job.write("there", "");
    let reply = r#"{"step": [0, 2, 4], "series": {"kinetic_energy": [0.625, 0.625, 0.625]},
        "forces": [[0, 0, 0], [0, 0, 0]], "position": [[12, 1, 1], [6, 4, 6]],
        "velocity": [[0.5, 0, 0], [0, -1, 0]]}"#;
    job.write("reply.json", reply);
    let ended = job.succeeds(&command);
    for part in ["Other 1.0 within 1.0e-12", "difference position", "0 of 3 quantities fail"] {
        assert!(ended.stdout.contains(part), "no {part:?} in {ended:?}");
    }
    let state: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(job.path("state.json")).unwrap()).unwrap();
    assert_eq!(state["velocity"], serde_json::json!([[0.5, 0.0, 0.0], [0.0, -1.0, 0.0]]));
    assert_eq!(state["species"][0]["mass"], 2.0);
    assert_eq!(state["potential"]["pairs"][0][0]["cutoff"], 2.0);
    for (sound, wrong, quantity) in [
        ("[12,", "[12.1,", "difference position"),
        ("0.625]", "0.626]", "difference kinetic_energy"),
        ("[0, 0, 0]]", "[0, 1e-9, 0]]", "difference forces"),
    ] {
        assert!(reply.contains(sound));
        job.write("reply.json", &reply.replace(sound, wrong));
        let ended = job.execute(&command);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let fails: Vec<&str> = ended.stdout.lines().filter(|line| line.contains("FAILS")).collect();
        assert!(fails.len() == 1 && fails[0].contains(quantity), "{fails:?}");
    }
    job.write("reply.json", &reply.replace("[0, 2, 4]", "[0, 1, 2]"));
    job.fails(&command, &["kinetic_energy", "Other 1.0", "[0, 1, 2]"]);
    job.write("reply.json", "Segmentation fault");
    job.fails(&command, &["other.py", "its output"]);
}
