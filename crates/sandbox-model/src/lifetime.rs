use serde::{Deserialize, Serialize};

/// The limits after which the host ends a sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Lifetime {
    /// The longest time that the sandbox runs, in seconds; `None` for no limit.
    pub max_duration_s: Option<u64>,
    /// The longest time without a client and without a job, in seconds; `None` for no limit.
    pub idle_timeout_s: Option<u64>,
}
