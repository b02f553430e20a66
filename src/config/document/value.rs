//! Values as they were typed, with their places.
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, Unexpected, Visitor};
use toml::Spanned;

/// A value and the bytes of the text where it stands.
#[derive(Clone, Debug)]
pub struct Written<T> {
    pub value: T,
    pub span: Range<usize>,
}

/// A table and the bytes of the text where it stands: of its header if it has one.
#[derive(Clone, Debug)]
pub struct Table<T> {
    pub value: T,
    pub span: Range<usize>,
}

impl<T> Deref for Table<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<T>::deserialize(deserializer)?;
        Ok(Written { span: spanned.span(), value: spanned.into_inner() })
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<OnlyTable<T>>::deserialize(deserializer)?;
        Ok(Table { span: spanned.span(), value: spanned.into_inner().0 })
    }
}

/// serde would take an array for a struct too.
struct OnlyTable<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OnlyTable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TableVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for TableVisitor<T> {
            type Value = OnlyTable<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(OnlyTable)
            }
        }

        deserializer.deserialize_map(TableVisitor(PhantomData))
    }
}

/// A whole number of any size; the range is checked with the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer(pub i128);

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IntegerVisitor;

        impl Visitor<'_> for IntegerVisitor {
            type Value = Integer;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Integer, E> {
                Ok(Integer(value.into()))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Integer, E> {
                Ok(Integer(value.into()))
            }

            fn visit_i128<E: de::Error>(self, value: i128) -> Result<Integer, E> {
                Ok(Integer(value))
            }

            fn visit_u128<E: de::Error>(self, value: u128) -> Result<Integer, E> {
                Ok(Integer(value.try_into().unwrap_or(i128::MAX)))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Integer, E> {
                let whole = value.fract() == 0.0 && value.abs() < 1e15;
                let hint = if whole { format!(": write {value:.0}") } else { String::new() };
                Err(E::custom(format!(
                    "must be a whole number without decimal point or exponent, not {value:?}{hint}"
                )))
            }
        }

        deserializer.deserialize_any(IntegerVisitor)
    }
}

/// A number, with or without decimal point; the range is checked with the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(pub f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;

        impl Visitor<'_> for NumberVisitor {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_i128<E: de::Error>(self, value: i128) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_u128<E: de::Error>(self, value: u128) -> Result<Number, E> {
                Ok(Number(value as f64))
            }
        }

        deserializer.deserialize_any(NumberVisitor)
    }
}

/// A table in whose place a plain value may stand.
pub trait OrPlain {
    /// What the key takes, in words.
    const EXPECTED: &'static str;
}

/// A plain value, or a table that says more.
#[derive(Clone, Debug)]
pub enum PlainOr<P, T> {
    Plain(P),
    Table(T),
}

impl<'de, P: Deserialize<'de>, T: Deserialize<'de> + OrPlain> Deserialize<'de> for PlainOr<P, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EitherVisitor<P, T>(PhantomData<(P, T)>);

        impl<'de, P, T> Visitor<'de> for EitherVisitor<P, T>
        where
            P: Deserialize<'de>,
            T: Deserialize<'de> + OrPlain,
        {
            type Value = PlainOr<P, T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::EXPECTED)
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
                P::deserialize(value.into_deserializer())
                    .map(PlainOr::Plain)
                    .map_err(|_: E| E::invalid_type(Unexpected::Signed(value), &self))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
                P::deserialize(value.into_deserializer())
                    .map(PlainOr::Plain)
                    .map_err(|_: E| E::invalid_type(Unexpected::Float(value), &self))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
                P::deserialize(value.into_deserializer()).map(PlainOr::Plain)
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(PlainOr::Table)
            }
        }

        deserializer.deserialize_any(EitherVisitor(PhantomData))
    }
}

/// A list of numbers, or a table that says more.
#[derive(Clone, Debug)]
pub enum ListOr<T> {
    List(Vec<Written<Number>>),
    Table(T),
}

impl<'de, T: Deserialize<'de> + OrPlain> Deserialize<'de> for ListOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EitherVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de> + OrPlain> Visitor<'de> for EitherVisitor<T> {
            type Value = ListOr<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::EXPECTED)
            }

            fn visit_seq<A: de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<Self::Value, A::Error> {
                let mut numbers = Vec::new();
                while let Some(number) = list.next_element()? {
                    numbers.push(number);
                }
                Ok(ListOr::List(numbers))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(ListOr::Table)
            }
        }

        deserializer.deserialize_any(EitherVisitor(PhantomData))
    }
}

/// How many there are, or the numbers between them.
#[derive(Clone, Debug)]
pub enum CountOrBounds {
    Count(Integer),
    Bounds(Vec<Written<Number>>),
}

impl<'de> Deserialize<'de> for CountOrBounds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EitherVisitor;

        impl<'de> Visitor<'de> for EitherVisitor {
            type Value = CountOrBounds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number or a list of numbers")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<CountOrBounds, E> {
                Ok(CountOrBounds::Count(Integer(value.into())))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<CountOrBounds, E> {
                Ok(CountOrBounds::Count(Integer(value.into())))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<CountOrBounds, A::Error> {
                let mut bounds = Vec::new();
                while let Some(bound) = list.next_element()? {
                    bounds.push(bound);
                }
                Ok(CountOrBounds::Bounds(bounds))
            }
        }

        deserializer.deserialize_any(EitherVisitor)
    }
}

