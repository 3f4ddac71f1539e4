use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::frames::{FrameReader, write_frames};
use crate::limits::{GUEST_QUEUE_FRAMES, QUESTIONS_MAX, TCP_FLOWS_MAX, UDP_FLOWS_MAX};
use crate::names::NameService;
use crate::policy::Policy;
use crate::published::{Listener, PublishError, listen, take_arrivals};
use crate::resolvers::Resolvers;
use crate::switch::Switch;
use crate::{Publish, Settings};

/// What is said on the frame socket, before any frame, once the network is ready for the guest.
pub const READY: [u8; 4] = *b"net\n";

/// How many who want in may wait to be let in.
const ARRIVALS_WAITING_MAX: usize = 16;

/// Descriptors that are neither listeners nor flows: of the event loop, the frame socket, the log, and
/// of what is looked up for an instant.
const DESCRIPTORS_BESIDE: usize = 32;

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

/// A sandbox's network that listens on the ports that it publishes, and serves nobody yet.
#[derive(Debug)]
pub struct Network {
    runtime: Runtime,
    settings: Settings,
    listeners: Vec<Listener>,
    resolvers: Resolvers,
}

impl Network {
    /// Listens on the ports that are published, and reads whom to ask for names. What it does from then
    /// on needs no privilege.
    ///
    /// # Errors
    /// When a port cannot be published.
    pub fn bind(settings: &Settings) -> Result<Self, ServeError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(io_error("start the event loop"))?;
        let listeners = runtime.block_on(listen(&settings.publish))?;
        Ok(Self {
            runtime,
            settings: settings.clone(),
            listeners,
            resolvers: Resolvers::new(settings.resolvers.clone()),
        })
    }

    /// Returns the published ports, each with the port of the host that was chosen for it where none
    /// was said.
    pub fn published(&self) -> Vec<Publish> {
        let published = self.listeners.iter().map(|listener| listener.publish);
        published.collect()
    }

    /// Returns the files and directories that it reads while it serves.
    pub fn files(&self) -> Vec<PathBuf> {
        self.resolvers.files()
    }

    /// Returns how many descriptors it has open at most.
    pub fn descriptors_max(&self) -> u64 {
        let flows = TCP_FLOWS_MAX + UDP_FLOWS_MAX + QUESTIONS_MAX;
        let own = self.listeners.len() + ARRIVALS_WAITING_MAX + DESCRIPTORS_BESIDE;
        (flows + own).try_into().unwrap_or(u64::MAX)
    }

    /// Is the network of the guest whose frames are on `socket`, until its VMM has gone.
    ///
    /// # Errors
    /// When the socket fails.
    pub fn serve(self, socket: StdUnixStream) -> Result<(), ServeError> {
        let Self {
            runtime,
            settings,
            listeners,
            resolvers,
        } = self;
        runtime.block_on(async {
            socket
                .set_nonblocking(true)
                .map_err(io_error("use the frame socket"))?;
            let socket = UnixStream::from_std(socket).map_err(io_error("use the frame socket"))?;
            switch_frames(socket, &settings, listeners, resolvers).await
        })
    }
}

async fn switch_frames(
    mut socket: UnixStream,
    settings: &Settings,
    listeners: Vec<Listener>,
    resolvers: Resolvers,
) -> Result<(), ServeError> {
    let (arrived, mut arrivals) = mpsc::channel(ARRIVALS_WAITING_MAX);
    socket
        .write_all(&READY)
        .await
        .map_err(io_error("say that the network is ready"))?;
    let (reader, writer) = socket.into_split();
    let (to_guest, frames) = mpsc::channel(GUEST_QUEUE_FRAMES);
    let mut writing = tokio::spawn(write_frames(writer, frames));
    let policy = Arc::new(Policy::new(settings));
    let names = Arc::new(NameService::new(Arc::clone(&policy), resolvers));
    let mut switch = Switch::new(policy, names, to_guest);
    let mut reader = FrameReader::new(reader);
    take_arrivals(listeners, &arrived);
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

fn io_error(action: &'static str) -> impl FnOnce(io::Error) -> ServeError {
    move |source| ServeError::Io { action, source }
}
