//! The CUDA engine against the CPU engine, on a machine with a GPU; elsewhere every test says that it
//! does nothing.
use supercool::engine::cuda::device::gpus;
use supercool::engine::domain::Ranks;
use supercool::engine::{self, Engine, ExactState, ParticleQuantity, StageContext, Thermodynamics};
use supercool::initial;
use supercool::plan::{
    BarostatKind, BarostatPlan, CheckpointPlan, Coupling, EngineChoice, EnsembleKind, EnsemblePlan,
    InitialPlan, Lattice, OutputPlan, Plan, Precision, Ramp, RunPlan, SystemPlan, Thermostat,
    ThermostatPlan,
};
use supercool::potential::{
    KAPPA, PairParameters, PairPotential, PotentialPlan, SIGMA, Truncation,
};
use supercool::system::{SimulationBox, Species};

/// False, with a word, where there is no GPU.
fn gpu() -> bool {
    match gpus() {
        Ok(_) => true,
        Err(error) => {
            println!("skipped: {error}");
            false
        }
    }
}

fn pair(epsilon: f64, sigma: f64) -> PairParameters {
    PairParameters::of_epsilon_and_sigma(epsilon, sigma, 2.5 * sigma)
}

/// Kob-Andersen mixture, 80:20 in three and 65:35 in two dimensions.
fn mixture(dimension: usize, particles: usize, precision: Precision) -> Plan {
    let b = if dimension == 3 { particles / 5 } else { particles * 35 / 100 };
    let (aa, ab, bb) = (pair(1.0, 1.0), pair(1.5, 0.8), pair(0.5, 0.88));
    let lattice = if dimension == 3 { Lattice::Fcc } else { Lattice::Hexagonal };
    Plan {
        system: SystemPlan {
            diameters: None,
            simulation_box: SimulationBox::cubic(dimension, particles, 1.2),
            species: vec![
                Species { name: "A".into(), count: particles - b, mass: 1.0 },
                Species { name: "B".into(), count: b, mass: 1.0 },
            ],
            seed: 7,
            initial: InitialPlan::Lattice { lattice, temperature: 1.0 },
            key_behind_file: None,
        },
        potential: PotentialPlan {
            diameters: None,
            form: PairPotential::LennardJones,
            truncation: Truncation::Shifted,
            pairs: vec![vec![aa, ab], vec![ab, bb]],
        },
        run: RunPlan {
            engine: EngineChoice::Cpu,
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
        stages: Vec::new(),
        checkpoint: CheckpointPlan { minutes: f64::INFINITY },
        output: OutputPlan::default(),
        integrity: None,
        limits: Default::default(),
        ensemble: None,
    }
}

fn engine_of(plan: &Plan, choice: EngineChoice, state: &ExactState) -> Box<dyn Engine> {
    let mut plan = plan.clone();
    plan.run.engine = choice;
    engine::create(&plan, state).unwrap_or_else(|error| panic!("{choice:?}: {error}"))
}

fn stage(engine: &dyn Engine, thermostat: Option<Thermostat>, temperature: f64) -> StageContext {
    StageContext {
        swap: None,
        barostat: None,
        shear: None,
        thermostat: thermostat.map(|kind| ThermostatPlan {
            kind,
            temperature: Ramp { from: temperature, to: 0.9 * temperature },
        }),
        first_step: engine.step(),
        steps: 1000,
    }
}

/// A melt of the plan's lattice: 200 steps with Langevin's thermostat, then some with `thermostat`.
fn history(
    plan: &Plan,
    choice: EngineChoice,
    thermostat: Option<Thermostat>,
    steps: u64,
) -> (ExactState, Thermodynamics) {
    let state = initial::create(plan).expect("the initial state fits");
    let mut engine = engine_of(plan, choice, &state);
    engine.draw_velocities(2.0, true).expect("velocities fit");
    let melt = stage(engine.as_ref(), Some(Thermostat::Langevin { friction: 2.0 }), 2.0);
    engine.begin_stage(&melt).unwrap();
    engine.advance(200).expect("the melt runs");
    let next = stage(engine.as_ref(), thermostat, 1.0);
    engine.begin_stage(&next).unwrap();
    engine.advance(steps).expect("the steps are taken");
    let thermodynamics = engine.thermodynamics().expect("numbers fit");
    println!("{:?}", engine.report());
    (engine.export().unwrap(), thermodynamics)
}

fn assert_same_bits(plan: &Plan, thermostat: Option<Thermostat>, steps: u64) {
    let (cpu, cpu_thermodynamics) = history(plan, EngineChoice::Cpu, thermostat, steps);
    let (cuda, cuda_thermodynamics) = history(plan, EngineChoice::Cuda, thermostat, steps);
    let differing = (0..cpu.position.len())
        .filter(|&i| cpu.position[i] != cuda.position[i] || cpu.velocity[i] != cuda.velocity[i])
        .count();
    assert_eq!(differing, 0, "particles that differ of {}", cpu.position.len());
    assert_eq!(cpu.hash(), cuda.hash());
    assert_eq!(cpu.thermostat, cuda.thermostat);
    assert_eq!(cpu_thermodynamics, cuda_thermodynamics);
}

/// A trajectory of the Kob-Andersen mixture that was melted and then left alone, and the hash of where it ended:
/// fixed for good, on any processor and any GPU.
struct Record {
    dimension: usize,
    particles: usize,
    steps: u64,
    hash: &'static str,
}

const RECORDS: [Record; 6] = [
    Record {
        dimension: 3,
        particles: 300,
        steps: 300,
        hash: "d8c772fcabc646d640bfc7b83098e684676b66239baf9af7752ce044410d1f6a",
    },
    Record {
        dimension: 3,
        particles: 1000,
        steps: 10_000,
        hash: "90c7e85625946b2c246308fd6101fb4e184bfcf13fafdc9ca01db78a30be5032",
    },
    Record {
        dimension: 3,
        particles: 4000,
        steps: 10_000,
        hash: "73ba4e3bce29636de7e78a974a84b33b8b47f714d7f190a805dd23e6c6b3b719",
    },
    Record {
        dimension: 2,
        particles: 1000,
        steps: 10_000,
        hash: "d24938294dbb1f91def7600dad6638f0fb7b3ed7a7d3c25dc20903fd2b6cfbdc",
    },
    Record {
        dimension: 3,
        particles: 50_000,
        steps: 10_000,
        hash: "95b16d43e599c239f378a8911cc236cf6357caa095227a99f05b6e975348ff37",
    },
    Record {
        dimension: 3,
        particles: 256_000,
        steps: 1000,
        hash: "03cf2c93dd1f86fa0bd50f9bf12fa251df40fbc9d85e18367fabe08aece13f68",
    },
];

impl Record {
    fn plan(&self) -> Plan {
        mixture(self.dimension, self.particles, Precision::FixedPoint)
    }

    /// Hash of positions, velocities, energies and stress at the end.
    fn found(&self, plan: &Plan, choice: EngineChoice) -> String {
        let (state, measured) = history(plan, choice, None, self.steps);
        let mut hasher = blake3::Hasher::new();
        hasher.update(state.hash().as_bytes());
        let energies = [measured.potential_energy, measured.kinetic_energy];
        for number in energies.iter().chain(measured.stress.as_flattened()) {
            hasher.update(&number.to_le_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    fn name(&self) -> String {
        format!("{} particles, {}D, {} steps", self.particles, self.dimension, self.steps)
    }
}

#[test]
fn the_cpu_finds_the_trajectories_of_record() {
    the_cpu_finds(RECORDS.iter().filter(|record| record.particles <= 4000));
}

#[test]
#[ignore = "takes minutes on two cores"]
fn the_cpu_finds_the_long_trajectories_of_record() {
    the_cpu_finds(RECORDS.iter().filter(|record| record.particles > 4000));
}

fn the_cpu_finds<'a>(records: impl Iterator<Item = &'a Record>) {
    let named = |record: &Record, hash: &str| format!("{}: {hash}", record.name());
    let (found, expected): (Vec<_>, Vec<_>) = records
        .map(|record| {
            let found = record.found(&record.plan(), EngineChoice::Cpu);
            (named(record, &found), named(record, record.hash))
        })
        .unzip();
    assert_eq!(found, expected);
}

/// With the engine's choices and with others.
#[test]
fn a_gpu_finds_the_trajectories_of_record() {
    if !gpu() {
        return;
    }
    for record in &RECORDS {
        let mut choices = vec![(None, None), (Some(0.3), Some(1)), (Some(0.6), Some(2))];
        if record.particles <= 50_000 {
            choices.extend([(Some(0.45), Some(4)), (None, Some(8))]);
        }
        if record.particles <= 4000 {
            choices.extend([(Some(0.9), Some(16)), (None, Some(32))]);
        }
        for (skin, threads_per_particle) in choices {
            let mut plan = record.plan();
            plan.run.skin = skin;
            plan.run.threads_per_particle = threads_per_particle;
            let found = record.found(&plan, EngineChoice::Cuda);
            let name = record.name();
            assert_eq!(
                found, record.hash,
                "{name}, skin {skin:?}, {threads_per_particle:?} threads"
            );
        }
    }
}

#[test]
fn fixed_point_gives_the_bits_of_the_cpu() {
    if !gpu() {
        return;
    }
    for particles in [1000, 4000] {
        let plan = mixture(3, particles, Precision::FixedPoint);
        assert_same_bits(&plan, None, 1000);
    }
}

#[test]
fn two_dimensions_give_the_bits_of_the_cpu() {
    if gpu() {
        assert_same_bits(&mixture(2, 1000, Precision::FixedPoint), None, 1000);
    }
}

#[test]
fn every_thermostat_gives_the_bits_of_the_cpu() {
    if !gpu() {
        return;
    }
    let plan = mixture(3, 500, Precision::FixedPoint);
    for thermostat in [
        Thermostat::Langevin { friction: 1.0 },
        Thermostat::NoseHoover { period: 0.5, chain_length: 3 },
        Thermostat::Bussi { time: 0.2 },
        Thermostat::Isokinetic,
        Thermostat::Andersen { rate: 5.0, exact: false },
        Thermostat::Andersen { rate: 5.0, exact: true },
    ] {
        println!("{thermostat:?}");
        assert_same_bits(&plan, Some(thermostat), 300);
    }
}

/// Where nothing of the total momentum is subtracted by units, in two dimensions, at every step, and with lists that are
/// rebuilt at collisions.
#[test]
fn collisions_within_launches_give_the_bits_of_the_cpu() {
    if !gpu() {
        return;
    }
    for (dimension, rate, exact) in [(3, 1e9, true), (2, 5.0, true), (2, 25.0, false)] {
        for mass in [1.0, 2.5] {
            let mut plan = mixture(dimension, 1300, Precision::FixedPoint);
            plan.system.species[1].mass = mass;
            plan.run.skin = Some(0.15);
            println!("{dimension}D, {rate}, {exact}, {mass}");
            assert_same_bits(&plan, Some(Thermostat::Andersen { rate, exact }), 250);
        }
    }
    // The same in launches of any length, and in every precision.
    for precision in Precision::ALL {
        let plan = mixture(3, 1000, precision);
        let state = initial::create(&plan).expect("the initial state fits");
        let run = |launches: &[u64]| {
            let mut engine = engine_of(&plan, EngineChoice::Cuda, &state);
            let andersen = Thermostat::Andersen { rate: 5.0, exact: true };
            let context = stage(engine.as_ref(), Some(andersen), 1.5);
            engine.begin_stage(&context).unwrap();
            launches.iter().for_each(|&steps| engine.advance(steps).expect("steps are taken"));
            let state = engine.export().expect("a state");
            (state.position, state.velocity, state.thermostat)
        };
        let expected = run(&[260]);
        for launches in [&[50, 100, 110][..], &[49, 1, 1, 150, 59]] {
            assert!(run(launches) == expected, "{}, {launches:?}", precision.name());
        }
    }
}

#[test]
fn every_potential_and_truncation_gives_the_bits_of_the_cpu() {
    if !gpu() {
        return;
    }
    let smooth = Truncation::Smooth { width: 0.005 };
    for (form, truncation) in [
        (PairPotential::LennardJones, Truncation::Sharp),
        (PairPotential::LennardJones, Truncation::ForceShifted),
        (PairPotential::LennardJones, Truncation::EvenQuartic),
        (PairPotential::LennardJones, smooth),
        (PairPotential::Mie { m: 12, n: 6 }, Truncation::Shifted),
        (PairPotential::Mie { m: 11, n: 7 }, smooth),
        (PairPotential::InversePower { n: 12 }, Truncation::ForceShifted),
        (PairPotential::InversePower { n: 15 }, Truncation::Shifted),
        (PairPotential::InversePower { n: 12 }, Truncation::EvenQuartic),
        (PairPotential::HarmonicSpheres, Truncation::Shifted),
        (PairPotential::Dzugutov, Truncation::Sharp),
        (PairPotential::Yukawa, smooth),
        (PairPotential::GaussianCore, Truncation::Shifted),
    ] {
        println!("{form:?} {truncation:?}");
        let mut plan = mixture(3, 500, Precision::FixedPoint);
        plan.potential.form = form;
        plan.potential.truncation = truncation;
        for pair in plan.potential.pairs.iter_mut().flatten() {
            if form == PairPotential::Yukawa {
                *pair = pair.with(&KAPPA, 3.0);
            }
            if form == PairPotential::HarmonicSpheres {
                pair.cutoff = pair.of(&SIGMA);
            }
            if form == PairPotential::Dzugutov {
                pair.cutoff = 1.94 * pair.of(&SIGMA);
            }
        }
        assert_same_bits(&plan, None, 200);
    }
}

#[test]
fn unequal_masses_three_species_and_an_odd_box_give_the_bits_of_the_cpu() {
    if !gpu() {
        return;
    }
    let mut plan = mixture(3, 600, Precision::FixedPoint);
    plan.system.simulation_box = SimulationBox::new(&[6.0, 8.0, 600.0 / 48.0]);
    plan.system.species = vec![
        Species { name: "A".into(), count: 300, mass: 1.0 },
        Species { name: "B".into(), count: 200, mass: 1.7 },
        Species { name: "C".into(), count: 100, mass: 0.3 },
    ];
    let (aa, ab, bb) = (pair(1.0, 1.0), pair(1.5, 0.8), pair(0.5, 0.88));
    plan.potential.pairs = vec![vec![aa, ab, ab], vec![ab, bb, ab], vec![ab, ab, aa]];
    assert_same_bits(&plan, None, 300);
    assert_same_bits(&plan, Some(Thermostat::NoseHoover { period: 0.5, chain_length: 1 }), 100);
    plan.potential.truncation = Truncation::Smooth { width: 0.005 };
    assert_same_bits(&plan, None, 300);
}

#[test]
fn skin_and_thread_counts_leave_the_bits_alone() {
    if !gpu() {
        return;
    }
    let mut plan = mixture(3, 2000, Precision::FixedPoint);
    let (expected, _) = history(&plan, EngineChoice::Cpu, None, 300);
    for skin in [0.2, 0.45, 0.9] {
        plan.run.skin = Some(skin);
        let (found, _) = history(&plan, EngineChoice::Cuda, None, 300);
        assert_eq!(found.hash(), expected.hash(), "skin {skin}");
    }
}

/// Timing the choices at the start of a stage puts the state back to the bit.
#[test]
fn tuning_leaves_the_state_alone() {
    if !gpu() {
        return;
    }
    for precision in [Precision::FixedPoint, Precision::DoubleSingle] {
        let mut plan = mixture(3, 2000, precision);
        plan.run.engine = EngineChoice::Cuda;
        let state = initial::create(&plan).expect("the initial state fits");
        for thermostat in [None, Some(Thermostat::NoseHoover { period: 0.5, chain_length: 3 })] {
            plan.run.tune = true;
            let mut engine = engine::create(&plan, &state).expect("an engine");
            // Not the thermostat's: a chain would do nothing in its first half step.
            engine.draw_velocities(1.3, true).expect("velocities fit");
            let before = engine.export().expect("a state");
            let mut long = stage(engine.as_ref(), thermostat, 1.0);
            long.steps = u64::MAX;
            engine.begin_stage(&long).unwrap();
            let after = engine.export().expect("a state");
            assert_eq!(after.hash(), before.hash());
            assert_eq!(after.thermostat.heat, before.thermostat.heat);
            let trials = engine.report().execution.trials.map_or(0, |trials| trials.len());
            assert!(trials > 2, "{trials} trials");
            engine.advance(100).expect("the steps are taken");
            // The same choice without timing gives the same bits.
            let memory = after.memory.expect("a layout");
            plan.run.tune = false;
            plan.run.skin = Some(memory.skin);
            plan.run.threads_per_particle = memory.threads_per_particle;
            let mut again = engine_of(&plan, EngineChoice::Cuda, &after_without_layout(&before));
            again.begin_stage(&long).unwrap();
            again.advance(100).expect("the steps are taken");
            assert_eq!(
                again.export().expect("a state").hash(),
                engine.export().expect("a state").hash(),
                "{}",
                precision.name()
            );
            plan.run.skin = None;
            plan.run.threads_per_particle = None;
        }
    }
}

fn after_without_layout(state: &ExactState) -> ExactState {
    ExactState { memory: None, ..state.clone() }
}

#[test]
fn a_checkpoint_moves_between_engines() {
    if !gpu() {
        return;
    }
    let plan = mixture(3, 1000, Precision::FixedPoint);
    let (expected, _) = history(&plan, EngineChoice::Cpu, None, 300);
    let (mut state, _) = history(&plan, EngineChoice::Cuda, None, 100);
    for choice in [EngineChoice::Cpu, EngineChoice::Cuda] {
        let mut engine = engine_of(&plan, choice, &state);
        engine.advance(100).expect("the steps are taken");
        state = engine.export().unwrap();
    }
    assert_eq!(state.hash(), expected.hash());
}

/// Restarting in every precision gives the bits of the run without a break.
#[test]
fn a_restart_on_the_gpu_gives_the_same_bits() {
    if !gpu() {
        return;
    }
    for precision in Precision::ALL {
        let plan = mixture(3, 1000, precision);
        let (expected, _) = history(&plan, EngineChoice::Cuda, None, 230);
        let (state, _) = history(&plan, EngineChoice::Cuda, None, 117);
        let mut engine = engine_of(&plan, EngineChoice::Cuda, &state);
        engine.advance(113).expect("the steps are taken");
        assert_eq!(engine.export().unwrap().hash(), expected.hash(), "{}", precision.name());
    }
}

/// Forces of all precisions from the same positions agree with `double` to the rounding of their sites and sums.
#[test]
fn forces_agree_with_double_on_the_cpu() {
    if !gpu() {
        return;
    }
    let plan = mixture(3, 1000, Precision::FixedPoint);
    let (melt, _) = history(&plan, EngineChoice::Cpu, None, 100);
    let snapshot = engine_of(&plan, EngineChoice::Cpu, &melt).snapshot().unwrap();
    let forces = |precision: Precision, choice| {
        let plan = mixture(3, 1000, precision);
        let state = ExactState::from_snapshot(
            &snapshot,
            melt.species_of.clone(),
            melt.simulation_box,
            0.004,
            precision,
            &plan.system.species,
        );
        engine_of(&plan, choice, &state.expect("the state fits")).forces().unwrap()
    };
    let exact = forces(Precision::Double, EngineChoice::Cpu);
    let scale = exact.iter().flatten().fold(0.0f64, |largest, f| largest.max(f.abs()));
    for (precision, bound) in [
        (Precision::Double, 1e-13),
        // Both sites of a pair are off by up to 2^-24 of the edge (9.4), and a stiff pair force changes by some 3e3 a unit length.
        (Precision::Single, 2e-5),
        (Precision::DoubleSingle, 1e-5),
        (Precision::FixedPoint, 1e-6),
    ] {
        let found = forces(precision, EngineChoice::Cuda);
        let worst = found
            .iter()
            .flatten()
            .zip(exact.iter().flatten())
            .fold(0.0f64, |worst, (a, b)| worst.max((a - b).abs()));
        println!("{}: {:.2e}", precision.name(), worst / scale);
        assert!(worst < bound * scale, "{}: {worst} of {scale}", precision.name());
    }
}

#[test]
fn a_pair_too_close_is_named() {
    if !gpu() {
        return;
    }
    let plan = mixture(3, 500, Precision::FixedPoint);
    let mut state = initial::create(&plan).expect("the initial state fits");
    state.position[11] = state.position[5];
    state.position[11][0] += 1 << 50;
    let error = |choice: EngineChoice| {
        let mut plan = plan.clone();
        plan.run.engine = choice;
        engine::create(&plan, &state).err().map(|error| error.to_string())
    };
    let found = error(EngineChoice::Cuda);
    assert!(found.as_ref().is_some_and(|text| text.contains("particles 5 and 11")), "{found:?}");
    assert_eq!(found, error(EngineChoice::Cpu));
}

/// Copies are of the moment at which they were begun, however many are under way, in whatever order and
/// on whatever thread they are waited for.
#[test]
fn copies_are_of_their_moment_while_steps_run() {
    if !gpu() {
        return;
    }
    for (dimension, precision) in [2, 3].into_iter().flat_map(|d| Precision::ALL.map(|p| (d, p))) {
        let plan = mixture(dimension, 3000, precision);
        let (state, _) = history(&plan, EngineChoice::Cuda, None, 50);
        let mut engine = engine_of(&plan, EngineChoice::Cuda, &state);
        let mut begun = Vec::new();
        for _ in 0..6 {
            let now = (engine.export().unwrap(), engine.snapshot().unwrap());
            let copies = (engine.begin_export().unwrap(), engine.begin_snapshot().unwrap());
            // A copy that nobody waits for.
            drop(engine.begin_snapshot().unwrap());
            engine.advance(40).expect("the steps are taken");
            begun.push((now, copies));
        }
        // The engine may end before its copies are taken.
        drop(engine);
        let waiting = std::thread::spawn(move || {
            for ((state, snapshot), (later_state, later_snapshot)) in begun.into_iter().rev() {
                assert!(later_snapshot.wait().unwrap() == snapshot, "{dimension}, {precision:?}");
                assert!(later_state.wait().unwrap() == state, "{dimension}, {precision:?}");
            }
        });
        waiting.join().expect("the copies are right");
    }
}

/// Arrays that stay on the GPU have the bits of the copies, and are of their moment.
#[test]
fn arrays_on_the_device_have_the_bits_of_the_copies() {
    if !gpu() {
        return;
    }
    for (dimension, particles) in [(2, 300), (3, 1000), (3, 6000)] {
        for precision in Precision::ALL {
            let plan = mixture(dimension, particles, precision);
            let (state, _) = history(&plan, EngineChoice::Cuda, None, 300);
            let mut engine = engine_of(&plan, EngineChoice::Cuda, &state);
            let of = |rows: Vec<[f64; 3]>| -> Vec<u8> {
                let numbers = rows.iter().flat_map(|row| &row[..dimension]);
                numbers.flat_map(|number| number.to_ne_bytes()).collect()
            };
            let snapshot = engine.snapshot().unwrap();
            let unwrapped = (0..particles)
                .map(|id| snapshot.unwrapped(id, &plan.system.simulation_box))
                .collect();
            let images = snapshot.image.iter().flat_map(|row| &row[..dimension]);
            let images: Vec<u8> = images.flat_map(|image| image.to_ne_bytes()).collect();
            assert!(images.iter().any(|&byte| byte != 0), "some particle has crossed the boundary");
            let expected = [
                (ParticleQuantity::Position, of(snapshot.position)),
                (ParticleQuantity::Unwrapped, of(unwrapped)),
                (ParticleQuantity::Image, images),
                (ParticleQuantity::Velocity, of(snapshot.velocity)),
                (ParticleQuantity::Force, of(engine.forces().unwrap())),
            ];
            let arrays = expected.each_ref().map(|(quantity, _)| {
                engine.device_array(*quantity).unwrap().expect("the engine has a GPU")
            });
            engine.advance(50).expect("the steps are taken");
            // An array may outlive its engine.
            drop(engine);
            for (array, (quantity, bytes)) in arrays.iter().zip(&expected) {
                assert_eq!(array.shape(), [particles, dimension]);
                let what = format!("{dimension}D, {particles}, {precision:?}, {quantity:?}");
                assert!(array.bytes().unwrap() == *bytes, "{what}");
            }
        }
    }
}

/// Copying frames out changes no trajectory.
#[test]
fn copies_leave_the_bits_alone() {
    if !gpu() {
        return;
    }
    let plan = mixture(3, 4000, Precision::FixedPoint);
    let (state, _) = history(&plan, EngineChoice::Cuda, None, 10);
    let run = |every: u64| {
        let mut engine = engine_of(&plan, EngineChoice::Cuda, &state);
        let mut frames = Vec::new();
        for _ in 0..(400 / every) {
            frames.push(engine.begin_snapshot().unwrap());
            engine.advance(every).expect("the steps are taken");
        }
        for (k, frame) in frames.into_iter().enumerate() {
            assert_eq!(frame.wait().unwrap().step, state.step + k as u64 * every);
        }
        engine.export().unwrap().hash()
    };
    assert_eq!(run(4), run(400));
}

/// Systems that take their steps together have the bits of each alone: one block a system and several, more systems than find
/// room at once.
#[test]
fn many_systems_give_the_bits_of_each_alone() {
    if !gpu() {
        return;
    }
    let thermostats = [
        None,
        Some(Thermostat::Bussi { time: 0.1 }),
        Some(Thermostat::NoseHoover { period: 0.5, chain_length: 3 }),
        Some(Thermostat::Langevin { friction: 1.0 }),
        Some(Thermostat::Andersen { rate: 20.0, exact: true }),
    ];
    for (dimension, particles, systems) in
        [(3, 256, 5), (2, 300, 1100), (3, 1000, 300), (3, 4000, 3)]
    {
        let mut plan = mixture(dimension, particles, Precision::FixedPoint);
        plan.ensemble = Some(EnsemblePlan {
            kind: EnsembleKind::Independent,
            exchange_every: None,
            samples: systems,
            temperatures: Vec::new(),
            temperature_of: Vec::new(),
            configurations: Vec::new(),
            keys_behind_file: Vec::new(),
        });
        plan.run.engine = EngineChoice::Cuda;
        let states: Vec<_> =
            (0..systems).map(|system| initial::create(&plan.of_system(system)).unwrap()).collect();
        let mut ensemble =
            engine::create_ensemble_on(&Ranks::default(), &plan, states.clone()).unwrap();
        ensemble.draw_velocities(&vec![Some(1.5); systems]).unwrap();
        // Those at the ends and one between.
        let looked_at = [0, systems / 2, systems - 1];
        let mut alone: Vec<_> = looked_at
            .iter()
            .map(|&system| {
                let mut engine =
                    engine_of(&plan.of_system(system), EngineChoice::Cpu, &states[system]);
                engine.draw_velocities(1.5, true).unwrap();
                engine
            })
            .collect();
        for thermostat in thermostats {
            let of_all = stage(alone[0].as_ref(), thermostat, 1.2);
            ensemble.begin_stage(&vec![of_all.clone(); systems]).unwrap();
            ensemble.advance(60).unwrap();
            let measured = ensemble.thermodynamics().unwrap();
            for (engine, &system) in alone.iter_mut().zip(&looked_at) {
                engine.begin_stage(&of_all).unwrap();
                engine.advance(60).unwrap();
                let what = format!("{particles} x {systems}, {thermostat:?}, system {system}");
                assert_eq!(
                    engine.export().unwrap().hash(),
                    ensemble.export(system).unwrap().hash(),
                    "{what}"
                );
                let energies = |now: &Thermodynamics| {
                    [now.potential_energy, now.conserved_energy, now.temperature].map(f64::to_bits)
                };
                let expected = engine.thermodynamics().unwrap();
                assert_eq!(energies(&expected), energies(&measured[system]), "{what}");
            }
        }
    }
}

/// Edges that change together and by themselves: lists serve in a box that shrinks, or are made anew.
#[test]
fn barostats_have_the_bits_of_the_cpu() {
    if !gpu() {
        return;
    }
    let plan = mixture(3, 700, Precision::FixedPoint);
    let state = initial::create(&plan).unwrap();
    let run = |choice: EngineChoice| {
        let mut engine = engine_of(&plan, choice, &state);
        engine.draw_velocities(1.5, true).unwrap();
        for (kind, coupling) in [
            (Thermostat::Bussi { time: 0.5 }, Coupling::Isotropic),
            (Thermostat::NoseHoover { period: 0.5, chain_length: 3 }, Coupling::Anisotropic),
        ] {
            let barostat = BarostatPlan {
                kind: BarostatKind::CellRescaling,
                pressure: Ramp { from: 9.0, to: 20.0 },
                time: 0.2,
                compressibility: 0.03,
                every: 4,
                coupling,
                chain_length: 0,
            };
            let of_thermostat = stage(engine.as_ref(), Some(kind), 1.5);
            let stage = StageContext { barostat: Some(barostat), steps: 120, ..of_thermostat };
            engine.begin_stage(&stage).unwrap();
            engine.advance(50).unwrap();
            engine.advance(70).unwrap();
        }
        let alone = stage(engine.as_ref(), None, 1.0);
        engine.begin_stage(&alone).unwrap();
        engine.advance(100).unwrap();
        let (simulation_box, measured) =
            (engine.simulation_box(), engine.thermodynamics().unwrap());
        let state = ExactState { memory: None, ..engine.export().unwrap() };
        (state, simulation_box, measured, engine.forces().unwrap())
    };
    let (cpu, cuda) = (run(EngineChoice::Cpu), run(EngineChoice::Cuda));
    let memory = &cpu.0.thermostat;
    assert!(memory.volume_trials == 60 && memory.volume_changes > 15, "{memory:?}");
    assert_eq!(cpu.0.hash(), cuda.0.hash());
    assert_eq!(cpu, cuda);
}
