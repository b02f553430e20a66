//! What a suite says: its runs, and what should come out of them.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use miette::miette;
use serde::Deserialize;

use super::Size;

/// A file of `validation/suites`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// The stem of the file.
    #[serde(skip)]
    pub name: String,
    #[serde(skip)]
    folder: PathBuf,
    pub title: String,
    /// Script in the folder that starts another program, without which the suite is skipped.
    peer: Option<PathBuf>,
    /// Configurations by name, with `$key` where a case's value comes.
    template: BTreeMap<String, String>,
    /// Expectations by name, for cases that share them.
    #[serde(default)]
    common: BTreeMap<String, Vec<Expected>>,
    #[serde(rename = "case")]
    pub cases: Vec<Case>,
}

/// One run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    template: String,
    /// What comes in the place of `$key`, whatever the size.
    #[serde(default)]
    values: toml::Table,
    /// The same for a size; a case without is left out there.
    quick: Option<toml::Table>,
    full: Option<toml::Table>,
    /// Of the suite's shared expectations; they come before its own.
    common: Option<String>,
    #[serde(default)]
    pub expect: Vec<Expected>,
    /// Quantities whose errors are compared with the scatter of many runs, `runs` of a size's values; `$run` is the number
    /// of a run, from 1.
    #[serde(default)]
    pub calibrate: Vec<Calibrated>,
}

/// A quantity whose errors are judged over all runs of a case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibrated {
    pub stage: String,
    /// A scalar under `/observables`, or a function under `/dynamics`.
    pub observable: String,
    /// Of a function; the first one if not given.
    pub species: Option<String>,
    /// The exact mean of a scalar.
    pub value: Option<f64>,
    /// What is known of a function.
    pub exact: Option<Exact>,
    pub source: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exact {
    /// Particles without forces in a Langevin thermostat.
    LangevinGas,
}

/// What should come out: a `value` with an `error` or a `tolerance`, the value of an earlier case (`as`), or a bound
/// (`at_most`); with none of them it is only measured, for later cases.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub stage: String,
    #[serde(default)]
    pub statistic: Statistic,
    /// A time series under `/observables`, for `fit` a quantity of `supercool analyze`, for `waiting-times` a function under `/aging`.
    pub observable: String,
    /// Of a fit.
    pub species: Option<String>,
    /// What is found is multiplied by this.
    #[serde(default = "one")]
    pub factor: f64,
    pub value: Option<BySize>,
    /// Standard error of the value.
    pub error: Option<f64>,
    /// Largest difference, where there is no statistics.
    pub tolerance: Option<f64>,
    pub at_most: Option<BySize>,
    /// Name of an earlier case.
    #[serde(rename = "as")]
    pub same_as: Option<String>,
    /// Bits that the run must end with: the hash of its last state.
    pub hash: Option<BySizeText>,
    pub source: String,
}

fn one() -> f64 {
    1.0
}

/// What is made of a time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    #[default]
    Mean,
    /// The first sample.
    First,
    /// Mean squared deviation from the mean.
    Variance,
    /// Slope of a straight line, times the length of the series, as a share of the mean: how far it goes.
    Drift,
    /// Largest modulus of a vector.
    LargestModulus,
    /// An estimate of `supercool analyze`.
    Fit,
    /// S(q) at q = 0: density times temperature times compressibility, from its smallest wave numbers.
    LongWavelengthLimit,
    /// The bits of the last state.
    Hash,
    /// Largest difference from what the suite's other program makes of the first state.
    Difference,
    /// Particles that do not return to where they began when the trajectory is followed back.
    Reversal,
    /// How far a function from given time origins is from its average over all of them: root mean square, in standard errors.
    WaitingTimes,
}

impl Statistic {
    pub fn name(self) -> &'static str {
        match self {
            Statistic::Mean => "mean",
            Statistic::First => "first",
            Statistic::Variance => "variance",
            Statistic::Drift => "drift",
            Statistic::LargestModulus => "largest",
            Statistic::Fit => "fit",
            Statistic::LongWavelengthLimit => "limit q = 0 of",
            Statistic::Hash => "hash",
            Statistic::Difference => "difference",
            Statistic::Reversal => "reversal",
            Statistic::WaitingTimes => "dependence on the waiting time of",
        }
    }
}

/// A number, or one for each size.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub enum BySize {
    Any(f64),
    Each { quick: Option<f64>, full: Option<f64> },
}

impl BySize {
    pub fn of(self, size: Size) -> Option<f64> {
        match (self, size) {
            (BySize::Any(number), _) => Some(number),
            (BySize::Each { quick, .. }, Size::Quick) => quick,
            (BySize::Each { full, .. }, Size::Full) => full,
        }
    }
}

/// A text for each size.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BySizeText {
    quick: Option<String>,
    full: Option<String>,
}

impl BySizeText {
    pub fn of(&self, size: Size) -> Option<&str> {
        match size {
            Size::Quick => self.quick.as_deref(),
            Size::Full => self.full.as_deref(),
        }
    }
}

impl Expected {
    /// What it is called in tables.
    pub fn quantity(&self) -> String {
        let species = self.species.iter().map(|species| format!(" of {species}"));
        format!("{} {}{}", self.statistic.name(), self.observable, species.collect::<String>())
    }
}

impl Case {
    /// What comes in the place of keys only at this size.
    pub fn values(&self, size: Size) -> Option<&toml::Table> {
        match size {
            Size::Quick => self.quick.as_ref(),
            Size::Full => self.full.as_ref(),
        }
    }

    /// Runs of a case whose errors are compared with their scatter.
    pub fn runs(&self, size: Size) -> Option<u32> {
        u32::try_from(self.values(size)?.get("runs")?.as_integer()?).ok()
    }

