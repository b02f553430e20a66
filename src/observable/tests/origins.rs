//! Correlations from given time origins.
use super::*;

/// All but those of the stress.
fn without_stress() -> Vec<DynamicObservable> {
    let of_stress = [DynamicObservable::StressAutocorrelation, DynamicObservable::ShearViscosity];
    DynamicObservable::ALL.into_iter().filter(|of| !of_stress.contains(of)).collect()
}

/// Feeds what is due; steps of the stage begin at `first` of the run.
fn follow(correlations: &mut Correlations, walk: &[Snapshot], first: u64) {
    for snapshot in walk.iter().filter(|snapshot| snapshot.step >= first) {
        if correlations.is_due(snapshot.step - first) {
            correlations.sample(snapshot, None);
        }
    }
}

#[test]
fn particles_that_speed_up_have_moved_further_the_later_they_are_looked_at() {
    // x = x_0 + v s^2 at step s, so that nothing depends on the lag alone.
    for edges in [vec![6.0, 7.0, 8.0], vec![6.0, 7.0]] {
        let (last, first) = (40_u64, 1000);
        let context = context(&edges, &[3], last);
        let speeds = [0.001, 0.004, -0.007];
        let snapshots: Vec<Snapshot> = (0..=last)
            .map(|step| {
                let s = step as f64;
                let at = speeds.map(|v| [0.5 + v * s * s, 3.0, 0.0]);
                let velocity = speeds.map(|v| [2.0 * v * s, 0.0, 0.0]);
                super::snapshot(&context.simulation_box, first + step, &at, &velocity)
            })
            .collect();
        let plan = CorrelationPlan {
            origins: vec![0, 5, 33],
            species: vec![0],
            observables: vec![
                DynamicObservable::MeanSquareDisplacement,
                DynamicObservable::NonGaussianParameter,
                DynamicObservable::VelocityAutocorrelation,
                DynamicObservable::SelfOverlap,
                DynamicObservable::SelfIntermediateScatteringFunction,
            ],
            ..plan(2, 4, 3, &[1.1])
        };
        let mut correlations = Correlations::new(&plan, &context).unwrap();
        follow(&mut correlations, &snapshots, first);
        correlations.finish();
        let (layouts, results) = (correlations.layouts(), correlations.results());
        let steps = |index: usize, name: AxisName| -> Vec<f64> {
            let values = layouts[index].axis(name).unwrap();
            values.iter().map(|time| (time / context.timestep).round()).collect()
        };
        assert_eq!(steps(0, AxisName::WaitingTime), [0.0, 5.0, 33.0]);
        assert_eq!(steps(0, AxisName::Time), [0.0, 2.0, 4.0, 6.0, 8.0, 16.0, 24.0, 32.0]);
        assert_eq!(layouts[0].axes[0].name, AxisName::WaitingTime);
        // It does not exist at lag zero.
        assert_eq!(steps(1, AxisName::Time)[0], 2.0);
        let scattering = layouts.iter().find(|layout| layout.path.ends_with("scattering_function"));
        let names: Vec<AxisName> = scattering.unwrap().axes.iter().map(|axis| axis.name).collect();
        assert_eq!(names, [AxisName::Wavenumber, AxisName::WaitingTime, AxisName::Time]);
        let shell = &wavevectors::shells(&context.simulation_box, &[1.1], 14).unwrap()[0];
        let vectors = shell.vectors(&context.simulation_box);
        let mean = |of: &dyn Fn(f64) -> f64| speeds.iter().map(|&v| of(v)).sum::<f64>() / 3.0;
        let dimension = edges.len() as f64;
        for (layout, series) in layouts.iter().zip(&results) {
            let lags: Vec<f64> = layout.axis(AxisName::Time).unwrap().to_vec();
            assert_eq!(series.value.len(), layout.shape().iter().product::<usize>());
            assert!(!layout.has_change && series.change.is_empty());
            for (w, &origin) in plan.origins.iter().enumerate() {
                for (l, &lag) in lags.iter().enumerate() {
                    let lag = (lag / context.timestep).round();
                    let [value, error] =
                        [&series.value, &series.error].map(|of| of[w * lags.len() + l]);
                    assert!(error.is_nan(), "one origin has no error");
                    let (s, t) = (origin as f64, origin as f64 + lag);
                    if t > last as f64 {
                        assert!(value.is_nan() && series.count[w * lags.len() + l] == 0);
                        continue;
                    }
                    let moved = t * t - s * s;
                    let (square, fourth) = (mean(&|v| v * v), mean(&|v| v.powi(4)));
                    let (part, name) = series.path.split_once('/').unwrap();
                    assert!(["A", "all-particles"].contains(&part));
                    let expected = match name {
                        "mean_square_displacement" => square * moved * moved,
                        "non_gaussian_parameter" => {
                            dimension / (dimension + 2.0) * fourth / (square * square) - 1.0
                        }
                        "velocity_autocorrelation" => 4.0 * s * t * square,
                        "self_overlap" => {
                            mean(&|v| f64::from((v * moved).abs() < plan.overlap_length))
                        }
                        "self_intermediate_scattering_function" => {
                            let of = |v: f64| {
                                let cosines = vectors.iter().map(|q| (q[0] * v * moved).cos());
                                cosines.sum::<f64>() / vectors.len() as f64
                            };
                            mean(&of)
                        }
                        other => panic!("{other}"),
                    };
                    assert!(
                        (value - expected).abs() < 1e-10 * (1.0 + expected.abs()),
                        "{} from {origin} at {lag}: {value}, not {expected}",
                        series.path
                    );
                    assert!(series.count[w * lags.len() + l] >= 3);
                }
            }
        }
    }
}

