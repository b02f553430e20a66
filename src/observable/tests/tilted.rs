//! Correlations of pairs of particles and of density modes in tilted boxes and in flows.
use std::f64::consts::{FRAC_1_SQRT_2, TAU};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::observable::dynamics::affine::PeculiarMotion;
use crate::observable::dynamics::source::for_engines;
use crate::plan::ShearPlan;
use crate::system::SimulationBox;

const CUBE: f64 = 7.0;

fn is_of_untilted_vectors(observable: DynamicObservable) -> bool {
    [
        DynamicObservable::SelfIntermediateScatteringFunction,
        DynamicObservable::SelfScatteringSusceptibility,
        DynamicObservable::CageRelativeSelfIntermediateScatteringFunction,
    ]
    .contains(&observable)
}

/// Walks in a cube or square, and the same turned by 45 degrees in a box with a tilt of one half that has the same images.
fn turned(dimension: usize) -> [(SampleContext, Vec<Snapshot>); 2] {
    let straight = context(&[CUBE; 3][..dimension], &[150, 60], 11);
    let walk = random_walk(&straight, 5, 0.35, 0, 1, 12);
    let edges = [CUBE / FRAC_1_SQRT_2, CUBE * FRAC_1_SQRT_2, CUBE];
    let mut tilted = context(&edges[..dimension], &[150, 60], 11);
    tilted.simulation_box = tilted.simulation_box.with_tilt(0.5);
    let turn = |[x, y, z]: [f64; 3]| [(x + y) * FRAC_1_SQRT_2, (y - x) * FRAC_1_SQRT_2, z];
    let of = |state: &Snapshot| {
        let place = |id: usize| turn(state.unwrapped(id, &straight.simulation_box));
        let places: Vec<[f64; 3]> = (0..210).map(place).collect();
        let velocity: Vec<[f64; 3]> = state.velocity.iter().map(|&v| turn(v)).collect();
        snapshot(&tilted.simulation_box, state.step, &places, &velocity)
    };
    let turned = walk.iter().map(of).collect();
    [(straight, walk), (tilted, turned)]
}

fn plan_at_rest(remove_drift: bool) -> CorrelationPlan {
    let mut observables = DynamicObservable::ALL.to_vec();
    observables.retain(|&of| !is_of_untilted_vectors(of));
    CorrelationPlan {
        remove_drift,
        observables,
        vectors_per_shell: 1_000_000,
        ..plan(1, 4, 2, &[1.2, 3.0])
    }
}

#[test]
fn a_turned_liquid_has_the_functions_of_the_liquid() {
    for (dimension, remove_drift) in [(3, false), (3, true), (2, false), (2, true)] {
        let [straight, tilted] = turned(dimension).map(|(context, walk)| {
            let plan = plan_at_rest(remove_drift);
            let mut correlations = Correlations::new(&plan, &context).unwrap();
            // Of the first sample alone: its components are not those of the turned one.
            let stress = macroscopic(&walk[0]);
            walk.iter().for_each(|snapshot| correlations.sample(snapshot, Some(&stress)));
            correlations.finish();
            correlations
        });
        for (expected, found) in straight.results().iter().zip(tilted.results()) {
            assert_eq!(expected.path, found.path);
            assert_eq!(expected.count, found.count, "{}", found.path);
            if found.path.ends_with("stress_autocorrelation") || found.path.ends_with("viscosity") {
                continue;
            }
            for (lag, (a, b)) in expected.value.iter().zip(&found.value).enumerate() {
                let same = (a - b).abs() <= 1e-9 * (1.0 + a.abs());
                assert!(same || a.is_nan() && b.is_nan(), "{} [{lag}]: {a} {b}", found.path);
            }
        }
    }
}

#[test]
fn resumed_correlations_of_a_tilted_box_have_the_same_bits() {
    let [_, (context, walk)] = turned(3);
    let plan = plan_at_rest(true);
    let whole = correlate(&plan, &context, &walk);
    let mut first = Correlations::new(&plan, &context).unwrap();
    walk[..6].iter().for_each(|snapshot| take(&mut first, snapshot));
    assert!(first.hand_over().is_none(), "engines know no tilt");
    let (state, arrays) = first.save(None);
    let mut second = Correlations::new(&plan, &context).unwrap();
    second.restore(&state, &arrays).unwrap();
    walk[6..].iter().for_each(|snapshot| take(&mut second, snapshot));
    second.finish();
    for (one, other) in whole.results().iter().zip(second.results()) {
        let bits = |series: &Series| series.value.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(one), bits(&other), "{}", one.path);
    }
}

const RATE: f64 = 3.0;
const TIMESTEP: f64 = 0.05;
const EDGES: [f64; 3] = [8.0, 6.0, 7.0];
const COUNT: usize = 160;

