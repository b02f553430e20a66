//! Time correlations of particles without interactions, whose averages and fluctuations are known.
use std::f64::consts::TAU;
use std::sync::LazyLock;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rayon::{ThreadPool, ThreadPoolBuilder};
use statrs::distribution::{Binomial, ChiSquared, ContinuousCDF, DiscreteCDF};

use super::super::trajectories::{context, ideal_gas, langevin_gas, normal, random_walk, snapshot};
use super::super::wavevectors::{self, WaveVectorShell};
use super::*;

/// Hits among `repeats` that agree with a coverage between `low` and `high`, at a level of 1e-4.
fn assert_coverage(hits: u64, repeats: u64, low: f64, high: f64, what: &str) {
    let below = Binomial::new(low, repeats).unwrap().cdf(hits);
    let above = 1.0 - Binomial::new(high, repeats).unwrap().cdf(hits);
    assert!(below > 1e-4 && above > 1e-4, "{what}: {hits} of {repeats}");
}

/// Few particles: to wake other threads would take longer than their sums.
fn on_one_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    static POOL: LazyLock<ThreadPool> =
        LazyLock::new(|| ThreadPoolBuilder::new().num_threads(1).build().unwrap());
    POOL.install(work)
}

fn squared_length(n: [f64; 3], edges: [f64; 3]) -> f64 {
    (0..3).map(|k| (TAU * n[k] / edges[k]).powi(2)).sum()
}

/// Average of `exp(-q^2 s^2 / 2)` over a shell: F_s for Gaussian displacements of variance `s^2` per axis.
fn gaussian_scattering(shell: &WaveVectorShell, edges: [f64; 3], variance: f64) -> f64 {
    let vectors = shell.lattice_vectors();
    let decay = |n: &[i32; 3]| (-0.5 * variance * squared_length(n.map(f64::from), edges)).exp();
    vectors.iter().map(decay).sum::<f64>() / vectors.len() as f64
}

#[test]
fn free_particles_in_a_thermostat_are_ballistic_then_diffusive_with_errors_that_hold() {
    let (interval, temperature, repeats) = (0.1, 0.7, 150);
    for edges in [vec![6.0, 7.0, 8.0], vec![9.0, 5.0]] {
        let mut context = context(&edges, &[20], 999);
        context.timestep = interval;
        let plan = CorrelationPlan {
            observables: vec![
                DynamicObservable::MeanSquareDisplacement,
                DynamicObservable::SelfIntermediateScatteringFunction,
            ],
            ..plan(1, 8, 2, &[2.0])
        };
        let shell = &wavevectors::shells(&context.simulation_box, &[2.0], 14).unwrap()[0];
        let mut rng = StdRng::seed_from_u64(2);
        let mut hits: Vec<[[u64; 2]; 2]> = Vec::new();
        for _ in 0..repeats {
            let walk = langevin_gas(&context, &mut rng, temperature, interval, 1000);
            let results = on_one_thread(|| correlate(&plan, &context, &walk));
            let times = results.layouts()[0].axis(AxisName::Time).unwrap().to_vec();
            hits.resize(times.len(), [[0; 2]; 2]);
            for (index, t) in times.iter().enumerate() {
                let variance = 2.0 * temperature * (t - 1.0 + (-t).exp());
                if index == 1 {
                    // The first lag is ballistic to its error bar: <dr^2> = D T t^2 (1 - t/3 + ...).
                    assert!((variance / (temperature * t * t) - 1.0).abs() < 0.034);
                }
                let exact = [
                    edges.len() as f64 * variance,
                    gaussian_scattering(shell, context.simulation_box.padded_edges(), variance),
                ];
                for (which, series) in results.results().iter().enumerate() {
                    let distance = (series.value[index] - exact[which]).abs();
                    let error = series.error[index];
                    assert!(index > 0 || distance < 1e-12);
                    hits[index][which][0] += u64::from(distance < error);
                    hits[index][which][1] += u64::from(distance < 2.0 * error);
                }
            }
        }
        for (index, hits) in hits.iter().enumerate().skip(1) {
            for (which, [within_one, within_two]) in hits.iter().enumerate() {
                // As errors from some tens of independent blocks cover, slightly less than normal ones.
                let what = format!("{}D, lag {index}, observable {which}", edges.len());
                assert_coverage(*within_one, repeats, 0.62, 0.70, &what);
                assert_coverage(*within_two, repeats, 0.91, 0.96, &what);
            }
        }
    }
}

