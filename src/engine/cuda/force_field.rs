//! What acts between particles, as the kernels have it: macros of their programs, and constants of a run.
use std::ops::RangeInclusive;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::constants::{DevicePolicy, PairTable};
use super::declare::Plain;
use super::launch::Kernels;
use crate::arithmetic::Real;
use crate::engine::EngineError;
use crate::engine::pair_core::{Limits, core_distances, core2};
use crate::plan::Plan;
use crate::potential::{KernelHeader, Mixing, PotentialPlan, kernel_headers};
use crate::system::SimulationBox;

/// A part of the potential energy that the kernels evaluate.
pub trait ForceTerm<P>: Send + Sync {
    /// Macros of a program for a box.
    fn macros(&self, policy: &P, simulation_box: &SimulationBox) -> Vec<(&'static str, String)>;

    /// Assertions of a program that its structs are those of the constants.
    fn assertions(&self, policy: &P) -> String;

    /// Headers that the macros name and that are not among the files of `kernels/`.
    fn headers(&self, policy: &P) -> Vec<KernelHeader>;

    /// Constants of the kernels, by name, as they lie in memory.
    fn constants(&self, policy: &P) -> Vec<(&'static str, Vec<u8>)>;

    /// The same for a box of a barostat's trial, of about the size of those before: what takes long and may be a little too large
    /// is kept from one of them.
    fn constants_nearby(&self, policy: &P) -> Vec<(&'static str, Vec<u8>)>;

    /// Whether the macros of two boxes are the same.
    fn have_same_macros(&self, policy: &P, boxes: [&SimulationBox; 2]) -> bool;

    /// Distance from which on particles of each ordered pair of species do not interact.
    fn cutoffs(&self) -> Vec<f64>;
}

/// The sum of all terms. The pair potential of a plan is the only one that the kernels have.
pub struct ForceField<P> {
    terms: Vec<Box<dyn ForceTerm<P>>>,
}

impl<P: DevicePolicy> ForceField<P> {
    pub fn new(plan: &Plan) -> Self {
        let (kept, saturates_within) = (Mutex::new(None), OnceLock::new());
        let term = PairTerm { potential: plan.potential.clone(), kept, saturates_within };
        ForceField { terms: vec![Box::new(term)] }
    }

    /// Macros of a program for a box.
    pub fn macros(
        &self,
        policy: &P,
        simulation_box: &SimulationBox,
    ) -> Vec<(&'static str, String)> {
        self.terms.iter().flat_map(|term| term.macros(policy, simulation_box)).collect()
    }

    /// Whether the macros of two boxes are the same.
    pub fn have_same_macros(&self, policy: &P, boxes: [&SimulationBox; 2]) -> bool {
        self.terms.iter().all(|term| term.have_same_macros(policy, boxes))
    }

    /// Headers that the macros name and that are not among the files of `kernels/`.
    pub fn headers(&self, policy: &P) -> Vec<KernelHeader> {
        self.terms.iter().flat_map(|term| term.headers(policy)).collect()
    }

    /// Assertions of a program that its structs are those of the constants.
    pub fn assertions(&self, policy: &P) -> String {
        self.terms.iter().map(|term| term.assertions(policy)).collect()
    }

    /// Constants of all terms, by name.
    pub fn constants(&self, policy: &P) -> Vec<(&'static str, Vec<u8>)> {
        self.terms.iter().flat_map(|term| term.constants(policy)).collect()
    }

    /// The same in a box of a barostat's trial ([`ForceTerm::constants_nearby`]).
    pub fn constants_nearby(&self, policy: &P) -> Vec<(&'static str, Vec<u8>)> {
        self.terms.iter().flat_map(|term| term.constants_nearby(policy)).collect()
    }

    /// Gives kernels the constants of all terms.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn set_constants(&self, kernels: &Kernels, policy: &P) -> Result<(), EngineError> {
        let constants = self.constants(policy);
        constants.iter().try_for_each(|(name, bytes)| kernels.set_bytes(name, bytes))
    }

    /// Distance from which on particles of each ordered pair of species do not interact.
    pub fn cutoffs(&self) -> Vec<f64> {
        let all = self.terms.iter().map(|term| term.cutoffs());
        let longest = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(b).map(|(a, b)| a.max(b)).collect();
        all.reduce(longest).unwrap_or_default()
    }
}

/// A potential of the distance of two particles.
struct PairTerm {
    potential: PotentialPlan,
    /// Cores that hold in all boxes with these largest forces.
    kept: Mutex<Option<(RangeInclusive<f64>, Vec<f64>)>>,
    /// Of the [`PairTable`] of a first box; lengths do not depend on it.
    saturates_within: OnceLock<f64>,
}

/// Edges that cores are kept for, over those of a box, with which forces that fit are proportional.
const KEPT: RangeInclusive<f64> = 0.9..=1.2;

impl PairTerm {
    /// Cores of a box, or larger ones of one that is a little smaller.
    fn cores_nearby<P: DevicePolicy>(&self, policy: &P) -> Vec<f64> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let largest = policy.largest_pair_force();
        match &*kept {
            Some((forces, cores)) if forces.contains(&largest) => cores.clone(),
            _ => {
                let forces = KEPT.start() * largest..=KEPT.end() * largest;
                let limits =
                    Limits { force: *forces.start(), energy: policy.largest_pair_energy() };
                let cores = core_distances(&limits, &self.potential);
                *kept = Some((forces, cores.clone()));
                cores
            }
        }
    }

    fn constants_with<P: DevicePolicy>(
        &self,
        policy: &P,
        cores: &[f64],
    ) -> Vec<(&'static str, Vec<u8>)> {
        let pairs = PairTable::bytes(policy, &self.potential, cores);
        let largest_core2 = largest_core2(policy, &self.potential, cores).bytes().to_vec();
        let mut constants = vec![("pairs", pairs), ("largest_core2", largest_core2)];
        if let Some(diameters) = &self.potential.diameters {
            let mixing = Mixing::<P::Real>::new(diameters);
            let bytes = mixing.minus_half_non_additivity.bytes().to_vec();
            constants.push(("minus_half_non_additivity", bytes));
        }
        constants
    }
}

/// No two images that are nearest are farther apart.
fn half_diagonal(simulation_box: &SimulationBox) -> f64 {
    0.5 * simulation_box.edges().iter().map(|edge| edge * edge).sum::<f64>().sqrt()
}

impl<P: DevicePolicy> ForceTerm<P> for PairTerm {
    fn macros(&self, policy: &P, simulation_box: &SimulationBox) -> Vec<(&'static str, String)> {
        let pairs = PairTable::new(policy, &self.potential);
        let half_diagonal = half_diagonal(simulation_box);
        vec![
            ("EVALUATOR_HEADER", format!("\"{}\"", pairs.header.name)),
            ("EVALUATOR", pairs.evaluator.clone()),
            ("TRUNCATION", pairs.truncation_name().to_owned()),
            ("DIAMETERS", u32::from(self.potential.diameters.is_some()).to_string()),
            ("COMMON_CONSTANTS", u32::from(pairs.have_common_constants).to_string()),
            ("SATURATING", u32::from(half_diagonal < pairs.saturates_within).to_string()),
        ]
    }

