//! What a results file holds whatever is observed.
use hdf5::File;

use super::thermodynamics::BoxOf;
use super::{RunDescription, h5md};
use crate::engine::StageContext;

/// Squares of velocity components that the temperature is the mean of; `None` without the stage.
pub(super) fn degrees_of_freedom(run: &RunDescription) -> Option<u64> {
    let stage = run.plan.stages.iter().find(|stage| stage.name == run.stage)?;
    let of = StageContext { thermostat: stage.thermostat, ..StageContext::none(0) };
    let system = &run.plan.system;
    Some(of.degrees_of_freedom(system.simulation_box.dimension(), system.particle_count()))
}

/// Everything that does not depend on what is observed.
pub(super) fn write_fixed_part(file: &File, run: &RunDescription) -> hdf5::Result<()> {
    let simulation_box = &run.plan.system.simulation_box;
    let particle_count = run.plan.system.particle_count();
    h5md::write_metadata(file, run.author, h5md::CREATOR, run.version)?;
    let units = h5md::register_module(file, "units")?;
    h5md::string_attribute(&units, "system", "LJ")?;
    h5md::register_module(file, "thermodynamics")?;
    h5md::write_parameters(file, run)?;

    let observables = file.create_group("observables")?;
    h5md::number_attribute(&observables, "dimension", simulation_box.dimension() as i32)?;
    h5md::write_scalar(&observables, "particle_number", &(particle_count as i64))?;
    // Where the box changes it is a time series.
    if BoxOf::run(run).has_constant_edges() {
        let density = particle_count as f64 / simulation_box.volume();
        let density = h5md::write_scalar(&observables, "density", &density)?;
        h5md::string_attribute(&density, "unit", &format!("sigma-{}", simulation_box.dimension()))?;
    }

    let progress = file.create_group("progress")?;
    let stage = run.plan.stages.iter().position(|stage| stage.name == run.stage);
    let first_step = stage.map_or(0, |stage| run.plan.first_step(stage));
    h5md::write_scalar(&progress, "step", &(first_step as i64))?;
    h5md::write_scalar(&progress, "complete", &0_u8)?;
    let seconds = h5md::write_scalar(&progress, "seconds", &0.0_f64)?;
    h5md::string_attribute(&seconds, "unit", "s")?;
    Ok(())
}
