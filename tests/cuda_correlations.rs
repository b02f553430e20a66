//! Time correlations that a card evaluates, against those of the same samples on the host; without a card every test
//! says that it does nothing.
use supercool::engine::cuda::device::cards;
use supercool::engine::{self, Engine, ExactState, StageContext};
use supercool::initial;
use supercool::observable::{Correlations, Macroscopic, SampleContext, Series};
use supercool::plan::{
    CheckpointPlan, CorrelationPlan, DynamicObservable as D, EngineChoice, InitialPlan, Lattice,
    ObservePlan, OutputPlan, Plan, Precision, RunPlan, StagePlan, SystemPlan, TemperatureRamp,
    Thermostat, ThermostatPlan, VanHovePlan,
};
use supercool::potential::{PairParameters, PairPotential, PotentialPlan, Truncation};
use supercool::system::{SimulationBox, Species, species_of_particles};

fn card() -> bool {
    match cards() {
        Ok(_) => true,
        Err(error) => {
            println!("skipped: {error}");
            false
        }
    }
}

const OBSERVABLES: [D; 9] = [
    D::MeanSquareDisplacement,
    D::MeanQuarticDisplacement,
    D::NonGaussianParameter,
    D::VelocityAutocorrelation,
    D::SelfIntermediateScatteringFunction,
    D::SelfScatteringSusceptibility,
    D::SelfOverlap,
    D::SelfOverlapSusceptibility,
    D::SelfVanHoveFunction,
];

fn correlation(every: u64, block_size: usize, levels: usize) -> CorrelationPlan {
    CorrelationPlan {
        every,
        block_size,
        levels,
        wavenumbers: vec![1.0, 4.0, 7.25],
        vectors_per_shell: 24,
        overlap_length: 0.2,
        remove_drift: false,
        cage_radius: None,
        van_hove: VanHovePlan { maximum_distance: 1.0, bin_width: 0.1 },
        species: vec![0, 1],
        observables: OBSERVABLES.to_vec(),
    }
}

/// A melted mixture and what is correlated in it.
struct Case {
    plan: Plan,
    state: ExactState,
    steps: u64,
    thermostat: Option<Thermostat>,
    correlations: Vec<CorrelationPlan>,
}

impl Case {
    fn new(dimension: usize, particles: usize, precision: Precision, steps: u64) -> Self {
        let pair = |epsilon: f64, sigma: f64| PairParameters {
            epsilon,
            sigma,
            cutoff: 2.5 * sigma,
            kappa: 0.0,
        };
        let (aa, ab, bb) = (pair(1.0, 1.0), pair(1.5, 0.8), pair(0.5, 0.88));
        let species = |name: &str, count, mass| Species { name: name.into(), count, mass };
        let correlations = vec![correlation(4, 5, 3)];
        let plan = Plan {
            system: SystemPlan {
                simulation_box: SimulationBox::cubic(dimension, particles, 1.2),
                species: vec![
                    species("A", particles - particles / 3, 1.0),
                    species("B", particles / 3, 1.5),
                ],
                seed: 7,
                initial: InitialPlan::Lattice {
                    lattice: if dimension == 3 { Lattice::Fcc } else { Lattice::Hexagonal },
                    temperature: 1.0,
                },
            },
            potential: PotentialPlan {
                form: PairPotential::LennardJones,
                truncation: Truncation::Shifted,
                pairs: vec![vec![aa, ab], vec![ab, bb]],
            },
            run: RunPlan {
                engine: EngineChoice::Cuda,
                precision,
                timestep: 0.004,
                threads: None,
                skin: None,
                threads_per_particle: None,
                tune: false,
                sort_interval: 1,
            },
            stages: vec![StagePlan {
                name: "production".into(),
                steps,
                thermostat: None,
                set_total_energy: None,
                observe: ObservePlan::nothing(),
                correlations: correlations.clone(),
            }],
            checkpoint: CheckpointPlan { minutes: f64::INFINITY },
            output: OutputPlan { directory: Default::default() },
        };
        let state = initial::create(&plan).expect("the initial state fits");
        let mut case = Case { plan, state, steps, thermostat: None, correlations };
        let mut melt = case.engine(EngineChoice::Cuda, &case.state);
        melt.draw_velocities(2.0, true).expect("velocities fit");
        melt.begin_stage(&StageContext {
            thermostat: thermostat(Some(Thermostat::Langevin { friction: 2.0 }), 2.0),
            first_step: 0,
            steps: 300,
        });
        melt.advance(300).expect("the melt runs");
        case.state = ExactState { memory: None, ..melt.export().expect("a state") };
        case
    }

