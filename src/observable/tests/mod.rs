//! Physics and contracts of whole observables.
mod classes;
mod drift;
mod dynamics;
mod evaluated;
mod origins;
mod places_and_times;
mod structure;
mod tilted;

use std::f64::consts::{PI, TAU};

use rand::SeedableRng;
use rand::rngs::StdRng;

use self::structure::structure_plan;
use super::trajectories::{context, ideal_gas, normal, random_walk, snapshot};
use super::*;
use crate::plan::{BondPlan, CorrelationPlan, DynamicObservable, VanHovePlan};
use crate::system::Snapshot;

fn plan(every: u64, block_size: usize, levels: usize, wavenumbers: &[f64]) -> CorrelationPlan {
    CorrelationPlan {
        every,
        block_size,
        levels,
        level_ratio: None,
        wavenumbers: wavenumbers.to_vec(),
        vectors_per_shell: 14,
        overlap_length: 0.6,
        remove_drift: false,
        cage_radius: Some(1.3),
        bonds: Some(BondPlan { radius: 1.3, breaking_radius: 1.6 }),
        van_hove: VanHovePlan { maximum_distance: 2.0, bin_width: 0.1 },
        species: vec![0, 1, 2],
        diameter_classes: None,
        origins: Vec::new(),
        observables: DynamicObservable::ALL.to_vec(),
    }
}

/// Takes a sample, with a stress made up of the first velocities.
fn take(correlations: &mut Correlations, snapshot: &Snapshot) {
    correlations.sample(snapshot, Some(&macroscopic(snapshot)));
}

fn macroscopic(snapshot: &Snapshot) -> Macroscopic {
    let stress = std::array::from_fn(|a| {
        std::array::from_fn(|b| snapshot.velocity[0][a] + snapshot.velocity[0][b])
    });
    Macroscopic { stress, temperature: 0.8 }
}

fn correlate(
    plan: &CorrelationPlan,
    context: &SampleContext,
    snapshots: &[Snapshot],
) -> Correlations {
    let mut correlations = Correlations::new(plan, context).unwrap();
    snapshots.iter().for_each(|snapshot| take(&mut correlations, snapshot));
    correlations.finish();
    correlations
}

fn find<'a>(results: &'a [Series], path: &str) -> &'a Series {
    results.iter().find(|series| series.path == path).unwrap_or_else(|| panic!("no {path}"))
}

/// `(mean square, mean quartic, velocity product, F_s of every shell)` of one species over the pairs of
/// snapshots `origin`, `origin + lag`, straight from the definitions; all vectors of a shell, no tables.
fn direct(
    context: &SampleContext,
    snapshots: &[Snapshot],
    species: u8,
    lag: usize,
    interval: usize,
    shells: &[wavevectors::WaveVectorShell],
) -> (f64, f64, f64, Vec<f64>, u64) {
    let box_ = &context.simulation_box;
    let (mut square, mut quartic, mut product) = (0.0, 0.0, 0.0);
    let mut scattering = vec![0.0; shells.len()];
    let mut count = 0;
    for origin in (0..snapshots.len().saturating_sub(lag)).step_by(interval) {
        let (first, later) = (&snapshots[origin], &snapshots[origin + lag]);
        for i in (0..context.species_of.len()).filter(|&i| context.species_of[i] == species) {
            let (from, to) = (first.unwrapped(i, box_), later.unwrapped(i, box_));
            let d: [f64; 3] = std::array::from_fn(|k| to[k] - from[k]);
            let r2: f64 = d.iter().map(|d| d * d).sum();
            square += r2;
            quartic += r2 * r2;
            product += (0..3).map(|k| first.velocity[i][k] * later.velocity[i][k]).sum::<f64>();
            for (sum, shell) in scattering.iter_mut().zip(shells) {
                let edges = box_.padded_edges();
                let phase = |n: [i32; 3]| -> f64 {
                    (0..3).map(|k| TAU * f64::from(n[k]) * d[k] / edges[k]).sum()
                };
                let vectors = shell.lattice_vectors();
                let of_shell: f64 = vectors.iter().map(|&n| phase(n).cos()).sum();
                *sum += of_shell / vectors.len() as f64;
            }
            count += 1;
        }
    }
    let mean = |sum: f64| sum / count as f64;
    let scattering = scattering.into_iter().map(mean).collect();
    (mean(square), mean(quartic), mean(product), scattering, count)
}

