//! `[[stage]]`.
use std::collections::HashSet;
use std::ops::Range;

use super::checker::Checker;
use super::mean_of::earlier_stage;
use super::stage_checks::{MAXIMUM_STEPS, StageChecks, interval};
use super::{
    barostat, box_change, conditions, correlation, diameter_classes, inherent, propensity, shear,
    strain, structure, swap, thermostat,
};
use crate::config::document::{
    Frames, Integer, Number, NumberOrPhrase, Observe, PlainOr, Stage, Table, Written,
};
use crate::plan::{ObservePlan, StagePlan, StrainPlan, SystemPlan, TotalEnergy};

const MAXIMUM_STAGES: usize = 1000;
const LONGEST_NAME: usize = 64;

/// Where they are right.
pub struct Timesteps {
    pub of_run: Option<f64>,
    /// Of each stage, its own if it has one.
    pub of_stages: Vec<Option<Option<f64>>>,
}

impl Timesteps {
    fn of_stage(&self, number: usize) -> Option<f64> {
        self.of_stages[number]?.or(self.of_run)
    }
}

pub fn check_all(
    document: &[Table<Stage>],
    system: Option<&SystemPlan>,
    timesteps: &Timesteps,
    checker: &mut Checker<'_>,
) -> Option<Vec<StagePlan>> {
    if !(1..=MAXIMUM_STAGES).contains(&document.len()) {
        let help = "what happens stands in one or more [[stage]]";
        match document.first() {
            None => checker.missing(&(0..0), "stage", help),
            Some(first) => {
                let message = format!("there are {} stages", document.len());
                checker.reject(&first.span, message, format!("at most {MAXIMUM_STAGES}"));
            }
        }
        return None;
    }
    let mut names = HashSet::new();
    let mut simulation_box = system.map(|system| system.simulation_box);
    let mut stages: Vec<Option<StagePlan>> = Vec::with_capacity(document.len());
    for (number, stage) in document.iter().enumerate() {
        checker.in_stage(number, &stage.name.value);
        let name = name(&stage.name, &mut names, checker);
        let timestep = timesteps.of_stage(number);
        let conditions = StageChecks {
            simulation_box: simulation_box.as_ref(),
            species: system.map(|system| system.species.as_slice()),
            diameters: system.map(|system| system.diameters.is_some()),
            swaps: stage.swap.is_some(),
            timestep,
            steps: 0,
        };
        let mut plan = check(stage, number, document, &stages, conditions, checker);
        if let (Some(plan), Some(before)) = (&plan, &simulation_box) {
            simulation_box = Some(plan.box_after(before));
        }
        if let (Some(of), Some(timestep)) = (&plan, timestep)
            && let (Some(shear), Some(from)) = (of.shear, simulation_box)
        {
            simulation_box = Some(shear.box_after(&from, timestep, of.steps));
        }
        if let Some(plan) = &mut plan
            && document.iter().any(|stage| stage.timestep.is_some())
        {
            plan.timestep = timestep;
        }
        stages.push(name.and(plan));
    }
    checker.after_stages();
    stages.into_iter().collect()
}

