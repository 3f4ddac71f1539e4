use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// The first program of the outer guest.
const INIT_SCRIPT: &str = include_str!("init.sh");

/// Returns the root disk made of `tree`.
/// It is kept in `work`, and made again if `tree` or the script has changed.
pub(super) fn cached(tree: &Path, work: &Path) -> Result<PathBuf> {
    fs_err::create_dir_all(work)?;
    let image = work.join(format!("root-{:016x}.erofs", key(tree)?));
    if !image.exists() {
        build(tree, &image)?;
    }
    Ok(image)
}

/// Returns a number that identifies the script and a version of the tree.
/// A version is its path, and the times at which its top and its package database changed.
fn key(tree: &Path) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    INIT_SCRIPT.hash(&mut hasher);
    fs_err::canonicalize(tree)?.hash(&mut hasher);
    fs_err::metadata(tree)?.modified()?.hash(&mut hasher);
    let packages = fs_err::metadata(tree.join("var/lib/dpkg/status"));
    packages
        .and_then(|status| status.modified())
        .ok()
        .hash(&mut hasher);
    Ok(hasher.finish())
}

/// Builds the image beside `image` and renames it: two labs may do so at once.
fn build(tree: &Path, image: &Path) -> Result<()> {
    let stage = image.with_extension(format!("stage-{}", std::process::id()));
    let unfinished = image.with_extension(format!("unfinished-{}", std::process::id()));
    let built = stage_tree(tree, &stage).and_then(|()| {
        run(Command::new("mkfs.erofs")
            .arg("--quiet")
            .arg(&unfinished)
            .arg(&stage))
    });
    if stage.exists() {
        fs_err::remove_dir_all(&stage)?;
    }
    built?;
    fs_err::rename(&unfinished, image)?;
    Ok(())
}

/// Copies `tree`, and adds the init script and every mount point.
fn stage_tree(tree: &Path, stage: &Path) -> Result<()> {
    run(Command::new("cp")
        .args(["-a", "--reflink=auto"])
        .arg(tree)
        .arg(stage))?;
    let init = stage.join("sbin/msb-lab-init");
    fs_err::write(&init, INIT_SCRIPT)?;
    fs_err::set_permissions(&init, std::fs::Permissions::from_mode(0o755))?;
    for mount_point in ["dev", "media", "mnt", "proc", "run", "sys", "tmp"] {
        fs_err::create_dir_all(stage.join(mount_point))?;
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {stderr}");
    Ok(())
}
