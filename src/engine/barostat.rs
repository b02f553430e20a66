//! Constant pressure by stochastic cell rescaling (M. Bernetti & G. Bussi, J. Chem. Phys. 153, 114107 (2020)), in trials between
//! steps.
//!
//! With `lambda = sqrt(V)` the volume follows, to first order in time and without oscillations,
//!
//! ```text
//! dlambda = -(b lambda / (2 tau)) (P_0 - P - T / (2 V)) dt + sqrt(T b / (2 tau)) dW,    P = N T / V + W / (D V),
//! ```
//!
//! with the pressure `P_0` and the relaxation time `tau` of the barostat, a compressibility `b`, the temperature `T` of the
//! thermostat and the virial `W`. Particles keep their places as fractions of the edges, and their velocities. A step of this
//! equation over the time between two trials, with a drift of half a per cent of `lambda` at most, is what a trial proposes, and
//! Metropolis' rule decides on it, with the density of `lambda` at given fractions
//!
//! ```text
//! lambda^(2 N + 1) exp(-(U + P_0 V) / T).
//! ```
//!
//! So the volume has the distribution of the isothermal-isobaric ensemble, `V^N exp(-P_0 V / T)` for an ideal gas, whatever `tau`,
//! `b` and the time between trials are. Velocities do not enter: those of whole steps have another temperature than positions have,
//! by the second order of the time step. The energy that particles get with a new volume counts as heat.
//!
//! With [`Coupling::Anisotropic`] a trial changes one edge, taken at random, and `P` is `N T / V + W_aa / V` along it.
use super::EngineError;
use crate::arithmetic::elementary::{exp_f64, ln_f64};
use crate::arithmetic::random::{CounterRng, Purpose};
use crate::plan::{BarostatPlan, Coupling};
use crate::system::SimulationBox;

/// Largest drift of a trial, as a share of `lambda`.
const LARGEST_DRIFT: f64 = 0.005;

/// Largest change of `lambda` in a trial, as a share of it: far from what is proposed to systems of more than a few particles.
const LARGEST_CHANGE: f64 = 0.5;

/// Arguments of the exponential below this give no chance.
const LEAST_EXPONENT: f64 = -700.0;

/// Potential energy, and virial `sum_pairs r_a F_b` for `ab` = xx, yy, zz, xy, xz, yz.
pub type PairSums = [f64; 7];

/// The trial after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VolumeTrial {
    /// Of the random numbers.
    pub key: u64,
    pub step: u64,
    pub particles: usize,
    pub temperature: f64,
    pub pressure: f64,
    /// Time between two trials.
    pub interval: f64,
    pub plan: BarostatPlan,
}

/// The box that a trial proposes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proposal {
    pub from: SimulationBox,
    pub to: SimulationBox,
    /// The edge that changes; `None`: all.
    axis: Option<usize>,
    uniform: f64,
}

impl VolumeTrial {
    /// What the trial proposes to a system in a box; `None`: nothing that could be a box.
    pub fn propose(&self, sums: &PairSums, from: &SimulationBox) -> Option<Proposal> {
        let mut rng = CounterRng::new(self.key, Purpose::Barostat, self.step);
        let (normal, uniform, choice) = (rng.normal(), rng.uniform(), rng.uniform());
        let dimension = from.dimension();
        let axis = match self.plan.coupling {
            Coupling::Isotropic => None,
            Coupling::Anisotropic => Some((choice * dimension as f64) as usize),
        };
        let lambda = from.volume().sqrt();
        let change = self.drift(from, axis).change(sums) + self.width() * normal;
        if change.abs() >= LARGEST_CHANGE * lambda {
            return None;
        }
        let ratio = (lambda + change) / lambda;
        let mut edges = from.edges().to_vec();
        match axis {
            Some(axis) => edges[axis] *= ratio * ratio,
            None => {
                let factor = exp_f64(2.0 * ln_f64(ratio) / dimension as f64);
                edges.iter_mut().for_each(|edge| *edge *= factor);
            }
        }
        Some(Proposal { from: *from, to: SimulationBox::new(&edges), axis, uniform })
    }

