//! Density modes.
use supercool::plan::{CorrelationPlan, DynamicObservable as D, EngineChoice, Precision};

use crate::case::{Case, assert_near, bits, correlation, gpu};

fn coherent(every: u64, block_size: usize, levels: usize) -> CorrelationPlan {
    CorrelationPlan {
        observables: vec![D::CoherentIntermediateScatteringFunction],
        ..correlation(every, block_size, levels)
    }
}

#[test]
fn density_modes_of_the_gpu_are_those_of_its_samples() {
    if !gpu() {
        return;
    }
    for dimension in [2, 3] {
        for precision in [Precision::FixedPoint, Precision::DoubleSingle] {
            // With more particles than a chunk of one species.
            let mut case = Case::new(dimension, 4000, precision, 200);
            case.correlations = vec![coherent(4, 5, 2), correlation(8, 4, 2)];
            let what = format!("{dimension}D, {}", precision.name());
            let expected = case.on_the_host(EngineChoice::Cuda);
            let found = case.by_the_gpu(&[200], &[]);
            assert_near(&found, &expected, 4000, &what);
            let stops = [(50, EngineChoice::Cuda), (101, EngineChoice::Cuda)];
            assert!(bits(&case.by_the_gpu(&[33], &stops)) == bits(&found), "{what}");
        }
    }
}

#[test]
fn density_modes_are_relative_to_the_centre_of_mass_where_drift_is_removed() {
    if !gpu() {
        return;
    }
    for dimension in [2, 3] {
        let mut case = Case::new(dimension, 4000, Precision::FixedPoint, 200);
        case.correlations = vec![
            CorrelationPlan { remove_drift: true, ..coherent(4, 5, 2) },
            coherent(8, 4, 2),
            CorrelationPlan { remove_drift: true, ..correlation(8, 4, 2) },
        ];
        let what = format!("{dimension}D");
        let expected = case.on_the_host(EngineChoice::Cpu);
        let found = case.by_the_gpu(&[200], &[]);
        assert_near(&found, &expected, 4000, &what);
        let stops = [(50, EngineChoice::Cuda), (101, EngineChoice::Cpu), (130, EngineChoice::Cuda)];
        assert_near(&case.by_the_gpu(&[33], &stops), &expected, 4000, &what);
    }
}
