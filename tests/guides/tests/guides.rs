//! The form of the guides, which is checked without a guest.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use guides::{Guide, Step};

fn guides() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let entries = fs::read_dir(directory).expect("the directory of guides");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let guides = paths.filter(|path| path.file_name().is_some_and(|name| name != "README.md"));
    guides
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into();
            (name, fs::read_to_string(&path).expect("a guide"))
        })
        .collect()
}

#[test]
fn every_guide_parses() {
    for (name, text) in guides() {
        Guide::parse(&text).unwrap_or_else(|error| panic!("docs/guide/{name}.md: {error}"));
    }
}

#[test]
fn every_guide_with_commands_has_a_boot_test() {
    let tests = include_str!("boot.rs");
    let runs = |text: &str| {
        let steps = Guide::parse(text).expect("a guide").steps;
        steps
            .iter()
            .any(|step| matches!(step, Step::Command { .. }))
    };
    let missing: BTreeSet<_> = guides()
        .into_iter()
        .filter(|(name, text)| runs(text) && !tests.contains(&format!("boot(\"{name}\")")))
        .map(|(name, _)| name)
        .collect();
    assert!(missing.is_empty(), "guides that no test runs: {missing:?}");
}
