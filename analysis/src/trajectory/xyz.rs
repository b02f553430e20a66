//! Extended XYZ: a count, a line of `key=value` pairs, and one line per particle.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::frame::SpeciesTable;
use super::text::{Lines, Place};
use super::{Frame, TrajectoryReader};
use crate::{AnalysisError, Result};

/// Reader of extended XYZ files with one or more frames.
///
/// Second line: `Lattice="Lx 0 0 0 Ly 0 0 0 Lz"`, `Properties=species:S:1:pos:R:3:...`, and optionally
/// `step=`, `time=`, `dimension=2` or `pbc="T T F"`, and `cell:`-style keys of others are passed over. Without
/// `dimension=`, several particles in a plane are a system of two dimensions. Read properties: `species` (or `type`, `element`),
/// `pos`, `vel` (or `velo`, `velocity`, `velocities`; or `momenta`, with masses), `mass` (`masses`), `diameter`
/// (`diameters`; or `radius`, `radii`), `id`, `image`, in capitals as well.
/// Without `Properties`, a line is `species x y z`.
pub struct XyzReader {
    path: PathBuf,
    places: Vec<Place>,
    steps: Vec<u64>,
    /// Whether frames are counted: one at least has no step of its own.
    counted: bool,
    /// Columns that are not read.
    passed_over: BTreeSet<String>,
}

const POSITION: [&str; 3] = ["pos", "positions", "position"];
const SPECIES: [&str; 3] = ["species", "type", "element"];
const VELOCITY: [&str; 4] = ["vel", "velo", "velocity", "velocities"];
/// As ASE writes them.
const MOMENTUM: [&str; 2] = ["momenta", "momentum"];
const MASS: [&str; 2] = ["mass", "masses"];
const DIAMETER: [&str; 2] = ["diameter", "diameters"];
const RADIUS: [&str; 2] = ["radius", "radii"];
const ID: [&str; 1] = ["id"];
const IMAGE: [&str; 2] = ["image", "images"];
const READ: [&[&str]; 9] =
    [&POSITION, &SPECIES, &VELOCITY, &MOMENTUM, &MASS, &DIAMETER, &RADIUS, &ID, &IMAGE];

impl XyzReader {
    /// Finds all frames and reads their second lines.
    pub fn open(path: &Path) -> Result<Self> {
        let mut reader = XyzReader {
            path: path.to_owned(),
            places: Vec::new(),
            steps: Vec::new(),
            counted: false,
            passed_over: BTreeSet::new(),
        };
        let mut lines = Lines::open(path, Place { offset: 0, line: 0 })?;
        loop {
            let place = lines.place;
            let Some(count) = read_count(&mut lines)? else { break };
            let index = reader.steps.len() as u64;
            let header = Header::read(&mut lines)?;
            for _ in 0..count {
                lines.expect("a particle")?;
            }
            reader.places.push(place);
            reader.counted |= header.step.is_none();
            reader.steps.push(header.step.unwrap_or(index));
            reader.passed_over.extend(header.passed_over().map(str::to_owned));
        }
        // Steps and counts do not go together.
        if reader.counted {
            reader.steps = (0..reader.steps.len() as u64).collect();
        }
        Ok(reader)
    }
}

impl TrajectoryReader for XyzReader {
    fn path(&self) -> &Path {
        &self.path
    }

    fn format(&self) -> &'static str {
        "extended XYZ"
    }

    fn steps(&self) -> &[u64] {
        &self.steps
    }

    fn counts_frames(&self) -> bool {
        self.counted
    }

    fn passed_over(&self) -> Result<Vec<String>> {
        Ok(self.passed_over.iter().cloned().collect())
    }

    fn read_tilted(&self, index: usize) -> Result<Frame> {
        self.check_index(index)?;
        let mut lines = Lines::open(&self.path, self.places[index])?;
        let count = read_count(&mut lines)?
            .ok_or_else(|| AnalysisError::content(&self.path, "changed while it was read"))?;
        let header = Header::read(&mut lines)?;
        read_particles(&mut lines, count, &header, self.steps[index])
    }
}

