use rand::SeedableRng;
use rand::rngs::StdRng;

use super::*;
use crate::observable::trajectories::{context, ideal_gas, normal, snapshot};
use crate::plan::{BondPlan, ConfigurationPlan, EnsembleKind};
use crate::system::SimulationBox;

use PropensityObservable as P;

const ALL: [P; 5] = [
    P::Displacement,
    P::SquareDisplacement,
    P::SelfOverlap,
    P::SelfIntermediateScatteringFunction,
    P::BondBreaking,
];

fn ensemble(configurations: usize, runs: usize) -> EnsemblePlan {
    let configuration = ConfigurationPlan { path: "c".into(), system: None };
    EnsemblePlan {
        kind: EnsembleKind::Isoconfigurational,
        samples: runs,
        temperatures: Vec::new(),
        exchange_every: None,
        temperature_of: Vec::new(),
        configurations: vec![configuration; configurations],
        keys_behind_file: Vec::new(),
    }
}

fn plan(observables: &[P]) -> PropensityPlan {
    PropensityPlan {
        steps: vec![4, 9],
        observables: observables.to_vec(),
        wavenumber: Some(2.0),
        overlap_length: Some(0.8),
        bonds: Some(BondPlan { radius: 1.0, breaking_radius: 1.5 }),
        inherent: None,
    }
}

/// Configurations of an ideal gas, whose particles `moved(configuration, run, particle)` have moved at step 4.
struct Gas {
    edges: Vec<f64>,
    counts: Vec<usize>,
    configurations: usize,
    runs: usize,
}

impl Gas {
    fn propensities(&self, observables: &[P]) -> Propensities {
        let of = ensemble(self.configurations, self.runs);
        Propensities::new(&plan(observables), &of, context(&self.edges, &self.counts, 10))
    }

    fn snapshots(
        &self,
        mut moved: impl FnMut(usize, usize, usize) -> [f64; 3],
    ) -> [Vec<Snapshot>; 2] {
        let simulation_box = SimulationBox::new(&self.edges);
        let count = self.counts.iter().sum();
        let mut rng = StdRng::seed_from_u64(5);
        let [mut before, mut after] = [Vec::new(), Vec::new()];
        for configuration in 0..self.configurations {
            let from = ideal_gas(&mut rng, &simulation_box, count);
            for run in 0..self.runs {
                let to: Vec<[f64; 3]> = (0..count)
                    .map(|particle| {
                        let moved = moved(configuration, run, particle);
                        [0, 1, 2].map(|k| from[particle][k] + moved[k])
                    })
                    .collect();
                let still = vec![[0.0; 3]; count];
                before.push(snapshot(&simulation_box, 0, &from, &still));
                after.push(snapshot(&simulation_box, 4, &to, &still));
            }
        }
        [before, after]
    }

    fn row(
        &self,
        observables: &[P],
        moved: impl FnMut(usize, usize, usize) -> [f64; 3],
    ) -> PropensityRow {
        let [before, after] = self.snapshots(moved);
        let mut propensities = self.propensities(observables);
        propensities.start(&before, &[]);
        assert!(propensities.sample(3, &after, &[]).is_none());
        propensities.sample(4, &after, &[]).unwrap()
    }
}

