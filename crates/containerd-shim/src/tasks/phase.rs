//! The states of a process.

use containerd_protocol::Timestamp;
use containerd_protocol::task::TaskStatus;

/// The end of a process, and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    /// The exit code, or 128 and the signal that killed the process.
    pub(crate) status: u32,
    pub(crate) at: Timestamp,
}

/// The state of a process. It only goes forward: created, running, ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Created,
    Running,
    Ended(End),
}

impl Phase {
    /// Returns the end; `None` if the process has not ended.
    pub(crate) fn end(self) -> Option<End> {
        match self {
            Self::Created | Self::Running => None,
            Self::Ended(end) => Some(end),
        }
    }

    pub(crate) fn status(self) -> TaskStatus {
        match self {
            Self::Created => TaskStatus::Created,
            Self::Running => TaskStatus::Running,
            Self::Ended(_) => TaskStatus::Stopped,
        }
    }

    /// Begins a created process. Returns true if that changed the state.
    pub(crate) fn begin(&mut self) -> bool {
        let is_created = *self == Self::Created;
        if is_created {
            *self = Self::Running;
        }
        is_created
    }

    /// Ends a process that has not ended. Returns true if that changed the state.
    pub(crate) fn finish(&mut self, end: End) -> bool {
        let is_first = self.end().is_none();
        if is_first {
            *self = Self::Ended(end);
        }
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_begins_once_and_ends_once() {
        let end = |status| End {
            status,
            at: Timestamp::default(),
        };
        let mut phase = Phase::Created;
        assert!(phase.begin() && !phase.begin());
        assert!(phase.finish(end(3)) && !phase.finish(end(4)));
        assert_eq!(phase, Phase::Ended(end(3)));
        assert!(!phase.begin());
        let mut never_begun = Phase::Created;
        assert!(never_begun.finish(end(137)));
        assert_eq!(never_begun.status(), TaskStatus::Stopped);
    }
}
