use std::fmt::{self, Display};

use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::json;

use super::{
    Barostat, CountOrBounds, Integer, ListOr, Number, NumberOrPhrase, OrPlain, PlainOr, Propensity,
    Strain, Table, Temperature, Times, Written,
};
use crate::config::defaults;
use crate::plan::DynamicObservable;

/// A stretch of steps at the same conditions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = what_like_gives)]
pub struct Stage {
    /// Unique name, and stem of the stage's files: letters, digits, `_`, `-` and `.`.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$"))]
    pub name: Written<String>,
    /// Name of an earlier stage, whose other keys this one takes; those that are typed here replace them, whole. A
    /// `thermostat` without `kind` replaces single keys of that one's. `thermostat` and `set_total_energy`
    /// replace each other.
    pub like: Option<Written<String>>,
    /// With `like`: keys that are not taken.
    pub without: Option<Written<Vec<Written<String>>>>,
    /// Number of steps. Must be given, here or by `like`, except where the stage has `minimize`, and then it may have none, or `strain`.
    #[schemars(extend("minimum" = 1))]
    pub steps: Option<Written<Integer>>,
    /// Length of a step in this stage; that of `[run]` if not given. In `fixed-point` velocities are rounded where it changes, by
    /// less than 1e-15 of thermal ones.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub timestep: Option<Written<Number>>,
    /// The stage begins from the minimum of the potential energy below the state where the one before ended: a quench. Images
    /// of particles go on, velocities are zero or new.
    pub minimize: Option<Table<Minimize>>,
    /// The density changes in the course of the stage, the shape of the box does not.
    pub density: Option<Table<DensityChange>>,
    /// The edges of the box change in the course of the stage, each by itself, in place of `density`.
    pub r#box: Option<Table<BoxChange>>,
    /// The stage strains the box step by step, and finds the minimum of the potential energy after each.
    pub strain: Option<Table<Strain>>,
    /// A steady flow along x whose velocity grows along y, in a box that is sheared with it (Lees-Edwards boundaries, SLLOD
    /// equations). Velocities, temperatures and thermostats are those beside the flow.
    pub shear: Option<Table<Shear>>,
    /// Thermostat; without it the stage is microcanonical (NVE).
    pub thermostat: Option<Table<Thermostat>>,
    /// Barostat; without it the box does not change by itself. Only with a thermostat.
    pub barostat: Option<Table<Barostat>>,
    /// Whether the stage begins with new velocities (Maxwell-Boltzmann, without momentum of the whole) of exactly the temperature of its
    /// thermostat, of a ramp the first one: with a temperature other than that of the stage before a quench in one step.
    #[schemars(extend("default" = false))]
    pub draw_velocities: Option<Written<bool>>,
    /// Swap Monte Carlo: between steps, pairs of particles exchange their diameters. Only with a thermostat and `[system.diameters]`.
    pub swap: Option<Table<Swap>>,
    /// Total energy per particle that the stage starts with (velocities are scaled): a number, or
    /// `"mean of NAME"` for the mean over the thermodynamic samples of an earlier stage: one that begins in
    /// equilibrium, as all of its samples count. Only without thermostat.
    pub set_total_energy: Option<Written<NumberOrPhrase>>,
    /// What is written while the stage runs, each at its interval in steps. What does not divide the stage leaves its last steps out.
    pub observe: Option<Table<Observe>>,
    /// Time correlation functions, computed while the stage runs.
    #[serde(default)]
    pub correlation: Vec<Table<Correlation>>,
    /// What particles do on average over the runs from a configuration.
    pub propensity: Option<Table<Propensity>>,
}

/// Beside `like` everything but the name may be left out.
fn what_like_gives(schema: &mut Schema) {
    let thermostat = json!({ "required": ["kind", "temperature"] });
    let thermostat = json!({ "properties": { "thermostat": thermostat } });
    let steps = ["steps", "minimize", "strain"].map(|key| json!({ "required": [key] }));
    schema.insert("required".to_owned(), json!(["name"]));
    schema.insert("if".to_owned(), json!({ "required": ["like"] }));
    schema.insert("else".to_owned(), json!({ "anyOf": steps, "allOf": [thermostat] }));
}

