use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};

/// Time limit of one command. Under emulation a boot takes seconds.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);

/// A bash that keeps its directory and variables between commands, like a reader's.
#[derive(Debug)]
pub(crate) struct Shell {
    child: Child,
    input: ChildStdin,
    /// Exit codes of the commands, one per line.
    codes: Receiver<String>,
    output: PathBuf,
    last_code: u8,
}

/// The result of one command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: u8,
    /// Standard output and standard error, in the order in which they were written.
    pub(crate) output: String,
}

impl Shell {
    /// Starts a shell in `directory`, with these variables and few others in its environment.
    pub(crate) fn start(directory: &Path, variables: &[(&str, &Path)]) -> Result<Self> {
        let mut child = Command::new("bash")
            .args(["--noprofile", "--norc"])
            .current_dir(directory)
            .env_clear()
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("cannot run bash")?;
        let mut input = child.stdin.take().context("bash has no standard input")?;
        let stdout = child.stdout.take().context("bash has no standard output")?;
        let (sender, codes) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            // The thread ends when the shell or the test does.
            lines
                .map(|line| sender.send(line))
                .take_while(Result::is_ok)
                .for_each(drop);
        });
        writeln!(input, "exec 9>&1")?;
        Ok(Self {
            child,
            input,
            codes,
            output: directory.join(".output"),
            last_code: 0,
        })
    }

    /// Runs a command with an empty standard input, and waits for its end.
    pub(crate) fn run(&mut self, command: &str) -> Result<Ended> {
        writeln!(
            self.input,
            "(exit {}); eval {} >{} 2>&1 </dev/null; echo $? >&9",
            self.last_code,
            quoted(command),
            quoted(&self.output.to_string_lossy()),
        )?;
        let code = self.codes.recv_timeout(COMMAND_TIMEOUT);
        let output = fs_err::read(&self.output).unwrap_or_default();
        let output = String::from_utf8_lossy(&output).into_owned();
        let Ok(code) = code else {
            bail!(
                "no end after {COMMAND_TIMEOUT:?}, or the shell has ended; it printed:\n{output}"
            );
        };
        self.last_code = code.parse().context("the shell printed no exit code")?;
        Ok(Ended {
            code: self.last_code,
            output,
        })
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // A group that has ended needs no signal.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Returns `text` as one word of a shell command.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_share_a_shell_and_report_their_end() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = PathBuf::from(std::env::var_os("PATH").expect("a PATH"));
        let mut shell = Shell::start(directory.path(), &[("PATH", &path)]).expect("a shell");
        let steps = [
            ("x='it'\\''s'; mkdir d && cd d", 0, ""),
            (
                "echo \"$x\"; basename \"$PWD\"; echo err >&2",
                0,
                "it's\nd\nerr\n",
            ),
            ("exit_code() { return 3; }; exit_code", 3, ""),
            ("echo $?", 0, "3\n"),
            ("cat", 0, ""),
            ("sh -c 'kill -TERM $$'", 143, "Terminated\n"),
            ("cat <<'END'\none\nEND", 0, "one\n"),
        ];
        for (command, code, output) in steps {
            let ended = shell.run(command).expect("an end");
            assert_eq!(
                (ended.code, ended.output.as_str()),
                (code, output),
                "{command}"
            );
        }
        let broken = shell.run("if then").expect("a syntax error is an end");
        assert_ne!(broken.code, 0);
        shell.run("exit 1").expect_err("the shell has ended");
    }
}
