//! Potentials from files: `kind = "table"`.
mod file;
mod interpolant;
mod rows;

use std::fmt::{self, Write};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use self::file::Columns;
use self::interpolant::{Interpolant, Row, spline_slopes};
use self::rows::{Errors, Rows, evaluate};
use super::description::{Bounds, Description, Fault, FormOf, Parameter, Scale, ScaleNames};
use super::evaluator::{Evaluator, named};
use super::form::{KernelHeader, PairForm};
use super::{PairParameters, PairPotential};
use crate::arithmetic::Real;

/// Tables of the pairs of species, each once. They are kept for as long as the program runs.
#[derive(Clone, Copy)]
pub struct Tables(&'static All);

struct All {
    tables: Vec<Table>,
    /// Those of all tables, one after the other.
    rows: Vec<Row>,
    /// That octaves are divided by, in all tables.
    bits: u32,
    kernels: [OnceLock<String>; 2],
}

struct Table {
    columns: Columns,
    /// Of [`All::rows`].
    start: usize,
    count: usize,
    first: i64,
    /// `s / r^2`.
    s_of_square: f64,
    /// Least distance.
    closest: f64,
    errors: Errors,
    /// Largest difference of the energy from the interpolant through every second distance.
    of_every_second: f64,
    scale: Scale,
}

/// Which table a pair has.
pub static TABLE: Parameter = Parameter {
    name: "table",
    doc: "",
    bounds: Bounds::NotNegative,
    energy: 0,
    length: 0,
    of_all_pairs: None,
    example: 0.0,
};

const DESCRIPTIONS: &[Description] = &[Description {
    word: "table",
    doc: "`U(r)` of the `file` of each pair, a smooth function through its points.",
    exponents: &[],
    parameters: &[&TABLE],
    scale: ScaleNames { energy: "depth", length: "r_0" },
    own_end: None,
    form: FormOf::Tables,
}];

/// A hundredth of the distances may differ by so much of the force from the slope of the energies.
const LARGEST_MISMATCH: f64 = 0.02;

impl Tables {
    /// # Errors
    /// If forces are not the derivative of the energies, with the number of the table.
    pub fn new(columns: Vec<Columns>) -> Result<Tables, (usize, String)> {
        static KNOWN: LazyLock<Mutex<Vec<Tables>>> = LazyLock::new(Mutex::default);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let are_same =
            |tables: &&Tables| tables.0.tables.iter().map(|of| &of.columns).eq(columns.iter());
        if let Some(same) = known.iter().find(are_same) {
            return Ok(*same);
        }
        for (number, of) in columns.iter().enumerate() {
            mismatch(of).map_or(Ok(()), |message| Err((number, message)))?;
        }
        let tables = Tables(Box::leak(Box::new(All::new(columns))));
        known.push(tables);
        Ok(tables)
    }

    fn table(self, pair: &PairParameters) -> &'static Table {
        &self.0.tables[pair.of(&TABLE) as usize]
    }

    /// The last distance of a table.
    pub fn end(self, number: usize) -> f64 {
        *self.0.tables[number].columns.distances.last().unwrap_or(&0.0)
    }

    /// What there is to say of a pair's table.
    pub fn notes(self, pair: &PairParameters) -> String {
        let Table { columns, errors, closest, of_every_second, .. } = self.table(pair);
        format!(
            "table of {} distances from {} to {}; from r = {closest:.6} on kernels have its energies to {:.1e} (|U| + {:.3}) and its forces \
             to {:.1e} (|F| + {:.3}); through every second distance energies differ by up to {of_every_second:.1e}",
            columns.distances.len(),
            columns.distances[0],
            columns.distances[columns.distances.len() - 1],
            errors.energy,
            errors.mean_energy,
            errors.force,
            errors.mean_force,
        )
    }
}

