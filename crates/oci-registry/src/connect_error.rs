//! The reasons why a host cannot be connected to, each in words of its own.

use std::error::Error;
use std::io;

use rustls::CertificateError;

/// The reason why no connection with a host was made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The host's resolver does not know the name, or does not answer.
    #[error("its name cannot be resolved")]
    Name(#[source] io::Error),
    /// The same of the name of the proxy that leads there.
    #[error("the name of the proxy cannot be resolved")]
    ProxyName(#[source] io::Error),
    /// No program listens at the port.
    #[error("the connection was refused")]
    Refused,
    /// No network of this host leads there.
    #[error("it is unreachable from this host")]
    NoRoute(#[source] io::Error),
    /// Nobody answered in time.
    #[error("it did not answer in time")]
    TimedOut,
    /// The other side ended the connection before TLS was agreed on.
    #[error("it closed the connection during the TLS handshake")]
    HungUp,
    /// The answer is not one of TLS.
    #[error("it does not speak TLS")]
    NotTls,
    /// The certificate is not one to be trusted.
    #[error("{}", certificate_fault(.0))]
    Certificate(CertificateError),
    /// The TLS handshake failed.
    #[error("the TLS handshake failed")]
    Tls(#[source] rustls::Error),
    /// Something else.
    #[error(transparent)]
    Other(reqwest::Error),
}

/// A name that has no address, as whoever resolves names puts it.
#[derive(Debug, thiserror::Error)]
#[error("a name cannot be resolved")]
pub(super) struct UnresolvedName(#[from] pub(super) io::Error);

impl ConnectError {
    /// Finds the reason among the causes of `error`, which came on the way through a proxy or straight.
    pub(super) fn from_reqwest(error: reqwest::Error, is_through_proxy: bool) -> Self {
        let is_timeout = error.is_timeout();
        let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
        while let Some(error) = cause {
            match Self::at(error) {
                Some(Self::Name(source)) if is_through_proxy => return Self::ProxyName(source),
                Some(found) => return found,
                None => cause = error.source(),
            }
        }
        if is_timeout {
            Self::TimedOut
        } else {
            Self::Other(error.without_url())
        }
    }

    /// The reason that one of several causes tells by itself.
    fn at(cause: &(dyn Error + 'static)) -> Option<Self> {
        // An error of input and output holds the one of TLS, and may be held by another such.
        let (mut inner, mut held_by) = (cause, None);
        while let Some(error) = inner.downcast_ref::<io::Error>() {
            held_by = Some(error);
            match error.get_ref() {
                Some(held) => inner = held,
                None => break,
            }
        }
        if let Some(error) = inner.downcast_ref::<UnresolvedName>() {
            return Some(Self::Name(again(&error.0)));
        }
        if let Some(error) = inner.downcast_ref::<rustls::Error>() {
            return Some(Self::from_tls(error));
        }
        let error = held_by?;
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Some(Self::Refused),
            io::ErrorKind::TimedOut => Some(Self::TimedOut),
            io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof => Some(Self::HungUp),
            io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
                Some(Self::NoRoute(again(error)))
            }
            _ => None,
        }
    }

    fn from_tls(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::InvalidCertificate(fault) => Self::Certificate(fault.clone()),
            rustls::Error::InvalidMessage(_) => Self::NotTls,
            other => Self::Tls(other.clone()),
        }
    }

    /// Returns a hint for the user if `registry` was to be reached through `proxy`.
    pub(super) fn hint(&self, registry: &str, proxy: Option<&str>) -> Option<String> {
        if let (Some(proxy), false) = (proxy, self.is_of_tls()) {
            return Some(format!(
                "check the network and the proxy {proxy} (HTTPS_PROXY, HTTP_PROXY, NO_PROXY, registries.toml)"
            ));
        }
        match self {
            Self::Name(_) | Self::ProxyName(_) => Some(
                "check the image's name, the network, and HTTPS_PROXY if there is a proxy"
                    .to_owned(),
            ),
            Self::Refused => Some(format!(
                "check that the registry is running and that the port in '{registry}' is right"
            )),
            Self::NoRoute(_) | Self::TimedOut | Self::Other(_) => {
                Some("check the network, and HTTPS_PROXY if there is a proxy".to_owned())
            }
            Self::HungUp | Self::NotTls => Some(format!(
                "use --plain-http if {registry} speaks HTTP without TLS"
            )),
            Self::Certificate(fault) => certificate_hint(fault),
            Self::Tls(_) => None,
        }
    }

    /// Returns true if the other side was reached, but the TLS handshake failed.
    const fn is_of_tls(&self) -> bool {
        matches!(self, Self::NotTls | Self::Certificate(_) | Self::Tls(_))
    }
}

/// The same error: those of input and output cannot be cloned.
fn again(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

fn certificate_fault(fault: &CertificateError) -> String {
    use CertificateError as Fault;
    match fault {
        Fault::UnknownIssuer => {
            "its certificate is from an authority that this host does not trust".to_owned()
        }
        Fault::Expired | Fault::ExpiredContext { .. } => "its certificate has expired".to_owned(),
        Fault::NotValidYet | Fault::NotValidYetContext { .. } => {
            "its certificate is not valid yet".to_owned()
        }
        Fault::NotValidForName | Fault::NotValidForNameContext { .. } => {
            "its certificate is for another name".to_owned()
        }
        other => format!("its certificate is not accepted: {other}"),
    }
}

fn certificate_hint(fault: &CertificateError) -> Option<String> {
    use CertificateError as Fault;
    match fault {
        Fault::UnknownIssuer => {
            Some("if you trust the authority, name its certificate with --tls-ca FILE".to_owned())
        }
        Fault::Expired
        | Fault::ExpiredContext { .. }
        | Fault::NotValidYet
        | Fault::NotValidYetContext { .. } => Some("check this host's clock".to_owned()),
        Fault::NotValidForName | Fault::NotValidForNameContext { .. } => {
            Some("use the name that the registry's certificate has".to_owned())
        }
        _ => None,
    }
}
