//! The files that a sandbox began with: a copy of its upper disk as it was before the first boot.

use std::io;
use std::path::Path;

use fs_err as fs;

use super::SandboxPaths;
use crate::Sandbox;
use crate::disk_copy::clone_or_copy;

/// The files that a sandbox began with.
#[derive(Debug)]
pub enum Base {
    /// The files of the image.
    Image,
    /// The files on a copy of the upper disk, which shows them over the image.
    Disk(fs::File),
    /// The files are not on this host: the sandbox was imported.
    Missing,
}

impl Sandbox {
    /// Returns the files that the sandbox began with.
    ///
    /// # Errors
    /// If they cannot be opened.
    pub fn base(&self) -> io::Result<Base> {
        match fs::File::open(self.files.base()) {
            Ok(file) if file.metadata()?.len() == 0 => Ok(Base::Missing),
            Ok(file) => Ok(Base::Disk(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Base::Image),
            Err(error) => Err(error),
        }
    }
}

/// Keeps the upper disk of a new sandbox, which is the file `upper`, as that which it began with.
pub(super) fn keep(files: &SandboxPaths, upper: &Path, is_durable: bool) -> io::Result<()> {
    let upper = fs::File::open(upper)?;
    let base = durable_files::create_new(&files.base())?;
    clone_or_copy(upper.file(), base.file())?;
    if is_durable { base.sync_all() } else { Ok(()) }
}

/// Gives a new sandbox what another one began with, under a second name. `from` is the path of the other's;
/// nothing happens if it does not exist.
///
/// # Errors
/// If the second name cannot be made.
pub fn share(from: &Path, files: &SandboxPaths) -> io::Result<()> {
    match fs::hard_link(from, files.base()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        linked => linked,
    }
}

/// Notes that what a new sandbox began with is not on this host.
///
/// # Errors
/// If the note cannot be written.
pub fn note_missing(files: &SandboxPaths) -> io::Result<()> {
    durable_files::create_new(&files.base())?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Home, Spec};

    fn sandbox(home: &Home, name: &str) -> Sandbox {
        let sandbox = Sandbox::for_tests(home, Spec::for_tests(name));
        fs::write(sandbox.files.upper(), "disk").expect("written");
        sandbox
    }

    #[test]
    fn what_a_sandbox_began_with_stays_when_its_disk_changes() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = sandbox(&Home::new(root.path()), "a");
        assert!(matches!(sandbox.base().expect("read"), Base::Image));
        keep(&sandbox.files, &sandbox.files.upper(), true).expect("kept");
        fs::write(sandbox.files.upper(), "changed").expect("written");
        let kept = fs::read(sandbox.files.base()).expect("read");
        assert_eq!(kept, b"disk");
        assert!(matches!(sandbox.base().expect("read"), Base::Disk(_)));
        let allocated_bytes = sandbox.allocated_bytes().expect("read");
        fs::remove_file(sandbox.files.base()).expect("removed");
        assert!(sandbox.allocated_bytes().expect("read") < allocated_bytes);
    }

    #[test]
    fn a_fork_has_what_its_source_began_with() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let (source, fork) = (sandbox(&home, "a"), sandbox(&home, "b"));
        share(&source.files.base(), &fork.files).expect("nothing to share");
        assert!(matches!(fork.base().expect("read"), Base::Image));
        keep(&source.files, &source.files.upper(), true).expect("kept");
        share(&source.files.base(), &fork.files).expect("shared");
        fs::remove_dir_all(&source.files.directory).expect("removed");
        assert!(matches!(fork.base().expect("read"), Base::Disk(_)));
        fs::remove_file(fork.files.base()).expect("removed");
        note_missing(&fork.files).expect("noted");
        assert!(matches!(fork.base().expect("read"), Base::Missing));
    }
}