#[test]
fn free_particles_have_no_predictable_share_and_displacements_of_a_gaussian() {
    let gas = Gas { edges: vec![6.0; 3], counts: vec![1500, 500], configurations: 5, runs: 8 };
    let mut rng = StdRng::seed_from_u64(1);
    let sigma = 0.5;
    let observables = &ALL[..4];
    let row = gas.row(observables, |_, _, _| [0; 3].map(|_| sigma * normal(&mut rng)));
    let pi = std::f64::consts::PI;
    let a: f64 = 0.8 / sigma;
    // Error function of a / sqrt(2), and of its Maxwell distribution.
    let inside =
        statrs::function::erf::erf(a / 2_f64.sqrt()) - (2.0 / pi).sqrt() * a * (-0.5 * a * a).exp();
    let expected = [
        sigma * (8.0 / pi).sqrt(),
        3.0 * sigma * sigma,
        inside,
        (-0.5 * (2.0 * sigma).powi(2)).exp(),
    ];
    let squares = [
        3.0 * sigma * sigma,
        15.0 * sigma.powi(4),
        inside,
        // Of three axes.
        expected[3].powi(2) * 2.0 / 3.0 + (1.0 + (-2.0 * (2.0 * sigma).powi(2)).exp()) / 6.0,
    ];
    for (number, of) in row.observables.iter().enumerate() {
        for (species, moments) in of.species.iter().enumerate() {
            let samples = (gas.counts[species] * gas.configurations * gas.runs) as f64;
            let variance = squares[number] - expected[number].powi(2);
            let error = (variance / samples).sqrt();
            let deviation = (moments.mean - expected[number]).abs();
            assert!(deviation < 4.0 * error, "{number}: {moments:?}");
            assert!((moments.square / squares[number] - 1.0).abs() < 0.05, "{number}: {moments:?}");
            // Of finitely many runs, 1 / M would be left.
            let plain = (moments.square_of_propensity - moments.mean.powi(2))
                / (moments.square - moments.mean.powi(2));
            assert!((plain - 1.0 / gas.runs as f64).abs() < 0.015, "{number}: {plain}");
            let (share, error) = (moments.predictable_share, moments.predictable_share_error);
            assert!(error > 0.0 && error < 0.015, "{number}: {moments:?}");
            // Four degrees of freedom.
            assert!(share.abs() < 4.0 * error, "{number}: {moments:?}");
        }
    }
}

#[test]
fn the_share_is_one_where_all_runs_do_the_same() {
    for configurations in [1, 3] {
        let gas = Gas { edges: vec![9.0, 7.0], counts: vec![300], configurations, runs: 4 };
        let moved = |configuration: usize, _: usize, particle: usize| {
            // Beyond the box, too.
            let x = ((configuration + 7 * particle) % 11) as f64;
            [x, -0.3 * x * x, 0.0]
        };
        for of in gas.row(&ALL[..2], moved).observables {
            let moments = of.species[0];
            assert!((moments.predictable_share - 1.0).abs() < 1e-10, "{moments:?}");
            assert!(moments.predictable_share_error < 1e-10, "{moments:?}");
            for particle in 0..300 {
                let x = (7 * particle % 11) as f64;
                let expected = x * x + 0.09 * x.powi(4);
                assert!((of.second_moment[particle] - of.value[particle].powi(2)).abs() < 1e-9);
                let square = of.value[particle];
                assert!(
                    (square - expected).abs() < 1e-9 || (square - expected.sqrt()).abs() < 1e-9
                );
            }
        }
    }
}

#[test]
fn the_share_is_that_of_the_variance_which_the_configuration_has() {
    // Along one axis a step of the particle's own and another one of the run.
    let gas = Gas { edges: vec![8.0; 3], counts: vec![4000], configurations: 1, runs: 5 };
    let mut rng = StdRng::seed_from_u64(3);
    let own: Vec<f64> = (0..4000).map(|_| normal(&mut rng)).collect();
    let row = gas.row(&[P::Displacement], |_, _, particle| {
        // Far from zero, so that the distance is linear.
        [100.0 + own[particle] + 2.0 * normal(&mut rng), 0.0, 0.0]
    });
    let moments = row.observables[0].species[0];
    let (share, error) = (moments.predictable_share, moments.predictable_share_error);
    assert!((share - 0.2).abs() < 4.0 * error && error < 0.02, "{moments:?}");
}

#[test]
fn nothing_is_said_where_there_is_no_variance() {
    let gas = Gas { edges: vec![5.0; 3], counts: vec![50, 50], configurations: 2, runs: 3 };
    let row = gas.row(&[P::SelfOverlap], |_, _, _| [0.1, 0.0, 0.0]);
    for moments in &row.observables[0].species {
        assert_eq!((moments.mean, moments.square), (1.0, 1.0));
        assert!(moments.predictable_share.is_nan() && moments.predictable_share_error.is_nan());
    }
}

