//! Averages over classes of diameter.
use rand::RngExt;

use super::super::diameter_classes::DiameterClasses;
use super::super::portable::PortableEvaluator;
use super::evaluated::{assert_near, part};
use super::*;
use crate::observable::dynamics::evaluation::Evaluated;
use crate::plan::{DiameterClassesPlan, StructurePlan};

const COUNT: usize = 340;

/// A context of one species, and that of its classes.
fn contexts(classes: &DiameterClassesPlan, stage_steps: u64) -> [SampleContext; 2] {
    let context = context(&[6.0, 7.0, 8.0], &[COUNT], stage_steps);
    let mut rng = StdRng::seed_from_u64(8);
    let diameter: Vec<f64> = (0..COUNT).map(|_| 0.7 + 0.9 * rng.random::<f64>()).collect();
    let of_classes = DiameterClasses::new(classes, &diameter).unwrap().divide(&context);
    [context, of_classes]
}

fn in_classes(plan: CorrelationPlan, classes: &DiameterClassesPlan) -> CorrelationPlan {
    CorrelationPlan { species: vec![0], diameter_classes: Some(classes.clone()), ..plan }
}

#[test]
fn classes_have_the_averages_of_their_particles() {
    let context = context(&[10.0; 3], &[4], 1);
    let classes = DiameterClassesPlan::Number(2);
    let diameter = [1.2, 0.8, 1.0, 0.9];
    let of_classes = DiameterClasses::new(&classes, &diameter).unwrap().divide(&context);
    let at = |step: u64| {
        let displacement = [0.1, 0.2, 0.3, 0.4].map(|d| [d * step as f64, 0.0, 0.0]);
        snapshot(&context.simulation_box, step, &displacement, &displacement)
    };
    let observables = vec![DynamicObservable::MeanSquareDisplacement];
    let plan = in_classes(CorrelationPlan { observables, ..plan(1, 2, 1, &[]) }, &classes);
    let results = correlate(&plan, &of_classes, &[at(0), at(1)]).results();
    // (0.2^2 + 0.4^2) / 2, (0.1^2 + 0.3^2) / 2, and the mean of both.
    for (path, expected, particles) in
        [("class1", 0.1, 2), ("class2", 0.05, 2), ("all-particles", 0.075, 4)]
    {
        let series = find(&results, &format!("{path}/mean_square_displacement"));
        assert!((series.value[1] - expected).abs() < 1e-14, "{path}: {:?}", series.value);
        assert_eq!(series.count[1], particles);
    }
    assert_eq!(results.len(), 3);
}

/// Values of all particles are those without classes, and of averages over particles those of the classes, weighted by their
/// numbers of particles.
#[test]
fn classes_add_up_to_all_particles() {
    let [one, three, bounds] = [
        DiameterClassesPlan::Number(1),
        DiameterClassesPlan::Number(3),
        DiameterClassesPlan::Bounds(vec![0.9, 1.45]),
    ];
    for classes in [one, three, bounds] {
        let [context, of_classes] = contexts(&classes, 3 * 99);
        let walk = random_walk(&context, 3, 0.5, 0, 3, 100);
        let without = CorrelationPlan { species: vec![0], ..plan(3, 4, 4, &[2.0, 7.0]) };
        let expected = correlate(&without, &context, &walk).results();
        let results = correlate(&in_classes(without, &classes), &of_classes, &walk).results();
        for kind in DynamicObservable::ALL {
            let name = kind.group_name();
            let all = find(&results, &format!("all-particles/{name}"));
            let by = |path: &str| {
                let path = format!("{path}/{name}");
                expected.iter().find(|series| series.path == path)
            };
            let same = by("all-particles").or_else(|| by("A")).unwrap_or_else(|| panic!("{name}"));
            // A susceptibility is a small difference of numbers of order N.
            let scale = if name.ends_with("susceptibility") { COUNT as f64 } else { 1.0 };
            let near = |a: f64, b: f64| {
                (a - b).abs() < 1e-11 * b.abs().max(scale) || a.is_nan() && b.is_nan()
            };
            let pairs = all.value.iter().zip(&same.value);
            assert!(pairs.clone().all(|(&a, &b)| near(a, b)), "{name}: {pairs:?}");
            let of_class: Vec<&Series> = (0..classes.count())
                .filter_map(|class| {
                    let path = format!("{}/{name}", of_classes.species[class].name);
                    results.iter().find(|series| series.path == path)
                })
                .collect();
            let of_sums = [
                DynamicObservable::NonGaussianParameter,
                DynamicObservable::FourPointStructureFactor,
            ];
            let is_mean = !of_sums.contains(&kind) && scale == 1.0;
            if of_class.is_empty() || !is_mean {
                continue;
            }
            assert_eq!(of_class.len(), classes.count(), "{name}");
            for (at, &all) in all.value.iter().enumerate() {
                let weighted = of_class.iter().zip(&of_classes.species);
                let sum: f64 = weighted.map(|(of, s)| of.value[at] * s.count as f64).sum();
                assert!(near(sum / COUNT as f64, all), "{name}, {at}: {sum} {all}");
            }
        }
        if classes.count() == 1 {
            let msd = |path: &str| find(&results, &format!("{path}/mean_square_displacement"));
            let all = Series { path: msd("class1").path.clone(), ..msd("all-particles").clone() };
            assert_eq!(bits(&[msd("class1").clone()]), bits(&[all]));
        }
    }
}

