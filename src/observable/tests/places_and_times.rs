//! Functions of where particles were and where they are: S_4(q,t) and the distinct van Hove function.
use super::*;

const EDGES: [f64; 3] = [6.0, 7.0, 8.0];

fn of(observables: Vec<DynamicObservable>) -> CorrelationPlan {
    CorrelationPlan { observables, species: vec![0, 1], ..plan(1, 4, 2, &[1.0, 2.5]) }
}

fn within(particles: &[usize], moved: impl Fn(usize) -> [f64; 3], length: f64) -> Vec<usize> {
    let is_near = |&&i: &&usize| moved(i).iter().map(|d| d * d).sum::<f64>() < length * length;
    particles.iter().filter(is_near).copied().collect()
}

#[test]
fn four_point_structure_factors_are_the_sums_of_their_definition() {
    for edges in [&EDGES[..], &EDGES[..2]] {
        let context = context(edges, &[60, 25], 9);
        let (box_, padded) = (&context.simulation_box, context.simulation_box.padded_edges());
        let plan = of(vec![DynamicObservable::FourPointStructureFactor]);
        let walk = random_walk(&context, 8, 0.3, 0, 1, 10);
        let correlations = correlate(&plan, &context, &walk);
        let (layouts, results) = (correlations.layouts(), correlations.results());
        let shells = wavevectors::shells(box_, &[1.0, 2.5], 14).unwrap();
        assert_eq!(layouts[0].axes[0].values, [shells[0].wavenumber, shells[1].wavenumber]);
        let all: Vec<usize> = (0..85).collect();
        for (part, particles) in [("A", &all[..60]), ("B", &all[60..]), ("all-particles", &all)] {
            let series = find(&results, &format!("{part}/four_point_structure_factor"));
            // Lag 2 has all origins that leave room for it.
            for (row, shell) in shells.iter().enumerate() {
                let (mut sum, origins) = (0.0, 8);
                for origin in 0..origins {
                    let [from, to] = [origin, origin + 2].map(|at| &walk[at]);
                    let moved = |i: usize| {
                        let [a, b] = [from.unwrapped(i, box_), to.unwrapped(i, box_)];
                        std::array::from_fn(|k| b[k] - a[k])
                    };
                    let near = within(particles, moved, plan.overlap_length);
                    for n in shell.lattice_vectors() {
                        let phase = |i: &usize| -> f64 {
                            (0..3)
                                .map(|k| TAU * f64::from(n[k]) * from.position[*i][k] / padded[k])
                                .sum()
                        };
                        let re: f64 = near.iter().map(|i| phase(i).cos()).sum();
                        let im: f64 = near.iter().map(|i| phase(i).sin()).sum();
                        sum += (re * re + im * im) / shell.count() as f64;
                    }
                }
                let expected = sum / (origins * particles.len()) as f64;
                let at = row * layouts[0].axes[1].values.len() + 2;
                assert!((series.value[at] - expected).abs() < 1e-11, "{part}: {expected}");
                assert_eq!(series.count[at], 8 * shell.count());
            }
        }
    }
}

/// Positions of independent particles are independent: only `j = k` is left of the double sum, the share of particles that
/// have stayed.
#[test]
fn four_point_structure_factors_of_an_ideal_gas_are_its_overlap() {
    let mut rng = StdRng::seed_from_u64(7);
    let context = context(&EDGES, &[40], 4);
    let plan = CorrelationPlan {
        observables: vec![
            DynamicObservable::FourPointStructureFactor,
            DynamicObservable::SelfOverlap,
        ],
        ..plan(1, 4, 1, &[1.0, 2.5])
    };
    let repeats = 600;
    let (mut sums, mut squares, mut overlap) = ([0.0; 2], [0.0; 2], 0.0);
    for _ in 0..repeats {
        let from = ideal_gas(&mut rng, &context.simulation_box, 40);
        let to: Vec<[f64; 3]> =
            from.iter().map(|r| r.map(|x| x + 0.4 * normal(&mut rng))).collect();
        let walk = [(0, &from), (1, &to)]
            .map(|(step, r)| snapshot(&context.simulation_box, step, r, &vec![[0.0; 3]; 40]));
        let results = correlate(&plan, &context, &walk).results();
        let found = &find(&results, "A/four_point_structure_factor").value;
        let lags = found.len() / 2;
        for row in 0..2 {
            let value = found[row * lags + 1];
            sums[row] += value / f64::from(repeats);
            squares[row] += value * value / f64::from(repeats);
        }
        overlap += find(&results, "A/self_overlap").value[1] / f64::from(repeats);
    }
    for row in 0..2 {
        let error = ((squares[row] - sums[row] * sums[row]) / f64::from(repeats)).sqrt();
        assert!(error < 0.05 * overlap, "{error}");
        assert!((sums[row] - overlap).abs() < 4.5 * error, "{sums:?} {overlap} {error}");
    }
}