/// Beside `like` of the stage its kind and temperature may be left out; a kind needs its key.
fn what_kinds_need(schema: &mut Schema) {
    schema.remove("required");
    let needs = [
        ("andersen", "rate"),
        ("nose-hoover", "period"),
        ("bussi", "time"),
        ("langevin", "friction"),
        ("brownian", "friction"),
    ];
    let rules = needs.map(|(kind, key)| {
        let is_kind = json!({ "required": ["kind"], "properties": { "kind": { "const": kind } } });
        json!({ "if": is_kind, "then": { "required": [key] } })
    });
    schema.insert("allOf".to_owned(), json!(rules));
}

/// A descent to the minimum of the potential energy, by FIRE 2.0 as of `observe.inherent_structures`. In `fixed-point` it takes place
/// on the processor, so that the state has the same bits whatever engine takes the steps.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Minimize {
    /// The descent ends when the force on every particle is smaller.
    #[schemars(extend("exclusiveMinimum" = 0, "default" = defaults::FORCE_TOLERANCE))]
    pub force_tolerance: Option<Written<Number>>,
    /// It ends, with a warning, after this number of iterations in any case.
    #[schemars(extend("minimum" = 1, "default" = defaults::MAXIMUM_ITERATIONS))]
    pub maximum_iterations: Option<Written<Integer>>,
    /// First time step of the descent, which grows up to ten times; half of the stage's timestep if not given.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub timestep: Option<Written<Number>>,
    /// Temperature of new velocities (Maxwell-Boltzmann, met exactly); they are zero if not given.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub temperature: Option<Written<Number>>,
}

/// Trials in which two particles, taken at random, exchange their diameters or species at fixed positions with probability
/// min(1, exp(-dU/T)), T being the thermostat's temperature at that step (Metropolis).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Swap {
    /// Steps between two rounds of trials.
    #[schemars(extend("minimum" = 1))]
    pub every: Written<Integer>,
    /// Trials of a round over the number of particles.
    #[schemars(extend("exclusiveMinimum" = 0, "default" = defaults::TRIALS_PER_PARTICLE))]
    pub trials_per_particle: Option<Written<Number>>,
    /// Pairs of species that are exchanged, such as `["AC", "BC"]`, in a mixture of up to eight species of one mass. Left out
    /// where particles have diameters, which are exchanged.
    pub pairs: Option<Written<Vec<Written<String>>>>,
}

/// A change of the density. Particles keep their places as fractions of the edges, which change in proportion to the steps.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DensityChange {
    /// Density at the end of the stage, which later stages keep: a number, or `"mean of NAME"` for the mean over the thermodynamic
    /// samples, of all systems, of an earlier stage at constant pressure: one that begins in equilibrium, as all of its samples count.
    pub to: Written<NumberOrPhrase>,
    /// Steps between two changes of the box; a hundredth of the stage if not given. The engine is set up anew after each.
    #[schemars(extend("minimum" = 1))]
    pub every: Option<Written<Integer>>,
}

/// A change of the edges, as of `density`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoxChange {
    /// Edges at the end of the stage, one per dimension, which later stages keep.
    pub to: Written<Vec<Written<Number>>>,
    /// Steps between two changes of the box; a hundredth of the stage if not given. The engine is set up anew after each.
    #[schemars(extend("minimum" = 1))]
    pub every: Option<Written<Integer>>,
}

/// Shear, with `rate` at a constant rate, with `amplitude` and `period` back and forth.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = one_of_two_shears)]
pub struct Shear {
    /// Strain per time, `d v_x / d y`; negative: to the other side.
    pub rate: Option<Written<Number>>,
    /// Amplitude g of the strain `g sin(2 pi t / period)`, `t` since the start of the stage.
    pub amplitude: Option<Written<Number>>,
    /// Period of the oscillation: a multiple of the timestep.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub period: Option<Written<Number>>,
}

