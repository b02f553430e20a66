//! Documents say what is there: links lead somewhere, paths exist, configurations and commands are accepted.
#[path = "../common/mod.rs"]
mod common;

mod markdown;
mod shell;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use markdown::Document;
use toml::{Table, Value};

use crate::common::job::Job;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All Markdown files of the repository.
static DOCUMENTS: LazyLock<Vec<Document>> = LazyLock::new(|| {
    let mut files = markdown_files(root(), false);
    for folder in ["configs", "docs", "tests", "validation"] {
        files.extend(markdown_files(&root().join(folder), true));
    }
    files.sort();
    files.into_iter().map(Document::read).collect()
});

fn markdown_files(folder: &Path, with_subfolders: bool) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && with_subfolders {
            files.extend(markdown_files(&path, true));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    files
}

/// README and guide, whose blocks are run or checked.
fn guide() -> impl Iterator<Item = &'static Document> {
    DOCUMENTS.iter().filter(|document| {
        document.name() == "README.md" || document.name().starts_with("docs/guide/")
    })
}

/// Fails with all that is wrong, not only with the first.
fn none_wrong(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut wrong = Vec::new();
    for document in DOCUMENTS.iter() {
        for link in document.links.iter().filter(|link| !link.contains("://")) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let file = match path {
                "" => document.path.clone(),
                path => document.path.parent().unwrap().join(path),
            };
            let Ok(file) = file.canonicalize() else {
                wrong.push(format!("{}: no file {link}", document.name()));
                continue;
            };
            let target = DOCUMENTS.iter().find(|other| other.path == file);
            if !heading.is_empty() && !target.is_some_and(|it| it.headings.contains(heading)) {
                wrong.push(format!("{}: no heading {link}", document.name()));
            }
        }
    }
    none_wrong(wrong);
}

#[test]
fn paths_in_documents_exist() {
    let folders = ["analysis/", "configs/", "docs/", "kernels/", "scripts/", "src/", "tests/"];
    let mut wrong = Vec::new();
    for document in DOCUMENTS.iter() {
        for code in &document.code {
            let path = code.split([' ', ':']).next().unwrap().trim_start_matches("./");
            let ours =
                folders.iter().any(|it| path.starts_with(it)) || path.starts_with("validation/");
            let pattern = path.contains(['*', '{', '<']) || path.contains("NAME");
            if ours && !pattern && !root().join(path).exists() {
                wrong.push(format!("{}: no {path}", document.name()));
            }
        }
    }
    none_wrong(wrong);
}

/// Every page is in the table of the guide, and in the README.
#[test]
fn pages_of_the_guide_are_listed() {
    let links = |name: &str| -> BTreeSet<PathBuf> {
        let document = DOCUMENTS.iter().find(|it| it.name() == name).unwrap();
        let folder = document.path.parent().unwrap();
        let file = |link: &String| folder.join(link.split('#').next().unwrap()).canonicalize();
        document.links.iter().flat_map(file).collect()
    };
    let (readme, guide_page) = (links("README.md"), links("docs/guide/README.md"));
    for page in guide().filter(|it| !it.name().ends_with("README.md")) {
        assert!(readme.contains(&page.path), "README.md does not link {}", page.name());
        assert!(guide_page.contains(&page.path), "the guide does not list {}", page.name());
    }
}

/// What the README has under "A run".
fn whole_configuration() -> Table {
    let readme = DOCUMENTS.iter().find(|it| it.name() == "README.md").unwrap();
    let blocks: Vec<_> = readme.blocks.iter().filter(|block| block.language == "toml").collect();
    assert_eq!(blocks.len(), 1, "the README has one configuration");
    blocks[0].text.parse().unwrap()
}

/// By the rule of docs/guide/README.md.
fn merge(whole: &mut Table, fragment: Table) {
    for (key, value) in fragment {
        match (key.as_str(), value) {
            ("stage", Value::Array(stages)) => {
                stages.into_iter().for_each(|it| set_stage(whole, it))
            }
            ("stage", Value::Table(last)) => whole["stage"]
                .as_array_mut()
                .unwrap()
                .last_mut()
                .unwrap()
                .as_table_mut()
                .unwrap()
                .extend(last),
            (_, Value::Table(table)) if !table.contains_key("kind") && whole.contains_key(&key) => {
                whole[&key].as_table_mut().unwrap().extend(table)
            }
            (_, value) => drop(whole.insert(key, value)),
        }
    }
}

fn set_stage(whole: &mut Table, stage: Value) {
    let stages = whole["stage"].as_array_mut().unwrap();
    match stages.iter_mut().find(|it| it["name"] == stage["name"]) {
        Some(before) => *before = stage,
        None => stages.push(stage),
    }
}

#[test]
fn configurations_are_accepted() {
    let whole = whole_configuration();
    let mut count = 0;
    let mut wrong = Vec::new();
    for document in guide() {
        for block in document.blocks.iter().filter(|block| block.language == "toml") {
            let fragment: Table = block
                .text
                .parse()
                .unwrap_or_else(|error| panic!("{}:{}: {error}", document.name(), block.line));
            let mut merged = whole.clone();
            let density_is_given = fragment.get("system").is_some_and(|it| it.get("box").is_some());
            if density_is_given {
                merged["system"].as_table_mut().unwrap().remove("density");
            }
            merge(&mut merged, fragment);
            let file = merged["system"]["initial"].get("file").cloned();
            let several = merged.get("ensemble").and_then(|it| it.get("configurations")).cloned();
            let job = Job::new(&toml::to_string(&merged).unwrap());
            for name in ["aa.txt", "ab.txt"] {
                std::fs::copy(root().join("tests/data/lennard_jones.table"), job.path(name))
                    .unwrap();
            }
            let ended = job.execute(&["check", "job.toml"]);
            let accepted = match file.or(several) {
                // Which nobody has written here.
                Some(file) => {
                    ended.stderr.contains(file.as_str().unwrap())
                        && ["No such file", "no file matches"]
                            .iter()
                            .any(|why| ended.stderr.contains(why))
                }
                None => ended.code == Some(0),
            };
            if !accepted {
                wrong.push(format!("{}:{}: {}", document.name(), block.line, ended.stderr));
            }
            count += 1;
        }
    }
    none_wrong(wrong);
    assert!(count > 10, "only {count} configurations were found");
}

#[test]
fn commands_are_accepted() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for document in guide() {
        for block in document.blocks.iter().filter(|block| block.language == "sh") {
            for line in block.text.lines() {
                count += 1;
                if let Err(why) = shell::check(line) {
                    wrong.push(format!("{}:{}: {line}\n  {why}", document.name(), block.line));
                }
            }
        }
    }
    none_wrong(wrong);
    assert!(count > 20, "only {count} commands were found");
}