#[test]
fn blocking_scheme_equals_direct_evaluation_over_the_same_origins() {
    for (edges, block_size, levels, level_ratio, samples) in [
        (vec![6.0, 7.0, 8.0], 4, 3, None, 61),
        (vec![9.0, 5.0], 3, 4, None, 50),
        (vec![6.0, 7.0, 8.0], 6, 4, Some(2), 61),
        // One level: all origins of all lags, as in the plain O(M^2) sum.
        (vec![6.0, 6.0, 6.0], 30, 1, None, 30),
        // Shorter than a block.
        (vec![6.0, 6.0, 6.0], 10, 3, None, 6),
    ] {
        let (every, dimension) = (5, edges.len() as f64);
        let context = context(&edges, &[70, 31], every * (samples - 1));
        let plan = CorrelationPlan { level_ratio, ..plan(every, block_size, levels, &[1.5, 7.2]) };
        let walk = random_walk(&context, 42, 0.4, 1000, every, samples);
        let correlations = correlate(&plan, &context, &walk);
        let (layouts, results) = (correlations.layouts(), correlations.results());
        let shells = wavevectors::shells(&context.simulation_box, &plan.wavenumbers, 14).unwrap();
        for (species, name) in [(0, "A"), (1, "B")] {
            let series = |name_| find(&results, &format!("{name}/{name_}"));
            let [square, quartic, alpha, velocity, scattering] =
                DynamicObservable::DEFAULT.map(|observable| series(observable.group_name()));
            let times = layouts[0].axis(AxisName::Time).unwrap();
            assert_eq!(times.len(), square.value.len());
            assert!(times.is_sorted() && *times.last().unwrap() <= 0.002 * 5.0 * samples as f64);
            for (index, time) in times.iter().enumerate() {
                let lag = (time / (0.002 * every as f64)).round() as usize;
                let blocks = plan.blocks();
                let interval = blocks.interval(blocks.place(index).0).unwrap() as usize;
                let (r2, r4, vv, fs, count) =
                    direct(&context, &walk, species, lag, interval, &shells);
                let near = |found: f64, expected: f64| {
                    let scale = expected.abs().max(1.0);
                    assert!((found - expected).abs() < 1e-12 * scale, "{lag}: {found} {expected}");
                };
                near(square.value[index], r2);
                near(quartic.value[index], r4);
                near(velocity.value[index], vv);
                for (shell, fs) in fs.iter().enumerate() {
                    near(scattering.value[shell * times.len() + index], *fs);
                }
                if lag > 0 {
                    let factor = dimension / (dimension + 2.0);
                    near(alpha.value[index - 1], factor * r4 / (r2 * r2) - 1.0);
                }
                assert_eq!(square.count[index], count);
            }
        }
    }
}

#[test]
fn free_particles_move_ballistically_through_the_periodic_boundary() {
    // Fast enough to cross the box several times between samples.
    let (count, every, samples) = (300, 10, 40);
    let context = context(&[5.0, 6.0, 7.0], &[count], every * (samples - 1));
    let mut rng = StdRng::seed_from_u64(9);
    let start = ideal_gas(&mut rng, &context.simulation_box, count);
    let velocity: Vec<[f64; 3]> =
        (0..count).map(|_| std::array::from_fn(|_| 300.0 * normal(&mut rng))).collect();
    let snapshots: Vec<_> = (0..samples)
        .map(|sample| {
            let time = (sample * every) as f64 * context.timestep;
            let moved: Vec<[f64; 3]> = start
                .iter()
                .zip(&velocity)
                .map(|(r, v)| std::array::from_fn(|k| r[k] + v[k] * time))
                .collect();
            snapshot(&context.simulation_box, sample * every, &moved, &velocity)
        })
        .collect();
    let correlations = correlate(&plan(every, 5, 3, &[2.0]), &context, &snapshots);
    let (layouts, results) = (correlations.layouts(), correlations.results());
    let shell = &wavevectors::shells(&context.simulation_box, &[2.0], 14).unwrap()[0];
    let mean_v2: f64 =
        velocity.iter().flatten().map(|v| v * v).sum::<f64>() / velocity.len() as f64;
    let speed = |v: &[f64; 3]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let mean_speed = velocity.iter().map(speed).sum::<f64>() / count as f64;
    for (index, &time) in layouts[0].axis(AxisName::Time).unwrap().iter().enumerate() {
        let square = find(&results, "A/mean_square_displacement");
        let tolerance = 1e-11 * (1.0 + mean_v2 * time * time);
        assert!((square.value[index] - mean_v2 * time * time).abs() < tolerance);
        assert!(square.error[index].is_nan() || square.error[index] < 1e3 * tolerance);
        let distance = find(&results, "A/mean_displacement");
        let exact = time * mean_speed;
        assert!((distance.value[index] - exact).abs() < 1e-11 * (1.0 + exact));
        let velocities = find(&results, "A/velocity_autocorrelation");
        assert!((velocities.value[index] - mean_v2).abs() < 1e-12 * mean_v2);
        let mut exact = 0.0;
        for v in &velocity {
            for n in shell.lattice_vectors() {
                let edges = context.simulation_box.padded_edges();
                let qv: f64 = (0..3).map(|k| TAU * f64::from(n[k]) * v[k] / edges[k]).sum();
                exact += (qv * time).cos();
            }
        }
        exact /= (shell.count() as usize * velocity.len()) as f64;
        // Coordinates of up to a thousand boxes are rounded to 1e-12.
        let scattering = find(&results, "A/self_intermediate_scattering_function");
        assert!((scattering.value[index] - exact).abs() < 1e-10, "t = {time}");
    }
}

