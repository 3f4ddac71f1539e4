//! Validates the output of `--format json` against `docs/schemas`.

use std::io::Read as _;

use anyhow::{Context as _, Result, anyhow};
use boon::{Compiler, Schemas};
use serde_json::Value;

macro_rules! schema {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../docs/schemas/", $name, ".schema.json")),
        )
    };
}

/// Each schema's name and text, embedded because a guest has no repository.
const SCHEMAS: &[(&str, &str)] = &[
    schema!("apply"),
    schema!("apply-staged"),
    schema!("asks"),
    schema!("commands"),
    schema!("df"),
    schema!("diff"),
    schema!("doctor"),
    schema!("doctor-fix"),
    schema!("fs"),
    schema!("history"),
    schema!("image-inspect"),
    schema!("image-pack"),
    schema!("image-verify"),
    schema!("images"),
    schema!("inspect"),
    schema!("jobs"),
    schema!("logs-asks"),
    schema!("logs-network"),
    schema!("network"),
    schema!("prune"),
    schema!("ps"),
    schema!("push"),
    schema!("secrets"),
    schema!("snapshot-verify"),
    schema!("snapshots"),
    schema!("stats"),
    schema!("version"),
    schema!("volumes"),
];

/// Validates the document on standard input against the schema of this name.
/// For example, `ps` is `docs/schemas/ps.schema.json`.
///
/// # Errors
/// If there is no such schema, or the document does not match it.
pub fn judge_input(name: &str) -> Result<()> {
    let mut document = String::new();
    std::io::stdin().read_to_string(&mut document)?;
    judge(name, &document)
}

/// Validates a document against the schema of this name.
///
/// # Errors
/// If there is no such schema, or the document does not match it.
pub fn judge(name: &str, document: &str) -> Result<()> {
    let (_, text) = SCHEMAS
        .iter()
        .find(|(known, _)| *known == name)
        .with_context(|| format!("docs/schemas has no {name}"))?;
    let document: Value = serde_json::from_str(document)
        .with_context(|| format!("{name}: this is no JSON: {document}"))?;
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler
        .add_resource(name, serde_json::from_str(text)?)
        .map_err(|error| anyhow!("{error}"))?;
    let schema = compiler
        .compile(name, &mut schemas)
        .map_err(|error| anyhow!("{error:#}"))?;
    schemas
        .validate(&document, schema)
        .map_err(|error| anyhow!("{name}: {error:#}\nof {document:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: &str = r#"{"msb": "1", "store_format": 1, "agent_protocol": 1, "os": "linux",
        "agent": "0000000000000000000000000000000000000000000000000000000000000000",
        "architecture": "x86_64", "build": "0.1.0+0000000000000000", "launch_format": 1"#;

    #[test]
    fn a_document_of_the_shape_is_accepted() {
        judge("version", &format!("{VERSION}}}")).unwrap();
    }

    #[test]
    fn a_key_too_many_or_too_few_is_refused() {
        let error = judge("version", &format!(r#"{VERSION}, "more": 1}}"#)).unwrap_err();
        assert!(error.to_string().contains("more"), "{error}");
        assert!(judge("version", "{}").is_err());
    }

    #[test]
    fn every_schema_is_known_and_is_one() {
        let directory = test_fixtures::paths::root().join("docs/schemas");
        let files = std::fs::read_dir(directory).unwrap();
        let names: Vec<String> = files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(names.len(), SCHEMAS.len());
        for (name, _) in SCHEMAS {
            assert!(names.contains(&format!("{name}.schema.json")));
            let error = judge(name, "0").unwrap_err().to_string();
            assert!(error.contains("want"), "{error}");
        }
    }
}
