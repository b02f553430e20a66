//! LAMMPS text dumps (`dump custom` and `dump atom`) with an orthogonal, periodic box.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::frame::SpeciesTable;
use super::text::{Lines, Place, shorten};
use super::{Frame, TrajectoryReader};
use crate::{AnalysisError, Result};

/// Reader of LAMMPS text dumps.
///
/// Columns: `id`, `typelabel`, `element` or `type`, `mass`, `diameter` or `radius`, positions as `x`, `xs`, `xu` or `xsu`
/// (and y, z), `ix iy iz`, `vx vy vz`; others are passed over. The format does not tell two dimensions: a frame
/// has two if all of several particles have the same z, and no velocity along it. Without ids a particle of one
/// frame cannot be found in another: LAMMPS changes their order.
pub struct LammpsDumpReader {
    path: PathBuf,
    places: Vec<Place>,
    steps: Vec<u64>,
    units: Option<String>,
    /// Columns that are not read.
    passed_over: BTreeSet<String>,
}

/// Columns that frames are made of.
const READ: [&str; 25] = [
    "id",
    "type",
    "typelabel",
    "element",
    "mass",
    "diameter",
    "radius",
    "x",
    "y",
    "z",
    "xs",
    "ys",
    "zs",
    "xu",
    "yu",
    "zu",
    "xsu",
    "ysu",
    "zsu",
    "ix",
    "iy",
    "iz",
    "vx",
    "vy",
    "vz",
];

struct Header {
    step: u64,
    time: Option<f64>,
    units: Option<String>,
    count: u64,
    low: [f64; 3],
    edges: [f64; 3],
    /// Of x along y, a length.
    xy: f64,
    columns: Vec<String>,
}

impl LammpsDumpReader {
    /// Reads the headers of all frames.
    pub fn open(path: &Path) -> Result<Self> {
        let mut reader = LammpsDumpReader {
            path: path.to_owned(),
            places: Vec::new(),
            steps: Vec::new(),
            units: None,
            passed_over: BTreeSet::new(),
        };
        let mut lines = Lines::open(path, Place { offset: 0, line: 0 })?;
        loop {
            let place = lines.place;
            let Some(header) = read_header(&mut lines)? else { break };
            for _ in 0..header.count {
                lines.expect("a particle")?;
            }
            reader.places.push(place);
            reader.steps.push(header.step);
            let columns = header.columns.into_iter();
            reader.passed_over.extend(columns.filter(|name| !READ.contains(&&**name)));
            // LAMMPS writes them once into a file, before the first frame.
            reader.units = reader.units.or(header.units);
        }
        Ok(reader)
    }
}

impl TrajectoryReader for LammpsDumpReader {
    fn path(&self) -> &Path {
        &self.path
    }

    fn format(&self) -> &'static str {
        "LAMMPS dump"
    }

    fn steps(&self) -> &[u64] {
        &self.steps
    }

    fn keeps_order(&self) -> bool {
        false
    }

    fn passed_over(&self) -> Result<Vec<String>> {
        Ok(self.passed_over.iter().cloned().collect())
    }

    fn units(&self) -> Option<&str> {
        self.units.as_deref()
    }

    fn read_tilted(&self, index: usize) -> Result<Frame> {
        self.check_index(index)?;
        let mut lines = Lines::open(&self.path, self.places[index])?;
        let header = read_header(&mut lines)?
            .ok_or_else(|| AnalysisError::content(&self.path, "changed while it was read"))?;
        read_particles(&mut lines, &header)
    }
}

