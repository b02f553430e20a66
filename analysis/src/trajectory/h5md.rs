//! H5MD files, version 1.0 and 1.1 (<https://www.nongnu.org/h5md/>), ours and others'.
//!
//! An element is a dataset (fixed in time) or a group of `value`, `step` and perhaps `time`; `step`
//! and `time` are arrays, or a scalar increment with an attribute `offset`.
use std::path::Path;

use hdf5::types::TypeDescriptor;
use hdf5::{Dataset, Group};

use super::frame::SpeciesTable;
use super::{Frame, TrajectoryReader};
use crate::hdf5_file::{Hdf5File, dataset, group, members};
use crate::{AnalysisError, Result};

/// What frames are made of.
const READ: [&str; 8] =
    ["box", "diameter", "id", "image", "mass", "position", "species", "velocity"];

/// Reader of one particle group of an H5MD file.
///
/// Of several groups with positions, `trajectory`, then `all`, then the alphabetically first is read.
/// The box is fixed or time-dependent, its edges a vector or a matrix with a period in each row. Species are integers
/// (named by an enumeration type or by `parameters`) or strings, fixed or time-dependent. Particles
/// with a negative id (empty rows) are left out. A third dimension that holds nothing (every z of
/// positions and velocities exactly 0) makes a frame two-dimensional; it alone need not be periodic.
///
/// Velocities and images are those of the frame's step, else `None`; so are those that are fixed in time where positions
/// are not. Box, species, ids, masses and diameters that lack the frame's step are those of the step before, if they are the same
/// at the one after it.
pub struct H5mdReader {
    file: Hdf5File,
    /// Path of the particle group in the file.
    pub group_name: String,
    dimension: usize,
    /// Three dimensions, of which the third is not periodic.
    open_along_z: bool,
    steps: Vec<u64>,
    times: Option<Vec<f64>>,
    position: Element,
    velocity: Option<Element>,
    image: Option<Element>,
    species: Option<Element>,
    id: Option<Element>,
    mass: Option<Element>,
    diameter: Option<Element>,
    edges: Edges,
    species_names: Option<Vec<(i64, String)>>,
}

/// Values of one quantity; `steps` is `None` if they are fixed in time.
struct Element {
    value: Dataset,
    steps: Option<Vec<u64>>,
}

enum Edges {
    Element(Element),
    Attribute(Vec<f64>),
}

impl H5mdReader {
    /// Opens the file's best particle group.
    pub fn open(path: &Path) -> Result<Self> {
        let file = Hdf5File::open(path)?;
        let particles = group(&file.root, "particles");
        let names: Vec<String> = particles
            .iter()
            .flat_map(|particles| {
                members(particles).into_iter().filter(|name| {
                    group(particles, name).is_some_and(|each| each.link_exists("position"))
                })
            })
            .collect();
        let best = ["trajectory", "all"]
            .into_iter()
            .find(|wanted| names.iter().any(|name| name == wanted))
            .or(names.first().map(String::as_str));
        let Some(best) = best else {
            let hint = if group(&file.root, "observables").is_some() {
                "; it holds observables, a trajectory is in a file of its own (*.h5md)"
            } else {
                ""
            };
            return Err(
                file.bad(format!("no particles with positions (H5MD: particles/*/position){hint}"))
            );
        };
        let name = format!("particles/{best}");
        Self::open_group_of(file, &name)
    }

    /// Opens the particle group `particles/<name>`.
    pub fn open_group(path: &Path, name: &str) -> Result<Self> {
        Self::open_group_of(Hdf5File::open(path)?, &format!("particles/{name}"))
    }

