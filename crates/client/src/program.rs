//! The program `msb`, which runs virtual machines: found, and checked before its use.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use diagnosis::Hint;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use crate::{Error, ErrorKind, Settings, Version, printable, version};

/// The name of the program.
const NAME: &str = "msb";
/// The time that the program may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of a version that are read.
const VERSION_MAX_BYTES: u64 = 64 << 10;

/// The refusal of a program of another build.
#[derive(Debug)]
pub(crate) struct Refusal {
    message: String,
    hints: Vec<Hint>,
}

impl Refusal {
    pub(crate) fn new(error: &Error) -> Self {
        Self {
            message: error.message().to_owned(),
            hints: error.hints().to_vec(),
        }
    }

    /// Returns the error of the refusal.
    pub(crate) fn error(&self) -> Error {
        let error = Error::new(ErrorKind::VersionMismatch, self.message.as_str());
        self.hints.iter().cloned().fold(error, Error::with_hint)
    }
}

/// Finds the program: the given one, the one beside the running program, or the first in `PATH`.
/// The first one found is asked for its version.
///
/// # Errors
/// No program, or one of another build.
pub(crate) async fn find(settings: &Settings) -> Result<PathBuf, Error> {
    let path = candidate(settings).ok_or_else(missing)?;
    // The processes that run sandboxes may have other working directories.
    let path = std::path::absolute(&path)?;
    if settings.is_own_program {
        return Ok(path);
    }
    check(&path, &ask(&path, VERSION_TIMEOUT).await?)?;
    Ok(path)
}

fn candidate(settings: &Settings) -> Option<PathBuf> {
    if let Some(program) = &settings.program {
        return Some(program.clone());
    }
    let beside = std::env::current_exe()
        .ok()
        .and_then(|running| Some(running.parent()?.join(NAME)));
    if let Some(beside) = beside.filter(|path| is_program(path)) {
        return Some(beside);
    }
    let search_path = settings.search_path.as_deref().map(Path::as_os_str);
    in_search_path(search_path.unwrap_or(OsStr::new("")))
}

