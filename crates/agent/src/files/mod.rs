//! The sandbox's files, for the host. Whatever waits for a disk does so on a thread of its own.

mod archive;
mod change;
mod look;
mod read;
mod status;
mod write;

use msb_agent_protocol::v1::Chunk;
use msb_agent_protocol::{Bytes, Status};
use rustix::fs::{AtFlags, CWD, statat};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::exec::Running;

pub(crate) use archive::{get, put};
pub(crate) use change::{make_directory, remove, rename, set_mode};
pub(crate) use look::{list, stat};
pub(crate) use read::read;
pub(crate) use write::write;

/// A stream of answers.
pub(crate) type Answers<T> = ReceiverStream<Result<T, Status>>;

/// Answers that wait for the host; beyond them the work waits.
const PENDING_ANSWERS: usize = 4;
/// What msb itself shows in the sandbox, below which its whole disks can be seen.
const EXPOSED: &str = "/run/msb";

/// Does what waits for a disk.
pub(crate) async fn waiting<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Status> + Send + 'static,
) -> Result<T, Status> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Status::internal("the agent failed")))
}

/// Who asked, and may have gone.
pub(crate) struct Host<T> {
    answers: mpsc::Sender<Result<T, Status>>,
    running: Running,
}

impl<T> Host<T> {
    /// Gives an answer when there is room for it. Whether more are wanted.
    fn tell(&self, answer: T) -> bool {
        !self.running.is_closed() && self.answers.blocking_send(Ok(answer)).is_ok()
    }
}

/// Runs work that gives answers one by one; how it ends is the last. It does not outlive the
/// sandbox: its files are to be unmounted.
fn answers<T: Send + 'static>(
    running: &Running,
    work: impl FnOnce(&Host<T>) -> Result<(), Status> + Send + 'static,
) -> Answers<T> {
    let (sender, answers) = mpsc::channel(PENDING_ANSWERS);
    let host = Host {
        answers: sender,
        running: running.clone(),
    };
    tokio::task::spawn_blocking(move || {
        let ended = work(&host);
        let ended = match host.running.is_closed() {
            true => Err(shutting_down()),
            false => ended,
        };
        if let Err(status) = ended {
            // Who asked may have gone.
            let _ = host.answers.blocking_send(Err(status));
        }
    });
    ReceiverStream::new(answers)
}

fn shutting_down() -> Status {
    Status::unavailable("the sandbox is shutting down")
}

/// A path from the sandbox's root.
fn absolute(path: &Bytes) -> Vec<u8> {
    match path.starts_with(b"/") {
        true => path.to_vec(),
        false => [b"/", &path[..]].concat(),
    }
}

fn chunk(data: Bytes) -> Chunk {
    Chunk { data }
}

/// Directories that archives have empty: what is below them is no part of the sandbox's tree.
fn left_empty() -> Vec<(u64, u64)> {
    let stat = statat(CWD, EXPOSED, AtFlags::SYMLINK_NOFOLLOW);
    stat.map(|stat| (stat.st_dev, stat.st_ino))
        .into_iter()
        .collect()
}