    fn engine(&self, choice: EngineChoice, state: &ExactState) -> Box<dyn Engine> {
        let mut plan = self.plan.clone();
        plan.run.engine = choice;
        plan.stages[0].correlations = self.correlations.clone();
        engine::create(&plan, state).unwrap_or_else(|error| panic!("{choice:?}: {error}"))
    }

    fn context(&self) -> SampleContext {
        let system = &self.plan.system;
        SampleContext {
            simulation_box: system.simulation_box,
            species: system.species.clone(),
            species_of: species_of_particles(&system.species),
            timestep: self.plan.run.timestep,
            stage_steps: self.steps,
        }
    }

    fn begin(&self, choice: EngineChoice, state: &ExactState) -> Box<dyn Engine> {
        let mut engine = self.engine(choice, state);
        engine.begin_stage(&StageContext {
            thermostat: thermostat(self.thermostat, 1.0),
            first_step: self.state.step,
            steps: self.steps,
        });
        engine
    }

    /// Correlations of samples that are copied to the host one by one.
    fn on_the_host(&self, choice: EngineChoice) -> Vec<Series> {
        let mut engine = self.begin(choice, &self.state);
        let mut all = self.all();
        for step in 0..=self.steps {
            sample(engine.as_mut(), &mut all, step);
            if step < self.steps {
                engine.advance(1).expect("a step");
            }
        }
        all.iter_mut().for_each(Correlations::finish);
        all.iter().flat_map(Correlations::results).collect()
    }

    fn all(&self) -> Vec<Correlations> {
        let context = self.context();
        self.correlations.iter().map(|plan| Correlations::new(plan, &context).unwrap()).collect()
    }

    /// The same by the card, in launches of these lengths over and over. At the steps of `stops` all goes through a
    /// checkpoint to an engine of that kind.
    fn by_the_card(&self, launches: &[u64], stops: &[(u64, EngineChoice)]) -> Vec<Series> {
        let mut engine = self.begin(EngineChoice::Cuda, &self.state);
        let mut all = self.all();
        hand_over(engine.as_mut(), &mut all);
        let mut launches = launches.iter().cycle();
        let mut stops = stops.iter().peekable();
        let mut done = 0;
        let mut on_card = true;
        while done < self.steps {
            let next = stops.peek().map_or(self.steps, |(step, _)| *step);
            let part = if on_card { *launches.next().unwrap() } else { 1 };
            let part = part.min(next - done);
            engine.advance(part).expect("the steps are taken");
            done += part;
            if on_card {
                collect(engine.as_mut(), &mut all);
            } else {
                sample(engine.as_mut(), &mut all, done);
            }
            if let Some((_, choice)) = stops.next_if(|(step, _)| *step == done) {
                let held = match engine.correlator().filter(|_| on_card) {
                    Some(correlator) => {
                        correlator.flush().expect("pairs are evaluated");
                        Some(correlator.held().expect("samples are read"))
                    }
                    None => None,
                };
                if on_card {
                    collect(engine.as_mut(), &mut all);
                }
                let saved: Vec<_> = all
                    .iter()
                    .enumerate()
                    .map(|(index, one)| {
                        one.save(held.as_ref().and_then(|held| held[index].as_ref()))
                    })
                    .collect();
                let state = engine.export().expect("a state");
                all = self.all();
                for (correlations, (state, arrays)) in all.iter_mut().zip(&saved) {
                    correlations.restore(state, arrays).expect("the state fits");
                }
                engine = self.begin(*choice, &state);
                on_card = *choice == EngineChoice::Cuda;
                if on_card {
                    hand_over(engine.as_mut(), &mut all);
                }
            }
        }
        if on_card {
            engine.correlator().expect("a card").finish().expect("pairs are evaluated");
            collect(engine.as_mut(), &mut all);
        }
        all.iter_mut().for_each(Correlations::finish);
        all.iter().flat_map(Correlations::results).collect()
    }
}

fn thermostat(kind: Option<Thermostat>, temperature: f64) -> Option<ThermostatPlan> {
    kind.map(|kind| ThermostatPlan {
        kind,
        temperature: TemperatureRamp { from: temperature, to: temperature },
    })
}

