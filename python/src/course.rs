//! The steps of one system through the stages of its plan, without files: the bits are those of a run.
use miette::miette;
use supercool::engine::{
    self, CancelToken, DeviceArray, Engine, EngineError, ExactState, InherentStructure,
    ParticleQuantity, StageContext, Thermodynamics,
};
use supercool::initial;
use supercool::plan::{InherentStructuresPlan, Plan, StagePlan, TotalEnergy};
use supercool::run::{self, RunError, conditions};
use supercool::system::{SimulationBox, Snapshot};

use crate::samples::Samples;

/// First time step of a descent, in units of the timestep: as that of a stage.
const FIRST_TIMESTEP: f64 = 0.5;

/// A system between two steps.
pub struct Course {
    pub plan: Plan,
    /// With the timestep of the present stage and the box in which it began.
    plan_of_stage: Plan,
    /// The same with the box of now: the engine's.
    plan_of_engine: Plan,
    engine: Box<dyn Engine>,
    /// Index of the stage that was entered last.
    stage: usize,
    samples: Samples,
    /// Why its state is no longer to be trusted.
    broken: Option<String>,
}

impl Course {
    /// The initial state of one system of a plan, in its first stage. The plan of one system has only `system = None`.
    ///
    /// # Errors
    /// If there is no such system, or it cannot start.
    pub fn new(mut plan: Plan, system: Option<usize>) -> miette::Result<Self> {
        check_system(&plan, system)?;
        let mut states = initial::create_all(&mut plan)?;
        let state = states.swap_remove(system.unwrap_or(0));
        if let Some(stage) = plan.stages.iter().find(|stage| stage.strain.is_some()) {
            return Err(miette!(
                "stage {:?}: strain: Simulation takes steps in time: leave the stage out, or use supercool.run",
                stage.name
            ));
        }
        let is_of_mean =
            |stage: &&StagePlan| stage.rescale.is_some_and(|of| of.to_mean_of.is_some());
        if let (Some(_), Some(stage)) = (&plan.ensemble, plan.stages.iter().find(is_of_mean)) {
            return Err(miette!(
                help = "give a number, or use supercool.run",
                "stage {:?}: density: the mean is over all systems, of which Simulation has one",
                stage.name
            ));
        }
        if plan.limits.bounds_structure() {
            tracing::warn!(
                "limits: bond_order, crystallinity and demixing are not watched in a Simulation"
            );
        }
        let plan = plan.of_system(system.unwrap_or(0));
        let mut engine = engine::create(&plan, &state)?;
        run::draw_first_velocities(&plan, engine.as_mut())?;
        let samples = Samples::new(&plan);
        let (plan_of_stage, plan_of_engine) = (plan.clone(), plan.clone());
        let mut course =
            Course { plan, plan_of_stage, plan_of_engine, engine, stage: 0, samples, broken: None };
        course.enter_stage()?;
        Ok(course)
    }

    pub fn step(&self) -> u64 {
        self.engine.step()
    }

    /// The stage that the present step is of; where one ends, that one.
    pub fn stage(&self) -> &StagePlan {
        &self.plan.stages[self.stage]
    }

    pub fn timestep(&self) -> f64 {
        self.plan_of_engine.run.timestep
    }

    /// Since the start.
    pub fn time(&self) -> f64 {
        self.plan.time(self.stage, self.step())
    }

    pub fn simulation_box(&self) -> SimulationBox {
        self.engine.simulation_box()
    }

    fn stage_end(&self) -> u64 {
        self.plan.first_step(self.stage) + self.stage().steps
    }

    fn context(&self) -> StageContext {
        StageContext {
            thermostat: self.stage().thermostat,
            first_step: self.plan.first_step(self.stage),
            steps: self.stage().steps,
            swap: self.stage().swap,
            barostat: self.stage().barostat,
            shear: self.stage().shear,
        }
    }

