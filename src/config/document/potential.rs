use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, EnumAccess, MapAccess, VariantAccess, Visitor};
use serde_json::{Map, Value, json};

use super::keys::{Keys, word_of};
use super::{Integer, Number, OrPlain, PlainOr, Table, Written};
use crate::potential::{
    Bounds, Description, FormOf, LARGEST_EXPONENT, Parameter, descriptions, exponents, parameters,
};

/// Pair potential, its truncation and its parameters.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, transform = with_keys_of_potentials)]
pub struct Potential {
    /// Form of the pair potential, the same for all pairs of species.
    pub kind: Written<PotentialKind>,
    /// Exponents by their keys.
    #[schemars(skip)]
    pub exponents: BTreeMap<&'static str, Written<Integer>>,
    /// Parameters of all pairs that do not give their own, by their keys.
    #[schemars(skip)]
    pub parameters: BTreeMap<&'static str, Written<Number>>,
    /// `U(r)` of `formula`: of `r`, numbers, parameters of the pairs under names of your own, `+ - * / ^`, parentheses, `pi`, and
    /// `exp`, `log`, `sqrt`, `sin`, `cos`, `tanh`, `erf`, `erfc`, `abs`, `min`, `max` and `if(r < a, x, y)`, such as
    /// `"4*epsilon*((sigma/r)^12 - (sigma/r)^6)"`.
    pub energy: Option<Written<String>>,
    /// Distance at which the potential ends, in units of each pair's sigma. Exactly one of `cutoff`
    /// and `cutoff_absolute` is given, here or for every pair; none with `wca`,
    /// `harmonic-spheres` and `dzugutov`, which bring their own. Potentials without sigma take `cutoff_absolute`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub cutoff: Option<Written<Number>>,
    /// Distance at which the potential ends, the same for all pairs.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub cutoff_absolute: Option<Written<Number>>,
    /// How the potential ends at the cutoff: a word, or a table where there is more to say. Must be
    /// given, except with `wca` (`shifted`), `harmonic-spheres` and `dzugutov` (`sharp`; they end at zero by themselves).
    pub truncation: Option<Written<PlainOr<TruncationKind, Truncation>>>,
    /// Parameters of every pair of species, under the two names one after the other (`AB`), or with
    /// a hyphen between them (`big-small`). The order of the two does not matter.
    pub pairs: Table<BTreeMap<String, Table<Pair>>>,
}

impl<'de> Deserialize<'de> for Potential {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const OWN: [&str; 6] =
            ["kind", "energy", "cutoff", "cutoff_absolute", "truncation", "pairs"];
        static KEYS: Keys = Keys::new(|| {
            let of_all_pairs = |parameter: &&&Parameter| parameter.of_all_pairs.is_some();
            let mut keys = vec![OWN[0]];
            keys.extend(exponents().iter().map(|exponent| exponent.name));
            keys.extend(parameters().iter().filter(of_all_pairs).map(|parameter| parameter.name));
            keys.extend(&OWN[1..]);
            keys
        });

        struct PotentialVisitor;

        impl<'de> Visitor<'de> for PotentialVisitor {
            type Value = Potential;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Potential, A::Error> {
                let (mut kind, mut pairs) = (None, None);
                let (mut cutoff, mut cutoff_absolute, mut truncation) = (None, None, None);
                let (mut energy, mut of_pairs, mut of_form) =
                    (None, BTreeMap::new(), BTreeMap::new());
                while let Some(key) = map.next_key_seed(&KEYS)? {
                    match key {
                        "kind" => kind = Some(map.next_value()?),
                        "energy" => energy = map.next_value()?,
                        "cutoff" => cutoff = map.next_value()?,
                        "cutoff_absolute" => cutoff_absolute = map.next_value()?,
                        "truncation" => truncation = map.next_value()?,
                        "pairs" => pairs = Some(map.next_value()?),
                        _ if exponents().iter().any(|exponent| exponent.name == key) => {
                            of_form.insert(key, map.next_value()?);
                        }
                        _ => {
                            of_pairs.insert(key, map.next_value()?);
                        }
                    }
                }
                Ok(Potential {
                    kind: kind.ok_or_else(|| de::Error::missing_field("kind"))?,
                    energy,
                    exponents: of_form,
                    parameters: of_pairs,
                    cutoff,
                    cutoff_absolute,
                    truncation,
                    pairs: pairs.ok_or_else(|| de::Error::missing_field("pairs"))?,
                })
            }
        }

