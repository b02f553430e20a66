//! Motion of the centre of mass that a Langevin thermostat, or Brownian dynamics, brings into displacements.
//!
//! Friction and noise act on every particle at one rate `gamma`, and so on the centre of mass of all, of mass `M`:
//! `dV = -gamma V dt + (2 gamma T / M)^(1/2) dW`, independent of the motion relative to it. In `d` dimensions it moves by
//! `<|R(t) - R(0)|^2> = 2 d D_cm [t - (1 - exp(-gamma t)) / gamma]`, `D_cm = T / (M gamma)`. The mean-square displacement
//! of every species is that relative to the centre of mass, plus this; `F_s(q,t)` is that relative to it, times
//! `exp(-q^2 <|R(t) - R(0)|^2> / 2 d)`. In Brownian dynamics `<|R(t) - R(0)|^2> = 2 d D_cm t`.
use serde_json::Value;
use supercool_observables::DynamicObservable;

/// The centre of mass in a stage with friction and noise, and which functions of the stage contain its motion.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    dimension: usize,
    /// Mean over the stage, of a ramp.
    temperature: f64,
    /// Of all particles.
    mass: f64,
    friction: f64,
    /// Else the last term of the displacement is missing.
    has_inertia: bool,
    /// Names of functions, as groups of files have them.
    moved: Vec<String>,
}

/// Share of a quantity from which on its motion of the centre of mass is mentioned.
pub const VISIBLE: f64 = 0.01;

/// Whether a function of this name depends on the motion of the centre of mass; one that this version does not know is
/// taken to.
pub fn is_moved(name: &str) -> bool {
    DynamicObservable::of_name(name)
        .is_none_or(|observable| observable.descriptor().is_moved_by_drift)
}

impl Drift {
    /// Of a stage of a plan; `None` where no function contains it, or where no thermostat causes it.
    pub fn of(plan: &Value, stage: &str) -> Option<Self> {
        let stage = plan["stages"].as_array()?.iter().find(|each| each["name"] == stage)?;
        let thermostat = &stage["thermostat"];
        let has_inertia = match thermostat["kind"].as_str()? {
            "langevin" => true,
            "brownian" => false,
            _ => return None,
        };
        let of_laboratory =
            stage["correlations"].as_array()?.iter().filter(|each| each["remove_drift"] == false);
        let names = of_laboratory.filter_map(|each| each["observables"].as_array()).flatten();
        let names = names.filter_map(|name| Some(name.as_str()?.replace('-', "_")));
        let moved: Vec<String> = names.filter(|name| is_moved(name)).collect();
        if moved.is_empty() {
            return None;
        }
        let (from, to) = (&thermostat["temperature"]["from"], &thermostat["temperature"]["to"]);
        let species = plan["system"]["species"].as_array()?;
        let mass = |each: &Value| Some(each["mass"].as_f64()? * each["count"].as_f64()?);
        Some(Drift {
            dimension: plan["system"]["simulation_box"]["dimension"].as_u64()? as usize,
            temperature: 0.5 * (from.as_f64()? + to.as_f64()?),
            mass: species.iter().map(mass).sum::<Option<f64>>()?,
            friction: thermostat["friction"].as_f64()?,
            has_inertia,
            moved,
        })
    }

    /// Whether a function of this name contains the motion.
    pub fn moves(&self, name: &str) -> bool {
        self.moved.iter().any(|moved| moved == name)
    }

    /// `D_cm`.
    pub fn diffusion_coefficient(&self) -> f64 {
        self.temperature / (self.mass * self.friction)
    }

    /// `<|R(t) - R(0)|^2>`, in equilibrium.
    pub fn mean_square_displacement(&self, time: f64) -> f64 {
        let damped = match self.has_inertia {
            true => -(-self.friction * time).exp_m1() / self.friction,
            false => 0.0,
        };
        2.0 * self.dimension as f64 * self.diffusion_coefficient() * (time - damped)
    }

    /// Share of the motion in a mean-square displacement, or in `-ln F_s(q,t)`, of this value; `None` of other functions.
    pub fn share(&self, name: &str, wavenumber: Option<f64>, time: f64, value: f64) -> Option<f64> {
        match (DynamicObservable::of_name(name)?, wavenumber) {
            (DynamicObservable::MeanSquareDisplacement, _) => {
                Some(self.mean_square_displacement(time) / value)
            }
            (DynamicObservable::SelfIntermediateScatteringFunction, Some(q)) => {
                Some(self.decay(q, time) / -value.ln())
            }
            _ => None,
        }
    }

    /// What the motion adds to `-ln F_s(q,t)`.
    pub fn decay(&self, wavenumber: f64, time: f64) -> f64 {
        wavenumber.powi(2) * self.mean_square_displacement(time) / (2.0 * self.dimension as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plan(kind: &str, remove_drift: bool, observables: &[&str]) -> Value {
        json!({
            "system": {
                "simulation_box": {"dimension": 3},
                "species": [{"count": 400, "mass": 1.0}, {"count": 50, "mass": 2.0}],
            },
            "stages": [{
                "name": "thermostat",
                "thermostat": {"kind": kind, "friction": 2.0, "temperature": {"from": 1.5, "to": 0.5}},
                "correlations": [{"remove_drift": remove_drift, "observables": observables}],
            }],
        })
    }

    #[test]
    fn only_what_contains_the_motion_is_named() {
        let of =
            |kind, removed, names: &[&str]| Drift::of(&plan(kind, removed, names), "thermostat");
        let both = ["mean-square-displacement", "shear-viscosity"];
        let found = of("langevin", false, &both).expect("the displacement contains it");
        assert!(found.moves("mean_square_displacement") && !found.moves("shear_viscosity"));
        assert_eq!(of("langevin", true, &both), None);
        assert_eq!(of("bussi", false, &both), None);
        assert_eq!(of("langevin", false, &["shear-viscosity", "cage-relative-self-overlap"]), None);
        assert_eq!(Drift::of(&plan("langevin", false, &both), "another"), None);
    }

    /// 500 masses at temperature 1 and friction 2: `D_cm` = 1e-3; ballistic at first, `<V^2> t^2`.
    #[test]
    fn the_motion_is_ballistic_then_diffusive() {
        let drift =
            Drift::of(&plan("langevin", false, &["mean-square-displacement"]), "thermostat");
        let drift = drift.expect("a Langevin thermostat");
        assert_eq!(drift.diffusion_coefficient(), 1e-3);
        let early = drift.mean_square_displacement(1e-4);
        assert!((early / (3.0 / 500.0 * 1e-8) - 1.0).abs() < 1e-3, "{early:e}");
        let late = drift.mean_square_displacement(1000.0);
        assert!((late / (6e-3 * 999.5) - 1.0).abs() < 1e-12, "{late}");
        assert!((drift.decay(7.0, 1000.0) - 49.0 * 0.9995).abs() < 1e-10);
    }
}