    fn open_group_of(file: Hdf5File, name: &str) -> Result<Self> {
        let particles =
            group(&file.root, name).ok_or_else(|| file.bad(format!("no group {name}")))?;
        let position = Element::find(&file, &particles, "position")?
            .ok_or_else(|| file.bad(format!("no dataset {name}/position/value")))?;
        let (steps, times) = match &position.steps {
            Some(steps) => (steps.clone(), read_times(&file, &particles, steps.len())?),
            None => (vec![0], None),
        };
        let simulation_box = group(&particles, "box")
            .ok_or_else(|| file.bad(format!("no group {name}/box (H5MD requires it)")))?;
        let dimension = match simulation_box.attr("dimension") {
            Ok(attribute) => file.integers(&attribute)?.first().copied().unwrap_or(0) as usize,
            Err(_) => position.value.shape().last().copied().unwrap_or(0),
        };
        if !matches!(dimension, 2 | 3) {
            return Err(file.bad(format!("{name}/box has dimension {dimension}; 2 and 3 are read")));
        }
        let open_along_z = is_open_along_z(&file, &simulation_box, name)?;
        let edges = match Element::find(&file, &simulation_box, "edges")? {
            Some(element) => Edges::Element(element),
            None => match simulation_box.attr("edges") {
                Ok(attribute) => Edges::Attribute(file.numbers(&attribute)?),
                Err(_) => return Err(file.bad(format!("no {name}/box/edges: the box is unknown"))),
            },
        };
        let species = Element::find(&file, &particles, "species")?;
        let species_names = match &species {
            Some(element) => find_species_names(&file, &particles, &element.value)?,
            None => None,
        };
        let find = |quantity: &str| Element::find(&file, &particles, quantity);
        Ok(H5mdReader {
            group_name: name.to_owned(),
            dimension,
            open_along_z,
            steps,
            times,
            velocity: find("velocity")?,
            image: find("image")?,
            id: find("id")?,
            mass: find("mass")?,
            diameter: find("diameter")?,
            position,
            species,
            edges,
            species_names,
            file,
        })
    }

    fn vectors(&self, element: &Element, index: usize, name: &str) -> Result<Vec<[f64; 3]>> {
        let width = element.value.shape().last().copied().unwrap_or(0);
        if width != self.dimension {
            let what = format!(
                "{}/{name} has {width} components, but the box has dimension {}",
                self.group_name, self.dimension
            );
            return Err(self.file.bad(what));
        }
        let flat = element.at(&self.file, self.steps[index], Some(index))?.unwrap_or_default();
        Ok(flat
            .chunks_exact(width)
            .map(|row| {
                let mut vector = [0.0; 3];
                vector[..width].copy_from_slice(row);
                vector
            })
            .collect())
    }

