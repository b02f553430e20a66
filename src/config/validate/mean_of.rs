//! `"mean of NAME"`: the mean of something over the thermodynamic samples of an earlier stage.
use std::ops::Range;

use super::checker::Checker;
use crate::config::document::{Stage, Table};
use crate::config::reword::nearest;
use crate::plan::{StagePlan, ThermostatPlan};

/// The earlier stage that a phrase names, which has samples at a constant temperature; `number`: of the stage in which it stands.
pub fn earlier_stage<'a>(
    phrase: &str,
    span: &Range<usize>,
    number: usize,
    all: &[Table<Stage>],
    earlier: &'a [Option<StagePlan>],
    checker: &mut Checker<'_>,
) -> Option<(usize, &'a StagePlan)> {
    let Some(name) = phrase.strip_prefix("mean of ").map(str::trim) else {
        let help = "a number, or \"mean of NAME\" with the name of an earlier stage";
        checker.reject(span, format!("{phrase:?} is not understood"), help);
        return None;
    };
    let Some(found) = all.iter().position(|stage| stage.name.value == name) else {
        let names = all[..number].iter().map(|stage| stage.name.value.as_str());
        let help = match nearest(name, names.clone()) {
            Some(near) => format!("did you mean \"mean of {near}\"?"),
            None if number == 0 => "there is no earlier stage".to_owned(),
            None => format!("earlier stages are {}", names.take(8).collect::<Vec<_>>().join(", ")),
        };
        checker.reject(span, format!("there is no stage {name:?}"), help);
        return None;
    };
    if found >= number {
        let when = if found == number { "this one" } else { "a later one" };
        let message = format!("the stage {name:?} is {when}");
        checker.reject(span, message, "name an earlier stage");
        return None;
    }
    let source = earlier.get(found)?.as_ref()?;
    if source.observe.thermodynamics.is_none() {
        let message = format!("the stage {name:?} takes no thermodynamic samples");
        let help = format!("add observe = {{ thermodynamics = ... }} to the stage {name:?}");
        checker.reject(span, message, help);
        return None;
    }
    if let Some(ThermostatPlan { temperature, .. }) = source.thermostat
        && temperature.from != temperature.to
    {
        let message = format!("the temperature of the stage {name:?} is not constant");
        checker.reject(span, message, "name a stage at the wanted temperature");
        return None;
    }
    Some((found, source))
}
