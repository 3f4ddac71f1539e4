//! An image for arm64: a shell and what the walk of a sandbox's life calls, from packages of Debian.
//!
//! The packages are unpacked and not configured, so nothing of them is executed here.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;
use test_fixtures::debian_package::{self, DebianSuite};
use test_fixtures::{images, paths};

/// The suite.
const SUITE: &str = "http://deb.debian.org/debian bookworm main";

/// The packages whose programs are called; what they depend on comes with them.
const PACKAGES: [&str; 7] = [
    "coreutils",
    "dash",
    "grep",
    "hostname",
    "mawk",
    "mount",
    "procps",
];

/// The files that the package of the base system would make when it is configured.
const MASTERS: [(&str, &str); 2] = [
    ("usr/share/base-passwd/passwd.master", "etc/passwd"),
    ("usr/share/base-passwd/group.master", "etc/group"),
];

/// The mode of a directory that everybody writes to.
const SHARED: u32 = 0o1777;

/// Returns the image's layout. It is made the first time.
///
/// # Errors
/// If a package cannot be fetched, or the layout cannot be made.
pub(crate) fn debian() -> Result<PathBuf> {
    images::of_directory("arm64", "arm64", |tree| {
        let work = paths::scratch("arm64-image-packages")?;
        let suite = DebianSuite::open(SUITE, &["amd64", "arm64"], &work)?;
        let mut packages = vec!["base-passwd:arm64".to_owned()];
        for package in PACKAGES {
            packages.extend(suite.with_dependencies(&format!("{package}:arm64"))?);
        }
        packages.sort();
        packages.dedup();
        suite.download(&packages)?;
        debian_package::unpack_all(&work, tree)?;
        finish(tree)?;
        fs::remove_dir_all(work)?;
        Ok(())
    })
}

/// Adds what the packages' scripts would add.
fn finish(tree: &Path) -> Result<()> {
    fs::create_dir_all(tree.join("etc"))?;
    for (from, to) in MASTERS {
        fs::copy(tree.join(from), tree.join(to))?;
    }
    fs::write(tree.join("etc/motd"), "Debian, unpacked\n")?;
    for directory in ["dev", "mnt", "proc", "root", "run", "srv", "sys", "tmp"] {
        fs::create_dir_all(tree.join(directory))?;
    }
    fs::set_permissions(tree.join("tmp"), std::fs::Permissions::from_mode(SHARED))?;
    for (path, target) in [("bin/sh", "dash"), ("usr/bin/awk", "mawk")] {
        if !tree.join(path).exists() {
            symlink(target, tree.join(path))?;
        }
    }
    Ok(())
}
