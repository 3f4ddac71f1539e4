//! The agent's program as `msb-ask PATH [REASON]`, a command of the guest.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

/// The name by which the agent's program finds that it is to ask.
pub(crate) const NAME: &str = "msb-ask";
/// The agent's socket.
const SOCKET: &str = "/dev/msb/ask";
/// The exit codes.
const DENIED: u8 = 1;
const FAILED: u8 = 2;
/// The longest answer, in bytes.
const ANSWER_MAX_BYTES: u64 = 4096;

/// Asks for the path in the arguments, and waits for the answer. Returns the exit code: 0 if it is allowed, 1
/// if it is denied, 2 if it could not be asked for.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = arguments.collect();
    let Some((path, reason)) = words.split_first().filter(|(path, _)| !path.is_empty()) else {
        return say(FAILED, "usage: msb-ask PATH [REASON]");
    };
    let reason = reason.join(" ".as_ref());
    match ask(Path::new(path), reason.as_bytes()) {
        Ok(answer) => {
            let (word, text) = answer.split_once(' ').unwrap_or((&answer, ""));
            if word == "allow" {
                // A closed output does not change the answer.
                let _ = writeln!(io::stdout(), "{text}");
                ExitCode::SUCCESS
            } else {
                say(DENIED, text)
            }
        }
        Err(error) => say(
            FAILED,
            &format!("cannot ask for {}: {error}", path.display()),
        ),
    }
}

fn ask(path: &Path, reason: &[u8]) -> io::Result<String> {
    let path = absolute(&env::current_dir().unwrap_or_default(), path);
    let mut stream = UnixStream::connect(SOCKET)?;
    let question = [path.as_os_str().as_bytes(), b"\0", reason, b"\0"].concat();
    stream.write_all(&question)?;
    let mut answer = String::new();
    stream.take(ANSWER_MAX_BYTES).read_to_string(&mut answer)?;
    if answer.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "there was no answer",
        ));
    }
    Ok(answer.trim_end().to_owned())
}

/// Returns a path as an absolute one without `.` and `..`. No symlink is followed: the file may be missing.
fn absolute(directory: &Path, path: &Path) -> PathBuf {
    let mut absolute = PathBuf::from("/");
    for component in directory.join(path).components() {
        match component {
            Component::Normal(name) => absolute.push(name),
            Component::ParentDir => {
                absolute.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    absolute
}

fn say(code: u8, text: &str) -> ExitCode {
    // The exit code says it, too.
    let _ = writeln!(io::stderr(), "{NAME}: {text}");
    code.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_asked_for_as_an_absolute_one() {
        for (path, expected) in [
            (".env", "/work/app/.env"),
            ("../.env", "/work/.env"),
            ("./a//b/", "/work/app/a/b"),
            ("/etc/x", "/etc/x"),
            ("../../../..", "/"),
        ] {
            assert_eq!(
                absolute(Path::new("/work/app"), Path::new(path)),
                Path::new(expected)
            );
        }
    }
}