/// Particles that walk beside a flow.
struct Flow {
    context: SampleContext,
    motion: PeculiarMotion,
    /// Boxes of the samples.
    boxes: Vec<SimulationBox>,
    /// Places in the laboratory, by sample, without periodic boundaries.
    places: Vec<Vec<[f64; 3]>>,
    /// What the particles have walked since the first sample.
    walked: Vec<Vec<[f64; 3]>>,
    snapshots: Vec<Snapshot>,
    /// Particles within 1.3 of each, by sample.
    neighbors: Vec<Vec<Vec<usize>>>,
}

impl Flow {
    fn new(dimension: usize, samples: u64) -> Self {
        let shear = ShearPlan::Steady { rate: RATE };
        let mut context = context(&EDGES[..dimension], &[100, COUNT - 100], samples - 1);
        context.in_flow = true;
        let from = context.simulation_box.with_tilt(0.2);
        let motion = PeculiarMotion::new(from, Some(shear), TIMESTEP, 0);
        let mut rng = StdRng::seed_from_u64(3);
        let mut place = ideal_gas(&mut rng, &context.simulation_box, COUNT);
        let mut walked = vec![[0.0; 3]; COUNT];
        let mut flow = Flow {
            motion: motion.clone(),
            context,
            boxes: Vec::new(),
            places: Vec::new(),
            walked: Vec::new(),
            snapshots: Vec::new(),
            neighbors: Vec::new(),
        };
        let strain = |step: u64| shear.strain_after(&from, TIMESTEP, step);
        for step in 0..samples {
            let simulation_box = motion.box_at(step);
            flow.snapshots.push(snapshot(&simulation_box, step, &place, &walked));
            flow.boxes.push(simulation_box);
            flow.places.push(place.clone());
            flow.walked.push(walked.clone());
            for (r, walked) in place.iter_mut().zip(&mut walked) {
                let before = r[1];
                for k in 0..dimension {
                    let walk = 0.4 * (rng.random::<f64>() - 0.5);
                    r[k] += walk;
                    walked[k] += walk;
                }
                r[0] += 0.5 * (before + r[1]) * (strain(step + 1) - strain(step));
            }
        }
        let all = 0..flow.boxes.len();
        flow.neighbors =
            all.map(|sample| (0..COUNT).map(|i| flow.near(sample, i)).collect()).collect();
        flow
    }

    /// Nearest distance of two particles in a sample, over all images.
    fn distance(&self, sample: usize, i: usize, j: usize) -> f64 {
        let simulation_box = &self.boxes[sample];
        let [a, b] = [i, j].map(|id| simulation_box.wrapped(self.places[sample][id]));
        let shifts = || -2..=2;
        let images = shifts().flat_map(|x| shifts().map(move |y| (x, y)));
        let depth = if simulation_box.dimension() == 2 { 0..=0 } else { -1..=1 };
        let images = images.flat_map(|(x, y)| depth.clone().map(move |z| [x, y, z]));
        let squared = |image: [i32; 3]| -> f64 {
            let b = simulation_box.unwrapped(b, image);
            (0..3).map(|k| (b[k] - a[k]).powi(2)).sum()
        };
        images.map(squared).fold(f64::INFINITY, f64::min).sqrt()
    }

    fn moved(&self, [from, to]: [usize; 2], i: usize) -> [f64; 3] {
        std::array::from_fn(|k| self.walked[to][i][k] - self.walked[from][i][k])
    }

    fn near(&self, sample: usize, i: usize) -> Vec<usize> {
        (0..COUNT).filter(|&j| j != i && self.distance(sample, i, j) < 1.3).collect()
    }

    /// Share of the bonds of all particles that are kept.
    fn bonds(&self, [from, to]: [usize; 2]) -> f64 {
        let of = |i: usize| {
            let bonds = &self.neighbors[from][i];
            let kept = bonds.iter().filter(|&&j| self.distance(to, i, j) < 1.6).count();
            if bonds.is_empty() { 1.0 } else { kept as f64 / bonds.len() as f64 }
        };
        (0..COUNT).map(of).sum::<f64>() / COUNT as f64
    }

    /// Mean square displacement relative to the neighbors.
    fn in_cages(&self, pair: [usize; 2]) -> f64 {
        let of = |i: usize| {
            let cage = &self.neighbors[pair[0]][i];
            let moved: Vec<[f64; 3]> = cage.iter().map(|&j| self.moved(pair, j)).collect();
            let own = self.moved(pair, i);
            let relative = |k: usize| {
                own[k] - moved.iter().map(|d| d[k]).sum::<f64>() / moved.len().max(1) as f64
            };
            (0..3).map(|k| relative(k).powi(2)).sum::<f64>()
        };
        (0..COUNT).map(of).sum::<f64>() / COUNT as f64
    }

