use msb_tls_edge::EdgeEvent;
use serde::{Deserialize, Serialize};

/// The events that the log of a sandbox's network has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NetworkLogDetail {
    /// None. The counters are kept.
    Off,
    /// Connections, refusals, queries, and events of TLS.
    Flows,
    /// The same, and the requests of connections whose TLS is ended.
    #[default]
    Http,
}

impl NetworkLogDetail {
    /// Returns true for the default.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if the log has this event of TLS.
    pub(crate) const fn has_tls(self, event: &EdgeEvent) -> bool {
        match self {
            Self::Off => false,
            Self::Flows => !matches!(event, EdgeEvent::Http(_)),
            Self::Http => true,
        }
    }
}