    /// As a run enters it.
    fn enter_stage(&mut self) -> miette::Result<()> {
        let mut plan = self.plan.at_stage(self.stage);
        if self.plan.has_barostat_before(self.stage) {
            plan.system.simulation_box = self.simulation_box();
        }
        if conditions::begins_anew(&self.plan_of_stage, &plan, self.stage) {
            let states = vec![self.engine.export()?];
            let states = conditions::states_of_stage(states, &plan, self.stage, None)?;
            self.set_up(&plan, states)?;
        }
        if let Some(Some(temperature)) = plan.drawn_temperatures(self.stage).map(|all| all[0]) {
            self.engine.draw_velocities(temperature, true)?;
        }
        let mean_density_of = |name: &str| self.samples.mean_density(&self.plan, name);
        let plan = conditions::with_mean_density(plan, self.stage, mean_density_of)?;
        self.plan_of_stage = plan.clone();
        self.plan_of_engine = plan;
        self.engine.begin_stage(&self.context())?;
        self.set_total_energy()?;
        if Samples::interval(&self.plan, self.stage).is_some() {
            self.samples.begin(&self.plan, &self.engine.thermodynamics()?);
        }
        Ok(())
    }

    /// Scales velocities, where the stage says so.
    fn set_total_energy(&mut self) -> miette::Result<()> {
        let energy = match &self.stage().set_total_energy {
            None => return Ok(()),
            Some(TotalEnergy::Value(energy)) => *energy,
            Some(TotalEnergy::MeanOf(name)) => {
                self.samples.mean_total_energy(&self.plan, self.stage(), name)?
            }
        };
        let now = self.engine.thermodynamics()?;
        let kinetic = energy - now.potential_energy;
        if kinetic <= 0.0 || now.kinetic_energy <= 0.0 {
            return Err(miette!(
                "stage {:?}: set_total_energy: {energy} per particle cannot be reached: the potential energy alone is {}",
                self.stage().name,
                now.potential_energy
            ));
        }
        Ok(self.engine.scale_velocities((kinetic / now.kinetic_energy).sqrt())?)
    }

    /// A new engine, with this state.
    fn set_up(&mut self, plan: &Plan, states: Vec<ExactState>) -> Result<(), EngineError> {
        self.engine = engine::create(plan, &states[0])?;
        self.plan_of_engine = plan.clone();
        Ok(())
    }

    /// Gives the box other edges, where they are due.
    fn rescale(&mut self) -> miette::Result<()> {
        let step = self.step() - self.plan.first_step(self.stage);
        let mut plan = self.plan_of_stage.clone();
        let stage = &plan.stages[self.stage];
        let rescaled = conditions::rescaled(stage, step, &[plan.system.simulation_box]);
        let Some(boxes) = rescaled else { return Ok(()) };
        plan.system.simulation_box = boxes[0];
        let states = vec![self.engine.export()?];
        let states = conditions::states_in_boxes(states, &boxes, &plan.system.species)?;
        self.set_up(&plan, states)?;
        // In its middle: thermostats keep their memory.
        Ok(self.engine.begin_stage(&self.context())?)
    }

    /// # Errors
    /// If the stages of the plan have fewer steps left.
    pub fn check_steps(&self, steps: u64) -> miette::Result<()> {
        let (step, total) = (self.step(), self.plan.total_steps());
        if steps <= total - step {
            return Ok(());
        }
        Err(miette!(
            help = "give the last stage more steps",
            "{steps} steps from step {step} on: the stages of the configuration end at step {total}"
        ))
    }

    /// Takes some steps, in the present stage and those after it.
    ///
    /// # Errors
    /// Where the stages end or a limit is exceeded, and those of the engine: after these [`check_sound`](Self::check_sound) fails.
    pub fn advance(&mut self, steps: u64) -> miette::Result<()> {
        self.check_steps(steps)?;
        let ended = self.take_steps(steps);
        // Beyond a limit there is a state, to be looked at.
        let breaks = |error: &&miette::Report| {
            !matches!(error.downcast_ref(), Some(RunError::Beyond { .. }))
        };
        self.broken = ended.as_ref().err().filter(breaks).map(ToString::to_string);
        ended
    }

