//! From a place in the text to its line and to the key that stands there.
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Line of a byte of the text, from 1.
pub fn line(text: &str, offset: usize) -> usize {
    let end = offset.min(text.len());
    1 + text.as_bytes()[..end].iter().filter(|&&byte| byte == b'\n').count()
}

/// Where every key and value of a document stands.
pub struct Spans {
    /// From outside to inside.
    spans: Vec<(Range<usize>, String)>,
}

impl Spans {
    pub fn new(root: &DeTable<'_>) -> Self {
        let mut spans = Spans { spans: Vec::new() };
        spans.add_table(root, "");
        spans
    }

    /// Path of the narrowest key or value that covers `span`; empty if there is none, or if `span`
    /// is the start of the text, which stands for the whole of it.
    pub fn key_path(&self, span: &Range<usize>) -> &str {
        if span.end == 0 {
            return "";
        }
        let mut narrowest = usize::MAX;
        let mut path = "";
        for (place, its_path) in &self.spans {
            let covers = place.start <= span.start && span.end <= place.end;
            if covers && place.len() <= narrowest {
                narrowest = place.len();
                path = its_path;
            }
        }
        path
    }

    /// Where the value of a key stands.
    pub fn place_of(&self, key_path: &str) -> Option<Range<usize>> {
        // The key itself comes before its value.
        let found = self.spans.iter().rfind(|(_, path)| path == key_path);
        found.map(|(place, _)| place.clone())
    }

    fn add_table(&mut self, table: &DeTable<'_>, path: &str) {
        for (key, value) in table.iter() {
            let dot = if path.is_empty() { "" } else { "." };
            let path = format!("{path}{dot}{}", as_written(key.get_ref()));
            self.spans.push((key.span(), path.clone()));
            self.add_value(value, path);
        }
    }

    fn add_value(&mut self, value: &Spanned<DeValue<'_>>, path: String) {
        self.spans.push((value.span(), path.clone()));
        match value.get_ref() {
            DeValue::Table(table) => self.add_table(table, &path),
            DeValue::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    self.add_value(element, path.clone() + &subscript(index, element.get_ref()));
                }
            }
            _ => {}
        }
    }
}

/// `["name"]` where the element is a table with a short name, else its number from 1.
fn subscript(index: usize, element: &DeValue<'_>) -> String {
    if let DeValue::Table(table) = element
        && let Some(name) = table.get("name")
        && let DeValue::String(name) = name.get_ref()
        && (1..=64).contains(&name.len())
    {
        return format!("[{name:?}]");
    }
    format!("[{}]", index + 1)
}

pub fn as_written(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(bare) { key.to_owned() } else { format!("{key:?}") }
}
