//! The images that demo and tests use, made of Debian's packages.

mod layers;
mod layout;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::run::{quiet, step};
use crate::{place, tools};

/// What the base has beyond Debian's minimum: python3 for the demo, the rest for the lab.
const PACKAGES: &str = "python3,procps,e2fsprogs,libcap2-bin,attr";
/// What beyond these the workloads of `msb bench fs` run.
const BENCH_PACKAGES: &str = "git,python3-venv";
const SUITE: &str = "bookworm";
const MIRROR: &str = "http://deb.debian.org/debian";

/// A Debian tree, made the first time.
pub(crate) fn base_tree() -> Result<PathBuf> {
    tree("debian", PACKAGES)
}

fn tree(name: &str, packages: &str) -> Result<PathBuf> {
    tools::install()?;
    let directory = place::kept(name)?;
    let tree = directory.join("tree");
    if tree.exists() {
        return Ok(tree);
    }
    step("debootstrap a Debian base");
    let unfinished = directory.join("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    quiet(
        Command::new("debootstrap")
            .args(["--variant=minbase", &format!("--include={packages}"), SUITE])
            .arg(&unfinished)
            .arg(MIRROR),
    )?;
    // Downloaded packages are no part of a system.
    quiet(
        Command::new("chroot")
            .arg(&unfinished)
            .args(["apt-get", "clean"]),
    )?;
    fs::rename(&unfinished, &tree)?;
    Ok(tree)
}

/// Makes every image of the tests.
pub(crate) fn all() -> Result<()> {
    demo()?;
    small()?;
    pair()?;
    Ok(())
}

/// An OCI layout of a Debian with python3 in more than ten gzip layers, among them deletions,
/// replaced files, opaque directories, hard links, capabilities, devices and type changes.
pub(crate) fn demo() -> Result<PathBuf> {
    of_tree("debian-python", &base_tree()?)
}

/// The same with all that the workloads of `msb bench fs` run.
pub(crate) fn bench() -> Result<PathBuf> {
    let packages = format!("{PACKAGES},{BENCH_PACKAGES}");
    of_tree("debian-bench", &tree("debian-bench", &packages)?)
}

fn of_tree(name: &str, tree: &Path) -> Result<PathBuf> {
    let layout = place::kept("images")?.join(name);
    if layout.exists() {
        return Ok(layout);
    }
    step("make the image's layers");
    let work = place::scratch(name)?;
    let mut tars = layers::of_base(tree, &work)?;
    tars.extend(layers::of_changes(&work)?);
    layout::assemble(&layout, &tars)?;
    fs::remove_dir_all(work)?;
    Ok(layout)
}

/// A small image with the same changes, for what is done hundreds of times.
pub(crate) fn small() -> Result<PathBuf> {
    let tree = base_tree()?;
    let layout = place::kept("images")?.join("small");
    if layout.exists() {
        return Ok(layout);
    }
    let work = place::scratch("small-image")?;
    let mut tars = vec![layers::part(
        &tree,
        &work,
        "python-stdlib",
        &["./usr/lib/python3.11"],
        &[],
    )?];
    tars.extend(layers::of_changes(&work)?);
    layout::assemble(&layout, &tars)?;
    fs::remove_dir_all(work)?;
    Ok(layout)
}

/// The least that a shell, `echo` and `sleep` need, in one layer: what is done with it is hardly the image's.
pub(crate) fn bare() -> Result<PathBuf> {
    const PATHS: [&str; 14] = [
        "./bin",
        "./lib",
        "./lib64",
        "./etc/group",
        "./etc/passwd",
        "./tmp",
        "./usr/bin/dash",
        "./usr/bin/echo",
        "./usr/bin/sh",
        "./usr/bin/sleep",
        "./usr/bin/true",
        "./usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
        "./usr/lib/x86_64-linux-gnu/libc.so.6",
        "./usr/lib64",
    ];
    let tree = base_tree()?;
    let layout = place::kept("images")?.join("bare");
    if layout.exists() {
        return Ok(layout);
    }
    let work = place::scratch("bare-image")?;
    let tars = [layers::part(&tree, &work, "bare", &PATHS, &[])?];
    layout::assemble(&layout, &tars)?;
    fs::remove_dir_all(work)?;
    Ok(layout)
}

/// Two tiny images that share their base layer, for what is done thousands of times.
pub(crate) fn pair() -> Result<[PathBuf; 2]> {
    let tree = base_tree()?;
    let images = place::kept("images")?;
    let layouts = ["pair-a", "pair-b"].map(|name| images.join(name));
    if layouts.iter().all(|layout| layout.exists()) {
        return Ok(layouts);
    }
    let work = place::scratch("pair-image")?;
    let part = |name: &str, path: &str| layers::part(&tree, &work, name, &[path], &[]);
    let base = part("encodings", "./usr/lib/python3.11/encodings")?;
    let mut tars = vec![base.clone()];
    tars.extend(layers::of_changes(&work)?);
    let others = [base, part("asyncio", "./usr/lib/python3.11/asyncio")?];
    for (layout, tars) in layouts.iter().zip([&tars[..], &others[..]]) {
        if !layout.exists() {
            layout::assemble(layout, tars)?;
        }
    }
    fs::remove_dir_all(work)?;
    Ok(layouts)
}