    /// The deterministic part of the equation in a box.
    fn drift(&self, simulation_box: &SimulationBox, axis: Option<usize>) -> Drift {
        let volume = simulation_box.volume();
        let lambda = volume.sqrt();
        Drift {
            axis,
            dimension: simulation_box.dimension(),
            ideal: self.particles as f64 * self.temperature,
            volume,
            pressure: self.pressure,
            correction: self.temperature / (2.0 * volume),
            rate: self.plan.compressibility * lambda / (2.0 * self.plan.time),
            interval: self.interval,
            most: LARGEST_DRIFT * lambda,
        }
    }

    /// Standard deviation of the random part.
    fn width(&self) -> f64 {
        let BarostatPlan { time, compressibility, .. } = self.plan;
        (self.temperature * compressibility * self.interval / (2.0 * time)).sqrt()
    }

    /// What decides on a proposal, of sums in the present box.
    pub fn decision(&self, proposal: &Proposal, before: &PairSums) -> Decision {
        let Proposal { from, to, axis, uniform } = proposal;
        let (volume, proposed) = (from.volume(), to.volume());
        let (old, new) = (volume.sqrt(), proposed.sqrt());
        let there = new - old - self.drift(from, *axis).change(before);
        let width = self.width();
        Decision {
            there2: there * there,
            back: old - new,
            drift: self.drift(to, *axis),
            width2: 2.0 * width * width,
            of_places: (2.0 * self.particles as f64 + 1.0) * ln_f64(new / old),
            energy: before[0],
            work: self.pressure * (proposed - volume),
            temperature: self.temperature,
            uniform: *uniform,
        }
    }

    /// Whether a proposal is accepted, of sums in the present box and in the proposed one.
    pub fn accepts(&self, proposal: &Proposal, before: &PairSums, after: &PairSums) -> bool {
        self.decision(proposal, before).accepts(after)
    }
}

/// The deterministic part of the equation in a box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// As of [`Proposal`].
    pub axis: Option<usize>,
    pub dimension: usize,
    /// `N T`.
    pub ideal: f64,
    pub volume: f64,
    /// `P_0`.
    pub pressure: f64,
    /// `T / (2 V)`.
    pub correction: f64,
    /// `b lambda / (2 tau)`.
    pub rate: f64,
    pub interval: f64,
    /// Largest change of `lambda`.
    pub most: f64,
}

impl Drift {
    /// Change of `lambda`, of sums in the box.
    fn change(&self, sums: &PairSums) -> f64 {
        let [_, xx, yy, zz, ..] = *sums;
        let virial = match self.axis {
            Some(axis) => [xx, yy, zz][axis],
            None => (xx + yy + zz) / self.dimension as f64,
        };
        let pressure = (self.ideal + virial) / self.volume;
        let missing = self.pressure - pressure - self.correction;
        (-self.rate * missing * self.interval).clamp(-self.most, self.most)
    }
}

/// Metropolis' rule for a proposal, up to the sums in the proposed box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Square of the random part of the change of `lambda`; of the change back that change itself, and the drift there.
    pub there2: f64,
    pub back: f64,
    pub drift: Drift,
    /// Twice the variance of the random part.
    pub width2: f64,
    /// `(2 N + 1) ln(lambda' / lambda)`.
    pub of_places: f64,
    /// Potential energy in the present box.
    pub energy: f64,
    /// `P_0 (V' - V)`.
    pub work: f64,
    pub temperature: f64,
    /// Random number in (0, 1): the probability of acceptance must exceed it.
    pub uniform: f64,
}

impl Decision {
    /// Whether the proposal is accepted, of sums in its box. The kernels have the same (`kernels/md/volume.cuh`).
    pub fn accepts(&self, after: &PairSums) -> bool {
        let back = self.back - self.drift.change(after);
        let of_proposals = (self.there2 - back * back) / self.width2;
        let enthalpy = after[0] - self.energy + self.work;
        let exponent = of_proposals + self.of_places - enthalpy / self.temperature;
        exponent >= 0.0 || (exponent > LEAST_EXPONENT && self.uniform < exp_f64(exponent))
    }
}

/// What an engine does with a trial.
pub(super) trait Volumes {
    /// The trial that follows the present step, if one is due.
    fn volume_trial(&self) -> Option<VolumeTrial>;

