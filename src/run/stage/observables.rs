//! What is measured of one system in a stage.
use std::sync::Arc;

use super::arrays::{load_arrays, save_arrays};
use crate::observable::diameter_classes::DiameterClasses;
use crate::observable::dynamics::affine::PeculiarMotion;
use crate::observable::dynamics::evaluation::{Evaluated, Offloaded};
use crate::observable::dynamics::frames::FrameTimes;
use crate::observable::dynamics::sampled::HeldSamples;
use crate::observable::dynamics::source::{for_engines, is_of_single_particles};
use crate::observable::portable::PortableEvaluator;
use crate::observable::{
    self, AxisName, BondOrder, BondOrientationalOrder, Correlations, EnsembleSeries, Macroscopic,
    ObservableError, SampleContext, Series, Structure,
};
use crate::output::{Axis, Checkpoint, OutputError, SeriesLayout};
use crate::plan::{BoxCourse, CorrelationPlan, DiameterClassesPlan, Plan, StagePlan};
use crate::run::RunError;
use crate::run::schedule::Schedule;
use crate::system::{Snapshot, species_of_particles};

/// Correlations, structure and bond-orientational order.
pub struct Observables {
    correlations: Vec<Correlations>,
    /// What the engine evaluates, in its order.
    of_engine: Vec<OfEngine>,
    /// What is evaluated here as an engine would, to the bit.
    portable: Vec<(OfEngine, PortableEvaluator)>,
    structure: Option<Structure>,
    bond_order: Option<BondOrientationalOrder>,
    course: BoxCourse,
}

/// Samples that come from a trajectory.
#[derive(Clone, Debug)]
pub struct StoredFrames {
    /// Since the first one.
    pub steps: Vec<u64>,
    /// At which some of them follow the first one to the end, in steps.
    pub interval: Option<u64>,
    /// Of samples that are not at equal intervals.
    pub times: Option<Arc<FrameTimes>>,
}

impl StoredFrames {
    /// For a correlation of this interval where there are no such samples.
    fn without_interval(&self, every: u64) -> Option<&Arc<FrameTimes>> {
        let has_interval = self.interval.is_some_and(|interval| every.is_multiple_of(interval));
        self.times.as_ref().filter(|_| !has_interval)
    }
}

/// An observable that an engine evaluates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OfEngine {
    /// With its index.
    Correlation(usize),
    Structure,
    BondOrder,
}

impl Observables {
    /// `frames`: of a trajectory, if the samples come from one. `classes`: of the particles by their diameters, where the stage has
    /// them.
    pub fn new(
        plan: &Plan,
        stage: &StagePlan,
        frames: Option<&StoredFrames>,
        classes: Option<&DiameterClasses>,
    ) -> Result<Self, RunError> {
        let mut context = sample_context(plan, stage);
        let simulation_box = context.simulation_box;
        // Single particles: wave vectors are those of the box without its tilt, and places in a tilted one have no images.
        context.simulation_box = simulation_box.with_tilt(0.0);
        // Engines leave all samples in one order.
        let of_all = classes.map_or_else(|| context.clone(), |classes| classes.order(&context));
        let of_classes = classes.map(|classes| classes.divide(&context));
        let context_of = |wanted: &Option<DiameterClassesPlan>| match &of_classes {
            Some(of_classes) if wanted.is_some() => of_classes.clone(),
            _ => of_all.clone(),
        };
        let motion = motion_in_tilted_box(plan, stage);
        let correlations = stage
            .correlations
            .iter()
            .flat_map(for_engines)
            .map(|plan| {
                let mut context = context_of(&plan.diameter_classes);
                let mut motion = motion.clone();
                // At rest pairs of particles and density modes are those of the tilted box.
                let at_rest = motion.as_ref().is_some_and(|motion| !motion.is_in_flow());
                if at_rest && !plan.observables.iter().all(|&of| is_of_single_particles(of)) {
                    context.simulation_box = simulation_box;
                    motion = None;
                }
                let correlations = match frames {
                    Some(frames) if !plan.origins.is_empty() => {
                        Correlations::from_origins(&plan, &context, Some(&frames.steps))
                    }
                    _ => match frames.and_then(|frames| frames.without_interval(plan.every)) {
                        Some(times) => Correlations::of_frames(&plan, &context, times),
                        None => Correlations::new(&plan, &context),
                    },
                };
                Ok(correlations?.beside(motion))
            })
            .collect::<Result<_, ObservableError>>()?;
        let structure = match &stage.observe.structure {
            Some(plan) => {
                let structure = Structure::new(plan, &context_of(&plan.diameter_classes))?;
                Some(structure.tilted(motion)?)
            }
            None => None,
        };
        let bond_order = match &stage.observe.bond_order {
            Some(plan) => Some(BondOrientationalOrder::new(plan, &of_all)?),
            None => None,
        };
        let (of_engine, portable) = (Vec::new(), Vec::new());
        let course = BoxCourse::new(plan, &stage.name);
        Ok(Observables { correlations, of_engine, portable, structure, bond_order, course })
    }

