//! Parameters of pairs, and the interaction as a whole in plans.
use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use super::description::{Bounds, EPSILON, Parameter, SIGMA};
use super::{Diameters, PairPotential, Truncation};

/// Parameters that a potential may have beside the cutoff.
pub(super) const MOST_PARAMETERS: usize = 9;

/// Unit of the distances with which a potential without parameters in units of length is evaluated, where it is not one.
static UNIT: Parameter = Parameter {
    name: "unit of length",
    doc: "",
    bounds: Bounds::Positive,
    energy: 0,
    length: 0,
    of_all_pairs: None,
    example: 1.0,
};

/// Plans have had this key for all potentials since the first version.
const KAPPA: &str = "kappa";

/// Parameters of one (unordered) pair of species. WCA is Lennard-Jones with `cutoff = 2^(1/6) sigma`
/// and [`Truncation::Shifted`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairParameters {
    /// Absolute cutoff distance.
    pub cutoff: f64,
    values: [Option<(&'static Parameter, f64)>; MOST_PARAMETERS],
}

impl PairParameters {
    /// # Panics
    /// If there are too many parameters.
    pub fn new(
        cutoff: f64,
        parameters: impl IntoIterator<Item = (&'static Parameter, f64)>,
    ) -> Self {
        let mut values = [None; MOST_PARAMETERS];
        for (at, parameter) in parameters.into_iter().enumerate() {
            values[at] = Some(parameter);
        }
        PairParameters { cutoff, values }
    }

    /// Of a potential that has no others.
    pub fn of_epsilon_and_sigma(epsilon: f64, sigma: f64, cutoff: f64) -> Self {
        PairParameters::new(cutoff, [(&EPSILON, epsilon), (&SIGMA, sigma)])
    }

    /// With values of the parameters of a form, in the order of its description.
    pub fn of_form(form: PairPotential, cutoff: f64, values: &[f64]) -> Self {
        let parameters = form.description().parameters;
        assert_eq!(parameters.len(), values.len(), "one value for each parameter");
        PairParameters::new(cutoff, parameters.iter().copied().zip(values.iter().copied()))
    }

    /// `None`: the potential has no such parameter.
    pub fn get(&self, parameter: &Parameter) -> Option<f64> {
        self.all().find(|(other, _)| *other == parameter).map(|(_, value)| value)
    }

    /// # Panics
    /// If the potential has no such parameter.
    pub fn of(&self, parameter: &Parameter) -> f64 {
        self.get(parameter).unwrap_or_else(|| panic!("pairs have a parameter {}", parameter.name))
    }

    /// With another value of a parameter, or with one more.
    #[must_use]
    pub fn with(mut self, parameter: &'static Parameter, value: f64) -> Self {
        let is_place = |place: &&mut Option<(&Parameter, f64)>| {
            place.is_none_or(|(other, _)| other == parameter)
        };
        let place = self.values.iter_mut().find(is_place).expect("there is room for it");
        *place = Some((parameter, value));
        self
    }

    #[must_use]
    pub fn with_cutoff(self, cutoff: f64) -> Self {
        PairParameters { cutoff, ..self }
    }

    /// In the order of the description.
    pub fn all(&self) -> impl Iterator<Item = (&'static Parameter, f64)> {
        self.values.into_iter().flatten()
    }

    /// Length in whose units the width of a smoothing is given: sigma, or one where there is none.
    pub fn width_unit(&self) -> f64 {
        self.get(&SIGMA).unwrap_or(1.0)
    }

    /// Whether there are parameters in the unit of an energy, and all of them are zero.
    pub(super) fn has_no_energy(&self) -> bool {
        let mut energies = self.all().filter(|(parameter, _)| parameter.energy != 0).peekable();
        energies.peek().is_some() && energies.all(|(_, value)| value == 0.0)
    }

    /// The first parameter that is an energy: epsilon, where there is one.
    pub(super) fn amplitude(&self) -> (&'static Parameter, f64) {
        self.all()
            .find(|(parameter, _)| parameter.energy == 1 && parameter.length == 0)
            .expect("potentials have a parameter that is an energy")
    }

    /// Of a potential whose parameters have no units: its distances in units of `unit` cutoffs.
    pub(super) fn in_units_of_cutoff(self, unit: f64) -> Self {
        self.with(&UNIT, self.cutoff * unit).with_cutoff(1.0 / unit)
    }

    /// That unit, or one.
    pub(super) fn unit_of_length(&self) -> f64 {
        self.get(&UNIT).unwrap_or(1.0)
    }

    /// A pair of no energy with an amplitude of one; others as they are.
    #[must_use]
    pub fn with_some_energy(self) -> Self {
        if self.has_no_energy() { self.with(self.amplitude().0, 1.0) } else { self }
    }

    /// In units of its amplitude and of `unit` cutoffs, ratios of lengths rounded by `rounded`.
    pub(super) fn reduced(&self, unit: f64, rounded: impl Fn(f64) -> f64) -> Self {
        let (amplitude, energy) = self.with_some_energy().amplitude();
        let of_energy = |value, parameter: &Parameter| match () {
            _ if parameter == amplitude => 1.0,
            _ => value / power(energy, parameter.energy),
        };
        let mut reduced = PairParameters { cutoff: 1.0 / unit, ..*self };
        for (parameter, value) in reduced.values.iter_mut().flatten() {
            let value_of_energy = of_energy(*value, parameter);
            *value = match parameter.length {
                0 => value_of_energy,
                n if n > 0 => rounded(value_of_energy / power(self.cutoff, n)) / power(unit, n),
                n => rounded(value_of_energy * power(self.cutoff, -n)) * power(unit, -n),
            };
        }
        reduced
    }
}

/// By multiplication, so that every platform gives the same bits.
fn power(x: f64, n: i32) -> f64 {
    (0..n).fold(1.0, |product, _| product * x)
}

/// The complete definition of the interaction.
///
/// As JSON every pair has its parameters by name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "PlanOfNames")]
pub struct PotentialPlan {
    pub form: PairPotential,
    pub truncation: Truncation,
    /// `pairs[a][b] == pairs[b][a]`, in the order of the species.
    pub pairs: Vec<Vec<PairParameters>>,
    /// Where particles have diameters: all lengths of the pairs are then in units of those of two particles.
    pub diameters: Option<Diameters>,
}

/// A plan as it is read.
#[derive(Deserialize)]
struct PlanOfNames {
    form: PairPotential,
    truncation: Truncation,
    pairs: Vec<Vec<BTreeMap<String, f64>>>,
    #[serde(default)]
    diameters: Option<Diameters>,
}

impl TryFrom<PlanOfNames> for PotentialPlan {
    type Error = String;

    fn try_from(read: PlanOfNames) -> Result<Self, String> {
        let description = read.form.description();
        let pair = |values: BTreeMap<String, f64>| {
            let value = |name: &str| {
                values.get(name).copied().ok_or_else(|| format!("a pair without {name}"))
            };
            let parameters: Result<Vec<_>, String> = description
                .parameters
                .iter()
                .map(|parameter| Ok((*parameter, value(parameter.name)?)))
                .collect();
            Ok(PairParameters::new(value("cutoff")?, parameters?))
        };
        let row = |row: Vec<_>| row.into_iter().map(pair).collect();
        let pairs: Result<_, String> = read.pairs.into_iter().map(row).collect();
        Ok(PotentialPlan {
            form: read.form,
            truncation: read.truncation,
            pairs: pairs?,
            diameters: read.diameters,
        })
    }
}

impl Serialize for PotentialPlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parameters = self.form.description().parameters;
        let pair = |pair| PairOfNames { parameters, pair };
        let pairs: Vec<Vec<PairOfNames<'_>>> =
            self.pairs.iter().map(|row| row.iter().map(pair).collect()).collect();
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("form", &self.form)?;
        map.serialize_entry("truncation", &self.truncation)?;
        map.serialize_entry("pairs", &pairs)?;
        if let Some(diameters) = &self.diameters {
            map.serialize_entry("diameters", diameters)?;
        }
        map.end()
    }
}

