//! The stress within launches.
use supercool::observable::Series;
use supercool::plan::{
    CorrelationPlan, DynamicObservable as D, EngineChoice, Precision, Thermostat,
};

use crate::case::{Case, assert_near, bits, correlation, gpu, hand_over};

fn stress(every: u64, block_size: usize, levels: usize) -> CorrelationPlan {
    CorrelationPlan {
        observables: vec![D::StressAutocorrelation, D::ShearViscosity],
        ..correlation(every, block_size, levels)
    }
}

/// Its sums are those of integers.
#[test]
fn fixed_point_gives_the_stress_of_the_cpu_to_the_bit() {
    if !gpu() {
        return;
    }
    for (dimension, thermostat) in [
        (2, None),
        (3, None),
        (3, Some(Thermostat::Langevin { friction: 1.0 })),
        (2, Some(Thermostat::Langevin { friction: 1.0 })),
        (3, Some(Thermostat::NoseHoover { period: 0.5, chain_length: 3 })),
        (3, Some(Thermostat::Bussi { time: 0.2 })),
        (3, Some(Thermostat::Andersen { rate: 5.0, exact: false })),
    ] {
        let mut case = Case::new(dimension, 1500, Precision::FixedPoint, 250);
        case.thermostat = thermostat;
        case.correlations = vec![stress(1, 5, 3), correlation(6, 3, 3), stress(10, 5, 2)];
        let of_stress = |series: Vec<Series>| -> Vec<Series> {
            let names = ["/stress_autocorrelation", "/shear_viscosity"];
            let is_wanted = |one: &Series| names.iter().any(|name| one.path.ends_with(name));
            series.into_iter().filter(is_wanted).collect()
        };
        let what = format!("{dimension}D, {thermostat:?}");
        let expected = of_stress(case.on_the_host(EngineChoice::Cpu));
        assert_eq!(expected.len(), 4, "{what}");
        let found = of_stress(case.by_the_gpu(&[250], &[]));
        assert!(bits(&found) == bits(&expected), "{what}: {found:?}, expected {expected:?}");
        let stops = [(50, EngineChoice::Cuda), (101, EngineChoice::Cpu), (130, EngineChoice::Cuda)];
        let found = of_stress(case.by_the_gpu(&[33, 7], &stops));
        assert!(bits(&found) == bits(&expected), "{what}, with stops");
    }
}

#[test]
fn the_stress_of_the_gpu_is_that_of_its_samples_in_every_precision() {
    if !gpu() {
        return;
    }
    for precision in Precision::ALL {
        for threads in [1, 8, 32] {
            let mut case = Case::new(3, 1000, precision, 200);
            case.plan.run.threads_per_particle = Some(threads);
            case.correlations = vec![stress(5, 5, 2)];
            let what = format!("{}, {threads} threads", precision.name());
            let expected = case.on_the_host(EngineChoice::Cuda);
            assert_near(&case.by_the_gpu(&[200], &[]), &expected, 1000, &what);
        }
    }
}

/// Neither positions nor velocities nor the heat of a thermostat.
#[test]
fn summing_up_the_stress_leaves_the_trajectory_alone() {
    if !gpu() {
        return;
    }
    for precision in Precision::ALL {
        for thermostat in [
            None,
            Some(Thermostat::Langevin { friction: 2.0 }),
            Some(Thermostat::NoseHoover { period: 0.5, chain_length: 3 }),
            Some(Thermostat::Bussi { time: 0.2 }),
            Some(Thermostat::Andersen { rate: 5.0, exact: false }),
        ] {
            let mut case = Case::new(3, 3000, precision, 400);
            case.thermostat = thermostat;
            let run = |case: &Case| {
                let mut engine = case.begin(EngineChoice::Cuda, &case.state);
                hand_over(engine.as_mut(), &mut case.all());
                engine.advance(400).expect("the steps are taken");
                let state = engine.export().expect("a state");
                (state.position, state.velocity, state.thermostat)
            };
            let expected = run(&case);
            for every in [1, 7] {
                case.correlations = vec![stress(every, 5, 2), correlation(8, 4, 2)];
                let what = format!("{}, {thermostat:?}, {every}", precision.name());
                assert!(run(&case) == expected, "{what}");
            }
        }
    }
}

/// More samples of the stress than lie on the GPU together.
#[test]
fn launches_are_cut_where_the_room_for_stresses_ends() {
    if !gpu() {
        return;
    }
    let mut case = Case::new(3, 500, Precision::FixedPoint, 3000);
    case.correlations = vec![stress(1, 10, 3), stress(2, 10, 3)];
    let expected = case.on_the_host(EngineChoice::Cpu);
    assert!(bits(&case.by_the_gpu(&[3000], &[])) == bits(&expected), "3001 samples");
}
