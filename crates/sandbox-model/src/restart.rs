use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// The condition under which an ended main command is started again, in the same machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// The command is never started again.
    #[default]
    No,
    /// The command is started again if it failed, at most `retries_max` times in a row.
    OnFailure {
        /// Maximum number of starts in a row; `None` for no limit.
        #[serde(default)]
        retries_max: Option<NonZeroU32>,
    },
    /// The command is started again until the sandbox is stopped.
    Always,
}

impl Restart {
    /// Returns true if a command that ended with this exit code, after `retries` starts in a row, is started
    /// again.
    pub fn restarts_after(self, exit_code: u8, retries: u32) -> bool {
        match self {
            Self::No => false,
            Self::Always => true,
            Self::OnFailure { retries_max } => {
                exit_code != 0 && retries_max.is_none_or(|max| retries < max.get())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_failed_is_started_again_as_often_as_allowed() {
        assert!(Restart::Always.restarts_after(0, 9) && !Restart::No.restarts_after(1, 0));
        let twice = Restart::OnFailure {
            retries_max: NonZeroU32::new(2),
        };
        assert!(twice.restarts_after(1, 1) && !twice.restarts_after(1, 2));
        assert!(!twice.restarts_after(0, 0));
        let without_limit = Restart::OnFailure { retries_max: None };
        assert!(without_limit.restarts_after(1, u32::MAX));
    }

    #[test]
    fn the_limit_may_be_left_out_and_is_at_least_one() {
        let read = |json: &str| serde_json::from_str::<Restart>(json).ok();
        let without_limit = Restart::OnFailure { retries_max: None };
        assert_eq!(read(r#"{"on-failure": {}}"#), Some(without_limit));
        assert_eq!(read(r#""no""#), Some(Restart::No));
        assert_eq!(read(r#"{"on-failure": {"retries_max": 0}}"#), None);
    }
}
