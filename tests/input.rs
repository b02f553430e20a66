//! What the configuration layer accepts, and what it says of the rest.
//!
//! A file of `input/bad` holds every message that is expected, as a comment below the line to
//! which it belongs: `#^ key: what is wrong -- what would be right`.
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use supercool::command::check::{check_report, warnings};
use supercool::command::init::{PRESETS, init};
use supercool::config::{self, ConfigError};
use supercool::plan::{Plan, Precision, StagePlan, Thermostat, TotalEnergy};
use supercool::potential::{EPSILON, PairPotential, SIGMA, Truncation};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn toml_files(name: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files
}

fn good_files() -> Vec<PathBuf> {
    ["tests/input/good", "configs", "configs/presets"].into_iter().flat_map(toml_files).collect()
}

/// Line and text of every message that a bad file announces.
fn announced(text: &str) -> BTreeSet<(usize, String)> {
    let mut line = 0;
    let mut messages = BTreeSet::new();
    for (number, content) in (1..).zip(text.lines()) {
        match content.trim_start().strip_prefix("#^ ") {
            Some(message) => {
                messages.insert((line, message.trim_end().to_owned()));
            }
            None => line = number,
        }
    }
    messages
}

#[test]
fn every_bad_file_gets_exactly_the_messages_at_its_lines() {
    let files = toml_files("tests/input/bad");
    assert!(files.len() >= 40, "only {} files", files.len());
    let mut differences = String::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let found: BTreeSet<(usize, String)> =
            match config::runs_of(&text, Path::new(name), &[], None) {
                Ok(_) => BTreeSet::new(),
                Err(error) => error
                    .problems()
                    .iter()
                    .map(|problem| {
                        let help = problem.help.as_ref().map(|help| format!(" -- {help}"));
                        (problem.line, format!("{problem}{}", help.unwrap_or_default()))
                    })
                    .collect(),
            };
        let expected = announced(&text);
        assert!(!expected.is_empty(), "{name} announces nothing");
        for (line, message) in found.difference(&expected) {
            differences += &format!("{name}:{line}: not announced: {message}\n");
        }
        for (line, message) in expected.difference(&found) {
            differences += &format!("{name}:{line}: not found: {message}\n");
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}

#[test]
fn every_good_file_gives_a_plan_and_a_report() {
    let files = good_files();
    assert!(files.len() >= 10);
    for path in files {
        let loaded = config::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let report = check_report(&loaded, None);
        for stage in &loaded.plan.stages {
            assert!(report.contains(&format!("  {}: {} steps", stage.name, stage.steps)));
        }
        for default in &loaded.defaults {
            assert!(report.contains(&default.key), "{} is not reported", default.key);
        }
    }
}

#[test]
fn a_plan_comes_back_from_its_json() {
    for path in good_files() {
        let plan = config::load(&path).unwrap().plan;
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan, "{}", path.display());
    }
}

#[test]
fn every_preset_is_a_file_that_parses_and_is_listed() {
    assert_eq!(toml_files("configs/presets").len(), PRESETS.len());
    for preset in PRESETS {
        config::parse(init(preset.name).unwrap(), preset.name).unwrap();
    }
    let message = format!("{:?}", miette::Report::new(init("kob").unwrap_err()));
    assert!(message.contains("kob-andersen"));
}

#[test]
fn the_job_of_the_readme_lands_on_its_energies_and_fits_its_budget() {
    let plan = config::load(&folder("configs/kob_andersen.toml")).unwrap().plan;
    assert_eq!(plan.run.precision, Precision::FixedPoint);
    assert_eq!(plan.system.particle_count(), 4000);
    assert!(plan.total_steps() <= 450_000);
    let by_name = |name: &str| plan.stages.iter().find(|stage| stage.name == name).unwrap();
    for (stage, source) in [("hot", "equilibrate-hot"), ("cold", "equilibrate-cold")] {
        let stage = by_name(stage);
        assert_eq!(stage.set_total_energy, Some(TotalEnergy::MeanOf(source.to_owned())));
        assert_eq!(stage.thermostat, None);
        assert_eq!(stage.correlations[0].wavenumbers, [7.25]);
    }
    assert_eq!(plan.output.directory, Path::new("results/kob_andersen"));
}