#[test]
fn random_walk_is_gaussian_and_diffusive_within_its_error_bars() {
    for edges in [vec![4.0, 5.0, 6.0], vec![7.0, 8.0]] {
        let (every, samples, width) = (2, 2000, 0.1);
        let context = context(&edges, &[100], every * (samples - 1));
        let dimension = edges.len() as f64;
        let walk = random_walk(&context, 77, width, 0, every, samples);
        let plan = plan(every, 10, 3, &[2.5]);
        let correlations = correlate(&plan, &context, &walk);
        let (layouts, results) = (correlations.layouts(), correlations.results());
        let times = layouts[0].axis(AxisName::Time).unwrap().to_vec();
        let shell = &wavevectors::shells(&context.simulation_box, &[2.5], 14).unwrap()[0];
        let edges = context.simulation_box.padded_edges();
        // The longest lags have few independent origins, where errors are only a lower bound.
        for (index, time) in times.iter().enumerate().take(times.len() - 9).skip(1) {
            let steps = (time / (0.002 * every as f64)).round();
            let square = dimension * width * width * steps;
            // Means of the Maxwell and the Rayleigh distribution.
            let distance = match dimension == 3.0 {
                true => (8.0 * square / (3.0 * PI)).sqrt(),
                false => (PI * square / 4.0).sqrt(),
            };
            let decay = |n: [i32; 3]| {
                let q2: f64 = (0..3).map(|k| (TAU * f64::from(n[k]) / edges[k]).powi(2)).sum();
                (-0.5 * q2 * width * width * steps).exp()
            };
            let vectors = shell.lattice_vectors();
            let scattering = vectors.iter().map(|&n| decay(n)).sum::<f64>() / vectors.len() as f64;
            for (name, place, expected) in [
                ("mean_square_displacement", index, square),
                ("mean_displacement", index, distance),
                ("non_gaussian_parameter", index - 1, 0.0),
                ("velocity_autocorrelation", index, 0.0),
                ("self_intermediate_scattering_function", index, scattering),
            ] {
                let series = find(&results, &format!("A/{name}"));
                let (value, error) = (series.value[place], series.error[place]);
                // About 160 values and correlated ones: 5 errors, where an error is known to a fifth.
                assert!(error > 0.0);
                assert!((value - expected).abs() < 5.0 * error, "{name} {steps}: {value} {error}");
                let relative = if name == "mean_square_displacement" { error / value } else { 0.0 };
                assert!(relative < 0.1);
            }
        }
    }
}

#[test]
fn resumed_correlations_end_with_the_same_bits() {
    let context = context(&[6.0, 7.0, 8.0], &[300, 40], 3 * 99);
    let plan = CorrelationPlan { remove_drift: true, ..plan(3, 4, 4, &[2.0, 7.0]) };
    let walk = random_walk(&context, 3, 0.5, 500, 3, 100);
    let whole = correlate(&plan, &context, &walk);
    for cut in [0, 1, 37, 64, 100] {
        let mut first = Correlations::new(&plan, &context).unwrap();
        walk[..cut].iter().for_each(|snapshot| take(&mut first, snapshot));
        let (state, arrays) = first.save(None);
        let state = serde_json::from_str(&state.to_string()).unwrap();
        let mut second = Correlations::new(&plan, &context).unwrap();
        second.restore(&state, &arrays).unwrap();
        walk[cut..].iter().for_each(|snapshot| take(&mut second, snapshot));
        second.finish();
        assert_eq!(bits(&second.results()), bits(&whole.results()), "cut at {cut}");
        assert_eq!(second.save(None), whole.save(None));
    }
}

