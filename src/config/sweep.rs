//! `[sweep]`: a file of several runs, which differ in the values of some keys.
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::edit::{Edited, Origin, Place, Setting, remove_table};
use super::error::{ConfigError, Problem};
use super::spans::Spans;
use super::{Loaded, validate, with_settings};

const MAXIMUM_RUNS: usize = 10_000;

/// What a configuration file makes.
#[derive(Clone, Debug)]
pub enum Runs {
    One(Box<Loaded>),
    Sweep(Sweep),
}

/// Runs to be carried out one after the other.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Holds a directory for each.
    pub directory: PathBuf,
    /// The file, with the changes of the command line.
    pub text: String,
    pub path: PathBuf,
    /// What differs from run to run.
    pub keys: Vec<String>,
    /// Never empty.
    pub runs: Vec<SweepRun>,
}

/// A run of a sweep.
#[derive(Clone, Debug)]
pub struct SweepRun {
    /// Made of the values, such as `T0.8_seed2`.
    pub name: String,
    pub loaded: Loaded,
}

/// A line of `[sweep]`: keys that get the same values.
struct Axis {
    keys: Vec<String>,
    values: Vec<Value>,
    /// Where it stands.
    place: std::ops::Range<usize>,
}

struct Value {
    toml: String,
    /// For the names of directories.
    word: String,
    origin: Origin,
}

/// The run or runs of a text. `path` is its name in messages; `output` is the directory to take instead of its own.
///
/// # Errors
/// With all that is wrong in any of the runs.
pub fn runs_of(
    text: &str,
    path: &Path,
    settings: &[Setting],
    output: Option<&Path>,
) -> Result<Runs, ConfigError> {
    let source_name = path.display().to_string();
    let edited = with_settings(text, settings, &source_name)?;
    let (tree, errors) = DeTable::parse_recoverable(edited.text());
    let Some(table) = tree.get_ref().get("sweep").filter(|_| errors.is_empty()) else {
        let mut loaded = Loaded::of(edited.clone(), path)?;
        if let Some(output) = output {
            output.clone_into(&mut loaded.plan.output.directory);
        }
        return Ok(Runs::One(Box::new(loaded)));
    };
    let wrong = |problems| ConfigError::wrong(&edited, &source_name, problems);
    let spans = Spans::new(tree.get_ref());
    let (axes, zip) = axes(table, &edited, &spans).map_err(wrong)?;
    let combinations = combinations(&axes, zip)
        .map_err(|(message, help)| wrong(vec![problem_at(&spans, &table.span(), message, help)]))?;
    let mut base = edited.clone();
    if let Err(unfit) = remove_table(&mut base, "sweep") {
        let problem = problem_at(&spans, &table.span(), unfit.message, unfit.help);
        return Err(wrong(vec![problem]));
    }
    let directory = match output {
        Some(output) => output.to_owned(),
        None => own_directory(tree.get_ref(), path),
    };
    let mut problems = Vec::new();
    let mut runs = Vec::new();
    let names = names(&axes, &combinations);
    for (values, name) in combinations.iter().zip(names) {
        let mut of_run = base.clone();
        for (axis, &value) in axes.iter().zip(values) {
            for key in &axis.keys {
                let value = &axis.values[value];
                let applied = Setting::new(key, &value.toml, value.origin.clone())
                    .map_err(|message| (message, "keys with dots between their parts".to_owned()))
                    .and_then(|setting| {
                        setting.apply(&mut of_run).map_err(|unfit| (unfit.message, unfit.help))
                    });
                if let Err((message, help)) = applied {
                    return Err(wrong(vec![problem_at(&spans, &axis.place, message, help)]));
                }
            }
        }
        let place = directory.join(&name).display().to_string();
        let place = Setting::new(
            "output.directory",
            &toml::Value::String(place).to_string(),
            Origin::Option("[sweep]".to_owned()),
        );
        if let Ok(place) = place
            && let Err(unfit) = place.apply(&mut of_run)
        {
            return Err(wrong(vec![problem_at(&spans, &table.span(), unfit.message, unfit.help)]));
        }
        match Loaded::of(of_run, path) {
            Ok(loaded) => runs.push(SweepRun { name, loaded }),
            Err(error) => {
                for problem in error.problems() {
                    if problems.len() < validate::MOST_PROBLEMS && !problems.contains(problem) {
                        problems.push(problem.clone());
                    }
                }
            }
        }
    }
    if !problems.is_empty() {
        return Err(ConfigError::at_places(edited.original(), &source_name, problems));
    }
    let keys = axes.into_iter().flat_map(|axis| axis.keys).collect();
    let text = edited.text().to_owned();
    Ok(Runs::Sweep(Sweep { directory, text, path: path.to_owned(), keys, runs }))
}

