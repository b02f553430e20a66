use std::sync::Arc;

use super::EngineError;
use super::precision::{Double, DoubleSingles, FixedPoint, Policy, Single, rounded_fraction};
use crate::arithmetic::Real;
use crate::integrator::ThermostatState;
use crate::plan::{Plan, Precision};
use crate::system::{SimulationBox, Snapshot, Species};

/// The state of a run to the bit, in id order: what a checkpoint holds.
///
/// Coordinates and velocities are the bits of the precision's own numbers (see
/// [`crate::engine::precision`]), three of each per particle; in two dimensions the third is zero.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactState {
    pub precision: Precision,
    pub simulation_box: SimulationBox,
    /// Nominal time step: the unit of velocities in fixed point.
    pub timestep: f64,
    pub step: u64,
    pub species_of: Vec<u8>,
    /// To the precision of the pair loop; empty where particles have none.
    pub diameter: Arc<[f64]>,
    pub position: Vec<[u64; 3]>,
    pub image: Vec<[i32; 3]>,
    pub velocity: Vec<[u64; 3]>,
    pub thermostat: ThermostatState,
    /// `None` in a state that no engine has run yet.
    pub memory: Option<MemoryLayout>,
}

/// How particles lie in an engine's memory and where they were when the neighbor lists were made:
/// floating-point sums depend on it, so that a restart needs it for the same bits.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryLayout {
    /// Ids in the order of memory.
    pub order: Vec<u32>,
    /// Sites (see [`crate::engine::precision`]) that the lists were made around, in that order.
    pub reference: Vec<[u64; 3]>,
    pub skin: f64,
    /// On a GPU; `None`: the CPU engine's layout.
    pub threads_per_particle: Option<u32>,
    /// Number of list buildings so far.
    pub rebuilds: u64,
    /// Steps, modulo 2^64, of the last of them and of that before: how long lists live says how far ahead the next ones look.
    pub made_in: [u64; 2],
    /// Tilt of the box at the last of them.
    pub tilt: f64,
}

impl ExactState {
    /// A state from 64-bit floats, rounded to the precision.
    ///
    /// # Errors
    /// The first particle of which a number cannot be held.
    pub fn from_snapshot(
        snapshot: &Snapshot,
        species_of: Vec<u8>,
        simulation_box: SimulationBox,
        timestep: f64,
        precision: Precision,
        species: &[Species],
    ) -> Result<ExactState, usize> {
        let empty = ExactState {
            precision,
            simulation_box,
            timestep,
            step: snapshot.step,
            species_of,
            diameter: Arc::default(),
            position: Vec::new(),
            image: Vec::new(),
            velocity: Vec::new(),
            thermostat: ThermostatState::default(),
            memory: None,
        };
        match precision {
            Precision::Single => fill::<Single>(empty, snapshot, species),
            Precision::DoubleSingle => fill::<DoubleSingles>(empty, snapshot, species),
            Precision::Double => fill::<Double>(empty, snapshot, species),
            Precision::FixedPoint => fill::<FixedPoint>(empty, snapshot, species),
        }
    }

    /// A diameter as a state of this precision holds it. Rounding keeps the order of diameters.
    pub fn rounded_diameter(precision: Precision, diameter: f64) -> f64 {
        fn of<P: Policy>(diameter: f64) -> f64 {
            P::Real::from_f64(diameter).to_f64()
        }
        match precision {
            Precision::Single => of::<Single>(diameter),
            Precision::DoubleSingle => of::<DoubleSingles>(diameter),
            Precision::Double => of::<Double>(diameter),
            Precision::FixedPoint => of::<FixedPoint>(diameter),
        }
    }

    /// That particles have diameters where the plan's have.
    ///
    /// # Errors
    /// If there are not as many as particles, or any where there should be none.
    pub(super) fn check_diameters(&self, plan: &Plan) -> Result<(), EngineError> {
        let expected = if plan.potential.diameters.is_some() { self.position.len() } else { 0 };
        let found = self.diameter.len();
        if found == expected { Ok(()) } else { Err(EngineError::Diameters { found, expected }) }
    }

