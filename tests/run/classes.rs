//! Correlations and structure by classes of diameter.
use std::time::Duration;

use supercool::output::checkpoints_in;

use crate::common::contents::{assert_same_numbers, numbers};
use crate::common::job::{Ended, Job};

/// 200 particles, and two stages, the first of them with swaps.
fn toml(diameters: &str, correlation: &str, end: &str) -> String {
    format!(
        r#"
[system]
dimension = 3
density = 1.0
seed = 5
species = [{{ name = "A", count = 200 }}]
initial = {{ temperature = 1.0 }}
[system.diameters]
{diameters}
[potential]
kind = "inverse-power"
n = 12
cutoff = 1.25
truncation = "even-quartic"
pairs.AA = {{ epsilon = 1.0, sigma = 1.0 }}
[run]
engine = "cpu"
precision = "fixed-point"
timestep = 0.002
threads = 1
[output]
directory = "out"
[[stage]]
name = "melt"
steps = 100
thermostat = {{ kind = "langevin", temperature = 1.0, friction = 1.0 }}
swap = {{ every = 10 }}
[[stage]]
name = "nve"
steps = 400
observe = {{ trajectory = 4 }}
[[stage.correlation]]
every = 4
block_size = 5
{correlation}
{end}
"#
    )
}

const POWER_LAW: &str =
    "distribution = \"power-law\"\nexponent = 3\nminimum = 0.73\nmaximum = 1.62";
const OBSERVABLES: &str = r#"wavenumbers = [7.0]
observables = ["mean-square-displacement", "self-intermediate-scattering-function", "self-overlap-susceptibility"]"#;

fn with_structure(toml: &str, classes: &str) -> String {
    let structure = format!(
        "structure = {{ every = 40, bin_width = 0.1, maximum_wavenumber = 6.0, diameter_classes = {classes} }}"
    );
    toml.replace(
        "observe = { trajectory = 4 }",
        &format!("observe = {{ trajectory = 4, {structure} }}"),
    )
}

fn of_power_law(classes: &str, end: &str) -> String {
    let toml = toml(POWER_LAW, &format!("diameter_classes = {classes}\n{OBSERVABLES}"), end);
    with_structure(&toml, classes)
}

/// Attribute of a class in the results file.
fn attribute(job: &Job, class: &str, name: &str) -> f64 {
    let file = hdf5::File::open(job.path("out/nve.h5")).unwrap();
    let group = file.group(&format!("dynamics/{class}")).unwrap();
    group.attr(name).unwrap().as_reader().read_scalar().unwrap()
}

#[test]
fn files_say_which_particles_a_class_has() {
    let job = Job::new(&of_power_law("3", ""));
    job.succeeds(&["run", "job.toml"]);
    let classes = job.results("nve").classes();
    let particles: Vec<u64> = classes.iter().map(|class| class.particles).collect();
    assert_eq!(particles, [66, 67, 67]);
    assert_eq!(classes[0].group, "class1");
    let ends = |class: &str| {
        ["least_diameter", "mean_diameter", "greatest_diameter"]
            .map(|it| attribute(&job, class, it))
    };
    let all = ["class1", "class2", "class3"].map(ends);
    // Quantiles (i + 1/2) / N, i = 66 being the first of the second class: s^-2 is linear in them.
    let quantile = |i: f64| {
        let (a, b) = (0.73f64.powi(-2), 1.62f64.powi(-2));
        (a - (i + 0.5) / 200.0 * (a - b)).sqrt().recip()
    };
    assert!((all[1][0] - quantile(66.0)).abs() < 1e-6, "{all:?}");
    assert!((all[2][2] - quantile(199.0)).abs() < 1e-6, "{all:?}");
    let in_order = all.as_flattened().windows(2).all(|pair| pair[0] < pair[1]);
    assert!(in_order, "{all:?}");
    let label = format!("class 1 ({:.2}-{:.2})", all[0][0], all[0][2]);
    assert_eq!(classes[0].label, label);
    let text = job.succeeds(&["info", "out/nve.h5"]).stdout;
    assert!(text.contains(&format!("{label} 66")), "{text}");
    job.succeeds(&["plot", "out/nve.h5", "--output", "figure.svg"]);
    let figure = std::fs::read_to_string(job.path("figure.svg")).unwrap();
    assert!(figure.contains(&label), "no {label} in the legend");
    // Small particles move farther.
    let functions = job.results("nve").dynamics().unwrap();
    let last = |group: &str| {
        let mut all = functions.iter();
        let msd =
            all.find(|of| of.group == group && of.name == "mean_square_displacement").unwrap();
        *msd.curves[0].value.last().unwrap()
    };
    assert!(last("class1") > last("class3"));
}

