//! What comes out: averages over time origins, with their axes and errors.
use supercool_analysis::drift::is_moved;
use supercool_statistics::{FEWEST_INDEPENDENT, Known};

use super::Correlations;
use crate::observable::accumulator::BlockAverage;
use crate::observable::dynamics::affine::PeculiarMotion;
use crate::observable::dynamics::correlation::Correlation;
use crate::observable::dynamics::evaluator::Evaluator;
use crate::observable::dynamics::stress_correlator::StressCorrelator;
use crate::observable::dynamics::terms::Rows;
use crate::observable::series::{Axis, AxisName, Shells};
use crate::observable::{Series, SeriesLayout};

/// With fewer windows after each other there is no error: origins of overlapping windows follow the same motion, so that
/// their differences tell little of the value's.
const FEWEST_FOR_ERROR: u64 = FEWEST_INDEPENDENT as u64;
/// In units of the relaxation time: at shorter lags particles are still in their cages, and what is slower changes little.
const SHORT: f64 = 0.01;
/// Decay time of fluctuations of the mobility, in units of the relaxation time. Windows that count as independent are as far
/// apart, beside the lag itself.
const SLOW: f64 = 1.25;
/// In units of the relaxation time: at longer lags what is slow shows among neighboring blocks of windows, which are as long
/// as it is, and need not be known.
const HIDDEN: f64 = 1.0 / 3.0;
/// What is slow is taken for no slower than this fraction of the stage.
const FEWEST_MEMORIES: f64 = 12.0;
/// In units of the relaxation time: at longer lags displacements are those of random walks.
const WALK: f64 = 3.0;

