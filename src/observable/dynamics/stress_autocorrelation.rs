use super::correlation::Correlation;
use super::evaluator::Evaluator;
use super::part::Part;
use super::registry::Definition;
use super::source::{Held, Source};
use super::terms::Terms;
use crate::plan::DynamicObservable;
use crate::system::SimulationBox;

/// `G(t) = V / T <s(0) s(t)>`, mean over the independent components `s` of the traceless stress tensor
/// ([`ShearStress`](crate::observable::shear_stress::ShearStress)): the shear relaxation modulus of a liquid (Hansen &
/// McDonald, Theory of Simple Liquids, section 8.4; components after Daivis & Evans, J. Chem. Phys. 100,
/// 541 (1994)). `T` is the mean kinetic temperature at the time origins. At long lags `s` is averaged over short windows
/// ([`stress_correlator`](super::stress_correlator)).
pub struct StressAutocorrelation {
    volume: f64,
}

pub(super) static DEFINITION: Definition = Definition {
    source: &SOURCE,
    correlation: |_, context| Box::new(StressAutocorrelation::new(&context.simulation_box)),
};

pub(super) static VISCOSITY: Definition = Definition {
    source: &SOURCE,
    correlation: |_, context| Box::new(ShearViscosity::new(&context.simulation_box)),
};

/// Products of the shear stress and its integral; see [`stress_correlator`](super::stress_correlator).
pub(super) static SOURCE: Source = Source {
    name: "stress product",
    needs: &[],
    samples: Held::Nothing,
    evaluator: Evaluator::Stress,
    constants: &[],
    terms: |_, _| Ok(Terms::Stress),
};

impl StressAutocorrelation {
    pub fn new(simulation_box: &SimulationBox) -> Self {
        StressAutocorrelation { volume: simulation_box.volume() }
    }
}

/// `V x / T` and its gradient, of the averages `x` and `T`.
fn per_temperature(volume: f64, x: f64, temperature: f64) -> (f64, [f64; 2]) {
    let factor = volume / temperature;
    (factor * x, [factor, -factor * x / temperature])
}

impl Correlation for StressAutocorrelation {
    fn kind(&self) -> DynamicObservable {
        DynamicObservable::StressAutocorrelation
    }

    fn formula(&self) -> String {
        "V / <T> <s(0) s(t)>, mean over the independent components s of the traceless stress tensor"
            .into()
    }

    fn parts(&self, species: usize, listed: &[usize]) -> Vec<Part> {
        Part::all_particles(species, listed)
    }

    fn components(&self) -> usize {
        2
    }

    fn of_origin(&self, terms: &[f64], components: &mut [f64]) {
        components.copy_from_slice(&[terms[0], terms[2]]);
    }

    fn value(&self, _particles: usize, averages: &[f64]) -> (f64, [f64; 2]) {
        per_temperature(self.volume, averages[0], averages[1])
    }

    /// Origins.
    fn samples_per_origin(&self, _particles: usize, _vectors: u64) -> u64 {
        1
    }
}

/// Green-Kubo integral `eta(t) = int_0^t G(t') dt'` of the [`StressAutocorrelation`]; its plateau at long
/// times is the shear viscosity.
///
/// Integrated by the trapezoidal rule over all samples, whatever the spacing of the lags: with
/// `S(t) = int_0^t s dt'` summed up from sample to sample, `int_0^t <s(0) s(t')> dt' = <s(0) [S(t) - S(0)]>`, here
/// the mean of this and of `<s(t) [S(t) - S(0)]>`, which is equal for a stationary state. So its errors are
/// those of an average over time origins, too. Windows as of [`StressAutocorrelation`].
pub struct ShearViscosity {
    volume: f64,
}

impl ShearViscosity {
    pub fn new(simulation_box: &SimulationBox) -> Self {
        ShearViscosity { volume: simulation_box.volume() }
    }
}

impl Correlation for ShearViscosity {
    fn kind(&self) -> DynamicObservable {
        DynamicObservable::ShearViscosity
    }

    fn formula(&self) -> String {
        "V / <T> int_0^t <s(0) s(t')> dt', mean over the independent components s of the traceless \
         stress tensor"
            .into()
    }

    fn parts(&self, species: usize, listed: &[usize]) -> Vec<Part> {
        Part::all_particles(species, listed)
    }

    fn components(&self) -> usize {
        2
    }

    fn of_origin(&self, terms: &[f64], components: &mut [f64]) {
        components.copy_from_slice(&[terms[1], terms[2]]);
    }

    fn value(&self, _particles: usize, averages: &[f64]) -> (f64, [f64; 2]) {
        per_temperature(self.volume, averages[0], averages[1])
    }

    /// Origins.
    fn samples_per_origin(&self, _particles: usize, _vectors: u64) -> u64 {
        1
    }
}