    /// The state as 64-bit floats.
    pub fn to_snapshot(&self, species: &[Species]) -> Snapshot {
        match self.precision {
            Precision::Single => read_out::<Single>(self, species),
            Precision::DoubleSingle => read_out::<DoubleSingles>(self, species),
            Precision::Double => read_out::<Double>(self, species),
            Precision::FixedPoint => read_out::<FixedPoint>(self, species),
        }
    }

    /// The state in a box with other edges or another tilt, in which every particle has the same place as a fraction of its
    /// periods, and the same velocity; to the bit where coordinates are fractions (`fixed-point`), else rounded.
    ///
    /// # Errors
    /// The first particle whose velocity the precision cannot hold there.
    pub fn in_box(
        &self,
        simulation_box: SimulationBox,
        species: &[Species],
    ) -> Result<ExactState, usize> {
        let mut snapshot = self.to_snapshot(species);
        let (old, new) = (self.simulation_box.padded_edges(), simulation_box.padded_edges());
        for position in &mut snapshot.position {
            for axis in 0..self.simulation_box.dimension() {
                position[axis] *= new[axis] / old[axis];
            }
            let sheared = simulation_box.tilt() - self.simulation_box.tilt();
            if sheared != 0.0 {
                position[0] += sheared * new[0] * (position[1] / new[1]);
            }
        }
        let species_of = self.species_of.clone();
        let (timestep, precision) = (self.timestep, self.precision);
        let mut state = ExactState::from_snapshot(
            &snapshot,
            species_of,
            simulation_box,
            timestep,
            precision,
            species,
        )?;
        if precision == Precision::FixedPoint {
            state.position.clone_from(&self.position);
            state.image.clone_from(&self.image);
        }
        state.thermostat = self.thermostat.clone();
        Ok(state)
    }

    /// The same as a trial of a barostat leaves it ([`barostat`](super::barostat)): in `fixed-point` the integers that velocities are held as, which are in units
    /// of the edges, are multiplied and rounded once.
    ///
    /// # Errors
    /// As [`in_box`](Self::in_box).
    pub fn in_box_of_trial(
        &self,
        simulation_box: SimulationBox,
        species: &[Species],
    ) -> Result<ExactState, usize> {
        let mut state = self.in_box(simulation_box, species)?;
        if self.precision == Precision::FixedPoint {
            let factor = velocity_factors(&self.simulation_box, &simulation_box);
            let scaled = |bits: u64, axis: usize| {
                let velocity = FixedPoint::velocity_from_bits(bits);
                FixedPoint::scale(velocity, factor[axis]).map(FixedPoint::velocity_to_bits)
            };
            for (id, (to, from)) in state.velocity.iter_mut().zip(&self.velocity).enumerate() {
                for axis in 0..self.simulation_box.dimension() {
                    to[axis] = scaled(from[axis], axis).ok_or(id)?;
                }
            }
        }
        Ok(state)
    }

    /// The state of an engine with another timestep. Positions have the same bits. Velocities have too, except in `fixed-point`,
    /// whose quantum of velocity is `L / (2^64 dt)`: there they are rounded to 64-bit floats and to the new quantum, by
    /// 2^-53 of themselves and half a quantum at most.
    ///
    /// # Errors
    /// The first particle whose velocity the precision cannot hold there.
    pub fn at_timestep(&self, timestep: f64, species: &[Species]) -> Result<ExactState, usize> {
        let mut state = ExactState { timestep, memory: None, ..self.clone() };
        if self.precision == Precision::FixedPoint {
            let (snapshot, species_of) = (self.to_snapshot(species), self.species_of.clone());
            let (simulation_box, precision) = (self.simulation_box, self.precision);
            let converted = ExactState::from_snapshot(
                &snapshot,
                species_of,
                simulation_box,
                timestep,
                precision,
                species,
            )?;
            state.velocity = converted.velocity;
        }
        Ok(state)
    }