/// Without correlations, the structure says what the classes are.
#[test]
fn the_structure_alone_has_classes() {
    let correlation = "observables = [\"mean-square-displacement\"]";
    let job = Job::new(&with_structure(&toml(POWER_LAW, correlation, ""), "[0.9, 1.2]"));
    job.succeeds(&["run", "job.toml"]);
    let file = job.results("nve");
    let classes = file.classes();
    let particles: u64 = classes.iter().map(|class| class.particles).sum();
    assert_eq!((classes.len(), particles), (3, 200));
    let functions = file.structure().unwrap();
    let mut groups: Vec<&str> = functions.iter().map(|of| &of.group[..]).collect();
    groups.dedup();
    let pairs = ["all-particles", "class1-class1", "class1-class2", "class1-class3"];
    assert_eq!(groups[..4], pairs);
    assert_eq!((groups.len(), functions.len()), (7, 14));
    // Small particles come closer to each other than large ones.
    let contact = |group: &str| {
        let g = functions.iter().find(|of| of.group == group && of.name == "pair_distribution");
        let g = g.unwrap();
        g.x[g.curves[0].value.iter().position(|&g| g > 0.0).unwrap()]
    };
    assert!(contact("class1-class1") < contact("class2-class2"));
    assert!(contact("class2-class2") < contact("class3-class3"));
    let text = job.succeeds(&["info", "out/nve.h5"]).stdout;
    assert!(text.contains(&format!("{} {}", classes[0].label, classes[0].particles)), "{text}");
    job.succeeds(&[
        "plot",
        "out/nve.h5",
        "--quantities",
        "pair-distribution",
        "--output",
        "figure.svg",
    ]);
    let figure = std::fs::read_to_string(job.path("figure.svg")).unwrap();
    assert!(figure.contains("class1-class2"), "no class1-class2 in the legend");
}

#[test]
fn a_run_that_was_killed_goes_on_with_the_same_classes() {
    let toml = of_power_law("[0.9, 1.2]", "[checkpoint]\nminutes = 0.001\n");
    let (whole, parts) = (Job::new(&toml), Job::new(&toml));
    whole.succeeds(&["run", "job.toml"]);
    let mut process = parts.start(&["run", "job.toml"]);
    let in_stage = || {
        let found = checkpoints_in(&parts.path("out")).unwrap_or_default();
        found.iter().any(|(step, _)| (101..500).contains(step))
    };
    while process.try_wait().unwrap().is_none() && !in_stage() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = process.kill();
    Ended::of(process);
    parts.succeeds(&["resume", "out"]);
    assert_same_numbers(&whole.path("out/nve.h5"), &parts.path("out/nve.h5"));
}

#[test]
fn a_stored_trajectory_gives_the_classes_of_the_run() {
    // In fixed-point a run sums 32-bit floats.
    let job = Job::new(&of_power_law("3", "").replace("\"fixed-point\"", "\"double\""));
    job.succeeds(&["run", "job.toml"]);
    let arguments =
        ["correlate", "out/nve.h5md", "job.toml", "--stage", "nve", "--output", "other"];
    job.succeeds(&arguments);
    let (run_has, replay_has) =
        (numbers(&job.path("out/nve.h5")), numbers(&job.path("other/nve.h5")));
    let mut compared = 0;
    for (name, (_, bits)) in &run_has {
        let is_of_classes = name.starts_with("/dynamics/class") || name.starts_with("/structure/");
        if is_of_classes && name.ends_with("/value") {
            let values = bits.iter().zip(&replay_has[name].1);
            for (a, b) in values.map(|(&a, &b)| (f64::from_bits(a), f64::from_bits(b))) {
                let near = (a - b).abs() < 1e-9 * a.abs().max(1.0);
                assert!(near || a.is_nan() && b.is_nan(), "{name}: {a} {b}");
            }
            compared += 1;
        }
    }
    // Three functions of three classes; two of six pairs and of all particles.
    assert_eq!(compared, 9 + 14);
    // Of a file without diameters.
    let frame = |step: u64| {
        let at = |i: u64| {
            format!("A {} {} {}\n", 0.4 + (i % 5) as f64, (i / 5 % 5) as f64, (i / 25) as f64)
        };
        let atoms: String = (0..200).map(at).collect();
        let edge = 200f64.cbrt();
        format!(
            "200\nLattice=\"{edge} 0 0 0 {edge} 0 0 0 {edge}\" Properties=species:S:1:pos:R:3 step={step}\n{atoms}"
        )
    };
    std::fs::write(job.path("bare.xyz"), frame(0) + &frame(4) + &frame(8)).unwrap();
    job.fails(
        &["correlate", "bare.xyz", "job.toml", "--stage", "nve", "--output", "bare"],
        &["no diameters in the file", "diameter_classes"],
    );
    assert!(!job.path("bare").exists());
}

#[test]
fn classes_that_the_particles_of_a_file_do_not_fill_are_refused_before_the_run() {
    let first = Job::new(&of_power_law("3", ""));
    first.succeeds(&["run", "job.toml"]);
    let of_file = toml(
        "distribution = \"file\"",
        &format!("diameter_classes = [0.4, 1.0]\n{OBSERVABLES}"),
        "",
    )
    .replace("{ temperature = 1.0 }", "{ file = \"out/nve.h5md\" }")
    .replace("directory = \"out\"", "directory = \"next\"");
    first.write("next.toml", &of_file);
    let parts =
        ["stage \"nve\": diameter_classes", "class 1 of diameters, below 0.4, has no particle"];
    first.fails(&["run", "next.toml"], &parts);
    assert!(!first.path("next/melt.h5").exists());
    first.write("next.toml", &of_file.replace("[0.4, 1.0]", "[0.9, 1.0]"));
    first.succeeds(&["run", "next.toml"]);
}
