//! All kernels compile for GPUs that need not be there: NVRTC is enough.
//!
//! NVRTC comes with a toolkit or as the wheel `nvidia-cuda-nvrtc` (`SUPERCOOL_NVRTC` says where it is);
//! without it the tests say so and pass, but not in CI.
use std::path::Path;
use std::sync::{Mutex, OnceLock};

use supercool::engine::EngineError;
use supercool::engine::cuda::arithmetic;
use supercool::engine::cuda::compile::{Architecture, Resources, compile_in};
use supercool::engine::cuda::constants;
use supercool::engine::cuda::library::Nvrtc;
use supercool::engine::cuda::program::Program;
use supercool::engine::cuda::{
    MOST_TAGGED, centers_program, correlation_program, density_program, domain_program,
    many_minimizers_program, members_program, minimizer_program, neighborhoods_program, program,
    staged_bytes, structure_program,
};
use supercool::observable::dynamics::evaluation::{DensityEvaluation, Offloaded};
use supercool::observable::{Correlations, SampleContext};
use supercool::plan::{
    BarostatKind, BarostatPlan, CheckpointPlan, CorrelationPlan, Coupling, DiameterClassesPlan,
    DynamicObservable, EngineChoice, InitialPlan, Lattice, ObservePlan, OutputPlan, Plan,
    Precision, Ramp, RunPlan, StagePlan, SystemPlan, VanHovePlan,
};
use supercool::potential::{
    Columns, Formula, KAPPA, PairParameters, PairPotential, PotentialPlan, TABLE, Tables,
    Truncation,
};
use supercool::system::{SimulationBox, Species};

fn nvrtc_is_there() -> bool {
    match Nvrtc::get() {
        Ok(_) => true,
        Err(error) if std::env::var_os("CI").is_none() => {
            println!("skipped: {error}");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

const SMOOTH: Truncation = Truncation::Smooth { width: 0.005 };
/// The pair loop then compares with the cutoff.
const TOO_WIDE_TO_SATURATE: Truncation = Truncation::Smooth { width: 1.0 };

fn plan(
    precision: Precision,
    dimension: usize,
    form: PairPotential,
    truncation: Truncation,
) -> Plan {
    let pair = |epsilon, sigma: f64| {
        let cutoff = if form == PairPotential::HarmonicSpheres { sigma } else { 2.5 * sigma };
        if let PairPotential::Table { .. } = form {
            return PairParameters::new(cutoff, [(&TABLE, 0.0)]);
        }
        if let PairPotential::Formula { .. } = form {
            return PairParameters::of_form(form, cutoff, &[epsilon, sigma, 6.0]);
        }
        if form == PairPotential::Buckingham {
            return PairParameters::of_form(form, cutoff, &[4e5 * epsilon, 0.08 * sigma, epsilon]);
        }
        PairParameters::of_epsilon_and_sigma(epsilon, sigma, cutoff).with(&KAPPA, 3.0)
    };
    let (aa, ab, bb) = (pair(1.0, 1.0), pair(1.5, 0.8), pair(0.5, 0.88));
    let species = |name: &str, count, mass| Species { name: name.into(), count, mass };
    Plan {
        system: SystemPlan {
            diameters: None,
            simulation_box: SimulationBox::cubic(dimension, 1000, 1.2),
            species: vec![species("A", 800, 1.0), species("B", 200, 2.0)],
            seed: 1,
            initial: InitialPlan::Lattice { lattice: Lattice::Fcc, temperature: 1.0 },
            key_behind_file: None,
        },
        potential: PotentialPlan {
            form,
            truncation,
            pairs: vec![vec![aa, ab], vec![ab, bb]],
            diameters: None,
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
        stages: Vec::new(),
        checkpoint: CheckpointPlan { minutes: f64::INFINITY },
        output: OutputPlan::default(),
        integrity: None,
        limits: Default::default(),
        ensemble: None,
    }
}

/// With more particles, whose blocks meet at barriers.
fn large(mut plan: Plan) -> Plan {
    let dimension = plan.system.simulation_box.dimension();
    plan.system.simulation_box = SimulationBox::cubic(dimension, 10_000, 1.2);
    plan.system.species.iter_mut().for_each(|species| species.count *= 10);
    plan
}

/// Kernels that hold the pair loop.
const FORCE_KERNELS: [&str; 3] = ["advance_wide", "advance", "advance_single_lane"];

/// Bytes of spills that are known: of what lives across the pair loop, not in it. `double` has twice as much of
/// everything. The exponential of `Buckingham` in fixed point takes registers: 176 bytes are spilled on sm_80, 92 on sm_90, and
/// on sm_100 none in one run of the same compiler, 12 in another and, with a single lane, 154 in a third. With tagged sites most systems run the wide kernel.
fn known_spills(case: &str, kernel: &str) -> u32 {
    match case {
        _ if case.contains("tagged") && kernel != "advance_wide" => 256,
        _ if case.contains("Buckingham") && kernel != "advance_wide" => 200,
        // What is written decides: the one here has seven functions, and 2704 bytes in `double` on sm_80.
        _ if case.contains("Formula") => 2750,
        _ if case.contains("Table") => 300,
        _ if case.starts_with("double,") => 680,
        _ if kernel == "advance_wide" => 12,
        _ if case.starts_with("fixed-point,") && kernel == "advance" => 192,
        _ => 220,
    }
}

/// Compiles on all cores; what the kernels of each take.
fn compile_all(cases: Vec<(String, Program, Architecture)>) -> Vec<(String, Vec<Resources>)> {
    let (queue, done) = (Mutex::new(cases), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let case = queue.lock().expect("no thread has panicked").pop();
                    let Some((name, program, architecture)) = case else { break };
                    let resources = compile_in(&program, architecture, None)
                        .map(|compiled| compiled.resources())
                        .map_err(|error| error.to_string());
                    done.lock().expect("no thread has panicked").push((name, resources));
                }
            });
        }
    });
    let done = done.into_inner().expect("all threads have ended");
    done.into_iter()
        .map(|(name, resources)| match resources {
            Ok(resources) => (name, resources),
            Err(error) => panic!("{name}: {error}"),
        })
        .collect()
}

