//! `diameter_classes` of correlations and the structure.
use super::checker::Checker;
use super::stage_checks::StageChecks;
use crate::config::defaults;
use crate::config::document::{
    Correlation, CountOrBounds, Document, Integer, Number, Structure, Table, Written,
};
use crate::observable::diameter_classes::DiameterClasses;
use crate::plan::{
    CorrelationPlan, DiameterClassesPlan, DiameterDistribution, Plan, StructurePlan,
};

/// Of a correlation. `Some(None)`: averages are over species.
pub fn check(
    document: &Table<Correlation>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Option<DiameterClassesPlan>> {
    let Some(typed) = &document.diameter_classes else { return Some(None) };
    let classes = classes(typed, stage_checks, checker)?;
    if let Some(of_species) = &document.species {
        let message =
            "does not go with diameter_classes, whose averages are over classes and all particles";
        checker.reject(&of_species.span, message, "leave it out");
        return None;
    }
    Some(Some(classes))
}

/// Of the structure.
pub fn check_structure(
    document: &Table<Structure>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<Option<DiameterClassesPlan>> {
    let Some(typed) = &document.diameter_classes else { return Some(None) };
    let classes = classes(typed, stage_checks, checker)?;
    let most = defaults::MOST_DIAMETER_CLASSES_OF_STRUCTURE;
    if classes.count() > most {
        let (count, pairs) = (classes.count(), classes.count() * (classes.count() + 1) / 2);
        let message = format!("{count} classes have {pairs} pairs, with functions for each");
        checker.reject(&typed.span, message, format!("at most {most} classes"));
        return None;
    }
    Some(Some(classes))
}

fn classes(
    typed: &Written<CountOrBounds>,
    stage_checks: &StageChecks<'_>,
    checker: &mut Checker<'_>,
) -> Option<DiameterClassesPlan> {
    let species = stage_checks.species?;
    if species.len() > 1 {
        let message =
            format!("divides the particles of one species, and there are {}", species.len());
        checker.reject(
            &typed.span,
            message,
            "leave it out: averages over each species are made anyway",
        );
        return None;
    }
    if stage_checks.diameters == Some(false) {
        let help = "give [system.diameters], or leave it out";
        checker.reject(&typed.span, "divides particles by diameter, and they have none", help);
        return None;
    }
    if stage_checks.swaps {
        let message = "divides particles by diameter, and swap exchanges diameters in this stage";
        let help =
            "leave it to a stage without swap: its classes are those of the diameters at its start";
        checker.reject(&typed.span, message, help);
        return None;
    }
    let particles: usize = species.iter().map(|species| species.count).sum();
    match &typed.value {
        CountOrBounds::Count(count) => number(typed, *count, particles, checker),
        CountOrBounds::Bounds(typed_bounds) => bounds(typed, typed_bounds, checker),
    }
}

fn number(
    typed: &Written<CountOrBounds>,
    count: Integer,
    particles: usize,
    checker: &mut Checker<'_>,
) -> Option<DiameterClassesPlan> {
    let count = Written { value: count, span: typed.span.clone() };
    let count = checker.integer(&count, 1..=defaults::MOST_DIAMETER_CLASSES as u64)? as usize;
    if count > particles {
        let message = format!("{count} classes of {particles} particles");
        checker.reject(&typed.span, message, format!("at most {particles}"));
        return None;
    }
    Some(DiameterClassesPlan::Number(count))
}

fn bounds(
    typed: &Written<CountOrBounds>,
    bounds: &[Written<Number>],
    checker: &mut Checker<'_>,
) -> Option<DiameterClassesPlan> {
    let most = defaults::MOST_DIAMETER_CLASSES - 1;
    if bounds.is_empty() || bounds.len() > most {
        let message = format!("must hold 1 to {most} bounds, not {}", bounds.len());
        checker.reject(&typed.span, message, "two bounds make three classes: [0.85, 1.1]");
        return None;
    }
    let values: Vec<_> = bounds.iter().map(|bound| checker.positive(bound)).collect();
    let values = values.into_iter().collect::<Option<Vec<f64>>>()?;
    for (pair, bound) in values.windows(2).zip(&bounds[1..]) {
        if !(pair[0] < pair[1]) {
            let message = format!("{:?} is not above the bound before it, {:?}", pair[1], pair[0]);
            checker.reject(&bound.span, message, "bounds of classes ascend");
            return None;
        }
    }
    Some(DiameterClassesPlan::Bounds(values))
}

/// The classes of a stage are the same in all its correlations, and in its structure, that have some: its file has one place for each.
pub fn check_alike(
    document: &[Table<Correlation>],
    plans: &[Option<CorrelationPlan>],
    (structure, structure_plan): (Option<&Table<Structure>>, Option<&StructurePlan>),
    checker: &mut Checker<'_>,
) {
    let mut first = None;
    for (number, (table, plan)) in document.iter().zip(plans).enumerate() {
        let (Some(typed), Some(plan)) = (&table.diameter_classes, plan) else { continue };
        match first {
            None => first = Some((number, &plan.diameter_classes)),
            Some((earlier, classes)) if *classes != plan.diameter_classes => {
                let message =
                    format!("correlation[{}] of this stage has other classes", earlier + 1);
                let help = "give the correlations of a stage the same classes: the results file has one place for each";
                checker.reject(&typed.span, message, help);
            }
            Some(_) => {}
        }
    }
    if let (Some(typed), Some(plan), Some((earlier, classes))) =
        (structure.and_then(|of| of.diameter_classes.as_ref()), structure_plan, first)
        && *classes != plan.diameter_classes
    {
        let message = format!("correlation[{}] of this stage has other classes", earlier + 1);
        let help = "give both the same classes: the results file has one place for each";
        checker.reject(&typed.span, message, help);
    }
}

/// That classes between bounds have particles, as many in each system. Diameters in files are looked at when the run begins.
pub fn check_plan(plan: &Plan, document: &Document, checker: &mut Checker<'_>) {
    let Some(of_particles) = &plan.system.diameters else { return };
    if of_particles.distribution == DiameterDistribution::File {
        return;
    }
    for (number, stage) in document.stage.iter().enumerate() {
        checker.in_stage(number, &stage.name.value);
        let of_plan = &plan.stages[number];
        let of_correlations = stage.correlation.iter().zip(&of_plan.correlations);
        let of_correlations =
            of_correlations.map(|(table, plan)| (&table.diameter_classes, &plan.diameter_classes));
        let structure = stage.observe.as_ref().and_then(|observe| observe.structure.as_ref());
        let of_structure = structure.zip(of_plan.observe.structure.as_ref());
        let of_structure =
            of_structure.map(|(table, plan)| (&table.diameter_classes, &plan.diameter_classes));
        for both in of_correlations.chain(of_structure) {
            let (Some(typed), Some(classes @ DiameterClassesPlan::Bounds(_))) = both else {
                continue;
            };
            let draw = |system| {
                let of_system = plan.of_system(system).system;
                of_particles.draw(of_system.particle_count(), of_system.seed)
            };
            let diameters = (0..plan.systems()).map(draw);
            if let Err((_, error)) = DiameterClasses::of_systems(classes, diameters) {
                let help = "bounds within the diameters of the particles, or a number of classes";
                checker.reject(&typed.span, error.to_string(), help);
            }
        }
    }
    checker.after_stages();
}
