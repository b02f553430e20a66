//! What a run averages while it runs, against plain evaluations of its stored trajectory: ours over
//! all pairs of frames and particles, which shares no code with the online one, and those of
//! tidynamics and freud from PyPI. In `fixed-point` terms are 32-bit floats: `src/observable/tests/evaluated.rs` has their errors.
mod common;

use std::f64::consts::TAU;

use common::job::{Job, kob_andersen};
use common::python::check_with_python;
use supercool_analysis::Frame;
use supercool_analysis::correlation::{
    CageRelative, Correlation, StoredTrajectory, StressSeries, TimePairs, average_of_displacements,
    bond_breaking, bond_breaking_susceptibility, coherent_intermediate_scattering_function,
    collective_overlap, collective_overlap_susceptibility, distinct_van_hove_function,
    four_point_structure_factor, mean_quartic_displacement, mean_square_displacement,
    non_gaussian_parameter, self_intermediate_scattering_function, self_overlap,
    self_overlap_susceptibility, self_scattering_susceptibility, self_van_hove_function,
    shear_viscosity, stress_autocorrelation, velocity_autocorrelation,
};
use supercool_analysis::results::{Curve, Function};
use supercool_analysis::structure::{pair_distribution, structure_factor, wave_vectors};

const EVERY: u64 = 4;
const STEPS: u64 = 400;
const BLOCK_SIZE: u64 = 4;
const OVERLAP_LENGTH: f64 = 0.2;
const CAGE_RADIUS: f64 = 1.4;
const BOND_RADII: [f64; 2] = [1.3, 1.5];
const BIN_WIDTH: f64 = 0.125;

/// Observables and the number of groups of the file that have them: two species, and all particles.
const OBSERVABLES: [(&str, usize); 22] = [
    ("mean-square-displacement", 3),
    ("mean-displacement", 3),
    ("mean-quartic-displacement", 3),
    ("non-gaussian-parameter", 3),
    ("velocity-autocorrelation", 3),
    ("self-intermediate-scattering-function", 3),
    ("self-overlap", 3),
    ("self-overlap-susceptibility", 3),
    ("self-scattering-susceptibility", 3),
    ("collective-overlap", 1),
    ("collective-overlap-susceptibility", 1),
    ("self-van-hove-function", 3),
    ("four-point-structure-factor", 3),
    ("stress-autocorrelation", 1),
    ("shear-viscosity", 1),
    ("cage-relative-mean-square-displacement", 3),
    ("cage-relative-self-intermediate-scattering-function", 3),
    ("cage-relative-self-overlap", 3),
    ("bond-breaking", 3),
    ("bond-breaking-susceptibility", 3),
    // Three pairs, and all particles.
    ("coherent-intermediate-scattering-function", 4),
    ("distinct-van-hove-function", 4),
];

/// A short liquid run whose trajectory has every sample of the correlations. All vectors of a shell
/// are taken: none is left to choice.
fn observed(dimension: usize, remove_drift: bool) -> Job {
    let observables = OBSERVABLES.map(|(name, _)| name);
    let toml = kob_andersen(dimension, 500, "double", "timestep = 0.004\nthreads = 2\nskin = 0.3")
        + &format!(
            r#"
[[stage]]
name = "melt"
steps = 500
thermostat = {{ kind = "langevin", temperature = 1.0, friction = 2.0 }}

[[stage]]
name = "production"
steps = {STEPS}
[stage.observe]
thermodynamics = {EVERY}
bond_order = {{ every = 40, radius = 1.4 }}
trajectory = {EVERY}
[stage.observe.structure]
every = 40
maximum_distance = 3.0
bin_width = 0.05
maximum_wavenumber = 9.0
vectors_per_shell = 100_000
[[stage.correlation]]
every = {EVERY}
block_size = {BLOCK_SIZE}
wavenumbers = [1.0, 4.0, 7.25]
vectors_per_shell = 100_000
overlap_length = {OVERLAP_LENGTH}
cage_radius = {CAGE_RADIUS}
bond_radius = {}
bond_breaking_radius = {}
remove_drift = {remove_drift}
van_hove = {{ maximum_distance = 1.0, bin_width = {BIN_WIDTH} }}
observables = {observables:?}
"#,
            BOND_RADII[0], BOND_RADII[1]
        );
    let job = Job::new(&toml);
    job.succeeds(&["run", "job.toml"]);
    job
}

struct Stored {
    frames: Vec<Frame>,
    trajectory: StoredTrajectory,
    /// Pairs of frames of the blocking scheme's origins.
    pairs: TimePairs,
    stress: StressSeries,
    /// Of all samples or windows.
    stress_pairs: TimePairs,
}

