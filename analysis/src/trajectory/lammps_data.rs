//! LAMMPS data files (`write_data`, `read_data`) with an orthogonal box: one frame.
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::text::{Lines, Place, shorten};
use super::{Frame, TrajectoryReader};
use crate::{AnalysisError, Result};

/// Reader of LAMMPS data files.
///
/// Sections `Atoms` (of the styles atomic, charge, bond, angle, molecular, full, sphere), `Velocities`, `Masses` and
/// `Atom Type Labels`; others, among them all that belongs to molecules, are passed over. The step is that of the first
/// line, as `write_data` writes it, else 0. Masses of style sphere are made of diameters and densities; where all diameters are
/// 0, the particles are points without diameters, and the densities are their masses. The format does not tell two
/// dimensions: there are two if all of several particles have the same z, and no velocity along it.
pub struct LammpsDataReader {
    path: PathBuf,
    header: Header,
    step: [u64; 1],
    counted: bool,
    units: Option<String>,
}

#[derive(Clone, Debug, Default)]
struct Header {
    count: u64,
    types: u64,
    /// Lower and upper bounds.
    bounds: [Option<(f64, f64)>; 3],
    /// Shift along x of the image one edge further along y.
    xy: f64,
    /// What else it counts, such as bonds.
    others: Vec<String>,
}

/// Sections that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Masses,
    Labels,
    Atoms,
    Velocities,
}

impl Section {
    fn named(line: &str) -> Option<Self> {
        match line {
            "Masses" => Some(Section::Masses),
            "Atom Type Labels" => Some(Section::Labels),
            "Atoms" => Some(Section::Atoms),
            "Velocities" => Some(Section::Velocities),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Section::Masses => "Masses",
            Section::Labels => "Atom Type Labels",
            Section::Atoms => "Atoms",
            Section::Velocities => "Velocities",
        }
    }
}

/// Where type and position stand in a line of `Atoms`.
#[derive(Clone, Copy)]
struct Columns {
    species: usize,
    position: usize,
    /// Of the style sphere; the density follows.
    diameter: Option<usize>,
}

impl Columns {
    /// Of an atom style, where the section names it.
    fn of_style(style: &str) -> std::result::Result<Self, String> {
        let (species, position) = match style {
            "" | "atomic" => (1, 2),
            "charge" => (1, 3),
            "sphere" => (1, 4),
            "bond" | "angle" | "molecular" => (2, 3),
            "full" => (2, 4),
            other => {
                return Err(format!(
                    "atom style `{}`; atomic, charge, bond, angle, molecular, full and sphere are read",
                    shorten(other)
                ));
            }
        };
        Ok(Columns { species, position, diameter: (style == "sphere").then_some(2) })
    }

    /// What stands in lines of a style and is not read.
    fn passed_over(style: &str) -> &'static [&'static str] {
        match style {
            "charge" => &["charges"],
            "bond" | "angle" | "molecular" => &["numbers of molecules"],
            "full" => &["numbers of molecules", "charges"],
            _ => &[],
        }
    }
}

impl LammpsDataReader {
    /// Reads the header.
    pub fn open(path: &Path) -> Result<Self> {
        let mut lines = Lines::open(path, Place { offset: 0, line: 0 })?;
        let title = lines.expect("a title")?;
        let (step, units) = (step_of(title), units_of(title));
        let header = Header::read(&mut lines)?;
        let (path, counted) = (path.to_owned(), step.is_none());
        Ok(LammpsDataReader { path, header, step: [step.unwrap_or(0)], counted, units })
    }
}

impl TrajectoryReader for LammpsDataReader {
    fn path(&self) -> &Path {
        &self.path
    }

