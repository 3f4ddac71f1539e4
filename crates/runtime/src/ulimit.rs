use std::str::FromStr;

use msb_agent_protocol::{ULIMIT_NAMES, v1};
use serde::{Deserialize, Serialize};

/// A limit of a command and its descendants (setrlimit(2)). A value of `None` means no limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ulimit {
    /// The resource, one of [`ULIMIT_NAMES`].
    pub name: String,
    /// The limit until the command changes it, in the resource's unit: bytes, files, seconds.
    pub soft: Option<u64>,
    /// The highest value that the command may raise it to.
    pub hard: Option<u64>,
}

/// The text is not a [`Ulimit`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UlimitError {
    /// The text is not `NAME=SOFT[:HARD]`.
    #[error(
        "'{text}' is not a ulimit: write NAME=SOFT[:HARD], where a limit is a number, -1 or \
         unlimited"
    )]
    Form {
        /// The text that was refused.
        text: String,
    },
    /// No resource has this name.
    #[error("'{name}' is not the name of a ulimit: write one of {}", ULIMIT_NAMES.join(", "))]
    Name {
        /// The name that is unknown.
        name: String,
    },
    /// The soft limit exceeds the hard one, so the kernel would refuse it.
    #[error("ulimit {name}: the soft limit is above the hard limit")]
    Order {
        /// The resource of the limit.
        name: String,
    },
}

impl FromStr for Ulimit {
    type Err = UlimitError;

    fn from_str(text: &str) -> Result<Self, UlimitError> {
        let form = || UlimitError::Form {
            text: text.to_owned(),
        };
        let (name, limits) = text.split_once('=').ok_or_else(form)?;
        if !ULIMIT_NAMES.contains(&name) {
            return Err(UlimitError::Name {
                name: name.to_owned(),
            });
        }
        let (soft, hard) = limits.split_once(':').unwrap_or((limits, limits));
        let ulimit = Self {
            name: name.to_owned(),
            soft: limit(soft).ok_or_else(form)?,
            hard: limit(hard).ok_or_else(form)?,
        };
        let ceiling = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
        if ceiling(ulimit.soft) > ceiling(ulimit.hard) {
            return Err(UlimitError::Order { name: ulimit.name });
        }
        Ok(ulimit)
    }
}

impl From<&Ulimit> for v1::Ulimit {
    fn from(ulimit: &Ulimit) -> Self {
        Self {
            name: ulimit.name.clone(),
            soft: ulimit.soft,
            hard: ulimit.hard,
        }
    }
}

fn limit(text: &str) -> Option<Option<u64>> {
    match text {
        "-1" | "unlimited" => Some(None),
        // The kernel's own value for no limit is not accepted as a number.
        _ => text
            .parse()
            .ok()
            .filter(|&limit| limit < u64::MAX)
            .map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Option<u64>, Option<u64>), UlimitError> {
        text.parse::<Ulimit>()
            .map(|ulimit| (ulimit.soft, ulimit.hard))
    }

    #[test]
    fn ulimits_are_read_as_docker_reads_them() {
        assert_eq!(read("nofile=1024"), Ok((Some(1024), Some(1024))));
        assert_eq!(read("nofile=1024:2048"), Ok((Some(1024), Some(2048))));
        assert_eq!(read("core=0:-1"), Ok((Some(0), None)));
        assert_eq!(read("memlock=unlimited"), Ok((None, None)));
    }

    #[test]
    fn others_are_refused() {
        for text in [
            "",
            "nofile",
            "nofile=",
            "nofile=x",
            "nofile=1:",
            "core=1:2:3",
        ] {
            assert!(
                matches!(read(text), Err(UlimitError::Form { .. })),
                "{text}"
            );
        }
        assert!(matches!(read("files=1"), Err(UlimitError::Name { .. })));
        for text in ["nofile=2:1", "core=-1:0"] {
            assert!(
                matches!(read(text), Err(UlimitError::Order { .. })),
                "{text}"
            );
        }
    }
}
