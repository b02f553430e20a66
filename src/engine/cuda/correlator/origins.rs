//! Samples whose particles are sorted by cell.
use std::sync::Arc;

use super::centers::starts;
use super::program::{THREADS, program_over_samples};
use crate::engine::EngineError;
use crate::engine::cuda::declare::{
    Const, Named, Pointer, SharedHeader, device_constants, device_struct, shared_header,
};
use crate::engine::cuda::launch::{Grid, Kernels, kernels};
use crate::engine::cuda::layout::Layout;
use crate::engine::cuda::memory::{Buffer, Session};
use crate::engine::cuda::program::Program;
use crate::engine::cuda::samples::Records;
use crate::system::{SimulationBox, Species};

/// Bytes that the sorted particles may take.
const MOST_BYTES: usize = 256 << 20;
/// Samples that are sorted at once, for each of a number of systems and in all.
const MOST_ORIGINS: usize = 64;
const MOST_ORIGINS_OF_SYSTEMS: usize = 1024;
/// Of more particles each sample is sorted by many blocks.
const MOST_PARTICLES_OF_BLOCK: usize = SORTING_THREADS as usize;

/// What is looked for around particles.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    pub radius: f64,
    pub remove_drift: bool,
    /// Number and width of the bins of distances, if there are any.
    pub bins: (usize, f64),
}

/// Cells of about the distance of neighboring particles; as wide as the radius of a search that does not reach much farther, but along the
/// last axis, along which cells follow each other: so a search goes over few rows of cells.
#[derive(Clone, Copy, Debug)]
pub struct Cells {
    particles: usize,
    cells: [u32; 3],
    most_origins: usize,
}

impl Cells {
    pub fn new(simulation_box: &SimulationBox, species: &[Species], radius: f64) -> Self {
        let particles: usize = species.iter().map(|species| species.count).sum();
        let dimension = simulation_box.dimension();
        let spacing =
            (simulation_box.volume() / particles.max(1) as f64).powf(1.0 / dimension as f64);
        let edges = simulation_box.padded_edges();
        let across = if radius < 2.0 * spacing { radius.max(spacing) } else { spacing };
        let cells = std::array::from_fn(|axis| {
            let width = if axis + 1 < dimension { across } else { spacing };
            if axis < dimension { ((edges[axis] / width) as u32).max(1) } else { 1 }
        });
        Cells { particles, cells, most_origins: MOST_ORIGINS }
    }

    fn count(&self) -> usize {
        self.cells.iter().product::<u32>() as usize
    }

    /// Layers of cells across the first axis that have points within a radius.
    pub fn layers_within(&self, simulation_box: &SimulationBox, radius: f64) -> u32 {
        let share = (2.0 * radius / simulation_box.padded_edges()[0]).min(1.0);
        (share * f64::from(self.cells[0])).ceil() as u32
    }

    /// The same for samples of a number of systems, of which no more are sorted at once than `most`.
    pub fn of_systems(self, systems: usize, most: usize) -> Self {
        let of_systems = (systems * MOST_ORIGINS).min(MOST_ORIGINS_OF_SYSTEMS);
        Cells { most_origins: of_systems.min(most), ..self }
    }