#[test]
fn cutoffs_are_absolute_in_the_plan_and_pairs_are_symmetric() {
    let plan = config::parse(init("kob-andersen").unwrap(), "ka").unwrap();
    let cutoff = |a: usize, b: usize| plan.potential.pairs[a][b].cutoff;
    assert_eq!([cutoff(0, 0), cutoff(0, 1), cutoff(1, 0), cutoff(1, 1)], [2.5, 2.0, 2.0, 2.2]);

    let plan = config::parse(init("binary-soft-spheres").unwrap(), "bhhp").unwrap();
    assert_eq!(plan.potential.form, PairPotential::InversePower { n: 12 });
    assert!(plan.potential.pairs.iter().flatten().all(|pair| pair.cutoff == 2.5));
}

#[test]
fn lags_given_in_time_become_blocks() {
    let plan = config::load(&folder("tests/input/good/everything.toml")).unwrap().plan;
    // 0.2 to 20 with 5 lags in a decade: 4 lags of 0.2, 1 and 5 each, up to 20.
    let blocks = plan.stages.last().unwrap().correlations.last().unwrap();
    assert_eq!((blocks.every, blocks.block_size, blocks.levels), (100, 5, 3));
    assert_eq!(blocks.species, [0]);
}

#[test]
fn a_stage_like_another_has_its_keys() {
    let plan = config::load(&folder("tests/input/good/like.toml")).unwrap().plan;
    let [hot, cold, gentle, production, again] = &plan.stages[..] else { panic!() };
    let temperature = |stage: &StagePlan| stage.thermostat.unwrap().temperature.from;
    assert_eq!([hot, cold, gentle].map(temperature), [2.0, 1.0, 1.0]);
    let kind = |stage: &StagePlan| stage.thermostat.unwrap().kind;
    let andersen = Thermostat::Andersen { rate: 5.0, exact: false };
    assert_eq!([hot, cold].map(kind), [andersen; 2]);
    assert_eq!(kind(gentle), Thermostat::Bussi { time: 0.2 });
    assert_eq!(
        [hot, cold, gentle, production, again].map(|stage| stage.steps),
        [1000, 1000, 2000, 2000, 2000]
    );
    // Tables that are typed replace those of the other stage.
    assert_eq!(gentle.observe, hot.observe);
    let observe = |stage: &StagePlan| (stage.observe.thermodynamics, stage.observe.trajectory);
    assert_eq!(
        [gentle, production, again].map(observe),
        [(Some(10), Some(100)), (Some(20), None), (Some(20), None)]
    );
    // An energy takes the place of the thermostat.
    assert_eq!(production.set_total_energy, Some(TotalEnergy::MeanOf("gentle".to_owned())));
    assert!(production.thermostat.is_none() && again.thermostat.is_none());
    assert_eq!((again.set_total_energy.as_ref(), again.correlations.len()), (None, 0));
}

#[test]
fn hyphens_and_underscores_stand_for_each_other_in_known_names() {
    let text = fs::read_to_string(folder("tests/input/good/like.toml")).unwrap();
    let text = text.replace(
        "wavenumbers = [7.25]",
        "block_size = 4\nobservables = [\"mean-square-displacement\"]",
    );
    let plan = config::parse(&text, "like.toml").unwrap();
    let mut other = text;
    for (theirs, ours) in [
        ("lennard_jones", "lennard-jones"),
        ("\"mean_square_displacement\"", "\"mean-square-displacement\""),
        ("block-size", "block_size"),
    ] {
        assert!(other.contains(ours), "{ours}");
        other = other.replace(ours, theirs);
    }
    assert_eq!(config::parse(&other, "like.toml").unwrap(), plan);
    // Names that a user gives are what they are.
    let error =
        config::parse(&other.replace("mean of gentle", "mean of gent-le"), "x").unwrap_err();
    assert!(error.to_string().contains("there is no stage"), "{error}");
}

