//! What the tests ask of a Markdown file.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

pub struct Document {
    /// Absolute.
    pub path: PathBuf,
    pub links: Vec<String>,
    /// Anchors of the headings, as GitHub makes them.
    pub headings: BTreeSet<String>,
    /// Code within lines.
    pub code: Vec<String>,
    pub blocks: Vec<Block>,
}

pub struct Block {
    pub language: String,
    /// Line of the file on which it begins.
    pub line: usize,
    pub text: String,
}

impl Document {
    pub fn read(path: PathBuf) -> Document {
        let path = path.canonicalize().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let (links, headings, code, blocks) = Default::default();
        let mut document = Document { path, links, headings, code, blocks };
        let mut heading: Option<String> = None;
        let mut in_block = false;
        for (event, range) in Parser::new_ext(&text, Options::ENABLE_TABLES).into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    document.links.push(dest_url.into_string())
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    document.headings.extend(heading.take().map(|it| anchor(&it)));
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    let language = match kind {
                        CodeBlockKind::Fenced(language) => language.into_string(),
                        CodeBlockKind::Indented => String::new(),
                    };
                    let line = 1 + text[..range.start].matches('\n').count();
                    document.blocks.push(Block { language, line, text: String::new() });
                    in_block = true;
                }
                Event::End(TagEnd::CodeBlock) => in_block = false,
                Event::Text(part) if in_block => document.blocks.last_mut().unwrap().text += &part,
                Event::Code(part) => {
                    heading.iter_mut().for_each(|it| *it += &part);
                    document.code.push(part.into_string());
                }
                Event::Text(part) => heading.iter_mut().for_each(|it| *it += &part),
                _ => {}
            }
        }
        document
    }

    /// Relative to the repository.
    pub fn name(&self) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap();
        self.path.strip_prefix(root).unwrap().display().to_string()
    }
}

fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}