    /// Goes on as a checkpoint knows them.
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), RunError> {
        for (index, correlations) in self.correlations.iter_mut().enumerate() {
            let (state, arrays) = load_arrays(checkpoint, &format!("correlation-{index}"))?;
            correlations.restore(&state, &arrays).map_err(unfit)?;
        }
        if let Some(structure) = &mut self.structure {
            let (state, arrays) = load_arrays(checkpoint, "structure")?;
            structure.restore(&state, &arrays).map_err(unfit)?;
        }
        Ok(())
    }

    /// Puts them into a checkpoint. `held`: samples of the engine's correlations.
    pub fn save(
        &self,
        checkpoint: &mut Checkpoint,
        held: &[Option<HeldSamples>],
    ) -> Result<(), RunError> {
        for (index, correlations) in self.correlations.iter().enumerate() {
            let of = OfEngine::Correlation(index);
            let of_engine = self.of_engine.iter().position(|&of_engine| of_engine == of);
            let own = self.portable.iter().find(|(own, _)| *own == of);
            let held_here = own.and_then(|(_, evaluator)| evaluator.held());
            let of_engine = of_engine.and_then(|of_engine| held[of_engine].as_ref());
            let saved = correlations.save(of_engine.or(held_here.as_ref()));
            save_arrays(checkpoint, &format!("correlation-{index}"), saved)?;
        }
        if let Some(structure) = &self.structure {
            save_arrays(checkpoint, "structure", structure.save())?;
        }
        Ok(())
    }

    /// Whether bond-orientational order is among them.
    pub fn has_bond_order(&self) -> bool {
        self.bond_order.is_some()
    }

    /// Of the files, in the order of [`results`](Self::results).
    pub fn layouts(&self) -> Vec<SeriesLayout> {
        let of_dynamics = self.correlations.iter().flat_map(|of| {
            let group = group_of(of.plan());
            of.layouts().into_iter().map(move |layout| in_file(group, &layout))
        });
        let of_structure = self.structure.iter().flat_map(Structure::layouts);
        of_dynamics.chain(of_structure.map(|layout| in_file("structure", &layout))).collect()
    }

    /// Hands out what an engine evaluates by itself; what stays here is due by the schedule. `samples` of the
    /// bond-orientational order were taken before.
    pub fn hand_over(&mut self, stage: &StagePlan, samples: u64) -> (Vec<Offloaded>, Schedule) {
        let mut offloaded = Vec::new();
        for (index, correlations) in self.correlations.iter_mut().enumerate() {
            if let Some(taken) = correlations.hand_over() {
                offloaded.push(taken);
                self.of_engine.push(OfEngine::Correlation(index));
            }
        }
        // What stays here, for the schedule.
        let mut plan = stage.clone();
        if let Some(taken) = self.structure.as_mut().and_then(Structure::hand_over) {
            offloaded.push(taken);
            self.of_engine.push(OfEngine::Structure);
            plan.observe.structure = None;
        }
        if let Some(taken) = self.hand_over_bond_order(samples) {
            offloaded.push(taken);
            self.of_engine.push(OfEngine::BondOrder);
            plan.observe.bond_order = None;
        }
        let here = self.correlations.iter().enumerate();
        let here =
            here.filter(|(index, _)| !self.of_engine.contains(&OfEngine::Correlation(*index)));
        let schedule = Schedule::new(&plan, here.map(|(_, correlations)| correlations.plan()));
        (offloaded, schedule)
    }

    /// Engines know boxes without a tilt.
    fn hand_over_bond_order(&mut self, samples: u64) -> Option<Offloaded> {
        let bond_order = self.bond_order.as_mut().filter(|_| !self.course.may_tilt());
        bond_order.and_then(|order| order.hand_over(samples))
    }

    /// Evaluates here, with the bits of a GPU, what engines could; nothing changes in what is due. `samples` as for
    /// [`hand_over`](Self::hand_over).
    pub fn evaluate_portably(&mut self, samples: u64) {
        let mut taken = Vec::new();
        for (index, correlations) in self.correlations.iter_mut().enumerate() {
            taken.push((OfEngine::Correlation(index), correlations.hand_over()));
        }
        let structure = self.structure.as_mut().and_then(Structure::hand_over);
        taken.push((OfEngine::Structure, structure));
        taken.push((OfEngine::BondOrder, self.hand_over_bond_order(samples)));
        let evaluator = |(of, offloaded): (OfEngine, Option<Offloaded>)| {
            Some((of, PortableEvaluator::new(offloaded?)))
        };
        self.portable = taken.into_iter().filter_map(evaluator).collect();
    }

    /// Adds what the engine has evaluated of one of them; of bond-orientational order, hands it out with its steps.
    pub fn add_evaluated(
        &mut self,
        observable: usize,
        evaluated: &Evaluated,
    ) -> Vec<(u64, BondOrder)> {
        self.add(self.of_engine[observable], evaluated)
    }

    fn add(&mut self, of: OfEngine, evaluated: &Evaluated) -> Vec<(u64, BondOrder)> {
        match (of, evaluated) {
            (OfEngine::Correlation(index), evaluated) => {
                self.correlations[index].add_evaluated(evaluated);
            }
            (OfEngine::Structure, Evaluated::Structure(samples)) => {
                let structure = self.structure.as_mut().expect("it was handed over");
                samples.iter().for_each(|sample| structure.add_evaluated(sample));
            }
            (OfEngine::BondOrder, Evaluated::BondOrder(samples)) => {
                return samples.iter().map(|sample| (sample.step, sample.order)).collect();
            }
            (of, other) => unreachable!("{of:?} is evaluated as {other:?}"),
        }
        Vec::new()
    }

    /// Feeds all that is due at a step of the stage; hands out bond-orientational order.
    pub fn sample(
        &mut self,
        step: u64,
        snapshot: &Snapshot,
        macroscopic: Option<&Macroscopic>,
    ) -> Option<BondOrder> {
        for correlations in &mut self.correlations {
            if correlations.is_due(step) {
                correlations.sample(snapshot, macroscopic);
            }
        }
        if let Some(structure) = &mut self.structure
            && structure.is_due(step)
        {
            structure.sample(snapshot);
        }
        let mut portable = std::mem::take(&mut self.portable);
        let mut orders = Vec::new();
        for (of, evaluator) in portable.iter_mut().filter(|(_, of)| of.is_due(step)) {
            orders.extend(self.add(*of, &evaluator.sample(snapshot, macroscopic)));
        }
        self.portable = portable;
        let bond_order = self.bond_order.as_ref().filter(|order| order.is_due(step));
        let evaluated = orders.pop().map(|(_, order)| order);
        let simulation_box = self.course.at(snapshot.step);
        evaluated.or_else(|| bond_order.map(|order| order.evaluate(snapshot, &simulation_box)))
    }

    /// Correlates the remaining blocks, at the end of the stage.
    pub fn finish(&mut self) {
        for (of, mut evaluator) in std::mem::take(&mut self.portable) {
            if let Some(evaluated) = evaluator.finish() {
                self.add(of, &evaluated);
            }
        }
        self.correlations.iter_mut().for_each(Correlations::finish);
    }

    /// The present averages, with the groups of the file.
    pub fn results(&self) -> Vec<(&'static str, Series)> {
        let of_dynamics = self.correlations.iter().flat_map(|of| {
            let group = group_of(of.plan());
            of.results().into_iter().map(move |series| (group, series))
        });
        let of_structure = self.structure.iter().flat_map(Structure::results);
        of_dynamics.chain(of_structure.map(|series| ("structure", series))).collect()
    }

    /// Averages over systems, in the order of their [`results`](Self::results).
    pub fn over_systems(
        systems: &[Observables],
        results: &[Vec<(&'static str, Series)>],
    ) -> Vec<EnsembleSeries> {
        let series: Vec<Vec<Series>> = results
            .iter()
            .map(|of_system| of_system.iter().map(|(_, series)| series.clone()).collect())
            .collect();
        let mut all = Vec::new();
        for index in 0..systems[0].correlations.len() {
            let correlations: Vec<&Correlations> =
                systems.iter().map(|system| &system.correlations[index]).collect();
            let count = correlations[0].layouts().len();
            let of: Vec<&[Series]> =
                series.iter().map(|of_system| &of_system[all.len()..all.len() + count]).collect();
            let over_systems = Correlations::over_systems(&correlations, &of);
            all.extend(over_systems);
        }
        for index in all.len()..series[0].len() {
            let of: Vec<&Series> = series.iter().map(|of_system| &of_system[index]).collect();
            let average = observable::ensemble::average(&of);
            all.push(EnsembleSeries { average, over_systems: Vec::new() });
        }
        all
    }
}

/// Of the file: functions from given time origins stand beside averages over all of them.
fn group_of(plan: &CorrelationPlan) -> &'static str {
    if plan.origins.is_empty() { "dynamics" } else { "aging" }
}