fn read_count(lines: &mut Lines) -> Result<Option<u64>> {
    loop {
        let Some(text) = lines.next()? else { return Ok(None) };
        let text = text.trim().to_owned();
        if text.is_empty() {
            continue;
        }
        let count = text.parse().map_err(|_| {
            let found: String = text.chars().take(40).collect();
            lines.error(format!("a number of particles expected, found `{found}`"))
        })?;
        lines.check_room(count, 2)?;
        return Ok(Some(count));
    }
}

/// The second line of a frame.
struct Header {
    step: Option<u64>,
    time: Option<f64>,
    dimension: usize,
    /// Nothing says the dimension: two if all particles lie in a plane, as they must where the box is not periodic in z.
    undeclared: bool,
    edges: Vec<f64>,
    tilt: f64,
    columns: Vec<Column>,
}

struct Column {
    name: String,
    first: usize,
    width: usize,
}

/// Where a property stands in the lines of particles.
#[derive(Clone, Copy)]
struct Columns {
    first: usize,
    width: usize,
}

impl Header {
    fn read(lines: &mut Lines) -> Result<Self> {
        let text = lines.expect("the second line of a frame")?.to_owned();
        let pairs = key_values(&text);
        let value = |name: &str| {
            pairs
                .iter()
                .find(|(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| &value[..])
        };
        let undeclared = value("dimension").is_none();
        let dimension = match (value("dimension"), value("pbc")) {
            (Some("2"), _) => 2,
            (Some("3") | None, None) => 3,
            (Some("3") | None, Some(pbc)) => {
                match &pbc.split_whitespace().collect::<Vec<_>>()[..] {
                    ["T" | "1" | "true", "T" | "1" | "true", "T" | "1" | "true"] => 3,
                    ["T" | "1" | "true", "T" | "1" | "true", _] => 2,
                    _ => {
                        return Err(lines.error(format!("pbc=\"{pbc}\": the box must be periodic")));
                    }
                }
            }
            (Some(other), _) => {
                return Err(lines.error(format!("dimension={other}; 2 and 3 are read")));
            }
        };
        let lattice = value("Lattice").ok_or_else(|| {
            lines.error(
                "no periodic box: the second line of a frame must hold \
                 Lattice=\"Lx 0 0 0 Ly 0 0 0 Lz\" (extended XYZ)",
            )
        })?;
        let (mut edges, tilt) = parse_lattice(lattice).map_err(|what| lines.error(what))?;
        edges.truncate(dimension);
        let columns = match value("Properties") {
            Some(text) => parse_properties(text).map_err(|what| lines.error(what))?,
            None => vec![
                Column { name: "species".into(), first: 0, width: 1 },
                Column { name: "pos".into(), first: 1, width: 3 },
            ],
        };
        let step = match value("step").or_else(|| value("timestep")) {
            Some(text) => Some(
                text.parse()
                    .map_err(|_| lines.error(format!("step={text} is not a step number")))?,
            ),
            None => None,
        };
        let time = match value("time") {
            Some(text) => Some(
                text.parse().map_err(|_| lines.error(format!("time={text} is not a number")))?,
            ),
            None => None,
        };
        Ok(Header { step, time, dimension, undeclared, edges, tilt, columns })
    }

    /// Names of columns that are not read.
    fn passed_over(&self) -> impl Iterator<Item = &str> {
        let is_read = |name: &str| {
            READ.iter().flat_map(|names| *names).any(|read| read.eq_ignore_ascii_case(name))
        };
        self.columns.iter().map(|column| &*column.name).filter(move |name| !is_read(name))
    }

    fn column(
        &self,
        names: &[&str],
        widths: &[usize],
    ) -> std::result::Result<Option<Columns>, String> {
        let named =
            |column: &&Column| names.iter().any(|name| column.name.eq_ignore_ascii_case(name));
        let Some(&Column { ref name, first, width }) = self.columns.iter().find(named) else {
            return Ok(None);
        };
        if !widths.contains(&width) {
            return Err(format!("property {name} has {width} columns, not {}", widths[0]));
        }
        Ok(Some(Columns { first, width }))
    }
}

/// Splits `a=1 b="two words" flag` into pairs; quotes may be single, double or braces.
fn key_values(text: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let key = rest[..end].to_owned();
        rest = &rest[end..];
        let Some(after) = rest.strip_prefix('=') else {
            pairs.push((key, String::new()));
            rest = rest.trim_start();
            continue;
        };
        let closing = match after.chars().next() {
            Some('"') => Some('"'),
            Some('\'') => Some('\''),
            Some('{') => Some('}'),
            _ => None,
        };
        let value = match closing {
            Some(closing) => {
                let inside = &after[1..];
                let end = inside.find(closing).unwrap_or(inside.len());
                rest = inside[end..].strip_prefix(closing).unwrap_or("");
                &inside[..end]
            }
            None => {
                let end = after.find(char::is_whitespace).unwrap_or(after.len());
                rest = &after[end..];
                &after[..end]
            }
        };
        pairs.push((key, value.to_owned()));
        rest = rest.trim_start();
    }
    pairs
}

