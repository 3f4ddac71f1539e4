//! The files that a guest is given because its disk was there before its sandbox.

use std::io;
use std::sync::Arc;

use msb_agent_protocol::v1::PutArchive;
use msb_agent_protocol::{Bytes, Client, ClientError};
use msb_guest_trust::GivenFile;
use tokio::sync::mpsc;

use super::call_timeout::COMMAND_TIMEOUT;

/// The most bytes of an archive that one message has.
const CHUNK_BYTES: usize = 64 << 10;

/// The files. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct GivenFiles(Arc<Vec<GivenFile>>);

impl GivenFiles {
    pub(super) fn new(files: Vec<GivenFile>) -> Self {
        Self(Arc::new(files))
    }

    /// Writes the files in the guest, before a command runs there that looks for them.
    ///
    /// # Errors
    /// If the guest cannot write a file, or is silent.
    pub(super) async fn write(&self, agent: &Client) -> io::Result<()> {
        for file in self.0.iter() {
            let heartbeat = agent.heartbeat();
            let written = tokio::select! {
                biased;
                written = put(agent.clone(), file) => written,
                () = heartbeat.silence(COMMAND_TIMEOUT) => Err(io::ErrorKind::TimedOut.into()),
            };
            written.map_err(|error| {
                let path = &file.path;
                io::Error::new(
                    error.kind(),
                    format!("cannot write {path} in the guest: {error}"),
                )
            })?;
        }
        Ok(())
    }
}

/// Writes one file, and makes the directories above it that the guest lacks. A user of the guest may own some of them: links
/// that it has put there are not followed.
async fn put(mut agent: Client, file: &GivenFile) -> io::Result<()> {
    let failed = |error: ClientError| io::Error::other(error.to_string());
    let mut archive = Bytes::from(file.archive()?);
    let directory = Bytes::copy_from_slice(file.directory().as_bytes());
    let (chunks, pending) = mpsc::channel(archive.len().div_ceil(CHUNK_BYTES).max(1));
    while !archive.is_empty() {
        let chunk = archive.split_to(archive.len().min(CHUNK_BYTES));
        // There is room for all of them.
        let _ = chunks.try_send(chunk);
    }
    drop(chunks);
    let start = PutArchive {
        directory,
        keep_owner: true,
        trusted_way: true,
    };
    let put = agent.put_archive(start, pending).await;
    put.map(drop).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_guest_that_does_not_take_a_file_is_not_waited_for() {
        let (host, _guest) = tokio::io::duplex(1 << 16);
        let agent = Client::connect_without_limit(host).await;
        let agent = agent.expect("connected");
        let nothing = GivenFiles::default();
        nothing.write(&agent).await.expect("nothing is asked");
        let bundle = GivenFile {
            path: "/etc/msb/ca.pem".to_owned(),
            mode: 0o644,
            uid: 0,
            gid: 0,
            text: "certificates".to_owned(),
        };
        let files = GivenFiles::new(vec![bundle]);
        let error = files.write(&agent).await.expect_err("silence").to_string();
        assert!(error.contains("/etc/msb/ca.pem"), "{error}");
    }
}
