mod pending;
mod prepared;
mod written;

use std::collections::{HashMap, HashSet};
use std::io;

use fstree::{FileKind, InodeId};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, statat};
use rustix::io::Errno;

use super::comparison::Comparison;
use super::finding::Finding;
use super::host_directory::{Found, HostDirectory, split};
use super::host_file::{HostFile, HostState};
use super::path::relative;
use super::plan::Plan;
use super::syncing::Syncing;
use super::unfinished::{Failure, NewFile, Unfinished, UnfinishedFiles};
use super::{ApplyError, HostAction, HostSource, Step};
#[cfg(test)]
pub(super) use prepared::Prepared;
pub(super) use written::{Written, run_all};

struct Writer<'a, S> {
    side: &'a S,
    comparison: Comparison<'a, S>,
    directory: &'a HostDirectory,
    from: Vec<u8>,
    keep_owner: bool,
    /// The host's files that were compared with files of the sandbox of several names, and are
    /// equal.
    compared: HashMap<InodeId, HostState>,
    /// The files that steps make another name of, by the paths of the steps.
    links: HashMap<Vec<u8>, LinkedFile>,
    /// The filesystems whose new files are synced together.
    syncing: Syncing,
    /// The directory of the last new file: that of the next one is mostly the same.
    nearest: Option<Nearest>,
    /// The new files that have no place yet.
    unfinished: UnfinishedFiles<'a>,
}

/// The open directory in which the new files of a directory wait for their places.
struct Nearest {
    /// Path of the directory that they are to be in.
    above: Vec<u8>,
    /// Length of the path of the open one, which is the same or the nearest above it, in bytes.
    length: usize,
    open: OwnedFd,
}

impl Nearest {
    fn open(directory: &HostDirectory, above: &[u8]) -> Result<Self, ApplyError> {
        let (open, nearest) = directory.open_nearest(above)?;
        Ok(Self {
            above: above.to_vec(),
            length: nearest.len(),
            open,
        })
    }
}

/// The files of a plan that steps may make another name of.
struct Linkable<'a> {
    /// The paths of files that get the sandbox's attributes before.
    changed: HashSet<&'a [u8]>,
    /// The contents of files that are not the sandbox's as a whole, by their paths.
    texts: HashMap<&'a [u8], &'a [u8]>,
}

impl<'a> Linkable<'a> {
    fn new(plan: &'a Plan) -> Self {
        let is_changed = |step: &&Step| step.action == HostAction::ChangeAttributes;
        let changed = plan.steps.iter().filter(is_changed);
        let texts = plan.steps.iter();
        Self {
            changed: changed.map(|step| &step.path[..]).collect(),
            texts: texts
                .filter_map(|step| Some((&step.path[..], step.text.as_deref()?)))
                .collect(),
        }
    }
}

/// A file that gets another name.
struct LinkedFile {
    /// Path of the file, relative to the directory.
    path: Vec<u8>,
    /// Number of its inode.
    inode: u64,
}