    /// Samples that are sorted at once.
    pub fn origins(&self) -> usize {
        let bytes = 16 * self.particles + 4 * self.count();
        (MOST_BYTES / bytes.max(1)).clamp(1, self.most_origins)
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
    pub kernels: Arc<Kernels>,
    sorting: SortingKernels,
    cells: Cells,
    /// By origin, cell.
    pub ends: Buffer,
    /// By origin, place.
    pub points: Buffer,
}

device_struct! {
    /// Cells that points are sorted by, and how far is looked around a point.
    pub struct CellGrid {
        /// Cells along each axis, and all.
        cells: [u32; 3],
        cell_count: u32,
        /// No less than the radius, in 2^-32 of each edge; no more than about half.
        reach: [u32; 3],
        squared_radius: f32,
    }
}

device_constants! {
    /// Threads of the block that sorts a sample, and cells that one of them adds up.
    mod sorting: u32 {
        SORTING_THREADS = 1024;
        CELLS_OF_THREAD = 8;
    }
}
use sorting::SORTING_THREADS;

/// A point of the kernels, with padding.
pub enum Point {}

impl Named for Point {
    fn name() -> String {
        "Point".to_owned()
    }
}

/// `Geometry` of the kernels.
fn geometry(edges: [f64; 3], species: &[Species], grid: CellGrid, search: Search) -> Layout {
    let (bins, width) = search.bins;
    Layout::default()
        .with("edge", &[], edges)
        .with_array(
            "start",
            "SPECIES_COUNT + 1",
            &["Particles before each species, and all."],
            &starts(species),
        )
        .with("grid", &[], grid)
        .with("remove_drift", &[], u32::from(search.remove_drift))
        .with("bins", &["Of distances: bins, and the inverse of their width."], bins as u32)
        .with("inverse_bin_width", &[], width.recip() as f32)
}

fn grid(edges: [f64; 3], cells: Cells, search: Search) -> CellGrid {
    // A hair wider than the sphere, so that rounding loses nothing.
    let reach = |edge: f64| (search.radius / edge * (1.0 + 1e-6) * 4_294_967_296.0).ceil() + 1.0;
    CellGrid {
        cells: cells.cells,
        cell_count: cells.count() as u32,
        reach: edges.map(|edge| reach(edge) as u32),
        squared_radius: (search.radius * search.radius) as f32,
    }
}

shared_header!(CELLS = "shared/cells.cuh": CellGrid);
shared_header!(SORTING = "shared/sorting.cuh": sorting::Declaration);

/// What the kernels include of this module.
const SHARED: SharedHeader = SharedHeader {
    name: "shared/origins.cuh",
    text: || {
        let search = Search { radius: 0.0, remove_drift: false, bins: (0, 1.0) };
        geometry([0.0; 3], &[], CellGrid::default(), search).declaration("Geometry")
    },
};

kernels! {
    pub struct SortingKernels {
        sort_origins(Records, Pointer<Const<u32>>, Pointer<u32>, Pointer<Point>);
        count_in_cells(Records, Pointer<Const<u32>>, Pointer<u32>);
        find_starts(Pointer<u32>);
        put_in_cells(Records, Pointer<Const<u32>>, Pointer<u32>, Pointer<Point>);
    }
}

/// A program that includes `kernels/observable/origins.cuh`, with a header and the checks of its own kernels.
pub fn program_over_sorted(
    name: &str,
    text: &str,
    dimension: usize,
    species: usize,
    shared: SharedHeader,
    checks: String,
) -> Program {
    program_over_samples(name, text, dimension, species)
        .include(&[CELLS, SHARED, SORTING, shared])
        .checked(&[SortingKernels::checks(), checks])
}

/// A thread for each particle of a number of samples, or of pairs of them.
pub fn over_particles(particles: usize, samples: usize) -> Grid {
    let blocks = (particles as u32).div_ceil(THREADS);
    Grid::in_two_dimensions((blocks, samples as u32), THREADS)
}

impl SortedOrigins {
    /// `program`: a [`program_over_sorted`].
    ///
    /// # Errors
    /// If there is no memory, or the kernels cannot be compiled.
    pub fn new(
        session: &Arc<Session>,
        program: &Program,
        simulation_box: &SimulationBox,
        species: &[Species],
        cells: Cells,
        search: Search,
    ) -> Result<Self, EngineError> {
        let edges = simulation_box.padded_edges();
        let geometry = geometry(edges, species, grid(edges, cells, search), search);
        let kernels = Kernels::with_constant(session, program, "geometry", &geometry.bytes())?;
        let [ends, points] = cells.bytes();
        Ok(SortedOrigins {
            sorting: SortingKernels::load(&kernels)?,
            cells,
            kernels,
            ends: Buffer::new(session, ends)?,
            points: Buffer::new(session, points)?,
        })
    }

    /// Sorts the samples in `count` slots of the records, whose numbers lie on the GPU, at most [`Cells::origins`]; does not
    /// wait.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn sort(
        &self,
        records: Records,
        slots: Pointer<Const<u32>>,
        count: usize,
    ) -> Result<(), EngineError> {
        let (ends, points) = (self.ends.pointer(), self.points.pointer());
        let of_block = Grid::of(count as u32, SORTING_THREADS);
        let SortingKernels { sort_origins, count_in_cells, find_starts, put_in_cells } =
            self.sorting;
        if self.cells.particles <= MOST_PARTICLES_OF_BLOCK {
            return self.kernels.launch(sort_origins, of_block, (records, slots, ends, points));
        }
        self.ends.clear(count * self.cells.count() * 4)?;
        let grid = over_particles(self.cells.particles, count);
        self.kernels.launch(count_in_cells, grid, (records, slots, ends))?;
        self.kernels.launch(find_starts, of_block, (ends,))?;
        self.kernels.launch(put_in_cells, grid, (records, slots, ends, points))
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
            let cells = Cells::new(&SimulationBox::new(&edges), &species, 0.3);
            let of_cell = count as f64 / cells.count() as f64;
            assert!((0.9..2.0).contains(&of_cell), "{cells:?}");
            assert!(cells.origins() == 1 || cells.device_bytes() <= MOST_BYTES as u64);
            assert!(cells.origins() <= MOST_ORIGINS);
            assert!(cells.of_systems(100, usize::MAX).origins() >= cells.origins());
            assert!(cells.of_systems(100, 3).origins() <= 3);
            // Wider for nearest neighbors, and as narrow for what lies far.
            let [wide, narrow] =
                [1.4, 30.0].map(|radius| Cells::new(&SimulationBox::new(&edges), &species, radius));
            assert!(wide.count() <= cells.count() && narrow.count() == cells.count());
        }
    }
}
