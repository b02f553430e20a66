//! Keys and words that are known only at run time, from the table of potentials.
use std::fmt;
use std::sync::LazyLock;

use serde::de::{self, DeserializeSeed, Deserializer, Visitor};

/// The keys that a table takes, or the words that a key takes. Reads one of them.
pub struct Keys(LazyLock<Vec<&'static str>>);

impl Keys {
    pub const fn new(all: fn() -> Vec<&'static str>) -> Self {
        Keys(LazyLock::new(all))
    }

    pub fn all(&'static self) -> &'static [&'static str] {
        &self.0
    }

    fn find(&self, typed: &str) -> Option<&'static str> {
        self.0.iter().copied().find(|&key| key == typed)
    }
}

impl<'de> DeserializeSeed<'de> for &'static Keys {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        deserializer.deserialize_identifier(OneOf { keys: self, are_words: false })
    }
}

/// Reads one of some words.
pub struct WordOf(&'static Keys);

pub fn word_of(words: &'static Keys) -> WordOf {
    WordOf(words)
}

impl<'de> DeserializeSeed<'de> for WordOf {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        deserializer.deserialize_identifier(OneOf { keys: self.0, are_words: true })
    }
}

struct OneOf {
    keys: &'static Keys,
    are_words: bool,
}

impl Visitor<'_> for OneOf {
    type Value = &'static str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, typed: &str) -> Result<&'static str, E> {
        let all = self.keys.all();
        self.keys.find(typed).ok_or_else(|| match self.are_words {
            true => E::unknown_variant(typed, all),
            false => E::unknown_field(typed, all),
        })
    }
}