impl All {
    fn new(columns: Vec<Columns>) -> All {
        let interpolants: Vec<Interpolant> = columns.iter().map(Interpolant::new).collect();
        let ends = |of: &Columns| (of.distances[0], of.distances[of.distances.len() - 1]);
        let both = || columns.iter().zip(&interpolants);
        let bits = both().map(|(of, interpolant)| Rows::needed(interpolant, ends(of)));
        let bits = bits.max().unwrap_or(0);
        let mut all = All {
            tables: Vec::new(),
            rows: Vec::new(),
            bits,
            kernels: [OnceLock::new(), OnceLock::new()],
        };
        let rows: Vec<Rows> =
            both().map(|(of, interpolant)| Rows::with_bits(interpolant, ends(of), bits)).collect();
        for ((of, interpolant), rows) in columns.into_iter().zip(interpolants).zip(rows) {
            let ends = ends(&of);
            all.tables.push(Table {
                start: all.rows.len(),
                count: rows.rows.len(),
                first: rows.first,
                s_of_square: rows.scale,
                closest: rows.closest(ends.0),
                errors: rows.errors(&interpolant, ends),
                of_every_second: of_every_second(&of, &interpolant),
                scale: scale(&of),
                columns: of,
            });
            all.rows.extend(rows.rows);
        }
        all
    }

    /// The text of a struct `Table<R>` for the kernels, and the rows.
    fn kernel<R: Real>(&self) -> &str {
        self.kernels[usize::from(R::WIDE)].get_or_init(|| {
            let (real, int, from_bits, mantissa) = match R::WIDE {
                true => ("double", "i64", "double_from_bits", 52),
                false => ("float", "i32", "float_from_bits", 23),
            };
            let shift = mantissa - self.bits;
            let zero = literal(zero_of_places::<R>(), R::WIDE);
            let mut text = format!(
                "// Tables: written by src/potential/table/mod.rs.\n\
                 #pragma once\n#include \"arithmetic/real.cuh\"\n\n\
                 // Polynomials of s = r^2 / l^2, by the exponent of s and its first bits: the coefficients 1 to 5, and 0, which forces\n\
                 // do not need.\n\
                 struct alignas(16) TableRow {{ {real} c[8]; }};\n\n\
                 static __device__ const TableRow TABLE_ROWS[{}] = {{\n",
                self.rows.len()
            );
            for row in &self.rows {
                let _ = write!(text, "    {{{{");
                for coefficient in row[1..].iter().chain(&row[..1]) {
                    let _ = write!(text, "{}, ", literal(R::from_f64(*coefficient).to_f64(), R::WIDE));
                }
                text += "}},\n";
            }
            let _ = write!(
                text,
                "}};\n\n\
                 template <typename R>\nstruct Table {{\n    typedef R Real;\n\n\
                 \x20   // s / r^2, and -2 times it.\n    R scale;\n    R minus_two_scale;\n\
                 \x20   // Where the first and the last row begin.\n\
                 \x20   R first;\n    R last;\n\
                 \x20   // What leads from exponents with first bits to places, beside a number whose last digit is one.\n\
                 \x20   R start;\n\n\
                 \x20   INLINE void evaluate(R r2, R &force, R &energy) const {{\n\
                 \x20       R s = mul(r2, scale);\n\
                 \x20       // In the order of the numbers, as they are positive.\n\
                 \x20       {int} bits = static_cast<{int}>(to_bits(s));\n\
                 \x20       {int} least = static_cast<{int}>(to_bits(first)), most = static_cast<{int}>(to_bits(last));\n\
                 \x20       bits = bits < least ? least : bits;\n\
                 \x20       bits = bits > most ? most : bits;\n\
                 \x20       {int} place = bits >> {shift};\n\
                 \x20       R x = sub(s, {from_bits}(place << {shift}));\n\
                 \x20       place += static_cast<{int}>(to_bits(start)) - static_cast<{int}>(to_bits(R({zero})));\n\
                 \x20       const TableRow &row = TABLE_ROWS[static_cast<int>(place)];\n\
                 \x20       R value = row.c[4], slope = R(0);\n\
                 #pragma unroll\n\
                 \x20       for (int k = 3; k >= -1; --k) {{\n\
                 \x20           slope = fused(slope, x, value);\n\
                 \x20           value = fused(value, x, row.c[k < 0 ? 5 : k]);\n\
                 \x20       }}\n\
                 \x20       force = mul(slope, minus_two_scale);\n\
                 \x20       energy = value;\n    }}\n}};\n"
            );
            text
        })
    }
}

