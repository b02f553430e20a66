//! Quantities of all particles as arrays in the memory of a GPU.
use std::any::Any;

use super::EngineError;

/// A quantity of each particle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParticleQuantity {
    /// Positions in the box: floats of 64 bits.
    Position,
    /// Positions as if there were no periodic boundary: floats of 64 bits.
    Unwrapped,
    /// How often a particle has left the box upwards, less downwards: integers of 32 bits.
    Image,
    /// Floats of 64 bits.
    Velocity,
    /// Floats of 64 bits.
    Force,
}

impl ParticleQuantity {
    /// All of them by their names in Python.
    pub const ALL: [(&str, ParticleQuantity); 5] = [
        ("positions", ParticleQuantity::Position),
        ("unwrapped", ParticleQuantity::Unwrapped),
        ("images", ParticleQuantity::Image),
        ("velocities", ParticleQuantity::Velocity),
        ("forces", ParticleQuantity::Force),
    ];

    /// Bytes of a component.
    pub fn element_bytes(self) -> usize {
        if self == ParticleQuantity::Image { 4 } else { 8 }
    }
}

/// Components of one quantity in the memory of a GPU, particle by particle in id order. The engine writes there no more: it is the
/// quantity of one step.
pub struct DeviceArray {
    quantity: ParticleQuantity,
    gpu: usize,
    address: u64,
    /// Particles and components.
    shape: [usize; 2],
    memory: Box<dyn DeviceMemory>,
}

/// Memory of a GPU, given back when dropped.
pub trait DeviceMemory: Any + Send + Sync {
    /// The first bytes of it.
    ///
    /// # Errors
    /// If the GPU is lost.
    fn read(&self, bytes: usize) -> Result<Vec<u8>, EngineError>;
}

impl DeviceArray {
    /// `gpu`: the driver's number of it. `address`: of the first component, in `memory`.
    pub fn new(
        quantity: ParticleQuantity,
        shape: [usize; 2],
        gpu: usize,
        address: u64,
        memory: Box<dyn DeviceMemory>,
    ) -> Self {
        DeviceArray { quantity, gpu, address, shape, memory }
    }

    pub fn quantity(&self) -> ParticleQuantity {
        self.quantity
    }

    /// The driver's number of the GPU.
    pub fn gpu(&self) -> usize {
        self.gpu
    }

    /// Of the first component, as kernels see it.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Particles and components.
    pub fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// All of its bytes, copied to the host.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn bytes(&self) -> Result<Vec<u8>, EngineError> {
        let [particles, components] = self.shape;
        self.memory.read(particles * components * self.quantity.element_bytes())
    }
}
