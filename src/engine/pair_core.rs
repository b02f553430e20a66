//! The cores of pair potentials: distances at which the force has no number, or the wrong sign.
use crate::arithmetic::Real;
use crate::engine::precision::Policy;
use crate::potential::{PairParameters, PairUnits, PotentialPlan, evaluate_exactly};

/// The square of [`core_distance`], in the units of the pair loop; large enough to hold two particles at the same place
/// where there is a core at all.
pub(super) fn core2<P: Policy>(
    policy: &P,
    potential: &PotentialPlan,
    core_distance: f64,
) -> P::Real {
    let units = PairUnits::of::<P::Real>(potential.truncation.kind(), policy.pair_units());
    if core_distance == 0.0 {
        return P::Real::ZERO;
    }
    let core2 = (core_distance / units.length).powi(2);
    P::Real::from_f64(core2.max(P::Real::COINCIDENT2.to_f64()))
}

/// What a pair's force and energy must be smaller than to fit into a policy's sums.
pub(super) struct Limits {
    pub force: f64,
    pub energy: f64,
}

impl Limits {
    pub fn of<P: Policy>(policy: &P) -> Self {
        Limits { force: policy.largest_pair_force(), energy: policy.largest_pair_energy() }
    }
}

/// Largest distance at which a pair's force or energy does not fit into the policy's sums, or the potential has turned
/// over ([`PairForm::inner_maximum`](crate::potential::PairForm::inner_maximum)); zero if there is none, which takes a potential that is finite at zero.
///
/// Cores are intervals that begin at zero: they are looked for on a coarse grid, and their edge on a fine one, or, where
/// it lies below, by bisection over the orders of magnitude.
pub(super) fn core_distance(
    limits: &Limits,
    potential: &PotentialPlan,
    pair: &PairParameters,
) -> f64 {
    // Of a pair of no energy: where its terms overflow, so that nothing is made of them.
    let pair = &pair.with_some_energy();
    let inner_maximum = potential.form.inner_maximum(pair).unwrap_or(0.0);
    inner_maximum.max(unrepresentable_within(limits, potential, pair))
}

/// Of all ordered pairs of species.
pub(super) fn core_distances(limits: &Limits, potential: &PotentialPlan) -> Vec<f64> {
    let pairs = potential.pairs.iter().flatten();
    pairs.map(|pair| core_distance(limits, potential, pair)).collect()
}

fn unrepresentable_within(
    limits: &Limits,
    potential: &PotentialPlan,
    pair: &PairParameters,
) -> f64 {
    const STEPS: u32 = 20_000;
    const COARSE: u32 = 100;
    // Forces are largest of particles with the least diameters.
    let force_limit = limits.force * potential.shortest_unit();
    let energy_limit = limits.energy;
    let distance = |step: u32| pair.cutoff * f64::from(step) / f64::from(STEPS);
    let fits_at = |r: f64| {
        let (force_over_r, energy) =
            evaluate_exactly(potential.form, &potential.truncation, pair, r);
        // The virial of a pair is summed in the units of energy.
        let virial = force_over_r * r * r;
        (force_over_r * r).abs() < force_limit
            && energy.abs() < energy_limit
            && virial.abs() < energy_limit
    };
    let fits = |step: u32| fits_at(distance(step));
    let inside = (1..STEPS / COARSE).rev().map(|step| step * COARSE).find(|&step| !fits(step));
    let lowest = inside.unwrap_or(1);
    let edge = (lowest..lowest + COARSE).rev().find(|&step| !fits(step));
    if let Some(step) = edge {
        return distance(step);
    }
    if fits_at(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (1e-100, distance(1));
    for _ in 0..40 {
        let middle = (low * high).sqrt();
        *(if fits_at(middle) { &mut high } else { &mut low }) = middle;
    }
    low
}
