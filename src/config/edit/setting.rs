//! A key and the value that it is to have: `--set KEY=VALUE`.
use toml::Value;
use toml::de::{DeTable, DeValue};

use super::place::{Change, changes};
use super::{Edited, Origin};

/// A key by its parts, and a value in TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    key: Vec<String>,
    value: String,
    origin: Origin,
}

/// Why a setting cannot be put into a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongSetting {
    pub message: String,
    pub help: String,
}

impl WrongSetting {
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        WrongSetting { message: message.into(), help: help.into() }
    }
}

impl Setting {
    /// Of `KEY=VALUE`: parts of the key between dots, elements of arrays by their names or their numbers from 0, `*` for
    /// all of them; the value in TOML, or a bare word, which is a string.
    ///
    /// # Errors
    /// If it is not of this form.
    pub fn parse(words: &str) -> Result<Self, String> {
        let (key, value) =
            words.split_once('=').ok_or("KEY=VALUE is wanted, such as system.seed=2")?;
        Setting::new(key, value, Origin::Option(format!("--set {words}")))
    }

    /// The seed of an option of its own.
    pub fn seed(seed: u64) -> Self {
        let key = ["system", "seed"].map(str::to_owned).to_vec();
        Setting { key, value: seed.to_string(), origin: Origin::Option(format!("--seed {seed}")) }
    }

    /// # Errors
    /// As of [`Setting::parse`].
    pub fn new(key: &str, value: &str, origin: Origin) -> Result<Self, String> {
        let value = value_in_toml(value.trim())?;
        Ok(Setting { key: parts(key.trim())?, value, origin })
    }

    pub fn key(&self) -> String {
        self.key.join(".")
    }

    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Puts the value into the text, which is TOML.
    ///
    /// # Errors
    /// If there is no such place.
    pub fn apply(&self, edited: &mut Edited) -> Result<(), WrongSetting> {
        let text = edited.text().to_owned();
        let (tree, _) = DeTable::parse_recoverable(&text);
        let mut changes = changes(tree.get_ref(), &text, &self.key, &self.value)?;
        // From the end, so that the places of the others stay.
        changes.sort_by_key(|change| std::cmp::Reverse((change.range.start, change.range.end)));
        for Change { range, with } in changes {
            edited.replace(range, &with, &self.origin);
        }
        Ok(())
    }
}

/// Parts between dots; quotes keep dots together.
fn parts(key: &str) -> Result<Vec<String>, String> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    for c in key.chars() {
        let part = parts.last_mut().expect("there is a first one");
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '.') => parts.push(String::new()),
            (_, c) if c.is_control() => return Err("the key holds a control character".to_owned()),
            (_, c) => part.push(c),
        }
    }
    let parts: Vec<String> = parts.iter().map(|part| part.trim().to_owned()).collect();
    if quote.is_some() || parts.iter().any(String::is_empty) {
        return Err(format!("{key:?} is no key: parts with dots between, such as system.seed"));
    }
    Ok(parts)
}

