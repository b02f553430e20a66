//! Snapshots in the form that correlations keep: one array per component, particles sorted by species.
use super::SampleContext;
use super::density_modes::DensityModes;
use super::particle_order::ParticleOrder;
use crate::system::{SimulationBox, Snapshot};

/// What the samples of a correlation hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contents {
    pub positions: bool,
    pub velocities: bool,
    /// Number of density modes of every species.
    pub modes: usize,
    /// The centre of mass, which everything else is taken relative to.
    pub center_of_mass: bool,
    /// What a flow has carried each particle, and the tilt of the box: positions are those beside the flow.
    pub carried: bool,
}

impl Contents {
    /// What is in either.
    pub fn and(self, other: Contents) -> Contents {
        Contents {
            positions: self.positions || other.positions,
            velocities: self.velocities || other.velocities,
            modes: self.modes.max(other.modes),
            center_of_mass: self.center_of_mass || other.center_of_mass,
            carried: self.carried || other.carried,
        }
    }

    /// Memory of a sample in bytes.
    pub fn bytes(&self, particles: usize, species: usize) -> usize {
        let of = |present: bool, bytes: usize| if present { bytes } else { 0 };
        let per_particle =
            of(self.positions, 3 * (8 + 4)) + of(self.velocities, 3 * 8) + of(self.carried, 8);
        let whole = of(self.center_of_mass, 6 * 8);
        per_particle * particles + 2 * 8 * self.modes * species + whole
    }
}

/// What is kept of one snapshot. Wrapped positions and images are kept apart, so that displacements over
/// any time are exact to the rounding of a coordinate in the box.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    pub(super) position: Option<[Vec<f64>; 3]>,
    pub(super) image: Option<[Vec<i32>; 3]>,
    pub(super) velocity: Option<[Vec<f64>; 3]>,
    /// By species, wave vector; real and imaginary part.
    pub(super) densities: Vec<Vec<[f64; 2]>>,
    /// Where displacements are relative to it.
    pub(super) center_of_mass: Option<CenterOfMass>,
    /// In a flow.
    pub(super) carried: Option<Carried>,
}

/// What a flow has done until a sample whose positions are those beside it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Carried {
    /// Of the box.
    pub tilt: f64,
    /// Affine displacement of each particle along x.
    pub along_x: Vec<f64>,
}

/// Mean over all particles, weighted by mass; position without periodic boundaries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CenterOfMass {
    pub position: [f64; 3],
    pub velocity: [f64; 3],
}

impl CenterOfMass {
    pub fn new(snapshot: &Snapshot, context: &SampleContext) -> Self {
        let (mut position, mut velocity, mut total) = ([0.0; 3], [0.0; 3], 0.0);
        for (particle, &species) in context.species_of.iter().enumerate() {
            let mass = context.species[usize::from(species)].mass;
            let r = snapshot.unwrapped(particle, &context.simulation_box);
            for k in 0..context.simulation_box.dimension() {
                position[k] += mass * r[k];
                velocity[k] += mass * snapshot.velocity[particle][k];
            }
            total += mass;
        }
        CenterOfMass {
            position: position.map(|r| r / total),
            velocity: velocity.map(|v| v / total),
        }
    }
}

impl Sample {
    pub(super) fn new(
        snapshot: &Snapshot,
        order: &ParticleOrder,
        context: &SampleContext,
        contents: &Contents,
        modes: Option<&DensityModes>,
    ) -> Self {
        fn components<T: Copy>(order: &ParticleOrder, values: &[[T; 3]]) -> [Vec<T>; 3] {
            let component = |k| order.ids().iter().map(|&id| values[id as usize][k]).collect();
            std::array::from_fn(component)
        }
        let mut sample = Sample {
            position: contents.positions.then(|| components(order, &snapshot.position)),
            image: contents.positions.then(|| components(order, &snapshot.image)),
            velocity: contents.velocities.then(|| components(order, &snapshot.velocity)),
            densities: modes.map(|modes| modes.densities(snapshot, order)).unwrap_or_default(),
            center_of_mass: None,
            carried: None,
        };
        if contents.center_of_mass {
            let center = CenterOfMass::new(snapshot, context);
            match modes {
                Some(modes) => sample.move_to(center, modes),
                None => sample.center_of_mass = Some(center),
            }
        }
        sample
    }