/// With it whole numbers of either sign stand in the last bits of a floating-point number, where a kernel takes them without a
/// conversion.
fn zero_of_places<R: Real>() -> f64 {
    1.5 * f64::from(if R::WIDE { 52 } else { 23 }).exp2()
}

/// A number in the kernels' language, exactly.
fn literal(x: f64, is_wide: bool) -> String {
    if is_wide { format!("{x:e}") } else { format!("{:e}f", x as f32) }
}

/// Where the forces are not the derivative: the place that is worst.
fn mismatch(columns: &Columns) -> Option<String> {
    let forces = columns.forces.as_ref()?;
    let slopes = spline_slopes(&columns.distances, &columns.energies);
    let (from, to) = (columns.distances[0], columns.distances[columns.distances.len() - 1]);
    let mut worst: Vec<(f64, usize)> = (0..forces.len())
        .filter(|&k| columns.distances[k] > from + 0.02 * (to - from))
        .map(|k| {
            let scale = forces[k].abs() + slopes[k].abs() + 1e-3 * columns.energies[k].abs() + 1e-6;
            ((forces[k] + slopes[k]).abs() / scale, k)
        })
        .collect();
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (share, k) = *worst.get(worst.len() / 100)?;
    (share > LARGEST_MISMATCH).then(|| {
        format!(
            "the force at r = {} is {}, and the energies there have the slope {:.6e}: the third column is F = -U'(r)",
            columns.distances[k], forces[k], slopes[k]
        )
    })
}

fn of_every_second(columns: &Columns, interpolant: &Interpolant) -> f64 {
    let second = |of: &Vec<f64>| of.iter().copied().step_by(2).collect::<Vec<f64>>();
    if columns.distances.len() < 2 * file::FEWEST {
        return f64::INFINITY;
    }
    let coarse = Interpolant::new(&Columns {
        distances: second(&columns.distances),
        energies: second(&columns.energies),
        forces: columns.forces.as_ref().map(second),
    });
    let places = columns.distances.iter().skip(1).step_by(2);
    let differences = places.map(|&r| (coarse.at(r).energy - interpolant.at(r).energy).abs());
    // The steep beginning is where no particle comes.
    let count = columns.distances.len() / 2;
    differences.skip(count / 10).fold(0.0, f64::max)
}

/// Depth of the minimum below the last energy, and the largest distance inside it with that energy; of a repulsion one, or the largest
/// energy if that is less, and the middle of the table.
fn scale(columns: &Columns) -> Scale {
    let Columns { distances, energies, .. } = columns;
    let end = energies[energies.len() - 1];
    let lowest =
        (0..energies.len()).min_by(|&a, &b| energies[a].total_cmp(&energies[b])).unwrap_or(0);
    if energies[lowest] < end {
        let zero = (0..lowest).rev().find(|&k| energies[k] >= end);
        return Scale {
            energy: end - energies[lowest],
            length: distances[zero.unwrap_or(lowest)].max(1e-3 * distances[distances.len() - 1]),
        };
    }
    let largest = energies.iter().fold(0.0f64, |largest, energy| largest.max((energy - end).abs()));
    Scale { energy: largest.min(1.0), length: 0.5 * distances[distances.len() - 1] }
}

/// By the numbers.
impl PartialEq for Tables {
    fn eq(&self, other: &Tables) -> bool {
        let columns = |of: &Tables| of.0.tables.iter().map(|table| &table.columns);
        columns(self).eq(columns(other))
    }
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tables({})", self.0.tables.len())
    }
}

impl Serialize for Tables {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.tables.iter().map(|table| &table.columns))
    }
}

impl<'de> Deserialize<'de> for Tables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Tables::new(Vec::deserialize(deserializer)?)
            .map_err(|(_, message)| serde::de::Error::custom(message))
    }
}

