//! Static structure, beside correlations or alone.
use supercool::engine::Engine;
use supercool::observable::dynamics::evaluation::{Evaluated, SampledBondOrder};
use supercool::observable::{BondOrder, BondOrientationalOrder, Series, Structure};
use supercool::plan::{
    BondOrderPlan, CorrelationPlan, EngineChoice, Precision, StructurePlan, Thermostat,
};

use crate::case::{Case, correlation, gpu};

/// What is found in a run.
struct Found {
    structure: Vec<Series>,
    order: Vec<(u64, BondOrder)>,
}

struct Plans {
    structure: StructurePlan,
    order: BondOrderPlan,
}

impl Plans {
    fn new(every: [u64; 2]) -> Self {
        Plans {
            structure: StructurePlan {
                every: every[0],
                maximum_distance: 3.0,
                bin_width: 0.125,
                maximum_wavenumber: 9.0,
                vectors_per_shell: 20,
                diameter_classes: None,
            },
            order: BondOrderPlan { every: every[1], radius: 1.4 },
        }
    }

    fn begin(&self, case: &Case) -> (Structure, BondOrientationalOrder) {
        let context = case.context();
        let structure = Structure::new(&self.structure, &context).expect("a plan");
        (structure, BondOrientationalOrder::new(&self.order, &context).expect("a plan"))
    }

    /// The case with kernels that take samples.
    fn prepare(&self, case: &mut Case) {
        let observe = &mut case.plan.stages[0].observe;
        observe.structure = Some(self.structure.clone());
        observe.bond_order = Some(self.order.clone());
    }

    fn on_the_host(&self, case: &Case) -> Found {
        let mut engine = case.begin(EngineChoice::Cpu, &case.state);
        let (mut structure, order) = self.begin(case);
        let mut orders = Vec::new();
        for step in 0..=case.steps {
            let snapshot = engine.snapshot().expect("a snapshot");
            if structure.is_due(step) {
                structure.sample(&snapshot);
            }
            if order.is_due(step) {
                orders.push((
                    snapshot.step,
                    order.evaluate(&snapshot, &case.context().simulation_box),
                ));
            }
            if step < case.steps {
                engine.advance(1).expect("a step");
            }
        }
        Found { structure: structure.results(), order: orders }
    }

    fn by_the_gpu(&self, case: &Case, launches: &[u64]) -> Found {
        let mut engine = case.begin(EngineChoice::Cuda, &case.state);
        let (mut structure, mut order) = self.begin(case);
        let mut all = case.all();
        let mut offloaded: Vec<_> =
            all.iter_mut().map(|one| one.hand_over().expect("sums")).collect();
        let first = offloaded.len();
        offloaded.push(structure.hand_over().expect("sorted particles"));
        offloaded.push(order.hand_over(0).expect("sorted particles"));
        assert!(!structure.is_due(0) && !order.is_due(0));
        engine.correlator().expect("a GPU").begin(vec![offloaded]).expect("there is room");
        let mut found = Found { structure: Vec::new(), order: Vec::new() };
        let mut collect = |engine: &mut dyn Engine| {
            for (index, evaluated) in engine.correlator().expect("a GPU").evaluated() {
                let mut of_systems = evaluated.wait().expect("sums arrive");
                let (_, evaluated) = of_systems.pop().expect("those of the system");
                match evaluated {
                    Evaluated::Structure(samples) => {
                        assert_eq!(index, first);
                        samples.iter().for_each(|sample| structure.add_evaluated(sample));
                    }
                    Evaluated::BondOrder(samples) => {
                        assert_eq!(index, first + 1);
                        let of = |sample: &SampledBondOrder| (sample.step, sample.order);
                        found.order.extend(samples.iter().map(of));
                    }
                    other => all[index].add_evaluated(&other),
                }
            }
        };
        let mut done = 0;
        for launch in launches.iter().cycle() {
            let part = (*launch).min(case.steps - done);
            engine.advance(part).expect("the steps are taken");
            collect(engine.as_mut());
            done += part;
            if done == case.steps {
                break;
            }
        }
        engine.correlator().expect("a GPU").finish().expect("samples are evaluated");
        collect(engine.as_mut());
        found.structure = structure.results();
        found
    }
}

