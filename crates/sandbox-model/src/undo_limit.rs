use serde::{Deserialize, Serialize};

/// The number of commands whose snapshots are kept, from 1 to 400; by default 50.
// A disk has at most 500 generations, and each snapshot may need one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct UndoLimit(u32);

/// The number is not a valid number of commands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{count} is not a number of commands to keep snapshots of: write 1 to {}",
    UndoLimit::MAX
)]
pub struct InvalidUndoLimit {
    /// The refused number.
    pub count: u32,
}

impl UndoLimit {
    /// The largest number.
    pub const MAX: u32 = 400;

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl Default for UndoLimit {
    fn default() -> Self {
        Self(50)
    }
}

impl TryFrom<u32> for UndoLimit {
    type Error = InvalidUndoLimit;

    fn try_from(count: u32) -> Result<Self, InvalidUndoLimit> {
        if (1..=Self::MAX).contains(&count) {
            Ok(Self(count))
        } else {
            Err(InvalidUndoLimit { count })
        }
    }
}

impl From<UndoLimit> for u32 {
    fn from(limit: UndoLimit) -> Self {
        limit.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_one_command_at_least() {
        for count in [0, 401] {
            UndoLimit::try_from(count).expect_err("refused");
            serde_json::from_str::<UndoLimit>(&count.to_string()).expect_err("refused");
        }
        assert_eq!(UndoLimit::try_from(400).map(UndoLimit::get), Ok(400));
        assert_eq!(UndoLimit::default().get(), 50);
    }
}
