//! What lies in the GPU's memory. Mirrors `kernels/md/system.cuh`.
use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;

use super::memory::{Buffer, Plain, Session};
use crate::engine::EngineError;
use crate::plan::Precision;

pub const LONGEST_CHAIN: usize = 16;

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Particles {
    position: [CUdeviceptr; 3],
    velocity: [CUdeviceptr; 3],
    image: [CUdeviceptr; 3],
    id: CUdeviceptr,
    species: CUdeviceptr,
}

/// Where everything lies: a constant of all kernels.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct System {
    particles: [Particles; 2],
    sites: [CUdeviceptr; 2],
    reference: CUdeviceptr,
    force: [CUdeviceptr; 3],
    list: CUdeviceptr,
    row_ends: CUdeviceptr,
    cell_rank: CUdeviceptr,
    around: CUdeviceptr,
    bin_count: CUdeviceptr,
    bin_start: CUdeviceptr,
    block_total: CUdeviceptr,
    bin_of: CUdeviceptr,
    slot_of: CUdeviceptr,
    sorted: CUdeviceptr,
    coarse_place: [CUdeviceptr; 3],
    reach2: CUdeviceptr,
    mass: CUdeviceptr,
    control: CUdeviceptr,
    pub limit2: f64,
    pub count: u32,
    pub cells: [u32; 3],
    pub bins: u32,
    pub around_count: u32,
    pub lanes_log2: u32,
    pub rows: u32,
    /// Edges of a cell and the inverse of the widest, in lengths of the widest.
    pub cell_shape: [f32; 3],
    pub inv_cell: f32,
    /// Whether lists may be searched for with 16-bit floats.
    pub coarse: u32,
    /// log2 of the cells in which particles are sorted by species first.
    pub group_log2: u32,
}

impl System {
    /// As it lies in memory.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the fields fill the struct without gaps: addresses and a float of eight bytes each, then
        // fourteen numbers of four.
        unsafe { std::slice::from_raw_parts((self as *const System).cast(), size_of::<System>()) }
    }
}

/// How a launch ended; the values of `Status` in the kernels.
pub mod status {
    pub const DONE: u32 = 0;
    pub const LISTS_FULL: u32 = 1;
    pub const TOO_CLOSE: u32 = 2;
    pub const RUNAWAY: u32 = 3;
    pub const VELOCITY_RANGE: u32 = 4;
    pub const KINETIC_RANGE: u32 = 5;
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SplitSum {
    upper: u64,
    lower: u64,
}

impl SplitSum {
    pub fn new(upper: u64, lower: u64) -> Self {
        SplitSum { upper, lower }
    }

    /// The sum in units of `2^-40`.
    pub fn units(self) -> i128 {
        i128::from(self.upper as i64) * (1 << 32) + i128::from(self.lower)
    }

    /// As `ExactSum::value` on the CPU.
    pub fn value(self) -> f64 {
        self.units() as f64 / (1u64 << 40) as f64
    }
}

// SAFETY: two integers.
unsafe impl Plain for SplitSum {}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Control {
    pub barrier: [u64; 2],
    pub copy: u32,
    pub site_copy: u32,
    pub status: u32,
    pub steps_done: u32,
    pub list_need: u32,
    pub culprit: u32,
    pub rebuilds: u64,
    pub closest_pair: u64,
    pub turn: u32,
    pub unused: u32,
    pub heat: f64,
    pub chain_position: [f64; LONGEST_CHAIN],
    pub chain_velocity: [f64; LONGEST_CHAIN],
    pub sums: [[SplitSum; 3]; 4],
    /// Clock cycles that the first block spent on passes, waiting, sorting and building lists.
    pub cycles: [u64; 4],
}

// SAFETY: integers and floats, `unused` fills the only gap.
unsafe impl Plain for Control {}

/// Bytes of one component in memory.
#[derive(Clone, Copy)]
pub struct ElementSizes {
    precision: Precision,
    dimension: usize,
    pub coordinate: usize,
    pub site: usize,
    pub force: usize,
}

impl ElementSizes {
    pub fn new(precision: Precision, dimension: usize) -> Self {
        let (coordinate, site, force) = match precision {
            Precision::Single => (4, 4, 4),
            Precision::Double => (8, 8, 8),
            Precision::DoubleSingle | Precision::FixedPoint => (8, 4, 8),
        };
        ElementSizes { precision, dimension, coordinate, site, force }
    }

    /// Components of a site, with padding.
    pub fn site_stride(self) -> usize {
        if self.dimension == 2 { 2 } else { 4 }
    }

