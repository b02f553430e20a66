//! Correlations whose pairs an engine evaluates are those that are evaluated here.
use super::*;
use crate::observable::dynamics::source::for_engines;
use crate::observable::portable::PortableEvaluator;

const PARTICLES: usize = 0;
const CAGES: usize = 1;
const PLACES: usize = 2;
const BONDS: usize = 3;
const DENSITIES: usize = 4;
const STRESS: usize = 5;
/// That no engine evaluates.
const HOST: usize = 6;

/// A part of all observables that engines evaluate.
pub(super) fn part(number: usize, remove_drift: bool) -> CorrelationPlan {
    let plan = CorrelationPlan { remove_drift, ..plan(3, 4, 4, &[2.0, 7.0]) };
    for_engines(&plan).remove(number)
}

/// The same with lags at about equal ratios.
fn in_octaves(plan: CorrelationPlan) -> CorrelationPlan {
    CorrelationPlan { block_size: 6, level_ratio: Some(2), ..plan }
}

pub(super) fn assert_near(found: &[Series], expected: &[Series], what: &str) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!((&found.path, &found.count), (&expected.path, &expected.count), "{what}");
        // Terms of a particle are 32-bit floats, and sums over a chunk of them; a susceptibility is a small difference of numbers of
        // order N.
        let scale = if found.path.ends_with("susceptibility") { 340.0 } else { 1.0 };
        let pairs =
            found.value.iter().zip(&expected.value).chain(found.error.iter().zip(&expected.error));
        for (found_value, expected) in pairs {
            let near = (found_value - expected).abs() < 1e-6 * expected.abs().max(scale);
            assert!(
                near || found_value.is_nan() && expected.is_nan(),
                "{what}, {}: {found_value} {expected}",
                found.path
            );
        }
    }
}

#[test]
fn a_correlation_is_split_into_what_engines_evaluate_together() {
    use DynamicObservable as D;
    let all = plan(3, 4, 4, &[2.0]);
    let parts = for_engines(&all);
    assert_eq!(parts.len(), 7);
    assert!(parts[CAGES].observables.iter().all(|kind| kind.group_name().starts_with("cage")));
    assert_eq!(
        parts[PLACES].observables,
        [D::CollectiveOverlap, D::CollectiveOverlapSusceptibility]
    );
    assert_eq!(parts[BONDS].observables, [D::BondBreaking, D::BondBreakingSusceptibility]);
    assert_eq!(parts[DENSITIES].observables, [D::CoherentIntermediateScatteringFunction]);
    assert_eq!(parts[STRESS].observables, [D::StressAutocorrelation, D::ShearViscosity]);
    assert_eq!(parts[HOST].observables, [D::FourPointStructureFactor, D::DistinctVanHoveFunction]);
    let without_drift = CorrelationPlan { remove_drift: true, ..all.clone() };
    let removed: Vec<bool> =
        for_engines(&without_drift).iter().map(|part| part.remove_drift).collect();
    // The stress and distances between particles have none.
    assert_eq!(removed, [true, true, true, false, true, false, true]);
    let context = context(&[6.0, 7.0, 8.0], &[30], 3 * 99);
    let evaluated = |plan| Correlations::new(plan, &context).unwrap().hand_over().is_some();
    let [of_engines, of_host] = [&parts[..HOST], &parts[HOST..]];
    assert!(of_engines.iter().all(evaluated) && !of_host.iter().any(evaluated) && !evaluated(&all));
    let mut observables: Vec<_> = parts.iter().flat_map(|part| part.observables.clone()).collect();
    let mut expected = DynamicObservable::ALL.to_vec();
    observables.sort();
    expected.sort();
    assert_eq!(observables, expected);
    let default = CorrelationPlan { observables: DynamicObservable::DEFAULT.to_vec(), ..all };
    assert_eq!(for_engines(&default), [default]);
}