fn one_of_two_shears(schema: &mut Schema) {
    let keys = [&["rate"][..], &["amplitude", "period"]];
    schema.insert("oneOf".to_owned(), json!(keys.map(|keys| json!({ "required": keys }))));
}

/// Thermostat.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = what_kinds_need)]
pub struct Thermostat {
    /// Which one. Must be given.
    pub kind: Written<ThermostatKind>,
    /// Temperature of the thermostat: a number, or a table with `from` and `to`. Must be given. `"ensemble"`, also as one of these: that of
    /// each system of an `[ensemble]`. Zero for `brownian` alone.
    #[schemars(extend("minimum" = 0))]
    pub temperature: Written<PlainOr<Temperature, Ramp>>,
    /// `andersen`: rate of the collisions with the thermostat, per time. All particles collide together,
    /// every `1 / (rate * timestep)` steps. Must be given.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub rate: Option<Written<Number>>,
    /// `andersen`: scale the new velocities to exactly the thermostat's temperature.
    #[schemars(extend("default" = defaults::ANDERSEN_EXACT))]
    pub exact: Option<Written<bool>>,
    /// `nose-hoover`: period of the thermostat's oscillation, in time. Must be given.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub period: Option<Written<Number>>,
    /// `nose-hoover`: number of thermostats in the chain.
    #[schemars(extend("minimum" = 1, "maximum" = 16, "default" = defaults::CHAIN_LENGTH))]
    pub chain_length: Option<Written<Integer>>,
    /// `bussi`: relaxation time of the kinetic energy. Must be given.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub time: Option<Written<Number>>,
    /// `langevin`, `brownian`: friction coefficient gamma, per time; the force of the friction is -m gamma v. Must be given.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub friction: Option<Written<Number>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThermostatKind {
    /// New Boltzmann velocities for all particles at regular times (Colberg & Hoefling 2011).
    Andersen,
    /// Nose-Hoover chain.
    NoseHoover,
    /// Stochastic velocity rescaling (Bussi, Donadio & Parrinello 2007).
    Bussi,
    /// Constant kinetic energy: velocities are scaled in each step.
    Isokinetic,
    /// Langevin dynamics.
    Langevin,
    /// Brownian dynamics, without inertia; at temperature 0 overdamped motion along the forces.
    Brownian,
}

impl Display for ThermostatKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ThermostatKind::Andersen => "andersen",
            ThermostatKind::NoseHoover => "nose-hoover",
            ThermostatKind::Bussi => "bussi",
            ThermostatKind::Isokinetic => "isokinetic",
            ThermostatKind::Langevin => "langevin",
            ThermostatKind::Brownian => "brownian",
        })
    }
}

/// Temperature that changes linearly over the stage.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ramp {
    /// Temperature at the first step of the stage.
    #[schemars(extend("minimum" = 0))]
    pub from: Written<Temperature>,
    /// Temperature at its last step; linear in between.
    #[schemars(extend("minimum" = 0))]
    pub to: Written<Temperature>,
}

impl OrPlain for Ramp {
    const EXPECTED: &'static str = "a number or a table with from and to";
}