#[test]
fn the_schema_knows_what_goes_together() {
    let schema = config::schema();
    let system = &schema["properties"]["system"];
    let keys: Vec<_> =
        system["oneOf"].as_array().unwrap().iter().map(|one| &one["required"][0]).collect();
    assert_eq!(keys, ["density", "box"]);
    let stage = &schema["properties"]["stage"]["items"];
    let rules = stage["properties"]["thermostat"]["allOf"].as_array().unwrap();
    let needs = |kind: &str| {
        let rule = rules.iter().find(|rule| rule["if"]["properties"]["kind"]["const"] == kind);
        rule.unwrap()["then"]["required"][0].as_str().unwrap().to_owned()
    };
    let kinds = ["andersen", "nose-hoover", "bussi", "langevin"];
    assert_eq!(kinds.map(needs), ["rate", "period", "time", "friction"]);
    assert!(stage["else"].to_string().contains("temperature"));
}

#[test]
fn lags_are_in_blocks_or_at_about_equal_ratios() {
    let text = init("kob-andersen").unwrap();
    let begin = text.rfind("[[stage.correlation]]").unwrap();
    let correlation = |more: &str| {
        let lags = format!("from = 0.02\nto = 4.0\npoints_per_decade = 9\n{more}");
        let table = format!(
            "[[stage.correlation]]\n{lags}\nobservables = [\"mean-square-displacement\"]\n"
        );
        let plan = config::parse(&(text[..begin].to_owned() + &table), "ka.toml").unwrap();
        plan.stages.last().unwrap().correlations.last().unwrap().clone()
    };
    let blocks = correlation("");
    assert_eq!((blocks.every, blocks.block_size, blocks.level_ratio), (5, 10, None));
    assert_eq!(correlation("equal_ratios = false"), blocks);
    let even = correlation("equal_ratios = true");
    // Three lags or more in an octave; 5 2^6 = 320 is the first longest lag beyond 200.
    assert_eq!((even.every, even.block_size, even.level_ratio), (5, 6, Some(2)));
    assert_eq!(even.levels, 7);
}

#[test]
fn minima_of_potentials_that_jump_at_the_cutoff_are_warned_of() {
    let propensity = folder("tests/input/good/propensity_of_minima_with_jumps.toml");
    let propensity = fs::read_to_string(propensity).unwrap();
    let minimize = init("lennard-jones").unwrap().replacen(
        "[[stage]]\n",
        "[[stage]]\nminimize = { temperature = 1.0 }\n",
        1,
    );
    let of = |text: &str, truncation: &str| {
        let text = text.replace("\"sharp\"", truncation).replace("\"shifted\"", truncation);
        warnings(&config::parse(&text, "text").unwrap_or_else(|error| panic!("{error}")))
    };
    for (text, subject, energy, force) in [
        (&propensity, "inherent structures", "2.45e-2", "7.31e-2"),
        (&minimize, "minimize", "9.76e-4", "1.46e-3"),
    ] {
        let sharp = format!(
            "{subject}: the energy jumps by {energy} and the force by {force} at the cutoff: minima are those of the forces"
        );
        let found = of(text, "\"sharp\"");
        assert!(found.contains(&sharp), "{found}");
        let shifted = format!("{subject}: the force jumps by {force} at the cutoff: where a pair");
        let found = of(text, "\"shifted\"");
        assert!(found.contains(&shifted), "{found}");
        for none in ["\"force-shifted\"", "\"even-quartic\"", "{ kind = \"smooth\", width = 0.05 }"]
        {
            let found = of(text, none);
            assert!(!found.contains("jumps"), "{none}: {found}");
        }
    }
}

