//! Centres of mass of samples.
use std::ffi::c_void;
use std::sync::Arc;

use super::program::{self, THREADS};
use super::records::Records;
use crate::engine::EngineError;
use crate::engine::cuda::launch::{Kernel, Kernels};
use crate::engine::cuda::memory::{Buffer, Session};
use crate::system::{SimulationBox, Species};

pub struct CenterFinder {
    kernels: Kernels,
    find_centers: Kernel,
    /// Numbers of the slots of the samples.
    slots: Buffer,
}

/// `Geometry` of the kernel.
fn geometry(simulation_box: &SimulationBox, species: &[Species]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let masses = species.iter().map(|species| species.mass);
    let numbers = simulation_box.padded_edges().into_iter().chain(masses);
    numbers.for_each(|x| bytes.extend(x.to_ne_bytes()));
    let mut start = 0;
    bytes.extend(0u32.to_ne_bytes());
    for species in species {
        start += species.count as u32;
        bytes.extend(start.to_ne_bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

impl CenterFinder {
    /// For at most `samples` samples at once.
    ///
    /// # Errors
    /// If there is no memory, or the kernels cannot be compiled.
    pub fn new(
        session: &Arc<Session>,
        simulation_box: &SimulationBox,
        species: &[Species],
        samples: usize,
    ) -> Result<Self, EngineError> {
        let program = program::centers_program(simulation_box.dimension(), species.len());
        let kernels = Kernels::of(session, &program)?;
        kernels.set("geometry", &geometry(simulation_box, species))?;
        Ok(CenterFinder {
            find_centers: kernels.kernel("find_centers")?,
            kernels,
            slots: Buffer::new(session, samples * size_of::<u32>())?,
        })
    }

    /// Finds those of the samples in `slots`; does not wait.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn find(
        &self,
        records: Records,
        slots: &[u32],
        centers: &Buffer,
    ) -> Result<(), EngineError> {
        let count = slots.len() as u32;
        self.slots.write(slots)?;
        let (slots, centers) = (self.slots.pointer(), centers.pointer());
        let arguments: [*const c_void; 3] =
            [(&raw const records).cast(), (&raw const slots).cast(), (&raw const centers).cast()];
        // SAFETY: the arguments are those of the kernel; `slots` has so many numbers of slots, which the
        // records and the centres have.
        unsafe { self.kernels.launch(self.find_centers, count, THREADS, false, &arguments) }
    }
}
