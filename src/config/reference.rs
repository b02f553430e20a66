//! The JSON schema for editors and the key reference for readers, from the types of
//! [`super::document`].
use std::fmt::Write;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::document::Document;

/// JSON schema (draft 7) of a configuration file.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Document>().to_value();
    without_null(&mut schema);
    schema["title"] = "supercool configuration".into();
    schema
}

/// A key that may be left out is not null in TOML; it is left out.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.values_mut().for_each(without_null);
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [single] = &types[..] {
                    object["type"] = single.clone();
                }
            }
            if let Some(Value::Array(words)) = object.get_mut("enum") {
                words.retain(|word| !word.is_null());
            }
            let Some(Value::Array(choices)) = object.get_mut("anyOf") else {
                return;
            };
            choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
            if let [Value::Object(single)] = &mut choices[..] {
                let single = std::mem::take(single);
                object.remove("anyOf");
                for (key, value) in single {
                    // The description of the key goes before that of its type.
                    object.entry(key).or_insert(value);
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(without_null),
        _ => {}
    }
}

/// Markdown page with all keys.
pub fn key_reference() -> String {
    let schema = schema();
    let mut page = String::from("# Keys of the configuration file\n\n");
    page.push_str("Generated from the types in `src/config/document/`.\n\n");
    page.push_str(&description(&schema));
    page.push('\n');
    tables(&schema, "", Header::Top, &mut page);
    page
}

#[derive(Clone, Copy, PartialEq)]
enum Header {
    Top,
    Table,
    /// Element of an array.
    Element,
}

/// The keys of a table, then those of the tables in it.
fn tables(schema: &Value, path: &str, header: Header, page: &mut String) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    if header != Header::Top {
        let title =
            if header == Header::Element { format!("[[{path}]]") } else { format!("[{path}]") };
        let _ = write!(page, "\n## `{title}`\n\n{}\n\n", description(schema));
    } else {
        page.push('\n');
    }
    page.push_str("| key | type | default | |\n| --- | --- | --- | --- |\n");
    for (key, value) in properties {
        let required = is_required(schema, key);
        let _ = writeln!(
            page,
            "| `{key}` | {} | {} | {} |",
            type_of(value),
            default_of(value, required),
            cell(value)
        );
    }
    for (key, value) in properties {
        let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        for (table, header, suffix) in inner_tables(value) {
            tables(table, &format!("{inner}{suffix}"), header, page);
        }
    }
}

fn is_required(schema: &Value, key: &str) -> bool {
    schema["required"].as_array().is_some_and(|keys| keys.iter().any(|name| name == key))
}

/// Tables that a value may hold, and what is added to its path.
fn inner_tables(value: &Value) -> Vec<(&Value, Header, &'static str)> {
    if value.get("properties").is_some() {
        return vec![(value, Header::Table, "")];
    }
    if let Some(entries) = value.get("additionalProperties").filter(|entries| entries.is_object()) {
        return vec![(entries, Header::Table, ".AB")];
    }
    if let Some(items) = value.get("items").filter(|items| items.get("properties").is_some()) {
        return vec![(items, Header::Element, "")];
    }
    let choices = value.get("anyOf").and_then(Value::as_array);
    choices.into_iter().flatten().flat_map(inner_tables).collect()
}

fn type_of(value: &Value) -> String {
    if let Some(choices) = value.get("anyOf").and_then(Value::as_array) {
        let choices: Vec<String> = choices.iter().map(type_of).collect();
        return choices.join(" or ");
    }
    if !words(value).is_empty() {
        return "word".to_owned();
    }
    if let Some(Value::Array(values)) = value.get("enum") {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        return values.join(" or ");
    }
    if let Some(items) = value.get("items") {
        return format!("array of {}s", type_of(items));
    }
    match value.get("type") {
        Some(Value::String(name)) if name == "object" => "table".to_owned(),
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        _ => "value".to_owned(),
    }
}

fn default_of(value: &Value, required: bool) -> String {
    match value.get("default") {
        _ if required => "**required**".to_owned(),
        Some(default) if !default.is_null() => format!("`{default}`"),
        _ => String::new(),
    }
}

/// Description of a key, with the words it takes.
fn cell(value: &Value) -> String {
    let mut text = description(value);
    let choices = value.get("anyOf").and_then(Value::as_array);
    let items = value.get("items");
    let inner = choices.into_iter().flatten().chain(items);
    for (word, meaning) in words(value).into_iter().chain(inner.flat_map(words)) {
        let _ = write!(text, "<br>`\"{word}\"`");
        if !meaning.is_empty() {
            let _ = write!(text, ": {meaning}");
        }
    }
    text.replace('|', "\\|")
}

/// Words of an enumeration and their meanings.
fn words(value: &Value) -> Vec<(String, String)> {
    let plain = |word: &Value| Some((word.as_str()?.to_owned(), String::new()));
    if let Some(Value::Array(all)) = value.get("enum") {
        return all.iter().filter_map(plain).collect();
    }
    let Some(Value::Array(choices)) = value.get("oneOf") else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for choice in choices {
        match choice.get("const") {
            Some(Value::String(word)) => all.push((word.clone(), description(choice))),
            _ => all.extend(words(choice)),
        }
    }
    all
}

fn description(schema: &Value) -> String {
    let none = Map::new();
    let object = schema.as_object().unwrap_or(&none);
    object.get("description").and_then(Value::as_str).unwrap_or("").replace('\n', " ")
}
