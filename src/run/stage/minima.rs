//! Inherent structures of several systems.
use crate::engine::{EngineError, InherentStructure, Minimizer};
use crate::system::Snapshot;

/// Of these systems, in their order; says so where forces are left that `tolerance` does not allow. `number`: of a system
/// where there are many; `key`: what the configuration says of the descent.
pub fn minima<'a>(
    minimizer: &mut dyn Minimizer,
    tolerance: f64,
    (stage, key): (&str, &str),
    systems: impl Iterator<Item = (Option<usize>, &'a Snapshot)>,
) -> Result<Vec<InherentStructure>, EngineError> {
    let mut all = Vec::new();
    for (number, snapshot) in systems {
        let found = minimizer.minimize(snapshot)?;
        if found.residual_force >= tolerance {
            let of = number.map_or_else(String::new, |number| format!(", system {number}"));
            tracing::warn!(
                "stage \"{stage}\", step {}{of}: forces of up to {:.1e} are left in the inherent structure after {} \
                 iterations ({key})",
                snapshot.step,
                found.residual_force,
                found.iterations
            );
        }
        all.push(found);
    }
    Ok(all)
}