impl From<Tables> for PairPotential {
    fn from(tables: Tables) -> PairPotential {
        PairPotential::Table { tables }
    }
}

impl PairForm for Tables {
    const DESCRIPTIONS: &'static [Description] = DESCRIPTIONS;

    /// Each form has its own text.
    const HEADER: KernelHeader = KernelHeader { name: "potential/table.cuh", text: "" };

    type Evaluator<R: Real> = OfTable<R>;

    fn evaluator<R: Real>(&self, pair: &PairParameters) -> OfTable<R> {
        let table = self.table(pair);
        let unit = pair.unit_of_length();
        let scale = R::from_f64(table.s_of_square * (unit * unit));
        OfTable { all: self.0, table, scale, minus_two_scale: R::from_f64(-2.0) * scale }
    }

    fn header<R: Real>(&self) -> KernelHeader {
        KernelHeader { text: self.0.kernel::<R>(), ..Self::HEADER }
    }

    fn kernel_type(&self) -> String {
        "Table<R>".to_owned()
    }

    fn formula(&self) -> String {
        "of a table".to_owned()
    }

    fn scale(&self, pair: &PairParameters) -> Scale {
        self.table(pair).scale
    }

    /// Where the table begins.
    fn inner_maximum(&self, pair: &PairParameters) -> Option<f64> {
        let table = self.table(pair);
        (table.columns.distances[0] > 0.0).then_some(table.closest)
    }

    fn fault(&self, pair: &PairParameters) -> Option<Fault> {
        let distances = &self.table(pair).columns.distances;
        let (first, last) = (distances[0], distances[distances.len() - 1]);
        let fault =
            |message: String, help: String| Some(Fault { key: "cutoff_absolute", message, help });
        if pair.cutoff > last {
            let message = format!("{:?} is beyond the table, which ends at {last}", pair.cutoff);
            return fault(message, format!("at most {last}, or a longer table"));
        }
        if pair.cutoff <= first {
            let message = format!("{:?} is before the table, which begins at {first}", pair.cutoff);
            return fault(message, format!("between {first} and {last}"));
        }
        None
    }

    fn is_zero(&self, pair: &PairParameters) -> bool {
        self.table(pair).columns.energies.iter().all(|energy| *energy == 0.0)
    }

    fn amplitude(&self, _pair: &PairParameters) -> f64 {
        1.0
    }

    fn reduced(&self, pair: &PairParameters, unit: f64, _: fn(f64) -> f64) -> PairParameters {
        pair.in_units_of_cutoff(unit)
    }

    fn notes(&self, pair: &PairParameters) -> Option<String> {
        Some(Tables::notes(*self, pair))
    }
}

/// A table of a pair.
#[derive(Clone, Copy)]
pub struct OfTable<R> {
    all: &'static All,
    table: &'static Table,
    scale: R,
    minus_two_scale: R,
}

impl<R: Real> Evaluator<R> for OfTable<R> {
    #[inline(always)]
    fn evaluate(&self, r2: R) -> (R, R) {
        let rows = &self.all.rows[self.table.start..self.table.start + self.table.count];
        evaluate(rows, self.all.bits, self.table.first, self.scale, self.minus_two_scale, r2)
    }

    fn contact_energy(&self) -> Option<R> {
        let columns = &self.table.columns;
        (columns.distances[0] == 0.0).then(|| R::from_f64(columns.energies[0]))
    }

    fn constants(&self) -> Vec<(&'static str, R)> {
        let bits = self.all.bits;
        let bias = if R::WIDE { 1023 } else { 127 } << bits;
        let (first, count) = (self.table.first, self.table.count as i64);
        let [of_first, of_last] =
            [first, first + count - 1].map(|place| R::from_f64(rows::beginning(place, bits)));
        let start = self.table.start as i64 - (first + bias);
        let start = R::from_f64(zero_of_places::<R>() + start as f64);
        let mut all = named!(self: scale, minus_two_scale);
        all.extend([("first", of_first), ("last", of_last), ("start", start)]);
        all
    }
}

#[cfg(test)]
mod tests;
