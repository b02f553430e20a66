//! Curves over the strain, `/strain/<name>/{strain,value,error}`, and plastic events, `/strain/events/...`.
use hdf5::SliceOrIndex;
use supercool_observables::StrainCurve;

use super::{Curve, Function, ResultsFile, group_at};
use crate::Result;
use crate::hdf5_file::{dataset, group};

/// What a stage of athermal quasi-static strain has found.
#[derive(Clone, Debug, PartialEq)]
pub struct Strain {
    /// Over the strain, in the order of the steps: it may turn.
    pub curves: Vec<(StrainCurve, Function)>,
    /// Points of the curves at whose step a plastic event has happened; of many systems none, whose curves are means.
    pub events: Vec<usize>,
    /// How many plastic events there were, in all systems or in the one that is read; of some of many systems not counted.
    pub count: Option<usize>,
}

impl ResultsFile {
    /// Curves over the strain; `None` of other stages.
    ///
    /// # Errors
    /// If numbers cannot be read.
    pub fn strain(&self) -> Result<Option<Strain>> {
        let Some(root) = group(&self.file.root, "strain") else { return Ok(None) };
        let integers = |path: &str| match dataset(&root, path) {
            Some(dataset) => self.file.numbers(&dataset),
            None => Ok(Vec::new()),
        };
        let (steps, strains) = (integers("step")?, integers("strain")?);
        let mut curves = Vec::new();
        for curve in StrainCurve::ALL {
            let path = self.path_of(&format!("strain/{}", curve.group()));
            let Some(of_curve) = group_at(&self.file.root, &path) else { continue };
            let numbers = |which: &str| match dataset(&of_curve, which) {
                Some(dataset) => self.series_values(&dataset, SliceOrIndex::from(..)),
                None => Ok(Vec::new()),
            };
            let (value, error) = (numbers("value")?, numbers("error")?);
            // A file that is being written may have rows of values that its strains do not have yet.
            let rows = value.len().min(strains.len());
            let mut error: Vec<f64> = error.into_iter().take(rows).collect();
            error.resize(rows, f64::NAN);
            let values = value.into_iter().take(rows).collect();
            let function = Function {
                group: String::new(),
                name: curve.group_name().to_owned(),
                argument: StrainCurve::AXIS.name().to_owned(),
                x: strains[..rows].to_vec(),
                curves: vec![Curve { value: values, error, ..Curve::default() }],
            };
            curves.push((curve, function));
        }
        let of_whole = !self.is_system();
        let is_mean = of_whole && self.file.root.link_exists("systems");
        let (systems, at_steps) = (integers("events/system")?, integers("events/step")?);
        let is_of = |system: f64| of_whole || self.index().is_some_and(|own| own as f64 == system);
        let of_system: Vec<f64> = systems
            .iter()
            .zip(&at_steps)
            .filter(|(system, _)| is_of(**system))
            .map(|(_, &step)| step)
            .collect();
        let is_part = of_whole && self.index().is_some();
        let count = (!is_part).then_some(of_system.len());
        let at = |step: f64| steps.iter().position(|&of_point| of_point == step);
        let mut events: Vec<usize> = match is_mean {
            true => Vec::new(),
            false => of_system.into_iter().filter_map(at).collect(),
        };
        events.dedup();
        Ok(Some(Strain { curves, events, count }))
    }
}