/// Of a harmonic repulsion.
fn table() -> Tables {
    let distances: Vec<f64> = (0..=300).map(|k| 0.01 * f64::from(k)).collect();
    let energies = distances.iter().map(|r| 0.5 * (3.0 - r) * (3.0 - r)).collect();
    Tables::new(vec![Columns { distances, energies, forces: None }]).unwrap()
}

/// What the kernels take in all of policy x truncation x dimension for Lennard-Jones, each policy on each
/// architecture, and in all other potentials once, spread over the rest. Compiled once for all tests.
fn covering_cases() -> &'static [(String, Vec<Resources>)] {
    static CASES: OnceLock<Vec<(String, Vec<Resources>)>> = OnceLock::new();
    CASES.get_or_init(|| {
        use PairPotential::{
            Buckingham, Dzugutov, GaussianCore, HarmonicSpheres, InversePower, LennardJones, Mie,
            Yukawa,
        };
        let formula = "epsilon*((sigma/r)^11 - 0.1*cos(k*r)*exp(-r)/r + log(r) + sqrt(r) + erf(r) + if(r < 1, erfc(r), erfc(1)))";
        let formula = Formula::new(formula).unwrap();
        let mut cases = Vec::new();
        let mut add = |number: usize, precision: Precision, dimension, form, truncation| {
            let architecture = Architecture::Machine([80, 90, 100][number % 3]);
            let plan = large(plan(precision, dimension, form, truncation));
            let precision = precision.name();
            let name =
                format!("{precision}, {dimension}D, {form:?}, {truncation:?}, {architecture}");
            cases.push((name, program(&plan), architecture));
        };
        for (row, precision) in Precision::ALL.into_iter().enumerate() {
            for (column, (dimension, truncation)) in
                [(3, Truncation::Shifted), (3, SMOOTH), (2, Truncation::Shifted), (2, SMOOTH)]
                    .into_iter()
                    .enumerate()
            {
                add(row + column, precision, dimension, LennardJones, truncation);
            }
        }
        let others = [
            (Mie { m: 12, n: 6 }, Truncation::ForceShifted),
            (Mie { m: 11, n: 7 }, Truncation::Shifted),
            (InversePower { n: 18 }, SMOOTH),
            (InversePower { n: 9 }, Truncation::ForceShifted),
            (HarmonicSpheres, Truncation::Sharp),
            (Yukawa, Truncation::ForceShifted),
            (GaussianCore, SMOOTH),
            (LennardJones, TOO_WIDE_TO_SATURATE),
            (Buckingham, SMOOTH),
            (formula.into(), SMOOTH),
            (table().into(), Truncation::Shifted),
        ];
        for (number, (form, truncation)) in others.into_iter().enumerate() {
            // From fixed point on, the policy for long runs.
            let precision = Precision::ALL[3 - number % 4];
            add(number, precision, 3 - number % 2, form, truncation);
        }
        add(0, Precision::FixedPoint, 3, LennardJones, Truncation::EvenQuartic);
        add(1, Precision::Double, 2, InversePower { n: 12 }, Truncation::EvenQuartic);
        add(2, Precision::FixedPoint, 3, Dzugutov, Truncation::Sharp);
        let small = |precision| plan(precision, 3, LennardJones, Truncation::Shifted);
        for (precision, architecture) in [(Precision::FixedPoint, 90), (Precision::Single, 80)] {
            let program = program(&small(precision));
            assert!(program.macros.iter().any(|(name, _)| name == "TAGGED"));
            let name = format!("{}, tagged sites, sm_{architecture}", precision.name());
            cases.push((name, program, Architecture::Machine(architecture)));
        }
        // What the engine defines on GPUs of other arithmetic.
        let mut on_other_gpus = program(&large(small(Precision::DoubleSingle)));
        for name in ["IEEE_RECIPROCAL", "SUMS_IN_PAIRS"] {
            on_other_gpus.macros.push((name.to_owned(), "1".to_owned()));
        }
        let architecture = Architecture::Machine(80);
        cases.push(("double-single, other GPUs".into(), on_other_gpus, architecture));
        compile_all(cases)
    })
}