    fn format(&self) -> &'static str {
        "LAMMPS data file"
    }

    fn steps(&self) -> &[u64] {
        &self.step
    }

    fn counts_frames(&self) -> bool {
        self.counted
    }

    fn units(&self) -> Option<&str> {
        self.units.as_deref()
    }

    fn passed_over(&self) -> Result<Vec<String>> {
        let mut names = self.header.others.clone();
        let mut lines = Lines::open(&self.path, Place { offset: 0, line: 0 })?;
        lines.expect("a title")?;
        while let Some((text, style)) = next(&mut lines)? {
            if Section::named(&text) == Some(Section::Atoms) {
                names.extend(Columns::passed_over(&style).iter().map(|&name| name.to_owned()));
                break;
            }
        }
        Ok(names)
    }

    fn read_tilted(&self, index: usize) -> Result<Frame> {
        self.check_index(index)?;
        let mut lines = Lines::open(&self.path, Place { offset: 0, line: 0 })?;
        lines.expect("a title")?;
        let mut body = Body::default();
        while let Some((text, style)) = next(&mut lines)? {
            if let Some(section) = Section::named(&text) {
                body.read(section, &style, &self.header, &mut lines)?;
            }
        }
        self.frame(body)
    }
}

impl LammpsDataReader {
    fn frame(&self, body: Body) -> Result<Frame> {
        let wrong = |what: &str| AnalysisError::content(&self.path, what);
        let Some(atoms) = body.atoms else {
            return Err(wrong("no section `Atoms`"));
        };
        let names = (1..=self.header.types)
            .map(|number| body.labels.get(&number).cloned().unwrap_or_else(|| number.to_string()));
        let mut frame = Frame {
            step: self.step[0],
            dimension: 3,
            species_names: names.collect(),
            species: atoms.types.iter().map(|&number| (number - 1) as u32).collect(),
            image: atoms.images,
            position: atoms.positions,
            ..Frame::default()
        };
        for bounds in self.header.bounds {
            let (low, high) = bounds.ok_or_else(|| wrong("no bounds of the box"))?;
            frame.box_edges.push(high - low);
        }
        frame.tilt = self.header.xy / frame.box_edges[0];
        if !body.masses.is_empty() {
            let mass = |number: &u64| body.masses.get(number).copied();
            let masses: Option<Vec<f64>> = atoms.types.iter().map(mass).collect();
            frame.mass = Some(masses.ok_or_else(|| wrong("a type without a mass in `Masses`"))?);
        }
        if let Some(spheres) = atoms.spheres {
            if frame.mass.is_none() {
                frame.mass = Some(spheres.iter().map(|&[d, density]| mass(d, density)).collect());
            }
            frame.diameter = Some(spheres.iter().map(|&[diameter, _]| diameter).collect());
        }
        if !body.velocities.is_empty() {
            let velocity = |id: &u64| body.velocities.get(id).copied();
            let velocities: Option<Vec<[f64; 3]>> = atoms.ids.iter().map(velocity).collect();
            let what = "a particle without a velocity in `Velocities`";
            frame.velocity = Some(velocities.ok_or_else(|| wrong(what))?);
        }
        frame.id = Some(atoms.ids);
        if frame.position.len() > 1 && frame.is_flat_at(frame.position[0][2]) {
            frame.flatten();
        }
        frame.finish(false).map_err(|what| wrong(&what))
    }
}

/// Contents of the sections, types and particles by their numbers in the file.
#[derive(Default)]
struct Body {
    masses: HashMap<u64, f64>,
    labels: HashMap<u64, String>,
    atoms: Option<Atoms>,
    velocities: HashMap<u64, [f64; 3]>,
}

#[derive(Default)]
struct Atoms {
    ids: Vec<u64>,
    types: Vec<u64>,
    positions: Vec<[f64; 3]>,
    images: Option<Vec<[i32; 3]>>,
    /// Diameter and density.
    spheres: Option<Vec<[f64; 2]>>,
}

