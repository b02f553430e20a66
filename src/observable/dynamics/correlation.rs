//! What a time correlation has to say about itself.
use super::part::Part;
use super::source::Source;
use crate::plan::DynamicObservable;

/// When particles have left their places.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// Their mean square displacement then.
    pub squared_distance: f64,
    /// Largest wave number of the function; zero if it has none.
    pub wavenumber: f64,
    pub dimension: f64,
}

/// A function of the lag time, averaged over time origins.
///
/// Every time origin gives *terms* ([`Source`]): means over the particles of a part, say. From these the
/// observable makes one or two *components*, which are averaged over time origins; the value is a
/// function of these averages.
pub trait Correlation: Send + Sync {
    fn kind(&self) -> DynamicObservable;

    /// Definition, as text for the file.
    fn formula(&self) -> String;

    /// Origins that a value takes.
    fn fewest_origins(&self) -> u64 {
        1
    }

    /// Where its terms come from.
    fn source(&self) -> &'static Source {
        Source::of(self.kind())
    }

    /// What it is averaged over, in a system of `species` species; averages of single species are made for the
    /// `listed` ones.
    fn parts(&self, species: usize, listed: &[usize]) -> Vec<Part> {
        Part::species_and_sum(species, listed)
    }

    /// Averages over time origins that one value is made of.
    fn components(&self) -> usize {
        1
    }

    /// Whether it is a fluctuation over time origins: that over the origins of many systems is another one.
    fn is_fluctuation(&self) -> bool {
        false
    }

    /// Whether the value exists at lag zero.
    fn has_lag_zero(&self) -> bool {
        true
    }

    /// Components of one time origin from its terms.
    fn of_origin(&self, terms: &[f64], components: &mut [f64]) {
        components.copy_from_slice(terms);
    }

    /// Value as a function of the averages, and its gradient.
    fn value(&self, _particles: usize, averages: &[f64]) -> (f64, [f64; 2]) {
        (averages[0], [1.0, 0.0])
    }

    /// How far particles have left the places of the time origin where the function has a value; one where their mean square
    /// displacement is [`Places::squared_distance`]. `None`: the function does not tell it.
    fn departure(&self) -> Option<fn(f64, &Places) -> f64> {
        None
    }

    /// Number of samples that one time origin counts as; `vectors`: those of the shell.
    fn samples_per_origin(&self, particles: usize, _vectors: u64) -> u64 {
        particles as u64
    }
}