/// What is written while the stage runs.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Observe {
    /// Energies, temperature, pressure, virial, stress: interval in steps. Not
    /// written if not given.
    #[schemars(extend("minimum" = 1))]
    pub thermodynamics: Option<Written<Integer>>,
    /// Positions and velocities of all particles: interval in steps, or a table that adds
    /// frames at logarithmic times. Not written if not given.
    #[schemars(extend("minimum" = 1))]
    pub trajectory: Option<Written<PlainOr<Integer, Frames>>>,
    /// Write the trajectory as GSD too.
    #[schemars(extend("default" = false))]
    pub gsd: Option<Written<bool>>,
    /// Pair distributions g_ab(r) and partial structure factors S_ab(q).
    pub structure: Option<Table<Structure>>,
    /// Bond-orientational order, psi_6 in 2D and Q_6 in 3D: an alarm for crystals.
    pub bond_order: Option<Table<BondOrder>>,
    /// Configurational temperature, the mean square force over the mean Laplacian of the potential energy, and these two: interval in
    /// steps. A copy of the positions is evaluated in 64-bit floats on the cores of this machine, while the engine goes on; it waits where
    /// the cores are slower. Not written if not given.
    #[schemars(extend("minimum" = 1))]
    pub configurational_temperature: Option<Written<Integer>>,
    /// Crystallinity and demixing: alarms for long runs with swaps.
    pub local_order: Option<Table<LocalOrder>>,
    /// Inherent structures: copies of the state are brought to the minimum of the potential energy by
    /// FIRE 2.0 (Guenole et al., Comput. Mater. Sci. 175, 109584 (2020)), in 64-bit floats: on the GPU where
    /// the system runs there, whose launches take turns with those of the descent, else on the cores of
    /// this machine; it takes the memory of a second system. A minimum takes as long as some thousand
    /// steps in such floats. The trajectory is not touched. Energies per particle go to `/observables` of
    /// `STAGE.h5`, configurations to `STAGE.inherent.h5md`.
    pub inherent_structures: Option<Table<InherentStructures>>,
}

/// Frames at equal intervals, and at times after each of them that double.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frames {
    /// Interval in steps.
    #[schemars(extend("minimum" = 1))]
    pub every: Written<Integer>,
    /// Adds frames this number of steps after each of those, and 2, 4, 8, ... times as many, up to the next: displacements over
    /// many decades of time from few frames.
    #[schemars(extend("minimum" = 1))]
    pub doubling_from: Option<Written<Integer>>,
    /// Adds frames at equal ratios of times after each of those of `every`, up to the next: this number in a factor of ten, no
    /// two at the same step.
    #[schemars(extend("minimum" = 1, "maximum" = 300))]
    pub points_per_decade: Option<Written<Number>>,
    /// With `points_per_decade`: steps to the first of them, 1 if not given.
    #[schemars(extend("minimum" = 1))]
    pub from: Option<Written<Integer>>,
}

impl OrPlain for Frames {
    const EXPECTED: &'static str =
        "a number of steps or a table with every and doubling_from or points_per_decade";
}

/// Minima of the potential energy below states of the run, with their configurations.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InherentStructures {
    /// Interval in steps. Must be given unless `times` are.
    #[schemars(extend("minimum" = 1))]
    pub every: Option<Written<Integer>>,
    /// Times since the start of the stage, instead of `every`, rounded to steps: a list, or a table with `from`, `to` and
    /// `points_per_decade`.
    pub times: Option<Written<ListOr<Times>>>,
    /// The descent ends when the force on every particle is smaller. With `truncation = "shifted"` the force jumps at the
    /// cutoff: a pair that comes to rest there keeps forces of that size, and the run says how large it is.
    #[schemars(extend("exclusiveMinimum" = 0, "default" = defaults::FORCE_TOLERANCE))]
    pub force_tolerance: Option<Written<Number>>,
    /// It ends, with a warning, after this number of iterations in any case.
    #[schemars(extend("minimum" = 1, "default" = defaults::MAXIMUM_ITERATIONS))]
    pub maximum_iterations: Option<Written<Integer>>,
    /// First time step of the descent, which grows up to ten times; half of `run.timestep` if not given.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub timestep: Option<Written<Number>>,
}

/// Six-fold bond-orientational order of all particles: of all bonds together, which is small in a
/// liquid, and of single particles.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BondOrder {
    /// Interval between samples in steps.
    #[schemars(extend("minimum" = 1))]
    pub every: Written<Integer>,
    /// Bonds lead to particles closer than this: the first minimum of g(r). If not given
    /// `1.45 (V/N)^(1/D)`, which is close to it in dense liquids.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: Option<Written<Number>>,
}

