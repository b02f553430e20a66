//! What a stage changes before or besides its steps: `stage.minimize` and `stage.density`.
use std::ops::Range;

use super::checker::Checker;
use super::inherent;
use super::mean_of::earlier_stage;
use super::stage_checks::StageChecks;
use crate::config::document::{
    DensityChange, Document, Minimize, Number, NumberOrPhrase, Stage, Table, Written,
};
use crate::plan::{
    EnsemblePlan, InherentStructuresPlan, MinimizePlan, Plan, RescalePlan, StagePlan,
    TemperatureKey, Thermostat,
};
use crate::system::SimulationBox;

/// Change of the edges at once that pairs at contact bear: their energy, as of r^-12, changes by an eighth.
const LARGEST_STRAIN: f64 = 0.01;

pub fn minimize(
    document: &Table<Minimize>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<MinimizePlan> {
    let descent = inherent::descent(
        &document.span,
        document.force_tolerance.as_ref(),
        document.maximum_iterations.as_ref(),
        document.timestep.as_ref(),
        stage_checks,
        checker,
    );
    let temperature = match &document.temperature {
        Some(temperature) => Some(checker.positive(temperature)?),
        None => {
            checker.filled_in(&document.span, "temperature", "none: velocities are zero");
            None
        }
    };
    let (force_tolerance, maximum_iterations, timestep) = descent?;
    let descent =
        InherentStructuresPlan { every: 1, force_tolerance, maximum_iterations, timestep };
    Some(MinimizePlan { descent, temperature })
}

/// A stage among the others of a document.
pub struct Place<'a> {
    pub stage: &'a Stage,
    pub number: usize,
    pub all: &'a [Table<Stage>],
    pub earlier: &'a [Option<StagePlan>],
}

/// A density at the end of a change.
enum Density {
    Number(f64),
    /// The mean of an earlier stage.
    MeanOf(usize),
}

fn density_to(
    document: &Table<DensityChange>,
    &Place { number, all, earlier, .. }: &Place<'_>,
    checker: &mut Checker<'_>,
) -> Option<Density> {
    let span = &document.to.span;
    let phrase = match &document.to.value {
        NumberOrPhrase::Number(value) => {
            let value = Written { value: Number(*value), span: span.clone() };
            return checker.positive(&value).map(Density::Number);
        }
        NumberOrPhrase::Phrase(phrase) => phrase,
    };
    let (found, source) = earlier_stage(phrase, span, number, all, earlier, checker)?;
    let name = &source.name;
    let Some(barostat) = source.barostat else {
        let message = format!("the stage {name:?} has no barostat: its density is given");
        checker.reject(span, message, "name a stage at constant pressure, or give a number");
        return None;
    };
    if barostat.pressure.from != barostat.pressure.to {
        let message = format!("the pressure of the stage {name:?} is not constant");
        checker.reject(span, message, "name a stage at the wanted pressure");
        return None;
    }
    Some(Density::MeanOf(found))
}

pub fn density(
    document: &Table<DensityChange>,
    place: Place<'_>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<RescalePlan> {
    let density = density_to(document, &place, checker);
    let steps = stage_checks.steps;
    let every = match &document.every {
        Some(every) => checker.integer(every, 1..=steps.max(1))?,
        None => {
            let every = (steps / 100).max(1);
            checker.filled_in(&document.span, "every", every);
            every
        }
    };
    if let Some(what) = samples_positions(place.stage) {
        let message = format!("the box changes, and {what} is of one box");
        let help = "observe thermodynamics here, and the rest in a stage after it";
        checker.reject(&document.span, message, help);
        return None;
    }
    let (from, species) = (stage_checks.simulation_box?, stage_checks.species?);
    if steps == 0 {
        let help = "give steps, in the course of which the box changes";
        checker.reject(&document.span, "changes in a stage without steps", help);
        return None;
    }
    let density = match density? {
        Density::Number(density) => density,
        // Not yet known: the present box stands for it.
        Density::MeanOf(stage) => {
            return Some(RescalePlan { to: *from, every, to_mean_of: Some(stage) });
        }
    };
    let count: usize = species.iter().map(|species| species.count).sum();
    let dimension = from.dimension() as f64;
    let factor = (count as f64 / from.volume() / density).powf(dimension.recip());
    let edges: Vec<f64> = from.edges().iter().map(|edge| edge * factor).collect();
    let changes = steps.div_ceil(every);
    let strain = (factor - 1.0).abs().max((1.0 / factor - 1.0).abs()) / changes as f64;
    if strain > LARGEST_STRAIN {
        let message = format!("the edges would change by {:.2} % at once", 100.0 * strain);
        let least = (strain / LARGEST_STRAIN * changes as f64).ceil();
        let help =
            format!("{least:.0} changes or more in the stage: a shorter every, or more steps");
        checker.reject(&document.span, message, help);
        return None;
    }
    let to = SimulationBox::new(&edges).with_tilt(from.tilt());
    Some(RescalePlan { to, every, to_mean_of: None })
}

