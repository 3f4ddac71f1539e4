use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use fs_err as fs;

use super::corpus::Case;
use test_fixtures::command::quiet;

/// The longest archive that is tried, in bytes.
const ARCHIVE_MAX_BYTES: u64 = 32 << 20;

/// Name parts of archives that are left out. They have files of up to 60 GiB, all holes, which no
/// engine writes in reasonable time, or paths beyond `PATH_MAX`, which dumps do not show.
const TOO_LARGE: [&str; 2] = ["-big", "excessively-deep"];

/// Returns the archives that Go's own library tests its readers with.
pub(super) fn cases() -> Result<Vec<Case>> {
    let output = quiet(Command::new("go").args(["env", "GOROOT"]))?;
    let root = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    let mut cases = Vec::new();
    for directory in [
        "archive/tar/testdata",
        "compress/gzip/testdata",
        "compress/bzip2/testdata",
    ] {
        let directory = root.join("src").join(directory);
        cases.extend(of_directory("go", &directory, is_archive)?);
    }
    Ok(cases)
}

/// Returns archives that were collected by hand: a directory for each project.
pub(super) fn gathered(directory: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for project in fs::read_dir(directory)? {
        let project = project?;
        let name = project.file_name().into_string().ok();
        let name = name.context("a name that is text")?;
        cases.extend(of_directory(&name, &project.path(), |_| true)?);
    }
    Ok(cases)
}

fn is_archive(name: &str) -> bool {
    let ends = [".tar", ".gz", ".base64", ".bz2", ".zst"];
    ends.iter().any(|end| name.ends_with(end))
}

fn of_directory(
    project: &str,
    directory: &Path,
    is_meant: impl Fn(&str) -> bool,
) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for file in fs::read_dir(directory)? {
        let file = file?;
        let name = file
            .file_name()
            .into_string()
            .ok()
            .context("a name that is text")?;
        let is_too_large = TOO_LARGE.iter().any(|part| name.contains(part));
        if is_meant(&name) && !is_too_large && file.metadata()?.len() <= ARCHIVE_MAX_BYTES {
            let bytes = content(&file.path(), &name)?;
            cases.push(Case::new(format!("{project}/{name}"), vec![bytes]));
        }
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(cases)
}

/// Returns the archive, out of an encoding that keeps it from being recognised as one.
fn content(path: &Path, name: &str) -> Result<Vec<u8>> {
    let unwrap = match name.rsplit_once('.') {
        Some((_, "base64")) => "base64",
        Some((_, "bz2")) => "bzip2",
        _ => return Ok(fs::read(path)?),
    };
    Ok(quiet(
        Command::new(unwrap)
            .arg("-d")
            .stdin(fs::File::open(path)?.into_parts().0),
    )?
    .stdout)
}
