//! What lies in the GPU's memory, as host and kernels see it.
use std::sync::Arc;

use super::declare::{
    Coordinate, Force, HalfBits, Pointer, Site, Velocity, device_constants, device_struct,
    shared_header,
};
use super::memory::{Buffer, Session};
use crate::engine::EngineError;
use crate::engine::precision::Policy;
use crate::integrator::ThermostatState;
use crate::plan::{Plan, Precision};

device_constants! {
    /// Longest chain of Nose-Hoover thermostats.
    mod limits: u32 {
        LONGEST_CHAIN = 16;
    }
}
pub const LONGEST_CHAIN: usize = limits::LONGEST_CHAIN as usize;

device_struct! {
    /// Particles in the order of memory: sorted by cell along the Hilbert curve, species and id.
    pub struct Particles {
        pub position: [Pointer<Coordinate>; 3],
        pub velocity: [Pointer<Velocity>; 3],
        pub image: [Pointer<i32>; 3],
        pub id: Pointer<u32>,
        pub species: Pointer<u8>,
    }
}

device_struct! {
    /// Where everything lies: a constant of all kernels.
    pub struct System {
        pub particles: [Particles; 2],
        pub sites: [Pointer<Site>; 2],
        /// Sites that the lists were made around.
        pub reference: Pointer<Site>,
        pub force: [Pointer<Force>; 3],
        pub list: Pointer<u32>,
        /// Row after the last one of each segment of each list.
        pub row_ends: Pointer<u32>,
        pub cell_rank: Pointer<u32>,
        /// Cells around each cell, itself included, as many for all: rank, and above RANK_BITS the offset with two bits
        /// (0, 1, 2 for -1, 0, 1) for each axis, x lowest.
        pub around: Pointer<u32>,
        pub bin_count: Pointer<u32>,
        pub bin_start: Pointer<u32>,
        pub block_total: Pointer<u32>,
        pub bin_of: Pointer<u32>,
        pub slot_of: Pointer<u32>,
        pub sorted: Pointer<u64>,
        /// Places in the cells as 16-bit floats (`coarse.cuh`).
        pub coarse_place: [Pointer<HalfBits>; 3],
        /// Squared reach of the lists of each pair of species.
        pub reach2: Pointer<f64>,
        /// Of all particles by id, as they stand in sites; null where they have none.
        pub diameter: Pointer<Site>,
        pub mass: Pointer<f64>,
        /// Sums of blocks within a launch, two of each in two places that are used in turn.
        pub block_sums: Pointer<SplitSum>,
        pub control: Pointer<Control>,
        /// Squared displacement up to which the lists are good.
        pub limit2: f64,
        /// Its root.
        pub limit: f64,
        /// Farthest reach of the lists, times the share of the skin that a particle may move: what a shear takes from the limit is
        /// proportional to it.
        pub limit_of_reach: f64,
        /// `L_x / L_y`.
        pub aspect: f64,
        /// With diameters: the cutoff in units of that of a pair, the skin, and the diameter with which that of a pair is greatest.
        pub unit_cutoff: f64,
        pub skin: f64,
        pub widest_partner: f64,
        pub count: u32,
        pub cells: [u32; 3],
        /// Cells, filled up to whole groups, times species.
        pub bins: u32,
        pub around_count: u32,
        /// log2 of the threads per particle.
        pub lanes_log2: u32,
        /// Rows of four entries that each lane has room for.
        pub rows: u32,
        /// Edges of a cell in lengths of the widest, and the inverse of that one.
        pub cell_shape: [f32; 3],
        pub inv_cell: f32,
        /// Whether lists may be searched for with 16-bit floats: three cells or more along each axis.
        pub coarse: u32,
        /// log2 of the cells in a group: neighbors on the curve whose particles are sorted by species first, so that
        /// most warps work on lists of one length.
        pub group_log2: u32,
    }
}

device_constants! {
    /// How a launch ended.
    pub mod status: u32 {
        DONE = 0, as STATUS_DONE;
        /// A neighbor list is longer than its capacity: see `list_need`.
        LISTS_FULL = 1, as STATUS_LISTS_FULL;
        TOO_CLOSE = 2, as STATUS_TOO_CLOSE;
        RUNAWAY = 3, as STATUS_RUNAWAY;
        VELOCITY_RANGE = 4, as STATUS_VELOCITY_RANGE;
        KINETIC_RANGE = 5, as STATUS_KINETIC_RANGE;
    }
}

