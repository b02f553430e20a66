//! What thermostats do in engines whose steps the host leads, half a step after the other; kernels that take many steps do
//! the same by themselves (`kernels/md/thermostat.cuh`).
use super::{EngineError, StageContext};
use crate::arithmetic::random::Purpose;
use crate::integrator::{ThermostatState, andersen, bussi};
use crate::plan::Thermostat;
use crate::system::Species;

/// Where and under what velocities change.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub step: u64,
    pub stage: StageContext,
    /// As the configuration gives it.
    pub timestep: f64,
    pub seed: u64,
    pub dimension: usize,
    /// Of the whole system.
    pub particles: usize,
}

impl Context {
    fn degrees_of_freedom(&self) -> u64 {
        self.stage.degrees_of_freedom(self.dimension, self.particles)
    }
}

/// Velocities of the particles that an engine holds. Sums are over the whole system, and all verbs collective where it is on
/// several ranks.
pub(super) trait Velocities {
    fn context(&self) -> Context;

    fn species(&self) -> &[Species];

    /// What the thermostat remembers.
    fn memory(&mut self) -> &mut ThermostatState;

    /// Twice the kinetic energy.
    ///
    /// # Errors
    /// If a number does not fit. So in what follows; among ranks it may be noted until all compare.
    fn kinetic2(&self) -> Result<f64, EngineError>;

    /// Multiplies all velocities.
    fn scale_all(&mut self, factor: f64) -> Result<(), EngineError>;

    /// Draws each velocity from the Maxwell-Boltzmann distribution.
    fn draw_each(&mut self, temperature: f64, purpose: Purpose) -> Result<(), EngineError>;

    /// Total momentum over total mass.
    fn center_of_mass_velocity(&self) -> Result<[f64; 3], EngineError>;

    /// Subtracts a velocity from all.
    fn shift_all(&mut self, by: [f64; 3]) -> Result<(), EngineError>;

    /// Sums of the velocities in units of their last digit; `None` where they are floating-point numbers.
    fn total_units(&self) -> Result<Option<[i128; 3]>, EngineError>;

    /// Subtracts `share` units of the last digit from all velocities along each axis, and one more from those of the ids
    /// below `rest`.
    fn subtract_units(&mut self, share: [i64; 3], rest: [u64; 3]) -> Result<(), EngineError>;
}

/// What the stage's thermostat does before a step's drift (`half` 0) and at its end (1). `langevin` takes half a step of
/// Langevin dynamics, of a friction, at a temperature.
pub(super) fn half_step<E: Velocities>(
    engine: &mut E,
    half: u64,
    langevin: impl FnOnce(&mut E, f64, f64) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let context = engine.context();
    let Context { step, stage, timestep, seed, .. } = &context;
    let Some(thermostat) = stage.thermostat else { return Ok(()) };
    let temperature = stage.target_temperature(&thermostat, *step);
    match thermostat.kind {
        Thermostat::NoseHoover { .. } => {
            let degrees = context.degrees_of_freedom();
            let chain = match half {
                0 => stage.chain(*step, degrees),
                _ => stage.chain_after(*step, degrees, engine.memory()),
            };
            let kinetic2 = engine.kinetic2()?;
            let chain = chain.expect("the stage has a chain");
            let factor = chain.half_step(engine.memory(), kinetic2, *timestep);
            engine.scale_all(factor)
        }
        Thermostat::Langevin { friction } => langevin(engine, friction, temperature),
        _ if half == 0 => Ok(()),
        Thermostat::Andersen { rate, exact } => {
            let interval = andersen::interval(rate, *timestep);
            if (step - stage.first_step).is_multiple_of(interval) {
                draw_velocities(engine, temperature, exact, Purpose::AndersenVelocity)?;
            }
            Ok(())
        }
        Thermostat::Bussi { time } => {
            let kinetic2 = engine.kinetic2()?;
            let degrees = context.degrees_of_freedom();
            let factor =
                bussi::factor(kinetic2, degrees, temperature, time, *timestep, *seed, *step);
            engine.scale_all(factor)?;
            engine.memory().heat += 0.5 * kinetic2 * (factor * factor - 1.0);
            Ok(())
        }
    }
}

/// Maxwell-Boltzmann velocities with zero total momentum; `exactly` scales them to the temperature. The energy that they
/// bring counts as heat.
pub(super) fn draw_velocities(
    engine: &mut impl Velocities,
    temperature: f64,
    exactly: bool,
    purpose: Purpose,
) -> Result<(), EngineError> {
    let before = engine.kinetic2()?;
    engine.draw_each(temperature, purpose)?;
    remove_center_of_mass_velocity(engine)?;
    let Context { dimension, particles, .. } = engine.context();
    if exactly && particles > 1 {
        let degrees = dimension as f64 * (particles - 1) as f64;
        let kinetic2 = engine.kinetic2()?;
        if kinetic2 > 0.0 {
            engine.scale_all((degrees * temperature / kinetic2).sqrt())?;
            remove_center_of_mass_velocity(engine)?;
        }
    }
    let after = engine.kinetic2()?;
    engine.memory().heat += 0.5 * (after - before);
    Ok(())
}

/// Multiplies all velocities; the energy that this brings counts as heat.
pub(super) fn scale_velocities(
    engine: &mut impl Velocities,
    factor: f64,
) -> Result<(), EngineError> {
    let before = engine.kinetic2()?;
    engine.scale_all(factor)?;
    let after = engine.kinetic2()?;
    engine.memory().heat += 0.5 * (after - before);
    Ok(())
}

/// Makes the total momentum zero; to the bit where velocities are integers and masses equal.
fn remove_center_of_mass_velocity(engine: &mut impl Velocities) -> Result<(), EngineError> {
    let center = engine.center_of_mass_velocity()?;
    engine.shift_all(center)?;
    let masses_are_equal = engine.species().windows(2).all(|pair| pair[0].mass == pair[1].mass);
    if !masses_are_equal {
        return Ok(());
    }
    let Some(totals) = engine.total_units()? else { return Ok(()) };
    // The same for all, and one unit more for the first ids.
    let count = engine.context().particles as i128;
    let share = totals.map(|total| total.div_euclid(count) as i64);
    let rest = totals.map(|total| total.rem_euclid(count) as u64);
    engine.subtract_units(share, rest)
}