fn problem_at(
    spans: &Spans,
    span: &std::ops::Range<usize>,
    message: impl Into<String>,
    help: impl Into<String>,
) -> Problem {
    let help: String = help.into();
    Problem::new(spans.key_path(span), span.clone(), message, (!help.is_empty()).then_some(help))
}

/// The directory that a text names, or that of its file's name.
fn own_directory(root: &DeTable<'_>, path: &Path) -> PathBuf {
    let typed = root.get("output").and_then(|output| match output.get_ref() {
        DeValue::Table(output) => match output.get("directory")?.get_ref() {
            DeValue::String(directory) => Some(PathBuf::from(&**directory)),
            _ => None,
        },
        _ => None,
    });
    typed.unwrap_or_else(|| validate::default_directory(&path.display().to_string()))
}

fn axes(
    table: &Spanned<DeValue<'_>>,
    edited: &Edited,
    spans: &Spans,
) -> Result<(Vec<Axis>, bool), Vec<Problem>> {
    let DeValue::Table(entries) = table.get_ref() else {
        let help = "[sweep], and below it keys with lists: \"system.density\" = [1.1, 1.2]";
        return Err(vec![problem_at(spans, &table.span(), "must be a table", help)]);
    };
    let (mut axes, mut problems, mut zip) = (Vec::new(), Vec::new(), false);
    for (key, value) in entries {
        let word: &str = key.get_ref();
        match (word, value.get_ref()) {
            ("zip", DeValue::Boolean(typed)) => zip = *typed,
            ("zip", _) => {
                problems.push(problem_at(spans, &value.span(), "must be true or false", ""))
            }
            (_, DeValue::Array(list)) if !list.is_empty() => {
                let keys = word.split(',').map(str::trim).map(full_key).collect();
                let values = list.iter().enumerate().map(|(number, value)| {
                    let toml = edited.text()[value.span()].to_owned();
                    let origin = match edited.place(&value.span()) {
                        Place::Option(words) => Origin::Option(words),
                        Place::File { span, .. } => Origin::File(span),
                    };
                    Value { toml, word: word_of(value.get_ref(), number), origin }
                });
                axes.push(Axis { keys, values: values.collect(), place: key.span() });
            }
            (_, DeValue::Array(_)) => {
                problems.push(problem_at(
                    spans,
                    &value.span(),
                    "the list is empty",
                    "one value or more",
                ));
            }
            (_, DeValue::Table(_)) => {
                let help = "keys of [sweep] are written in quotes: \"system.density\" = [1.1, 1.2]";
                problems.push(problem_at(spans, &key.span(), "must be a list of values", help));
            }
            _ => {
                let help = format!("for example {word:?} = [{}]", &edited.text()[value.span()]);
                problems.push(problem_at(spans, &value.span(), "must be a list of values", help));
            }
        }
    }
    if axes.is_empty() && problems.is_empty() {
        let help = "keys with lists of values: \"system.density\" = [1.1, 1.2]";
        problems.push(problem_at(spans, &table.span(), "holds no keys", help));
    }
    if problems.is_empty() { Ok((axes, zip)) } else { Err(problems) }
}

/// The seed needs no path.
fn full_key(typed: &str) -> String {
    if typed == "seed" { "system.seed".to_owned() } else { typed.to_owned() }
}