impl Correlations {
    /// Series in the order of [`results`](Self::results): by observable, then by part.
    pub fn layouts(&self) -> Vec<SeriesLayout> {
        let time = |lag: &u64| (lag * self.interval) as f64 * self.context.timestep;
        let simulation_box = &self.context.simulation_box;
        let dimension = simulation_box.dimension();
        let waiting = self.origins.as_ref().map(|grid| Axis {
            name: AxisName::WaitingTime,
            values: grid.origins.iter().map(time).collect(),
        });
        let layout = |SeriesOf { path, observable, rows, .. }: SeriesOf<'_>| {
            let lags = self.origins.as_ref().map_or(&self.lags, |grid| &grid.lags);
            let lags = &lags[first_lag(observable)..];
            let times = Axis { name: AxisName::Time, values: lags.iter().map(time).collect() };
            let (row_axis, shells) = match rows {
                Rows::One => (None, None),
                Rows::Shells(shells) => {
                    let values = shells.iter().map(|shell| shell.wavenumber).collect();
                    let vectors = Shells::new(shells, simulation_box);
                    (Some(Axis { name: AxisName::Wavenumber, values }), Some(vectors))
                }
                Rows::Distances(distances) => {
                    (Some(Axis { name: AxisName::Distance, values: distances.to_vec() }), None)
                }
            };
            SeriesLayout {
                path,
                axes: row_axis.into_iter().chain(waiting.clone()).chain([times]).collect(),
                shells,
                unit: observable.kind().descriptor().unit.text(dimension),
                formula: observable.formula()
                    + self.in_flow(observable)
                    + &self.windows(observable)
                    + self.waiting()
                    + self.frame(observable),
                has_change: self.has_change(observable),
                is_fluctuation: observable.is_fluctuation() && self.origins.is_none(),
            }
        };
        self.series().map(layout).collect()
    }

    /// Averages over the time origins so far; before [`finish`](Self::finish), those of full blocks.
    ///
    /// The error is NaN where fewer than eight independent windows fit into the stage, and, beyond lag zero, where all
    /// origins give the same: no particle counted in any, or all, tell nothing of how often it happens. What is slower
    /// than the lag is in the error by [`relaxation`](Self::relaxation).
    pub fn results(&self) -> Vec<Series> {
        let relaxation = self.relaxation();
        let series = |of: SeriesOf<'_>| {
            let mut series = Series::empty(of.path.clone());
            let has_change = self.has_change(of.observable);
            for (row, vectors) in of.averages.iter().zip(of.rows.vectors()) {
                for lag in self.defined_lags(of.observable) {
                    let average = &row[lag];
                    let origins = average.count();
                    let per_origin = of.observable.samples_per_origin(of.particles, vectors);
                    if origins < of.observable.fewest_origins() {
                        // One origin of each of many systems makes a fluctuation.
                        let samples = if self.origins.is_some() { origins * per_origin } else { 0 };
                        series.push(f64::NAN, f64::NAN, samples);
                        series.change.extend(has_change.then_some([f64::NAN; 2]));
                        continue;
                    }
                    let (value, gradient) = of.observable.value(of.particles, average.mean());
                    let error = self.error(of.observable, lag, average, &gradient, relaxation);
                    series.push(value, error, origins * per_origin);
                    if has_change {
                        let change = average.change(&gradient);
                        let change = change.map(|change| [change.value, change.error]);
                        series.change.push(change.unwrap_or([f64::NAN; 2]));
                    }
                }
            }
            series
        };
        self.series().map(series).collect()
    }

    /// Whether an average over later time origins is compared with that over the first ones.
    fn has_change(&self, observable: &dyn Correlation) -> bool {
        observable.departure().is_some() && self.origins.is_none()
    }

    /// Indices of the lags at which an observable is defined; from given time origins those of each, one after the other.
    pub(super) fn defined_lags(&self, observable: &dyn Correlation) -> impl Iterator<Item = usize> {
        let of_origin = self.origins.as_ref().map_or(self.lags.len(), |grid| grid.lags.len());
        let first = first_lag(observable);
        (0..self.lags.len()).filter(move |lag| lag % of_origin >= first)
    }

    /// Of the value at a lag; `relaxation` in sampling intervals.
    fn error(
        &self,
        observable: &dyn Correlation,
        lag: usize,
        average: &BlockAverage,
        gradient: &[f64],
        relaxation: f64,
    ) -> f64 {
        let spacing = self.spacing_of_origins(observable, lag);
        let (time, relaxation) = (self.lags[lag] as f64 / spacing, relaxation / spacing);
        if independent_windows(time, relaxation, average.count()) < FEWEST_FOR_ERROR {
            return f64::NAN;
        }
        if average.is_constant() {
            return if lag == 0 { 0.0 } else { f64::NAN };
        }
        // Windows of particles that have left their places long ago are those of random walks, whose squared displacements
        // have the correlation (1 - t'/t)^2 at origins t' apart; other functions forget sooner.
        let walks =
            observable.departure().is_some() && relaxation > 0.0 && time > WALK * relaxation;
        let most = average.count() as f64 / FEWEST_MEMORIES;
        let known = Known {
            memory: if time < HIDDEN * relaxation { most.min(SLOW * relaxation) } else { 0.0 },
            longest: if walks { 2.0 / 3.0 * time } else { 0.0 },
        };
        average.error_knowing(gradient, known)
    }

    /// Where an observable is one of the stress.
    fn stress_of(&self, observable: &dyn Correlation) -> Option<&StressCorrelator> {
        self.stress.as_ref().filter(|_| observable.source().is_of_stress())
    }

    /// Between time origins of a lag, in sampling intervals.
    fn spacing_of_origins(&self, observable: &dyn Correlation, lag: usize) -> f64 {
        if let Some(frames) = &self.frames {
            return frames.times().spacing(lag);
        }
        let blocks = self.plan.blocks();
        let spacing = (blocks.ratio as f64).powi(blocks.place(lag).0 as i32);
        let stress = self.stress_of(observable);
        spacing / stress.map_or(1.0, |stress| stress.origins_per_spacing(lag) as f64)
    }

    /// Over which the stress is averaged, as text for the file.
    fn windows(&self, observable: &dyn Correlation) -> String {
        let Some([lag, window]) = self.stress_of(observable).and_then(StressCorrelator::windows)
        else {
            return String::new();
        };
        let (steps, parts) = (lag * self.plan.every, lag / window);
        format!("; from t = {steps} steps on, s is a mean over 1/{parts} of the spacing of lags")
    }

    /// Which time origins, where they are given, as text for the file.
    fn waiting(&self) -> &'static str {
        match self.origins {
            Some(_) => "; from the time origin t_w after the start of the stage",
            None => "",
        }
    }

    /// Where motion of the centre of mass is taken away, as text for the file.
    fn frame(&self, observable: &dyn Correlation) -> &'static str {
        match self.plan.remove_drift && is_moved(observable.kind().group_name()) {
            true => "; relative to the centre of mass of all particles",
            false => "",
        }
    }

    /// What a flow makes of the formula, as text for the file.
    fn in_flow(&self, observable: &dyn Correlation) -> &'static str {
        if !self.motion.as_ref().is_some_and(PeculiarMotion::is_in_flow) {
            return "";
        }
        match observable.source().evaluator {
            Evaluator::Particles | Evaluator::Cages => {
                "; displacements beside the flow, x - int rate y dt in the place of x"
            }
            Evaluator::Densities => " that are across the flow, q_x = 0",
            Evaluator::Host => {
                " that are across the flow, q_x = 0; displacements beside the flow, x - int rate y dt in the place of x"
            }
            Evaluator::Bonds => "; distances in the box of each of the two times",
            Evaluator::Places | Evaluator::Stress => "",
        }
    }

    /// Everything that has a path, in the order of output.
    pub(super) fn series(&self) -> impl Iterator<Item = SeriesOf<'_>> {
        self.channels.iter().flat_map(move |channel| {
            let observable = &*channel.observable;
            channel.parts.iter().zip(&channel.averages).map(move |(part, averages)| SeriesOf {
                path: format!("{}/{}", part.name(&self.context), observable.kind().group_name()),
                observable,
                rows: self.terms[channel.terms].1.rows(),
                particles: part.particles(&self.context),
                averages,
            })
        })
    }
}

/// One observable of one part.
pub(super) struct SeriesOf<'a> {
    path: String,
    pub observable: &'a dyn Correlation,
    rows: Rows<'a>,
    pub particles: usize,
    /// By row, lag.
    pub averages: &'a [Vec<BlockAverage>],
}

/// Of the origins of a lag, those whose windows do not overlap, at most `duration / lag + 1`; where the lag reaches into
/// the relaxation of the liquid, those that are relaxation times apart. All times are in units of the distance of origins.
fn independent_windows(lag: f64, relaxation: f64, origins: u64) -> u64 {
    let apart = lag + if lag > SHORT * relaxation { SLOW * relaxation } else { 0.0 };
    // Each is at least one origin.
    let between = (origins.saturating_sub(1) as f64 / apart.max(1.0)) as u64;
    between + u64::from(origins > 0)
}

/// Index of the first lag at which an observable is defined.
fn first_lag(observable: &dyn Correlation) -> usize {
    usize::from(!observable.has_lag_zero())
}