fn value_in_toml(typed: &str) -> Result<String, String> {
    let line = format!("value = {typed}");
    let (tree, errors) = DeTable::parse_recoverable(&line);
    let table = tree.get_ref();
    let value = table
        .get("value")
        .filter(|value| errors.is_empty() && table.len() == 1 && value.span().end == line.len());
    let Some(value) = value else {
        let is_special = |c: char| "\"'[]{}#=,\\".contains(c) || c.is_control();
        if typed.is_empty() || typed.contains(is_special) {
            return Err(format!("{typed:?} is neither a value in TOML nor a bare word"));
        }
        return Ok(Value::String(typed.to_owned()).to_string());
    };
    // 1e6 steps are a whole number.
    if let DeValue::Float(_) = value.get_ref()
        && typed.contains(['e', 'E'])
        && let Ok(number) = typed.replace('_', "").parse::<f64>()
        && number.fract() == 0.0
        && number.abs() < 1e15
    {
        return Ok(format!("{number:.0}"));
    }
    Ok(typed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, words: &str) -> Result<String, WrongSetting> {
        let mut edited = Edited::new(text);
        Setting::parse(words).unwrap().apply(&mut edited)?;
        let (_, errors) = DeTable::parse_recoverable(edited.text());
        assert!(errors.is_empty(), "{}: {errors:?}", edited.text());
        Ok(edited.text().to_owned())
    }

    fn value(text: &str) -> toml::Table {
        text.parse().unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    #[track_caller]
    fn gives(text: &str, words: &str, expected: &str) {
        assert_eq!(value(&set(text, words).unwrap()), value(expected));
    }

    const TEXT: &str = r#"
[system]                        # a box
species = [{ name = "A", count = 10 }, { name = "B", count = 5 }]
initial = { lattice = "fcc" }

[[stage]]
name = "melt"
steps = 10
thermostat.kind = "bussi"
[stage.observe.structure]
every = 5

[[stage]] # the end
name = "T0.8"
[[stage.correlation]]
every = 1
[[stage.correlation]]
every = 2"#;

    #[test]
    fn values_are_toml_or_words() {
        let typed = |words: &str| Setting::parse(words).map(|setting| setting.value);
        for (words, expected) in [
            ("a=0.5", "0.5"),
            ("a=1e6", "1000000"),
            ("a = -2_0e1", "-200"),
            ("a=1.5e0", "1.5e0"),
            ("a=cuda", "\"cuda\""),
            ("a=mean of hot", "\"mean of hot\""),
            ("a=../x/y.h5", "\"../x/y.h5\""),
            ("a=[1, 2]", "[1, 2]"),
            ("a={ every = 2 }", "{ every = 2 }"),
            ("a='x'", "'x'"),
        ] {
            assert_eq!(typed(words).as_deref(), Ok(expected), "{words}");
        }
        for words in ["a", "a=", "=1", "a..b=1", "a=1 # x", "a=1\nb=2", "a=[1", "\"a=1", "a={b"] {
            assert!(typed(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn values_that_are_there_are_replaced() {
        let with = |old: &str, new: &str| TEXT.replacen(old, new, 1);
        gives(TEXT, "system.species.B.count=7", &with("count = 5", "count = 7"));
        gives(TEXT, "system.species.0.count=7", &with("count = 10", "count = 7"));
        gives(TEXT, "stage.melt.steps=1e3", &with("steps = 10", "steps = 1000"));
        gives(TEXT, "stage.\"T0.8\".correlation.1.every=4", &with("every = 2", "every = 4"));
        gives(TEXT, "stage.0.thermostat.kind=langevin", &with("bussi", "langevin"));
        gives(TEXT, "stage.1.correlation.*.every=3", &with("1\n[[", "3\n[[").replace("= 2", "= 3"));
        gives(TEXT, "system.initial={}", &with("{ lattice = \"fcc\" }", "{}"));
        gives(
            TEXT,
            "stage.melt.observe={}",
            &with("[stage.observe.structure]\nevery = 5", "observe = {}"),
        );
        let correlations = "[[stage.correlation]]\nevery = 1\n[[stage.correlation]]\nevery = 2";
        gives(TEXT, "stage.1.correlation=[]", &with(correlations, "correlation = []"));
    }

    #[test]
    fn keys_that_are_missing_are_added() {
        let with = |old: &str, new: &str| TEXT.replacen(old, new, 1);
        gives(TEXT, "limits.temperature=2", &format!("limits.temperature = 2\n{TEXT}"));
        gives(TEXT, "system.seed=2", &with("species =", "seed = 2\nspecies ="));
        let initial = "lattice = \"fcc\", temperature = 2";
        gives(TEXT, "system.initial.temperature=2", &with("lattice = \"fcc\"", initial));
        gives(TEXT, "stage.melt.thermostat.time=1", &with("steps", "thermostat.time = 1\nsteps"));
        let observe = "observe.thermodynamics = 5\nsteps";
        gives(TEXT, "stage.melt.observe.thermodynamics=5", &with("steps", observe));
        gives(TEXT, "stage.1.steps=5", &with("name = \"T0.8\"", "name = \"T0.8\"\nsteps = 5"));
        // Only where there is one.
        gives(TEXT, "stage.*.steps=5", &with("steps = 10", "steps = 5"));
        gives(TEXT, "stage.*.thermostat.time=1", &with("steps", "thermostat.time = 1\nsteps"));
    }

    #[test]
    fn a_place_that_is_not_there_is_refused() {
        for (words, expected) in [
            ("stage.met.steps=5", "did you mean `melt`?"),
            ("stage.7.steps=5", "melt, T0.8"),
            ("stage.steps=5", "melt, T0.8"),
            ("system.species.A.count.x=1", "leave .x out"),
            ("stage.*.propensity.times=[1]", "name the element"),
            ("stage.melt.thermostat={kind='andersen'}", "one by one"),
        ] {
            let wrong = set(TEXT, words).unwrap_err();
            assert!(wrong.help.contains(expected), "{words}: {wrong:?}");
        }
    }
}