    fn simulation_box(&self) -> SimulationBox;

    /// Sums over pairs in the present state.
    fn pair_sums(&mut self) -> Result<PairSums, EngineError>;

    /// Sums over pairs with the particles at the same fractions of a proposed box.
    ///
    /// # Errors
    /// Also if a number does not fit: the trial is rejected then.
    fn pair_sums_in(&mut self, proposal: &Proposal) -> Result<PairSums, EngineError>;

    /// Takes the box that was measured last, or stays in the present one.
    fn decide(&mut self, proposal: &Proposal, is_accepted: bool) -> Result<(), EngineError>;

    /// As [`ThermostatState::count_volume_trial`](crate::integrator::ThermostatState::count_volume_trial).
    fn count(&mut self, accepted: Option<f64>) -> Result<(), EngineError>;
}

/// Whether a trial in whose box this was met is rejected: a number does not fit there.
pub(super) fn is_rejection(error: &EngineError) -> bool {
    matches!(error, EngineError::OutOfRange { .. } | EngineError::TooClose { .. })
}

/// Takes the trial that follows the present step, if one is due.
pub(super) fn take_trial(engine: &mut impl Volumes) -> Result<(), EngineError> {
    let Some(trial) = engine.volume_trial() else { return Ok(()) };
    let before = engine.pair_sums()?;
    let Some(proposal) = trial.propose(&before, &engine.simulation_box()) else {
        return engine.count(None);
    };
    let after = match engine.pair_sums_in(&proposal) {
        Ok(after) => Some(after),
        Err(error) if is_rejection(&error) => None,
        Err(error) => return Err(error),
    };
    let accepted = after.filter(|after| trial.accepts(&proposal, &before, after));
    engine.decide(&proposal, accepted.is_some())?;
    engine.count(accepted.map(|after| after[0] - before[0]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{BarostatKind, Ramp};

    fn trial(step: u64, coupling: Coupling, interval: f64) -> VolumeTrial {
        let plan = BarostatPlan {
            kind: BarostatKind::CellRescaling,
            pressure: Ramp { from: 2.0, to: 2.0 },
            time: 1.0,
            compressibility: 0.4,
            every: 1,
            coupling,
            chain_length: 0,
        };
        VolumeTrial {
            key: 11,
            step,
            particles: 50,
            temperature: 1.5,
            pressure: 2.0,
            interval,
            plan,
        }
    }

    /// An ideal gas has the mean volume `(N + 1) T / P` and the variance `(N + 1) (T / P)^2`; trials that follow each other are
    /// correlated over `tau` and less. With long intervals the proposals are poor and the distribution is the same.
    #[test]
    fn volumes_of_an_ideal_gas_have_their_exact_mean_and_variance() {
        for (interval, coupling) in
            [(0.2, Coupling::Isotropic), (2.0, Coupling::Isotropic), (0.2, Coupling::Anisotropic)]
        {
            let none = [0.0; 7];
            let mut simulation_box = SimulationBox::new(&[3.0, 3.5, 4.0]);
            let (mut sum, mut square, mut accepted) = (0.0, 0.0, 0);
            let trials = 400_000;
            for step in 0..trials {
                let trial = trial(step, coupling, interval);
                if let Some(proposal) = trial.propose(&none, &simulation_box)
                    && trial.accepts(&proposal, &none, &none)
                {
                    simulation_box = proposal.to;
                    accepted += 1;
                }
                sum += simulation_box.volume();
                square += simulation_box.volume().powi(2);
            }
            let mean = sum / trials as f64;
            let variance = square / trials as f64 - mean * mean;
            let (unit, particles) = (1.5 / 2.0, 50.0);
            let expected = [(particles + 1.0) * unit, (particles + 1.0) * unit * unit];
            // Correlation times of up to 40 trials: relative errors of 0.2 % and 2 % at most, three times of which are allowed.
            assert!((mean / expected[0] - 1.0).abs() < 0.006, "{interval} {coupling:?}: {mean}");
            assert!((variance / expected[1] - 1.0).abs() < 0.06, "{coupling:?}: {variance}");
            assert!(accepted > trials / 5, "{interval} {coupling:?}: {accepted}");
        }
    }
}
