//! Proves from cargo's metadata that dependencies point one way, as ARCHITECTURE.md says.

mod map;
mod workspace;

use std::fs;

use anyhow::{Result, bail, ensure};

use test_fixtures::build::cargo;
use test_fixtures::command::quiet;
use test_fixtures::paths;

use map::{CLOSURES, MAP, Row, SUPPORT, drawing, height};
use workspace::{Package, closure, packages};

/// Libraries that access a host: clocks, sockets, files by path.
const HOST_LIBRARIES: [&str; 5] = ["tokio", "fs-err", "reqwest", "rustix", "tempfile"];

/// Parsers and writers of hostile bytes that access a host. Crates that know only bytes are checked
/// too.
const SAFE_WITH_HOST: [&str; 1] = ["tree-archive"];
const FORBID: &str = "#![forbid(unsafe_code)]";

/// Checks the workspace against the map, and the map against ARCHITECTURE.md.
pub(crate) fn check() -> Result<()> {
    let output =
        quiet(cargo().args(["metadata", "--format-version", "1", "--no-deps", "--locked"]))?;
    let packages = packages(&output.stdout)?;
    let mut faults = faults(&packages);
    faults.extend(unsafe_faults(&packages)?);
    if !faults.is_empty() {
        bail!(
            "the crates are not as the map has them:\n  {}",
            faults.join("\n  ")
        );
    }
    let drawing = drawing(&packages);
    let architecture = fs::read_to_string(paths::root().join("ARCHITECTURE.md"))?;
    ensure!(
        architecture.contains(&format!("```text\n{drawing}```\n")),
        "ARCHITECTURE.md has another map than xtask/src/layers/map.rs; this is the one:\n\n{drawing}"
    );
    let edges: usize = packages.iter().map(|package| package.uses.len()).sum();
    println!(
        "{} crates, {edges} dependencies: all point down, as the map says",
        packages.len()
    );
    Ok(())
}

fn faults(packages: &[Package]) -> Vec<String> {
    let mut faults = Vec::new();
    for Package { name, uses, .. } in packages {
        if height(name).is_none() {
            faults.push(format!("{name} has no place on the map"));
        }
        faults.extend(uses.iter().filter_map(|used| fault(name, used)));
    }
    let is_there = |name: &str| packages.iter().any(|package| package.name == name);
    let on_map = MAP.iter().flat_map(Row::crates);
    let gone = on_map.filter(|&name| !is_there(name));
    faults.extend(gone.map(|name| format!("{name} is on the map and not in the workspace")));
    for (name, allowed) in CLOSURES {
        let others = closure(packages, name).into_iter();
        let others = others.filter(|used| allowed.split_whitespace().all(|name| name != used));
        faults.extend(
            others.map(|used| format!("{name} is built from {used}, directly or through others")),
        );
    }
    faults
}

/// Returns the parsers and writers that do not forbid `unsafe` code.
fn unsafe_faults(packages: &[Package]) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for Package { name, folder, .. } in packages {
        let is_pure = height(name).is_some_and(|row| MAP[row].is_pure);
        if is_pure || SAFE_WITH_HOST.contains(&name.as_str()) {
            let root = fs::read_to_string(paths::root().join(folder).join("src/lib.rs"))?;
            let is_safe = root.lines().any(|line| line == FORBID);
            faults.extend((!is_safe).then(|| format!("{name} has no {FORBID}")));
        }
    }
    Ok(faults)
}

/// Returns the fault of one crate that uses another; `None` if it may.
fn fault(name: &str, used: &str) -> Option<String> {
    let edge = format!("{name} -> {used}");
    if used == "libkrun" && name != "msb-vmm-krun" {
        return Some(format!("{edge}: only msb-vmm-krun links libkrun"));
    }
    let own = height(name)?;
    if MAP[own].is_pure && HOST_LIBRARIES.contains(&used) {
        return Some(format!("{edge}: {name} knows no host"));
    }
    match height(used)? {
        SUPPORT if own > SUPPORT => Some(format!("{edge}: {used} is for tests and builds only")),
        below if below <= own => Some(format!("{edge}: not downwards")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, uses: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            folder: format!("crates/{name}"),
            description: String::new(),
            uses: uses.iter().map(|&used| used.to_owned()).collect(),
        }
    }

    /// Returns the faults of a workspace that has every crate of the map, and these uses.
    fn faults_of(uses: &[(&str, &[&str])]) -> Vec<String> {
        let names = MAP.iter().flat_map(Row::crates);
        let packages: Vec<Package> = names
            .map(|name| {
                let found = uses.iter().find(|(user, _)| *user == name);
                package(name, found.map_or(&[], |(_, used)| used))
            })
            .collect();
        faults(&packages)
    }

    #[test]
    fn arrows_point_down_and_not_sideways() {
        assert!(faults_of(&[("msb", &["msb-runtime", "serde"])]).is_empty());
        for (user, used, fault) in [
            ("filesystem-tree", "tar-stream", "not downwards"),
            ("tar-stream", "vmdk", "not downwards"),
            ("oci-layers", "rustix", "oci-layers knows no host"),
            ("msb-runtime", "libkrun", "only msb-vmm-krun"),
            ("msb", "testkit", "for tests and builds only"),
        ] {
            let faults = faults_of(&[(user, &[used])]);
            assert!(faults.len() == 1 && faults[0].contains(fault), "{faults:?}");
        }
    }

    #[test]
    fn what_the_agent_is_built_from_is_followed_to_its_end() {
        let uses: [(&str, &[&str]); 3] = [
            ("msb-agent", &["tree-archive"]),
            ("tree-archive", &["tar-stream", "oci-layers"]),
            ("oci-layers", &["filesystem-tree", "erofs-writer"]),
        ];
        assert_eq!(
            faults_of(&uses),
            [
                "msb-agent is built from erofs-writer, directly or through others",
                "msb-agent is built from oci-layers, directly or through others",
            ]
        );
    }

    #[test]
    fn a_crate_and_its_line_come_and_go_together() {
        let mut packages = vec![package("new", &[])];
        let faults_of_one = faults(&packages);
        assert!(faults_of_one.contains(&"new has no place on the map".to_owned()));
        assert!(
            faults_of_one
                .contains(&"filesystem-tree is on the map and not in the workspace".to_owned())
        );
        packages.push(package("filesystem-tree", &[]));
        assert!(drawing(&packages).contains("tree     crates/filesystem-tree"));
    }
}