#[test]
fn pairs_of_classes_have_their_coherent_functions() {
    let classes = DiameterClassesPlan::Number(2);
    let [context, of_classes] = contexts(&classes, 29);
    let observables = vec![DynamicObservable::CoherentIntermediateScatteringFunction];
    let plan = in_classes(CorrelationPlan { observables, ..plan(1, 5, 2, &[2.0]) }, &classes);
    let walk = random_walk(&context, 3, 0.2, 0, 1, 30);
    let results = correlate(&plan, &of_classes, &walk).results();
    let paths: Vec<&str> =
        results.iter().map(|series| series.path.split('/').next().unwrap()).collect();
    assert_eq!(paths, ["class1-class1", "class1-class2", "class2-class2", "all-particles"]);
}

#[test]
fn what_an_engine_evaluates_of_classes_is_what_is_evaluated_here() {
    let classes = DiameterClassesPlan::Number(3);
    let [context, of_classes] = contexts(&classes, 3 * 99);
    let walk = random_walk(&context, 3, 0.5, 0, 3, 100);
    for number in 0..6 {
        let plan = in_classes(part(number, false), &classes);
        let expected = correlate(&plan, &of_classes, &walk);
        let mut found = Correlations::new(&plan, &of_classes).unwrap();
        let mut engine = PortableEvaluator::new(found.hand_over().expect("engines evaluate it"));
        for (taken, snapshot) in walk.iter().enumerate() {
            found.add_evaluated(&engine.sample(snapshot, Some(&macroscopic(snapshot))));
            if taken == 40 {
                // A checkpoint, and another engine.
                let held = engine.held();
                let (state, arrays) = found.save(held.as_ref());
                found = Correlations::new(&plan, &of_classes).unwrap();
                found.restore(&state, &arrays).unwrap();
                engine = PortableEvaluator::new(found.hand_over().expect("engines evaluate it"));
            }
        }
        engine.finish().iter().for_each(|evaluated| found.add_evaluated(evaluated));
        found.finish();
        assert_near(&found.results(), &expected.results(), &format!("part {number}"));
    }
}

#[test]
fn resumed_classes_end_with_the_same_bits() {
    let classes = DiameterClassesPlan::Bounds(vec![1.0]);
    let [context, of_classes] = contexts(&classes, 3 * 99);
    let plan = in_classes(plan(3, 4, 4, &[2.0, 7.0]), &classes);
    let walk = random_walk(&context, 3, 0.5, 0, 3, 100);
    let expected = correlate(&plan, &of_classes, &walk).results();
    let mut before = Correlations::new(&plan, &of_classes).unwrap();
    walk[..57].iter().for_each(|snapshot| take(&mut before, snapshot));
    let (state, arrays) = before.save(None);
    let mut after = Correlations::new(&plan, &of_classes).unwrap();
    after.restore(&state, &arrays).unwrap();
    walk[57..].iter().for_each(|snapshot| take(&mut after, snapshot));
    after.finish();
    assert_eq!(bits(&after.results()), bits(&expected));
    // Of the same plan without classes.
    let other = CorrelationPlan { diameter_classes: None, ..plan };
    assert!(Correlations::new(&other, &context).unwrap().restore(&state, &arrays).is_err());
}

