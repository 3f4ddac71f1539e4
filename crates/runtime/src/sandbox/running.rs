use std::io;

use msb_agent_protocol::Client;
use msb_agent_protocol::v1::HelloReply;
use tokio::process::Child;

use super::{Files, Sandbox};
use crate::text_log::last_lines;
use crate::{LogReader, TextLog};

/// How much of a log is shown when something went wrong, in bytes and lines.
const LAST_WORDS_BYTES: u64 = 16 << 10;
const LAST_WORDS_LINES: usize = 8;
/// How many lines are shown that give a reason and stand before those, and how they are known: by the
/// words of the kernel's last message, and of the agent's messages.
const REASON_LINES: usize = 3;
const REASONS: [&str; 2] = ["Kernel panic - not syncing", "msb-agent: "];

/// A sandbox whose machine was started here.
#[derive(Debug)]
pub struct Running {
    sandbox: Sandbox,
    process: Child,
    client: Client,
    info: HelloReply,
}

impl Running {
    pub(super) fn new(sandbox: Sandbox, process: Child, client: Client, info: HelloReply) -> Self {
        Self {
            sandbox,
            process,
            client,
            info,
        }
    }

    /// What the agent said of itself and the boot.
    pub const fn info(&self) -> &HelloReply {
        &self.info
    }

    /// A connection with the sandbox.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Leaves it to itself: the machine goes on without this process.
    pub fn detach(self) {}

    /// Waits until the machine is off.
    ///
    /// # Errors
    /// When it ended otherwise than in order.
    pub async fn ended(self) -> io::Result<()> {
        // The machine is kept for who is connected.
        let Self {
            mut process,
            client,
            ..
        } = self;
        drop(client);
        let status = process.wait().await?;
        if status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "the process of the virtual machine ended with {status}"
        )))
    }

    /// The last lines that the machine's process and the guest's kernel printed.
    pub fn last_words(&self) -> Vec<String> {
        self.sandbox.last_words()
    }
}

impl Sandbox {
    /// What its first command printed, from the oldest that is kept.
    ///
    /// # Errors
    /// When the log cannot be opened.
    pub fn output(&self) -> io::Result<LogReader> {
        LogReader::open(&self.files.output_log())
    }

    /// What was written to the console of its guest, by the kernel as a rule, since the last start.
    ///
    /// # Errors
    /// When the log cannot be opened.
    pub fn console(&self) -> io::Result<TextLog> {
        TextLog::open(&self.files.console_log())
    }

    /// What its machine's process, and the VMM in it, had to say since the last start.
    ///
    /// # Errors
    /// When the log cannot be opened.
    pub fn machine_log(&self) -> io::Result<TextLog> {
        TextLog::open(&self.files.vmm_log())
    }

    /// The last lines that its machine's process and its guest's kernel printed.
    pub fn last_words(&self) -> Vec<String> {
        last_words(&self.files)
    }
}

pub(super) fn last_words(files: &Files) -> Vec<String> {
    [files.vmm_log(), files.console_log()]
        .iter()
        .flat_map(|log| telling(last_lines(log, LAST_WORDS_BYTES)))
        .collect()
}

/// The last lines, and of those before them the last that give a reason: a kernel that panics says
/// why before it says where.
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
    fn a_reason_is_shown_though_much_comes_after_it() {
        let mut lines: Vec<String> = (0..20).map(|number| format!("line {number}")).collect();
        assert_eq!(telling(lines.clone()), lines[12..]);
        lines[3] = "[    0.5] Kernel panic - not syncing: no root".to_owned();
        let shown = telling(lines.clone());
        assert_eq!((&shown[0], shown.len()), (&lines[3], 9));
        assert!(telling(Vec::new()).is_empty());
    }
}