/// Samples over which the stress is averaged at a lag in steps: 1/16 of the spacing of its lags where
/// this is a sample or more.
fn stress_window(lag: u64) -> usize {
    let lag = lag / EVERY;
    let spacing = if lag == 0 { 1 } else { BLOCK_SIZE.pow(lag.ilog(BLOCK_SIZE)) };
    if spacing > 16 { (spacing / 16) as usize } else { 0 }
}

impl Stored {
    fn of(job: &Job, remove_drift: bool) -> Self {
        let file = supercool_analysis::open(job.path("out/production.h5md")).unwrap();
        let frames: Vec<Frame> = (0..file.len()).map(|index| file.read(index).unwrap()).collect();
        assert_eq!(frames.len() as u64, STEPS / EVERY + 1);
        let trajectory = StoredTrajectory::from_frames(frames.clone(), None).unwrap();
        let trajectory = if remove_drift { trajectory.without_drift() } else { trajectory };
        let first = trajectory.steps()[0];
        // Lag m l^n, m < l, has the origins k l^n.
        let is_origin = |lag: u64, step: u64| {
            let (lag, origin) = (lag / EVERY, (step - first) / EVERY);
            let interval = match lag {
                0 => 1,
                _ => BLOCK_SIZE.pow(lag.ilog(BLOCK_SIZE)),
            };
            lag.is_multiple_of(interval) && origin.is_multiple_of(interval)
        };
        let all = TimePairs::all(trajectory.steps());
        let lags: Vec<u64> = all.0.keys().copied().filter(|&lag| is_origin(lag, first)).collect();
        let is_window = |lag: u64, step: u64| {
            let window = stress_window(lag).max(1) as u64;
            lags.contains(&lag) && ((step - first) / EVERY).is_multiple_of(window)
        };
        let stress_pairs = all.clone().keep(trajectory.steps(), is_window);
        let pairs = all.keep(trajectory.steps(), is_origin);
        let stress = stress_series(job, &frames[0]);
        Stored { frames, trajectory, pairs, stress, stress_pairs }
    }

    fn edges(&self) -> &[f64] {
        &self.frames[0].box_edges
    }

    /// All wave vectors within 0.5 % of a length that the box holds, found by their mean length.
    fn shell(&self, wavenumber: f64) -> Vec<[f64; 3]> {
        let length = |q: &[f64; 3]| q.iter().map(|x| x * x).sum::<f64>().sqrt();
        let centres = wave_vectors(self.edges(), 0.99 * wavenumber, 1.01 * wavenumber);
        centres
            .iter()
            .map(|centre| {
                wave_vectors(self.edges(), 0.995 * length(centre), 1.005 * length(centre))
            })
            .find(|shell| {
                let mean = shell.iter().map(length).sum::<f64>() / shell.len() as f64;
                (mean - wavenumber).abs() < 1e-12 * wavenumber
            })
            .unwrap_or_else(|| panic!("{wavenumber} is not the mean of a shell"))
    }

    /// Particles of a species, of the first of a pair `A-B`, or all.
    fn particles(&self, group: &str) -> Vec<usize> {
        if let Some((first, _)) = group.split_once('-')
            && group != "all-particles"
        {
            return self.particles(first);
        }
        self.trajectory.particles_of(if group == "all-particles" { "" } else { group })
    }

    /// Particles of the second species of a pair `A-B`, or all.
    fn second(&self, group: &str) -> Vec<usize> {
        let second = group.rsplit_once('-').filter(|_| group != "all-particles");
        self.particles(second.map_or(group, |(_, second)| second))
    }

