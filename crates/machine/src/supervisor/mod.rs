//! The supervisor: the part of the VMM process that works while the machine runs.
//! It connects clients to the agent, runs the main command and the jobs, and ends the machine.

mod attached;
mod call_timeout;
mod calls;
mod clients;
mod disks;
mod jobs;
mod lifetime;
mod main_command;
mod owners;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use clients::ClientConnection;
use disks::Disks;
pub(crate) use disks::WatchedDisk;
use jobs::Jobs;
use main_command::MainCommand;
use msb_agent_protocol::v1::StopFirst;
use msb_agent_protocol::{Client, serve_kept};
use msb_runtime::{EndReason, Exit, SandboxPaths, StopSignal, SupervisorConfig, UNMOUNT_TIMEOUT};
use owners::{Owner, Owners, StartingClient};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::time::timeout;

/// The timeout for the guest to shut down, beyond the time that its processes have.
/// It is longer than that of `msb stop`, which therefore kills the machine first and reports that.
const END_TIMEOUT: Duration = UNMOUNT_TIMEOUT.saturating_add(Duration::from_secs(10));
/// The timeout for writing the exits of commands.
const RECORD_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves clients until the process ends.
///
/// # Errors
/// An agent that does not answer, an output log that cannot be created, or a listener that fails.
pub(crate) async fn keep(
    listener: UnixListener,
    port: UnixStream,
    files: SandboxPaths,
    disks: Vec<WatchedDisk>,
    config: SupervisorConfig,
) -> io::Result<()> {
    let owners = Owners::default();
    let starting_client = match config.owner {
        Some(awaited) => {
            Some(StartingClient::accept(&listener, owners.add(awaited.grace())).await?)
        }
        None => None,
    };
    let agent = tokio::select! {
        agent = Client::connect_port(port) => agent.map_err(io::Error::other)?,
        () = StartingClient::hung_up(starting_client.as_ref()) => {
            log_line("the sandbox ends: its owner was gone before the guest was up");
            process::exit(1);
        }
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
        disks: Disks::new(disks),
        is_ending: Arc::default(),
        reason: Arc::default(),
        exit: files.exit(),
        agent,
    };
    tokio::spawn(supervisor.disks.clone().follow(supervisor.agent.clone()));
    lifetime::begin(&supervisor, &files, config).await?;
    if let Some(client) = starting_client {
        supervisor.serve(client.stream, Some(client.owner));
    }
    loop {
        let (stream, _) = listener.accept().await?;
        supervisor.serve(stream, None);
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
    is_ending: Arc<AtomicBool>,
    /// The limit that ended the sandbox, if a limit did.
    reason: Arc<OnceLock<EndReason>>,
    /// The file of the main command's exit.
    exit: PathBuf,
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

    /// Shuts the machine down, or kills it if the guest does not answer, and ends this process.
    /// `reason` is the limit that was reached, if any. A second caller waits for the end.
    async fn end(&self, grace: Option<Duration>, reason: Option<EndReason>) -> ! {
        let signal = self.stop_signal.number();
        self.end_with(grace, signal, reason).await
    }

    /// Ends the machine like `end`, with the signal of this Linux number for the main command.
    async fn end_with(&self, grace: Option<Duration>, signal: i32, reason: Option<EndReason>) -> ! {
        if self.is_ending.swap(true, Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        if let Some(reason) = reason {
            // Only the first caller reaches this line.
            let _ = self.reason.set(reason);
        }
        if let Some(first) = &self.first {
            first.attached.abandon();
        }
        let limit = grace.unwrap_or_default().saturating_add(END_TIMEOUT);
        let first = self.first.as_ref().and_then(MainCommand::exec_id);
        let first = first.map(|exec_id| StopFirst { exec_id, signal });
        let ended = timeout(limit, self.agent.clone().shutdown(grace, first)).await;
        if !matches!(ended, Ok(Ok(()))) {
            log_line("the guest did not shut down");
            self.note_reason();
            process::exit(1);
        }
        let mut noted = self.noted.subscribe();
        let written = async {
            let _ = noted.wait_for(|&noted| noted).await;
            self.jobs.all_noted().await;
        };
        if timeout(RECORD_TIMEOUT, written).await.is_err() {
            log_line("the exits of commands were not recorded in time");
        }
        self.note_reason();
        let _ = timeout(END_TIMEOUT, self.agent.clone().power_off()).await;
        // A machine that powers off ends this process; some VMMs take a moment.
        tokio::time::sleep(END_TIMEOUT).await;
        log_line("the machine did not power off");
        process::exit(1);
    }

    /// Records the limit that ended the sandbox, unless the main command's exit already does.
    fn note_reason(&self) {
        let is_noted = self.first.is_some() && *self.noted.borrow();
        if let Some(reason) = self.reason.get().filter(|_| !is_noted)
            && let Err(error) = Exit::from_status(reason.status()).write(&self.exit)
        {
            log_line(&format!("exit.json: {error}"));
        }
    }
}

/// Writes a line to the VMM process's log.
pub(crate) fn log_line(what: &str) {
    // A line that does not fit on a full disk is lost, and the process continues.
    let _ = writeln!(io::stderr(), "msb: {what}");
}
