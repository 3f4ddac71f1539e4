//! The steps that put new files in their places: done by the process that wrote these files, or by a later one that
//! reads their record.

mod attributes;
mod directory;
mod exchange;
mod link;
mod place;

use std::collections::{BTreeMap, BTreeSet};

use rustix::fd::OwnedFd;
use rustix::fs::{Access, AtFlags, Stat, accessat, statat, unlinkat};
use rustix::io::Errno;

use super::ApplyError;
use super::error::LeftFile;
use super::host_directory::{HostDirectory, split};
use super::host_file::HostState;
use super::pending::{NewAttributes, PendingAction, PendingStep};
use super::record::Record;
use super::syncing::Syncing;
use super::unfinished::UnfinishedFiles;

/// The steps that are left to be done in a directory.
pub(crate) struct Finisher<'a> {
    directory: &'a HostDirectory,
    keep_owner: bool,
    steps: &'a [PendingStep],
    /// The new files that have no place yet; none of a process that was killed, whose record has them.
    unfinished: UnfinishedFiles<'a>,
    syncing: Syncing,
    /// The directories that get attributes when everything is in them. True for a new one, which gets its time too.
    directories: BTreeMap<&'a [u8], (&'a NewAttributes, bool)>,
    /// The directories whose names changed.
    touched: BTreeSet<Vec<u8>>,
    left: Vec<LeftFile>,
    /// True if another process did a part of the steps.
    is_resumed: bool,
    /// True if new files are missing, so that nothing may be removed: a moved file would be gone.
    keeps_removed: bool,
}

/// The end of a step.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Done,
    /// The host changed the file, which is left. The name is that of an earlier edit, which is kept beside it.
    Left(Option<Vec<u8>>),
}

/// The file of the host at the path of a step.
enum Now {
    Missing,
    /// The file that the step was planned for.
    Planned(Stat),
    Other,
}

impl<'a> Finisher<'a> {
    /// Returns the steps of this process, whose new files are `unfinished`.
    pub(crate) fn new(
        directory: &'a HostDirectory,
        record: &'a Record,
        unfinished: UnfinishedFiles<'a>,
        syncing: Syncing,
    ) -> Self {
        Self {
            directory,
            keep_owner: record.keep_owner,
            steps: &record.steps,
            unfinished,
            syncing,
            directories: BTreeMap::new(),
            touched: BTreeSet::new(),
            left: Vec::new(),
            is_resumed: false,
            keeps_removed: false,
        }
    }

    /// Returns the steps of a process that was killed.
    pub(crate) fn resume(
        directory: &'a HostDirectory,
        record: &'a Record,
    ) -> Result<Self, ApplyError> {
        let unfinished = UnfinishedFiles::new(directory);
        let syncing = Syncing::of(record.steps.len());
        let mut resumed = Self::new(directory, record, unfinished, syncing);
        resumed.is_resumed = true;
        for step in &record.steps {
            if let PendingAction::Place(place) = &step.action
                && resumed.is_lost(&step.path, place)?
            {
                resumed.keeps_removed = true;
                break;
            }
        }
        Ok(resumed)
    }

    /// Does all steps.
    pub(crate) fn run(&mut self) -> Result<(), ApplyError> {
        let steps = self.steps;
        for step in steps {
            self.step(step)?;
        }
        self.finish()
    }

    /// Leaves the new files that have no place yet to the record, which has them.
    pub(crate) fn leave_new_files(&mut self) {
        self.unfinished.forget_all();
    }

    /// Returns the files that were left because the host changed them.
    pub(crate) fn into_left(self) -> Vec<LeftFile> {
        self.left
    }

    /// Does one step.
    pub(crate) fn step(&mut self, step: &'a PendingStep) -> Result<(), ApplyError> {
        let path = &step.path[..];
        let ended = match &step.action {
            PendingAction::Remove(host) => self.remove(path, host.as_ref()),
            PendingAction::MakeDirectory(attributes) => self.make_directory(path, attributes),
            PendingAction::SetDirectory(attributes) => {
                self.directories.insert(path, (attributes, false));
                Ok(Ended::Done)
            }
            PendingAction::SetAttributes { host, attributes } => {
                self.change_attributes(path, host.as_ref(), attributes)
            }
            PendingAction::Place(place) => self.place(path, place),
            PendingAction::Link(link) => self.link(path, link),
        }?;
        if let Ended::Left(kept) = ended {
            let kept = kept.map(|name| self.directory.path_of(&beside(path, &name)));
            self.left.push(LeftFile {
                path: self.directory.path_of(path),
                kept,
            });
        }
        Ok(())
    }

    fn remove(&mut self, path: &[u8], host: Option<&HostState>) -> Result<Ended, ApplyError> {
        if self.keeps_removed {
            return Ok(Ended::Left(None));
        }
        // Without its directory, a file is gone already.
        let Some(parent) = self.parent(path)? else {
            return Ok(Ended::Done);
        };
        let mut flags = AtFlags::empty();
        if host.is_some() {
            match self.now(&parent, path, host)? {
                Now::Missing => return Ok(Ended::Done),
                Now::Other => return Ok(Ended::Left(None)),
                Now::Planned(_) => {}
            }
        } else {
            flags = AtFlags::REMOVEDIR;
        }
        match unlinkat(&parent, split(path).1, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(Ended::Done),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::ISDIR) => {
                Ok(Ended::Left(None))
            }
            Err(error) => Err(self.directory.failed("remove", path)(error)),
        }
    }

    /// Opens the directory that a file is in. `None` if the host has another file there, or none, and if the process
    /// that was killed has finished it with permissions that keep its owner out.
    fn parent(&mut self, path: &[u8]) -> Result<Option<OwnedFd>, ApplyError> {
        let (above, _) = split(path);
        match self.directory.open_directory(above) {
            Ok(parent) if self.is_resumed && is_closed(&parent) => Ok(None),
            Err(Errno::ACCESS) if self.is_resumed => Ok(None),
            Ok(parent) => {
                self.touched.insert(above.to_vec());
                Ok(Some(parent))
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(error) => Err(self.directory.failed("open", above)(error)),
        }
    }

    /// Returns the host's file of a step.
    fn now(
        &self,
        parent: &OwnedFd,
        path: &[u8],
        planned: Option<&HostState>,
    ) -> Result<Now, ApplyError> {
        let found = stat(parent, split(path).1).map_err(self.directory.failed("find", path))?;
        Ok(match found {
            None => Now::Missing,
            Some(found) if Some(&HostState::new(&found)) == planned => Now::Planned(found),
            Some(_) => Now::Other,
        })
    }
}

/// Returns true if the caller cannot reach the files of a directory.
fn is_closed(directory: &OwnedFd) -> bool {
    accessat(directory, c".", Access::EXEC_OK, AtFlags::EACCESS) == Err(Errno::ACCESS)
}

/// Returns the attributes of a file in an open directory; `None` if it does not exist.
fn stat(directory: &OwnedFd, name: &[u8]) -> rustix::io::Result<Option<Stat>> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the path of another name in the directory of a path.
fn beside(path: &[u8], name: &[u8]) -> Vec<u8> {
    match split(path).0 {
        b"" => name.to_vec(),
        above => [above, b"/", name].concat(),
    }
}