#[test]
fn all_kernels_compile_for_three_architectures() {
    if !nvrtc_is_there() {
        return;
    }
    let kernels = |resources: &[Resources]| -> Vec<String> {
        let kernels = resources.iter().filter(|of| of.is_kernel);
        let mut names: Vec<String> = kernels.map(|of| of.function.clone()).collect();
        names.sort();
        names
    };
    let all = covering_cases();
    for (name, resources) in all {
        assert_eq!(kernels(resources), kernels(&all[0].1), "{name}");
        for kernel in resources.iter().filter(|of| of.is_kernel) {
            assert!(kernel.registers > 0, "{name}: {kernel:?}");
        }
    }
}

#[test]
fn the_trial_of_reciprocals_compiles() {
    if !nvrtc_is_there() {
        return;
    }
    for architecture in [80, 90, 100] {
        let compiled =
            compile_in(&arithmetic::check_program(), Architecture::Machine(architecture), None);
        let resources = compiled.expect("it compiles").resources();
        assert_eq!(resources[0].function, "count_wrong_reciprocals");
    }
}

/// Blocks that have all sites of a system run on GPUs that give a block 99 KiB, too.
#[test]
fn tagged_sites_fit_the_shared_memory_of_small_gpus() {
    if !nvrtc_is_there() {
        return;
    }
    let tagged = covering_cases().iter().filter(|(name, _)| name.contains("tagged"));
    let kernels: Vec<_> = tagged.flat_map(|(_, resources)| resources).collect();
    let steps = kernels.iter().filter(|of| of.is_kernel && of.function.starts_with("advance"));
    let largest = steps.map(|of| of.shared_bytes).max().expect("there are kernels");
    let all = largest as usize + staged_bytes(MOST_TAGGED);
    assert!(largest > 0 && all <= 99 * 1024, "{largest} and {all} bytes");
}

#[test]
fn force_kernels_spill_no_more_than_is_known() {
    if !nvrtc_is_there() {
        return;
    }
    let mut spilling = Vec::new();
    for (name, resources) in covering_cases() {
        for kernel in FORCE_KERNELS {
            let found = resources.iter().find(|of| of.is_kernel && of.function == kernel);
            let found = found.unwrap_or_else(|| panic!("{name}: no kernel {kernel}"));
            if found.spills > known_spills(name, kernel) {
                spilling.push(format!(
                    "{name}: {kernel}: {} bytes beside {} registers",
                    found.spills, found.registers
                ));
            }
        }
    }
    assert!(spilling.is_empty(), "spills:\n{}", spilling.join("\n"));
}

/// More lives through the pair loop; on ranks lists are made around present sites, which takes less.
#[test]
fn kernels_of_tilted_boxes_spill_no_more_than_others() {
    if !nvrtc_is_there() {
        return;
    }
    let mut cases = Vec::new();
    for (precision, dimension, architecture) in
        [(Precision::FixedPoint, 3, 90), (Precision::DoubleSingle, 2, 80)]
    {
        let mut plan = plan(precision, dimension, PairPotential::LennardJones, SMOOTH);
        if dimension == 2 {
            plan = large(plan);
        }
        let simulation_box = &mut plan.system.simulation_box;
        *simulation_box = simulation_box.with_tilt(0.3);
        // Of domains one precision, for time.
        let of_domain =
            (precision == Precision::FixedPoint).then(|| ("domain", domain_program(&plan)));
        for (of, program) in std::iter::once(("whole", program(&plan))).chain(of_domain) {
            assert!(program.macros.contains(&("TILTED".to_owned(), "1".to_owned())));
            let name = format!("{of}, {}, sm_{architecture}", precision.name());
            cases.push((name, program, Architecture::Machine(architecture)));
        }
    }
    for (name, resources) in compile_all(cases) {
        let is_whole = name.starts_with("whole");
        let kernels = match is_whole {
            true => &FORCE_KERNELS[..],
            false => &["advance_with_peers", "forces_of_region"],
        };
        for &kernel in kernels {
            let found = resources.iter().find(|of| of.is_kernel && of.function == kernel).unwrap();
            println!(
                "{name}: {kernel}: {} bytes beside {} registers",
                found.spills, found.registers
            );
            let allowed = if is_whole { known_spills(&name, kernel) } else { 0 };
            assert!(found.spills <= allowed, "{name}: {found:?}");
        }
    }
}

