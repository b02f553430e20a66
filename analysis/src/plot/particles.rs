//! A picture of particles.
use plotters::prelude::RGBColor;
use plotters::style::text_anchor::HPos;

use super::canvas::{Canvas, image, text_width};
use super::colours::colour_of;
use crate::Frame;
use crate::numbers::short;

/// More are not drawn: they would hide each other, and make the page slow.
const MOST: usize = 2500;
const EDGE: f64 = 460.0;
/// Around the box: particles at its faces are drawn whole.
const MARGIN: f64 = 24.0;
const LEGEND: f64 = 26.0;
/// Depth of the part that is drawn, in mean distances of particles: what lies behind is hidden.
const DEPTH: f64 = 4.0;

/// Particles seen along z, the farther ones paler, one colour a species; of many a part. `diameters` are those of the species.
pub(crate) fn particles(frame: &Frame, diameters: &[Option<f64>]) -> String {
    let part = Part::of(frame);
    let mut shown: Vec<usize> =
        (0..frame.particle_count()).filter(|&particle| part.holds(frame, particle)).collect();
    // From the back to the front.
    shown.sort_by(|&a, &b| frame.position[a][2].total_cmp(&frame.position[b][2]));
    let scale = EDGE / part.width.max(part.height);
    let (width, height) = (part.width * scale + 2.0 * MARGIN, part.height * scale + 2.0 * MARGIN);
    let spacing = (frame.volume() / frame.particle_count().max(1) as f64)
        .powf((frame.dimension as f64).recip());
    let radius = |particle: usize| {
        let own = frame.diameter.as_ref().map(|diameters| diameters[particle]);
        let of_species = || diameters.get(frame.species[particle] as usize).copied().flatten();
        let diameter = own.or_else(of_species).filter(|diameter| diameter.is_finite());
        0.5 * diameter.unwrap_or(spacing) * scale
    };
    let species = frame.species_names.len();
    image((width, height + LEGEND), |canvas| {
        for &particle in &shown {
            let [x, y, z] = frame.position[particle];
            let place = (MARGIN + x * scale, height - MARGIN - y * scale);
            let depth = if part.depth > 0.0 { (part.front - z) / part.depth } else { 0.0 };
            let colour = paler(colour_of(frame.species[particle] as usize, species), 0.75 * depth);
            canvas.disc(place, radius(particle), colour);
        }
        let (left, top) = (MARGIN, MARGIN);
        let corners =
            [(left, top), (width - left, top), (width - left, height - top), (left, height - top)];
        canvas.path(&[&corners[..], &corners[..1]].concat(), super::canvas::INK, 0.8);
        legend(canvas, frame, &part, shown.len(), height);
    })
}

fn legend(canvas: &mut Canvas, frame: &Frame, part: &Part, shown: usize, y: f64) {
    let mut x = MARGIN;
    for (index, name) in frame.species_names.iter().enumerate() {
        canvas.disc((x + 6.0, y), 5.0, colour_of(index, frame.species_names.len()));
        canvas.text(name, (x + 16.0, y), HPos::Left);
        x += 16.0 + text_width(name) + 16.0;
    }
    let mut words = format!("step {}", frame.step);
    if shown < frame.particle_count() {
        words += &format!(": {shown} of {} particles", frame.particle_count());
    }
    if part.depth > 0.0 {
        words += &format!(", {} deep", short(part.depth));
    }
    canvas.text(&words, (x, y), HPos::Left);
}

/// The part of the box that is drawn: the front of it.
struct Part {
    width: f64,
    height: f64,
    /// Zero in two dimensions.
    depth: f64,
    front: f64,
}

impl Part {
    fn of(frame: &Frame) -> Self {
        let edges = frame.padded_edges();
        let count = frame.particle_count().max(1) as f64;
        let depth = match frame.dimension {
            3 => edges[2].min(DEPTH * (frame.volume() / count).cbrt()),
            _ => 0.0,
        };
        let of_depth = if depth > 0.0 { depth / edges[2] } else { 1.0 };
        let side = (MOST as f64 / (count * of_depth)).min(1.0).sqrt();
        let front = if frame.dimension == 3 { edges[2] } else { 0.0 };
        Part { width: side * edges[0], height: side * edges[1], depth, front }
    }

    fn holds(&self, frame: &Frame, particle: usize) -> bool {
        let [x, y, z] = frame.position[particle];
        x <= self.width && y <= self.height && (self.depth == 0.0 || z >= self.front - self.depth)
    }
}

fn paler(RGBColor(r, g, b): RGBColor, share: f64) -> RGBColor {
    let towards_white = |part: u8| (f64::from(part) + share * (255.0 - f64::from(part))) as u8;
    RGBColor(towards_white(r), towards_white(g), towards_white(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(dimension: usize, rows: usize) -> Frame {
        let place =
            |k: usize| std::array::from_fn(|axis| (k / rows.pow(axis as u32) % rows) as f64);
        let count = rows.pow(dimension as u32);
        let flat = |[x, y, z]: [f64; 3]| [x, y, if dimension == 3 { z } else { 0.0 }];
        Frame {
            dimension,
            box_edges: vec![rows as f64; dimension],
            species_names: vec!["A".into(), "B".into()],
            species: (0..count).map(|k| (k % 2) as u32).collect(),
            position: (0..count).map(place).map(flat).collect(),
            ..Frame::default()
        }
    }

    #[test]
    fn all_particles_are_drawn_or_a_part_that_is_as_large_as_it_may_be() {
        let drawn = |frame: &Frame| {
            let svg = particles(frame, &[None, Some(0.8)]);
            assert!(!svg.contains("NaN"));
            // Two of them are in the legend.
            svg.matches("<circle").count() / 2 - 2
        };
        for (dimension, rows) in [(2, 4), (3, 4), (2, 50)] {
            let frame = frame(dimension, rows);
            assert_eq!(drawn(&frame), frame.particle_count());
        }
        for (dimension, rows) in [(2, 200), (3, 40), (3, 25)] {
            let (frame, drawn) = (frame(dimension, rows), drawn(&frame(dimension, rows)));
            assert!((1500..=3200).contains(&drawn), "{drawn} of {}", frame.particle_count());
        }
    }
}
