use super::ThermostatState;
use crate::arithmetic::elementary::exp_f64;

/// Weights of the fourth-order Suzuki-Yoshida splitting of half a step.
fn weights() -> [f64; 3] {
    const CUBE_ROOT_OF_2: f64 = 1.259_921_049_894_873_2;
    let outer = 1.0 / (2.0 - CUBE_ROOT_OF_2);
    [outer, 1.0 - 2.0 * outer, outer]
}

/// Chain of Nose-Hoover thermostats (Martyna, Tuckerman, Tobias & Klein, Mol. Phys. 87, 1117 (1996)).
///
/// Link masses are `Q_1 = f T (P / 2 pi)^2` and `Q_k = T (P / 2 pi)^2` with the period `P` and the
/// degrees of freedom `f`.
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

    fn mass(&self, link: usize) -> f64 {
        let time = self.time();
        self.degrees(link) * self.temperature * time * time
    }

    /// Acceleration of a link by the one before it; `kinetic2` is twice the kinetic energy.
    fn acceleration(&self, link: usize, velocity: &[f64], kinetic2: f64) -> f64 {
        let excess = if link == 0 {
            kinetic2 - self.degrees_of_freedom * self.temperature
        } else {
            self.mass(link - 1) * velocity[link - 1] * velocity[link - 1] - self.temperature
        };
        excess / self.mass(link)
    }

    /// Comes from the temperature `before`: the [`energy`](Self::energy) of the chain as it stands is proportional to it, and
    /// the change is booked as heat, so that what is conserved continues from where it was.
    pub fn come_from(&self, before: f64, state: &mut ThermostatState) {
        if before == self.temperature {
            return;
        }
        let time = self.time();
        let mut per_temperature = 0.0;
        for (link, (x, v)) in state.chain_position.iter().zip(&state.chain_velocity).enumerate() {
            per_temperature += self.degrees(link) * (0.5 * time * time * v * v + x);
        }
        state.heat += (self.temperature - before) * per_temperature;
    }

    /// Half a time step of the chain; returns the factor on all velocities.
    pub fn half_step(&self, state: &mut ThermostatState, kinetic2: f64, timestep: f64) -> f64 {
        let velocity = &mut state.chain_velocity;
        let last = velocity.len() - 1;
        let mut kinetic2 = kinetic2;
        let mut factor = 1.0;
        for weight in weights() {
            let half = 0.25 * weight * timestep;
            let quarter = 0.5 * half;
            velocity[last] += half * self.acceleration(last, velocity, kinetic2);
            for link in (0..last).rev() {
                let drag = exp_f64(-quarter * velocity[link + 1]);
                let kick = half * self.acceleration(link, velocity, kinetic2);
                velocity[link] = (velocity[link] * drag + kick) * drag;
            }
            let scale = exp_f64(-2.0 * half * velocity[0]);
            factor *= scale;
            kinetic2 *= scale * scale;
            for (position, velocity) in state.chain_position.iter_mut().zip(velocity.iter()) {
                *position += 2.0 * half * velocity;
            }
            for link in 0..last {
                let drag = exp_f64(-quarter * velocity[link + 1]);
                let kick = half * self.acceleration(link, velocity, kinetic2);
                velocity[link] = (velocity[link] * drag + kick) * drag;
            }
            velocity[last] += half * self.acceleration(last, velocity, kinetic2);
        }
        factor
    }

    /// Energy of the chain, which with the particles' is conserved:
    /// `sum_k Q_k v_k^2 / 2 + f T x_1 + T sum_{k>1} x_k`.
    pub fn energy(&self, state: &ThermostatState) -> f64 {
        let kinetic: f64 = state
            .chain_velocity
            .iter()
            .enumerate()
            .map(|(link, v)| 0.5 * self.mass(link) * v * v)
            .sum();
        let potential: f64 = state
            .chain_position
            .iter()
            .enumerate()
            .map(|(link, x)| if link == 0 { self.degrees_of_freedom * x } else { *x })
            .sum();
        kinetic + self.temperature * potential
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
                heat: 0.0,
            };
            let (mut x, mut v) = (1.0f64, 0.5f64);
            let energy = |x: f64, v: f64, state: &ThermostatState| {
                0.5 * (x * x + v * v) + chain.energy(state)
            };
            let start = energy(x, v, &state);
            let mut worst = 0.0f64;
            for _ in 0..(50.0 / timestep) as usize {
                v *= chain.half_step(&mut state, v * v, timestep);
                v -= 0.5 * timestep * x;
                x += timestep * v;
                v -= 0.5 * timestep * x;
                v *= chain.half_step(&mut state, v * v, timestep);
                worst = worst.max((energy(x, v, &state) - start).abs());
            }
            worst
        };
        let (coarse, fine) = (energy_error(0.02), energy_error(0.01));
        assert!(coarse < 1e-3, "{coarse}");
        assert!((3.0..5.0).contains(&(coarse / fine)), "second order: {coarse} / {fine}");
    }
}