    /// The same in a box of this tilt; `along_x`: what the flow has carried each particle, by id.
    pub(super) fn in_flow(mut self, tilt: f64, along_x: &[f64], order: &ParticleOrder) -> Self {
        let along_x = order.ids().iter().map(|&id| along_x[id as usize]).collect();
        self.carried = Some(Carried { tilt, along_x });
        self
    }

    /// The box of this sample; `simulation_box`: that of the context.
    pub(super) fn box_of(&self, simulation_box: &SimulationBox) -> SimulationBox {
        let in_flow = |carried: &Carried| simulation_box.with_tilt(carried.tilt);
        self.carried.as_ref().map_or(*simulation_box, in_flow)
    }

    /// Where a particle is in the laboratory, up to periods of the box of the sample.
    ///
    /// # Panics
    /// Unless the sample holds positions.
    pub(super) fn place(&self, particle: usize) -> [f64; 3] {
        let position = self.position.as_ref().expect("positions");
        let mut place = [0, 1, 2].map(|k| position[k][particle]);
        if let Some(carried) = &self.carried {
            place[0] += carried.along_x[particle];
        }
        place
    }

    /// One that holds density modes alone, in the frame of the laboratory.
    pub(super) fn of_densities(densities: Vec<Vec<[f64; 2]>>) -> Self {
        Sample { densities, ..Sample::default() }
    }

    /// Takes its `modes`, so far those of the laboratory, relative to the centre of mass.
    pub(super) fn move_to(&mut self, center: CenterOfMass, modes: &DensityModes) {
        self.densities.iter_mut().for_each(|densities| modes.shift(densities, center.position));
        self.center_of_mass = Some(center);
    }

    /// Displacement of the centre of mass, where it is to be taken away.
    pub(super) fn drift_until(&self, later: &Sample) -> [f64; 3] {
        match (&self.center_of_mass, &later.center_of_mass) {
            (Some(from), Some(to)) => std::array::from_fn(|k| to.position[k] - from.position[k]),
            _ => [0.0; 3],
        }
    }

    /// `rho_a(q)`: by species, wave vector; real and imaginary part.
    pub fn densities(&self) -> &[Vec<[f64; 2]>] {
        &self.densities
    }

    /// All numbers in one array (images are exact).
    pub(super) fn to_array(&self) -> Vec<f64> {
        let mut array: Vec<f64> = self.position.iter().flatten().flatten().copied().collect();
        array.extend(self.image.iter().flatten().flatten().map(|&image| f64::from(image)));
        array.extend(self.velocity.iter().flatten().flatten());
        array.extend(self.densities.iter().flatten().flatten());
        array.extend(self.center_of_mass.iter().flat_map(|center| center.position));
        array.extend(self.center_of_mass.iter().flat_map(|center| center.velocity));
        if let Some(Carried { tilt, along_x }) = &self.carried {
            array.push(*tilt);
            array.extend(along_x);
        }
        array
    }

    /// Inverse of [`to_array`](Self::to_array); `None` if the length is wrong.
    pub(super) fn from_array(
        mut array: &[f64],
        order: &ParticleOrder,
        contents: &Contents,
    ) -> Option<Self> {
        let mut take = |length: usize| {
            let (taken, rest) = array.split_at_checked(length)?;
            array = rest;
            Some(taken.to_vec())
        };
        let mut vectors = |present: bool| match present {
            true => Some(Some([take(order.len())?, take(order.len())?, take(order.len())?])),
            false => Some(None),
        };
        let position = vectors(contents.positions)?;
        let image = vectors(contents.positions)?
            .map(|image| image.map(|axis| axis.iter().map(|&image| image as i32).collect()));
        let velocity = vectors(contents.velocities)?;
        let mut densities = Vec::new();
        if contents.modes > 0 {
            for _ in 0..order.species_count() {
                densities.push(take(2 * contents.modes)?.as_chunks::<2>().0.to_vec());
            }
        }
        let mut three = || -> Option<[f64; 3]> { take(3)?.try_into().ok() };
        let center_of_mass = match contents.center_of_mass {
            true => Some(CenterOfMass { position: three()?, velocity: three()? }),
            false => None,
        };
        let carried = match contents.carried {
            true => Some(Carried { tilt: take(1)?[0], along_x: take(order.len())? }),
            false => None,
        };
        let sample = Sample { position, image, velocity, densities, center_of_mass, carried };
        array.is_empty().then_some(sample)
    }
}
