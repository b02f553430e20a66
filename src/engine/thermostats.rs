//! Steps under thermostats in engines whose steps the host leads, part by part; kernels that take many steps do the same by
//! themselves (`kernels/md/thermostat.cuh`).
use super::{EngineError, StageContext};
use crate::arithmetic::random::Purpose;
use crate::integrator::langevin::OrnsteinUhlenbeck;
use crate::integrator::{NoseHooverChain, ThermostatState, bussi, isokinetic};
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

/// Parts of a step, which the host leads one after the other.
pub(super) trait Steps: Velocities {
    /// Counts the step that comes.
    fn count_step(&mut self);

    /// `v += F dt/2m; x += v dt`; returns whether the lists must be rebuilt.
    ///
    /// # Errors
    /// If a particle runs away. Among ranks it may be noted until all compare. So in what follows.
    fn kick_and_drift(&mut self) -> Result<bool, EngineError>;

    /// `v += F dt/2m`.
    fn kick(&mut self) -> Result<(), EngineError>;

    /// `x += v dt`; returns whether the lists must be rebuilt.
    fn drift(&mut self) -> Result<bool, EngineError>;

    /// The first half of a drift.
    fn half_drift(&mut self) -> Result<(), EngineError>;

    /// The second half of a drift; returns whether the lists must be rebuilt.
    fn end_drift(&mut self) -> Result<bool, EngineError>;

    /// Twice the kinetic energy, rounded once.
    fn kinetic2_of_half_step(&self) -> Result<f64, EngineError>;

    /// `v *= factor; v += F dt/2m`. The kinetic energy that the factor adds, at the end, counts as heat.
    fn scale_and_kick(&mut self, factor: f64) -> Result<(), EngineError>;

    /// A step of friction and noise, of the step that has been counted.
    fn friction_and_noise(&mut self, of: &OrnsteinUhlenbeck) -> Result<(), EngineError>;
}

/// Begins a step, up to its drift and what the thermostat does beside it; forces at the new positions come next, and then
/// [`end_step`]. Returns whether the lists must be rebuilt.
pub(super) fn begin_step(engine: &mut impl Steps) -> Result<bool, EngineError> {
    let needs_rebuild = begin_step_of_kernels(engine)?;
    let thermostat = engine.context().stage.thermostat;
    if thermostat.is_some_and(|of| matches!(of.kind, Thermostat::NoseHoover { .. })) {
        let factor = engine.memory().factor;
        engine.scale_all(factor)?;
    }
    Ok(needs_rebuild)
}

/// The same of a step that a kernel ends: this scales velocities by the factor of a Nose-Hoover chain, too.
pub(super) fn begin_step_of_kernels(engine: &mut impl Steps) -> Result<bool, EngineError> {
    engine.count_step();
    let Context { step, stage, timestep, .. } = engine.context();
    let Some(thermostat) = stage.thermostat else { return engine.kick_and_drift() };
    let temperature = stage.target_temperature(&thermostat, step);
    match thermostat.kind {
        Thermostat::NoseHoover { .. } => {
            engine.kick()?;
            let factor = NoseHooverChain::factor(engine.memory(), timestep);
            engine.scale_all(factor)?;
            let needs_rebuild = engine.drift()?;
            act_on_half_step(engine)?;
            Ok(needs_rebuild)
        }
        Thermostat::Bussi { .. } | Thermostat::Isokinetic => {
            let needs_rebuild = engine.kick_and_drift()?;
            act_on_half_step(engine)?;
            Ok(needs_rebuild)
        }
        Thermostat::Langevin { .. } | Thermostat::Brownian { .. } => {
            engine.kick()?;
            engine.half_drift()?;
            let damping = thermostat.kind.damping(timestep).expect("it acts on each particle");
            let of = OrnsteinUhlenbeck::new(damping, temperature);
            engine.friction_and_noise(&of)?;
            engine.end_drift()
        }
        Thermostat::Andersen { exact, .. } if stage.collides_in(step, timestep) => {
            engine.kick()?;
            engine.half_drift()?;
            draw_velocities(engine, temperature, exact, Purpose::AndersenVelocity)?;
            engine.end_drift()
        }
        Thermostat::Andersen { .. } => engine.kick_and_drift(),
    }
}

/// What a thermostat of the whole system does after the drift of a step, which has been counted: takes the kinetic energy of
/// the velocities there, and leaves the factor on them in its memory.
fn act_on_half_step(engine: &mut impl Steps) -> Result<(), EngineError> {
    let context = engine.context();
    let Context { step, stage, timestep, seed, .. } = &context;
    let kinetic2 = engine.kinetic2_of_half_step()?;
    let degrees = context.degrees_of_freedom();
    let thermostat = stage.thermostat.expect("there is one");
    let memory = engine.memory();
    let temperature = stage.target_temperature(&thermostat, *step);
    memory.factor = match thermostat.kind {
        Thermostat::Bussi { time } => {
            bussi::factor(kinetic2, degrees, temperature, time, *timestep, *seed, *step)
        }
        Thermostat::Isokinetic => isokinetic::factor(kinetic2, degrees, temperature),
        _ => {
            let chain = stage.chain_after(*step, degrees, memory).expect("the stage has a chain");
            chain.step(memory, kinetic2, *timestep);
            NoseHooverChain::factor(memory, *timestep)
        }
    };
    Ok(())
}

/// Whether the thermostat acts in a step: else that begins with a kick and a drift.
pub(super) fn acts_in(stage: &StageContext, step: u64, timestep: f64) -> bool {
    match stage.thermostat.map(|thermostat| thermostat.kind) {
        None => false,
        Some(Thermostat::Andersen { .. }) => stage.collides_in(step, timestep),
        Some(_) => true,
    }
}

/// Whether the second kick of a step is left to [`end_step`], and does not come with the forces.
pub(super) fn kicks_at_end(stage: &StageContext) -> bool {
    matches!(
        stage.thermostat.map(|thermostat| thermostat.kind),
        Some(Thermostat::Bussi { .. } | Thermostat::Isokinetic)
    )
}

/// Ends a step whose forces have been computed, with the second kick unless it [`kicks_at_end`].
pub(super) fn end_step(engine: &mut impl Steps) -> Result<(), EngineError> {
    let factor = std::mem::replace(&mut engine.memory().factor, 1.0);
    if kicks_at_end(&engine.context().stage) { engine.scale_and_kick(factor) } else { Ok(()) }
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
