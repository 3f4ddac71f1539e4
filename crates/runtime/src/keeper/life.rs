use std::io;
use std::num::NonZeroU32;
use std::time::Duration;

use msb_agent_protocol::Command;
use msb_agent_protocol::v1::exec_event::Event;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, timeout};

use super::first::{End, EndEvent, First};
use super::{Duties, Keeper, say};
use crate::exit::{EndReason, Exit};
use crate::output_log::LogWriter;
use crate::sandbox::Files;

/// The timeout for the client that is to attach before the main command starts.
const ATTACH_LIMIT: Duration = Duration::from_secs(30);
/// The time for processes to end by themselves when a limit ends the sandbox.
const GRACE: Duration = Duration::from_secs(10);
/// The shortest and the longest pause before a restart.
/// The pause doubles each time, and is the shortest again after a run longer than `SETTLED`.
const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(60);
const SETTLED: Duration = Duration::from_secs(10);

/// The limits after which a sandbox ends by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetime {
    /// Seconds from each start to the end; `None` for no limit.
    pub max_duration_s: Option<u64>,
    /// Seconds without a connected client or a running job before the end; `None` for no limit.
    pub idle_timeout_s: Option<u64>,
}

/// The condition under which an ended main command is restarted, in the same machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RestartPolicy {
    /// The command is never restarted.
    #[default]
    No,
    /// The command is restarted if it failed, at most `retries_max` times in a row.
    OnFailure {
        /// Maximum number of restarts in a row; `None` for no limit.
        retries_max: Option<NonZeroU32>,
    },
    /// The command is restarted until the sandbox is stopped.
    Always,
}

impl RestartPolicy {
    fn wants(self, exit: &Exit, retries: u32) -> bool {
        match self {
            Self::No => false,
            Self::Always => true,
            Self::OnFailure { retries_max } => {
                exit.code != 0 && retries_max.is_none_or(|max| retries < max.get())
            }
        }
    }
}

/// Starts the main command and the limits.
/// If the command does not wait for a client, it has started or failed to start when this returns.
pub(super) async fn begin(keeper: &Keeper, files: &Files, duties: Duties) -> io::Result<()> {
    limit_duration(keeper, duties.lifetime);
    limit_idleness(keeper, duties.lifetime);
    let Some(first) = keeper.first.clone() else {
        return Ok(());
    };
    let life = Life {
        keeper: keeper.clone(),
        log: Ok(LogWriter::create(&files.output_log())?),
        files: files.clone(),
        first,
        duties,
    };
    if life.duties.attached {
        tokio::spawn(async move {
            // The command runs even if that client is gone.
            let _ = timeout(ATTACH_LIMIT, life.first.watchers.seen()).await;
            let started = life.start().await;
            life.live(started).await;
        });
    } else {
        let started = life.start().await;
        tokio::spawn(life.live(started));
    }
    Ok(())
}

/// The main command, from its first start to the sandbox's end.
struct Life {
    keeper: Keeper,
    first: First,
    log: io::Result<LogWriter>,
    files: Files,
    duties: Duties,
}

impl Life {
    async fn start(&self) -> Result<Command, End> {
        let exec = self.duties.process.exec(self.duties.window);
        self.first.start(exec, &self.keeper.agent).await
    }

    async fn live(mut self, started: Result<Command, End>) {
        let event = self.last_end(started).await;
        self.keeper.noted.send_replace(true);
        self.first.settle(event.clone());
        self.first.watchers.dismiss(event).await;
        self.first.watchers.heard().await;
        if let Err(error) = &self.log {
            say(&format!("output.log: {error}"));
        }
        self.keeper.end(None, None).await;
    }

    /// Runs the command as often as the policy demands. The exit is written when this returns.
    async fn last_end(&mut self, mut started: Result<Command, End>) -> EndEvent {
        let mut retries = 0;
        let mut backoff = BACKOFF_MIN;
        loop {
            let began = Instant::now();
            let (exit, event) = match started {
                Ok(command) => self.first.attend(command, &mut self.log).await,
                Err(end) => end,
            };
            let (exit, event) = match self.keeper.reason.get() {
                Some(reason) => limited(*reason),
                None => (exit, event),
            };
            if let Err(error) = exit.write(&self.files.exit()) {
                say(&format!("exit.json: {error}"));
            }
            let is_ending = self.first.watchers.are_abandoned();
            if is_ending || !self.duties.restart.wants(&exit, retries) {
                return event;
            }
            self.first.watchers.dismiss(event.clone()).await;
            self.first.renew();
            if began.elapsed() > SETTLED {
                (retries, backoff) = (0, BACKOFF_MIN);
            }
            if !self.first.watchers.are_kept_for(backoff).await {
                return event;
            }
            retries += 1;
            backoff = (backoff * 2).min(BACKOFF_MAX);
            started = self.start().await;
            // A guest that shuts down starts nothing; that failure is not the command's end.
            if started.is_err() && self.first.watchers.are_abandoned() {
                return event;
            }
        }
    }
}

/// Returns the end that a limit caused, regardless of the command's own exit status.
fn limited(reason: EndReason) -> End {
    let status = reason.status();
    (Exit::of(status), Event::Exited(status))
}

fn limit_duration(keeper: &Keeper, lifetime: Lifetime) {
    let Some(limit_s) = lifetime.max_duration_s else {
        return;
    };
    let keeper = keeper.clone();
    tokio::spawn(async move {
        sleep(Duration::from_secs(limit_s)).await;
        say(&format!("its {limit_s} s are over"));
        let reason = Some(EndReason::MaxDuration);
        keeper.end(Some(GRACE), reason).await;
    });
}

fn limit_idleness(keeper: &Keeper, lifetime: Lifetime) {
    let Some(limit_s) = lifetime.idle_timeout_s else {
        return;
    };
    let keeper = keeper.clone();
    let limit = Duration::from_secs(limit_s);
    tokio::spawn(async move {
        let (mut clients, mut jobs) = (keeper.clients.subscribe(), keeper.jobs.running());
        loop {
            // Both senders live as long as the supervisor.
            let _ = clients.wait_for(|&count| count == 0).await;
            let _ = jobs.wait_for(|&count| count == 0).await;
            let busy = async {
                tokio::select! {
                    _ = clients.wait_for(|&count| count > 0) => {}
                    _ = jobs.wait_for(|&count| count > 0) => {}
                }
            };
            if timeout(limit, busy).await.is_err() {
                break;
            }
        }
        say(&format!("nobody wanted anything for {limit_s} s"));
        let reason = Some(EndReason::IdleTimeout);
        keeper.end(Some(GRACE), reason).await;
    });
}