/// A pair as it is written: in the order that plans have always had.
struct PairOfNames<'a> {
    parameters: &'a [&'static Parameter],
    pair: &'a PairParameters,
}

impl Serialize for PairOfNames<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_first = |parameter: &Parameter| parameter == &EPSILON || parameter == &SIGMA;
        let (first, others): (Vec<&Parameter>, Vec<&Parameter>) =
            self.parameters.iter().partition(|parameter| is_first(parameter));
        let mut map = serializer.serialize_map(None)?;
        for parameter in &first {
            map.serialize_entry(parameter.name, &self.pair.of(parameter))?;
        }
        map.serialize_entry("cutoff", &self.pair.cutoff)?;
        for parameter in &others {
            map.serialize_entry(parameter.name, &self.pair.of(parameter))?;
        }
        if !first.is_empty() && !others.iter().any(|parameter| parameter.name == KAPPA) {
            map.serialize_entry(KAPPA, &0.0)?;
        }
        map.end()
    }
}

impl PotentialPlan {
    /// Distance beyond which no two particles interact.
    pub fn largest_cutoff(&self) -> f64 {
        let cutoffs = self.pairs.iter().flatten().map(|pair| pair.cutoff);
        cutoffs.fold(0.0, f64::max) * self.diameters.map_or(1.0, |diameters| diameters.longest())
    }

    /// The least natural length of two particles.
    pub fn smallest_length(&self) -> f64 {
        let lengths = self.pairs.iter().flatten().map(|pair| self.form.scale(pair).length);
        lengths.fold(f64::INFINITY, f64::min) * self.shortest_unit()
    }

    /// The least unit of the pairs' lengths: one, or the shortest diameter of two particles.
    pub fn shortest_unit(&self) -> f64 {
        self.diameters.map_or(1.0, |diameters| diameters.shortest())
    }
}