/// What moves the box in each step, of one system and of a domain.
#[test]
fn kernels_under_a_piston_compile_without_spills() {
    if !nvrtc_is_there() {
        return;
    }
    let under_piston = |dimension, coupling| {
        let mut plan = plan(
            Precision::FixedPoint,
            dimension,
            PairPotential::LennardJones,
            Truncation::Shifted,
        );
        plan.stages.push(stage());
        plan.stages.last_mut().unwrap().barostat =
            Some(BarostatPlan { kind: BarostatKind::Mtk, chain_length: 3, ..barostat(coupling) });
        plan
    };
    let cases = [
        ("3D", program(&under_piston(3, Coupling::Isotropic)), 90),
        ("2D", program(&under_piston(2, Coupling::Isotropic)), 80),
        ("domain, 3D", domain_program(&under_piston(3, Coupling::Anisotropic)), 90),
    ];
    let case =
        |(name, program, of): (&str, _, _)| (name.to_owned(), program, Architecture::Machine(of));
    for (name, resources) in compile_all(cases.map(case).into()) {
        for kernel in ["kick_under_piston", "drift_under_piston", "forces_under_piston"] {
            let found = resources.iter().find(|of| of.is_kernel && of.function == kernel).unwrap();
            println!("{name}: {found:?}");
            // The first is launched once for many steps.
            let allowed = if kernel == "kick_under_piston" { 16 } else { 0 };
            assert!(found.spills <= allowed, "{name}: {found:?}");
        }
    }
}

fn barostat(coupling: Coupling) -> BarostatPlan {
    BarostatPlan {
        kind: BarostatKind::CellRescaling,
        pressure: Ramp { from: 1.0, to: 1.0 },
        time: 1.0,
        compressibility: 0.03,
        every: 100,
        coupling,
        chain_length: 0,
    }
}

/// A multiprocessor has room for 1024 threads: registers are few.
#[test]
fn kernels_of_many_systems_compile_and_spill_little() {
    if !nvrtc_is_there() {
        return;
    }
    let mut cases = Vec::new();
    for (number, precision) in Precision::ALL.into_iter().enumerate() {
        let architecture = Architecture::Machine([80, 90, 100][number % 3]);
        let dimension = if precision == Precision::Single { 2 } else { 3 };
        let mut plan = plan(precision, dimension, PairPotential::LennardJones, Truncation::Shifted);
        if number % 2 == 1 {
            with_correlation(&mut plan, correlation(&DynamicObservable::DEFAULT));
        }
        let name = format!("{}, {dimension}D, {architecture}", precision.name());
        let program = |plan: &Plan| members_program(plan, 1000, 132, 228 << 10);
        cases.push((name.clone(), program(&plan), architecture));
        if precision != Precision::FixedPoint {
            continue;
        }
        // Each system has a box of its own.
        plan.stages.push(stage());
        plan.stages.last_mut().unwrap().barostat = Some(barostat(Coupling::Anisotropic));
        let under_piston = plan.stages.last_mut().unwrap().barostat.as_mut().unwrap();
        (under_piston.kind, under_piston.chain_length) = (BarostatKind::Mtk, 3);
        let of_boxes = program(&plan);
        assert!(of_boxes.macros.contains(&("MEMBER_BOXES".to_owned(), "1".to_owned())));
        cases.push((name + ", many boxes", of_boxes, architecture));
    }
    let mut too_many = Vec::new();
    for (name, resources) in compile_all(cases) {
        let of_steps = |of: &&Resources| of.is_kernel && of.function.starts_with("advance_members");
        let kernels: Vec<&Resources> = resources.iter().filter(of_steps).collect();
        assert_eq!(kernels.len(), 8, "{name}");
        for kernel in kernels {
            // Thermostats, and several lanes a particle, have more that lives through the pair loop.
            let constant_energy = kernel.function == "advance_members_single_lane";
            let allowed = match (name.starts_with("double,"), constant_energy) {
                (true, true) => 500,
                (true, false) => 1500,
                (false, true) => 240,
                (false, false) => 1300,
            };
            if kernel.registers > 64 || kernel.spills > allowed {
                too_many.push(format!("{name}: {kernel:?}"));
            }
        }
    }
    assert!(too_many.is_empty(), "{too_many:#?}");
}

/// Kernels of ranks: those that take steps beside others, and all between.
#[test]
fn kernels_of_ranks_compile_and_spill_little() {
    if !nvrtc_is_there() {
        return;
    }
    let mut cases = Vec::new();
    for (number, precision) in Precision::ALL.into_iter().enumerate() {
        let architecture = Architecture::Machine([80, 90, 100][(number + 1) % 3]);
        let dimension = if precision == Precision::Single { 2 } else { 3 };
        let plan = plan(precision, dimension, PairPotential::LennardJones, Truncation::Shifted);
        let name = format!("{}, {dimension}D, {architecture}", precision.name());
        cases.push((name, domain_program(&plan), architecture));
    }
    for (name, resources) in compile_all(cases) {
        let allowed = |kernel: &str| match kernel {
            _ if name.starts_with("double,") => 1000,
            "advance_with_peers_langevin" => 400,
            "advance_with_peers_global" => 230,
            _ => 16,
        };
        for kernel in [
            "advance_with_peers",
            "advance_with_peers_single_lane",
            "advance_with_peers_global",
            "advance_with_peers_langevin",
            "advance_with_peers_wide",
            "forces_of_region",
        ] {
            let found = resources.iter().find(|of| of.is_kernel && of.function == kernel);
            let found = found.unwrap_or_else(|| panic!("{name}: no kernel {kernel}"));
            assert!(found.spills <= allowed(kernel), "{name}: {found:?}");
        }
    }
}

