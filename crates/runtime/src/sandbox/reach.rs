use std::io;
use std::time::Duration;

use fs_err as fs;
use msb_agent_protocol::{Client, ClientError};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::time::{Instant, sleep, timeout};

use super::{Sandbox, State, now_s};
use crate::{Exit, socket};

/// How long a guest that is booting may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);
/// How long a guest may take to unmount and power off, beside what its processes take.
pub(crate) const UNMOUNT_LIMIT: Duration = Duration::from_secs(20);
/// How long the host's kernel may take to end a killed process.
const DEATH_LIMIT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Why a running sandbox could not be talked to, or ended.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// It does not run.
    #[error("sandbox {name} is not running")]
    NotRunning {
        /// Its name.
        name: String,
    },
    /// It is just being created or started.
    #[error("sandbox {name} is still being started")]
    Starting {
        /// Its name.
        name: String,
    },
    /// Its process cannot be reached.
    #[error("cannot reach the process of sandbox {name}")]
    Io {
        /// Its name.
        name: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Its agent gave no good answer.
    #[error("cannot reach sandbox {name}")]
    Agent {
        /// Its name.
        name: String,
        /// Why.
        #[source]
        source: ClientError,
    },
    /// It goes on living.
    #[error("sandbox {name} does not end, even when it is killed")]
    Immortal {
        /// Its name.
        name: String,
    },
}

impl Sandbox {
    /// Connects to a sandbox that runs, and waits until its guest is up.
    ///
    /// # Errors
    /// When it does not run, or does not answer.
    pub async fn connect(&self) -> Result<Client, ReachError> {
        self.expect_running()?;
        let stream = socket::connect(&self.files.socket()).await;
        let stream = stream.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => self.starting(),
            _ => self.io_error(source),
        })?;
        let agent_error = |source| ReachError::Agent {
            name: self.spec.name.clone(),
            source,
        };
        let mut client = Client::connect(stream).await.map_err(agent_error)?;
        match timeout(ANSWER_LIMIT, client.hello()).await {
            Ok(answer) => answer.map(|_| client).map_err(agent_error),
            Err(_) => Err(self.io_error(io::ErrorKind::TimedOut.into())),
        }
    }

    /// Asks the guest to end its processes, sync and power off; kills the machine if it does not.
    /// Whether it ended cleanly.
    ///
    /// # Errors
    /// When it does not run, or cannot even be killed.
    pub async fn stop(&self, grace: Duration) -> Result<bool, ReachError> {
        self.expect_running()?;
        let asked = async {
            self.connect().await?.shutdown(Some(grace), None).await.ok();
            Ok::<(), ReachError>(())
        };
        let limit = grace.saturating_add(UNMOUNT_LIMIT);
        let asked = timeout(limit, asked).await;
        // Asked or not: it may have ended meanwhile.
        if matches!(asked, Ok(Ok(()))) && self.ends_within(UNMOUNT_LIMIT).await? {
            return Ok(true);
        }
        match self.kill().await {
            Ok(()) => Ok(false),
            Err(ReachError::NotRunning { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Ends the machine as a power cut would. What the guest had synced is kept.
    ///
    /// # Errors
    /// When it does not run, or its process cannot be killed.
    pub async fn kill(&self) -> Result<(), ReachError> {
        let pid = self.process_id()?;
        match kill_process_group(pid, Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(self.io_error(error.into())),
        }
        if self.ends_within(DEATH_LIMIT).await? {
            return self.note_kill().map_err(|source| self.io_error(source));
        }
        Err(ReachError::Immortal {
            name: self.spec.name.clone(),
        })
    }

    /// The machine's process, which leads the group of all its processes.
    pub(crate) fn process_id(&self) -> Result<Pid, ReachError> {
        self.expect_running()?;
        let pid = fs::read_to_string(self.files.pid())
            .ok()
            .and_then(|text| text.trim().parse().ok())
            .and_then(Pid::from_raw)
            .ok_or_else(|| self.starting())?;
        // Its number is its own for as long as it holds the lock, which it did just now.
        self.expect_running()?;
        Ok(pid)
    }

    /// The machine's process cannot say any more how its command ended.
    fn note_kill(&self) -> io::Result<()> {
        let is_noted = || fs::exists(self.files.exit());
        match self.lock()? {
            Some(_lock) if !is_noted()? => Exit::killed(Some(now_s())).write(&self.files.exit()),
            _ => Ok(()),
        }
    }

    /// Waits until it does not run.
    ///
    /// # Errors
    /// When its lock cannot be opened.
    pub async fn wait(&self) -> Result<(), ReachError> {
        while self.is_running()? {
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    async fn ends_within(&self, limit: Duration) -> Result<bool, ReachError> {
        let deadline = Instant::now() + limit;
        while self.is_running()? {
            if Instant::now() > deadline {
                return Ok(false);
            }
            sleep(POLL_INTERVAL).await;
        }
        Ok(true)
    }

    fn is_running(&self) -> Result<bool, ReachError> {
        let state = self.state().map_err(|source| self.io_error(source))?;
        Ok(state == State::Running)
    }

    fn expect_running(&self) -> Result<(), ReachError> {
        if self.is_running()? {
            return Ok(());
        }
        Err(ReachError::NotRunning {
            name: self.spec.name.clone(),
        })
    }

    pub(crate) fn starting(&self) -> ReachError {
        ReachError::Starting {
            name: self.spec.name.clone(),
        }
    }

    fn io_error(&self, source: io::Error) -> ReachError {
        ReachError::Io {
            name: self.spec.name.clone(),
            source,
        }
    }
}
