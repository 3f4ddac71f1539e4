//! The sandbox's files, for the host. Work that blocks on a disk runs on its own thread.

mod archive;
mod change;
mod read;
mod stat;
mod status;
mod trusted_way;
mod write;

use std::io;

use msb_agent_protocol::v1::Chunk;
use msb_agent_protocol::{Bytes, Status};
use rustix::fs::fstat;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::boot::own_mounts;
use crate::exec::{Running, among_commands};

pub(crate) use archive::{get, put};
pub(crate) use change::{make_directories, make_directory, remove, rename, set_mode};
pub(crate) use read::read;
pub(crate) use stat::{list, stat};
pub(crate) use status::failed_io;
pub(crate) use write::write;

/// A stream of answers to the host.
pub(crate) type Answers<T> = ReceiverStream<Result<T, Status>>;

/// The number of answers that wait for the host; beyond them the work waits.
const PENDING_ANSWERS: usize = 4;

/// Runs work that blocks on a disk, on its own thread, which sees the files as commands do.
pub(crate) async fn waiting<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Status> + Send + 'static,
) -> Result<T, Status> {
    let work = || among_commands(work).unwrap_or_else(|error| Err(no_thread(&error)));
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Status::internal("the agent failed")))
}

/// The host that sent the request; it may have disconnected.
pub(crate) struct Host<T> {
    answers: mpsc::Sender<Result<T, Status>>,
    running: Running,
}

impl<T> Host<T> {
    /// Sends an answer, and waits for room. Returns true if more answers are wanted.
    fn send_event(&self, answer: T) -> bool {
        !self.running.is_closed() && self.answers.blocking_send(Ok(answer)).is_ok()
    }
}

/// Runs work that sends answers one by one; an error is the last answer. The work stops when the
/// sandbox shuts down, because its files are unmounted then.
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
        let ended = among_commands(|| work(&host));
        let ended = ended.unwrap_or_else(|error| Err(no_thread(&error)));
        let ended = match host.running.refusal() {
            Some(reason) => Err(Status::unavailable(reason)),
            None => ended,
        };
        if let Err(status) = ended {
            // The host may have disconnected.
            let _ = host.answers.blocking_send(Err(status));
        }
    });
    ReceiverStream::new(answers)
}

fn no_thread(error: &io::Error) -> Status {
    Status::internal(format!("the agent cannot work on the files: {error}"))
}

/// Returns a path as an absolute one, from the sandbox's root.
pub(crate) fn absolute(path: &[u8]) -> Vec<u8> {
    if path.starts_with(b"/") {
        path.to_vec()
    } else {
        [b"/", path].concat()
    }
}

fn chunk(data: Bytes) -> Chunk {
    Chunk { data }
}

/// Returns the directories whose content archives leave out, by device and inode: it is not part of
/// the sandbox's tree. That is `/run/msb`, where the image and the upper disk are visible.
fn left_empty() -> Vec<(u64, u64)> {
    let stat = own_mounts::directory().and_then(|directory| Ok(fstat(&directory)?));
    stat.map(|stat| (stat.st_dev, stat.st_ino))
        .into_iter()
        .collect()
}
