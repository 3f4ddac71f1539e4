use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::frames::{FrameReader, write_frames};
use crate::limits::{GUEST_QUEUE_FRAMES, QUESTIONS_MAX, TCP_FLOWS_MAX, UDP_FLOWS_MAX};
use crate::names::NameService;
use crate::policy::Policy;
use crate::published::{Listener, PublishError, listen, take_arrivals};
use crate::recorder::Recorder;
use crate::resolvers::Resolvers;
use crate::switch::Switch;
use crate::{Publish, Settings};

/// The bytes sent on the frame socket before any frame, once the network is ready for the guest.
pub const READY: [u8; 4] = *b"net\n";

/// The number of inbound connections that may wait to be admitted.
const ARRIVALS_WAITING_MAX: usize = 16;

/// Descriptors that are neither listeners nor flows: of the event loop, the frame socket, the log,
/// and files that are read for a moment.
const DESCRIPTORS_BESIDE: usize = 32;

/// An error that ends a guest's network.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The host side failed.
    #[error("cannot {action}")]
    Io {
        /// The action that failed, as a verb phrase.
        action: &'static str,
        /// The underlying error.
        #[source]
        source: io::Error,
    },
    /// A port cannot be published.
    #[error("the network is not ready")]
    Publish(#[from] PublishError),
}

/// A sandbox's network that listens on its published ports and does not serve a guest yet.
#[derive(Debug)]
pub struct Network {
    runtime: Runtime,
    settings: Settings,
    listeners: Vec<Listener>,
    resolvers: Resolvers,
}

impl Network {
    /// Listens on the published ports and finds the resolvers. Nothing after it needs a privilege.
    ///
    /// # Errors
    /// If the event loop cannot be started, or a port cannot be published.
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

    /// Returns the published ports, each with the host port that it listens on: the host chooses
    /// one if the settings name none.
    pub fn published(&self) -> Vec<Publish> {
        let published = self.listeners.iter().map(|listener| listener.publish);
        published.collect()
    }

    /// Returns the files and directories that the network reads while it serves.
    pub fn files(&self) -> Vec<PathBuf> {
        self.resolvers.files()
    }

    /// Returns the largest number of descriptors that the network has open at once.
    pub fn descriptors_max(&self) -> u64 {
        let flows = TCP_FLOWS_MAX + UDP_FLOWS_MAX + QUESTIONS_MAX;
        let own = self.listeners.len() + ARRIVALS_WAITING_MAX + DESCRIPTORS_BESIDE;
        (flows + own).try_into().unwrap_or(u64::MAX)
    }

    /// Serves the guest whose frames are on `socket`, until its VMM closes it. What happens is reported on `reports`, a
    /// pipe: each line is the JSON of a [`NetworkReport`](crate::NetworkReport). What a full pipe does not take is
    /// counted as lost.
    ///
    /// # Errors
    /// If the socket or the pipe fails.
    pub fn serve(self, socket: StdUnixStream, reports: File) -> Result<(), ServeError> {
        let Self {
            runtime,
            settings,
            listeners,
            resolvers,
        } = self;
        let flags = fcntl_getfl(&reports);
        let flags = flags.and_then(|flags| fcntl_setfl(&reports, flags | OFlags::NONBLOCK));
        flags.map_err(|error| io_error("use the pipe for reports")(error.into()))?;
        let recorder = Recorder::new(reports);
        let served = runtime.block_on(async {
            socket
                .set_nonblocking(true)
                .map_err(io_error("use the frame socket"))?;
            let socket = UnixStream::from_std(socket).map_err(io_error("use the frame socket"))?;
            switch_frames(socket, &settings, listeners, resolvers, recorder.clone()).await
        });
        // The flows that are still open end with their tasks.
        recorder.finish();
        drop(runtime);
        recorder.report();
        served
    }
}

async fn switch_frames(
    mut socket: UnixStream,
    settings: &Settings,
    listeners: Vec<Listener>,
    resolvers: Resolvers,
    recorder: Recorder,
) -> Result<(), ServeError> {
    let (arrived, mut arrivals) = mpsc::channel(ARRIVALS_WAITING_MAX);
    socket
        .write_all(&READY)
        .await
        .map_err(io_error("report that the network is ready"))?;
    let (reader, writer) = socket.into_split();
    let (to_guest, frames) = mpsc::channel(GUEST_QUEUE_FRAMES);
    let mut writing = tokio::spawn(write_frames(writer, frames));
    let policy = Arc::new(Policy::new(settings));
    let names = NameService::new(Arc::clone(&policy), resolvers, recorder.clone());
    tokio::spawn(recorder.clone().report_changes());
    let mut switch = Switch::new(policy, Arc::new(names), to_guest, recorder);
    let mut reader = FrameReader::new(reader);
    take_arrivals(listeners, &arrived);
    loop {
        tokio::select! {
            filled = reader.fill() => match filled {
                Ok(true) => {
                    while let Some(frame) = reader.next().map_err(io_error("read frames"))? {
                        switch.take(frame);
                    }
                    // Let the flows take their packets before more are read.
                    tokio::task::yield_now().await;
                }
                Ok(false) => return Ok(()),
                Err(error) if has_gone(&error) => return Ok(()),
                Err(error) => return Err(io_error("read frames")(error)),
            },
            Some(arrival) = arrivals.recv() => switch.admit(arrival),
            // The VMM takes no more frames.
            _ = &mut writing => return Ok(()),
        }
    }
}

/// Returns true if the VMM has ended: a VMM that dies resets its sockets.
fn has_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}

fn io_error(action: &'static str) -> impl FnOnce(io::Error) -> ServeError {
    move |source| ServeError::Io { action, source }
}
