/// All particles at one step.
///
/// Particles stand in the order of their ids where the file has ids, else in the file's order.
///
/// Positions are wrapped into the box, `0 <= x < edge`. Coordinates are only moved by whole edges,
/// never shifted: a file whose box starts elsewhere (GSD: `-L/2`) keeps its coordinates modulo the
/// edge. `image` is corrected accordingly, so that `position + image * edge` is the file's unwrapped
/// position. In two dimensions the third component of everything is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Step of the simulation; frames are counted where a format has no steps.
    pub step: u64,
    /// Time of the simulation, if the file says.
    pub time: Option<f64>,
    /// 2 or 3.
    pub dimension: usize,
    /// Edges of the periodic box, one per dimension.
    pub box_edges: Vec<f64>,
    /// Shift along x of the periodic image one edge further along y, as a fraction of the edge along x: from -1/2 to 1/2. Positions
    /// are then wrapped along the tilted period, `0 <= x - tilt (L_x / L_y) y < edge`, and images count the periods.
    pub tilt: f64,
    /// Names of the species, in the file's order.
    pub species_names: Vec<String>,
    /// Index into `species_names`, per particle.
    pub species: Vec<u32>,
    /// Ids in ascending order.
    pub id: Option<Vec<u64>>,
    /// Masses.
    pub mass: Option<Vec<f64>>,
    /// Diameters: finite numbers above zero. `None` also where those of the file are all zero.
    pub diameter: Option<Vec<f64>>,
    /// Wrapped positions.
    pub position: Vec<[f64; 3]>,
    /// How often a particle has left the box upwards, less downwards.
    pub image: Option<Vec<[i32; 3]>>,
    /// Velocities.
    pub velocity: Option<Vec<[f64; 3]>>,
    /// Whether there are no images, and the file's positions spread over more than the box: how often particles left it
    /// was lost when they were wrapped.
    pub lost_images: bool,
}

impl Frame {
    /// Number of particles.
    pub fn particle_count(&self) -> usize {
        self.position.len()
    }

    /// Name of a particle's species.
    pub fn species_name(&self, particle: usize) -> &str {
        &self.species_names[self.species[particle] as usize]
    }

    /// Particles of one species.
    pub fn particles_of(&self, name: &str) -> Vec<usize> {
        match self.species_names.iter().position(|each| each == name) {
            Some(index) => (0..self.species.len())
                .filter(|&particle| self.species[particle] as usize == index)
                .collect(),
            None => Vec::new(),
        }
    }

    /// Three edges; in two dimensions the last is 1.
    pub fn padded_edges(&self) -> [f64; 3] {
        let mut edges = [1.0; 3];
        edges[..self.dimension].copy_from_slice(&self.box_edges);
        edges
    }

    /// Volume, or area in two dimensions.
    pub fn volume(&self) -> f64 {
        self.box_edges.iter().product()
    }

    /// Position as if there were no periodic boundary; `None` without images.
    pub fn unwrapped(&self, particle: usize) -> Option<[f64; 3]> {
        let edges = self.padded_edges();
        let image = self.image.as_ref()?[particle];
        let mut unwrapped: [f64; 3] =
            std::array::from_fn(|k| self.position[particle][k] + f64::from(image[k]) * edges[k]);
        if self.tilt != 0.0 {
            unwrapped[0] += self.tilt * edges[0] * f64::from(image[1]);
        }
        Some(unwrapped)
    }

    /// Whether this is a system of two dimensions that was padded with a third for readers or by writers
    /// that know only three: all particles at this `z`, in the same image, and none moves along z.
    pub(crate) fn is_flat_at(&self, z: f64) -> bool {
        let all = |vectors: &[[f64; 3]], z: f64| vectors.iter().all(|vector| vector[2] == z);
        let image = self.image.as_deref().unwrap_or_default();
        self.dimension == 3
            && all(&self.position, z)
            && self.velocity.as_deref().is_none_or(|velocity| all(velocity, 0.0))
            && image.iter().all(|row| row[2] == image[0][2])
    }

    /// Takes the third dimension away; [`Self::finish`] sets its components to zero.
    pub(crate) fn flatten(&mut self) {
        self.dimension = 2;
        self.box_edges.truncate(2);
    }

