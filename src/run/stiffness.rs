//! Whether the timestep resolves the collisions of a temperature.
use crate::plan::{InitialPlan, Plan};
use crate::potential::{self, PairParameters};

/// Steps of so much of `1 / omega` lose energy visibly; at 2 velocity Verlet is unstable.
const LONG: f64 = 1.0;
/// Energy of a hard collision above that at the cutoff, in temperatures.
const HARD: f64 = 3.0;

/// What there is to say of a stage, if its timestep is long for the curvature that pairs meet in hard collisions:
/// `omega = sqrt(U''(r) / mu)` where `U(r) - U(r_c) = 3 T`, `mu` the reduced mass.
pub fn of_stage(plan: &Plan, stage: usize) -> Option<String> {
    let timestep = plan.flight_of(stage);
    let of_thermostat = plan.stages[stage].thermostat.map(|thermostat| {
        let temperature = thermostat.temperature;
        (temperature.from.max(temperature.to), "its thermostat")
    });
    let (temperature, of) = match (of_thermostat, &plan.system.initial) {
        (Some(found), _) => found,
        (None, InitialPlan::Lattice { temperature, .. }) if stage == 0 => {
            (*temperature, "the first velocities")
        }
        _ => return None,
    };
    let species = &plan.system.species;
    let mut fastest: f64 = 0.0;
    for (a, row) in plan.potential.pairs.iter().enumerate() {
        for (b, pair) in
            row.iter().enumerate().filter(|(_, pair)| !plan.potential.form.is_zero(pair))
        {
            let mass = species[a].mass * species[b].mass / (species[a].mass + species[b].mass);
            let curvature = curvature_at(plan, pair, HARD * temperature);
            fastest = fastest.max((curvature.unwrap_or(0.0).max(0.0) / mass).sqrt());
        }
    }
    let product = fastest * timestep;
    (product > LONG).then(|| {
        format!(
            "stage \"{}\": timestep {timestep} is long for T = {temperature} of {of}: in hard collisions omega dt is about \
             {product:.1} (energy drifts above {LONG}, and steps are unstable above 2); a timestep of {:.1e} has 0.3",
            plan.stages[stage].name,
            0.3 / fastest
        )
    })
}

/// Second derivative of a pair's energy where it is this much above that at the cutoff, coming from there.
fn curvature_at(plan: &Plan, pair: &PairParameters, energy: f64) -> Option<f64> {
    let form = &plan.potential.form;
    let at = |r: f64| potential::bare_energy(form, pair, r);
    let wanted = at(pair.cutoff) + energy;
    let maximum = form.inner_maximum(pair).unwrap_or(0.0);
    // From outside to inside until it is exceeded, then halving.
    let (mut outside, mut inside) = (pair.cutoff, pair.cutoff);
    while at(inside) < wanted {
        outside = inside;
        inside *= 0.98;
        // Potentials that stay finite may never reach it.
        if inside < 1e-3 * pair.cutoff || inside <= maximum {
            return None;
        }
    }
    for _ in 0..40 {
        let middle = 0.5 * (outside + inside);
        if at(middle) < wanted { outside = middle } else { inside = middle }
    }
    let h = 1e-4 * inside;
    let curvature = (at(inside + h) - 2.0 * at(inside) + at(inside - h)) / (h * h);
    curvature.is_finite().then_some(curvature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn plan(temperature: f64, timestep: f64) -> Plan {
        let text = format!(
            r#"
[system]
dimension = 3
density = 0.8
species = [{{ name = "A", count = 500 }}]
initial = {{ lattice = "fcc", temperature = 1.0 }}
[potential]
kind = "inverse-power"
n = 12
cutoff = 2.5
truncation = "shifted"
pairs.AA = {{ epsilon = 1.0, sigma = 1.0 }}
[run]
timestep = {timestep}
[[stage]]
name = "hot"
steps = 1000
thermostat = {{ kind = "bussi", temperature = {temperature}, time = 0.5 }}
"#
        );
        config::parse(&text, "hot").unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn of_an_inverse_power_it_is_the_exact_one() {
        let plan = plan(1.0, 0.005);
        let pair = &plan.potential.pairs[0][0];
        // U = r^-12 (or a multiple): U'' = 12 * 13 U / r^2.
        let energy = 3.0;
        let unit = potential::bare_energy(&plan.potential.form, pair, 1.0);
        let level = energy + potential::bare_energy(&plan.potential.form, pair, pair.cutoff);
        let r = (unit / level).powf(1.0 / 12.0);
        let expected = 156.0 * level / (r * r);
        let found = curvature_at(&plan, pair, energy).unwrap();
        assert!((found / expected - 1.0).abs() < 1e-4, "{found} {expected}");
    }

    #[test]
    fn a_hot_stage_is_warned_of_and_a_usual_one_is_not() {
        assert_eq!(of_stage(&plan(1.0, 0.005), 0), None);
        let warning = of_stage(&plan(300.0, 0.005), 0).unwrap();
        assert!(warning.contains("T = 300") && warning.contains("omega dt"), "{warning}");
    }
}
