//! Constants of the kernels that depend on the box, where each system has its own (`kernels/md/member_box.cuh`).
use std::sync::Arc;

use super::mirror::Mirror;
use crate::engine::EngineError;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::declare::Pointer;
use crate::engine::cuda::force_field::ForceField;
use crate::engine::cuda::launch::Kernels;
use crate::engine::cuda::memory::Session;
use crate::plan::{Coupling, Plan};
use crate::system::SimulationBox;

/// In the order in which the kernels take them, behind the policy.
const NAMES: [&str; 2] = ["pairs", "largest_core2"];

/// Each constant begins at a multiple of this many bytes.
const ALIGNMENT: usize = 16;

/// Of all systems.
pub struct BoxConstants {
    bytes: Mirror<u8>,
}

impl BoxConstants {
    /// Room for systems of a policy and a force field, which are those of the first.
    ///
    /// # Errors
    /// If the GPU has no room.
    pub fn new<P: DevicePolicy>(
        session: &Arc<Session>,
        systems: usize,
        policy: &P,
        force_field: &ForceField<P>,
    ) -> Result<Self, EngineError> {
        let width = in_order(policy, &force_field.constants(policy)).len();
        Ok(BoxConstants { bytes: Mirror::new(session, systems, width)? })
    }

    pub fn pointer(&self, system: usize) -> Pointer<u8> {
        self.bytes.pointer(system)
    }

    /// Gives a system those of its box, of the force field `constants` by name.
    pub fn set<P: DevicePolicy>(
        &mut self,
        system: usize,
        policy: &P,
        constants: &[(&'static str, Vec<u8>)],
    ) {
        self.bytes.of(system).copy_from_slice(&in_order(policy, constants));
    }

    /// As [`Mirror::send`].
    pub fn send(&mut self) -> Result<(), EngineError> {
        self.bytes.send()
    }
}

fn in_order<P: DevicePolicy>(policy: &P, constants: &[(&'static str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = policy.constants().bytes();
    for name in NAMES {
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        let of_name = constants.iter().find(|(other, _)| *other == name);
        bytes.extend(&of_name.expect("the pair potential has it").1);
    }
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    bytes
}

/// Gives kernels the constants that are those of all boxes.
///
/// # Errors
/// If the GPU is lost.
pub fn set_others(
    kernels: &Kernels,
    constants: &[(&'static str, Vec<u8>)],
) -> Result<(), EngineError> {
    let others = constants.iter().filter(|(name, _)| !NAMES.contains(name));
    others.into_iter().try_for_each(|(name, bytes)| kernels.set_bytes(name, bytes))
}

/// Whether the boxes of all systems are cubes as long as they have kernels in common.
pub fn stay_cubic(plan: &Plan, simulation_box: &SimulationBox) -> bool {
    let keeps_shape = |coupling| coupling == Coupling::Isotropic;
    let mut barostats = plan.stages.iter().filter_map(|stage| stage.barostat);
    simulation_box.is_cubic() && barostats.all(|barostat| keeps_shape(barostat.coupling))
}

/// Macros of kernels for many boxes.
pub fn macros(plan: &Plan) -> [(&'static str, String); 3] {
    let is_cubic = stay_cubic(plan, &plan.system.simulation_box);
    [
        ("MEMBER_BOXES", "1".to_owned()),
        ("CUBIC", u32::from(is_cubic).to_string()),
        // Of boxes of any size.
        ("SATURATING", "0".to_owned()),
    ]
}