    fn have_same_macros(&self, policy: &P, boxes: [&SimulationBox; 2]) -> bool {
        let of = || PairTable::new(policy, &self.potential).saturates_within;
        let saturates_within = *self.saturates_within.get_or_init(of);
        let [a, b] = boxes.map(|of| half_diagonal(of) < saturates_within);
        a == b
    }

    fn assertions(&self, policy: &P) -> String {
        PairTable::new(policy, &self.potential).assertions()
    }

    fn headers(&self, policy: &P) -> Vec<KernelHeader> {
        let header = PairTable::new(policy, &self.potential).header;
        let is_file = kernel_headers().any(|file| file.name == header.name);
        if is_file { Vec::new() } else { vec![header] }
    }

    fn constants(&self, policy: &P) -> Vec<(&'static str, Vec<u8>)> {
        let limits = Limits::of(policy);
        self.constants_with(policy, &core_distances(&limits, &self.potential))
    }

    fn constants_nearby(&self, policy: &P) -> Vec<(&'static str, Vec<u8>)> {
        self.constants_with(policy, &self.cores_nearby(policy))
    }

    fn cutoffs(&self) -> Vec<f64> {
        let longest = self.potential.diameters.map_or(1.0, |diameters| diameters.longest());
        self.potential.pairs.iter().flatten().map(|pair| pair.cutoff * longest).collect()
    }
}

/// Squared distance below which pairs are looked at one by one: those too close, those at the same place, and particles
/// that meet themselves in their list.
fn largest_core2<P: DevicePolicy>(policy: &P, potential: &PotentialPlan, cores: &[f64]) -> P::Real {
    let largest = cores.iter().copied().fold(0.0, f64::max);
    let core2 = core2(policy, potential, largest).to_f64();
    P::Real::from_f64(core2.max(P::Real::COINCIDENT2.to_f64()))
}
