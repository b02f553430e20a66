//! Where in a text a key stands, or would stand.
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::WrongSetting;
use crate::config::reword::nearest;
use crate::config::spans::as_written;

/// Bytes, and what takes their place.
#[derive(Debug)]
pub struct Change {
    pub range: Range<usize>,
    pub with: String,
}

/// The nearest table around a key that has a header or braces: there further keys can be written.
#[derive(Clone)]
struct Anchor {
    at: usize,
    kind: Kind,
    /// From it to the table in question.
    prefix: Vec<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// The whole text.
    Root,
    Header,
    Braces {
        empty: bool,
    },
}

impl Anchor {
    fn of(value: &Spanned<DeValue<'_>>, table: &DeTable<'_>, text: &str) -> Option<Self> {
        let span = value.span();
        let kind = match text.as_bytes().get(span.start) {
            Some(b'[') => Kind::Header,
            Some(b'{') => Kind::Braces { empty: table.is_empty() },
            _ => return None,
        };
        let at = if kind == Kind::Header { span.end } else { span.start + 1 };
        Some(Anchor { at, kind, prefix: Vec::new() })
    }

    fn insert(&self, path: &[String], value: &str, text: &str) -> Change {
        let keys = self.prefix.iter().chain(path).map(|key| as_written(key));
        let entry = format!("{} = {value}", keys.collect::<Vec<_>>().join("."));
        let (at, with) = match self.kind {
            Kind::Root => (0, entry + "\n"),
            Kind::Braces { empty: true } => (self.at, format!(" {entry} ")),
            Kind::Braces { empty: false } => (self.at, format!(" {entry},")),
            Kind::Header => {
                // Behind a comment.
                let line = text[self.at..].find('\n').map_or(text.len(), |end| self.at + end);
                (line, format!("\n{entry}"))
            }
        };
        Change { range: at..at, with }
    }
}

/// What is to be changed so that the key has this value.
pub fn changes(
    root: &DeTable<'_>,
    text: &str,
    key: &[String],
    value: &str,
) -> Result<Vec<Change>, WrongSetting> {
    let mut search = Search { root, text, key, value, changes: Vec::new() };
    let anchor = Anchor { at: 0, kind: Kind::Root, prefix: Vec::new() };
    search.table(root, &anchor, 0)?;
    Ok(search.changes)
}

/// The bytes of a table of the document.
pub fn removal(
    root: &DeTable<'_>,
    text: &str,
    name: &str,
) -> Result<Vec<Range<usize>>, WrongSetting> {
    let key = [name.to_owned()];
    let search = Search { root, text, key: &key, value: "", changes: Vec::new() };
    let Some((typed, table)) = root.get_key_value(name) else { return Ok(Vec::new()) };
    if search.has_dotted_keys(table) {
        let help = format!("write it below a header of its own: [{name}]");
        return Err(WrongSetting::new("its keys stand below no header", help));
    }
    let mut headers = Vec::new();
    search.headers(table, &mut headers);
    Ok(if headers.is_empty() {
        std::iter::once(typed.span().start..table.span().end).collect()
    } else {
        search.below(headers).collect()
    })
}

struct Search<'a> {
    root: &'a DeTable<'a>,
    text: &'a str,
    key: &'a [String],
    value: &'a str,
    changes: Vec<Change>,
}

