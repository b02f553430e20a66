//! What is registered of an observable.
use super::correlation::Correlation;
use super::source::Source;
use crate::observable::SampleContext;
use crate::plan::{CorrelationPlan, DynamicObservable};

/// An observable: where its terms come from, and what it makes of them.
pub struct Definition {
    pub source: &'static Source,
    pub(super) correlation: fn(&CorrelationPlan, &SampleContext) -> Box<dyn Correlation>,
}

/// The table of observables: the word of each, as `observables/src/dynamics.rs` has it, and its [`Definition`].
macro_rules! observables {
    ($($observable:ident => $module:ident::$definition:ident;)+) => {
        /// The only place that tells observables apart.
        pub fn definition(observable: $crate::plan::DynamicObservable) -> &'static registry::Definition {
            match observable {
                $($crate::plan::DynamicObservable::$observable => &$module::$definition,)+
            }
        }
    };
}
pub(super) use observables;

/// Every observable of the plan, in its order.
pub(super) fn correlations(
    plan: &CorrelationPlan,
    context: &SampleContext,
) -> Vec<Box<dyn Correlation>> {
    let make = |&kind: &DynamicObservable| (super::definition(kind).correlation)(plan, context);
    plan.observables.iter().map(make).collect()
}

/// All sources, each once, in the order of the observables that have them.
pub fn sources() -> Vec<&'static Source> {
    let mut sources: Vec<&'static Source> = Vec::new();
    for source in DynamicObservable::ALL.map(Source::of) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    sources
}

/// Constants of the texts of all kernels, each once.
pub fn kernel_constants() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for name in sources().iter().flat_map(|source| source.constants) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use supercool_observables::Axis;

    use super::super::source::Need;
    use super::*;
    use crate::observable::trajectories::context;
    use crate::plan::{BondPlan, VanHovePlan};

    #[test]
    fn every_observable_is_registered_as_what_it_is() {
        let context = context(&[6.0, 7.0, 8.0], &[20, 10], 100);
        let plan = CorrelationPlan {
            every: 1,
            block_size: 4,
            levels: 2,
            level_ratio: None,
            wavenumbers: vec![2.0],
            vectors_per_shell: 14,
            overlap_length: 0.3,
            remove_drift: false,
            cage_radius: Some(1.3),
            bonds: Some(BondPlan { radius: 1.3, breaking_radius: 1.6 }),
            van_hove: VanHovePlan { maximum_distance: 2.0, bin_width: 0.1 },
            species: vec![0, 1],
            diameter_classes: None,
            origins: Vec::new(),
            observables: DynamicObservable::ALL.to_vec(),
        };
        let correlations = correlations(&plan, &context);
        for (kind, correlation) in DynamicObservable::ALL.into_iter().zip(correlations) {
            assert_eq!(correlation.kind(), kind);
            let (source, axes) = (Source::of(kind), kind.descriptor().axes);
            assert_eq!(source.needs.contains(&Need::Wavenumbers), axes.contains(&Axis::Wavenumber));
            assert_eq!(source.needs.contains(&Need::Bins), axes.contains(&Axis::Distance));
            assert_eq!(source.needs.contains(&Need::CageRadius), source.is_in_cages());
        }
    }
}
