//! How long particles take to leave their places: how far apart time origins must be to be independent.
//!
//! The mobility of a supercooled liquid fluctuates, of all its particles together, and keeps its value for about as long as
//! the liquid relaxes. Time origins within that time see the same mobility, whatever their number.
use super::{Channel, Correlations};
use crate::observable::dynamics::correlation::Places;
use crate::observable::dynamics::part::Part;
use crate::observable::dynamics::terms::Rows;

/// Mean square displacement of particles that have left their places, in units of the square of `overlap_length`: about
/// where the self-overlap is 1/e.
const LEFT: f64 = 2.0;

impl Correlations {
    /// In sampling intervals, of the slowest species and the slowest function that tells: the lag at which the mean square
    /// displacement is twice the square of the overlap length, at which the self-overlap is 1/e, or the scattering function
    /// of the largest wave number 1/e or as small as that displacement makes it, if this is larger. In a glass displacements
    /// get there first, by the particles that have left their cages.
    /// The longest lag where they do not get there; zero where none of them is observed, and where time origins are given, of which
    /// each is alone.
    pub(super) fn relaxation(&self) -> f64 {
        if self.origins.is_some() {
            return 0.0;
        }
        let tells = |channel: &&Channel| channel.observable.departure().is_some();
        let of_channel = |channel| {
            let parts = self.parts_of(channel);
            parts.map(|(index, part)| self.relaxation_of(channel, index, part)).fold(0.0, f64::max)
        };
        self.channels.iter().filter(tells).map(of_channel).fold(0.0, f64::max)
    }

    /// Species of a channel, with their indices.
    fn parts_of<'a>(&self, channel: &'a Channel) -> impl Iterator<Item = (usize, Part)> + 'a {
        let parts = channel.parts.iter().copied().enumerate();
        parts.filter(|(_, part)| matches!(part, Part::Species(_)))
    }

    fn relaxation_of(&self, channel: &Channel, index: usize, part: Part) -> f64 {
        let observable = &*channel.observable;
        let Some(departure) = observable.departure() else { return 0.0 };
        let wavenumber = match self.terms[channel.terms].1.rows() {
            Rows::Shells(shells) => shells.last().map_or(0.0, |shell| shell.wavenumber),
            _ => 0.0,
        };
        let places = Places {
            squared_distance: LEFT * self.plan.overlap_length.powi(2),
            wavenumber,
            dimension: self.context.simulation_box.dimension() as f64,
        };
        let particles = part.particles(&self.context);
        let (mut time, mut before) = (0.0, 0.0);
        let Some(averages) = channel.averages[index].last() else { return 0.0 };
        for (&lag, average) in self.lags.iter().zip(averages).skip(1) {
            if average.count() == 0 {
                break;
            }
            let (value, _) = observable.value(particles, average.mean());
            let (lag, now) = (lag as f64, departure(value, &places));
            // What is below zero, or no number, has decayed.
            if !(now < 1.0) {
                let share = if now.is_finite() { (1.0 - before) / (now - before) } else { 1.0 };
                return time + share * (lag - time);
            }
            (time, before) = (lag, now);
        }
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observable::trajectories::{context, random_walk};
    use crate::plan::{CorrelationPlan, DynamicObservable, VanHovePlan};

    #[test]
    fn particles_leave_their_places_when_the_displacement_says_so() {
        // 0.01 an axis and step: 18 steps to 3 * 0.01 * 18 = 2 * 0.52^2.
        let context = context(&[6.0, 7.0, 8.0], &[400], 299);
        let walk = random_walk(&context, 3, 0.1, 0, 1, 300);
        let relaxation = |observable: DynamicObservable, overlap_length: f64| {
            let plan = CorrelationPlan {
                every: 1,
                block_size: 6,
                levels: 3,
                level_ratio: None,
                wavenumbers: vec![1.0, 3.0],
                vectors_per_shell: 14,
                overlap_length,
                remove_drift: false,
                cage_radius: None,
                bonds: None,
                van_hove: VanHovePlan { maximum_distance: 2.0, bin_width: 0.1 },
                species: vec![0],
                diameter_classes: None,
                origins: Vec::new(),
                observables: vec![observable],
            };
            let mut correlations = Correlations::new(&plan, &context).unwrap();
            walk.iter().for_each(|snapshot| correlations.sample(snapshot, None));
            correlations.finish();
            correlations.relaxation()
        };
        for observable in [
            DynamicObservable::MeanSquareDisplacement,
            DynamicObservable::SelfOverlap,
            DynamicObservable::SelfIntermediateScatteringFunction,
        ] {
            let found = relaxation(observable, 0.52);
            assert!((14.0..24.0).contains(&found), "{observable:?}: {found}");
            // The longest lag.
            assert_eq!(relaxation(DynamicObservable::MeanSquareDisplacement, 6.0), 180.0);
        }
        assert_eq!(relaxation(DynamicObservable::VelocityAutocorrelation, 0.52), 0.0);
    }
}