#[test]
fn susceptibilities_of_independent_particles_are_those_of_one() {
    let (width, length, samples) = (0.25, 0.6, 3000);
    for edges in [vec![5.0, 6.0, 7.0], vec![7.0, 8.0]] {
        let context = context(&edges, &[60, 25], samples - 1);
        let plan = CorrelationPlan {
            observables: vec![
                DynamicObservable::SelfOverlap,
                DynamicObservable::SelfOverlapSusceptibility,
                DynamicObservable::SelfScatteringSusceptibility,
            ],
            ..plan(1, 6, 3, &[2.5])
        };
        let walk = random_walk(&context, 5, width, 0, 1, samples);
        let correlations = correlate(&plan, &context, &walk);
        let (layouts, results) = (correlations.layouts(), correlations.results());
        let shell = &wavevectors::shells(&context.simulation_box, &[2.5], 14).unwrap()[0];
        let padded = context.simulation_box.padded_edges();
        let vectors: Vec<[f64; 3]> =
            shell.lattice_vectors().iter().map(|n| n.map(f64::from)).collect();
        let displacement = ChiSquared::new(edges.len() as f64).unwrap();
        let times = layouts[0].axis(AxisName::Time).unwrap();
        // The longest lags have few independent origins, where errors are only a lower bound.
        for (index, time) in times.iter().enumerate().take(times.len() - 3).skip(1) {
            let variance = width * width * (time / context.timestep).round();
            let p = displacement.cdf(length * length / variance);
            // <cos a cos b> = <cos(a - b) + cos(a + b)> / 2.
            let mut square = 0.0;
            for a in &vectors {
                for b in &vectors {
                    for sign in [-1.0, 1.0] {
                        let sum = std::array::from_fn(|k| a[k] + sign * b[k]);
                        square += 0.5 * (-0.5 * variance * squared_length(sum, padded)).exp();
                    }
                }
            }
            square /= (vectors.len() * vectors.len()) as f64;
            let mean = gaussian_scattering(shell, padded, variance);
            for part in ["A", "B", "all-particles"] {
                for (name, exact) in [
                    ("self_overlap", p),
                    ("self_overlap_susceptibility", p * (1.0 - p)),
                    ("self_scattering_susceptibility", square - mean * mean),
                ] {
                    let series = find(&results, &format!("{part}/{name}"));
                    let (value, error) = (series.value[index], series.error[index]);
                    // About 200 values, errors known to a fifth or so; the sample's variance lacks
                    // that of its mean.
                    let bias = if name.ends_with("susceptibility") { exact / 100.0 } else { 0.0 };
                    let small = index > 5 || error < 0.2 * exact;
                    assert!(error > 0.0 && small, "{part}/{name} {index}: {error}");
                    assert!(
                        (value - exact).abs() < 5.0 * error + bias,
                        "{part}/{name} {index}: {value} +- {error}, exactly {exact}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_error_of_a_susceptibility_covers_its_exact_value_as_often_as_it_should() {
    let (width, length, repeats) = (0.25, 0.5, 200);
    let context = context(&[5.0, 6.0, 7.0], &[40], 999);
    let plan = CorrelationPlan {
        overlap_length: length,
        observables: vec![DynamicObservable::SelfOverlapSusceptibility],
        ..plan(1, 5, 1, &[])
    };
    let displacement = ChiSquared::new(3.0).unwrap();
    let mut hits = [[0; 2]; 5];
    for repeat in 0..repeats {
        let walk = random_walk(&context, 1000 + repeat, width, 0, 1, 1000);
        let results = on_one_thread(|| correlate(&plan, &context, &walk)).results();
        let series = find(&results, "all-particles/self_overlap_susceptibility");
        for (lag, hits) in hits.iter_mut().enumerate().skip(1) {
            let p = displacement.cdf(length * length / (width * width * lag as f64));
            let distance = (series.value[lag] - p * (1.0 - p)).abs();
            hits[0] += u64::from(distance < series.error[lag]);
            hits[1] += u64::from(distance < 2.0 * series.error[lag]);
        }
    }
    for (lag, [within_one, within_two]) in hits.into_iter().enumerate().skip(1) {
        assert_coverage(within_one, repeats, 0.63, 0.70, &format!("lag {lag}"));
        assert_coverage(within_two, repeats, 0.92, 0.96, &format!("lag {lag}"));
    }
}

#[test]
fn free_flight_from_maxwell_velocities_is_ballistic_over_repeated_runs() {
    let (temperature, mass, runs, every) = (0.9_f64, 2.0, 400, 50);
    let context = context(&[6.0, 7.0, 8.0], &[30], 8 * every);
    let plan = CorrelationPlan {
        observables: vec![
            DynamicObservable::MeanSquareDisplacement,
            DynamicObservable::SelfIntermediateScatteringFunction,
        ],
        ..plan(every, 3, 2, &[2.0])
    };
    let shell = &wavevectors::shells(&context.simulation_box, &[2.0], 14).unwrap()[0];
    let edges = context.simulation_box.padded_edges();
    let mut rng = StdRng::seed_from_u64(21);
    // Of every lag: sums of value and its square over runs, which are independent.
    let mut sums: Vec<[[f64; 2]; 2]> = Vec::new();
    let mut times = Vec::new();
    for _ in 0..runs {
        let start = ideal_gas(&mut rng, &context.simulation_box, 30);
        let velocity: Vec<[f64; 3]> = (0..30)
            .map(|_| std::array::from_fn(|_| (temperature / mass).sqrt() * normal(&mut rng)))
            .collect();
        let at = |sample: u64| {
            let time = (sample * every) as f64 * context.timestep;
            let moved: Vec<[f64; 3]> = start
                .iter()
                .zip(&velocity)
                .map(|(r, v)| std::array::from_fn(|k| r[k] + v[k] * time))
                .collect();
            snapshot(&context.simulation_box, sample * every, &moved, &velocity)
        };
        let snapshots: Vec<_> = (0..=8).map(at).collect();
        let correlations = correlate(&plan, &context, &snapshots);
        times = correlations.layouts()[0].axis(AxisName::Time).unwrap().to_vec();
        sums.resize(times.len(), [[0.0; 2]; 2]);
        for (which, series) in correlations.results().iter().enumerate() {
            for (sums, value) in sums.iter_mut().zip(&series.value) {
                sums[which][0] += value / f64::from(runs);
                sums[which][1] += value * value / f64::from(runs);
            }
        }
    }
    assert_eq!(times.len(), 5);
    for (t, sums) in times.iter().zip(sums).skip(1) {
        let variance = temperature / mass * t * t;
        let exact = [3.0 * variance, gaussian_scattering(shell, edges, variance)];
        for ([mean, square], exact) in sums.into_iter().zip(exact) {
            let error = ((square - mean * mean) / f64::from(runs - 1)).sqrt();
            // 8 values.
            assert!((mean - exact).abs() < 3.5 * error, "t = {t}: {mean} +- {error}, not {exact}");
            assert!(error < 0.02 * exact);
        }
    }
}

#[test]
fn independent_configurations_have_the_overlaps_and_densities_of_an_ideal_gas() {
    let (length, samples) = (0.45, 4000);
    for edges in [vec![4.0, 5.0, 6.0], vec![7.0, 6.0]] {
        let context = context(&edges, &[30, 15], samples - 1);
        let plan = CorrelationPlan {
            overlap_length: length,
            observables: vec![
                DynamicObservable::CollectiveOverlap,
                DynamicObservable::CollectiveOverlapSusceptibility,
                DynamicObservable::CoherentIntermediateScatteringFunction,
            ],
            ..plan(1, 4, 1, &[2.0])
        };
        let mut rng = StdRng::seed_from_u64(13);
        let gas: Vec<_> = (0..samples)
            .map(|step| {
                let positions = ideal_gas(&mut rng, &context.simulation_box, 45);
                snapshot(&context.simulation_box, step, &positions, &positions)
            })
            .collect();
        let results = correlate(&plan, &context, &gas).results();
        // Every ordered pair is near with this probability, and pairs are independent of each other.
        let p = context.simulation_box.shell_volume(0.0, length) / context.simulation_box.volume();
        for lag in 0..4 {
            let mut expected = vec![
                ("A-A/coherent_intermediate_scattering_function", 30.0 / 45.0),
                ("A-B/coherent_intermediate_scattering_function", 0.0),
                ("B-B/coherent_intermediate_scattering_function", 15.0 / 45.0),
                ("all-particles/coherent_intermediate_scattering_function", 1.0),
            ];
            if lag > 0 {
                expected.iter_mut().for_each(|(_, value)| *value = 0.0);
                expected.push(("all-particles/collective_overlap", 45.0 * p));
                let variance = 45.0 * p * (1.0 - p);
                expected.push(("all-particles/collective_overlap_susceptibility", variance));
            }
            for (path, expected) in expected {
                let series = find(&results, path);
                let (value, error) = (series.value[lag], series.error[lag]);
                // About 40 values.
                let within = (value - expected).abs() < 4.5 * error;
                assert!(within, "{path} {lag}: {value} +- {error}, exactly {expected}");
                assert!(error < 0.05, "{path} {lag}: {error}");
            }
        }
    }
}

#[test]
fn a_constant_shear_stress_gives_a_viscosity_that_grows_linearly() {
    for edges in [vec![4.0, 5.0, 6.0], vec![7.0, 6.0]] {
        let context = context(&edges, &[3], 20 * 99);
        let plan = CorrelationPlan {
            observables: vec![
                DynamicObservable::StressAutocorrelation,
                DynamicObservable::ShearViscosity,
            ],
            ..plan(20, 5, 2, &[])
        };
        let walk = random_walk(&context, 1, 0.1, 0, 20, 100);
        let mut correlations = Correlations::new(&plan, &context).unwrap();
        // All diagonal components equal: s_xy alone, one of two or of five components.
        let (xy, temperature) = (0.3, 0.6);
        let stress = [[2.0, xy, 0.0], [xy, 2.0, 0.0], [0.0, 0.0, 2.0]];
        for snapshot in &walk {
            correlations.sample(snapshot, Some(&Macroscopic { stress, temperature }));
        }
        correlations.finish();
        let components = if edges.len() == 2 { 2.0 } else { 5.0 };
        let modulus = context.simulation_box.volume() / temperature * xy * xy / components;
        let (layouts, results) = (correlations.layouts(), correlations.results());
        let times = layouts[0].axis(AxisName::Time).unwrap();
        for (index, time) in times.iter().enumerate() {
            let value = |name: &str| find(&results, &format!("all-particles/{name}")).value[index];
            assert!((value("stress_autocorrelation") / modulus - 1.0).abs() < 1e-12);
            assert!((value("shear_viscosity") - modulus * time).abs() < 1e-12 * modulus);
        }
    }
}

#[test]
fn averages_over_all_particles_are_those_of_the_species_weighted_by_their_numbers() {
    let context = context(&[6.0, 7.0, 8.0], &[30, 10], 400);
    let linear = [
        DynamicObservable::MeanSquareDisplacement,
        DynamicObservable::MeanQuarticDisplacement,
        DynamicObservable::MeanDisplacement,
        DynamicObservable::VelocityAutocorrelation,
        DynamicObservable::SelfIntermediateScatteringFunction,
        DynamicObservable::SelfVanHoveFunction,
        DynamicObservable::CageRelativeMeanSquareDisplacement,
    ];
    let mut observables = linear.to_vec();
    observables.push(DynamicObservable::NonGaussianParameter);
    let plan = CorrelationPlan { observables, species: vec![0, 1], ..plan(1, 6, 2, &[2.5]) };
    let mut rng = StdRng::seed_from_u64(8);
    let walk = langevin_gas(&context, &mut rng, 0.7, 0.1, 400);
    let results = correlate(&plan, &context, &walk).results();
    let value = |part: &str, name: &str| find(&results, &format!("{part}/{name}")).value.clone();
    for name in linear.map(DynamicObservable::group_name) {
        let (a, b, all) = (value("A", name), value("B", name), value("all-particles", name));
        assert!(!all.is_empty(), "{name}");
        for ((a, b), all) in a.iter().zip(&b).zip(&all) {
            let mean = 0.75 * a + 0.25 * b;
            assert!(
                (mean - all).abs() <= 1e-12 * mean.abs().max(1e-3),
                "{name}: {all}, not {mean}"
            );
        }
    }
    // Not a mean of the species' values, but of the moments of all displacements.
    let [square, quartic] = ["mean_square_displacement", "mean_quartic_displacement"]
        .map(|name| value("all-particles", name));
    let alpha = value("all-particles", "non_gaussian_parameter");
    for (index, alpha) in alpha.iter().enumerate().filter(|(_, alpha)| alpha.is_finite()) {
        let lag = square.len() - value("A", "non_gaussian_parameter").len() + index;
        let exact = 3.0 * quartic[lag] / (5.0 * square[lag] * square[lag]) - 1.0;
        assert!((alpha - exact).abs() < 1e-10, "lag {lag}: {alpha}, not {exact}");
    }
    // Of one species no more is asked for.
    let only_a = CorrelationPlan { species: vec![0], ..plan };
    let results = correlate(&only_a, &context, &walk).results();
    assert!(results.iter().all(|series| series.path.starts_with("A/")));
}

/// Windows that overlap are not independent: below eight after each other, at lags beyond a seventh of the run, there is no
/// error, however many origins there are.
#[test]
fn lags_of_fewer_than_eight_windows_have_no_error() {
    let samples = 1000;
    let context = context(&[6.0, 7.0, 8.0], &[30], samples - 1);
    let plan = CorrelationPlan {
        observables: vec![
            DynamicObservable::MeanSquareDisplacement,
            DynamicObservable::VelocityAutocorrelation,
            DynamicObservable::StressAutocorrelation,
        ],
        ..plan(1, 10, 3, &[])
    };
    let walk = random_walk(&context, 4, 0.3, 0, 1, samples);
    let correlations = correlate(&plan, &context, &walk);
    let (layouts, results) = (correlations.layouts(), correlations.results());
    for (layout, series) in layouts.iter().zip(&results) {
        let times = layout.axis(AxisName::Time).unwrap();
        for (index, time) in times.iter().enumerate().skip(1) {
            let lag = (time / context.timestep).round();
            let known = series.error[index].is_finite();
            let windows = (samples as f64 - 1.0) / lag;
            assert!(!known || windows >= 7.0, "{}: lag {lag}", series.path);
            assert!(known || windows < 12.0, "{}: lag {lag}", series.path);
            assert!(series.value[index].is_finite());
        }
    }
}

/// `self_overlap` of particles that have all left, and of particles none of which has: no error, since none tells how often it
/// happens. At lag zero all are where they are.
#[test]
fn what_happened_in_no_origin_has_no_error() {
    let context = context(&[6.0, 7.0, 8.0], &[30], 499);
    let walk = random_walk(&context, 4, 3.0, 0, 1, 500);
    let plan = CorrelationPlan {
        observables: vec![
            DynamicObservable::SelfOverlap,
            DynamicObservable::SelfOverlapSusceptibility,
            DynamicObservable::SelfVanHoveFunction,
        ],
        ..plan(1, 5, 2, &[])
    };
    for (length, value) in [(1e-3, 0.0), (1e3, 1.0)] {
        let plan = CorrelationPlan { overlap_length: length, ..plan.clone() };
        let results = correlate(&plan, &context, &walk).results();
        for (name, value) in [("self_overlap", value), ("self_overlap_susceptibility", 0.0)] {
            let series = find(&results, &format!("all-particles/{name}"));
            assert_eq!(series.error[0], 0.0);
            assert!(series.value[1..].iter().all(|&found| found == value), "{name}");
            assert!(series.error[1..].iter().all(|error| error.is_nan()), "{name}");
        }
        let van_hove = find(&results, "A/self_van_hove_function");
        let pairs = || van_hove.value.iter().zip(&van_hove.error);
        assert!(pairs().any(|(value, _)| *value == 0.0));
        let lags = 9;
        let at_zero = |index: usize| index.is_multiple_of(lags);
        let certain = pairs().enumerate().filter(|(index, _)| !at_zero(*index));
        assert!(certain.into_iter().all(|(_, (value, error))| *value > 0.0 || error.is_nan()));
    }
}

/// Origins within the time that particles take to leave their places see the same mobility: windows count with that time,
/// and its fluctuations are in the error. A random walk has none, so that errors are larger than without.
#[test]
fn origins_within_the_relaxation_time_are_not_independent() {
    let context = context(&[6.0, 7.0, 8.0], &[30], 799);
    let walk = random_walk(&context, 4, 0.1, 0, 1, 800);
    let results = |overlap_length: f64| {
        let observables = vec![DynamicObservable::MeanSquareDisplacement];
        let plan = CorrelationPlan { overlap_length, observables, ..plan(1, 10, 2, &[]) };
        correlate(&plan, &context, &walk).results().remove(0)
    };
    // 0.03 a step: two steps and 50 to twice the square of the length.
    let (fast, slow) = (results(0.17), results(0.866));
    assert_eq!(fast.value, slow.value);
    // Lags 0, 1, ..., 9, 10, 20, ..., 90.
    let known = |series: &Series| series.error.iter().filter(|error| error.is_finite()).count();
    assert_eq!((known(&fast), known(&slow)), (19, 14));
    let ratio: Vec<f64> =
        slow.error.iter().zip(&fast.error).map(|(slow, fast)| slow / fast).collect();
    // What is known to be slow is put in at lags below a third of it.
    assert!(ratio[1..11].iter().all(|ratio| *ratio >= 1.0), "{ratio:?}");
    assert!(ratio[1..11].iter().any(|ratio| *ratio > 1.05), "{ratio:?}");
    assert!(ratio[11..14].iter().all(|ratio| *ratio == 1.0), "{ratio:?}");
}
