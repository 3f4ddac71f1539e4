//! Commands of msb: started, fed and judged.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

/// A command that has printed its first line.
#[derive(Debug)]
pub struct Speaking {
    /// The process, without its standard output.
    pub child: Child,
    /// The rest of the command's standard output.
    pub stdout: BufReader<ChildStdout>,
}

impl Speaking {
    /// Waits for the first line of a child with pipes.
    ///
    /// # Errors
    /// If the first line is not `first`; the error describes the command's end.
    pub fn heard(mut child: Child, first: &str) -> Result<Self> {
        let stdout = child.stdout.take().context("no standard output")?;
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        if line.strip_suffix('\n') == Some(first) {
            return Ok(Self { child, stdout });
        }
        bail!(
            "{line:?} is not {first:?}: {}",
            describe(&finish(child, &[])?)
        )
    }

    /// Waits for the command's end. Returns its status and the rest of its output.
    ///
    /// # Errors
    /// If a pipe fails.
    pub fn end(mut self) -> Result<Output> {
        let mut stdout = Vec::new();
        self.stdout.read_to_end(&mut stdout)?;
        Ok(Output {
            stdout,
            ..finish(self.child, &[])?
        })
    }
}

/// Starts a command with pipes.
///
/// # Errors
/// If the command cannot be started.
pub fn spawn(line: &mut Command) -> Result<Child> {
    line.stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {line:?}"))
}

/// Writes a command's input while its output is read, and waits for its end.
///
/// # Errors
/// If a pipe fails.
pub fn finish(mut child: Child, input: &[u8]) -> Result<Output> {
    let mut stdin = child.stdin.take().context("no pipe to standard input")?;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // The command may end before it has read everything.
            let _ = stdin.write_all(input);
        });
        Ok(child.wait_with_output()?)
    })
}

/// Runs a command that must succeed, and returns its output.
///
/// # Errors
/// If the command cannot be run, or ends with another status than 0.
pub fn succeed(command: &mut Command) -> Result<Output> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} gave {}",
        describe(&output)
    );
    Ok(output)
}

/// Makes one command run another: adds the other's program, arguments and variables.
pub fn run_through(outer: &mut Command, inner: &Command) {
    outer.arg(inner.get_program()).args(inner.get_args());
    inherit_variables(outer, inner);
}

/// Gives a command the variables of another.
pub fn inherit_variables(outer: &mut Command, inner: &Command) {
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
}

/// Returns a command's end and its output on one line, for messages.
#[must_use]
pub fn describe(output: &Output) -> String {
    format!(
        "{}, stdout {:?}, stderr {:?}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Checks a command's exit code.
///
/// # Errors
/// If the code is another; the error describes the output.
pub fn expect_code(output: &Output, code: i32) -> Result<()> {
    ensure!(
        output.status.code() == Some(code),
        "expected exit code {code}, got {}",
        describe(output)
    );
    Ok(())
}

/// Returns the same command as it runs for a user whose umask removes no permission.
#[must_use]
pub fn with_open_umask(line: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "umask 000; exec \"$@\"", "sh"])
        .arg(line.get_program())
        .args(line.get_args());
    for (name, value) in line.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}