        deserializer.deserialize_map(PotentialVisitor)
    }
}

/// A word for a potential.
#[derive(Clone, Copy, Debug)]
pub struct PotentialKind(pub &'static Description);

impl<'de> Deserialize<'de> for PotentialKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        static WORDS: Keys =
            Keys::new(|| descriptions().map(|description| description.word).collect());

        struct KindVisitor;

        impl<'de> Visitor<'de> for KindVisitor {
            type Value = PotentialKind;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<PotentialKind, A::Error> {
                let (word, rest) = data.variant_seed(word_of(&WORDS))?;
                rest.unit_variant()?;
                let found = descriptions().find(|description| description.word == word);
                Ok(PotentialKind(found.expect("the word is one of them")))
            }
        }

        deserializer.deserialize_enum("PotentialKind", WORDS.all(), KindVisitor)
    }
}

impl Display for PotentialKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.word)
    }
}

impl JsonSchema for PotentialKind {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PotentialKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let word =
            |of: &Description| json!({"type": "string", "const": of.word, "description": of.doc});
        json_schema!({ "oneOf": descriptions().map(word).collect::<Vec<Value>>() })
    }
}

/// Adds the keys that belong to potentials, and which of them each needs.
fn with_keys_of_potentials(schema: &mut Schema) {
    let exponent = |least: u32, doc: &str| json!({"type": "integer", "description": doc, "minimum": least, "maximum": LARGEST_EXPONENT});
    let exponents = exponents().iter().map(|of| (of.name.to_owned(), exponent(of.least, of.doc)));
    let of_all_pairs = parameters().iter().filter_map(|&parameter| {
        let doc = parameter.of_all_pairs?;
        Some((parameter.name.to_owned(), schema_of(parameter, doc.to_owned())))
    });
    insert_after(schema, Some("kind"), exponents.chain(of_all_pairs).collect());
    let needs: Vec<Value> = descriptions()
        .map(|description| {
            let own = description.parameters.iter().filter(|of| of.of_all_pairs.is_none());
            let of_pair: Vec<&str> = match description.form {
                FormOf::Tables => vec!["file"],
                _ => own.map(|of| of.name).collect(),
            };
            let formula = matches!(description.form, FormOf::Formula).then_some("energy");
            let of_form = description.exponents.iter().map(|of| of.name);
            let of_form: Vec<&str> = of_form.chain(formula).collect();
            let pairs = json!({"additionalProperties": {"required": of_pair}});
            json!({
                "if": {"properties": {"kind": {"const": description.word}}},
                "then": {"properties": {"pairs": pairs}, "required": of_form},
            })
        })
        .collect();
    schema.insert("allOf".to_owned(), needs.into());
}

/// How the potential ends at the cutoff.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Truncation {
    /// How the potential ends at the cutoff `r_c`.
    pub kind: Written<TruncationKind>,
    /// Width `h` of `smooth`, in units of each pair's sigma, or of the unit of length for potentials without sigma; the smaller, the nearer to `shifted`. Pairs should take several
    /// steps to cross it (`timestep` times sqrt(2 T / m) each): over a width that they cross in one, energy is conserved less
    /// well than with `shifted`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub width: Option<Written<Number>>,
}

