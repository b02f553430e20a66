//! Centres of mass of samples.
use std::sync::Arc;

use super::program::{THREADS, program_over_samples};
use crate::engine::EngineError;
use crate::engine::cuda::declare::{Const, Pointer, SharedHeader};
use crate::engine::cuda::input_buffer::InputBuffer;
use crate::engine::cuda::launch::{Grid, Kernels, kernels};
use crate::engine::cuda::layout::Layout;
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::cuda::program::Program;
use crate::engine::cuda::samples::{Center, Records};
use crate::system::{SimulationBox, Species};

pub struct CenterFinder {
    kernels: Arc<Kernels>,
    find_centers: CenterKernels,
    /// Numbers of the slots of the samples.
    slots: InputBuffer,
}

/// `Geometry` of the kernel.
fn geometry(edges: [f64; 3], species: &[Species]) -> Layout {
    let masses: Vec<f64> = species.iter().map(|species| species.mass).collect();
    Layout::default()
        .with("edge", &[], edges)
        .with_array("mass", "SPECIES_COUNT", &[], &masses)
        .with_array(
            "start",
            "SPECIES_COUNT + 1",
            &["Particles before each species, and all."],
            &starts(species),
        )
}

/// Particles before each species, and all.
pub fn starts(species: &[Species]) -> Vec<u32> {
    let ends = species.iter().scan(0, |end, species| {
        *end += species.count as u32;
        Some(*end)
    });
    [0].into_iter().chain(ends).collect()
}

/// What the kernels include of this module.
const SHARED: SharedHeader = SharedHeader {
    name: "shared/centers.cuh",
    text: || geometry([0.0; 3], &[]).declaration("Geometry"),
};

kernels! {
    pub struct CenterKernels {
        find_centers(Records, Pointer<Const<u32>>, Pointer<Center>);
    }
}

/// The kernel of centres of mass.
pub fn program(dimension: usize, species: usize) -> Program {
    let text = include_str!("../../../../kernels/observable/centers.cu");
    program_over_samples("centers.cu", text, dimension, species)
        .include(&[SHARED])
        .checked(&[CenterKernels::checks()])
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
        let program = program(simulation_box.dimension(), species.len());
        let geometry = geometry(simulation_box.padded_edges(), species).bytes();
        let kernels = Kernels::with_constant(session, &program, "geometry", &geometry)?;
        Ok(CenterFinder {
            find_centers: CenterKernels::load(&kernels)?,
            kernels,
            slots: InputBuffer::new(session, samples * size_of::<u32>())?,
        })
    }

    /// Finds those of the samples in `slots`, which records and centres have; does not wait.
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
        let arguments = (records, self.slots.pointer(), centers.pointer());
        self.kernels.launch(self.find_centers.find_centers, Grid::of(count, THREADS), arguments)
    }
}