/// Takes on the host what is due.
fn sample(engine: &mut dyn Engine, all: &mut [Correlations], step: u64) {
    let mut due: Vec<_> = all.iter_mut().filter(|one| one.is_due(step)).collect();
    if due.is_empty() {
        return;
    }
    let snapshot = engine.snapshot().expect("a snapshot");
    let macroscopic = due.iter().any(|one| one.needs_stress()).then(|| {
        let row = engine.thermodynamics().expect("numbers fit");
        Macroscopic { stress: row.stress, temperature: row.temperature }
    });
    due.iter_mut().for_each(|one| one.sample(&snapshot, macroscopic.as_ref()));
}

fn hand_over(engine: &mut dyn Engine, all: &mut [Correlations]) {
    let handed_over =
        all.iter_mut().map(|one| one.hand_over().expect("sums over particles")).collect();
    let correlator = engine.correlator().expect("a card");
    correlator.begin(handed_over).unwrap_or_else(|error| panic!("{error}"));
}

fn collect(engine: &mut dyn Engine, all: &mut [Correlations]) {
    for (index, pairs) in engine.correlator().expect("a card").evaluated() {
        all[index].add_evaluated(&pairs.wait().expect("sums arrive"));
    }
}

/// Equal to the rounding of 32-bit floats; a particle whose displacement is the overlap length to that rounding may
/// count or not.
fn assert_near(found: &[Series], expected: &[Series], particles: usize, what: &str) {
    assert_eq!(found.len(), expected.len());
    let mut worst = 0.0f64;
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!((&found.path, &found.count), (&expected.path, &expected.count), "{what}");
        let count = particles as f64;
        let bound = match found.path.rsplit('/').next().unwrap() {
            "self_overlap" | "collective_overlap" => 1.0 / count,
            // The same for a neighbour at the cage radius.
            path if path.starts_with("cage_relative") => 1.0 / count,
            // Two particles in the smallest bin.
            "self_van_hove_function" => 1000.0 / count,
            "self_overlap_susceptibility" | "collective_overlap_susceptibility" => 2.0,
            // A small difference of numbers of order N.
            "self_scattering_susceptibility" => 1e-6 * count,
            "non_gaussian_parameter" => 1e-5,
            // Products of modes of order N^(1/2), each off by 1e-7 N^(1/2).
            "coherent_intermediate_scattering_function" => 3e-6,
            "stress_autocorrelation" | "shear_viscosity" => 1e-9,
            _ => 1e-6,
        };
        for index in 0..expected.value.len() {
            // Displacements over short times and their powers are small.
            let size = expected.value[index].abs();
            let scale = if found.path.contains("_displacement") { size } else { size.max(1.0) };
            let allowed = bound * scale.max(1e-6);
            for (found_value, expected) in [
                (found.value[index], expected.value[index]),
                (found.error[index], expected.error[index]),
            ] {
                if found_value.is_nan() && expected.is_nan() {
                    continue;
                }
                let off = (found_value - expected).abs();
                worst = worst.max(off / allowed);
                assert!(off <= allowed, "{what}, {}: {found_value:e}, {expected:e}", found.path);
            }
        }
    }
    println!("{what}: {} series, worst {worst:.2} of what is allowed", found.len());
}

fn bits(series: &[Series]) -> Vec<u64> {
    series
        .iter()
        .flat_map(|series| series.value.iter().chain(&series.error))
        .map(|x| x.to_bits())
        .collect()
}

#[test]
fn correlations_of_the_card_are_those_of_its_samples_in_every_precision() {
    if !card() {
        return;
    }
    for dimension in [2, 3] {
        for precision in Precision::ALL {
            let case = Case::new(dimension, 1000, precision, 400);
            let what = format!("{dimension}D, {}", precision.name());
            let expected = case.on_the_host(EngineChoice::Cuda);
            assert_near(&case.by_the_card(&[400], &[]), &expected, 1000, &what);
        }
    }
}

fn coherent(every: u64, block_size: usize, levels: usize) -> CorrelationPlan {
    CorrelationPlan {
        observables: vec![D::CoherentIntermediateScatteringFunction],
        ..correlation(every, block_size, levels)
    }
}