/// Edges, and the tilt of x along y as a fraction of the first.
fn parse_lattice(text: &str) -> std::result::Result<(Vec<f64>, f64), String> {
    let numbers: Option<Vec<f64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    let matrix = match numbers.as_deref() {
        Some(&[x, y]) => vec![x, 0.0, 0.0, 0.0, y, 0.0, 0.0, 0.0, 0.0],
        Some(&[xx, xy, yx, yy]) => vec![xx, xy, 0.0, yx, yy, 0.0, 0.0, 0.0, 0.0],
        Some(&[x, y, z]) => vec![x, 0.0, 0.0, 0.0, y, 0.0, 0.0, 0.0, z],
        Some(matrix) if matrix.len() == 9 => matrix.to_vec(),
        _ => {
            return Err(format!(
                "Lattice=\"{text}\": nine numbers expected, or three edges (of two dimensions four, or two)"
            ));
        }
    };
    let largest = matrix.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    let is_off = |k: usize| !k.is_multiple_of(4) && matrix[k].abs() > 1e-12 * largest;
    if (0..9).any(|k| k != 3 && is_off(k)) {
        let what = "triclinic box; only a tilt of x along y is read";
        return Err(format!("Lattice=\"{text}\": {what}"));
    }
    let tilt = if is_off(3) { matrix[3] / matrix[0] } else { 0.0 };
    Ok((vec![matrix[0], matrix[4], matrix[8]], tilt))
}

fn parse_properties(text: &str) -> std::result::Result<Vec<Column>, String> {
    let words: Vec<&str> = text.split(':').collect();
    if !words.len().is_multiple_of(3) {
        return Err(format!("Properties={text}: triples name:type:columns expected"));
    }
    let mut first = 0;
    let mut columns = Vec::new();
    for triple in words.chunks(3) {
        let width: usize = triple[2]
            .parse()
            .ok()
            .filter(|width| (1..=1000).contains(width))
            .ok_or_else(|| format!("Properties: `{}` is not a number of columns", triple[2]))?;
        columns.push(Column { name: triple[0].to_owned(), first, width });
        first += width;
    }
    Ok(columns)
}

