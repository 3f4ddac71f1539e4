//! The tree of an image, from other programs and from the host's kernel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::msb::{Artifacts, Msb};
use crate::process::succeed;

/// Most differing lines of each tree that an error shows.
const SHOWN_LINES: usize = 20;

/// Returns the tree of an image as `umoci` unpacks it.
/// It must be equal, line by line, to the tree that the host's kernel shows of msb's artifacts.
///
/// # Errors
/// If the two trees differ, or one of the programs fails.
pub fn host_tree(
    msb: &Msb,
    image: &str,
    layout: &Path,
    tree_dump: &Path,
    work: &Path,
) -> Result<String> {
    let artifacts = msb.inspect(image)?;
    let unpacked = umoci_tree(layout, tree_dump, work)?;
    let mounted = mounted_tree(&artifacts, tree_dump, work)?;
    compare("umoci unpack", &unpacked, "the native mount", &mounted)?;
    Ok(unpacked)
}

fn umoci_tree(layout: &Path, tree_dump: &Path, work: &Path) -> Result<String> {
    let bundle = work.join("bundle");
    let image = format!("{}:latest", layout.display());
    succeed(
        Command::new("umoci")
            .args(["unpack", "--image", &image])
            .arg(&bundle),
    )?;
    let tree = dump(tree_dump, &bundle.join("rootfs"));
    fs::remove_dir_all(bundle)?;
    tree
}

/// Returns the tree of an image as the host's kernel mounts msb's artifacts.
///
/// # Errors
/// If the kernel cannot mount them, or a program fails.
pub fn mounted_tree(artifacts: &Artifacts, tree_dump: &Path, work: &Path) -> Result<String> {
    let flat = work.join("flat.img");
    concatenate(artifacts, &flat)?;
    let mount = Mount::new(&flat, work.join("mount"))?;
    let tree = dump(tree_dump, &mount.target);
    drop(mount);
    fs::remove_file(flat)?;
    tree
}

/// Writes `fsmeta.erofs` and the layers, one after the other: the disk that the VMDK describes.
///
/// # Errors
/// If a file cannot be read or written.
pub fn concatenate(artifacts: &Artifacts, flat: &Path) -> Result<()> {
    let mut out = fs::File::create(flat)?;
    for part in std::iter::once(&artifacts.fsmeta).chain(&artifacts.layers) {
        std::io::copy(&mut fs::File::open(part)?, &mut out)?;
    }
    Ok(())
}

fn dump(tree_dump: &Path, directory: &Path) -> Result<String> {
    Ok(String::from_utf8(
        succeed(Command::new(tree_dump).arg(directory))?.stdout,
    )?)
}

/// Compares two trees, each under a name for the error.
///
/// # Errors
/// If they differ in a line; the error has up to 20 of each.
pub fn compare(name: &str, tree: &str, other_name: &str, other: &str) -> Result<()> {
    if tree == other {
        return Ok(());
    }
    let lines: std::collections::BTreeSet<&str> = tree.lines().collect();
    let others: std::collections::BTreeSet<&str> = other.lines().collect();
    let only = |a: &std::collections::BTreeSet<&str>, b: &std::collections::BTreeSet<&str>| {
        let lines: Vec<String> = a
            .difference(b)
            .take(SHOWN_LINES)
            .map(|line| format!("\n    {line}"))
            .collect();
        lines.concat()
    };
    bail!(
        "the trees differ\n  only in {name}:{}\n  only in {other_name}:{}",
        only(&lines, &others),
        only(&others, &lines)
    )
}

/// A native EROFS mount, removed with this value.
struct Mount {
    target: PathBuf,
}

impl Mount {
    fn new(image: &Path, target: PathBuf) -> Result<Self> {
        fs::create_dir_all(&target)?;
        succeed(
            Command::new("mount")
                .args(["-t", "erofs", "-o", "ro,loop"])
                .arg(image)
                .arg(&target),
        )
        .context("the host's kernel does not mount the image")?;
        Ok(Self { target })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // A mount that stays is reported by the next run, which cannot make its directory.
        let _ = Command::new("umount").arg(&self.target).status();
    }
}
