use std::cell::Cell;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

/// What msb says when a guest stays silent: nothing of it has run then, so it may be tried again.
const SILENT: &str = "the guest did not answer within";
/// How often a silent guest is started afresh. Nested emulation loses a start now and then.
const FRESH_STARTS: u32 = 4;

/// An msb, an image in its store, and the VMM to use.
pub(crate) struct Bed {
    pub(crate) msb: PathBuf,
    pub(crate) image: String,
    pub(crate) vmm: String,
    /// How long a guest may take to answer.
    pub(crate) boot_timeout_s: u32,
    /// Guest memory, in MiB.
    pub(crate) memory_mib: u32,
    pub(crate) fresh_starts: Cell<u32>,
}

impl Bed {
    pub(crate) fn vmm(&self) -> &str {
        &self.vmm
    }

    pub(crate) fn fresh_starts(&self) -> u32 {
        self.fresh_starts.get()
    }

    /// `msb run --rm` with `options`, then the image, then `command`.
    pub(crate) fn run(&self, options: &[&str], command: &[&str]) -> Result<Output> {
        self.run_with_input(options, command, &[])
    }

    /// The same with bytes on standard input.
    pub(crate) fn run_with_input(
        &self,
        options: &[&str],
        command: &[&str],
        input: &[u8],
    ) -> Result<Output> {
        let mut all = vec!["--rm"];
        all.extend_from_slice(options);
        self.retried(|| self.run_command(&all, command), input)
    }

    /// A script in `sh`, whose output must be as expected and whose exit code must be 0.
    pub(crate) fn sh(&self, script: &str) -> Result<String> {
        let output = self.run(&[], &["sh", "-c", script])?;
        ensure!(
            output.status.success(),
            "`{script}` gave {}",
            describe(&output)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// `msb SUBCOMMAND` on the machine of this bed: `run` or `start`.
    pub(crate) fn machine_command(&self, subcommand: &str) -> Command {
        let mut line = Command::new(&self.msb);
        line.args([subcommand, "--vmm", &self.vmm]);
        line.args(["--boot-timeout", &self.boot_timeout_s.to_string()]);
        line
    }

    /// The command line of `msb run`.
    pub(crate) fn run_command(&self, options: &[&str], command: &[&str]) -> Command {
        let mut line = self.machine_command("run");
        line.args([
            "--cpus",
            "1",
            "--memory",
            &format!("{}M", self.memory_mib),
            "--pull",
            "never",
        ]);
        line.args(options).arg(&self.image).args(command);
        line
    }

    /// Runs a command to its end, again while the guest stays silent.
    pub(crate) fn retried(&self, line: impl Fn() -> Command, input: &[u8]) -> Result<Output> {
        for _ in 0..=FRESH_STARTS {
            let output = finish(spawn(&mut line())?, input)?;
            let silent = String::from_utf8_lossy(&output.stderr).contains(SILENT);
            if !(silent && output.stdout.is_empty()) {
                return Ok(output);
            }
            self.fresh_starts.set(self.fresh_starts.get() + 1);
        }
        bail!(
            "the guest stayed silent {} times in a row",
            FRESH_STARTS + 1
        )
    }

    /// Starts a command whose first line is `first`, again while the guest stays silent.
    pub(crate) fn speaking(
        &self,
        first: &str,
        line: impl Fn() -> Result<Command>,
    ) -> Result<Speaking> {
        for _ in 0..=FRESH_STARTS {
            match Speaking::heard(spawn(&mut line()?)?, first) {
                Err(error) if error.to_string().contains(SILENT) => {
                    self.fresh_starts.set(self.fresh_starts.get() + 1);
                }
                other => return other,
            }
        }
        bail!(
            "the guest stayed silent {} times in a row",
            FRESH_STARTS + 1
        )
    }
}

/// A command that has printed its first line.
pub(crate) struct Speaking {
    pub(crate) child: Child,
    pub(crate) stdout: BufReader<ChildStdout>,
}

impl Speaking {
    /// Waits for the first line, which must be this one.
    pub(crate) fn heard(mut child: Child, first: &str) -> Result<Self> {
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

    /// How it ended, with the rest of what it printed.
    pub(crate) fn end(mut self) -> Result<Output> {
        let mut stdout = Vec::new();
        self.stdout.read_to_end(&mut stdout)?;
        Ok(Output {
            stdout,
            ..finish(self.child, &[])?
        })
    }
}

/// Starts a command with pipes.
pub(crate) fn spawn(line: &mut Command) -> Result<Child> {
    line.stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {line:?}"))
}

/// Feeds a command its input while its output is read.
pub(crate) fn finish(mut child: Child, input: &[u8]) -> Result<Output> {
    let mut stdin = child.stdin.take().context("no pipe to standard input")?;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // The command may end before it has read everything.
            let _ = stdin.write_all(input);
        });
        Ok(child.wait_with_output()?)
    })
}

/// An output on one line, for messages.
pub(crate) fn describe(output: &Output) -> String {
    format!(
        "{}, stdout {:?}, stderr {:?}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Checks a command's exit code.
pub(crate) fn expect_code(output: &Output, code: i32) -> Result<()> {
    ensure!(
        output.status.code() == Some(code),
        "expected exit code {code}, got {}",
        describe(output)
    );
    Ok(())
}
