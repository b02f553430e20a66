//! Constants of the kernels that depend on the box: `BoxConstants` in `kernels/md/box_constants.cuh`.
use super::constants::DevicePolicy;
use super::force_field::ForceField;
use super::launch::Kernels;
use crate::engine::EngineError;

/// Those of the force field, in their order behind the policy's; each begins at a multiple of as many bytes.
const NAMES: [(&str, usize); 2] = [("pairs", 8), ("largest_core2", ALIGNMENT)];

/// All together are a multiple of this many bytes.
const ALIGNMENT: usize = 16;

/// As they lie in memory, of the force field's `constants` by name.
pub fn bytes<P: DevicePolicy>(policy: &P, constants: &[(&'static str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = policy.constants().bytes();
    for (name, alignment) in NAMES {
        bytes.resize(bytes.len().next_multiple_of(alignment), 0);
        let of_name = constants.iter().find(|(other, _)| *other == name);
        bytes.extend(&of_name.expect("the pair potential has it").1);
    }
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    bytes
}

/// Those of a box of about the size of the one before
/// ([`ForceTerm::constants_nearby`](super::force_field::ForceTerm::constants_nearby)).
pub fn bytes_nearby<P: DevicePolicy>(policy: &P, force_field: &ForceField<P>) -> Vec<u8> {
    bytes(policy, &force_field.constants_nearby(policy))
}

/// Gives them to kernels that have one box.
///
/// # Errors
/// If the GPU is lost. So below.
pub fn set(kernels: &Kernels, bytes: &[u8]) -> Result<(), EngineError> {
    kernels.set_bytes("box_constants", bytes)
}

/// Gives kernels the constants of a force field that do not depend on the box.
pub fn set_others(
    kernels: &Kernels,
    constants: &[(&'static str, Vec<u8>)],
) -> Result<(), EngineError> {
    let others = constants.iter().filter(|(name, _)| NAMES.iter().all(|(other, _)| other != name));
    others.into_iter().try_for_each(|(name, bytes)| kernels.set_bytes(name, bytes))
}