device_struct! {
    /// A sum over the system of terms in units of 2^-40: upper and lower 32 bits of the terms are summed apart, so that
    /// neither can overflow.
    pub struct SplitSum {
        upper: u64,
        lower: u64,
    }
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

device_struct! {
    /// The few numbers that blocks and host share.
    pub struct Control {
        /// Arrivals at the grid barrier (lower half) and blocks that asked for attention (upper half), for every other
        /// barrier one of the words.
        pub barrier: [u64; 2],
        /// Copy of the particles and of the sites that is valid.
        pub copy: u32,
        pub site_copy: u32,
        pub status: u32,
        /// Steps of the launch that are complete.
        pub steps_done: u32,
        /// Longest list wanted.
        pub list_need: u32,
        /// Id of the particle that an error is about.
        pub culprit: u32,
        pub rebuilds: u64,
        /// Steps in which the lists were made, and those before.
        pub lists_made_in: [u64; 2],
        /// Step whose sites a launch among ranks has left.
        pub reached: u64,
        /// Trials to exchange diameters or species, exchanges, and the change of the potential energy by them, in units of 2^-32.
        pub swap_trials: u64,
        pub swaps: u64,
        pub swap_change: i64,
        /// Pair too close: smaller and larger id.
        pub closest_pair: u64,
        /// Tilt of the box, and of that in which the lists were made.
        pub tilt: f64,
        pub lists_made_at: f64,
        pub heat: f64,
        /// Factor on all velocities that is still to come in the present step.
        pub factor: f64,
        pub chain_position: [f64; LONGEST_CHAIN],
        pub chain_velocity: [f64; LONGEST_CHAIN],
        pub sums: [[SplitSum; 3]; 4],
        /// Clock cycles that the first block spent on the steps' passes, waiting, sorting and building lists.
        pub cycles: [u64; 4],
    }
}

impl Control {
    /// Ready for the next launch.
    pub fn clear(&mut self) {
        self.barrier = [0; 2];
        self.status = status::DONE;
        self.list_need = 0;
        self.swap_trials = 0;
        self.swaps = 0;
        self.swap_change = 0;
    }

    /// Holds what a thermostat remembers, for a launch.
    ///
    /// # Errors
    /// If its chain is too long.
    pub fn lend(&mut self, memory: &ThermostatState) -> Result<(), EngineError> {
        let length = memory.chain_position.len();
        if length > LONGEST_CHAIN {
            return Err(EngineError::Cuda {
                what: "hold the thermostat".into(),
                message: format!("chain_length is at most {LONGEST_CHAIN} with this engine"),
            });
        }
        self.sums = Default::default();
        self.heat = memory.heat;
        self.factor = memory.factor;
        self.chain_position[..length].copy_from_slice(&memory.chain_position);
        self.chain_velocity[..length].copy_from_slice(&memory.chain_velocity);
        Ok(())
    }

    /// Gives it back; `within_step`: with the factor that is still to come.
    pub fn give_back(&self, memory: &mut ThermostatState, within_step: bool) {
        memory.heat = self.heat;
        memory.factor = if within_step { self.factor } else { 1.0 };
        let length = memory.chain_position.len();
        memory.chain_position.copy_from_slice(&self.chain_position[..length]);
        memory.chain_velocity.copy_from_slice(&self.chain_velocity[..length]);
    }
}

shared_header!(pub SHARED = "shared/system.cuh":
    limits::Declaration, status::Declaration, SplitSum, Control, Particles, System);

/// Bytes of one component in memory.
#[derive(Clone, Copy)]
pub struct ElementSizes {
    precision: Precision,
    dimension: usize,
    /// Whether sites hold those of their particles.
    diameters: bool,
    pub coordinate: usize,
    pub site: usize,
    pub force: usize,
}

impl ElementSizes {
    pub fn new(precision: Precision, dimension: usize, diameters: bool) -> Self {
        let (coordinate, site, force) = match precision {
            Precision::Single => (4, 4, 4),
            Precision::Double => (8, 8, 8),
            Precision::DoubleSingle | Precision::FixedPoint => (8, 4, 8),
        };
        ElementSizes { precision, dimension, diameters, coordinate, site, force }
    }

    /// Of a plan in a precision.
    pub fn of<P: Policy>(plan: &Plan) -> Self {
        let dimension = plan.system.simulation_box.dimension();
        ElementSizes::new(P::PRECISION, dimension, plan.potential.diameters.is_some())
    }

    pub fn dimension(self) -> usize {
        self.dimension
    }

    /// Bytes of a site in memory.
    pub fn site_bytes(self) -> usize {
        self.site * self.site_stride()
    }

    /// Components of a site, with padding.
    pub fn site_stride(self) -> usize {
        match self.dimension + usize::from(self.diameters) {
            2 => 2,
            _ => 4,
        }
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

    /// Sites, with the bits of the diameters where there are (else these are empty).
    pub fn write_sites(
        self,
        buffer: &Buffer,
        sites: &[[u64; 3]],
        diameters: &[u64],
    ) -> Result<(), EngineError> {
        let (dimension, stride) = (self.dimension, self.site_stride());
        let words = sites.iter().enumerate().flat_map(|(place, site)| {
            (0..stride).map(move |k| match k {
                _ if k < dimension => site[k],
                _ if k == dimension => diameters.get(place).copied().unwrap_or(0),
                _ => 0,
            })
        });
        if self.site == 4 {
            buffer.write(&words.map(|word| word as u32).collect::<Vec<_>>())
        } else {
            buffer.write(&words.collect::<Vec<_>>())
        }
    }

    /// A buffer with diameters, as they stand in sites.
    pub fn diameters_in(
        self,
        session: &Arc<Session>,
        diameters: &[u64],
    ) -> Result<Buffer, EngineError> {
        match self.site {
            4 => {
                let words: Vec<u32> = diameters.iter().map(|&word| word as u32).collect();
                Buffer::holding(session, &words)
            }
            _ => Buffer::holding(session, diameters),
        }
    }

    pub fn write_diameters(self, buffer: &Buffer, diameters: &[u64]) -> Result<(), EngineError> {
        match self.site {
            4 => buffer.write(&diameters.iter().map(|&word| word as u32).collect::<Vec<_>>()),
            _ => buffer.write(diameters),
        }
    }

    pub fn read_diameters(self, buffer: &Buffer) -> Result<Vec<u64>, EngineError> {
        let count = buffer.size() / self.site;
        match self.site {
            4 => Ok(buffer.read::<u32>(count)?.into_iter().map(u64::from).collect()),
            _ => buffer.read::<u64>(count),
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

/// Places in memory: for particles, and after them for ghosts, of which there are only sites, ids and species.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    pub particles: usize,
    pub ghosts: usize,
}

impl Capacity {
    pub fn places(self) -> usize {
        self.particles + self.ghosts
    }
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