    fn evaluate(&self, species: &str, name: &str, curve: &Curve) -> Correlation {
        let particles = self.particles(species);
        let (trajectory, pairs) = (&self.trajectory, &self.pairs);
        let cage_relative = CageRelative { trajectory, radius: CAGE_RADIUS };
        match name {
            "mean_square_displacement" => mean_square_displacement(trajectory, &particles, pairs),
            "mean_displacement" => {
                average_of_displacements(trajectory, &particles, pairs, |d| dot(d, d).sqrt())
            }
            "mean_quartic_displacement" => mean_quartic_displacement(trajectory, &particles, pairs),
            "non_gaussian_parameter" => {
                let mut all = non_gaussian_parameter(trajectory, &particles, pairs);
                // Not defined at lag 0.
                for column in [&mut all.time, &mut all.value] {
                    column.remove(0);
                }
                all.lag.remove(0);
                all.count.remove(0);
                all
            }
            "velocity_autocorrelation" => {
                velocity_autocorrelation(trajectory, &particles, pairs).unwrap()
            }
            "self_intermediate_scattering_function" => {
                let shell = self.shell(curve.wavenumber.unwrap());
                self_intermediate_scattering_function(trajectory, &particles, &shell, pairs)
            }
            "four_point_structure_factor" => {
                let shell = self.shell(curve.wavenumber.unwrap());
                four_point_structure_factor(trajectory, &particles, OVERLAP_LENGTH, &shell, pairs)
            }
            "coherent_intermediate_scattering_function" => {
                let second = self.second(species);
                let shell = self.shell(curve.wavenumber.unwrap());
                let both = [&particles[..], &second[..]];
                coherent_intermediate_scattering_function(trajectory, both, &shell, pairs)
            }
            "collective_overlap" => collective_overlap(trajectory, OVERLAP_LENGTH, pairs),
            "collective_overlap_susceptibility" => {
                collective_overlap_susceptibility(trajectory, OVERLAP_LENGTH, pairs)
            }
            "stress_autocorrelation" => {
                stress_autocorrelation(&self.stress, &self.stress_pairs, stress_window)
            }
            "shear_viscosity" => shear_viscosity(&self.stress, &self.stress_pairs, stress_window),
            "cage_relative_mean_square_displacement" => {
                cage_relative.average(&particles, pairs, |d| dot(d, d))
            }
            "cage_relative_self_overlap" => cage_relative.average(&particles, pairs, |d| {
                f64::from(u8::from(dot(d, d).sqrt() < OVERLAP_LENGTH))
            }),
            "cage_relative_self_intermediate_scattering_function" => {
                let shell = self.shell(curve.wavenumber.unwrap());
                cage_relative.average(&particles, pairs, |d| {
                    shell.iter().map(|&q| dot(q, d).cos()).sum::<f64>() / shell.len() as f64
                })
            }
            "bond_breaking" => bond_breaking(trajectory, &particles, BOND_RADII, pairs),
            "bond_breaking_susceptibility" => {
                bond_breaking_susceptibility(trajectory, &particles, BOND_RADII, pairs)
            }
            "self_overlap" => self_overlap(trajectory, &particles, OVERLAP_LENGTH, pairs),
            "self_overlap_susceptibility" => {
                self_overlap_susceptibility(trajectory, &particles, OVERLAP_LENGTH, pairs)
            }
            "self_scattering_susceptibility" => {
                let shell = self.shell(curve.wavenumber.unwrap());
                self_scattering_susceptibility(trajectory, &particles, &shell, pairs)
            }
            _ => panic!("{name} is not checked"),
        }
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn stress_series(job: &Job, frame: &Frame) -> StressSeries {
    let observables = job.results("production").observables().unwrap();
    let find = |name: &str| observables.iter().find(|series| series.name == name).unwrap();
    let dimension = frame.box_edges.len();
    let stress = find("stress_tensor");
    StressSeries {
        dimension,
        volume: frame.box_edges.iter().product(),
        interval: stress.time[1] - stress.time[0],
        stress: stress.value.chunks(dimension * dimension).map(<[f64]>::to_vec).collect(),
        temperature: find("temperature").value.clone(),
    }
}

/// Equal to rounding; `scale` is the size of the terms that were summed.
fn assert_equal(what: &str, found: &[f64], expected: &[f64], scale: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let tolerance = 1e-10 * expected.abs().max(scale);
        assert!(
            (found - expected).abs() <= tolerance || found.is_nan() && expected.is_nan(),
            "{what} [{index}]: {found:e}, plainly {expected:e}"
        );
    }
}

fn check_dynamics(stored: &Stored, functions: &[Function]) {
    for (observable, groups) in OBSERVABLES {
        let name = observable.replace('-', "_");
        let found = functions.iter().filter(|function| function.name == name).count();
        assert_eq!(found, groups, "{name}");
    }
    let (van_hove, functions): (Vec<&Function>, Vec<_>) =
        functions.iter().partition(|function| function.name.ends_with("van_hove_function"));
    van_hove.into_iter().for_each(|function| check_van_hove(stored, function));
    for function in functions {
        let scattering =
            function.name.contains("scattering") || function.name.contains("structure_factor");
        assert_eq!(function.curves.len(), if scattering { 3 } else { 1 });
        for curve in &function.curves {
            let what = format!("{}/{} {:?}", function.group, function.name, curve.wavenumber);
            let mut expected = stored.evaluate(&function.group, &function.name, curve);
            // One origin has no variance.
            if function.name.ends_with("susceptibility") {
                for (value, count) in expected.value.iter_mut().zip(&mut expected.count) {
                    if *count < 2 {
                        (*value, *count) = (f64::NAN, 0);
                    }
                }
            }
            assert_equal(&format!("time of {what}"), &function.x, &expected.time, 1e-3);
            // Sums of terms of both signs.
            let scale = match function.name.as_str() {
                "coherent_intermediate_scattering_function" | "four_point_structure_factor" => 1.0,
                name if name.ends_with("self_intermediate_scattering_function") => 1.0,
                "velocity_autocorrelation" => 1.0,
                "non_gaussian_parameter" => 1.0,
                // A small difference of numbers of order N.
                "collective_overlap_susceptibility" => 500.0,
                // Shares are rounded to 2^-32.
                "bond_breaking" => 10.0,
                "bond_breaking_susceptibility" => 500.0,
                "stress_autocorrelation" | "shear_viscosity" => 1.0,
                "self_overlap_susceptibility" | "self_scattering_susceptibility" => 500.0,
                _ => 0.0,
            };
            assert_equal(&what, &curve.value, &expected.value, scale);
            // One of each q, -q.
            let vectors = || stored.shell(curve.wavenumber.unwrap()).len() as u64;
            let per_origin = match function.name.as_str() {
                "coherent_intermediate_scattering_function" | "four_point_structure_factor" => {
                    vectors()
                }
                "stress_autocorrelation" | "shear_viscosity" => 1,
                name if name.ends_with("susceptibility") => 1,
                _ => stored.particles(&function.group).len() as u64,
            };
            let counts: Vec<u64> = curve.count.iter().map(|&count| count as u64).collect();
            let origins: Vec<u64> = expected.count.iter().map(|count| count * per_origin).collect();
            assert_eq!(counts, origins, "{what}");
        }
    }
}

fn check_van_hove(stored: &Stored, function: &Function) {
    assert_eq!(function.x.len(), 8);
    let (particles, second) = (stored.particles(&function.group), stored.second(&function.group));
    let mut of_group = [&particles[..], &second[..]].concat();
    of_group.sort_unstable();
    of_group.dedup();
    for (bin, centre) in function.x.iter().enumerate() {
        let edges = [bin, bin + 1].map(|bin| bin as f64 * BIN_WIDTH);
        assert!((centre - 0.5 * (edges[0] + edges[1])).abs() < 1e-14);
        let (trajectory, pairs) = (&stored.trajectory, &stored.pairs);
        let expected = match function.name.starts_with("self") {
            true => self_van_hove_function(trajectory, &particles, edges, pairs),
            false => distinct_van_hove_function(trajectory, [&particles, &second], edges, pairs),
        };
        let column = |value: fn(&Curve, usize) -> f64| -> Vec<f64> {
            function.curves.iter().map(|curve| value(curve, bin)).collect()
        };
        let what = format!("{}/{} in bin {bin}", function.group, function.name);
        assert_equal(&what, &column(|curve, _| curve.time.unwrap()), &expected.time, 1e-3);
        assert_equal(&what, &column(|curve, bin| curve.value[bin]), &expected.value, 0.0);
        let counts = expected.count.iter().map(|&count| (count * of_group.len() as u64) as f64);
        assert_eq!(column(|curve, bin| curve.count[bin]), counts.collect::<Vec<_>>());
    }
}

fn check_structure(stored: &Stored, functions: &[Function]) {
    assert_eq!(functions.len(), 3 * 2, "pairs and functions");
    let frames: Vec<Frame> = stored.frames.iter().step_by(10).cloned().collect();
    for function in functions {
        let (a, b) = function.group.split_at(1);
        let what = format!("{}/{}", function.group, function.name);
        let expected = match function.name.as_str() {
            "pair_distribution" => pair_distribution(&frames, a, b, 3.0, 0.05).unwrap(),
            "structure_factor" => {
                let smallest = TAU / stored.edges()[0];
                assert!((function.x[0] - smallest).abs() < 1e-12, "{}", function.x[0]);
                let shells: Vec<_> = function.x.iter().map(|&q| stored.shell(q)).collect();
                structure_factor(&frames, a, b, &shells).unwrap()
            }
            _ => panic!("{what} is not checked"),
        };
        assert_equal(&what, &function.x, &expected.x, 0.0);
        assert_equal(&what, &function.curves[0].value, &expected.value, 1.0);
    }
}

fn online_equals_plain(dimension: usize, remove_drift: bool) {
    let job = observed(dimension, remove_drift);
    let stored = Stored::of(&job, remove_drift);
    let results = job.results("production");
    check_dynamics(&stored, &results.dynamics().unwrap());
    check_structure(&stored, &results.structure().unwrap());
    let paths = [job.path("out/production.h5"), job.path("out/production.h5md")];
    check_with_python("tidynamics, freud", "correlations.py", &[&paths[0], &paths[1]]);
}

#[test]
fn online_correlations_in_three_dimensions_equal_plain_ones_of_the_stored_trajectory() {
    online_equals_plain(3, false);
}

#[test]
fn online_correlations_in_two_dimensions_equal_plain_ones_of_the_stored_trajectory() {
    online_equals_plain(2, true);
}
