//! An engine with a defect: it flips one bit of one velocity, once. For tests, and for builds with the feature
//! `fault-injection`, in which `SUPERCOOL_FLIP_BIT=STEP:PARTICLE:AXIS:BIT` says which.
use crate::engine::{
    self, Correlator, Engine, EngineError, ExactState, PendingSnapshot, PendingState, StageContext,
    Thermodynamics,
};
use crate::plan::Plan;
use crate::system::Snapshot;

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
    #[cfg(feature = "fault-injection")]
    pub fn from_environment(engine: Box<dyn Engine>, plan: &Plan) -> Box<dyn Engine> {
        let fault = std::env::var("SUPERCOOL_FLIP_BIT").ok().and_then(|text| Fault::parse(&text));
        match fault {
            Some(fault) => Box::new(Faulty::new(engine, plan, fault)),
            None => engine,
        }
    }
}

impl Engine for Faulty {
    fn step(&self) -> u64 {
        self.engine.step()
    }
    fn begin_stage(&mut self, stage: &StageContext) {
        self.stage = stage.clone();
        self.engine.begin_stage(stage);
    }
    fn advance(&mut self, steps: u64) -> Result<(), EngineError> {
        self.engine.advance(steps)?;
        if let Some(Fault { particle, axis, bit, .. }) =
            self.fault.take_if(|fault| self.engine.step() >= fault.step)
        {
            let mut state = self.engine.export()?;
            state.velocity[particle][axis] ^= 1 << bit;
            self.engine = engine::create(&self.plan, &state)?;
            self.engine.begin_stage(&self.stage);
        }
        Ok(())
    }
    fn thermodynamics(&mut self) -> Result<Thermodynamics, EngineError> {
        self.engine.thermodynamics()
    }
    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        self.engine.snapshot()
    }
    fn begin_snapshot(&mut self) -> Result<PendingSnapshot, EngineError> {
        self.engine.begin_snapshot()
    }
    fn begin_export(&mut self) -> Result<PendingState, EngineError> {
        self.engine.begin_export()
    }
    fn forces(&self) -> Result<Vec<[f64; 3]>, EngineError> {
        self.engine.forces()
    }
    fn export(&self) -> Result<ExactState, EngineError> {
        self.engine.export()
    }
    fn draw_velocities(&mut self, temperature: f64, exactly: bool) -> Result<(), EngineError> {
        self.engine.draw_velocities(temperature, exactly)
    }
    fn scale_velocities(&mut self, factor: f64) -> Result<(), EngineError> {
        self.engine.scale_velocities(factor)
    }
    fn reverse_velocities(&mut self) -> Result<(), EngineError> {
        self.engine.reverse_velocities()
    }
    /// None: an engine that is exchanged would forget its samples.
    fn correlator(&mut self) -> Option<&mut dyn Correlator> {
        None
    }
    fn report(&self) -> serde_json::Value {
        self.engine.report()
    }
    fn hardware(&self) -> serde_json::Value {
        self.engine.hardware()
    }
}
