use super::neighbors::NeighborList;
use crate::engine::domain::Part;
use crate::engine::precision::Policy;

/// Particles in a chunk: the grain of parallel work.
pub const CHUNK: usize = 128;

/// Consecutive particles in the order of memory, component by component, with their neighbor list.
pub struct Chunk<P: Policy> {
    pub id: Vec<u32>,
    pub species: Vec<u8>,
    pub position: [Vec<P::Coordinate>; 3],
    pub image: [Vec<i32>; 3],
    pub velocity: [Vec<P::Velocity>; 3],
    pub force: [Vec<P::Force>; 3],
    /// Sites that the lists were made around.
    pub reference: [Vec<P::Site>; 3],
    /// Squared displacement from there: work space of the drift.
    pub moved2: Vec<P::Real>,
    pub neighbors: NeighborList,
    /// Whether all of its neighbors are particles of this rank.
    pub interior: bool,
}

impl<P: Policy> Chunk<P> {
    pub fn with_len(len: usize) -> Self {
        Chunk {
            id: vec![0; len],
            species: vec![0; len],
            position: std::array::from_fn(|_| vec![Default::default(); len]),
            image: std::array::from_fn(|_| vec![0; len]),
            velocity: std::array::from_fn(|_| vec![Default::default(); len]),
            force: std::array::from_fn(|_| vec![Default::default(); len]),
            reference: std::array::from_fn(|_| vec![Default::default(); len]),
            moved2: vec![Default::default(); len],
            neighbors: NeighborList::default(),
            interior: true,
        }
    }

    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// A part of a system, in its order.
    pub fn all_of(part: &Part) -> Vec<Self> {
        (0..part.count())
            .step_by(CHUNK)
            .map(|first| {
                let mut chunk = Chunk::with_len(CHUNK.min(part.count() - first));
                for i in 0..chunk.len() {
                    let from = first + i;
                    chunk.id[i] = part.id[from];
                    chunk.species[i] = part.species[from];
                    for axis in 0..3 {
                        chunk.position[axis][i] =
                            P::coordinate_from_bits(part.position[from][axis]);
                        chunk.image[axis][i] = part.image[from][axis];
                        chunk.velocity[axis][i] = P::velocity_from_bits(part.velocity[from][axis]);
                    }
                }
                chunk
            })
            .collect()
    }

    /// The site that the lists of a particle were made around.
    pub fn reference_of(&self, i: usize) -> [P::Site; 3] {
        std::array::from_fn(|axis| self.reference[axis][i])
    }

    /// Adds a particle to a part.
    pub fn copy_to(&self, i: usize, part: &mut Part) {
        let triple = |bits: &dyn Fn(usize) -> u64| std::array::from_fn(bits);
        part.push(
            self.id[i],
            self.species[i],
            triple(&|axis| P::coordinate_to_bits(self.position[axis][i])),
            std::array::from_fn(|axis| self.image[axis][i]),
            triple(&|axis| P::velocity_to_bits(self.velocity[axis][i])),
        );
    }

    /// Particles `sources` (places in memory) of the old order.
    pub fn gathered(sources: &[u32], old: &[Chunk<P>]) -> Self {
        let mut chunk = Chunk::with_len(sources.len());
        for (to, &source) in sources.iter().enumerate() {
            let (from, at) = (&old[source as usize / CHUNK], source as usize % CHUNK);
            chunk.id[to] = from.id[at];
            chunk.species[to] = from.species[at];
            for axis in 0..3 {
                chunk.position[axis][to] = from.position[axis][at];
                chunk.image[axis][to] = from.image[axis][at];
                chunk.velocity[axis][to] = from.velocity[axis][at];
                chunk.force[axis][to] = from.force[axis][at];
                chunk.reference[axis][to] = from.reference[axis][at];
            }
        }
        chunk
    }
}
