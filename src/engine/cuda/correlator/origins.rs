//! Samples whose particles are sorted by cell.
use std::ffi::c_void;
use std::sync::Arc;

use super::records::Records;
use crate::engine::EngineError;
use crate::engine::cuda::compile::Program;
use crate::engine::cuda::launch::{Kernel, Kernels};
use crate::engine::cuda::memory::{Buffer, Session};
use crate::system::{SimulationBox, Species};

/// Bytes that the sorted particles may take.
const MOST_BYTES: usize = 256 << 20;
/// Samples that are sorted at once.
const MOST_ORIGINS: usize = 64;
/// Threads of the block that sorts a sample.
const SORTING_THREADS: u32 = 1024;

/// What is looked for around particles.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    pub radius: f64,
    pub remove_drift: bool,
    /// Number and width of the bins of distances, if there are any.
    pub bins: (usize, f64),
}

/// Cells with about one particle in each.
#[derive(Clone, Copy, Debug)]
pub struct Cells {
    particles: usize,
    cells: [u32; 3],
}

impl Cells {
    pub fn new(simulation_box: &SimulationBox, species: &[Species]) -> Self {
        let particles: usize = species.iter().map(|species| species.count).sum();
        let dimension = simulation_box.dimension();
        let spacing =
            (simulation_box.volume() / particles.max(1) as f64).powf(1.0 / dimension as f64);
        let edges = simulation_box.padded_edges();
        let cells = std::array::from_fn(|axis| match axis < dimension {
            true => ((edges[axis] / spacing) as u32).max(1),
            false => 1,
        });
        Cells { particles, cells }
    }

    fn count(&self) -> usize {
        self.cells.iter().product::<u32>() as usize
    }

    /// Layers of cells across the first axis that have points within a radius.
    pub fn layers_within(&self, simulation_box: &SimulationBox, radius: f64) -> u32 {
        let share = (2.0 * radius / simulation_box.padded_edges()[0]).min(1.0);
        (share * f64::from(self.cells[0])).ceil() as u32
    }

    /// Samples that are sorted at once.
    pub fn origins(&self) -> usize {
        (MOST_BYTES / (16 * self.particles + 4 * self.count()).max(1)).clamp(1, MOST_ORIGINS)
    }

    /// Of ends of cells, and of points.
    fn bytes(&self) -> [usize; 2] {
        [self.origins() * self.count() * 4, self.origins() * self.particles * 16]
    }

    pub fn device_bytes(&self) -> u64 {
        self.bytes().iter().sum::<usize>() as u64
    }
}

/// The kernels of a search and the memory of what is sorted.
pub struct SortedOrigins {
    pub kernels: Kernels,
    sort_origins: Kernel,
    /// By origin, cell.
    pub ends: Buffer,
    /// By origin, place.
    pub points: Buffer,
}

/// `Geometry` of the kernels.
fn geometry(
    simulation_box: &SimulationBox,
    species: &[Species],
    cells: Cells,
    search: Search,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let edges = simulation_box.padded_edges();
    edges.iter().for_each(|x| bytes.extend(x.to_ne_bytes()));
    let mut start = 0;
    bytes.extend(0u32.to_ne_bytes());
    for species in species {
        start += species.count as u32;
        bytes.extend(start.to_ne_bytes());
    }
    cells.cells.iter().for_each(|cells| bytes.extend(cells.to_ne_bytes()));
    bytes.extend((cells.count() as u32).to_ne_bytes());
    for edge in edges {
        // A hair wider than the sphere, so that rounding loses nothing.
        let reach = (search.radius / edge * (1.0 + 1e-6) * 4_294_967_296.0).ceil() + 1.0;
        bytes.extend((reach as u32).to_ne_bytes());
    }
    bytes.extend(((search.radius * search.radius) as f32).to_ne_bytes());
    bytes.extend(u32::from(search.remove_drift).to_ne_bytes());
    let (bins, width) = search.bins;
    bytes.extend((bins as u32).to_ne_bytes());
    bytes.extend((width.recip() as f32).to_ne_bytes());
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

impl SortedOrigins {
    /// `program` includes `kernels/observable/origins.cuh`.
    ///
    /// # Errors
    /// If there is no memory, or the kernels cannot be compiled.
    pub fn new(
        session: &Arc<Session>,
        program: &Program,
        simulation_box: &SimulationBox,
        species: &[Species],
        search: Search,
    ) -> Result<Self, EngineError> {
        let cells = Cells::new(simulation_box, species);
        let kernels = Kernels::of(session, program)?;
        kernels.set("geometry", &geometry(simulation_box, species, cells, search))?;
        let [ends, points] = cells.bytes();
        Ok(SortedOrigins {
            sort_origins: kernels.kernel("sort_origins")?,
            kernels,
            ends: Buffer::new(session, ends)?,
            points: Buffer::new(session, points)?,
        })
    }

    /// Sorts the samples in `count` slots, whose numbers lie at an address of the GPU; does not wait.
    ///
    /// # Safety
    /// There are `count` numbers, of slots that the records have, and no more than [`Cells::origins`].
    pub unsafe fn sort(
        &self,
        records: Records,
        slots: u64,
        count: usize,
    ) -> Result<(), EngineError> {
        let (ends, points) = (self.ends.pointer(), self.points.pointer());
        let arguments: [*const c_void; 4] = [
            (&raw const records).cast(),
            (&raw const slots).cast(),
            (&raw const ends).cast(),
            (&raw const points).cast(),
        ];
        // SAFETY: the arguments are those of the kernel; the caller promises the slots.
        unsafe {
            self.kernels.launch(self.sort_origins, count as u32, SORTING_THREADS, false, &arguments)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_hold_about_a_particle_and_fit_the_memory() {
        for (edges, count) in
            [(vec![10.0, 10.0, 10.0], 1200), (vec![40.0, 3.0], 100), (vec![400.0; 3], 60_000_000)]
        {
            let species = [Species { name: "A".into(), count, mass: 1.0 }];
            let cells = Cells::new(&SimulationBox::new(&edges), &species);
            let of_cell = count as f64 / cells.count() as f64;
            assert!((0.9..2.0).contains(&of_cell), "{cells:?}");
            assert!(cells.origins() == 1 || cells.device_bytes() <= MOST_BYTES as u64);
            assert!(cells.origins() <= MOST_ORIGINS);
        }
    }
}
