//! Changes to the text of a configuration: by options of the command line, or by a sweep.
//!
//! The text itself is changed, so that what results files keep of it is what ran. Every stretch of the
//! new text knows where it is from: messages name that place.
mod place;
mod resumed;
mod setting;

use std::ops::Range;

use toml::de::DeTable;

pub use resumed::resumed_with;
pub use setting::{Setting, WrongSetting};

use super::spans;

/// Where a stretch of text is from that was put into a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The words of the command line.
    Option(String),
    /// Bytes of the file.
    File(Range<usize>),
}

/// A text with changes.
#[derive(Clone, Debug)]
pub struct Edited {
    text: String,
    original: String,
    /// Of `text`, one after the other without gaps.
    stretches: Vec<Stretch>,
}

#[derive(Clone, Debug)]
struct Stretch {
    length: usize,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// Its first byte in the original text.
    Original(usize),
    Inserted(Origin),
}

/// Removes a table of the document with all that stands in it.
///
/// # Errors
/// If its keys stand below no header of their own.
pub fn remove_table(edited: &mut Edited, name: &str) -> Result<(), WrongSetting> {
    let text = edited.text().to_owned();
    let (tree, _) = DeTable::parse_recoverable(&text);
    let mut ranges = place::removal(tree.get_ref(), &text, name)?;
    ranges.sort_by_key(|range| std::cmp::Reverse(range.start));
    for range in ranges {
        edited.replace(range, "", &Origin::Option(String::new()));
    }
    Ok(())
}

/// Where a message points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Option(String),
    /// Line, from 1, and bytes of the original text.
    File {
        line: usize,
        span: Range<usize>,
    },
}

impl Edited {
    /// Without changes.
    pub fn new(text: &str) -> Self {
        let stretches = vec![Stretch { length: text.len(), source: Source::Original(0) }];
        Edited { text: text.to_owned(), original: text.to_owned(), stretches }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn original(&self) -> &str {
        &self.original
    }

    /// Puts a text in the place of some bytes.
    pub fn replace(&mut self, range: Range<usize>, with: &str, origin: &Origin) {
        self.text.replace_range(range.clone(), with);
        let mut stretches = Vec::with_capacity(self.stretches.len() + 2);
        let inserted = || Stretch { length: with.len(), source: Source::Inserted(origin.clone()) };
        let (mut start, mut is_in) = (0, false);
        for stretch in self.stretches.drain(..) {
            let end = start + stretch.length;
            let before = range.start.clamp(start, end) - start;
            let after = end - range.end.clamp(start, end);
            let from = |skipped: usize| match &stretch.source {
                Source::Original(first) => Source::Original(first + skipped),
                inserted => inserted.clone(),
            };
            stretches.push(Stretch { length: before, source: from(0) });
            if !is_in && range.start <= end {
                stretches.push(inserted());
                is_in = true;
            }
            stretches.push(Stretch { length: after, source: from(stretch.length - after) });
            start = end;
        }
        stretches.retain(|stretch| stretch.length > 0);
        self.stretches = stretches;
    }

    /// Where the bytes of the text are from.
    pub fn place(&self, span: &Range<usize>) -> Place {
        let mut start = 0;
        for stretch in &self.stretches {
            let end = start + stretch.length;
            if span.start < end {
                return match &stretch.source {
                    Source::Original(first) => {
                        let place = |at: usize| first + at.min(end) - start;
                        self.in_file(place(span.start)..place(span.end.max(span.start)))
                    }
                    Source::Inserted(Origin::File(place)) => self.in_file(place.clone()),
                    Source::Inserted(Origin::Option(words)) => Place::Option(words.clone()),
                };
            }
            start = end;
        }
        self.in_file(self.original.len()..self.original.len())
    }

    fn in_file(&self, span: Range<usize>) -> Place {
        Place::File { line: spans::line(&self.original, span.start), span }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_changed_text_knows_its_place() {
        let mut edited = Edited::new("a = 1\nb = 2\nc = 3\n");
        let option = |words: &str| Origin::Option(words.to_owned());
        edited.replace(10..11, "[\n2,\n]", &option("--set b"));
        edited.replace(0..0, "d = 4\n", &option("--set d"));
        assert_eq!(edited.text(), "d = 4\na = 1\nb = [\n2,\n]\nc = 3\n");
        let place = |part: &str| {
            let start = edited.text().find(part).unwrap();
            edited.place(&(start..start + part.len()))
        };
        let at = |line, span| Place::File { line, span };
        assert_eq!(place("d ="), Place::Option("--set d".to_owned()));
        assert_eq!(place("2,"), Place::Option("--set b".to_owned()));
        assert_eq!(place("a = 1"), at(1, 0..5));
        assert_eq!(place("b = "), at(2, 6..10));
        assert_eq!(place("c = 3"), at(3, 12..17));
        let end = edited.text().len();
        assert_eq!(edited.place(&(end..end)), at(4, 18..18));

        // A change within a change, and one that takes several stretches away.
        let start = edited.text().find("2,").unwrap();
        edited.replace(start..start + 1, "5", &Origin::File(12..13));
        assert_eq!(edited.place(&(start..start + 1)), at(3, 12..13));
        edited.replace(2..start + 4, "", &option("gone"));
        assert_eq!(edited.text(), "d c = 3\n".replace("d c", "d \nc"));
        let start = edited.text().find("c = 3").unwrap();
        assert_eq!(edited.place(&(start..start + 5)), at(3, 12..17));
    }
}