fn read_header(lines: &mut Lines) -> Result<Option<Header>> {
    let mut step = None;
    let mut time = None;
    let mut units = None;
    let mut count = None;
    let mut bounds = None;
    loop {
        let Some(item) = lines.next()? else {
            return match step {
                None => Ok(None),
                Some(_) => Err(lines.error("the file ends inside the header of a frame")),
            };
        };
        let item = item.trim().to_owned();
        let Some(name) = item.strip_prefix("ITEM:").map(str::trim) else {
            if item.is_empty() && step.is_none() {
                continue;
            }
            return Err(lines.error(format!("`ITEM:` expected, found `{}`", shorten(&item))));
        };
        match name {
            "TIMESTEP" => step = Some(number::<u64>(lines, "a step")?),
            "TIME" => time = Some(number::<f64>(lines, "a time")?),
            "UNITS" => units = Some(lines.expect("a unit style")?.trim().to_owned()),
            "NUMBER OF ATOMS" => {
                count = Some(number::<u64>(lines, "a number of atoms")?);
                lines.check_room(count.unwrap_or(0), 2)?;
            }
            _ if name.starts_with("BOX BOUNDS") => bounds = Some(read_bounds(lines, name)?),
            _ if name.starts_with("ATOMS") => {
                let (Some(step), Some(count), Some((low, edges, xy))) = (step, count, bounds)
                else {
                    let what = "ATOMS before TIMESTEP, NUMBER OF ATOMS and BOX BOUNDS";
                    return Err(lines.error(what));
                };
                let columns = name.split_whitespace().skip(1).map(str::to_owned).collect();
                return Ok(Some(Header { step, time, units, count, low, edges, xy, columns }));
            }
            other => return Err(lines.error(format!("unknown item `{}`", shorten(other)))),
        }
    }
}

fn number<T: std::str::FromStr>(lines: &mut Lines, wanted: &str) -> Result<T> {
    let text = lines.expect(wanted)?.trim().to_owned();
    text.parse().map_err(|_| lines.error(format!("{wanted} expected, found `{}`", shorten(&text))))
}

/// Lower bounds, edges, and the tilt of x along y. Bounds of a tilted box are those of a cuboid around it.
fn read_bounds(lines: &mut Lines, name: &str) -> Result<([f64; 3], [f64; 3], f64)> {
    const TRICLINIC: &str = "triclinic box; only a tilt of x along y is read";
    if name.contains("abc") {
        return Err(lines.error(TRICLINIC));
    }
    let is_tilt = |word: &&str| matches!(*word, "xy" | "xz" | "yz");
    let tilts = name.split_whitespace().any(|word| is_tilt(&word));
    let mut boundary = name.split_whitespace().skip(2).skip_while(is_tilt);
    if let Some(kind) = boundary.find(|kind| *kind != "pp") {
        return Err(lines.error(format!("boundary `{kind}`; only periodic boxes (pp) are read")));
    }
    let mut low = [0.0; 3];
    let mut edges = [0.0; 3];
    let mut xy = 0.0;
    for k in 0..3 {
        let text = lines.expect("the bounds of the box")?.to_owned();
        let bounds: Option<Vec<f64>> =
            text.split_whitespace().map(|word| word.parse().ok()).collect();
        match bounds.as_deref() {
            Some(&[_, _, tilt]) if tilts && k > 0 && tilt != 0.0 => {
                return Err(lines.error(TRICLINIC));
            }
            Some(&[lower, upper, tilt]) if tilts && k == 0 && upper - lower > tilt.abs() => {
                xy = tilt;
                low[k] = lower - tilt.min(0.0);
                edges[k] = upper - lower - tilt.abs();
            }
            // Of a box that could be tilted along other axes, and is not, a zero follows.
            Some(&[lower, upper, ..])
                if upper > lower
                    && bounds.as_ref().is_some_and(|each| each.len() == 2 + usize::from(tilts)) =>
            {
                low[k] = lower;
                edges[k] = upper - lower;
            }
            _ => {
                let what = format!("lower and upper bound expected, found `{}`", shorten(&text));
                return Err(lines.error(what));
            }
        }
    }
    Ok((low, edges, xy))
}

/// Where each quantity stands in a line.
struct Columns {
    width: usize,
    position: [usize; 3],
    scaled: bool,
    unwrapped: bool,
    id: Option<usize>,
    species: Option<usize>,
    mass: Option<usize>,
    /// A column, and how many times its values the diameters are.
    diameter: Option<(usize, f64)>,
    image: Option<[usize; 3]>,
    velocity: Option<[usize; 3]>,
}