    /// Brings freshly read columns into the form promised above. The message of an error lacks the
    /// file's name.
    ///
    /// With `unwrapped`, positions are not folded back by the writer, and images are made from them.
    pub(crate) fn finish(mut self, unwrapped: bool) -> Result<Frame, String> {
        // A tilt of half an edge, which text or 32 bits have rounded upwards.
        if self.tilt.abs() < 0.5 + 1e-6 {
            self.tilt = self.tilt.clamp(-0.5, 0.5);
        }
        self.check()?;
        self.check_diameters()?;
        if unwrapped && self.image.is_none() {
            self.image = Some(vec![[0; 3]; self.position.len()]);
        }
        self.wrap()?;
        self.sort_by_id()?;
        Ok(self)
    }

    fn check(&self) -> Result<(), String> {
        if !matches!(self.dimension, 2 | 3) || self.box_edges.len() != self.dimension {
            return Err(format!(
                "dimension {} with {} box edges; 2 or 3 are read",
                self.dimension,
                self.box_edges.len()
            ));
        }
        if !(self.tilt.abs() <= 0.5) {
            return Err(format!("a tilt of {} edges; up to half an edge is read", self.tilt));
        }
        if let Some(edge) = self.box_edges.iter().find(|edge| !(edge.is_finite() && **edge > 0.0)) {
            return Err(format!("box edge {edge} is not a positive length"));
        }
        let count = self.position.len();
        let columns = [
            ("species", Some(self.species.len())),
            ("ids", self.id.as_ref().map(Vec::len)),
            ("masses", self.mass.as_ref().map(Vec::len)),
            ("diameters", self.diameter.as_ref().map(Vec::len)),
            ("images", self.image.as_ref().map(Vec::len)),
            ("velocities", self.velocity.as_ref().map(Vec::len)),
        ];
        for (name, length) in columns {
            if let Some(length) = length.filter(|&length| length != count) {
                return Err(format!("{count} positions but {length} {name}"));
            }
        }
        if let Some(index) = self.species.iter().max()
            && *index as usize >= self.species_names.len()
        {
            let names = self.species_names.len();
            return Err(format!("species index {index}, but {names} species names"));
        }
        let finite = |vector: &[f64; 3]| vector.iter().all(|x| x.is_finite());
        match self.velocity.iter().flatten().position(|velocity| !finite(velocity)) {
            Some(particle) => {
                Err(format!("velocity of particle {particle} is not a finite number"))
            }
            None => Ok(()),
        }
    }

    /// Zero stands for no diameter: of points in LAMMPS, of the radius that was not set in OVITO. Particles that have one beside
    /// others that have none are an error.
    fn check_diameters(&mut self) -> Result<(), String> {
        self.diameter.take_if(|all| !all.is_empty() && all.iter().all(|&diameter| diameter == 0.0));
        let Some(diameters) = &self.diameter else { return Ok(()) };
        let is_wrong = |diameter: &f64| !(diameter.is_finite() && *diameter > 0.0);
        let Some(particle) = diameters.iter().position(is_wrong) else { return Ok(()) };
        let whose = match &self.id {
            Some(id) => format!("the particle of id {}", id[particle]),
            None => format!("particle {particle}"),
        };
        let diameter = diameters[particle];
        Err(format!("diameter {diameter} of {whose} is not a finite number above zero"))
    }

