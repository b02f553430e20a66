//! Constants of the kernels that depend on the box, where each system has its own (`kernels/md/box_constants.cuh`).
use std::sync::Arc;

use super::mirror::Mirror;
use crate::engine::EngineError;
use crate::engine::cuda::box_constants;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::declare::Pointer;
use crate::engine::cuda::force_field::ForceField;
use crate::engine::cuda::memory::Session;
use crate::plan::{Coupling, Plan};
use crate::system::SimulationBox;

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
        let width = box_constants::bytes(policy, &force_field.constants(policy)).len();
        Ok(BoxConstants { bytes: Mirror::new(session, systems, width)? })
    }

    pub fn pointer(&self, system: usize) -> Pointer<u8> {
        self.bytes.pointer(system)
    }

    /// Those of a system, as they lie in memory.
    pub fn get(&self, system: usize) -> &[u8] {
        self.bytes.get(system)
    }

    /// Gives a system such constants.
    pub fn set(&mut self, system: usize, bytes: &[u8]) {
        self.bytes.of(system).copy_from_slice(bytes);
    }

    /// As [`Mirror::send`].
    pub fn send(&mut self) -> Result<(), EngineError> {
        self.bytes.send()
    }
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