/// Crystallinity and demixing, evaluated on the cores of this machine.
///
/// Crystallinity: in three dimensions the fraction of particles with seven or more neighbors whose bonds have about their directions (the cosine of
/// the vectors `q_6m` is above 0.7; ten Wolde, Ruiz-Montero & Frenkel, J. Chem. Phys. 104, 9932 (1996)), in two the mean of `|psi_6|`.
///
/// Demixing: variance over particles of the mean diameter of their neighbors, over the variance if the same diameters were assigned to
/// the same places at random. Without diameters the shares of species among the neighbors stand for it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalOrder {
    /// Interval between samples in steps.
    #[schemars(extend("minimum" = 1))]
    pub every: Written<Integer>,
    /// Neighbors are particles closer than this: the first minimum of g(r). If not given `1.45 (V/N)^(1/D)`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: Option<Written<Number>>,
}

/// Pair distributions and partial structure factors, averaged over samples.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Structure {
    /// Interval between samples in steps.
    #[schemars(extend("minimum" = 1))]
    pub every: Written<Integer>,
    /// Largest distance of g_ab(r). If not given, half the shortest edge of the box, but at most the radius of a sphere
    /// that holds 4,000 particles on average (9.3 sigma in the Kob-Andersen mixture at density 1.2): all pairs of a large
    /// system take long.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub maximum_distance: Option<Written<Number>>,
    /// Width of a bin of g_ab(r).
    #[schemars(extend("exclusiveMinimum" = 0, "default" = defaults::BIN_WIDTH))]
    pub bin_width: Option<Written<Number>>,
    /// Largest wave number of S_ab(q).
    #[schemars(extend("exclusiveMinimum" = 0, "default" = defaults::MAXIMUM_WAVENUMBER))]
    pub maximum_wavenumber: Option<Written<Number>>,
    /// Largest number of wave vectors of a shell.
    #[schemars(extend("minimum" = 1, "default" = defaults::STRUCTURE_VECTORS_PER_SHELL))]
    pub vectors_per_shell: Option<Written<Integer>>,
    /// In place of the species: classes of particles by diameter, as those of `[[stage.correlation]]` and the same in a stage, up to 16:
    /// g_ab(r) and S_ab(q) of every pair of classes, and of all particles.
    pub diameter_classes: Option<Written<CountOrBounds>>,
}

/// Bins of the van Hove functions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VanHove {
    /// Largest displacement, or distance of two particles. With `distinct-van-hove-function` up to half the shortest edge of the box, which it is
    /// in smaller ones if not given.
    #[schemars(extend("exclusiveMinimum" = 0, "default" = defaults::VAN_HOVE_MAXIMUM_DISTANCE))]
    pub maximum_distance: Option<Written<Number>>,
    /// Width of a bin.
    #[schemars(extend("exclusiveMinimum" = 0, "default" = defaults::VAN_HOVE_BIN_WIDTH))]
    pub bin_width: Option<Written<Number>>,
}

