use msb_agent_protocol::ULIMIT_NAMES;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The limit of one resource of a command (setrlimit(2)), in the resource's unit.
/// In JSON it is a number for both limits, or an object; `null` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a limit is a whole number, or an object with soft and hard"
)]
pub enum Ulimit {
    /// Both limits.
    Both(u64),
    /// The two limits; `None` is no limit.
    Pair {
        /// The limit until the command changes it.
        soft: Option<u64>,
        /// The highest value that the command may raise it to.
        hard: Option<u64>,
    },
}

impl Ulimit {
    /// Returns the limit with a name, as the guest's agent reads it.
    pub fn named(self, name: &str) -> Result<msb_runtime::Ulimit, Error> {
        if !ULIMIT_NAMES.contains(&name) {
            let names = ULIMIT_NAMES.join(", ");
            let message = format!("no ulimit is called '{}': {names}", crate::printable(name));
            return Err(Error::invalid(message));
        }
        let (soft, hard) = match self {
            Self::Both(limit) => (Some(limit), Some(limit)),
            Self::Pair { soft, hard } => (soft, hard),
        };
        if soft.unwrap_or(u64::MAX) > hard.unwrap_or(u64::MAX) {
            let message = format!("ulimit {name}: the soft limit is above the hard one");
            return Err(Error::invalid(message));
        }
        Ok(msb_runtime::Ulimit {
            name: name.to_owned(),
            soft,
            hard,
        })
    }
}

impl From<u64> for Ulimit {
    fn from(limit: u64) -> Self {
        Self::Both(limit)
    }
}
