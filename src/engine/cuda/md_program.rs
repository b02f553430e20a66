//! Programs over the headers of `kernels/md`: their macros, and the constants of a run.
use std::sync::Arc;

use super::constants::{self, DevicePolicy};
use super::force_field::ForceField;
use super::geometry::{LARGEST_BLOCK, LARGEST_BLOCK_SINGLE_LANE, SMALL_BLOCK};
use super::launch::Kernels;
use super::measure::MeasureKernels;
use super::memory::Session;
use super::program::Program;
use super::samples::{self, SampleKernels};
use super::{advance, arithmetic, box_constants, buffers, measure, piston, swaps, thermostat};
use crate::engine::EngineError;
use crate::plan::Plan;

/// A program of a plan over the headers of `kernels/md`.
pub fn md_program<P: DevicePolicy>(name: &str, text: &str, policy: &P, plan: &Plan) -> Program {
    let simulation_box = &plan.system.simulation_box;
    let force_field = ForceField::new(plan);
    let equal_masses = plan.system.species.windows(2).all(|pair| pair[0].mass == pair[1].mass);
    Program::new(name, text.to_owned() + &force_field.assertions(policy))
        .define([
            ("POLICY", P::NAME.to_owned()),
            ("DIMENSION", simulation_box.dimension().to_string()),
            ("SPECIES_COUNT", plan.system.species.len().to_string()),
            ("EQUAL_MASSES", u32::from(equal_masses).to_string()),
            ("CUBIC", u32::from(simulation_box.is_cubic()).to_string()),
            ("SAMPLING", u32::from(samples::is_wanted(plan)).to_string()),
            ("SAMPLE_PLACES", u32::from(samples::are_places_wanted(plan)).to_string()),
            ("SMALL_BLOCK", SMALL_BLOCK.to_string()),
            ("SMALL_BLOCK_GLOBAL", SMALL_BLOCK.to_string()),
            ("LARGEST_BLOCK", LARGEST_BLOCK.to_string()),
            ("LARGEST_BLOCK_SINGLE_LANE", LARGEST_BLOCK_SINGLE_LANE.to_string()),
            ("SPECIES_SWAPS", u32::from(plan.exchanges_species()).to_string()),
            ("STRESS", u32::from(samples::is_stress_wanted(plan)).to_string()),
        ])
        .define(force_field.macros(policy, simulation_box))
        .define(piston::macros(plan.pistons()))
        .include(&constants::SHARED)
        .include(&[buffers::SHARED, thermostat::SHARED])
        .with_headers(force_field.headers(policy))
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
        .include(&[advance::SHARED, measure::SHARED, samples::SAMPLING, swaps::SHARED])
        .include(&samples::SHARED)
        .checked(&all)
}

/// Compiles and loads such a program, and gives it the constants of a run.
///
/// # Errors
/// If it cannot be compiled, or the GPU is lost.
pub fn load<P: DevicePolicy>(
    session: &Arc<Session>,
    program: Program,
    policy: &P,
    force_field: &ForceField<P>,
) -> Result<Kernels, EngineError> {
    let kernels = compiled(session, program)?;
    set_constants(&kernels, policy, force_field)?;
    Ok(kernels)
}

/// Compiles and loads such a program.
///
/// # Errors
/// As [`load`].
pub fn compiled(session: &Arc<Session>, mut program: Program) -> Result<Kernels, EngineError> {
    program.macros.extend(arithmetic::macros(session)?);
    Kernels::of(session, &program)
}

/// Gives such a program the constants of a run.
///
/// # Errors
/// If the GPU is lost.
pub fn set_constants<P: DevicePolicy>(
    kernels: &Kernels,
    policy: &P,
    force_field: &ForceField<P>,
) -> Result<(), EngineError> {
    let constants = force_field.constants(policy);
    box_constants::set(kernels, &box_constants::bytes(policy, &constants))?;
    box_constants::set_others(kernels, &constants)
}