impl Search<'_> {
    /// The parts of the key from number `at` on, in a table.
    fn table(
        &mut self,
        table: &DeTable<'_>,
        anchor: &Anchor,
        at: usize,
    ) -> Result<(), WrongSetting> {
        let (part, is_last) = (&self.key[at], at + 1 == self.key.len());
        let Some(found) = table.get(part.as_str()) else {
            if self.key[at..].iter().any(|part| part == "*") {
                let message = format!("there is no {}", self.key[..=at].join("."));
                return Err(WrongSetting::new(message, "* stands for all elements of an array"));
            }
            self.changes.push(anchor.insert(&self.key[at..], self.value, self.text));
            return Ok(());
        };
        if is_last {
            return self.replace(found, anchor, at);
        }
        match found.get_ref() {
            DeValue::Table(inner) => {
                let inner_anchor = Anchor::of(found, inner, self.text).unwrap_or_else(|| {
                    let mut anchor = anchor.clone();
                    anchor.prefix.push(part.clone());
                    anchor
                });
                self.table(inner, &inner_anchor, at + 1)
            }
            DeValue::Array(elements) => self.elements(elements, at + 1),
            _ => Err(self.no_table(at)),
        }
    }

    fn no_table(&self, at: usize) -> WrongSetting {
        let message = format!("{} is no table", self.key[..=at].join("."));
        WrongSetting::new(message, format!("leave .{} out", self.key[at + 1..].join(".")))
    }

    /// Part number `at` names elements of an array.
    fn elements(
        &mut self,
        elements: &[Spanned<DeValue<'_>>],
        at: usize,
    ) -> Result<(), WrongSetting> {
        let (part, is_last) = (self.key[at].as_str(), at + 1 == self.key.len());
        let array = self.key[..at].join(".");
        let mut found: Vec<_> = if part == "*" {
            elements.iter().collect()
        } else {
            let of_name = elements.iter().filter(|element| name(element) == Some(part));
            of_name.collect()
        };
        if part == "*" && !is_last {
            // Only those that have it: a thermostat is not given to a stage without one.
            let has = |element: &&Spanned<DeValue<'_>>| match element.get_ref() {
                DeValue::Table(table) => table.contains_key(self.key[at + 1].as_str()),
                _ => false,
            };
            found.retain(has);
        }
        if found.is_empty() {
            found.extend(part.parse().ok().and_then(|number: usize| elements.get(number)));
        }
        if found.is_empty() {
            let names: Vec<&str> = elements.iter().filter_map(name).collect();
            if part == "*" {
                let missing = self.key.get(at + 1).map_or("", String::as_str);
                let message = format!("no element of {array} has {missing}");
                return Err(WrongSetting::new(message, "name the element that is to get it"));
            }
            let help = match nearest(part, names.iter().copied()) {
                Some(near) if near.contains('.') => {
                    format!("did you mean `\"{near}\"`? A name with a dot stands in quotes")
                }
                Some(near) => format!("did you mean `{near}`?"),
                None if names.is_empty() && elements.is_empty() => "it has no elements".to_owned(),
                None if names.is_empty() => {
                    format!("its elements have the numbers 0 to {}", elements.len() - 1)
                }
                None => format!(
                    "its elements are {}; they can be called by their numbers from 0 too, or * for all",
                    names.join(", ")
                ),
            };
            return Err(WrongSetting::new(format!("{array} has no element {part:?}"), help));
        }
        for element in found {
            match element.get_ref() {
                DeValue::Table(table) if !is_last => {
                    let anchor = Anchor::of(element, table, self.text);
                    self.table(table, &anchor.ok_or_else(|| self.one_by_one(at))?, at + 1)?;
                }
                _ if !is_last => return Err(self.no_table(at)),
                DeValue::Table(_) if self.is_header(element) => return Err(self.one_by_one(at)),
                _ => {
                    self.changes.push(Change { range: element.span(), with: self.value.to_owned() })
                }
            }
        }
        Ok(())
    }

    fn one_by_one(&self, at: usize) -> WrongSetting {
        let table = self.key[..=at].join(".");
        let message = format!("{table} cannot be replaced as a whole");
        WrongSetting::new(message, format!("set its keys one by one: {table}.KEY=VALUE"))
    }

    fn is_header(&self, value: &Spanned<DeValue<'_>>) -> bool {
        let opens = self.text.as_bytes().get(value.span().start) == Some(&b'[');
        opens && matches!(value.get_ref(), DeValue::Table(_))
    }

    /// Puts the value in the place of another one, the last part of the key.
    fn replace(
        &mut self,
        old: &Spanned<DeValue<'_>>,
        anchor: &Anchor,
        at: usize,
    ) -> Result<(), WrongSetting> {
        let mut headers = Vec::new();
        self.headers(old, &mut headers);
        let is_written_out = match old.get_ref() {
            DeValue::Table(table) => {
                Anchor::of(old, table, self.text).is_none() && headers.is_empty()
            }
            _ => false,
        };
        if is_written_out || self.has_dotted_keys(old) {
            return Err(self.one_by_one(at));
        }
        if headers.is_empty() {
            self.changes.push(Change { range: old.span(), with: self.value.to_owned() });
            return Ok(());
        }
        let removed = self.below(headers).map(|range| Change { range, with: String::new() });
        let removed: Vec<_> = removed.collect();
        self.changes.extend(removed);
        self.changes.push(anchor.insert(&self.key[at..=at], self.value, self.text));
        Ok(())
    }

    /// These headers with all that stands below them, up to the next.
    fn below(&self, headers: Vec<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut all = Vec::new();
        self.root.iter().for_each(|(_, value)| self.headers(value, &mut all));
        all.sort_unstable();
        let end = self.text.len();
        headers.into_iter().map(move |header| {
            header..all.iter().copied().find(|&next| next > header).unwrap_or(end)
        })
    }

    /// Where the headers of tables begin in a value.
    fn headers(&self, value: &Spanned<DeValue<'_>>, headers: &mut Vec<usize>) {
        if self.is_header(value) {
            headers.push(value.span().start);
        }
        match value.get_ref() {
            DeValue::Table(table) => {
                table.iter().for_each(|(_, value)| self.headers(value, headers))
            }
            DeValue::Array(elements) => {
                elements.iter().for_each(|value| self.headers(value, headers));
            }
            _ => {}
        }
    }

    /// Whether a table without header and braces holds values: they stand below the header of another one.
    fn has_dotted_keys(&self, value: &Spanned<DeValue<'_>>) -> bool {
        let DeValue::Table(table) = value.get_ref() else { return false };
        let is_leaf = |value: &Spanned<DeValue<'_>>| {
            let mut headers = Vec::new();
            self.headers(value, &mut headers);
            headers.is_empty()
        };
        Anchor::of(value, table, self.text).is_none()
            && table.iter().any(|(_, value)| is_leaf(value))
    }
}

/// What an element is called.
fn name<'a>(element: &'a Spanned<DeValue<'_>>) -> Option<&'a str> {
    let DeValue::Table(table) = element.get_ref() else { return None };
    match table.get("name")?.get_ref() {
        DeValue::String(name) => Some(name),
        _ => None,
    }
}
