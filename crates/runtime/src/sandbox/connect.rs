use std::io;
use std::time::Duration;

use msb_agent_protocol::{Client, ClientError};
use tokio::net::UnixStream;
use tokio::time::sleep;

use super::Sandbox;
use super::machine_process::MachineProcess;
use crate::socket;

/// The timeout for the answer of a guest that is booting.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
/// The interval in which the VMM process of a guest that does not answer is looked at.
const STOPPED_INTERVAL: Duration = Duration::from_secs(10);

/// A failure to connect to a running sandbox, or to end it.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
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
    /// The processes of the sandbox are paused.
    #[error("sandbox {name} is paused")]
    Paused {
        /// The sandbox's name.
        name: String,
    },
    /// The processes of the sandbox are not paused.
    #[error("sandbox {name} is not paused")]
    NotPaused {
        /// The sandbox's name.
        name: String,
    },
    /// The VMM process cannot be reached.
    #[error("cannot reach the supervisor of sandbox {name}")]
    Io {
        /// The sandbox's name.
        name: String,
        /// The error of the connection, the lock or the signal.
        #[source]
        source: io::Error,
    },
    /// The VMM process is stopped.
    #[error(
        "the process of sandbox {name} is stopped, for example by SIGSTOP; continue it with kill \
         -CONT {process_id}"
    )]
    Stopped {
        /// The sandbox's name.
        name: String,
        /// The id of the VMM process on this host.
        process_id: i32,
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
    #[error("sandbox {name} has been killed, but has not ended")]
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
    pub async fn connect(&self) -> Result<Client, ConnectError> {
        let mut client = self.connect_supervisor().await?;
        tokio::select! {
            answer = client.hello() => {
                answer.map(|_| client).map_err(|source| self.agent_error(source))
            }
            error = self.process_stopped() => Err(error),
            () = sleep(ANSWER_TIMEOUT) => Err(self.io_error(io::ErrorKind::TimedOut.into())),
        }
    }

    /// Connects to the supervisor of a running sandbox, and asks nothing of its guest.
    ///
    /// # Errors
    /// If the sandbox is not running, or its supervisor does not answer.
    pub async fn connect_supervisor(&self) -> Result<Client, ConnectError> {
        self.expect_running()?;
        let stream = self.connect_to_socket().await?;
        let client = Client::connect(stream).await;
        client.map_err(|source| self.agent_error(source))
    }

    /// Waits until the VMM process is found stopped. A guest that boots may answer as late as the
    /// guest of a stopped process, but the process itself runs.
    async fn process_stopped(&self) -> ConnectError {
        loop {
            sleep(STOPPED_INTERVAL).await;
            if let Ok(Some(process)) = MachineProcess::find(&self.files)
                && process.is_stopped()
            {
                return ConnectError::Stopped {
                    name: self.spec.name.clone(),
                    process_id: process.id().as_raw_nonzero().get(),
                };
            }
        }
    }

    /// Connects to the supervisor's socket.
    pub(super) async fn connect_to_socket(&self) -> Result<UnixStream, ConnectError> {
        let stream = socket::connect(&self.files.socket()).await;
        stream.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => self.starting(),
            _ => self.io_error(source),
        })
    }

    /// Returns the VMM process, which leads the process group of the network and the shares.
    pub(crate) fn machine_process(&self) -> Result<MachineProcess, ConnectError> {
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

    pub(super) fn is_running(&self) -> Result<bool, ConnectError> {
        let state = self.state().map_err(|source| self.io_error(source))?;
        Ok(state.is_up())
    }

    pub(super) fn expect_running(&self) -> Result<(), ConnectError> {
        if self.is_running()? {
            return Ok(());
        }
        Err(ConnectError::NotRunning {
            name: self.spec.name.clone(),
        })
    }

    pub(crate) fn starting(&self) -> ConnectError {
        ConnectError::Starting {
            name: self.spec.name.clone(),
        }
    }

    pub(super) fn agent_error(&self, source: ClientError) -> ConnectError {
        ConnectError::Agent {
            name: self.spec.name.clone(),
            source,
        }
    }

    pub(super) fn io_error(&self, source: io::Error) -> ConnectError {
        ConnectError::Io {
            name: self.spec.name.clone(),
            source,
        }
    }
}
