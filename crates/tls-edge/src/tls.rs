//! The two TLS handshakes of an ended connection: with the host first, then with the guest.
//!
//! Neither resumes a session or takes data before its end: each connection proves the host's name anew.

use std::io;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::NoServerSessionStorage;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{AlertDescription, CertificateError, ClientConfig, InvalidMessage, ServerConfig};

use crate::roots::Roots;

/// Returns the configuration of a handshake with a host, which is verified with these roots.
///
/// # Errors
///
/// Fails if rustls has no usable version of TLS.
pub(crate) fn host_config(roots: &Roots) -> Result<Arc<ClientConfig>, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots.store())
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

/// Returns the configuration of a handshake with the guest: one certificate, and the protocols to choose from.
///
/// # Errors
///
/// Fails if rustls has no usable version of TLS.
pub(crate) fn guest_config(
    provider: &Arc<CryptoProvider>,
    leaf: Arc<CertifiedKey>,
    protocols: Vec<Vec<u8>>,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(leaf)));
    config.alpn_protocols = protocols;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// Returns the reason why a handshake with a host failed, for people.
pub(crate) fn reason_of(error: &io::Error) -> String {
    let Some(cause) = cause(error) else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                "it closed the connection during the handshake".to_owned()
            }
            io::ErrorKind::TimedOut => "the handshake took too long".to_owned(),
            _ => error.to_string(),
        };
    };
    let problem = match cause {
        rustls::Error::InvalidCertificate(problem) => problem,
        // No other message of a handshake is as long.
        rustls::Error::InvalidMessage(
            InvalidMessage::HandshakePayloadTooLarge | InvalidMessage::CertificatePayloadTooLarge,
        ) => return "its certificates are too large".to_owned(),
        _ => return cause.to_string(),
    };
    match problem {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another name".to_owned()
        }
        CertificateError::UnknownIssuer => {
            "its certificate is not signed by an authority that this host trusts".to_owned()
        }
        other => format!("its certificate is not valid: {other}"),
    }
}

/// The end of a handshake that the guest did not complete.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum GuestEnd {
    /// The guest refused, with this alert or by closing the connection.
    Refused(Option<String>),
    /// Something else went wrong.
    Other,
}

/// Returns the part of the guest in the failure of a handshake with it.
pub(crate) fn guest_end(error: &io::Error) -> GuestEnd {
    match cause(error) {
        Some(rustls::Error::AlertReceived(alert)) => GuestEnd::Refused(Some(name_of(*alert))),
        Some(_) => GuestEnd::Other,
        None if error.kind() == io::ErrorKind::TimedOut => GuestEnd::Other,
        None => GuestEnd::Refused(None),
    }
}

fn cause(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// Returns an alert as RFC 8446 names it, or its number.
fn name_of(alert: AlertDescription) -> String {
    let name = match alert {
        AlertDescription::HandshakeFailure => "handshake_failure",
        AlertDescription::BadCertificate => "bad_certificate",
        AlertDescription::UnsupportedCertificate => "unsupported_certificate",
        AlertDescription::CertificateRevoked => "certificate_revoked",
        AlertDescription::CertificateExpired => "certificate_expired",
        AlertDescription::CertificateUnknown => "certificate_unknown",
        AlertDescription::IllegalParameter => "illegal_parameter",
        AlertDescription::UnknownCA => "unknown_ca",
        AlertDescription::AccessDenied => "access_denied",
        AlertDescription::DecodeError => "decode_error",
        AlertDescription::DecryptError => "decrypt_error",
        AlertDescription::ProtocolVersion => "protocol_version",
        AlertDescription::InternalError => "internal_error",
        AlertDescription::UserCanceled => "user_canceled",
        other => return format!("alert {}", u8::from(other)),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests;