#[test]
fn density_modes_of_the_card_are_those_of_its_samples() {
    if !card() {
        return;
    }
    for dimension in [2, 3] {
        for precision in [Precision::FixedPoint, Precision::DoubleSingle] {
            // With more particles than a chunk of one species.
            let mut case = Case::new(dimension, 4000, precision, 200);
            case.correlations = vec![coherent(4, 5, 2), correlation(8, 4, 2)];
            let what = format!("{dimension}D, {}", precision.name());
            let expected = case.on_the_host(EngineChoice::Cuda);
            let found = case.by_the_card(&[200], &[]);
            assert_near(&found, &expected, 4000, &what);
            let stops = [(50, EngineChoice::Cuda), (101, EngineChoice::Cuda)];
            assert!(bits(&case.by_the_card(&[33], &stops)) == bits(&found), "{what}");
        }
    }
}

#[test]
fn density_modes_are_relative_to_the_centre_of_mass_where_drift_is_removed() {
    if !card() {
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
        let found = case.by_the_card(&[200], &[]);
        assert_near(&found, &expected, 4000, &what);
        let stops = [(50, EngineChoice::Cuda), (101, EngineChoice::Cpu), (130, EngineChoice::Cuda)];
        assert_near(&case.by_the_card(&[33], &stops), &expected, 4000, &what);
    }
}

fn places(every: u64, block_size: usize, levels: usize) -> CorrelationPlan {
    CorrelationPlan {
        observables: vec![D::CollectiveOverlap, D::CollectiveOverlapSusceptibility],
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
fn places_and_cages_on_the_card_are_those_of_its_samples() {
    if !card() {
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
            CorrelationPlan { overlap_length: 0.9, ..places(20, 3, 2) },
            // Some have no neighbours.
            drift(CorrelationPlan { cage_radius: Some(0.85), ..cages(20, 3, 2) }),
            correlation(10, 4, 2),
        ];
        let what = format!("{dimension}D");
        let expected = case.on_the_host(EngineChoice::Cpu);
        let found = case.by_the_card(&[300], &[]);
        assert_near(&found, &expected, particles, &what);
        for launches in [&[1][..], &[7, 50, 3]] {
            assert!(bits(&case.by_the_card(launches, &[])) == bits(&found), "{launches:?}");
        }
        let cuda = EngineChoice::Cuda;
        let stops = [(4, cuda), (77, cuda), (250, cuda)];
        assert!(bits(&case.by_the_card(&[90], &stops)) == bits(&found), "{what}: with stops");
        let stops = [(90, EngineChoice::Cpu), (203, EngineChoice::Cuda)];
        assert_near(&case.by_the_card(&[60], &stops), &expected, particles, &what);
    }
}

/// Blocks with more pairs than a round has room for.
#[test]
fn pairs_in_cages_go_through_as_many_rounds_as_they_need() {
    if !card() {
        return;
    }
    let mut case = Case::new(2, 400, Precision::FixedPoint, 900);
    case.correlations = vec![cages(3, 100, 1), places(3, 150, 1)];
    let expected = case.on_the_host(EngineChoice::Cpu);
    assert_near(&case.by_the_card(&[900], &[]), &expected, 400, "rounds");
}

fn stress(every: u64, block_size: usize, levels: usize) -> CorrelationPlan {
    CorrelationPlan {
        observables: vec![D::StressAutocorrelation, D::ShearViscosity],
        ..correlation(every, block_size, levels)
    }
}

/// Its sums are those of integers.
#[test]
fn fixed_point_gives_the_stress_of_the_cpu_to_the_bit() {
    if !card() {
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
            let is_wanted = |one: &Series| one.path.starts_with("all-particles/s");
            series.into_iter().filter(is_wanted).collect()
        };
        let what = format!("{dimension}D, {thermostat:?}");
        let expected = of_stress(case.on_the_host(EngineChoice::Cpu));
        assert_eq!(expected.len(), 4, "{what}");
        let found = of_stress(case.by_the_card(&[250], &[]));
        assert!(bits(&found) == bits(&expected), "{what}: {found:?}, expected {expected:?}");
        let stops = [(50, EngineChoice::Cuda), (101, EngineChoice::Cpu), (130, EngineChoice::Cuda)];
        let found = of_stress(case.by_the_card(&[33, 7], &stops));
        assert!(bits(&found) == bits(&expected), "{what}, with stops");
    }
}