impl Columns {
    fn find(names: &[String]) -> std::result::Result<Self, String> {
        let at = |name: &str| names.iter().position(|each| each == name);
        let three = |x: &str, y: &str, z: &str| Some([at(x)?, at(y)?, at(z)?]);
        let choices = [
            (three("xu", "yu", "zu"), false, true),
            (three("xsu", "ysu", "zsu"), true, true),
            (three("x", "y", "z"), false, false),
            (three("xs", "ys", "zs"), true, false),
        ];
        let found =
            choices.into_iter().find_map(|(at, scaled, unwrapped)| Some((at?, scaled, unwrapped)));
        let Some((position, scaled, unwrapped)) = found else {
            return Err(
                "no positions among the columns; x y z, xs ys zs or xu yu zu are read".into()
            );
        };
        Ok(Columns {
            width: names.len(),
            position,
            scaled,
            unwrapped,
            id: at("id"),
            species: at("typelabel").or_else(|| at("element")).or_else(|| at("type")),
            mass: at("mass"),
            diameter: at("diameter")
                .map(|at| (at, 1.0))
                .or_else(|| at("radius").map(|at| (at, 2.0))),
            // Unwrapped coordinates hold the images already.
            image: if unwrapped { None } else { three("ix", "iy", "iz") },
            velocity: three("vx", "vy", "vz"),
        })
    }
}

fn read_particles(lines: &mut Lines, header: &Header) -> Result<Frame> {
    let columns = Columns::find(&header.columns).map_err(|what| lines.error(what))?;
    let mut frame = Frame {
        step: header.step,
        time: header.time,
        dimension: 3,
        box_edges: header.edges.to_vec(),
        tilt: header.xy / header.edges[0],
        id: columns.id.map(|_| Vec::new()),
        mass: columns.mass.map(|_| Vec::new()),
        diameter: columns.diameter.map(|_| Vec::new()),
        image: columns.image.map(|_| Vec::new()),
        velocity: columns.velocity.map(|_| Vec::new()),
        ..Frame::default()
    };
    let mut species = SpeciesTable::default();
    for _ in 0..header.count {
        let text = lines.expect("a particle")?.to_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.len() != columns.width {
            let what = format!("{} values, but the header names {}", words.len(), columns.width);
            return Err(lines.error(what));
        }
        let real = |at: usize| lines.parse::<f64>(words[at], &header.columns[at]);
        let mut position =
            [real(columns.position[0])?, real(columns.position[1])?, real(columns.position[2])?];
        if columns.scaled {
            let along_y = header.xy * position[1];
            position = std::array::from_fn(|k| header.low[k] + position[k] * header.edges[k]);
            position[0] += along_y;
        }
        frame.position.push(position);
        species.push(columns.species.map_or("1", |at| words[at]));
        if let (Some(at), Some(id)) = (columns.id, &mut frame.id) {
            id.push(lines.parse(words[at], "id")?);
        }
        if let (Some(at), Some(mass)) = (columns.mass, &mut frame.mass) {
            mass.push(real(at)?);
        }
        if let (Some((at, factor)), Some(diameter)) = (columns.diameter, &mut frame.diameter) {
            diameter.push(factor * real(at)?);
        }
        if let (Some(at), Some(velocity)) = (columns.velocity, &mut frame.velocity) {
            velocity.push([real(at[0])?, real(at[1])?, real(at[2])?]);
        }
        if let (Some(at), Some(image)) = (columns.image, &mut frame.image) {
            let flag = |k: usize| lines.parse::<i32>(words[at[k]], "an image flag");
            image.push([flag(0)?, flag(1)?, flag(2)?]);
        }
    }
    let species = species.sorted();
    frame.species = species.index;
    frame.species_names = species.names;
    if frame.position.len() > 1 && frame.is_flat_at(frame.position[0][2]) {
        frame.flatten();
    }
    frame.finish(columns.unwrapped).map_err(|what| {
        lines.error(format!("frame of step {} that ends here: {what}", header.step))
    })
}