    /// # Errors
    /// If steps have failed: what the engine then holds is no state of this system.
    pub fn check_sound(&self) -> miette::Result<()> {
        match &self.broken {
            None => Ok(()),
            Some(why) => Err(miette!(
                help = "begin a new simulation",
                "this simulation has ended with an error, and has no state any more: {why}"
            )),
        }
    }

    fn take_steps(&mut self, steps: u64) -> miette::Result<()> {
        let target = self.step() + steps;
        while self.step() < target {
            if self.step() == self.stage_end() {
                self.stage += 1;
                self.enter_stage()?;
            }
            let first_step = self.plan.first_step(self.stage);
            let interval = Samples::interval(&self.plan, self.stage);
            let next_sample = interval.map_or(u64::MAX, |every| {
                first_step + ((self.step() - first_step) / every + 1) * every
            });
            let since = self.step() - first_step;
            let rescaling = conditions::next_rescaling(self.stage(), since);
            let rescaling = first_step.saturating_add(rescaling);
            let next = target.min(self.stage_end()).min(next_sample).min(rescaling);
            self.engine.advance(next - self.step())?;
            let sampled = match self.step() == next_sample {
                true => {
                    let row = self.engine.thermodynamics()?;
                    self.samples.add(&self.plan, self.stage, next, &row)
                }
                false => Ok(()),
            };
            self.rescale()?;
            sampled?;
        }
        Ok(())
    }

    pub fn thermodynamics(&mut self) -> Result<Thermodynamics, EngineError> {
        self.engine.thermodynamics()
    }

    pub fn snapshot(&self) -> Result<Snapshot, EngineError> {
        self.engine.snapshot()
    }

    pub fn forces(&self) -> Result<Vec<[f64; 3]>, EngineError> {
        self.engine.forces()
    }

    /// `None` where the engine has no GPU.
    pub fn device_array(
        &self,
        quantity: ParticleQuantity,
    ) -> Result<Option<DeviceArray>, EngineError> {
        self.engine.device_array(quantity)
    }

    pub fn export(&self) -> Result<ExactState, EngineError> {
        self.engine.export()
    }

    /// As at the start of a run.
    pub fn draw_velocities(&mut self, temperature: f64) -> Result<(), EngineError> {
        self.engine.draw_velocities(temperature, true)?;
        self.samples.go_on_from(&self.engine.thermodynamics()?);
        Ok(())
    }

    /// The minimum of the potential energy below the present state, which stays as it is.
    ///
    /// # Errors
    /// If there is no memory for it, particles are too close, or `cancel` says so.
    // Exclusive, as engines may be moved to another thread, but not shared with it.
    pub fn minimize(
        &mut self,
        force_tolerance: f64,
        maximum_iterations: u64,
        cancel: CancelToken,
    ) -> miette::Result<InherentStructure> {
        let timestep = FIRST_TIMESTEP * self.timestep();
        let settings =
            InherentStructuresPlan { every: 1, force_tolerance, maximum_iterations, timestep };
        let mut plan = self.plan_of_engine.clone();
        plan.system.simulation_box = self.simulation_box();
        let mut minimizer = engine::minimizer(&plan, &settings)?;
        minimizer.cancel_when(cancel);
        Ok(minimizer.minimize(&self.snapshot()?)?)
    }