/// Numbers of the sources that the presets name.
#[test]
fn presets_of_mixtures_have_the_parameters_of_their_sources() {
    let plan = |name: &str| config::parse(init(name).unwrap(), name).unwrap();
    let counts = |plan: &Plan| -> Vec<usize> {
        plan.system.species.iter().map(|species| species.count).collect()
    };
    let edge = |plan: &Plan| plan.system.simulation_box.edges()[0];
    let of = |plan: &Plan, a: usize, b: usize| {
        let pair = &plan.potential.pairs[a][b];
        (pair.of(&EPSILON), pair.of(&SIGMA))
    };

    let jbb = plan("jbb");
    assert_eq!((counts(&jbb), jbb.system.simulation_box.dimension()), (vec![600, 330, 360], 2));
    assert!((edge(&jbb) - 32.8962).abs() < 1e-9, "{}", edge(&jbb));
    assert_eq!(jbb.potential.truncation, Truncation::EvenQuartic);
    assert_eq!((of(&jbb, 0, 2), of(&jbb, 1, 2)), ((0.75, 0.9), (1.5, 0.8)));

    let three = plan("kob-andersen-2");
    assert_eq!(three.potential.truncation, Truncation::EvenQuartic);
    let mean =
        |one: (f64, f64), other: (f64, f64)| (0.5 * (one.0 + other.0), 0.5 * (one.1 + other.1));
    for (pair, (one, other)) in
        [((0, 2), ((0, 0), (0, 1))), ((1, 2), ((0, 1), (1, 1))), ((2, 2), ((0, 0), (1, 1)))]
    {
        let found = of(&three, pair.0, pair.1);
        let expected = mean(of(&three, one.0, one.1), of(&three, other.0, other.1));
        assert!((found.0 - expected.0).abs() + (found.1 - expected.1).abs() < 1e-15, "{pair:?}");
    }
    let of_three = counts(&three);
    assert_eq!(of_three[0], 4 * of_three[1]);

    let plane = plan("kob-andersen-2d");
    assert_eq!(counts(&plane), [1300, 700]);
    assert!((edge(&plane) - (2000.0f64 / 1.2).sqrt()).abs() < 1e-12);

    let force_shifted = plan("kob-andersen-force-shifted");
    assert_eq!(force_shifted.potential.truncation, Truncation::ForceShifted);
    assert!((edge(&force_shifted) - 15.05658).abs() < 5e-6, "{}", edge(&force_shifted));
    for mixture in [plane, force_shifted, plan("kob-andersen")] {
        assert_eq!(of(&mixture, 0, 1), (1.5, 0.8));
        assert!(
            mixture
                .potential
                .pairs
                .iter()
                .flatten()
                .all(|pair| { (pair.cutoff / pair.of(&SIGMA) - 2.5).abs() < 1e-15 })
        );
    }
}

#[test]
fn wca_is_lennard_jones_shifted_at_its_minimum() {
    let plan = config::parse(init("wca").unwrap(), "wca").unwrap();
    assert_eq!(plan.potential.form, PairPotential::LennardJones);
    assert_eq!(plan.potential.truncation, Truncation::Shifted);
    // U'(r) = 0 where 2 (sigma/r)^6 = 1.
    let residue = 2.0 * plan.potential.pairs[0][0].cutoff.powi(-6) - 1.0;
    assert!(residue.abs() < 4.0 * f64::EPSILON, "{residue}");
}

#[test]
fn an_error_shows_the_place_and_what_would_be_right() {
    let text = init("kob-andersen").unwrap().replace("cutoff = 2.5", "cuttof = 2.5");
    let error = config::parse(&text, "ka.toml").unwrap_err();
    assert_eq!(error.to_string(), "ka.toml:19: potential.cuttof: unknown key");
    let shown = format!("{:?}", miette::Report::new(error));
    assert!(shown.contains("did you mean `cutoff`?"), "{shown}");
    assert!(shown.contains("cuttof = 2.5"), "{shown}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing.toml");
    let error = config::load(&missing).unwrap_err();
    assert!(matches!(error, ConfigError::Unreadable { .. }));
    assert!(error.to_string().contains("missing.toml"));
    let binary = directory.path().join("binary.toml");
    fs::write(&binary, [0x89, b'H', b'D', b'F', 0xff, 0xfe]).unwrap();
    assert!(config::load(&binary).unwrap_err().to_string().contains("binary.toml"));
}

