//! What all frames of a conversion have in common, and each frame brought into that form.
use std::path::Path;

use supercool_analysis::Frame;
use supercool_analysis::trajectory::Format;

use super::{ConvertError, Positions, format};
use crate::output::Changes;

/// What a frame may hold besides positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    time: bool,
    id: bool,
    mass: bool,
    diameter: bool,
    image: bool,
    velocity: bool,
}

const NAMES: [&str; 6] = ["times", "ids", "masses", "diameters", "images", "velocities"];

impl Held {
    fn of(frame: &Frame) -> Self {
        Held {
            time: frame.time.is_some(),
            id: frame.id.is_some(),
            mass: frame.mass.is_some(),
            diameter: frame.diameter.is_some(),
            image: frame.image.is_some(),
            velocity: frame.velocity.is_some(),
        }
    }

    fn flags(self) -> [bool; 6] {
        let Held { time, id, mass, diameter, image, velocity } = self;
        [time, id, mass, diameter, image, velocity]
    }

    fn both(self, other: Self) -> Self {
        Held {
            time: self.time && other.time,
            id: self.id && other.id,
            mass: self.mass && other.mass,
            diameter: self.diameter && other.diameter,
            image: self.image && other.image,
            velocity: self.velocity && other.velocity,
        }
    }
}

/// Found in the first and the last frame; frames between them must have it, too.
pub struct Uniform<'a> {
    source: &'a Path,
    positions: Positions,
    /// What the destination and both frames hold.
    held: Held,
    /// What only one of both holds.
    pub in_some: Vec<&'static str>,
    /// What both hold, but not the destination.
    pub left_out: Vec<&'static str>,
    pub species_names: Vec<String>,
    pub changes: Changes,
    dimension: usize,
    /// Where all frames must have the particles of the first one, except what changes: that frame, without coordinates.
    particles: Option<Frame>,
}

