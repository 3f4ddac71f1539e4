use std::io;

use super::{ChangeLock, Sandbox, Spec, record};

impl Sandbox {
    /// Returns the highest number that a snapshot of the sandbox was given; 0 if it has had none.
    ///
    /// # Errors
    /// If the description cannot be read.
    pub fn last_snapshot_number(&self, _change: &ChangeLock) -> io::Result<u64> {
        Ok(Spec::read(&self.files.directory)?.last_snapshot_number)
    }

    /// Records, durably, that a snapshot has this number, so that no later one gets it.
    ///
    /// # Errors
    /// If the description cannot be read or written.
    pub fn give_snapshot_number(&self, _change: &ChangeLock, number: u64) -> io::Result<()> {
        let mut spec = Spec::read(&self.files.directory)?;
        if spec.last_snapshot_number >= number {
            return Ok(());
        }
        spec.last_snapshot_number = number;
        record::write(&self.files, &spec)
    }
}
