use serde::{Deserialize, Serialize};

/// A fact that the user may want to change, such as missing hardware virtualisation.
/// An operation that returns notices has succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Notice {
    /// The stable code of the notice, in kebab case: `emulation`, `host-directory`, `jail-off`,
    /// `platform`, `stop-signal`, `home-closed`, `image-pruned`, `store-limit`, `killed`, `port`,
    /// `load-skipped`, `credentials`, `staged-hidden`, `staged-left-out`, `staged-repository`, `staged-large`,
    /// `staged-linked`, `staged-unmatched-rule`, `rollback-unrecorded`, `secret`.
    pub code: String,
    /// A clause without a full stop.
    pub message: String,
}

impl Notice {
    /// Returns a notice with a code, in kebab case, and a message.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
        }
    }
}
