use super::ThermostatState;
use crate::arithmetic::elementary::exp_near_zero;

/// Chain of Nose-Hoover thermostats (Martyna, Klein & Tuckerman, J. Chem. Phys. 97, 2635 (1992)) that acts on the kinetic
/// energy of half steps.
///
/// With `v_k` and `x_k` the velocities and positions of the links, the period `P`, `tau = P / 2 pi`, `f` degrees of
/// freedom and `K` the kinetic energy:
///
/// ```text
/// dv/dt = F/m - v_1 v      dv_1/dt = (2 K / (f T) - 1) / tau^2 - v_1 v_2      dx_k/dt = v_k
/// dv_2/dt = f v_1^2 - 1/tau^2 - v_2 v_3      dv_k/dt = v_(k-1)^2 - 1/tau^2 - v_k v_(k+1)
/// ```
///
/// A step is symmetric: half a kick; half a step of friction, `v *= exp(-v_1 dt/2)`; the drift, and beside it a step of
/// the chain at the kinetic energy of these velocities; half a step of friction; half a kick. For harmonic motion the mean
/// square of the velocity of half steps is `omega^2` times that of the position for any time step, so that positions have the
/// temperature of the chain; where the velocities of whole steps steer the chain they are hotter by
/// `(omega dt)^2 / 4`.
///
/// Link masses are `Q_1 = f T tau^2` and `Q_k = T tau^2`.
#[derive(Clone, Copy, Debug)]
pub struct NoseHooverChain {
    pub degrees_of_freedom: f64,
    pub temperature: f64,
    pub period: f64,
}

impl NoseHooverChain {
    fn degrees(&self, link: usize) -> f64 {
        if link == 0 { self.degrees_of_freedom } else { 1.0 }
    }

    fn time(&self) -> f64 {
        self.period / (2.0 * std::f64::consts::PI)
    }

    /// `1 / tau^2`.
    pub fn rate2(&self) -> f64 {
        1.0 / (self.time() * self.time())
    }

    /// Comes from the temperature `before`: the [`energy`](Self::energy) of the chain as it stands is proportional to it, and
    /// the change is booked as heat, so that what is conserved continues from where it was.
    pub fn come_from(&self, before: f64, state: &mut ThermostatState) {
        if before == self.temperature {
            return;
        }
        let per_temperature =
            self.energy_per_temperature(&state.chain_position, &state.chain_velocity);
        state.heat += (self.temperature - before) * per_temperature;
    }

    /// Of links as they stand, which does not depend on the temperature.
    pub fn energy_per_temperature(&self, position: &[f64], velocity: &[f64]) -> f64 {
        let time = self.time();
        let mut per_temperature = 0.0;
        for (link, (x, v)) in position.iter().zip(velocity).enumerate() {
            per_temperature += self.degrees(link) * (0.5 * time * time * v * v + x);
        }
        per_temperature
    }

    /// Factor of half a step of friction on all velocities.
    pub fn factor(state: &ThermostatState, timestep: f64) -> f64 {
        exp_near_zero(-0.5 * timestep * state.chain_velocity[0])
    }

    /// A step of the chain; `kinetic2` is twice the kinetic energy at half of it.
    pub fn step(&self, state: &mut ThermostatState, kinetic2: f64, timestep: f64) {
        self.step_links(&mut state.chain_position, &mut state.chain_velocity, kinetic2, timestep);
    }

    /// The same of links by their positions and velocities.
    pub fn step_links(
        &self,
        position: &mut [f64],
        velocity: &mut [f64],
        kinetic2: f64,
        timestep: f64,
    ) {
        let last = velocity.len() - 1;
        let (half, quarter) = (0.5 * timestep, 0.25 * timestep);
        let rate2 = self.rate2();
        let drive = (kinetic2 / (self.degrees_of_freedom * self.temperature) - 1.0) * rate2;
        let acceleration = |link: usize, velocity: &[f64]| match link {
            0 => drive,
            _ => self.degrees(link - 1) * (velocity[link - 1] * velocity[link - 1]) - rate2,
        };
        // That of the first link belongs to the friction, half before the drift and half after it.
        position[0] += half * velocity[0];
        velocity[last] += half * acceleration(last, velocity);
        for link in (0..last).rev() {
            let drag = exp_near_zero(-quarter * velocity[link + 1]);
            let kick = half * acceleration(link, velocity);
            velocity[link] = (velocity[link] * drag + kick) * drag;
        }
        for (position, velocity) in position.iter_mut().zip(velocity.iter()).skip(1) {
            *position += timestep * velocity;
        }
        for link in 0..last {
            let drag = exp_near_zero(-quarter * velocity[link + 1]);
            let kick = half * acceleration(link, velocity);
            velocity[link] = (velocity[link] * drag + kick) * drag;
        }
        velocity[last] += half * acceleration(last, velocity);
        position[0] += half * velocity[0];
    }

    /// Energy of the chain, which with the particles' is conserved:
    /// `sum_k Q_k v_k^2 / 2 + f T x_1 + T sum_{k>1} x_k`.
    pub fn energy(&self, state: &ThermostatState) -> f64 {
        self.energy_of(&state.chain_position, &state.chain_velocity)
    }

    /// The same of links by their positions and velocities.
    pub fn energy_of(&self, position: &[f64], velocity: &[f64]) -> f64 {
        let time2 = self.time() * self.time();
        let links = position.iter().zip(velocity).enumerate();
        let per_temperature: f64 =
            links.map(|(link, (x, v))| self.degrees(link) * (0.5 * time2 * v * v + x)).sum();
        self.temperature * per_temperature
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_oscillator_with_a_chain_conserves_the_extended_energy() {
        let chain = NoseHooverChain { degrees_of_freedom: 1.0, temperature: 1.0, period: 3.0 };
        let energy_error = |timestep: f64| {
            let mut state = ThermostatState {
                chain_position: vec![0.0; 3],
                chain_velocity: vec![0.3, 0.0, 0.0],
                ..ThermostatState::default()
            };
            let (mut x, mut v) = (1.0f64, 0.5f64);
            let energy = |x: f64, v: f64, state: &ThermostatState| {
                0.5 * (x * x + v * v) + chain.energy(state)
            };
            let start = energy(x, v, &state);
            let mut worst = 0.0f64;
            for _ in 0..(5.0 / timestep).round() as usize {
                v -= 0.5 * timestep * x;
                v *= NoseHooverChain::factor(&state, timestep);
                x += timestep * v;
                chain.step(&mut state, v * v, timestep);
                v *= NoseHooverChain::factor(&state, timestep);
                v -= 0.5 * timestep * x;
                worst = worst.max((energy(x, v, &state) - start).abs());
            }
            worst
        };
        let (coarse, fine) = (energy_error(0.02), energy_error(0.01));
        assert!(coarse < 0.01, "{coarse}");
        assert!((3.8..4.2).contains(&(coarse / fine)), "second order: {coarse} / {fine}");
    }
}
