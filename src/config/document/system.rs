use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::json;

use super::{Integer, Number, Table, Temperature, Written};
use crate::config::defaults;
use crate::plan::{DiameterSampling, Lattice};

/// A density or a box, not both.
fn one_of_density_and_box(schema: &mut Schema) {
    let one = ["density", "box"].map(|key| json!({ "required": [key] }));
    schema.insert("oneOf".to_owned(), json!(one));
}

/// Box, species and initial state.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = one_of_density_and_box)]
pub struct System {
    /// Dimension of space: 2 or 3.
    #[schemars(extend("enum" = [2, 3]))]
    pub dimension: Written<Integer>,
    /// Number of particles per volume (per area in 2D); the box is then a cube (a square). Exactly
    /// one of `density` and `box` is given.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub density: Option<Written<Number>>,
    /// Edges of the periodic box, one per dimension, in place of `density`.
    #[schemars(length(min = 2, max = 3))]
    pub r#box: Option<Written<Vec<Written<Number>>>>,
    /// Key of all random numbers of the run: positions of the species on the lattice, velocities,
    /// thermostats. The same seed gives the same run; after a state from a file they depend on that state, too.
    #[schemars(extend("minimum" = 0, "default" = defaults::SEED))]
    pub seed: Option<Written<Integer>>,
    /// Kinds of particles, 1 to 255.
    #[schemars(length(min = 1, max = 255))]
    pub species: Written<Vec<Table<SpeciesEntry>>>,
    /// A diameter for every particle, of which there is then one species; none without this table.
    pub diameters: Option<Table<Diameters>>,
    /// State to start from: a lattice with random velocities, or a file.
    pub initial: Table<Initial>,
}

/// A diameter `s` for every particle. The pair potential is that of `r / sigma_ij`, with
/// `sigma_ij = (s_i + s_j)/2 (1 - non_additivity |s_i - s_j|)`: all of its lengths are in units of `sigma_ij`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Diameters {
    /// `power-law`: P(s) proportional to `s^-exponent` between `minimum` and `maximum`; `uniform` between them; `gaussian` with
    /// `mean` and `deviation`, cut off there; `discrete`: `values` with `weights`; `file`: those in the file of
    /// `system.initial`.
    pub distribution: Written<DiameterKind>,
    /// Of `power-law`: 3 in the polydisperse liquids of Ninarello, Berthier and Coslovich (2017).
    pub exponent: Option<Written<Number>>,
    /// Least diameter.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub minimum: Option<Written<Number>>,
    /// Greatest diameter.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub maximum: Option<Written<Number>>,
    /// Of the `gaussian` before it is cut off.
    pub mean: Option<Written<Number>>,
    /// Standard deviation of the `gaussian` before it is cut off.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub deviation: Option<Written<Number>>,
    /// Of `discrete`: the diameters.
    pub values: Option<Written<Vec<Written<Number>>>>,
    /// Of `discrete`: shares of the values, up to a factor; without them all are the same.
    pub weights: Option<Written<Vec<Written<Number>>>>,
    /// `quantiles`: the values at `(i + 1/2)/N` of the distribution, shuffled by the seed: samples do not scatter. `random`: each
    /// is drawn by itself.
    #[schemars(extend("default" = "quantiles"))]
    pub sampling: Option<Written<DiameterSampling>>,
    /// `Delta` in `sigma_ij`, in units of an inverse length: 0.2 in the model of Ninarello, Berthier and Coslovich.
    #[schemars(extend("minimum" = 0, "default" = defaults::NON_ADDITIVITY))]
    pub non_additivity: Option<Written<Number>>,
}

/// A distribution of diameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiameterKind {
    PowerLaw,
    Uniform,
    Gaussian,
    Discrete,
    File,
}

/// Particles of one kind.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpeciesEntry {
    /// Name, used in `[potential.pairs]` and in all files: letters, digits and `_`.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_]{1,32}$"))]
    pub name: Written<String>,
    /// Number of particles.
    #[schemars(extend("minimum" = 1))]
    pub count: Written<Integer>,
    /// Mass of a particle.
    #[schemars(extend("exclusiveMinimum" = 0, "default" = defaults::MASS))]
    pub mass: Option<Written<Number>>,
}

/// State to start from.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Initial {
    /// Lattice whose sites are filled with the species in random order. If neither `lattice` nor
    /// `file` is given: `fcc` in 3D, `hexagonal` in 2D.
    pub lattice: Option<Written<Lattice>>,
    /// Temperature of the random (Maxwell-Boltzmann) velocities, met exactly. Must be given with a
    /// lattice. With a file, new velocities are drawn if it is given; else the file's are taken. `"ensemble"`: that of each
    /// system of an `[ensemble]`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub temperature: Option<Written<Temperature>>,
    /// H5MD, GSD or extended XYZ file, LAMMPS data file or dump, or checkpoint, relative to the current directory. Names
    /// and counts of species, and the box, must be those given here (types that are only numbered, from 1 or from 0, are
    /// the species in their order), masses too where velocities are taken; these must be of the same frame, and of units
    /// in which m v^2 is an energy. The run counts its steps from 0.
    pub file: Option<Written<String>>,
    /// Step of the frame in `file`; without it the last frame is taken.
    #[schemars(extend("minimum" = 0))]
    pub step: Option<Written<Integer>>,
    /// Which one of a `file` of many systems (H5MD, or a checkpoint), counted from 0. Not needed by an `[ensemble]` of as
    /// many systems: each then takes its own.
    #[schemars(extend("minimum" = 0))]
    pub system: Option<Written<Integer>>,
}
