use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Uid, geteuid};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::asks::Asks;
use crate::control::serve_control;
use crate::edge::{EdgeFlows, EdgeParts};
use crate::frames::{FrameReader, write_frames};
use crate::gate::Gate;
use crate::hellos::Hellos;
use crate::limits::{
    CONTROL_CLIENTS_MAX, GUEST_QUEUE_FRAMES, QUESTIONS_MAX, SUPERVISOR_QUEUE, TCP_FLOWS_MAX,
    UDP_FLOWS_MAX,
};
use crate::names::NameService;
use crate::policy::Policy;
use crate::proxy::{Proxy, UpstreamProxyError};
use crate::published::{Listener, PublishError, listen, take_arrivals};
use crate::recorder::Recorder;
use crate::resolvers::Resolvers;
use crate::route::Routes;
use crate::supervisor::Supervised;
use crate::switch::Switch;
use crate::ways::Ways;
use crate::{Publish, Settings};

/// The bytes sent on the frame socket before any frame, once the network is ready for the guest.
pub const READY: [u8; 4] = *b"net\n";

/// The number of inbound connections that may wait to be admitted.
const ARRIVALS_WAITING_MAX: usize = 16;

/// Descriptors that are neither listeners nor flows: of the event loop, the frame socket, the log,
/// the supervisor, and files that are read for a moment.
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
    /// The settings have secrets or HTTPS requests, and nothing ends the TLS of their hosts.
    #[error("the network has no edge for its secrets and HTTPS requests")]
    NoEdge,
    /// The upstream proxy cannot be used.
    #[error(transparent)]
    Proxy(#[from] UpstreamProxyError),
}

/// A sandbox's network that listens on its published ports and does not serve a guest yet.
#[derive(Debug)]
pub struct Network {
    runtime: Runtime,
    settings: Settings,
    listeners: Vec<Listener>,
    resolvers: Resolvers,
    edge: Option<EdgeParts>,
    routes: Routes,
    /// The user that may use the control socket.
    owner: Uid,
    /// The supervisor, which changes rules and answers questions; `None` if there is none.
    supervisor: Option<StdUnixStream>,
}

impl Network {
    /// Listens on the published ports, and finds the resolvers and the upstream proxy. Nothing after it needs a privilege.
    /// `edge` is `None` exactly if the settings end no TLS.
    ///
    /// # Errors
    /// If the event loop cannot be started, a port cannot be published, the upstream proxy cannot be found, or the edge is
    /// missing.
    pub fn bind(settings: &Settings, edge: Option<EdgeParts>) -> Result<Self, ServeError> {
        if settings.ends_tls() && edge.is_none() {
            return Err(ServeError::NoEdge);
        }
        let proxy = settings.upstream_proxy.as_ref().map(Proxy::find);
        let proxy = proxy.transpose()?.flatten();
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
            edge,
            routes: Routes::new(proxy),
            owner: geteuid(),
            supervisor: None,
        })
    }

    /// Adds the supervisor at the other end of a stream: its rules are followed, and it is asked. Both sides send
    /// lines, which are [`FromNetwork`](crate::FromNetwork) and [`ToNetwork`](crate::ToNetwork).
    #[must_use]
    pub fn with_supervisor(mut self, stream: StdUnixStream) -> Self {
        self.supervisor = Some(stream);
        self
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

    /// Returns true if the network ends the TLS of some connections, which takes more memory.
    pub const fn ends_tls(&self) -> bool {
        self.edge.is_some()
    }

    /// Returns the largest number of descriptors that the network has open at once.
    pub fn descriptors_max(&self) -> u64 {
        let flows = TCP_FLOWS_MAX + UDP_FLOWS_MAX + QUESTIONS_MAX;
        let own = self.listeners.len() + ARRIVALS_WAITING_MAX + DESCRIPTORS_BESIDE;
        // One more is open until it is refused, and one until it has given its place up; and the
        // socket itself.
        let control = self.edge.as_ref().map_or(0, |_| CONTROL_CLIENTS_MAX + 3);
        (flows + own + control).try_into().unwrap_or(u64::MAX)
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
            edge,
            routes,
            owner,
            supervisor,
        } = self;
        let flags = fcntl_getfl(&reports);
        let flags = flags.and_then(|flags| fcntl_setfl(&reports, flags | OFlags::NONBLOCK));
        flags.map_err(|error| io_error("use the pipe for reports")(error.into()))?;
        let recorder = Recorder::new(reports, settings.log);
        let served = runtime.block_on(async {
            socket
                .set_nonblocking(true)
                .map_err(io_error("use the frame socket"))?;
            let socket = UnixStream::from_std(socket).map_err(io_error("use the frame socket"))?;
            let edge = edge.map(|edge| start_edge(edge, owner)).transpose()?;
            let (messages, sent) = mpsc::channel(SUPERVISOR_QUEUE);
            let asks = Asks::new(supervisor.is_some().then(|| messages.clone()));
            let gate = Gate::new(Policy::new(&settings), asks.clone());
            if let Some(stream) = supervisor {
                let supervised = Supervised {
                    gate: gate.clone(),
                    asks,
                    recorder: recorder.clone(),
                    edge: edge.as_ref().map(EdgeFlows::edge),
                };
                let stream = stream
                    .set_nonblocking(true)
                    .and_then(|()| UnixStream::from_std(stream));
                let stream = stream.map_err(io_error("connect with the supervisor"))?;
                tokio::spawn(supervised.follow(stream, messages, sent));
            }
            let names = NameService::new(gate.clone(), resolvers, recorder.clone());
            let names = Arc::new(names);
            let (to_guest, frames) = mpsc::channel(GUEST_QUEUE_FRAMES);
            let ways = Ways {
                edge,
                hellos: Hellos::new(&settings),
                routes,
            };
            let switch = Switch::new(gate, names, ways, to_guest, recorder.clone());
            tokio::spawn(recorder.clone().report_changes());
            switch_frames(socket, switch, frames, listeners).await
        });
        // The flows that are still open end with their tasks.
        recorder.finish();
        drop(runtime);
        recorder.report();
        served
    }
}

/// Takes clients of the control socket from now on.
fn start_edge(parts: EdgeParts, owner: Uid) -> Result<EdgeFlows, ServeError> {
    let edge = Arc::new(parts.edge);
    if let Some(control) = parts.control {
        let listener = control
            .set_nonblocking(true)
            .and_then(|()| UnixListener::from_std(control));
        let listener = listener.map_err(io_error("listen on the socket for secrets"))?;
        tokio::spawn(serve_control(listener, edge.values().clone(), owner));
    }
    Ok(EdgeFlows::new(edge))
}

async fn switch_frames(
    mut socket: UnixStream,
    mut switch: Switch,
    frames: mpsc::Receiver<Vec<u8>>,
    listeners: Vec<Listener>,
) -> Result<(), ServeError> {
    let (arrived, mut arrivals) = mpsc::channel(ARRIVALS_WAITING_MAX);
    socket
        .write_all(&READY)
        .await
        .map_err(io_error("report that the network is ready"))?;
    let (reader, writer) = socket.into_split();
    let mut writing = tokio::spawn(write_frames(writer, frames));
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