    /// Bits of a coordinate or velocity (see [`crate::engine::ExactState`]) and the word in memory: a
    /// pair of floats lies there with its leading part first.
    fn swapped(self, word: u64) -> u64 {
        if self.precision == Precision::DoubleSingle { word.rotate_left(32) } else { word }
    }

    pub fn write(self, buffer: &Buffer, bits: &[u64]) -> Result<(), EngineError> {
        if self.coordinate == 4 {
            buffer.write(&bits.iter().map(|&bits| bits as u32).collect::<Vec<_>>())
        } else {
            buffer.write(&bits.iter().map(|&bits| self.swapped(bits)).collect::<Vec<_>>())
        }
    }

    pub fn read(self, buffer: &Buffer, count: usize) -> Result<Vec<u64>, EngineError> {
        if self.coordinate == 4 {
            Ok(buffer.read::<u32>(count)?.into_iter().map(u64::from).collect())
        } else {
            Ok(buffer.read::<u64>(count)?.into_iter().map(|word| self.swapped(word)).collect())
        }
    }

    pub fn write_sites(self, buffer: &Buffer, sites: &[[u64; 3]]) -> Result<(), EngineError> {
        let components = (0..self.site_stride())
            .map(|axis| move |site: &[u64; 3]| if axis < 3 { site[axis] } else { 0 });
        let components: Vec<_> = components.collect();
        let words = sites.iter().flat_map(|site| components.iter().map(move |of| of(site)));
        if self.site == 4 {
            buffer.write(&words.map(|word| word as u32).collect::<Vec<_>>())
        } else {
            buffer.write(&words.collect::<Vec<_>>())
        }
    }

    pub fn read_sites(self, buffer: &Buffer, count: usize) -> Result<Vec<[u64; 3]>, EngineError> {
        let stride = self.site_stride();
        let words: Vec<u64> = if self.site == 4 {
            buffer.read::<u32>(count * stride)?.into_iter().map(u64::from).collect()
        } else {
            buffer.read::<u64>(count * stride)?
        };
        let dimension = self.dimension;
        let site = |words: &[u64]| {
            std::array::from_fn(|axis| if axis < dimension { words[axis] } else { 0 })
        };
        Ok(words.chunks(stride).map(site).collect())
    }
}

/// One copy of all particles.
pub struct ParticleBuffers {
    pub position: Vec<Buffer>,
    pub velocity: Vec<Buffer>,
    pub image: Vec<Buffer>,
    pub id: Buffer,
    pub species: Buffer,
}

/// Places in memory: for particles, and after them for ghosts, of which there are only sites, ids and species.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    pub particles: usize,
    pub ghosts: usize,
}

impl Capacity {
    fn places(self) -> usize {
        self.particles + self.ghosts
    }
}

impl ParticleBuffers {
    fn new(
        session: &Arc<Session>,
        capacity: Capacity,
        element_sizes: ElementSizes,
    ) -> Result<Self, EngineError> {
        let count = capacity.particles;
        let per_axis = |bytes: usize| {
            (0..element_sizes.dimension).map(|_| Buffer::new(session, count * bytes)).collect()
        };
        let all: Result<Vec<Buffer>, EngineError> = per_axis(element_sizes.coordinate);
        Ok(ParticleBuffers {
            position: all?,
            velocity: per_axis(element_sizes.coordinate)?,
            image: per_axis(4)?,
            id: Buffer::new(session, capacity.places() * 4)?,
            species: Buffer::new(session, capacity.places())?,
        })
    }

    /// All arrays, in an order of their own.
    pub fn all(&self) -> impl Iterator<Item = &Buffer> {
        let axes = [&self.position, &self.velocity, &self.image];
        axes.into_iter().flatten().chain([&self.id, &self.species])
    }

    fn pointers(&self) -> Particles {
        Particles {
            position: pointers(&self.position),
            velocity: pointers(&self.velocity),
            image: pointers(&self.image),
            id: self.id.pointer(),
            species: self.species.pointer(),
        }
    }
}

fn pointers(axes: &[Buffer]) -> [CUdeviceptr; 3] {
    std::array::from_fn(|axis| axes.get(axis).map_or(0, Buffer::pointer))
}

/// All of an engine's memory on the GPU but the neighbor lists and what depends on their reach.
pub struct Buffers {
    pub particles: [ParticleBuffers; 2],
    pub sites: [Buffer; 2],
    pub reference: Buffer,
    pub force: Vec<Buffer>,
    pub row_ends: Buffer,
    bin_of: Buffer,
    slot_of: Buffer,
    sorted: Buffer,
    coarse_place: Vec<Buffer>,
    block_total: Buffer,
    mass: Buffer,
    pub control: Buffer,
    pub sums: Buffer,
}

