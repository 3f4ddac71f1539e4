//! The workspace's crates, from cargo's metadata.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

/// A crate of the workspace.
#[derive(Debug)]
pub(super) struct Package {
    pub(super) name: String,
    /// Its folder, from the workspace's root.
    pub(super) folder: String,
    pub(super) description: String,
    /// The names of its direct dependencies, without those of only its tests and its build script.
    pub(super) uses: BTreeSet<String>,
}

/// Reads the output of `cargo metadata --no-deps`.
pub(super) fn packages(metadata: &[u8]) -> Result<Vec<Package>> {
    let metadata: Value = serde_json::from_slice(metadata)?;
    let root = text(&metadata, "workspace_root")?;
    let packages = metadata["packages"]
        .as_array()
        .context("no packages in cargo's metadata")?;
    packages
        .iter()
        .map(|package| {
            let manifest = Path::new(text(package, "manifest_path")?);
            let folder = manifest.parent().context("a manifest without a folder")?;
            Ok(Package {
                name: text(package, "name")?.to_owned(),
                folder: folder.strip_prefix(root)?.display().to_string(),
                description: text(package, "description")?.to_owned(),
                uses: dependencies(package),
            })
        })
        .collect()
}

/// Returns all crates of the workspace that `name` is built from, directly or through others.
pub(super) fn closure(packages: &[Package], name: &str) -> BTreeSet<String> {
    let mut closure = BTreeSet::new();
    let mut open = vec![name];
    while let Some(next) = open.pop() {
        let Some(package) = packages.iter().find(|package| package.name == next) else {
            continue;
        };
        for used in &package.uses {
            let is_ours = packages.iter().any(|package| package.name == *used);
            if is_ours && closure.insert(used.clone()) {
                open.push(used);
            }
        }
    }
    closure
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    let text = value[key].as_str();
    text.with_context(|| format!("no {key} in cargo's metadata"))
}

fn dependencies(package: &Value) -> BTreeSet<String> {
    let all = package["dependencies"].as_array().into_iter().flatten();
    let built = all.filter(|dependency| dependency["kind"].is_null());
    built
        .filter_map(|dependency| dependency["name"].as_str().map(str::to_owned))
        .collect()
}
