use msb_tls_edge::{EdgeEvent, HttpVerdict};
use serde::{Deserialize, Serialize};

/// An event of a connection whose TLS is ended, or could be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NetworkTls {
    /// The number of the flow.
    pub flow: u64,
    /// The event of the connection.
    #[serde(flatten)]
    pub event: EdgeEvent,
}

impl NetworkTls {
    /// Returns true if something was refused, to the guest or to its peer.
    pub(crate) fn is_refusal(&self) -> bool {
        match &self.event {
            EdgeEvent::Http(http) => http.verdict == HttpVerdict::Denied,
            EdgeEvent::UpstreamCertificate { .. } => true,
            event => is_alarm(event),
        }
    }
}

/// Returns true for an event that tells of a value: it is not to be lost among those that a guest can
/// cause in any number, such as connections to a host that has no certificate.
pub(crate) fn is_alarm(event: &EdgeEvent) -> bool {
    matches!(
        event,
        EdgeEvent::SecretReflected { .. } | EdgeEvent::SecretEncoded { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_proves_nothing_is_a_refusal() {
        let event = EdgeEvent::UpstreamCertificate {
            sni: "api.test".to_owned(),
            reason: "its certificate has expired".to_owned(),
        };
        assert!(NetworkTls { flow: 1, event }.is_refusal());
    }
}
