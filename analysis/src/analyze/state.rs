//! The state that a stage was set to, from the plan in its file.
use serde_json::{Value, json};

use crate::numbers::short;

/// What set temperature or energy of a stage, and under which dynamics it was measured. Equal of runs that are independent
/// samples of one state: it knows no seed and nothing that was measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SetState {
    /// Thermostat of the stage with its parameters, `null` at constant energy.
    thermostat: Value,
    set: Set,
}

#[derive(Clone, Debug, PartialEq)]
enum Set {
    /// Of a thermostat: of the stage itself, or of the one that the energy comes from.
    Temperature { from: f64, to: f64 },
    /// Total energy per particle.
    Energy(f64),
}

impl SetState {
    /// `None` if the plan does not hold the stage, or if no thermostat and no energy was set since the initial state, which
    /// may be any.
    pub fn of(plan: &Value, stage: &str) -> Option<Self> {
        let stages = plan["stages"].as_array()?;
        let index = stages.iter().position(|each| each["name"] == stage)?;
        let mut thermostat = stages[index]["thermostat"].clone();
        if let Some(parameters) = thermostat.as_object_mut() {
            parameters.remove("temperature");
        }
        Some(SetState { thermostat, set: set(stages, index)? })
    }

    /// The temperature, where a thermostat has set a constant one.
    pub fn temperature(&self) -> Option<f64> {
        match self.set {
            Set::Temperature { from, to } if from == to => Some(from),
            _ => None,
        }
    }

    /// Whether the temperature of the stage's own thermostat changes.
    pub fn is_ramp(&self) -> bool {
        matches!(self.set, Set::Temperature { from, to } if from != to)
    }

    /// Whether temperature or energy are the same.
    pub fn same_setting(&self, other: &SetState) -> bool {
        self.set == other.set
    }

    /// Whether particles move under the same equations.
    pub fn same_dynamics(&self, other: &SetState) -> bool {
        self.thermostat == other.thermostat
    }

    /// As `thermostat andersen, T = 1`.
    pub fn text(&self) -> String {
        let set = match self.set {
            Set::Temperature { from, to } if from == to => format!("T = {}", short(from)),
            Set::Temperature { from, to } => format!("T from {} to {}", short(from), short(to)),
            Set::Energy(energy) => format!("{} per particle", short(energy)),
        };
        match (self.thermostat["kind"].as_str(), &self.set) {
            (Some(kind), _) => format!("thermostat {kind}, {set}"),
            (None, Set::Energy(_)) => format!("constant energy, {set}"),
            (None, Set::Temperature { .. }) => {
                format!("constant energy, set by the thermostat of an earlier stage, {set}")
            }
        }
    }
}

/// What set the state of a stage: its thermostat, the energy it is given, or the stage before.
fn set(stages: &[Value], index: usize) -> Option<Set> {
    let stage = &stages[index];
    let temperature = &stage["thermostat"]["temperature"];
    if let (Some(from), Some(to)) = (temperature["from"].as_f64(), temperature["to"].as_f64()) {
        return Some(Set::Temperature { from, to });
    }
    let energy = &stage["set_total_energy"];
    if let Some(energy) = energy["value"].as_f64() {
        return Some(Set::Energy(energy));
    }
    let before = match energy["mean-of"].as_str() {
        Some(name) => stages[..index].iter().position(|each| each["name"] == name)?,
        None => index.checked_sub(1)?,
    };
    let inherited = set(stages, before)?;
    // The end of a ramp, not its mean.
    Some(match inherited {
        Set::Temperature { to, .. } if energy.is_null() => Set::Temperature { from: to, to },
        other => other,
    })
}

/// The plan without what independent runs of one state may differ in: seeds, where files are written and when, how the work
/// is shared; and, unless `with_initial_file`, the file that it begins with: where a stage sets the state, that is as much a
/// run's own as its seed.
pub(super) fn without_seed(plan: &Value, with_initial_file: bool) -> Value {
    let mut system = plan["system"].clone();
    if let Some(system) = system.as_object_mut() {
        for key in ["seed", "key_behind_file"] {
            system.remove(key);
        }
        let initial = system.get_mut("initial").filter(|_| !with_initial_file);
        if let Some(initial) = initial.and_then(Value::as_object_mut) {
            for key in ["path", "step"] {
                initial.remove(key);
            }
        }
    }
    let run = &plan["run"];
    json!({
        "system": system,
        "potential": plan["potential"],
        "precision": run["precision"],
        "timestep": run["timestep"],
        "stages": plan["stages"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(temperature: f64) -> Value {
        json!({"stages": [
            {"name": "cool", "thermostat": {"kind": "andersen", "rate": 1.0, "exact": false,
                "temperature": {"from": 2.0, "to": temperature}}, "set_total_energy": null},
            {"name": "equilibrate", "thermostat": {"kind": "bussi", "time": 1.0,
                "temperature": {"from": temperature, "to": temperature}}, "set_total_energy": null},
            {"name": "mean", "thermostat": null, "set_total_energy": {"mean-of": "equilibrate"}},
            {"name": "after", "thermostat": null, "set_total_energy": null},
            {"name": "energy", "thermostat": null, "set_total_energy": {"value": -4.5}},
        ]})
    }

    #[test]
    fn a_state_is_what_thermostat_or_energy_set() {
        let of = |temperature: f64, stage: &str| SetState::of(&plan(temperature), stage).unwrap();
        assert_eq!(of(0.7, "equilibrate"), of(0.7, "equilibrate"));
        assert!(!of(0.7, "equilibrate").same_setting(&of(0.71, "equilibrate")));
        assert!(of(0.7, "equilibrate").same_setting(&of(0.7, "mean")));
        assert!(!of(0.7, "equilibrate").same_dynamics(&of(0.7, "mean")));
        assert_eq!(of(0.7, "mean"), of(0.7, "after"));
        assert_eq!(of(0.7, "energy"), of(0.8, "energy"));
        assert_eq!(of(0.7, "mean").temperature(), Some(0.7));
        assert_eq!(of(0.7, "energy").temperature(), None);
        assert_eq!(of(0.7, "energy").text(), "constant energy, -4.5 per particle");
        assert_eq!(of(0.7, "equilibrate").text(), "thermostat bussi, T = 0.7");
        assert_eq!(of(0.7, "cool").text(), "thermostat andersen, T from 2 to 0.7");
        assert!(of(0.7, "cool").is_ramp() && !of(0.7, "equilibrate").is_ramp());
        assert_eq!(SetState::of(&plan(0.7), "none"), None);
        // Only the file that it begins with knows.
        let free =
            json!({"stages": [{"name": "free", "thermostat": null, "set_total_energy": null}]});
        assert_eq!(SetState::of(&free, "free"), None);
    }
}