#[test]
fn one_species_alone_gives_the_same_bits_as_all() {
    let context = context(&[6.0, 7.0, 8.0], &[300, 40], 3 * 49);
    let walk = random_walk(&context, 3, 0.5, 500, 3, 50);
    let all = correlate(&plan(3, 4, 4, &[2.0, 7.0]), &context, &walk).results();
    for observables in [DynamicObservable::DEFAULT.to_vec(), DynamicObservable::ALL.to_vec()] {
        let plan = CorrelationPlan { species: vec![1], observables, ..plan(3, 4, 4, &[2.0, 7.0]) };
        let alone = correlate(&plan, &context, &walk).results();
        assert!(alone.len() >= 5 && alone.iter().all(|series| !series.path.starts_with('A')));
        for series in alone {
            assert_eq!(bits(&[find(&all, &series.path).clone()]), bits(&[series]));
        }
    }
}

#[test]
fn foreign_or_damaged_states_are_errors() {
    let context = context(&[6.0, 7.0, 8.0], &[30], 3 * 99);
    let walk = random_walk(&context, 3, 0.5, 500, 3, 20);
    let mut correlations = Correlations::new(&plan(3, 4, 4, &[2.0]), &context).unwrap();
    walk.iter().for_each(|snapshot| take(&mut correlations, snapshot));
    let (state, arrays) = correlations.save(None);
    let restore = |plan: &CorrelationPlan, arrays: &[(String, Vec<f64>)]| {
        Correlations::new(plan, &context).unwrap().restore(&state, arrays)
    };
    assert!(restore(&plan(3, 4, 4, &[2.0]), &arrays).is_ok());
    assert!(restore(&plan(3, 4, 3, &[2.0]), &arrays).is_err());
    assert!(restore(&plan(3, 4, 4, &[2.0]), &arrays[..2]).is_err());
    let mut short = arrays.clone();
    short[0].1.pop();
    assert!(restore(&plan(3, 4, 4, &[2.0]), &short).is_err());
    let message = restore(&plan(3, 4, 4, &[2.0]), &arrays[1..]).unwrap_err().to_string();
    assert!(message.contains("'averages' is missing"), "{message}");
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    let context = context(&[9.0, 9.0, 9.0], &[700, 333], 5 * 29);
    let plan = plan(5, 5, 2, &[1.0, 7.0]);
    let walk = random_walk(&context, 12, 0.3, 0, 5, 30);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut structure = Structure::new(&structure_plan(3.0, 0.1, 8.0), &context).unwrap();
            walk.iter().for_each(|snapshot| structure.sample(snapshot));
            let mut results = correlate(&plan, &context, &walk).results();
            results.extend(structure.results());
            bits(&results)
        })
    };
    assert_eq!(on(1), on(2));
    assert_eq!(on(2), on(3));
}

/// Path, value and error of every series, the numbers as bits: NaN equals NaN.
fn bits(results: &[Series]) -> Vec<(String, [Vec<u64>; 3])> {
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect();
    results
        .iter()
        .map(|series| {
            (series.path.clone(), [bits(&series.value), bits(&series.error), series.count.clone()])
        })
        .collect()
}

#[test]
fn plans_that_cannot_be_carried_out_are_errors() {
    let context = context(&[6.0, 7.0, 8.0], &[30], 100);
    for (every, block_size, levels) in [(0, 4, 4), (3, 1, 4), (3, 4, 0)] {
        assert!(Correlations::new(&plan(every, block_size, levels, &[2.0]), &context).is_err());
    }
    for wavenumbers in [&[-2.0][..], &[0.0], &[f64::INFINITY], &[]] {
        assert!(Correlations::new(&plan(3, 4, 4, wavenumbers), &context).is_err());
    }
    let mut other = context.clone();
    other.species_of.pop();
    let error = Correlations::new(&plan(3, 4, 4, &[2.0]), &other).err().unwrap();
    assert_eq!(error.to_string(), "species_of: 29 particles of species A, expected 30");
    assert!(Structure::new(&structure_plan(3.1, 0.1, 5.0), &context).is_err());
    assert!(Structure::new(&structure_plan(3.0, 0.1, 0.5), &context).is_err());
}

#[test]
#[should_panic(expected = "step of the next sample")]
fn a_missing_sample_is_noticed() {
    let context = context(&[6.0, 7.0, 8.0], &[30], 100);
    let walk = random_walk(&context, 3, 0.5, 500, 3, 3);
    let mut correlations = Correlations::new(&plan(3, 4, 4, &[2.0]), &context).unwrap();
    take(&mut correlations, &walk[0]);
    take(&mut correlations, &walk[2]);
}
