//! Trajectories with known properties, for tests.
use std::f64::consts::TAU;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::SampleContext;
use crate::system::{SimulationBox, Snapshot, Species, species_of_particles};

/// A standard normal number (Box & Muller).
pub fn normal(rng: &mut StdRng) -> f64 {
    let (u, v): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (TAU * v).cos()
}

pub fn context(edges: &[f64], counts: &[usize], stage_steps: u64) -> SampleContext {
    let species: Vec<Species> = counts
        .iter()
        .zip(["A", "B", "C"])
        .map(|(&count, name)| Species { name: name.into(), count, mass: 1.0 })
        .collect();
    SampleContext {
        in_flow: false,
        simulation_box: SimulationBox::new(edges),
        species_of: species_of_particles(&species),
        species,
        order: None,
        timestep: 0.002,
        stage_steps,
    }
}

/// Wraps positions into the box, counting images of its periods.
pub fn snapshot(
    simulation_box: &SimulationBox,
    step: u64,
    unwrapped: &[[f64; 3]],
    velocity: &[[f64; 3]],
) -> Snapshot {
    let edges = simulation_box.padded_edges();
    let dimension = simulation_box.dimension();
    let image = |r: &[f64; 3]| {
        let skewed = [r[0] - simulation_box.slope() * r[1], r[1], r[2]];
        std::array::from_fn(|k| match k < dimension {
            true => (skewed[k] / edges[k]).floor() as i32,
            false => 0,
        })
    };
    let wrap = |r: &[f64; 3]| {
        let image: [i32; 3] = image(r);
        let mut wrapped: [f64; 3] = std::array::from_fn(|k| r[k] - f64::from(image[k]) * edges[k]);
        wrapped[0] -= simulation_box.tilt() * edges[0] * f64::from(image[1]);
        wrapped
    };
    let position: Vec<[f64; 3]> = unwrapped.iter().map(wrap).collect();
    let fraction = |r: &[f64; 3]| {
        let skewed = [r[0] - simulation_box.slope() * r[1], r[1], r[2]];
        let units =
            |k: usize| (skewed[k] * (2f64.powi(32) / edges[k])).round_ties_even() as u64 as u32;
        std::array::from_fn(|k| if k < dimension { units(k) } else { 0 })
    };
    Snapshot {
        step,
        fraction: position.iter().map(fraction).collect(),
        position,
        image: unwrapped.iter().map(image).collect(),
        velocity: velocity.to_vec(),
        diameter: Default::default(),
    }
}

/// Independent uniform positions.
pub fn ideal_gas(rng: &mut StdRng, simulation_box: &SimulationBox, count: usize) -> Vec<[f64; 3]> {
    let edges = simulation_box.padded_edges();
    let dimension = simulation_box.dimension();
    let mut coordinate =
        |k: usize| if k < dimension { rng.random::<f64>() * edges[k] } else { 0.0 };
    (0..count).map(|_| std::array::from_fn(&mut coordinate)).collect()
}

/// Random walk with normal steps of standard deviation `width` between samples; velocities are the
/// last steps. Snapshots come `every` steps, starting at `first_step`.
pub fn random_walk(
    context: &SampleContext,
    seed: u64,
    width: f64,
    first_step: u64,
    every: u64,
    samples: u64,
) -> Vec<Snapshot> {
    let mut rng = StdRng::seed_from_u64(seed);
    let dimension = context.simulation_box.dimension();
    let count = context.species_of.len();
    let mut position = ideal_gas(&mut rng, &context.simulation_box, count);
    let mut snapshots = Vec::new();
    for sample in 0..samples {
        let mut velocity = vec![[0.0; 3]; count];
        for (r, v) in position.iter_mut().zip(&mut velocity) {
            for k in 0..dimension {
                v[k] = width * normal(&mut rng);
                r[k] += v[k];
            }
        }
        let step = first_step + sample * every;
        snapshots.push(snapshot(&context.simulation_box, step, &position, &velocity));
    }
    snapshots
}

/// Free particles of mass 1 in a Langevin thermostat, `dv = -v dt + sqrt(2 T) dW`, sampled exactly at intervals of
/// time `interval`, from equilibrium: Gaussian, with `<dr^2> = 2 D T (t - 1 + exp(-t))`, which is `D T t^2` at
/// first.
pub fn langevin_gas(
    context: &SampleContext,
    rng: &mut StdRng,
    temperature: f64,
    interval: f64,
    samples: u64,
) -> Vec<Snapshot> {
    let dimension = context.simulation_box.dimension();
    let count = context.species_of.len();
    let mut position = ideal_gas(rng, &context.simulation_box, count);
    let mut velocity = vec![[0.0; 3]; count];
    for v in velocity.iter_mut().flat_map(|v| &mut v[..dimension]) {
        *v = temperature.sqrt() * normal(rng);
    }
    // Joint distribution of both at the end of an interval (Chandrasekhar, Rev. Mod. Phys. 15, 1 (1943)).
    let decay = (-interval).exp();
    let velocity_variance = temperature * (1.0 - decay * decay);
    let covariance = temperature * (1.0 - decay).powi(2);
    let position_variance = temperature * (2.0 * interval - 3.0 + 4.0 * decay - decay * decay);
    let slope = covariance / velocity_variance;
    let rest = (position_variance - slope * covariance).sqrt();
    let mut snapshots = Vec::new();
    for step in 0..samples {
        snapshots.push(snapshot(&context.simulation_box, step, &position, &velocity));
        for (r, v) in position.iter_mut().zip(&mut velocity) {
            for k in 0..dimension {
                let kick = velocity_variance.sqrt() * normal(rng);
                r[k] += v[k] * (1.0 - decay) + slope * kick + rest * normal(rng);
                v[k] = decay * v[k] + kick;
            }
        }
    }
    snapshots
}
