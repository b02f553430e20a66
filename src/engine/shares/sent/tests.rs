use super::*;
use crate::engine::EngineError;
use crate::engine::shares::obey::{Failure, answer};

/// What a rank reads of what another one has written.
fn received<T: Sent>(value: &T) -> T {
    T::from_bytes(&value.to_bytes())
}

fn state() -> ExactState {
    ExactState {
        precision: Precision::FixedPoint,
        simulation_box: SimulationBox::new(&[4.0, 5.0, 0.1 + 0.2]).with_tilt(0.25),
        timestep: 0.004,
        step: u64::MAX,
        species_of: vec![0, 1],
        diameter: vec![1.0, 0.1 + 0.7].into(),
        position: vec![[u64::MAX, 0, 1 << 63]; 2],
        image: vec![[-1, i32::MIN, 3]; 2],
        velocity: vec![[7; 3]; 2],
        thermostat: ThermostatState { heat: 0.1 + 0.2, swaps: 3, ..ThermostatState::default() },
        memory: Some(MemoryLayout {
            order: vec![1, 0],
            reference: vec![[1, 2, 3]; 2],
            skin: 0.3,
            threads_per_particle: Some(4),
            rebuilds: 9,
            made_in: [3, u64::MAX],
            tilt: -0.0,
        }),
    }
}

#[test]
fn states_travel_to_the_bit() {
    let state = state();
    assert_eq!(received(&state), state);
    let without = ExactState { memory: None, diameter: Arc::default(), ..state };
    assert_eq!(received(&(3usize, vec![without.clone()])), (3, vec![without]));
}

#[test]
fn numbers_that_are_none_travel_too() {
    let pairs = EvaluatedPairs { lags: vec![0, 7], sums: vec![f64::NAN, f64::INFINITY, -0.0] };
    let Evaluated::Pairs(found) = received(&Evaluated::Pairs(pairs.clone())) else {
        panic!("another variant")
    };
    let bits = |of: &EvaluatedPairs| of.sums.iter().map(|sum| sum.to_bits()).collect::<Vec<_>>();
    assert_eq!((&found.lags, bits(&found)), (&pairs.lags, bits(&pairs)));
}

#[test]
fn sums_that_an_engine_makes_travel_with_their_texts() {
    let sum = KernelSum {
        name: "a name",
        term: KernelTerm::SelfScattering,
        results: Results::Shells(vec![WaveVectorShell {
            wavenumber: 7.25,
            orbits: vec![[1, 2, 3], [0, 0, 9]],
            single: vec![[-1, 2, 0]],
        }]),
        add: "sum[0] += 1.0f;",
        add_at_lag_zero: "",
        constants: vec![("radius", 0.3)],
    };
    let sums = vec![
        ParticleSum::Kernel(sum),
        ParticleSum::PlacesTaken(0.3),
        ParticleSum::BondsKept(BondPlan { radius: 1.4, breaking_radius: 1.8 }),
    ];
    assert_eq!(received(&sums), sums);
    let held = HeldSamples {
        samples: 3,
        first_step: Some(10),
        entries: vec![vec![0, 2], vec![]],
        held: vec![(2, Arc::new(SampledParticles { words: vec![1, 2], center: None }))],
    };
    assert_eq!(received(&Some(held.clone())), Some(held));
}

#[test]
fn errors_name_the_rank_and_the_system_of_the_run() {
    let found_by = |error: EngineError| -> EngineError {
        Result::<(), Failure>::from_bytes(&answer::<()>(Err(error))).unwrap_err().on_rank(2, 10)
    };
    let too_fast = || EngineError::velocity_range(7, 5);
    // The only system of its share, and the fourth one.
    for (error, system) in [(too_fast(), 10), (too_fast().of_system(3), 13)] {
        let found = found_by(error).to_string();
        assert_eq!(found, format!("system {system}: {} (found by rank 2)", too_fast()));
    }
    let lost = EngineError::GpuLost { what: "launch".to_owned(), message: "gone".to_owned() };
    assert!(
        matches!(found_by(lost), EngineError::GpuLost { message, .. } if message == "gone, on rank 2")
    );
    let none = found_by(EngineError::NoDriver("libcuda.so"));
    assert!(none.to_string().ends_with("(found by rank 2)"), "{none}");
    assert!(miette::Diagnostic::help(&none).unwrap().to_string().contains("engine = \"cpu\""));
}
