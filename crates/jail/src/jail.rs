use std::path::PathBuf;

use crate::{JailError, Report, Strictness, sys};

/// What may be done with a file, or with everything below a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read it; list it, where it is a directory.
    Read,
    /// Read it and run it.
    Execute,
    /// Read it, write it, cut it.
    Write,
    /// Read it, write it, give it commands.
    Device,
    /// A directory: make files and directories in it, read, write, rename and remove them.
    Keep,
    /// A directory that is another's too: whatever files allow but to run them, and to make devices.
    Share,
}

/// Which system calls are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// Those that msb's own threads were measured to make, and no others.
    Attendant,
    /// Those that the process of a network was measured to make, and no others: of sockets, those of IPv4
    /// and IPv6, which it may connect and not listen on. It has one thread, and starts no other.
    Network,
    /// All but those that a VMM has no use for: no programs, no sockets, no other processes' memory,
    /// no mounts, namespaces, keys, modules and the like.
    Vmm,
    /// As [`Calls::Vmm`], and owners, modes, times and xattrs of files may be changed. Landlock does not
    /// bound where.
    Share,
    /// As [`Calls::Vmm`], and programs may be started: for the time until the VMM is.
    Starter,
}

/// What is left to a thread, and to the threads and programs that it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jail {
    pub(crate) files: Vec<(PathBuf, Access)>,
    pub(crate) calls: Calls,
    pub(crate) has_signals: bool,
}

impl Jail {
    /// One with no files at all.
    pub const fn new(calls: Calls) -> Self {
        Self {
            files: Vec::new(),
            calls,
            has_signals: false,
        }
    }

    /// Leaves a file, or everything below a directory. It has to be there when the jail is put on,
    /// and follows symlinks then.
    #[must_use]
    pub fn with(mut self, path: impl Into<PathBuf>, access: Access) -> Self {
        self.files.push((path.into(), access));
        self
    }

    /// The same for what not every host has.
    #[must_use]
    pub fn with_any(self, paths: impl IntoIterator<Item: Into<PathBuf>>, access: Access) -> Self {
        let there = paths.into_iter().map(Into::into);
        there
            .filter(|path: &PathBuf| path.exists())
            .fold(self, |jail, path| jail.with(path, access))
    }

    /// Leaves signals to processes outside of this jail, as far as there are calls for it. The signal
    /// by which a process dies with its parent is one of the parent's: without this, a jail that the
    /// parent puts on later keeps it in.
    #[must_use]
    pub const fn with_signals(mut self) -> Self {
        self.has_signals = true;
        self
    }

    /// The system calls that are left.
    pub const fn calls(&self) -> Calls {
        self.calls
    }

    /// The files that are left, in the order in which they were named.
    pub fn files(&self) -> impl Iterator<Item = (&std::path::Path, Access)> {
        self.files
            .iter()
            .map(|(path, access)| (path.as_path(), *access))
    }

    /// Puts it on the calling thread, for good.
    ///
    /// # Errors
    /// A file that is not there, a layer that the kernel has and refuses, and with
    /// [`Strictness::Required`] a layer that it lacks.
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

/// With [`Strictness::Required`], every layer must be on.
pub(crate) fn require(report: &Report, strictness: Strictness) -> Result<(), JailError> {
    match report.lacking().next() {
        Some(layer) if strictness == Strictness::Required => Err(JailError::Lacking {
            layer: layer.clone(),
        }),
        _ => Ok(()),
    }
}
