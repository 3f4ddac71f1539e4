use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::build::cargo;
use crate::run::quiet;

/// The crates by height, words first; each may use only what stands lower. See ARCHITECTURE.md.
const HEIGHTS: [&[&str]; 9] = [
    &["fstree", "msb-agent-protocol", "guest-program"],
    &["erofs-writer", "ext4-writer", "vmdk", "msb-jail"],
    &["oci-layers", "rootfs-view", "guest-kernel", "msb-vmm"],
    &[
        "tree-archive",
        "image-store",
        "msb-network",
        "msb-share",
        "msb-vmm-krun",
        "msb-vmm-qemu",
    ],
    &["msb-agent", "boot-disk", "msb-bench-runner"],
    &["msb-runtime", "msb-bench"],
    &["msb"],
    &["testkit"],
    &["xtask"],
];

/// Crates and what of ours alone they may use.
const ALONE: [(&str, &[&str]); 2] = [
    ("msb-agent", &["msb-agent-protocol", "tree-archive"]),
    ("msb-agent-protocol", &[]),
];

/// Crates that know no host: what they must not use.
const NO_HOST: [&str; 6] = [
    "fstree",
    "erofs-writer",
    "ext4-writer",
    "vmdk",
    "oci-layers",
    "rootfs-view",
];
const HOST_LIBRARIES: [&str; 5] = ["tokio", "fs-err", "reqwest", "rustix", "tempfile"];

/// Proves from cargo's metadata that dependencies point one way.
pub(crate) fn check() -> Result<()> {
    let output =
        quiet(cargo().args(["metadata", "--format-version", "1", "--no-deps", "--locked"]))?;
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"]
        .as_array()
        .context("no packages in cargo's metadata")?;
    let mut faults = Vec::new();
    let mut edges = 0;
    for package in packages {
        let name = package["name"]
            .as_str()
            .context("a package without a name")?;
        let uses = dependencies(package);
        edges += uses.len();
        faults.extend(uses.iter().filter_map(|used| fault(name, used)));
        if height(name).is_none() {
            faults.push(format!("{name} has no place on the map"));
        }
    }
    if !faults.is_empty() {
        bail!(
            "dependencies point the wrong way:\n  {}",
            faults.join("\n  ")
        );
    }
    println!(
        "{} crates, {edges} dependencies: all point down",
        packages.len()
    );
    Ok(())
}

/// Names of what a package is built from; what only its tests use is not part of it.
fn dependencies(package: &Value) -> Vec<String> {
    let all = package["dependencies"].as_array().into_iter().flatten();
    let built = all.filter(|dependency| dependency["kind"].is_null());
    built
        .filter_map(|dependency| dependency["name"].as_str().map(str::to_owned))
        .collect()
}

fn height(name: &str) -> Option<usize> {
    HEIGHTS.iter().position(|names| names.contains(&name))
}

fn fault(name: &str, used: &str) -> Option<String> {
    let edge = format!("{name} -> {used}");
    if used == "libkrun" && name != "msb-vmm-krun" {
        return Some(format!("{edge}: only msb-vmm-krun links libkrun"));
    }
    if NO_HOST.contains(&name) && HOST_LIBRARIES.contains(&used) {
        return Some(format!("{edge}: {name} knows no host"));
    }
    let below = height(used)?;
    let alone: BTreeMap<_, _> = ALONE.into_iter().collect();
    if alone
        .get(name)
        .is_some_and(|allowed| !allowed.contains(&used))
    {
        return Some(format!("{edge}: {name} stands alone"));
    }
    if used == "testkit" && name != "xtask" {
        return Some(format!("{edge}: testkit is for tests and recipes only"));
    }
    (height(name)? <= below).then(|| format!("{edge}: not downwards"))
}
