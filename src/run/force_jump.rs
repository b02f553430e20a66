//! Energy minima, and configurational temperatures, of potentials whose energy or force jumps at the cutoff, and forces that jump before
//! it.
use std::f64::consts::TAU;

use crate::plan::{Plan, StagePlan};

/// What there is to say of a stage; `None` where it looks for no minima, or the jumps are below the tolerance of their forces.
pub fn in_minima(plan: &Plan, stage: &StagePlan) -> Option<String> {
    let of_propensities = stage.propensity.as_ref().and_then(|of| of.inherent);
    let observed = stage.observe.inherent_structures.or(of_propensities);
    let at_start = stage.minimize.map(|minimize| minimize.descent);
    let of_strain = stage.strain.as_ref().map(|strain| strain.descent);
    let tolerance = observed.or(at_start).or(of_strain)?.force_tolerance;
    let jumps = plan.potential.jumps_at_cutoff();
    // A force below the tolerance changes the energy by no more over a natural length.
    let energy_jumps = jumps.energy >= tolerance * plan.potential.smallest_length();
    let force_jumps = jumps.force >= tolerance;
    let of_energy = format!("the energy jumps by {:.2e}", jumps.energy);
    let what = match (energy_jumps, force_jumps) {
        (false, false) => return None,
        (true, false) => of_energy,
        (false, true) => format!("the force jumps by {:.2e}", jumps.force),
        (true, true) => format!("{of_energy} and the force by {:.2e}", jumps.force),
    };
    let mut consequences = String::new();
    if energy_jumps {
        consequences += "minima are those of the forces, and their energies change in steps where pairs cross the cutoff; ";
    }
    if force_jumps {
        consequences += &format!(
            "where a pair comes to rest at its cutoff, forces of that size stay, and force_tolerance = {tolerance:e} is not reached; "
        );
        if observed.is_some() {
            consequences += "what is left of each is its inherent_structure_residual_force; ";
        }
    }
    let of = match (observed, of_strain) {
        (Some(_), _) => "inherent structures",
        (None, Some(_)) => "strain",
        (None, None) => "minimize",
    };
    Some(format!(
        "stage \"{}\": {of}: {what} at the cutoff: {consequences}\"force-shifted\", \"even-quartic\" and \"smooth\" do not jump",
        stage.name
    ))
}

/// What there is to say of a formula of several pieces, once for the run; `None` where no force jumps.
pub fn in_pieces(plan: &Plan) -> Option<String> {
    let potential = &plan.potential;
    let species = &plan.system.species;
    let mut jumps = Vec::new();
    for a in 0..species.len() {
        for b in a..species.len() {
            for (r, jump) in potential.form.force_jumps(&potential.pairs[a][b]) {
                let names = format!("{}-{}", species[a].name, species[b].name);
                jumps.push(format!("of {names} by {jump:.3e} at r = {r:.6}"));
            }
        }
    }
    let unit = if potential.diameters.is_some() { " sigma_ij" } else { "" };
    (!jumps.is_empty()).then(|| {
        format!(
            "potential: the force jumps {}{unit}: energy drifts more there, minima may rest on it with a force of that size, and the configurational temperature lacks that part of the Laplacian; pieces with the same slope where they meet do not jump",
            jumps.join(", ")
        )
    })
}

/// Part of the Laplacian per particle, in natural units, that is not worth a word.
const VISIBLE_LAPLACIAN: f64 = 1e-6;

/// What there is to say of a stage that measures the configurational temperature: a jump of the force is a peak of the Laplacian, of
/// weight `rho S(r_c) |U'(r_c)|` per particle, `S` the surface of the sphere, which no sum over pairs has.
pub fn in_configurational_temperature(plan: &Plan, stage: &StagePlan) -> Option<String> {
    let every = stage.observe.configurational_temperature?;
    let jump = plan.potential.jumps_at_cutoff().force;
    let (system, simulation_box) = (&plan.system, plan.system.simulation_box);
    let (dimension, volume) = (simulation_box.dimension(), simulation_box.volume());
    let density = system.particle_count() as f64 / volume;
    let radius = plan.reach(0.0);
    let surface = if dimension == 2 { TAU * radius } else { 2.0 * TAU * radius * radius };
    let missing = density * surface * jump;
    (missing >= VISIBLE_LAPLACIAN).then(|| {
        format!(
            "stage \"{}\": configurational_temperature = {every}: the force jumps by {jump:.2e} at the cutoff: about {missing:.2e} of the \
             Laplacian per particle is there, which is not in /observables/laplacian; the temperature is off by that share of it; \
             \"force-shifted\", \"even-quartic\" and \"smooth\" do not jump",
            stage.name
        )
    })
}
