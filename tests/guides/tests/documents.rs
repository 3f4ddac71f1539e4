//! The files, headings and paths that the documents name exist in the repository.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Directories without documents of the project.
const SKIPPED: [&str; 4] = ["target", ".git", "corpus", "node_modules"];
/// Prefixes of paths that documents quote.
const TOP: [&str; 9] = [
    "bench/",
    "ci/",
    "crates/",
    "docs/",
    "fuzz/",
    "kernel-config/",
    "tests/",
    "xtask/",
    ".github/",
];
/// A record of the past, whose paths may have moved.
const HISTORY: &str = "CHANGELOG.md";

struct Document {
    path: PathBuf,
    /// The text without fenced blocks.
    text: String,
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::canonicalize(root).expect("the repository")
}

fn documents() -> Vec<Document> {
    let mut documents = Vec::new();
    let mut directories = vec![root()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && !SKIPPED.contains(&name.as_ref()) {
                directories.push(path);
            } else if name.ends_with(".md") {
                let text = without_blocks(&fs::read_to_string(&path).expect("a document"));
                documents.push(Document { path, text });
            }
        }
    }
    documents
}

fn without_blocks(text: &str) -> String {
    let mut is_inside = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_inside = !is_inside;
        } else if !is_inside {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Returns the anchors of a document's headings, with the rules of code forges.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            title
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}

fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
        .filter(|target| !target.contains("://"))
}

fn fault(document: &Document, target: &str) -> Option<String> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => document.path.clone(),
        file => document.path.parent()?.join(file),
    };
    if !path.exists() {
        return Some("does not exist".to_owned());
    }
    if anchor.is_empty() {
        return None;
    }
    let text = without_blocks(&fs::read_to_string(&path).unwrap_or_default());
    (!anchors(&text).contains(anchor)).then(|| format!("has no heading #{anchor}"))
}

#[test]
fn links_lead_to_files_and_headings() {
    let root = root();
    let mut faults = Vec::new();
    for document in documents() {
        for target in links(&document.text) {
            if let Some(fault) = fault(&document, target) {
                let path = document
                    .path
                    .strip_prefix(&root)
                    .expect("in the repository");
                faults.push(format!("{}: {target} {fault}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn quoted_paths_of_the_repository_exist() {
    let root = root();
    let is_plain = |c: char| c.is_alphanumeric() || "._-/".contains(c);
    let mut missing = BTreeSet::new();
    for document in documents() {
        if document.path.ends_with(HISTORY) {
            continue;
        }
        // Code lies between the odd and the even backtick of a line.
        let quoted = document
            .text
            .lines()
            .flat_map(|line| line.split('`').skip(1).step_by(2));
        let paths = quoted.filter(|code| TOP.iter().any(|top| code.starts_with(top)));
        for path in paths.filter(|code| code.chars().all(is_plain) && !code.contains("..")) {
            if !root.join(path).exists() {
                let from = document
                    .path
                    .strip_prefix(&root)
                    .expect("in the repository");
                missing.insert(format!("{}: {path}", from.display()));
            }
        }
    }
    let missing: Vec<_> = missing.into_iter().collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn every_crate_has_its_line() {
    let readme = root().join("crates/README.md");
    let text = fs::read_to_string(&readme).expect("the list of crates");
    let listed: BTreeSet<_> = links(&text).collect();
    let entries = fs::read_dir(root().join("crates")).expect("the crates");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let missing: Vec<_> = paths
        .filter(|path| path.is_dir())
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .filter(|name| !listed.contains(name.as_str()))
        .collect();
    assert!(missing.is_empty(), "crates/README.md lacks {missing:?}");
}

#[test]
fn the_anchors_of_headings_are_those_of_forges() {
    let anchors = anchors("# Superblock, at byte 1024\n## `msb cp` of a_b-c\ntext\n");
    let expected = ["superblock-at-byte-1024", "msb-cp-of-a_b-c"];
    assert_eq!(anchors, expected.map(str::to_owned).into());
}
