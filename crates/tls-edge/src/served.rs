//! The outcome of a connection.

use std::io;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use thiserror::Error;

use crate::authority::AuthorityError;
use crate::limits::{ACTIVE_MAX, CONNECTIONS_MAX, HTTP2_CONNECTIONS_MAX, TURN_TIMEOUT};

/// The outcome of a connection.
#[derive(Debug)]
pub enum Served {
    /// TLS was ended.
    Ended {
        /// False if an answer was broken off. The guest has to see a reset then, not a clean end.
        is_clean: bool,
    },
    /// The connection was passed on unchanged.
    Passed {
        /// True if both sides closed it.
        is_clean: bool,
    },
    /// The connection was closed without a connection to the host, or without a handshake with the guest.
    Refused(Refused),
}

/// A reason why a connection was refused.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Refused {
    /// The sandbox has as many ended connections as it may have.
    #[error(
        "the sandbox has {} connections whose TLS is ended, which is the limit",
        CONNECTIONS_MAX
    )]
    Busy,
    /// The sandbox has as many ended connections in HTTP/2 as it may have, and the guest offered nothing else.
    #[error(
        "the sandbox has {} connections in HTTP/2 whose TLS is ended, which is the limit, and the guest does not \
         offer HTTP/1.1",
        HTTP2_CONNECTIONS_MAX
    )]
    BusyHttp2,
    /// The sandbox has as many requests at once as it may have, and none of them ended in time.
    #[error(
        "the sandbox has {} requests at once, which is the limit, and the connection has waited {} s for its turn",
        ACTIVE_MAX,
        TURN_TIMEOUT.as_secs()
    )]
    Waited,
    /// The guest's side cannot be read.
    #[error("cannot read the guest's connection")]
    Guest(#[source] io::Error),
    /// The connection is not to be ended, and no rule allows it otherwise.
    #[error("TLS is not ended at the host that the guest names, and no rule allows the address")]
    NotAllowed,
    /// The guest offered neither HTTP/1.1 nor HTTP/2.
    #[error("the guest's TLS offers neither HTTP/1.1 nor HTTP/2")]
    Protocol,
    /// The host cannot be connected to.
    #[error("cannot connect to the host")]
    Dial(#[source] io::Error),
    /// The guest did not complete the handshake.
    #[error("the guest did not complete the TLS handshake")]
    Handshake(#[source] io::Error),
    /// There is no certificate for the name.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// TLS cannot be set up.
    #[error("cannot set TLS up")]
    Tls(#[from] rustls::Error),
}

impl Diagnose for Refused {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Busy | Self::BusyHttp2 | Self::Waited => Diagnosis::new(ErrorKind::Busy),
            Self::Authority(source) => source.diagnosis(),
            Self::Dial(source) => source.diagnosis(),
            Self::NotAllowed => Diagnosis::new(ErrorKind::PermissionDenied),
            Self::Protocol => Diagnosis::new(ErrorKind::Unsupported),
            Self::Guest(_) | Self::Handshake(_) | Self::Tls(_) => {
                Diagnosis::new(ErrorKind::InternalError)
            }
        }
    }
}
