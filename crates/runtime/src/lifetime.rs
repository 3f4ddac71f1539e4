use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::Exit;

/// The limits after which a sandbox ends by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetime {
    /// Seconds from each start to the end; `None` for no limit.
    pub max_duration_s: Option<u64>,
    /// Seconds without a connected client or a running job before the end; `None` for no limit.
    pub idle_timeout_s: Option<u64>,
}

/// The condition under which an ended main command is restarted, in the same machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RestartPolicy {
    /// The command is never restarted.
    #[default]
    No,
    /// The command is restarted if it failed, at most `retries_max` times in a row.
    OnFailure {
        /// Maximum number of restarts in a row; `None` for no limit.
        retries_max: Option<NonZeroU32>,
    },
    /// The command is restarted until the sandbox is stopped.
    Always,
}

impl RestartPolicy {
    /// Returns true if a command that ended in this way, after so many restarts in a row, is
    /// restarted.
    pub fn restarts_after(self, exit: &Exit, retries: u32) -> bool {
        match self {
            Self::No => false,
            Self::Always => true,
            Self::OnFailure { retries_max } => {
                exit.code != 0 && retries_max.is_none_or(|max| retries < max.get())
            }
        }
    }
}
