//! What is simulated: the periodic box, the species, and the particles' state as plain numbers.
mod hilbert;
mod simulation_box;
mod snapshot;
mod species;

pub use hilbert::hilbert_index;
pub use simulation_box::{SimulationBox, TILT_QUANTUM, round_tilt};
pub use snapshot::Snapshot;
pub use species::{Species, is_numbered, species_for_names, species_of_particles};