impl Body {
    fn read(
        &mut self,
        section: Section,
        style: &str,
        header: &Header,
        lines: &mut Lines,
    ) -> Result<()> {
        let columns = Columns::of_style(if section == Section::Atoms { style } else { "" })
            .map_err(|what| lines.error(what))?;
        let count = match section {
            Section::Masses | Section::Labels => header.types,
            Section::Atoms | Section::Velocities => header.count,
        };
        lines.check_room(count, 4)?;
        if section == Section::Atoms {
            self.atoms = Some(Atoms::default());
        }
        for read in 0..count {
            let Some((text, _)) = next(lines)? else {
                let what =
                    format!("the file ends in `{}`, which has {count} lines", section.name());
                return Err(lines.error(what));
            };
            if Section::named(&text).is_some() {
                let what = format!("section `{}` has {read} lines of {count}", section.name());
                return Err(lines.error(what));
            }
            let words: Vec<&str> = text.split_whitespace().collect();
            match section {
                Section::Masses => {
                    let [number, mass] = words[..] else {
                        return Err(unfit(lines, section, &text));
                    };
                    let number = self.type_of(number, header, lines)?;
                    self.masses.insert(number, lines.parse(mass, "a mass")?);
                }
                Section::Labels => {
                    let [number, label] = words[..] else {
                        return Err(unfit(lines, section, &text));
                    };
                    let number = self.type_of(number, header, lines)?;
                    self.labels.insert(number, label.to_owned());
                }
                Section::Velocities => {
                    // Of some styles angular velocities follow.
                    let [id, x, y, z, ..] = words[..] else {
                        return Err(unfit(lines, section, &text));
                    };
                    let velocity =
                        [lines.parse(x, "vx")?, lines.parse(y, "vy")?, lines.parse(z, "vz")?];
                    self.velocities.insert(lines.parse(id, "an id")?, velocity);
                }
                Section::Atoms => self.read_atom(&words, columns, style, header, lines)?,
            }
        }
        Ok(())
    }

    fn read_atom(
        &mut self,
        words: &[&str],
        Columns { species, position, diameter }: Columns,
        style: &str,
        header: &Header,
        lines: &Lines,
    ) -> Result<()> {
        let (bare, with_images) = (position + 3, position + 6);
        if words.len() != bare && words.len() != with_images {
            let what = match style {
                "" => format!(
                    "{} values in a line of `Atoms`, which names no style; of style atomic these would be 5 or 8",
                    words.len()
                ),
                _ => format!(
                    "{} values in a line of `Atoms # {style}`, which has {bare}, or {with_images} with images",
                    words.len()
                ),
            };
            return Err(lines.error(what));
        }
        let number = self.type_of(words[species], header, lines)?;
        let real = |k: usize| lines.parse::<f64>(words[position + k], "a coordinate");
        let at = [real(0)?, real(1)?, real(2)?];
        let sphere = match diameter {
            Some(at) => Some([
                lines.parse(words[at], "a diameter")?,
                lines.parse(words[at + 1], "a density")?,
            ]),
            None => None,
        };
        let atoms = self.atoms.as_mut().expect("their section is being read");
        atoms.ids.push(lines.parse(words[0], "an id")?);
        atoms.types.push(number);
        atoms.positions.push(at);
        if let Some(sphere) = sphere {
            atoms.spheres.get_or_insert_default().push(sphere);
        }
        if words.len() == with_images {
            let flag = |k: usize| lines.parse::<i32>(words[bare + k], "an image flag");
            let image = [flag(0)?, flag(1)?, flag(2)?];
            atoms.images.get_or_insert_default().push(image);
        }
        Ok(())
    }

    /// Number of a type from its number or label.
    fn type_of(&self, word: &str, header: &Header, lines: &Lines) -> Result<u64> {
        let labelled = self.labels.iter().find(|(_, label)| *label == word);
        let number = labelled.map(|(&number, _)| number).or_else(|| word.parse().ok());
        number.filter(|number| (1..=header.types).contains(number)).ok_or_else(|| {
            let types = header.types;
            lines.error(format!("type `{}`; the file has {types} atom types", shorten(word)))
        })
    }
}

