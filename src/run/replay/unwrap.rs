//! Unwrapped positions of files without images: particles are followed from frame to frame.
use crate::system::SimulationBox;

/// Components of displacements above this part of the edge may belong to the other direction: from one half on they
/// certainly do.
pub(super) const FAR: f64 = 0.4;
/// Largest part of them. Of Gaussian displacements as many are above `FAR` at a root mean square of 0.155 edges; taking
/// minimum images then makes the mean square displacement of a step 0.23 % too small. Of particles that stand in
/// another order in the next frame, a fifth are.
const FAR_AT_MOST: f64 = 0.01;

/// `far` of `all` components of displacements are too long to say which way particles moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooFar {
    pub far: usize,
    pub all: usize,
}

/// Images of particles that a file does not count: each particle is taken to be nearer to its last position than half
/// an edge.
pub(super) struct Unwrapping {
    simulation_box: SimulationBox,
    dimension: usize,
    last: Vec<([f64; 3], [i32; 3])>,
    /// Whether the first frame has images: those that only later frames have do not join on to it.
    counted_from_start: bool,
    /// Frames, after the first, in which particles were followed.
    pub followed: usize,
    /// Displacements above `FAR` of an edge in those.
    pub far: usize,
}

impl Unwrapping {
    pub fn new(simulation_box: SimulationBox, counted_from_start: bool) -> Self {
        Unwrapping {
            simulation_box,
            dimension: simulation_box.edges().len(),
            last: Vec::new(),
            counted_from_start,
            followed: 0,
            far: 0,
        }
    }

    /// Images of the next frame, which `image` are if the file has them.
    ///
    /// # Errors
    /// If too many particles move too far to be followed.
    pub fn images(
        &mut self,
        position: &[[f64; 3]],
        image: Option<Vec<[i32; 3]>>,
    ) -> Result<Vec<[i32; 3]>, TooFar> {
        let image = match image.filter(|_| self.counted_from_start) {
            Some(image) => image,
            None if self.last.is_empty() => vec![[0; 3]; position.len()],
            None => self.follow(position)?,
        };
        self.last = position.iter().copied().zip(image.iter().copied()).collect();
        Ok(image)
    }

    fn follow(&mut self, position: &[[f64; 3]]) -> Result<Vec<[i32; 3]>, TooFar> {
        let mut far = 0;
        let edges = self.simulation_box.padded_edges();
        let followed = self.last.iter().zip(position).map(|((before, image), now)| {
            let mut image = *image;
            // In a tilted box the image that is nearest along y, and then along x.
            let along_y = ((now[1] - before[1]) / edges[1]).round();
            let shift = [self.simulation_box.tilt() * along_y, 0.0, 0.0];
            for axis in 0..self.dimension {
                let moved = (now[axis] - before[axis]) / edges[axis] - shift[axis];
                image[axis] -= moved.round() as i32;
                far += usize::from((moved - moved.round()).abs() > FAR);
            }
            image
        });
        let followed = followed.collect();
        let all = self.dimension * position.len();
        if far as f64 > FAR_AT_MOST * all as f64 {
            return Err(TooFar { far, all });
        }
        self.followed += 1;
        self.far += far;
        Ok(followed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube(counted_from_start: bool) -> Unwrapping {
        Unwrapping::new(SimulationBox::new(&[10.0, 10.0, 10.0]), counted_from_start)
    }

    #[test]
    fn particles_are_followed_over_boundaries() {
        let mut images = cube(false);
        let along = [1.0, 9.0, 6.5, 3.0, 0.5, 9.5, 2.0];
        let found = along.map(|x| images.images(&[[x, 5.0, 5.0]], None).unwrap()[0][0]);
        assert_eq!(found, [0, -1, -1, -1, -1, -2, -1]);
        assert_eq!((images.followed, images.far), (6, 0));
    }

    #[test]
    fn over_the_boundary_of_a_tilted_box_particles_are_shifted_with_its_period() {
        let tilted = SimulationBox::new(&[10.0, 8.0, 10.0]).with_tilt(0.3);
        let mut images = Unwrapping::new(tilted, false);
        let mut unwrapped = [1.0, 7.5, 2.0];
        let mut first: Option<[f64; 3]> = None;
        for step in [[0.5, 0.8, 0.1], [0.9, 2.9, -2.5], [-3.0, 3.1, 0.4], [1.2, -3.5, 2.0]] {
            let position = tilted.wrapped(unwrapped);
            let image = images.images(&[position], None).unwrap()[0];
            let found = tilted.unwrapped(position, image);
            let first = *first.get_or_insert(std::array::from_fn(|k| found[k] - unwrapped[k]));
            for k in 0..3 {
                assert!(
                    (found[k] - unwrapped[k] - first[k]).abs() < 1e-12,
                    "{found:?} {unwrapped:?}"
                );
                unwrapped[k] += step[k];
            }
        }
    }

    #[test]
    fn images_that_stop_are_continued_and_those_that_come_late_are_not_taken() {
        let frames = [(9.0, Some(3)), (9.9, Some(3)), (0.8, None), (1.7, Some(4)), (9.0, None)];
        let unwrapped = |mut images: Unwrapping, frames: &[(f64, Option<i32>)]| -> Vec<i32> {
            let image = |&(x, image): &(f64, Option<i32>)| {
                let image = image.map(|k| vec![[k, 0, 0]]);
                images.images(&[[x, 5.0, 5.0]], image).unwrap()[0][0]
            };
            frames.iter().map(image).collect()
        };
        assert_eq!(unwrapped(cube(true), &frames), [3, 3, 4, 4, 3]);
        assert_eq!(unwrapped(cube(false), &frames[2..]), [0, 0, -1]);
    }

    #[test]
    fn what_moves_too_far_is_counted_and_too_many_are_refused() {
        let start = vec![[5.0; 3]; 100];
        let with_far = |count: usize| {
            let mut now = start.clone();
            now[..count].iter_mut().for_each(|x| x[1] = 9.1);
            let mut images = cube(false);
            images.images(&start, None).unwrap();
            images.images(&now, None).map(|_| images.far)
        };
        assert_eq!(with_far(3).unwrap(), 3);
        assert_eq!(with_far(4).unwrap_err(), TooFar { far: 4, all: 300 });
    }
}