    /// Whether positions lie farther apart than an edge of the box, rounding aside.
    fn is_spread(&self) -> bool {
        (0..self.dimension).any(|k| {
            let along = self.position.iter().map(|position| position[k]);
            let (low, high) = along.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
                (low.min(x), high.max(x))
            });
            high - low > (1.0 + 1e-6) * self.box_edges[k]
        })
    }

    fn wrap(&mut self) -> Result<(), String> {
        let edges = self.padded_edges();
        let slope = self.tilt * edges[0] / edges[1];
        // Skewed coordinates are wrapped axis by axis.
        let skew = |position: &mut [f64; 3], slope: f64| {
            if slope != 0.0 {
                position[0] += slope * position[1];
            }
        };
        self.position.iter_mut().for_each(|position| skew(position, -slope));
        self.lost_images = self.image.is_none() && self.is_spread();
        for (particle, position) in self.position.iter_mut().enumerate() {
            position[self.dimension..].fill(0.0);
            for k in 0..self.dimension {
                let x = position[k];
                let mut crossings = (x / edges[k]).floor();
                if !crossings.is_finite() || crossings.abs() > f64::from(i32::MAX / 2) {
                    return Err(format!("position {x} of particle {particle} is out of any range"));
                }
                let mut wrapped = x - crossings * edges[k];
                // Rounding can leave the result on the upper face or just below zero.
                if wrapped >= edges[k] {
                    wrapped = 0.0;
                    crossings += 1.0;
                } else if wrapped < 0.0 {
                    wrapped = 0.0;
                }
                position[k] = wrapped;
                if let Some(image) = &mut self.image {
                    let component = &mut image[particle][k];
                    *component = component.checked_add(crossings as i32).ok_or_else(|| {
                        format!("image {component} of particle {particle} is out of range")
                    })?;
                }
            }
        }
        self.position.iter_mut().for_each(|position| skew(position, slope));
        if self.dimension == 2 {
            self.velocity.iter_mut().flatten().for_each(|velocity| velocity[2] = 0.0);
            self.image.iter_mut().flatten().for_each(|image| image[2] = 0);
        }
        Ok(())
    }

    fn sort_by_id(&mut self) -> Result<(), String> {
        let Some(id) = &self.id else { return Ok(()) };
        let mut order: Vec<usize> = (0..id.len()).collect();
        if !id.is_sorted() {
            order.sort_by_key(|&particle| id[particle]);
            fn permute<T: Copy>(column: &mut Vec<T>, order: &[usize]) {
                *column = order.iter().map(|&particle| column[particle]).collect();
            }
            permute(&mut self.position, &order);
            permute(&mut self.species, &order);
            self.id.iter_mut().for_each(|column| permute(column, &order));
            self.mass.iter_mut().for_each(|column| permute(column, &order));
            self.diameter.iter_mut().for_each(|column| permute(column, &order));
            self.image.iter_mut().for_each(|column| permute(column, &order));
            self.velocity.iter_mut().for_each(|column| permute(column, &order));
        }
        let id = self.id.as_deref().unwrap_or_default();
        match id.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("two particles have id {}", pair[0])),
            None => Ok(()),
        }
    }
}

/// Names in the order of first appearance, and every particle's index among them.
#[derive(Default)]
pub(crate) struct SpeciesTable {
    pub names: Vec<String>,
    pub index: Vec<u32>,
}

impl SpeciesTable {
    pub fn push(&mut self, name: &str) {
        let index = match self.names.iter().position(|each| each == name) {
            Some(index) => index,
            None => {
                self.names.push(name.to_owned());
                self.names.len() - 1
            }
        };
        self.index.push(index as u32);
    }

