//! What results files hold: one [`Descriptor`] each, in four tables.
//!
//! - [`DynamicObservable`]: time correlations, and the words of `observables` in a configuration.
//! - [`TimeSeries`]: scalars that are sampled while a run goes on.
//! - [`StructureFunction`]: averages over configurations.
//! - [`StrainCurve`]: curves over the strain.
//!
//! Plain data, of which a simulation makes its files, and a reader its figures. Nothing here computes anything. Reduced
//! units throughout.
#![warn(missing_docs)]

mod axis;
mod descriptor;
mod dynamics;
mod strain;
mod structure;
mod time_series;

pub use axis::Axis;
pub use descriptor::{Descriptor, Figure, Scale, Section, Unit};
pub use dynamics::DynamicObservable;
pub use strain::StrainCurve;
pub use structure::StructureFunction;
pub use time_series::TimeSeries;

/// An enum whose variants have a documentation, which is that of the configuration too, and a [`Descriptor`].
macro_rules! described {
    (
        $(#[$attribute:meta])*
        pub enum $Described:ident {
            $($(#[doc = $doc:literal])+ $variant:ident: $descriptor:expr;)+
        }
    ) => {
        $(#[$attribute])*
        pub enum $Described {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl $Described {
            /// All, in the order of the table.
            pub const ALL: [$Described; [$(stringify!($variant)),+].len()] =
                [$($Described::$variant),+];

            /// What is known of it.
            pub fn descriptor(self) -> &'static $crate::Descriptor {
                const DESCRIPTORS: &[$crate::Descriptor] = &[$($descriptor),+];
                &DESCRIPTORS[self as usize]
            }

            /// Name of the group in a results file.
            pub fn group_name(self) -> &'static str {
                self.descriptor().name
            }

            /// The one of this name in results files; `None` for one that this version does not know.
            pub fn of_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|each| each.group_name() == name)
            }
        }
    };
}
use described;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_configuration_and_occur_once() {
        let mut names = Vec::new();
        for observable in DynamicObservable::ALL {
            let word = serde_json::to_value(observable).unwrap();
            assert_eq!(word, observable.word(), "{observable:?}");
            assert_eq!(serde_json::from_value::<DynamicObservable>(word).unwrap(), observable);
            assert_eq!(DynamicObservable::of_name(observable.group_name()), Some(observable));
            names.push(observable.group_name());
        }
        names.extend(TimeSeries::ALL.map(TimeSeries::group_name));
        names.extend(StructureFunction::ALL.map(StructureFunction::group_name));
        names.extend(StrainCurve::ALL.map(StrainCurve::group_name));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert_eq!(DynamicObservable::of_name("of_another_version"), None);
    }

    #[test]
    fn functions_are_drawn_over_distance_time_or_wave_number() {
        let abscissa = |observable: DynamicObservable| observable.descriptor().abscissa();
        assert_eq!(abscissa(DynamicObservable::SelfVanHoveFunction), Axis::Distance);
        assert_eq!(abscissa(DynamicObservable::SelfIntermediateScatteringFunction), Axis::Time);
        let of_structure = StructureFunction::ALL.map(|each| each.descriptor().abscissa());
        assert_eq!(of_structure, [Axis::Distance, Axis::Wavenumber]);
    }

    #[test]
    fn axes_show_where_a_function_begins() {
        let shown = |observable: DynamicObservable| observable.descriptor().shown_values();
        assert_eq!(shown(DynamicObservable::SelfOverlap), [0.0, 1.0]);
        assert_eq!(shown(DynamicObservable::NonGaussianParameter), [0.0]);
        assert_eq!(shown(DynamicObservable::MeanSquareDisplacement), [0.0; 0]);
    }
}
