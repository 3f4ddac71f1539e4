use std::path::PathBuf;

use crate::{JailError, Report, Strictness, sys};

/// The rights to a file, or to everything below a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read a file; list a directory.
    Read,
    /// Read and execute.
    Execute,
    /// Read, write and truncate.
    Write,
    /// Read, write and issue ioctls.
    Device,
    /// A directory: create files and directories in it, read, write, rename and remove them.
    Keep,
    /// A directory that the guest also changes: everything with files except to execute them and to
    /// create device nodes.
    Share,
    /// A directory: connect to the Unix sockets in it. Kernels whose Landlock has not version 9 do not restrict this.
    Connect,
}

/// The system calls that a jail allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// Only the calls that msb's own threads were measured to make.
    Supervisor,
    /// Only the calls that the network process was measured to make. It may create IPv4 and IPv6
    /// sockets and connect them, and may not bind or listen. It cannot start threads.
    Network,
    /// Only the calls that the process of forwarded sockets makes. It may create Unix sockets and connect them, and may
    /// not open files, bind or listen. It cannot start threads.
    Sockets,
    /// All calls but those that a VMM does not need: starting programs, sockets, the memory of
    /// other processes, mounts, namespaces, keys, modules and similar ones.
    Vmm,
    /// As [`Calls::Vmm`], and also the calls that change owners, modes, times and xattrs of files.
    /// Landlock does not restrict the files that they apply to.
    Share,
    /// As [`Calls::Vmm`], and also the calls that start programs: for the time until the VMM runs.
    Starter,
}

/// The rights that a thread keeps, with the threads and programs that it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jail {
    pub(crate) files: Vec<(PathBuf, Access)>,
    pub(crate) calls: Calls,
    pub(crate) has_signals: bool,
}

impl Jail {
    /// Returns a jail that allows no files.
    pub const fn new(calls: Calls) -> Self {
        Self {
            files: Vec::new(),
            calls,
            has_signals: false,
        }
    }

    /// Allows a file, or everything below a directory. The path must exist when the jail is put on,
    /// and symlinks in it are followed then.
    #[must_use]
    pub fn with(mut self, path: impl Into<PathBuf>, access: Access) -> Self {
        self.files.push((path.into(), access));
        self
    }

    /// Allows those of `paths` that exist on this host.
    #[must_use]
    pub fn with_any(self, paths: impl IntoIterator<Item: Into<PathBuf>>, access: Access) -> Self {
        let there = paths.into_iter().map(Into::into);
        there
            .filter(|path: &PathBuf| path.exists())
            .fold(self, |jail, path| jail.with(path, access))
    }

    /// Allows signals to processes outside of this jail, if the calls allow them.
    ///
    /// The signal that kills a process together with its parent counts as a signal of the parent.
    /// Without this right, a jail that the parent puts on later blocks that signal.
    #[must_use]
    pub const fn with_signals(mut self) -> Self {
        self.has_signals = true;
        self
    }

    /// Returns the system calls that are allowed.
    pub const fn calls(&self) -> Calls {
        self.calls
    }

    /// Returns the allowed files and their rights, in the order in which they were added.
    pub fn files(&self) -> impl Iterator<Item = (&std::path::Path, Access)> {
        self.files
            .iter()
            .map(|(path, access)| (path.as_path(), *access))
    }

    /// Confines the calling thread, irrevocably.
    ///
    /// # Errors
    /// A file that does not exist, a layer that the kernel has and refuses, or, with
    /// [`Strictness::Required`], a layer that the kernel lacks.
    pub fn put_on(&self, strictness: Strictness) -> Result<Report, JailError> {
        if strictness == Strictness::Off {
            return Ok(Report::default());
        }
        let mut report = Report::default();
        report.add("landlock", sys::restrict_files(self)?);
        report.add("seccomp", sys::restrict_calls(self.calls)?);
        require(&report, strictness)?;
        Ok(report)
    }
}

/// Fails if a layer is not completely on and `strictness` is [`Strictness::Required`].
pub(crate) fn require(report: &Report, strictness: Strictness) -> Result<(), JailError> {
    match report.lacking().next() {
        Some(layer) if strictness == Strictness::Required => Err(JailError::Lacking {
            layer: layer.clone(),
        }),
        _ => Ok(()),
    }
}
