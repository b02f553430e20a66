//! Inherent structures of potentials whose force jumps at the cutoff.
use crate::plan::{Plan, StagePlan};

/// What there is to say of a stage; `None` where it looks for no minima, or the jump is below the tolerance of their forces.
pub fn in_minima(plan: &Plan, stage: &StagePlan) -> Option<String> {
    let of_propensities = stage.propensity.as_ref().and_then(|of| of.inherent);
    let settings = stage.observe.inherent_structures.or(of_propensities)?;
    let jump = plan.potential.jumps_at_cutoff().force;
    (jump >= settings.force_tolerance).then(|| {
        format!(
            "stage \"{}\": inherent structures: the force jumps by {jump:.2e} at the cutoff: where a pair comes to rest at its \
             cutoff, forces of that size stay, and force_tolerance = {:e} is not reached; what is left of each is its \
             inherent_structure_residual_force; \"force-shifted\" and \"smooth\" do not jump",
            stage.name, settings.force_tolerance
        )
    })
}
