//! The supervisor: the part of the VMM process that works while the machine runs.
//! It connects clients to the agent, runs the main command and the jobs, and ends the machine.

mod calls;
mod clients;
mod disks;
mod first;
mod jobs;
mod life;
mod silence;
mod watchers;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use msb_agent_protocol::v1::StopFirst;
use msb_agent_protocol::{Client, serve_kept};
use serde::{Deserialize, Serialize};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::exit::{EndReason, Exit};
use crate::process::Process;
use crate::sandbox::{Files, UNMOUNT_LIMIT};
use crate::stop_signal::StopSignal;
use clients::ClientConnection;
use disks::Disks;
pub(crate) use disks::WatchedDisk;
use first::First;
pub use jobs::Job;
use jobs::Jobs;
pub use life::{Lifetime, RestartPolicy};

/// The timeout for the guest to shut down, beyond the time that its processes have.
/// It is longer than that of `msb stop`, which therefore kills the machine first and reports that.
const END_LIMIT: Duration = UNMOUNT_LIMIT.saturating_add(Duration::from_secs(10));
/// The timeout for writing the exits of commands.
const NOTE_LIMIT: Duration = Duration::from_secs(5);

/// The configuration of the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Duties {
    /// The main command; its argv is empty if the sandbox has no main command.
    pub(crate) process: Process,
    /// True if the main command waits until a client has attached to it.
    pub(crate) attached: bool,
    /// The rows and columns of the main command's terminal, if they are known.
    pub(crate) window: Option<(u32, u32)>,
    pub(crate) restart: RestartPolicy,
    pub(crate) lifetime: Lifetime,
    /// The signal that asks the main command to end.
    #[serde(default)]
    pub(crate) stop_signal: StopSignal,
}

/// Serves clients until the process ends.
///
/// # Errors
/// An agent that does not answer, an output log that cannot be created, or a listener that fails.
pub(crate) async fn keep(
    listener: UnixListener,
    port: UnixStream,
    files: Files,
    disks: Vec<WatchedDisk>,
    duties: Duties,
) -> io::Result<()> {
    let agent = Client::connect_port(port).await.map_err(io::Error::other)?;
    let clients = watch::Sender::new(0);
    let keeper = Keeper {
        connection: Arc::new(ClientConnection::new(clients.clone())),
        first: (!duties.process.argv.is_empty()).then(First::new),
        jobs: Jobs::new(agent.clone(), files.jobs()),
        noted: watch::Sender::new(duties.process.argv.is_empty()),
        clients,
        stop_signal: duties.stop_signal,
        disks: Disks::new(disks),
        is_ending: Arc::default(),
        reason: Arc::default(),
        exit: files.exit(),
        agent,
    };
    tokio::spawn(keeper.disks.clone().follow(keeper.agent.clone()));
    life::begin(&keeper, &files, duties).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let keeper = Keeper {
            connection: Arc::new(ClientConnection::new(keeper.clients.clone())),
            ..keeper.clone()
        };
        // A client may disconnect at any time.
        tokio::spawn(async move { serve_kept(stream, keeper).await });
    }
}

/// The state of the supervisor. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Keeper {
    agent: Client,
    first: Option<First>,
    jobs: Jobs,
    /// True once the main command's last exit has been written, or if there is no main command.
    noted: watch::Sender<bool>,
    /// Number of connections that keep the sandbox from being idle.
    clients: watch::Sender<usize>,
    /// The connection that this clone serves.
    connection: Arc<ClientConnection>,
    stop_signal: StopSignal,
    disks: Disks,
    is_ending: Arc<AtomicBool>,
    /// The limit that ended the sandbox, if a limit did.
    reason: Arc<OnceLock<EndReason>>,
    /// The file of the main command's exit.
    exit: PathBuf,
}

impl Keeper {
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
            first.watchers.abandon();
        }
        let limit = grace.unwrap_or_default().saturating_add(END_LIMIT);
        let first = self.first.as_ref().and_then(First::exec_id);
        let first = first.map(|exec_id| StopFirst { exec_id, signal });
        let ended = timeout(limit, self.agent.clone().shutdown(grace, first)).await;
        if !matches!(ended, Ok(Ok(()))) {
            say("the guest did not shut down");
            self.note_reason();
            process::exit(1);
        }
        let mut noted = self.noted.subscribe();
        let written = async {
            let _ = noted.wait_for(|&noted| noted).await;
            self.jobs.all_noted().await;
        };
        if timeout(NOTE_LIMIT, written).await.is_err() {
            say("how commands ended was not written in time");
        }
        self.note_reason();
        let _ = timeout(END_LIMIT, self.agent.clone().power_off()).await;
        // A machine that powers off ends this process; some VMMs take a moment.
        tokio::time::sleep(END_LIMIT).await;
        say("the machine did not go");
        process::exit(1);
    }

    /// Records the limit that ended the sandbox, unless the main command's exit already does.
    fn note_reason(&self) {
        let is_noted = self.first.is_some() && *self.noted.borrow();
        if let Some(reason) = self.reason.get().filter(|_| !is_noted)
            && let Err(error) = Exit::of(reason.status()).write(&self.exit)
        {
            say(&format!("exit.json: {error}"));
        }
    }
}

/// Writes a line to the VMM process's log.
pub(crate) fn say(what: &str) {
    // A line that does not fit on a full disk is lost, and the process continues.
    let _ = writeln!(io::stderr(), "msb: {what}");
}