fn read_particles(lines: &mut Lines, count: u64, header: &Header, step: u64) -> Result<Frame> {
    let columns = |names: &[&str], widths: &[usize]| {
        header.column(names, widths).map_err(|what| lines.error(what))
    };
    let one = |names: &[&str]| Ok(columns(names, &[1])?.map(|columns| columns.first));
    // Of two dimensions, two components may stand there.
    let vector = |names: &[&str]| columns(names, &[3, 2]);
    let position_at = match vector(&POSITION)? {
        Some(columns) => columns,
        None => return Err(lines.error("Properties name no pos:R:3")),
    };
    let species_at = one(&SPECIES)?;
    let velocity_at = vector(&VELOCITY)?;
    let mass_at = one(&MASS)?;
    let diameter_at = match one(&DIAMETER)? {
        Some(at) => Some((at, 1.0)),
        None => one(&RADIUS)?.map(|at| (at, 2.0)),
    };
    let momentum_at = if velocity_at.is_none() { vector(&MOMENTUM)? } else { None };
    if momentum_at.is_some() && mass_at.is_none() {
        return Err(lines.error("Properties name momenta, but no masses to divide them by"));
    }
    let id_at = one(&ID)?;
    let image_at = vector(&IMAGE)?;
    let width: usize = header.columns.iter().map(|column| column.width).sum();

    let mut frame = Frame {
        step,
        time: header.time,
        dimension: header.dimension,
        box_edges: header.edges.clone(),
        tilt: header.tilt,
        id: id_at.map(|_| Vec::new()),
        mass: mass_at.map(|_| Vec::new()),
        diameter: diameter_at.map(|_| Vec::new()),
        image: image_at.map(|_| Vec::new()),
        velocity: velocity_at.or(momentum_at).map(|_| Vec::new()),
        ..Frame::default()
    };
    let mut species = SpeciesTable::default();
    for _ in 0..count {
        let text = lines.expect("a particle")?.to_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.len() < width {
            let what = format!("{} values, but {width} are needed", words.len());
            return Err(lines.error(what));
        }
        let real = |at: usize| -> Result<f64> { parse(lines, words[at]) };
        let vector = |Columns { first, width }: Columns| -> Result<[f64; 3]> {
            let z = if width == 3 { real(first + 2)? } else { 0.0 };
            Ok([real(first)?, real(first + 1)?, z])
        };
        frame.position.push(vector(position_at)?);
        species.push(species_at.map_or("X", |at| words[at]));
        if let (Some(at), Some(velocity)) = (velocity_at, &mut frame.velocity) {
            velocity.push(vector(at)?);
        }
        if let (Some(at), Some(mass)) = (mass_at, &mut frame.mass) {
            mass.push(real(at)?);
        }
        if let (Some((at, factor)), Some(diameter)) = (diameter_at, &mut frame.diameter) {
            diameter.push(factor * real(at)?);
        }
        if let (Some(at), Some(mass), Some(velocity)) = (momentum_at, mass_at, &mut frame.velocity)
        {
            let mass = real(mass)?;
            velocity.push(vector(at)?.map(|momentum| momentum / mass));
        }
        if let (Some(at), Some(id)) = (id_at, &mut frame.id) {
            id.push(parse(lines, words[at])?);
        }
        if let (Some(at), Some(image)) = (image_at, &mut frame.image) {
            let flag = |k: usize| parse::<i32>(lines, words[at.first + k]);
            image.push([flag(0)?, flag(1)?, if at.width == 3 { flag(2)? } else { 0 }]);
        }
    }
    let species = species.sorted();
    frame.species = species.index;
    frame.species_names = species.names;
    let height = frame.position.first().map_or(0.0, |position| position[2]);
    if header.undeclared && frame.position.len() > 1 && frame.is_flat_at(height) {
        frame.flatten();
    }
    if header.undeclared
        && header.dimension == 2
        && frame.position.iter().any(|position| position[2] != height)
    {
        let what = "pbc is open along z and the particles do not lie in a plane: boxes are periodic in all directions";
        return Err(lines.error(format!("frame that ends here: {what}")));
    }
    frame.finish(false).map_err(|what| lines.error(format!("frame that ends here: {what}")))
}

fn parse<T: std::str::FromStr>(lines: &Lines, word: &str) -> Result<T> {
    word.parse().map_err(|_| {
        let found: String = word.chars().take(40).collect();
        lines.error(format!("`{found}` is not a number of the right kind"))
    })
}

#[cfg(test)]
mod tests {
    use super::key_values;

    #[test]
    fn keys_values_and_quotes_are_distinguished() {
        let pairs = key_values(r#" Lattice="1 0 0 0 2 0 0 0 3" step=5 flag note='a = b' open="x"#);
        let expected = [
            ("Lattice", "1 0 0 0 2 0 0 0 3"),
            ("step", "5"),
            ("flag", ""),
            ("note", "a = b"),
            ("open", "x"),
        ];
        let expected: Vec<_> = expected.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        assert_eq!(pairs, expected);
    }
}
