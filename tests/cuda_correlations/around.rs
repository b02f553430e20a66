//! What lies around particles: places taken again, bonds, and cages.
use supercool::plan::{BondPlan, CorrelationPlan, DynamicObservable as D, EngineChoice, Precision};

use crate::case::{Case, assert_near, bits, correlation, gpu};

fn places(every: u64, block_size: usize, levels: usize) -> CorrelationPlan {
    CorrelationPlan {
        observables: vec![D::CollectiveOverlap, D::CollectiveOverlapSusceptibility],
        ..correlation(every, block_size, levels)
    }
}

fn bonds(every: u64, block_size: usize, levels: usize) -> CorrelationPlan {
    CorrelationPlan {
        bonds: Some(BondPlan { radius: 1.4, breaking_radius: 1.6 }),
        observables: vec![D::BondBreaking, D::BondBreakingSusceptibility],
        ..correlation(every, block_size, levels)
    }
}

fn cages(every: u64, block_size: usize, levels: usize) -> CorrelationPlan {
    CorrelationPlan {
        cage_radius: Some(1.4),
        observables: vec![
            D::CageRelativeMeanSquareDisplacement,
            D::CageRelativeSelfIntermediateScatteringFunction,
            D::CageRelativeSelfOverlap,
        ],
        ..correlation(every, block_size, levels)
    }
}

#[test]
fn places_bonds_and_cages_on_the_gpu_are_those_of_its_samples() {
    if !gpu() {
        return;
    }
    for (dimension, particles) in [(2, 1000), (3, 1700)] {
        let mut case = Case::new(dimension, particles, Precision::FixedPoint, 300);
        let drift = |plan| CorrelationPlan { remove_drift: true, ..plan };
        // Blocks of more pairs than a round, and of two kinds of samples.
        case.correlations = vec![
            places(5, 4, 2),
            cages(5, 4, 2),
            drift(places(6, 5, 2)),
            drift(cages(6, 5, 2)),
            bonds(5, 4, 2),
            // Some have no neighbors.
            CorrelationPlan {
                bonds: Some(BondPlan { radius: 0.85, breaking_radius: 0.85 }),
                ..bonds(6, 5, 2)
            },
            CorrelationPlan { overlap_length: 0.9, ..places(20, 3, 2) },
            // Some have no neighbors.
            drift(CorrelationPlan { cage_radius: Some(0.85), ..cages(20, 3, 2) }),
            // In three dimensions these are too many to be stored.
            CorrelationPlan { cage_radius: Some(2.8), ..cages(30, 2, 2) },
            correlation(10, 4, 2),
        ];
        let what = format!("{dimension}D");
        let expected = case.on_the_host(EngineChoice::Cpu);
        let found = case.by_the_gpu(&[300], &[]);
        assert_near(&found, &expected, particles, &what);
        for launches in [&[1][..], &[7, 50, 3]] {
            assert!(bits(&case.by_the_gpu(launches, &[])) == bits(&found), "{launches:?}");
        }
        let cuda = EngineChoice::Cuda;
        let stops = [(4, cuda), (77, cuda), (250, cuda)];
        assert!(bits(&case.by_the_gpu(&[90], &stops)) == bits(&found), "{what}: with stops");
        let stops = [(90, EngineChoice::Cpu), (203, EngineChoice::Cuda)];
        assert_near(&case.by_the_gpu(&[60], &stops), &expected, particles, &what);
    }
}

/// Blocks with more pairs than a round has room for.
#[test]
fn pairs_go_through_as_many_rounds_as_they_need() {
    if !gpu() {
        return;
    }
    let mut case = Case::new(2, 400, Precision::FixedPoint, 900);
    case.correlations = vec![cages(3, 100, 1), places(3, 150, 1), bonds(3, 150, 1)];
    let expected = case.on_the_host(EngineChoice::Cpu);
    assert_near(&case.by_the_gpu(&[900], &[]), &expected, 400, "rounds");
}