    /// Hash of positions, images and velocities, and of diameters where there are, in id order: equal states have equal hashes, whatever
    /// the engine, the threads, the skin or the order in memory.
    pub fn hash(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.step.to_le_bytes());
        for ((position, image), velocity) in
            self.position.iter().zip(&self.image).zip(&self.velocity)
        {
            for axis in 0..3 {
                hasher.update(&position[axis].to_le_bytes());
                hasher.update(&image[axis].to_le_bytes());
                hasher.update(&velocity[axis].to_le_bytes());
            }
        }
        for diameter in self.diameter.iter() {
            hasher.update(&diameter.to_le_bytes());
        }
        hasher.finalize()
    }
}

/// Factors on velocities in units of the edges, where the edges change and velocities do not.
pub(super) fn velocity_factors(from: &SimulationBox, to: &SimulationBox) -> [f64; 3] {
    let (from, to) = (from.padded_edges(), to.padded_edges());
    std::array::from_fn(|axis| from[axis] / to[axis])
}

/// Skewed coordinates in a tilted box: `x - slope y`.
pub(super) fn skewed([x, y, z]: [f64; 3], simulation_box: &SimulationBox) -> [f64; 3] {
    let x = if simulation_box.is_tilted() { x - simulation_box.slope() * y } else { x };
    [x, y, z]
}

/// The positions of skewed coordinates.
pub(super) fn straightened(
    mut positions: Vec<[f64; 3]>,
    simulation_box: &SimulationBox,
) -> Vec<[f64; 3]> {
    if simulation_box.is_tilted() {
        let slope = simulation_box.slope();
        positions.iter_mut().for_each(|position| position[0] += slope * position[1]);
    }
    positions
}

fn fill<P: Policy>(
    mut state: ExactState,
    snapshot: &Snapshot,
    species: &[Species],
) -> Result<ExactState, usize> {
    let policy = P::new(&state.simulation_box, state.timestep, species);
    let rounded = |&diameter| ExactState::rounded_diameter(state.precision, diameter);
    state.diameter = snapshot.diameter.iter().map(rounded).collect();
    for i in 0..snapshot.position.len() {
        let mut position = [0; 3];
        let mut image = snapshot.image[i];
        let mut velocity = [0; 3];
        let place = skewed(snapshot.position[i], &state.simulation_box);
        for axis in 0..state.simulation_box.dimension() {
            let x = place[axis];
            if !x.is_finite() {
                return Err(i);
            }
            let (coordinate, shift) = policy.coordinate_from_f64(x, axis);
            position[axis] = P::coordinate_to_bits(coordinate);
            image[axis] += shift;
            let v = policy.velocity_from_f64(snapshot.velocity[i][axis], axis).ok_or(i)?;
            velocity[axis] = P::velocity_to_bits(v);
        }
        state.position.push(position);
        state.image.push(image);
        state.velocity.push(velocity);
    }
    Ok(state)
}

fn read_out<P: Policy>(state: &ExactState, species: &[Species]) -> Snapshot {
    let policy = P::new(&state.simulation_box, state.timestep, species);
    let dimension = state.simulation_box.dimension();
    let convert = |bits: &[u64; 3], to_f64: &dyn Fn(u64, usize) -> f64| {
        std::array::from_fn(|axis| if axis < dimension { to_f64(bits[axis], axis) } else { 0.0 })
    };
    let coordinate = |bits, axis| policy.coordinate_to_f64(P::coordinate_from_bits(bits), axis);
    let velocity = |bits, axis| policy.velocity_to_f64(P::velocity_from_bits(bits), axis);
    let skewed = state.position.iter().map(|bits| convert(bits, &coordinate)).collect();
    Snapshot {
        step: state.step,
        position: straightened(skewed, &state.simulation_box),
        fraction: match P::HAS_FRACTIONS {
            true => state.position.iter().map(|bits| bits.map(rounded_fraction)).collect(),
            false => Vec::new(),
        },
        image: state.image.clone(),
        velocity: state.velocity.iter().map(|bits| convert(bits, &velocity)).collect(),
        diameter: state.diameter.clone(),
    }
}