/// Time correlation functions in blocks of samples (Colberg & Hoefling 2011, section 2.5).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Correlation {
    /// Finest interval between samples in steps. Must be given unless `from`
    /// is.
    #[schemars(extend("minimum" = 1))]
    pub every: Option<Written<Integer>>,
    /// Shortest lag in time, instead of `every`: a multiple of the timestep.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub from: Option<Written<Number>>,
    /// With `from`: longest lag in time that is wanted, instead of `levels`. As long as the stage allows
    /// if not given.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub to: Option<Written<Number>>,
    /// With `from`: lags in a factor of ten of time, at least, instead of `block_size`.
    #[schemars(extend("minimum" = 1, "maximum" = 300, "default" = defaults::POINTS_PER_DECADE))]
    pub points_per_decade: Option<Written<Number>>,
    /// With `from`: lags at about equal ratios. Else lags of a block are at equal distances, and double from the longest of a
    /// block to the next ones.
    #[schemars(extend("default" = false))]
    pub equal_ratios: Option<Written<bool>>,
    /// Samples in a block; the interval grows by this factor from level to level.
    #[schemars(extend("minimum" = 2, "maximum" = 1000, "default" = defaults::BLOCK_SIZE))]
    pub block_size: Option<Written<Integer>>,
    /// Number of levels. As many as the stage is long enough for if not given.
    #[schemars(extend("minimum" = 1))]
    pub levels: Option<Written<Integer>>,
    /// Time origins since the start of the stage, in units of time: an ascending list of multiples of the timestep from 0 on, or a table with
    /// `from`, `to` and `points_per_decade`, rounded to steps. Functions are those from each of these waiting times, `C(t_w + t, t_w)`, at
    /// the lags above: averages over the systems of an `[ensemble]`, and of no other origins. They stand in `/aging` of the results file.
    /// Averages over all samples as origins, in `/dynamics`, if not given.
    pub origins: Option<Written<ListOr<Times>>>,
    /// Wave numbers q of the intermediate scattering functions; the nearest shells of wave vectors
    /// that the box holds are taken. Must be given if a function of q is among the observables.
    pub wavenumbers: Option<Written<Vec<Written<Number>>>>,
    /// Largest number of wave vectors of a shell.
    #[schemars(extend("minimum" = 1, "default" = defaults::CORRELATION_VECTORS_PER_SHELL))]
    pub vectors_per_shell: Option<Written<Integer>>,
    /// Length a of the overlap functions: particles that moved less count as where they were.
    #[schemars(extend("exclusiveMinimum" = 0, "default" = defaults::OVERLAP_LENGTH))]
    pub overlap_length: Option<Written<Number>>,
    /// Take displacements and velocities relative to the centre of mass of all particles. A Langevin thermostat moves it:
    /// it adds `2 d D_cm [t - (1 - exp(-gamma t)) / gamma]`, `D_cm = T / (M gamma)`, to the mean-square displacement (`M`:
    /// mass of all particles, `gamma`: friction), and multiplies `F_s(q,t)` by `exp(-q^2 D_cm t)` at long times. Later
    /// stages keep the velocity; an Andersen thermostat takes it away.
    #[schemars(extend("default" = defaults::REMOVE_DRIFT))]
    pub remove_drift: Option<Written<bool>>,
    /// Neighbors of a particle at the time origin are those closer than this, for cage-relative
    /// displacements: the first minimum of g(r). If not given `1.45 (V/N)^(1/D)`, which is close to it
    /// in dense liquids.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub cage_radius: Option<Written<Number>>,
    /// Bonds lead from a particle to those closer than this at the time origin, for bond breaking: the first minimum of
    /// g(r). If not given `1.45 (V/N)^(1/D)`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub bond_radius: Option<Written<Number>>,
    /// Bonds are broken when their particles are this far apart, no less than `bond_radius`: larger, so that vibrations break
    /// none. If not given `9/7 bond_radius`, as 1.8 is of 1.4.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub bond_breaking_radius: Option<Written<Number>>,
    /// Bins of the van Hove functions.
    pub van_hove: Option<Table<VanHove>>,
    /// Names of the species whose averages are made; all if not given. Averages over all particles together are
    /// made beside them where all species are named; those of collective functions, overlaps, bond
    /// breaking and susceptibilities in any case.
    pub species: Option<Written<Vec<Written<String>>>>,
    /// In place of the species: classes of particles by diameter. A number of classes, with equal numbers of particles by the rank
    /// of the diameter (equal diameters by the rank of the id), or a list of ascending diameters that bound them: a particle with the
    /// diameter of a bound is in the class above. Averages over all particles are always made beside them. All correlations of
    /// a stage that have classes have the same. Only with `[system.diameters]`, and not in a stage with `swap`.
    pub diameter_classes: Option<Written<CountOrBounds>>,
    /// What is correlated; the first five if not given.
    pub observables: Option<Written<Vec<Written<DynamicObservable>>>>,
}