#[test]
fn the_mean_over_all_origins_is_the_average_over_origins() {
    let last = 30_u64;
    let context = context(&[6.0, 7.0, 8.0], &[40, 21], last);
    let walk = random_walk(&context, 9, 0.2, 0, 1, last + 1);
    let all = CorrelationPlan {
        species: vec![0, 1],
        observables: without_stress(),
        ..plan(1, 8, 1, &[1.5])
    };
    let averaged = correlate(&all, &context, &walk);
    let from = CorrelationPlan { origins: (0..last).collect(), ..all };
    let mut correlations = Correlations::new(&from, &context).unwrap();
    follow(&mut correlations, &walk, 0);
    let (layouts, results) = (correlations.layouts(), correlations.results());
    let mut compared = 0;
    for (layout, series) in layouts.iter().zip(&results) {
        let expected = find(&averaged.results(), &series.path).clone();
        // What is no mean over origins is another number.
        let is_mean = !["non_gaussian_parameter", "susceptibility"]
            .iter()
            .any(|ending| series.path.ends_with(ending));
        let lags = layout.axis(AxisName::Time).unwrap().len();
        let waiting = layout.axis(AxisName::WaitingTime).unwrap().len();
        assert_eq!((waiting, series.value.len()), (30, expected.value.len() * waiting));
        for (place, &expected) in expected.value.iter().enumerate().filter(|_| is_mean) {
            let (row, lag) = (place / lags, place % lags);
            let of = |w: usize| series.value[(row * waiting + w) * lags + lag];
            let there: Vec<f64> = (0..waiting).map(of).filter(|value| value.is_finite()).collect();
            let mean = there.iter().sum::<f64>() / there.len() as f64;
            // The last sample is an origin of lag zero only.
            if lag > 0 {
                assert_eq!(there.len(), 31 - lag, "{} {lag}", series.path);
                assert!(
                    (mean - expected).abs() < 1e-12 * (1.0 + expected.abs()),
                    "{}",
                    series.path
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn many_systems_give_errors_and_fluctuations_from_one_origin() {
    let last = 20_u64;
    let context = context(&[6.0, 7.0, 8.0], &[50], last);
    let plan = CorrelationPlan {
        species: vec![0],
        origins: vec![0, 15],
        observables: vec![
            DynamicObservable::SelfOverlap,
            DynamicObservable::SelfOverlapSusceptibility,
        ],
        ..plan(1, 8, 2, &[])
    };
    let systems: Vec<Correlations> = (0..6)
        .map(|seed| {
            let mut correlations = Correlations::new(&plan, &context).unwrap();
            follow(&mut correlations, &random_walk(&context, seed, 0.15, 0, 1, last + 1), 0);
            correlations.finish();
            correlations
        })
        .collect();
    let results: Vec<Vec<Series>> = systems.iter().map(Correlations::results).collect();
    let systems: Vec<&Correlations> = systems.iter().collect();
    let series: Vec<&[Series]> = results.iter().map(Vec::as_slice).collect();
    let averages = Correlations::over_systems(&systems, &series);
    let layouts = systems[0].layouts();
    let lags = layouts[0].axis(AxisName::Time).unwrap().len();
    let of = |path: &str| {
        let index = layouts.iter().position(|layout| layout.path == path).unwrap();
        (index, &averages[index].average)
    };
    let ((index, overlap), (_, chi)) = (of("A/self_overlap"), of("A/self_overlap_susceptibility"));
    assert!(layouts.iter().all(|layout| !layout.is_fluctuation));
    assert!(averages.iter().all(|of| of.over_systems.is_empty()));
    let mut scattered = 0;
    for place in 0..2 * lags {
        let of: Vec<f64> = results.iter().map(|of_system| of_system[index].value[place]).collect();
        let mean = of.iter().sum::<f64>() / 6.0;
        let variance = of.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 5.0;
        let is_there = place < lags || place % lags <= 5;
        assert_eq!(overlap.value[place].is_finite(), is_there, "{place}");
        if !is_there || place % lags == 0 {
            continue;
        }
        assert!((overlap.value[place] - mean).abs() < 1e-14);
        if variance == 0.0 {
            // No particle of any system has moved that far.
            assert!(overlap.error[place].is_nan() && mean == 1.0);
            continue;
        }
        scattered += 1;
        let (_, error) = supercool_statistics::mean_and_error(of.iter().copied());
        assert_eq!(overlap.error[place], error);
        assert!((chi.value[place] - 50.0 * variance).abs() < 1e-12, "{place}");
        assert!(chi.error[place] > 0.0 && chi.count[place] == 6, "{place}");
    }
    assert!(scattered > 10, "{scattered}");
}

#[test]
fn a_state_from_the_middle_goes_on_with_the_same_bits() {
    let last = 25_u64;
    let context = context(&[6.0, 7.0, 8.0], &[40, 21], last);
    let walk = random_walk(&context, 4, 0.2, 500, 1, last + 1);
    let plan = CorrelationPlan {
        species: vec![0, 1],
        origins: vec![1, 4, 12],
        observables: without_stress(),
        ..plan(1, 3, 3, &[1.5])
    };
    let mut whole = Correlations::new(&plan, &context).unwrap();
    follow(&mut whole, &walk, 500);
    let bits = |of: &Correlations| -> Vec<u64> {
        of.results().iter().flat_map(|series| series.value.iter().map(|x| x.to_bits())).collect()
    };
    for stop in [500, 501, 507, 512, 520] {
        let mut first = Correlations::new(&plan, &context).unwrap();
        let (before, after): (Vec<_>, Vec<_>) =
            walk.iter().cloned().partition(|snapshot| snapshot.step <= stop);
        follow(&mut first, &before, 500);
        let (state, arrays) = first.save(None);
        let mut resumed = Correlations::new(&plan, &context).unwrap();
        resumed.restore(&state, &arrays).unwrap();
        follow(&mut resumed, &after, 500);
        assert_eq!(bits(&resumed), bits(&whole), "{stop}");
        let other = CorrelationPlan { origins: vec![1, 4], ..plan.clone() };
        let mut other = Correlations::new(&other, &context).unwrap();
        assert!(other.restore(&state, &arrays).is_err());
    }
}
