//! Sums over particles of what each does by itself.
use supercool::plan::{
    CorrelationPlan, DynamicObservable as D, EngineChoice, Precision, Thermostat,
};

use crate::case::{Case, assert_near, bits, correlation, gpu};

#[test]
fn correlations_of_the_gpu_are_those_of_its_samples_in_every_precision() {
    if !gpu() {
        return;
    }
    for dimension in [2, 3] {
        for precision in Precision::ALL {
            let case = Case::new(dimension, 1000, precision, 400);
            let what = format!("{dimension}D, {}", precision.name());
            let expected = case.on_the_host(EngineChoice::Cuda);
            assert_near(&case.by_the_gpu(&[400], &[]), &expected, 1000, &what);
        }
    }
}

#[test]
fn fixed_point_gives_the_correlations_of_the_cpu() {
    if !gpu() {
        return;
    }
    let mut case = Case::new(3, 2000, Precision::FixedPoint, 600);
    // Several schemes, of which one has blocks longer than a group of samples.
    case.correlations = vec![
        correlation(4, 5, 3),
        CorrelationPlan { remove_drift: true, ..correlation(10, 3, 6) },
        CorrelationPlan { vectors_per_shell: 5000, ..correlation(2, 40, 2) },
        CorrelationPlan {
            observables: vec![D::SelfOverlap, D::VelocityAutocorrelation],
            wavenumbers: Vec::new(),
            ..correlation(3, 10, 1)
        },
    ];
    let expected = case.on_the_host(EngineChoice::Cpu);
    assert_near(&case.by_the_gpu(&[600], &[]), &expected, 2000, "one launch");
}

/// Neither launches nor checkpoints nor the threads of the steps change a bit.
#[test]
fn launches_and_checkpoints_leave_the_bits_alone() {
    if !gpu() {
        return;
    }
    let mut case = Case::new(3, 1500, Precision::FixedPoint, 500);
    case.correlations.push(CorrelationPlan { remove_drift: true, ..correlation(6, 4, 4) });
    let expected = bits(&case.by_the_gpu(&[500], &[]));
    for launches in [&[1][..], &[7, 50, 3], &[64]] {
        assert!(bits(&case.by_the_gpu(launches, &[])) == expected, "{launches:?}");
    }
    let cuda = EngineChoice::Cuda;
    for stops in [&[(250, cuda)][..], &[(4, cuda), (77, cuda), (499, cuda)]] {
        assert!(bits(&case.by_the_gpu(&[90], stops)) == expected, "{stops:?}");
    }
    for threads in [1, 8] {
        case.plan.run.threads_per_particle = Some(threads);
        assert!(bits(&case.by_the_gpu(&[500], &[])) == expected, "{threads} threads");
    }
}

#[test]
fn a_run_goes_on_on_a_cpu_and_back() {
    if !gpu() {
        return;
    }
    let mut case = Case::new(3, 1000, Precision::FixedPoint, 400);
    case.correlations = vec![CorrelationPlan { remove_drift: true, ..correlation(4, 5, 3) }];
    let expected = case.on_the_host(EngineChoice::Cpu);
    let stops = [
        (90, EngineChoice::Cpu),
        (203, EngineChoice::Cuda),
        (300, EngineChoice::Cpu),
        (350, EngineChoice::Cuda),
    ];
    assert_near(&case.by_the_gpu(&[60], &stops), &expected, 1000, "CPU and back");
}

#[test]
fn samples_have_the_velocities_after_every_thermostat() {
    if !gpu() {
        return;
    }
    for thermostat in [
        Thermostat::Langevin { friction: 1.0 },
        Thermostat::NoseHoover { period: 0.5, chain_length: 3 },
        Thermostat::Bussi { time: 0.2 },
        Thermostat::Andersen { rate: 5.0, exact: false },
        Thermostat::Andersen { rate: 12.5, exact: true },
    ] {
        let mut case = Case::new(3, 500, Precision::FixedPoint, 200);
        case.thermostat = Some(thermostat);
        let expected = case.on_the_host(EngineChoice::Cpu);
        assert_near(&case.by_the_gpu(&[70], &[]), &expected, 500, &format!("{thermostat:?}"));
        assert_near(&case.by_the_gpu(&[200], &[]), &expected, 500, "in one launch");
    }
}

/// More samples than a batch holds, and lists that have to grow.
#[test]
fn long_launches_are_cut_where_the_room_for_samples_ends() {
    if !gpu() {
        return;
    }
    let mut case = Case::new(3, 500, Precision::FixedPoint, 3000);
    case.correlations = vec![correlation(2, 10, 3)];
    let expected = case.on_the_host(EngineChoice::Cpu);
    assert_near(&case.by_the_gpu(&[3000], &[]), &expected, 500, "1501 samples");
}

#[test]
fn blocks_that_do_not_fit_the_gpu_are_an_error_with_numbers() {
    if !gpu() {
        return;
    }
    let mut case = Case::new(3, 250_000, Precision::FixedPoint, 1_000_000_000_000);
    case.correlations = vec![correlation(1, 10_000, 300)];
    let mut all = case.all();
    let mut engine = case.begin(EngineChoice::Cuda, &case.state);
    let offloaded = all.iter_mut().map(|one| one.hand_over().unwrap()).collect();
    let error = engine.correlator().unwrap().begin(vec![offloaded]).unwrap_err().to_string();
    for part in ["samples of 250000 particles", "GiB on the GPU", "are free"] {
        assert!(error.contains(part), "{error}");
    }
}