impl Header {
    /// All lines before the first section.
    fn read(lines: &mut Lines) -> Result<Self> {
        let mut header = Header::default();
        let (mut count, mut types) = (None, None);
        while let Some((text, _)) = next(lines)? {
            let words: Vec<&str> = text.split_whitespace().collect();
            match words[..] {
                [number, "atoms"] => count = Some(lines.parse::<u64>(number, "a number of atoms")?),
                [number, "atom", "types"] => {
                    types = Some(lines.parse::<u64>(number, "a number of atom types")?);
                }
                [low, high, from, to] if from.ends_with("lo") && to.ends_with("hi") => {
                    let axis = ["xlo", "ylo", "zlo"].iter().position(|name| *name == from);
                    let bounds: (f64, f64) =
                        (lines.parse(low, "a bound")?, lines.parse(high, "a bound")?);
                    let Some(axis) = axis.filter(|_| bounds.1 > bounds.0) else {
                        let what = "lower and upper bound of the box expected";
                        return Err(lines.error(format!("{what}, found `{}`", shorten(&text))));
                    };
                    header.bounds[axis] = Some(bounds);
                }
                [
                    number,
                    "bonds" | "angles" | "dihedrals" | "impropers" | "ellipsoids" | "lines"
                    | "triangles" | "bodies",
                ] if number != "0" => header.others.push(words[1].to_owned()),
                [.., "xy", "xz", "yz"] => {
                    let [xy, xz, yz] = words[..words.len() - 3] else {
                        return Err(lines.error("three tilts of the box expected"));
                    };
                    header.xy = lines.parse(xy, "a tilt")?;
                    if [xz, yz].iter().any(|tilt| tilt.parse::<f64>() != Ok(0.0)) {
                        let what = "triclinic box; only a tilt of x along y is read";
                        return Err(lines.error(what));
                    }
                }
                [.., "avec" | "bvec" | "cvec"] | [.., "abc", "origin"] => {
                    let what = "general triclinic box; only orthogonal boxes are read";
                    return Err(lines.error(what));
                }
                [first, ..] if first.starts_with(|first: char| first.is_ascii_alphabetic()) => {
                    break;
                }
                _ => {}
            }
        }
        let missing = |what: &str| lines.error(format!("the header ends here, without {what}"));
        header.count = count.ok_or_else(|| missing("`N atoms`"))?;
        header.types = types.ok_or_else(|| missing("`N atom types`"))?;
        if header.bounds.contains(&None) {
            return Err(missing("the bounds of the box (`0 L xlo xhi`, ...)"));
        }
        // Each type needs a line with its mass or its particles.
        if header.types > header.count.max(1) {
            let Header { count, types, .. } = header;
            return Err(lines.error(format!("{types} atom types of {count} atoms")));
        }
        Ok(header)
    }
}

/// The next line that says something, and the comment after it.
fn next(lines: &mut Lines) -> Result<Option<(String, String)>> {
    while let Some(line) = lines.next()? {
        let (text, comment) = line.split_once('#').unwrap_or((line, ""));
        if !text.trim().is_empty() {
            return Ok(Some((text.trim().to_owned(), comment.trim().to_owned())));
        }
    }
    Ok(None)
}

/// Of a sphere; of a point, whose diameter is 0, the density stands for it.
fn mass(diameter: f64, density: f64) -> f64 {
    if diameter == 0.0 { density } else { density * sphere_volume(diameter) }
}

/// Volume of a sphere, also in two dimensions, as LAMMPS takes it.
pub fn sphere_volume(diameter: f64) -> f64 {
    std::f64::consts::PI / 6.0 * diameter.powi(3)
}

fn unfit(lines: &Lines, section: Section, text: &str) -> AnalysisError {
    lines.error(format!("`{}` in section `{}`", shorten(text), section.name()))
}

/// The units that `write_data` puts into the title.
fn units_of(title: &str) -> Option<String> {
    let (_, rest) = title.split_once("units = ")?;
    rest.split(|byte: char| !byte.is_ascii_alphanumeric()).next().map(str::to_owned)
}

/// The step that `write_data` puts into the title.
fn step_of(title: &str) -> Option<u64> {
    let (_, rest) = title.split_once("timestep = ")?;
    rest.split(|byte: char| !byte.is_ascii_digit()).next()?.parse().ok()
}
