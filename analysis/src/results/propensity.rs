//! `/propensity`: what runs from the same configurations tell of their particles.
use super::ResultsFile;
use crate::Result;
use crate::hdf5_file::{dataset, group, members};

/// One observable, after the last time that was reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Propensity {
    /// `displacement`, ...
    pub name: String,
    /// Of each species.
    pub species: Vec<OfSpecies>,
}

/// Averages over the particles of a species.
#[derive(Clone, Debug, PartialEq)]
pub struct OfSpecies {
    /// Its name.
    pub species: String,
    /// Mean over particles, runs and configurations.
    pub mean: f64,
    /// Share of the variance that the configuration determines; NaN where there is none.
    pub predictable_share: f64,
    /// Its standard error.
    pub error: f64,
}

/// Propensities of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Propensities {
    /// Times that were reached.
    pub measured: usize,
    /// Times that there will be.
    pub times: usize,
    /// The last that was reached, if one was.
    pub last: Option<f64>,
    /// What the error leaves out one after the other.
    pub jackknife_over: String,
    /// Empty before the first time.
    pub observables: Vec<Propensity>,
}

impl ResultsFile {
    /// Propensities, if the file has any.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn propensities(&self) -> Result<Option<Propensities>> {
        let Some(root) = group(&self.file.root, "propensity") else { return Ok(None) };
        let Some(time) = dataset(&root, "time") else { return Ok(None) };
        let times = self.file.numbers(&time)?;
        let measured = self.number("propensity/measured").unwrap_or(0.0) as usize;
        let measured = measured.min(times.len());
        let names = self.species();
        let (mut observables, mut jackknife_over) = (Vec::new(), String::new());
        for name in members(&root) {
            let Some(element) = group(&root, &name) else { continue };
            let read = |which: &str| -> Result<Vec<f64>> {
                dataset(&element, which).map_or(Ok(Vec::new()), |from| self.file.numbers(&from))
            };
            let columns =
                [read("mean")?, read("predictable_share")?, read("predictable_share_error")?];
            if columns.iter().any(|column| column.len() != times.len() * names.len()) {
                return Err(self.file.bad(format!("{}: not [times, species]", element.name())));
            }
            if let Some(error) = dataset(&element, "predictable_share_error") {
                let over = self.file.text_attribute(&error, "jackknife_over");
                jackknife_over = over.unwrap_or_default();
            }
            let Some(row) = measured.checked_sub(1) else { continue };
            let of_species = |(number, (species, _)): (usize, &(String, u64))| {
                let [mean, predictable_share, error] =
                    [0, 1, 2].map(|column: usize| columns[column][row * names.len() + number]);
                OfSpecies { species: species.clone(), mean, predictable_share, error }
            };
            let species = names.iter().enumerate().map(of_species).collect();
            observables.push(Propensity { name, species });
        }
        let last = measured.checked_sub(1).map(|row| times[row]);
        Ok(Some(Propensities { measured, times: times.len(), last, jackknife_over, observables }))
    }
}
