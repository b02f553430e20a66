//! Programs over the headers of `kernels/md`: their macros, and the constants of a run.
use std::sync::Arc;

use super::constants::{DevicePolicy, DeviceReal, DeviceStruct, PairTable};
use super::launch::Kernels;
use super::measure::MeasureKernels;
use super::memory::Session;
use super::program::Program;
use super::samples::{self, SampleKernels};
use super::thermostat::{LARGEST_BLOCK, LARGEST_BLOCK_SINGLE_LANE};
use super::{advance, arithmetic, buffers, measure, thermostat};
use crate::arithmetic::Real;
use crate::engine::EngineError;
use crate::engine::pair_core::{core_distance, core2};
use crate::plan::Plan;

/// A program of a plan over the headers of `kernels/md`.
pub fn md_program<P: DevicePolicy>(name: &str, text: &str, policy: &P, plan: &Plan) -> Program {
    let pairs = PairTable::new(policy, &plan.potential);
    let dimension = plan.system.simulation_box.dimension();
    let edges = plan.system.simulation_box.edges();
    // No two images that are nearest are farther apart.
    let half_diagonal = 0.5 * edges.iter().map(|edge| edge * edge).sum::<f64>().sqrt();
    Program::new(name, text)
        .define([
            ("POLICY", P::NAME.to_owned()),
            ("EVALUATOR_HEADER", format!("\"{}\"", pairs.header)),
            ("EVALUATOR", pairs.evaluator.clone()),
            ("TRUNCATION", pairs.truncation_name().to_owned()),
            ("DIMENSION", dimension.to_string()),
            ("SPECIES_COUNT", plan.system.species.len().to_string()),
            ("CUBIC", u32::from(plan.system.simulation_box.is_cubic()).to_string()),
            ("COMMON_CONSTANTS", u32::from(pairs.have_common_constants).to_string()),
            ("SATURATING", u32::from(half_diagonal < pairs.saturates_within).to_string()),
            ("SAMPLING", u32::from(samples::is_wanted(plan)).to_string()),
            ("LARGEST_BLOCK", LARGEST_BLOCK.to_string()),
            ("LARGEST_BLOCK_SINGLE_LANE", LARGEST_BLOCK_SINGLE_LANE.to_string()),
            ("STRESS", u32::from(samples::is_stress_wanted(plan)).to_string()),
        ])
        .include(&[buffers::SHARED, thermostat::SHARED])
}

/// The same of one that takes steps, measures between them and, where the plan wants it, takes samples; `checks` of its
/// own kernels.
pub fn stepping_program<P: DevicePolicy>(
    name: &str,
    text: &str,
    policy: &P,
    plan: &Plan,
    checks: String,
) -> Program {
    let mut all = vec![MeasureKernels::checks()];
    if samples::is_wanted(plan) {
        all.push(SampleKernels::checks());
    }
    all.push(checks);
    md_program(name, text, policy, plan)
        .include(&[advance::SHARED, measure::SHARED, samples::SAMPLING])
        .include(&samples::SHARED)
        .checked(&all)
}

/// Compiles and loads such a program, and gives it the constants of a run.
pub fn load<P: DevicePolicy>(
    session: &Arc<Session>,
    mut program: Program,
    policy: &P,
    plan: &Plan,
) -> Result<Kernels, EngineError> {
    program.macros.extend(arithmetic::macros(session)?);
    let kernels = Kernels::of(session, &program)?;
    set_run_constants(&kernels, policy, plan)?;
    Ok(kernels)
}

/// Gives such a program the constants of a run.
pub fn set_run_constants<P: DevicePolicy>(
    kernels: &Kernels,
    policy: &P,
    plan: &Plan,
) -> Result<(), EngineError> {
    kernels.set_bytes("policy", &policy.constants().bytes())?;
    let pairs = PairTable::new(policy, &plan.potential);
    kernels.set_bytes("pairs", &pairs.bytes())?;
    let mut largest = DeviceStruct::default();
    largest_core2(policy, plan).append(&mut largest);
    kernels.set_bytes("largest_core2", &largest.bytes())
}

/// Squared distance below which pairs are looked at one by one: those too close, those at the same place, and particles
/// that meet themselves in their list.
fn largest_core2<P: DevicePolicy>(policy: &P, plan: &Plan) -> P::Real {
    let largest = plan
        .potential
        .pairs
        .iter()
        .flatten()
        .map(|pair| core_distance(policy, &plan.potential, pair))
        .fold(0.0, f64::max);
    let core2 = core2(policy, &plan.potential, largest).to_f64();
    P::Real::from_f64(core2.max(P::Real::COINCIDENT2.to_f64()))
}
