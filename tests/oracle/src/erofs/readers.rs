use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use test_fixtures::command::{quiet, step};
use test_fixtures::paths;

/// Debian releases with other versions of erofs-utils than the installed one.
const SUITES: [&str; 2] = ["trixie", "sid"];

/// Returns roots of unpacked erofs-utils, each with the libraries that it was built for.
///
/// apt uses its own lists and package database, both of which are empty at first: so it fetches
/// every library down to libc, and changes nothing on the host.
pub(super) fn newer_utils() -> Result<Vec<PathBuf>> {
    SUITES.iter().map(|suite| unpacked(suite)).collect()
}

fn unpacked(suite: &str) -> Result<PathBuf> {
    let directory = paths::kept("erofs-utils")?.join(suite);
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

/// Returns the program of `ci/go-erofs`, built by Go; `None` if Go is not installed.
pub(super) fn go_erofs() -> Result<Option<PathBuf>> {
    if Command::new("go").arg("version").output().is_err() {
        step("no Go on this machine: go-erofs does not read");
        return Ok(None);
    }
    let program = paths::kept("go-erofs")?.join("go-erofs");
    step("build ci/go-erofs");
    quiet(
        Command::new("go")
            .args(["build", "-o"])
            .arg(&program)
            .arg(".")
            .current_dir(paths::root().join("ci/go-erofs")),
    )?;
    Ok(Some(program))
}
