use std::io;
use std::time::Duration;

use fs_err as fs;
use msb_agent_protocol::v1::{Attach, StopFirst};
use msb_agent_protocol::{Client, ClientError};
use tokio::time::{Instant, sleep, timeout};

use super::machine_process::MachineProcess;
use super::{Lock, Sandbox, State, now_s};
use crate::{Exit, StopSignal, socket};

/// The timeout for the answer of a guest that is booting.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);
/// The timeout for unmounting and powering off, beyond the time that the guest's processes have.
pub(crate) const UNMOUNT_LIMIT: Duration = Duration::from_secs(20);
/// The timeout for the host's kernel to end a killed process.
const DEATH_LIMIT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A failure to connect to a running sandbox, or to end it.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// The sandbox is not running.
    #[error("sandbox {name} is not running")]
    NotRunning {
        /// The sandbox's name.
        name: String,
    },
    /// The sandbox is still being created or started.
    #[error("sandbox {name} is still being started")]
    Starting {
        /// The sandbox's name.
        name: String,
    },
    /// The VMM process cannot be reached.
    #[error("cannot reach the process of sandbox {name}")]
    Io {
        /// The sandbox's name.
        name: String,
        /// The error of the connection, the lock or the signal.
        #[source]
        source: io::Error,
    },
    /// The guest's agent did not answer, or refused the call.
    #[error("cannot reach sandbox {name}")]
    Agent {
        /// The sandbox's name.
        name: String,
        /// The error of the call.
        #[source]
        source: ClientError,
    },
    /// The machine still runs after it was killed.
    #[error("sandbox {name} does not end, even when it is killed")]
    Immortal {
        /// The sandbox's name.
        name: String,
    },
}

impl Sandbox {
    /// Connects to a running sandbox, and waits until its guest is up.
    ///
    /// # Errors
    /// If the sandbox does not run or does not answer.
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
    /// Returns true if it ended cleanly. The main command gets `signal`, or the one that the
    /// sandbox was created with.
    ///
    /// # Errors
    /// If the sandbox does not run, or cannot be killed.
    pub async fn stop(
        &self,
        grace: Duration,
        signal: Option<StopSignal>,
    ) -> Result<bool, ReachError> {
        self.expect_running()?;
        let first = signal.map(|signal| StopFirst {
            // The supervisor fills in the number of the main command.
            exec_id: 0,
            signal: signal.number(),
        });
        let asked = async {
            self.connect()
                .await?
                .shutdown(Some(grace), first)
                .await
                .ok();
            Ok::<(), ReachError>(())
        };
        let limit = grace.saturating_add(UNMOUNT_LIMIT);
        let asked = timeout(limit, asked).await;
        // The answer proves nothing: the machine may have ended meanwhile.
        if matches!(asked, Ok(Ok(()))) && self.ends_within(UNMOUNT_LIMIT).await? {
            return Ok(true);
        }
        match self.kill().await {
            Ok(()) => Ok(false),
            Err(ReachError::NotRunning { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Sends a signal to the process group of the main command.
    ///
    /// # Errors
    /// If the main command does not run, or the guest's agent does not answer.
    pub async fn signal(&self, signal: StopSignal) -> Result<(), ReachError> {
        let agent_error = |source| ReachError::Agent {
            name: self.spec.name.clone(),
            source,
        };
        let mut client = self.connect().await?;
        let attached = client.attach(Attach { stdin: false }).await;
        let mut command = attached.map_err(agent_error)?;
        let sent = command.control.signal(signal.number()).await;
        sent.map_err(agent_error)
    }

    /// Ends the machine as a power cut would. Data that the guest had synced is kept.
    ///
    /// # Errors
    /// If the sandbox does not run, or its VMM process cannot be killed.
    pub async fn kill(&self) -> Result<(), ReachError> {
        let machine = self.machine_process()?;
        machine.kill().map_err(|source| self.io_error(source))?;
        if self.ends_within(DEATH_LIMIT).await? {
            // The kill succeeded even if its record cannot be written; the condition implies it
            // anyway.
            let _ = self.note_kill();
            return Ok(());
        }
        Err(ReachError::Immortal {
            name: self.spec.name.clone(),
        })
    }

    /// Returns the VMM process, which leads the process group of the network and the shares.
    pub(crate) fn machine_process(&self) -> Result<MachineProcess, ReachError> {
        self.expect_running()?;
        let found = MachineProcess::find(&self.files).map_err(|source| self.io_error(source))?;
        if let Some(process) = found {
            return Ok(process);
        }
        // The machine may have ended just now.
        self.expect_running()?;
        Err(self.starting())
    }

    /// Returns the id of the VMM process on this host; `None` while the sandbox has no machine.
    ///
    /// # Errors
    /// If the host's kernel cannot be asked, or the process is in another PID namespace.
    pub fn machine_process_id(&self) -> io::Result<Option<u32>> {
        let found = MachineProcess::find(&self.files)?;
        Ok(found.map(|process| process.id().as_raw_nonzero().get().unsigned_abs()))
    }

    /// Records the kill, because the killed VMM process cannot record the main command's exit.
    /// A sandbox that is removed when it stops needs no record: the process that waits for its end
    /// removes it now.
    fn note_kill(&self) -> io::Result<()> {
        if self.spec.remove_when_stopped {
            return Ok(());
        }
        let is_noted = || fs::exists(self.files.exit());
        match Lock::take_existing(&self.files) {
            Ok(Some(_lock)) if !is_noted()? => {
                Exit::killed(Some(now_s())).write(&self.files.exit())
            }
            // Another process has removed the sandbox if the lock is not found.
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Waits until the sandbox does not run.
    ///
    /// # Errors
    /// If the sandbox's lock cannot be opened.
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