impl OrPlain for Truncation {
    const EXPECTED: &'static str = "\"sharp\", \"shifted\", \"force-shifted\", \"even-quartic\" or a table with kind and width";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TruncationKind {
    /// `U(r)`: jumps at the cutoff; energy is not conserved.
    Sharp,
    /// `U(r) - U(r_c)`.
    Shifted,
    /// `U(r) - U(r_c) - (r - r_c) U'(r_c)`.
    ForceShifted,
    /// `U(r) + c0 + c2 r^2 + c4 r^4`, the coefficients such that energy, force and the derivative of the force are zero at the
    /// cutoff: for `a (sigma/r)^n` and `x_c = r_c/sigma`, `c0 = -(n+2)(n+4)/8 a x_c^-n`, `c2 = n(n+4)/4 a x_c^-(n+2)/sigma^2` and
    /// `c4 = -n(n+2)/8 a x_c^-(n+4)/sigma^4`, added over the terms of `U(r)`.
    EvenQuartic,
    /// `[U(r) - U(r_c)] g((r - r_c)/(h sigma))`, `g(x) = x^4/(1 + x^4)`: two continuous derivatives. Where pair forces are
    /// in 32 bits (all but `double`), a function near it whose derivative the force is to the last bit. It differs by up to
    /// `(h sigma/r_c)^2/4` of itself, a width before the cutoff: that is what energies of potentials differ by that end near
    /// their energies, 2e-4 (`wca`) and up to 6e-4 (`harmonic-spheres`) at `h` = 0.05, ten times and four times as much at
    /// 0.1. Others are small there: energies of Lennard-Jones and inverse-power liquids at a cutoff of 2.5 sigma differ by
    /// 1e-6 (0.05) or 1e-5 (0.1), those of `inverse-power` at 1.5 sigma by 1e-5 or 2e-4. `supercool check` gives the largest
    /// difference of every pair.
    Smooth,
}

/// Parameters of a pair of species, here of A and B.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(transform = with_parameters_of_pairs)]
pub struct Pair {
    /// By their keys, which a formula may choose.
    #[schemars(skip)]
    pub parameters: BTreeMap<String, Written<Number>>,
    /// File of `table`: lines of r, U and, if known, F = -U'(r), or a table of LAMMPS. Its cutoff is the last distance unless given.
    pub file: Option<Written<String>>,
    /// Cutoff of this pair in units of its sigma, in place of the potential's.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub cutoff: Option<Written<Number>>,
    /// Cutoff of this pair as a distance, in place of the potential's.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub cutoff_absolute: Option<Written<Number>>,
}

impl<'de> Deserialize<'de> for Pair {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairVisitor;

        impl<'de> Visitor<'de> for PairVisitor {
            type Value = Pair;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pair, A::Error> {
                let mut pair = Pair {
                    parameters: BTreeMap::new(),
                    file: None,
                    cutoff: None,
                    cutoff_absolute: None,
                };
                while let Some(key) = map.next_key::<String>()? {
                    match &key[..] {
                        "file" => pair.file = map.next_value()?,
                        "cutoff" => pair.cutoff = map.next_value()?,
                        "cutoff_absolute" => pair.cutoff_absolute = map.next_value()?,
                        _ => {
                            pair.parameters.insert(key, map.next_value()?);
                        }
                    }
                }
                Ok(pair)
            }
        }

        deserializer.deserialize_map(PairVisitor)
    }
}

fn with_parameters_of_pairs(schema: &mut Schema) {
    // Of formulas.
    schema.insert("additionalProperties".to_owned(), json!({"type": "number"}));
    let all = parameters().iter().map(|&parameter| {
        let takers = descriptions().filter(|description| description.takes(parameter.name));
        let doc = match parameter.of_all_pairs {
            Some(_) => parameter.doc.to_owned(),
            None => format!("{} Needed by {}.", parameter.doc, quoted(takers)),
        };
        (parameter.name.to_owned(), schema_of(parameter, doc))
    });
    insert_after(schema, None, all.collect());
}

fn schema_of(parameter: &Parameter, doc: String) -> Value {
    match parameter.bounds {
        Bounds::Positive => json!({"type": "number", "description": doc, "exclusiveMinimum": 0}),
        Bounds::NotNegative => json!({"type": "number", "description": doc, "minimum": 0}),
        Bounds::Any => json!({"type": "number", "description": doc}),
    }
}

/// `` `a`, `b` and `c` ``
fn quoted(all: impl Iterator<Item = &'static Description>) -> String {
    let words: Vec<String> = all.map(|description| format!("`{}`", description.word)).collect();
    match &words[..] {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        words => words.concat(),
    }
}

/// Puts properties after one of a table, or first.
fn insert_after(schema: &mut Schema, key: Option<&str>, inserted: Vec<(String, Value)>) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    let mut all = Map::new();
    let mut inserted = Some(inserted);
    if key.is_none() {
        all.extend(inserted.take().into_iter().flatten());
    }
    for (name, property) in std::mem::take(properties) {
        let is_place = Some(name.as_str()) == key;
        all.insert(name, property);
        if is_place {
            all.extend(inserted.take().into_iter().flatten());
        }
    }
    *properties = all;
}