    fn optional_vectors(
        &self,
        element: &Option<Element>,
        index: usize,
        name: &str,
    ) -> Result<Option<Vec<[f64; 3]>>> {
        match element {
            Some(element) if element.holds(self.steps[index], self.steps.len()) => {
                self.vectors(element, index, name).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Edges, and the tilt as a fraction of the first.
    fn box_edges(&self, step: u64) -> Result<(Vec<f64>, f64)> {
        let numbers = match &self.edges {
            Edges::Attribute(numbers) => numbers.clone(),
            Edges::Element(element) => element.at(&self.file, step, None)?.unwrap_or_default(),
        };
        let dimension = self.dimension;
        if numbers.len() == dimension {
            return Ok((numbers, 0.0));
        }
        let name = &self.group_name;
        if numbers.len() != dimension * dimension {
            let what = format!("{name}/box/edges has {} numbers at step {step}", numbers.len());
            return Err(self.file.bad(what));
        }
        let diagonal = |k: usize| k.is_multiple_of(dimension + 1);
        let tilted = |k: usize| diagonal(k) || k == dimension;
        if numbers.iter().enumerate().any(|(k, &x)| !tilted(k) && x != 0.0) {
            let what = format!("{name}/box is triclinic; only a tilt of x along y is read");
            return Err(self.file.bad(what));
        }
        let edges = (0..dimension).map(|k| numbers[k * (dimension + 1)]).collect();
        Ok((edges, numbers[dimension] / numbers[0]))
    }

    fn species_at(&self, step: u64, count: usize) -> Result<SpeciesTable> {
        let mut table = SpeciesTable::default();
        let Some(element) = &self.species else {
            (0..count).for_each(|_| table.push("A"));
            return Ok(table);
        };
        let is_text =
            element.value.dtype().and_then(|dtype| dtype.to_descriptor()).is_ok_and(|kind| {
                use TypeDescriptor::{FixedAscii, FixedUnicode, VarLenAscii, VarLenUnicode};
                matches!(kind, VarLenAscii | VarLenUnicode | FixedAscii(_) | FixedUnicode(_))
            });
        if is_text {
            let all = self.file.strings(&element.value)?;
            let first = if element.steps.is_some() {
                element.index_of(step).unwrap_or(0).saturating_mul(count)
            } else {
                0
            };
            all.iter().skip(first).take(count).for_each(|name| table.push(name));
            return Ok(table.sorted());
        }
        if let Some(names) = &self.species_names {
            table.names = names.iter().map(|(_, name)| name.clone()).collect();
        }
        for number in element.at(&self.file, step, None)?.unwrap_or_default() {
            let number = number as i64;
            let known = self.species_names.iter().flatten().position(|(value, _)| *value == number);
            match known {
                Some(index) => table.index.push(index as u32),
                None => table.push(&number.to_string()),
            }
        }
        Ok(if self.species_names.is_some() { table } else { table.sorted() })
    }
}

impl TrajectoryReader for H5mdReader {
    fn path(&self) -> &Path {
        &self.file.path
    }

    fn format(&self) -> &'static str {
        "H5MD"
    }

    fn steps(&self) -> &[u64] {
        &self.steps
    }

    fn systems(&self) -> usize {
        let is_system = |name: &String| {
            name.strip_prefix("system-").is_some_and(|number| number.parse::<usize>().is_ok())
        };
        let particles = group(&self.file.root, "particles").map(|particles| members(&particles));
        particles.map_or(1, |names| names.iter().filter(|name| is_system(name)).count().max(1))
    }

    fn passed_over(&self) -> Result<Vec<String>> {
        let root = members(&self.file.root).into_iter();
        let mut names: Vec<String> =
            root.filter(|name| !matches!(&**name, "h5md" | "particles")).collect();
        if let Some(particles) = group(&self.file.root, &self.group_name) {
            let elements = members(&particles).into_iter();
            let others = elements.filter(|name| !READ.contains(&&**name));
            names.extend(others.map(|name| format!("{}/{name}", self.group_name)));
        }
        Ok(names)
    }

    /// Where edges are matrices.
    fn may_tilt(&self) -> Result<bool> {
        let numbers = match &self.edges {
            Edges::Attribute(numbers) => numbers.clone(),
            Edges::Element(element) => {
                let first = self.steps.first().copied().unwrap_or(0);
                element.at(&self.file, first, None)?.unwrap_or_default()
            }
        };
        Ok(numbers.len() > self.dimension)
    }

    fn read_tilted(&self, index: usize) -> Result<Frame> {
        self.check_index(index)?;
        let step = self.steps[index];
        let position = self.vectors(&self.position, index, "position")?;
        let scalars = |element: &Option<Element>| -> Result<Option<Vec<f64>>> {
            match element {
                Some(element) => element.at(&self.file, step, None),
                None => Ok(None),
            }
        };
        let species = self.species_at(step, position.len())?;
        let image = self.optional_vectors(&self.image, index, "image")?;
        let mut id = scalars(&self.id)?;
        let (box_edges, tilt) = self.box_edges(step)?;
        let mut frame = Frame {
            step,
            tilt,
            time: self.times.as_ref().map(|times| times[index]),
            dimension: self.dimension,
            box_edges,
            species_names: species.names,
            species: species.index,
            id: None,
            mass: scalars(&self.mass)?,
            diameter: scalars(&self.diameter)?,
            velocity: self.optional_vectors(&self.velocity, index, "velocity")?,
            image: image.map(|image| image.iter().map(|row| row.map(|x| x as i32)).collect()),
            position,
            ..Frame::default()
        };
        if let Some(id) = &mut id {
            leave_out_empty_rows(&mut frame, id);
        }
        frame.id = id.map(|id| id.iter().map(|&id| id as u64).collect());
        // One particle at z = 0 says nothing.
        if (self.open_along_z || frame.position.len() > 1) && frame.is_flat_at(0.0) {
            frame.flatten();
        } else if self.open_along_z {
            return Err(not_periodic(&self.file, &self.group_name));
        }
        frame
            .finish(false)
            .map_err(|what| self.file.bad(format!("{}, step {step}: {what}", self.group_name)))
    }
}

impl Element {
    fn find(file: &Hdf5File, parent: &Group, name: &str) -> Result<Option<Element>> {
        if let Some(value) = dataset(parent, name) {
            return Ok(Some(Element { value, steps: None }));
        }
        let Some(series) = group(parent, name) else { return Ok(None) };
        let Some(value) = dataset(&series, "value") else { return Ok(None) };
        let length = value.shape().first().copied().unwrap_or(0);
        let Some(step) = dataset(&series, "step") else {
            return Err(file.bad(format!("{} has no step", series.name())));
        };
        let steps = if step.is_scalar() {
            let increment = file.integers(&step)?.first().copied().unwrap_or(1);
            let offset = match step.attr("offset") {
                Ok(attribute) => file.integers(&attribute)?.first().copied().unwrap_or(0),
                Err(_) => 0,
            };
            file.check_size(&series.name(), length)?;
            (0..length as i64).map(|k| (offset + k * increment).max(0) as u64).collect()
        } else {
            file.integers(&step)?.iter().take(length).map(|&step| step.max(0) as u64).collect()
        };
        Ok(Some(Element { value, steps: Some(steps) }))
    }

    /// True if there is a value of exactly this step. One that is fixed in time is that of the only frame.
    fn holds(&self, step: u64, frames: usize) -> bool {
        match &self.steps {
            Some(steps) => steps.contains(&step),
            None => frames == 1,
        }
    }

    /// Index of the last entry not after `step`.
    fn index_of(&self, step: u64) -> Option<usize> {
        self.steps.as_ref()?.iter().rposition(|&each| each <= step)
    }

    /// Values at `step`: those at `hint` if their step agrees, else the last not after it.
    ///
    /// # Errors
    /// If that is of an earlier step, and its neighbor in time shows that the values change.
    fn at(&self, file: &Hdf5File, step: u64, hint: Option<usize>) -> Result<Option<Vec<f64>>> {
        let Some(steps) = &self.steps else { return file.numbers(&self.value).map(Some) };
        let index = hint.filter(|&hint| steps.get(hint) == Some(&step)).or(self.index_of(step));
        let Some(index) = index else { return Ok(None) };
        let values = file.row(&self.value, index)?;
        let neighbour =
            if index + 1 < steps.len() { Some(index + 1) } else { index.checked_sub(1) };
        if steps[index] != step
            && let Some(neighbour) = neighbour
            && file.row(&self.value, neighbour)? != values
        {
            return Err(file.bad(format!(
                "{} changes with time and has no values of step {step}, of which there are positions",
                self.value.name()
            )));
        }
        Ok(Some(values))
    }
}

fn read_times(file: &Hdf5File, particles: &Group, count: usize) -> Result<Option<Vec<f64>>> {
    let Some(time) = group(particles, "position").and_then(|position| dataset(&position, "time"))
    else {
        return Ok(None);
    };
    // As `supercool convert` writes them where it has no times.
    if file.text_attribute(&time, "counts").as_deref() == Some("steps") {
        return Ok(None);
    }
    let numbers = file.numbers(&time)?;
    if time.is_scalar() {
        let increment = numbers.first().copied().unwrap_or(0.0);
        let offset = match time.attr("offset") {
            Ok(attribute) => file.numbers(&attribute)?.first().copied().unwrap_or(0.0),
            Err(_) => 0.0,
        };
        return Ok(Some((0..count).map(|k| offset + k as f64 * increment).collect()));
    }
    Ok((numbers.len() >= count).then_some(numbers))
}

/// Whether the third of three dimensions alone is not periodic.
fn is_open_along_z(file: &Hdf5File, simulation_box: &Group, name: &str) -> Result<bool> {
    let Ok(attribute) = simulation_box.attr("boundary") else { return Ok(false) };
    let boundary = file.strings(&attribute).unwrap_or_default();
    let open = |axis: &str| axis != "periodic";
    match &boundary[..] {
        [x, y, z] if !open(x) && !open(y) => Ok(open(z)),
        axes if axes.iter().any(|axis| open(axis)) => Err(not_periodic(file, name)),
        _ => Ok(false),
    }
}

fn not_periodic(file: &Hdf5File, name: &str) -> AnalysisError {
    file.bad(format!(
        "{name}/box is not periodic in all directions; only periodic ones are read, or flat ones that \
         are open along z"
    ))
}

/// Numbers and names of the species, from the enumeration type of `species`, an attribute `names` on
/// it, or tables of names known to be written by some programs under `parameters`.
fn find_species_names(
    file: &Hdf5File,
    particles: &Group,
    species: &Dataset,
) -> Result<Option<Vec<(i64, String)>>> {
    let kind = species.dtype().and_then(|dtype| dtype.to_descriptor());
    if let Ok(TypeDescriptor::Enum(kind)) = kind {
        let mut names: Vec<_> =
            kind.members.into_iter().map(|member| (member.value as i64, member.name)).collect();
        names.sort();
        return Ok(Some(names));
    }
    let numbered =
        |names: Vec<String>| (!names.is_empty()).then(|| (0..).zip(names).collect::<Vec<_>>());
    let holders: [Option<&hdf5::Location>; 2] = [Some(species), Some(particles)];
    for holder in holders.into_iter().flatten() {
        for attribute in ["names", "species_names"] {
            if let Ok(attribute) = holder.attr(attribute)
                && let Some(names) = numbered(file.strings(&attribute)?)
            {
                return Ok(Some(names));
            }
        }
    }
    let Some(parameters) = group(&file.root, "parameters") else { return Ok(None) };
    if let Some(vmd) = group(&parameters, "vmd_structure")
        && let (Some(index), Some(name)) = (dataset(&vmd, "indexOfSpecies"), dataset(&vmd, "name"))
    {
        let names = file.strings(&name)?;
        let mut table: Vec<_> = file.integers(&index)?.into_iter().zip(names).collect();
        table.sort();
        if !table.is_empty() {
            return Ok(Some(table));
        }
    }
    for name in ["species_names", "species", "species/names", "species/name"] {
        if let Some(table) = dataset(&parameters, name)
            && let Some(names) = numbered(file.strings(&table)?)
        {
            return Ok(Some(names));
        }
    }
    Ok(None)
}

fn leave_out_empty_rows(frame: &mut Frame, id: &mut Vec<f64>) {
    if id.len() != frame.position.len() || id.iter().all(|&id| id >= 0.0) {
        return;
    }
    fn keep<T>(column: &mut Vec<T>, id: &[f64]) {
        if column.len() == id.len() {
            let mut ids = id.iter();
            column.retain(|_| ids.next().is_none_or(|&id| id >= 0.0));
        }
    }
    keep(&mut frame.position, id);
    keep(&mut frame.species, id);
    frame.mass.iter_mut().for_each(|column| keep(column, id));
    frame.diameter.iter_mut().for_each(|column| keep(column, id));
    frame.image.iter_mut().for_each(|column| keep(column, id));
    frame.velocity.iter_mut().for_each(|column| keep(column, id));
    id.retain(|&id| id >= 0.0);
}