impl<'a> Uniform<'a> {
    /// Of the first and last frame, which have these places in the file; the first in the common form comes with it.
    pub fn find(
        source: &'a Path,
        format: Format,
        positions: Positions,
        [first, last]: [Frame; 2],
        places: [usize; 2],
    ) -> Result<(Self, Frame), ConvertError> {
        let (a, b) = (Held::of(&first), Held::of(&last));
        let both = a.both(b);
        if positions == Positions::Unwrapped && !both.image {
            return Err(ConvertError::NoImages { path: source.to_owned() });
        }
        let names = |flags: [bool; 6]| -> Vec<&'static str> {
            NAMES.into_iter().zip(flags).filter(|(_, flag)| *flag).map(|(name, _)| name).collect()
        };
        let some = a.flags().into_iter().zip(b.flags()).map(|(a, b)| a != b);
        let in_some: Vec<bool> = some.collect();
        let taken = Held {
            time: format == Format::Hdf5 || format == Format::Xyz,
            // The order of the particles is that of their ids.
            id: format != Format::Gsd,
            ..Held { time: true, id: true, mass: true, diameter: true, image: true, velocity: true }
        };
        let held = both.both(taken);
        let lost = Held { id: both.id && !held.id && !(counts(&first) && counts(&last)), ..both };
        let left_out = Held {
            time: both.time && !held.time,
            id: lost.id,
            mass: false,
            diameter: false,
            image: false,
            velocity: false,
        };
        let mut species_names = first.species_names.clone();
        for name in &last.species_names {
            if !species_names.contains(name) {
                species_names.push(name.clone());
            }
        }
        let mut uniform = Uniform {
            source,
            positions,
            held,
            in_some: names(in_some.try_into().expect("as many as there are")),
            left_out: names(left_out.flags()),
            species_names,
            changes: Changes::default(),
            dimension: first.dimension,
            particles: None,
        };
        let first = uniform.brought(first, places[0])?;
        if format == Format::Hdf5 {
            if first.particle_count() == 0 {
                let help = "select frames with particles: --frames";
                let what = "it has no particles".to_owned();
                return Err(uniform.unlike(&first, places[0], what, help));
            }
            let mut last = last;
            uniform.rename(&mut last, places[1])?;
            uniform.changes = Changes {
                species: first.species != last.species,
                id: held.id && first.id != last.id,
                mass: held.mass && first.mass != last.mass,
                diameter: held.diameter && first.diameter != last.diameter,
            };
            uniform.particles = Some(Frame {
                species: first.species.clone(),
                id: first.id.clone(),
                mass: first.mass.clone(),
                diameter: first.diameter.clone(),
                ..Frame::default()
            });
        }
        Ok((uniform, first))
    }

    /// A frame, number `place` of the file, in the common form.
    pub fn brought(&self, mut frame: Frame, place: usize) -> Result<Frame, ConvertError> {
        let missing = self.held.flags().into_iter().zip(Held::of(&frame).flags());
        if let Some(at) = missing.into_iter().position(|(wanted, found)| wanted && !found) {
            let what = format!("it has no {}, which the first and the last frame have", NAMES[at]);
            return Err(self.unlike(&frame, place, what, "select frames that have them: --frames"));
        }
        if frame.dimension != self.dimension {
            let what =
                format!("it has {} dimensions, and the first {}", frame.dimension, self.dimension);
            return Err(self.unlike(&frame, place, what, "select frames of the same dimension"));
        }
        self.rename(&mut frame, place)?;
        let Held { time, id, mass, diameter, image, velocity } = self.held;
        fn keep<T>(column: &mut Option<T>, kept: bool) {
            column.take_if(|_| !kept);
        }
        keep(&mut frame.time, time);
        keep(&mut frame.id, id);
        keep(&mut frame.mass, mass);
        keep(&mut frame.diameter, diameter);
        keep(&mut frame.velocity, velocity);
        if self.positions == Positions::Unwrapped {
            let positions = (0..frame.particle_count()).map(|i| frame.unwrapped(i));
            frame.position = positions.collect::<Option<_>>().expect("images, as was checked");
        }
        keep(&mut frame.image, image && self.positions == Positions::Both);
        self.check_particles(&frame, place)?;
        Ok(frame)
    }

    fn check_particles(&self, frame: &Frame, place: usize) -> Result<(), ConvertError> {
        let Some(first) = &self.particles else { return Ok(()) };
        const HELP: &str = "convert to GSD, extended XYZ or a LAMMPS dump, whose frames may differ";
        let (found, expected) = (frame.particle_count(), first.species.len());
        if found != expected {
            let what = format!(
                "it has {found} particles, and the first {expected}: frames of H5MD have as many"
            );
            return Err(self.unlike(frame, place, what, HELP));
        }
        let changes = self.changes;
        for (name, same) in [
            ("species", changes.species || frame.species == first.species),
            ("ids", changes.id || frame.id == first.id),
            ("masses", changes.mass || frame.mass == first.mass),
            ("diameters", changes.diameter || frame.diameter == first.diameter),
        ] {
            if !same {
                let what = format!(
                    "its particles have other {name} than those of the first and the last frame"
                );
                return Err(self.unlike(frame, place, what, HELP));
            }
        }
        Ok(())
    }

    /// Gives the frame the common names of species.
    fn rename(&self, frame: &mut Frame, place: usize) -> Result<(), ConvertError> {
        if frame.species_names == self.species_names {
            return Ok(());
        }
        let common = |name: &String| self.species_names.iter().position(|each| each == name);
        let places: Vec<Option<usize>> = frame.species_names.iter().map(common).collect();
        for at in 0..frame.species.len() {
            let species = frame.species[at] as usize;
            let Some(number) = places[species] else {
                let name = &frame.species_names[species];
                let what =
                    format!("species \"{name}\", which neither the first nor the last frame has");
                return Err(self.unlike(frame, place, what, "select frames: --frames"));
            };
            frame.species[at] = number as u32;
        }
        frame.species_names = self.species_names.clone();
        Ok(())
    }

    fn unlike(&self, frame: &Frame, place: usize, what: String, help: &str) -> ConvertError {
        let (path, help) = (self.source.to_owned(), help.to_owned());
        ConvertError::Unlike { path, frame: place, step: frame.step, what, help }
    }
}

/// Whether ids only count the particles, from 0 or 1.
fn counts(frame: &Frame) -> bool {
    let Some(id) = &frame.id else { return true };
    let first = id.first().copied().unwrap_or(0);
    first <= 1 && id.iter().enumerate().all(|(place, &id)| id == first + place as u64)
}

/// An error for names that the format does not hold.
pub fn check_names(format: Format, names: &[String]) -> Result<(), ConvertError> {
    let unfit = |name: &&String| name.is_empty() || name.contains(char::is_whitespace);
    match names.iter().find(unfit) {
        Some(name) if format == Format::Xyz => {
            Err(ConvertError::SpeciesName { name: name.clone() })
        }
        _ => Ok(()),
    }
}

/// Note of steps that only count frames, for formats that demand steps.
pub fn steps_note(format: Format) -> Option<String> {
    let demands = matches!(format, Format::Hdf5 | Format::Gsd | Format::LammpsDump);
    demands.then(|| {
        format!(
            "steps count frames: {} demands them, and the source has none",
            format::name(format)
        )
    })
}