/// A number, or a list of them.
#[derive(Clone, Debug)]
pub enum NumberOrList {
    Number(f64),
    List(Vec<Written<Number>>),
}

impl<'de> Deserialize<'de> for NumberOrList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EitherVisitor;

        impl<'de> Visitor<'de> for EitherVisitor {
            type Value = NumberOrList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a list of numbers")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<NumberOrList, E> {
                Ok(NumberOrList::Number(value as f64))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<NumberOrList, E> {
                Ok(NumberOrList::Number(value))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<NumberOrList, A::Error> {
                let mut numbers = Vec::new();
                while let Some(number) = list.next_element()? {
                    numbers.push(number);
                }
                Ok(NumberOrList::List(numbers))
            }
        }

        deserializer.deserialize_any(EitherVisitor)
    }
}

/// A number, or a phrase.
#[derive(Clone, Debug)]
pub enum NumberOrPhrase {
    Number(f64),
    Phrase(String),
}

impl<'de> Deserialize<'de> for NumberOrPhrase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EitherVisitor;

        impl Visitor<'_> for EitherVisitor {
            type Value = NumberOrPhrase;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a string")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<NumberOrPhrase, E> {
                Ok(NumberOrPhrase::Number(value as f64))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<NumberOrPhrase, E> {
                Ok(NumberOrPhrase::Number(value))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<NumberOrPhrase, E> {
                Ok(NumberOrPhrase::Phrase(value.to_owned()))
            }
        }

        deserializer.deserialize_any(EitherVisitor)
    }
}

/// A string, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneOrMore(pub Vec<String>);

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringsVisitor;

        impl<'de> Visitor<'de> for StringsVisitor {
            type Value = OneOrMore;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of strings")
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<OneOrMore, E> {
                Ok(OneOrMore(vec![value.to_owned()]))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMore, A::Error> {
                let mut strings = Vec::new();
                while let Some(string) = list.next_element()? {
                    strings.push(string);
                }
                Ok(OneOrMore(strings))
            }
        }

        deserializer.deserialize_any(StringsVisitor)
    }
}

/// A temperature, or that of each system of an ensemble.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Temperature {
    Number(f64),
    Ensemble,
}

impl<'de> Deserialize<'de> for Temperature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TemperatureVisitor;

        impl Visitor<'_> for TemperatureVisitor {
            type Value = Temperature;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Temperature, E> {
                Ok(Temperature::Number(value as f64))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Temperature, E> {
                Ok(Temperature::Number(value))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Temperature, E> {
                match value {
                    "ensemble" => Ok(Temperature::Ensemble),
                    _ => Err(E::custom(format!("must be a number or \"ensemble\", not {value:?}"))),
                }
            }
        }

        deserializer.deserialize_any(TemperatureVisitor)
    }
}

/// The schema of these types is that of what they hold.
macro_rules! schema_of {
    ([$($generics:tt)*] $type:ty, $name:expr, $schema:expr) => {
        impl<$($generics)*> JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let schema: fn(&mut SchemaGenerator) -> Schema = $schema;
                schema(generator)
            }
        }
    };
}

schema_of!([T: JsonSchema] Written<T>, T::schema_name(), T::json_schema);
schema_of!([T: JsonSchema] Table<T>, T::schema_name(), T::json_schema);
schema_of!([] Integer, "Integer", |_| json_schema!({ "type": "integer" }));
schema_of!([] Number, "Number", |_| json_schema!({ "type": "number" }));
schema_of!([] Temperature, "Temperature", |_| json_schema!({ "type": ["number", "string"] }));
schema_of!(
    [] OneOrMore, "OneOrMore",
    |_| json_schema!({
        "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }]
    })
);
schema_of!(
    [] CountOrBounds, "CountOrBounds",
    |_| json_schema!({
        "anyOf": [{ "type": "integer" }, { "type": "array", "items": { "type": "number" } }]
    })
);
schema_of!(
    [] NumberOrList, "NumberOrList",
    |_| json_schema!({
        "anyOf": [{ "type": "number" }, { "type": "array", "items": { "type": "number" } }]
    })
);
schema_of!([] NumberOrPhrase, "NumberOrPhrase", |_| json_schema!({ "type": ["number", "string"] }));
schema_of!(
    [T: JsonSchema] ListOr<T>,
    format!("NumbersOr{}", T::schema_name()),
    |generator| json_schema!({
        "anyOf": [{ "type": "array", "items": { "type": "number" } }, generator.subschema_for::<T>()]
    })
);
schema_of!(
    [P: JsonSchema, T: JsonSchema] PlainOr<P, T>,
    format!("{}Or{}", P::schema_name(), T::schema_name()),
    |generator| json_schema!({
        "anyOf": [generator.subschema_for::<P>(), generator.subschema_for::<T>()]
    })
);
