use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::place;
use crate::run::{quiet, step};

/// Debian releases with other versions of erofs-utils than the one that is installed.
const SUITES: [&str; 2] = ["trixie", "sid"];

/// Roots of unpacked erofs-utils, each with the libraries that it was built for.
///
/// apt works on lists and a package database of its own, both of which are empty at first: so it
/// fetches every library down to libc, and nothing of the host's changes.
pub(super) fn newer_utils() -> Result<Vec<PathBuf>> {
    SUITES.iter().map(|suite| unpacked(suite)).collect()
}

fn unpacked(suite: &str) -> Result<PathBuf> {
    let directory = place::kept("erofs-utils")?.join(suite);
    let root = directory.join("root");
    let program = root.join("usr/bin/fsck.erofs");
    if program.is_file() {
        return Ok(root);
    }
    step(&format!("fetch erofs-utils of Debian {suite}"));
    download(&directory, suite)?;
    let archives = directory.join("cache/archives");
    for entry in fs::read_dir(archives)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            quiet(Command::new("dpkg-deb").arg("-x").arg(&path).arg(&root))?;
        }
    }
    ensure!(program.is_file(), "{} is missing", program.display());
    Ok(root)
}

fn download(directory: &Path, suite: &str) -> Result<()> {
    for name in ["state/lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(directory.join(name))?;
    }
    let sources = directory.join("sources.list");
    let keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
    let line = format!("deb [signed-by={keyring}] http://deb.debian.org/debian {suite} main\n");
    fs::write(&sources, line)?;
    let status = directory.join("status");
    fs::write(&status, "")?;
    let option = |name: &str, value: &Path| format!("-o{name}={}", value.display());
    let options = [
        option("Dir::Etc::sourcelist", &sources),
        option("Dir::Etc::sourceparts", Path::new("-")),
        option("Dir::State", &directory.join("state")),
        option("Dir::State::status", &status),
        option("Dir::Cache", &directory.join("cache")),
        "-oAPT::Sandbox::User=root".to_owned(),
    ];
    quiet(Command::new("apt-get").args(&options).arg("update"))?;
    let install = [
        "install",
        "--yes",
        "--download-only",
        "--no-install-recommends",
        "erofs-utils",
    ];
    quiet(Command::new("apt-get").args(&options).args(install))?;
    Ok(())
}

/// The program of `ci/go-erofs`, built by Go; `None` on a machine without Go.
pub(super) fn go_erofs() -> Result<Option<PathBuf>> {
    if Command::new("go").arg("version").output().is_err() {
        step("no Go on this machine: go-erofs does not read");
        return Ok(None);
    }
    let program = place::kept("go-erofs")?.join("go-erofs");
    step("build ci/go-erofs");
    quiet(
        Command::new("go")
            .args(["build", "-o"])
            .arg(&program)
            .arg(".")
            .current_dir(place::root().join("ci/go-erofs")),
    )?;
    Ok(Some(program))
}
