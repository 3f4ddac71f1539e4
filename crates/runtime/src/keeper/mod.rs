//! What a sandbox's process does while its machine runs: it joins clients to the agent, attends to
//! the commands that need nobody, and ends the machine when its time has come.

mod calls;
mod first;
mod jobs;
mod life;
mod silence;
mod watchers;

use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use msb_agent_protocol::v1::StopFirst;
use msb_agent_protocol::{Client, serve_kept};
use serde::{Deserialize, Serialize};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::process::Process;
use crate::sandbox::{Files, UNMOUNT_LIMIT};
use crate::stop_signal::StopSignal;
use first::First;
pub use jobs::Job;
use jobs::Jobs;
pub use life::{Lifetime, RestartPolicy};

/// How long a guest may take to end, over what its processes were given. Longer than who asked for the
/// end waits for it: that one kills the machine first, and says so.
const END_LIMIT: Duration = UNMOUNT_LIMIT.saturating_add(Duration::from_secs(10));
/// How long the end of a command may take to be written.
const NOTE_LIMIT: Duration = Duration::from_secs(5);

/// What a sandbox's process attends to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Duties {
    /// The first command; none where its argv is empty.
    pub(crate) process: Process,
    /// Whether the command waits until somebody has attached to it.
    pub(crate) attached: bool,
    /// The rows and columns of its terminal.
    pub(crate) window: Option<(u32, u32)>,
    pub(crate) restart: RestartPolicy,
    pub(crate) lifetime: Lifetime,
    /// What asks the first command to end.
    #[serde(default)]
    pub(crate) stop_signal: StopSignal,
}

/// Serves clients until the process ends.
///
/// # Errors
/// When the guest's greeting does not come, or the listener fails.
pub(crate) async fn keep(
    listener: UnixListener,
    port: UnixStream,
    files: Files,
    duties: Duties,
) -> io::Result<()> {
    let agent = Client::connect_port(port).await.map_err(io::Error::other)?;
    let keeper = Keeper {
        first: (!duties.process.argv.is_empty()).then(First::new),
        jobs: Jobs::new(agent.clone(), files.jobs()),
        noted: watch::Sender::new(duties.process.argv.is_empty()),
        clients: watch::Sender::new(0),
        stop_signal: duties.stop_signal,
        is_ending: Arc::default(),
        agent,
    };
    life::begin(&keeper, &files, duties).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let keeper = keeper.clone();
        keeper.clients.send_modify(|count| *count += 1);
        tokio::spawn(async move {
            // A client may hang up at any time, in the middle of anything.
            let _ = serve_kept(stream, keeper.clone()).await;
            keeper.clients.send_modify(|count| *count -= 1);
        });
    }
}

/// The sandbox's process, as its parts know it.
#[derive(Debug, Clone)]
pub(super) struct Keeper {
    agent: Client,
    first: Option<First>,
    jobs: Jobs,
    /// Whether the end of the first command has been written, if it is to have one.
    noted: watch::Sender<bool>,
    /// How many are connected.
    clients: watch::Sender<usize>,
    stop_signal: StopSignal,
    is_ending: Arc<AtomicBool>,
}

impl Keeper {
    /// Ends the machine, and this process with it, in order or, where the guest does not answer,
    /// by force. Whoever asks second waits for the end.
    async fn end(&self, grace: Option<Duration>) -> ! {
        if self.is_ending.swap(true, Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        if let Some(first) = &self.first {
            first.watchers.abandon();
        }
        let limit = grace.unwrap_or_default().saturating_add(END_LIMIT);
        let first = self.first.as_ref().and_then(First::exec_id);
        let first = first.map(|exec_id| StopFirst {
            exec_id,
            signal: self.stop_signal.number(),
        });
        let ended = timeout(limit, self.agent.clone().shutdown(grace, first)).await;
        if !matches!(ended, Ok(Ok(()))) {
            say("the guest did not shut down");
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
        let _ = timeout(END_LIMIT, self.agent.clone().power_off()).await;
        // A machine that went takes this process with it; some VMMs take a moment.
        tokio::time::sleep(END_LIMIT).await;
        say("the machine did not go");
        process::exit(1);
    }
}

#[expect(clippy::print_stderr, reason = "standard error is this process's log")]
fn say(what: &str) {
    eprintln!("msb: {what}");
}