/// A stage with one correlation.
fn with_correlation(plan: &mut Plan, correlation: CorrelationPlan) {
    plan.stages.push(StagePlan { correlations: vec![correlation], ..stage() });
}

fn stage() -> StagePlan {
    StagePlan {
        swap: None,
        barostat: None,
        name: "production".into(),
        steps: 1000,
        timestep: None,
        minimize: None,
        rescale: None,
        strain: None,
        shear: None,
        thermostat: None,
        set_total_energy: None,
        draw_velocities: false,
        observe: ObservePlan::nothing(),
        correlations: Vec::new(),
        propensity: None,
    }
}

fn correlation(observables: &[DynamicObservable]) -> CorrelationPlan {
    CorrelationPlan {
        every: 10,
        block_size: 10,
        levels: 2,
        level_ratio: None,
        wavenumbers: vec![2.0, 7.25, 10.0],
        vectors_per_shell: 24,
        overlap_length: 0.3,
        remove_drift: false,
        cage_radius: None,
        bonds: None,
        van_hove: VanHovePlan { maximum_distance: 4.0, bin_width: 0.05 },
        species: vec![0, 1],
        diameter_classes: None,
        origins: Vec::new(),
        observables: observables.to_vec(),
    }
}

#[test]
fn the_pair_loop_compares_with_the_cutoff_where_it_must() {
    let saturates = |plan: &Plan| {
        let macros = program(plan).macros;
        macros.into_iter().find(|(name, _)| name == "SATURATING").expect("a macro").1 == "1"
    };
    let of = |precision, truncation| plan(precision, 2, PairPotential::LennardJones, truncation);
    for precision in [Precision::Single, Precision::DoubleSingle, Precision::FixedPoint] {
        assert!(saturates(&of(precision, SMOOTH)));
        assert!(!saturates(&of(precision, TOO_WIDE_TO_SATURATE)));
        let mut plan = of(precision, SMOOTH);
        // The depth at half the diagonal is 1e9 and 1e11 at most.
        for (edge, fits) in [(5e3, true), (5e4, false)] {
            plan.system.simulation_box = SimulationBox::new(&[edge, edge]);
            assert_eq!(saturates(&plan), fits, "{precision:?}, {edge}");
        }
    }
}

/// Samples taken and stresses summed within launches cost few registers.
#[test]
fn kernels_that_take_samples_spill_no_more_than_is_known() {
    if !nvrtc_is_there() {
        return;
    }
    let of_stress = [DynamicObservable::StressAutocorrelation];
    let classes = Some(DiameterClassesPlan::Number(3));
    let mut cases = Vec::new();
    for precision in Precision::ALL {
        for (dimension, observables) in [(2, &DynamicObservable::DEFAULT[..]), (3, &of_stress)] {
            let mut plan = large(plan(precision, dimension, PairPotential::LennardJones, SMOOTH));
            with_correlation(&mut plan, correlation(observables));
            let name = format!("{}, {dimension}D, {}", precision.name(), observables.len());
            // Samples in the order of diameters, too.
            if observables.len() > 1 {
                let mut plan = plan.clone();
                let observables = correlation(observables);
                let diameter_classes = classes.clone();
                with_correlation(&mut plan, CorrelationPlan { diameter_classes, ..observables });
                cases.push((name.clone(), program(&plan), Architecture::Machine(90)));
            }
            cases.push((name, program(&plan), Architecture::Machine(90)));
        }
    }
    let mut too_many = Vec::new();
    for (name, resources) in compile_all(cases) {
        assert!(resources.iter().any(|of| of.is_kernel && of.function == "take_sample"), "{name}");
        let sums_stress = resources.iter().any(|of| of.function.contains("pass_with_stress"));
        assert_eq!(sums_stress, name.ends_with("3D, 1"), "{name}");
        for kernel in FORCE_KERNELS {
            let found = resources.iter().find(|of| of.is_kernel && of.function == kernel);
            let found = found.unwrap_or_else(|| panic!("{name}: no kernel {kernel}"));
            // What the steps that take samples need is spilled across the pair loop.
            let for_samples = match kernel {
                "advance_wide" if name.starts_with("double-single") => 400,
                "advance_wide" => 310,
                "advance" => 460,
                _ => 200,
            };
            if found.spills > known_spills(&name, kernel) + for_samples {
                too_many.push(format!("{name}: {found:?}"));
            }
        }
    }
    assert!(too_many.is_empty(), "{too_many:#?}");
}