fn structure_in_classes(classes: &DiameterClassesPlan) -> StructurePlan {
    let plan = structure_plan(3.0, 0.1, 6.0);
    StructurePlan { diameter_classes: Some(classes.clone()), ..plan }
}

/// `g(r)` of all particles is that without classes, `S(q)` the sum over ordered pairs.
#[test]
fn structure_of_classes_adds_up_to_all_particles() {
    let number = DiameterClassesPlan::Number(3);
    for classes in [number, DiameterClassesPlan::Bounds(vec![0.9, 1.45])] {
        let [context, of_classes] = contexts(&classes, 99);
        let walk = random_walk(&context, 3, 0.5, 0, 1, 12);
        let without = structure_plan(3.0, 0.1, 6.0);
        let mut expected = Structure::new(&without, &context).unwrap();
        let mut found = Structure::new(&structure_in_classes(&classes), &of_classes).unwrap();
        for snapshot in &walk {
            expected.sample(snapshot);
            found.sample(snapshot);
        }
        let (layouts, found, expected) = (found.layouts(), found.results(), expected.results());
        let paths: Vec<&str> = found.iter().map(|series| &series.path[..]).collect();
        assert_eq!(paths, layouts.iter().map(|layout| &layout.path[..]).collect::<Vec<_>>());
        assert_eq!((paths[0], paths.len()), ("class1-class1/pair_distribution", 14));
        let of_all = find(&found, "all-particles/pair_distribution");
        let same = Series { path: of_all.path.clone(), ..expected[0].clone() };
        assert_eq!(bits(std::slice::from_ref(of_all)), bits(&[same]));
        let of_all = find(&found, "all-particles/structure_factor");
        for (shell, &s) in of_all.value.iter().enumerate() {
            let mut sum = 0.0;
            for (a, b) in [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)] {
                let of_pair = find(&found, &format!("class{a}-class{b}/structure_factor"));
                sum += if a == b { 1.0 } else { 2.0 } * of_pair.value[shell];
            }
            assert!((s - sum).abs() < 1e-12 * (1.0 + s), "{shell}: {s} {sum}");
            assert!((s - expected[1].value[shell]).abs() < 1e-12 * (1.0 + s), "{shell}: {s}");
        }
    }
}

/// Of an engine, resumed in the middle; the bits of the host resumed there, too.
#[test]
fn resumed_structure_of_classes_is_that_of_an_engine() {
    let classes = DiameterClassesPlan::Number(2);
    let [context, of_classes] = contexts(&classes, 99);
    let walk = random_walk(&context, 3, 0.5, 0, 1, 20);
    let begin = || Structure::new(&structure_in_classes(&classes), &of_classes).unwrap();
    let mut whole = begin();
    walk.iter().for_each(|snapshot| whole.sample(snapshot));
    let mut first = begin();
    walk[..9].iter().for_each(|snapshot| first.sample(snapshot));
    let (state, arrays) = first.save();
    let (mut here, mut of_engine) = (begin(), begin());
    here.restore(&state, &arrays).unwrap();
    of_engine.restore(&state, &arrays).unwrap();
    let mut engine = PortableEvaluator::new(of_engine.hand_over().expect("engines evaluate it"));
    for snapshot in &walk[9..] {
        here.sample(snapshot);
        match engine.sample(snapshot, Some(&macroscopic(snapshot))) {
            Evaluated::Structure(samples) => {
                samples.iter().for_each(|sample| of_engine.add_evaluated(sample));
            }
            _ => panic!("structure is evaluated as structure"),
        }
    }
    assert_eq!(bits(&here.results()), bits(&whole.results()));
    assert_near(&of_engine.results(), &whole.results(), "structure");
    // Of the same plan without classes.
    let without = structure_plan(3.0, 0.1, 6.0);
    assert!(Structure::new(&without, &context).unwrap().restore(&state, &arrays).is_err());
}
