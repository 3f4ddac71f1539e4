use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use msb_agent_protocol::v1::{Failure, FailureKind};
use rustix::fs::{Access, access};

/// Where programs are looked for when the environment does not say, as docker has it.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Finds the program that `word` means: itself where it holds a `/`, else the first executable of
/// that name in `path`.
pub(super) fn find(
    word: &[u8],
    path: Option<&OsStr>,
    directory: &Path,
) -> Result<PathBuf, Failure> {
    let word_path = Path::new(OsStr::from_bytes(word));
    if word.contains(&b'/') {
        // A relative one is relative to the command's working directory.
        return check(directory.join(word_path), word);
    }
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH)).as_bytes();
    let directories = path.split(|&byte| byte == b':');
    let candidates = directories.map(|entry| {
        let entry = if entry.is_empty() { b"." } else { entry };
        directory.join(OsStr::from_bytes(entry)).join(word_path)
    });
    let mut not_executable = None;
    for candidate in candidates {
        match check(candidate, word) {
            Ok(program) => return Ok(program),
            Err(failure) if failure.kind() == FailureKind::CommandNotExecutable => {
                not_executable.get_or_insert(failure);
            }
            Err(_) => {}
        }
    }
    Err(not_executable.unwrap_or_else(|| not_found(word)))
}

fn check(program: PathBuf, word: &[u8]) -> Result<PathBuf, Failure> {
    match std::fs::metadata(&program) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(not_executable(word, "permission denied"))
        }
        Err(_) => Err(not_found(word)),
        Ok(metadata) if metadata.is_dir() => Err(not_executable(word, "is a directory")),
        Ok(_) if access(&program, Access::EXEC_OK).is_err() => {
            Err(not_executable(word, "permission denied"))
        }
        Ok(_) => Ok(program),
    }
}

pub(super) fn not_found(word: &[u8]) -> Failure {
    let message = format!("{}: command not found in the image", word.escape_ascii());
    Failure {
        kind: FailureKind::CommandNotFound.into(),
        message,
    }
}

pub(super) fn not_executable(word: &[u8], why: &str) -> Failure {
    let message = format!("{}: cannot execute: {why}", word.escape_ascii());
    Failure {
        kind: FailureKind::CommandNotExecutable.into(),
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(word: &str, path: &str) -> Result<PathBuf, FailureKind> {
        find(word.as_bytes(), Some(OsStr::new(path)), Path::new("/"))
            .map_err(|failure| failure.kind())
    }

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        assert_eq!(kind("sh", "/nowhere:/bin"), Ok("/bin/sh".into()));
        assert_eq!(kind("bin/sh", ""), Ok("/bin/sh".into()));
        assert_eq!(
            kind("no-such-program", "/bin"),
            Err(FailureKind::CommandNotFound)
        );
        assert_eq!(kind("/etc", ""), Err(FailureKind::CommandNotExecutable));
        assert_eq!(
            kind("passwd", "/etc"),
            Err(FailureKind::CommandNotExecutable)
        );
    }
}
