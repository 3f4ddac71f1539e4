use std::io;

use crate::log_record::FlowEnd;

/// A reason why the upstream proxy does not connect to a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProxyFailure {
    /// The proxy refused it, with a status of HTTP or a reply of SOCKS5.
    #[error("the upstream proxy refused the connection with status {status}")]
    Refused { status: u16 },
    /// None of the proxy's addresses can be connected to.
    #[error("cannot connect to the upstream proxy")]
    Unreachable,
    /// The proxy was silent for too long.
    #[error("the upstream proxy did not answer in time")]
    Silent,
    /// The proxy closed the connection, or its answer is too long or of another protocol.
    #[error("the upstream proxy did not answer in its protocol")]
    Answer,
}

impl ProxyFailure {
    /// Returns the failure that an error of a connection stands for. `None` if it is another error.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref::<Self>().copied()
    }

    /// Returns the status of the proxy's refusal that an error of a connection stands for. `None` if it is another error.
    pub(crate) fn status_of(error: &io::Error) -> Option<u16> {
        Self::of(error)?.status()
    }

    /// Returns the end of a flow that failed so.
    pub(crate) const fn end(self) -> FlowEnd {
        match self {
            Self::Refused { .. } => FlowEnd::ProxyRefused,
            Self::Unreachable | Self::Silent | Self::Answer => FlowEnd::ProxyFailed,
        }
    }

    /// Returns the status with which the proxy refused. `None` if it failed otherwise.
    const fn status(self) -> Option<u16> {
        match self {
            Self::Refused { status } => Some(status),
            Self::Unreachable | Self::Silent | Self::Answer => None,
        }
    }
}

/// The guest sees a reset, as if the destination itself had refused it.
impl From<ProxyFailure> for io::Error {
    fn from(failure: ProxyFailure) -> Self {
        Self::new(io::ErrorKind::ConnectionRefused, failure)
    }
}
