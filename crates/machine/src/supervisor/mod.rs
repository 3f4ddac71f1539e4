//! The supervisor: the part of the VMM process that works while the machine runs.
//! It connects clients to the agent, runs the main command and the jobs, and ends the machine.

mod attached;
mod call_timeout;
mod calls;
mod clients;
mod clock;
mod cut;
mod disks;
mod end;
mod given_files;
mod halt;
mod jobs;
mod lifetime;
mod main_command;
mod merged;
mod network_link;
mod owners;
mod pause;
mod questions;
mod rollback;
mod share_links;
mod sockets;

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use self::questions::Questions;
use clients::ClientConnection;
use clock::Clock;
use disks::Disks;
pub(crate) use disks::WatchedDisk;
use given_files::GivenFiles;
use jobs::Jobs;
use main_command::MainCommand;
use msb_agent_protocol::v1::HelloReply;
use msb_agent_protocol::{Client, serve_kept};
use msb_guest_trust::GivenFile;
use msb_machine_records::EndReason;
use msb_runtime::{SandboxPaths, StopSignal, SupervisorConfig};
use network_link::NetworkLink;
use owners::{Owner, Owners, StartingClient};
use pause::Pause;
use rollback::Rollbacks;
use share_links::ShareLinks;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OnceCell, watch};
use tokio::time::sleep;

use crate::disk_cut::DiskOrders;
use crate::log::log_line;
use crate::share_process::ShareConnection;
use crate::sockets_process::SocketsProcess;

/// The pause after a client could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// The parts of the machine that the supervisor watches and works on.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    pub(crate) disks: Vec<WatchedDisk>,
    /// The log of the guest's console; `None` if there is no machine.
    pub(crate) console: Option<File>,
    /// The thread that cuts the writable disk; `None` if there is no such disk.
    pub(crate) cuts: Option<DiskOrders>,
    /// The connections with the processes of shares that have rules.
    pub(crate) shares: Vec<ShareConnection>,
    /// The connection with the network's process; `None` if the machine has no network.
    pub(crate) network: Option<std::os::unix::net::UnixStream>,
    /// The process of forwarded sockets; `None` if there are none.
    pub(crate) sockets: Option<SocketsProcess>,
    /// The files that the guest is given before the main command runs.
    pub(crate) given: Vec<GivenFile>,
}

/// Serves clients until the process ends.
///
/// # Errors
/// An agent that does not answer or cannot write the files that its guest is given, a connection with a share or the
/// network that cannot be used, sockets that cannot be forwarded, or an output log that cannot be created.
pub(crate) async fn keep(
    listener: UnixListener,
    port: UnixStream,
    files: SandboxPaths,
    watched: Watched,
    config: SupervisorConfig,
) -> io::Result<Infallible> {
    let questions = Questions::new(&files.asks());
    let shares = ShareLinks::open(watched.shares, &questions)?;
    let network = NetworkLink::open(watched.network, &questions, files.spec())?;
    let owners = Owners::default();
    let starting_client = match config.owner {
        Some(awaited) => {
            Some(StartingClient::accept(&listener, owners.add(awaited.grace())).await?)
        }
        None => None,
    };
    let agent = tokio::select! {
        agent = lifetime::greeted(port, &files, config.lifetime) => agent?,
        () = StartingClient::hung_up(starting_client.as_ref()) => owners::end_at_once(),
    };
    let clients = watch::Sender::new(0);
    let supervisor = Supervisor {
        connection: Arc::new(ClientConnection::new(clients.clone())),
        awaited_owner: Arc::default(),
        owners,
        first: (!config.process.argv.is_empty()).then(MainCommand::new),
        jobs: Jobs::new(agent.clone(), files.jobs()),
        noted: watch::Sender::new(config.process.argv.is_empty()),
        clients,
        stop_signal: config.stop_signal,
        disks: Disks::new(watched.disks),
        cuts: watched.cuts,
        is_ending: Arc::default(),
        killed: watch::Sender::new(false),
        reason: Arc::default(),
        pause: Pause::new(files.paused()),
        questions,
        shares,
        network,
        rollbacks: Rollbacks::new(),
        given: GivenFiles::new(watched.given),
        exit: files.exit(),
        clock: Clock::new(agent.clone()),
        up: files.up(),
        greeting: Arc::default(),
        agent,
    };
    tokio::spawn(supervisor.disks.clone().follow(supervisor.agent.clone()));
    tokio::spawn(
        supervisor
            .questions
            .clone()
            .follow(supervisor.agent.clone()),
    );
    if let Some(console) = watched.console {
        tokio::spawn(halt::end_if_halted(supervisor.clone(), console));
    }
    supervisor.clock.before_call().await;
    tokio::spawn(supervisor.clock.clone().follow());
    supervisor.given.write(&supervisor.agent).await?;
    if let Some(sockets) = watched.sockets {
        supervisor.serve_sockets(sockets).await?;
    }
    lifetime::begin(&supervisor, &files, config).await?;
    if let Some(client) = starting_client {
        supervisor.serve(client.stream, Some(client.owner));
    }
    loop {
        match listener.accept().await {
            Ok((stream, _)) => supervisor.serve(stream, None),
            Err(error) => {
                // Too many open files, for instance; a client's end may release some.
                log_line(&format!("a client was not served: {error}"));
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// The state of the supervisor. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Supervisor {
    agent: Client,
    first: Option<MainCommand>,
    jobs: Jobs,
    /// True once the main command's last exit has been written, or if there is no main command.
    noted: watch::Sender<bool>,
    /// Number of connections that keep the sandbox from being idle.
    clients: watch::Sender<usize>,
    /// The connection that this clone serves.
    connection: Arc<ClientConnection>,
    owners: Owners,
    /// The owner that this clone's connection stands for until it makes the call.
    awaited_owner: Arc<Mutex<Option<Owner>>>,
    stop_signal: StopSignal,
    disks: Disks,
    /// The thread that cuts the writable disk; `None` if there is no such disk.
    cuts: Option<DiskOrders>,
    pause: Pause,
    clock: Clock,
    questions: Questions,
    shares: ShareLinks,
    network: NetworkLink,
    rollbacks: Rollbacks,
    given: GivenFiles,
    is_ending: Arc<AtomicBool>,
    /// True once the machine is about to be killed.
    killed: watch::Sender<bool>,
    /// The limit that ended the sandbox, if a limit did.
    reason: Arc<OnceLock<EndReason>>,
    /// The file of the main command's exit.
    exit: PathBuf,
    /// The file that exists while a guest without a main command is up.
    up: PathBuf,
    /// The guest's answer to the first client's `hello`.
    greeting: Arc<OnceCell<HelloReply>>,
}

impl Supervisor {
    /// Serves a client until it disconnects. It may do so at any time.
    fn serve(&self, stream: UnixStream, awaited_owner: Option<Owner>) {
        let supervisor = Self {
            connection: Arc::new(ClientConnection::new(self.clients.clone())),
            awaited_owner: Arc::new(Mutex::new(awaited_owner)),
            ..self.clone()
        };
        tokio::spawn(async move {
            let _ = serve_kept(stream, supervisor.clone()).await;
            drop(supervisor.take_awaited_owner());
        });
    }

    /// Takes the owner that the connection stands for; `None` if it has made the call, or stands
    /// for none.
    fn take_awaited_owner(&self) -> Option<Owner> {
        let awaited = self.awaited_owner.lock();
        awaited.unwrap_or_else(PoisonError::into_inner).take()
    }
}