/// Some pairs may be in the next bin, and a bond or two be there or not: places are rounded to 2^-32 of the edge, distances
/// to 2^-24.
fn assert_near(found: &Found, expected: &Found, particles: usize, what: &str) {
    assert_eq!(found.structure.len(), expected.structure.len());
    for (found, expected) in found.structure.iter().zip(&expected.structure) {
        assert_eq!((&found.path, &found.count), (&expected.path, &expected.count), "{what}");
        let is_distribution = found.path.ends_with("pair_distribution");
        let mut off_at = 0;
        for (a, b) in found.value.iter().zip(&expected.value) {
            let bound = if is_distribution { 1e-9 } else { 3e-6 };
            if (a - b).abs() > bound * b.abs().max(1.0) {
                off_at += 1;
                // A pair of one sample.
                assert!(is_distribution, "{what}, {}: {a}, {b}", found.path);
                assert!((a - b).abs() < 0.2 * b.abs().max(0.1), "{what}, {}: {a}, {b}", found.path);
            }
        }
        assert!(off_at <= 6, "{what}, {}: {off_at} bins", found.path);
    }
    assert_eq!(found.order.len(), expected.order.len(), "{what}");
    for ((step, found), (expected_step, expected)) in found.order.iter().zip(&expected.order) {
        assert_eq!(step, expected_step, "{what}");
        for (a, b) in [(found.global, expected.global), (found.local, expected.local)] {
            assert!((a - b).abs() < 0.3 / particles as f64, "{what}, {step}: {a}, {b}");
        }
    }
}

fn bits(found: &Found) -> Vec<u64> {
    let order = found
        .order
        .iter()
        .flat_map(|(step, order)| [*step, order.global.to_bits(), order.local.to_bits()]);
    let values = found.structure.iter().flat_map(|one| one.value.iter().chain(&one.error));
    values.map(|x| x.to_bits()).chain(order).collect()
}

#[test]
fn structure_and_bond_order_on_the_gpu_are_those_of_the_cpu() {
    if !gpu() {
        return;
    }
    for (dimension, every, correlations, thermostat) in [
        // At steps of correlations, at others, and alone.
        (3, [40, 20], vec![correlation(10, 4, 2)], None),
        (2, [30, 25], vec![correlation(8, 4, 2)], None),
        (3, [25, 30], Vec::new(), None),
        (2, [20, 1], Vec::new(), None),
        (3, [50, 20], vec![correlation(10, 4, 2)], Some(Thermostat::Bussi { time: 0.2 })),
    ] {
        let mut case = Case::new(dimension, 1100, Precision::FixedPoint, 300);
        case.correlations = correlations;
        case.thermostat = thermostat;
        let plans = Plans::new(every);
        plans.prepare(&mut case);
        let what = format!("{dimension}D, every {every:?}, {thermostat:?}");
        let expected = plans.on_the_host(&case);
        let found = plans.by_the_gpu(&case, &[300]);
        assert_near(&found, &expected, 1100, &what);
        for launches in [&[1][..], &[7, 50]] {
            assert!(bits(&plans.by_the_gpu(&case, launches)) == bits(&found), "{what}");
        }
    }
}

/// More bins than shared memory holds, up to half the edge.
#[test]
fn pair_distributions_may_have_many_bins() {
    if !gpu() {
        return;
    }
    let mut case = Case::new(3, 600, Precision::FixedPoint, 20);
    case.correlations = Vec::<CorrelationPlan>::new();
    let mut plans = Plans::new([20, 20]);
    let half = 0.5 * case.plan.system.simulation_box.shortest_edge();
    plans.structure.maximum_distance = half;
    plans.structure.bin_width = half / 6000.0;
    plans.prepare(&mut case);
    let total = |found: &Found| -> f64 {
        let of = found.structure.iter().filter(|one| one.path.ends_with("pair_distribution"));
        of.flat_map(|one| {
            one.value.iter().enumerate().map(|(bin, g)| g * (bin as f64 + 0.5).powi(2))
        })
        .sum()
    };
    let (found, expected) = (plans.by_the_gpu(&case, &[20]), plans.on_the_host(&case));
    // Pairs on the edge of a bin move to the next one.
    let off = (total(&found) / total(&expected) - 1.0).abs();
    assert!(off < 1e-4, "{off:e}");
}
