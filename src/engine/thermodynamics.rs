/// Macroscopic state at one step; energies per particle, reduced units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thermodynamics {
    pub step: u64,
    pub potential_energy: f64,
    pub kinetic_energy: f64,
    /// `2 E_kin / (D (N - 1))`, or `2 E_kin / (D N)` with a Langevin thermostat, which does not
    /// conserve momentum.
    pub temperature: f64,
    /// `(2 E_kin + sum_pairs r . F) / (D V)`.
    pub pressure: f64,
    /// `-(sum_i m v_a v_b + sum_pairs r_a F_b) / V`: tension is positive.
    pub stress: [[f64; 3]; 3],
    pub center_of_mass_velocity: [f64; 3],
    /// Total energy less the heat from thermostats (and, for Nose-Hoover, plus the chain's energy):
    /// constant but for the error of the time step.
    pub conserved_energy: f64,
}

impl Thermodynamics {
    pub fn total_energy(&self) -> f64 {
        self.potential_energy + self.kinetic_energy
    }
}
