use super::StageContext;
use crate::integrator::ThermostatState;
use crate::system::SimulationBox;

/// Macroscopic state at one step; energies per particle, reduced units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thermodynamics {
    pub step: u64,
    pub potential_energy: f64,
    pub kinetic_energy: f64,
    /// `2 E_kin / (D (N - 1))`, or `2 E_kin / (D N)` with a Langevin thermostat, which does not
    /// conserve momentum.
    pub temperature: f64,
    /// The same of the velocities of half steps, of the mean of the half steps before and after this step: they differ by
    /// `F dt/m`, so that it is `temperature` and `sum_i (F dt/2m)^2 m` over the degrees of freedom. Positions have this
    /// temperature, up to the fourth order of the time step.
    pub half_step_temperature: f64,
    /// `(2 E_kin + sum_pairs r . F) / (D V)`.
    pub pressure: f64,
    /// `sum_pairs r . F / N`.
    pub virial: f64,
    /// `-(sum_i m v_a v_b + sum_pairs r_a F_b) / V`: tension is positive.
    pub stress: [[f64; 3]; 3],
    pub center_of_mass_velocity: [f64; 3],
    /// Total energy less the heat from thermostats (and, for Nose-Hoover, plus the chain's energy, and with a piston its energy and
    /// `P_0 V`):
    /// constant except for the error of the time step.
    pub conserved_energy: f64,
    /// Trials to exchange diameters since the start of the run, and how many were accepted.
    pub swap_trials: u64,
    pub swaps: u64,
    pub simulation_box: SimulationBox,
    pub particles: usize,
    /// Trials to change the volume since the start of the run, and how many were accepted.
    pub volume_trials: u64,
    pub volume_changes: u64,
}

/// Sums over the whole system, as an engine makes them; `ab` = xx, yy, zz, xy, xz, yz.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SystemSums {
    /// Of `m v_a v_b` over all particles.
    pub kinetic: [f64; 6],
    /// Of `m (F dt/2m)^2` over all particles.
    pub kicks: f64,
    /// Of `U` over all pairs.
    pub potential: f64,
    /// Of `r_a F_b` over all pairs.
    pub virial: [f64; 6],
    pub center_of_mass_velocity: [f64; 3],
}

impl SystemSums {
    /// Twice the kinetic energy.
    pub fn kinetic2(&self) -> f64 {
        let [xx, yy, zz, ..] = self.kinetic;
        xx + yy + zz
    }

    /// As of [`Thermodynamics::stress`].
    pub fn stress(&self, volume: f64) -> [[f64; 3]; 3] {
        symmetric(std::array::from_fn(|at| -(self.kinetic[at] + self.virial[at]) / volume))
    }
}

/// The symmetric tensor of its components xx, yy, zz, xy, xz, yz.
pub(super) fn symmetric([xx, yy, zz, xy, xz, yz]: [f64; 6]) -> [[f64; 3]; 3] {
    [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
}

impl Thermodynamics {
    /// The state after `step`.
    pub fn new(
        step: u64,
        sums: &SystemSums,
        particles: usize,
        simulation_box: &SimulationBox,
        stage: &StageContext,
        memory: &ThermostatState,
    ) -> Self {
        let SystemSums { potential, virial, center_of_mass_velocity, .. } = *sums;
        let (dimension, volume) = (simulation_box.dimension(), simulation_box.volume());
        let count = particles as f64;
        let kinetic2 = sums.kinetic2();
        let trace = virial[0] + virial[1] + virial[2];
        let degrees_of_freedom = stage.degrees_of_freedom(dimension, particles);
        let chain = stage.chain(step, degrees_of_freedom).map_or(0.0, |chain| chain.energy(memory));
        let piston = stage.piston(step, dimension, particles).zip(memory.piston.as_ref());
        let of_box = piston.map_or(0.0, |(piston, state)| piston.energy(state, volume));
        Thermodynamics {
            step,
            potential_energy: potential / count,
            kinetic_energy: 0.5 * kinetic2 / count,
            temperature: kinetic2 / degrees_of_freedom as f64,
            half_step_temperature: (kinetic2 + sums.kicks) / degrees_of_freedom as f64,
            pressure: (kinetic2 + trace) / (dimension as f64 * volume),
            virial: trace / count,
            stress: sums.stress(volume),
            center_of_mass_velocity,
            conserved_energy: (potential + 0.5 * kinetic2 + chain + of_box - memory.heat) / count,
            swap_trials: memory.swap_trials,
            swaps: memory.swaps,
            simulation_box: *simulation_box,
            particles,
            volume_trials: memory.volume_trials,
            volume_changes: memory.volume_changes,
        }
    }

    /// Number density.
    pub fn density(&self) -> f64 {
        self.particles as f64 / self.simulation_box.volume()
    }

    pub fn total_energy(&self) -> f64 {
        self.potential_energy + self.kinetic_energy
    }
}
