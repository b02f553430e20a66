//! A tilted box that is a cube: the box of edges `sqrt(2) a`, `a / sqrt(2)` and `a` with a tilt of one half has the periodic images of the cube
//! of edge `a`, turned by 45 degrees about z. Isotropic functions of a turned liquid are those of the liquid.
use std::f64::consts::FRAC_1_SQRT_2;
use std::fmt::Write;

use supercool_analysis::Frame;

use crate::common::contents::numbers;
use crate::common::job::{Job, kob_andersen};

/// The cutoff leaves room for tilts in a box of 256 particles.
fn liquid(box_and_start: [&str; 2]) -> String {
    let text = kob_andersen(3, 256, "double", "timestep = 0.004\nthreads = 1\nskin = 0.2");
    let [simulation_box, start] = box_and_start;
    text.replace("cutoff = 2.5", "cutoff = 1.5")
        .replace("density = 1.2", simulation_box)
        .replace(r#"initial = { lattice = "fcc", temperature = 1.5 }"#, start)
}

const MELT: &str = r#"
[[stage]]
name = "melt"
steps = 200
thermostat = { kind = "andersen", temperature = 1.2, rate = 10.0 }
observe = { trajectory = 200 }
"#;

const REST: &str = r#"
[[stage]]
name = "rest"
steps = 120
[stage.observe]
thermodynamics = 4
trajectory = 4
structure = { every = 40, bin_width = 0.1, maximum_distance = 1.9, maximum_wavenumber = 9.0 }
bond_order = { every = 20, radius = 1.4 }
local_order = { every = 20, radius = 1.4 }
[[stage.correlation]]
every = 4
block_size = 4
observables = ["stress-autocorrelation", "shear-viscosity"]
"#;

/// Of places and velocities.
const CORRELATION: &str = r#"
[[stage.correlation]]
every = 4
block_size = 4
observables = [
    "mean-square-displacement", "velocity-autocorrelation", "self-overlap", "self-overlap-susceptibility",
    "cage-relative-mean-square-displacement", "cage-relative-self-overlap", "bond-breaking", "bond-breaking-susceptibility",
    "collective-overlap", "collective-overlap-susceptibility", "distinct-van-hove-function",
    "coherent-intermediate-scattering-function", "four-point-structure-factor",
]
wavenumbers = [1.1, 7.25]
vectors_per_shell = 100_000
overlap_length = 0.2
cage_radius = 1.4
bond_radius = 1.3
bond_breaking_radius = 1.5
van_hove = { maximum_distance = 1.5, bin_width = 0.125 }
"#;

/// Turned about z: `x` of the cube goes along the diagonal of the new axes.
fn turned([x, y, z]: [f64; 3]) -> [f64; 3] {
    [(x + y) * FRAC_1_SQRT_2, (y - x) * FRAC_1_SQRT_2, z]
}

/// Extended XYZ of a turned frame, unwrapped.
fn xyz(frame: &Frame) -> String {
    let a = frame.box_edges[0];
    let [x, y] = [a / FRAC_1_SQRT_2, a * FRAC_1_SQRT_2];
    let mut text = format!(
        "{}\nLattice=\"{x} 0 0 {} {y} 0 0 0 {a}\" Properties=species:S:1:pos:R:3:vel:R:3 step={} time={}\n",
        frame.particle_count(),
        0.5 * x,
        frame.step,
        frame.time.unwrap()
    );
    let velocity = frame.velocity.as_ref().unwrap();
    for (particle, velocity) in velocity.iter().enumerate() {
        let [x, y, z] = turned(frame.unwrapped(particle).unwrap());
        let [u, v, w] = turned(*velocity);
        let name = frame.species_name(particle);
        writeln!(text, "{name} {x} {y} {z} {u} {v} {w}").unwrap();
    }
    text
}

/// Runs of the same liquid in the cube, and turned in the tilted box.
fn both(stages: &str) -> [Job; 2] {
    let melt = Job::new(
        &(liquid(["density = 1.2", r#"initial = { lattice = "fcc", temperature = 1.5 }"#]) + MELT),
    );
    melt.succeeds(&["run", "job.toml", "--quiet"]);
    let last = supercool_analysis::open(melt.path("out/melt.h5md")).unwrap().read(1).unwrap();
    let a = last.box_edges[0];
    let tilted = format!("box = [{}, {}, {a}]", a / FRAC_1_SQRT_2, a * FRAC_1_SQRT_2);
    let start = |name: &str| format!("initial = {{ file = {:?} }}", melt.path(name));
    let straight = liquid([&format!("box = [{a}, {a}, {a}]"), &start("out/melt.h5md")]) + stages;
    melt.write("turned.xyz", &xyz(&last));
    let tilted = liquid([&tilted, &start("turned.xyz")]) + stages;
    [straight, tilted].map(|text| {
        let job = Job::new(&text);
        job.succeeds(&["run", "job.toml", "--quiet"]);
        job
    })
}

/// Asserts that two files have the same values, to the rounding that has grown in the run, under these groups.
fn assert_same_values(jobs: &[Job; 2], file: &str, groups: &[&str], least: usize) {
    let [one, other] = [0, 1].map(|job| numbers(&jobs[job].path(file)));
    let mut compared = 0;
    for (name, (shape, bits)) in &one {
        let is_value = ["/value", "/count", "/wavenumber"].iter().any(|end| name.ends_with(end));
        if !is_value || !groups.iter().any(|group| name.starts_with(group)) {
            continue;
        }
        let (other_shape, other_bits) = other.get(name).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(shape, other_shape, "{name}");
        let is_count = name.ends_with("/count");
        for (place, (a, b)) in bits.iter().zip(other_bits).enumerate() {
            let [x, y] = [*a, *b].map(f64::from_bits);
            let same = if is_count { a == b } else { (x - y).abs() <= 1e-8 * (1.0 + x.abs()) };
            assert!(same || x.is_nan() && y.is_nan(), "{name} [{place}]: {x:e}, {y:e}");
        }
        compared += 1;
    }
    assert!(compared >= least, "{compared}");
}

#[test]
fn a_turned_liquid_has_the_functions_of_the_liquid() {
    let jobs = both(&format!("{REST}{CORRELATION}"));
    let tilted = supercool_analysis::open(jobs[1].path("out/rest.h5md")).unwrap();
    assert!((tilted.read_tilted(0).unwrap().tilt - 0.5).abs() < 1e-12);
    assert_same_values(&jobs, "out/rest.h5", &["/dynamics"], 80);
    let names =
        ["bond_orientational_order", "local_bond_orientational_order", "crystallinity", "demixing"];
    let of = names.map(|name| format!("/observables/{name}"));
    assert_same_values(&jobs, "out/rest.h5", &of.each_ref().map(String::as_str), 4);
    let of = ["AA", "AB", "BB"].map(|pair| format!("/structure/{pair}/pair_distribution"));
    assert_same_values(&jobs, "out/rest.h5", &of.each_ref().map(String::as_str), 6);
}

/// With images, without them, and of a file of text: to the rounding of each.
#[test]
fn stored_frames_of_a_tilted_box_give_what_the_run_gave() {
    let [_, job] = both(&format!("{REST}{CORRELATION}"));
    let rest = REST.split("[[stage.correlation]]").next().unwrap();
    let text = std::fs::read_to_string(job.path("job.toml")).unwrap();
    let system = text.split("[[stage]]").next().unwrap();
    job.write("frames.toml", &format!("{system}{rest}{CORRELATION}"));
    job.succeeds(&["convert", "out/rest.h5md", "rest.lammpstrj"]);
    for (file, name) in [("out/rest.h5md", "again"), ("rest.lammpstrj", "text")] {
        job.succeeds(&["correlate", file, "frames.toml", "--output", name]);
        let [one, other] = ["out", name].map(|of| numbers(&job.path(&format!("{of}/rest.h5"))));
        let mut compared = 0;
        for (name, (_, bits)) in other {
            let is_of = |group: &str| name.starts_with(group) && name.ends_with("/value");
            if !["/dynamics", "/observables", "/structure"].iter().any(|group| is_of(group)) {
                continue;
            }
            for (a, b) in bits.iter().zip(&one[&name].1) {
                let [x, y] = [*a, *b].map(f64::from_bits);
                let same = (x - y).abs() <= 1e-7 * (1.0 + x.abs());
                assert!(same || x.is_nan() && y.is_nan(), "{file}: {name}, {x:e}, {y:e}");
            }
            compared += 1;
        }
        assert!(compared > 40, "{compared}");
    }
}
