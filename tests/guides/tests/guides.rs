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

/// Returns the blocks of a guide in a language.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap_or_default());
    blocks.collect()
}

#[test]
fn the_settings_of_clients_start_msb() {
    let guides = guides();
    let (_, text) = guides.iter().find(|(name, _)| name == "mcp").expect("mcp");
    let json = blocks(text, "json").into_iter();
    let mut settings: Vec<serde_json::Value> = json
        .map(|block| serde_json::from_str(block).expect("JSON"))
        .collect();
    let toml = blocks(text, "toml").into_iter();
    settings.extend(toml.map(|block| toml::from_str::<serde_json::Value>(block).expect("TOML")));
    assert_eq!(settings.len(), 3);
    for client in &settings {
        let servers = ["mcpServers", "servers", "mcp_servers"].map(|key| &client[key]["msb"]);
        let server = servers.into_iter().find(|server| server.is_object());
        let server = server.unwrap_or_else(|| panic!("no server: {client}"));
        assert_eq!(server["command"], "msb", "{client}");
        let words = server["args"].as_array().expect("arguments");
        assert!(words.iter().all(serde_json::Value::is_string), "{client}");
        assert_eq!(words.first(), Some(&serde_json::json!("mcp")), "{client}");
    }
}

/// Returns a text without the indentation of its lines, and without blank lines.
fn unindented(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_rust_of_a_guide_is_that_of_the_examples() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let examples = fs::read_dir(repository.join("crates/sdk/examples")).expect("the examples");
    let paths = examples.map(|example| example.expect("an entry").path());
    let examples: Vec<_> = paths
        .filter(|path| path.is_file())
        .map(|path| unindented(&fs::read_to_string(path).expect("an example")))
        .collect();
    let guide = fs::read_to_string(repository.join("docs/guide/rust.md")).expect("the guide");
    let blocks: Vec<_> = guide
        .split("```rust\n")
        .skip(1)
        .map(|rest| unindented(rest.split("```").next().unwrap_or_default()))
        .collect();
    assert!(blocks.len() >= 12, "{} blocks", blocks.len());
    for block in blocks {
        let is_part = examples.iter().any(|example| example.contains(&block));
        assert!(is_part, "no example has this part:\n{block}");
    }
}