/// Numbers of the values of each axis, for each run.
fn combinations(axes: &[Axis], zip: bool) -> Result<Vec<Vec<usize>>, (String, String)> {
    let lengths: Vec<usize> = axes.iter().map(|axis| axis.values.len()).collect();
    if zip {
        if lengths.iter().any(|&length| length != lengths[0]) {
            let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
            let message = format!("lists of {} values cannot be zipped", lengths.join(" and "));
            return Err((
                message,
                "lists of the same length, or no zip: all combinations".to_owned(),
            ));
        }
        return Ok((0..lengths[0]).map(|run| vec![run; axes.len()]).collect());
    }
    let count = lengths.iter().try_fold(1_usize, |product, &length| product.checked_mul(length));
    if count.is_none_or(|count| count > MAXIMUM_RUNS) {
        let message = format!("more than {MAXIMUM_RUNS} runs");
        return Err((message, "shorter lists, or zip = true".to_owned()));
    }
    let mut all = vec![Vec::new()];
    for length in lengths {
        let longer = |earlier: &Vec<usize>| {
            let earlier = earlier.clone();
            (0..length).map(move |value| [&earlier[..], &[value]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    Ok(all)
}

/// A value as a part of a name; tables and lists are called by their numbers.
fn word_of(value: &DeValue<'_>, number: usize) -> String {
    let plain = match value {
        DeValue::String(text) => format!("-{text}"),
        DeValue::Integer(typed) => typed.to_string(),
        DeValue::Float(typed) => {
            typed.as_str().parse::<f64>().map_or(typed.to_string(), |value| value.to_string())
        }
        DeValue::Boolean(value) => format!("-{value}"),
        _ => format!("-{number}"),
    };
    let safe = |c: char| if c.is_ascii_alphanumeric() || "+-.".contains(c) { c } else { '-' };
    plain.chars().map(safe).take(48).collect()
}

/// One for each run: the last parts of the keys, and the values.
fn names(axes: &[Axis], combinations: &[Vec<usize>]) -> Vec<String> {
    let last = |key: &str, parts: usize| {
        let all: Vec<&str> = key.split('.').filter(|part| *part != "*").collect();
        let some = all[all.len().saturating_sub(parts)..].join("-");
        let safe = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '-' };
        some.chars().map(safe).collect::<String>()
    };
    let short: Vec<String> = axes.iter().map(|axis| last(&axis.keys[0], 1)).collect();
    let words: Vec<String> = axes
        .iter()
        .zip(&short)
        .map(|(axis, word)| match word.as_str() {
            word if short.iter().filter(|other| *other == word).count() > 1 => {
                last(&axis.keys[0], usize::MAX)
            }
            "temperature" => "T".to_owned(),
            word => word.to_owned(),
        })
        .collect();
    let name = |values: &Vec<usize>| {
        let parts = axes.iter().zip(&words).zip(values);
        let part = |((axis, word), &value): ((&Axis, &String), &usize)| {
            format!("{word}{}", axis.values[value].word)
        };
        parts.map(part).collect::<Vec<_>>().join("_")
    };
    let mut known = HashSet::new();
    let unique = |(number, name): (usize, String)| {
        // Not all file systems tell upper from lower case.
        if known.insert(name.to_ascii_lowercase()) { name } else { format!("{name}_run{number}") }
    };
    combinations.iter().map(name).enumerate().map(unique).collect()
}

/// Whether two texts are of the same run: what may differ changes no number.
pub fn same_run(one: &str, other: &str) -> bool {
    let run = |text: &str| -> Option<toml::Table> {
        let mut table: toml::Table = text.parse().ok()?;
        for key in ["output", "limits", "checkpoint"] {
            table.remove(key);
        }
        if let Some(run) = table.get_mut("run").and_then(toml::Value::as_table_mut) {
            run.remove("engine");
            run.remove("threads");
        }
        Some(table)
    };
    one == other || run(one).is_some_and(|one| Some(one) == run(other))
}

impl Sweep {
    /// Runs that differ in seed or temperature alone may be one of many systems.
    pub fn faster_as_ensemble(&self) -> Option<String> {
        const SMALL: usize = 10_000;
        let is_of_ensemble = |key: &String| {
            let last = key.rsplit('.').next();
            key == "system.seed" || last == Some("temperature")
        };
        let plan = &self.runs[0].loaded.plan;
        let is_small = plan.system.particle_count() <= SMALL && plan.ensemble.is_none();
        (is_small && self.runs.len() > 1 && self.keys.iter().all(is_of_ensemble)).then(|| {
            "the runs differ in seed or temperature only: [ensemble] takes the steps of such small systems together, many \
             times as fast on a GPU"
                .to_owned()
        })
    }
}
