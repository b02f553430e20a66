//! Motion of particles beside a flow.
use crate::plan::ShearPlan;
use crate::system::{SimulationBox, Snapshot};

/// Takes the affine part out of the places of samples.
///
/// In a shear a particle moves by `dr/dt = v + rate y e_x`. Correlations follow `X = x - int rate y dt` in the place of `x`, so that
/// displacements are `int v dt`, the non-affine part. From sample to sample the integral is the trapezoidal rule with the strain between
/// them, `(y + y') dgamma / 2`: exact for straight flights, else off by `rate a_y dt^3 / 12` at an acceleration `a_y`.
///
/// Particles have no image counts then: places are those without periodic boundaries.
#[derive(Clone, Debug)]
pub struct PeculiarMotion {
    /// At the start of the stage.
    simulation_box: SimulationBox,
    /// `None`: the box has a tilt, and does not change.
    shear: Option<ShearPlan>,
    timestep: f64,
    first_step: u64,
    last: Option<Last>,
}

/// Of the last sample.
#[derive(Clone, Debug, PartialEq)]
struct Last {
    step: u64,
    height: Vec<f64>,
    /// Affine displacement along x since the first sample.
    carried: Vec<f64>,
}

impl PeculiarMotion {
    /// `first_step`: of the run, at which the stage begins.
    pub fn new(
        simulation_box: SimulationBox,
        shear: Option<ShearPlan>,
        timestep: f64,
        first_step: u64,
    ) -> Self {
        PeculiarMotion { simulation_box, shear, timestep, first_step, last: None }
    }

    /// Whether there is an affine part.
    pub fn is_in_flow(&self) -> bool {
        self.shear.is_some()
    }

    /// The box at a step of the run, and the strain since the start of the stage.
    fn at(&self, step: u64) -> (SimulationBox, f64) {
        let steps = step - self.first_step;
        let of_flow = self.shear.map(|shear| {
            let simulation_box = shear.box_after(&self.simulation_box, self.timestep, steps);
            (simulation_box, shear.strain_after(&self.simulation_box, self.timestep, steps))
        });
        of_flow.unwrap_or((self.simulation_box, 0.0))
    }

    /// The box at a step of the run.
    pub fn box_at(&self, step: u64) -> SimulationBox {
        self.at(step).0
    }

    /// The next sample, with the places beside the flow.
    pub fn of(&mut self, snapshot: &Snapshot) -> Snapshot {
        let (simulation_box, strain) = self.at(snapshot.step);
        let count = snapshot.position.len();
        let places: Vec<[f64; 3]> =
            (0..count).map(|id| snapshot.unwrapped(id, &simulation_box)).collect();
        let height: Vec<f64> = places.iter().map(|r| r[1]).collect();
        let carried = match &self.last {
            None => vec![0.0; count],
            Some(last) => {
                let growth = strain - self.at(last.step).1;
                let ways = last.carried.iter().zip(last.height.iter().zip(&height));
                ways.map(|(carried, (before, now))| carried + 0.5 * (before + now) * growth)
                    .collect()
            }
        };
        let beside = |(mut r, carried): ([f64; 3], &f64)| {
            r[0] -= carried;
            r
        };
        let position = places.into_iter().zip(&carried).map(beside).collect();
        self.last = Some(Last { step: snapshot.step, height, carried });
        Snapshot { position, fraction: Vec::new(), image: vec![[0; 3]; count], ..snapshot.clone() }
    }

    /// What the flow has carried each particle along x from the first sample to the last one, by id.
    pub fn carried(&self) -> &[f64] {
        self.last.as_ref().map_or(&[], |last| &last.carried)
    }

    /// For a checkpoint: the step, heights and affine displacements; nothing before the first sample.
    pub fn save(&self) -> Vec<f64> {
        let Some(Last { step, height, carried }) = &self.last else { return Vec::new() };
        std::iter::once(*step as f64).chain(height.iter().chain(carried).copied()).collect()
    }

    /// Takes what was saved; whether it is of this number of particles.
    pub fn restore(&mut self, saved: &[f64], particles: usize) -> bool {
        let Some((&step, rest)) = saved.split_first() else {
            self.last = None;
            return true;
        };
        if rest.len() != 2 * particles {
            return false;
        }
        let (height, carried) = rest.split_at(particles);
        let (height, carried) = (height.to_vec(), carried.to_vec());
        self.last = Some(Last { step: step as u64, height, carried });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the lab a free particle flies straight on, `x = (v + rate y(0)) t`, through many boxes; beside the flow its velocity is
    /// `v - rate v_y t`.
    #[test]
    fn a_free_particle_has_the_displacement_of_its_peculiar_velocity() {
        let simulation_box = SimulationBox::new(&[4.0, 5.0, 6.0]);
        let (rate, timestep, v) = (0.3, 0.01, [0.7, -1.1, 0.4]);
        let start: [f64; 3] = [1.0, 2.0, 3.0];
        let shear = ShearPlan::Steady { rate };
        let mut motion = PeculiarMotion::new(simulation_box, Some(shear), timestep, 100);
        for sample in 0..400u64 {
            let (steps, t) = (5 * sample, 0.05 * sample as f64);
            let tilted = shear.box_after(&simulation_box, timestep, steps);
            let mut place: [f64; 3] = std::array::from_fn(|k| start[k] + v[k] * t);
            place[0] += rate * start[1] * t;
            // Into the box of the moment, with the counts of periods that the engine would have.
            let [x, y, z] = tilted.padded_edges();
            let n_y = (place[1] / y).floor();
            let strain = shear.strain_after(&simulation_box, timestep, steps);
            // The lattice row at this height has moved with the flow.
            let of_row = strain * n_y * y;
            let along = place[0] - of_row - tilted.slope() * (place[1] - n_y * y);
            let n_x = (along / x).floor();
            let n_z = (place[2] / z).floor();
            let position = [place[0] - of_row - n_x * x, place[1] - n_y * y, place[2] - n_z * z];
            let turns = (strain * y / x - tilted.tilt()).round();
            let image = [n_x + turns * n_y, n_y, n_z].map(|n| n as i32);
            let snapshot = Snapshot {
                step: 100 + steps,
                position: vec![position],
                fraction: Vec::new(),
                image: vec![image],
                velocity: vec![v],
                diameter: [].into(),
            };
            let saved = motion.save();
            assert!(motion.restore(&saved, 1));
            let found = motion.of(&snapshot);
            let expected = [
                start[0] + v[0] * t - 0.5 * rate * v[1] * t * t,
                start[1] + v[1] * t,
                start[2] + v[2] * t,
            ];
            for k in 0..3 {
                let error = found.position[0][k] - expected[k];
                assert!(error.abs() < 1e-9, "{sample}, {k}: {found:?} {expected:?}");
            }
        }
        assert!(!motion.restore(&[1.0, 2.0], 1));
    }
}
