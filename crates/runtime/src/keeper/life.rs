use std::io;
use std::num::NonZeroU32;
use std::time::Duration;

use msb_agent_protocol::Command;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, timeout};

use super::first::{End, First};
use super::{Duties, Keeper, say};
use crate::exit::Exit;
use crate::output_log::LogWriter;
use crate::sandbox::Files;

/// How long a first command waits for who is to attach to it.
const ATTACH_LIMIT: Duration = Duration::from_secs(30);
/// How long processes may take to end by themselves when the sandbox's time is up.
const GRACE: Duration = Duration::from_secs(10);
/// How long a command that is started again waits, at first and at most; one that ran for
/// `SETTLED` begins at first again.
const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(60);
const SETTLED: Duration = Duration::from_secs(10);

/// When a sandbox ends by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetime {
    /// So many seconds after each start.
    pub max_duration_s: Option<u64>,
    /// After so many seconds in which nobody was connected and no job ran.
    pub idle_timeout_s: Option<u64>,
}

/// Whether a first command that has ended is started again, in the machine that goes on running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RestartPolicy {
    /// It is not.
    #[default]
    No,
    /// When it failed, and no more often than this in a row.
    OnFailure {
        /// Without a limit where there is none.
        retries_max: Option<NonZeroU32>,
    },
    /// Until the sandbox is stopped.
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

/// Starts what the sandbox lives for. A command that waits for nobody has started, or failed to,
/// when this comes back.
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
            // Who asked for it may be gone; the command runs all the same.
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

/// The first command, from its start to the sandbox's end.
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
        self.keeper.end(None).await;
    }

    /// Runs the command as often as the policy wants; the end is written when this comes back.
    async fn last_end(&mut self, mut started: Result<Command, End>) -> super::first::EndEvent {
        let mut retries = 0;
        let mut backoff = BACKOFF_MIN;
        loop {
            let began = Instant::now();
            let (exit, event) = match started {
                Ok(command) => self.first.attend(command, &mut self.log).await,
                Err(end) => end,
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
            // A guest that is to end starts nothing; that is not how the command ended.
            if started.is_err() && self.first.watchers.are_abandoned() {
                return event;
            }
        }
    }
}

fn limit_duration(keeper: &Keeper, lifetime: Lifetime) {
    let Some(limit_s) = lifetime.max_duration_s else {
        return;
    };
    let keeper = keeper.clone();
    tokio::spawn(async move {
        sleep(Duration::from_secs(limit_s)).await;
        say(&format!("its {limit_s} s are over"));
        keeper.end(Some(GRACE)).await;
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
            // Both senders live as long as the keeper.
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
        keeper.end(Some(GRACE)).await;
    });
}