    /// Gives all particles other positions, images, velocities or diameters, rounded to the precision. A component that is as it
    /// was as a 64-bit float keeps all its bits, of which fixed point has more. Thermostats keep their memory.
    ///
    /// # Errors
    /// If one is no number, or too large, or a diameter is out of the bounds of the plan.
    pub fn set(&mut self, change: Change) -> miette::Result<()> {
        let mut state = self.engine.export()?;
        let species = &self.plan.system.species;
        let before = state.to_snapshot(species);
        let lists_are_old = change.position.is_some() || change.diameter.is_some();
        if let Some(diameters) = &change.diameter {
            self.check_diameters(diameters)?;
        }
        let after = Snapshot {
            step: before.step,
            position: change.position.unwrap_or_else(|| before.position.clone()),
            fraction: Vec::new(),
            image: change.image.unwrap_or_else(|| before.image.clone()),
            velocity: change.velocity.unwrap_or_else(|| before.velocity.clone()),
            diameter: change.diameter.map_or_else(|| before.diameter.clone(), Into::into),
        };
        let rounded = ExactState::from_snapshot(
            &after,
            state.species_of.clone(),
            state.simulation_box,
            state.timestep,
            state.precision,
            species,
        )
        .map_err(|particle| {
            miette!(
                help = "numbers must be finite, and in fixed point no particle may cross a quarter of the box in a step",
                "particle {particle} with the position {:?} and the velocity {:?} does not fit precision {:?}",
                after.position[particle],
                after.velocity[particle],
                state.precision.name()
            )
        })?;
        for particle in 0..after.velocity.len() {
            for axis in 0..3 {
                if after.velocity[particle][axis] != before.velocity[particle][axis] {
                    state.velocity[particle][axis] = rounded.velocity[particle][axis];
                }
                if after.position[particle][axis] != before.position[particle][axis] {
                    state.position[particle][axis] = rounded.position[particle][axis];
                }
            }
        }
        state.image = after.image;
        state.diameter = rounded.diameter;
        if lists_are_old {
            // Neighbor lists are of the positions and diameters before.
            state.memory = None;
        }
        self.engine = engine::create(&self.plan_of_engine, &state)?;
        self.engine.begin_stage(&self.context())?;
        self.samples.go_on_from(&self.engine.thermodynamics()?);
        Ok(())
    }

    /// That there are diameters, within the bounds that neighbor lists are made for.
    fn check_diameters(&self, diameters: &[f64]) -> miette::Result<()> {
        let Some(bounds) = self.plan.potential.diameters else {
            return Err(miette!(
                help = "give the configuration [system.diameters]",
                "the particles of this configuration have no diameters of their own"
            ));
        };
        // Those of a state lie between the rounded bounds.
        let rounded = |diameter| ExactState::rounded_diameter(self.plan.run.precision, diameter);
        let within = rounded(bounds.smallest)..=rounded(bounds.largest);
        let wrong = diameters.iter().position(|&diameter| !within.contains(&rounded(diameter)));
        wrong.map_or(Ok(()), |particle| {
            Err(miette!(
                help = "the distribution in [system.diameters] says which there may be",
                "particle {particle}: the diameter {:?} is not between {:?} and {:?}, the least and the greatest one of the configuration",
                diameters[particle],
                bounds.smallest,
                bounds.largest
            ))
        })
    }
}

/// What particles are given; `None`: as it is. Positions lie in the box.
#[derive(Default)]
pub struct Change {
    pub position: Option<Vec<[f64; 3]>>,
    pub image: Option<Vec<[i32; 3]>>,
    pub velocity: Option<Vec<[f64; 3]>>,
    pub diameter: Option<Vec<f64>>,
}

fn check_system(plan: &Plan, system: Option<usize>) -> miette::Result<()> {
    let systems = plan.systems();
    match (&plan.ensemble, system) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(miette!(
            help = "leave it out: the configuration has no [ensemble]",
            "system: there is one only"
        )),
        (Some(ensemble), _) if ensemble.exchange_every.is_some() => Err(miette!(
            help = "kind = \"temperatures\" has the systems without exchanges",
            "a system of a replica exchange cannot run alone: whether it is exchanged depends on the others"
        )),
        (Some(_), Some(system)) if system < systems => Ok(()),
        (Some(_), _) => Err(miette!(
            help = format!("give system, 0 to {}", systems - 1),
            "the configuration has {systems} systems ([ensemble]); a simulation is one of them"
        )),
    }
}