#[test]
fn what_an_engine_evaluates_is_what_is_evaluated_here() {
    for (edges, plan) in [
        (vec![6.0, 7.0, 8.0], part(PARTICLES, true)),
        (vec![6.0, 7.0, 8.0], part(PARTICLES, false)),
        (vec![6.0, 8.0], part(PARTICLES, true)),
        (vec![6.0, 7.0, 8.0], part(CAGES, true)),
        (vec![16.0, 19.0], part(CAGES, false)),
        // Particles without neighbors.
        (vec![60.0, 70.0], part(CAGES, true)),
        (vec![6.0, 7.0, 8.0], part(PLACES, true)),
        (vec![16.0, 19.0], part(PLACES, false)),
        (vec![6.0, 7.0, 8.0], part(BONDS, false)),
        (vec![16.0, 19.0], part(BONDS, true)),
        // Particles without neighbors.
        (vec![60.0, 70.0], part(BONDS, false)),
        (vec![6.0, 7.0, 8.0], part(DENSITIES, false)),
        (vec![6.0, 7.0, 8.0], part(DENSITIES, true)),
        (vec![6.0, 7.0, 8.0], part(STRESS, false)),
        (vec![6.0, 8.0], part(STRESS, false)),
        (vec![6.0, 7.0, 8.0], in_octaves(part(PARTICLES, true))),
        (vec![6.0, 7.0, 8.0], in_octaves(part(PLACES, true))),
        (vec![6.0, 7.0, 8.0], in_octaves(part(DENSITIES, false))),
        (vec![6.0, 7.0, 8.0], in_octaves(part(STRESS, false))),
    ] {
        let context = context(&edges, &[300, 40], 3 * 99);
        let walk = random_walk(&context, 3, 0.5, 500, 3, 100);
        let expected = correlate(&plan, &context, &walk);
        let mut found = Correlations::new(&plan, &context).unwrap();
        let mut engine = PortableEvaluator::new(found.hand_over().unwrap());
        for snapshot in &walk {
            assert!(!found.is_due(snapshot.step - 500));
            found.add_evaluated(&engine.sample(snapshot, Some(&macroscopic(snapshot))));
        }
        engine.finish().iter().for_each(|evaluated| found.add_evaluated(evaluated));
        found.finish();
        assert_near(&found.results(), &expected.results(), &format!("{edges:?}"));
    }
}

#[test]
fn a_correlation_moves_to_an_engine_and_back_across_checkpoints() {
    let context = context(&[6.0, 7.0, 8.0], &[300, 40], 3 * 99);
    let walk = random_walk(&context, 3, 0.5, 500, 3, 100);
    let mut state: Option<(serde_json::Value, StateArrays)> = None;
    // Begun here or by an engine, which take turns.
    for (begins, plan) in [
        (0, part(PARTICLES, true)),
        (1, part(PARTICLES, true)),
        (0, part(CAGES, true)),
        (1, part(PLACES, true)),
        (0, part(BONDS, false)),
        (0, part(DENSITIES, false)),
        (1, part(DENSITIES, true)),
        (0, part(STRESS, false)),
        (1, part(STRESS, false)),
        (0, in_octaves(part(PARTICLES, true))),
        (1, in_octaves(part(STRESS, false))),
    ] {
        let expected = correlate(&plan, &context, &walk).results();
        for (turn, samples) in [0..1, 1..37, 37..64, 64..100].into_iter().enumerate() {
            let mut correlations = Correlations::new(&plan, &context).unwrap();
            if let Some((state, arrays)) = state.take() {
                correlations.restore(&state, &arrays).unwrap();
            }
            let last = samples.end == walk.len();
            if turn % 2 == begins {
                walk[samples].iter().for_each(|snapshot| take(&mut correlations, snapshot));
                state = Some(correlations.save(None));
            } else {
                let mut engine = PortableEvaluator::new(correlations.hand_over().unwrap());
                for snapshot in &walk[samples] {
                    correlations
                        .add_evaluated(&engine.sample(snapshot, Some(&macroscopic(snapshot))));
                }
                state = Some(correlations.save(engine.held().as_ref()));
                if last {
                    engine
                        .finish()
                        .iter()
                        .for_each(|evaluated| correlations.add_evaluated(evaluated));
                }
            }
            if last {
                correlations.finish();
                assert_near(&correlations.results(), &expected, &format!("begun by {begins}"));
                state = None;
            }
        }
    }
}

/// An engine that continues from its own checkpoint has the same samples, to the bit.
#[test]
fn an_engine_goes_on_with_the_same_bits() {
    let context = context(&[6.0, 7.0, 8.0], &[300, 40], 3 * 99);
    let plan = part(PARTICLES, true);
    let walk = random_walk(&context, 3, 0.5, 500, 3, 100);
    let run = |cut: Option<usize>| {
        let mut correlations = Correlations::new(&plan, &context).unwrap();
        let mut engine = PortableEvaluator::new(correlations.hand_over().unwrap());
        for (number, snapshot) in walk.iter().enumerate() {
            if cut == Some(number) {
                let (state, arrays) = correlations.save(engine.held().as_ref());
                correlations = Correlations::new(&plan, &context).unwrap();
                correlations.restore(&state, &arrays).unwrap();
                let offloaded = correlations.hand_over().unwrap();
                assert_eq!(offloaded.samples(), number as u64);
                engine = PortableEvaluator::new(offloaded);
            }
            correlations.add_evaluated(&engine.sample(snapshot, Some(&macroscopic(snapshot))));
        }
        engine.finish().iter().for_each(|evaluated| correlations.add_evaluated(evaluated));
        bits(&correlations.results())
    };
    assert_eq!(run(Some(41)), run(None));
}
