use std::io;

use msb_agent_protocol::Client;
use msb_agent_protocol::v1::HelloReply;
use msb_machine_records::{LogReader, TextLog, last_lines};

use super::started_process::StartedProcess;
use super::{ConnectError, OwnOptions, Owner, Sandbox, SandboxPaths};

/// The end of a log that a failure shows, in bytes and lines.
const LAST_WORDS_BYTES: u64 = 16 << 10;
const LAST_WORDS_LINES: usize = 8;
/// Maximum number of earlier lines that are shown because they give a reason.
/// They contain the kernel's last message or the prefix of the agent's messages.
const REASON_LINES: usize = 3;
const REASONS: [&str; 2] = ["Kernel panic - not syncing", AGENT_PREFIX];
/// The beginning of each line of the agent, after the kernel's own prefix.
const AGENT_PREFIX: &str = "msb-agent: ";

/// A sandbox whose machine this process started.
#[derive(Debug)]
pub struct Running {
    sandbox: Sandbox,
    process: StartedProcess,
    client: Client,
    info: HelloReply,
    owner: Option<Owner>,
}

impl Running {
    pub(super) fn new(
        sandbox: Sandbox,
        process: StartedProcess,
        client: Client,
        info: HelloReply,
        owner: Option<Owner>,
    ) -> Self {
        Self {
            sandbox,
            process,
            client,
            info,
            owner,
        }
    }

    /// Returns the owner that the sandbox was started with; `None` if it was started without, or
    /// the owner was taken before.
    pub const fn take_owner(&mut self) -> Option<Owner> {
        self.owner.take()
    }

    /// Becomes an owner of the sandbox.
    ///
    /// # Errors
    /// Fails as [`Sandbox::own`] does.
    pub async fn own(&self, options: OwnOptions) -> Result<Owner, ConnectError> {
        self.sandbox.own(options).await
    }

    /// Returns what the agent reported about itself and the boot.
    pub const fn info(&self) -> &HelloReply {
        &self.info
    }

    /// Returns a connection with the sandbox.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Lets the machine run on without this process, unless an owner has to be
    /// [taken](Self::take_owner) first: it is dropped, and the machine ends if it was the last.
    pub fn detach(self) {}

    /// Waits until the machine is off, and its disks are closed.
    ///
    /// # Errors
    /// If the VMM process did not end cleanly.
    pub async fn ended(self) -> io::Result<()> {
        // The machine is kept for connected clients.
        let Self {
            sandbox,
            mut process,
            client,
            ..
        } = self;
        drop(client);
        let status = process.wait().await?;
        sandbox.wait_for_release().await?;
        if status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "the virtual machine's process ended with {status}"
        )))
    }

    /// Returns the last lines that the VMM process and the guest's kernel printed.
    pub fn log_tail(&self) -> Vec<String> {
        self.sandbox.log_tail()
    }
}

impl Sandbox {
    /// Opens the log of the main command's output, at the oldest line that is kept.
    ///
    /// # Errors
    /// If the log cannot be opened.
    pub fn output(&self) -> io::Result<LogReader> {
        LogReader::open(&self.files.output_log())
    }

    /// Opens the log of the guest's console since the last start. The kernel writes most of it.
    ///
    /// # Errors
    /// If the log cannot be opened.
    pub fn console(&self) -> io::Result<TextLog> {
        TextLog::open(&self.files.console_log())
    }

    /// Opens the log of the VMM process, and of the VMM in it, since the last start.
    ///
    /// # Errors
    /// If the log cannot be opened.
    pub fn machine_log(&self) -> io::Result<TextLog> {
        TextLog::open(&self.files.vmm_log())
    }

    /// Returns the last lines that the VMM process and the guest's kernel printed.
    pub fn log_tail(&self) -> Vec<String> {
        log_tail(&self.files)
    }
}

pub(super) fn log_tail(files: &SandboxPaths) -> Vec<String> {
    [files.vmm_log(), files.console_log()]
        .iter()
        .flat_map(|log| telling(last_lines(log, LAST_WORDS_BYTES)))
        .collect()
}

/// Separates the reason for the end from the other last lines.
/// The reason is the first line of the sandbox's own processes, as the others may have ended
/// because of it. Without such a line, it is the last line of the guest's agent.
pub(super) fn reason(files: &SandboxPaths, lines: Vec<String>) -> (Option<String>, Vec<String>) {
    let prefix = format!("msb: sandbox {}: ", files.directory.display());
    let of_host = |line: &String| line.strip_prefix(&prefix).map(str::to_owned);
    let of_agent = |line: &String| {
        let (_, said) = line.split_once(AGENT_PREFIX)?;
        Some(format!("the guest's agent failed: {said}"))
    };
    let reason = lines.iter().find_map(of_host);
    let reason = reason.or_else(|| lines.iter().rev().find_map(of_agent));
    let is_other = |line: &String| of_host(line).is_none() && of_agent(line).is_none();
    let others = lines.iter().filter(|line| is_other(line)).cloned();
    (reason, others.collect())
}

/// Returns the last lines, preceded by earlier lines that give a reason.
/// A kernel that panics prints the reason before the stack trace.
fn telling(lines: Vec<String>) -> Vec<String> {
    let from = lines.len().saturating_sub(LAST_WORDS_LINES);
    let (before, last) = lines.split_at(from);
    let gives_reason = |line: &&String| REASONS.iter().any(|reason| line.contains(reason));
    let reasons: Vec<_> = before.iter().filter(gives_reason).collect();
    let reasons_from = reasons.len().saturating_sub(REASON_LINES);
    let reasons = reasons[reasons_from..].iter().copied();
    reasons.chain(last).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_says_of_its_end_is_the_reason() {
        let files = SandboxPaths {
            directory: "/home/sandboxes/1".into(),
        };
        let lines = [
            "warning",
            "msb: sandbox /home/sandboxes/1: cannot share: no such file",
            "msb: sandbox /home/sandboxes/1: the virtual machine failed",
            "[ 0.1] Linux",
        ];
        let (said, others) = reason(&files, lines.map(str::to_owned).to_vec());
        assert_eq!(said.as_deref(), Some("cannot share: no such file"));
        assert_eq!(others, ["warning", "[ 0.1] Linux"]);
        let lines = ["msb: other", "[ 0.2] msb-agent: cannot mount /x"];
        let (said, others) = reason(&files, lines.map(str::to_owned).to_vec());
        let expected = "the guest's agent failed: cannot mount /x";
        assert_eq!(said.as_deref(), Some(expected));
        assert_eq!(others, ["msb: other"]);
        assert_eq!(reason(&files, others).0, None);
    }

    #[test]
    fn a_reason_is_shown_though_much_comes_after_it() {
        let mut lines: Vec<String> = (0..20).map(|number| format!("line {number}")).collect();
        assert_eq!(telling(lines.clone()), lines[12..]);
        lines[3] = "[    0.5] Kernel panic - not syncing: no root".to_owned();
        let shown = telling(lines.clone());
        assert_eq!((&shown[0], shown.len()), (&lines[3], 9));
        assert!(telling(Vec::new()).is_empty());
    }
}
