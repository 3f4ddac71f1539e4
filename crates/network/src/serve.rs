use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::sync::mpsc;

use crate::Settings;
use crate::frames::{FrameReader, write_frames};
use crate::limits::GUEST_QUEUE_FRAMES;
use crate::names::NameService;
use crate::policy::Policy;
use crate::published::{PublishError, listen};
use crate::resolvers::Resolvers;
use crate::switch::Switch;

/// What is said on the frame socket, before any frame, once the network is ready for the guest.
pub const READY: [u8; 4] = *b"net\n";

/// How many who want in may wait to be let in.
const ARRIVALS_WAITING_MAX: usize = 16;

/// Why a guest has no network any more.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The host side failed.
    #[error("cannot {action}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A port cannot be published.
    #[error("the network is not ready")]
    Publish(#[from] PublishError),
}

/// Is the network of the guest whose frames are on `socket`, until its VMM has gone.
///
/// # Errors
/// When a port cannot be published, or the socket fails.
pub fn serve(socket: StdUnixStream, settings: &Settings) -> Result<(), ServeError> {
    raise_open_files();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(io_error("start the event loop"))?;
    runtime.block_on(async {
        socket
            .set_nonblocking(true)
            .map_err(io_error("use the frame socket"))?;
        let socket = UnixStream::from_std(socket).map_err(io_error("use the frame socket"))?;
        switch_frames(socket, settings).await
    })
}

async fn switch_frames(mut socket: UnixStream, settings: &Settings) -> Result<(), ServeError> {
    let (arrived, mut arrivals) = mpsc::channel(ARRIVALS_WAITING_MAX);
    listen(&settings.publish, &arrived).await?;
    socket
        .write_all(&READY)
        .await
        .map_err(io_error("say that the network is ready"))?;
    let (reader, writer) = socket.into_split();
    let (to_guest, frames) = mpsc::channel(GUEST_QUEUE_FRAMES);
    let mut writing = tokio::spawn(write_frames(writer, frames));
    let policy = Arc::new(Policy::new(settings));
    let resolvers = Resolvers::new(settings.resolvers.clone());
    let names = Arc::new(NameService::new(Arc::clone(&policy), resolvers));
    let mut switch = Switch::new(policy, names, to_guest);
    let mut reader = FrameReader::new(reader);
    loop {
        tokio::select! {
            filled = reader.fill() => match filled {
                Ok(true) => {
                    while let Some(frame) = reader.next().map_err(io_error("read frames"))? {
                        switch.take(frame);
                    }
                    // The flows take what they were given before more is read for them.
                    tokio::task::yield_now().await;
                }
                Ok(false) => return Ok(()),
                Err(error) if has_gone(&error) => return Ok(()),
                Err(error) => return Err(io_error("read frames")(error)),
            },
            Some(arrival) = arrivals.recv() => switch.admit(arrival),
            // Nobody takes frames any more.
            _ = &mut writing => return Ok(()),
        }
    }
}

/// A VMM that dies resets its sockets.
fn has_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}

/// Each flow takes a descriptor, and the usual limit of 1024 is soon reached. Where it cannot be
/// raised, further flows are refused.
fn raise_open_files() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    let _ = setrlimit(Resource::Nofile, limit);
}

fn io_error(action: &'static str) -> impl FnOnce(io::Error) -> ServeError {
    move |source| ServeError::Io { action, source }
}
