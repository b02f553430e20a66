//! What a potential says of itself: words, formula, parameters with units and bounds.
use super::{PairPotential, Truncation};

/// A parameter of a pair of species: a key of `[potential.pairs.AB]`.
#[derive(Debug)]
pub struct Parameter {
    /// Key in the configuration and in plans. One name means one thing in all potentials.
    pub name: &'static str,
    /// Documentation of the key.
    pub doc: &'static str,
    pub bounds: Bounds,
    /// Powers of energy and of length in its unit.
    pub energy: i32,
    pub length: i32,
    /// Documentation of the key in `[potential]` that gives it for all pairs; `None`: every pair has its own.
    pub of_all_pairs: Option<&'static str>,
    /// Stands in messages that show how the key is written.
    pub example: f64,
}

/// Values that a parameter may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    Positive,
    NotNegative,
    Any,
}

impl PartialEq for Parameter {
    fn eq(&self, other: &Parameter) -> bool {
        self.name == other.name
    }
}

/// Energy scale of potentials that have one.
pub static EPSILON: Parameter = Parameter {
    name: "epsilon",
    doc: "Energy of the pair. The largest is between 1e-9 and 1e6, in `fixed-point` between 1e-6 and 1e5.",
    bounds: Bounds::NotNegative,
    energy: 1,
    length: 0,
    of_all_pairs: None,
    example: 1.0,
};

/// Length scale of potentials that have one.
pub static SIGMA: Parameter = Parameter {
    name: "sigma",
    doc: "Length of the pair: between 0.01 and 100, but in `double`.",
    bounds: Bounds::Positive,
    energy: 0,
    length: 1,
    of_all_pairs: None,
    example: 1.0,
};

const EPSILON_AND_SIGMA: &[&Parameter] = &[&EPSILON, &SIGMA];

/// An exponent that all pairs share: a key of `[potential]`.
#[derive(Debug)]
pub struct Exponent {
    pub name: &'static str,
    /// Documentation of the key.
    pub doc: &'static str,
    /// From this to [`LARGEST_EXPONENT`](super::LARGEST_EXPONENT).
    pub least: u32,
    /// Stands in messages that show how the key is written.
    pub example: u32,
}

/// Cutoff and truncation of a potential that has them by definition.
#[derive(Clone, Copy, Debug)]
pub struct OwnEnd {
    /// In units of each pair's sigma, and in words.
    pub cutoff: f64,
    pub cutoff_in_words: &'static str,
    /// The one that it has if nothing is given; `smooth` is the only other.
    pub truncation: Truncation,
}

/// What is wrong with the parameters of a potential.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The key that would have to change.
    pub key: &'static str,
    pub message: String,
    pub help: String,
}

/// Names of a pair's natural energy and length ([`Scale`]) in messages.
#[derive(Clone, Copy, Debug)]
pub struct ScaleNames {
    pub energy: &'static str,
    pub length: &'static str,
}

/// Natural energy and length of a pair: estimates, bounds of timesteps and warnings go by them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    pub energy: f64,
    pub length: f64,
}

/// A word of `potential.kind` and what belongs to it.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    pub word: &'static str,
    /// The formula, as documentation of the word.
    pub doc: &'static str,
    /// Given once for all pairs.
    pub exponents: &'static [&'static Exponent],
    /// Given for every pair, beside the cutoff.
    pub parameters: &'static [&'static Parameter],
    pub scale: ScaleNames,
    pub own_end: Option<OwnEnd>,
    pub form: FormOf,
}

/// What a form is made of.
#[derive(Clone, Copy, Debug)]
pub enum FormOf {
    /// Its exponents, in their order.
    Exponents(fn(&[u32]) -> Result<PairPotential, Fault>),
    /// A formula that the user writes.
    Formula,
    /// Files of the pairs.
    Tables,
}

impl Description {
    /// What potentials of epsilon and sigma have in common; word, documentation and form are still to be given.
    pub const fn of_epsilon_and_sigma(
        word: &'static str,
        doc: &'static str,
        form: fn(&[u32]) -> Result<PairPotential, Fault>,
    ) -> Self {
        Description {
            word,
            doc,
            exponents: &[],
            parameters: EPSILON_AND_SIGMA,
            scale: ScaleNames { energy: "epsilon", length: "sigma" },
            own_end: None,
            form: FormOf::Exponents(form),
        }
    }

    /// Whether lengths may be given in units of sigma.
    pub fn has_sigma(&self) -> bool {
        self.takes(SIGMA.name)
    }

    /// Whether a key is one of its parameters.
    pub fn takes(&self, name: &str) -> bool {
        self.parameters.iter().any(|parameter| parameter.name == name)
    }
}