#[test]
fn the_distinct_van_hove_function_counts_other_particles_at_two_times() {
    for edges in [&EDGES[..], &EDGES[..2]] {
        let context = context(edges, &[60, 25], 9);
        let (box_, padded) = (&context.simulation_box, context.simulation_box.padded_edges());
        let plan = of(vec![DynamicObservable::DistinctVanHoveFunction]);
        let walk = random_walk(&context, 8, 0.3, 0, 1, 10);
        let correlations = correlate(&plan, &context, &walk);
        let (layouts, results) = (correlations.layouts(), correlations.results());
        let [distances, times] = [0, 1].map(|axis| layouts[0].axes[axis].values.len());
        assert_eq!(distances, 20);
        let all: Vec<usize> = (0..85).collect();
        for (part, first, second, pairs) in [
            ("A-A", &all[..60], &all[..60], 60.0 * 59.0),
            ("A-B", &all[..60], &all[60..], 60.0 * 25.0),
            ("B-B", &all[60..], &all[60..], 25.0 * 24.0),
            ("all-particles", &all[..], &all[..], 85.0 * 84.0),
        ] {
            let series = find(&results, &format!("{part}/distinct_van_hove_function"));
            for lag in [0, 1, 3] {
                let mut counts = vec![0.0; distances];
                let origins = 10 - lag;
                for origin in 0..origins {
                    let [from, to] = [origin, origin + lag].map(|at| &walk[at].position);
                    let mut add = |i: usize, j: usize, weight: f64| {
                        let squared = |k: usize| {
                            let d = to[j][k] - from[i][k];
                            (d - padded[k] * (d / padded[k]).round()).powi(2)
                        };
                        let r = (0..3).map(squared).sum::<f64>().sqrt();
                        if let Some(count) = counts.get_mut((r / 0.1) as usize) {
                            *count += weight;
                        }
                    };
                    for &i in first {
                        for &j in second.iter().filter(|&&j| j != i) {
                            add(i, j, 0.5);
                            add(j, i, 0.5);
                        }
                    }
                }
                for (bin, count) in counts.iter().enumerate() {
                    let [inner, outer] = [bin, bin + 1].map(|bin| bin as f64 * 0.1);
                    let volume = box_.shell_volume(inner, outer);
                    let expected = count / origins as f64 / volume * 85.0 / pairs;
                    let found = series.value[bin * times + lag];
                    assert!(
                        (found - expected).abs() <= 1e-11 * expected,
                        "{part} {lag} {bin}: {found} {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_distinct_van_hove_function_begins_as_the_pair_distribution() {
    let context = context(&EDGES, &[150, 60], 0);
    let walk = random_walk(&context, 3, 0.5, 0, 1, 1);
    let plan = of(vec![DynamicObservable::DistinctVanHoveFunction]);
    let found = correlate(&plan, &context, &walk).results();
    let mut static_structure = Structure::new(&structure_plan(2.0, 0.1, 6.0), &context).unwrap();
    static_structure.sample(&walk[0]);
    let results = static_structure.results();
    let density = 210.0 / context.simulation_box.volume();
    for (pair, of_pair) in [("A-A", "AA"), ("A-B", "AB"), ("B-B", "BB")] {
        let values = &find(&found, &format!("{pair}/distinct_van_hove_function")).value;
        let g = &find(&results, &format!("{of_pair}/pair_distribution")).value;
        assert_eq!(values.len(), g.len());
        for (value, g) in values.iter().zip(g) {
            assert!((value - density * g).abs() <= 1e-11 * value, "{pair}: {value} {g}");
        }
    }
}

#[test]
fn distances_of_pairs_have_to_fit_into_the_box() {
    let context = context(&EDGES, &[60, 25], 9);
    let plan = CorrelationPlan {
        van_hove: VanHovePlan { maximum_distance: 3.1, bin_width: 0.1 },
        ..of(vec![DynamicObservable::DistinctVanHoveFunction])
    };
    let message = Correlations::new(&plan, &context).map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("correlation.van_hove.maximum_distance: 3.1"), "{message}");
}
