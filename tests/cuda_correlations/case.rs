//! A melted mixture, what is observed in it, and how.
use supercool::engine::cuda::device::gpus;
use supercool::engine::{self, Engine, ExactState, StageContext};
use supercool::initial;
use supercool::observable::{Correlations, Macroscopic, SampleContext, Series};
use supercool::plan::{
    CheckpointPlan, CorrelationPlan, DynamicObservable as D, EngineChoice, InitialPlan, Lattice,
    ObservePlan, OutputPlan, Plan, Precision, Ramp, RunPlan, StagePlan, SystemPlan, Thermostat,
    ThermostatPlan, VanHovePlan,
};
use supercool::potential::{PairParameters, PairPotential, PotentialPlan, Truncation};
use supercool::system::{SimulationBox, Species, species_of_particles};

pub fn gpu() -> bool {
    match gpus() {
        Ok(_) => true,
        Err(error) => {
            println!("skipped: {error}");
            false
        }
    }
}

pub const OBSERVABLES: [D; 10] = [
    D::MeanSquareDisplacement,
    D::MeanQuarticDisplacement,
    D::MeanDisplacement,
    D::NonGaussianParameter,
    D::VelocityAutocorrelation,
    D::SelfIntermediateScatteringFunction,
    D::SelfScatteringSusceptibility,
    D::SelfOverlap,
    D::SelfOverlapSusceptibility,
    D::SelfVanHoveFunction,
];

pub fn correlation(every: u64, block_size: usize, levels: usize) -> CorrelationPlan {
    CorrelationPlan {
        every,
        block_size,
        levels,
        level_ratio: None,
        wavenumbers: vec![1.0, 4.0, 7.25],
        vectors_per_shell: 24,
        overlap_length: 0.2,
        remove_drift: false,
        cage_radius: None,
        bonds: None,
        van_hove: VanHovePlan { maximum_distance: 1.0, bin_width: 0.1 },
        species: vec![0, 1],
        diameter_classes: None,
        origins: Vec::new(),
        observables: OBSERVABLES.to_vec(),
    }
}

/// A melted mixture and what is correlated in it.
pub struct Case {
    pub plan: Plan,
    pub state: ExactState,
    pub steps: u64,
    pub thermostat: Option<Thermostat>,
    pub correlations: Vec<CorrelationPlan>,
}

impl Case {
    pub fn new(dimension: usize, particles: usize, precision: Precision, steps: u64) -> Self {
        let pair = |epsilon: f64, sigma: f64| {
            PairParameters::of_epsilon_and_sigma(epsilon, sigma, 2.5 * sigma)
        };
        let (aa, ab, bb) = (pair(1.0, 1.0), pair(1.5, 0.8), pair(0.5, 0.88));
        let species = |name: &str, count, mass| Species { name: name.into(), count, mass };
        let correlations = vec![correlation(4, 5, 3)];
        let plan = Plan {
            system: SystemPlan {
                diameters: None,
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
                key_behind_file: None,
            },
            potential: PotentialPlan {
                diameters: None,
                form: PairPotential::LennardJones,
                truncation: Truncation::Shifted,
                pairs: vec![vec![aa, ab], vec![ab, bb]],
            },
            run: RunPlan {
                engine: EngineChoice::Cuda,
                precision,
                timestep: 0.004,
                flight: None,
                threads: None,
                skin: None,
                threads_per_particle: None,
                tune: false,
                sort_interval: 1,
                transport: Default::default(),
            },
            stages: vec![StagePlan {
                swap: None,
                barostat: None,
                shear: None,
                name: "production".into(),
                steps,
                timestep: None,
                minimize: None,
                rescale: None,
                strain: None,
                thermostat: None,
                set_total_energy: None,
                draw_velocities: false,
                observe: ObservePlan::nothing(),
                correlations: correlations.clone(),
                propensity: None,
            }],
            checkpoint: CheckpointPlan { minutes: f64::INFINITY },
            output: OutputPlan::default(),
            integrity: None,
            limits: Default::default(),
            ensemble: None,
        };
        let state = initial::create(&plan).expect("the initial state fits");
        let mut case = Case { plan, state, steps, thermostat: None, correlations };
        let mut melt = case.engine(EngineChoice::Cuda, &case.state);
        melt.draw_velocities(2.0, true).expect("velocities fit");
        melt.begin_stage(&StageContext {
            swap: None,
            barostat: None,
            shear: None,
            thermostat: thermostat(Some(Thermostat::Langevin { friction: 2.0 }), 2.0),
            first_step: 0,
            steps: 300,
        })
        .unwrap();
        melt.advance(300).expect("the melt runs");
        case.state = ExactState { memory: None, ..melt.export().expect("a state") };
        case
    }

    pub fn engine(&self, choice: EngineChoice, state: &ExactState) -> Box<dyn Engine> {
        let mut plan = self.plan.clone();
        plan.run.engine = choice;
        plan.stages[0].correlations = self.correlations.clone();
        engine::create(&plan, state).unwrap_or_else(|error| panic!("{choice:?}: {error}"))
    }

