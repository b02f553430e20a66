//! What can be plotted, and the words for it.
use supercool_observables::{
    Descriptor, DynamicObservable, StrainCurve, StructureFunction, TimeSeries,
};

/// What can be plotted: what has a figure in the tables of [`supercool_observables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A scalar over time.
    TimeSeries(TimeSeries),
    /// A time correlation.
    Dynamics(DynamicObservable),
    /// An average over configurations.
    Structure(StructureFunction),
    /// A curve over the strain.
    Strain(StrainCurve),
}

impl Quantity {
    /// All, in the order of the panels.
    pub fn all() -> Vec<Quantity> {
        let time_series = TimeSeries::ALL.into_iter().map(Quantity::TimeSeries);
        let dynamics = DynamicObservable::ALL.into_iter().map(Quantity::Dynamics);
        let structure = StructureFunction::ALL.into_iter().map(Quantity::Structure);
        let strain = StrainCurve::ALL.into_iter().map(Quantity::Strain);
        let all = time_series.chain(dynamics).chain(structure).chain(strain);
        all.filter(|quantity| quantity.descriptor().figure.is_some()).collect()
    }

    /// What is known of it.
    pub fn descriptor(self) -> &'static Descriptor {
        match self {
            Quantity::TimeSeries(series) => series.descriptor(),
            Quantity::Dynamics(observable) => observable.descriptor(),
            Quantity::Structure(function) => function.descriptor(),
            Quantity::Strain(curve) => curve.descriptor(),
        }
    }

    /// Name of the group in a results file, and the word of the command line (there with `-` for `_`).
    pub fn name(self) -> &'static str {
        self.descriptor().name
    }
}

impl std::str::FromStr for Quantity {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wanted = text.trim().replace('-', "_").to_lowercase();
        let all = Quantity::all();
        all.iter().copied().find(|quantity| quantity.name() == wanted).ok_or_else(|| {
            let names: Vec<String> =
                all.iter().map(|quantity| quantity.name().replace('_', "-")).collect();
            match meant(&wanted, &all) {
                Some(name) => format!("unknown quantity `{text}`; did you mean `{name}`?"),
                None => format!("unknown quantity `{text}`; there are {}", names.join(", ")),
            }
        })
    }
}

/// Short names that are in use.
const SHORT: [(&str, &str); 8] = [
    ("alpha_2", "non_gaussian_parameter"),
    ("alpha2", "non_gaussian_parameter"),
    ("chi_4", "self_overlap_susceptibility"),
    ("chi4", "self_overlap_susceptibility"),
    ("rdf", "pair_distribution"),
    ("gr", "pair_distribution"),
    ("sq", "structure_factor"),
    ("fs", "self_intermediate_scattering_function"),
];

/// The quantity that an unknown word may stand for: by a short name, its initials, or its spelling.
fn meant(typed: &str, all: &[Quantity]) -> Option<String> {
    let initials =
        |name: &str| -> String { name.split('_').filter_map(|word| word.chars().next()).collect() };
    let names = || all.iter().map(|quantity| quantity.name());
    let short = SHORT.iter().find(|(short, _)| *short == typed).map(|&(_, name)| name);
    let short = short.and_then(|wanted| names().find(|&name| name == wanted));
    let by_initials = || names().find(|name| typed.len() > 1 && initials(name) == typed);
    let by_spelling = || {
        let distance = |name: &&str| strsim::damerau_levenshtein(typed, name);
        let is_near = |name: &&str| typed.len() <= 64 && distance(name) <= 1 + name.len() / 4;
        names().filter(is_near).min_by_key(distance)
    };
    let name = short.or_else(by_initials).or_else(by_spelling)?;
    Some(name.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_mistyped_names_are_understood() {
        let says = |typed: &str| typed.parse::<Quantity>().unwrap_err();
        for (typed, name) in [
            ("msd", "mean-square-displacement"),
            ("MSD", "mean-square-displacement"),
            ("alpha-2", "non-gaussian-parameter"),
            ("presure", "pressure"),
            ("mean-squared-displacement", "mean-square-displacement"),
        ] {
            assert!(says(typed).ends_with(&format!("did you mean `{name}`?")), "{}", says(typed));
        }
        assert!(says("colour").contains("there are"), "{}", says("colour"));
        assert!("mean_square_displacement".parse::<Quantity>().is_ok());
    }

    #[test]
    fn quantities_are_found_by_name_and_the_message_lists_them() {
        for quantity in Quantity::all() {
            assert_eq!(quantity.name().replace('_', "-").parse(), Ok(quantity));
        }
        assert!("msd".parse::<Quantity>().unwrap_err().contains("mean-square-displacement"));
    }
}