#[test]
fn kernels_of_correlations_compile_without_spills() {
    use DynamicObservable as D;
    if !nvrtc_is_there() {
        return;
    }
    let mut cases = Vec::new();
    for (number, observables) in [
        &D::DEFAULT[..],
        &[D::SelfOverlap, D::SelfVanHoveFunction],
        &[D::VelocityAutocorrelation],
        &[D::SelfVanHoveFunction],
        &[
            D::SelfIntermediateScatteringFunction,
            D::MeanSquareDisplacement,
            D::SelfOverlapSusceptibility,
            D::MeanDisplacement,
        ],
    ]
    .into_iter()
    .enumerate()
    {
        for dimension in [2, 3] {
            // Written out, and looked up in a table.
            for (vectors_per_shell, remove_drift) in [(24, false), (24, true), (5000, false)] {
                let context = SampleContext {
                    in_flow: false,
                    simulation_box: SimulationBox::cubic(dimension, 4000, 1.2),
                    species: ["A", "B"]
                        .map(|name| Species { name: name.into(), count: 2000, mass: 1.0 })
                        .to_vec(),
                    species_of: (0..4000).map(|id| u8::from(id >= 2000)).collect(),
                    order: None,
                    timestep: 0.004,
                    stage_steps: 1000,
                };
                let plan =
                    CorrelationPlan { vectors_per_shell, remove_drift, ..correlation(observables) };
                let mut correlations = Correlations::new(&plan, &context).expect("a plan");
                let offloaded = correlations.hand_over();
                let Some(Offloaded::Pairs(evaluation, _)) = offloaded else { panic!("not sums") };
                let architecture = Architecture::Machine([80, 90, 100][(number + dimension) % 3]);
                let name =
                    format!("{number}, {dimension}D, {vectors_per_shell} vectors, {remove_drift}");
                cases.push((name, correlation_program(&evaluation, 16), architecture));
            }
        }
    }
    for (name, resources) in compile_all(cases) {
        for kernel in ["correlate", "add_chunks"] {
            let found = resources.iter().find(|of| of.is_kernel && of.function == kernel);
            let found = found.unwrap_or_else(|| panic!("{name}: no kernel {kernel}"));
            // Three blocks of 256 threads on a multiprocessor.
            assert!(found.spills == 0 && found.registers <= 80, "{name}: {found:?}");
        }
    }
}

#[test]
fn kernels_of_cages_bonds_and_places_compile_without_spills() {
    if !nvrtc_is_there() {
        return;
    }
    let cases = [(2, 1, 80), (3, 1, 90), (3, 3, 100)].map(|(dimension, species, architecture)| {
        let program = neighborhoods_program(dimension, species);
        (format!("{dimension}D, {species}"), program, Architecture::Machine(architecture))
    });
    for (name, resources) in compile_all(cases.to_vec()) {
        assert_eq!(resources.iter().filter(|of| of.is_kernel).count(), 10, "{name}");
        // Saved around searches, and the divisions of doubles and of 64-bit integers, where bonds are summed up by species.
        let fits = |kernel: &Resources| {
            let most = if kernel.function == "sum_bonds_kept" { 128 } else { 48 };
            kernel.spills <= most && kernel.registers <= 64
        };
        assert!(resources.iter().all(fits), "{name}: {resources:?}");
    }
}

#[test]
fn kernels_of_structure_spill_no_more_than_is_known() {
    if !nvrtc_is_there() {
        return;
    }
    let cases = [(2, 1, 80), (3, 1, 90), (3, 3, 100)].map(|(dimension, species, architecture)| {
        let program = structure_program(dimension, species);
        (format!("{dimension}D, {species}"), program, Architecture::Machine(architecture))
    });
    for (name, resources) in compile_all(cases.to_vec()) {
        assert_eq!(resources.iter().filter(|of| of.is_kernel).count(), 6, "{name}");
        // Saved around square roots and divisions.
        let fits = |kernel: &Resources| kernel.spills <= 64 && kernel.registers <= 80;
        assert!(resources.iter().all(fits), "{name}: {resources:?}");
    }
}

#[test]
fn kernels_of_centers_of_mass_compile_without_spills() {
    if !nvrtc_is_there() {
        return;
    }
    let cases = [(2, 1, 80), (3, 1, 90), (3, 3, 100)].map(|(dimension, species, architecture)| {
        let program = centers_program(dimension, species);
        (format!("{dimension}D, {species}"), program, Architecture::Machine(architecture))
    });
    for (name, resources) in compile_all(cases.to_vec()) {
        let [kernel] = &resources[..] else { panic!("{name}: {resources:?}") };
        assert!(kernel.function == "find_centers" && kernel.spills == 0, "{name}: {kernel:?}");
    }
}

