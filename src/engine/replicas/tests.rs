//! Around oscillators whose energies are drawn from the exact distribution.
use super::*;
use crate::arithmetic::random::{CounterRng, sum_of_squared_normals};
use crate::plan::{Ramp, Thermostat, ThermostatPlan};
use crate::system::SimulationBox;

const TEMPERATURES: [f64; 3] = [1.0, 0.8, 0.65];
const SAMPLES: usize = 2;
const SYSTEMS: usize = TEMPERATURES.len() * SAMPLES;
const EVERY: u64 = 10;
const PARTICLES: usize = 4;
/// Degrees of freedom, of positions and of velocities.
const DEGREES: u64 = 24;

/// Harmonic oscillators. In every step both energies are drawn anew, at the temperature of the thermostat: `2 U / T` and
/// `2 K / T` have chi-square distributions.
struct Oscillators {
    step: u64,
    temperatures: Vec<f64>,
    /// Potential and kinetic energy of each.
    energies: Vec<[f64; 2]>,
}

impl Oscillators {
    fn new() -> Self {
        Oscillators {
            step: 0,
            temperatures: vec![f64::NAN; SYSTEMS],
            energies: vec![[0.0; 2]; SYSTEMS],
        }
    }
}

impl Ensemble for Oscillators {
    fn systems(&self) -> usize {
        SYSTEMS
    }

    fn step(&self) -> u64 {
        self.step
    }

    fn begin_stage(&mut self, stages: &[StageContext]) -> Result<(), EngineError> {
        let temperature = |stage: &StageContext| {
            let thermostat = stage.thermostat.expect("there is one");
            stage.target_temperature(&thermostat, self.step)
        };
        self.temperatures = stages.iter().map(temperature).collect();
        Ok(())
    }

    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        self.step += steps;
        for (replica, energies) in self.energies.iter_mut().enumerate() {
            let mut rng = CounterRng::new(100 + replica as u64, Purpose::Test, self.step);
            *energies = [(); 2].map(|()| {
                0.5 * self.temperatures[replica] * sum_of_squared_normals(DEGREES, &mut rng)
            });
        }
        Ok(())
    }

    /// What is conserved differs between replicas, and with the temperature, as with the energy of a chain.
    fn thermodynamics(&mut self) -> Result<Vec<Thermodynamics>, EngineError> {
        let row = |(replica, [potential, kinetic]): (usize, &[f64; 2])| Thermodynamics {
            step: self.step,
            potential_energy: potential / PARTICLES as f64,
            kinetic_energy: kinetic / PARTICLES as f64,
            temperature: 0.0,
            half_step_temperature: 0.0,
            pressure: 0.0,
            virial: 0.0,
            stress: [[0.0; 3]; 3],
            center_of_mass_velocity: [0.0; 3],
            swap_trials: 0,
            swaps: 0,
            simulation_box: SimulationBox::new(&[1.0; 3]),
            particles: PARTICLES,
            volume_trials: 0,
            volume_changes: 0,
            conserved_energy: 10.0 * replica as f64 + self.temperatures[replica],
        };
        Ok(self.energies.iter().enumerate().map(row).collect())
    }

    fn scale_velocities(&mut self, factors: &[f64]) -> Result<(), EngineError> {
        for ([_, kinetic], factor) in self.energies.iter_mut().zip(factors) {
            *kinetic *= factor * factor;
        }
        Ok(())
    }

    fn begin_snapshots(&mut self) -> Result<Vec<PendingSnapshot>, EngineError> {
        unreachable!("these systems have energies only")
    }

    fn begin_exports(&mut self) -> Result<Vec<PendingState>, EngineError> {
        unreachable!("these systems have energies only")
    }

    fn export(&self, _system: usize) -> Result<ExactState, EngineError> {
        unreachable!("these systems have energies only")
    }

    fn draw_velocities(&mut self, _temperatures: &[Option<f64>]) -> Result<(), EngineError> {
        unreachable!("these systems have energies only")
    }

    fn correlator(&mut self) -> Option<&mut dyn Correlator> {
        None
    }

    fn report(&self) -> EngineReport {
        unreachable!("these systems have energies only")
    }
}

/// Particles scale the energies that exchanges are decided by: other than [`PARTICLES`] are wrong.
fn ladder(particles: usize) -> Ladder {
    let (temperatures, samples) = (TEMPERATURES.to_vec(), SAMPLES);
    Ladder { temperatures, samples, every: EVERY, seed: 7, particles }
}

fn stages(to: fn(f64) -> f64) -> Vec<StageContext> {
    let stage = |system: usize| {
        let from = TEMPERATURES[system / SAMPLES];
        let temperature = Ramp { from, to: to(from) };
        let kind = Thermostat::Bussi { time: 0.1 };
        let thermostat = Some(ThermostatPlan { kind, temperature });
        StageContext {
            thermostat,
            first_step: 0,
            steps: 1_000_000,
            swap: None,
            barostat: None,
            shear: None,
        }
    };
    (0..SYSTEMS).map(stage).collect()
}

fn replicas(particles: usize) -> Replicas {
    let mut replicas = Replicas::new(Box::new(Oscillators::new()), ladder(particles), None);
    replicas.begin_stage(&stages(|from| from)).unwrap();
    replicas
}

