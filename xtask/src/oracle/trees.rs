use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::artifacts::concatenate;
use super::{Artifacts, Msb, succeed};
use crate::checks::Bed;

/// How many differing lines are shown.
const SHOWN_LINES: usize = 20;

/// Puts its own binary into the guest through standard input and shows the root's own tree there,
/// without what is mounted over it.
const GUEST_DUMP: &str = "set -e; mkdir /run/dump /run/dump/tree; mount --bind / /run/dump/tree; \
    cat > /run/dump/tree-dump; chmod 755 /run/dump/tree-dump; /run/dump/tree-dump /run/dump/tree";

/// The image as `umoci` unpacks it, which must be the image as the host's kernel mounts our
/// artifacts, line by line.
pub(crate) fn host_tree(
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

/// The image as a guest sees it.
pub(crate) fn guest_tree(bed: &Bed, tree_dump: &Path) -> Result<String> {
    let output = bed.run_with_input(
        &["-i", "--network", "none"],
        &["sh", "-c", GUEST_DUMP],
        &fs::read(tree_dump)?,
    )?;
    if !output.status.success() {
        bail!(
            "tree-dump in the guest: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(String::from_utf8(output.stdout)?)
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

/// The image as the host's kernel mounts msb's artifacts.
pub(crate) fn mounted_tree(artifacts: &Artifacts, tree_dump: &Path, work: &Path) -> Result<String> {
    let flat = work.join("flat.img");
    concatenate(artifacts, &flat)?;
    let mount = Mount::new(&flat, work.join("mount"))?;
    let tree = dump(tree_dump, &mount.target);
    drop(mount);
    fs::remove_file(flat)?;
    tree
}

fn dump(tree_dump: &Path, directory: &Path) -> Result<String> {
    Ok(String::from_utf8(
        succeed(Command::new(tree_dump).arg(directory))?.stdout,
    )?)
}

/// Two trees that must be equal in every line.
pub(crate) fn compare(name: &str, tree: &str, other_name: &str, other: &str) -> Result<()> {
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

/// A native EROFS mount that goes away with this value.
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
        // A mount that stays is seen by the next run, which cannot make its directory.
        let _ = Command::new("umount").arg(&self.target).status();
    }
}