#[test]
fn kernels_of_density_modes_compile_without_spills() {
    if !nvrtc_is_there() {
        return;
    }
    let cases = [2, 3].map(|dimension| {
        let evaluation = DensityEvaluation {
            every: 10,
            vectors: vec![[1, 2, 0]],
            remove_drift: false,
            simulation_box: SimulationBox::cubic(dimension, 10, 1.0),
            species: vec![Species { name: "A".into(), count: 10, mass: 1.0 }],
            order: None,
        };
        (
            format!("{dimension}D"),
            density_program(&evaluation),
            Architecture::Machine(80 + 10 * (dimension as u32 - 2)),
        )
    });
    for (name, resources) in compile_all(cases.to_vec()) {
        assert_eq!(resources.len(), 2, "{name}: {resources:?}");
        assert!(
            resources.iter().all(|kernel| kernel.spills == 0 && kernel.registers <= 64),
            "{name}: {resources:?}"
        );
    }
}

#[test]
fn kernels_of_minima_compile() {
    use PairPotential::{InversePower, LennardJones, Yukawa};
    if !nvrtc_is_there() {
        return;
    }
    let cases = [
        (3, LennardJones, SMOOTH, 90),
        (2, LennardJones, Truncation::ForceShifted, 80),
        (3, InversePower { n: 9 }, SMOOTH, 80),
        (2, Yukawa, Truncation::ForceShifted, 100),
        (3, InversePower { n: 12 }, Truncation::EvenQuartic, 90),
    ];
    let cases = cases.map(|(dimension, form, truncation, version)| {
        // Of any precision: the copy is in 64-bit floats.
        let plan = plan(Precision::FixedPoint, dimension, form, truncation);
        let name = format!("{dimension}D, {form:?}, sm_{version}");
        (name, minimizer_program(&plan), Architecture::Machine(version))
    });
    let mut in_tilts = plan(Precision::Double, 3, LennardJones, Truncation::EvenQuartic);
    in_tilts.system.simulation_box = in_tilts.system.simulation_box.with_tilt(0.25);
    let tilted = ("tilted".to_owned(), minimizer_program(&in_tilts), Architecture::Machine(90));
    for (name, resources) in compile_all(cases.into_iter().chain([tilted]).collect()) {
        let kernels: Vec<&Resources> = resources.iter().filter(|of| of.is_kernel).collect();
        assert_eq!(kernels.len(), 1, "{name}: {kernels:?}");
        assert_eq!(kernels[0].function, "descend", "{name}");
        // What the passes share is spilled across the calls of them; their loops have little.
        let spills: u32 = resources.iter().map(|of| of.spills).sum();
        assert!(spills < 1500, "{name}: {resources:?}");
    }
}

/// Descents of many systems: several on each multiprocessor, and at most one.
#[test]
fn kernels_of_minima_side_by_side_compile() {
    use PairPotential::{InversePower, LennardJones, Yukawa};
    if !nvrtc_is_there() {
        return;
    }
    let cases = [
        (3, LennardJones, Truncation::EvenQuartic, 90, 1000),
        (3, LennardJones, SMOOTH, 90, 64),
        (2, LennardJones, Truncation::ForceShifted, 80, 1000),
        (3, InversePower { n: 12 }, Truncation::EvenQuartic, 90, 1000),
        (2, Yukawa, Truncation::ForceShifted, 100, 1000),
    ];
    let cases = cases.map(|(dimension, form, truncation, version, systems)| {
        let plan = plan(Precision::FixedPoint, dimension, form, truncation);
        let name = format!("{dimension}D, {form:?}, sm_{version}, {systems} systems");
        let program = many_minimizers_program(&plan, systems, 132);
        (name, program, Architecture::Machine(version))
    });
    let mut in_tilts = plan(Precision::Double, 3, LennardJones, Truncation::EvenQuartic);
    in_tilts.system.simulation_box = in_tilts.system.simulation_box.with_tilt(0.25);
    let tilted = many_minimizers_program(&in_tilts, 1000, 132);
    let tilted = ("tilted".to_owned(), tilted, Architecture::Machine(90));
    for (name, resources) in compile_all(cases.into_iter().chain([tilted]).collect()) {
        let kernels: Vec<&Resources> = resources.iter().filter(|of| of.is_kernel).collect();
        assert_eq!(kernels.len(), 1, "{name}: {kernels:?}");
        assert_eq!(kernels[0].function, "descend_many", "{name}");
        println!("{name}: {resources:?}");
        let spills: u32 = resources.iter().map(|of| of.spills).sum();
        assert!(spills < 1500, "{name}: {resources:?}");
    }
}

/// A program of one line after the headers.
fn small(text: &str, precision: Precision) -> Program {
    let mut program = program(&plan(precision, 3, PairPotential::Mie { m: 12, n: 7 }, SMOOTH));
    program.name = "small.cu".to_owned();
    program.text = format!("#include \"run.cuh\"\n{text}\n");
    program
}

