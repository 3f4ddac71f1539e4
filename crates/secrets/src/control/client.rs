use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use rustix::fd::{AsFd, BorrowedFd};

use super::LINE_MAX_BYTES;
use super::answer::ControlAnswer;
use super::connect::{connect_until, is_own_peer};
use super::request::ControlRequest;

/// Bytes of an answer that are read at once.
const READ_BYTES: usize = 4096;

/// A connection to the control socket of a running sandbox. Its calls block.
#[derive(Debug)]
pub struct ControlClient {
    stream: UnixStream,
    /// Limit of a request and its answer.
    timeout: Duration,
}

/// The network process of a sandbox cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// No process accepts connections.
    #[error("cannot connect to the network process of the sandbox")]
    Connect(#[source] io::Error),
    /// The process belongs to another user, who must not receive a value.
    #[error("the network process of the sandbox belongs to another user")]
    Peer,
    /// The request cannot be written.
    #[error("cannot send a request to the network process of the sandbox")]
    Send(#[source] io::Error),
    /// There is no answer.
    #[error("cannot read the answer of the network process of the sandbox")]
    Receive(#[source] io::Error),
    /// The process has closed the connection.
    #[error("the network process of the sandbox has closed the connection")]
    Closed,
    /// The answer is too long.
    #[error(
        "the answer of the network process of the sandbox has more than {LINE_MAX_BYTES} bytes, which is the limit"
    )]
    TooLong,
    /// The answer cannot be parsed, or another one follows it.
    #[error("the answer of the network process of the sandbox is not one that is known")]
    Answer,
}

impl ControlClient {
    /// Connects to the socket at a path, and checks that it belongs to a process of this user.
    ///
    /// `timeout` is the limit of the connection, and of each request with its answer. A socket that does not
    /// exist, or that no process listens at, is an error at once.
    ///
    /// # Errors
    /// A socket that cannot be connected to, and a process of another user.
    pub fn connect(path: &Path, timeout: Duration) -> Result<Self, ControlError> {
        let deadline = Instant::now() + timeout;
        let stream = connect_until(path, deadline).map_err(ControlError::Connect)?;
        if is_own_peer(&stream).map_err(ControlError::Connect)? {
            Ok(Self { stream, timeout })
        } else {
            Err(ControlError::Peer)
        }
    }

    /// Sends a request, and returns its answer. After an error the connection cannot be used again.
    ///
    /// # Errors
    /// A closed connection, an answer that cannot be parsed, and one that does not come in time.
    pub fn send(&mut self, request: ControlRequest) -> Result<ControlAnswer, ControlError> {
        let deadline = Instant::now() + self.timeout;
        let line = request
            .line()
            .map_err(|error| ControlError::Send(error.into()))?;
        self.write(&line, deadline)?;
        self.receive(deadline)
    }

    fn write(&mut self, line: &[u8], deadline: Instant) -> Result<(), ControlError> {
        let mut rest = line;
        while !rest.is_empty() {
            let left = left(deadline).map_err(ControlError::Send)?;
            let set = self.stream.set_write_timeout(Some(left));
            set.map_err(ControlError::Send)?;
            match self.stream.write(rest) {
                Ok(0) => return Err(ControlError::Closed),
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if is_to_be_repeated(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Err(ControlError::Closed);
                }
                Err(error) => return Err(ControlError::Send(error)),
            }
        }
        Ok(())
    }

    fn receive(&mut self, deadline: Instant) -> Result<ControlAnswer, ControlError> {
        let mut line: Vec<u8> = Vec::new();
        let mut chunk = [0_u8; READ_BYTES];
        loop {
            let left = left(deadline).map_err(ControlError::Receive)?;
            let set = self.stream.set_read_timeout(Some(left));
            set.map_err(ControlError::Receive)?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(ControlError::Closed),
                Ok(count) => line.extend(chunk.iter().take(count)),
                Err(error) if is_to_be_repeated(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Err(ControlError::Closed);
                }
                Err(error) => return Err(ControlError::Receive(error)),
            }
            if line.len() > LINE_MAX_BYTES {
                return Err(ControlError::TooLong);
            }
            if let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                // An answer without a question would be taken for that of the next question.
                let (answer, rest) = line.split_at(end);
                return match serde_json::from_slice(answer) {
                    Ok(answer) if rest == b"\n" => Ok(answer),
                    _ => Err(ControlError::Answer),
                };
            }
        }
    }
}

/// Returns true for a signal, and for a time that is over: the deadline decides.
fn is_to_be_repeated(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
    )
}

/// Returns the time until a deadline.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(left)
}

/// The descriptor becomes readable when the network process closes the connection.
impl AsFd for ControlClient {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Diagnose for ControlError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Connect(source) => match source.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    Diagnosis::new(ErrorKind::NotRunning)
                        .hint("if the sandbox is not running, start it; if it has no secrets, create it with one")
                }
                _ => source.diagnosis().or_kind(ErrorKind::NotRunning),
            },
            Self::Peer => Diagnosis::new(ErrorKind::PermissionDenied),
            Self::Send(source) | Self::Receive(source) => {
                source.diagnosis().or_kind(ErrorKind::SandboxEnded)
            }
            Self::Closed => Diagnosis::new(ErrorKind::SandboxEnded),
            Self::TooLong | Self::Answer => Diagnosis::new(ErrorKind::VersionMismatch),
        }
    }
}