    pub fn context(&self) -> SampleContext {
        let system = &self.plan.system;
        SampleContext {
            in_flow: false,
            simulation_box: system.simulation_box,
            species: system.species.clone(),
            species_of: species_of_particles(&system.species),
            order: None,
            timestep: self.plan.run.timestep,
            stage_steps: self.steps,
        }
    }

    pub fn begin(&self, choice: EngineChoice, state: &ExactState) -> Box<dyn Engine> {
        let mut engine = self.engine(choice, state);
        engine
            .begin_stage(&StageContext {
                swap: None,
                barostat: None,
                shear: None,
                thermostat: thermostat(self.thermostat, 1.0),
                first_step: self.state.step,
                steps: self.steps,
            })
            .unwrap();
        engine
    }

    /// Correlations of samples that are copied to the host one by one.
    pub fn on_the_host(&self, choice: EngineChoice) -> Vec<Series> {
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

    pub fn all(&self) -> Vec<Correlations> {
        let context = self.context();
        self.correlations.iter().map(|plan| Correlations::new(plan, &context).unwrap()).collect()
    }

    /// The same by the GPU, in launches of these lengths over and over. At the steps of `stops` all goes through a
    /// checkpoint to an engine of that kind.
    pub fn by_the_gpu(&self, launches: &[u64], stops: &[(u64, EngineChoice)]) -> Vec<Series> {
        let mut engine = self.begin(EngineChoice::Cuda, &self.state);
        let mut all = self.all();
        hand_over(engine.as_mut(), &mut all);
        let mut launches = launches.iter().cycle();
        let mut stops = stops.iter().peekable();
        let mut done = 0;
        let mut on_gpu = true;
        while done < self.steps {
            let next = stops.peek().map_or(self.steps, |(step, _)| *step);
            let part = if on_gpu { *launches.next().unwrap() } else { 1 };
            let part = part.min(next - done);
            engine.advance(part).expect("the steps are taken");
            done += part;
            if on_gpu {
                collect(engine.as_mut(), &mut all);
            } else {
                sample(engine.as_mut(), &mut all, done);
            }
            if let Some((_, choice)) = stops.next_if(|(step, _)| *step == done) {
                let held = match engine.correlator().filter(|_| on_gpu) {
                    Some(correlator) => {
                        correlator.flush().expect("pairs are evaluated");
                        correlator.held().expect("samples are read").pop()
                    }
                    None => None,
                };
                if on_gpu {
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
                on_gpu = *choice == EngineChoice::Cuda;
                if on_gpu {
                    hand_over(engine.as_mut(), &mut all);
                }
            }
        }
        if on_gpu {
            engine.correlator().expect("a GPU").finish().expect("pairs are evaluated");
            collect(engine.as_mut(), &mut all);
        }
        all.iter_mut().for_each(Correlations::finish);
        all.iter().flat_map(Correlations::results).collect()
    }
}

pub fn thermostat(kind: Option<Thermostat>, temperature: f64) -> Option<ThermostatPlan> {
    kind.map(|kind| ThermostatPlan {
        kind,
        temperature: Ramp { from: temperature, to: temperature },
    })
}

/// Takes on the host what is due.
pub fn sample(engine: &mut dyn Engine, all: &mut [Correlations], step: u64) {
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

pub fn hand_over(engine: &mut dyn Engine, all: &mut [Correlations]) {
    let offloaded =
        all.iter_mut().map(|one| one.hand_over().expect("sums over particles")).collect();
    let correlator = engine.correlator().expect("a GPU");
    correlator.begin(vec![offloaded]).unwrap_or_else(|error| panic!("{error}"));
}

pub fn collect(engine: &mut dyn Engine, all: &mut [Correlations]) {
    for (index, pairs) in engine.correlator().expect("a GPU").evaluated() {
        for (_, pairs) in pairs.wait().expect("sums arrive") {
            all[index].add_evaluated(&pairs);
        }
    }
}

/// Equal to the rounding of 32-bit floats; a particle whose displacement is the overlap length to that rounding may
/// count or not.
pub fn assert_near(found: &[Series], expected: &[Series], particles: usize, what: &str) {
    assert_eq!(found.len(), expected.len());
    let mut worst = 0.0f64;
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!((&found.path, &found.count), (&expected.path, &expected.count), "{what}");
        let count = particles as f64;
        let bound = match found.path.rsplit('/').next().unwrap() {
            "self_overlap" | "collective_overlap" | "bond_breaking" => 1.0 / count,
            // The same for a neighbor at the cage radius.
            path if path.starts_with("cage_relative") => 1.0 / count,
            // Two particles in the smallest bin.
            "self_van_hove_function" => 1000.0 / count,
            "self_overlap_susceptibility"
            | "collective_overlap_susceptibility"
            | "bond_breaking_susceptibility" => 2.0,
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

pub fn bits(series: &[Series]) -> Vec<u64> {
    series
        .iter()
        .flat_map(|series| series.value.iter().chain(&series.error))
        .map(|x| x.to_bits())
        .collect()
}
