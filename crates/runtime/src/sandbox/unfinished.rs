use std::path::Path;

use fs_err as fs;

use super::{ChangeLock, Lock, Sandbox};

impl Sandbox {
    /// Removes the files in the sandbox's directory, and among the records of its snapshots, that a
    /// killed process left unfinished. Whoever writes there holds the sandbox's lock, alone or to read
    /// its disks, or the right to change its description; so the caller holds both.
    pub(super) fn remove_unfinished(&self, _lock: &Lock) {
        remove_unfinished_in(&self.files.directory);
        remove_unfinished_in(&self.files.snapshots());
    }

    /// Removes the records of snapshots that a killed process left unfinished. Whoever writes one has the
    /// right to change the sandbox's description, which the caller has now.
    pub fn remove_unfinished_records(&self, _change: &ChangeLock) {
        remove_unfinished_in(&self.files.snapshots());
    }
}

fn remove_unfinished_in(directory: &Path) {
    // A sandbox without snapshots has no directory of them.
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name
            .as_encoded_bytes()
            .starts_with(durable_files::UNFINISHED.as_bytes())
        {
            // One that cannot be removed goes with the sandbox.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Home, Spec};

    #[test]
    fn a_claim_removes_what_a_killed_process_left() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = Sandbox::for_tests(&Home::new(root.path()), Spec::for_tests("a"));
        let left = sandbox.files.directory.join(".new-disk");
        let record = sandbox.files.snapshots().join(".new-record");
        fs::create_dir(sandbox.files.snapshots()).expect("made");
        fs::write(&record, "half a record").expect("written");
        let reading = sandbox.read_lock().expect("looked").expect("free");
        fs::write(&left, "half a disk").expect("written");
        assert!(sandbox.claim().expect("looked").is_none());
        assert!(left.exists(), "a process may be writing it");
        drop(reading);
        assert!(sandbox.claim().expect("looked").is_some());
        assert!(!left.exists() && !record.exists());
    }
}
