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
            event => is_alarm(event),
        }
    }
}

/// Returns true for an event that the guest alone cannot cause: one that is not to be lost among
/// those that it can.
pub(crate) fn is_alarm(event: &EdgeEvent) -> bool {
    matches!(
        event,
        EdgeEvent::SecretReflected { .. }
            | EdgeEvent::SecretEncoded { .. }
            | EdgeEvent::UpstreamCertificate { .. }
    )
}
