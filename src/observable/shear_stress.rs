use crate::system::SimulationBox;

/// Most independent components of a traceless symmetric tensor.
const MOST: usize = 5;

/// What the engine knows of a sample as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Macroscopic {
    /// Stress tensor (energy per volume).
    pub stress: [[f64; 3]; 3],
    pub temperature: f64,
}

/// The shear stress and the temperature of one sample, and their integrals over the time since the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShearStress {
    /// `s_xy, s_xz, s_yz, (s_xx - s_yy) / 2, (2 s_zz - s_xx - s_yy) / (2 sqrt 3)`: all have the same variance
    /// in an isotropic system. In two dimensions `s_xy, (s_xx - s_yy) / 2`, the others zero.
    pub component: [f64; MOST],
    /// Trapezoidal rule over the samples.
    pub integral: [f64; MOST],
    pub temperature: f64,
    /// The same rule.
    pub temperature_integral: f64,
}

impl ShearStress {
    /// Numbers of [`to_array`](Self::to_array).
    pub const NUMBERS: usize = 2 * MOST + 2;

    /// Independent components of the tensor.
    pub fn components(simulation_box: &SimulationBox) -> usize {
        if simulation_box.dimension() == 2 { 2 } else { MOST }
    }

    /// The sample after `before`, a time `interval` later; the first one has none before it.
    pub fn after(
        before: Option<&ShearStress>,
        interval: f64,
        macroscopic: &Macroscopic,
        simulation_box: &SimulationBox,
    ) -> Self {
        let s = &macroscopic.stress;
        let half_difference = 0.5 * (s[0][0] - s[1][1]);
        let component = match simulation_box.dimension() {
            2 => [s[0][1], half_difference, 0.0, 0.0, 0.0],
            _ => {
                let last = (2.0 * s[2][2] - s[0][0] - s[1][1]) / (2.0 * 3.0_f64.sqrt());
                [s[0][1], s[0][2], s[1][2], half_difference, last]
            }
        };
        let temperature = macroscopic.temperature;
        let (mut integral, mut temperature_integral) = ([0.0; MOST], 0.0);
        if let Some(before) = before {
            let next =
                |integral: f64, one: f64, other: f64| integral + interval * 0.5 * (one + other);
            for k in 0..MOST {
                integral[k] = next(before.integral[k], before.component[k], component[k]);
            }
            temperature_integral =
                next(before.temperature_integral, before.temperature, temperature);
        }
        ShearStress { component, integral, temperature, temperature_integral }
    }

    pub fn to_array(self) -> Vec<f64> {
        let temperatures = [self.temperature, self.temperature_integral];
        [&self.component[..], &self.integral, &temperatures].concat()
    }

    /// # Panics
    /// Unless `array` has [`NUMBERS`](Self::NUMBERS) numbers.
    pub fn from_array(array: &[f64]) -> Self {
        let numbers = |first: usize| std::array::from_fn(|k| array[first + k]);
        ShearStress {
            component: numbers(0),
            integral: numbers(MOST),
            temperature: array[2 * MOST],
            temperature_integral: array[2 * MOST + 1],
        }
    }
}
