//! From the words of serde and the TOML parser to those of a user.
use std::ops::Range;

/// What a message of the deserializer says of the key at which it stands.
#[derive(Debug, PartialEq, Eq)]
pub struct Reworded {
    pub message: String,
    pub help: Option<String>,
    /// The key that is missing in the table at which the message stands.
    pub missing: Option<String>,
}

/// Unknown messages are passed on as they are.
pub fn reword(message: &str) -> Reworded {
    let message = message.trim();
    unknown_key(message)
        .or_else(|| unknown_word(message))
        .or_else(|| missing_key(message))
        .or_else(|| wrong_type(message))
        .unwrap_or_else(|| Reworded {
            message: if message.is_empty() { "is not TOML" } else { message }.replace('\n', ", "),
            help: None,
            missing: None,
        })
}

/// What would be right where the parser has met what is not TOML: `at` is the place in the text.
pub fn help_of_syntax(message: &str, text: &str, at: &Range<usize>) -> Option<String> {
    let typed = text.get(at.clone()).unwrap_or_default().trim();
    let lower = typed.to_lowercase();
    if matches!(&lower[..], "true" | "false" | "inf" | "nan") && lower != typed {
        return Some(format!("write {lower}, in small letters"));
    }
    if matches!(&lower[..], "none" | "null") {
        return Some("leave the key out where it has no value".to_owned());
    }
    let is_digit = |place: Option<usize>| {
        place.and_then(|place| text.as_bytes().get(place)).is_some_and(u8::is_ascii_digit)
    };
    let comma = text.as_bytes().get(at.start) == Some(&b',');
    if comma && is_digit(at.start.checked_sub(1)) && is_digit(at.start.checked_add(1)) {
        let help = "numbers are written with a decimal point, and without commas";
        return Some(help.to_owned());
    }
    let is_word = typed.len() <= 64 && typed.starts_with(|c: char| c.is_ascii_alphabetic());
    if is_word && message.starts_with("string values must be quoted") {
        return Some(format!("strings are written in quotes: {typed:?}"));
    }
    None
}

/// The known word nearest to a mistyped one, if it is near enough.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The distance is quadratic in the length, and no known word is long.
    if typed.len() > 64 {
        return None;
    }
    known
        .into_iter()
        .map(|word| (strsim::damerau_levenshtein(typed, word), word))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, word)| distance <= 1 + word.len().min(typed.len()) / 3)
        .map(|(_, word)| word)
}

fn unknown_key(message: &str) -> Option<Reworded> {
    let (typed, known) = typed_and_known(message, "unknown field `")?;
    if typed.starts_with("$__") {
        return Some(Reworded {
            message: "must be a table, not a date".to_owned(),
            help: None,
            missing: None,
        });
    }
    Some(Reworded {
        message: "unknown key".to_owned(),
        help: Some(suggestion(&typed, &known, "the keys here are")),
        missing: None,
    })
}

fn unknown_word(message: &str) -> Option<Reworded> {
    let (typed, known) = typed_and_known(message, "unknown variant `")?;
    Some(Reworded {
        message: format!("unknown word {typed:?}"),
        help: Some(suggestion(&typed, &known, "the words known here are")),
        missing: None,
    })
}

fn missing_key(message: &str) -> Option<Reworded> {
    let key = message.strip_prefix("missing field `")?.strip_suffix('`')?;
    // Nothing but a ramp must have them.
    let of_ramp = matches!(key, "from" | "to");
    let help =
        "a temperature or pressure that changes has from and to; one that stays is a plain number";
    Some(Reworded {
        message: "key is missing".to_owned(),
        help: of_ramp.then(|| help.to_owned()),
        missing: Some(key.to_owned()),
    })
}

fn wrong_type(message: &str) -> Option<Reworded> {
    if message.ends_with(" number overflowed") {
        return Some(Reworded {
            message: "is too large a number".to_owned(),
            help: None,
            missing: None,
        });
    }
    let said = |message: String| Some(Reworded { message, help: None, missing: None });
    if message.starts_with("wanted string or table") || message.starts_with("wanted exactly 1") {
        return said("must be a string".to_owned());
    }
    let rest = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    let found = match found.split('`').next().unwrap_or(found).trim() {
        "map" => "a table".to_owned(),
        "sequence" => "an array".to_owned(),
        "integer" => format!("the integer {}", inside_backticks(found)),
        "floating point" => format!("the number {}", inside_backticks(found)),
        "boolean" => inside_backticks(found).to_owned(),
        _ => found.replacen("string ", "the string ", 1),
    };
    if expected == "a sequence" {
        let help = (found == "a table")
            .then(|| "an array of tables is written with two brackets, as in [[stage]]".to_owned());
        let message = format!("must be an array, not {found}");
        return Some(Reworded { message, help, missing: None });
    }
    said(format!("must be {expected}, not {found}"))
}

/// The key or word that a message says to be unknown, and those that are known.
pub fn unknown_and_known(message: &str) -> Option<(String, Vec<String>)> {
    let message = message.trim();
    ["unknown field `", "unknown variant `"]
        .into_iter()
        .find_map(|prefix| typed_and_known(message, prefix))
}

fn inside_backticks(text: &str) -> &str {
    text.split('`').nth(1).unwrap_or(text)
}

/// The word in question and the known ones, of "PREFIX typed`, expected one of `a`, `b`".
fn typed_and_known(message: &str, prefix: &str) -> Option<(String, Vec<String>)> {
    let rest = message.strip_prefix(prefix)?;
    // What was typed may hold anything, so that its end is the last place that can be.
    let end = rest.rfind("`, expected ").or_else(|| rest.rfind("`, there are no"))?;
    let known = rest[end + 1..].split('`').skip(1).step_by(2).map(str::to_owned).collect();
    Some((rest[..end].to_owned(), known))
}

/// Words of others, and ours.
const SYNONYMS: [(&str, &str); 3] = [("gpu", "cuda"), ("nvidia", "cuda"), ("host", "cpu")];

pub fn suggestion(typed: &str, known: &[String], introduction: &str) -> String {
    let known_words = || known.iter().map(String::as_str);
    let synonym = SYNONYMS.iter().find(|(theirs, _)| typed.eq_ignore_ascii_case(theirs));
    let synonym = synonym.and_then(|&(_, ours)| known_words().find(|&word| word == ours));
    match synonym.or_else(|| nearest(typed, known_words())) {
        Some(word) => format!("did you mean `{word}`?"),
        None => format!("{introduction} {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_word_is_put_right_and_a_strange_one_gets_the_list() {
        let known = ["cutoff", "cutoff_absolute", "kind"];
        assert_eq!(nearest("cuttof", known), Some("cutoff"));
        assert_eq!(nearest("absolute_temperature", known), None);
        let message = "unknown field `x`, expected `y`, expected one of `kind`, `m`";
        assert_eq!(reword(message).help.unwrap(), "the keys here are kind, m");
    }

    #[test]
    fn types_are_named_in_the_words_of_toml() {
        let reworded = reword("invalid type: map, expected a number");
        assert_eq!(reworded.message, "must be a number, not a table");
        let reworded = reword("invalid type: string \"a, expected b\", expected a number");
        assert_eq!(reworded.message, "must be a number, not the string \"a, expected b\"");
    }
}