fn check(
    stage: &Table<Stage>,
    number: usize,
    all: &[Table<Stage>],
    earlier: &[Option<StagePlan>],
    conditions: StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<StagePlan> {
    let strain = match &stage.strain {
        Some(document) => strain::check(stage, document, &conditions, checker).map(Some),
        None => Some(None),
    };
    let steps = match &stage.steps {
        _ if stage.strain.is_some() => strain.as_ref()?.as_ref().map(StrainPlan::steps),
        Some(steps) => checker.integer(steps, 1..=MAXIMUM_STEPS),
        None if stage.minimize.is_some() => Some(0),
        None => {
            checker.missing(&stage.span, "steps", "");
            None
        }
    };
    if let (Some(0), Some(typed)) = (steps, without_steps(stage)) {
        checker.reject(&typed, "needs steps, and the stage has none", "give the stage steps");
        return None;
    }
    let stage_checks = StageChecks {
        // If wrong, a number that every interval divides; the plan is lost anyway.
        steps: steps.unwrap_or(0),
        ..conditions
    };
    let minimize = match &stage.minimize {
        Some(document) => conditions::minimize(document, &stage_checks, checker).map(Some),
        None => Some(None),
    };
    let place = box_change::Place { stage, number, all, earlier };
    let rescale = box_change::check(place, &stage_checks, checker);
    let shear = match &stage.shear {
        Some(document) => shear::check(document, stage, &stage_checks, checker).map(Some),
        None => Some(None),
    };
    let thermostat = match &stage.thermostat {
        Some(document) => thermostat::check(document, &stage_checks, checker).map(Some),
        None if stage.strain.is_some() => Some(None),
        None => {
            checker.filled_in(&stage.span, "thermostat", "none (microcanonical)");
            Some(None)
        }
    };
    let barostat = match &stage.barostat {
        Some(document) => barostat::check(document, stage, &stage_checks, checker).map(Some),
        None => Some(None),
    };
    thermostat::refuse_trials_at_zero(stage, thermostat.flatten(), checker);
    let draw_velocities = draw_velocities(stage, checker);
    let set_total_energy = match &stage.set_total_energy {
        Some(energy) => total_energy(energy, stage, number, all, earlier, checker).map(Some),
        None => Some(None),
    };
    let observe = match &stage.observe {
        Some(document) => observe(document, &stage_checks, checker),
        None => {
            checker.filled_in(&stage.span, "observe", "nothing");
            Some(ObservePlan::nothing())
        }
    };
    let correlations: Vec<_> = stage
        .correlation
        .iter()
        .map(|document| correlation::check(document, &stage_checks, checker))
        .collect();
    correlation::check_disjoint(&stage.correlation, &correlations, checker);
    correlation::refuse_velocities(stage, checker);
    let structure = stage.observe.as_ref().and_then(|typed| typed.structure.as_ref());
    let of_structure = observe.as_ref().and_then(|plan| plan.structure.as_ref());
    diameter_classes::check_alike(
        &stage.correlation,
        &correlations,
        (structure, of_structure),
        checker,
    );
    let propensity = match &stage.propensity {
        Some(document) => propensity::check(document, &stage_checks, checker).map(Some),
        None => Some(None),
    };
    let mut observe = observe?;
    if let (Some(typed), Some(Some(of))) = (&stage.propensity, &propensity)
        && typed.writes_trajectory()
    {
        observe.trajectory_at = std::iter::once(0).chain(of.steps.iter().copied()).collect();
    }
    let swap = swap::check(stage, &stage_checks, checker);
    Some(StagePlan {
        name: stage.name.value.clone(),
        steps: steps?,
        timestep: None,
        minimize: minimize?,
        rescale: rescale?,
        strain: strain?,
        shear: shear?,
        thermostat: thermostat?,
        barostat: barostat?,
        draw_velocities: draw_velocities?,
        swap: swap?,
        set_total_energy: set_total_energy?,
        observe,
        correlations: correlations.into_iter().collect::<Option<_>>()?,
        propensity: propensity?,
    })
}

/// Whether the stage begins with new velocities, of its thermostat's temperature.
fn draw_velocities(stage: &Table<Stage>, checker: &mut Checker<'_>) -> Option<bool> {
    let Some(typed) = stage.draw_velocities.as_ref().filter(|typed| typed.value) else {
        return Some(false);
    };
    if stage.thermostat.is_none() {
        let message =
            "the temperature of new velocities is that of the thermostat, and there is none";
        checker.reject(&typed.span, message, "add a thermostat, or leave it out");
        return None;
    }
    if let Some(minimize) = &stage.minimize
        && minimize.temperature.is_some()
    {
        let message = "minimize.temperature gives the stage new velocities, too";
        checker.reject(&typed.span, message, "leave one of them out");
        return None;
    }
    Some(true)
}

/// What a stage has that is of no use without steps.
fn without_steps(stage: &Table<Stage>) -> Option<Range<usize>> {
    let thermostat = stage.thermostat.as_ref().map(|typed| typed.span.clone());
    let correlation = stage.correlation.first().map(|typed| typed.span.clone());
    let propensity = stage.propensity.as_ref().map(|typed| typed.span.clone());
    let shear = stage.shear.as_ref().map(|typed| typed.span.clone());
    thermostat.or(correlation).or(propensity).or(shear)
}

fn name(
    name: &Written<String>,
    names: &mut HashSet<String>,
    checker: &mut Checker<'_>,
) -> Option<()> {
    let first = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let later = |c: char| first(c) || c == '-' || c == '.';
    let text = name.value.as_str();
    if text.len() > LONGEST_NAME || !text.starts_with(first) || !text.chars().all(later) {
        checker.reject(
            &name.span,
            "cannot be the name of a file",
            format!(
                "1 to {LONGEST_NAME} of the letters a-z and A-Z, digits, `_`, `-` and `.`; \
                 not `-` or `.` at the start"
            ),
        );
        return None;
    }
    // Not all file systems tell upper from lower case.
    if !names.insert(text.to_ascii_lowercase()) {
        let message = format!("there are two stages with the name {text:?}");
        checker.reject(
            &name.span,
            message,
            "give every stage its own name: its files are named after it",
        );
        return None;
    }
    Some(())
}

fn total_energy(
    energy: &Written<NumberOrPhrase>,
    stage: &Table<Stage>,
    number: usize,
    all: &[Table<Stage>],
    earlier: &[Option<StagePlan>],
    checker: &mut Checker<'_>,
) -> Option<TotalEnergy> {
    let span = &energy.span;
    if stage.thermostat.is_some() {
        let message = "a thermostat would change the total energy at once";
        checker.reject(span, message, "leave out set_total_energy or thermostat");
        return None;
    }
    let phrase = match &energy.value {
        NumberOrPhrase::Number(value) => {
            let value = Written { value: Number(*value), span: span.clone() };
            return checker.finite(&value).map(TotalEnergy::Value);
        }
        NumberOrPhrase::Phrase(phrase) => phrase,
    };
    let (_, source) = earlier_stage(phrase, span, number, all, earlier, checker)?;
    Some(TotalEnergy::MeanOf(source.name.clone()))
}

fn observe(
    document: &Table<Observe>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<ObservePlan> {
    let mut optional = |every: Option<&Written<Integer>>| match every {
        Some(every) => interval(every, stage_checks, checker).map(Some),
        None => Some(None),
    };
    let thermodynamics = optional(document.thermodynamics.as_ref());
    let configurational_temperature = optional(document.configurational_temperature.as_ref());
    let frames = match &document.trajectory {
        None => Some(FramesPlan::default()),
        Some(typed) => frames(typed, stage_checks, checker),
    };
    let gsd = document.gsd.as_ref().is_some_and(|gsd| gsd.value);
    if document.trajectory.is_some() && document.gsd.is_none() {
        checker.filled_in(&document.span, "gsd", gsd);
    }
    if let (true, None, Some(typed)) = (gsd, &document.trajectory, &document.gsd) {
        let message = "gsd = true without a trajectory";
        checker.reject(&typed.span, message, "add trajectory = ..., the interval in steps");
    }
    let structure = match &document.structure {
        Some(typed) => structure::structure(typed, stage_checks, checker).map(Some),
        None => Some(None),
    };
    let bond_order = match &document.bond_order {
        Some(typed) => structure::bond_order(typed, stage_checks, checker).map(Some),
        None => Some(None),
    };
    let local_order = match &document.local_order {
        Some(typed) => structure::local_order(typed, stage_checks, checker).map(Some),
        None => Some(None),
    };
    let inherent_structures = match &document.inherent_structures {
        Some(document) => inherent::check(document, stage_checks, checker).map(Some),
        None => Some(None),
    };
    let frames = frames?;
    let (inherent_structures, inherent_at) = inherent_structures?.unzip();
    let inherent_at = inherent_at.unwrap_or_default();
    Some(ObservePlan {
        trajectory_at: Vec::new(),
        thermodynamics: thermodynamics?,
        trajectory: frames.every,
        trajectory_doubling_from: frames.doubling_from,
        trajectory_offsets: frames.offsets,
        gsd,
        structure: structure?,
        bond_order: bond_order?,
        local_order: local_order?,
        inherent_structures,
        inherent_at,
        configurational_temperature: configurational_temperature?,
    })
}

/// Interval of the frames, and from which step after each the times of further ones double.
fn frames(
    document: &Written<PlainOr<Integer, Frames>>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<FramesPlan> {
    let table = match &document.value {
        PlainOr::Plain(every) => {
            let every = Written { value: *every, span: document.span.clone() };
            let every = Some(interval(&every, stage_checks, checker)?);
            return Some(FramesPlan { every, ..FramesPlan::default() });
        }
        PlainOr::Table(table) => table,
    };
    let every = interval(&table.every, stage_checks, checker)?;
    let first = |from: &Written<Integer>, checker: &mut Checker<'_>| {
        let first = checker.integer(from, 1..=MAXIMUM_STEPS)?;
        if first >= every {
            let message =
                format!("{first} steps lead to the next frame of every = {every} or beyond it");
            checker.reject(&from.span, message, "fewer, such as 1");
            return None;
        }
        Some(first)
    };
    let frames = FramesPlan { every: Some(every), ..FramesPlan::default() };
    match (&table.doubling_from, &table.from, &table.points_per_decade) {
        (None, None, None) => Some(frames),
        (Some(doubling), None, None) => {
            Some(FramesPlan { doubling_from: Some(first(doubling, checker)?), ..frames })
        }
        (Some(doubling), ..) => {
            let help = "leave it out, or from and points_per_decade";
            checker.reject(&doubling.span, "does not go together with from", help);
            None
        }
        (None, from, Some(points)) => {
            let first = from.as_ref().map_or(Some(1), |from| first(from, checker))?;
            let value = checker.positive(points)?;
            if !(1.0..=300.0).contains(&value) {
                checker.reject(&points.span, format!("must be 1 to 300, not {value:?}"), "");
                return None;
            }
            Some(FramesPlan { offsets: logarithmic(first, value, every), ..frames })
        }
        (None, Some(from), None) => {
            let help = "add points_per_decade, or write doubling_from";
            checker.reject(&from.span, "from without points_per_decade", help);
            None
        }
    }
}

/// When the trajectory has frames.
#[derive(Default)]
struct FramesPlan {
    every: Option<u64>,
    doubling_from: Option<u64>,
    offsets: Vec<u64>,
}

/// Whole numbers at equal ratios from `first` on, each once, below `end`.
fn logarithmic(first: u64, points_per_decade: f64, end: u64) -> Vec<u64> {
    let at = |k: i32| (first as f64 * 10_f64.powf(f64::from(k) / points_per_decade)).round() as u64;
    let mut all: Vec<u64> = (0..).map(at).take_while(|&step| step < end).collect();
    all.dedup();
    all
}
