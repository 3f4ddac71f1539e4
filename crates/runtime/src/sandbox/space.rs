//! The space that a sandbox takes on the host's disk.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use durable_files::allocated_bytes;
use fs_err as fs;

use super::list::upper_allocated_bytes;
use super::{Sandbox, SeenFiles};

/// Greatest depth of a sandbox's directory that is read. A log of a job is at depth 3.
const DEPTH_MAX: usize = 6;

impl Sandbox {
    /// Returns the space that everything in the sandbox's directory takes on the host's disk, in bytes: the
    /// upper disk with its snapshots, and the logs of the main command, the machine and all jobs. This is
    /// the size of the written blocks, not of the disk.
    ///
    /// # Errors
    /// If the directory does not exist.
    pub fn allocated_bytes(&self) -> io::Result<u64> {
        self.unseen_bytes(&mut SeenFiles::new())
    }

    /// Returns the space that the sandbox takes as far as its files are not among `seen`, and adds them
    /// to it: forks share files.
    ///
    /// # Errors
    /// Fails as [`Sandbox::allocated_bytes`] does.
    pub fn unseen_bytes(&self, seen: &mut SeenFiles) -> io::Result<u64> {
        let mut bytes = 0;
        for entry in fs::read_dir(&self.files.directory)? {
            bytes += unseen_below(&entry?.path(), DEPTH_MAX, seen);
        }
        Ok(bytes)
    }

    /// Returns the space that the upper disk takes on the host's disk, with its snapshots, in bytes.
    ///
    /// # Errors
    /// If the upper disk does not exist.
    pub(crate) fn upper_bytes(&self) -> io::Result<u64> {
        upper_allocated_bytes(&self.files)
    }
}

/// Returns the space of a file, or of everything in a directory. A file may be removed meanwhile.
fn unseen_below(path: &Path, depth: usize, seen: &mut SeenFiles) -> u64 {
    let Ok(file) = fs::symlink_metadata(path) else {
        return 0;
    };
    let mut bytes = 0_u64;
    if seen.insert((file.dev(), file.ino())) {
        bytes = allocated_bytes(&file);
    }
    if file.is_dir()
        && depth > 0
        && let Ok(entries) = fs::read_dir(path)
    {
        for entry in entries.flatten() {
            bytes = bytes.saturating_add(unseen_below(&entry.path(), depth - 1, seen));
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Home, Spec};

    #[test]
    fn logs_of_commands_and_jobs_count_and_a_shared_file_counts_once() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let sandboxes = ["a", "b"].map(|name| Sandbox::for_tests(&home, Spec::for_tests(name)));
        let before = sandboxes[0].allocated_bytes().expect("there");
        let content = vec![1_u8; 1 << 20];
        for name in [
            "written/output.log",
            "written/output.log.1",
            "jobs/1/output.log",
        ] {
            let path = sandboxes[0].directory().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, &content).expect("written");
        }
        let after = sandboxes[0].allocated_bytes().expect("there");
        assert!(after >= before + (3 << 20), "{before} {after}");

        let shared = sandboxes[0].directory().join("written/output.log");
        let link = sandboxes[1].directory().join("shared");
        fs::hard_link(shared, link).expect("linked");
        let mut seen = SeenFiles::new();
        let first = sandboxes[0].unseen_bytes(&mut seen).expect("there");
        let second = sandboxes[1].unseen_bytes(&mut seen).expect("there");
        assert!(first >= 3 << 20 && second < 1 << 20, "{first} {second}");
        let missing = Sandbox::at(&home, Spec::for_tests("c"));
        assert!(missing.allocated_bytes().is_err());
    }

    #[test]
    fn a_directory_that_nests_without_end_is_read_to_a_depth() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = Sandbox::for_tests(&Home::new(root.path()), Spec::for_tests("a"));
        let deep = sandbox.directory().join("d/".repeat(50));
        fs::create_dir_all(&deep).expect("made");
        std::os::unix::fs::symlink("/", sandbox.directory().join("root")).expect("linked");
        fs::write(deep.join("file"), vec![1; 1 << 20]).expect("written");
        assert!(sandbox.allocated_bytes().expect("there") < 1 << 20);
    }
}