/// Bytes that a particle takes besides its neighbor list.
pub fn bytes_per_particle(element_sizes: ElementSizes) -> usize {
    let d = element_sizes.dimension;
    2 * (d * (2 * element_sizes.coordinate + 4) + 5)
        + 3 * element_sizes.site * element_sizes.site_stride()
        + d * (element_sizes.force + 2)
        + 20
}

/// More blocks than any launch has.
pub const MOST_BLOCKS: usize = 4096;

impl Buffers {
    pub fn new(
        session: &Arc<Session>,
        capacity: Capacity,
        element_sizes: ElementSizes,
        masses: &[f64],
    ) -> Result<Self, EngineError> {
        let buffer = |bytes: usize| Buffer::new(session, bytes);
        let (count, places) = (capacity.particles, capacity.places());
        let site = element_sizes.site * element_sizes.site_stride();
        // Those of ghosts are written by other ranks.
        let sites = || match capacity.ghosts {
            0 => buffer(places * site),
            _ => Buffer::shared(session, places * site),
        };
        Ok(Buffers {
            particles: [
                ParticleBuffers::new(session, capacity, element_sizes)?,
                ParticleBuffers::new(session, capacity, element_sizes)?,
            ],
            sites: [sites()?, sites()?],
            reference: buffer(count * site)?,
            force: (0..element_sizes.dimension)
                .map(|_| buffer(count * element_sizes.force))
                .collect::<Result<_, _>>()?,
            row_ends: buffer(count * 4 * masses.len())?,
            bin_of: buffer(count * 4)?,
            slot_of: buffer(count * 4)?,
            sorted: buffer(count * 8)?,
            // Read in eights from multiples of four on.
            coarse_place: (0..element_sizes.dimension)
                .map(|_| buffer((places + 8) * 2))
                .collect::<Result<_, _>>()?,
            block_total: buffer(MOST_BLOCKS * 4)?,
            mass: Buffer::holding(session, masses)?,
            control: buffer(size_of::<Control>())?,
            sums: buffer(16 * size_of::<SplitSum>())?,
        })
    }

    /// Copies all that smaller ones hold.
    pub fn take_from(&self, smaller: &Buffers) -> Result<(), EngineError> {
        for (buffer, from) in self.all().zip(smaller.all()) {
            buffer.take_from(from)?;
        }
        Ok(())
    }

    fn all(&self) -> impl Iterator<Item = &Buffer> {
        let particles = self.particles.iter().flat_map(ParticleBuffers::all);
        let axes = self.sites.iter().chain(&self.force).chain(&self.coarse_place);
        particles.chain(axes).chain([
            &self.reference,
            &self.row_ends,
            &self.bin_of,
            &self.slot_of,
            &self.sorted,
            &self.block_total,
            &self.mass,
            &self.control,
            &self.sums,
        ])
    }

    /// Fills in where things lie.
    pub fn describe(&self, system: &mut System) {
        system.particles = [self.particles[0].pointers(), self.particles[1].pointers()];
        system.sites = [self.sites[0].pointer(), self.sites[1].pointer()];
        system.reference = self.reference.pointer();
        system.force = pointers(&self.force);
        system.row_ends = self.row_ends.pointer();
        system.bin_of = self.bin_of.pointer();
        system.slot_of = self.slot_of.pointer();
        system.sorted = self.sorted.pointer();
        system.coarse_place = pointers(&self.coarse_place);
        system.block_total = self.block_total.pointer();
        system.mass = self.mass.pointer();
        system.control = self.control.pointer();
    }
}

/// What depends on the reach of the neighbor lists.
pub struct ListBuffers {
    list: Buffer,
    cell_rank: Buffer,
    around: Buffer,
    bin_count: Buffer,
    bin_start: Buffer,
    reach2: Buffer,
}

impl ListBuffers {
    pub fn new(
        session: &Arc<Session>,
        words: usize,
        ranks: &[u32],
        around: &[u32],
        bins: usize,
        reach2: &[f64],
    ) -> Result<Self, EngineError> {
        Ok(ListBuffers {
            list: Buffer::new(session, words * 4)?,
            cell_rank: Buffer::holding(session, ranks)?,
            around: Buffer::holding(session, around)?,
            bin_count: Buffer::new(session, bins * 4)?,
            bin_start: Buffer::new(session, (bins + 1) * 4)?,
            reach2: Buffer::holding(session, reach2)?,
        })
    }

    pub fn describe(&self, system: &mut System) {
        system.list = self.list.pointer();
        system.cell_rank = self.cell_rank.pointer();
        system.around = self.around.pointer();
        system.bin_count = self.bin_count.pointer();
        system.bin_start = self.bin_start.pointer();
        system.reach2 = self.reach2.pointer();
    }
}