/// Of particles in a stage whose box has a tilt, `None` in others. `plan`: as the stage begins.
fn motion_in_tilted_box(plan: &Plan, stage: &StagePlan) -> Option<PeculiarMotion> {
    let simulation_box = plan.system.simulation_box;
    let number = plan.stages.iter().position(|of| of.name == stage.name)?;
    (stage.shear.is_some() || simulation_box.is_tilted()).then(|| {
        let first_step = plan.first_step(number);
        PeculiarMotion::new(simulation_box, stage.shear, plan.run.timestep, first_step)
    })
}

/// What observables of a stage know of a system.
pub fn sample_context(plan: &Plan, stage: &StagePlan) -> SampleContext {
    SampleContext {
        simulation_box: plan.system.simulation_box,
        in_flow: stage.shear.is_some(),
        species: plan.system.species.clone(),
        species_of: species_of_particles(&plan.system.species),
        order: None,
        timestep: plan.run.timestep,
        stage_steps: stage.steps,
    }
}

/// An observable's layout as the results file has it.
fn in_file(group: &str, layout: &observable::SeriesLayout) -> SeriesLayout {
    let axes = layout
        .axes
        .iter()
        .map(|axis| Axis {
            name: axis.name,
            values: axis.values.clone(),
            shells: layout.shells.clone().filter(|_| axis.name == AxisName::Wavenumber),
        })
        .collect();
    SeriesLayout {
        path: format!("{group}/{}", layout.path),
        axes,
        unit: layout.unit.to_owned(),
        description: layout.formula.clone(),
        has_change: layout.has_change,
        is_fluctuation: layout.is_fluctuation,
    }
}

/// What a checkpoint holds of an observable is not what the plan has.
pub fn unfit(error: observable::ObservableError) -> OutputError {
    OutputError::CheckpointContent {
        name: "observables".into(),
        reason: format!("do not fit: {error}"),
    }
}