#[test]
fn a_wrong_kernel_shows_the_compilers_message_with_file_and_line() {
    if !nvrtc_is_there() {
        return;
    }
    let program = small("__device__ float wrong() { return undeclared; }", Precision::Single);
    let error =
        compile_in(&program, Architecture::Machine(90), None).expect_err("does not compile");
    assert!(matches!(error, EngineError::Compilation { .. }));
    let message = error.to_string();
    for part in ["small.cu(2)", "\"undeclared\"", "sm_90"] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn compiled_code_is_kept_by_its_content_and_a_damaged_copy_is_not_used() {
    if !nvrtc_is_there() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // The folder of the cache need not be there.
    let cache = folder.path().join("kernels");
    let files = || -> Vec<_> {
        std::fs::read_dir(&cache).expect("the cache").flatten().map(|entry| entry.path()).collect()
    };
    let compile = |program: &Program, version: u32| {
        compile_in(program, Architecture::Machine(version), Some(&cache)).expect("compiles")
    };
    let program = small("extern \"C\" __global__ void nothing() {}", Precision::Single);
    let first = compile(&program, 90);
    assert!(!first.from_cache && first.resources().iter().any(|of| of.function == "nothing"));
    let again = compile(&program, 90);
    assert!(again.from_cache);
    assert_eq!((&first.image, &first.log), (&again.image, &again.log));
    assert_eq!(files().len(), 1);

    let file = &files()[0];
    let mut bytes = std::fs::read(file).expect("the file");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(file, &bytes).expect("is written");
    assert!(!compile(&program, 90).from_cache, "a damaged file is made anew");
    assert!(compile(&program, 90).from_cache);
    std::fs::write(file, &bytes[..20]).expect("is written");
    assert!(!compile(&program, 90).from_cache, "so is a short one");

    assert!(!compile(&program, 80).from_cache, "another architecture is another file");
    let mut other = program.clone();
    other.macros.push(("OTHER".into(), "1".into()));
    assert!(!compile(&other, 90).from_cache, "another macro is another file");
    assert_eq!(files().len(), 3);
    assert!(
        files().iter().all(|file| file.extension().is_none()),
        "nothing else is left: {:?}",
        files()
    );

    // A cache that cannot be made costs only time.
    let blocked = folder.path().join("file");
    std::fs::write(&blocked, "").expect("is written");
    let compiled = compile_in(&program, Architecture::Machine(90), Some(Path::new(&blocked)));
    assert!(!compiled.expect("compiles").from_cache);
}

#[test]
fn a_gpu_newer_than_the_compiler_gets_portable_code() {
    assert_eq!(Architecture::of_gpu(90, &[80, 90, 100]), Architecture::Machine(90));
    assert_eq!(Architecture::of_gpu(121, &[80, 90, 100]), Architecture::Portable(100));
    if !nvrtc_is_there() {
        return;
    }
    let program = small("extern \"C\" __global__ void nothing() {}", Precision::Single);
    let compiled = compile_in(&program, Architecture::Portable(90), None).expect("compiles");
    let text = String::from_utf8(compiled.image).expect("a text");
    assert!(text.contains(".target sm_90") && text.ends_with('\0'), "{text}");
}

#[test]
fn constants_of_policies_are_declared_with_their_places() {
    let header = |name| {
        let header = constants::SHARED.into_iter().find(|header| header.name == name);
        (header.expect("a header").text)()
    };
    let text = header("shared/double_singles_constants.cuh");
    let expected = "struct DoubleSinglesConstants {\n    DoubleSingle edges[3];\n    DoubleSingle inv_edges[3];\n    \
                    // Length of one unit of the site along each axis.\n    float site_length[3];\n";
    assert!(text.contains(expected), "{text}");
    let expected = "    // dt / (2 m) of each species.\n    DoubleSingle half_kick[SPECIES_COUNT];\n};\n\
                    static_assert(OFFSET_OF(DoubleSinglesConstants, edges) == 0, \"place of edges\");\n";
    assert!(text.contains(expected), "{text}");
    // The array begins at a multiple of eight.
    let text = header("shared/fixed_point_constants.cuh");
    for place in ["shift) == 112", "mass_ratio) == 120"] {
        assert!(text.contains(&format!("(FixedPointConstants, {place}")), "{place}: {text}");
    }
}

#[test]
fn pairs_with_other_fields_than_those_of_the_host_do_not_compile() {
    if !nvrtc_is_there() {
        return;
    }
    let of_host = program(&plan(Precision::Single, 3, PairPotential::Yukawa, SMOOTH));
    for (field, instead, message) in [
        (
            "interaction.force_unit) ==",
            "interaction.energy_unit) ==",
            "place of interaction.force_unit",
        ),
        (
            "potential.kappa) ==",
            "potential.kappa_sigma) ==",
            "place of interaction.potential.kappa",
        ),
        ("sizeof(Pair) ==", "4 + sizeof(Pair) ==", "Pair has one layout"),
    ] {
        let text = of_host.text.replace(field, instead);
        assert_ne!(text, of_host.text, "{field}");
        let other = Program { text, ..of_host.clone() };
        let error = compile_in(&other, Architecture::Machine(90), None).expect_err("another pair");
        let message = format!("static assertion failed with \"{message}");
        assert!(error.to_string().contains(&message), "{error}");
    }
}