#[test]
fn a_mixture_of_255_species_is_a_plan() {
    let mut text = without_comments(init("wca").unwrap());
    let species: Vec<String> =
        (0..255).map(|k| format!("{{ name = \"s{k}_\", count = 9 }}")).collect();
    text = text.replace(r#"{ name = "A", count = 4000, mass = 1.0 }"#, &species.join(", "));
    let pairs: Vec<String> = (0..255)
        .flat_map(|a| (a..255).map(move |b| format!("s{b}_s{a}_ = {{ epsilon = 1, sigma = 1 }}\n")))
        .collect();
    text = text.replace("AA = { epsilon = 1.0, sigma = 1.0 }", &pairs.concat());
    let plan = config::parse(&text, "many.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(plan.potential.pairs.len(), 255);

    let text = text.replace("s254_s17_ =", "s254_s17 =");
    let error = config::parse(&text, "many.toml").unwrap_err();
    let keys: Vec<&str> = error.problems().iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["potential.pairs", "potential.pairs.s254_s17"]);

    // A mistake in every pair is reported in bounded time and length.
    let error = config::parse(&text.replace("sigma = 1 ", "sigma = -1 "), "many.toml").unwrap_err();
    assert!((2..=50).contains(&error.problems().len()));
}

/// With `UPDATE_GENERATED=1` the generated files are written instead.
#[test]
fn the_generated_files_are_up_to_date() {
    let schema = serde_json::to_string_pretty(&config::schema()).unwrap() + "\n";
    let generated = [
        ("configs/supercool.schema.json", schema),
        ("configs/REFERENCE.md", config::key_reference()),
    ];
    for (name, content) in generated {
        let path = folder(name);
        if std::env::var_os("UPDATE_GENERATED").is_some() {
            fs::write(&path, &content).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == content, "{name} is old: run this test with UPDATE_GENERATED=1");
    }
}

#[test]
fn the_key_reference_names_every_key_of_every_good_file() {
    let reference = config::key_reference();
    for path in good_files() {
        let mut table: toml::Table = fs::read_to_string(path).unwrap().parse().unwrap();
        if let Some(pairs) = table["potential"].get_mut("pairs") {
            *pairs = toml::Value::Boolean(true);
        }
        for key in keys(&toml::Value::Table(table)) {
            assert!(reference.contains(&format!("| `{key}` |")), "{key}");
        }
    }
}

fn keys(value: &toml::Value) -> Vec<String> {
    match value {
        toml::Value::Table(table) => table
            .iter()
            .flat_map(|(key, value)| [vec![key.clone()], keys(value)].concat())
            .collect(),
        toml::Value::Array(elements) => elements.iter().flat_map(keys).collect(),
        _ => Vec::new(),
    }
}

/// One change to a text. Positions and lines are taken modulo what there is.
#[derive(Clone, Debug)]
enum Mutation {
    Byte { at: usize, byte: u8 },
    DeleteLine(usize),
    DoubleLine(usize),
    SwapLines(usize, usize),
    DeleteToken(usize),
    ReplaceToken { at: usize, token: String },
    ReplaceNumber { at: usize, number: String },
    Truncate(usize),
}

const NUMBERS: [&str; 28] = [
    "0",
    "-1",
    "1",
    "2",
    "3",
    "255",
    "256",
    "0.0",
    "-0.0",
    "1e-300",
    "1e300",
    "-1e308",
    "1e400",
    "nan",
    "-inf",
    "inf",
    "1099511627776",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "340282366920938463463374607431768211456",
    "0xff",
    "3200.0",
    "1e6",
    "0.1",
    "1e-20",
    "true",
    "1979-05-27",
];

const TOKENS: [&str; 16] = [
    "\"\"",
    "\"A\"",
    "\"mie\"",
    "\"smooth\"",
    "[]",
    "{}",
    "[[]]",
    "{ a = 1 }",
    "true",
    "\"mean of \"",
    "=",
    "]",
    "}",
    "\"\\u0000\"",
    "density",
    "\"\u{1f9ca}\"",
];

fn mutation() -> impl Strategy<Value = Mutation> {
    let any_place = any::<usize>();
    prop_oneof![
        1 => (any_place, any::<u8>()).prop_map(|(at, byte)| Mutation::Byte { at, byte }),
        1 => any_place.prop_map(Mutation::DeleteLine),
        1 => any_place.prop_map(Mutation::DoubleLine),
        1 => (any_place, any_place).prop_map(|(a, b)| Mutation::SwapLines(a, b)),
        1 => any_place.prop_map(Mutation::DeleteToken),
        1 => (any_place, prop::sample::select(&TOKENS[..]))
            .prop_map(|(at, token)| Mutation::ReplaceToken { at, token: token.to_owned() }),
        4 => (any_place, prop::sample::select(&NUMBERS[..]))
            .prop_map(|(at, number)| Mutation::ReplaceNumber { at, number: number.to_owned() }),
        2 => (any_place, any::<f64>())
            .prop_map(|(at, number)| Mutation::ReplaceNumber { at, number: format!("{number:?}") }),
        2 => (any_place, any::<i64>())
            .prop_map(|(at, number)| Mutation::ReplaceNumber { at, number: number.to_string() }),
        1 => any_place.prop_map(Mutation::Truncate),
    ]
}

/// Stretches of characters that satisfy `part`, as ranges of bytes.
fn stretches(text: &str, part: fn(char) -> bool) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), '\n')]) {
        match (part(c), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                found.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    found
}

fn replace_stretch(text: &str, part: fn(char) -> bool, at: usize, with: &str) -> String {
    let found = stretches(text, part);
    match found.get(at % found.len().max(1)) {
        Some(&(from, to)) => format!("{}{with}{}", &text[..from], &text[to..]),
        None => text.to_owned(),
    }
}

fn mutate(text: &str, mutation: &Mutation) -> String {
    let is_token = |c: char| !c.is_whitespace() && !"=[]{},#".contains(c);
    let is_number = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let mut lines: Vec<&str> = text.lines().collect();
    let count = lines.len().max(1);
    match mutation {
        Mutation::Byte { at, byte } => {
            let mut bytes = text.as_bytes().to_vec();
            if !bytes.is_empty() {
                let at = at % bytes.len();
                bytes[at] = *byte;
            }
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        Mutation::DeleteToken(at) => return replace_stretch(text, is_token, *at, ""),
        Mutation::ReplaceToken { at, token } => return replace_stretch(text, is_token, *at, token),
        Mutation::ReplaceNumber { at, number } => {
            return replace_stretch(text, is_number, *at, number);
        }
        Mutation::Truncate(at) => {
            let characters = text.chars().count();
            return text.chars().take(at % (characters + 1)).collect();
        }
        _ if lines.is_empty() => {}
        Mutation::DeleteLine(at) => {
            lines.remove(at % count);
        }
        Mutation::DoubleLine(at) => lines.insert(at % count, lines[at % count]),
        Mutation::SwapLines(a, b) => lines.swap(a % count, b % count),
    }
    lines.join("\n")
}

fn without_comments(text: &str) -> String {
    let lines: Vec<&str> =
        text.lines().map(|line| line.split(" #").next().unwrap_or(line)).collect();
    lines.into_iter().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6000))]

    #[test]
    fn any_text_gives_a_plan_or_says_where_it_is_wrong(
        file in any::<prop::sample::Index>(),
        mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        static TEXTS: std::sync::LazyLock<Vec<String>> = std::sync::LazyLock::new(|| {
            let read = |path: PathBuf| without_comments(&fs::read_to_string(path).unwrap());
            good_files().into_iter().map(read).collect()
        });
        let mut text = file.get(&TEXTS[..]).clone();
        for mutation in &mutations {
            text = mutate(&text, mutation);
        }
        match config::parse(&text, "mutated.toml") {
            Ok(plan) => prop_assert!(plan.total_steps() > 0 && plan.system.particle_count() > 0),
            Err(error) => {
                prop_assert!(!error.problems().is_empty());
                for problem in error.problems() {
                    prop_assert!(!problem.message.is_empty());
                    prop_assert!((1..=text.lines().count() + 1).contains(&problem.line));
                    // Only what is not TOML has no key.
                    let is_toml = text.parse::<toml::Table>().is_ok();
                    prop_assert!(!is_toml || !problem.key.is_empty(), "{}", problem);
                }
                // Drawing it must not panic either.
                let drawn = format!("{:?}", miette::Report::new(error));
                prop_assert!(drawn.contains("mutated.toml"));
            }
        }
    }
}
