use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use fs_err as fs;
use msb_agent_protocol::Client;
use msb_agent_protocol::v1::HelloReply;
use tokio::process::Child;

use super::{Files, Sandbox};
use crate::LogReader;

/// How much of a log is shown when something went wrong, in bytes and lines.
const LAST_WORDS_BYTES: u64 = 4096;
const LAST_WORDS_LINES: usize = 8;

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

    /// The last lines that its machine's process and its guest's kernel printed.
    pub fn last_words(&self) -> Vec<String> {
        last_words(&self.files)
    }
}

pub(super) fn last_words(files: &Files) -> Vec<String> {
    [files.vmm_log(), files.console_log()]
        .iter()
        .flat_map(|log| tail(log))
        .collect()
}

/// The last few lines of a log; none of one that is not there.
fn tail(log: &Path) -> Vec<String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = fs::File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(LAST_WORDS_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let from = lines.len().saturating_sub(LAST_WORDS_LINES);
    lines[from..]
        .iter()
        .map(|line| (*line).to_owned())
        .collect()
}