/// Largest deviation of the means and variances of both energies, right after exchanges, at each temperature, in standard errors. All
/// samples of an energy at a temperature are independent: its mean is `f T / 2`, its variance `f T^2 / 2`, and that of squares of
/// deviations `(2 + 12 / f)` times the square of the variance.
fn largest_deviation(mut replicas: Replicas) -> f64 {
    const EXCHANGES: usize = 20_000;
    let mut sums = [[[0.0; 2]; 2]; TEMPERATURES.len()];
    let degrees = DEGREES as f64;
    let moments =
        |temperature: f64| (0.5 * degrees * temperature, 0.5 * degrees * temperature.powi(2));
    for _ in 0..EXCHANGES {
        replicas.advance(EVERY).unwrap();
        for (system, row) in replicas.thermodynamics().unwrap().iter().enumerate() {
            let (mean, _) = moments(TEMPERATURES[system / SAMPLES]);
            for (of, energy) in [row.potential_energy, row.kinetic_energy].into_iter().enumerate() {
                let deviation = energy * PARTICLES as f64 - mean;
                sums[system / SAMPLES][of][0] += deviation;
                sums[system / SAMPLES][of][1] += deviation * deviation;
            }
        }
    }
    let count = (EXCHANGES * SAMPLES) as f64;
    let mut largest = 0.0_f64;
    for (temperature, sums) in TEMPERATURES.into_iter().zip(sums) {
        let (_, variance) = moments(temperature);
        for [first, second] in sums {
            let of_mean = first / (count * variance).sqrt();
            let of_variance =
                (second / count / variance - 1.0) / ((2.0 + 12.0 / degrees) / count).sqrt();
            largest = largest.max(of_mean.abs()).max(of_variance.abs());
        }
    }
    largest
}

#[test]
fn energies_keep_their_exact_distribution_at_every_temperature() {
    // Twelve numbers: above 4 by chance once in 1300 seeds.
    let right = largest_deviation(replicas(PARTICLES));
    assert!(right < 4.0, "{right} standard errors");
    // All are accepted, or exchanges are decided with half or twice the energies.
    for particles in [0, PARTICLES / 2, 2 * PARTICLES] {
        let wrong = largest_deviation(replicas(particles));
        assert!(wrong > 12.0, "{particles} particles: {wrong} standard errors");
    }
}

#[test]
fn pairs_are_tried_in_turn_and_what_is_conserved_continues() {
    let mut replicas = replicas(PARTICLES);
    replicas.advance(1).unwrap();
    let expected = replicas.thermodynamics().unwrap();
    // In parts of any length.
    for steps in [8, 1, 5, 25, 10, 49, 1] {
        replicas.advance(steps).unwrap();
        for (expected, row) in expected.iter().zip(replicas.thermodynamics().unwrap()) {
            assert!((row.conserved_energy - expected.conserved_energy).abs() < 1e-9);
        }
    }
    let counts = &replicas.exchanges().unwrap().counts;
    assert_eq!(counts.attempts, [5 * SAMPLES as u64; 2]);
    assert!(counts.acceptances.iter().sum::<u64>() > 0, "{counts:?}");
    assert_ne!(replicas.state.replica_of, [0, 1, 2, 3, 4, 5]);
    // In its ladder every replica stays.
    assert!(replicas.state.replica_of.iter().enumerate().all(|(at, of)| at % 2 == of % 2));
    let two = Ladder { temperatures: vec![1.0, 0.5], ..ladder(1) };
    assert_eq!([1, 2, 3].map(|number| two.pairs(number).collect::<Vec<_>>()), [[0], [0], [0]]);
}

#[test]
fn a_checkpoint_goes_on_with_the_same_exchanges() {
    let mut whole = replicas(PARTICLES);
    let mut first = replicas(PARTICLES);
    whole.advance(105).unwrap();
    first.advance(105).unwrap();
    let saved = serde_json::to_string(first.exchanges().unwrap()).unwrap();
    let oscillators = Oscillators { step: 105, ..Oscillators::new() };
    let state = serde_json::from_str(&saved).unwrap();
    let mut second = Replicas::new(Box::new(oscillators), ladder(PARTICLES), Some(state));
    second.begin_stage(&stages(|from| from)).unwrap();
    whole.advance(200).unwrap();
    second.advance(200).unwrap();
    assert_eq!(whole.exchanges(), second.exchanges());
    assert_eq!(whole.thermodynamics().unwrap(), second.thermodynamics().unwrap());
}

#[test]
fn replicas_stand_still_where_temperatures_change() {
    let mut replicas = replicas(PARTICLES);
    replicas.advance(100).unwrap();
    let before = replicas.state.replica_of.clone();
    let later = |stage| StageContext { first_step: 100, ..stage };
    replicas
        .begin_stage(&stages(|from| 0.9 * from).into_iter().map(later).collect::<Vec<_>>())
        .unwrap();
    replicas.advance(100).unwrap();
    assert_eq!(replicas.state.replica_of, before);
    assert_eq!(replicas.state.counts.attempts, [0, 0]);
}

#[test]
fn round_trips_begin_and_end_at_the_first_temperature() {
    let mut state = Exchanges::new(3, 3);
    for (replica_of, trips) in [
        ([0, 1, 2], [0, 0, 0]),
        ([1, 0, 2], [0, 0, 0]),
        ([1, 2, 0], [0, 0, 0]),
        // It was at the last temperature only.
        ([2, 1, 0], [0, 0, 0]),
        ([2, 0, 1], [0, 0, 0]),
        ([0, 2, 1], [1, 0, 0]),
        ([0, 1, 2], [1, 0, 0]),
        ([1, 0, 2], [1, 1, 0]),
        ([2, 0, 1], [1, 1, 1]),
    ] {
        state.replica_of = replica_of.to_vec();
        state.note_ends(1);
        assert_eq!(state.counts.round_trips, trips, "{replica_of:?}");
    }
    assert!(state.fits(3, 3) && !state.fits(4, 4));
    assert_eq!(state.by_replica(vec!["a", "b", "c"]), ["b", "c", "a"]);
    assert_eq!(state.by_system(vec!["b", "c", "a"]), ["a", "b", "c"]);
}
