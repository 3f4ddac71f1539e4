//! Packages of the npm registry, fetched on this host: the guests of tests have no internet.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use test_fixtures::command::{quiet, step};
use test_fixtures::{lock, paths, tools};

/// The programs that fetch packages, and Debian's packages that have them.
const TOOLS: [(&str, &str); 2] = [("node", "nodejs"), ("npm", "npm")];

/// Returns a directory with the archives of packages such as `npm@11.21.2` and no other ones, which are fetched
/// the first time.
///
/// # Errors
/// If npm is missing and cannot be installed, or a package cannot be fetched.
pub(crate) fn archives(packages: &[String]) -> Result<PathBuf> {
    let _lock = lock::hold("guide-packages")?;
    let directory = paths::kept("guide-packages")?;
    let list = directory.join("list");
    let wanted = packages.join("\n");
    if fs_err::read_to_string(&list).is_ok_and(|fetched| fetched == wanted) {
        return Ok(directory);
    }
    tools::install_programs(&TOOLS)?;
    step("fetch packages of npm for a guide");
    fs_err::remove_dir_all(&directory)?;
    fs_err::create_dir(&directory)?;
    let mut pack = Command::new("npm");
    pack.args(["pack", "--silent"]).args(packages);
    quiet(pack.current_dir(&directory))?;
    // Written last: without it, the next run fetches all of them again.
    fs_err::write(list, wanted)?;
    Ok(directory)
}