impl<S: HostSource> Writer<'_, S> {
    /// Writes the new file of a step under another name, next to its place: in the nearest directory that
    /// exists. Others than its owner cannot read it there, because its own directory may let fewer of them in. Does
    /// nothing for a step that has none.
    fn write(&mut self, step: &Step) -> Result<(), ApplyError> {
        let Some(id) = step.new else {
            return Ok(());
        };
        let is_directory = self.side.tree().directory(id).is_some();
        if is_directory || step.action == HostAction::ChangeAttributes {
            return Ok(());
        }
        let above = split(&step.path).0;
        let nearest = match self.nearest.take() {
            Some(nearest) if nearest.above == above => nearest,
            _ => Nearest::open(self.directory, above)?,
        };
        if nearest.length == above.len() {
            self.check_file(&nearest.open, step)?;
        }
        let source = NewFile {
            side: self.side,
            inode: self.side.tree().inode(id),
            text: step.text.as_deref(),
        };
        let made = Unfinished::make(&nearest.open, &source, &mut self.syncing);
        let made = made.map_err(|failure| self.failed(step, failure))?;
        let waits_in = above.get(..nearest.length).unwrap_or_default();
        self.unfinished.add(&step.path, waits_in, made);
        self.nearest = Some(nearest);
        Ok(())
    }

    /// Notes the file that a step makes another name of. If it cannot be that of the sandbox, the step gets a file by
    /// itself.
    fn link(
        &mut self,
        step: &Step,
        link: &[u8],
        linkable: &Linkable<'_>,
    ) -> Result<(), ApplyError> {
        match self.linked(step, link, linkable)? {
            Some(linked) => {
                self.links.insert(step.path.clone(), linked);
                Ok(())
            }
            None => self.write(step),
        }
    }

    /// Returns the file that a step makes another name of. `None` if the host has none that is equal.
    fn linked(
        &mut self,
        step: &Step,
        link: &[u8],
        linkable: &Linkable<'_>,
    ) -> Result<Option<LinkedFile>, ApplyError> {
        let (Some(id), Some(path)) = (step.new, relative(link, &self.from)) else {
            return Ok(None);
        };
        let linked = |inode| LinkedFile {
            path: path.to_vec(),
            inode,
        };
        if let Some(waiting) = self.unfinished.get(path) {
            let inode = waiting.identity.inode();
            let is_same = match linkable.texts.get(path) {
                Some(text) => self.is_text(path, id, text)?,
                None => true,
            };
            return Ok(is_same.then(|| linked(inode)));
        }
        let Found::Present(other) = self.directory.find(path)? else {
            return Ok(None);
        };
        let has_attributes = linkable.changed.contains(path)
            || self.comparison.has_attributes(self.side, id, &other);
        let is_same = has_attributes && self.is_equal(path, id, &other)?;
        Ok(is_same.then(|| linked(other.stat.st_ino)))
    }

    /// Returns true if a text is the content of a file of the sandbox.
    fn is_text(&self, path: &[u8], id: InodeId, text: &[u8]) -> Result<bool, ApplyError> {
        let FileKind::Regular(content) = &self.side.tree().inode(id).kind else {
            return Ok(false);
        };
        let mut found = vec![0; text.len()];
        if u64::try_from(found.len()) != Ok(self.side.size_bytes(content)) {
            return Ok(false);
        }
        let read = self.side.read_at(content, 0, &mut found);
        read.map_err(|error| ApplyError::Read {
            path: path.to_vec(),
            source: io::Error::other(error),
        })?;
        Ok(found == text)
    }

    /// Returns true if a file of the host has the content of one of the sandbox. It is compared
    /// once, not for each of its names.
    fn is_equal(&mut self, path: &[u8], id: InodeId, host: &HostFile) -> Result<bool, ApplyError> {
        if self.compared.get(&id) == Some(&host.state()) {
            return Ok(true);
        }
        let is_equal = self.comparison.has_content(path, self.side, id, host)?;
        if is_equal {
            self.compared.insert(id, host.state());
        }
        Ok(is_equal)
    }

    /// Checks that the host's file of a step is as it was when the step was planned. Directories are not
    /// compared: new files under other names are in them.
    fn check_unchanged(&self, step: &Step, finding: &mut Finding<'_>) -> Result<(), ApplyError> {
        let is_directory = |id| self.side.tree().directory(id).is_some();
        let is_attributes = step.action == HostAction::ChangeAttributes;
        if is_attributes && step.new.is_some_and(is_directory) {
            return Ok(());
        }
        let is_added = step.action == HostAction::Add;
        match (finding.find(&step.path)?, step.host) {
            (Found::Present(host), Some(planned)) if host.state() != planned => {
                Err(self.changed(&step.path))
            }
            (Found::Missing | Found::Blocked(_), Some(_)) => Err(self.changed(&step.path)),
            (Found::Present(_), None) if is_added => Err(self.changed(&step.path)),
            _ => Ok(()),
        }
    }

    /// Checks that the host's file of a step, in an open directory, is as it was when the step was planned.
    fn check_file(&self, parent: &OwnedFd, step: &Step) -> Result<(), ApplyError> {
        let Some(planned) = step.host else {
            return Ok(());
        };
        match statat(parent, split(&step.path).1, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if HostState::new(&stat) == planned => Ok(()),
            Ok(_) | Err(Errno::NOENT) => Err(self.changed(&step.path)),
            Err(error) => Err(self.directory.failed("find", &step.path)(error)),
        }
    }

    fn changed(&self, path: &[u8]) -> ApplyError {
        ApplyError::Changed {
            path: self.directory.path_of(path),
        }
    }

    fn failed(&self, step: &Step, failure: Failure) -> ApplyError {
        match failure {
            Failure::Host(action, source) => ApplyError::Host {
                action,
                path: self.directory.path_of(&step.path),
                source,
            },
            Failure::Sandbox(source) => ApplyError::Read {
                path: step.path.clone(),
                source,
            },
        }
    }
}