    /// Sorts the names (numbers by value), so that all frames of a file agree on the order.
    pub fn sorted(mut self) -> Self {
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_by_key(|&k| (self.names[k].parse::<i64>().ok(), self.names[k].clone()));
        let mut rank = vec![0_u32; order.len()];
        order.iter().enumerate().for_each(|(new, &old)| rank[old] = new as u32);
        self.index.iter_mut().for_each(|index| *index = rank[*index as usize]);
        self.names.sort_by_key(|name| (name.parse::<i64>().ok(), name.clone()));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(x: f64, edge: f64) -> Frame {
        Frame {
            dimension: 2,
            box_edges: vec![edge, edge],
            species_names: vec!["A".into()],
            species: vec![0],
            position: vec![[x, 0.5, 3.0]],
            image: Some(vec![[2, 0, 5]]),
            ..Frame::default()
        }
    }

    #[test]
    fn wrapping_moves_by_whole_edges_and_keeps_the_unwrapped_position() {
        for x in [-0.1, -7.9, 0.0, 3.9999, 4.0, 4.5, 100.25] {
            let frame = one(x, 4.0).finish(false).unwrap();
            let wrapped = frame.position[0][0];
            assert!((0.0..4.0).contains(&wrapped), "{x} -> {wrapped}");
            let unwrapped = frame.unwrapped(0).unwrap();
            assert!((unwrapped[0] - (x + 8.0)).abs() < 1e-13, "{x}: {unwrapped:?}");
            assert_eq!(unwrapped[2], 0.0, "no third component in two dimensions");
        }
    }

    #[test]
    fn wrapping_in_a_tilted_box_moves_by_its_periods() {
        for (x, y) in [(-0.1, 0.5), (3.9, 3.9), (4.5, -3.0), (100.25, 9.0), (0.0, 4.0)] {
            let mut frame = one(x, 4.0);
            frame.box_edges = vec![4.0, 5.0];
            (frame.position[0][1], frame.image, frame.tilt) = (y, None, -0.3);
            let frame = frame.finish(true).unwrap();
            let [wrapped, along_y, _] = frame.position[0];
            let skewed = wrapped + 0.3 * 4.0 / 5.0 * along_y;
            assert!((-1e-15..4.0).contains(&skewed) && (0.0..5.0).contains(&along_y));
            let unwrapped = frame.unwrapped(0).unwrap();
            assert!((unwrapped[0] - x).abs() < 1e-13, "{x}, {y}: {unwrapped:?}");
            assert!((unwrapped[1] - y).abs() < 1e-13, "{x}, {y}: {unwrapped:?}");
        }
    }

    #[test]
    fn images_are_lost_where_positions_spread_over_more_than_the_box() {
        for (x, images, lost) in
            [(-1.5, false, false), (3.99, false, false), (4.6, false, true), (4.6, true, false)]
        {
            let mut frame = one(x, 4.0);
            frame.position.push([0.5, -1.0, 0.0]);
            frame.species.push(0);
            frame.image = images.then(|| vec![[0; 3]; 2]);
            assert_eq!(frame.finish(false).unwrap().lost_images, lost, "{x}");
        }
    }

    #[test]
    fn a_position_just_below_zero_never_lands_on_the_upper_face() {
        let frame = one(-1e-30, 4.0).finish(false).unwrap();
        assert!((0.0..4.0).contains(&frame.position[0][0]));
    }

    #[test]
    fn columns_follow_the_ids_and_equal_ids_are_refused() {
        let mut frame = Frame {
            dimension: 2,
            box_edges: vec![9.0, 9.0],
            species_names: vec!["A".into(), "B".into()],
            species: vec![0, 1, 0],
            id: Some(vec![7, 3, 5]),
            mass: Some(vec![7.0, 3.0, 5.0]),
            diameter: Some(vec![0.7, 0.3, 0.5]),
            position: vec![[7.0, 0.0, 0.0], [3.0, 0.0, 0.0], [5.0, 0.0, 0.0]],
            velocity: Some(vec![[7.0; 3], [3.0; 3], [5.0; 3]]),
            ..Frame::default()
        };
        let sorted = frame.clone().finish(true).unwrap();
        assert_eq!(sorted.id, Some(vec![3, 5, 7]));
        assert_eq!(sorted.mass, Some(vec![3.0, 5.0, 7.0]));
        assert_eq!(sorted.diameter, Some(vec![0.3, 0.5, 0.7]));
        assert_eq!(sorted.species, vec![1, 0, 0]);
        assert_eq!(sorted.position[1][0], 5.0);
        frame.id = Some(vec![7, 3, 7]);
        assert!(frame.finish(false).unwrap_err().contains("id 7"));
    }

    #[test]
    fn a_diameter_is_a_finite_number_above_zero() {
        let frame = |diameters: [f64; 2], id: Option<Vec<u64>>| {
            let mut frame = Frame { id, diameter: Some(diameters.into()), ..one(1.0, 4.0) };
            frame.position.push([2.0, 0.5, 0.0]);
            frame.species.push(0);
            frame.image = None;
            frame.finish(false)
        };
        assert_eq!(frame([0.5, 1.5], None).unwrap().diameter, Some(vec![0.5, 1.5]));
        assert_eq!(frame([0.0, 0.0], None).unwrap().diameter, None, "as of points");
        for wrong in [0.0, -0.5, f64::NAN, f64::INFINITY] {
            let error = frame([0.5, wrong], None).unwrap_err();
            assert!(error.starts_with(&format!("diameter {wrong} of particle 1 is")), "{error}");
            let error = frame([0.5, wrong], Some(vec![7, 3])).unwrap_err();
            assert!(error.contains("of the particle of id 3 is not"), "{error}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for (x, edge) in
            [(f64::NAN, 4.0), (f64::INFINITY, 4.0), (1e300, 4.0), (1.0, 0.0), (1.0, -1.0)]
        {
            assert!(one(x, edge).finish(false).is_err(), "{x} in {edge}");
        }
    }
}
