use std::path::Path;

use supercool_analysis::Frame;

use super::super::OutputError;
use super::super::gsd::layer::{Chunk, GsdFile};
use super::super::gsd::{box_chunk, names_chunk, rounded_inside};
use super::{CREATOR, FrameWriter, Series, VERSION};
use crate::system::SimulationBox;

/// GSD, in 32 bits. Positions are moved by whole edges into `[-L/2, L/2)`.
pub struct GsdFrames {
    file: GsdFile,
    series: Series,
    /// Of frame 0: other frames hold what differs from it.
    first: Vec<Chunk>,
    first_count: usize,
}

impl GsdFrames {
    pub fn create(path: &Path, series: Series) -> Result<Self, OutputError> {
        let file = GsdFile::create(path, &format!("{CREATOR} {VERSION}"))?;
        Ok(GsdFrames { file, series, first: Vec::new(), first_count: 0 })
    }
}

impl FrameWriter for GsdFrames {
    fn append(&mut self, frame: &Frame) -> Result<(), OutputError> {
        let count = frame.particle_count();
        let mut chunks = still_chunks(frame, &self.series);
        let is_first = self.file.frames() == 0;
        if !is_first {
            // Of another number of particles frame 0 says nothing.
            let holds = self.first_count == count;
            chunks.retain(|chunk| !(holds && self.first.contains(chunk)));
        }
        let moving = moving_chunks(frame);
        let path = self.file.path().to_owned();
        self.file
            .append(chunks.iter().chain(&moving).collect())
            .map_err(|error| OutputError::io(&path, "write a frame", error))?;
        if is_first {
            (self.first, self.first_count) = (chunks, count);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), OutputError> {
        self.file.sync()
    }
}

/// What is mostly the same in all frames.
fn still_chunks(frame: &Frame, series: &Series) -> Vec<Chunk> {
    let names: Vec<&str> = series.species_names.iter().map(String::as_str).collect();
    let scalars = |name: &str, numbers: &[f64]| {
        let numbers: Vec<f32> = numbers.iter().map(|&number| number as f32).collect();
        Chunk::new(name, 1, &numbers)
    };
    let mut chunks = vec![
        box_chunk(&SimulationBox::new(&frame.box_edges).with_tilt(frame.tilt)),
        Chunk::new("configuration/dimensions", 1, &[frame.dimension as u8]),
        Chunk::new("particles/N", 1, &[frame.particle_count() as u32]),
        names_chunk(&names),
        Chunk::new("particles/typeid", 1, &frame.species),
    ];
    if let Some(mass) = &frame.mass {
        chunks.push(scalars("particles/mass", mass));
    }
    if let Some(diameter) = &frame.diameter {
        chunks.push(scalars("particles/diameter", diameter));
    }
    chunks
}

fn moving_chunks(frame: &Frame) -> Vec<Chunk> {
    let mut position = vec![[0_f32; 3]; frame.particle_count()];
    let mut image = frame.image.clone();
    let slope = frame.tilt * frame.box_edges[0] / frame.box_edges[1];
    for (particle, rounded) in position.iter_mut().enumerate() {
        let mut place = frame.position[particle];
        // Coordinates along the periods of a tilted box are folded as those of others.
        place[0] -= slope * place[1];
        for axis in 0..frame.dimension {
            let (x, crossed) = folded(place[axis], frame.box_edges[axis]);
            rounded[axis] = x;
            if let Some(image) = &mut image {
                image[particle][axis] += crossed;
            }
        }
        if slope != 0.0 {
            rounded[0] = (f64::from(rounded[0]) + slope * f64::from(rounded[1])) as f32;
        }
    }
    let mut chunks = vec![
        Chunk::new("configuration/step", 1, &[frame.step]),
        Chunk::new("particles/position", 3, position.as_flattened()),
    ];
    if let Some(velocity) = &frame.velocity {
        let velocity: Vec<f32> = velocity.as_flattened().iter().map(|&v| v as f32).collect();
        chunks.push(Chunk::new("particles/velocity", 3, &velocity));
    }
    if let Some(image) = image {
        chunks.push(Chunk::new("particles/image", 3, image.as_flattened()));
    }
    chunks
}

/// Coordinate in `[0, L)` moved to `[-L/2, L/2)` by whole edges, and how many images that added.
fn folded(coordinate: f64, edge: f64) -> (f32, i32) {
    let above = coordinate >= 0.5 * edge;
    let moved = if above { coordinate - edge } else { coordinate };
    let (rounded, crossed) = rounded_inside(moved, edge);
    (rounded, crossed + i32::from(above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_moves_by_whole_edges_and_rounds_inside() {
        for edge in [4.0_f64, 15.056_6, 1.0 / 3.0] {
            let half = edge as f32 / 2.0;
            for coordinate in
                [0.0, 0.3 * edge, (0.5 * edge).next_down(), 0.5 * edge, edge.next_down()]
            {
                let (rounded, crossed) = folded(coordinate, edge);
                assert!(-half <= rounded && rounded < half, "{coordinate} in {edge}");
                let back = f64::from(rounded) + f64::from(crossed) * edge;
                assert!((back - coordinate).abs() < 1e-7 * edge, "{coordinate} in {edge}");
            }
        }
        assert_eq!(folded(3.25, 4.0), (-0.75, 1));
    }
}