/// Returns the first program in the absolute directories of a `PATH`.
fn in_search_path(search_path: &OsStr) -> Option<PathBuf> {
    let directories = std::env::split_paths(search_path);
    // An empty entry would be the working directory, and so would no PATH at all.
    let directories = directories.filter(|directory| directory.is_absolute());
    let mut programs = directories.map(|directory| directory.join(NAME));
    programs.find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    let metadata = std::fs::metadata(path);
    metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

fn missing() -> Error {
    let message = "the program msb was not found next to this program or in PATH";
    Error::new(ErrorKind::VmmMissing, message)
        .with_hint("install msb, or name it: MSB_PROGRAM=/path/to/msb")
}

/// Asks a program for its version. Returns the text that it printed.
async fn ask(path: &Path, limit: Duration) -> Result<String, Error> {
    let asked = async {
        let mut child = Command::new(path)
            .args(["version", "--format", "json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let mut text = String::new();
        if let Some(stdout) = child.stdout.take() {
            stdout
                .take(VERSION_MAX_BYTES)
                .read_to_string(&mut text)
                .await?;
        }
        child.wait().await?;
        Ok::<_, std::io::Error>(text)
    };
    match tokio::time::timeout(limit, asked).await {
        Ok(Ok(text)) => Ok(text),
        // It is not UTF-8, so it is no version.
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::InvalidData => Ok(String::new()),
        Ok(Err(error)) => Err(Error::from(error)
            .with_kind(ErrorKind::VmmMissing)
            .context(format!("cannot start {}", path.display()))
            .with_detail("path", path.display().to_string())
            .with_hint("name the program msb: MSB_PROGRAM=/path/to/msb")),
        Err(_) => Err(silent(path, limit)),
    }
}

/// Returns the error of a program that did not tell its version in time. It says nothing about the
/// program: the host may be busy, so the next call asks again.
fn silent(path: &Path, limit: Duration) -> Error {
    let (path, limit_s) = (path.display(), limit.as_secs());
    let message = format!("{path} did not report its version within {limit_s} s");
    Error::new(ErrorKind::VmmMissing, message)
        .with_detail("path", path.to_string())
        .with_hint("try again once the host is less busy, or name the program msb: MSB_PROGRAM=/path/to/msb")
}

/// Returns true if a program of this version runs what a library of the other describes.
fn understands(found: &Version, own: &Version) -> bool {
    (&found.build, found.launch_format) == (&own.build, own.launch_format)
}

/// Checks that the text is the version of a program of this build.
fn check(path: &Path, text: &str) -> Result<(), Error> {
    let own = version();
    let shown = path.display();
    let mismatch = |message: String| {
        Err(Error::new(ErrorKind::VersionMismatch, message)
            .with_detail("path", shown.to_string())
            .with_hint("install the msb of the same version, or name it: MSB_PROGRAM=/path/to/msb"))
    };
    match serde_json::from_str::<Version>(text) {
        Err(_) => mismatch(format!("{shown} is not this project's msb")),
        Ok(found) if found.msb != own.msb => mismatch(format!(
            "{shown} is msb {}, and this library needs {}",
            printable(&found.msb),
            own.msb
        )),
        Ok(found) if !understands(&found, &own) => mismatch(format!(
            "{shown} is another build of msb {}, {}, and this library needs {}",
            own.msb,
            printable(&found.build),
            own.build
        )),
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Option<ErrorKind> {
        let checked = check(Path::new("/bin/msb"), text);
        checked.err().map(|error| error.kind())
    }

    #[test]
    fn only_a_program_of_this_build_is_used() {
        let mut version = version();
        let text = serde_json::to_string(&version).expect("written");
        assert_eq!(kind(&text), None);
        version.build = "other".to_owned();
        let other = serde_json::to_string(&version).expect("written");
        assert_eq!(kind(&other), Some(ErrorKind::VersionMismatch));
        for foreign in ["", "microsandbox 0.6.14", "{\"version\":\"0.6\"}"] {
            assert_eq!(kind(foreign), Some(ErrorKind::VersionMismatch), "{foreign}");
        }
    }

    #[tokio::test]
    async fn a_slow_program_is_not_taken_for_another_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(NAME);
        testkit::shell_program(&path, "exec sleep 60").expect("written");
        let error = ask(&path, Duration::from_millis(200)).await;
        let error = error.expect_err("it is silent");
        // A mismatch is not asked again.
        assert_eq!(error.kind(), ErrorKind::VmmMissing);
        assert!(
            error.message().contains("did not report its version"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_foreign_program_is_asked_once_and_refused() {
        let settings = Settings {
            program: Some("/bin/true".into()),
            ..Settings::default()
        };
        let error = find(&settings).await.expect_err("not msb");
        assert_eq!(error.kind(), ErrorKind::VersionMismatch);
        let settings = Settings {
            program: Some("/no/such/msb".into()),
            ..Settings::default()
        };
        let error = find(&settings).await.expect_err("missing");
        assert_eq!(error.kind(), ErrorKind::VmmMissing);
        assert!(error.message().contains("/no/such/msb"), "{error}");
    }

    #[test]
    fn the_working_directory_is_no_place_of_programs() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(NAME);
        std::fs::write(&path, "").expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
        let absolute = directory.path().as_os_str();
        assert_eq!(in_search_path(absolute), Some(path));
        // The path from the working directory to the same directory, below as many `..` as suffice.
        let relative = PathBuf::from("../".repeat(32))
            .join(directory.path().strip_prefix("/").expect("it is absolute"));
        assert!(is_program(&relative.join(NAME)));
        assert_eq!(in_search_path(relative.as_os_str()), None);
        assert_eq!(in_search_path(OsStr::new("")), None);
    }

    #[tokio::test]
    async fn a_foreign_program_that_is_first_in_path_is_refused_and_named() {
        let foreign = tempfile::tempdir().expect("a directory");
        let path = foreign.path().join(NAME);
        testkit::shell_program(&path, "echo msb 0.7.11").expect("written");
        let settings = Settings {
            search_path: Some(foreign.path().into()),
            ..Settings::default()
        };
        let error = find(&settings).await.expect_err("not msb");
        assert_eq!(error.kind(), ErrorKind::VersionMismatch);
        assert!(
            error.message().contains(&path.display().to_string()),
            "{error}"
        );
    }
}
