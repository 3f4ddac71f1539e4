//! The crates that the programs of a release are built from, as cargo resolves them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use test_fixtures::build::cargo;
use test_fixtures::command::quiet;
use test_fixtures::paths;

use crate::release::TARGET;

/// The packages of the programs: two for the host, two that they embed and that run in guests.
const PROGRAMS: [&str; 4] = ["msb", "msb-agent", "msb-bench", "msb-bench-runner"];

/// A crate that a program is built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Crate {
    /// The name.
    pub(crate) name: String,
    /// The version.
    pub(crate) version: String,
    /// The licence as an SPDX expression; `None` if the crate states none.
    pub(crate) licence: Option<String>,
    /// The folder of its sources.
    pub(crate) folder: PathBuf,
    /// The SHA-256 of its package; `None` for a crate of this workspace.
    pub(crate) sha256: Option<String>,
    /// The crates that it uses, as positions in the list of all.
    pub(crate) uses: Vec<usize>,
}

impl Crate {
    /// Returns true if the crate is part of this workspace.
    pub(crate) const fn is_own(&self) -> bool {
        self.sha256.is_none()
    }
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// Returns the crates of all programs, sorted by name and version.
///
/// # Errors
/// If cargo cannot resolve them, or `Cargo.lock` lacks the digest of one.
pub(crate) fn of_programs() -> Result<Vec<Crate>> {
    let mut metadata = cargo();
    metadata.args(["metadata", "--format-version", "1", "--locked"]);
    let output = quiet(metadata.args(["--filter-platform", TARGET]))?;
    let lock = fs_err::read_to_string(paths::root().join("Cargo.lock"))?;
    resolved(&output.stdout, &lock)
}

fn resolved(metadata: &[u8], lock: &str) -> Result<Vec<Crate>> {
    let Metadata { packages, resolve } = serde_json::from_slice(metadata)?;
    let lock: Lock = toml::from_str(lock)?;
    let digests: BTreeMap<_, _> = lock.package.into_iter().filter_map(digest).collect();
    let reached = reached(&packages, &resolve.nodes);
    let mut packages: Vec<Package> = packages
        .into_iter()
        .filter(|package| reached.contains(&package.id))
        .collect();
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    let positions: BTreeMap<String, usize> = packages
        .iter()
        .enumerate()
        .map(|(position, package)| (package.id.clone(), position))
        .collect();
    let nodes: BTreeMap<&str, &Node> = resolve
        .nodes
        .iter()
        .map(|node| (node.id.as_str(), node))
        .collect();
    let built = packages.into_iter().map(|package| {
        let used = nodes.get(package.id.as_str()).map(|node| built_from(node));
        let used = used.into_iter().flatten();
        let mut uses: Vec<usize> = used.filter_map(|id| positions.get(id).copied()).collect();
        uses.sort_unstable();
        let sha256 = match package.source {
            None => None,
            Some(_) => {
                let key = (package.name.clone(), package.version.clone());
                let found = digests.get(&key).cloned();
                Some(found.with_context(|| format!("Cargo.lock has no digest of {}", key.0))?)
            }
        };
        let folder = package.manifest_path.parent();
        Ok(Crate {
            folder: folder.context("a manifest without a folder")?.to_owned(),
            name: package.name,
            version: package.version,
            licence: package.license,
            sha256,
            uses,
        })
    });
    built.collect()
}

fn digest(locked: Locked) -> Option<((String, String), String)> {
    Some(((locked.name, locked.version), locked.checksum?))
}

/// Returns the ids of the programs' packages, and of all that they are built from.
fn reached(packages: &[Package], nodes: &[Node]) -> BTreeSet<String> {
    let is_program =
        |package: &&Package| package.source.is_none() && PROGRAMS.contains(&package.name.as_str());
    let programs = packages.iter().filter(is_program);
    let mut open: Vec<&str> = programs.map(|package| package.id.as_str()).collect();
    let mut reached: BTreeSet<String> = open.iter().map(|&id| id.to_owned()).collect();
    while let Some(id) = open.pop() {
        let node = nodes.iter().find(|node| node.id == id);
        for used in node.into_iter().flat_map(built_from) {
            if reached.insert(used.to_owned()) {
                open.push(used);
            }
        }
    }
    reached
}

/// Returns the ids of the packages that one is built from, without those of its tests and of its
/// build script.
fn built_from(node: &Node) -> impl Iterator<Item = &str> {
    let built = node
        .deps
        .iter()
        .filter(|used| used.dep_kinds.iter().any(|each| each.kind.is_none()));
    built.map(|used| used.pkg.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_builds_or_tests_is_not_part_of_a_program() {
        let metadata = r#"{
            "packages": [
                {"id": "m", "name": "msb", "version": "1.0.0", "license": "Apache-2.0",
                 "manifest_path": "/w/msb/Cargo.toml", "source": null},
                {"id": "a", "name": "a", "version": "2.0.0", "license": "MIT",
                 "manifest_path": "/r/a/Cargo.toml", "source": "registry"},
                {"id": "b", "name": "b", "version": "3.0.0", "license": "MIT",
                 "manifest_path": "/r/b/Cargo.toml", "source": "registry"}
            ],
            "resolve": {"nodes": [
                {"id": "m", "deps": [
                    {"pkg": "a", "dep_kinds": [{"kind": null}]},
                    {"pkg": "b", "dep_kinds": [{"kind": "dev"}, {"kind": "build"}]}
                ]},
                {"id": "a", "deps": []},
                {"id": "b", "deps": []}
            ]}
        }"#;
        let lock = "[[package]]\nname = \"a\"\nversion = \"2.0.0\"\nchecksum = \"ab\"\n";
        let crates = resolved(metadata.as_bytes(), lock).expect("resolved");
        let names: Vec<&str> = crates.iter().map(|each| each.name.as_str()).collect();
        assert_eq!(names, ["a", "msb"]);
        assert_eq!(crates[0].sha256.as_deref(), Some("ab"));
        assert!(crates[1].is_own());
        assert_eq!(crates[1].uses, [0]);
        assert!(resolved(metadata.as_bytes(), "package = []").is_err());
    }
}
