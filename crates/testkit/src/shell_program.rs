use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes an executable file that runs these lines of shell.
///
/// Another process writes it: a child that a second thread starts meanwhile has copies of this
/// process's open files, and Linux executes no file that is open for writing (`ETXTBSY`, execve(2)).
///
/// # Errors
/// If the file cannot be written.
pub fn shell_program(path: &Path, lines: &str) -> io::Result<()> {
    let mut writer = Command::new("sh")
        .args(["-c", r#"cat >"$0" && chmod 755 "$0""#])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = writer.stdin.take() {
        write!(stdin, "#!/bin/sh\n{lines}\n")?;
    }
    let status = writer.wait()?;
    status
        .success()
        .then_some(())
        .ok_or_else(|| io::Error::other(format!("the shell gave {status}")))
}
