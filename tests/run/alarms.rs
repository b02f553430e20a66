//! Alarms of long runs with swaps: crystals, and particles that demix.
use crate::common::job::Job;

const OBSERVE: &str = "observe = { local_order = { every = 50 } }";

/// 500 particles with diameters of their own in `dimension` dimensions, from the lattice or `initial`.
fn polydisperse(
    dimension: usize,
    distribution: &str,
    initial: &str,
    temperature: f64,
    end: &str,
) -> String {
    format!(
        r#"
[system]
dimension = {dimension}
density = 1.0
seed = 5
species = [{{ name = "A", count = 500 }}]
initial = {{ {initial}temperature = {temperature} }}
[system.diameters]
{distribution}
non_additivity = 0.2
[potential]
kind = "inverse-power"
n = 12
cutoff = 1.25
truncation = "even-quartic"
pairs.AA = {{ epsilon = 1.0, sigma = 1.0 }}
[run]
engine = "cpu"
timestep = 0.002
threads = 1
[output]
directory = "out"
[[stage]]
name = "melt"
steps = 600
thermostat = {{ kind = "langevin", temperature = {temperature}, friction = 1.0 }}
swap = {{ every = 10 }}
{OBSERVE}
{end}
"#
    )
}

const POWER_LAW: &str =
    "distribution = \"power-law\"\nexponent = 3\nminimum = 0.73\nmaximum = 1.62";

#[test]
fn a_crystal_ends_the_run_or_is_warned_of() {
    for (dimension, bound) in [(3, 0.1), (2, 0.8)] {
        let with = |limits: &str| {
            let end = format!("[limits]\ncrystallinity = {bound}\ndemixing = 2.0\n{limits}");
            Job::new(&polydisperse(dimension, POWER_LAW, "", 2.0, &end))
        };
        let place = ["stage \"melt\"", "step 0:", "out/melt.h5"];
        let bounded = format!("limits.crystallinity = {bound:?}");
        let what = ["crystallises: its crystallinity is", &bounded];
        with("").fails(&["run", "job.toml"], &[&what[..], &place].concat());

        let job = with("action = \"warn\"");
        let ended = job.succeeds(&["run", "job.toml"]);
        assert_eq!(ended.stderr.matches("limits.crystallinity").count(), 1, "{ended:?}");
        assert!(!ended.stderr.contains("limits.demixing"), "{ended:?}");
        let (crystallinity, demixing) =
            (job.series("melt", "crystallinity"), job.series("melt", "demixing"));
        println!("{dimension}: {crystallinity:?}, {demixing:?}");
        assert_eq!(crystallinity.len(), 13);
        // The lattice, which in two dimensions is strained by the square box, melts.
        assert!(crystallinity[0] > 0.999, "{crystallinity:?}");
        assert!(crystallinity[12] < 0.75 * bound, "{crystallinity:?}");
        assert!(demixing.iter().all(|value| (0.5..1.6).contains(value)), "{demixing:?}");
    }
}

#[test]
fn particles_sorted_by_diameter_end_the_run() {
    // An fcc lattice, one layer along x after the other.
    let edge = 500_f64.powf(1.0 / 3.0);
    let mut text = format!(
        "500\nLattice=\"{edge} 0 0 0 {edge} 0 0 0 {edge}\" Properties=species:S:1:pos:R:3:diameter:R:1 pbc=\"T T T\"\n"
    );
    for at in 0..500 {
        let (layer, within) = (at / 50, at % 50);
        let (row, shift) = (within / 5, 0.5 * f64::from(u8::from(layer % 2 == 1)));
        let x = (f64::from(layer) + 0.25) * edge / 10.0;
        let y = (f64::from(row) * 0.5 + 0.1) * edge / 5.0;
        let z = (f64::from(within % 5) + 0.5 * f64::from(row % 2) + shift) * edge / 5.0;
        let diameter = 0.85 + 0.3 * (f64::from(at) + 0.5) / 500.0;
        text += &format!("A {x:.6} {y:.6} {:.6} {diameter:.6}\n", z.rem_euclid(edge));
    }
    let distribution = "distribution = \"file\"";
    let toml = |end| polydisperse(3, distribution, "file = \"sorted.xyz\", ", 0.2, end);
    let job = Job::new(&toml("[limits]\ndemixing = 2.0"));
    job.write("sorted.xyz", &text);
    let parts = ["the system demixes", "limits.demixing = 2", "stage \"melt\"", "step 0:"];
    job.fails(&["run", "job.toml"], &parts);
    assert!(job.series("melt", "demixing")[0] > 4.0);
}
