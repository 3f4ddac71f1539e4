use msb_runtime::{Lock, ReadLock, Sandbox};

use super::error::DiscardError;
use crate::HostChanges;

/// A stopped sandbox that no other process starts, changes or removes while this value lives.
#[derive(Debug)]
pub struct ClaimedSandbox {
    pub(super) sandbox: Sandbox,
    _lock: Lock,
}

impl ClaimedSandbox {
    /// Claims the stopped sandbox whose changes these are: no other process starts or changes it before they are
    /// taken back from it.
    ///
    /// # Errors
    /// If the sandbox runs or is gone, or another process reads it, too.
    pub fn of_changes(changes: &HostChanges, sandbox: &Sandbox) -> Result<Self, DiscardError> {
        match changes.compared().new.disks().read_lock() {
            Some(reading) => Self::from_reader(sandbox, reading),
            None => Self::new(sandbox),
        }
    }

    /// Claims a stopped sandbox.
    pub(super) fn new(sandbox: &Sandbox) -> Result<Self, DiscardError> {
        let claimed = sandbox.claim().map_err(|source| DiscardError::Write {
            name: sandbox.spec.name.clone(),
            source,
        })?;
        let (sandbox, lock) = claimed.ok_or_else(|| DiscardError::Running {
            name: sandbox.spec.name.clone(),
        })?;
        Ok(Self {
            sandbox,
            _lock: lock,
        })
    }

    /// Claims a stopped sandbox in exchange for the right to read its disks, with no other process in between.
    fn from_reader(sandbox: &Sandbox, reading: &ReadLock) -> Result<Self, DiscardError> {
        let claimed = sandbox.claim_from(reading);
        let claimed = claimed.map_err(|source| DiscardError::Write {
            name: sandbox.spec.name.clone(),
            source,
        })?;
        let (sandbox, lock) = claimed.ok_or_else(|| DiscardError::InUse {
            name: sandbox.spec.name.clone(),
        })?;
        Ok(Self {
            sandbox,
            _lock: lock,
        })
    }
}

#[cfg(test)]
mod tests {
    use msb_runtime::Home;

    use super::*;
    use testkit::sandboxes::{self, spec};

    #[test]
    fn a_sandbox_that_is_read_elsewhere_is_not_claimed_and_the_error_says_so() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = sandboxes::sandbox(&Home::new(root.path()), spec("a"));
        let reading = || sandbox.read_lock().expect("looked").expect("free");
        let (one, other) = (reading(), reading());
        let refused = ClaimedSandbox::from_reader(&sandbox, &one).expect_err("it is read");
        assert!(matches!(refused, DiscardError::InUse { .. }), "{refused}");
        drop((one, other));
        let one = reading();
        let claimed = ClaimedSandbox::from_reader(&sandbox, &one).expect("claimed");
        drop(one);
        let refused = ClaimedSandbox::new(&sandbox).expect_err("it is claimed");
        assert!(matches!(refused, DiscardError::Running { .. }), "{refused}");
        drop(claimed);
        ClaimedSandbox::new(&sandbox).expect("free");
    }
}