    /// Whether there is anything to judge.
    pub fn expects_nothing(&self) -> bool {
        self.expect.is_empty() && self.calibrate.is_empty()
    }
}

impl Suite {
    /// The script that starts the suite's other program.
    pub fn peer(&self) -> Option<PathBuf> {
        self.peer.as_ref().map(|script| self.folder.join(script))
    }

    /// Leaves the cases that are named: all by the suite's name, one by `SUITE/CASE`.
    fn keep_named(&mut self, names: &[String]) -> miette::Result<()> {
        if names.is_empty() || names.contains(&self.name) {
            return Ok(());
        }
        let of_here =
            |name: &String| name.strip_prefix(&format!("{}/", self.name)).map(str::to_owned);
        let named: Vec<String> = names.iter().filter_map(of_here).collect();
        let all: Vec<&str> = self.cases.iter().map(|case| case.name.as_str()).collect();
        if let Some(unknown) = named.iter().find(|name| !all.contains(&name.as_str())) {
            let all = all.join(", ");
            return Err(miette!("suite {} has no case {unknown}; there are {all}", self.name));
        }
        self.cases.retain(|case| named.contains(&case.name));
        Ok(())
    }

    /// A case's name with that of the suite.
    pub fn name_of(&self, case: &str) -> String {
        format!("{}/{case}", self.name)
    }

    /// The text of a case's configuration, of one of its runs where there are several.
    pub fn configuration(
        &self,
        case: &Case,
        size: Size,
        run: Option<u32>,
    ) -> miette::Result<String> {
        let place = || format!("suite {}, case {}", self.name, case.name);
        let template = self
            .template
            .get(&case.template)
            .ok_or_else(|| miette!("{}: there is no template.{}", place(), case.template))?;
        let mut text = template.replace("$folder", &self.folder.display().to_string());
        let run: toml::Table =
            run.map(|run| ("run".to_owned(), i64::from(run).into())).into_iter().collect();
        let values = case.values.iter().chain(case.values(size).into_iter().flatten()).chain(&run);
        // A longer key first: it may begin with a shorter one.
        let mut values: Vec<_> = values.collect();
        values.sort_by_key(|(key, _)| std::cmp::Reverse(key.len()));
        for (key, value) in values {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            text = text.replace(&format!("${key}"), &value);
        }
        match text.split_once('$') {
            None => Ok(text),
            Some((_, rest)) => {
                let key: String =
                    rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                Err(miette!("{}: ${key} has no value", place()))
            }
        }
    }
}

/// The suites of a folder, all or those named; by `SUITE/CASE` with that case alone.
pub fn load(folder: &Path, names: &[String]) -> miette::Result<Vec<Suite>> {
    let unreadable = |error: std::io::Error| {
        miette!(
            help =
                "suites lie in validation/suites of the source tree; --folder names another place",
            "{}: {error}",
            folder.display()
        )
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(unreadable)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    let stem = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let all: Vec<String> = files.iter().map(stem).collect();
    let wanted: Vec<&str> = names
        .iter()
        .map(|name| name.split_once('/').map_or(name.as_str(), |(suite, _)| suite))
        .collect();
    if let Some(unknown) = wanted.iter().find(|name| !all.iter().any(|suite| suite == *name)) {
        return Err(miette!("there is no suite {unknown}; there are {}", all.join(", ")));
    }
    files.retain(|file| names.is_empty() || wanted.contains(&stem(file).as_str()));
    let named = |file: &PathBuf| {
        let mut suite = read(file, stem(file), folder)?;
        suite.keep_named(names)?;
        Ok(suite)
    };
    files.iter().map(named).collect()
}

fn read(file: &Path, name: String, folder: &Path) -> miette::Result<Suite> {
    let text =
        std::fs::read_to_string(file).map_err(|error| miette!("{}: {error}", file.display()))?;
    let mut suite: Suite =
        toml::from_str(&text).map_err(|error| miette!("{}: {error}", file.display()))?;
    (suite.name, suite.folder) = (name, folder.to_owned());
    for case in &mut suite.cases {
        let Some(name) = &case.common else { continue };
        let common = suite.common.get(name).ok_or_else(|| {
            miette!("{}: case {}: there is no common.{name}", file.display(), case.name)
        })?;
        case.expect.splice(..0, common.iter().cloned());
    }
    for case in &suite.cases {
        let wrong = |what: &str| miette!("{}: case {}: {what}", file.display(), case.name);
        for size in [Size::Quick, Size::Full] {
            let runs = case.values(size).map(|_| case.runs(size).unwrap_or(0));
            if runs.is_some_and(|runs| (runs > 1) == case.calibrate.is_empty()) {
                return Err(wrong(
                    "`calibrate` needs `runs` of each size, at least 2; other cases are one run",
                ));
            }
        }
        if !case.calibrate.is_empty() && !case.expect.is_empty() {
            return Err(wrong("`expect` is of a single run, `calibrate` of many"));
        }
        for expected in &case.expect {
            let said = [
                expected.value.is_some(),
                expected.at_most.is_some(),
                expected.same_as.is_some(),
                expected.hash.is_some(),
            ];
            let wrong = |what: &str| {
                miette!("{}: case {}, {}: {what}", file.display(), case.name, expected.quantity())
            };
            if said.iter().filter(|&&said| said).count() > 1 {
                return Err(wrong("give one of value, at_most, as and hash"));
            }
            if expected.value.is_some() && expected.error.is_some() == expected.tolerance.is_some()
            {
                return Err(wrong("a value has an error or a tolerance"));
            }
            if expected.statistic == Statistic::Difference
                && (suite.peer.is_none() || expected.at_most.is_none())
            {
                return Err(wrong("a difference needs at_most, and a peer of the suite"));
            }
        }
    }
    Ok(suite)
}
