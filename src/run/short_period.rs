//! Whether the timestep resolves a Nose-Hoover chain.
use crate::plan::{Plan, Thermostat};

/// Timesteps of a period below which a chain of several links conserves its energy badly.
const FEWEST: f64 = 40.0;

/// What there is to say of a stage, if the period of its chain is so short that the links behind the first are not resolved: their energy
/// grows, though the temperature is right. A thermostat of one link is not concerned.
pub fn of_stage(plan: &Plan, stage: usize) -> Option<String> {
    let timestep = plan.flight_of(stage);
    match plan.stages[stage].thermostat?.kind {
        Thermostat::NoseHoover { period, chain_length }
            if chain_length > 1 && period < FEWEST * timestep =>
        {
            Some(format!(
                "stage \"{}\": a period of {period} is {:.0} timesteps: the conserved energy of a chain of {chain_length} links grows \
                 below {FEWEST:.0}; a period of {:?} or more, or chain_length = 1, conserves it",
                plan.stages[stage].name,
                period / timestep,
                FEWEST * timestep
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn warning(period: f64, chain_length: usize) -> Option<String> {
        let text = format!(
            r#"
[system]
dimension = 3
density = 0.8
species = [{{ name = "A", count = 500 }}]
initial = {{ lattice = "fcc", temperature = 1.0 }}
[potential]
kind = "lennard-jones"
cutoff = 2.5
truncation = "shifted"
pairs.AA = {{ epsilon = 1.0, sigma = 1.0 }}
[run]
timestep = 0.004
[[stage]]
name = "short"
steps = 1000
thermostat = {{ kind = "nose-hoover", temperature = 1.0, period = {period}, chain_length = {chain_length} }}
"#
        );
        let plan = config::parse(&text, "short").unwrap_or_else(|error| panic!("{error}"));
        of_stage(&plan, 0)
    }

    #[test]
    fn chains_of_short_periods_are_warned_of() {
        assert_eq!(warning(0.2, 3), None);
        assert_eq!(warning(0.1, 1), None);
        let text = warning(0.1, 3).unwrap();
        assert!(text.contains("25 timesteps") && text.contains("0.16"), "{text}");
    }
}
