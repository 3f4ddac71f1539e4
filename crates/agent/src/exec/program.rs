use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use msb_agent_protocol::Bytes;
use msb_agent_protocol::v1::{Failure, FailureKind};
use rustix::fs::{Access, access};

use super::misfit::{self, Misfit};

/// The directories that are searched if the environment has no `PATH`, as in Docker.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Finds the program that `word` means. A word with a `/` is a path; any other is the name of the
/// first executable in the directories of `path`.
pub(crate) fn find(
    word: &[u8],
    path: Option<&OsStr>,
    directory: &Path,
) -> Result<PathBuf, Failure> {
    let word_path = Path::new(OsStr::from_bytes(word));
    if word.contains(&b'/') {
        // A relative path starts at the command's working directory.
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

/// A program that was found in the guest.
#[derive(Debug)]
pub(crate) struct Program {
    /// The word that the host called the program by.
    pub(crate) word: Bytes,
    /// The path of the program's file.
    pub(crate) path: PathBuf,
    /// The command's working directory.
    pub(crate) directory: PathBuf,
}

impl Program {
    /// Returns the failure that explains why the kernel refused the program.
    pub(crate) fn explain(&self, error: &io::Error) -> Failure {
        let word = &self.word;
        match error.kind() {
            io::ErrorKind::PermissionDenied => return not_executable(word, "permission denied"),
            io::ErrorKind::NotFound => {}
            _ if error.raw_os_error() == Some(libc::ENOEXEC) => {}
            _ => return not_executable(word, &error.to_string()),
        }
        match misfit::find(&self.path, &self.directory, error) {
            Some(Misfit::NoInterpreter { name }) => Failure {
                kind: FailureKind::CommandNotFound.into(),
                message: format!(
                    "{}: its interpreter {} is not in the image",
                    word.escape_ascii(),
                    name.escape_ascii()
                ),
            },
            Some(Misfit::Foreign {
                interpreter,
                architecture,
            }) => foreign(word, interpreter.as_deref(), &architecture),
            Some(Misfit::NoFormat) => not_executable(
                word,
                "exec format error: it is neither a program for this machine nor a script that \
                 begins with #!",
            ),
            None if error.kind() == io::ErrorKind::NotFound => not_found(word),
            None => not_executable(word, &error.to_string()),
        }
    }
}

fn foreign(word: &[u8], interpreter: Option<&Path>, architecture: &str) -> Failure {
    let interpreter = interpreter.map(|path| path.as_os_str().as_bytes().escape_ascii());
    let interpreter = interpreter.map(|name| format!(": its interpreter {name}"));
    let message = format!(
        "{}{} is built for {architecture}; this sandbox is {}",
        word.escape_ascii(),
        interpreter.unwrap_or_default(),
        std::env::consts::ARCH
    );
    Failure {
        kind: FailureKind::CommandNotExecutable.into(),
        message,
    }
}

fn not_found(word: &[u8]) -> Failure {
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

    #[test]
    fn a_refusal_is_explained() {
        let directory = tempfile::tempdir().expect("a directory");
        let explained = |content: &[u8], refusal: i32| {
            let path = directory.path().join("x");
            std::fs::write(&path, content).expect("written");
            let program = Program {
                word: Bytes::from_static(b"/x"),
                path,
                directory: "/".into(),
            };
            let failure = program.explain(&io::Error::from_raw_os_error(refusal));
            (failure.kind(), failure.message)
        };
        let (machine, architecture) = super::super::elf::tests::other_machine();
        let foreign = super::super::elf::tests::program(machine, None);
        let own = std::env::consts::ARCH;
        assert_eq!(
            explained(&foreign, libc::ENOEXEC),
            (
                FailureKind::CommandNotExecutable,
                format!("/x is built for {architecture}; this sandbox is {own}")
            )
        );
        assert_eq!(
            explained(b"#!/no/bash\n", libc::ENOENT),
            (
                FailureKind::CommandNotFound,
                "/x: its interpreter /no/bash is not in the image".to_owned()
            )
        );
        let (kind, message) = explained(b"echo a\n", libc::ENOEXEC);
        assert_eq!(kind, FailureKind::CommandNotExecutable);
        assert!(message.contains("exec format error"), "{message}");
        let (kind, _) = explained(b"echo a\n", libc::ENOENT);
        assert_eq!(kind, FailureKind::CommandNotFound);
    }
}