    /// Sum of a weight times `exp(i q . r)`.
    fn mode(&self, sample: usize, q: [f64; 3], weight: impl Fn(usize) -> f64) -> [f64; 2] {
        let mut sum = [0.0; 2];
        for (i, r) in self.places[sample].iter().enumerate() {
            let phase: f64 = (0..3).map(|k| q[k] * r[k]).sum();
            sum[0] += weight(i) * phase.cos();
            sum[1] += weight(i) * phase.sin();
        }
        sum
    }

    fn coherent(&self, [from, to]: [usize; 2], q: [f64; 3]) -> f64 {
        let [a, b] = [from, to].map(|sample| self.mode(sample, q, |_| 1.0));
        (a[0] * b[0] + a[1] * b[1]) / COUNT as f64
    }

    fn four_point(&self, pair: [usize; 2], q: [f64; 3]) -> f64 {
        let stays = |i: usize| {
            let r2: f64 = self.moved(pair, i).iter().map(|d| d * d).sum();
            f64::from(u8::from(r2 < 0.36))
        };
        let [re, im] = self.mode(pair[0], q, stays);
        (re * re + im * im) / COUNT as f64
    }
}

/// Of pairs within a distance of the moment, of cages beside the flow, and of density modes across it.
#[test]
fn functions_of_pairs_in_a_flow_are_those_of_a_plain_evaluation() {
    for dimension in [2, 3] {
        let flow = Flow::new(dimension, 8);
        assert!(flow.boxes.windows(2).any(|boxes| boxes[1].tilt() < boxes[0].tilt()), "a flip");
        let plan = CorrelationPlan {
            observables: vec![
                DynamicObservable::BondBreaking,
                DynamicObservable::CageRelativeMeanSquareDisplacement,
                DynamicObservable::CoherentIntermediateScatteringFunction,
                DynamicObservable::FourPointStructureFactor,
            ],
            ..plan(1, 8, 1, &[1.8])
        };
        let mut results = Vec::new();
        let mut vectors = Vec::new();
        for part in for_engines(&plan) {
            let begin = || {
                let correlations = Correlations::new(&part, &flow.context).unwrap();
                correlations.beside(Some(flow.motion.clone()))
            };
            // Stopped in the middle.
            let (mut first, mut second) = (begin(), begin());
            flow.snapshots[..5].iter().for_each(|snapshot| first.sample(snapshot, None));
            let (state, arrays) = first.save(None);
            second.restore(&state, &arrays).unwrap();
            flow.snapshots[5..].iter().for_each(|snapshot| second.sample(snapshot, None));
            second.finish();
            let shells = second.layouts().into_iter().filter_map(|layout| layout.shells);
            vectors.extend(shells.map(|shells| shells.vectors[0].clone()));
            results.extend(second.results());
        }
        let vectors = &vectors[0];
        assert!(!vectors.is_empty() && vectors.iter().all(|q| q[0] == 0.0), "{vectors:?}");
        for lag in 0..8_usize {
            let mean = |of: &dyn Fn([usize; 2]) -> f64| {
                let pairs = (0..8 - lag).map(|origin| [origin, origin + lag]);
                pairs.map(of).sum::<f64>() / (8 - lag) as f64
            };
            let over_vectors = |of: &dyn Fn([f64; 3]) -> f64| {
                vectors.iter().map(|&q| of(q)).sum::<f64>() / vectors.len() as f64
            };
            for (name, expected) in [
                ("bond_breaking", mean(&|pair| flow.bonds(pair))),
                ("cage_relative_mean_square_displacement", mean(&|pair| flow.in_cages(pair))),
                (
                    "coherent_intermediate_scattering_function",
                    mean(&|pair| over_vectors(&|q| flow.coherent(pair, q))),
                ),
                (
                    "four_point_structure_factor",
                    mean(&|pair| over_vectors(&|q| flow.four_point(pair, q))),
                ),
            ] {
                let found = find(&results, &format!("all-particles/{name}")).value[lag];
                let same = (found - expected).abs() <= 1e-9 * (1.0 + expected.abs());
                assert!(same, "{dimension}, {name} [{lag}]: {found} {expected}");
            }
        }
        let breaking = find(&results, "all-particles/bond_breaking");
        assert!(breaking.value[7] < 0.9, "{:?}", breaking.value);
        let q2: Vec<f64> = vectors.iter().map(|q| q.iter().map(|q| q * q).sum()).collect();
        assert!(q2.iter().all(|q2| (q2.sqrt() / (TAU / 3.5) - 1.0).abs() < 0.3), "{q2:?}");
    }
}
