//! A stage that changes its box: `stage.density` and `stage.box`.
use std::ops::Range;

use super::checker::Checker;
use super::mean_of::earlier_stage;
use super::stage_checks::StageChecks;
use super::system;
use crate::config::document::{
    BoxChange, DensityChange, Document, Integer, Number, NumberOrPhrase, Observe, Stage, Table,
    Written,
};
use crate::plan::{EnsemblePlan, Plan, RescalePlan, StagePlan, TemperatureKey};
use crate::system::SimulationBox;

/// Change of the edges at once that pairs at contact bear: their energy, as of r^-12, changes by an eighth.
const LARGEST_STRAIN: f64 = 0.01;

/// A stage among the others of a document.
pub struct Place<'a> {
    pub stage: &'a Stage,
    pub number: usize,
    pub all: &'a [Table<Stage>],
    pub earlier: &'a [Option<StagePlan>],
}

/// A change as it was typed.
#[derive(Clone, Copy)]
enum Typed<'a> {
    Density(&'a Table<DensityChange>),
    Edges(&'a Table<BoxChange>),
}

impl<'a> Typed<'a> {
    /// The density goes first where both are given, which is refused.
    fn of(stage: &'a Stage) -> Option<Self> {
        let density = stage.density.as_ref().map(Typed::Density);
        density.or_else(|| stage.r#box.as_ref().map(Typed::Edges))
    }

    fn span(self) -> &'a Range<usize> {
        match self {
            Typed::Density(table) => &table.span,
            Typed::Edges(table) => &table.span,
        }
    }

    /// Place of the aim.
    fn to(self) -> &'a Range<usize> {
        match self {
            Typed::Density(table) => &table.to.span,
            Typed::Edges(table) => &table.to.span,
        }
    }

    fn every(self) -> Option<&'a Written<Integer>> {
        match self {
            Typed::Density(table) => table.every.as_ref(),
            Typed::Edges(table) => table.every.as_ref(),
        }
    }
}

/// Where a stage says that its box changes.
pub fn span(stage: &Stage) -> Option<&Range<usize>> {
    Typed::of(stage).map(Typed::span)
}

/// A box at the end of a change.
enum Aim {
    Box(SimulationBox),
    /// With the mean density of an earlier stage.
    MeanOf(usize),
}

/// `None`: something is wrong; `Some(None)`: the box does not change.
pub fn check(
    place: Place<'_>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Option<RescalePlan>> {
    let Some(typed) = Typed::of(place.stage) else { return Some(None) };
    if let (Some(_), Some(edges)) = (&place.stage.density, &place.stage.r#box) {
        let help = "leave one of them out: the density follows from the edges";
        checker.reject(&edges.span, "box and density cannot both be given", help);
        return None;
    }
    let aim = aim(typed, &place, stage_checks, checker);
    let every = every(typed, stage_checks.steps, checker)?;
    if let Some(what) = samples_positions(place.stage) {
        let message = format!("the box changes, and {what} is of one box");
        let help = "observe thermodynamics here, and the rest in a stage after it";
        checker.reject(typed.span(), message, help);
        return None;
    }
    if stage_checks.steps == 0 {
        let help = "give steps, in the course of which the box changes";
        checker.reject(typed.span(), "changes in a stage without steps", help);
        return None;
    }
    let from = stage_checks.simulation_box?;
    Some(Some(match aim? {
        Aim::Box(to) => {
            check_strain(typed, from, &to, stage_checks.steps.div_ceil(every), checker)?;
            RescalePlan { to, every, to_mean_of: None }
        }
        // Not yet known: the present box stands for it.
        Aim::MeanOf(stage) => RescalePlan { to: *from, every, to_mean_of: Some(stage) },
    }))
}

fn aim(
    typed: Typed<'_>,
    place: &Place<'_>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Aim> {
    let table = match typed {
        Typed::Density(table) => table,
        Typed::Edges(table) => {
            let from = stage_checks.simulation_box?;
            let to = system::edges(&table.to, from.dimension(), checker)?;
            return Some(Aim::Box(to.with_tilt(from.tilt())));
        }
    };
    let number = match &table.to.value {
        NumberOrPhrase::Number(value) => *value,
        NumberOrPhrase::Phrase(phrase) => {
            return mean_of(phrase, &table.to.span, place, checker).map(Aim::MeanOf);
        }
    };
    let density = Written { value: Number(number), span: table.to.span.clone() };
    let density = checker.positive(&density)?;
    let (from, species) = (stage_checks.simulation_box?, stage_checks.species?);
    let particles = species.iter().map(|species| species.count).sum();
    Some(Aim::Box(from.at_density(density, particles)))
}

/// A stage with one density to take the mean of.
fn mean_of(
    phrase: &str,
    span: &Range<usize>,
    &Place { number, all, earlier, .. }: &Place<'_>,
    checker: &mut Checker<'_>,
) -> Option<usize> {
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
    Some(found)
}

fn every(typed: Typed<'_>, steps: u64, checker: &mut Checker<'_>) -> Option<u64> {
    if let Some(every) = typed.every() {
        return checker.integer(every, 1..=steps.max(1));
    }
    let every = (steps / 100).max(1);
    checker.filled_in(typed.span(), "every", every);
    Some(every)
}

/// That no edge changes too much at once.
fn check_strain(
    typed: Typed<'_>,
    from: &SimulationBox,
    to: &SimulationBox,
    changes: u64,
    checker: &mut Checker<'_>,
) -> Option<()> {
    let factors = from.edges().iter().zip(to.edges()).map(|(from, to)| to / from);
    let strain = factors.map(|factor| (factor - 1.0).abs().max((1.0 / factor - 1.0).abs()));
    let strain = strain.fold(0.0, f64::max) / changes as f64;
    if strain <= LARGEST_STRAIN {
        return Some(());
    }
    let message = format!("the edges would change by {:.2} % at once", 100.0 * strain);
    let least = (strain / LARGEST_STRAIN * changes as f64).ceil();
    let help = format!("{least:.0} changes or more in the stage: a shorter every, or more steps");
    checker.reject(typed.span(), message, help);
    None
}

/// What a stage samples that is of one box.
pub fn samples_positions(stage: &Stage) -> Option<&'static str> {
    let observe = stage.observe.as_ref();
    let observes = |is: fn(&Observe) -> bool| observe.is_some_and(|it| is(it));
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
    for (stage, typed) in plan.stages.iter().zip(&document.stage) {
        let (Some(rescale), Some(typed)) = (&stage.rescale, Typed::of(typed)) else { continue };
        check_temperatures(plan, rescale, typed, checker);
        let half = rescale.to.shortest_edge() / 2.0;
        let reach = plan.reach(plan.run.skin.unwrap_or(0.0));
        if reach > half {
            let message = format!(
                "the box is then too small: half its shortest edge, {half:.4}, is below the cutoff"
            );
            checker.reject(typed.to(), message, format!("half an edge of at least {reach:.4}"));
        }
        if plan.integrity.is_some() {
            let help = "leave out [integrity], or make the change a run of its own";
            let message = "steps in a box that changes are not computed twice";
            checker.reject(typed.span(), message, help);
        }
    }
}

/// All systems get one density.
fn check_temperatures(
    plan: &Plan,
    rescale: &RescalePlan,
    typed: Typed<'_>,
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
        checker.reject(typed.to(), message, help);
    }
}