#[test]
fn the_stress_of_the_card_is_that_of_its_samples_in_every_precision() {
    if !card() {
        return;
    }
    for precision in Precision::ALL {
        for threads in [1, 8, 32] {
            let mut case = Case::new(3, 1000, precision, 200);
            case.plan.run.threads_per_particle = Some(threads);
            case.correlations = vec![stress(5, 5, 2)];
            let what = format!("{}, {threads} threads", precision.name());
            let expected = case.on_the_host(EngineChoice::Cuda);
            assert_near(&case.by_the_card(&[200], &[]), &expected, 1000, &what);
        }
    }
}

/// Neither positions nor velocities nor the heat of a thermostat.
#[test]
fn summing_up_the_stress_leaves_the_trajectory_alone() {
    if !card() {
        return;
    }
    for precision in Precision::ALL {
        for thermostat in [None, Some(Thermostat::Langevin { friction: 2.0 })] {
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

/// More samples of the stress than lie on the card together.
#[test]
fn launches_are_cut_where_the_room_for_stresses_ends() {
    if !card() {
        return;
    }
    let mut case = Case::new(3, 500, Precision::FixedPoint, 3000);
    case.correlations = vec![stress(1, 10, 3), stress(2, 10, 3)];
    let expected = case.on_the_host(EngineChoice::Cpu);
    assert!(bits(&case.by_the_card(&[3000], &[])) == bits(&expected), "3001 samples");
}

#[test]
fn fixed_point_gives_the_correlations_of_the_cpu() {
    if !card() {
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
    assert_near(&case.by_the_card(&[600], &[]), &expected, 2000, "one launch");
}

/// Neither launches nor checkpoints nor the threads of the steps change a bit.
#[test]
fn launches_and_checkpoints_leave_the_bits_alone() {
    if !card() {
        return;
    }
    let mut case = Case::new(3, 1500, Precision::FixedPoint, 500);
    case.correlations.push(CorrelationPlan { remove_drift: true, ..correlation(6, 4, 4) });
    let expected = bits(&case.by_the_card(&[500], &[]));
    for launches in [&[1][..], &[7, 50, 3], &[64]] {
        assert!(bits(&case.by_the_card(launches, &[])) == expected, "{launches:?}");
    }
    let cuda = EngineChoice::Cuda;
    for stops in [&[(250, cuda)][..], &[(4, cuda), (77, cuda), (499, cuda)]] {
        assert!(bits(&case.by_the_card(&[90], stops)) == expected, "{stops:?}");
    }
    for threads in [1, 8] {
        case.plan.run.threads_per_particle = Some(threads);
        assert!(bits(&case.by_the_card(&[500], &[])) == expected, "{threads} threads");
    }
}

#[test]
fn a_run_goes_on_on_a_cpu_and_back() {
    if !card() {
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
    assert_near(&case.by_the_card(&[60], &stops), &expected, 1000, "CPU and back");
}

#[test]
fn samples_have_the_velocities_after_every_thermostat() {
    if !card() {
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
        assert_near(&case.by_the_card(&[70], &[]), &expected, 500, &format!("{thermostat:?}"));
    }
}

/// More samples than a batch holds, and lists that have to grow.
#[test]
fn long_launches_are_cut_where_the_room_for_samples_ends() {
    if !card() {
        return;
    }
    let mut case = Case::new(3, 500, Precision::FixedPoint, 3000);
    case.correlations = vec![correlation(2, 10, 3)];
    let expected = case.on_the_host(EngineChoice::Cpu);
    assert_near(&case.by_the_card(&[3000], &[]), &expected, 500, "1501 samples");
}

#[test]
fn blocks_that_do_not_fit_the_card_are_an_error_with_numbers() {
    if !card() {
        return;
    }
    let mut case = Case::new(3, 250_000, Precision::FixedPoint, 1_000_000_000_000);
    case.correlations = vec![correlation(1, 10_000, 300)];
    let mut all = case.all();
    let mut engine = case.begin(EngineChoice::Cuda, &case.state);
    let handed_over = all.iter_mut().map(|one| one.hand_over().unwrap()).collect();
    let error = engine.correlator().unwrap().begin(handed_over).unwrap_err().to_string();
    for part in ["samples of 250000 particles", "GiB on the card", "are free"] {
        assert!(error.contains(part), "{error}");
    }
}
