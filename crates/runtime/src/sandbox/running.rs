use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::Duration;

use fs_err as fs;
use msb_agent_protocol::Client;
use msb_agent_protocol::v1::HelloReply;
use tokio::process::Child;

use super::{Files, Sandbox};
use crate::{Exit, LogReader};

/// How long a machine may take to end once it has been told to.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(20);
/// How much of a log is shown when something went wrong, in bytes and lines.
const LAST_WORDS_BYTES: u64 = 4096;
const LAST_WORDS_LINES: usize = 8;

/// A sandbox whose machine runs.
#[derive(Debug)]
pub struct Running {
    files: Files,
    process: Child,
    /// As long as this is connected, the machine has an owner.
    client: Client,
    info: HelloReply,
}

impl Running {
    pub(super) fn new(files: Files, process: Child, client: Client, info: HelloReply) -> Self {
        Self {
            files,
            process,
            client,
            info,
        }
    }

    /// What the agent said of itself and the boot.
    pub const fn info(&self) -> &HelloReply {
        &self.info
    }

    /// Leaves it to itself: a machine with a first command goes on without this process.
    pub fn detach(self) {}

    /// The connection that keeps the machine owned.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Ends every process in the guest, syncs and unmounts its disks, and waits until the machine
    /// is off. One that does not end in time is killed, which is said by the error.
    ///
    /// # Errors
    /// When the machine had to be killed.
    pub async fn shutdown(mut self) -> io::Result<()> {
        let asked = self.ask_to_shut_down().await;
        match tokio::time::timeout(SHUTDOWN_LIMIT, self.process.wait()).await {
            // Somebody else may have stopped it: then nobody was left to answer.
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(status) => status.and(asked),
            Err(_) => {
                self.process.kill().await?;
                Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the virtual machine did not shut down in time and was killed",
                ))
            }
        }
    }

    async fn ask_to_shut_down(&self) -> io::Result<()> {
        let mut client = self.client.clone();
        let asking = client.shutdown(None);
        match tokio::time::timeout(SHUTDOWN_LIMIT, asking).await {
            Ok(answer) => answer.map_err(io::Error::other),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// The last lines that the machine's process and the guest's kernel printed.
    pub fn last_words(&self) -> Vec<String> {
        last_words(&self.files)
    }
}

impl Sandbox {
    /// How its first command ended; `None` while it has not, where its machine was killed, and where
    /// it ran in somebody's foreground.
    ///
    /// # Errors
    /// When the file that says so cannot be read.
    pub fn exit(&self) -> io::Result<Option<Exit>> {
        Exit::read(&self.files.exit())
    }

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