/// What a stage samples that is of one box.
pub fn samples_positions(stage: &Stage) -> Option<&'static str> {
    let observe = stage.observe.as_ref();
    let observes =
        |is: fn(&crate::config::document::Observe) -> bool| observe.is_some_and(|it| is(it));
    [
        (!stage.correlation.is_empty(), "what is correlated"),
        (stage.propensity.is_some(), "a propensity"),
        (observes(|it| it.structure.is_some()), "the structure"),
        (observes(|it| it.bond_order.is_some()), "bond-orientational order"),
        (
            observes(|it| it.configurational_temperature.is_some()),
            "the configurational temperature",
        ),
        (observes(|it| it.local_order.is_some()), "local order"),
        (observes(|it| it.inherent_structures.is_some()), "an inherent structure"),
    ]
    .into_iter()
    .find_map(|(is_sampled, what)| is_sampled.then_some(what))
}

/// What the rest of the plan says of them.
pub fn check_plan(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    let typed = |number: usize| &document.stage[number];
    for (number, stage) in plan.stages.iter().enumerate() {
        if let (Some(rescale), Some(typed)) = (&stage.rescale, &typed(number).density) {
            check_temperatures(plan, rescale, typed, checker);
            let half = rescale.to.shortest_edge() / 2.0;
            let reach = plan.reach(plan.run.skin.unwrap_or(0.0));
            if reach > half {
                let message = format!(
                    "the box is then too small: half its shortest edge, {half:.4}, is below the cutoff"
                );
                checker.reject(
                    &typed.to.span,
                    message,
                    format!("half an edge of at least {reach:.4}"),
                );
            }
            if plan.integrity.is_some() {
                let help = "leave out [integrity], or make the change a run of its own";
                checker.reject(
                    &typed.span,
                    "steps in a box that changes are not computed twice",
                    help,
                );
            }
        }
        if let (Some(minimize), Some(typed)) = (&stage.minimize, &typed(number).minimize)
            && minimize.temperature.is_none()
        {
            check_rest(plan, number, &typed.span, checker);
        }
        if let Some(typed) = &typed(number).strain {
            check_rest(plan, number, &typed.span, checker);
        }
        if let (Some(of), Some(typed)) = (&stage.thermostat, &typed(number).thermostat)
            && of.kind.is_brownian()
            && of.temperature.to == 0.0
        {
            check_rest(plan, number + 1, &typed.temperature.span, checker);
        }
    }
}

/// All systems get one density.
fn check_temperatures(
    plan: &Plan,
    rescale: &RescalePlan,
    typed: &Table<DensityChange>,
    checker: &mut Checker<'_>,
) {
    let Some(of) = rescale.to_mean_of else { return };
    let has_several = |ensemble: &EnsemblePlan| {
        [TemperatureKey::From(of), TemperatureKey::To(of)]
            .iter()
            .any(|key| ensemble.temperature_of.contains(key))
    };
    if plan.ensemble.as_ref().is_some_and(has_several) {
        let message = "is one density for all systems, which have several temperatures there";
        let help = "give a number, or make each temperature a run of its own";
        checker.reject(&typed.to.span, message, help);
    }
}

/// Something must set the particles in motion in the first stage from one on that takes steps: it comes from a minimum, or from overdamped
/// motion.
fn check_rest(plan: &Plan, number: usize, typed: &Range<usize>, checker: &mut Checker<'_>) {
    let is_strain = |stage: &StagePlan| stage.strain.is_some();
    let moving = plan.stages[number..].iter().enumerate().find(|(after, stage)| {
        let comes_to_rest = stage.minimize.is_some() || is_strain(stage);
        (stage.steps > 0 && !is_strain(stage)) || (*after > 0 && comes_to_rest)
    });
    let Some((_, moving)) = moving.filter(|(_, stage)| stage.steps > 0 && !is_strain(stage)) else {
        return;
    };
    let needs_none = |kind: Thermostat| kind.draws_velocities() || kind.is_brownian();
    let draws = moving.thermostat.is_some_and(|thermostat| needs_none(thermostat.kind));
    if !draws
        && !moving.draw_velocities
        && moving.minimize.is_none_or(|of| of.temperature.is_none())
    {
        let of = &plan.stages[number];
        let message =
            format!("velocities are zero after this, and the stage {:?} gives none", moving.name);
        let help = match is_strain(of) || of.minimize.is_none() {
            true => "draw_velocities = true or an andersen or langevin thermostat there",
            false => {
                "temperature = ... here for new ones, or draw_velocities = true or an andersen or langevin thermostat there"
            }
        };
        checker.reject(typed, message, help);
    }
}