#[test]
fn bonds_break_in_each_run_by_itself() {
    // In a row across the boundary: 0 and 1 are bonded, 1 and 2, not 0 and 2.
    let positions = [9.6, 0.4, 1.3].map(|x| [x, 5.0, 5.0]);
    let simulation_box = SimulationBox::new(&[10.0; 3]);
    let at =
        |step, positions: &[[f64; 3]]| snapshot(&simulation_box, step, positions, &[[0.0; 3]; 3]);
    let mut propensities = Propensities::new(
        &plan(&[P::BondBreaking]),
        &ensemble(1, 2),
        context(&[10.0; 3], &[3], 10),
    );
    propensities.start(&[at(0, &positions), at(0, &positions)], &[]);
    // In the first run 2 leaves 1, in the second one 0 does, around the box.
    let runs = [[9.6, 0.4, 2.0], [8.8, 0.4, 1.3]].map(|x| x.map(|x| [x, 5.0, 5.0]));
    let row = propensities.sample(9, &[at(9, &runs[0]), at(9, &runs[1])], &[]).unwrap();
    assert_eq!(row.time, 1);
    assert_eq!(row.observables[0].value, [0.5, 0.5, 0.5]);
    assert_eq!(row.observables[0].second_moment, [0.5, 0.25, 0.5]);
}

#[test]
fn bits_do_not_depend_on_threads_or_on_a_stop() {
    let gas = Gas { edges: vec![4.0; 3], counts: vec![200, 56], configurations: 3, runs: 4 };
    let mut rng = StdRng::seed_from_u64(8);
    let [before, after] = gas.snapshots(|_, _, _| [0; 3].map(|_| normal(&mut rng)));
    let with_threads = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut propensities = gas.propensities(&ALL);
            propensities.start(&before, &[]);
            propensities.sample(4, &after, &[]).unwrap()
        })
    };
    let one = with_threads(1);
    assert_eq!(one, with_threads(3));
    let mut stopped = gas.propensities(&ALL);
    stopped.start(&before, &[]);
    let (_, arrays) = stopped.save();
    let mut resumed = gas.propensities(&ALL);
    resumed.restore(&arrays).unwrap();
    let positions = |of: &Propensities| of.initial_positions(States::Thermal);
    assert_eq!(positions(&resumed), positions(&stopped));
    assert_eq!(resumed.sample(4, &after, &[]).unwrap(), one);
    inherent_structures_are_kept(&gas, [&before, &after]);
    let few = Gas { configurations: 2, ..gas };
    assert!(few.propensities(&ALL).restore(&arrays).is_err());
}

/// As if they lay where particles go, and those later where they come from.
fn inherent_structures_are_kept(gas: &Gas, [before, after]: [&[Snapshot]; 2]) {
    let settings = InherentStructuresPlan {
        every: 1,
        force_tolerance: 1e-6,
        maximum_iterations: 1,
        timestep: 0.001,
    };
    let plan = PropensityPlan { inherent: Some(settings), ..plan(&ALL) };
    let propensities = || {
        let of = ensemble(gas.configurations, gas.runs);
        Propensities::new(&plan, &of, context(&gas.edges, &gas.counts, 10))
    };
    let mut whole = propensities();
    let firsts: Vec<Snapshot> = whole.firsts().map(|system| after[system].clone()).collect();
    whole.start(before, &firsts);
    let mut resumed = propensities();
    resumed.restore(&whole.save().1).unwrap();
    let row = whole.sample(4, after, before).unwrap();
    assert_eq!(resumed.sample(4, after, before).unwrap(), row);
    // Of the first run, the way back.
    let [there, back] = [&row.observables[1], &row.observables[ALL.len() + 1]];
    assert_eq!(row.observables.len(), 2 * ALL.len());
    assert_ne!(there.value, back.value);
    let of = ensemble(gas.configurations, 1);
    let mut of_first = Propensities::new(&plan, &of, context(&gas.edges, &gas.counts, 10));
    let first = |snapshots: &[Snapshot]| -> Vec<Snapshot> {
        whole.firsts().map(|system| snapshots[system].clone()).collect()
    };
    of_first.start(&first(before), &first(after));
    let row = of_first.sample(4, &first(after), &first(before)).unwrap();
    for (there, back) in row.observables[1].value.iter().zip(&row.observables[ALL.len() + 1].value)
    {
        assert!((there - back).abs() < 1e-12, "{there} {back}");
    }
}
