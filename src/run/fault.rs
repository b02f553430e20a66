//! An engine with a defect: it flips one bit of one velocity, once. For tests, and for builds with the feature
//! `fault-injection`, in which `SUPERCOOL_FLIP_BIT=STEP:PARTICLE:AXIS:BIT` says which.
#[cfg(feature = "fault-injection")]
use super::RunError;
use crate::engine::delegate::delegate;
use crate::engine::{self, Correlator, Engine, EngineError, StageContext};
use crate::plan::Plan;

/// The bit to be flipped, after the first call of `advance` that reaches `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub step: u64,
    pub particle: usize,
    pub axis: usize,
    pub bit: u32,
}

impl Fault {
    /// From `STEP:PARTICLE:AXIS:BIT`.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<u64> = text.split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
        let &[step, particle, axis, bit] = &numbers[..] else { return None };
        let sound = axis < 3 && bit < 64;
        sound.then_some(Fault {
            step,
            particle: particle as usize,
            axis: axis as usize,
            bit: bit as u32,
        })
    }
}

/// Passes everything on to another engine, and flips the bit.
pub struct Faulty {
    engine: Box<dyn Engine>,
    plan: Plan,
    stage: StageContext,
    fault: Option<Fault>,
}

impl Faulty {
    pub fn new(engine: Box<dyn Engine>, plan: &Plan, fault: Fault) -> Self {
        let mut plan = plan.clone();
        plan.run.tune = false;
        let stage = StageContext::none(engine.step());
        Faulty { engine, plan, stage, fault: Some(fault) }
    }

    /// What the environment asks for.
    ///
    /// # Errors
    /// If it names no bit of this run.
    #[cfg(feature = "fault-injection")]
    pub fn from_environment(
        engine: Box<dyn Engine>,
        plan: &Plan,
    ) -> Result<Box<dyn Engine>, RunError> {
        let Ok(text) = std::env::var("SUPERCOOL_FLIP_BIT") else { return Ok(engine) };
        let particles = plan.system.particle_count();
        match Fault::parse(&text).filter(|fault| fault.particle < particles) {
            Some(fault) => Ok(Box::new(Faulty::new(engine, plan, fault))),
            None => Err(RunError::Fault { text, particles }),
        }
    }
}

impl Engine for Faulty {
    delegate!(engine: step, thermodynamics, snapshot, begin_snapshot, export, forces, velocities, set_box, reports);

    fn begin_stage(&mut self, stage: &StageContext) -> Result<(), EngineError> {
        self.stage = stage.clone();
        self.engine.begin_stage(stage)
    }
    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        self.engine.advance(steps)?;
        if let Some(Fault { particle, axis, bit, .. }) =
            self.fault.take_if(|fault| self.engine.step() >= fault.step)
        {
            let mut state = self.engine.export()?;
            state.velocity[particle][axis] ^= 1 << bit;
            self.engine = engine::create(&self.plan, &state)?;
            self.engine.begin_stage(&self.stage)?;
        }
        Ok(())
    }
    /// None: an engine that is exchanged would forget its samples.
    fn correlator(&mut self) -> Option<&mut dyn Correlator> {
        None
    }
}
